/**
 * A draft: what a batch of ledgers adds to a store, worked out before anything is written.
 * **Invariants:** a draft never changes what it was made from; a ledger that it refuses has changed nothing in it.
 */
import { text } from '../bytes.ts'
import { FolioError, invalidInput } from '../errors.ts'
import { Block } from '../layout/block.ts'
import { encodeBlock } from '../layout/encode-block.ts'
import { decodeHash, encodeHash } from '../layout/hash.ts'
import { encodeHead, type Head } from '../layout/head.ts'
import { blockKey, bookSellerKey, HEAD, hashKey, postingKey } from '../layout/keys.ts'
import { decodeEdge, PostingEdge } from '../layout/posting.ts'
import type { Row } from '../layout/row.ts'
import { SEAL_BYTES, seal, sumOf, unseal } from '../layout/seal.ts'
import { eachFiling } from '../logs.ts'
import type { Index, Resource } from '../query.ts'
import { ledgers } from '../resources/ledger.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { type Filing, listId, Unfiled } from '../scan/unfiled.ts'
import type { Store, Write } from '../store.ts'
import type { Element } from '../tuple.ts'
import { offerWrites } from './book.ts'
import type { EncodedClose } from './encode.ts'
import { appendTo, edgeWrite } from './filing.ts'

/** The last, not yet full block of a log: the rows that its next value starts with. */
export interface Tail {
  readonly resource: Resource<any>
  readonly rows: readonly Row[]
}
export type Tails = ReadonlyMap<number, Tail>

/** A block as written: for the cache, and as the start of the next value where it is not full. */
export interface WrittenBlock {
  readonly resource: Resource<any>
  readonly number: number
  readonly block: Block
}

/** An offer that a draft changes. */
interface BookEntry {
  /** Whose it is in the store, where it is in its book. */
  readonly held: string | undefined
  /** What is left of it, if anything. */
  row: Row | undefined
}

const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

export class Draft {
  head: Head
  /** Ledgers added. */
  ledgers = 0
  /** True once lists were filed: then nothing waits but what was added since. */
  filed = false
  /** True while lists are being filed, and for ever where that failed: then the head is ahead of its lists, and nothing may be written. */
  filing = false
  /** The posting lists that were filed, as they will be. */
  readonly edges = new Map<string, { readonly index: Index<any>; readonly key: readonly Element[]; readonly edge: PostingEdge }>()
  /** The tails after what was added. */
  readonly tails: Map<number, { resource: Resource<any>; rows: Row[]; touched: boolean }>
  readonly blocks: WrittenBlock[] = []
  private readonly before: Unfiled
  /** Of the ledgers added, since the last time that lists were filed. */
  private added = new Unfiled()
  private readonly fileEvery: number
  private readonly counts: number[]
  private readonly writes: Write[] = []
  private readonly seenHashes = new Map<string, boolean>()
  private readonly book = new Map<bigint, BookEntry>()

  /** @param fileEvery records that wait at the most before the posting lists in the store are brought up to date */
  constructor(head: Head, tails: Tails, unfiled: Unfiled, fileEvery: number) {
    this.fileEvery = fileEvery
    this.head = head
    this.before = unfiled
    this.counts = head.counts.slice()
    this.tails = new Map(Array.from(tails, ([tag, { resource, rows }]) => [tag, { resource, rows: rows.slice(), touched: false }]))
  }

  /**
   * Adds a ledger. What has to be known of the store is read in one call.
   * @param cachedEdge the edge of a posting list, where it is at hand
   * @throws DUPLICATE_TRANSACTION, INVALID_INPUT
   */
  async add(close: EncodedClose, store: Store, cachedEdge: (id: string) => PostingEdge | undefined): Promise<void> {
    const hashes = close.hashes.filter(({ hash }) => !this.seenHashes.has(hash))
    const changes = close.book.filter(({ id }) => !this.book.has(id))
    const keys = [...hashes.map(({ hash }) => hashKey(hash)), ...changes.map(({ id }) => bookSellerKey(id))]
    const values = keys.length > 0 ? await store.getMany(keys) : []
    for (const [i, { hash }] of hashes.entries()) this.seenHashes.set(hash, this.isHeld(keys[i]!, values[i]))
    const sellers = values.slice(hashes.length).map((value, i) => value && text(unseal(keys[hashes.length + i]!, value)))
    this.refuseKnownHashes(close)
    for (const [i, { id }] of changes.entries()) this.book.set(id, { held: sellers[i], row: undefined })
    this.apply(close)
    if (this.head.filed === close.sequence) await this.file(store, cachedEdge)
  }

  /** True where a hash entry names a transaction below the head: what lies above it is not there. */
  private isHeld(key: Uint8Array, value: Uint8Array | undefined): boolean {
    if (value === undefined) return false
    const { ordinal, failed } = decodeHash(unseal(key, value), key)
    return ordinal < this.counts[failed ? failedTransactions.tag : transactions.tag]!
  }

