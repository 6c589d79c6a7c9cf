/** Ledger closes that several tests are tried on. */
import { generate } from '../adapters/generate/index.ts'
import { hashOf } from '../adapters/testing/arbitraries.ts'
import { richClose } from '../adapters/testing/invalid-closes.ts'
import type { LedgerClose } from '../src/index.ts'

/** Ledgers of 60 operations and more each, so that lists have pages, and logs blocks. */
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
