/**
 * Listings that were requested recently, by the text of a request up to its page parameters: a client that pages through a listing sends the same
 * path and filters again and again, and parsing those takes longer than finding ten records.
 * **Invariant:** what is found here is what parsing the whole request would give: page parameters come last, each at most once, and nothing in them
 * is escaped or wrong. Any other request is not found here and must be parsed.
 */
import { DEFAULT_LIMIT, type Listing, MAX_LIMIT, type Order } from '../../src/index.ts'
import { type Asked, linkOf } from './page.ts'

/** What a path and its filters ask for, and how its links spell it. */
export class LinkedListing {
  readonly listing: Listing
  /** Path, question mark and filters as in links, however the request spelled them. */
  private readonly link: string
  /** What the links of its pages begin with, for the base URL used last. */
  private linked: { readonly base: string; readonly link: string } | undefined
  /** Whether its cursors name ledgers: those of offers are offer ids. */
  readonly byLedger: boolean

  constructor(listing: Listing) {
    const { query, values } = listing
    this.listing = listing
    this.link = linkOf(query, values)
    this.byLedger = query.of.kept === 'log'
  }

  /** What the links of its pages begin with. */
  linkFrom(base: string): string {
    if (this.linked?.base !== base) this.linked = { base, link: `${base}${this.link}cursor=` }
    return this.linked.link
  }
}

/** A page of a listing, as a request asks for it. */
export interface AskedPage {
  readonly listing: LinkedListing
  readonly asked: Asked
}

/** How many are kept per generation, of which there are two, and how long the text of one may be. */
const MAX_LISTINGS = 1024
const MAX_LENGTH = 512

const pageNames = ['cursor', 'limit', 'order']
const pageBegins = pageNames.map((name) => `${name}=`)

export class Listings {
  /** The recent listings and those before them: when `young` is full, it replaces `old`. */
  private young = new Map<string, LinkedListing>()
  private old = new Map<string, LinkedListing>()

  /** The listing of a request target, and the page of it; undefined if the request must be parsed. */
  find(target: string): AskedPage | undefined {
    const at = pageStart(target)
    const listing = at < 0 ? undefined : this.held(target.slice(0, at))
    const asked = listing && pageIn(target, at)
    return asked && { listing, asked }
  }

  private held(head: string): LinkedListing | undefined {
    const listing = this.young.get(head)
    if (listing !== undefined) return listing
    const older = this.old.get(head)
    if (older !== undefined) this.put(head, older)
    return older
  }

  private put(head: string, listing: LinkedListing): void {
    if (this.young.size >= MAX_LISTINGS) {
      this.old = this.young
      this.young = new Map()
    }
    this.young.set(head, listing)
  }

  /** Remembers what a request was found to ask for. */
  keep(target: string, listing: LinkedListing): void {
    const at = pageStart(target)
    if (at < 0 || at > MAX_LENGTH || pageIn(target, at) === undefined) return
    const head = target.slice(0, at)
    // Page parameters may also begin after a second question mark.
    if (head.indexOf('?') !== head.lastIndexOf('?')) return
    // Of a repeated parameter the first counts, however it is escaped.
    const names = new URLSearchParams(head.slice(head.indexOf('?') + 1))
    if (!pageNames.some((name) => names.has(name))) this.put(head, listing)
  }
}

const AMPERSAND = 38
const QUESTION = 63

/** Where the page parameters of a target begin; negative if it has none, or if they may begin elsewhere. */
function pageStart(target: string): number {
  for (const name of pageBegins) {
    // Links have these last, after filters that may be long.
    const at = target.lastIndexOf(name)
    if (at < 0) continue
    const before = target.charCodeAt(at - 1)
    return target[0] === '/' && (before === AMPERSAND || before === QUESTION) ? at : -1
  }
  return -1
}

/**
 * Reads the page parameters, if there is nothing else from `at` on. By hand, since the checks of a fully parsed request would take a microsecond
 * more.
 */
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

/** True for `now`, and for digits and dashes; whether these form a cursor is checked where it is used. */
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
