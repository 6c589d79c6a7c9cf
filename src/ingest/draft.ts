/**
 * A draft: what a batch of ledgers adds to a store, worked out before anything is written.
 * **Invariants:** a draft never changes what it was made from; a ledger that it refuses has changed nothing in it.
 */
import { text } from '../bytes.ts'
import { FolioError, invalidInput } from '../errors.ts'
import { Block, encodeBlock, type Row } from '../layout/block.ts'
import { encodeHash } from '../layout/hash.ts'
import { encodeHead, encodeText, type Head } from '../layout/head.ts'
import { blockKey, bookKey, bookSellerKey, HEAD, hashKey, postingKey, postingPageKey } from '../layout/keys.ts'
import { decodeEdge, encodeEdge, encodePage, PostingEdge } from '../layout/posting.ts'
import { SEAL_BYTES, seal, unseal } from '../layout/seal.ts'
import type { Index, Resource } from '../query.ts'
import { ledgers } from '../resources/ledger.ts'
import { offers } from '../resources/offer.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { edgeId } from '../scan/reader.ts'
import { after, type MaybePromise, type Store, type Write } from '../store.ts'
import type { Element } from '../tuple.ts'
import type { EncodedClose } from './encode.ts'

/** The last, not yet full block of a log: the rows that its next value starts with. */
export interface Tail {
  readonly resource: Resource<any>
  readonly rows: readonly Row[]
}
export type Tails = ReadonlyMap<number, Tail>

interface ListTouch {
  readonly index: Index<any>
  readonly key: readonly Element[]
  readonly ordinals: number[]
}

/** A block as written: for the cache, and as the start of the next value where it is not full. */
export interface WrittenBlock {
  readonly resource: Resource<any>
  readonly number: number
  readonly block: Block
}

export class Draft {
  head: Head
  /** Ledgers added. */
  ledgers = 0
  /** The posting lists that were touched, as they will be. */
  readonly edges = new Map<string, { readonly index: Index<any>; readonly key: readonly Element[]; edge: PostingEdge }>()
  readonly blocks: WrittenBlock[] = []
  private readonly tails: Map<number, { resource: Resource<any>; rows: Row[]; touched: boolean }>
  private readonly counts: number[]
  private readonly writes: Write[] = []
  private readonly seenHashes = new Map<string, boolean>()
  private readonly sellers = new Map<bigint, string | undefined>()
  private readonly book = new Map<string, Write>()

  constructor(head: Head, tails: Tails) {
    this.head = head
    this.counts = head.counts.slice()
    this.tails = new Map(Array.from(tails, ([tag, { resource, rows }]) => [tag, { resource, rows: rows.slice(), touched: false }]))
  }

  /**
   * Adds a ledger. What it touches and is not at hand is read from the store in one call.
   * @param cachedEdge the edge of a posting list, where it is at hand
   * @throws DUPLICATE_TRANSACTION, INVALID_INPUT
   */
  add(close: EncodedClose, store: Store, cachedEdge: (id: string) => PostingEdge | undefined): MaybePromise<void> {
    const lists = this.gather(close)
    const keys: Uint8Array[] = []
    const uses: ((value: Uint8Array | undefined) => void)[] = []
    const want = (key: Uint8Array, use: (value: Uint8Array | undefined) => void): void => {
      keys.push(key)
      uses.push(use)
    }
    for (const [id, { index, key }] of lists) {
      if (this.edges.has(id)) continue
      const edge = cachedEdge(id)
      if (edge) this.edges.set(id, { index, key, edge })
      else {
        const at = postingKey(index.tag, key)
        want(at, (value) => this.edges.set(id, { index, key, edge: value ? decodeEdge(unseal(at, value), at) : PostingEdge.empty }))
      }
    }
    for (const { hash } of close.hashes)
      if (!this.seenHashes.has(hash)) want(hashKey(hash), (value) => this.seenHashes.set(hash, value !== undefined))
    for (const { id } of close.book) {
      const at = bookSellerKey(id)
      if (!this.sellers.has(id)) want(at, (value) => this.sellers.set(id, value && text(unseal(at, value))))
    }
    return after(keys.length ? store.getMany(keys) : [], (values) => {
      for (const [i, use] of uses.entries()) use(values[i])
      this.refuseKnownHashes(close)
      this.apply(close, lists)
    })
  }

