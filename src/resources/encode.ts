/**
 * From validated input to stored text. The text of a record is its wire form without `_links`: derived members first, then the members as given, in
 * order. What links and indexes need besides goes into side columns.
 */
import { FolioError, invalidInput } from '../errors.ts'
import { writeJson } from '../json.ts'
import { idText } from '../position.ts'
import type { OpenRecord, Source } from '../query.ts'

/** Where the record being encoded stands. */
export interface Place {
  readonly ledger: number
  readonly lo: number
  readonly index: number
  readonly closedAt: string
  /** The path of a member, for errors. */
  path(member?: string): string
}

export interface Encoded {
  /** JSON members without the braces. */
  readonly text: string
  /** The same, seen from the other side, for records that have one. */
  readonly turned?: string
  readonly sides: readonly string[]
  /** Holds numbers that `JSON.parse` would change. */
  readonly exact: boolean
}

export const tokenOf = (place: Place): string => idText(place.ledger, place.lo)
export const indexedTokenOf = (place: Place): string => `${idText(place.ledger, place.lo)}-${place.index}`

const RESERVED = ['_links', '_embedded'] as const

/** Refuses reserved members. */
export function checkReserved(input: OpenRecord, place: Place): void {
  for (const name of RESERVED)
    if (input[name] !== undefined) throw invalidInput(place.ledger, place.path(name), 'nothing: this member is reserved, leave it out')
}

/** Refuses a derived member that was given with a different value. */
export function checkIdentity(given: unknown, derived: string, name: string, place: Place): void {
  if (given !== undefined && String(given) !== derived)
    throw invalidInput(place.ledger, place.path(name), `${derived}, as derived from the place of the record, or nothing`)
}

/** As {@link checkIdentity}, for hexadecimal text in either case. */
export const checkHex = (given: unknown, derived: string, name: string, place: Place): void =>
  checkIdentity(typeof given === 'string' ? given.toLowerCase() : given, derived, name, place)

/** The text of the derived members, then the rest as JSON. @throws INVALID_INPUT for open members that JSON cannot hold */
export function compose(derived: string, rest: object, sides: readonly string[], place: Place): Encoded {
  const { json, exact } = jsonOf(rest, place)
  return { text: json === '{}' ? derived : `${derived},${json.slice(1, -1)}`, sides, exact }
}

function jsonOf(members: object, { ledger, path }: Place): { json: string; exact: boolean } {
  try {
    return writeJson(members)
  } catch (error) {
    const expected = 'members that JSON can hold: none within itself, none thousands deep, none that throws when it is read'
    throw new FolioError('INVALID_INPUT', { ledger, path: path(), expected }, error)
  }
}

/** ISO 8601 in UTC, ending in Z; a fraction is kept as given. @throws INVALID_INPUT for a day that does not exist */
export function utc(time: string, ledger: number, path: () => string): string {
  const millis = Date.parse(time)
  // `Date.parse` takes the 30th of February for the 2nd of March.
  const day = time.slice(0, 10)
  const inUtc = Number.isNaN(millis) ? '' : new Date(millis).toISOString()
  // Longer if the offset leads to a year that does not have four digits.
  if (inUtc.length !== '2019-06-01T12:00:00.000Z'.length || !new Date(`${day}T00:00:00Z`).toISOString().startsWith(day))
    throw invalidInput(ledger, path(), 'an ISO 8601 time such as "2019-06-01T12:00:00Z"')
  if (time.endsWith('Z')) return time
  const fraction = /\.\d+/.exec(time)?.[0] ?? ''
  return `${inUtc.slice(0, 19)}${fraction}Z`
}

/** `{ N, D }` is stored as `{ n, d }`. */
export const priceOf = (price: OpenRecord): OpenRecord => {
  if (price['n'] !== undefined) return price
  const { N: n, D: d, ...rest } = price
  return { n, d, ...rest }
}

/** A 64-bit member as a bigint: from the parsed number if that is exact, else from its digits in the text. */
export function exactInteger(parsed: unknown, source: Source, name: string): bigint | undefined {
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
export const distinct = (accounts: Iterable<unknown>): string[] => [
  ...new Set(Array.from(accounts).filter((account): account is string => typeof account === 'string' && account !== '')),
]

/** The `participants` side column: only accounts that the record's own members do not name. */
export const extraText = (accounts: readonly string[], known: readonly string[]): string => {
  const extra = accounts.filter((account) => !known.includes(account))
  return extra.length ? JSON.stringify(extra) : ''
}

export const readExtra = (side: string | undefined): string[] => (side ? JSON.parse(side) : [])
