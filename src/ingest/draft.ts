/**
 * A draft: what a batch of ledgers adds to a store, worked out before anything is written. It may be made while drafts before it are being written, or
 * wait for that: they are then part of what it is made from, whether the store shows them yet or not.
 * **Invariants:** until it is committed, a draft changes nothing from which it was made, except that it may prepare more of a filing; a ledger that
 * it refuses has changed nothing in it.
 */

import { FolioError, invalidInput } from '../errors.ts'
import type { Block } from '../layout/block.ts'
import { encodeAndKeep } from '../layout/encode-block.ts'
import { decodeHash, encodeHash } from '../layout/hash.ts'
import { decodeText, type Head } from '../layout/head.ts'
import { blockKey, bookSellerKey, hashKey } from '../layout/keys.ts'
import { ledgerSides } from '../layout/ledger-row.ts'
import { blockNumber, recordsPerBlock } from '../layout/ordinals.ts'
import type { Row } from '../layout/row.ts'
import type { Resource } from '../query.ts'
import { ledgers } from '../resources/ledger.ts'
import { offerChanges } from '../resources/offer.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { Unfiled } from '../scan/unfiled.ts'
import type { Store, Write } from '../store.ts'
import { offerWrites } from './book.ts'
import type { EncodedClose } from './encode.ts'
import { type Backlog, type Bound, type EdgeOf, type Edges, Filing, isDue } from './filing.ts'

/** The last, not yet full block of a log: the rows with which its next value starts. */
export interface Tail {
  readonly resource: Resource
  readonly rows: readonly Row[]
}
export type Tails = ReadonlyMap<number, Tail>

/** A block as written: for the cache, and as the start of the next value if it is not full. */
export interface WrittenBlock {
  readonly resource: Resource
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

/** What a ledger files, and how many records each log had before. */
interface Added {
  readonly unfiled: Unfiled
  readonly from: readonly number[]
}

function filed(all: readonly Added[]): Unfiled {
  const sum = new Unfiled()
  for (const { unfiled, from } of all) sum.addAll(unfiled, from)
  return sum
}

/** Stands for history as it is at a time: another object once it has moved. */
export type Version = object

/** What a draft is made from: history under a head, and the drafts that led to it and may not be in the store yet. */
export interface Basis {
  readonly head: Head
  readonly tails: Tails
  readonly backlog: Backlog
  readonly version: Version
  /** Newest first. */
  readonly befores: readonly Draft[]
}

/** What the first of several gives that gives anything. */
function found<T, R>(all: readonly T[], find: (one: T) => R | undefined): R | undefined {
  for (const one of all) {
    const result = find(one)
    if (result !== undefined) return result
  }
  return undefined
}

export class Draft {
  head: Head
  /** The hashes of the ledgers added, by sequence. */
  private readonly ledgerHashes = new Map<number, string>()
  /** The posting lists that were filed: of each filing that ended here, newest first. */
  readonly filed: Edges[] = []
  /** The tails after what was added. */
  readonly tails: Map<number, { resource: Resource; rows: Row[]; touched: boolean }>
  readonly blocks: WrittenBlock[] = []
  /** What waits, apart from what is `added`, and what is being filed of it. */
  private waiting: Unfiled
  private filing: Filing | undefined
  private added: Added[] = []
  /** A filing was begun here: it took up what the draft before added, and what waits is no longer what that draft will add to. */
  private waitsAnew = false
  private readonly fileEvery: number
  /** The version of history that it continues. */
  readonly from: Version
  /** The version that it makes of that: another one with each ledger, so that what was drafted upon fewer of them is not taken for current. */
  version: Version = {}
  /** What it was made from and may not be in the store yet, newest first; empty once this one is committed. */
  private befores: readonly Draft[]
  private isCommitted = false
  private readonly counts: number[]
  private readonly writes: Write[] = []
  private readonly seenHashes = new Map<string, boolean>()
  private readonly book = new Map<bigint, BookEntry>()

  /**
   * @param basis a filing in progress continues here
   * @param fileEvery how many records wait before lists are filed
   */
  constructor({ head, tails, backlog, version, befores }: Basis, fileEvery: number) {
    this.fileEvery = fileEvery
    this.from = version
    this.befores = befores
    this.head = head
    this.waiting = backlog.unfiled
    this.filing = backlog.filing
    this.counts = head.counts.slice()
    this.tails = new Map(Array.from(tails, ([tag, { resource, rows }]) => [tag, { resource, rows: rows.slice(), touched: false }]))
  }

