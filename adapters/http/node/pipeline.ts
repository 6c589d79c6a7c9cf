/**
 * The requests of each socket, as Node's parser reads them, answered one at a time and in order.
 * **Invariants:** one answer is in progress on a socket, and a bounded number of requests wait behind it, so that a client that sends without reading
 * costs one answer; what is refused before it became a request is also answered after those, and ends the connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { isPromise, type MaybePromise } from '../../../src/index.ts'
import { type CoreResponse, problemResponse } from '../message.ts'
import { type Log, logOf } from '../options.ts'
import { badParameter, type ProblemName } from '../problem.ts'
import { writeHead } from './head.ts'
import { pump } from './pump.ts'
import { ResponseBatch } from './response-batch.ts'
import { type PendingResponse, Stalls } from './stall.ts'
import { responseHead } from './wire.ts'

/** Computes the answer to a request, once those before it are answered. */
type Answer = (request: IncomingMessage) => MaybePromise<CoreResponse>

/** A request, and how it is to be answered. */
interface Asking {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly answer: Answer
}

/** The requests of one socket: the one being answered, and those waiting behind it. */
interface Pipeline {
  busy: boolean
  /** The answer in progress has no end of its own. */
  streams: boolean
  /** No further request of this socket is accepted. */
  full: boolean
  /** Requests that came after that. */
  dropped: number
  /** The answer in progress was handed to the socket. */
  handed: boolean
  /** What to answer at the end, before closing. */
  refusal: ProblemName | undefined
  /** A request did not arrive in time, while the socket was not being read. */
  late: boolean
  /** Bytes read of the socket when its last request was accepted, or the body of one came to its end. */
  read: number
  /** To be called once the answer in progress was sent. */
  release: (() => void) | undefined
  readonly waiting: Asking[]
}

/** More than one read of a socket yields: a client that sends no more than that is closed in order, after the last answer. */
const MAX_DROPPED = 4096

/** How long to wait for a client. */
type Waits = Readonly<Record<'stallMs' | 'headersMs', number>>

export class Pipelines {
  private readonly pipelines = new WeakMap<Duplex, Pipeline>()
  private readonly maxQueued: number
  private readonly log: Log
  /** Present if the server is ours. */
  private readonly stalls: Stalls | undefined
  private readonly headersMs: number | undefined
  private readonly batch = new ResponseBatch()
  /** Every answer is the last one of its connection, unless requests wait behind it. */
  closing = false

  /** @param waits how long to wait for a client to take and to send; without these, that is up to the owner of the server */
  constructor(maxQueued: number, waits?: Waits, log: Log = logOf({})) {
    this.maxQueued = maxQueued
    this.log = log
    this.stalls = waits && new Stalls(waits.stallMs)
    this.headersMs = waits?.headersMs
  }

  private of(socket: Duplex): Pipeline {
    let pipeline = this.pipelines.get(socket)
    if (!pipeline) {
      pipeline = {
        busy: false,
        streams: false,
        full: false,
        dropped: 0,
        handed: false,
        refusal: undefined,
        late: false,
        read: 0,
        release: undefined,
        waiting: [],
      }
      this.pipelines.set(socket, pipeline)
    }
    return pipeline
  }

  /** Answers a request once those before it on its socket are answered. */
  take(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
    const pipeline = this.of(request.socket)
    if (pipeline.full) {
      // Node holds them until the answers before them are sent, and an event stream never ends.
      if (++pipeline.dropped > MAX_DROPPED) request.socket.destroy()
      return
    }
    pipeline.read = request.socket.bytesRead
    if (hasBody(request)) skipBody(pipeline, request)
    pipeline.late = false
    // After a request that asks for the end of its connection, nothing is read (RFC 9112, 9.6). HTTP/2 knows none.
    pipeline.full = response.shouldKeepAlive === false
    const next = { request, response, answer }
    if (!pipeline.busy) {
      this.start(pipeline, next)
      return
    }
    pipeline.waiting.push(next)
    // The last request accepted closes the connection; what the client sent after it, it must send again.
    pipeline.full ||= pipeline.waiting.length >= this.maxQueued
  }

  private start(pipeline: Pipeline, { request, response, answer }: Asking): void {
    const { socket } = request
    pipeline.busy = true
    response.on('close', () => this.over(pipeline, socket, response))
    const ready = answer(request)
    if (isPromise(ready)) void ready.then((found) => this.send(pipeline, response, found))
    else this.send(pipeline, response, ready)
  }

  /** An answer was taken, or its connection is gone. */
  private over(pipeline: Pipeline, socket: Duplex, answer: PendingResponse): void {
    // A destroyed socket may have taken a part of an answer: its memory is left to the garbage collector.
    if (!socket.destroyed) pipeline.release?.()
    this.stalls?.over(answer)
    // With an event stream its connection ends, if not at once.
    pipeline.full ||= pipeline.streams
    const isLast = socket.destroyed || pipeline.streams
    pipeline.busy = false
    pipeline.handed = false
    pipeline.streams = false
    pipeline.release = undefined
    const next = pipeline.waiting.shift()
    if (isLast) pipeline.waiting.length = 0
    else if (next) this.start(pipeline, next)
    else if (pipeline.late) setTimeout(() => pipeline.late && this.refuse(socket, 'request_timeout'), this.headersMs).unref()
  }

