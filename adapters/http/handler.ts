/**
 * The core: a request in, a status, headers and body parts out. It knows no framework; `fetch.ts` and `node/` are thin shells around it.
 * **Invariants:** it never throws and never rejects; every answer, including errors, may be read by any origin; the answer to HEAD has the headers of
 * GET. The checks run in this order: cursor, limit, order, filters, path parameters, then what exists.
 */
import {
  after,
  crc32,
  isPromise,
  type Ledger,
  type List,
  type MaybePromise,
  type One,
  type Place,
  type RawPage,
  utf8,
} from '../../src/index.ts'
import { listValues, pageOf, pathValues } from './ask.ts'
import { baseOf, plainBaseUrl, requireHost } from './base.ts'
import { settle } from './limits.ts'
import { type AskedPage, LinkedListing, Listings } from './listings.ts'
import {
  type Answer,
  type CoreRequest,
  type CoreResponse,
  conditional,
  IMMUTABLE,
  none,
  preflightHeaders,
  problemResponse,
  REVALIDATE,
  type Reply,
  streamHeaders,
  typeOf,
  whole,
} from './message.ts'
import { Counters, metricsText } from './metrics.ts'
import { below, type MountOptions } from './mount.ts'
import { type Form, negotiate } from './negotiate.ts'
import { openapi } from './openapi.ts'
import { type CoreOptions, checkGiven, coreOptions, type Log, logOf } from './options.ts'
import { PAGE_TAIL, writePageHead } from './page.ts'
import { badParameter, type Problem, ProblemError, problemOf, problemPage } from './problem.ts'
import type { Renderer } from './renderer.ts'
import { Renderers } from './renderers.ts'
import { historyOf, root } from './root.ts'
import { type Match, match, type OwnPath } from './router.ts'
import { collect, Sink } from './sink.ts'
import { type StreamRequest, Streams } from './streams.ts'
import { decode, parseQuery, parseTarget, type QueryText, type Target } from './target.ts'

export interface Core {
  (request: CoreRequest): MaybePromise<CoreResponse>
  /**
   * Ends all event streams, and those requested from now on, each at a point from which its reader can resume: a server that closes waits for them.
   * Other requests are answered as before.
   */
  endStreams(): void
}

/** @throws BAD_REQUEST if `ledger` is not a ledger, or an option is unknown or out of range */
export function createCore(ledger: Ledger, options: CoreOptions = {}): Core {
  return coreOf(ledger, checkGiven(ledger, options, coreOptions))
}

/** A core for a shell that has already checked its own options. */
export function coreOf(ledger: Ledger, options: CoreOptions & MountOptions): Core {
  const core = new HttpCore(ledger, options)
  return Object.assign((request: CoreRequest) => core.respond(request), { endStreams: () => core.streams.close() })
}

/** A body has few parts: see {@link Sink}. */
const PASSED = 16 * 1024
/** The head of a response to a page takes some 400 bytes. */
const HEAD_ROOM = 512

class HttpCore {
  private readonly ledger: Ledger
  private readonly baseUrl: string | undefined
  private readonly mount: string | undefined
  private readonly trustProxy: boolean
  private readonly maxTargetBytes: number
  private readonly log: Log
  private readonly renderers: Renderers
  private readonly sink = new Sink(PASSED, HEAD_ROOM)
  private readonly counters = new Counters()
  private readonly listings = new Listings()
  readonly streams: Streams
  private document: { readonly base: string; readonly body: Uint8Array } | undefined

  constructor(ledger: Ledger, options: CoreOptions & MountOptions) {
    const set = settle(options)
    this.ledger = ledger
    this.baseUrl = options.baseUrl === undefined ? undefined : plainBaseUrl(options.baseUrl)
    this.mount = options.mount
    this.trustProxy = options.trustProxy ?? false
    this.maxTargetBytes = set.maxTargetBytes
    this.log = logOf(options)
    this.renderers = new Renderers(options.profile ?? 'document')
    this.streams = new Streams(ledger, set, (error) => this.problem({ method: 'GET', target: '(stream)' }, error))
  }

