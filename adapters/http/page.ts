/**
 * The page around the records: `{"_links":{"self":…,"next":…,"prev":…},"_embedded":{"records":[…]}}`.
 * **Invariants:** the three links always carry the path, the filters in declared order, then cursor, limit and order; everything in them is
 * percent-encoded, so that JSON has nothing to escape.
 */
import { copy, type List, type Order, pathNames, type RawPage, Region, utf8 } from '../../src/index.ts'
import type { Out } from './out.ts'

/** A page as requested, fully checked. */
export interface Asked {
  /** As given; empty if none was. */
  readonly cursor: string
  readonly limit: number
  readonly order: Order
}

type Values = Readonly<Record<string, unknown>>

/** The path of a list with its parameters filled in, a question mark, and its filters, each followed by an ampersand. */
export function linkOf({ path, filters }: List, values: Values): string {
  let text = path
  for (const name of pathNames(path)) text = text.replace(`{${name}}`, () => encodeURIComponent(String(values[name])))
  text += '?'
  if (filters) for (const [name, value] of Object.entries(filters.format(values))) text += `${name}=${encodeURIComponent(value)}&`
  return text
}

/** Text as bytes to copy from. */
const fixed = (text: string): Region => Region.padded(utf8(text))

/** What follows the cursor of each link, up to the beginning of the next one. */
interface Between {
  readonly self: Region
  readonly next: Region
  readonly prev: Region
}

const held = { asc: [] as Between[], desc: [] as Between[] }

/** Made once per order and limit. */
function between(order: Order, limit: number): Between {
  const end = (way: Order): string => `&limit=${limit}&order=${way}"}`
  held[order][limit] ??= {
    self: fixed(`${end(order)},"next":{"href":"`),
    next: fixed(`${end(order)},"prev":{"href":"`),
    prev: fixed(`${end(order === 'asc' ? 'desc' : 'asc')}},"_embedded":{"records":[`),
  }
  return held[order][limit]
}

const OPENING = fixed('{"_links":{"self":{"href":"')
/** More than a page has of its own: what its links begin with, and what is between them; and three tokens. */
const OWN_BYTES = 512

/**
 * Writes what precedes the records, piece by piece: to make a string of it first takes a tenth of the time for a page of ten records.
 * @param link what the links of the listing begin with: base URL, path, question mark, filters, and `cursor=`. ASCII
 * @param oldest the oldest ledger held; 0 if cursors name no ledger
 * @returns where it starts
 */
export function writePageHead(out: Out, link: string, { cursor, limit, order }: Asked, page: RawPage, oldest: number): number {
  const { self, next, prev } = between(order, limit)
  const { length } = link
  out.reserve(OWN_BYTES + 3 * (length + cursor.length))
  const start = out.at
  out.put(OPENING)
  const begin = out.ascii(link)
  out.ascii(cursor)
  out.put(self)
  out.at = copy(out, out.at, out, begin, length)
  out.at = page.writeNext(out.bytes, out.at)
  out.put(next)
  out.at = copy(out, out.at, out, begin, length)
  if (page.count === 0 && order === 'asc') out.ascii(reachable(page.prev, oldest))
  else out.at = page.writePrev(out.bytes, out.at)
  out.put(prev)
  return start
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