  /** What the next draft is made from while this one waits to be written, or is being written. */
  get basis(): Basis {
    const { head, tails, waiting, filing, version } = this
    return { head, tails, backlog: { unfiled: waiting, filing }, version, befores: this.uncommitted }
  }

  /** Itself and what it was made from, as far as that is not in the store, newest first. */
  private get uncommitted(): Draft[] {
    return [this, ...this.befores].filter((draft) => !draft.isCommitted)
  }

  /**
   * True if history is still what this draft, and each before it, was made from.
   * @param writing the draft that is being written, if one is
   */
  continues(version: Version, writing: Draft | undefined): boolean {
    const { uncommitted } = this
    if (writing !== undefined && !uncommitted.includes(writing)) return false
    if (uncommitted.length === 0) return this.version === version
    return uncommitted.every(({ from }, at) => from === (uncommitted[at + 1]?.version ?? version))
  }

  /** How many ledgers were added. */
  get ledgers(): number {
    return this.ledgerHashes.size
  }

  /** The hash of one of its ledgers, or of those of the drafts before it. */
  hashOf(sequence: number): string | undefined {
    return this.ledgerHashes.get(sequence) ?? found(this.befores, ({ ledgerHashes }) => ledgerHashes.get(sequence))
  }

  /**
   * Adds a ledger. Everything it needs from the store is read in one call.
   * @throws DUPLICATE_TRANSACTION, INVALID_INPUT
   */
  async add(close: EncodedClose, store: Store, cachedEdge: EdgeOf): Promise<void> {
    const { befores } = this
    const hashes = close.hashes.filter(({ hash }) => !this.seenHashes.has(hash) && !this.isSeen(hash))
    // No offer with a higher id was ever in the book.
    const known = BigInt(this.head.topOffer)
    const changes = close.book.filter(({ id }) => id <= known && !this.book.has(id) && !befores.some(({ book }) => book.has(id)))
    const keys = [...hashes.map(({ hash }) => hashKey(hash)), ...changes.map(({ id }) => bookSellerKey(id))]
    const values = keys.length > 0 ? await store.getMany(keys) : []
    for (const [i, { hash }] of hashes.entries()) this.seenHashes.set(hash, this.isHeld(keys[i]!, values[i]))
    const sellers = values.slice(hashes.length).map((value, i) => value && decodeText(keys[hashes.length + i]!, value))
    this.refuseKnownHashes(close)
    const own = { unfiled: close.unfiled, from: this.counts.slice() }
    const counts = own.from.map((count, tag) => count + close.added[tag]!)
    if (await this.file({ sequence: close.sequence, counts }, own, store, cachedEdge)) this.added.push(own)
    for (const [i, { id }] of changes.entries()) this.book.set(id, { held: sellers[i], row: undefined })
    for (const { id } of close.book)
      if (!this.book.has(id)) {
        const changed = found(befores, ({ book }) => book.get(id))
        this.book.set(id, { held: changed?.row?.sides[offerChanges.columns.seller], row: undefined })
      }
    this.apply(close, counts)
  }

  /** True if a hash entry names a transaction below the head: what lies above it does not exist. */
  private isHeld(key: Uint8Array, value: Uint8Array | undefined): boolean {
    if (value === undefined) return false
    const { ordinal, failed } = decodeHash(key, value)
    return ordinal < this.counts[failed ? failedTransactions.tag : transactions.tag]!
  }

  /** True if a ledger added here, or to a draft before, has a transaction with this hash, or the store was seen to have one. */
  private isSeen(hash: string): boolean {
    return this.seenHashes.get(hash) || this.befores.some(({ seenHashes }) => seenHashes.get(hash))
  }

  private refuseKnownHashes(close: EncodedClose): void {
    const own = new Set<string>()
    for (const { hash, spot } of close.hashes) {
      if (own.has(hash)) throw invalidInput(close.sequence, spot.path('hash'), 'a hash that no other transaction of the ledger has')
      if (this.isSeen(hash)) throw new FolioError('DUPLICATE_TRANSACTION', { ledger: close.sequence, path: spot.path('hash'), hash })
      own.add(hash)
    }
  }

