/**
 * The one writer of a store: what comes before what. Each call has its turn, in call order; whatever else has to be done first, such as finishing
 * what an earlier process left, is done in that turn.
 * **Invariant:** ledgers may be drafted while those before them are being written, but nothing is written before those are.
 */

import { badRequest } from '../check.ts'
import { FolioError } from '../errors.ts'
import { type Cut, decodeHead } from '../layout/head.ts'
import { HEAD } from '../layout/keys.ts'
import { isDamage } from '../layout/seal.ts'
import { type Appended, Appender, type Drafted } from './append.ts'
import { isReclaimDue, pruneTo, reclaim, rollBackTo } from './cut.ts'
import type { Prepared } from './encode.ts'
import { lookFor } from './follow.ts'
import type { History } from './history.ts'
import { snapshotFor, unfinished } from './load.ts'
import { Turns } from './turns.ts'

/** A batch that follows others. */
export interface BatchBehind {
  /** More may be added until it is asked whether it is wanted. */
  readonly closes: readonly Prepared[]
  /** Resolves to true when closes are added, or to false when nothing is before it any more. Fails if those before it do: then nothing is written. */
  readonly more: () => Promise<boolean>
  /** Called when there is nothing to do for its closes before those before it are written. */
  readonly drafted: () => void
  /** Asked when it has its turn: if not, nothing is appended. May throw. */
  readonly isWanted: () => boolean
  /** Called when the store was given the batch, which may be long before it is written. */
  readonly handed: () => void
}

/** What became of a batch. */
interface Handed {
  readonly appended: Appended
  /** Its write, if there is one. */
  readonly written: Promise<void> | undefined
}

const nothing: Appended = { results: [], refused: undefined }

export class LedgerWriter {
  private readonly history: History
  private readonly appender: Appender
  private readonly turns = new Turns()
  private readonly isShared: boolean
  /** How many batches that follow another were not handed to the store yet. */
  private waiting = 0
  /** No earlier process, and no other one, has left anything unfinished. */
  private settled = false
  private refreshing: Promise<boolean> | undefined
  /** The reclaiming of space that pruning left, one range after another. It never rejects: whoever pruned is told why it failed. */
  private reclaiming: Promise<void> = Promise.resolve()
  /** The last look for what other processes have written failed. */
  lookFailed = false

  constructor(history: History, fileEvery: number) {
    this.history = history
    this.appender = new Appender(history, fileEvery)
    this.isShared = history.store.capabilities.shared
  }

  /**
   * Takes up what an earlier process left. If another one may be at work, an unfinished change may be its own, and is left to it until this one
   * writes.
   */
  async load(): Promise<void> {
    // Whatever else is wrong with a store whose repair is unfinished, the repair has to be run again.
    await unfinished(this.history.store)
    this.history.beginFrom(await snapshotFor(this.history))
    // What cannot be written upon is left as it is, to be read.
    if (!this.isShared && !this.history.poisoned) await this.settle()
  }

  /** Finishes a rollback or pruning that was begun and not finished, before anything else is written. @throws if nothing can be written */
  private async settle(): Promise<void> {
    this.history.checkSound()
    if (this.settled) return
    const left = await unfinished(this.history.store)
    if (left) await this.finish(left)
    this.settled = true
  }

  private async finish(left: Cut): Promise<void> {
    try {
      // Whoever left it was cut off before it came to that.
      if ((await this.cut(left)) > 0 && 'prune' in left) void this.reclaim()
    } catch (error) {
      // What could not be pruned is still held, and the next prune says why.
      if (!('prune' in left && isDamage(error))) throw error
    }
  }

  /**
   * Adopts a head that another process has written to a shared store. Calls share a look that has not begun; one that has begun may have seen the
   * head from before the call.
   * @returns whether history has moved
   */
  refresh(): Promise<boolean> {
    this.refreshing ??= this.turns.change(
      this.turns.between(() => {
        this.refreshing = undefined
        return this.look()
      }),
    )
    return this.refreshing
  }

  private async look(): Promise<boolean> {
    const { store, state, head, backlog, cache } = this.history
    const moved = await lookFor(store, { state, head, unfiled: backlog.unfiled, cache }).catch((error) => {
      this.lookFailed = true
      throw error
    })
    this.lookFailed = false
    if (!moved) return false
    this.settled = false
    this.history.follow(moved)
    return true
  }

  /** Appends ledgers in one batch: all of them, or those before the first that is refused; `refused` is its error. @throws what the store throws */
  async append(closes: readonly Prepared[], durable: boolean): Promise<Appended> {
    const { appended, written } = await this.turns.take(async () => this.handOver(await (await this.ready()).draft(closes), durable))
    await written
    return appended
  }

  /**
   * The same for a batch that follows others: while those are being written, it is drafted; it is written only once they are.
   * @throws what `behind` or the store throws
   */
  async appendBehind(behind: BatchBehind, durable: boolean): Promise<Appended> {
    this.waiting++
    const { appended, written } = await this.inOrder(behind, durable).finally(() => {
      if (--this.waiting === 0) this.appender.noneWaits()
    })
    await written
    return appended
  }

