/**
 * Ledger closes as they come, in batches: while one is being written, the next are read, checked and drafted. A store takes now and then ten times as
 * long for a batch as it mostly does; meanwhile there is something else to do.
 * **Invariants:** batches are written one after another, each once the one before it is written and told; if one fails, nothing behind it is written.
 */
import { OptionRules } from '../check.ts'
import { FolioError } from '../errors.ts'
import { giveWay, nextTurn } from '../turn.ts'
import type { Appended } from './append.ts'
import type { AppendOptions, AppendResult, LedgerClose } from './close.ts'
import { type KeyLimit, type Prepared, prepareClose } from './encode.ts'
import { total } from './filing.ts'
import type { BatchOrder } from './writer.ts'

export interface IngestOptions extends AppendOptions {
  /** Ledgers per batch; a crash loses whole batches, never part of one. Default 1. */
  readonly batch?: number | undefined
  /**
   * Called after each batch, once it is visible and, unless `durable` is false, durable. If it returns a promise, the next batch is not written before
   * that resolves; it may write to the ledger itself.
   */
  readonly onBatch?: ((results: readonly AppendResult[]) => unknown) | undefined
  /** Called with the close that cannot be appended, before its error is thrown. What it throws is thrown instead. */
  readonly onRefused?: ((error: unknown, close: LedgerClose) => unknown) | undefined
  /** Stops between two batches, even while the source has nothing to give; the ingest then resolves as if the source had ended. */
  readonly signal?: AbortSignal | undefined
}

export const ingestOptions = new OptionRules<IngestOptions>('ingest', {
  batch: { least: 1, of: 'ledgers' },
  durable: 'flag',
  onBatch: 'callback',
  onRefused: 'callback',
  signal: 'signal',
})

/** How much may wait to be written before no further batch is begun. */
const AHEAD = { ledgers: 8, records: 4096 }

type Closes = AsyncIterable<LedgerClose> | Iterable<LedgerClose>
type Append = (batch: readonly Prepared[], behind: BatchOrder) => Promise<Appended>

/** The ingests in progress, which end with the ledger. Not a signal: platforms warn of a leak if one has many listeners. */
export class Ingests {
  areOver = false
  private readonly stops = new Set<() => void>()

  begin(stop: () => void): void {
    this.stops.add(stop)
  }

  ended(stop: () => void): void {
    this.stops.delete(stop)
  }

  end(): void {
    this.areOver = true
    for (const stop of this.stops) stop()
  }
}

/**
 * Appends closes batch after batch. If the source fails or a ledger is refused, what came before is written.
 * @param limit of the store
 * @param ingests those of the ledger, of which this becomes one
 * @returns how many ledgers were new, and how many were held already
 * @throws CLOSED if the ledger is closed before the source has ended
 */
