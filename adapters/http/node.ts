/**
 * The core on node:http: a server of its own, or a listener to mount in another one.
 * **Invariants:** one answer is under way on a socket at a time, and a bounded number of requests wait behind it, so that a client that sends
 * and does not read costs one answer; every wait has an end; what the parser refuses is answered with a problem too.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { isPromise, type Ledger } from '../../src/index.ts'
import { type Core, type CoreOptions, createCore } from './handler.ts'
import { type CoreRequest, type CoreResponse, problemResponse } from './message.ts'
import type { ProblemName } from './problem.ts'
import { pump } from './pump.ts'

/** Requests that may wait on a socket for the answer before them. */
const MAX_QUEUED = 32
/** Bytes of a request's header: room for a target that is then refused by its length. */
const MAX_HEADER_BYTES = 32 * 1024

export interface ServeOptions extends CoreOptions {
  /** 0 picks a free one. */
  readonly port: number
  /** Default `127.0.0.1`: open it to others on purpose. */
  readonly host?: string
  /** How long an idle connection is kept, 5,000 to 65,000. Default 65,000: longer than what load balancers wait. */
  readonly keepAliveMs?: number
  /** For the header of a request to arrive. Default 10,000. */
  readonly headersMs?: number
  /** For a whole request to arrive. Default 30,000. */
  readonly requestMs?: number
  /** Connections at a time. Default 10,000. */
  readonly maxConnections?: number
  /** How long `close` waits for answers that are under way. Default 5,000. */
  readonly drainMs?: number
}

export interface HttpServer {
  readonly url: string
  readonly port: number
  /** Takes no more connections, lets answers under way end, and cuts what is left after `drainMs`. The ledger stays open. */
  close(): Promise<void>
}

export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * A listener for `http.createServer`, for Express (`app.use('/history', listener(ledger))`), or for Fastify (with `reply.hijack()`).
 * @throws TypeError for a baseUrl that is none
 */
export function listener(ledger: Ledger, options: CoreOptions = {}): Listener {
  return inTurn(createCore(ledger, options))
}

/** The requests of one socket: the one being answered, and those behind it. */
interface Turn {
  busy: boolean
  /** No further request of this socket is taken. */
  full: boolean
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[]
}

function inTurn(core: Core): Listener {
  const turns = new WeakMap<Duplex, Turn>()
  const start = (turn: Turn, request: IncomingMessage, response: ServerResponse): void => {
    turn.busy = true
    response.once('close', () => {
      turn.busy = false
      const next = turn.waiting.shift()
      if (request.socket.destroyed) turn.waiting.length = 0
      else if (next) start(turn, ...next)
    })
    const last = turn.full && turn.waiting.length === 0
    const answer = core(coreRequest(request))
    const send = (ready: CoreResponse): void => (ready.frames ? pump(response, ready, ready.frames) : write(response, ready, last))
    if (isPromise(answer)) void answer.then(send)
    else send(answer)
  }
  return (request, response) => {
    const { socket } = request
    let turn = turns.get(socket)
    if (!turn) {
      turn = { busy: false, full: false, waiting: [] }
      turns.set(socket, turn)
    }
    if (turn.full) return
    if (!turn.busy) return start(turn, request, response)
    turn.waiting.push([request, response])
    // The last one that is taken closes the connection; what the client sent after it, it must send again.
    turn.full = turn.waiting.length >= MAX_QUEUED
  }
}

/** What Express puts on a request below a mount path. */
interface Mounted {
  readonly baseUrl?: unknown
}

