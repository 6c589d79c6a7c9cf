/**
 * From what a caller names (a cursor, a parent, a hash) to ordinals. The ledger log says at which ordinals every log ended after each
 * ledger, so a position is found inside its ledger by halving, and the cost does not depend on how much history there is.
 */
import { FolioError } from '../errors.ts'
import type { Block } from '../layout/block.ts'
import { comparePositions, type Position, splitId } from '../position.ts'
import type { Index, Resource } from '../query.ts'
import { effectsByAccount } from '../resources/effect.ts'
import { ledgers } from '../resources/ledger.ts'
import { changesByOffer, changesBySeller } from '../resources/offer.ts'
import { operations, operationsByAccount } from '../resources/operation.ts'
import { tradesByAccount, tradesByOffer } from '../resources/trade.ts'
import { failedByAccount, failedTransactions, transactions, transactionsByAccount } from '../resources/transaction.ts'
import { posting, type Span } from './list.ts'
import type { Reader } from './reader.ts'

export interface Place<R = any> {
  readonly block: Block<R>
  readonly at: number
}

export const everything = (reader: Reader, resource: Resource<any>): Span => ({
  from: reader.head.since[resource.tag]!,
  to: reader.head.counts[resource.tag]!,
})

const held = (reader: Reader, sequence: number): boolean =>
  reader.head.last > 0 && sequence >= reader.head.oldest && sequence <= reader.head.last

/** The ordinal at which a log ended after a ledger that is held. */
function endOf(reader: Reader, resource: Resource<any>, sequence: number): number {
  if (resource === ledgers) return sequence - reader.head.first + 1
  const { block, at } = reader.at(ledgers, sequence - reader.head.first)
  const ends = block.attach(
    `ends ${at}`,
    () => block.side(at, 0).split(',').map(Number),
    (list) => 100 + 8 * list.length,
  )
  return ends[resource.tag]!
}

/** The records of a log that a ledger holds; empty for a ledger outside history. */
export function spanOfLedger(reader: Reader, resource: Resource<any>, sequence: number): Span {
  const { from, to } = everything(reader, resource)
  if (!held(reader, sequence)) return sequence < reader.head.oldest ? { from, to: from } : { from: to, to }
  const start = sequence === reader.head.oldest ? from : endOf(reader, resource, sequence - 1)
  return { from: start, to: Math.min(to, endOf(reader, resource, sequence)) }
}

/** The first ordinal whose record lies after `position`, or at it where `inclusive`. */
export function seek(reader: Reader, resource: Resource<any>, position: Position, inclusive: boolean): number {
  const span = spanOfLedger(reader, resource, position.hi)
  let { from, to } = span
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    const { block, at } = reader.at(resource, middle)
    const order = comparePositions(block.hi(at), block.lo(at), block.index(at), position)
    if (order < 0 || (order === 0 && !inclusive)) from = middle + 1
    else to = middle
  }
  return from
}

/** The records whose ids lie in [hi, lo from, lo to): those of a transaction or an operation. */
export function spanOfIds(reader: Reader, resource: Resource<any>, hi: number, from: number, to: number): Span {
  return { from: seek(reader, resource, { hi, lo: from, index: 0 }, true), to: seek(reader, resource, { hi, lo: to, index: 0 }, true) }
}

export function findTransaction(reader: Reader, hash: string): Place | undefined {
  const entry = reader.hashed(hash)
  if (!entry) return undefined
  const resource = entry.failed ? failedTransactions : transactions
  const { from, to } = everything(reader, resource)
  return entry.ordinal >= from && entry.ordinal < to ? reader.at(resource, entry.ordinal) : undefined
}

export function findOperation(reader: Reader, id: bigint): Place | undefined {
  const { hi, lo } = splitId(id)
  const ordinal = seek(reader, operations, { hi, lo, index: 0 }, true)
  if (ordinal >= everything(reader, operations).to) return undefined
  const place = reader.at(operations, ordinal)
  return place.block.hi(place.at) === hi && place.block.lo(place.at) === lo ? place : undefined
}

/** @throws GONE_BEFORE_HISTORY below the oldest ledger held */
export function findLedger(reader: Reader, sequence: number): Place | undefined {
  const { head } = reader
  if (head.last > 0 && sequence < head.oldest && head.oldest > 1)
    throw new FolioError('GONE_BEFORE_HISTORY', { ledger: sequence, oldest: head.oldest })
  return held(reader, sequence) ? reader.at(ledgers, sequence - head.first) : undefined
}

const anyIn = (reader: Reader, index: Index<any>, key: string | bigint): boolean =>
  posting(reader, index, [key]).take({ from: 0, to: reader.head.counts[index.of.tag]! }, 1, false).length > 0

const ofAccount = [transactionsByAccount, operationsByAccount, effectsByAccount, tradesByAccount, failedByAccount, changesBySeller]

/** True once any record has named the account, also where that record was pruned since. */
export const accountExists = (reader: Reader, account: string): boolean => ofAccount.some((index) => anyIn(reader, index, account))

/** True once any ledger has changed the offer or a trade has named it. */
export const offerExists = (reader: Reader, id: bigint): boolean => anyIn(reader, changesByOffer, id) || anyIn(reader, tradesByOffer, id)