  respond(request: CoreRequest): MaybePromise<CoreResponse> {
    try {
      const response = this.handle(request)
      return isPromise(response) ? response.catch((error) => this.fail(request, error)) : response
    } catch (error) {
      return this.fail(request, error)
    }
  }

  private handle(request: CoreRequest): MaybePromise<CoreResponse> {
    const { method } = request
    if (request.needsHost) requireHost(request.header('host'))
    if (method === 'OPTIONS') return this.preflight(request)
    if (method !== 'GET' && method !== 'HEAD') throw new ProblemError({ name: 'method_not_allowed' })
    if (request.target.length > this.maxTargetBytes) throw new ProblemError({ name: 'uri_too_long' })
    const asked = this.mount === undefined ? request.target : below(this.mount, request.target)
    if (asked === undefined) throw nothingThere()
    const known = this.listings.find(asked)
    if (known) {
      const form = negotiate(request.header('accept'), known.listing.listing.query.live)
      if (form === 'hal' || form === 'json') return this.answerPage(request, known, form, this.rendererFor(request))
    }
    const target = parseTarget(asked)
    const found = match(target.path)
    if (!found) throw nothingThere()
    const { route, params } = found
    if (route.kind === 'own') return this.send(request, this.answerOwn(request, target, route.path, params))
    const { query } = route
    const form = negotiate(request.header('accept'), query.kind === 'list' && query.live)
    if (!form) throw new ProblemError({ name: 'not_acceptable' })
    const renderer = this.rendererFor(request, target)
    if (query.kind === 'one') return this.answerOne(request, query, params, form, renderer)
    const text = parseQuery(target.query)
    return form === 'stream'
      ? this.answerStream(request, { ...streamAsked(request, query, params, text), renderer })
      : this.answerPage(request, this.pageAsked(asked, query, params, text), form, renderer)
  }

  private baseFor(request: CoreRequest, target?: Target): string {
    if (this.baseUrl !== undefined) return this.baseUrl
    const { scheme = request.scheme ?? 'http', authority } = target ?? {}
    return baseOf({ scheme, authority, mount: this.mount ?? request.mount ?? '', header: (name) => request.header(name) }, this.trustProxy)
  }

  /** @param target given if it may be absolute */
  private rendererFor(request: CoreRequest, target?: Target): Renderer {
    return this.renderers.for(this.baseFor(request, target))
  }

  private answerOne(request: CoreRequest, query: One, params: Match['params'], form: Form, renderer: Renderer): MaybePromise<CoreResponse> {
    const values = pathValues(query, params)
    return after(this.ledger.readOne(query, values), (place: Place) => {
      const tag = renderer.tag(form)
      const { sink } = this
      const body = collect(sink, () => renderer.one(sink, place, tag))
      // Any ledger may change what is in no log; the contents of a ledger do not change once another one has followed.
      const closed = query.of.kept === 'log' && place.block.hi(place.at) < (this.ledger.head?.last ?? 0)
      return this.send(request, {
        type: typeOf(form),
        ...body,
        etag: tag.toString(),
        cacheControl: closed ? IMMUTABLE : REVALIDATE,
        varies: true,
      })
    })
  }

  /** What a request for a page asks for; remembered for those that follow. */
  private pageAsked(target: string, query: List, params: Match['params'], text: QueryText): AskedPage {
    const asked = pageOf(query, text, undefined)
    const listing = new LinkedListing(this.ledger.listing(query, listValues(query, params, text)))
    this.listings.keep(target, listing)
    return { listing, asked }
  }

  private answerPage(request: CoreRequest, { listing, asked }: AskedPage, form: Form, renderer: Renderer): MaybePromise<CoreResponse> {
    return after(this.ledger.readListing(listing.listing, asked), (page: RawPage) => {
      const tag = renderer.tag(form)
      const { sink } = this
      const body = collect(sink, () => {
        const oldest = listing.byLedger ? (this.ledger.head?.oldest ?? 0) : 0
        const start = writePageHead(sink, listing.linkFrom(renderer.base), asked, page, oldest)
        // What surrounds the records follows from them and from the URL, to which a tag belongs; if there are none, it also tells how far history
        // reaches.
        if (page.count === 0) tag.add(crc32(sink.bytes.subarray(start, sink.at)))
        renderer.page(sink, page.slices, tag)
        sink.ascii(PAGE_TAIL)
      })
      return this.send(request, {
        type: typeOf(form),
        ...body,
        etag: tag.toString(),
        cacheControl: page.final ? IMMUTABLE : REVALIDATE,
        varies: true,
      })
    })
  }

