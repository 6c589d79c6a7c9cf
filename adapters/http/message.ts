/**
 * Requests and responses as the core sees them, and the headers that go with every kind of answer.
 * **Invariant:** every answer, including errors, may be read by any origin.
 */
import { crc32, utf8 } from '../../src/index.ts'
import type { Frames } from './event-stream.ts'
import { type Form, mediaTypes } from './negotiate.ts'
import { type Problem, problemBody, problems } from './problem.ts'
import { Tag } from './tag.ts'

export interface CoreRequest {
  readonly method: string
  /** As sent: a path with its query, still percent-encoded, or an absolute URL. */
  readonly target: string
  /** How the request came in. Default `http`. */
  readonly scheme?: 'http' | 'https' | undefined
  /** Where the service is mounted: a path with which links begin and the target does not. */
  readonly mount?: string | undefined
  /** Whether a request without a Host, with several, or with one that is none is malformed, as those of HTTP/1.1 are (RFC 9112, 3.2). */
  readonly needsHost?: boolean | undefined
  /** The value of a header, by its name in lower case; of one that was sent several times, their values with commas between them. */
  header(name: string): string | undefined
}

export interface CoreResponse {
  readonly status: number
  /** Alternating names, in lower case, and values. */
  readonly headers: string[]
  /** The body. Its parts are views of shared memory, to be sent and not written to. */
  readonly parts: readonly Uint8Array[]
  /** How many bytes in front of the first part, in its memory, belong to this response: for its head, so that both are sent in one piece. */
  readonly room?: number | undefined
  /** To be called once the parts were sent and are no longer looked at: their memory is reused. May be omitted. */
  readonly release?: (() => void) | undefined
  /** The body of an event stream, instead of parts: to be pulled as fast as the reader takes it, and ended when the reader is gone. */
  readonly frames?: Frames
}

export const IMMUTABLE = 'public, max-age=31536000, immutable'
export const REVALIDATE = 'no-cache'
const ALLOW = 'GET, HEAD, OPTIONS'

/** An answer before the request's conditions are applied. */
export interface Answer {
  readonly type: string
  readonly parts: readonly Uint8Array[]
  readonly room?: number
  readonly release?: () => void
  readonly etag: string
  readonly cacheControl: string
  /** Depends on the Accept header. */
  readonly varies: boolean
}

/** An answer once the request's conditions are applied. */
export interface Reply extends Pick<CoreResponse, 'status' | 'headers' | 'parts'> {
  /** Bytes of all parts. */
  readonly length: number
}

/** The answer in full, or 304 if the client already has it. */
export function conditional({ type, parts, etag, cacheControl, varies }: Answer, known: string | undefined): Reply {
  const common = ['etag', etag, 'cache-control', cacheControl, 'access-control-allow-origin', '*', 'access-control-expose-headers', 'etag']
  if (varies) common.push('vary', 'accept')
  if (known !== undefined && holds(known, etag)) return { status: 304, headers: common, parts: none, length: 0 }
  let length = 0
  for (const part of parts) length += part.length
  return { status: 200, headers: ['content-type', type, 'content-length', String(length), ...common], parts, length }
}

/** @param asked the headers that a script wants to send */
export function preflightHeaders(asked: string | undefined): string[] {
  const headers = [
    'allow',
    ALLOW,
    'access-control-allow-origin',
    '*',
    'access-control-allow-methods',
    ALLOW,
    'access-control-max-age',
    '86400',
  ]
  if (asked !== undefined && /^[\w!#$%&'*+.^`|~, -]*$/.test(asked)) headers.push('access-control-allow-headers', asked)
  return headers
}

export const streamHeaders = (): string[] => [
  'content-type',
  contentTypes.stream,
  'cache-control',
  'no-cache, no-transform',
  'x-accel-buffering',
  'no',
  'access-control-allow-origin',
  '*',
  'vary',
  'accept',
]

export const none: readonly Uint8Array[] = []

/** A response with problem details. */
export function problemResponse(problem: Problem): CoreResponse {
  const { status } = problems[problem.name]
  const body = problemBody(problem)
  const headers = ['content-type', 'application/problem+json; charset=utf-8', 'content-length', String(body.length)]
  headers.push('cache-control', REVALIDATE, 'access-control-allow-origin', '*')
  if (status === 405) headers.push('allow', ALLOW)
  if (status === 503 || status === 429) headers.push('retry-after', '5', 'access-control-expose-headers', 'retry-after')
  if (status === 406) headers.push('vary', 'accept')
  return { status, headers, parts: [body] }
}

const contentTypes: Readonly<Record<Form, string>> = {
  hal: `${mediaTypes.hal}; charset=utf-8`,
  json: `${mediaTypes.json}; charset=utf-8`,
  stream: `${mediaTypes.stream}; charset=utf-8`,
}
export const typeOf = (form: Form): string => contentTypes[form]

/** An answer whose body is already available. */
export function whole(type: string, body: object, varies = false): Answer {
  const bytes = body instanceof Uint8Array ? body : utf8(JSON.stringify(body))
  const tag = new Tag()
  tag.add(crc32(bytes))
  tag.add(crc32(utf8(type)))
  return { type, parts: [bytes], etag: tag.toString(), cacheControl: REVALIDATE, varies }
}

/** If-None-Match (RFC 9110, 13.1.2): weak comparison. What is between quotes may be anything, commas too. */
function holds(list: string, etag: string): boolean {
  return list === etag || list.trim() === '*' || (list.match(/"[^"]*"/g)?.includes(etag) ?? false)
}
