/** What is easily wrong only at the edges of a listing: pages of the largest limit, cursors outside, and the newest page once more records have come. */
import type { Order } from '../../src/index.ts'
import { cursorsBeside, type PagedListing } from './paged.ts'
import { agrees, ask, asked, Fault, isNothing, leavesOutLinks, maxLimit, nextOf, other, prevOf, same, type Window, walk } from './window.ts'

/** How many records of the newest page are looked at, and how many more of the next one. */
const FEW = 3
const SOME = 10

/**
 * Two pages, of which the first has the largest limit, are the same as two others, of which the first has one record less. Windows are shorter than
 * such a page, so nothing else reads what follows it.
 */
export async function atLargestLimit(listing: PagedListing<any>): Promise<void> {
  const most = maxLimit(listing)
  if (most <= SOME) return
  for (const order of ['asc', 'desc'] as const) {
    // Newer records may come at the newest end, so both begin behind the first record.
    const [start] = (await ask(listing, '', order, 1)).records
    if (start === undefined) return
    const cursor = listing.token(start)
    const joined = async (limit: number) => {
      const first = await ask(listing, cursor, order, limit)
      const rest = await ask(listing, nextOf(listing, first, cursor), order, SOME + most - limit)
      const where = asked(listing, cursor, order, limit)
      if (first.records.length < limit && rest.records.length > 0) {
        // They may have been added in between.
        const { records } = await ask(listing, cursor, order, limit)
        if (records.length === first.records.length)
          throw new Fault(`${where}: ${records.length} records, although the next page has ${rest.records.length} more`)
      }
      return { where, records: [...first.records, ...rest.records] }
    }
    const [whole, less] = [await joined(most), await joined(most - 1)]
    // What was read later may hold more by now.
    const came = listing.live ? less.records.slice(0, whole.records.length) : less.records
    same(listing, came, whole.records, `${less.where} and the next page, which must be as ${whole.where} and the next page`)
  }
}

/** A page begins at the end of the listing, so nothing lies before it, in its order; its link back leads to nothing. */
export async function leadsBackToNothing(listing: PagedListing<any>): Promise<void> {
  const limit = Math.min(SOME, maxLimit(listing))
  for (const order of ['asc', 'desc'] as const) {
    if (order === 'desc' && listing.live) continue
    const page = await ask(listing, '', order, limit)
    if (page.records.length === 0) continue
    const prev = prevOf(listing, page, '')
    const { records } = await ask(listing, prev, other(order), limit)
    same(listing, records, [], `${asked(listing, prev, other(order), limit)}, to which the first page ${order} leads back`)
  }
}

/** Pages at cursors before the first record and after the last one. Descending from before the first, a service may say that history begins later. */
export async function outside({ listing, tokens: [first], ...oldest }: Window<any>): Promise<void> {
  if (first === undefined || listing.between) return
  const limit = Math.min(FEW, maxLimit(listing))
  const { before } = cursorsBeside(first)
  if (before !== undefined) await agrees({ listing, tokens: [first], ...oldest }, before, 0, 'asc', limit)
  // Read anew, since newer records may have come.
  const { records } = await ask(listing, '', 'desc', limit)
  const { after } = cursorsBeside(listing.token(records[0] ?? {}) ?? '')
  if (after === undefined) return
  same(listing, (await ask(listing, after, 'desc', limit)).records, records, asked(listing, after, 'desc', limit))
  const { records: none } = await ask(listing, after, 'asc', limit)
  if (!listing.live) same(listing, none, [], asked(listing, after, 'asc', limit))
}

/** How often the newest record is looked for, since others may come in between. */
const LOOKS = 4

/** The newest record is the same in either order. `from` is the token of one not long before it. */
export async function newestEitherWay(listing: PagedListing<any>, from: string): Promise<void> {
  const most = maxLimit(listing)
  for (let looks = 0; looks < LOOKS; looks++) {
    const { records, ended } = await walk(listing, 'asc', most, LOOKS * most, from)
    if (!ended) return
    const newest = records.length > 0 ? listing.token(records.at(-1)) : from
    const [top] = (await ask(listing, '', 'desc', 1)).records
    const { records: since } = await ask(listing, newest, 'asc', 1)
    if (since.length > 0) continue
    const token = top === undefined ? 'no record' : listing.token(top)
    if (token !== newest)
      throw new Fault(`${asked(listing, '', 'desc', 1)}: expected ${newest}, which is the newest in ascending order, got ${token}`)
    return
  }
}

