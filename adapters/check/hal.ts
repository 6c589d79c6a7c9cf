/**
 * A listing over HTTP: HAL pages with `_embedded.records` and `_links.next`, `prev` and `self`, requested with `cursor`, `order` and `limit`.
 * Nothing is known of the service but this form.
 */
import type { Order } from '../../src/index.ts'
import { type Client, Exhausted } from './client.ts'
import type { PagedListing, PagedPage } from './paged.ts'
import { Fault, isNothing, other } from './window.ts'

export type Members = { readonly [member: string]: any }

const paging = ['cursor', 'order', 'limit']

export const recordsIn = (body: any): Members[] | undefined =>
  Array.isArray(body?._embedded?.records) ? body._embedded.records : undefined

/** Where a link points, without the parameters that a template leaves open; undefined if there is none. */
export const plainHref = (link: any): string | undefined =>
  typeof link?.href === 'string' && link.href !== '' ? link.href.replace(/\{[?&][^}]*\}/g, '') : undefined

/** The target of a link; undefined if there is none, or if its path has holes. */
export function targetOf(link: any, base: string): string | undefined {
  const plain = plainHref(link)
  return plain === undefined || plain.includes('{') || !URL.canParse(plain, base) ? undefined : new URL(plain, base).href
}

/** A URL without its paging parameters. */
export function withoutPaging(url: string): URL {
  const target = new URL(url)
  for (const name of paging) target.searchParams.delete(name)
  return target
}

/** A URL with its paging parameters replaced. */
export function paged(url: string, cursor: string, order: Order, limit: number): string {
  const target = withoutPaging(url)
  if (cursor !== '') target.searchParams.set('cursor', cursor)
  target.searchParams.set('limit', String(limit))
  target.searchParams.set('order', order)
  return target.href
}

/** Which listing a URL is of: its path and its filters. */
export function listingOf(url: string): string {
  const target = withoutPaging(url)
  target.searchParams.sort()
  return `${target.pathname.replace(/\/$/, '')}?${target.searchParams}`
}

/** Where a link of a page leads, and what is wrong with that; undefined if the page has no such link, as if nothing were there. */
function follow(body: Members, name: 'next' | 'prev', asked: string, order: Order, limit: number, faults: string[]): string | undefined {
  const link: unknown = body['_links']?.[name]
  if (link === undefined || link === null) return undefined
  const target = targetOf(link, asked)
  if (target === undefined) {
    faults.push(`_links.${name} has no href to follow`)
    return ''
  }
  const { searchParams } = new URL(target)
  const wrong = (what: string): number => faults.push(`_links.${name} ${what}: ${target}`)
  // A proxy may answer under another host; the path and the filters belong to the listing.
  if (!listingOf(target).endsWith(listingOf(asked)) && !listingOf(asked).endsWith(listingOf(target))) wrong('leads to another listing')
  if ((searchParams.get('order') || 'asc') !== order) wrong(`is not in the order ${order}`)
  if (Number(searchParams.get('limit') || 10) !== limit) wrong(`does not keep the limit ${limit}`)
  return searchParams.get('cursor') ?? ''
}

/** Reads a body as a page. @throws Fault if it is not one */
function pageOf(body: any, asked: string, order: Order, limit: number): PagedPage<Members> {
  const records = recordsIn(body)
  if (!records) throw new Fault(`GET ${asked}: no page, since _embedded.records is missing`)
  const faults: string[] = []
  const next = follow(body, 'next', asked, order, limit, faults)
  const prev = follow(body, 'prev', asked, other(order), limit, faults)
  if (records.some((record) => tokenOf(record) === '')) faults.push('a record has no paging token')
  return { records, next, prev, faults }
}

/** What the records of a service page by: `paging_token`, or else `id`. */
export const tokenOf = (record: Members): string => String(record?.['paging_token'] ?? record?.['id'] ?? '')

/**
 * A listing of a service as the laws of paging see it; it may grow at any time.
 * @param url the listing, with its filters
 */
export function halListing(client: Client, url: string, limit: number): PagedListing<Members> {
  return {
    live: true,
    maxLimit: limit,
    token: tokenOf,
    ask: (cursor, order, limit) => `GET ${paged(url, cursor, order, limit)}`,
    async page(cursor, order, limit) {
      const asked = paged(url, cursor, order, limit)
      const { status, body } = await client.get(asked)
      if (status !== 200) throw new Fault(`GET ${asked}: answered ${status}${body?.detail ? `, ${body.detail}` : ''}`)
      return pageOf(body, asked, order, limit)
    },
  }
}

/**
 * The largest of the usual limits that a service accepts and honours.
 * @throws Fault if it fails, or gives fewer records than asked for, and its next link skips the others; Exhausted if it may not be read
 */
export async function largestLimit(client: Client, url: string, most = 200): Promise<number> {
  for (const limit of [200, 100, 50, 20, 10].filter((one) => one <= most)) {
    const asked = paged(url, '', 'asc', limit)
    const { status, body } = await client.get(asked)
    const said = `GET ${asked}: answered ${status}`
    if (status >= 500) throw new Fault(said)
    if (status > 400) throw new Exhausted(said)
    const records = recordsIn(body)
    if (status !== 200 || records === undefined) continue
    const last = records.at(-1)
    if (records.length === limit || last === undefined) return limit
    // Fewer than asked for: either all there are, or the most it ever gives at once.
    const [following] = recordsIn((await client.get(paged(url, tokenOf(last), 'asc', 1))).body) ?? []
    if (following === undefined) return limit
    const missing = (page: any): boolean => isNothing(page?._links?.next)
    if (missing(body)) {
      // Without a link, nothing followed; the record may have been added since.
      const again = (await client.get(asked)).body
      if (!missing(again) || (recordsIn(again)?.length ?? 0) > records.length) return limit
    }
    const [next] = recordsIn((await client.get(targetOf(body._links?.next, asked) ?? asked)).body) ?? []
    if (tokenOf(next ?? {}) === tokenOf(following)) return records.length
    const wrong = missing(body) ? 'is missing, as if nothing followed' : 'passes over it'
    throw new Fault(`GET ${asked}: ${records.length} records, the next of which is ${tokenOf(following)}; _links.next ${wrong}`)
  }
  return 10
}
