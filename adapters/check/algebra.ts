/**
 * The algebra of paging: how pages must relate to each other, whoever serves them and whatever they hold.
 * Cases are not drawn but enumerated, the smallest first, and all of them if they are few: so the first that fails is the one to look at.
 */
import type { Order } from '../../src/index.ts'
import { atLargestLimit, atOnce, endsAlike, leadsBackToNothing, newestEitherWay, newestPage, outside } from './edges.ts'
import { cursorsBetween, isBefore, type PagedListing, type PagedPage, textOf } from './paged.ts'
import {
  agrees,
  ask,
  asked,
  Fault,
  isNothing,
  leftOut,
  maxLimit,
  nextOf,
  nothingFollows,
  oldest,
  other,
  same,
  type Window,
  walk,
  windows,
} from './window.ts'

export interface PagingOptions {
  /** How many records are looked at, at either end of the listing. Default: 100. */
  readonly window?: number | undefined
  /** The most cases a law tries. Default: 1,000. */
  readonly cases?: number | undefined
}

/** How much is checked. */
export type Bounded = { readonly [N in keyof PagingOptions]-?: number }

/** Why a law could not be checked on this listing; undefined if it was. */
export type Unchecked = string | undefined

export interface PagingLaw {
  readonly name: string
  check(listing: PagedListing<any>, options: Bounded): Promise<Unchecked>
}

/** A page requested at a place in a window: the cursor of the record before it, in one direction or the other. */
interface Case {
  readonly window: Window<any>
  readonly at: number
  readonly order: Order
  readonly limit: number
}

/** Why hardly any law can be checked. */
export const EMPTY = 'the listing is empty'
const orders: readonly Order[] = ['asc', 'desc']
const limitsOf = (listing: PagedListing<any>): number[] => [1, 2, 3, 7, 10, maxLimit(listing)].filter((limit) => limit <= maxLimit(listing))

/** Steps of this fraction of a whole are spread evenly over it, and in step with nothing that repeats in it. */
const GOLDEN = 0.618_033_988_749_895

/** At most `most` of the items, spread over all of them, including the first, in their order. */
export function spread<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items]
  const chosen = new Set(Array.from({ length: most }, (_, n) => Math.floor(((n * GOLDEN) % 1) * items.length)))
  return [...chosen].sort((a, b) => a - b).map((at) => items[at]!)
}

/** Every page that begins at a record of the listing's windows. */
async function casesOf(listing: PagedListing<any>, options: Bounded): Promise<Case[]> {
  const all: Case[] = []
  for (const window of await windows(listing, options.window))
    for (const limit of limitsOf(listing))
      for (let at = 0; at < window.records.length; at++) for (const order of orders) all.push({ window, at, order, limit })
  return spread(all, options.cases)
}

/** The page after the record of a case, checked against the window. */
const pageAfter = ({ window, at, order, limit }: Case): Promise<PagedPage> =>
  agrees(window, window.tokens[at]!, order === 'asc' ? at + 1 : at, order, limit)

