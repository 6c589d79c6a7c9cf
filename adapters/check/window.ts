/**
 * A window: consecutive records of a listing, as a walk from page to page finds them, and what any page must therefore hold.
 * **Invariant:** nothing is expected of records outside the window, unless it reaches an end of a listing that does not move.
 */
import type { Order } from '../../src/index.ts'
import { type PagedListing, type PagedPage, textOf } from './paged.ts'

/** What a law finds wrong. */
export class Fault extends Error {}

export interface Window<R> {
  readonly listing: PagedListing<R>
  readonly records: readonly R[]
  readonly tokens: readonly string[]
  /** The window begins where the listing does. */
  readonly first: boolean
  /** It ended where the listing did. */
  readonly ended: boolean
  /** It ends where the listing does, and the listing does not grow. */
  readonly last: boolean
}

export const other = (order: Order): Order => (order === 'asc' ? 'desc' : 'asc')
export const maxLimit = (listing: PagedListing<any>): number => listing.maxLimit ?? 200

export const asked = (listing: PagedListing<any>, cursor: string, order: Order, limit: number): string =>
  listing.ask?.(cursor, order, limit) ?? `page(${JSON.stringify(cursor)}, ${JSON.stringify(order)}, ${limit})`

/** Requests a page, which must be one, and hold no more than it may. */
export async function ask<R>(listing: PagedListing<R>, cursor: string, order: Order, limit: number): Promise<PagedPage<R>> {
  const page = await listing.page(cursor, order, limit)
  const fault = (what: string): never => {
    throw new Fault(`${asked(listing, cursor, order, limit)}: ${what}`)
  }
  if (!Array.isArray(page?.records)) fault('expected a page { records: [], next, prev }')
  if (page.records.length > limit) fault(`${page.records.length} records where at most ${limit} were asked for`)
  if (page.faults?.length) fault(page.faults.join('; '))
  const links = [page.next, page.prev].filter((cursor) => !isNothing(cursor))
  if (links.length < 2) closed.add(listing)
  for (const cursor of [...links, ...page.records.map((record) => listing.token(record))])
    if (typeof cursor !== 'string') fault(`next, prev and the tokens of records must be text; one is of type ${typeof cursor}`)
  return page
}

/** Whether a page says that nothing lies further in the direction of a link, since it leaves that out. */
export const isNothing = (link: string | null | undefined): boolean => link === undefined || link === null

/** Listings that were seen to leave out a link. */
const closed = new WeakSet<PagedListing<any>>()
export const leavesOutLinks = (listing: PagedListing<any>): boolean => closed.has(listing)

/** The cursor that continues a page. Where it says that nothing follows, that of its last record, which must then lead to nothing. */
export const nextOf = (listing: PagedListing<any>, page: PagedPage<any>, cursor: string): string =>
  page.next ?? (page.records.length > 0 ? listing.token(page.records.at(-1)) : cursor)

/** The cursor that leads back from a page. Where it says that nothing comes before, that of its first record. */
export const prevOf = (listing: PagedListing<any>, page: PagedPage<any>, cursor: string): string =>
  page.prev ?? (page.records.length > 0 ? listing.token(page.records[0]) : cursor)

/** What is wrong with a page that leaves out a link, although there is something. */
export const leftOut = (link: 'next' | 'prev', record: string): string =>
  `it leaves out \`${link}\`, as if nothing ${link === 'next' ? 'followed' : 'came before'}, and there is ${record}`

/**
 * A page may leave out `next` if nothing follows it.
 * @param following what the page after it holds, if that is known already
 * @throws Fault unless the page, asked for again, has grown in the meantime
 */
export async function nothingFollows<R>(
  listing: PagedListing<R>,
  cursor: string,
  order: Order,
  limit: number,
  page: PagedPage<R>,
  following?: readonly R[],
): Promise<void> {
  if (!isNothing(page.next)) return
  const [found] = following ?? (await ask(listing, nextOf(listing, page, cursor), order, limit)).records
  if (found === undefined) return
  const again = await ask(listing, cursor, order, limit)
  if (isNothing(again.next) && again.records.length === page.records.length)
    throw new Fault(`${asked(listing, cursor, order, limit)}: ${leftOut('next', listing.token(found))}`)
}

