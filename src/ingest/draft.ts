/**
 * A draft: what a batch of ledgers adds to a store, worked out before anything is written.
 * **Invariants:** until it is committed, a draft changes nothing from which it was made, except that it may prepare more of a filing; a ledger that
 * it refuses has changed nothing in it.
 */
import { text } from '../bytes.ts'
import { FolioError, invalidInput } from '../errors.ts'
import { Block } from '../layout/block.ts'
import { encodeBlock } from '../layout/encode-block.ts'
import { decodeHash, encodeHash } from '../layout/hash.ts'
import type { Head } from '../layout/head.ts'
import { blockKey, bookSellerKey, hashKey } from '../layout/keys.ts'
import type { PostingEdge } from '../layout/posting.ts'
import type { Row } from '../layout/row.ts'
import { SEAL_BYTES, seal, sumOf, unseal } from '../layout/seal.ts'
import type { Resource } from '../query.ts'
import { ledgers } from '../resources/ledger.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { Unfiled } from '../scan/unfiled.ts'
import type { Store, Write } from '../store.ts'
import { offerWrites } from './book.ts'
import type { EncodedClose } from './encode.ts'
import { type Backlog, type Bound, type FiledList, Filing, isDue } from './filing.ts'

/** The last, not yet full block of a log: the rows with which its next value starts. */
export interface Tail {
  readonly resource: Resource<any>
  readonly rows: readonly Row[]
}
export type Tails = ReadonlyMap<number, Tail>

/** A block as written: for the cache, and as the start of the next value if it is not full. */
export interface WrittenBlock {
  readonly resource: Resource<any>
  readonly number: number
  readonly block: Block
}

/** An offer changed by a draft. */
interface BookEntry {
  /** The seller whose book has it in the store, if any. */
  readonly held: string | undefined
  /** What is left of it, if anything. */
  row: Row | undefined
}

export class Draft {
  head: Head
  /** Ledgers added. */
  ledgers = 0
  /** The posting lists that were filed, by id. */
  readonly edges = new Map<string, FiledList>()
  /** The tails after what was added. */
  readonly tails: Map<number, { resource: Resource<any>; rows: Row[]; touched: boolean }>
  readonly blocks: WrittenBlock[] = []
  /** What waits, apart from `added`, and what is being filed of it. */
  private waiting: Unfiled
  private filing: Filing | undefined
  private added = new Unfiled()
  private readonly fileEvery: number
  private readonly counts: number[]
  private readonly writes: Write[] = []
  private readonly seenHashes = new Map<string, boolean>()
  private readonly book = new Map<bigint, BookEntry>()

  /**
   * @param backlog the backlog of the head; a filing in progress continues here
   * @param fileEvery how many records wait before lists are filed
   */
  constructor(head: Head, tails: Tails, { unfiled, filing }: Backlog, fileEvery: number) {
    this.fileEvery = fileEvery
    this.head = head
    this.waiting = unfiled
    this.filing = filing
    this.counts = head.counts.slice()
    this.tails = new Map(Array.from(tails, ([tag, { resource, rows }]) => [tag, { resource, rows: rows.slice(), touched: false }]))
  }

  /**
   * Adds a ledger. Everything it needs from the store is read in one call.
   * @param cachedEdge the edge of a posting list, if it is cached
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
    const { counts, own } = this.filingsOf(close)
    const left = await this.file({ sequence: close.sequence, counts }, own, store, cachedEdge)
    for (const [i, { id }] of changes.entries()) this.book.set(id, { held: sellers[i], row: undefined })
    if (this.ledgers === 0) this.added = left
    else this.added.take(left)
    this.apply(close, counts)
  }

  /** True if a hash entry names a transaction below the head: what lies above it does not exist. */
  private isHeld(key: Uint8Array, value: Uint8Array | undefined): boolean {
    if (value === undefined) return false
    const { ordinal, failed } = decodeHash(unseal(key, value), key)
    return ordinal < this.counts[failed ? failedTransactions.tag : transactions.tag]!
  }

