/**
 * The main class: ledger closes go in; queries give records, pages and iterators.
 */
import { checkRange, closesOf, digestOfRange, type LedgerRange, readDigests, readLine, takeRange } from './audit/range.ts'
import { type VerifyOptions, type VerifyReport, verifyOptions } from './audit/report.ts'
import { verifyStore } from './audit/verify.ts'
import { Cache, defaultCacheBytes } from './cache/cache.ts'
import { FolioError, hasCode } from './errors.ts'
import { type IngestOptions, Ingests, inBatches, ingestOptions } from './ingest/batches.ts'
import { type AppendOptions, type AppendResult, appendOptions, checkCloses, type LedgerClose } from './ingest/close.ts'
import { prepareClose } from './ingest/encode.ts'
import { History } from './ingest/history.ts'
import { watch } from './ingest/watch.ts'
import { type BatchBehind, LedgerWriter } from './ingest/writer.ts'
import type { Place } from './layout/block.ts'
import type { HistoryHead, IngestResult, LedgerOptions } from './options.ts'
import { params } from './params.ts'
import type { List, One, Resource } from './query.ts'
import { Reads } from './scan/ask.ts'
import { type Explanation, explained } from './scan/explain.ts'
import type { Listing } from './scan/listing.ts'
import { type NdjsonChunk, type NdjsonOptions, ndjsonOf } from './scan/ndjson.ts'
import { headToken, type Page, type PageOptions, pageRead, type RawPage, recordsOf, typedPage, type WalkOptions } from './scan/page.ts'
import type { Reader } from './scan/reader.ts'
import { checkedListing, checkedValues, checkQuery, listingOf, resolveOne } from './scan/resolve.ts'
import type { MaybePromise, Store } from './store.ts'
import { Bell } from './stream/bell.ts'
import { Crowds, followed } from './stream/crowd.ts'
import { checkTail, disposable, type Stream, type StreamOptions, TailStream } from './stream/stream.ts'
import { type Subscription, Tail } from './stream/tail.ts'
import { pagesToEnd, typedPages, Walk } from './stream/walk.ts'
import { giveWay, givingWay } from './turn.ts'

export class Ledger {
  private readonly store: Store
  private readonly history: History
  private readonly writer: LedgerWriter
  private readonly bell = new Bell()
  private readonly crowds: Crowds
  private readonly pollMs: number
  private unwatch: (() => void) | undefined
  private readonly reads: Reads
  private readonly ingests = new Ingests()
  private closing: Promise<void> | undefined
  private readonly gone: () => void

  /**
   * Use {@link openLedger}.
   * @param gone called once closing is over, even if it failed: the store is nobody's then
   */
  constructor(
    store: Store,
    headBytes: Uint8Array | undefined,
    { cacheBytes = defaultCacheBytes(), fileEvery = 32768, pollMs = 500 }: LedgerOptions,
    gone: () => void,
  ) {
    this.store = store
    this.gone = gone
    this.pollMs = pollMs
    const { bell } = this
    const history = new History(store, new Cache(cacheBytes), headBytes, {
      committed: () => bell.ring(),
      rolledBack: (last) => bell.rolledBack(last),
    })
    const writer = new LedgerWriter(history, fileEvery)
    this.history = history
    this.writer = writer
    this.reads = new Reads(history, writer, store.capabilities.shared)
    this.crowds = new Crowds({
      bell,
      get head() {
        return history.head
      },
      read: (listing, options) => this.readListing(listing, options),
      settled: () => writer.steady(),
    })
  }

  /** @internal */
  async load(): Promise<void> {
    await this.writer.load()
    if (!this.store.capabilities.shared) return
    const { timer, stop } = watch(this.store, this.pollMs, () => this.writer.refresh())
    this.unwatch = stop
    // Polls keep the process alive only while streams wait.
    this.bell.keepBy(timer)
  }

  /**
   * Checks whether another process has appended ledgers, without waiting for the next poll. Only useful over a store that processes share.
   * @returns whether history has moved
   * @throws CLOSED, CORRUPT, STORE_FAILED
   */
  async refresh(): Promise<boolean> {
    this.checkOpen()
    return this.writer.refresh()
  }

  /** How far history reaches; undefined before the first ledger. */
  get head(): HistoryHead | undefined {
    const { first, oldest, last, hash, closedAt } = this.history.head
    return last === 0 ? undefined : { first, oldest, last, hash, closedAt }
  }

  /** True once {@link close} was called. */
  get closed(): boolean {
    return this.closing !== undefined
  }

