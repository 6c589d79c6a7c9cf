/** A step of a change that takes several batches. */
import type { Place } from '../layout/block.ts'
import type { Head } from '../layout/head.ts'
import { digestKey, hashKey } from '../layout/keys.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import type { Unfiled } from '../scan/unfiled.ts'
import type { Write } from '../store.ts'
import type { Edges } from './filing.ts'
import { type Between, joined, type Run, readRecords } from './parts.ts'

/** One batch, without the head in which it ends; that head; and what is unfiled under it, if that changes. */
export interface Step {
  readonly writes: readonly Write[]
  readonly head: Head
  readonly unfiled?: Unfiled
  /** The lists that were filed, if nothing else was changed. */
  readonly filed?: readonly Edges[]
}

/** Removes the hashes of transactions that are removed. */
export async function removeHashes(run: Run, removed: Between): Promise<Write[]> {
  const hashOf = ({ block, at }: Place): string => block.side(at, transactions.columns.hash)
  const hashes = await joined(readRecords(run, [transactions, failedTransactions], removed, hashOf))
  return hashes.map((hash) => [hashKey(hash), undefined])
}

/** Removes the digests of ledgers from `from` up to but excluding `to`. */
export const removeDigests = (from: number, to: number): Write[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, nth) => [digestKey(from + nth), undefined])