/** The same pages requested at once, if they are answered by somebody who can be asked so. */
export async function atOnce(listing: PagedListing<any>, pages: readonly (() => Promise<unknown>)[]): Promise<void> {
  if (!listing.live) await Promise.all(pages.map(async (page) => page()))
}

/**
 * Reads the newest page, which newer records will make longer.
 * @returns a function that reads it again, and what its links lead to, once there may be more
 */
export async function newestPage(listing: PagedListing<any>): Promise<() => Promise<void>> {
  const most = maxLimit(listing)
  const limit = Math.min(FEW + SOME, most)
  const [past] = (await walk(listing, 'desc', Math.min(FEW + 1, most), FEW + 1)).records.slice(FEW)
  const cursor = past === undefined ? '' : listing.token(past)
  const page = await ask(listing, cursor, 'asc', limit)
  const last = page.records.at(-1)
  if (last === undefined || page.records.length === limit) return async () => {}
  const next = nextOf(listing, page, cursor)
  const empty = await ask(listing, next, 'asc', most)
  // More came meanwhile.
  if (empty.records.length > 0) return async () => {}
  const since = ', after newer records were added'
  return async () => {
    const { records: ahead } = await ask(listing, listing.token(last), 'asc', most)
    const known = [...page.records, ...ahead].slice(0, most)
    const again = async (from: string, order: Order, wanted: readonly unknown[]): Promise<void> => {
      const { records } = await ask(listing, from, order, most)
      const came = listing.live || order === 'desc' ? records.slice(0, wanted.length) : records
      same(listing, came, wanted, `${asked(listing, from, order, most)}${since}`)
    }
    await again(cursor, 'asc', known)
    await again(next, 'asc', ahead)
    await again(nextOf(listing, empty, next), 'asc', ahead)
    if (!listing.live && ahead.length < most) await again('', 'desc', [...known].reverse())
    await newestEitherWay(listing, listing.token(last))
  }
}

/** How many pages are compared that end where the listing does. */
const LAST = 3

/**
 * Where a listing ends, its pages say so, or none of them does: full ones, those that are not, and the empty one that follows. The same goes for those
 * with which it begins. Over HTTP, where requests are counted, none is made if the listing was never seen to leave out a link.
 */
export async function endsAlike(listing: PagedListing<any>, order: Order): Promise<void> {
  if (listing.live && !leavesOutLinks(listing)) return
  const most = Math.min(LAST + 1, maxLimit(listing))
  const { records } = await ask(listing, '', other(order), most)
  const [end] = records
  if (end === undefined) return
  const pages = async (link: 'next' | 'prev', requests: readonly (readonly [cursor: string, limit: number])[]): Promise<void> => {
    let [silent, open]: (string | undefined)[] = []
    for (const [cursor, limit] of requests) {
      const page = await ask(listing, cursor, order, limit)
      const where = asked(listing, cursor, order, limit)
      // Others may be of no last page any more; what an empty one says counts only if one before it says that it is the last.
      if (page.records.length > 0 ? link === 'next' && listing.token(page.records.at(-1)) !== listing.token(end) : !silent) continue
      if (isNothing(page[link])) silent ??= where
      else open ??= where
    }
    if (silent !== undefined && open !== undefined)
      throw new Fault(
        `${open}: it has a \`${link}\`, although nothing ${link === 'next' ? 'follows' : 'comes before'}; ${silent} leaves it out there`,
      )
  }
  const from = [...records.slice(1).map((record) => listing.token(record)), ...(records.length < most ? [''] : [])]
  const last = from.flatMap((cursor, n) => [n + 1, Math.min(n + 2, maxLimit(listing))].map((limit) => [cursor, limit] as const))
  await pages('next', [...last, [listing.token(end), most]])
  await pages(
    'prev',
    [1, 2, LAST].filter((limit) => limit <= most).map((limit) => ['', limit] as const),
  )
}
