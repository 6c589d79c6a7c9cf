/** One ledger close: the input of the write side (NDJSON: one close per line), its schema, and its place in the chain. */
import { badRequest, OptionRules } from '../check.ts'
import { FolioError } from '../errors.ts'
import type { Head } from '../layout/head.ts'
import { effectSchema } from '../resources/effect.ts'
import { type LedgerInput, ledgerSchema } from '../resources/ledger.ts'
import { type OfferInput, offersSchema } from '../resources/offer.ts'
import { operationSchema } from '../resources/operation.ts'
import type { Int64Input } from '../resources/schema.ts'
import { array, closedObject, optional, validator } from '../resources/schema.ts'
import { tradeSchema } from '../resources/trade.ts'
import { type TransactionInput, transactionSchema } from '../resources/transaction.ts'

/** Changes of the book of offers. */
export interface OfferChanges {
  /** The state of each offer that changed, after the ledger. Of one that is listed twice, the last state counts; of one that is also removed, none. */
  readonly changed?: readonly OfferInput[] | undefined
  /** Ids of offers that are gone. Removing one that was never held leaves the book as it is, and the id counts as known from then on. */
  readonly removed?: readonly Int64Input[] | undefined
}

/** Everything that one ledger closed with. Records may carry further members, which are kept in order; a close and `offers` may not. */
export interface LedgerClose {
  readonly ledger: LedgerInput
  readonly transactions?: readonly TransactionInput[] | undefined
  readonly offers?: OfferChanges | undefined
}

/** JSON Schema of a ledger close, for documentation. */
export const closeSchema: object = closedObject({
  ledger: ledgerSchema,
  transactions: optional(array(transactionSchema(operationSchema(effectSchema, tradeSchema)))),
  offers: optional(offersSchema),
})

export interface AppendResult {
  readonly sequence: number
  /** In lower case. */
  readonly hash: string
  /** False if the ledger was already held and nothing was written. */
  readonly appended: boolean
}

export interface AppendOptions {
  /** Resolve only when the ledger is on stable storage. Default true. */
  readonly durable?: boolean | undefined
}

export const appendOptions = new OptionRules<AppendOptions>('append', { durable: 'flag' })

const validate = validator(closeSchema)

/** The sequence that a close has, if it has one, whatever else is wrong with it. */
export const sequenceOf = (close: any): number | undefined =>
  typeof close?.ledger?.sequence === 'number' ? close.ledger.sequence : undefined

/** @throws INVALID_INPUT naming the first member that is missing or wrong */
export function checkClose(close: unknown): asserts close is LedgerClose {
  validate(close, () => sequenceOf(close))
}

/** @throws BAD_REQUEST if `closes` is not a source of closes, such as a single close */
export function checkCloses<T extends AsyncIterable<LedgerClose> | Iterable<LedgerClose>>(closes: T): T {
  const source: { [Symbol.asyncIterator]?: unknown; [Symbol.iterator]?: unknown } = closes ?? {}
  // Most likely the name of a file.
  if (typeof closes === 'string') throw badRequest('closes', 'ledger closes; readCloses of ledger-folio/ndjson gives those of a file')
  if (typeof (source[Symbol.asyncIterator] ?? source[Symbol.iterator]) === 'function') return closes
  throw badRequest('closes', 'ledger closes that can be iterated over; append takes a single one')
}

/**
 * True if the ledger follows the head; false if it is already held.
 * @param held the hash held under its sequence, if any
 * @throws LEDGER_GAP, LEDGER_FORK, PREV_HASH_MISMATCH
 */
export function follows(head: Head, ledger: LedgerInput, held: string | undefined): boolean {
  if (head.last === 0) return true
  const { sequence } = ledger
  const hash = ledger.hash.toLowerCase()
  if (sequence <= head.last) {
    if (held === hash) return false
    if (held === undefined) {
      const reason = 'nothing tells whether it is the one that was there, or would have been: go on with the ledger that is expected'
      throw new FolioError('LEDGER_GAP', { sequence, expected: head.last + 1, oldest: head.oldest, reason })
    }
    throw new FolioError('LEDGER_FORK', { sequence, held, given: hash })
  }
  if (sequence !== head.last + 1) throw new FolioError('LEDGER_GAP', { sequence, expected: head.last + 1 })
  const previous = (ledger.prev_hash ?? '').toLowerCase()
  if (previous !== head.hash) throw new FolioError('PREV_HASH_MISMATCH', { sequence, held: head.hash, given: previous })
  return true
}
