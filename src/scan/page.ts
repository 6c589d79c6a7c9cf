/**
 * Pages: the cursor, the order and the limit of a list, and the records they select. A page is raw: places in blocks, from which typed records are
 * decoded or wire text is sliced.
 */
import { badRequest, checkNames, FolioError } from '../errors.ts'
import type { Place } from '../layout/block.ts'
import { checkLimit, checkOrder, DEFAULT_LIMIT, type Order } from '../params.ts'
import { type Cursor, idOf, idText, MAX_ID, MAX_INDEX, parseCursor } from '../position.ts'
import type { List, Resource } from '../query.ts'
import { offerSide, offers } from '../resources/offer.ts'
import type { Span } from './list.ts'
import { everything, seek } from './locate.ts'
import { placesOf } from './places.ts'
import type { Reader } from './reader.ts'
import { type Resolved, resolve, type Values } from './resolve.ts'

export interface PageOptions {
  /** Records after (descending: before) this paging token; `now` stands for the newest record. Default: from the end at which `order` starts. */
  readonly cursor?: string | undefined
  /** Default `asc`, older records first. */
  readonly order?: Order | undefined
  /** 1 to 200, default 10. */
  readonly limit?: number | undefined
}

/** Why a page ended: it reached its limit, or the end of the listing. */
export type Ended = 'limit' | 'end'

export interface RawPage<R = any> {
  readonly records: Place<R>[]
  /** The cursor that continues in the same order. */
  readonly next: string
  /** The cursor that goes back, in the opposite order. */
  readonly prev: string
  readonly ended: Ended
  /**
   * True if no later append can change this page, and no pruning so far has changed where it begins: it is ascending and full, ends before the newest
   * ledger, and begins where it always did. A later prune past its beginning still makes it begin later.
   */
  readonly final: boolean
}

interface Asked {
  /** As given; empty if none was. */
  readonly cursor: string
  readonly at: Cursor | undefined
  readonly order: Order
  readonly limit: number
}

const NAMES = ['cursor', 'order', 'limit'] as const

/** @throws BAD_REQUEST */
export function checkOptions(options: PageOptions, resource: Resource<any>): Asked {
  const { cursor = '', order = 'asc', limit = DEFAULT_LIMIT } = checkNames(options, 'a page', NAMES)
  if (typeof cursor !== 'string') throw badRequest('cursor', 'a paging token, as text')
  const at = cursor === '' || cursor === 'now' ? undefined : parseCursor(cursor, resource.indexed)
  return { cursor, at, limit: checkLimit(limit), order: checkOrder(order) }
}

/**
 * The token of the newest record of a resource: what `now` means. If there is none, that of the newest ledger: nothing lies after that either.
 * @param asked the head under which it was asked: a read that is run again may be under a later one
 */
export function headToken(reader: Reader, resource: Resource<any>, asked = reader.head): string {
  const { last, topOffer, counts } = asked.last < reader.head.last ? asked : reader.head
  if (resource === offers) return topOffer
  const { from, to } = everything(reader, resource)
  const end = Math.min(to, counts[resource.tag]!)
  if (from >= end) return idText(last, 0)
  const { block, at } = reader.at(resource, end - 1)
  return block.token(at)
}

/** Which part of a list is wanted. */
interface Wanted {
  readonly at: Cursor | undefined
  readonly limit: number
  readonly reverse: boolean
  readonly typed: boolean
}

/**
 * @param typed for typed records, which are kept with the block that holds them, so they are looked for only there
 * @throws BAD_REQUEST, NOT_FOUND, GONE_BEFORE_HISTORY, CORRUPT, STORE_FAILED
 */
export function readPage(reader: Reader, query: List<any>, values: Values, options: PageOptions, typed = false): RawPage {
  const asked = checkOptions(options, query.of)
  const { limit } = asked
  let { cursor, at } = asked
  if (cursor === 'now') {
    cursor = headToken(reader, query.of)
    at = parseCursor(cursor, query.of.indexed)
  }
  const reverse = asked.order === 'desc'
  const wanted = { at, limit, reverse, typed }
  const records = query.of === offers ? bookPage(reader, values, wanted) : logPage(reader, query, values, wanted)
  const [first, last] = [records[0], records.at(-1)]
  const ended = records.length === limit ? 'limit' : 'end'
  return {
    records,
    next: last ? last.block.token(last.at) : cursor,
    prev: first ? first.block.token(first.at) : cursor,
    ended,
    final: ended === 'limit' && !reverse && query.of !== offers && last!.block.hi(last!.at) < reader.head.last && beginsForGood(reader, at),
  }
}

/** Whether the records after a cursor begin where they always did: pruned ledgers would come before them. */
const beginsForGood = ({ head }: Reader, at: Cursor | undefined): boolean =>
  head.oldest === head.first || (at !== undefined && at.hi >= head.oldest)

/** The newest ledger of any record on a page; for offers, which go by their ids, that may be any of them. 0 for an empty page. */
export function newestLedger({ records }: RawPage): number {
  const last = records.at(-1)
  if (last === undefined || last.block.resource !== offers) return last?.block.hi(last.at) ?? 0
  let newest = 0
  for (const { block, at } of records) newest = Math.max(newest, Number(block.side(at, offerSide.ledger)))
  return newest
}

function logPage(reader: Reader, query: List<any>, values: Values, { at, limit, reverse, typed }: Wanted): Place[] {
  const resolved = resolve(reader, query, values)
  const cut = at === undefined ? resolved.span : cutAt(reader, query.of, resolved, at, reverse)
  const taken = resolved.list.take(cut, limit, reverse)
  if (taken.ordinals.length === 0) resolved.check()
  return placesOf(reader, query.of, taken, reverse, resolved.facing, !typed)
}

function cutAt(reader: Reader, resource: Resource<any>, { span, check }: Resolved, cursor: Cursor, reverse: boolean): Span {
  const { head } = reader
  if (!reverse) {
    const after = seek(reader, resource, cursor.whole ? { ...cursor, index: MAX_INDEX } : cursor, false)
    return { from: Math.max(span.from, after), to: span.to }
  }
  if (head.oldest > 1 && cursor.hi < head.oldest) {
    check()
    throw new FolioError('GONE_BEFORE_HISTORY', { cursor: String(idOf(cursor.hi, cursor.lo)), oldest: head.oldest })
  }
  return { from: span.from, to: Math.min(span.to, seek(reader, resource, cursor, true)) }
}

function bookPage(reader: Reader, values: Values, { at, limit, reverse }: Wanted): Place[] {
  const id = at && idOf(at.hi, at.lo)
  const [from, to] = reverse ? [0n, id ?? MAX_ID + 1n] : [id === undefined ? 0n : id + 1n, MAX_ID + 1n]
  return reader.book(values['account'], from, to, limit, reverse).map((block) => ({ block, at: 0 }))
}
