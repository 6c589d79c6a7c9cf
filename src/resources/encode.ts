/**
 * From validated input to stored texts. The text of a record is its wire form without `_links`: derived members first, then the members as given, in
 * order. What links and indexes need besides goes into side columns.
 */

import { FolioError, invalidInput } from '../errors.ts'
import { idText } from '../position.ts'
import type { OpenRecord, StoredSource } from '../query.ts'
import type { Apart } from '../text/apart.ts'
import type { Form } from '../text/form.ts'
import { MOST_NESTED, type TextWriter } from '../text/writer.ts'

/** Where the record being encoded stands, and where in the input it came from. */
export class Spot {
  readonly ledger: number
  readonly closedAt: string
  readonly lo: number
  readonly index: number
  private readonly parent: Spot | undefined
  private readonly name: string
  private readonly at: number | undefined

  /**
   * @param name the member of the input that holds the record, or the list of which it is number `at`
   * @param parent the record that has that member, if any
   */
  constructor(ledger: number, closedAt: string, lo: number, index: number, name: string, at?: number, parent?: Spot) {
    this.ledger = ledger
    this.closedAt = closedAt
    this.lo = lo
    this.index = index
    this.name = name
    this.at = at
    this.parent = parent
  }

  /** The spot of a record that this one holds, as number `at` of a list. */
  child(lo: number, index: number, list: string, at: number): Spot {
    return new Spot(this.ledger, this.closedAt, lo, index, list, at, this)
  }

  /** The path of a member, for errors. */
  path(member?: string): string {
    const own = this.at === undefined ? this.name : `${this.name}[${this.at}]`
    const path = this.parent ? this.parent.path(own) : own
    return member ? `${path}.${member}` : path
  }
}

/** What members must be of which a text is to be written. */
export const HOLDABLE = `members that JSON can hold: none within itself, none more than ${MOST_NESTED} deep, none that throws when it is read`

/** A record as it is stored, but for its position. */
export class Encoded {
  /** JSON members without the braces; for records with two faces, a second text, seen from the other side. */
  readonly texts: readonly Apart[]
  readonly sides: readonly string[]
  /** Holds numbers that `JSON.parse` would change. */
  readonly exact: boolean

  constructor(texts: readonly Apart[], sides: readonly string[], exact: boolean) {
    this.texts = texts
    this.sides = sides
    this.exact = exact
  }
}

export const tokenOf = (spot: Spot): string => idText(spot.ledger, spot.lo)
export const indexedTokenOf = (spot: Spot): string => `${idText(spot.ledger, spot.lo)}-${spot.index}`

/**
 * Ends a text whose derived members are written: the members of the input follow, and then those `added`.
 * @param derived what the derived members of the input must be, if it has them; hexadecimal digits may be in either case
 * @param sides the side columns of the record
 * @throws INVALID_INPUT for a derived member with another value, for reserved members, and for members that JSON cannot hold
 */
export function compose(
  out: TextWriter,
  form: Form,
  input: OpenRecord,
  derived: Readonly<Record<string, string>>,
  spot: Spot,
  sides: readonly string[],
  added?: OpenRecord,
): Encoded {
  const { ledger } = spot
  try {
    out.members(input, form, (name, value, isReserved) => {
      if (isReserved) throw invalidInput(ledger, spot.path(name), 'nothing: this member is reserved, leave it out')
      const wanted = derived[name]!
      if (String(value) !== wanted && String(value).toLowerCase() !== wanted) throw notOwn(name, wanted, spot)
    })
    if (added) for (const name of Object.keys(added)) out.member(name, added[name])
  } catch (error) {
    out.abandon()
    if (error instanceof FolioError) throw error
    throw new FolioError('INVALID_INPUT', { ledger, path: spot.path(), expected: HOLDABLE }, error)
  }
  const { exact } = out
  return new Encoded([out.end()], sides, exact)
}

/** Checks the ledger and the time of a record that need not have them. @throws INVALID_INPUT if they are not its own */
export function checkOwn(input: OpenRecord, spot: Spot): void {
  const { ledger, created_at } = input
  if (ledger !== undefined && String(ledger) !== String(spot.ledger)) throw notOwn('ledger', spot.ledger, spot)
  if (created_at !== undefined && created_at !== spot.closedAt) throw notOwn('created_at', spot.closedAt, spot)
}