function coreRequest(request: IncomingMessage): CoreRequest {
  const { headers } = request
  const { baseUrl } = request as Mounted
  return {
    method: request.method ?? 'GET',
    target: request.url ?? '/',
    scheme: 'encrypted' in request.socket ? 'https' : 'http',
    ...(typeof baseUrl === 'string' && /^(?:\/[\w.~!$&'()*+,;=:@%-]+)*$/.test(baseUrl) && { mount: baseUrl }),
    header(name) {
      const value = headers[name]
      return Array.isArray(value) ? value.join() : value
    },
  }
}

function write(response: ServerResponse, { status, headers, parts }: CoreResponse, last: boolean): void {
  if (response.destroyed || response.headersSent) return
  response.writeHead(status, last ? [...headers, 'connection', 'close'] : headers)
  if (parts.length < 2) {
    response.end(parts[0])
    return
  }
  const { socket } = response
  socket?.cork()
  const final = parts.length - 1
  for (let i = 0; i < final; i++) response.write(parts[i])
  response.end(parts[final])
  socket?.uncork()
}

/**
 * Serves a ledger over HTTP.
 * @example const server = await serve(ledger, { port: 8000 }); console.log(server.url)
 * @throws TypeError for a baseUrl that is none, RangeError for a keepAliveMs out of range, and what listening throws
 */
export async function serve(ledger: Ledger, options: ServeOptions): Promise<HttpServer> {
  const { port, host = '127.0.0.1', keepAliveMs = 65_000, headersMs = 10_000, requestMs = 30_000, drainMs = 5_000 } = options
  if (!(keepAliveMs >= 5_000 && keepAliveMs <= 65_000)) throw new RangeError('keepAliveMs must be 5,000 to 65,000')
  const core = createCore(ledger, options)
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: keepAliveMs,
      // Node looks for late requests only so often; the default would make of 10 seconds up to 40.
      connectionsCheckingInterval: 2_000,
      maxHeaderSize: MAX_HEADER_BYTES,
      // A missing Host is answered by the core, with a body.
      requireHostHeader: false,
      noDelay: true,
    },
    inTurn(core),
  )
  server.maxConnections = options.maxConnections ?? 10_000
  // A socket that takes no byte of an answer for so long is dead.
  server.timeout = Math.max(60_000, keepAliveMs + 5_000)
  refuse(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  let closing: Promise<void> | undefined
  return {
    url: `http://${name}:${address.port}`,
    port: address.port,
    close: () => (closing ??= shut(server, core, drainMs)),
  }
}

function shut(server: Server, core: Core, drainMs: number): Promise<void> {
  return new Promise((resolve) => {
    core.endStreams()
    const cut = setTimeout(() => server.closeAllConnections(), drainMs)
    server.close(() => {
      clearTimeout(cut)
      resolve()
    })
    server.closeIdleConnections()
  })
}

/** Answers what never becomes a request, or must not become one. */
function refuse(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket) => {
    const answering = (socket as Socket & { _httpMessage?: ServerResponse })._httpMessage
    // Half an answer is on its way already: nothing that could be sent now would be understood.
    if (error.code === 'ECONNRESET' || !socket.writable || answering?.headersSent) return void socket.destroy()
    answerRaw(socket, nameOf(error, socket))
  })
  server.on('checkExpectation', (_request, response) => {
    const { status, headers, parts } = problemResponse({ name: 'expectation_failed' })
    response.writeHead(status, headers)
    response.end(parts[0])
  })
  server.on('connect', (_request, socket) => answerRaw(socket, 'method_not_allowed'))
}

function nameOf({ code, rawPacket }: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket): ProblemName {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  if (code !== 'HPE_HEADER_OVERFLOW') return 'bad_request'
  // Only of the first packet is it known that it begins with the request line.
  const lineEnd = rawPacket && socket.bytesRead === rawPacket.length ? rawPacket.indexOf(10) : 0
  return lineEnd < 0 || lineEnd > MAX_HEADER_BYTES / 2 ? 'uri_too_long' : 'header_fields_too_large'
}

/** Writes a whole response by hand and ends the connection. */
function answerRaw(socket: Duplex, name: ProblemName): void {
  const { status, headers, parts } = problemResponse({ name })
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, `date: ${new Date().toUTCString()}`, 'connection: close']
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  socket.end(parts[0])
  // A client that goes on sending keeps half of the connection open otherwise.
  setTimeout(() => socket.destroy(), 1_000).unref()
}