  /**
   * Files what is due with the ledger that is about to be added.
   * @param own what the ledger files
   * @returns whether that has to wait
   */
  private async file(ledger: Bound, own: Added, store: Store, cachedEdge: EdgeOf): Promise<boolean> {
    const drafts = [this, ...this.befores.filter(({ filed }) => filed.length > 0)]
    const edgeOf: EdgeOf = (list) => found(drafts, ({ filed }) => found(filed, (edges) => edges.get(list.id))) ?? cachedEdge(list)
    let waits = true
    // A filing begun before may end here, and what has come since then may be due.
    while (this.filing || isDue(this.head.filedCounts, ledger.counts, this.fileEvery)) {
      const filing =
        this.filing ??
        new Filing(ledger, this.waiting.with(filed([...this.notYetWaiting, ...this.added, ...(waits ? [own] : [])])), this.fileEvery)
      const isDone = await filing.advance(ledger.counts, store, edgeOf)
      if (!this.filing) {
        this.waiting = new Unfiled(filing.waiting)
        this.waitsAnew = true
        this.added = []
        waits = false
      }
      this.filing = isDone ? undefined : filing
      if (!isDone) break
      const { bound, edges, writes } = filing
      this.filed.unshift(edges)
      for (const write of writes) this.writes.push(write)
      this.head = { ...this.head, filed: bound.sequence, filedCounts: bound.counts }
      this.waiting = this.waiting.newer
    }
    return waits
  }

  /** What the drafts before this one add to what waits as soon as they are committed. */
  private get notYetWaiting(): readonly Added[] {
    const before = this.waitsAnew ? [] : this.uncommitted.slice(1)
    const anew = before.findIndex(({ waitsAnew }) => waitsAnew)
    return (anew < 0 ? before : before.slice(0, anew + 1)).reverse().flatMap(({ added }) => added)
  }

  /** @param counts of every log after the ledger */
  private apply(close: EncodedClose, counts: readonly number[]): void {
    let ordinal = this.counts[transactions.tag]!
    let failedOrdinal = this.counts[failedTransactions.tag]!
    for (const { hash, failed } of close.hashes) {
      this.seenHashes.set(hash, true)
      const key = hashKey(hash)
      this.writes.push([key, encodeHash(key, { ordinal: failed ? failedOrdinal++ : ordinal++, failed })])
    }
    for (const row of close.rows) this.push(row.resource, row)
    let top = BigInt(this.head.topOffer)
    for (const { id, row } of close.book) {
      this.book.get(id)!.row = row
      if (id > top) top = id
    }
    const topOffer = String(top)
    const { sequence: last, hash, closedAt } = close
    this.push(ledgers, close.ledgerRow(ledgerSides(counts, topOffer, this.head.filed)))
    const start = this.head.last === 0 ? { first: last, oldest: last } : {}
    this.head = { ...this.head, ...start, last, hash, closedAt, counts, topOffer }
    this.ledgerHashes.set(last, hash)
    this.version = {}
  }

  private push(resource: Resource, row: Row): void {
    const { tag } = resource
    const tail = this.tails.get(tag) ?? { resource, rows: [], touched: true }
    tail.rows.push(row)
    tail.touched = true
    this.tails.set(tag, tail)
    const count = ++this.counts[tag]!
    if (tail.rows.length < recordsPerBlock(resource)) return
    this.writeBlock(resource, blockNumber(resource, count - 1), tail.rows)
    this.tails.set(tag, { resource, rows: [], touched: false })
  }

  private writeBlock(resource: Resource, number: number, rows: readonly Row[]): void {
    const key = blockKey(resource.tag, number)
    const { value, block } = encodeAndKeep(key, resource, rows)
    this.writes.push([key, value])
    this.blocks.push({ resource, number, block })
  }

  /** What waits to be filed now that this draft is in the store; call once. It adds to what waited before, which must not be used any more. */
  committed(): Backlog {
    for (const { unfiled, from } of this.added) this.waiting.addAll(unfiled, from)
    this.isCommitted = true
    this.befores = []
    return { unfiled: this.waiting, filing: this.filing }
  }

  /** Everything to write except the head; call once, when no further ledger will be added. Of a list that two filings wrote, the last write counts. */
  finish(): Write[] {
    for (const [tag, { resource, rows, touched }] of this.tails)
      if (touched) this.writeBlock(resource, blockNumber(resource, this.counts[tag]!), rows)
    for (const [id, { held, row }] of this.book) this.writes.push(...offerWrites(id, row, held))
    return this.writes
  }
}
