/** What the laws of paging take a paged API to be: a function from cursor, order and limit to a page. */
import { Digits, type MaybePromise, OptionRules, type Order } from '../../src/index.ts'

export interface PagedPage<R = unknown> {
  readonly records: readonly R[]
  /** The cursor that continues this page, in the same order. Left out, or null: nothing follows. */
  readonly next?: string | null | undefined
  /** The cursor that leads back from this page, to be read in the opposite order. Left out, or null: nothing comes before, or the page is empty. */
  readonly prev?: string | null | undefined
  /** What is wrong with the page as such, as far as its reader can tell: links that lead elsewhere, records without tokens. */
  readonly faults?: readonly string[] | undefined
}

/** A listing of records that only ever grows at its newer end. */
export interface PagedListing<R = unknown> {
  /** At most `limit` records after `cursor`, oldest first with `asc`. The empty cursor stands for the beginning in that order. */
  page(cursor: string, order: Order, limit: number): MaybePromise<PagedPage<R>>
  /** The cursor that continues after a record. */
  token(record: R): string
  /** The largest limit there is. Default: 200. */
  readonly maxLimit?: number | undefined
  /** All records, oldest first, from another source: without it, a record that every page leaves out cannot be missed. */
  records?(): MaybePromise<readonly R[]>
  /**
   * Cursors that lie between two consecutive records. Default: those of tokens that are numbers, or two numbers joined by a dash; for other tokens
   * none are known.
   */
  between?(before: string, after: string): readonly string[]
  /** Adds newer records. */
  grow?(): MaybePromise<unknown>
  /** Newer records may arrive at any time by themselves. Default: false. */
  readonly live?: boolean | undefined
  /** How a page is requested, for messages. */
  ask?(cursor: string, order: Order, limit: number): string
}

const listings = new OptionRules<PagedListing>('a listing', {
  page: { needed: 'callback' },
  token: { needed: 'callback' },
  maxLimit: { least: 1, whole: true },
  ...{ records: 'callback', between: 'callback', grow: 'callback', ask: 'callback' },
  live: 'flag',
})
const members = Object.keys(listings.rules) as (keyof PagedListing)[]

/**
 * Checks that a listing is one: with a misspelt member, a law would pass without trying anything. Of an object of a class, only the members that are
 * asked for are looked at: it may have members of its own.
 * @throws BAD_REQUEST if a member is unknown or out of range
 */
export function checkListing<R>(listing: PagedListing<R>): PagedListing<R> {
  const isPlain = typeof listing !== 'object' || listing === null || [Object.prototype, null].includes(Object.getPrototypeOf(listing))
  listings.check(isPlain ? listing : (Object.fromEntries(members.map((name) => [name, listing[name]])) as unknown as PagedListing))
  return listing
}

/** A record as it came: what it said then counts, also if its API changes it afterwards. */
export class Received {
  readonly text: string
  readonly token: string

  constructor(record: unknown, token: string) {
    this.text = textOf(record)
    this.token = token
  }
}

const sorted = (texts: Iterable<string>): string => [...texts].sort().join()

/** What an object says that has no members of its own to say it: a date, a URL. */
function toldBy(value: object): string | undefined {
  if (value instanceof Date) return `Date(${Number.isNaN(value.getTime()) ? 'invalid' : value.toISOString()})`
  if (value instanceof Map) return `Map(${sorted(Array.from(value, ([key, member]) => `${textOf(key)}:${textOf(member)}`))})`
  if (value instanceof Set) return `Set(${sorted(Array.from(value, textOf))})`
  const isSilent = value.toString === Object.prototype.toString || typeof value.toString !== 'function'
  return isSilent || Object.keys(value).length > 0 ? undefined : `${value.constructor?.name}(${value})`
}

/** Two records are the same if these texts are: every digit counts, the order of members does not. */
export function textOf(value: unknown): string {
  if (value instanceof Digits) return value.value
  if (value instanceof Received) return value.text
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? `${value}` : (JSON.stringify(value) ?? 'undefined')
  return (
    toldBy(value) ??
    `{${Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => `${JSON.stringify(name)}:${textOf(member)}`)
      .join()}}`
  )
}

const numeric = /^(\d{1,40})(?:-(\d{1,40}))?$/

/** A token as the numbers that it consists of; undefined if it consists of anything else. */
export function numbersOf(token: string): readonly bigint[] | undefined {
  const [, ...parts] = numeric.exec(token) ?? []
  return parts[0] === undefined ? undefined : parts.filter((part) => part !== undefined).map(BigInt)
}

/** Whether one token comes before the other; undefined if that cannot be told. */
export function isBefore(a: string, b: string): boolean | undefined {
  const [numbersA, numbersB] = [numbersOf(a), numbersOf(b)]
  if (!numbersA || numbersA.length !== numbersB?.length) return undefined
  const at = numbersA.findIndex((number, i) => number !== numbersB[i])
  return at >= 0 && numbersA[at]! < numbersB[at]!
}

/** Cursors between two numeric tokens: just after the one, just before the other, and halfway. */
export function cursorsBetween(before: string, after: string): string[] {
  const [a, b] = [numbersOf(before), numbersOf(after)]
  if (!a || !b || a.length !== b.length) return []
  const [from, to] = [a.at(-1)!, b.at(-1)!]
  if (a.length === 1) return inside(from, to).map(String)
  if (a[0] === b[0]) return inside(from, to).map((index) => `${a[0]}-${index}`)
  return [`${a[0]}-${from + 1n}`, ...(to > 0n ? [`${b[0]}-${to - 1n}`] : []), ...inside(a[0]!, b[0]!).map((id) => `${id}-0`)]
}

/** Cursors right before and right after a numeric token, if there are any. */
export function cursorsBeside(token: string): { readonly before?: string; readonly after?: string } {
  const [id, index] = numbersOf(token) ?? []
  if (id === undefined) return {}
  if (index === undefined) return { after: `${id + 1n}`, ...(id > 0n && { before: `${id - 1n}` }) }
  return { after: `${id}-${index + 1n}`, ...(index > 0n ? { before: `${id}-${index - 1n}` } : id > 0n && { before: `${id - 1n}-0` }) }
}

const inside = (from: bigint, to: bigint): bigint[] =>
  [...new Set([from + 1n, (from + to) / 2n, to - 1n])].filter((n) => n > from && n < to)