  /**
   * True if nothing can be written, though what is held can be read: once a write has failed, writes fail with POISONED until the store is opened again;
   * and if records are damaged without which no list can be gone on with, with CORRUPT, until it is repaired.
   */
  get poisoned(): boolean {
    return this.history.poisoned
  }

  /**
   * True while the last look for what other processes have written, over a store that they share, has failed: until one succeeds, reads fail, and
   * streams wait.
   */
  get unreachable(): boolean {
    return this.writer.lookFailed
  }

  /**
   * Appends one ledger: whole, durable and visible when this resolves, or not at all.
   * Appending a ledger that is already held (same hash) is a no-op, and the result says so.
   * @throws BAD_REQUEST if an option is unknown or wrong; INVALID_INPUT, ID_OUT_OF_RANGE, LEDGER_GAP, LEDGER_FORK, PREV_HASH_MISMATCH,
   * DUPLICATE_TRANSACTION, POISONED, CONFLICT, CLOSED, STORE_FAILED, STORE_MISSING
   */
  async append(close: LedgerClose, options: AppendOptions = {}): Promise<AppendResult> {
    const { durable = true } = appendOptions.check(options)
    const prepared = prepareClose(close, this.store.capabilities)
    this.checkOpen()
    const { results, refused } = await this.writer.append([prepared], durable)
    if (refused) throw refused
    return givingWay(results[0]!)
  }

  /**
   * Appends ledgers as they come: while one batch is being written, the next ones are read, checked and drafted. If a ledger is refused, or the source
   * fails, those before it stay, and its error is thrown. Once the ledger is closed, no more are awaited from the source.
   * @throws as {@link append}; what the source and the callbacks throw
   */
  async ingest(closes: AsyncIterable<LedgerClose> | Iterable<LedgerClose>, options: IngestOptions = {}): Promise<IngestResult> {
    const { durable = true, ...given } = ingestOptions.check(options)
    const target = {
      limit: this.store.capabilities,
      append: (batch: BatchBehind) => this.writer.appendBehind(batch, durable),
      checkOpen: () => this.checkOpen(),
    }
    const total = await inBatches(checkCloses(closes), target, given, this.ingests)
    return { ...total, last: this.head?.last }
  }

  /**
   * Removes every ledger after `sequence` and restores the offers, as if those ledgers had never been appended. Returns how many were removed.
   * If the process crashes midway, the next open finishes the rollback.
   * @throws BAD_REQUEST if `sequence` is not a ledger sequence, GONE_BEFORE_HISTORY if pruned ledgers would have to come back; POISONED, CONFLICT,
   * CLOSED, STORE_FAILED, STORE_MISSING
   */
  async rollback(sequence: number): Promise<number> {
    this.checkOpen()
    const checked = params.ledger.check(sequence, 'sequence')
    return this.writer.rollback(checked)
  }

  /**
   * Gives up every ledger before `before`: from then on, whatever asks for one is answered GONE_BEFORE_HISTORY. The store reclaims the space if that
   * is a sixteenth of what is held, or else once such calls have given up a quarter, or earlier, so that ledgers can be given up one by one; this call
   * resolves after that, but others do not wait for it. The book does not change; accounts and offers that neither it nor a ledger held names are
   * unknown again. Returns how many ledgers were given up. If the process crashes midway, the next open finishes the pruning.
   * @throws BAD_REQUEST if `before` is not a ledger, or is newer than the newest one, which always stays; POISONED, CONFLICT, CLOSED,
   * STORE_FAILED, STORE_MISSING
   */
  async prune(before: number): Promise<number> {
    this.checkOpen()
    const checked = params.ledger.check(before, 'before')
    return this.writer.prune(checked)
  }

  /**
   * The closes of a range of ledgers as lines of JSON, oldest first: what `append` took, with every record spelled as on the wire. Appended to an
   * empty store, they give the same store again.
   * @throws BAD_REQUEST, GONE_BEFORE_HISTORY, ROLLED_BACK if history was rolled back meanwhile, CLOSED, CORRUPT, STORE_FAILED
   */
  lines(range: LedgerRange = {}): AsyncGenerator<string, void, undefined> {
    return disposable(this.linesOf(takeRange(range)))
  }

  private async *linesOf(range: () => LedgerRange): AsyncGenerator<string, void, undefined> {
    this.checkOpen()
    const { from, to } = checkRange(this.history.head, range())
    const watched = this.bell.watch()
    for (let sequence = from; sequence <= to; sequence++) {
      await giveWay()
      yield await this.ask(watched(sequence === from ? 0 : sequence - 1, (reader) => readLine(reader, sequence, this.history.left)))
    }
  }

