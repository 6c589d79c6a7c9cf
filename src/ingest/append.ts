/**
 * Appending: closes are checked against what is held and drafted, and the draft is committed in one batch with the head. While that is being written,
 * the next draft may be made from it.
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
  private ahead: Draft | undefined

  constructor(history: History, fileEvery: number) {
    this.history = history
    this.fileEvery = fileEvery
  }

  /** Drafts closes: all of them, or those before the first that is refused. */
  async draft(closes: readonly Prepared[]): Promise<Drafted> {
    const draft = new Draft(await this.basis(), this.fileEvery)
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

  /** What the next draft is made from. */
  private async basis(): Promise<Basis> {
    if (this.ahead) return this.ahead.basis
    const { history, fileEvery } = this
    const { head } = history
    if (!history.backlog.filing && isDue(head.filedCounts, head.counts, fileEvery))
      history.backlog = await history.readToWrite((reader) => takeUp(reader, fileEvery))
    return { head, tails: history.tails, backlog: history.backlog }
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
      // Someone is told that they are held: then that has to be on stable storage too.
      if (durable && history.unsynced && results.length > 0)
        await history.write([], history.head, true, () => history.highWater.reached(history.head))
      return
    }
    this.ahead = draft
    await history.write(writes, inEra(history.store, draft.head, history.state.era), durable, () => {
      if (this.ahead === draft) this.ahead = undefined
      this.adopt(draft)
      if (durable) history.highWater.reached(history.head)
      history.listener.committed()
    })
  }

  /** What was drafted is history now. */
  private adopt(draft: Draft): void {
    const { history } = this
    const { cache } = history
    history.backlog = draft.committed()
    history.tails = draft.tails
    history.cacheFiled(draft.edges)
    for (const { resource, number, block } of draft.blocks) cache.putBlock(resource, number, block)
  }
}
