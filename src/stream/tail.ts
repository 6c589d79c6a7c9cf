/**
 * A tail: the page that does not end. It stands at its cursor and, when asked for more, waits in the crowd at that place; history and live records
 * come from the same read, so there is no hand-over in which one could be lost or repeated.
 * **Invariants:** the cursor moves when a page is handed over, not before; nothing is read that was not asked for, and nothing is queued.
 */
import { badRequest } from '../check.ts'
import { FolioError } from '../errors.ts'
import { parseCursor } from '../position.ts'
import type { RawPage } from '../scan/page.ts'
import { isPromise, type MaybePromise } from '../store.ts'
import { type Crowd, type Crowds, each, type Followed, type Member } from './crowd.ts'
import { missedBy, throughOf } from './pruned.ts'

/** Whoever pulls a tail: called once per pull. Whoever throws ends their tail, and what they throw is an uncaught exception. */
export interface Taker {
  /** The records after the previous ones; never empty. */
  page(page: RawPage): void
  /** The tail was stopped, or its ledger was closed. */
  end(): void
  fail(error: unknown): void
}

/** A tail as whoever pulls it has it: nothing is read before it is asked for. */
export interface Subscription {
  /** After the newest record handed over; empty before the first one of a stream from the start. */
  readonly cursor: string
  readonly ended: boolean
  /** Asks for the next page. One call at a time. @throws BAD_REQUEST if the call before has not been answered */
  pull(taker: Taker): void
  /** Ends it, and tells whoever waits for it. */
  stop(): void
}

/** The tails that one signal stops: they share a listener, since platforms warn of a leak if a signal has many. */
interface Watched {
  readonly tails: Set<Tail>
  readonly stop: () => void
}
const watched = new WeakMap<AbortSignal, Watched>()

function watch(signal: AbortSignal, tail: Tail): void {
  const held = watched.get(signal)
  if (held) return void held.tails.add(tail)
  const tails = new Set([tail])
  const stop = (): void => each([...tails], (one) => one.stop())
  watched.set(signal, { tails, stop })
  signal.addEventListener('abort', stop)
}

function unwatch(signal: AbortSignal, tail: Tail): void {
  const held = watched.get(signal)
  held?.tails.delete(tail)
  if (held?.tails.size !== 0) return
  watched.delete(signal)
  signal.removeEventListener('abort', held.stop)
}

export class Tail implements Subscription, Member {
  cursor = ''
  isKnown = false
  private readonly crowds: Crowds
  private readonly list: Followed
  private readonly startHead: number
  private readonly signal: AbortSignal | undefined
  private readonly isNow: boolean
  /** The newest ledger of anything handed over, or that the cursor names: `now` names the newest of all, wherever its list may end. */
  private reached = 0
  /** Rollbacks that it knows of. */
  private rollbacks: number
  /** The oldest ledger held when it was last known that it has missed nothing; 0 if none was, or all of those were rolled back. */
  private oldest: number
  /** The newest ledger of which it has been given everything that it wants. */
  private through = 0
  private taker: Taker | undefined
  /** Where it waits; or where it stands, if the crowd has handed over nothing since then and history was not rolled back. */
  private crowd: Crowd | undefined
  private deliveries = 0
  private starting = false
  /** The cursor could not be determined. */
  private failure: { readonly error: unknown } | undefined
  private over = false

  /**
   * @param start the cursor to start after
   * @param isNow whether that is the one for which `now` stands as of this call: while it is looked for, history may become another
   */
  constructor(crowds: Crowds, list: Followed, start: MaybePromise<string>, signal: AbortSignal | undefined, isNow: boolean) {
    this.crowds = crowds
    this.list = list
    this.signal = signal
    this.startHead = crowds.source.head.last
    this.rollbacks = crowds.source.bell.rollbackCount
    this.oldest = crowds.source.head.oldest
    this.isNow = isNow
    if (isNow) this.reached = this.startHead
    if (isPromise(start)) void this.beginAt(start)
    else this.begin(start)
    if (signal?.aborted) this.over = true
    else if (signal) watch(signal, this)
  }

  get ended(): boolean {
    return this.over
  }

  private begin(cursor: string): void {
    const { query } = this.list.listing
    this.cursor = cursor
    // Of what was there at the call, `now` wants nothing.
    this.through = Math.max(throughOf(query.of, cursor), this.isNow ? this.startHead : 0)
    if (cursor === '') return
    const named = query.of.kept === 'log' ? parseCursor(cursor, query.of.indexed).hi : this.startHead
    this.reached = Math.max(this.reached, Math.min(named, this.startHead))
  }

  private async beginAt(start: PromiseLike<string>): Promise<void> {
    this.starting = true
    try {
      this.begin(await start)
    } catch (error) {
      await this.crowds.source.settled()
      this.failure = { error }
      // What was being read may have been rolled back meanwhile: then that is what to report.
    }
    this.starting = false
    this.again()
  }

  pull(taker: Taker): void {
    if (this.taker) throw badRequest('taker', 'one at a time: the one before has not been answered')
    this.taker = taker
    if (this.over) return void this.finish()?.end()
    if (this.starting || !this.sound()) return
    const { crowd } = this
    this.enter(crowd?.deliveries === this.deliveries ? crowd.standing() : this.crowds.at(this.list, this.cursor))
  }

  again(): void {
    if (this.taker && this.sound()) this.enter(this.crowds.at(this.list, this.cursor))
  }

  /** Checks that history continues from what was handed over; ends the tail if it does not. */
  private sound(): boolean {
    const { bell } = this.crowds.source
    const last = bell.lowestSince(this.rollbacks)
    if (last !== undefined) this.goBack(last)
    const { crowd } = this
    if (bell.isSilent) this.finish()?.end()
    else if (last !== undefined && last < this.reached) this.fail(new FolioError('ROLLED_BACK', { last, reached: this.reached }))
    else if (this.failure) this.fail(this.failure.error)
    else this.pruned(crowd?.deliveries === this.deliveries ? crowd.through : 0)
    this.rollbacks = bell.rollbackCount
    return !this.over
  }

  /** What lies after ledger `last` belongs to another history now. */
  private goBack(last: number): void {
    this.crowd = undefined
    if (this.list.listing.query.of.kept === 'log') this.through = Math.min(this.through, last)
    if (last < this.oldest) this.oldest = 0
  }

  pruned(through: number): void {
    const { head } = this.crowds.source
    // One from the start begins with whatever is the oldest record when its list is first read.
    const isToBegin = this.cursor === '' && !this.isNow && !this.isKnown
    const error = isToBegin ? undefined : missedBy(head, this.oldest, Math.max(through, this.through), this.cursor)
    this.oldest = head.oldest
    if (error) this.fail(error)
  }

  enter(crowd: Crowd): void {
    this.crowd = crowd
    this.deliveries = crowd.deliveries
    crowd.join(this)
  }

  take(page: RawPage, crowd: Crowd, reached: number): void {
    const { taker } = this
    if (!taker) return
    this.taker = undefined
    this.cursor = page.next
    this.reached = Math.max(this.reached, reached)
    this.through = crowd.through
    this.crowd = crowd
    this.deliveries = crowd.deliveries
    taker.page(page)
  }

  fail(error: unknown): void {
    this.finish()?.fail(error)
  }

  stop(): void {
    this.finish()?.end()
  }

  drop(): void {
    this.finish()
  }

  private finish(): Taker | undefined {
    const { taker } = this
    this.over = true
    this.taker = undefined
    this.crowd?.leave(this)
    this.crowd = undefined
    if (this.signal) unwatch(this.signal, this)
    return taker
  }
}
