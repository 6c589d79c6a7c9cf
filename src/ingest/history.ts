/**
 * History as this process knows it: what reads go by, and from where the next write goes on. Only the writer changes it, in its turns.
 * **Invariants:** the head in memory is the head in the store or, while a step removes, the one at which the step ends; after a failed write it is
 * uncertain what the store holds, so nothing more is written until it is opened again.
 */

import type { Cache } from '../cache/cache.ts'
import { FolioError } from '../errors.ts'
import { decodeHead, emptyHead, encodeHead, type Head } from '../layout/head.ts'
import { HEAD } from '../layout/keys.ts'
import type { ReadableHistory } from '../scan/ask.ts'
import { cachedEdge, Reader, toHeld } from '../scan/reader.ts'
import { Unfiled } from '../scan/unfiled.ts'
import { after, type MaybePromise, type Store, type Write } from '../store.ts'
import type { Tails, Version } from './draft.ts'
import type { Backlog, EdgeOf, Edges } from './filing.ts'
import type { Following } from './follow.ts'
import { HighWaterMark } from './high-water.ts'
import { inEra, isSame, type Snapshot, type State, stateOf } from './state.ts'

/** Notified when history has moved, each time readers can see it. */
export interface HistoryListener {
  committed(): void
  rolledBack(last: number): void
}

export class History implements ReadableHistory {
  readonly store: Store
  readonly cache: Cache
  readonly listener: HistoryListener
  readonly highWater: HighWaterMark
  head: Head
  /** Which history this is, for what was drafted upon it: another object each time it moves. */
  version: Version = {}
  /** Counts the beginning and the end of each step that removes (a seqlock): a read during which it changed may have seen values from both sides. */
  removals = 0
  /** As it is in the store. */
  state: State
  /** The rows with which the next blocks start. */
  tails: Tails = new Map()
  backlog: Backlog = { unfiled: new Unfiled() }
  /** What was written last may not be on stable storage yet. */
  unsynced = false
  /** Where the rollback under way ends; it may take several steps. */
  goal: number | undefined
  /** The last step that removes. */
  private step: Promise<void> = Promise.resolve()
  /** Why nothing more is written, if that is so: a write that failed; or until another process has mended that, what could not be read. */
  private failure: unknown
  private damage: unknown

  constructor(store: Store, cache: Cache, headBytes: Uint8Array | undefined, listener: HistoryListener) {
    this.store = store
    this.cache = cache
    this.head = headBytes ? decodeHead(headBytes) : emptyHead
    this.state = { head: headBytes, era: 0 }
    this.listener = listener
    this.highWater = new HighWaterMark(store)
  }

  /** The newest ledger that is left once the rollback under way is over, if there is one. */
  get left(): number {
    return Math.min(this.head.last, this.goal ?? Number.POSITIVE_INFINITY)
  }

  /** A reader under the current head. */
  reader(): Reader {
    return new Reader(this.store, this.cache, this.head, this.backlog.unfiled)
  }

  /** True if history in the store is the one known here, and was not rolled back since that became known. */
  stands(): MaybePromise<boolean> {
    return after(stateOf(this.store), (state) => isSame(state, this.state))
  }

  /** Takes a step that removes. */
  removing(work: () => Promise<void>): Promise<void> {
    this.removals++
    const done = work().finally(() => this.removals++)
    this.step = done.catch(() => {})
    return done
  }

  stepped(): Promise<void> {
    return this.step
  }

  /** A read on which a write will be based. @throws as {@link askToWrite} */
  readonly readToWrite = <T>(read: (reader: Reader) => T): Promise<T> => this.askToWrite(() => this.reader().run(read))

  /** The same for what asks the store by itself. Under a head that is no longer current, not everything may be there. @throws CONFLICT if that is so */
  async askToWrite<T>(ask: () => MaybePromise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      if (!this.store.capabilities.shared || (await this.stands())) throw error
      throw new FolioError('CONFLICT', {}, error)
    }
  }

  /** Takes what is in the store for what is known. */
  beginFrom({ state, head, unfiled, tails, damage }: Snapshot): void {
    this.version = {}
    this.damage = damage
    this.state = state
    this.head = head
    this.backlog = { unfiled }
    this.tails = tails
  }

  /** Goes on from what another process has written. All of it happens in one turn of the event loop. */
  follow(found: Following): void {
    const { last } = this.head
    if (!found.kept) this.cache.clear()
    // History that continues from what was known may still have been rolled back and appended again, and a read may have come across that.
    if (!found.grown || found.state.era !== this.state.era) this.removals += 2
    this.beginFrom(found)
    const { left = 0 } = found
    if (left >= last) this.listener.committed()
    else this.listener.rolledBack(left)
  }

  /**
   * Moves to a head under which less is held, or more is filed.
   * @param backlog given if something else waits under it
   * @param filed the lists that were filed, if no ledgers were taken back; otherwise what is cached may be wrong
   */
  moveTo(head: Head, backlog?: Backlog, filed?: readonly Edges[]): void {
    this.version = {}
    this.head = head
    if (backlog) this.backlog = backlog
    if (backlog && !filed) this.cache.clear()
    else this.cacheFiled(filed)
  }

  /** Puts lists that were filed into the cache. What is read under an earlier head is not to be cached any more: it may be older, or be pruned. */
  cacheFiled(filed: readonly Edges[] = []): void {
    this.cache.generation++
    for (const edges of filed) edges.each((id, edge) => this.cache.put(id, toHeld(this.cache, edge, this.head.last)))
  }

  /** The head is durable. A note without an era would count for ever, though others may roll back before it is written: so does a head without one. */
  reached(): void {
    this.highWater.reached(this.inEra(this.head))
  }

  /** A head as it is stored now. */
  inEra(head: Head): Head {
    return inEra(this.store, head, this.state.era)
  }

  /** The edge of a list as it is in the store, if it is cached, and nobody else files. */
  readonly cachedEdge: EdgeOf = ({ id, index }) =>
    this.store.capabilities.shared ? undefined : cachedEdge(this.cache, id, this.head.since[index.of.tag]!)

  /** True once a write failed, and while something that has to be read in order to write cannot be. */
  get poisoned(): boolean {
    return (this.failure ?? this.damage) !== undefined
  }

  /** From now on nothing is written, because of this. */
  poison(error: unknown): void {
    this.failure ??= error
  }

  checkSound(): void {
    if (this.failure) throw new FolioError('POISONED', {}, this.failure)
    if (this.damage) throw this.damage
  }

  /**
   * Writes a batch, a new head last. The head and everything that depends on it, which `adopt` sets, change in one turn, so that no reader is ever
   * created between them.
   */
  async write(batch: readonly Write[], head: Head, durable: boolean, adopt: () => void, era = this.state.era): Promise<void> {
    const value = encodeHead(head)
    try {
      await this.store.write([...batch, [HEAD, value]], { durable, expect: { key: HEAD, value: this.state.head } })
      this.head = head
      this.state = { head: value, era }
      this.unsynced = !durable
      adopt()
    } catch (error) {
      // It is uncertain what is stored, or not all of it was adopted: nothing may be appended to that.
      this.poison(error)
      throw error
    }
  }
}
