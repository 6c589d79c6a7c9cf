/**
 * The core on node:http: a server of its own, or a listener to mount in another one.
 * **Invariants:** requests of a socket are answered in order (`pipeline.ts`), whether Node reads them or, while they are plain, a server of ours does
 * (`fast-path.ts`); what the parser refuses is also answered with a problem (`refuse.ts`); a server that closes cuts off no answer that its reader is
 * taking (`sockets.ts`); every wait ends, and everything is bounded (`limits.ts`).
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Ledger, OptionRules } from '../../../src/index.ts'
import { type Core, coreOf } from '../handler.ts'
import { type Limits, limitRules, settle } from '../limits.ts'
import type { CoreRequest } from '../message.ts'
import { isMount, type MountOptions, mountRules } from '../mount.ts'
import { type CoreOptions, checkGiven, coreRules, logOf } from '../options.ts'
import { FastPath } from './fast-path.ts'
import { Pipelines } from './pipeline.ts'
import { refuse } from './refuse.ts'
import { Sockets } from './sockets.ts'

export interface ListenerOptions extends CoreOptions, MountOptions, Pick<Limits, 'maxQueued'> {}

const listenerOptions = new OptionRules<ListenerOptions>('listener', { ...coreRules, ...mountRules, maxQueued: limitRules.maxQueued })

/** Where to listen, what answers look like, and the limits. */
export interface ServeOptions extends CoreOptions, Limits {
  /** 0 picks a free port. */
  readonly port: number
  /** Default `127.0.0.1`, so that opening it to others takes a deliberate step. */
  readonly host?: string | undefined
}

export interface HttpServer {
  readonly url: string
  readonly port: number
  /**
   * Accepts no more connections, lets answers in progress finish, and cuts off what is left after `drainMs`. An answer given meanwhile is the last
   * one of its connection. The ledger stays open.
   */
  close(): Promise<void>
}

export interface Listener extends Pick<Core, 'endStreams'> {
  (request: IncomingMessage, response: ServerResponse): void
}

/**
 * A listener for `http.createServer`, for Express (`app.use('/history', listener(ledger))`), or for Fastify (with `reply.hijack()`, and `mount` for
 * its prefix). When a client closes its sending side, Node drops the requests that still wait on that connection; `serve` makes it answer them, and
 * in your own server `Object.assign(server, { httpAllowHalfOpen: true })` does.
 * @throws BAD_REQUEST if `ledger` is not a ledger, or an option is unknown or out of range
 */
export function listener(ledger: Ledger, options: ListenerOptions = {}): Listener {
  const checked = checkGiven(ledger, options, listenerOptions)
  const core = coreOf(ledger, checked)
  const answered = pipelined(core, new Pipelines(settle(checked).maxQueued, undefined, logOf(checked)))
  return Object.assign(answered, { endStreams: core.endStreams })
}

function pipelined(core: Core, pipelines: Pipelines): RequestListener {
  const answer = (request: IncomingMessage) => core(new NodeRequest(request))
  return (request, response) => {
    if (hasNoEnd(request)) pipelines.refuse(request.socket, 'bad_request')
    else pipelines.take(request, response, answer)
  }
}

/** Where the body of a request ends cannot be told (RFC 9112, 6.3): Node finds that out only once it has handed the request over. */
const hasNoEnd = ({ headers }: IncomingMessage): boolean => !/(?:^|[ \t,])chunked$/i.test(headers['transfer-encoding'] ?? 'chunked')

/** What Express adds to a request below a mount path. */
interface Mounted {
  readonly baseUrl?: unknown
}

/** A request as the core sees it. */
class NodeRequest implements CoreRequest {
  readonly method: string
  readonly target: string
  private readonly request: IncomingMessage

  constructor(request: IncomingMessage) {
    this.method = request.method ?? 'GET'
    this.target = request.url ?? '/'
    this.request = request
  }

  get scheme(): 'http' | 'https' {
    return 'encrypted' in this.request.socket ? 'https' : 'http'
  }

  get mount(): string | undefined {
    const { baseUrl } = this.request as Mounted
    return isMount(baseUrl) ? baseUrl : undefined
  }

  get needsHost(): boolean {
    return this.request.httpVersion === '1.1'
  }

  header(name: string): string | undefined {
    const value = name === 'host' ? this.hosts : this.request.headers[name]
    return Array.isArray(value) ? value.join() : value
  }

  /** All of them: in `headers` Node keeps the first one only, but a request with several is malformed (RFC 9112, 3.2). */
  private get hosts(): string | string[] | undefined {
    const { headersDistinct, headers } = this.request
    // HTTP/2 has no distinct headers, and a pseudo-header for the host.
    return headersDistinct?.['host'] ?? headers.host ?? (headers[':authority'] as string | undefined)
  }
}

const serveOptions = new OptionRules<ServeOptions>('serve', {
  // Without a port, Node would listen on one of its choice.
  port: { needed: { least: 0, most: 65_535, whole: true } },
  // With an empty name, Node would listen on every address.
  host: { text: 'a host name or address; 0.0.0.0 or :: for all of them', least: 1 },
  ...coreRules,
  ...limitRules,
})

/**
 * Serves a ledger over HTTP.
 * @example const server = await serve(ledger, { port: 8000 }); console.log(server.url)
 * @throws BAD_REQUEST if `ledger` is not a ledger, or an option is unknown or out of range; Node's own error if it cannot listen, such as EADDRINUSE
 */
export async function serve(ledger: Ledger, options: ServeOptions): Promise<HttpServer> {
  const checked = checkGiven(ledger, options, serveOptions)
  const { port, host = '127.0.0.1' } = checked
  const set = settle(checked)
  const core = coreOf(ledger, { ...checked, ...set })
  const log = logOf(checked)
  const pipelines = new Pipelines(set.maxQueued, set, log)
  const server = createServer(
    {
      headersTimeout: Math.min(set.headersMs, set.requestMs),
      requestTimeout: set.requestMs,
      keepAliveTimeout: set.keepAliveMs,
      // Node looks for late requests only so often; with its default, 10 seconds could become 40.
      connectionsCheckingInterval: Math.min(2_000, set.headersMs),
      maxHeaderSize: set.maxHeaderBytes,
      // The core refuses a missing Host itself, with a body.
      requireHostHeader: false,
      noDelay: true,
    },
    pipelined(core, pipelines),
  )
  // A client may close its sending side and still wait for its answers.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.maxConnections = set.maxConnections
  // A connection on which nothing moves for so long is dead. Silent event streams say hello before that, and those that are not taken are cut; for
  // answers there is `stall.ts`.
  server.timeout = Math.max(set.stallMs, 2 * set.streamIdleMs, 2 * set.streamStallMs)
  refuse(server, pipelines, set.maxHeaderBytes)
  const fastPath = new FastPath(server, core, pipelines, { ...set, headersMs: Math.min(set.headersMs, set.requestMs) })
  const sockets = new Sockets(server, fastPath)
  await once(server.listen(port, host), 'listening')
  // Such as one of a connection that cannot be accepted: it must neither go unseen nor end the process.
  server.on('error', (error) => log(error, { id: globalThis.crypto.randomUUID(), method: '-', target: '(server)' }))
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  let closing: Promise<void> | undefined
  const shut = (): Promise<void> => {
    core.endStreams()
    return sockets.close(set.drainMs)
  }
  return {
    url: `http://${name}:${address.port}`,
    port: address.port,
    close: () => (closing ??= shut()),
  }
}
