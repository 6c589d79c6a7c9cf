/**
 * The one writer of a store: checks a ledger close, drafts it, and commits it in one batch with the head.
 * **Invariant:** calls are carried out in call order. A ledger may be drafted while the one before it is being written, but nothing is written before
 * that is.
 */

import type { Cache } from '../cache/cache.ts'
import { badRequest } from '../check.ts'
import { FolioError } from '../errors.ts'
import { encodeDigest } from '../layout/digest.ts'
import { encodeEra, encodeIntent, type Head, type Intent } from '../layout/head.ts'
import { digestKey, ERA, HEAD, INTENT } from '../layout/keys.ts'
import { cachedEdge, type Reader, toHeld } from '../scan/reader.ts'
import type { Store, Write } from '../store.ts'
import { giveWay } from '../turn.ts'
import { type AppendResult, follows } from './close.ts'
import { type Basis, Draft } from './draft.ts'
import type { Prepared } from './encode.ts'
import { type Backlog, isDue, takeUp } from './filing.ts'
import { type Following, inEra, lookFor, mayHold, readToWrite, tailsOf } from './follow.ts'
import { History, type HistoryListener } from './history.ts'
import { digestOf, rowsOfClose } from './line.ts'
import { hashOf, loadFrom, unfinished } from './load.ts'
import { prunedRanges, stepUp } from './prune.ts'
import { type Step, stepBack } from './rollback.ts'

export interface Appended {
  readonly results: readonly AppendResult[]
  /** Why the ledger after those was refused, if one was. */
  readonly refused: unknown
}

/** What a batch that follows another waits for. */
export interface BatchOrder {
  /** Nothing is written before it resolves, nor if it fails. */
  readonly before: Promise<unknown>
  /** Asked then, in turn: if not, nothing is appended. May throw. */
  readonly isWanted: () => boolean
  /** Called when the store was given the batch, which may be long before it is written. */
  readonly handed: () => void
}

interface Drafted extends Appended {
  readonly draft: Draft
  readonly writes: readonly Write[]
}

export class LedgerWriter extends History {
  private readonly fileEvery: number
  /** The draft in the batch that is being written, until it is committed. */
  private ahead: Draft | undefined
  /** No earlier process, and no other one, has left anything unfinished. */
  private settled = false
  private refreshing: Promise<boolean> | undefined

  constructor(store: Store, cache: Cache, headBytes: Uint8Array | undefined, fileEvery: number, listener: HistoryListener) {
    super(store, cache, headBytes, listener)
    this.fileEvery = fileEvery
  }

  /**
   * Takes up what an earlier process left. If another one may be at work, an unfinished change may be its own, and is left to it until this one
   * writes.
   */
  async load(): Promise<void> {
    const { store, cache, mark, state } = this
    // Whatever else is wrong with a store whose repair is unfinished, the repair has to be run again.
    await unfinished(store)
    this.standOn(await loadFrom(store, cache, mark, state.head))
    if (!store.capabilities.shared) await this.settle()
  }

  /** Finishes a rollback or pruning that was begun and not finished, before anything else is written. */
  private async settle(): Promise<void> {
    if (this.settled) return
    const intent = await unfinished(this.store)
    if (intent && 'prune' in intent) await this.pruneTo(intent.prune)
    else if (intent) await this.rollBackTo(intent.rollback)
    this.settled = true
  }

  /**
   * Adopts a head that another process has written to a shared store. Calls share a look that has not begun; one that has begun may have seen the
   * head from before the call.
   * @returns whether history has moved
   */
  refresh(): Promise<boolean> {
    this.refreshing ??= this.change(
      this.exclusive(() => {
        this.refreshing = undefined
        return this.look()
      }),
    )
    return this.refreshing
  }

  private async look(): Promise<boolean> {
    const { store, state, head, cache } = this
    const moved = await lookFor(store, { state, head, unfiled: this.backlog.unfiled, cache })
    if (moved) this.takeOn(moved)
    return moved !== undefined
  }

  /** All of it happens in one turn of the event loop. */
  private takeOn(found: Following): void {
    if (!found.kept) this.cache.clear()
    // History that continues from what was known may still have been rolled back and appended again, and a read may have come across that.
    if (!found.grown || found.state.era !== this.state.era) this.removals += 2
    this.standOn(found)
    this.settled = false
    if (found.grown) return void this.listener.committed()
    // How far back the other process went is not known: every stream that has delivered anything may have delivered what is gone.
    this.listener.rolledBack(Math.max(0, found.head.oldest - 1))
  }

