/** A walk through a listing to its end: its consecutive pages, and an async iterator over their records. */
import { atOnce } from '../check.ts'
import { FolioError, hasCode } from '../errors.ts'
import type { Head } from '../layout/head.ts'
import { MAX_LIMIT } from '../params.ts'
import type { Listing } from '../scan/listing.ts'
import { type Asked, askedOf, newestLedger, type Page, type RawPage, typedPage, type WalkOptions, walkOptions } from '../scan/page.ts'
import { giveWay } from '../turn.ts'
import type { StreamSource } from './crowd.ts'
import { missedBy, throughOf } from './pruned.ts'
import { done, Item, type Stream } from './stream.ts'

/** A list to walk through, and how. */
interface Walked<R> {
  readonly listing: Listing<R>
  readonly asked: Asked
  readonly signal: AbortSignal | undefined
}

/**
 * The pages of a listing to its end, without empty ones.
 * @param history its `left` is the newest ledger that is left once a rollback under way is over
 * @param listingOf called at once, as all that is given is taken; the first pull is told if it is wrong
 * @throws as a read; GONE_BEFORE_HISTORY also if history is pruned meanwhile past where the walk stands, ROLLED_BACK if it is rolled back below what
 * was given; the reason of its signal
 */
export function pagesToEnd<R>(
  source: Pick<StreamSource, 'bell' | 'read'>,
  history: { readonly head: Head; readonly left: number },
  listingOf: () => Listing<R>,
  options: WalkOptions,
): AsyncGenerator<RawPage<R>, void, undefined> {
  const walked = atOnce(() => {
    const listing = listingOf()
    return { listing, asked: askedOf(options, listing.query.of, MAX_LIMIT, walkOptions), signal: options.signal }
  })
  return pagesOf(source, history, walked)
}

async function* pagesOf<R>(
  { bell, read }: Pick<StreamSource, 'bell' | 'read'>,
  history: { readonly head: Head; readonly left: number },
  walked: () => Walked<R>,
): AsyncGenerator<RawPage<R>, void, undefined> {
  const { listing, asked, signal } = walked()
  const { order, limit } = asked
  let { cursor } = asked
  const { oldest } = history.head
  let rollbacks = bell.rollbackCount
  let through = Number.POSITIVE_INFINITY
  /** The newest ledger of anything that was given. */
  let reached = 0
  /** Whether what was given is gone. */
  const rolledBack = (): FolioError | undefined => {
    // A rollback that is still going on has lowered the head, and not yet rung.
    const last = Math.min(bell.lowestSince(rollbacks) ?? history.head.last, history.head.last)
    return last < reached ? new FolioError('ROLLED_BACK', { last: Math.min(last, history.left), reached }) : undefined
  }
  /** Why it cannot go on after a cursor: what was given is gone, or what came after that may be. */
  const broken = (after: string, through: number): FolioError | undefined => rolledBack() ?? missedBy(history.head, oldest, through, after)
  for (;;) {
    await giveWay()
    signal?.throwIfAborted()
    let page: RawPage<R>
    try {
      page = await read(listing, { cursor, order, limit })
    } catch (error) {
      // What the path names is gone, and with it what was given.
      throw (reached > 0 && hasCode(error, 'NOT_FOUND') && broken(cursor, reached - 1)) || error
    }
    const error = broken(page.cursor, through)
    if (error) throw error
    signal?.throwIfAborted()
    rollbacks = bell.rollbackCount
    reached = Math.max(reached, newestLedger(page))
    if (page.count > 0) {
      yield page
      signal?.throwIfAborted()
    }
    if (page.ended === 'end') {
      // There is no other page that would tell. Whoever was given everything has missed nothing that is pruned.
      const error = rolledBack()
      if (error) throw error
      return
    }
    cursor = page.next
    // What a descending walk has not come to yet, it is told when it comes there.
    if (order !== 'desc') through = throughOf(listing.query.of, cursor)
  }
}

/** The same pages, of typed records. */
export async function* typedPages<R>(pages: AsyncIterable<RawPage<R>>): AsyncGenerator<Page<R>, void, undefined> {
  for await (const page of pages) yield typedPage(page)
}

/** The records of pages, one per pull, without waiting for those at hand. Overlapping pulls are answered in order. */
export class Walk<R> implements Stream<R> {
  private readonly pages: AsyncGenerator<{ readonly records: readonly R[] }, void, undefined>
  /** As of the pages, which say so when it has aborted. */
  private readonly signal: AbortSignal | undefined
  private records: readonly R[] = []
  private at = 0
  /** Pulls that wait for a page, or for the pulls before them. */
  private waiting = 0
  private left = false
  private queue: Promise<unknown> = Promise.resolve()

  constructor(pages: AsyncGenerator<{ readonly records: readonly R[] }, void, undefined>, signal?: AbortSignal) {
    this.pages = pages
    this.signal = signal
  }

  next(): Promise<IteratorResult<R, void>> {
    if (this.waiting === 0 && this.at < this.records.length && !this.signal?.aborted) return Promise.resolve(this.take())
    this.waiting++
    const pulled = this.queue.then(() => this.pull())
    const over = () => void this.waiting--
    this.queue = pulled.then(over, over)
    return pulled
  }

  private take(): IteratorResult<R, void> {
    return new Item(this.records[this.at++]!)
  }

  private async pull(): Promise<IteratorResult<R, void>> {
    while (this.at === this.records.length || this.signal?.aborted) {
      const page = await this.pages.next()
      if (page.done || this.left) return done
      this.records = page.value.records
      this.at = 0
    }
    return this.take()
  }

  async return(): Promise<IteratorResult<R, void>> {
    this.left = true
    this.records = []
    this.at = 0
    await this.pages.return()
    return done
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }
}