const notOwn = (name: string, own: string | number, spot: Spot): FolioError =>
  invalidInput(spot.ledger, spot.path(name), `${own}, as derived from the place of the record, or nothing`)

/** ISO 8601 in UTC, ending in Z; a fraction is kept as given. @throws INVALID_INPUT for a day that does not exist */
export function utc(time: string, ledger: number, path: () => string): string {
  // The offers of a ledger mostly changed when it closed.
  if (time !== last.time) {
    last.utc = inUtc(time, ledger, path)
    last.time = time
  }
  return last.utc
}

const last = { time: '', utc: '' }

function inUtc(time: string, ledger: number, path: () => string): string {
  const millis = Date.parse(time)
  // `Date.parse` takes the 30th of February for the 2nd of March.
  const day = time.slice(0, 10)
  const iso = Number.isNaN(millis) ? '' : new Date(millis).toISOString()
  // Longer if the offset leads to a year that does not have four digits.
  if (iso.length !== '2019-06-01T12:00:00.000Z'.length || !new Date(`${day}T00:00:00Z`).toISOString().startsWith(day))
    throw invalidInput(ledger, path(), 'an ISO 8601 time such as "2019-06-01T12:00:00Z"')
  // The hour 24 ends a day, but is none of a timestamp on the wire (RFC 3339): it is the next day's first.
  if (time.endsWith('Z') && time.slice(11, 13) !== '24') return time
  const fraction = /\.\d+/.exec(time)?.[0] ?? ''
  return `${iso.slice(0, 19)}${fraction}Z`
}

/** `{ N, D }` is stored as `{ n, d }`. */
export const priceOf = (price: OpenRecord): OpenRecord => {
  if (price['n'] !== undefined) return price
  const { N: n, D: d, ...rest } = price
  return { n, d, ...rest }
}

/** A 64-bit member as a bigint: from the parsed number if that is exact, else from its digits in the text. */
export function exactInteger(parsed: unknown, source: StoredSource, name: string): bigint | undefined {
  if (typeof parsed === 'bigint') return parsed
  return Number.isSafeInteger(parsed) ? BigInt(parsed as number) : integerIn(source.text, name)
}

/** The first bare integer member of this name in a record's text: exact if the member was written before any open one. */
function integerIn(text: string, name: string): bigint | undefined {
  const label = `,"${name}":`
  const at = text.indexOf(label)
  if (at < 0) return undefined
  const digits = /-?\d+/y
  digits.lastIndex = at + label.length
  const found = digits.exec(text)
  return found ? BigInt(found[0]) : undefined
}

/** Distinct account ids, in order of first mention. */
export function distinct(accounts: Iterable<unknown>): string[] {
  const found: string[] = []
  for (const account of accounts) if (typeof account === 'string' && account !== '') found.push(account)
  if (found.length > FEW) return [...new Set(found)]
  for (let at = 1; at < found.length; ) {
    if (found.indexOf(found[at]!) < at) found.splice(at, 1)
    else at++
  }
  return found
}
/** Up to this many are told apart faster by comparing each with all before it. */
const FEW = 16

/** The `participants` side column: only accounts that the record's own members do not name. */
export const extraText = (accounts: readonly string[], known: readonly string[]): string => {
  const extra = accounts.filter((account) => !known.includes(account))
  return extra.length ? JSON.stringify(extra) : ''
}

export const readExtra = (side: string | undefined): string[] => (side ? JSON.parse(side) : [])

/**
 * The keys of a record that is filed under accounts. Several indexes ask for them in turn, and first when it was just encoded, by someone who knew the
 * accounts: so those of the last record are remembered.
 */
export class AccountKeys {
  private sides: readonly string[] | undefined
  private keys: readonly (readonly [string])[] = []

  /** @param sides the side columns of the record, by which it is known again: they must never change, nor be those of another one */
  keep(sides: readonly string[], accounts: readonly string[]): readonly (readonly [string])[] {
    this.sides = sides
    this.keys = accounts.map((account) => [account])
    return this.keys
  }

  /** @param find finds the accounts of a record that is not the last one */
  of(sides: readonly string[], find: () => readonly string[]): readonly (readonly [string])[] {
    return sides === this.sides ? this.keys : this.keep(sides, find())
  }
}