  /**
   * Before Node reads a connection on which an answer is on its way that was begun past it: requests wait behind that answer.
   * @param release to be called once the answer was taken
   * @returns to be called once it was taken or the connection is gone
   */
  behind(socket: Socket, answer: PendingResponse, release: (() => void) | undefined): () => void {
    const pipeline = this.of(socket)
    pipeline.busy = true
    pipeline.handed = true
    pipeline.release = release
    this.stalls?.sent(answer)
    return () => this.over(pipeline, socket, answer)
  }

  private send(pipeline: Pipeline, response: ServerResponse, answer: CoreResponse): void {
    const { frames } = answer
    pipeline.streams = frames !== undefined
    if (frames) {
      // A refusal behind a stream would never be sent.
      if (pipeline.refusal !== undefined) response.destroy()
      this.sent(response, answer, () => pump(response, answer, frames))
    } else this.batch.put({ send: () => this.sent(response, answer, () => this.write(pipeline, response, answer)) })
  }

  /** What an application has put around a response may throw: that costs this answer, and no other. */
  private sent(response: ServerResponse, { frames }: CoreResponse, send: () => void): void {
    try {
      send()
    } catch (error) {
      const { method = '-', url = '-' } = response.req
      this.log(error, { id: globalThis.crypto.randomUUID(), method, target: url })
      frames?.end()
      response.destroy()
    }
  }

  private write(pipeline: Pipeline, response: ServerResponse, answer: CoreResponse): void {
    if (response.destroyed || response.headersSent) return
    pipeline.release = answer.release
    const last = (pipeline.full || this.closing) && pipeline.waiting.length === 0 && pipeline.refusal === undefined
    pipeline.full ||= last
    write(response, answer, last)
    pipeline.handed = true
    this.stalls?.sent(response)
    if (pipeline.refusal !== undefined && pipeline.waiting.length === 0) answerRaw(response.req.socket, pipeline.refusal)
  }

  /** From now on the last answer of each connection says that it is the last. */
  close(): void {
    this.closing = true
  }

  /** Nothing is in progress on a socket: no answer, no end, and no partly read request. */
  isIdle(socket: Socket): boolean {
    const { busy = false, read = 0 } = this.pipelines.get(socket) ?? {}
    return !busy && !socket.writableEnded && socket.bytesRead === read
  }

  /** Ends a connection with a problem, after the answers to earlier requests. */
  refuse(socket: Duplex, name: ProblemName): void {
    const pipeline = this.of(socket)
    // Nothing that could be sent into a stream would be understood.
    if (pipeline.streams) return void socket.destroy()
    if (pipeline.full && pipeline.refusal === undefined && pipeline.busy) return
    // The missing part of a request may wait unread behind the answer: its time starts when that was taken.
    pipeline.late = name === 'request_timeout' && pipeline.busy && socket.isPaused()
    if (pipeline.late) return
    pipeline.full = true
    if (pipeline.refusal !== undefined) return
    pipeline.refusal = name
    // At once, behind what was handed over: with the last answer Node ends the connection of a client that sends nothing more.
    if (!pipeline.busy || (pipeline.handed && pipeline.waiting.length === 0)) answerRaw(socket, name)
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

/** A body is of no use. What comes of it after the head is no part of a further request, for which a server that closes would wait. */
function skipBody(pipeline: Pipeline, request: IncomingMessage): void {
  const { socket } = request
  request.resume().once('end', () => {
    pipeline.read = socket.bytesRead
  })
}

function write(response: ServerResponse, { status, headers, parts }: CoreResponse, last: boolean): void {
  const { socket } = response
  writeHead(response, status, last ? [...headers, 'connection', 'close'] : headers)
  if (parts.length < 2) {
    response.end(parts[0])
    return
  }
  socket?.cork()
  const final = parts.length - 1
  for (let i = 0; i < final; i++) response.write(parts[i])
  response.end(parts[final])
  socket?.uncork()
}

/** What the parser could not read has no parameter to name. */
const malformed = badParameter('request', 'a well-formed HTTP/1.1 message')

/** Writes a whole response by hand and ends the connection. */
function answerRaw(socket: Duplex, name: ProblemName): void {
  if (!socket.writable) return void socket.destroy()
  const response = problemResponse(name === 'bad_request' ? malformed : { name })
  socket.write(responseHead(response, 0), 'latin1')
  // Once it was sent, a client that keeps sending must not keep half of the connection open.
  socket.end(response.parts[0], () => setTimeout(() => socket.destroy(), 1_000).unref())
}
