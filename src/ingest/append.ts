/**
 * Appending: closes are checked against what is held and drafted, and the draft is committed in one batch with the head. While that waits to be
 * written, or is being written, the next draft may be made from it.
 */

import { encodeDigest } from '../layout/digest.ts'
import { digestKey } from '../layout/keys.ts'
import type { Write } from '../store.ts'
import { giveWay } from '../turn.ts'
import { type AppendResult, follows } from './close.ts'
import { type Basis, Draft } from './draft.ts'
import type { Prepared } from './encode.ts'
import { isDue, takeUp } from './filing.ts'
import type { History } from './history.ts'
import { digestOf, rowsOfClose } from './line.ts'
import { hashOf } from './load.ts'

export interface Appended {
  readonly results: readonly AppendResult[]
  /** Why the ledger after those was refused, if one was. */
  readonly refused: unknown
}

/** Closes that were drafted, to be written as one batch. More may be added until then. */
export class Drafted implements Appended {
  readonly results: AppendResult[] = []
  refused: unknown
  readonly digests: Write[] = []
  readonly draft: Draft

  constructor(draft: Draft) {
    this.draft = draft
  }
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
  async draft(closes: readonly Prepared[]): Promise<Drafted> {
    const drafted = await this.upon(this.writing)
    await this.extend(drafted, closes)
    return drafted
  }

  /** The same for a draft that is committed only after all that wait. Undefined if these do not continue history any more. */
  async draftBehind(closes: readonly Prepared[]): Promise<Drafted | undefined> {
    if (this.waiting && !this.isCurrent(this.waiting)) return undefined
    const drafted = await this.upon(this.waiting ?? this.writing)
    await this.extend(drafted, closes)
    this.waiting = drafted.draft
    return drafted
  }

  /** Drafts those of its closes that are not in a draft yet. @param closes all of them, those that are first */
  async extend(drafted: Drafted, closes: readonly Prepared[]): Promise<void> {
    const { results, draft, digests } = drafted
    while (results.length < closes.length && drafted.refused === undefined)
      try {
        // A batch may be many ledgers, and a store that answers at once never lets others have their turn.
        await giveWay()
        results.push(await this.add(closes[results.length]!, draft, digests))
      } catch (error) {
        drafted.refused = error
      }
  }

  /** True if history is still what a draft, and those that wait before it, were made from. */
  isCurrent(draft: Draft): boolean {
    return draft.continues(this.history.version, this.writing)
  }

  /** True if a draft may be the next to be committed: it was made from history as it is once what is being written is part of it. */
  isNext(draft: Draft): boolean {
    return draft.from === (this.writing ?? this.history).version
  }

  /** No draft waits any more. */
  noneWaits(): void {
    this.waiting = undefined
  }

  private async upon(before: Draft | undefined): Promise<Drafted> {
    return new Drafted(new Draft(before?.basis ?? (await this.basis()), this.fileEvery))
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
  async commit({ draft, digests, results }: Drafted, durable: boolean): Promise<void> {
    const { history } = this
    if (draft.ledgers === 0) {
      history.version = draft.version
      draft.committed()
      // Someone is told that they are held: then that has to be on stable storage too.
      if (durable && history.unsynced && results.length > 0) await history.write([], history.head, true, () => history.reached())
      return
    }
    const writes = [...digests, ...draft.finish()]
    this.writing = draft
    await history.write(writes, history.inEra(draft.head), durable, () => {
      if (this.writing === draft) this.writing = undefined
      this.adopt(draft)
      if (durable) history.reached()
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
