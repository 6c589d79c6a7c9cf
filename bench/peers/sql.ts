/**
 * What the SQL databases have in common: how a request becomes the values of a statement, and the body of a page around its records.
 */

import type { GeneratedClose } from '../../adapters/generate/index.ts'
import { type Ask, assetText, type Contender, linkOf } from '../contender.ts'

/**
 * `read`: nothing is written. `confined`: nor is there memory for all that is read. `write`: durable a transaction. `load`: durable once it is settled.
 */
export type Mode = 'read' | 'confined' | 'write' | 'load'

/** How many bytes a database takes, and its write-ahead log besides. */
export interface Size {
  readonly bytes: number
  readonly logBytes: number
}

export interface SqlContender extends Contender {
  /** Takes in many ledgers in one transaction. */
  appendAll(closes: readonly GeneratedClose[]): void | Promise<void>
  /** After a load: does what is otherwise done later, and tells the size. */
  settle(): Size | Promise<Size>
}

/** A request; its URL without cursor, limit and order; and what the statement wants before the cursor. */
export interface Prepared {
  readonly ask: Ask
  readonly target: string
  readonly named: readonly unknown[]
}

/** @param assets the numbers of assets, by their names */
export function prepared(ask: Ask, baseUrl: string, assets: ReadonlyMap<string, number>): Prepared {
  const { what, account, offer, hash, base, counter } = ask
  const target = linkOf(ask, baseUrl)
  if (what === 'transaction') return { ask, target, named: [hash] }
  if (what === 'trades') {
    if (!base || !counter) throw new Error('trades are asked for by pair')
    const [one, other] = [assets.get(assetText(base)) ?? -1, assets.get(assetText(counter)) ?? -1]
    return { ask, target, named: [one, Math.min(one, other), Math.max(one, other)] }
  }
  return { ask, target, named: account !== undefined ? [account] : offer !== undefined ? [BigInt(offer)] : [] }
}

/** Lists whose cursors have two parts, an operation and a number in it. */
const IN_OPERATIONS: ReadonlySet<string> = new Set(['effects', 'effectsOfAccount', 'trades', 'tradesOfAccount', 'tradesOfOffer'])
const MAX = 2n ** 63n - 1n

/** What a list's statement wants last: the cursor and the limit. */
export function cursorValues({ what, cursor, limit, order }: Ask): unknown[] {
  const desc = order === 'desc'
  if (!IN_OPERATIONS.has(what)) return [cursor === undefined ? (desc ? MAX : 0) : BigInt(cursor), limit]
  if (cursor === undefined) return [desc ? MAX : 0, 0, limit]
  const dash = cursor.indexOf('-')
  return [BigInt(cursor.slice(0, dash)), Number(cursor.slice(dash + 1)), limit]
}

const TOKEN = '"paging_token":"'
const END = Buffer.from(']}}')

/** The first (last) paging token in the text of one or more records. */
function tokenIn(records: Buffer, last: boolean): string {
  const from = (last ? records.lastIndexOf(TOKEN) : records.indexOf(TOKEN)) + TOKEN.length
  return records.toString('latin1', from, records.indexOf('"', from))
}

/** @param records their texts with commas between them, in one part or several, of which the first and the last are no commas */
export function pageBody({ ask, target }: Prepared, records: readonly Buffer[]): readonly Uint8Array[] {
  const { cursor = '', limit, order } = ask
  const [first, last] = records.length === 0 ? [cursor, cursor] : [tokenIn(records[0]!, false), tokenIn(records.at(-1)!, true)]
  const turned = order === 'asc' ? 'desc' : 'asc'
  const head =
    `{"_links":{"self":{"href":"${target}cursor=${cursor}&limit=${limit}&order=${order}"}` +
    `,"next":{"href":"${target}cursor=${last}&limit=${limit}&order=${order}"}` +
    `,"prev":{"href":"${target}cursor=${first}&limit=${limit}&order=${turned}"}},"_embedded":{"records":[`
  return [Buffer.from(head), ...records, END]
}
