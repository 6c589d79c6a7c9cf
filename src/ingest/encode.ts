/**
 * From a checked ledger close to rows: every record with its position, its text, and the keys under which it is filed.
 * What is made for each record is made by classes: V8 takes the objects of a literal for long-lived once many of them were alive while it collected,
 * and then collects them, and all they refer to, late and at a high price.
 */

import { FolioError, invalidInput } from '../errors.ts'
import { LOGS } from '../layout/head.ts'
import { postingPageKey } from '../layout/keys.ts'
import type { LedgerSides } from '../layout/ledger-row.ts'
import { isEmpty, type Row } from '../layout/row.ts'
import { eachFiling } from '../logs.ts'
import { low, MAX_INDEX } from '../position.ts'
import type { Index, Resource } from '../query.ts'
import { effects, encodeEffect } from '../resources/effect.ts'
import { Encoded, HOLDABLE, Spot, utc } from '../resources/encode.ts'
import { type Counts, encodeLedger, type LedgerInput, ledgers } from '../resources/ledger.ts'
import { changesBySeller, encodeOffer, encodeRemoval, offerChanges } from '../resources/offer.ts'
import { encodeOperation, type OperationInput, type Owner, operationAffects, operations } from '../resources/operation.ts'
import { encodeTrade, trades } from '../resources/trade.ts'
import { encodeTransaction, failedTransactions, type TransactionInput, transactions } from '../resources/transaction.ts'
import { Unfiled } from '../scan/unfiled.ts'
import type { Capabilities } from '../store.ts'
import type { Apart } from '../text/apart.ts'
import type { Element } from '../tuple.ts'
import { checkClose, type LedgerClose } from './close.ts'
import { plainClose } from './plain.ts'

/** A row and its log. */
export class EncodedRow implements Row {
  readonly hi: number
  readonly lo: number
  readonly index: number
  readonly texts: readonly Apart[]
  readonly sides: readonly string[]
  readonly exact: boolean
  readonly resource: Resource

  constructor(resource: Resource, { ledger, lo, index }: Spot, { texts, sides, exact }: Encoded) {
    this.hi = ledger
    this.lo = lo
    this.index = index
    this.texts = texts
    this.sides = sides
    this.exact = exact
    this.resource = resource
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
  /**
   * Where the rows are filed, by their numbers among those that their log gets from the ledger. Computed at once: the caller may change the records
   * while the close waits for its turn.
   */
  readonly unfiled: Unfiled
  /** Transactions in order: the hash, which log, and where the input has them. */
  readonly hashes: readonly { readonly hash: string; readonly failed: boolean; readonly spot: Spot }[]
  readonly book: readonly BookChange[]
  ledgerRow(sides: LedgerSides): Row
}

/** A close, checked and encoded as far as possible; what stopped it is thrown when its turn comes. */
export interface Prepared {
  /** As it was given at that time. Undefined if the close violates its schema. */
  readonly ledger?: LedgerInput
  /** Undefined if some record cannot be stored. */
  readonly encoded?: EncodedClose
  readonly error?: unknown
}

/** The longest key that a store takes, if it has a limit. */
export type KeyLimit = Pick<Capabilities, 'maxKeyBytes'>

/** All the work on a close that does not depend on the ledgers before it. Never throws. */
export function prepareClose(close: unknown, limit: KeyLimit = {}): Prepared {
  let plain: unknown
  try {
    plain = plainClose(close)
  } catch (cause) {
    // The text of its records fails where that of the whole did, and says where.
    const { ledger, error = unreadable(cause) } = prepared(close, limit)
    return { error, ...(ledger && { ledger }) }
  }
  return prepared(plain, limit)
}

function prepared(close: unknown, limit: KeyLimit): Prepared {
  let ledger: LedgerInput
  try {
    checkClose(close)
    ledger = { ...close.ledger }
  } catch (error) {
    return { error: error instanceof FolioError ? error : unreadable(error) }
  }
  try {
    return { ledger, encoded: encodeClose(close, limit) }
  } catch (error) {
    return { ledger, error: error instanceof FolioError ? error : unreadable(error, ledger.sequence) }
  }
}

const unreadable = (error: unknown, ledger?: number): FolioError =>
  new FolioError('INVALID_INPUT', { ...(ledger !== undefined && { ledger }), path: '(the whole close)', expected: HOLDABLE }, error)

/** Ill-formed text would become different text as bytes of a key. */
const isWellFormed = (element: Element): boolean => typeof element === 'bigint' || element.isWellFormed()

/** Whether a store takes the keys of a list. Counting letters tells so of nearly all: none takes more than three bytes. */
function fits(index: Index, key: readonly Element[], most: number): boolean {
  let letters = SPARE_LETTERS
  for (const element of key) letters += typeof element === 'bigint' ? ID_LETTERS : element.length
  if (3 * letters <= most) return true
  // The key of an offer in the book is a byte longer than that of a page of its seller's list.
  return postingPageKey(index.tag, key, 0, 0).length + (index === changesBySeller ? 1 : 0) <= most
}
/** As many as an id takes bytes, and what is in a key besides up to two elements. */
const [ID_LETTERS, SPARE_LETTERS] = [3, 6]

/** @throws INVALID_INPUT, ID_OUT_OF_RANGE */
function encodeClose(close: LedgerClose, limit: KeyLimit): EncodedClose {
  const encoder = new CloseEncoder(close.ledger, limit)
  const given = close.transactions ?? []
  for (let t = 0; t < given.length; t++) encoder.transaction(given[t]!, t)
  if (close.offers) encoder.offers(close.offers)
  return encoder.finish()
}

/** Collects the rows of a close, in order: transactions, each followed by its operations and what they caused; changes of offers; the ledger's own. */
class CloseEncoder {
  private readonly ledger: LedgerInput
  private readonly maxKeyBytes: number | undefined
  private readonly closedAt: string
  private readonly rows: EncodedRow[] = []
  private readonly added: number[] = Array(LOGS).fill(0)
  private readonly unfiled = new Unfiled()
  private readonly hashes: { hash: string; failed: boolean; spot: Spot }[] = []
  private readonly book: BookChange[] = []
  private operationCount = 0
  private failedCount = 0

