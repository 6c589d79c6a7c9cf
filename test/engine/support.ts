/** What the engine's tests share: answers of the engine and of the model in one form, and stores to run on. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import type { QueryRequest } from '../../adapters/testing/arbitrary-requests.ts'
import { isRefusal, type NaiveLedger } from '../../adapters/testing/naive-ledger.ts'
import { type AnyMembers, documented } from '../../adapters/testing/naive-records.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, FolioError, type Ledger, type LedgerClose, type LedgerOptions, openLedger, type Store } from '../../src/index.ts'

/** Runs a property; `FC_SEED` in the environment repeats one that failed, `FC_RUNS` sets how many cases are tried. */
export async function holds<T>(arbitrary: fc.Arbitrary<T>, numRuns: number, check: (value: T) => Promise<void> | void): Promise<void> {
  const { FC_SEED, FC_RUNS } = process.env
  const property = fc.asyncProperty(arbitrary, async (value) => {
    await check(value)
  })
  await fc.assert(property, { numRuns: Number(FC_RUNS ?? numRuns), ...(FC_SEED !== undefined && { seed: Number(FC_SEED) }) })
}

/** The code of the error that a call threw, with the parameter at fault. */
export async function codeOf(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    if (!(error instanceof FolioError)) throw error
    return error.code === 'BAD_REQUEST' ? `${error.code} ${error.fields['field']}` : error.code
  }
  return 'no error'
}

/** The error of a call that must fail. */
export async function errorOf(call: () => unknown): Promise<FolioError> {
  try {
    await call()
  } catch (error) {
    if (error instanceof FolioError) return error
    throw error
  }
  throw new Error('the call did not fail')
}

const fixed = new Set(Object.values(documented).flat())

/** A record as text that shows types, values and the order of open members; documented members may come in any order. */
export const written = (record: AnyMembers | undefined, ordered = true): string => {
  if (record === undefined) return 'nothing'
  const names = Object.keys(record)
  const first = names.filter((name) => !ordered || fixed.has(name)).sort()
  const rest = names.filter((name) => ordered && !fixed.has(name))
  return JSON.stringify(
    [...first, ...rest].map((name) => [name, record[name]]),
    (_, value) =>
      typeof value === 'bigint'
        ? `${value}n`
        : typeof value === 'number' && !Number.isFinite(value)
          ? String(value)
          : Object.is(value, -0)
            ? 0
            : value,
  )
}

const pageOf = ({ records, ...rest }: { records: readonly AnyMembers[] }, ordered: boolean): unknown => ({
  ...rest,
  records: records.map((record) => written(record, ordered)),
})

/** Asks the engine and the model the same, and expects the same answer. */
export async function agree(ledger: Ledger, model: NaiveLedger, { query, values, options }: QueryRequest): Promise<void> {
  const row = catalogue[query]
  // The order of the open members of a turned trade is not promised.
  const ordered = values['base'] === undefined
  let actual: unknown
  try {
    actual =
      row.kind === 'one'
        ? written((await ledger.get(row as never, values as never)) as AnyMembers | undefined)
        : pageOf(await ledger.page(row as never, values as never, options), ordered)
  } catch (error) {
    if (!(error instanceof FolioError)) throw error
    actual = error.code === 'BAD_REQUEST' ? { code: error.code, field: error.fields['field'] } : { code: error.code }
  }
  const answer = row.kind === 'one' ? model.get(query, values) : model.page(query, values, options)
  const wanted = isRefusal(answer)
    ? answer
    : row.kind === 'one'
      ? written(answer as AnyMembers | undefined)
      : pageOf(answer as { records: AnyMembers[] }, ordered)
  try {
    expect(actual).toEqual(wanted)
  } catch (error) {
    const asked = JSON.stringify({ query, values, options }, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
    throw new Error(`engine and model differ on ${asked}\n${(error as Error).message}`)
  }
}

/** A kind of store to run on: every `open` gives the same store again. */
export interface Bench {
  readonly name: string
  readonly options: LedgerOptions
  fresh(): Promise<{ open(): Promise<Store>; remove(): Promise<void> }>
}

const onMemory = (name: string, options: LedgerOptions, wrap: (store: Store) => Store = (store) => store): Bench => ({
  name,
  options,
  async fresh() {
    const disk = memoryDisk()
    return { open: async () => wrap(memory(disk)), remove: async () => {} }
  },
})

export const memoryBenches: readonly Bench[] = [
  onMemory('memory', {}),
  onMemory('memory without a cache', { cacheBytes: 0 }),
  onMemory('memory with a cache of 10 KB', { cacheBytes: 10_000 }),
  onMemory('a store that answers late', {}, slowStore),
  onMemory('a store that answers late, without a cache', { cacheBytes: 0 }, slowStore),
]

export const levelBench = (options: LedgerOptions = {}): Bench => ({
  name: `LevelDB ${JSON.stringify(options)}`,
  options,
  async fresh() {
    const directory = await mkdtemp(join(tmpdir(), 'folio-engine-'))
    return { open: () => level(join(directory, 'db')), remove: () => rm(directory, { recursive: true, force: true }) }
  },
})

/** The asset of a side of a trade, in the form that filters take. */
export const assetOf = (trade: { readonly [member: string]: unknown }, side: 'base' | 'counter'): Record<string, unknown> =>
  trade[`${side}_asset_type`] === 'native'
    ? { type: 'native' }
    : { type: trade[`${side}_asset_type`], code: trade[`${side}_asset_code`], issuer: trade[`${side}_asset_issuer`] }

/** A ledger in memory that holds the closes. */
export async function ledgerOf(closes: Iterable<LedgerClose>, options: LedgerOptions = {}): Promise<Ledger> {
  const ledger = await openLedger(memory(), options)
  await ledger.ingest(closes)
  return ledger
}
