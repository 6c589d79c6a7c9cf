/**
 * Parameters: how a value in a path or a query string is read from text, checked, and documented.
 * The name between braces in a catalogue path picks the row of {@link params}, in types as at run time.
 */
import { badRequest, Check } from './check.ts'
import { MAX_ID, MAX_LEDGER, parseId, sequences } from './position.ts'

export interface Param<T> {
  /** JSON Schema of the text form, for the OpenAPI document. */
  readonly schema: { readonly type: string; readonly description: string; readonly pattern?: string; readonly enum?: readonly string[] }
  /** Reads the text; `field` names it in the error. @throws BAD_REQUEST */
  parse(text: string, field: string): T
  /** Refuses a value of the typed API that no text could have produced. @throws BAD_REQUEST */
  check(value: T, field: string): T
}

const digits = '^[0-9]+$'

const ids = new Check({
  fits: (value) => typeof value === 'bigint' && value >= 0n && value <= MAX_ID,
  textless: true,
  expected: 'a bigint from 0n to 2n ** 63n - 1n',
})

const id = (what: string): Param<bigint> => ({
  schema: { type: 'integer', description: `${what}, 0 to 2^63-1`, pattern: digits },
  parse(text, field) {
    const value = parseId(text)
    if (value === undefined) throw badRequest(field, 'decimal digits from 0 to 2^63-1')
    return value
  },
  check(value, field) {
    const whole = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value
    if (!ids.fits(whole)) throw ids.wrong(field, value)
    return whole
  },
})

const accounts = new Check({
  fits: (value) => typeof value === 'string' && value !== '' && value.isWellFormed(),
  expected: 'a non-empty account id',
})

const account: Param<string> = {
  schema: { type: 'string', description: 'Account ID' },
  parse: (text, field) => account.check(text, field),
  check(value, field) {
    if (!accounts.fits(value)) throw accounts.wrong(field, value)
    return value
  },
}

const hashes = new Check({
  fits: (value) => typeof value === 'string' && /^[0-9a-fA-F]{64}$/.test(value),
  expected: '64 hexadecimal digits',
})

const hash: Param<string> = {
  schema: { type: 'string', description: 'Transaction hash, hexadecimal', pattern: '^[0-9a-fA-F]{64}$' },
  parse: (text, field) => hash.check(text, field),
  check(value, field) {
    if (!hashes.fits(value)) throw hashes.wrong(field, value)
    return value.toLowerCase()
  },
}

const ledger: Param<number> = {
  schema: { type: 'integer', description: `Ledger sequence number, 0 to ${MAX_LEDGER}`, pattern: digits },
  parse(text, field) {
    const value = parseId(text)
    if (value === undefined || value > BigInt(MAX_LEDGER)) throw badRequest(field, `decimal digits from 0 to ${MAX_LEDGER}`)
    return Number(value)
  },
  check(value, field) {
    if (!sequences.fits(value)) throw sequences.wrong(field, value)
    return value
  },
}

export interface ParamTypes {
  account: string
  hash: string
  ledger: number
  operation: bigint
  offer: bigint
}

/** Parameters that name a place of history: what belongs to one lies together in every log. */
export type PlaceName = 'ledger' | 'hash' | 'operation'
/** Parameters whose records lie all over their logs: indexes list them. */
export type KeyName = Exclude<keyof ParamTypes, PlaceName>

/** The path parameters by name. */
export const params: { readonly [N in keyof ParamTypes]: Param<ParamTypes[N]> } = {
  account,
  hash,
  ledger,
  operation: id('Operation ID'),
  offer: id('Offer ID'),
}

/** The names between braces in a path template. */
export type Names<Path extends string> = Path extends `${string}{${infer N}}${infer Rest}` ? N | Names<Rest> : never

/** The parameter values that a path template asks for. */
export type PathValues<Path extends string> = { readonly [N in Names<Path> & keyof ParamTypes]: ParamTypes[N] }

const namesOf = new Map<string, readonly (keyof ParamTypes)[]>()

/** The names between braces in a path template, in order. */
export function pathNames(path: string): readonly (keyof ParamTypes)[] {
  let names = namesOf.get(path)
  if (names === undefined) {
    names = Array.from(path.matchAll(/\{(\w+)\}/g), (match) => match[1] as keyof ParamTypes)
    namesOf.set(path, names)
  }
  return names
}

export type Order = 'asc' | 'desc'
export const DEFAULT_LIMIT = 10
export const MAX_LIMIT = 200

export const LIMIT = { least: 1, most: MAX_LIMIT, whole: true } as const
export const ORDERS: readonly Order[] = ['asc', 'desc']

export const limits = new Check(LIMIT)

/** Reads `limit`: empty means the default. @throws BAD_REQUEST */
export function parseLimit(text: string): number {
  if (text === '') return DEFAULT_LIMIT
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (!limits.fits(limit)) throw badRequest('limit', limits.expected)
  return limit
}

const orders = new Check(ORDERS)

/** Reads `order`: empty means ascending. @throws BAD_REQUEST */
export function parseOrder(text: string): Order {
  const order = text || 'asc'
  if (!orders.fits(order)) throw badRequest('order', orders.expected)
  return order as Order
}