  private async answerStream(request: CoreRequest, asked: StreamRequest): Promise<CoreResponse> {
    const frames = await this.streams.start(asked)
    this.counters.count(200, 0)
    const headers = streamHeaders()
    if (request.method !== 'HEAD') return { status: 200, headers, parts: none, frames }
    frames.end()
    return { status: 200, headers, parts: none }
  }

  private answerOwn(request: CoreRequest, target: Target, path: OwnPath, params: Match['params']): Answer {
    switch (path) {
      case '/': {
        const form = negotiate(request.header('accept'), false)
        if (!form) throw new ProblemError({ name: 'not_acceptable' })
        return whole(typeOf(form), root(this.baseFor(request, target), this.ledger.head), true)
      }
      case '/openapi.json':
        return whole(typeOf('json'), this.openapiFor(this.baseFor(request, target)))
      case '/problems/{name}': {
        const page = problemPage(decode(params['name']!, 'name'))
        if (!page) throw new ProblemError({ name: 'not_found', detail: 'There is no problem of this name.' })
        return whole(typeOf('json'), page)
      }
      case '/health':
        if (this.ledger.closed) throw new ProblemError({ name: 'unavailable', detail: 'The ledger is closed.' })
        if (this.ledger.unreachable)
          throw new ProblemError({ name: 'unavailable', detail: 'The store that this process shares with others cannot be read.' })
        return whole(typeOf('json'), {
          status: this.ledger.poisoned ? 'poisoned' : 'ok',
          history: this.ledger.head ? historyOf(this.ledger.head) : null,
        })
      case '/metrics':
        return whole(
          'text/plain; version=0.0.4; charset=utf-8',
          utf8(metricsText(this.ledger, this.counters, this.renderers.stats, this.streams)),
        )
    }
  }

  private openapiFor(base: string): Uint8Array {
    if (this.document?.base !== base) this.document = { base, body: utf8(JSON.stringify(openapi(base))) }
    return this.document.body
  }

  private send(request: CoreRequest, answer: Answer): CoreResponse {
    return this.done(request, conditional(answer, request.header('if-none-match')), answer)
  }

  private done(
    { method }: CoreRequest,
    { status, headers, parts, length }: Reply,
    { room, release }: Pick<CoreResponse, 'room' | 'release'> = {},
  ): CoreResponse {
    const sent = method === 'HEAD' ? none : parts
    this.counters.count(status, sent === none ? 0 : length)
    if (sent !== none) return { status, headers, parts, room, release }
    release?.()
    return { status, headers, parts: none }
  }

  private preflight(request: CoreRequest): CoreResponse {
    const headers = preflightHeaders(request.header('access-control-request-headers'))
    return this.done(request, { status: 204, headers, parts: none, length: 0 })
  }

  private problem({ method, target }: Pick<CoreRequest, 'method' | 'target'>, error: unknown): Problem {
    return problemOf(error, (cause, id) => this.log(cause, { id, method, target }))
  }

  private fail(request: CoreRequest, error: unknown): CoreResponse {
    const { status, headers, parts } = problemResponse(this.problem(request, error))
    return this.done(request, { status, headers, parts, length: parts[0]!.length })
  }
}

const nothingThere = (): ProblemError => new ProblemError({ name: 'not_found', detail: 'There is nothing at this path.' })

/** What a request for a stream asks for. */
function streamAsked(request: CoreRequest, query: List, params: Match['params'], text: QueryText): Omit<StreamRequest, 'renderer'> {
  const { cursor, order } = pageOf(query, text, request.header('last-event-id'))
  if (order === 'desc') throw new ProblemError(badParameter('order', 'asc, since a stream goes on with what is new'))
  return { query: query as List<unknown, any, true>, values: listValues(query, params, text), cursor }
}
