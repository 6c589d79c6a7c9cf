/** Stores with something wrong in them: how it is planted, what an audit says of it, and what a repair makes of it. */
import { expect } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import {
  type Chunk,
  type Store as Contract,
  type Entry,
  type Fault,
  FolioError,
  type LedgerClose,
  openLedger,
  repairStore,
  verifyStore,
  type Write,
} from '../../src/index.ts'
import { decodeBlock } from '../../src/layout/block.ts'
import { encodeBlock } from '../../src/layout/encode-block.ts'
import { decodeHead, encodeHead, type Head } from '../../src/layout/head.ts'
import { HEAD, KIND, kindOfKey } from '../../src/layout/keys.ts'
import { decodeEdge, type PostingEdge } from '../../src/layout/posting.ts'
import type { Row } from '../../src/layout/row.ts'
import { seal } from '../../src/layout/seal.ts'
import type { Resource } from '../../src/query.ts'
import { dump, everything, hex } from '../support/dump.ts'

export const STRAY = 'unknown value'
export const CHECKSUM = 'the checksum does not match'

export type Store = ReturnType<typeof memory>
export const held = (store: Store, key: Uint8Array): Uint8Array => store.get(key) as Uint8Array
export const keysOf = (store: Store, first: number): Uint8Array[] =>
  (store.scan({ gte: Uint8Array.of(first), lt: Uint8Array.of(first + 1) }, { limit: 1e6 }) as Chunk).entries.map(([key]) => key)

/** A value written by a codec, under its key; and one that was written under another. */
export const sealed = <Args extends unknown[]>(
  key: Uint8Array,
  encode: (key: Uint8Array, ...args: Args) => Uint8Array,
  ...args: Args
): Write => [key, encode(key, ...args)]
export const resealed = (key: Uint8Array, value: Uint8Array): Write => [key, seal(key, value)]
export const gone = (key: Uint8Array): Write => [key, undefined]
export const broken = (store: Store, key: Uint8Array): Write => {
  const value = Uint8Array.from(held(store, key))
  value[0]! ^= 1
  return [key, value]
}

export const rowsOf = (store: Store, resource: Resource, key: Uint8Array): Row[] => {
  const block = decodeBlock(key, resource, held(store, key))
  return Array.from({ length: block.count }, (_, at) => block.row(at))
}
export const withRows = (resource: Resource, key: Uint8Array, rows: readonly Row[]): Write => sealed(key, encodeBlock, resource, rows)

export const edgeOf = (store: Store, key: Uint8Array): PostingEdge => decodeEdge(key, held(store, key))

export const headOf = (store: Store): Head => decodeHead(held(store, HEAD))
export const headWith = (store: Store, change: Partial<Head>): Write => [HEAD, encodeHead({ ...headOf(store), ...change })]

export const fault = (key: Uint8Array, reason: string, ledger?: number): Fault => ({
  key: hex(key),
  reason,
  ...(ledger !== undefined && { ledger }),
})

/** The store, whose writes fail after so many. */
export function failingAfter(store: Contract, good: number): Contract {
  let left = good
  const write: Contract['write'] = (...args) => {
    if (left-- <= 0) throw new FolioError('STORE_FAILED', { reason: 'killed' })
    return store.write(...args)
  }
  return Object.assign(Object.create(store) as Contract, { write })
}

/** What a store is made of: ledgers, of which those before the oldest are pruned, and how many records are filed at a time. */
export interface Kind {
  readonly closes: readonly LedgerClose[]
  readonly oldest?: number
  readonly fileEvery: number
}
/** All entries of a store. */
export async function entriesOf({ closes, oldest = 0, fileEvery }: Kind): Promise<readonly Entry[]> {
  const store = memory()
  const ledger = await openLedger(store, { fileEvery })
  await ledger.ingest(closes, { durable: false })
  if (oldest > 0) await ledger.prune(oldest)
  return (await store.scan(everything, { limit: 1e6 })).entries
}

export const blocksOf = (entries: readonly Entry[]): readonly Entry[] => entries.filter(([key]) => kindOfKey(key) === KIND.block)

/** A disk with these entries, of which some were written anew or removed. */
export function diskOf(entries: readonly Entry[], writes: readonly Write[] = []): MemoryDisk {
  const disk = memoryDisk()
  disk.write(entries)
  disk.write(writes)
  return disk
}

/** Generated ledgers in which many accounts have a share. */
export const crowdedCloses = (firstLedger: number, ledgers: number): readonly LedgerClose[] => [
  ...generate({ ledgers, seed: 3, accounts: 16, transactionsPerLedger: 4, firstLedger, tradeShare: 0.4 }),
]

export type Plant = (store: Store) => readonly Write[] | Promise<readonly Write[]>

/** Stores of several kinds, each made once: copies of them, and what is said and done once something was planted in one. */
export function storesOf<Name extends string>(kinds: Readonly<Record<Name, Kind>>) {
  const made: Partial<Record<Name, Promise<readonly Entry[]>>> = {}

  async function stored(kind: Name): Promise<Store> {
    made[kind] ??= entriesOf(kinds[kind])
    const store = memory()
    await store.write(await made[kind]!, { durable: false })
    return store
  }

  async function planted(kind: Name, plant: Plant): Promise<Store> {
    const store = await stored(kind)
    await store.write(await plant(store), { durable: true })
    return store
  }

  async function spoiled(kind: Name, plant: Plant): Promise<{ store: Store; before: readonly string[]; faults: readonly Fault[] }> {
    const store = await planted(kind, plant)
    const { faults } = await verifyStore(store)
    return { store, before: await dump(await stored(kind)), faults }
  }

  /** What is wrong is named, and nothing else; a repair loses nothing, and gives the bytes back. */
  async function mends(kind: Name, plant: Plant, ...expected: Fault[]): Promise<void> {
    const { store, before, faults } = await spoiled(kind, plant)
    expect(faults).toEqual(expected)
    expect(await repairStore(store)).toMatchObject({ lost: [], repaired: expected.length, after: { ok: true, faults: [] } })
    expect(await dump(store)).toEqual(before)
  }

  /** What is wrong is named, and nothing else; a repair says that it is lost, and changes nothing. */
  async function loses(kind: Name, plant: Plant, ...expected: Fault[]): Promise<void> {
    const { store, faults } = await spoiled(kind, plant)
    const damaged = await dump(store)
    expect(faults).toEqual(expected)
    expect(await repairStore(store)).toMatchObject({ lost: expected, repaired: 0, after: { ok: false, faults: expected } })
    expect(await dump(store)).toEqual(damaged)
  }

  return { names: Object.keys(kinds) as Name[], stored, planted, spoiled, mends, loses }
}
