/**
 * Pages: the cursor, the order and the limit of a list, and the records they select. A page is raw: slices of blocks, from which typed records are
 * decoded or wire text is sliced.
 */
import { writeAscii } from '../bytes.ts'
import { OptionRules } from '../check.ts'
import { FolioError } from '../errors.ts'
import { type Block, countOf, eachOf, type Place, placesIn, type Slice } from '../layout/block.ts'
import { DEFAULT_LIMIT, LIMIT, limits, ORDERS, type Order } from '../params.ts'
import { type Cursor, idOf, idText, MAX_ID, MAX_INDEX, parseCursor } from '../position.ts'
import type { Resource } from '../query.ts'
import { offers } from '../resources/offer.ts'
import type { Span } from './list.ts'
import type { Listing } from './listing.ts'
import { everything, seek } from './locate.ts'
import { slicesOf } from './places.ts'
import type { Reader } from './reader.ts'
import { type Resolved, resolve } from './resolve.ts'

export interface PageOptions {
  /** Records after (descending: before) this paging token; `now` stands for the newest record. Default: from the end at which `order` starts. */
  readonly cursor?: string | undefined
  /** Default `asc`, older records first. */
  readonly order?: Order | undefined
  /** 1 to 200, default 10. */
  readonly limit?: number | undefined
}

/** As {@link PageOptions}, for what reads page after page to the end of a list. */
export interface WalkOptions extends PageOptions {
  /** Records read at a time: 1 to 200, default 200. */
  readonly limit?: number | undefined
  /** Once it aborts, nothing more is given: the next pull is rejected with its reason, since an end would mean that this was all there is. */
  readonly signal?: AbortSignal | undefined
}

/** Why a page ended: it reached its limit, or the end of the listing. */
export type Ended = 'limit' | 'end'

/** How a page began and how it ends. */
interface Ends {
  /** What it follows; empty if it begins at the end at which its order starts. */
  readonly cursor: string
  readonly ended: Ended
  /**
   * True if no later append can change this page, and no pruning so far has changed where it begins: it is ascending and full, ends before the newest
   * ledger, and begins where it always did. A later prune past its beginning still makes it begin later.
   */
  readonly final: boolean
}

/** A page as stored: the slices of blocks in which its records lie, in their order. */
export class RawPage<R = any> implements Ends {
  readonly slices: readonly Slice<R>[]
  /** How many records there are. */
  readonly count: number
  readonly cursor: string
  readonly ended: Ended
  readonly final: boolean
  private places: readonly Place<R>[] | undefined

  constructor(slices: readonly Slice<R>[], { cursor, ended, final }: Ends) {
    this.slices = slices
    this.count = countOf(slices)
    this.cursor = cursor
    this.ended = ended
    this.final = final
  }

  /** The cursor that continues in the same order. */
  get next(): string {
    const last = this.slices.at(-1)
    return last ? last.block.token(last.last) : this.cursor
  }

  /** The cursor that goes back, in the opposite order. */
  get prev(): string {
    const first = this.slices[0]
    return first ? first.block.token(first.first) : this.cursor
  }

  /** Writes {@link next} where there is room for it, and for 30 bytes; returns where it ends. */
  writeNext(bytes: Uint8Array, at: number): number {
    const last = this.slices.at(-1)
    return last ? last.block.writeToken(bytes, at, last.last) : at + writeAscii(bytes, at, this.cursor)
  }

  /** The same for {@link prev}. */
  writePrev(bytes: Uint8Array, at: number): number {
    const first = this.slices[0]
    return first ? first.block.writeToken(bytes, at, first.first) : at + writeAscii(bytes, at, this.cursor)
  }

  /** Its records one by one. */
  get records(): readonly Place<R>[] {
    this.places ??= placesIn(this.slices)
    return this.places
  }

  /** Visits each record, in order. */
  each(visit: (block: Block<R>, at: number) => void): void {
    eachOf(this.slices, visit)
  }
}

/** A page of typed records. */
export interface Page<R> {
  readonly records: readonly R[]
  /** The cursor that continues in the same order. */
  readonly next: string
  /** The cursor that goes back, in the opposite order. */
  readonly prev: string
  /** `limit`: the page is full and there may be more. `end`: there is nothing beyond it now. */
  readonly ended: Ended
}

export function recordsOf<R>(page: RawPage<R>): R[] {
  const records: R[] = []
  page.each((block, at) => records.push(block.record(at)))
  return records
}

export const typedPage = <R>(page: RawPage<R>): Page<R> => ({
  records: recordsOf(page),
  next: page.next,
  prev: page.prev,
  ended: page.ended,
})

/** What was asked for, checked. */
export interface Asked {
  /** As given; empty if none was. */
  readonly cursor: string
  readonly at: Cursor | undefined
  readonly order: Order
  readonly limit: number
}

/** The empty text is that of no cursor. */
export const CURSOR = { text: 'a paging token, as text', least: 0 } as const

export const pageOptions = new OptionRules<PageOptions>('a page', { cursor: CURSOR, order: ORDERS, limit: LIMIT })