  constructor(ledger: LedgerInput, { maxKeyBytes }: KeyLimit) {
    this.ledger = ledger
    this.maxKeyBytes = maxKeyBytes
    this.closedAt = utc(ledger.closed_at, ledger.sequence, () => 'ledger.closed_at')
  }

  transaction(transaction: TransactionInput, nth: number): void {
    const failed = transaction.successful === false
    const hash = transaction.hash.toLowerCase()
    const inner = transaction.operations ?? []
    const spot = this.spot(low(nth + 1, 0, this.ledger.sequence), 'transactions', nth)
    const affected = inner.map((operation) => operationAffects(operation, transaction.account))
    const all: string[] = []
    for (const accounts of affected) for (const account of accounts) all.push(account)
    this.add(failed ? failedTransactions : transactions, transaction, encodeTransaction(transaction, all, spot), spot)
    this.hashes.push({ hash, failed, spot })
    if (failed) {
      this.failedCount++
      return
    }
    this.operationCount += inner.length
    const owner = { hash, account: transaction.account }
    for (let o = 0; o < inner.length; o++)
      this.operation(inner[o]!, owner, spot.child(low(nth + 1, o + 1, this.ledger.sequence), 0, 'operations', o), affected[o]!)
  }

  private operation(operation: OperationInput, owner: Owner, spot: Spot, affected: readonly string[]): void {
    this.add(operations, operation, encodeOperation(operation, owner, spot, affected), spot)
    if (operation.effects) this.caused(effects, operation.effects, 1, spot, 'effects', encodeEffect)
    if (operation.trades) this.caused(trades, operation.trades, 0, spot, 'trades', encodeTrade)
  }

  /** The records that an operation caused: each takes the index it gives, or the next one. */
  private caused<I extends { readonly index?: number | undefined }>(
    resource: Resource,
    inputs: readonly I[],
    first: number,
    parent: Spot,
    list: string,
    encode: (input: I, spot: Spot) => Encoded,
  ): void {
    let next = first
    for (let i = 0; i < inputs.length; i++) {
      const input = inputs[i]!
      const index = input.index ?? next
      if (index < next || index > MAX_INDEX)
        throw invalidInput(parent.ledger, parent.path(`${list}[${i}].index`), `a number from ${next} on, since indexes rise`)
      const spot = parent.child(parent.lo, index, list, i)
      this.add(resource, input, encode(input, spot), spot)
      next = index + 1
    }
  }

  offers({ changed = [], removed = [] }: NonNullable<LedgerClose['offers']>): void {
    for (let i = 0; i < changed.length; i++) {
      const spot = this.spot(i, 'offers.changed', i)
      this.change(encodeOffer(changed[i]!, spot), changed[i]!, spot)
    }
    for (let i = 0; i < removed.length; i++) {
      const spot = this.spot(changed.length + i, 'offers.removed', i)
      this.change(encodeRemoval(removed[i]!, spot), {}, spot)
    }
  }

  private change(encoded: Encoded, input: object, spot: Spot): void {
    const row = this.add(offerChanges, input, encoded, spot)
    this.book.push({ id: BigInt(row.sides[offerChanges.columns.id]!), row: isEmpty(row) ? undefined : row })
  }

  private spot(lo: number, list: string, at: number): Spot {
    return new Spot(this.ledger.sequence, this.closedAt, lo, 0, list, at)
  }

  private add(resource: Resource, input: object, encoded: Encoded, spot: Spot): Row {
    const nth = this.added[resource.tag]!++
    eachFiling(resource, input, encoded.sides, (index, key) => {
      const isNew = this.unfiled.add(index, key, nth)
      if (isNew) this.checkKey(index, key, spot)
    })
    const row = new EncodedRow(resource, spot, encoded)
    this.rows.push(row)
    return row
  }

  private checkKey(index: Index, key: readonly Element[], spot: Spot): void {
    if (!key.every(isWellFormed)) throw invalidInput(spot.ledger, spot.path(), 'accounts, sellers and assets without lone surrogates')
    // Lists are written long after their ledgers: by then, what does not fit could not be refused any more.
    if (this.maxKeyBytes !== undefined && !fits(index, key, this.maxKeyBytes))
      throw invalidInput(
        spot.ledger,
        spot.path(),
        `accounts and assets short enough for the store, whose keys have ${this.maxKeyBytes} bytes at most`,
      )
  }

  finish(): EncodedClose {
    const { ledger, closedAt, rows, added, unfiled, hashes, book, failedCount } = this
    const { sequence } = ledger
    added[ledgers.tag] = 1
    const successful = hashes.length - failedCount
    const counts: Counts = {
      transaction_count: successful,
      successful_transaction_count: successful,
      failed_transaction_count: failedCount,
      operation_count: this.operationCount,
    }
    const spot = new Spot(sequence, closedAt, 0, 0, 'ledger')
    const { texts, exact } = encodeLedger(ledger, counts, spot)
    const ledgerRow = (sides: LedgerSides): Row => new EncodedRow(ledgers, spot, new Encoded(texts, sides, exact))
    return { sequence, hash: ledger.hash.toLowerCase(), closedAt, rows, added, unfiled, hashes, book, ledgerRow }
  }
}
