/** A candidate in a place of its own, and the ledger over it. Whatever fails is said to be that store's. */
import { FolioError, type Ledger, type LedgerOptions, type MaybePromise, openLedger, type Store } from '../../src/index.ts'
import { type Cost, type Counted, counted } from './counted.ts'
import { Incomparable, type Watch } from './watch.ts'

/** A place for one store, which nothing else uses. */
export interface Place {
  /** Opens it: empty the first time, later with what was written. */
  open(): Store | Promise<Store>
  /** How many bytes the store takes on disk, open or closed; without it, or undefined, for one in memory. */
  size?(): Promise<number | undefined>
  remove?(): Promise<void>
}

/** A store to try. */
export interface Candidate {
  readonly name: string
  /** Makes an empty place. There are two for each store: one to warm up in. */
  place(): Place | Promise<Place>
}

export class Trial {
  readonly name: string
  private readonly place: Place
  private readonly watch: Watch
  /** The call that was made last: if nothing goes on, the one that was never answered, unless reads went on beside a write. */
  called = 'open'
  private readonly silent = () => new Incomparable(`${this.name} never answered ${this.held?.counted.isWriting ? 'write' : this.called}`)
  /** Whether what is written outlives the process, as the store says. */
  isPersistent = false
  private held: { readonly ledger: Ledger; readonly counted: Counted } | undefined
  /** What is open, or still opens after nobody waits for it. */
  private opened: Promise<{ close(): MaybePromise<void> }> | undefined

  constructor(name: string, place: Place, watch: Watch) {
    this.name = name
    this.place = place
    this.watch = watch
  }

  /** Opens the store, which is closed. */
  async open(options?: LedgerOptions): Promise<void> {
    this.called = 'open'
    this.watch.asked = this
    // What a candidate throws says by itself what it is about.
    const given = await this.watch
      .wait(() => this.opens(async () => this.place.open()), this.silent)
      .catch((error) => {
        throw error instanceof FolioError ? named(this.name, error) : error
      })
    this.isPersistent = given.capabilities.persistent
    const own = counted(given, (call) => {
      this.called = call
      this.watch.asked = this
      this.watch.alive()
    })
    this.held = await this.answers(async () => ({ ledger: await this.opens(() => openLedger(own.store, options)), counted: own }))
  }

  private opens<T extends { close(): MaybePromise<void> }>(open: () => Promise<T>): Promise<T> {
    const opened = open()
    this.opened = opened
    return opened
  }

  async close(): Promise<void> {
    const { held } = this
    this.held = undefined
    this.opened = undefined
    if (held) await this.answers(() => held.ledger.close())
  }

  run<T>(work: (ledger: Ledger) => Promise<T>): Promise<T> {
    const { ledger } = this.held!
    return this.answers(() => work(ledger))
  }

  /** What was written to the store since it was opened. */
  get written(): Readonly<Cost> {
    return this.held!.counted.written
  }

  /** What the work asks of the store. */
  costOf(work: (ledger: Ledger) => Promise<unknown>): Promise<Cost> {
    const { ledger, counted } = this.held!
    return this.answers(() => counted.costOf(() => work(ledger)))
  }

  async size(): Promise<number | undefined> {
    return this.place.size?.()
  }

  /** Removes the place. The store is closed before, if it still does that: one that is just being opened would leave files there. */
  async remove(): Promise<void> {
    const { opened } = this
    if (opened) await this.watch.wrapUp(async () => (await opened).close())
    await this.place.remove?.()
  }

  /** With several stores, the caller must be told which one failed; a foreign one may throw anything. */
  private answers<T>(work: () => Promise<T>): Promise<T> {
    const blaming = (error: unknown): never => {
      throw this.watch.isEnd(error) ? error : blamed(this.name, error)
    }
    return this.watch.wait(() => work().catch(blaming), this.silent)
  }
}

function blamed(name: string, error: unknown): unknown {
  if (error instanceof Incomparable) return error
  if (!(error instanceof FolioError))
    return new Incomparable(`${name} fails: ${error instanceof Error ? error.message : error}`, { cause: error })
  // Advice for a store that stays, or has other writers, would be wrong here: this one was written a moment ago, by nobody else, and is removed.
  if (error.code === 'CORRUPT' || error.code === 'STORE_WENT_BACK' || error.code === 'CONFLICT')
    return new Incomparable(`${name} gives back other values than were written${said(error)}`, { cause: error })
  // Below 500, it is the ledgers that are at fault.
  return error.status < 500 ? error : named(name, error)
}

const said = ({ fields: { key, reason } }: FolioError): string =>
  `${reason === undefined ? '' : `: ${reason}`}${key === undefined ? '' : ` (key ${key})`}; storeConformance of ledger-folio/testing says which law of stores that breaks`

/**
 * The name comes before the place that the store gives, since that may be a directory made for the comparison. A store that gives no reason may give a
 * cause, which nobody would see.
 */
function named(name: string, error: FolioError): FolioError {
  const { location, ...fields } = error.fields
  const reason = error.cause instanceof Error && { reason: error.cause.message }
  return new FolioError(error.code, { location: location === undefined ? name : `${name}, ${location}`, ...reason, ...fields }, error)
}