/** The first records of an order after a cursor, by pages of `limit`; `ended` if there are no more. */
export async function walk<R>(
  listing: PagedListing<R>,
  order: Order,
  limit: number,
  most: number,
  from = '',
): Promise<{ records: R[]; ended: boolean }> {
  const records: R[] = []
  const seen = new Map<string, string>()
  let before: { readonly cursor: string; readonly page: PagedPage<R> } | undefined
  for (let cursor = from; ; ) {
    const page = await ask(listing, cursor, order, limit)
    if (before) await nothingFollows(listing, before.cursor, order, limit, before.page, page.records)
    before = { cursor, page }
    for (const record of page.records) {
      const token = listing.token(record)
      if (seen.has(token))
        throw new Fault(`${asked(listing, cursor, order, limit)}: ${token} again, which was on the page after "${seen.get(token)}"`)
      seen.set(token, cursor)
      records.push(record)
    }
    if (page.records.length === 0) return { records, ended: true }
    if (records.length >= most) return { records: records.slice(0, most), ended: false }
    cursor = nextOf(listing, page, cursor)
  }
}

const windowOf = <R>(listing: PagedListing<R>, records: readonly R[], first: boolean, ended: boolean): Window<R> => ({
  ...{ listing, records, first, ended, last: ended && !listing.live },
  tokens: records.map((record) => listing.token(record)),
})

/** The oldest records of a listing, up to `most`. */
export async function oldest<R>(listing: PagedListing<R>, most: number): Promise<Window<R>> {
  const { records, ended } = await walk(listing, 'asc', maxLimit(listing), most)
  return windowOf(listing, records, true, ended)
}

/** The oldest records of a listing and, if those are not all, the newest: up to `most` of each. */
export async function windows<R>(listing: PagedListing<R>, most: number): Promise<Window<R>[]> {
  const start = await oldest(listing, most)
  if (start.records.length < most) return [start]
  const { records } = await walk(listing, 'desc', maxLimit(listing), most)
  return [start, windowOf(listing, records.reverse(), false, true)]
}

const shorten = (tokens: readonly string[]): string =>
  `[${tokens.length > 12 ? [...tokens.slice(0, 6), `… ${tokens.length - 11} more …`, ...tokens.slice(-5)].join(' ') : tokens.join(' ')}]`

/** Compares records that must be the same, in the same order. */
export function same<R>(listing: PagedListing<R>, came: readonly R[], wanted: readonly R[], where: string): void {
  const tokens = (records: readonly R[]): string[] => records.map((record) => listing.token(record))
  const [got, expected] = [tokens(came), tokens(wanted)]
  const at = Array.from({ length: Math.max(got.length, expected.length) }, (_, n) => n).find((n) => got[n] !== expected[n])
  if (at !== undefined)
    throw new Fault(
      `${where}: expected ${expected[at] ?? 'no more'} at place ${at}, got ${got[at] ?? 'no more'}; ${shorten(got)}, not ${shorten(expected)}`,
    )
  for (const [n, record] of came.entries())
    if (textOf(record) !== textOf(wanted[n])) throw new Fault(`${where}: ${got[n]} is ${textOf(record)}, and was ${textOf(wanted[n])}`)
}

/**
 * The page after a cursor that lies before record number `at` of the window.
 * @throws Fault if it does not hold what the window says
 */
export async function agrees<R>(window: Window<R>, cursor: string, at: number, order: Order, limit: number): Promise<PagedPage<R>> {
  const { listing, records, first, last } = window
  const page = await ask(listing, cursor, order, limit)
  const known = order === 'asc' ? records.slice(at, at + limit) : records.slice(Math.max(0, at - limit), at).reverse()
  const bounded = known.length === limit || (order === 'asc' ? last : first)
  same(listing, bounded ? page.records : page.records.slice(0, known.length), known, asked(listing, cursor, order, limit))
  const following = order === 'asc' ? records[at + limit] : records[at - limit - 1]
  if (isNothing(page.next) && following !== undefined)
    throw new Fault(`${asked(listing, cursor, order, limit)}: ${leftOut('next', listing.token(following))}`)
  return page
}