  private refuseKnownHashes(close: EncodedClose): void {
    const own = new Set<string>()
    for (const { hash, path } of close.hashes) {
      if (own.has(hash)) throw invalidInput(close.sequence, path, 'a hash that no other transaction of the ledger has')
      if (this.seenHashes.get(hash)) throw new FolioError('DUPLICATE_TRANSACTION', { ledger: close.sequence, path, hash })
      own.add(hash)
    }
  }

  private apply(close: EncodedClose): void {
    let ordinal = this.counts[transactions.tag]!
    let failedOrdinal = this.counts[failedTransactions.tag]!
    for (const { hash, failed } of close.hashes) {
      this.seenHashes.set(hash, true)
      const key = hashKey(hash)
      this.writes.push([key, seal(key, encodeHash({ ordinal: failed ? failedOrdinal++ : ordinal++, failed }))])
    }
    for (const { resource, row, input } of close.rows) {
      const own = this.counts[resource.tag]!
      eachFiling(resource, input, row.sides, (index, key) => this.added.add(index, key, own))
      this.push(resource, row)
    }
    let top = BigInt(this.head.topOffer)
    for (const { id, row } of close.book) {
      this.book.get(id)!.row = row
      if (id > top) top = id
    }
    const topOffer = String(top)
    const counts = this.counts.slice()
    counts[ledgers.tag]!++
    const { sequence: last, hash, closedAt } = close
    const due = total(counts) - total(this.head.filedCounts) >= this.fileEvery
    const filed = due ? { filed: last, filedCounts: counts } : { filed: this.head.filed, filedCounts: this.head.filedCounts }
    this.push(ledgers, close.ledgerRow([counts.join(), topOffer, String(filed.filed)]))
    const start = this.head.last === 0 ? { first: last, oldest: last } : {}
    this.head = { ...this.head, ...start, last, hash, closedAt, counts, topOffer, ...filed }
    this.ledgers++
  }

  private push(resource: Resource<any>, row: Row): void {
    const { tag, shift } = resource
    const tail = this.tails.get(tag) ?? { resource, rows: [], touched: true }
    tail.rows.push(row)
    tail.touched = true
    this.tails.set(tag, tail)
    const count = ++this.counts[tag]!
    if (tail.rows.length < 1 << shift) return
    this.writeBlock(resource, count / (1 << shift) - 1, tail.rows)
    this.tails.set(tag, { resource, rows: [], touched: false })
  }

  private writeBlock(resource: Resource<any>, number: number, rows: readonly Row[]): void {
    const key = blockKey(resource.tag, number)
    const value = encodeBlock(resource, rows)
    this.writes.push([key, seal(key, value)])
    this.blocks.push({ resource, number, block: Block.of(resource, value.subarray(0, value.length - SEAL_BYTES), key, sumOf(value)) })
  }

  /** Files everything that waits into the posting lists. */
  private async file(store: Store, cachedEdge: (id: string) => PostingEdge | undefined): Promise<void> {
    this.filing = true
    const waiting = this.filed ? this.added : this.before.with(this.added)
    const lists: { readonly id: string; readonly filing: Filing; edge: PostingEdge | undefined }[] = []
    for (const filing of waiting.all()) {
      const id = listId(filing.index.tag, filing.key)
      lists.push({ id, filing, edge: this.edges.get(id)?.edge ?? cachedEdge(id) })
    }
    const unknown = lists.filter(({ edge }) => edge === undefined)
    const keys = unknown.map(({ filing: { index, key } }) => postingKey(index.tag, key))
    const values = keys.length > 0 ? await store.getMany(keys) : []
    for (const [i, list] of unknown.entries()) {
      const [key, value] = [keys[i]!, values[i]]
      list.edge = value ? decodeEdge(unseal(key, value), key) : PostingEdge.empty
    }
    for (const { id, filing, edge } of lists) {
      const { index, key, ordinals } = filing
      this.edges.set(id, { index, key, edge: appendTo(edge!, index, key, ordinals, this.writes) })
    }
    this.added = new Unfiled()
    this.filed = true
    this.filing = false
  }

  /** What waits to be filed after this draft, where `before` waited before it: that is added to, and not to be used any more. */
  waiting(before: Unfiled): Unfiled {
    if (this.filed) return this.added
    before.take(this.added)
    return before
  }

  /** Everything to write, the head last; call once, when no further ledger is to be added. */
  finish(): Write[] {
    for (const [tag, { resource, rows, touched }] of this.tails)
      if (touched) this.writeBlock(resource, Math.floor(this.counts[tag]! / (1 << resource.shift)), rows)
    for (const { index, key, edge } of this.edges.values()) this.writes.push(edgeWrite(index, key, edge))
    for (const [id, { held, row }] of this.book) this.writes.push(...offerWrites(id, row, held))
    this.writes.push([HEAD, encodeHead(this.head)])
    return this.writes
  }
}