export const pagingAlgebra: readonly PagingLaw[] = [
  {
    name: 'next pages, joined, are the whole listing: each record once, and no page over its limit',
    async check(listing, { window }) {
      const all = await listing.records?.()
      for (const order of orders) {
        const found = await walk(listing, order, Math.min(10, maxLimit(listing)), all ? all.length + 1 : window)
        if (all) same(listing, found.records, order === 'asc' ? all : [...all].reverse(), `the walk ${order}`)
        if (found.records.length === 0) return all ? undefined : EMPTY
      }
      return undefined
    },
  },
  {
    name: 'tokens rise with their records, and no two records share one',
    async check(listing, { window }) {
      const held = await windows(listing, window)
      if (held[0]!.tokens.length === 0) return EMPTY
      for (const { tokens } of held)
        for (const [n, token] of tokens.entries()) {
          const rises = n === 0 ? true : isBefore(tokens[n - 1]!, token)
          if (rises === undefined) return 'its tokens are no numbers, so their order is not known'
          if (!rises) throw new Fault(`ascending, ${token} comes after ${tokens[n - 1]}`)
        }
      return undefined
    },
  },
  {
    name: 'any limit splits the same listing',
    async check(listing, { window, cases }) {
      const start = await oldest(listing, window)
      if (start.records.length === 0) return EMPTY
      for (const limit of limitsOf(listing)) {
        // A walk costs one request per page; where those are counted, small limits go less far.
        const most = Math.min(start.records.length + (start.ended ? 1 : 0), limit * Math.max(3, Math.floor(cases / 4)))
        const { records } = await walk(listing, 'asc', limit, most)
        // One more record was added meanwhile, or was left out before.
        const known = records.length > start.records.length ? await oldest(listing, records.length) : start
        same(listing, records, known.records.slice(0, records.length), `the walk by pages of ${limit}`)
        if (records.length < Math.min(most, start.records.length))
          throw new Fault(`the walk by pages of ${limit} ends after ${records.length} records`)
      }
      if (!start.ended || start.records.length >= maxLimit(listing)) await atLargestLimit(listing)
      return undefined
    },
  },
  {
    name: 'descending is ascending, reversed',
    async check(listing, { window }) {
      const held = (await windows(listing, window)).at(-1)!
      const [newest] = held.tokens.slice(-1)
      if (newest === undefined) return EMPTY
      // What is ahead by now was added meanwhile, or was left out on the way down.
      const { records: ahead } = await ask(listing, newest, 'asc', maxLimit(listing))
      const known = [...held.records, ...ahead].reverse()
      const { records } = await walk(listing, 'desc', Math.min(47, maxLimit(listing)), known.length + maxLimit(listing))
      const at = records.findIndex((record) => listing.token(record) === listing.token(known[0]))
      const down = at < 0 ? records : records.slice(at)
      same(listing, held.first ? down : down.slice(0, known.length), known, 'the walk desc')
      await newestEitherWay(listing, newest)
      return undefined
    },
  },
  {
    name: 'every token resumes exactly after its record, in either direction, with any limit',
    async check(listing, options) {
      const cases = await casesOf(listing, options)
      for (const one of cases) await pageAfter(one)
      await atOnce(
        listing,
        spread(cases, 20).map((one) => () => pageAfter(one)),
      )
      return cases.length === 0 ? EMPTY : undefined
    },
  },
  {
    name: 'prev leads back to the records before a page, also after next',
    async check(listing, options) {
      const cases = await casesOf(listing, { ...options, cases: Math.ceil(options.cases / 3) })
      for (const one of cases) await leadsBack(one)
      await leadsBackToNothing(listing)
      return cases.length === 0 ? EMPTY : undefined
    },
  },
  {
    name: 'a cursor between two records resumes at the next one',
    async check(listing, options) {
      const limit = Math.min(3, maxLimit(listing))
      const held = await windows(listing, options.window)
      const gaps = held.flatMap((window) =>
        window.tokens.slice(1).flatMap((after, n) => {
          const before = window.tokens[n]!
          const cursors = listing.between?.(before, after) ?? cursorsBetween(before, after)
          return cursors.flatMap((cursor) => orders.map((order) => ({ window, cursor, at: n + 1, order })))
        }),
      )
      for (const { window, cursor, at, order } of spread(gaps, options.cases)) await agrees(window, cursor, at, order, limit)
      if (gaps.length > 0) await outside(held[0]!)
      return gaps.length === 0 ? 'no cursor is known to lie between two of its records' : undefined
    },
  },
  {
    name: 'an empty page links to itself, in both directions, or nowhere; the last pages say alike whether anything follows',
    async check(listing, { window }) {
      const held = await oldest(listing, window)
      const ends: [cursor: string, order: Order][] = held.records.length === 0 ? [] : [[held.tokens[0]!, 'desc']]
      if (held.last) ends.push([held.tokens.at(-1) ?? '', 'asc'])
      for (const [cursor, order] of ends) await linksToItself(listing, cursor, order)
      for (const order of orders) if (order === 'desc' || !listing.live) await endsAlike(listing, order)
      return ends.length === 0 ? EMPTY : undefined
    },
  },
  {
    name: 'a page stays what it was while newer records are added, and those come after all others',
    async check(listing, options) {
      if (!listing.grow) return 'nothing is known to add records'
      const look = await remember(listing, options)
      for (let round = 0; round < 3; round++) {
        await listing.grow()
        await look()
      }
      const all = await listing.records?.()
      if (all)
        same(
          listing,
          (await walk(listing, 'asc', maxLimit(listing), all.length + 1)).records,
          all,
          'the walk asc, after newer records were added',
        )
      return undefined
    },
  },
]

