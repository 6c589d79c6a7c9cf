/**
 * The one writer of a store: checks a ledger close, drafts it, and commits it in one batch with the head.
 * **Invariants:** calls are carried out in call order; the head in memory is the head in the store; after a write that failed, what the store
 * holds is uncertain, so nothing more is written until it is opened again.
 */
import { text } from '../bytes.ts'
import { FolioError } from '../errors.ts'
import { Block } from '../layout/block.ts'
import type { Cache } from '../layout/cache.ts'
import { encodeHead, encodeIntent, type Head } from '../layout/head.ts'
import { blockKey, HEAD, INTENT } from '../layout/keys.ts'
import type { PostingEdge } from '../layout/posting.ts'
import { corrupt, unseal } from '../layout/seal.ts'
import type { Resource } from '../query.ts'
import { ledgers } from '../resources/ledger.ts'
import { blockId, cachedEdge, heldEdge, type Reader } from '../scan/reader.ts'
import type { Store, Write } from '../store.ts'
import { checkClose, follows, type LedgerClose } from './close.ts'
import { Draft, type Tail, type Tails } from './draft.ts'
import { encodeClose } from './encode.ts'
import { undoNewest } from './rollback.ts'

export interface AppendResult {
  readonly sequence: number
  readonly hash: string
  /** False where the ledger was held already, and nothing was written. */
  readonly appended: boolean
}

export interface AppendOptions {
  /** Resolve only when the ledger is on stable storage. Default true. */
  readonly durable?: boolean
}

/** Who is told when history has moved, each time readers can see it. */
export interface Told {
  committed(): void
  rolledBack(last: number): void
}

export class LedgerWriter {
  head: Head
  private readonly store: Store
  private readonly cache: Cache
  private readonly logs: readonly Resource<any>[]
  private readonly told: Told
  private tails: Tails = new Map()
  private headBytes: Uint8Array | undefined
  private queue: Promise<unknown> = Promise.resolve()
  private failure: unknown

  constructor(store: Store, cache: Cache, logs: readonly Resource<any>[], head: Head, headBytes: Uint8Array | undefined, told: Told) {
    this.store = store
    this.cache = cache
    this.logs = logs
    this.head = head
    this.headBytes = headBytes
    this.told = told
  }

  /** Reads the rows that the next blocks start with. */
  async loadTails(): Promise<void> {
    const tails = new Map<number, Tail>()
    for (const resource of this.logs) {
      const count = this.head.counts[resource.tag]!
      const rest = count % (1 << resource.shift)
      if (rest === 0) continue
      const key = blockKey(resource.tag, Math.floor(count / (1 << resource.shift)))
      const value = await this.store.get(key)
      if (value === undefined) throw corrupt(key, `the last block of the ${resource.name} log is missing`)
      const block = new Block(resource, unseal(key, value), key)
      if (block.count < rest) throw corrupt(key, `the last block of the ${resource.name} log lacks records`)
      tails.set(resource.tag, { resource, rows: Array.from({ length: rest }, (_, at) => block.row(at)) })
    }
    this.tails = tails
  }

  /** Runs `work` when everything asked for before it is done. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.queue.then(work)
    this.queue = done.catch(() => {})
    return done
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.queue
  }

  /** Appends ledgers in one batch: all of them, or those before the first that is refused, whose error is then thrown. */
  async append(closes: readonly unknown[], reader: () => Reader, durable: boolean): Promise<AppendResult[]> {
    if (this.failure) throw new FolioError('POISONED', {}, this.failure)
    const draft = new Draft(this.head, this.tails)
    const results: AppendResult[] = []
    let refused: unknown
    for (const close of closes) {
      try {
        checkClose(close)
        const { sequence } = close.ledger
        const held = await this.heldHash(sequence, reader)
        const appended = follows(draft.head, close.ledger, (asked) => (asked === draft.head.last ? draft.head.hash : held))
        if (appended) await draft.add(encodeClose(close as LedgerClose), this.store, (id) => this.cachedEdge(id))
        results.push({ sequence, hash: close.ledger.hash.toLowerCase(), appended })
      } catch (error) {
        refused = error
        break
      }
    }
    if (draft.ledgers > 0) await this.commit(draft, durable)
    if (refused) throw refused
    return results
  }

  private cachedEdge(id: string): PostingEdge | undefined {
    return this.store.capabilities.shared ? undefined : cachedEdge(this.cache, id)
  }

  private async heldHash(sequence: number, reader: () => Reader): Promise<string | undefined> {
    const { head } = this
    if (head.last === 0 || sequence >= head.last || sequence < head.oldest) return undefined
    return reader().run((read) => {
      const { block, at } = read.at(ledgers, sequence - head.first)
      return (JSON.parse(`{${text(block.text(at))}}`) as { hash: string }).hash
    })
  }

  private async commit(draft: Draft, durable: boolean): Promise<void> {
    await this.write(draft.finish(), draft.head, durable)
    for (const { resource, number, block } of draft.blocks) {
      block.grew = (bytes) => this.cache.grew(bytes)
      this.cache.put(blockId(resource.tag, number), block)
    }
    for (const [id, { edge }] of draft.edges) this.cache.put(id, heldEdge(edge, draft.head.last))
    this.tails = draft.nextTails()
    this.told.committed()
  }

  /**
   * Removes every ledger after `sequence`, newest first, a batch each; the intent is kept until the last, so that an open can finish it.
   * @throws GONE_BEFORE_HISTORY where ledgers that were pruned would have to come back
   */
  async rollback(sequence: number, reader: () => Reader): Promise<number> {
    if (this.failure) throw new FolioError('POISONED', {}, this.failure)
    const { oldest, first } = this.head
    if (sequence < oldest - 1 && oldest > first) throw new FolioError('GONE_BEFORE_HISTORY', { ledger: sequence, oldest })
    let removed = 0
    for (; this.head.last > sequence && this.head.last > 0; removed++) {
      const { writes, head } = await reader().run((read) => undoNewest(read, this.logs))
      const done = head.last <= sequence || head.last === 0
      const intent: Write = [INTENT, done ? undefined : encodeIntent({ rollback: sequence })]
      this.cache.clear()
      await this.write([intent, ...writes], head, true)
      this.cache.clear()
    }
    if (removed === 0) await this.store.write([[INTENT, undefined]], { durable: true })
    else {
      await this.loadTails()
      this.told.rolledBack(this.head.last)
    }
    return removed
  }

  /** Writes a batch that ends in a new head, and takes that head on. */
  async write(batch: readonly Write[], head: Head, durable: boolean): Promise<void> {
    const value = encodeHead(head)
    try {
      await this.store.write(batch, { durable, expect: { key: HEAD, value: this.headBytes } })
    } catch (error) {
      this.failure = error
      throw error
    }
    this.head = head
    this.headBytes = value
  }
}