  /** The posting lists that the ledger touches, with the ordinals to file. */
  private gather(close: EncodedClose): Map<string, ListTouch> {
    const lists = new Map<string, ListTouch>()
    const next = this.counts.slice()
    for (const { resource, filings } of close.rows) {
      const ordinal = next[resource.tag]!++
      for (const [index, key] of filings) {
        const id = edgeId(index.tag, key)
        const list = lists.get(id)
        if (list) list.ordinals.push(ordinal)
        else lists.set(id, { index, key, ordinals: [ordinal] })
      }
    }
    return lists
  }

  private refuseKnownHashes(close: EncodedClose): void {
    const own = new Set<string>()
    for (const { hash, path } of close.hashes) {
      if (own.has(hash)) throw invalidInput(close.sequence, path, 'a hash that no other transaction of the ledger has')
      if (this.seenHashes.get(hash)) throw new FolioError('DUPLICATE_TRANSACTION', { ledger: close.sequence, path, hash })
      own.add(hash)
    }
  }

  private apply(close: EncodedClose, lists: Map<string, ListTouch>): void {
    for (const { hash } of close.hashes) this.seenHashes.set(hash, true)
    let ordinal = this.counts[transactions.tag]!
    let failedOrdinal = this.counts[failedTransactions.tag]!
    for (const { hash, failed } of close.hashes) {
      const key = hashKey(hash)
      this.writes.push([key, seal(key, encodeHash({ ordinal: failed ? failedOrdinal++ : ordinal++, failed }))])
    }
    for (const { resource, row } of close.rows) this.push(resource, row)
    for (const [id, { index, key, ordinals }] of lists) {
      const held = this.edges.get(id)!
      held.edge = held.edge.append(ordinals, (level, page, entries) => {
        const at = postingPageKey(index.tag, key, level, page)
        this.writes.push([at, seal(at, encodePage(entries))])
      })
    }
    let top = BigInt(this.head.topOffer)
    for (const change of close.book) {
      this.changeBook(change)
      if (change.id > top) top = change.id
    }
    const topOffer = String(top)
    const ends = this.counts.slice()
    ends[ledgers.tag]!++
    this.push(ledgers, close.ledgerRow([ends.join(), topOffer]))
    const { sequence: last, hash, closedAt } = close
    const start = this.head.last === 0 ? { first: last, oldest: last } : {}
    this.head = { ...this.head, ...start, last, hash, closedAt, counts: ends, topOffer }
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
    this.blocks.push({ resource, number, block: new Block(resource, value.subarray(0, value.length - SEAL_BYTES), key) })
  }

  private changeBook({ id, seller, row }: EncodedClose['book'][number]): void {
    const before = this.sellers.get(id)
    const put = (key: Uint8Array, value: Uint8Array | undefined) => this.book.set(key.join(), [key, value])
    const sellerKey = bookSellerKey(id)
    if (before !== undefined && (row === undefined || seller !== before)) put(bookKey(before, id), undefined)
    if (row !== undefined) {
      const key = bookKey(seller, id)
      put(key, seal(key, encodeBlock(offers, [row])))
      put(sellerKey, seal(sellerKey, encodeText(seller)))
    } else if (before !== undefined) put(sellerKey, undefined)
    this.sellers.set(id, row && seller)
  }

  /** Everything to write, the head last; call once, when no further ledger is to be added. */
  finish(): Write[] {
    for (const [tag, { resource, rows, touched }] of this.tails)
      if (touched) this.writeBlock(resource, Math.floor(this.counts[tag]! / (1 << resource.shift)), rows)
    for (const { index, key, edge } of this.edges.values()) {
      const at = postingKey(index.tag, key)
      this.writes.push([at, seal(at, encodeEdge(edge))])
    }
    this.writes.push(...this.book.values(), [HEAD, encodeHead(this.head)])
    return this.writes
  }

  /** The tails after this draft, their texts now bytes of the written blocks. */
  nextTails(): Tails {
    const written = new Map(this.blocks.map(({ resource, block }) => [resource.tag, block]))
    return new Map(
      Array.from(this.tails, ([tag, { resource, rows, touched }]) => {
        const block = touched ? written.get(tag) : undefined
        return [tag, { resource, rows: block ? rows.map((row, at) => ({ ...row, text: block.text(at) })) : rows }]
      }),
    )
  }
}
