/**
 * From what a caller names (a cursor, a parent, a hash) to ordinals. The ledger log says at which ordinals every log ended after each ledger, so a
 * position is found inside its ledger by binary search, and the cost does not depend on how much history there is.
 */

import type { Found } from '../cache/hash-table.ts'
import { FolioError } from '../errors.ts'
import type { Block, Place } from '../layout/block.ts'
import { hashKey } from '../layout/keys.ts'
import { endsOf } from '../layout/ledger-row.ts'
import { blockBySize, recordsPerBlock } from '../layout/ordinals.ts'
import { corrupt } from '../layout/seal.ts'
import { type Position, splitId, TRANSACTION_STEP } from '../position.ts'
import type { Resource } from '../query.ts'
import { type Ledger, ledgers } from '../resources/ledger.ts'
import { operations } from '../resources/operation.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import type { Span } from './list.ts'
import type { Reader } from './reader.ts'

export const everything = (reader: Reader, resource: Resource): Span => ({
  from: reader.head.since[resource.tag]!,
  to: reader.head.counts[resource.tag]!,
})

const held = (reader: Reader, sequence: number): boolean =>
  reader.head.last > 0 && sequence >= reader.head.oldest && sequence <= reader.head.last

/** A ledger that is held. */
export const ledgerAt = (reader: Reader, sequence: number): Place<Ledger> => reader.at(ledgers, sequence - reader.head.first)

/** The key under which the parsed counts of a block of ledgers are attached; each is parsed on first use. */
const COUNTS = Symbol('counts')
const emptyRows = (): (readonly number[])[] => []
const rowsWeight = (): number => 200 * recordsPerBlock(ledgers)

/** The counts of every log after a ledger that is held, or after the one before the oldest. */
export function countsAfter(reader: Reader, sequence: number): readonly number[] {
  const { head } = reader
  if (sequence < head.oldest) return head.since
  const { block, at } = ledgerAt(reader, sequence)
  const rows = block.attach(COUNTS, emptyRows, rowsWeight)
  rows[at] ??= endsOf(block, at)
  return rows[at]
}

/** The records of a log that belong to a ledger; empty for a ledger outside history. */
export function spanOfLedger(reader: Reader, resource: Resource, sequence: number): Span {
  const { from, to } = everything(reader, resource)
  if (!held(reader, sequence)) return sequence < reader.head.oldest ? { from, to: from } : { from: to, to }
  if (resource === ledgers) return { from: sequence - reader.head.first, to: sequence - reader.head.first + 1 }
  return spanOf(countsAround(reader, sequence), resource)
}

/** The counts of every log before and after a ledger that is held. */
const countsAround = (reader: Reader, sequence: number): Around => [countsAfter(reader, sequence - 1), countsAfter(reader, sequence)]
type Around = readonly [before: readonly number[], after: readonly number[]]

const spanOf = ([before, after]: Around, { tag }: Resource): Span => ({ from: before[tag]!, to: after[tag]! })

/**
 * The first ordinal whose record lies after `position`, or at it if `inclusive`. It starts where the record would be if the ledger's records were
 * spread evenly over its transactions, which is nearly always the right block; a block that was read is searched whole.
 */
export function seek(reader: Reader, resource: Resource, position: Position, inclusive: boolean): number {
  const around = resource !== ledgers && held(reader, position.hi) ? countsAround(reader, position.hi) : undefined
  let { from, to } = around ? spanOf(around, resource) : spanOfLedger(reader, resource, position.hi)
  if (from >= to) return from
  const size = recordsPerBlock(resource)
  let guess = around && to - from > size ? from + Math.floor((to - from) * share(around, position.lo)) : from
  while (from < to) {
    guess = Math.min(Math.max(guess, from), to - 1)
    const number = blockBySize(size, guess)
    const block = reader.block(resource, number)
    const base = number * size
    let low = Math.max(from - base, 0)
    let high = Math.min(to - base, size)
    if (!isBehind(block, low, position, inclusive)) to = base + low
    else if (isBehind(block, high - 1, position, inclusive)) from = base + high
    else {
      while (low < high) {
        const middle = (low + high) >>> 1
        if (isBehind(block, middle, position, inclusive)) low = middle + 1
        else high = middle
      }
      return base + low
    }
    guess = (from + to) >>> 1
  }
  return from
}

function isBehind(block: Block, at: number, position: Position, inclusive: boolean): boolean {
  const order = block.hi(at) - position.hi || block.lo(at) - position.lo || block.index(at) - position.index
  return order < 0 || (order === 0 && !inclusive)
}

/** The fraction of its ledger's transactions that precede a position. */
function share([before, after]: Around, lo: number): number {
  const transactionsOf = (counts: readonly number[]): number => counts[transactions.tag]! + counts[failedTransactions.tag]!
  return Math.min(1, Math.max(0, (Math.floor(lo / TRANSACTION_STEP) - 0.5) / (transactionsOf(after) - transactionsOf(before))))
}

/** The records whose ids lie in [hi, lo from, lo to): those of a transaction or an operation. */
export function spanOfIds(reader: Reader, resource: Resource, hi: number, from: number, to: number): Span {
  return { from: seek(reader, resource, { hi, lo: from, index: 0 }, true), to: seek(reader, resource, { hi, lo: to, index: 0 }, true) }
}

export function findTransaction(reader: Reader, hash: string): Place | undefined {
  const guess = reader.guess(hash)
  const guessed = guess && placeOf(reader, guess)
  if (guessed && guessed.block.side(guessed.at, transactions.columns.hash) === hash) return guessed
  const found = reader.hashed(hash)
  const place = found && placeOf(reader, found)
  if (place && place.block.side(place.at, transactions.columns.hash) !== hash)
    throw corrupt(hashKey(hash), 'the entry of a transaction names another one')
  return place
}

function placeOf(reader: Reader, { log, ordinal }: Found): Place | undefined {
  const resource = log === transactions.tag ? transactions : failedTransactions
  const { from, to } = everything(reader, resource)
  return ordinal >= from && ordinal < to ? reader.at(resource, ordinal) : undefined
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
  return held(reader, sequence) ? ledgerAt(reader, sequence) : undefined
}
