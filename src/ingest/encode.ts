/** From a checked ledger close to rows: every record with its position, its text, and the keys under which it is filed. */
import { invalidInput } from '../errors.ts'
import type { Row } from '../layout/row.ts'
import { takeApart } from '../layout/text.ts'
import { eachFiling } from '../logs.ts'
import { low, MAX_INDEX } from '../position.ts'
import type { Index, Resource } from '../query.ts'
import { effects, encodeEffect } from '../resources/effect.ts'
import { type Encoded, type Place, utc } from '../resources/encode.ts'
import { type Counts, encodeLedger, type LedgerInput } from '../resources/ledger.ts'
import { encodeOffer, encodeRemoval, offerChanges } from '../resources/offer.ts'
import { encodeOperation, operationAffects, operations } from '../resources/operation.ts'
import { encodeTrade, trades } from '../resources/trade.ts'
import { encodeTransaction, failedTransactions, transactions } from '../resources/transaction.ts'
import type { Element } from '../tuple.ts'
import { checkClose, type LedgerClose } from './close.ts'

export interface EncodedRow {
  readonly resource: Resource<any>
  readonly row: Row
  /** Computed at once: the caller may change the record while it waits for its turn. */
  readonly filings: readonly (readonly [index: Index<any>, key: readonly Element[]])[]
}

/** A change of the book: the offer's new state, or its removal. */
export interface BookChange {
  readonly id: bigint
  readonly row: Row | undefined
}

/** A ledger ready to be stored, except for its own row, which needs the counts of the logs. */
export interface EncodedClose {
  readonly sequence: number
  readonly hash: string
  readonly closedAt: string
  readonly rows: readonly EncodedRow[]
  /** Transactions in order: which log, and the hash. */
  readonly hashes: readonly { readonly hash: string; readonly failed: boolean; readonly path: string }[]
  readonly book: readonly BookChange[]
  ledgerRow(sides: readonly [ends: string, topOffer: string, filed: string]): Row
}

/** A close, checked and encoded as far as possible; what stopped it is thrown when its turn comes. */
export interface Prepared {
  /** As it was given at that time. Undefined if the close violates its schema. */
  readonly ledger?: LedgerInput
  /** Undefined if some record cannot be stored. */
  readonly encoded?: EncodedClose
  readonly error?: unknown
}

/** All the work on a close that does not depend on the ledgers before it. Never throws. */
export function prepareClose(close: unknown): Prepared {
  try {
    checkClose(close)
  } catch (error) {
    return { error }
  }
  const ledger = { ...close.ledger }
  try {
    return { ledger, encoded: encodeClose(close) }
  } catch (error) {
    return { ledger, error }
  }
}

const rowOf = (hi: number, lo: number, index: number, { text, turned, sides, exact }: Encoded): Row => ({
  hi,
  lo,
  index,
  texts: turned === undefined ? [takeApart(text)] : [takeApart(text), takeApart(turned)],
  text,
  sides,
  exact,
})

/** Ill-formed text would become different text as bytes of a key. */
const isWellFormed = (element: Element): boolean => typeof element === 'bigint' || !/\p{Surrogate}/u.test(element)

/** @throws INVALID_INPUT, ID_OUT_OF_RANGE */
function encodeClose(close: LedgerClose): EncodedClose {
  const { sequence } = close.ledger
  const closedAt = utc(close.ledger.closed_at, sequence, () => 'ledger.closed_at')
  const rows: EncodedRow[] = []
  const hashes: { hash: string; failed: boolean; path: string }[] = []
  let operationCount = 0
  let failedCount = 0

  const place = (lo: number, index: number, path: string): Place => ({
    ledger: sequence,
    lo,
    index,
    closedAt,
    path: (member) => (member ? `${path}.${member}` : path),
  })
  const add = (resource: Resource<any>, input: object, encoded: Encoded, { lo, index, path }: Place): Row => {
    const row = rowOf(sequence, lo, index, encoded)
    const filings: (readonly [Index<any>, readonly Element[]])[] = []
    eachFiling(resource, input, row.sides, (index, key) => {
      if (!key.every(isWellFormed)) throw invalidInput(sequence, path(), 'accounts, sellers and assets without lone surrogates')
      filings.push([index, key])
    })
    rows.push({ resource, row, filings })
    return row
  }
  /** The records that an operation caused: each takes the index it gives, or the next one. */
  const addCaused = <I extends { readonly index?: number }>(
    resource: Resource<any>,
    inputs: readonly I[],
    first: number,
    lo: number,
    path: string,
    encode: (input: I, place: Place) => Encoded,
  ): void => {
    let next = first
    for (const [i, input] of inputs.entries()) {
      const index = input.index ?? next
      if (index < next || index > MAX_INDEX)
        throw invalidInput(sequence, `${path}[${i}].index`, `a number from ${next} on, since indexes rise`)
      const at = place(lo, index, `${path}[${i}]`)
      add(resource, input, encode(input, at), at)
      next = index + 1
    }
  }

  for (const [t, transaction] of (close.transactions ?? []).entries()) {
    const path = `transactions[${t}]`
    const failed = transaction.successful === false
    const hash = transaction.hash.toLowerCase()
    const inner = transaction.operations ?? []
    const at = place(low(t + 1, 0, sequence), 0, path)
    const affected = inner.flatMap((operation) => operationAffects(operation, transaction.account))
    add(failed ? failedTransactions : transactions, transaction, encodeTransaction(transaction, affected, at), at)
    hashes.push({ hash, failed, path: `${path}.hash` })
    if (failed) {
      failedCount++
      continue
    }
    operationCount += inner.length
    for (const [o, operation] of inner.entries()) {
      const below = `${path}.operations[${o}]`
      const operationPlace = place(low(t + 1, o + 1, sequence), 0, below)
      add(operations, operation, encodeOperation(operation, { hash, account: transaction.account }, operationPlace), operationPlace)
      addCaused(effects, operation.effects ?? [], 1, operationPlace.lo, `${below}.effects`, encodeEffect)
      addCaused(trades, operation.trades ?? [], 0, operationPlace.lo, `${below}.trades`, encodeTrade)
    }
  }

  const book: BookChange[] = []
  const addChange = (encoded: Encoded & { readonly id: bigint }, input: object, number: number, path: string): void => {
    const row = add(offerChanges, input, encoded, place(number, 0, path))
    book.push({ id: encoded.id, row: encoded.text === '' ? undefined : row })
  }
  const { changed = [], removed = [] } = close.offers ?? {}
  for (const [i, offer] of changed.entries())
    addChange(encodeOffer(offer, place(i, 0, `offers.changed[${i}]`)), offer, i, `offers.changed[${i}]`)
  for (const [i, id] of removed.entries())
    addChange(encodeRemoval(id, place(changed.length + i, 0, `offers.removed[${i}]`)), {}, changed.length + i, `offers.removed[${i}]`)

  const successful = hashes.length - failedCount
  const counts: Counts = {
    transaction_count: successful,
    successful_transaction_count: successful,
    failed_transaction_count: failedCount,
    operation_count: operationCount,
  }
  const at = place(0, 0, 'ledger')
  const encoded = encodeLedger(close.ledger, counts, at)
  const ledgerRow = (sides: readonly [string, string, string]): Row => rowOf(sequence, 0, 0, { ...encoded, sides })
  return { sequence, hash: close.ledger.hash.toLowerCase(), closedAt, rows, hashes, book, ledgerRow }
}
