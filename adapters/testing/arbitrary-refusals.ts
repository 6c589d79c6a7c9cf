/** Closes that must be refused after a valid network: each kind of flaw, with the error that it must cause. */
import fc from 'fast-check'
import type { ErrorCode, LedgerClose } from '../../src/index.ts'
import { closeChain, closeOf, closeShape, hashOf } from './arbitraries.ts'
import { flaws, richClose, spoiledClose } from './invalid-closes.ts'
import type { AnyMembers } from './naive-records.ts'

/** A history, and a close that cannot follow it. */
export interface InvalidClose {
  /** Valid, and accepted. */
  readonly closes: readonly LedgerClose[]
  readonly refused: LedgerClose
  /** The code with which the close must be refused. */
  readonly code: ErrorCode
  /** What is wrong with it. */
  readonly flaw: string
}

type Spoil = (next: AnyMembers, closes: readonly LedgerClose[]) => AnyMembers

/** The close with different members of its ledger. */
const ledgerWith =
  (change: (ledger: AnyMembers) => AnyMembers): Spoil =>
  (next) => ({ ...next, ledger: { ...next['ledger'], ...change(next['ledger']) } })

/** The close with different members of one of its transactions. */
const transactionWith =
  (at: number, change: (transactions: readonly AnyMembers[], closes: readonly LedgerClose[]) => AnyMembers): Spoil =>
  (next, closes) => {
    const transactions: readonly AnyMembers[] = next['transactions']
    return { ...next, transactions: transactions.with(at, { ...transactions[at], ...change(transactions, closes) }) }
  }

/** What can be wrong between a close and those before it, or between its own parts. */
const misfits: readonly (readonly [code: ErrorCode, flaw: string, spoil: Spoil])[] = [
  ['LEDGER_GAP', 'a ledger is left out', ledgerWith(({ sequence }) => ({ sequence: sequence + 1 }))],
  ['PREV_HASH_MISMATCH', 'it follows another ledger', ledgerWith(() => ({ prev_hash: hashOf(-1) }))],
  [
    'LEDGER_FORK',
    'it is another ledger of a sequence that is held',
    ledgerWith(({ sequence }) => ({ sequence: sequence - 1, prev_hash: '' })),
  ],
  [
    'DUPLICATE_TRANSACTION',
    'a transaction is held already',
    transactionWith(1, (_, closes) => ({ hash: closes.at(-1)!.transactions![0]!.hash })),
  ],
  ['INVALID_INPUT', 'two transactions are the same', transactionWith(1, ([first]) => ({ hash: first!['hash'].toUpperCase() }))],
  [
    'ID_OUT_OF_RANGE',
    'a transaction has too many operations',
    transactionWith(0, () => ({ operations: new Array(4096).fill({ type: 'inflation' }) })),
  ],
]

/** A member that is missing or wrong, or a close that does not fit after the others. */
export const invalidClose: fc.Arbitrary<InvalidClose> = fc
  .tuple(closeChain, closeShape, fc.nat(), fc.boolean())
  .map(([before, one, number, fits]) => {
    const newest = before.at(-1)!
    // The newest ledger held has a transaction to collide with.
    const at = newest.ledger.sequence + 1
    const held = { ...closeOf(one, at, newest.ledger.hash), transactions: richClose(at, '').transactions!.slice(1) }
    const closes = [...before, held]
    const sequence = held.ledger.sequence + 1
    const next = richClose(sequence, held.ledger.hash)
    if (fits) {
      const [code, flaw, spoil] = misfits[number % misfits.length]!
      return { closes, refused: spoil(next as AnyMembers, closes) as LedgerClose, code, flaw }
    }
    const all = flaws(sequence)
    const { path, value, code, fields } = all[number % all.length]!
    return { closes, refused: spoiledClose(next, path, value) as LedgerClose, code, flaw: `${fields.path} is not ${fields.expected}` }
  })
