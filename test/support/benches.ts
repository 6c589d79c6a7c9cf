/** Stores to run on, of several kinds, and a ledger on one. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { level } from '../../adapters/level/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { type Ledger, type LedgerClose, type LedgerOptions, openLedger, type Store } from '../../src/index.ts'

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

/** A ledger in memory that holds the closes. */
export async function ledgerOf(closes: Iterable<LedgerClose>, options: LedgerOptions = {}): Promise<Ledger> {
  const ledger = await openLedger(memory(), options)
  await ledger.ingest(closes)
  return ledger
}
