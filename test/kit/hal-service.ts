/** A service that shares no code with ours: an array over HTTP, as HAL. It takes the place of `fetch`, so it needs no socket. */
import type { PagedListing } from '../../adapters/testing/index.ts'
import type { Order } from '../../src/index.ts'

export interface HalOptions {
  /** How many requests are answered before records are added again. */
  readonly growEvery?: number
  /** Where the rows are. Default: `/rows`. */
  readonly path?: string
  /** Makes links of paths alone. */
  readonly relative?: boolean
  /** The most records of a page, even if a request asks for more. */
  readonly most?: number
  /** Changes the body that is sent. */
  readonly spoil?: (body: any, url: URL) => unknown
  readonly status?: (url: URL) => number | undefined
}

type Link = (cursor: string | null | undefined, order: Order) => { href: string } | undefined

export function halService(listing: PagedListing<any>, options: HalOptions = {}): (url: string) => Promise<Response> {
  const { growEvery = 0, path = '/rows', relative = false, most = 200, spoil = (body) => body, status = () => undefined } = options
  let answered = 0
  const body = async (url: URL): Promise<unknown> => {
    const base = relative ? '' : url.origin
    if (url.pathname === '/')
      return { _links: { self: { href: `${base}/` }, rows: { href: `${base}${path}{?cursor,limit,order}`, templated: true } } }
    if (url.pathname !== path) return undefined
    const text = (name: string): string => url.searchParams.get(name) ?? ''
    const order: Order = text('order') === 'desc' ? 'desc' : 'asc'
    const limit = Number(text('limit') || 10)
    const { records, next, prev } = await listing.page(text('cursor'), order, Math.min(limit, most))
    // A page that says that nothing follows has no such link.
    const link: Link = (cursor, order) =>
      typeof cursor === 'string' ? { href: `${base}${path}?order=${order}&limit=${limit}&cursor=${cursor}` } : undefined
    return {
      _links: { self: link(text('cursor'), order), next: link(next, order), prev: link(prev, order === 'asc' ? 'desc' : 'asc') },
      _embedded: { records: records.map(({ token, ...rest }) => ({ ...rest, paging_token: token })) },
    }
  }
  return async (text) => {
    const url = new URL(text)
    if (growEvery > 0 && ++answered % growEvery === 0) await listing.grow?.()
    const found = await body(url)
    return found === undefined
      ? new Response('{}', { status: 404 })
      : new Response(JSON.stringify(spoil(found, url)), { status: status(url) ?? 200 })
  }
}

/**
 * The same with event streams and problems as services of the other make have them: the id before the data, a goodbye after ten records, no place in the
 * greeting, a URL as the type of a problem.
 * @param change what becomes of a record of a stream
 */
export function otherService(listing: PagedListing<any>, change: (event: string, n: number) => string = (event) => event) {
  const pages = halService(listing)
  return async (text: string, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(text)
    const wantsStream = new Headers(init.headers).get('accept') === 'text/event-stream'
    if (url.pathname !== '/rows' && url.pathname !== '/')
      return Response.json(
        { type: 'https://other.example/errors/not_found', title: 'Resource Missing', status: 404 },
        { status: 404, headers: { 'content-type': 'application/problem+json' } },
      )
    if (!wantsStream) return pages(text)
    const cursor = url.searchParams.get('cursor') ?? ''
    const { records } = cursor === 'now' ? { records: [] } : await listing.page(cursor, 'asc', 10)
    const events = records.map(({ token, ...rest }, n) =>
      change(`id: ${token}\ndata: ${JSON.stringify({ ...rest, paging_token: token })}\n\n`, n),
    )
    const said = ['retry: 1000\nevent: open\ndata: "hello"\n\n', ...events, 'retry: 10\nevent: close\ndata: "byebye"\n\n']
    return new Response(said.join(''), { headers: { 'content-type': 'text/event-stream' } })
  }
}
