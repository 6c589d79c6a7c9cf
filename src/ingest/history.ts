/**
 * History as its one writer knows it, and how a batch becomes part of it.
 * **Invariants:** the head in memory is the head in the store or, while a step removes, the one at which the step ends; after a failed write it is
 * uncertain what the store holds, so nothing more is written until it is opened again.
 */

import type { Cache } from '../cache/cache.ts'
import { FolioError } from '../errors.ts'
import { decodeHead, emptyHead, encodeHead, type Head } from '../layout/head.ts'
import { HEAD } from '../layout/keys.ts'
import { Reader } from '../scan/reader.ts'
import { Unfiled } from '../scan/unfiled.ts'
import { after, type MaybePromise, type Store, type Write } from '../store.ts'
import type { Tails } from './draft.ts'
import type { Backlog } from './filing.ts'
import { isSame, type Stand, type State, stateOf } from './follow.ts'
import { Mark } from './mark.ts'

/** Notified when history has moved, each time readers can see it. */
export interface HistoryListener {
  committed(): void
  rolledBack(last: number): void
}

export class History {
  head: Head
  /** Counts the beginning and the end of each step that removes: a read during which it changed may have seen values from both sides. */
  removals = 0
  protected readonly store: Store
  protected readonly cache: Cache
  protected readonly listener: HistoryListener
  protected tails: Tails = new Map()
  protected backlog: Backlog = { unfiled: new Unfiled() }
  /** As it is in the store. */
  protected state: State
  private queue: Promise<unknown> = Promise.resolve()
  /** How many turns have begun. */
  protected turns = 0
  /** The batch of an append that is being written; never rejects. */
  protected committing: Promise<unknown> = Promise.resolve()
  /** What is changing history otherwise than by appending, and looks that are due; never rejects. */
  private changing: Promise<unknown> = Promise.resolve()
  protected failure: unknown
  /** What was written last may not be on stable storage yet. */
  protected soft = false
  protected readonly mark: Mark

  constructor(store: Store, cache: Cache, headBytes: Uint8Array | undefined, listener: HistoryListener) {
    this.store = store
    this.cache = cache
    this.head = headBytes ? decodeHead(headBytes) : emptyHead
    this.state = { head: headBytes, era: 0 }
    this.listener = listener
    this.mark = new Mark(store)
  }

  /** A reader under the current head. */
  reader(): Reader {
    return new Reader(this.store, this.cache, this.head, this.backlog.unfiled)
  }

  /** True if history in the store is the one known here, and was not rolled back since that became known. */
  stands(): MaybePromise<boolean> {
    return after(stateOf(this.store), (state) => isSame(state, this.state))
  }

  protected standOn({ state, head, unfiled, tails }: Stand): void {
    this.state = state
    this.head = head
    this.backlog = { unfiled }
    this.tails = tails
  }

  /** Runs `work` once everything requested before it is done. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      await this.committing
      return work()
    })
  }

  /** The same, except that the batch of the append before it may still be being written. */
  protected inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.queue.then(() => {
      this.turns++
      return work()
    })
    this.queue = done.catch(() => {})
    return done
  }

  /** Work that may leave another history behind, and that {@link steady} waits for. */
  protected change<T>(work: Promise<T>): Promise<T> {
    this.changing = Promise.allSettled([this.changing, work])
    return work
  }

  /** Resolves when nothing is in progress and the note says how far history reached. */
  async rest(): Promise<void> {
    await this.queue
    await this.committing
    await this.mark.flush()
  }

  /** Resolves when history is not being changed, and what was has been told. What leaves it as it is, however long, is not waited for. */
  async steady(): Promise<void> {
    await this.changing
    await this.committing
  }

  /** True once a write failed: nothing more is written. */
  get poisoned(): boolean {
    return this.failure !== undefined
  }

  protected checkSound(): void {
    if (this.failure) throw new FolioError('POISONED', {}, this.failure)
  }

  /**
   * Writes a batch, a new head last. The head and everything that depends on it, which `adopt` sets, change in one turn, so that no reader is ever
   * created between them.
   */
  protected async write(batch: readonly Write[], head: Head, durable: boolean, adopt: () => void, era = this.state.era): Promise<void> {
    const value = encodeHead(head)
    try {
      await this.store.write([...batch, [HEAD, value]], { durable, expect: { key: HEAD, value: this.state.head } })
      this.head = head
      this.state = { head: value, era }
      this.soft = !durable
      adopt()
    } catch (error) {
      // It is uncertain what is stored, or not all of it was adopted: nothing may be appended to that.
      this.failure = error
      throw error
    }
  }
}
