/**
 * From a checked ledger close to rows: every record with its position, its text, and the keys under which it is filed.
 * What is made for each record is made by classes: V8 takes the objects of a literal for long-lived once many of them were alive while it collected,
 * and then collects them, and all they refer to, late and at a high price.
 */
import { invalidInput } from '../errors.ts'
import { LOGS } from '../layout/head.ts'
import { isEmpty, type Row } from '../layout/row.ts'
import { eachFiling } from '../logs.ts'
import { low, MAX_INDEX } from '../position.ts'
import type { Index, Resource } from '../query.ts'
import { effects, encodeEffect } from '../resources/effect.ts'
import { Encoded, Place, utc } from '../resources/encode.ts'
import { type Counts, encodeLedger, type LedgerInput, ledgers } from '../resources/ledger.ts'
import { encodeOffer, encodeRemoval, offerChanges, offerSide } from '../resources/offer.ts'
import { encodeOperation, operationAffects, operations } from '../resources/operation.ts'
import { encodeTrade, trades } from '../resources/trade.ts'
import { encodeTransaction, failedTransactions, transactions } from '../resources/transaction.ts'
import type { Apart } from '../text/apart.ts'
import type { Element } from '../tuple.ts'
import { checkClose, type LedgerClose } from './close.ts'

/** A row and its log. */
export class EncodedRow implements Row {
  readonly hi: number
  readonly lo: number
  readonly index: number
  readonly texts: readonly Apart[]
  readonly sides: readonly string[]
  readonly exact: boolean
  readonly resource: Resource<any>

  constructor(resource: Resource<any>, { ledger, lo, index }: Place, { texts, sides, exact }: Encoded) {
    this.hi = ledger
    this.lo = lo
    this.index = index
    this.texts = texts
    this.sides = sides
    this.exact = exact
    this.resource = resource
  }
}

/** An entry of a posting list. */
export class Entry {
  readonly index: Index<any>
  readonly key: readonly Element[]
  /** The number of the record among those that its log gets from the ledger. */
  readonly nth: number

  constructor(index: Index<any>, key: readonly Element[], nth: number) {
    this.index = index
    this.key = key
    this.nth = nth
  }
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
  /** But for the ledger's own. */
  readonly rows: readonly EncodedRow[]
  /** How many rows each log gets, by tag; the ledger's own is counted. */
  readonly added: readonly number[]
  /** Where the rows are filed. Computed at once: the caller may change the records while the close waits for its turn. */
  readonly entries: readonly Entry[]
  /** Transactions in order: the hash, which log, and where the input has them. */
  readonly hashes: readonly { readonly hash: string; readonly failed: boolean; readonly place: Place }[]
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

/** Ill-formed text would become different text as bytes of a key. */
const isWellFormed = (element: Element): boolean => typeof element === 'bigint' || element.isWellFormed()

/** @throws INVALID_INPUT, ID_OUT_OF_RANGE */
function encodeClose(close: LedgerClose): EncodedClose {
  const { sequence } = close.ledger
  const closedAt = utc(close.ledger.closed_at, sequence, () => 'ledger.closed_at')
  const rows: EncodedRow[] = []
  const added: number[] = Array(LOGS).fill(0)
  added[ledgers.tag] = 1
  const entries: Entry[] = []
  const hashes: { hash: string; failed: boolean; place: Place }[] = []
  let operationCount = 0
  let failedCount = 0

  const add = (resource: Resource<any>, input: object, encoded: Encoded, place: Place): Row => {
    const nth = added[resource.tag]!++
    eachFiling(resource, input, encoded.sides, (index, key) => {
      if (!key.every(isWellFormed)) throw invalidInput(sequence, place.path(), 'accounts, sellers and assets without lone surrogates')
      entries.push(new Entry(index, key, nth))
    })
    const row = new EncodedRow(resource, place, encoded)
    rows.push(row)
    return row
  }
  /** The records that an operation caused: each takes the index it gives, or the next one. */
  const addCaused = <I extends { readonly index?: number }>(
    resource: Resource<any>,
    inputs: readonly I[],
    first: number,
    parent: Place,
    list: string,
    encode: (input: I, place: Place) => Encoded,
  ): void => {
    let next = first
    for (const [i, input] of inputs.entries()) {
      const index = input.index ?? next
      if (index < next || index > MAX_INDEX)
        throw invalidInput(sequence, parent.path(`${list}[${i}].index`), `a number from ${next} on, since indexes rise`)
      const at = new Place(sequence, closedAt, parent.lo, index, list, i, parent)
      add(resource, input, encode(input, at), at)
      next = index + 1
    }
  }

  for (const [t, transaction] of (close.transactions ?? []).entries()) {
    const failed = transaction.successful === false
    const hash = transaction.hash.toLowerCase()
    const inner = transaction.operations ?? []
    const at = new Place(sequence, closedAt, low(t + 1, 0, sequence), 0, 'transactions', t)
    const affected = inner.flatMap((operation) => operationAffects(operation, transaction.account))
    add(failed ? failedTransactions : transactions, transaction, encodeTransaction(transaction, affected, at), at)
    hashes.push({ hash, failed, place: at })
    if (failed) {
      failedCount++
      continue
    }
    operationCount += inner.length
    for (const [o, operation] of inner.entries()) {
      const below = new Place(sequence, closedAt, low(t + 1, o + 1, sequence), 0, 'operations', o, at)
      add(operations, operation, encodeOperation(operation, { hash, account: transaction.account }, below), below)
      addCaused(effects, operation.effects ?? [], 1, below, 'effects', encodeEffect)
      addCaused(trades, operation.trades ?? [], 0, below, 'trades', encodeTrade)
    }
  }

  const book: BookChange[] = []
  const addChange = (encoded: Encoded, input: object, place: Place): void => {
    const row = add(offerChanges, input, encoded, place)
    book.push({ id: BigInt(row.sides[offerSide.id]!), row: isEmpty(row) ? undefined : row })
  }
  const { changed = [], removed = [] } = close.offers ?? {}
  for (const [i, offer] of changed.entries()) {
    const at = new Place(sequence, closedAt, i, 0, 'offers.changed', i)
    addChange(encodeOffer(offer, at), offer, at)
  }
  for (const [i, id] of removed.entries()) {
    const at = new Place(sequence, closedAt, changed.length + i, 0, 'offers.removed', i)
    addChange(encodeRemoval(id, at), {}, at)
  }

  const successful = hashes.length - failedCount
  const counts: Counts = {
    transaction_count: successful,
    successful_transaction_count: successful,
    failed_transaction_count: failedCount,
    operation_count: operationCount,
  }
  const at = new Place(sequence, closedAt, 0, 0, 'ledger')
  const encoded = encodeLedger(close.ledger, counts, at)
  const ledgerRow = (sides: readonly [string, string, string]): Row =>
    new EncodedRow(ledgers, at, new Encoded(encoded.texts, sides, encoded.exact))
  return { sequence, hash: close.ledger.hash.toLowerCase(), closedAt, rows, added, entries, hashes, book, ledgerRow }
}
