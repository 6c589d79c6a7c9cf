/**
 * The ledger over HTTP: the endpoints of the catalogue as HAL, problem details for errors, links that all resolve.
 * `serve` is a server of its own, `listener` mounts in node:http, Express and Fastify, `createHandler` wherever Request and Response are used.
 */
export { type AskedList, listOf } from './ask.ts'
export { isBaseUrl } from './base.ts'
export type { FrameReader, Frames } from './event-stream.ts'
export type { Profile } from './extended.ts'
export { createHandler, type Handler, type HandlerOptions } from './fetch.ts'
export type { Frame } from './frames.ts'
export { type Core, createCore } from './handler.ts'
export { type LimitName, type Limits, limits } from './limits.ts'
export { type CoreRequest, type CoreResponse, problemResponse } from './message.ts'
export { type HttpServer, type Listener, type ListenerOptions, listener, type ServeOptions, serve } from './node/server.ts'
export type { CoreOptions } from './options.ts'
export { type Problem, type ProblemName, problems } from './problem.ts'
