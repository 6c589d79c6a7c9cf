/**
 * The page around the records: `{"_links":{"self":…,"next":…,"prev":…},"_embedded":{"records":[…]}}`.
 * **Invariants:** the three links always carry the path, the filters in declared order, then cursor, limit and order; everything in them is
 * percent-encoded, so that JSON has nothing to escape.
 */
import { type List, type Order, pathNames, type RawPage } from '../../src/index.ts'

/** A page as requested, fully checked. */
export interface Asked {
  /** As given; empty if none was. */
  readonly cursor: string
  readonly limit: number
  readonly order: Order
}

type Values = Readonly<Record<string, unknown>>

/** The path of a list with its parameters filled in, a question mark, and its filters, each followed by an ampersand. */
export function linkOf({ path, filters }: List<any>, values: Values): string {
  let text = path
  for (const name of pathNames(path)) text = text.replace(`{${name}}`, () => encodeURIComponent(String(values[name])))
  text += '?'
  if (filters) for (const [name, value] of Object.entries(filters.format(values))) text += `${name}=${encodeURIComponent(value)}&`
  return text
}

/** What follows the cursor of each link, up to and including the beginning of the next one. */
interface Between {
  readonly self: string
  readonly next: string
  readonly prev: string
}

const held = { asc: [] as Between[], desc: [] as Between[] }

/** Made once per order and limit, so that a page is assembled from few strings. */
function between(order: Order, limit: number): Between {
  const end = (way: Order): string => `&limit=${limit}&order=${way}"}`
  held[order][limit] ??= {
    self: `${end(order)},"next":{"href":"`,
    next: `${end(order)},"prev":{"href":"`,
    prev: `${end(order === 'asc' ? 'desc' : 'asc')}},"_embedded":{"records":[`,
  }
  return held[order][limit]
}

/**
 * The text before the records. ASCII.
 * @param listing base URL, path, question mark and filters
 * @param oldest the oldest ledger held; 0 if cursors name no ledger
 */
export function pageHead(listing: string, { cursor, limit, order }: Asked, page: RawPage, oldest: number): string {
  const { self, next, prev } = between(order, limit)
  const back = page.count === 0 && order === 'asc' ? reachable(page.prev, oldest) : page.prev
  const at = `${listing}cursor=`
  return `{"_links":{"self":{"href":"${at}${cursor}${self}${at}${page.next}${next}${at}${back}${prev}`
}

export const PAGE_TAIL = ']}}'

/**
 * The backward cursor of an empty page. One below history would be refused, so it is moved up to where history begins: either way nothing lies before
 * it.
 */
function reachable(cursor: string, oldest: number): string {
  if (oldest <= 1 || cursor === '') return cursor
  const begin = BigInt(oldest) << 32n
  const dash = cursor.indexOf('-')
  const id = BigInt(dash < 0 ? cursor : cursor.slice(0, dash))
  return id < begin ? `${begin}${dash < 0 ? '' : '-0'}` : cursor
}
