/**
 * A ledger as one line of JSON: the close with which it was appended, every record spelled as on the wire. This is what is exported, and what a
 * ledger's digest covers. It says nothing about how records are stored.
 * **Invariant:** appended again, a line gives the same records, and so the same line: derived members are legal on input and are checked there.
 * What a close said and no line repeats: members of failed transactions' operations (they are not stored), and which of the further accounts of a
 * transaction were given as `participants` and which its operations name.
 */

import type { Row } from '../layout/row.ts'
import { putTogether } from '../layout/text.ts'
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
  of(resource: Resource<any>): readonly Row[]
}

/** True for an offer's removal, which has no text. */
export const isEmpty = (row: Row): boolean => row.texts[0]!.frame === ''
/** The text of a record, as its listing shows it. */
export const textOf = ({ text, texts }: Row): string => text ?? putTogether(texts[0]!)

/** Renders consecutive rows, up to but excluding the one at `lo`, separated by commas. */
const taker = (rows: readonly Row[], render: (row: Row) => string): ((lo: number) => string) => {
  let at = 0
  return (lo) => {
    let json = ''
    for (; at < rows.length && rows[at]!.lo < lo; at++) json += json === '' ? render(rows[at]!) : `,${render(rows[at]!)}`
    return json
  }
}

const member = (name: string, list: string): string => (list === '' ? '' : `,"${name}":[${list}]`)
const column = (resource: Resource<any>, name: string) => {
  const at = resource.sides.indexOf(name)
  return (row: Row): string => row.sides[at]!
}
const [transactionExtra, operationExtra] = [column(transactions, 'participants'), column(operations, 'participants')]
const offerId = column(offerChanges, 'id')
const participants = (side: string): string => (side === '' ? '' : `,"participants":${side}`)

export function closeLine({ ledger, of }: LedgerRows): string {
  const plain = (row: Row): string => `{${textOf(row)}}`
  const [effectsTo, tradesTo] = [taker(of(effects), plain), taker(of(trades), plain)]
  const operationsTo = taker(of(operations), (row) => {
    const caused = member('effects', effectsTo(row.lo + 1)) + member('trades', tradesTo(row.lo + 1))
    return `{${textOf(row)}${participants(operationExtra(row))}${caused}}`
  })
  const all = [...of(transactions), ...of(failedTransactions)].sort((a, b) => a.lo - b.lo)
  const listed = taker(all, (row) => {
    const inner = member('operations', operationsTo(row.lo + TRANSACTION_STEP))
    return `{${textOf(row)}${participants(transactionExtra(row))}${inner}}`
  })
  const changes = of(offerChanges)
  const changed = changes.filter((row) => !isEmpty(row)).map(plain)
  const removed = changes.filter(isEmpty).map(offerId)
  const book = [changed.length > 0 && `"changed":[${changed}]`, removed.length > 0 && `"removed":[${removed}]`].filter(Boolean)
  return `{"ledger":{${textOf(ledger)}}${member('transactions', listed(Number.POSITIVE_INFINITY))}${book.length > 0 ? `,"offers":{${book}}` : ''}}`
}

/** The digest of a ledger: SHA-256 of its line, without a line end. */
export const digestOf = (rows: LedgerRows): Uint8Array => sha256(closeLine(rows))

/** The rows of a ledger that is about to be stored. */
export function rowsOfClose({ rows, ledgerRow }: EncodedClose): LedgerRows {
  const byLog = new Map<Resource<any>, Row[]>()
  for (const { resource, row } of rows) {
    const held = byLog.get(resource)
    if (held) held.push(row)
    else byLog.set(resource, [row])
  }
  return { ledger: ledgerRow(['', '', '']), of: (resource) => byLog.get(resource) ?? [] }
}

/** The rows of a ledger that is held. @throws CORRUPT */
export function storedRows(reader: Reader, sequence: number): LedgerRows {
  const { block, at } = ledgerAt(reader, sequence)
  const read = (resource: Resource<any>): Row[] => {
    const { from, to } = spanOfLedger(reader, resource, sequence)
    const ordinals = Array.from({ length: to - from }, (_, n) => from + n)
    return reader.places(resource, ordinals).map((place) => place.block.row(place.at))
  }
  return { ledger: block.row(at), of: read }
}