  private refuseKnownHashes(close: EncodedClose): void {
    const own = new Set<string>()
    for (const { hash, place } of close.hashes) {
      if (own.has(hash)) throw invalidInput(close.sequence, place.path('hash'), 'a hash that no other transaction of the ledger has')
      if (this.seenHashes.get(hash))
        throw new FolioError('DUPLICATE_TRANSACTION', { ledger: close.sequence, path: place.path('hash'), hash })
      own.add(hash)
    }
  }

  /** What a ledger files, and the counts of every log after it. */
  private filingsOf(close: EncodedClose): { readonly counts: readonly number[]; readonly own: Unfiled } {
    const counts = this.counts.slice()
    const own = new Unfiled()
    for (const { resource, filings } of close.rows) {
      const ordinal = counts[resource.tag]!++
      for (const [index, key] of filings) own.add(index, key, ordinal)
    }
    counts[ledgers.tag]!++
    return { counts, own }
  }

  /**
   * Files what is due with the ledger that is about to be added.
   * @param own what the ledger itself files
   * @returns what remains of that to wait
   */
  private async file(ledger: Bound, own: Unfiled, store: Store, cachedEdge: (id: string) => PostingEdge | undefined): Promise<Unfiled> {
    const edgeOf = (id: string): PostingEdge | undefined => this.edges.get(id)?.edge ?? cachedEdge(id)
    let left = own
    // A filing begun before may end here, and what has come since then may be due.
    while (this.filing || isDue(this.head.filedCounts, ledger.counts, this.fileEvery)) {
      const filing = this.filing ?? new Filing(ledger, this.waiting.with(this.added, left), this.fileEvery)
      const isDone = await filing.advance(ledger.counts, store, edgeOf)
      if (!this.filing) {
        this.waiting = new Unfiled(filing.waiting)
        this.added = new Unfiled()
        left = new Unfiled()
      }
      this.filing = isDone ? undefined : filing
      if (!isDone) break
      const { bound, edges, pages } = filing
      for (const [id, list] of edges) this.edges.set(id, list)
      for (const page of pages) this.writes.push(page)
      this.head = { ...this.head, filed: bound.sequence, filedCounts: bound.counts }
      this.waiting = this.waiting.newer
    }
    return left
  }

  /** @param counts of every log after the ledger */
  private apply(close: EncodedClose, counts: readonly number[]): void {
    let ordinal = this.counts[transactions.tag]!
    let failedOrdinal = this.counts[failedTransactions.tag]!
    for (const { hash, failed } of close.hashes) {
      this.seenHashes.set(hash, true)
      const key = hashKey(hash)
      this.writes.push([key, seal(key, encodeHash({ ordinal: failed ? failedOrdinal++ : ordinal++, failed }))])
    }
    for (const { resource, row } of close.rows) this.push(resource, row)
    let top = BigInt(this.head.topOffer)
    for (const { id, row } of close.book) {
      this.book.get(id)!.row = row
      if (id > top) top = id
    }
    const topOffer = String(top)
    const { sequence: last, hash, closedAt } = close
    this.push(ledgers, close.ledgerRow([counts.join(), topOffer, String(this.head.filed)]))
    const start = this.head.last === 0 ? { first: last, oldest: last } : {}
    this.head = { ...this.head, ...start, last, hash, closedAt, counts, topOffer }
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

  /** What waits to be filed after this draft; call once. It adds to what waited before, which must not be used any more. */
  backlog(): Backlog {
    this.waiting.take(this.added)
    return { unfiled: this.waiting, filing: this.filing }
  }

  /** Everything to write except the head; call once, when no further ledger will be added. */
  finish(): Write[] {
    for (const [tag, { resource, rows, touched }] of this.tails)
      if (touched) this.writeBlock(resource, Math.floor(this.counts[tag]! / (1 << resource.shift)), rows)
    for (const { write } of this.edges.values()) this.writes.push(write)
    for (const [id, { held, row }] of this.book) this.writes.push(...offerWrites(id, row, held))
    return this.writes
  }
}