  /** As {@link lines}, parsed, with every digit kept. @throws as {@link lines} */
  closes(range: LedgerRange = {}): AsyncGenerator<LedgerClose, void, undefined> {
    return disposable(closesOf(this.lines(range)))
  }

  /**
   * A digest of a range of ledgers, in hexadecimal: SHA-256 over the SHA-256 of each ledger's line, oldest first. Stores that hold the same closes
   * give the same digest, whatever kind of store they are and however the closes got there. Reads 32 bytes per ledger.
   * @throws as {@link lines}
   */
  async digest(range: LedgerRange = {}): Promise<string> {
    this.checkOpen()
    const asked = checkRange(this.history.head, range)
    const watched = this.bell.watch()
    return digestOfRange(asked, (first, last) => {
      const above = first === asked.from ? 0 : first - 1
      return this.ask(watched(above, (reader) => readDigests(reader, first, last, this.history.left)))
    })
  }

  /**
   * Checks everything that is stored: see {@link verifyStore}. Appends wait until it is done; reads go on.
   * @throws as {@link verifyStore}
   */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    this.checkOpen()
    const given = verifyOptions.check(options)
    return this.writer.beside(() => verifyStore(this.store, given))
  }

  private ask<T>(read: (reader: Reader) => T, of?: Resource): MaybePromise<T> {
    this.checkOpen()
    return this.reads.ask(read, of)
  }

  private checkOpen(): void {
    if (this.closing) throw new FolioError('CLOSED')
  }

  /**
   * A page as slices of stored blocks, for adapters that slice wire text instead of decoding records. Returned without a promise if the store answers
   * without one, unless filters leave so little of long lists that others must have their turn before it is found.
   * @throws BAD_REQUEST, NOT_FOUND, GONE_BEFORE_HISTORY, CLOSED, CORRUPT, STORE_FAILED
   */
  read<R, V>(query: List<R, V>, values: V, options: PageOptions = {}): MaybePromise<RawPage<R>> {
    return this.readListing(listingOf(query, values), options)
  }

  /**
   * A list with its values, for {@link readListing}: whoever reads it again and again, as a service does, spares what each {@link read} works out anew.
   * @throws BAD_REQUEST
   */
  listing<R, V>(query: List<R, V>, values: V): Listing<R> {
    return checkedListing(listingOf(query, values))
  }

  /** As {@link read}. @param listing as {@link listing} gave it */
  readListing<R>(listing: Listing<R>, options: PageOptions = {}): MaybePromise<RawPage<R>> {
    return this.ask(pageRead(listing, options), listing.query.of)
  }

  /** One record as a place in a stored block. @throws NOT_FOUND and as {@link read} */
  readOne<R, V>(query: One<R, V>, values: V): MaybePromise<Place<R>> {
    const checked = checkedValues(query, 'one', values)
    return this.ask((reader) => resolveOne(reader, query, checked), query.of)
  }

  /**
   * A page of typed records.
   * @example await ledger.page(catalogue.operationsOfAccount, { account: 'G…' }, { order: 'desc', limit: 20 })
   * @throws as {@link read}
   */
  async page<R, V>(query: List<R, V>, values: V, options: PageOptions = {}): Promise<Page<R>> {
    return givingWay(typedPage(await this.ask(pageRead(listingOf(query, values), options, true), query.of)))
  }

  /**
   * One typed record, or undefined if nothing matches, also if it was pruned.
   * @throws GONE_BEFORE_HISTORY for a ledger below the oldest held; BAD_REQUEST, CLOSED, CORRUPT, STORE_FAILED
   */
  async get<R, V>(query: One<R, V>, values: V): Promise<R | undefined> {
    try {
      return givingWay(typed(await this.readOne(query, values)))
    } catch (error) {
      if (hasCode(error, 'NOT_FOUND')) return undefined
      throw error
    }
  }

  /** Reads a page and reports what that took: store calls, bytes, blocks, cache hits. @throws as {@link read} */
  async explain<R, V>(query: List<R, V>, values: V, options: PageOptions = {}): Promise<Explanation> {
    return this.ask(explained(listingOf(query, values), options), query.of)
  }

  private rawPages<R, V>(query: List<R, V>, values: V, options: WalkOptions): AsyncGenerator<RawPage<R>, void, undefined> {
    return pagesToEnd(this.crowds.source, this.history, () => this.listing(query, values), options)
  }

  /**
   * The pages of a listing to its end, `limit` records each (default 200).
   * @throws as {@link read}; ROLLED_BACK if history was rolled back below what was delivered, GONE_BEFORE_HISTORY if it was pruned past that; the
   * reason of the signal
   */
  pages<R, V>(query: List<R, V>, values: V, options: WalkOptions = {}): AsyncGenerator<Page<R>, void, undefined> {
    return disposable(typedPages(this.rawPages(query, values, options)))
  }

  /**
   * The records of a listing to its end as lines of JSON, in batches of `limit` (default 200): the text as stored, for files and pipes. Two to three
   * times as fast as making typed records.
   * @example for await (const { bytes } of ledger.ndjson(catalogue.operations, {})) await file.write(bytes)
   * @throws as {@link pages}
   */
  ndjson<R, V>(query: List<R, V>, values: V, options: NdjsonOptions = {}): AsyncGenerator<NdjsonChunk, void, undefined> {
    return disposable(ndjsonOf((pages) => this.rawPages(query, values, pages), options))
  }

  /** The records of a listing to its end, read in pages of `limit` (default 200). @throws as {@link pages} */
  records<R, V>(query: List<R, V>, values: V, options: WalkOptions = {}): Stream<R> {
    return new Walk(this.pages(query, values, options), options?.signal)
  }

  /**
   * The records of a listing after a cursor, and then every new one as ledgers are appended: each once, in order, without end. Pull at your own pace;
   * nothing is queued. Records that were read together are all delivered; if a rollback happens meanwhile, the next read reports it. Ends quietly on
   * `break`, on `return()`, when its signal aborts, or when the ledger is closed.
   * @throws as {@link pages}, but for the reason of the signal
   */
  stream<R, V>(query: List<R, V, true>, values: V, options: StreamOptions = {}): Stream<R> {
    return new TailStream(this.subscribe(query, values, options), places, typed)
  }

  /** As {@link stream}, in batches of up to 200 records, for throughput. */
  streamPages<R, V>(query: List<R, V, true>, values: V, options: StreamOptions = {}): Stream<readonly R[]> {
    return new TailStream(this.subscribe(query, values, options), whole, recordsOf)
  }

  /** As {@link stream}, in raw pages, for adapters. Streams of the same list at the same position are given the same page object. */
  tail<R, V>(query: List<R, V, true>, values: V, options: StreamOptions = {}): Stream<RawPage<R>> {
    return new TailStream(this.subscribe(query, values, options), whole, (page) => page)
  }

  /**
   * As {@link tail}, with callbacks instead of promises, for adapters with many readers: all that wait at one position are called in one loop. What a
   * taker throws ends its own tail alone, and is an uncaught exception.
   */
  subscribe<R, V>(query: List<R, V, true>, values: V, options: StreamOptions = {}): Subscription {
    const listing = listingOf(query, values)
    const { cursor, signal } = checkTail(query, options)
    const isNow = cursor === 'now'
    const start = isNow ? this.now(query) : cursor
    this.checkOpen()
    return new Tail(this.crowds, followed(checkedListing(listing)), start, signal, isNow)
  }

  /** The paging token that `now` stands for in a listing. @throws BAD_REQUEST, CLOSED, CORRUPT, STORE_FAILED */
  now(query: List): MaybePromise<string> {
    checkQuery(query, 'list')
    const { head } = this.history
    return this.ask((reader) => headToken(reader, query.of, head))
  }

  /** How many streams have caught up and wait for the next ledger. */
  get waitingStreams(): number {
    return this.bell.waiting
  }

  /**
   * Ends all streams and ingests, these with CLOSED, waits for work in progress, then closes the store. Later calls fail with CLOSED, but for this one,
   * which gives the same promise.
   * @throws what closing the store throws, or no longer watching it; it is closed even so
   */
  close(): Promise<void> {
    this.closing ??= this.shut().finally(this.gone)
    return this.closing
  }

  private async shut(): Promise<void> {
    try {
      this.unwatch?.()
    } finally {
      this.bell.silence()
      this.ingests.end()
      await this.writer.rest()
      await this.reads.rest()
      await this.store.close()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

const places = <R>({ records }: RawPage<R>): readonly Place<R>[] => records
const whole = <R>(page: RawPage<R>): readonly RawPage<R>[] => [page]
const typed = <R>({ block, at }: Place<R>): R => block.record(at)