export const walkOptions = new OptionRules<WalkOptions>('pages and records', { ...pageOptions.rules, signal: 'signal' })

/** Where a cursor points; undefined for one that names no record. @throws BAD_REQUEST */
export const pointed = (cursor: string, resource: Resource): Cursor | undefined =>
  cursor === '' || cursor === 'now' ? undefined : parseCursor(cursor, resource.indexed)

/** @param standard the limit if none is given. @throws BAD_REQUEST */
export function askedOf<T extends PageOptions>(
  options: T,
  resource: Resource,
  standard = DEFAULT_LIMIT,
  rules: OptionRules<T> | OptionRules<PageOptions> = pageOptions,
): Asked {
  if (!rules.fit(options)) {
    // Of several that are wrong, the one is named that is named over HTTP: the cursor, or else the limit.
    if (typeof options?.cursor === 'string') pointed(options.cursor, resource)
    if (options?.limit !== undefined && !limits.fits(options.limit)) throw limits.wrong('limit', options.limit)
    rules.check(options)
  }
  const { cursor = '', order = 'asc', limit = standard } = options
  return { cursor, at: pointed(cursor, resource), order, limit }
}

/**
 * The token of the newest record of a resource: what `now` means. If there is none, that of the newest ledger: nothing lies after that either.
 * @param asked the head under which it was asked: a read that is run again may be under a later one
 */
export function headToken(reader: Reader, resource: Resource, asked = reader.head): string {
  const { last, topOffer, counts } = asked.last < reader.head.last ? asked : reader.head
  if (resource.kept !== 'log') return topOffer
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
 * @throws BAD_REQUEST for filters, NOT_FOUND, GONE_BEFORE_HISTORY, CORRUPT, STORE_FAILED
 */
function readPage(reader: Reader, listing: Listing, asked: Asked, typed = false): RawPage {
  const { query } = listing
  const { limit } = asked
  let { cursor, at } = asked
  if (cursor === 'now') {
    cursor = headToken(reader, query.of)
    at = parseCursor(cursor, query.of.indexed)
  }
  const reverse = asked.order === 'desc'
  const wanted = { at, limit, reverse, typed }
  const isLog = query.of.kept === 'log'
  const slices = isLog ? logPage(reader, listing, wanted) : bookPage(reader, listing, wanted)
  const last = slices.at(-1)
  const ended = countOf(slices) === limit ? 'limit' : 'end'
  const isSettled = ended === 'limit' && !reverse && isLog && last!.block.hi(last!.last) < reader.head.last
  return new RawPage(slices, { cursor, ended, final: isSettled && beginsForGood(reader, at) })
}

/**
 * A page as a read. What was asked for is checked and taken at once: until the read is run, or run again, the caller may change it.
 * @throws BAD_REQUEST; the read throws as {@link readPage}
 */
export function pageRead(listing: Listing, options: PageOptions, typed = false): (reader: Reader) => RawPage {
  const asked = askedOf(options, listing.query.of)
  return (reader) => readPage(reader, listing, asked, typed)
}

/** Whether the records after a cursor begin where they always did: pruned ledgers would come before them. */
const beginsForGood = ({ head }: Reader, at: Cursor | undefined): boolean =>
  head.oldest === head.first || (at !== undefined && at.hi >= head.oldest)

/** The newest ledger of any record on a page; for offers, which go by their ids, that may be any of them. 0 for an empty page. */
export function newestLedger(page: RawPage): number {
  const [first, last] = [page.slices[0], page.slices.at(-1)]
  if (first === undefined || last === undefined) return 0
  if (last.block.resource.kept === 'log') return Math.max(first.block.hi(first.first), last.block.hi(last.last))
  let newest = 0
  page.each((block, at) => {
    newest = Math.max(newest, Number(block.side(at, offers.columns.ledger)))
  })
  return newest
}

function logPage(reader: Reader, listing: Listing, { at, limit, reverse, typed }: Wanted): Slice[] {
  const { query } = listing
  if (at !== undefined && at.hi > reader.head.last) reader.behind = true
  const resolved = resolve(reader, listing)
  const { list, span, facing } = resolved
  const cut = at === undefined ? span : cutAt(reader, query.of, resolved, at, reverse)
  const slices = slicesOf(reader, query.of, list, cut, { limit, reverse, facing, runs: !typed })
  if (slices.length === 0) resolved.check()
  return slices
}

function cutAt(reader: Reader, resource: Resource, { span, check }: Resolved, cursor: Cursor, reverse: boolean): Span {
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

function bookPage(reader: Reader, { values }: Listing, { at, limit, reverse }: Wanted): Slice[] {
  const id = at && idOf(at.hi, at.lo)
  const [from, to] = reverse ? [0n, id ?? MAX_ID + 1n] : [id === undefined ? 0n : id + 1n, MAX_ID + 1n]
  return reader.book(values['account'], from, to, limit, reverse).map((block) => ({ block, first: 0, last: 0 }))
}
