/**
 * Requests to a ledger, drawn as numbers and resolved only against what is held, so that most of them hit: every query of the catalogue; values that
 * exist, lie beside what exists, or are malformed; and cursors of every form.
 */
import fc from 'fast-check'
import { catalogue, type PageOptions, type QueryName } from '../../src/index.ts'
import { assetPool, offerPool } from './arbitraries.ts'
import { accountPool } from './arbitrary-values.ts'
import { isRefusal, type NaiveLedger } from './naive-ledger.ts'
import type { AnyMembers } from './naive-records.ts'

/** Numbers from which a request is made. */
export interface RequestDraw {
  readonly query: number
  readonly value: number
  readonly filter: number
  readonly form: number
  readonly cursor: number
  readonly limit: number
  readonly desc: boolean
}

export interface QueryRequest {
  readonly query: QueryName
  readonly values: AnyMembers
  readonly options: PageOptions
}

export const requestDraw: fc.Arbitrary<RequestDraw> = fc.record({
  query: fc.nat(),
  value: fc.nat(),
  filter: fc.nat(),
  form: fc.nat(),
  cursor: fc.nat(),
  limit: fc.nat(),
  desc: fc.boolean(),
})

const pick = <T>(from: readonly T[], number: number): T => from[number % from.length]!
export const queryNames = Object.keys(catalogue) as QueryName[]
const MAX = 2n ** 63n - 1n

/** The path values worth asking for: existing ones, twice, then those beside them. */
export function valuesWorthAsking(model: NaiveLedger): Record<string, readonly unknown[]> {
  const held = (kind: string) => model.entries.filter((entry) => entry.kind === kind)
  const sequences = held('ledger').map(({ ledger }) => ledger)
  const hashes = held('transaction').map(({ hash }) => hash)
  const ids = held('operation').map(({ id }) => id)
  return {
    account: [...accountPool, ...accountPool, 'nobody', 'GALIC', ''],
    ledger: [...sequences, ...sequences, (sequences[0] ?? 1) - 1, (sequences.at(-1) ?? 1) + 1, 0, 2 ** 31 - 1, 2 ** 31, 1.5],
    hash: [...hashes, ...hashes, hashes.at(-1)?.toUpperCase() ?? '0'.repeat(64), 'f'.repeat(64), 'xyz', 'f'.repeat(63)],
    operation: [...ids, ...ids, (ids[0] ?? 1n) + 1n, (ids.at(-1) ?? 1n) & ~4095n, 0n, MAX, -1n, MAX + 1n],
    offer: [...offerPool, ...offerPool, 7n, -1n, MAX + 1n],
  }
}

const [native, usd] = assetPool
const badAssets: readonly AnyMembers[] = [
  { type: 'gold' },
  { type: 'credit_alphanum4', issuer: 'GBOB' },
  { type: 'credit_alphanum4', code: 'TOOLONG', issuer: 'GBOB' },
  { type: 'credit_alphanum12', code: 'THIRTEENCHARS', issuer: 'GBOB' },
  { type: 'credit_alphanum4', code: 'USD' },
  { type: 'credit_alphanum4', code: 'USD', issuer: '' },
]

/** Filters of trades; mostly none, or a pair. */
function filterOf(number: number): AnyMembers {
  const rest = Math.floor(number / 16)
  const pair = { base: pick(assetPool, rest), counter: pick(assetPool, Math.floor(rest / 8)) }
  const form = number % 16
  if (form < 5) return {}
  if (form < 10) return pair
  if (form === 10) return { ...pair, offer_id: pick(offerPool, rest) }
  if (form === 11) return { offer_id: pick([...offerPool, 7n, -1n], rest) }
  if (form === 12) return pick([{ base: usd }, { counter: native }], rest)
  if (form === 13) return { base: native, counter: pick(badAssets, rest) }
  if (form === 14) return { base: pick(badAssets, rest), counter: native }
  return { base: native, counter: { type: 'credit_alphanum4', code: 'NONE', issuer: 'GBOB' } }
}

const malformed = ['x', '-1', '1-', '-', '1-2-3', '1.5', ' 1', '1e3', '0x1', String(MAX + 1n), `1-${MAX + 1n}`, 'NOW', '١']

function cursorOf(model: NaiveLedger, listed: readonly { token: string }[], form: number, number: number): string | undefined {
  const entry = model.entries.length ? pick(model.entries, number) : undefined
  const any = entry?.token ?? '1'
  const id = entry?.id ?? 1n
  const forms: (() => string | undefined)[] = [
    () => undefined,
    () => '',
    () => (listed.length ? pick(listed, number).token : any),
    () => listed.at(-1)?.token ?? any,
    () => listed[0]?.token ?? any,
    () => any,
    () => String(id),
    () => String(id + BigInt((number % 3) - 1)),
    () => `${id}-${pick([0, 1, 2, 5, 2 ** 32 - 1, 2 ** 32, String(MAX)], number)}`,
    () => pick(offerPool, number).toString(),
    () => 'now',
    () => `000${id}`,
    () => pick(['0', '1', String(MAX), '0-0', `${MAX}-${MAX}`], number),
    () => pick(malformed, number),
  ]
  return pick(forms, form)()
}

const goodLimits = [undefined, 1, 2, 3, 7, 10, 200, 200]

/** Resolves a draw against what the model holds. */
export function requestOf(model: NaiveLedger, drawn: RequestDraw): QueryRequest {
  const query = pick(queryNames, drawn.query)
  const { path, kind } = catalogue[query]
  const values: AnyMembers = {}
  const name = /\{(\w+)\}/.exec(path)?.[1]
  if (name) values[name] = pick(valuesWorthAsking(model)[name]!, drawn.value)
  if (path.endsWith('trades')) Object.assign(values, filterOf(drawn.filter))
  if (kind === 'one') return { query, values, options: {} }
  const whole = model.list(query, values)
  const cursor = cursorOf(model, isRefusal(whole) ? [] : whole, drawn.form, drawn.cursor)
  const limit = pick([...goodLimits, ...goodLimits, ...goodLimits, 0, 201, pick([1.5, Number.NaN, -1], drawn.cursor)], drawn.limit)
  return {
    query,
    values,
    options: { ...(cursor !== undefined && { cursor }), ...(limit !== undefined && { limit }), order: drawn.desc ? 'desc' : 'asc' },
  }
}

/** A request worth making given what the model holds: about half of them hit, the others miss, are malformed, or lie beside what exists. */
export const anyRequest = (model: NaiveLedger): fc.Arbitrary<QueryRequest> => requestDraw.map((drawn) => requestOf(model, drawn))
