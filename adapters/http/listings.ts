/**
 * Listings that were asked for of late, by the text of a request up to its page parameters: who pages through a listing sends the same path and
 * filters again and again, and reading those takes longer than finding ten records.
 * **Invariant:** what is found here is what reading the whole request would give: page parameters stand last, each at most once, and nothing in
 * them is escaped or wrong. Any other request is not found, and is to be read.
 */
import { catalogue, DEFAULT_LIMIT, type List, MAX_LIMIT, type Order } from '../../src/index.ts'
import { type Asked, linkOf } from './page.ts'

/** What a path and its filters ask for, every part checked. */
export class Listing {
  readonly query: List<any>
  readonly values: Readonly<Record<string, unknown>>
  /** Path, question mark and filters as links have them, whatever the request looked like. */
  readonly link: string
  /** Whether its cursors name ledgers: those of offers are their ids. */
  readonly byLedger: boolean

  constructor(query: List<any>, values: Readonly<Record<string, unknown>>) {
    this.query = query
    this.values = values
    this.link = linkOf(query, values)
    this.byLedger = query.of !== catalogue.offer.of
  }
}

/** How many are kept, twice over, and how long the text of one may be. */
const MAX_LISTINGS = 1024
const MAX_LENGTH = 512

const pageNames = ['cursor', 'limit', 'order']
const pageBegins = pageNames.map((name) => `${name}=`)

export class Listings {
  /** What was asked for of late, and before that: when the first is full, it takes the place of the second. */
  private young = new Map<string, Listing>()
  private old = new Map<string, Listing>()

  /** The listing of a request target, and the page of it; undefined where the request is to be read. */
  find(target: string): { readonly listing: Listing; readonly asked: Asked } | undefined {
    const at = pageStart(target)
    const listing = at < 0 ? undefined : this.held(target.slice(0, at))
    const asked = listing && pageIn(target, at)
    return asked && { listing, asked }
  }

  private held(head: string): Listing | undefined {
    const listing = this.young.get(head)
    if (listing !== undefined) return listing
    const older = this.old.get(head)
    if (older !== undefined) this.put(head, older)
    return older
  }

  private put(head: string, listing: Listing): void {
    if (this.young.size >= MAX_LISTINGS) {
      this.old = this.young
      this.young = new Map()
    }
    this.young.set(head, listing)
  }

  /** Keeps what a request was found to ask for. */
  keep(target: string, listing: Listing): void {
    const at = pageStart(target)
    if (at < 0 || at > MAX_LENGTH || pageIn(target, at) === undefined) return
    const head = target.slice(0, at)
    // Behind a second question mark page parameters may begin as well.
    if (head.indexOf('?') !== head.lastIndexOf('?')) return
    // Of a parameter that comes more than once the first counts, however it is escaped.
    const names = new URLSearchParams(head.slice(head.indexOf('?') + 1))
    if (!pageNames.some((name) => names.has(name))) this.put(head, listing)
  }
}

const AMPERSAND = 38
const QUESTION = 63

/** Where the page parameters of a target begin; negative where it has none, or they may begin elsewhere. */
function pageStart(target: string): number {
  for (const name of pageBegins) {
    // Links have these last, behind what may be long.
    const at = target.lastIndexOf(name)
    if (at < 0) continue
    const before = target.charCodeAt(at - 1)
    return target[0] === '/' && (before === AMPERSAND || before === QUESTION) ? at : -1
  }
  return -1
}

/** Reads the page parameters, where there is nothing else from `at` on. By hand: the checks of a request read whole would take a microsecond more. */
function pageIn(target: string, at: number): Asked | undefined {
  let cursor: string | undefined
  let limit: number | undefined
  let order: Order | undefined
  for (let end: number; at <= target.length; at = end + 1) {
    end = target.indexOf('&', at)
    if (end < 0) end = target.length
    if (cursor === undefined && target.startsWith('cursor=', at)) {
      cursor = target.slice(at + 7, end)
      if (!isPlain(cursor)) return undefined
    } else if (limit === undefined && target.startsWith('limit=', at)) {
      limit = smallNumber(target, at + 6, end)
      if (limit < 1 || limit > MAX_LIMIT) return undefined
    } else if (order === undefined && target.startsWith('order=', at)) {
      const way = target.slice(at + 6, end)
      if (way !== 'asc' && way !== 'desc') return undefined
      order = way
    } else return undefined
  }
  return { cursor: cursor ?? '', limit: limit ?? DEFAULT_LIMIT, order: order ?? 'asc' }
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** True for digits and dashes, which a cursor is checked for being made of in the right way where it is used, and for `now`. */
function isPlain(cursor: string): boolean {
  if (cursor === 'now') return true
  for (let i = 0; i < cursor.length; i++) {
    const code = cursor.charCodeAt(i)
    if (!isDigit(code) && code !== 45) return false
  }
  return true
}

/** A number of up to three digits; 0 for anything else. */
function smallNumber(text: string, from: number, to: number): number {
  if (to - from > 3) return 0
  let value = 0
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i)
    if (!isDigit(code)) return 0
    value = value * 10 + code - 48
  }
  return value
}
