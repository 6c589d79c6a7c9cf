/**
 * A ledger as one line of JSON: the close with which it was appended, every record spelled as on the wire. This is what is exported, and what a
 * ledger's digest covers. It says nothing about how records are stored.
 * **Invariant:** appended again, a line gives the same records, and so the same line: derived members are legal on input and are checked there.
 * What a close said and no line repeats: members of failed transactions' operations (they are not stored), and which of the further accounts of a
 * transaction were given as `participants` and which its operations name.
 */

import { text, Writer } from '../bytes.ts'
import { eachOf } from '../layout/block.ts'
import { isEmpty, type Row } from '../layout/row.ts'
import { TRANSACTION_STEP } from '../position.ts'
import type { Resource } from '../query.ts'
import { effects } from '../resources/effect.ts'
import { offerChanges } from '../resources/offer.ts'
import { operations } from '../resources/operation.ts'
import { trades } from '../resources/trade.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { ledgerAt, spanOfLedger } from '../scan/locate.ts'
import type { Reader } from '../scan/reader.ts'
import { sha256 } from '../sha256.ts'
import type { EncodedClose } from './encode.ts'

/** The rows of one ledger: its own, and those of each log, in order of position. */
export interface LedgerRows {
  readonly ledger: Row
  of(resource: Resource): readonly Row[]
}

/** The text of a record, as its listing shows it. */
export const textOf = (row: Row): string => row.texts[0]!.text

/** Rows that are written one after another. */
interface Queue {
  readonly rows: readonly Row[]
  at: number
}
const queue = (rows: readonly Row[]): Queue => ({ rows, at: 0 })

/** Enough for many ledgers. Where it is not, up to four times as much is kept for the next one, and more is given back. */
const OUT_BYTES = 1 << 18
/** Lines are written here, one at a time. */
let out = new Writer(OUT_BYTES)

function writeText(row: Row): void {
  const { sheet, from, length } = row.texts[0]!
  out.raw(sheet.region.part(from, from + length))
}

/** Writes the rows before `lo` as a member of what precedes, if there are any; `inner` writes what a record has besides its text. */
function writeList(name: string, queue: Queue, lo: number, inner?: (row: Row) => void): void {
  const { rows, at: first } = queue
  for (; queue.at < rows.length && rows[queue.at]!.lo < lo; queue.at++) {
    const row = rows[queue.at]!
    out.text(queue.at === first ? `,"${name}":[{` : ',{')
    writeText(row)
    inner?.(row)
    out.text('}')
  }
  if (queue.at > first) out.text(']')
}

const offerId = (row: Row): string => row.sides[offerChanges.columns.id]!
function writeParticipants(row: Row, column: number): void {
  const side = row.sides[column]!
  if (side !== '') out.text(`,"participants":${side}`)
}

/** What a function makes of the bytes of a ledger's line, which it must not keep. */
function ofLine<T>(rows: LedgerRows, make: (line: Uint8Array) => T): T {
  out.length = 0
  try {
    writeClose(rows)
    return make(out.bytes.subarray(0, out.length))
  } finally {
    if (out.bytes.length > 4 * OUT_BYTES) out = new Writer(OUT_BYTES)
  }
}

function writeClose({ ledger, of }: LedgerRows): void {
  out.text('{"ledger":{')
  writeText(ledger)
  out.text('}')
  const [succeeded, failed] = [of(transactions), of(failedTransactions)]
  const all = queue(failed.length === 0 ? succeeded : [...succeeded, ...failed].sort((a, b) => a.lo - b.lo))
  const [ofOperations, ofEffects, ofTrades] = [queue(of(operations)), queue(of(effects)), queue(of(trades))]
  const writeOperation = (row: Row): void => {
    writeParticipants(row, operations.columns.participants)
    writeList('effects', ofEffects, row.lo + 1)
    writeList('trades', ofTrades, row.lo + 1)
  }
  writeList('transactions', all, Number.POSITIVE_INFINITY, (row) => {
    writeParticipants(row, transactions.columns.participants)
    writeList('operations', ofOperations, row.lo + TRANSACTION_STEP, writeOperation)
  })
  writeBook(of(offerChanges))
  out.text('}')
}

function writeBook(changes: readonly Row[]): void {
  if (changes.length === 0) return
  const changed = changes.filter((row) => !isEmpty(row))
  const removed = changes.filter(isEmpty).map(offerId)
  out.text(',"offers":{')
  const start = out.length
  for (const [at, row] of changed.entries()) {
    out.text(at === 0 ? '"changed":[{' : ',{')
    writeText(row)
    out.text('}')
  }
  if (changed.length > 0) out.text(']')
  if (removed.length > 0) out.text(`${out.length > start ? ',' : ''}"removed":[${removed}]`)
  out.text('}')
}

export const closeLine = (rows: LedgerRows): string => ofLine(rows, text)

/** The digest of a ledger: SHA-256 of its line, without a line end. */
export const digestOf = (rows: LedgerRows): Uint8Array => ofLine(rows, sha256)

/** The rows of a ledger that is about to be stored. */
export function rowsOfClose({ rows, ledgerRow }: EncodedClose): LedgerRows {
  const byLog = new Map<Resource, Row[]>()
  for (const row of rows) {
    const held = byLog.get(row.resource)
    if (held) held.push(row)
    else byLog.set(row.resource, [row])
  }
  return { ledger: ledgerRow(['', '', '']), of: (resource) => byLog.get(resource) ?? [] }
}

/** The rows of a ledger that is held. @throws CORRUPT */
export function storedRows(reader: Reader, sequence: number): LedgerRows {
  const { block, at } = ledgerAt(reader, sequence)
  const read = (resource: Resource): Row[] => {
    const { from, to } = spanOfLedger(reader, resource, sequence)
    const rows: Row[] = []
    eachOf(reader.neighbours(resource, from, to, false), (block, at) => rows.push(block.row(at)))
    return rows
  }
  return { ledger: block.row(at), of: read }
}
