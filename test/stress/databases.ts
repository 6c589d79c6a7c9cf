/** Random databases for the stresses of trust: networks with collisions, sometimes filed, pruned and rolled back on the way. */
import fc from 'fast-check'
import type { Random } from '../../adapters/generate/random.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { closeChain } from '../../adapters/testing/arbitraries.ts'
import { type LedgerClose, openLedger, type Store } from '../../src/index.ts'

export interface Database {
  readonly disk: MemoryDisk
  readonly closes: readonly LedgerClose[]
}

export const networkOf = (random: Random): LedgerClose[] => fc.sample(closeChain, { seed: random.next() | 0, numRuns: 1 })[0]!

/** @param wrap what stands between the engine and the disk */
export async function databaseOf(random: Random, wrap: (store: Store) => Store = (store) => store): Promise<Database> {
  const closes = networkOf(random)
  const disk = memoryDisk()
  const ledger = await openLedger(wrap(memory(disk)), { fileEvery: random.pick([1, 40, 500, 1e6]) })
  const between = (low: number, high: number): number => low + random.below(high - low + 1)
  const first = closes[0]!.ledger.sequence
  await ledger.ingest(closes, { batch: 1 + random.below(3) })
  for (let turn = random.below(4); turn > 0; turn--) {
    const { oldest, last } = ledger.head!
    if (random.chance(0.5)) await ledger.prune(between(oldest, last))
    else {
      await ledger.rollback(between(oldest, last))
      await ledger.ingest(closes.slice(ledger.head!.last - first + 1, random.chance(0.7) ? closes.length : closes.length - 1))
    }
  }
  await ledger.close()
  return { disk, closes }
}

export const everything = { gte: new Uint8Array(0), lt: new Uint8Array(80).fill(0xff) }