export async function inBatches(closes: Closes, limit: KeyLimit, append: Append, options: IngestOptions, ingests: Ingests): Promise<Total> {
  const { batch: size = 1, onBatch, onRefused, signal } = options
  const source = new Source(closes)
  // Also if a batch fails: its error is thrown at once, though the source may have nothing to give for a long time.
  const stop = (): void => source.leave()
  const batches = new Batches(limit, append, { onBatch, onRefused, signal }, stop)
  signal?.addEventListener('abort', stop)
  ingests.begin(stop)
  try {
    if (signal?.aborted || ingests.areOver) stop()
    for await (const close of source) {
      await giveWay()
      if (batches.add(close) < size) continue
      await batches.look()
      await batches.flush()
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    ingests.ended(stop)
    // If the source breaks, the good ledgers read before must not be lost.
    if (!signal?.aborted) await batches.flush()
    await batches.written()
  }
  if (ingests.areOver && source.wasLeft && !signal?.aborted) throw new FolioError('CLOSED')
  return batches.total
}

interface Total {
  appended: number
  known: number
}

/** Who is told of batches, and what stops them. */
type Told = Pick<IngestOptions, 'onBatch' | 'onRefused' | 'signal'>

/** A batch that is not written and told yet. */
interface Unwritten {
  readonly ledgers: number
  readonly records: number
  /** Resolves when the store was given it, or will not be given it. */
  readonly handed: Promise<void>
  /** Resolves when it is written and told. */
  readonly done: Promise<void>
}

/** The batches of an ingest: one is filled while those before it are written and told. */
class Batches {
  readonly total: Total = { appended: 0, known: 0 }
  private readonly limit: KeyLimit
  private readonly append: Append
  private readonly options: Told
  private readonly failed: () => void
  private batch: Prepared[] = []
  /** The closes of the batch, if one may have to be named. */
  private given: LedgerClose[] = []
  /** Those that are not written yet, oldest first. */
  private readonly unwritten: Unwritten[] = []
  /** The batch before, and all before that. */
  private last: Promise<void> = Promise.resolve()

  /** @param failed called when a batch could not be written, or telling it failed */
  constructor(limit: KeyLimit, append: Append, options: Told, failed: () => void) {
    this.limit = limit
    this.append = append
    this.options = options
    this.failed = failed
  }

  /** Checks a close and puts it into the batch; returns how many there are. */
  add(close: LedgerClose): number {
    if (this.options.onRefused) this.given.push(close)
    return this.batch.push(prepareClose(close, this.limit))
  }

  /**
   * Begins to write the batch, and resolves when the next one may be filled: once this one is drafted, and not too much waits.
   * @throws what kept a batch before it from being written
   */
  async flush(): Promise<void> {
    const { batch, given, unwritten } = this
    if (batch.length === 0) return
    this.batch = []
    this.given = []
    let handed!: () => void
    const isHanded = new Promise<void>((resolve) => {
      handed = resolve
    })
    // The next close is checked only once there is nothing to do for this batch: any earlier, and that would delay it.
    await new Promise<void>((resolve) => {
      isHanded.then(resolve)
      // If no batch is before it any more, it is about to be handed over.
      const drafted = (): void => void (unwritten.length > 1 && resolve())
      const done = this.write(batch, given, { before: this.last, drafted, handed })
      const records = batch.reduce((sum, { encoded }) => sum + total(encoded?.added ?? []), 0)
      const entry = { ledgers: batch.length, records, handed: isHanded, done }
      unwritten.push(entry)
      this.last = done
      // A batch that is not wanted any more is never handed over.
      done.finally(handed).then(
        () => unwritten.splice(unwritten.indexOf(entry), 1),
        () => this.failed(),
      )
    })
    await this.look()
    while (unwritten.length > 1 && this.isFull) {
      await unwritten[0]!.done
      await unwritten[0]?.handed
    }
  }

  private get isFull(): boolean {
    const waiting = (of: 'ledgers' | 'records'): number => this.unwritten.reduce((sum, batch) => sum + batch[of], 0)
    return waiting('ledgers') >= AHEAD.ledgers || waiting('records') >= AHEAD.records
  }

  /** If a batch waits for one before it, looks whether that is written by now, so that the store is not idle. */
  async look(): Promise<void> {
    if (this.unwritten.length > 1) await nextTurn()
  }

  /** Resolves when all is written and told. @throws what kept a batch from it */
  written(): Promise<void> {
    return this.last
  }

  private async write(batch: readonly Prepared[], given: readonly LedgerClose[], order: Omit<BatchOrder, 'isWanted'>): Promise<void> {
    const { signal, onBatch, onRefused } = this.options
    const isWanted = (): boolean => !signal?.aborted
    const { results, refused } = await this.append(batch, { ...order, isWanted }).catch(async (error) => {
      // What kept the batch before from being written comes first: it may be why this one was not.
      await order.before
      throw error
    })
    for (const { appended } of results) this.total[appended ? 'appended' : 'known']++
    if (results.length > 0) await onBatch?.(results)
    if (!refused) return
    await onRefused?.(refused, given[results.length]!)
    throw refused
  }
}

const END = { done: true, value: undefined } as const

/** A source that can be left while it has nothing to give, such as a terminal. */
class Source implements AsyncIterableIterator<LedgerClose> {
  private readonly inner: AsyncIterator<LedgerClose, unknown>
  /** It was not read to its end. */
  wasLeft = false
  /** Ends what waits for the next close. Made anew each time: a promise raced against many keeps what they resolved to. */
  private wake = (): void => {}

  constructor(closes: Closes) {
    this.inner = Symbol.asyncIterator in closes ? closes[Symbol.asyncIterator]() : inTime(closes)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<LedgerClose, undefined>> {
    if (this.wasLeft) return Promise.resolve(END)
    return new Promise((resolve, reject) => {
      this.wake = () => resolve(END)
      Promise.resolve(this.inner.next())
        .then((next) => (next.done ? END : next))
        .then(resolve, reject)
    })
  }

  /** Tells the source, once. */
  async return(): Promise<typeof END> {
    if (!this.wasLeft) {
      this.wasLeft = true
      await this.inner.return?.()
    }
    return END
  }

  /** The source is told, but not waited for: it may answer only once it has something to give. */
  leave(): void {
    this.wake()
    this.return().catch(() => {})
  }
}

async function* inTime(closes: Iterable<LedgerClose>): AsyncGenerator<LedgerClose, void, undefined> {
  yield* closes
}
