/**
 * A tail: the page that does not end. It reads after its cursor, and when nothing is left there, waits for the bell and reads again; history and
 * live records come by the same read, so there is no hand-over in which one could be lost or repeated.
 * **Invariants:** the ticket is taken before the read; the cursor moves when a page is handed over, not before; nothing is queued.
 */
import { FolioError } from '../errors.ts'
import type { Head } from '../layout/head.ts'
import { parseCursor } from '../position.ts'
import type { List } from '../query.ts'
import { offers } from '../resources/offer.ts'
import type { PageOptions, RawPage } from '../scan/page.ts'
import type { Values } from '../scan/resolve.ts'
import { isPromise, type MaybePromise } from '../store.ts'
import type { Bell, Sleeper } from './bell.ts'

/** What a tail needs of the ledger it belongs to. */
export interface TailSource {
  readonly bell: Bell
  readonly head: Head
  read(query: List<any>, values: Values, options: PageOptions): MaybePromise<RawPage>
  /** Resolves when what is being appended or taken back now has rung the bell. */
  settled(): Promise<void>
}

/** Reads at the head, kept until the next ring: many tails of one list at one cursor share one page, and what is attached to it. */
export class SharedReads {
  private readonly pages = new Map<string, MaybePromise<RawPage>>()
  private ticket = -1

  /** The page that `read` gives, from an equal earlier read where nothing has moved since. */
  get(key: string, ticket: number, read: () => MaybePromise<RawPage>): MaybePromise<RawPage> {
    if (ticket !== this.ticket || this.pages.size >= 4096) {
      this.pages.clear()
      this.ticket = ticket
    }
    const held = this.pages.get(key)
    if (held !== undefined) return held
    const page = read()
    this.pages.set(key, page)
    // A full page is history being caught up with: too large to keep, and seldom asked for twice.
    const drop = (): boolean => this.pages.get(key) === page && this.pages.delete(key)
    if (isPromise(page)) page.then(({ ended }) => ended === 'limit' && drop(), drop)
    else if (page.ended === 'limit') drop()
    return page
  }
}

export interface TailOptions {
  /** Start after this paging token; `now` for what comes after the call. Default: the earliest record. */
  readonly cursor?: string
  /** Ends the stream, quietly, when it aborts. */
  readonly signal?: AbortSignal
}

/** An async iterator of pages or records that also ends by `return()`, by its signal, and with `await using`. */
export interface Stream<T> extends AsyncIterableIterator<T, void, undefined> {
  return(): Promise<IteratorResult<T, void>>
  [Symbol.asyncIterator](): Stream<T>
  [Symbol.asyncDispose](): Promise<void>
}

/** @param start the cursor to start after, already resolved */
export function tail(
  source: TailSource,
  shared: SharedReads,
  query: List<any>,
  values: Values,
  start: MaybePromise<string>,
  limit: number,
  signal: AbortSignal | undefined,
): Stream<RawPage> {
  const { bell } = source
  const sleeper: Sleeper = {}
  let rollbacks = bell.rollbackCount
  const startHead = source.head.last
  const list = `${query.path} ${JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? String(value) : value))} ${limit} `
  let stopped = signal?.aborted ?? false
  const stop = (): void => {
    stopped = true
    signal?.removeEventListener('abort', stop)
    bell.rouse(sleeper)
  }
  // Whoever never pulls must not hear of it as an unhandled rejection.
  if (isPromise(start)) start.catch(() => {})
  signal?.addEventListener('abort', stop, { once: true })

  async function* run(): AsyncGenerator<RawPage, void, undefined> {
    try {
      let cursor = ''
      try {
        cursor = await start
      } catch (error) {
        await source.settled()
        if (bell.isSilent || stopped) return
        const last = bell.lowestSince(rollbacks)
        throw last === undefined ? error : new FolioError('ROLLED_BACK', { last, reached: startHead })
      }
      let reached = cursor === '' ? 0 : startHead
      // The id of an offer does not say when it was made.
      if (cursor !== '' && query.of !== offers) reached = Math.min(parseCursor(cursor, query.of.indexed).hi, startHead)
      while (!stopped && !bell.isSilent) {
        const lowest = bell.lowestSince(rollbacks)
        if (lowest !== undefined && lowest < reached) throw new FolioError('ROLLED_BACK', { last: lowest, reached })
        rollbacks = bell.rollbackCount
        const ticket = bell.ticket()
        const options: PageOptions = cursor === '' ? { limit } : { cursor, limit }
        let page: RawPage
        try {
          page = await shared.get(list + cursor, ticket, () => source.read(query, values, options))
        } catch (error) {
          await source.settled()
          if (bell.isSilent || stopped) return
          // What was being read may have been taken back meanwhile: then the next turn says so, or reads what took its place.
          if (rollbacks !== bell.rollbackCount) continue
          throw error
        }
        if (stopped) return
        if (page.records.length === 0) {
          await bell.after(ticket, sleeper)
          continue
        }
        yield page
        cursor = page.next
        if (query.of === offers) for (const { block, at } of page.records) reached = Math.max(reached, Number(block.side(at, 2)))
        else for (const { block, at } of page.records.slice(-1)) reached = Math.max(reached, block.hi(at))
      }
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }
  return stoppable(run(), stop)
}

/** Lets `return()` end a generator that is waiting: a generator alone would hold it back until its wait is over. */
export function stoppable<T>(generator: AsyncGenerator<T, void, undefined>, stop: () => void): Stream<T> {
  const stream: Stream<T> = {
    next: () => generator.next(),
    return: () => {
      stop()
      return generator.return()
    },
    [Symbol.asyncIterator]: () => stream,
    [Symbol.asyncDispose]: async () => {
      await stream.return()
    },
  }
  return stream
}