  private async inOrder(behind: BatchBehind, durable: boolean): Promise<Handed> {
    const early = await this.draftEarly(behind)
    return this.turns.take(async () => {
      if (!behind.isWanted()) return { appended: nothing, written: undefined }
      const { closes } = behind
      const drafted = early && this.appender.isNext(early.draft) ? early : await (await this.ready()).draft(closes)
      // It may have taken in more while it waited for its turn.
      await this.appender.extend(drafted, closes)
      const handed = await this.handOver(drafted, durable)
      behind.handed()
      return handed
    })
  }

  /**
   * Drafts a batch, and what is added to it while it waits for what comes before it. Others have their turn meanwhile, and what is told of those
   * batches may itself write; the draft is of use if history has not moved otherwise until it is committed. If those before it are of no use, it is
   * not made, nor over a store that is shared.
   */
  private async draftEarly(behind: BatchBehind): Promise<Drafted | undefined> {
    let early: Drafted | undefined
    do {
      if (!this.isShared) early = await this.turns.take(() => this.draftFurther(early, behind.closes))
      if (early || this.isShared) behind.drafted()
    } while (await behind.more())
    return early
  }

  private async draftFurther(early: Drafted | undefined, closes: readonly Prepared[]): Promise<Drafted | undefined> {
    const appender = await this.ready()
    if (!early) return appender.draftBehind(closes)
    if (!appender.isCurrent(early.draft)) return undefined
    await appender.extend(early, closes)
    return early
  }

  /** Gives the store a batch, once it has written the one before. */
  private async handOver(drafted: Drafted, durable: boolean): Promise<Handed> {
    await this.turns.written()
    this.history.checkSound()
    const written = this.appender.commit(drafted, durable)
    this.turns.leave(written)
    return { appended: drafted, written }
  }

  /** The appender, once history is as it has to be for a draft. */
  private async ready(): Promise<Appender> {
    // If other processes write too, the batch before this one may fail because of what they wrote.
    if (this.isShared) await this.turns.written()
    this.history.checkSound()
    // Without a head, nothing fences a writer that has not seen that another process emptied the store.
    if (this.isShared && this.history.head.last === 0) await this.turns.change(this.look())
    const { last } = this.history.head
    await this.settle()
    // Nothing would tell that a ledger does not follow: the first one may be any.
    if (this.history.head.last === 0 && last > 0) throw new FolioError('CONFLICT')
    return this.appender
  }

  /** Adopts what another process has appended if a ledger is meant that is held, and not known here: there would be nothing to do with it. */
  private async lookUpTo(sequence: number): Promise<void> {
    const { store, head } = this.history
    if (!this.isShared || sequence <= head.last) return
    const stored = await store.get(HEAD)
    if (stored && sequence <= decodeHead(stored).last) await this.turns.change(this.look())
  }

  /** Removes every ledger after `sequence`. @throws GONE_BEFORE_HISTORY if pruned ledgers would have to come back */
  rollback(sequence: number): Promise<number> {
    return this.turns.alone(async () => {
      await this.lookUpTo(sequence + 1)
      await this.settle()
      const { oldest, first } = this.history.head
      if (sequence < oldest && oldest > first) {
        const reason = `what was pruned cannot come back: roll back to ${oldest} or later, or start anew in a new store`
        throw new FolioError('GONE_BEFORE_HISTORY', { ledger: sequence, oldest, reason })
      }
      return this.cut({ rollback: sequence })
    })
  }

  /** Removes every ledger before `oldest`, and has the space reclaimed if that is due. @throws BAD_REQUEST if none would stay */
  async prune(oldest: number): Promise<number> {
    const { removed, reclaimed } = await this.turns.alone(async () => {
      await this.lookUpTo(oldest)
      await this.settle()
      const { last, since } = this.history.head
      const held = last === 0 ? 'a ledger that is held: the store holds no ledgers' : `at most ${last}, the newest ledger, which stays`
      if (oldest > last) throw badRequest('before', held)
      const removed = await this.cut({ prune: oldest })
      return { removed, reclaimed: isReclaimDue(since, this.history.head) ? this.reclaim() : undefined }
    })
    await reclaimed
    return removed
  }

  /** Returns how many ledgers were removed. */
  private cut(cut: Cut): Promise<number> {
    const { history, turns } = this
    return turns.change('rollback' in cut ? rollBackTo(history, cut.rollback) : pruneTo(history, cut.prune))
  }

  /** In no turn: it may take minutes, and changes nothing that is held. */
  private reclaim(): Promise<void> {
    const done = this.reclaiming.then(() => reclaim(this.history))
    this.reclaiming = done.catch(() => {})
    return done
  }

  /** Runs `work`, which only reads, in its turn: this process writes nothing meanwhile, but takes up what others write. */
  beside<T>(work: () => Promise<T>): Promise<T> {
    return this.turns.beside(work)
  }

  /** Resolves when history is not being changed, and what was has been told. What leaves it as it is, however long, is not waited for. */
  steady(): Promise<void> {
    return this.turns.steady()
  }

  /** Resolves when nothing is in progress and the note says how far history reached. */
  async rest(): Promise<void> {
    await this.turns.rest()
    await this.reclaiming
    await this.history.highWater.flush()
  }
}
