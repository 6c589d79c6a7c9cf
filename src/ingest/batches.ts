/**
 * Ledger closes as they come, in batches: while one is being written, the next are read, checked and drafted. A store takes now and then ten times as
 * long for a batch as it mostly does; meanwhile there is something else to do.
 * **Invariants:** batches are written one after another, each once the one before it is written and told; if one fails, nothing behind it is written.
 */
import { OptionRules } from '../check.ts'
import { FolioError } from '../errors.ts'
import { giveWay, nextTurn } from '../turn.ts'
import type { Appended } from './append.ts'
import { Batch } from './batch.ts'
import type { AppendOptions, AppendResult, LedgerClose } from './close.ts'
import { type KeyLimit, prepareClose } from './encode.ts'
import { type Closes, Source } from './source.ts'
import type { BatchBehind } from './writer.ts'

export interface IngestOptions extends AppendOptions {
  /**
   * Ledgers per batch; a crash loses whole batches, never part of one. By default no ledger waits for others to come: a batch is one, and what comes
   * while the batch before it is being written and told, up to 64 ledgers.
   */
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

/** How much may wait to be written before no further batch is begun, if batches have a given size. */
const AHEAD = { ledgers: 8, records: 4096 }
/** How much a batch takes in while it waits, if they have none. */
const MOST = { ledgers: 64, records: 1024 }

/** Where closes go. */
export interface Target {
  readonly limit: KeyLimit
  readonly append: (batch: BatchBehind) => Promise<Appended>
  /** @throws CLOSED */
  readonly checkOpen: () => void
}

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
 * @param ingests those of the ledger, of which this becomes one
 * @returns how many ledgers were new, and how many were held already
 * @throws CLOSED if the ledger is closed before the source has ended
 */
export async function inBatches(closes: Closes, target: Target, options: Omit<IngestOptions, 'durable'>, ingests: Ingests): Promise<Total> {
  const { batch, signal } = options
  const source = new Source(closes)
  // Also if a batch fails: its error is thrown at once, though the source may have nothing to give for a long time.
  const stop = (): void => source.leave()
  const batches = new Batches(batch, target, options, stop)
  signal?.addEventListener('abort', stop)
  ingests.begin(stop)
  try {
    if (signal?.aborted || ingests.areOver) stop()
    for await (const close of source) {
      await giveWay()
      await batches.take(close)
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    ingests.ended(stop)
    // If the source breaks, the good ledgers read before must not be lost.
    if (!signal?.aborted) batches.end()
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

/** The batches of an ingest: one is filled while those before it are written and told. */
class Batches {
  readonly total: Total = { appended: 0, known: 0 }
  /** Of every batch but the last, if it was given. */
  private readonly size: number | undefined
  private readonly target: Target
  private readonly options: Told
  private readonly failed: () => void
  /** The batch that takes in what comes, if it is still open. */
  private filling: Batch | undefined
  /** Those that are not written and told yet, oldest first. */
  private readonly unwritten = new Map<Batch, Promise<void>>()
  /** The batch before, and all before that. */
  private last: Promise<void> = Promise.resolve()

  /** @param failed called when a batch could not be written, or telling it failed */
  constructor(size: number | undefined, target: Target, options: Told, failed: () => void) {
    this.size = size
    this.target = target
    this.options = options
    this.failed = failed
  }

  /**
   * Checks a close and puts it into a batch. Resolves when the next one may be taken: once there is nothing to do for this one, since any earlier would
   * delay it, and not too much waits.
   * @throws what kept a batch before this one from being written
   */
  async take(close: LedgerClose): Promise<void> {
    const prepared = prepareClose(close, this.target.limit)
    // The turn of a batch that waits may have come meanwhile: then it takes in nothing more.
    await this.look()
    const batch = this.filling?.isOpen ? this.filling : this.newBatch()
    if (this.options.onRefused) batch.given.push(close)
    const rests = batch.add(prepared)
    if (this.size !== undefined && batch.closes.length < this.size) return
    if (!this.unwritten.has(batch)) this.begin(batch)
    await rests
    await this.look()
    await this.room()
  }

  /** Begins to write what was gathered. */
  end(): void {
    if (this.filling?.isOpen && !this.unwritten.has(this.filling)) this.begin(this.filling)
  }

  private newBatch(): Batch {
    const { last, target, options, unwritten } = this
    const mayBeWritten = (): boolean => {
      target.checkOpen()
      return !options.signal?.aborted
    }
    this.filling = new Batch(unwritten.size > 0 ? last : undefined, mayBeWritten)
    return this.filling
  }

  private begin(batch: Batch): void {
    const { unwritten } = this
    // One of a given size is full.
    if (this.size !== undefined) batch.isOpen = false
    const done = this.write(batch)
    unwritten.set(batch, done)
    this.last = done
    // A batch that is not wanted any more is never handed over.
    done
      .finally(() => batch.handed())
      .then(
        () => unwritten.delete(batch),
        () => this.failed(),
      )
  }

  /** If a batch waits for one before it, lets that be noticed once it is written, so that the store is not idle. */
  private async look(): Promise<void> {
    if (this.unwritten.size > 1) await nextTurn()
  }

  /** Resolves when not too much waits. @throws what kept a batch from being written */
  private async room(): Promise<void> {
    while (this.unwritten.size > 1 && this.isFull) {
      await first(this.unwritten.values())
      await first(this.unwritten.keys())?.over
    }
  }

  private get isFull(): boolean {
    const [waiting, most] = this.size === undefined ? [[this.filling!], MOST] : [[...this.unwritten.keys()], AHEAD]
    const sum = (of: (batch: Batch) => number): number => waiting.reduce((sum, batch) => sum + of(batch), 0)
    return sum(({ closes }) => closes.length) >= most.ledgers || sum(({ records }) => records) >= most.records
  }

  /** Resolves when all is written and told. @throws what kept a batch from it */
  written(): Promise<void> {
    return this.last
  }

  private async write(batch: Batch): Promise<void> {
    const { onBatch, onRefused } = this.options
    const { results, refused } = await this.target.append(batch).catch(async (error) => {
      // What kept the batch before from being written comes first: it may be why this one was not.
      await batch.before
      throw error
    })
    for (const { appended } of results) this.total[appended ? 'appended' : 'known']++
    if (results.length > 0) await onBatch?.(results)
    if (!refused) return
    await onRefused?.(refused, batch.given[results.length]!)
    throw refused
  }
}

function first<T>(all: Iterable<T>): T | undefined {
  for (const one of all) return one
  return undefined
}
