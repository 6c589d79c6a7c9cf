/** Ledger closes that several tests use. */
import { generate } from '../../adapters/generate/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import type { LedgerClose } from '../../src/index.ts'

/** Ledgers of 60 operations and more each, so that lists have pages, and logs have blocks. */
export const longCloses = (first: number, count: number): readonly LedgerClose[] =>
  Array.from({ length: count }, (_, n): LedgerClose => {
    const close = richClose(first + n, hashOf(first + n - 1, 99))
    const [one, failed] = close.transactions!
    const many = Array.from({ length: 60 }, () => ({ type: 'inflation' }))
    return { ...close, transactions: [one!, { ...one!, hash: hashOf(first + n, 3), operations: many }, failed!] }
  })

/** Generated ledgers of a few short transactions each. */
export const smallCloses = (firstLedger: number, ledgers: number, seed: number): readonly LedgerClose[] => [
  ...(generate({
    ...{ ledgers, seed, firstLedger, accounts: 16, transactionsPerLedger: 3, operationsPerTransaction: 2 },
    ...{ envelopeBytes: 30, tradeShare: 0.4 },
  }) as Iterable<LedgerClose>),
]

/**
 * Ledgers of a branch of history, each with a transaction of one operation of each of the accounts that it is to have.
 * @param salt branches with another one have other hashes
 * @param mark of every operation, to tell apart what has the same hash
 */
export function branchOf(
  [first, last]: readonly [number, number],
  salt: number,
  accountsOf: (sequence: number) => readonly string[],
  previous = hashOf(first - 1, salt),
  mark = `of ${salt}`,
): LedgerClose[] {
  return Array.from({ length: last - first + 1 }, (_, n): LedgerClose => {
    const { ledger, transactions } = richClose(first + n, n === 0 ? previous : hashOf(first + n - 1, salt))
    return {
      ledger: { ...ledger, hash: hashOf(first + n, salt) },
      transactions: accountsOf(first + n).map((account, at) => ({
        ...transactions![0]!,
        ...{ hash: hashOf(first + n, salt, at), account, operations: [{ type: 'inflation', mark }] },
      })),
    }
  })
}