  /**
   * Appends ledgers in one batch: all of them, or those before the first that is refused; `refused` is its error. While the batch before is being
   * written, this one is drafted; it is written only once that one is.
   * @throws what `behind` or the store throws
   */
  async append(closes: readonly Prepared[], durable: boolean, behind?: BatchOrder): Promise<Appended> {
    const early = behind && (await this.draftEarly(closes, behind))
    const { appended, written } = await this.inTurn(async () => {
      if (behind && !behind.isWanted()) return { appended: { results: [], refused: undefined }, written: undefined }
      const { draft, writes, ...appended } = early?.turn === this.turns - 1 ? early.drafted : await this.draft(closes)
      await this.committing
      this.checkSound()
      const written = this.commit(draft, writes, durable, appended.results.length > 0)
      this.committing = written.catch(() => {})
      behind?.handed()
      return { appended, written }
    })
    await written
    return appended
  }

  /**
   * Drafts a batch, and then waits for what comes before it. Others have their turn meanwhile, and what is told of that batch may itself write; the
   * draft is of use if the turn after its own is that of its commit.
   */
  private async draftEarly(closes: readonly Prepared[], { before }: BatchOrder): Promise<{ drafted: Drafted; turn: number }> {
    const early = await this.inTurn(async () => ({ turn: this.turns, drafted: await this.draft(closes) }))
    await before
    return early
  }

  private async draft(closes: readonly Prepared[]): Promise<Drafted> {
    const { store, fileEvery } = this
    // If other processes write too, the batch before this one may fail because of what they wrote.
    if (store.capabilities.shared) await this.committing
    const draft = new Draft(await this.basis(), fileEvery)
    const { state } = this
    const digests: Write[] = []
    const results: AppendResult[] = []
    let refused: unknown
    for (const prepared of closes) {
      try {
        const { ledger } = prepared
        if (!ledger) throw prepared.error
        const { sequence } = ledger
        const held = draft.hashOf(sequence) ?? (await readToWrite(store, state, () => this.reader().run((read) => hashOf(read, sequence))))
        const appended = follows(draft.head, ledger, held)
        if (appended) {
          if (!prepared.encoded) throw prepared.error
          await draft.add(prepared.encoded, store, (id) => (store.capabilities.shared ? undefined : cachedEdge(this.cache, id)))
          digests.push([digestKey(sequence), encodeDigest(sequence, digestOf(rowsOfClose(prepared.encoded)))])
        }
        results.push({ sequence, hash: ledger.hash.toLowerCase(), appended })
      } catch (error) {
        refused = error
        break
      }
    }
    return { draft, writes: [...digests, ...draft.finish()], results, refused }
  }

  /** What the next draft is made from. */
  private async basis(): Promise<Basis> {
    this.checkSound()
    if (this.ahead) return this.ahead.basis
    // Without a head, nothing fences a writer that has not seen that another process emptied the store.
    if (this.store.capabilities.shared && this.head.last === 0) await this.change(this.look())
    await this.settle()
    const { head, fileEvery, store, state } = this
    if (!this.backlog.filing && isDue(head.filedCounts, head.counts, fileEvery))
      this.backlog = await readToWrite(store, state, () => this.reader().run((read) => takeUp(read, fileEvery)))
    return { head, tails: this.tails, backlog: this.backlog }
  }

  /** @param isSaid someone will be told what is held */
  private async commit(draft: Draft, writes: readonly Write[], durable: boolean, isSaid: boolean): Promise<void> {
    if (draft.ledgers === 0) {
      // Then that has to be on stable storage too.
      if (durable && this.soft && isSaid) await this.write([], this.head, true, () => this.mark.reached(this.head))
      return
    }
    this.ahead = draft
    await this.write(writes, inEra(this.store, draft.head, this.state.era), durable, () => {
      this.backlog = draft.committed()
      this.tails = draft.tails
      if (this.ahead === draft) this.ahead = undefined
      this.cache.edition++
      for (const { resource, number, block } of draft.blocks) this.cache.putBlock(resource, number, block)
      for (const [id, { edge }] of draft.edges) this.cache.put(id, toHeld(this.cache, edge, draft.head.last))
      if (durable) this.mark.reached(this.head)
      this.listener.committed()
    })
  }