/** The page of a case, the next one, and back. */
async function leadsBack(one: Case): Promise<void> {
  const { window, at, order, limit } = one
  const page = await pageAfter(one)
  if (page.records.length === 0) return
  const begin = order === 'asc' ? at + 1 : at
  const cursor = window.tokens[at]!
  const backOf = ({ prev }: PagedPage, asked: string): string => {
    // The record of the case lies before the page, so something does.
    if (typeof prev !== 'string') throw new Fault(`${asked}: ${leftOut('prev', cursor)}`)
    return prev
  }
  await agrees(window, backOf(page, asked(window.listing, cursor, order, limit)), begin, other(order), limit)
  const end = order === 'asc' ? begin + page.records.length : begin - page.records.length
  if (end < 0 || end > window.records.length) return
  const from = nextOf(window.listing, page, cursor)
  const next = await agrees(window, from, end, order, limit)
  if (next.records.length > 0) await agrees(window, backOf(next, asked(window.listing, from, order, limit)), end, other(order), limit)
}

/** An empty page where there must be one: its links keep its cursor, so that following them neither moves nor starts over. */
async function linksToItself(listing: PagedListing<any>, cursor: string, order: Order): Promise<void> {
  const limit = Math.min(10, maxLimit(listing))
  const where = asked(listing, cursor, order, limit)
  const { records, next, prev } = await ask(listing, cursor, order, limit)
  if (records.length > 0) throw new Fault(`${where}: expected an empty page, got ${records.length} records`)
  if ([next, prev].some((link) => !isNothing(link) && link !== cursor))
    throw new Fault(`${where}: the links of an empty page keep its cursor "${cursor}"; next has "${next}", prev has "${prev}"`)
}

/**
 * Reads pages that nothing added later can change.
 * @returns a function that reads them again, and throws a Fault if one has changed
 */
export async function remember(listing: PagedListing<any>, options: Bounded): Promise<() => Promise<void>> {
  const before = await oldest(listing, options.window)
  const held: [one: Case, page: PagedPage<any>][] = []
  for (const one of await casesOf(listing, { ...options, cases: Math.ceil(options.cases / 10) })) {
    const page = await pageAfter(one)
    if (one.order === 'desc' || page.records.length === one.limit) held.push([one, page])
  }
  const newest = await newestPage(listing)
  const linksOf = ({ next, prev }: PagedPage): string => textOf([next ?? null, prev ?? null])
  return async () => {
    await newest()
    for (const [{ window, at, order, limit }, page] of held) {
      const again = await ask(listing, window.tokens[at]!, order, limit)
      const where = `${asked(listing, window.tokens[at]!, order, limit)}, asked again`
      same(listing, again.records, page.records, where)
      // Where nothing lay ahead, something may do so by now, and then the page must say so.
      const ahead = order === 'asc' ? 'next' : 'prev'
      const was = isNothing(page[ahead]) ? { ...page, [ahead]: again[ahead] } : page
      if (linksOf(again) !== linksOf(was)) throw new Fault(`${where}: its links are ${linksOf(again)}, and were ${linksOf(page)}`)
      await nothingFollows(listing, window.tokens[at]!, order, limit, again)
    }
    const after = await oldest(listing, before.records.length + 2 * maxLimit(listing))
    same(listing, after.records.slice(0, before.records.length), before.records, 'the oldest records, read again')
    if (!after.last) return
    const down = await walk(listing, 'desc', maxLimit(listing), after.records.length + 1)
    same(listing, down.records, [...after.records].reverse(), 'the walk desc, after newer records were added')
  }
}
