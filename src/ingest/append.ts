/**
 * Appending: closes are checked against what is held and drafted, and the draft is committed in one batch with the head. While that waits to be
 * written, or is being written, the next draft may be made from it.
 */

import { encodeDigest } from '../layout/digest.ts'
import { digestKey } from '../layout/keys.ts'
import type { Write } from '../store.ts'
import { type AppendResult, follows } from './close.ts'
import { type Basis, Draft } from './draft.ts'
import type { Prepared } from './encode.ts'
import { isDue, takeUp } from './filing.ts'
import type { History } from './history.ts'
import { digestOf, rowsOfClose } from './line.ts'
import { hashOf } from './load.ts'
import { inEra } from './state.ts'

export interface Appended {
  readonly results: readonly AppendResult[]
  /** Why the ledger after those was refused, if one was. */
  readonly refused: unknown
}

export interface Drafted extends Appended {
  readonly draft: Draft
  readonly writes: readonly Write[]
}

export class Appender {
  private readonly history: History
  private readonly fileEvery: number
  /** The draft in the batch that is being written, until it is committed. */
  private writing: Draft | undefined
  /** The last of the drafts that wait for others to be committed. */
  private waiting: Draft | undefined

  constructor(history: History, fileEvery: number) {
    this.history = history
    this.fileEvery = fileEvery
  }

  /** Drafts closes: all of them, or those before the first that is refused. The draft has to be the next one that is committed. */
  draft(closes: readonly Prepared[]): Promise<Drafted> {
    return this.draftUpon(this.writing, closes)
  }

  /** The same for a draft that is committed only after all that wait. Undefined if these do not continue history any more. */
  async draftBehind(closes: readonly Prepared[]): Promise<Drafted | undefined> {
    if (this.waiting && !this.waiting.continues(this.history.version, this.writing)) return undefined
    const drafted = await this.draftUpon(this.waiting ?? this.writing, closes)
    this.waiting = drafted.draft
    return drafted
  }

  /** True if a draft may be the next to be committed: it was made from history as it is once what is being written is part of it. */
  isNext(draft: Draft): boolean {
    return draft.from === (this.writing ?? this.history).version
  }

  /** No draft waits any more. */
  noneWaits(): void {
    this.waiting = undefined
  }

  private async draftUpon(before: Draft | undefined, closes: readonly Prepared[]): Promise<Drafted> {
    const draft = new Draft(before?.basis ?? (await this.basis()), this.fileEvery)
    const digests: Write[] = []
    const results: AppendResult[] = []
    let refused: unknown
    for (const close of closes) {
      try {
        results.push(await this.add(close, draft, digests))
      } catch (error) {
        refused = error
        break
      }
    }
    return { draft, writes: [...digests, ...draft.finish()], results, refused }
  }

  /** What the next draft is made from if all drafts before it are in the store. */
  private async basis(): Promise<Basis> {
    const { history, fileEvery } = this
    const { head } = history
    if (!history.backlog.filing && isDue(head.filedCounts, head.counts, fileEvery))
      history.backlog = await history.readToWrite((reader) => takeUp(reader, fileEvery))
    return { head, tails: history.tails, backlog: history.backlog, version: history.version, befores: [] }
  }

  /** Adds a close to a draft, unless it is held. @throws what keeps it from being appended */
  private async add({ ledger, encoded, error }: Prepared, draft: Draft, digests: Write[]): Promise<AppendResult> {
    if (!ledger) throw error
    const { sequence } = ledger
    const { store } = this.history
    const held = draft.hashOf(sequence) ?? (await this.history.readToWrite((reader) => hashOf(reader, sequence)))
    const appended = follows(draft.head, ledger, held)
    if (appended) {
      if (!encoded) throw error
      await draft.add(encoded, store, this.history.cachedEdge)
      digests.push([digestKey(sequence), encodeDigest(sequence, digestOf(rowsOfClose(encoded)))])
    }
    return { sequence, hash: ledger.hash.toLowerCase(), appended }
  }

  /** Writes what was drafted, once nothing else is being written. */
  async commit({ draft, writes, results }: Drafted, durable: boolean): Promise<void> {
    const { history } = this
    if (draft.ledgers === 0) {
      history.version = draft.version
      draft.committed()
      // Someone is told that they are held: then that has to be on stable storage too.
      if (durable && history.unsynced && results.length > 0)
        await history.write([], history.head, true, () => history.highWater.reached(history.head))
      return
    }
    this.writing = draft
    await history.write(writes, inEra(history.store, draft.head, history.state.era), durable, () => {
      if (this.writing === draft) this.writing = undefined
      this.adopt(draft)
      if (durable) history.highWater.reached(history.head)
      history.listener.committed()
    })
  }

  /** What was drafted is history now. */
  private adopt(draft: Draft): void {
    const { history } = this
    const { cache } = history
    history.version = draft.version
    history.backlog = draft.committed()
    history.tails = draft.tails
    history.cacheFiled(draft.filed.toReversed())
    for (const { resource, number, block } of draft.blocks) cache.putBlock(resource, number, block)
  }
}