  /** Removes every ledger after `sequence`. @throws GONE_BEFORE_HISTORY if pruned ledgers would have to come back */
  async rollback(sequence: number): Promise<number> {
    await this.settle()
    const { oldest, first } = this.head
    if (sequence < oldest && oldest > first) {
      const reason = `what was pruned cannot come back: roll back to ${oldest} or later, or start anew in a new store`
      throw new FolioError('GONE_BEFORE_HISTORY', { ledger: sequence, oldest, reason })
    }
    return this.rollBackTo(sequence)
  }

  private rollBackTo(sequence: number): Promise<number> {
    return this.change(this.goBackTo(sequence))
  }

  private async goBackTo(sequence: number): Promise<number> {
    const { oldest, first, last } = this.head
    const isDone = ({ last }: Head): boolean => last <= sequence || last === 0
    this.checkSound()
    await this.mark.lower(sequence < oldest ? 0 : sequence, this.head.era)
    try {
      await this.takeSteps({ rollback: sequence }, (read) => stepBack(read, sequence), isDone)
      // If nothing was rolled back, the tails are unchanged, and cannot be read under a head that is no longer current.
      if (this.head.last < last) this.tails = await readToWrite(this.store, this.state, () => tailsOf(this.store, this.head))
    } catch (error) {
      // The tails belong to the previous head: nothing may be appended to them.
      if (this.head.last < last) this.failure ??= error
      throw error
    } finally {
      if (this.head.last < last) this.listener.rolledBack(this.head.last)
    }
    return last === 0 ? 0 : last - Math.max(this.head.last, first - 1)
  }

  /** Removes every ledger before `oldest`. @throws BAD_REQUEST if none would stay */
  async prune(oldest: number): Promise<number> {
    await this.settle()
    const { last } = this.head
    if (oldest > last)
      throw badRequest(
        'before',
        last === 0 ? 'a ledger that is held: the store holds no ledgers' : `at most ${last}, the newest ledger, which stays`,
      )
    return this.pruneTo(oldest)
  }

  private async pruneTo(oldest: number): Promise<number> {
    const before = this.head.oldest
    await this.change(
      this.takeSteps(
        { prune: oldest },
        (read) => stepUp(read, oldest),
        (head) => head.oldest >= oldest,
      ),
    )
    if (this.head.oldest > before) for (const range of prunedRanges(this.head)) await this.store.compact?.(range)
    return this.head.oldest - before
  }

  /**
   * Carries out a change in as few batches as its steps allow, each ending at a ledger; the intent is kept until the last, so that an open can finish
   * the change. Readers move before the store does: what lies outside the new head does not concern them, whether it is there or not. If a step files
   * lists, however, they move after it: until then only memory has what waited.
   */
  private async takeSteps(intent: Intent, next: (reader: Reader) => Step, isDone: (head: Head) => boolean): Promise<void> {
    this.checkSound()
    const expect = { key: HEAD, value: this.state.head }
    if (isDone(this.head) && (await this.store.get(INTENT))) await this.store.write([[INTENT, undefined]], { durable: true, expect })
    while (!isDone(this.head)) {
      await giveWay()
      const { writes, unfiled, ...step } = await readToWrite(this.store, this.state, () => this.reader().run(next))
      const { head: before, backlog: waited } = this
      // If only this process has the store open, nobody else reads, and no era is kept.
      const { shared } = this.store.capabilities
      const era = shared ? this.state.era + 1 : this.state.era
      const head = inEra(this.store, step.head, era)
      const move = (head: Head, backlog: Backlog): void => {
        this.head = head
        this.backlog = backlog
        this.cache.clear()
      }
      const adopt = (): void => move(head, { unfiled: unfiled.whole })
      this.removals++
      if (head.filed <= before.filed) adopt()
      try {
        const begun: Write[] = shared ? [[ERA, encodeEra(era)]] : []
        await this.write([[INTENT, isDone(head) ? undefined : encodeIntent(intent)], ...begun, ...writes], head, true, adopt, era)
      } catch (error) {
        // What was not removed is still history, even for a read that found nothing there meanwhile.
        if (!(await mayHold(this.store, head))) {
          move(before, waited)
          this.listener.committed()
        }
        throw error
      } finally {
        this.removals++
      }
    }
    // What was noted before belongs to an earlier era, or to a ledger that is gone.
    if (!this.soft) this.mark.reached(this.head)
  }
}
