/**
 * One read of the store, written as if everything were at hand: from the cache, or by {@link Requests}.
 * **Invariant:** nothing above the head with which the reader was made is ever returned.
 */
import { blockId } from '../cache/addresses.ts'
import type { Cache } from '../cache/cache.ts'
import { Held } from '../cache/cluster.ts'
import type { Found } from '../cache/hash-table.ts'
import { FolioError } from '../errors.ts'
import { type Block, decodeBlock, type Place, type Slice } from '../layout/block.ts'
import { decodeHash } from '../layout/hash.ts'
import { decodePruned, decodeText, type Head, type Pruned } from '../layout/head.ts'
import { baseKey, blockKey, bookKey, bookRange, bookSellerKey, hashKey, PRUNED, postingKey, postingPageKey } from '../layout/keys.ts'
import { blockBySize, blockNumber, recordsInBlock, recordsPerBlock } from '../layout/ordinals.ts'
import { decodeEdge, decodePage, type PageSource, PostingEdge } from '../layout/posting.ts'
import { corrupt } from '../layout/seal.ts'
import type { Index, Resource } from '../query.ts'
import { type Offer, offerChanges, offers } from '../resources/offer.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import type { Chunk, KeyRange, MaybePromise, ScanOptions, Store } from '../store.ts'
import type { ListKey } from './list-key.ts'
import { type ReadStats, Requests } from './requests.ts'
import type { Unfiled } from './unfiled.ts'

/** True if hardly two of the records share a block, and there are enough of them for their cache misses to overlap. */
const isScattered = (ordinals: readonly number[], size: number): boolean =>
  ordinals.length >= 8 && Math.abs(ordinals.at(-1)! - ordinals[0]!) > ordinals.length * size

export const toHeld = (cache: Cache, edge: PostingEdge, asOf: number): Held<PostingEdge> => new Held(cache, edge, edge.weight, asOf)

/** The edge of a list, if it is cached, and names a record from `since` on: pruning forgets a list that does not, and later it begins anew. */
export function cachedEdge(cache: Cache, id: string, since: number): PostingEdge | undefined {
  const edge = cache.get<Held<PostingEdge>>(id)?.value
  return since === 0 || edge?.mayReach(since) ? edge : undefined
}

export class Reader {
  readonly head: Head
  /** Filings of the ledgers after `head.filed`. */
  readonly unfiled: Unfiled
  readonly stats: ReadStats
  /** Set by a read with a cursor beyond the head: over a shared store, the process that gave it may know of records that are missing here. */
  behind = false
  private readonly store: Store
  readonly requests: Requests
  private readonly cache: Cache
  /** That of the cache that belongs to the head. */
  private readonly generation: number
  /** For a shared store: what goes into the cache once it is known that nobody had written beyond the head. */
  private readonly unsure: (() => void)[] | undefined

  constructor(store: Store, cache: Cache, head: Head, unfiled: Unfiled) {
    this.store = store
    this.requests = new Requests(store)
    this.stats = this.requests.stats
    this.cache = cache
    this.generation = cache.generation
    this.head = head
    this.unfiled = unfiled
    this.unsure = store.capabilities.shared ? [] : undefined
  }

  /** Runs a read to its end; without a promise if the store answers without one, and the read gives way to nobody. */
  run<T>(read: (reader: Reader) => T): MaybePromise<T> {
    // A read that is run again meets again what is to be cached, and what it has looked into.
    return this.requests.run(
      () => read(this),
      () => {
        this.unsure?.splice(0)
        this.stats.blocks = 0
        this.stats.hits = 0
      },
    )
  }

  /** Runs a step for each item of a long read: from a store that answers with promises, what the steps miss is requested in one call. */
  each<T>(items: Iterable<T>, step: (item: T) => void): void {
    this.requests.each(items, step)
  }

  /**
   * A block, which must hold all the records that the head counts in it.
   * @param asked how many of them are wanted
   */
  block<R>(resource: Resource<R>, number: number, asked = 1): Block<R> {
    this.stats.blocks++
    const needed = recordsInBlock(resource, number, this.head.counts[resource.tag]!)
    const cached = this.cache.block(resource, number, needed, asked)
    if (cached !== undefined) {
      this.stats.hits++
      return cached
    }
    const key = blockKey(resource.tag, number)
    const value = this.requests.get(blockId(resource.tag, number), key)
    if (value === undefined) throw corrupt(key, `a block of the ${resource.name} log is missing`)
    const block = decodeBlock(key, resource, value)
    if (block.count < needed) throw corrupt(key, `a block of the ${resource.name} log lacks records`)
    this.keepBlock(resource, number, block)
    return block
  }

  /** A separate method, so that a hit in {@link block} does not pay for this closure. */
  private keepBlock(resource: Resource, number: number, block: Block): void {
    this.whenSure(() => this.cache.keep(resource, number, block))
  }

  /** A read that waited for its values while a ledger was committed may hold older ones, which must not displace the newer. */
  private whenSure(keep: () => void): void {
    if (this.unsure) this.unsure.push(keep)
    else if (this.cache.generation === this.generation) keep()
  }

  private keep(id: string, value: Held<unknown>): void {
    this.whenSure(() => this.cache.put(id, value))
  }

  /** Reports that the head was still in the store after everything was read. */
  confirm(): void {
    if (this.cache.generation === this.generation) for (const keep of this.unsure ?? []) keep()
  }

  /**
   * Records, neighbours in a block together. From a store that answers with promises, their blocks are requested in one call.
   * @param asked how many requests each counts for: 0 when gathering, which must make nothing hot
   */
  slices<R>(resource: Resource<R>, ordinals: readonly number[], asked = 1): Slice<R>[] {
    const size = recordsPerBlock(resource)
    if (!this.store.capabilities.sync) this.prefetch(resource, new Set(ordinals.map((ordinal) => blockBySize(size, ordinal))))
    if (isScattered(ordinals, size)) this.cache.readAhead(resource, ordinals)
    const slices: Slice<R>[] = []
    for (let i = 0; i < ordinals.length; ) {
      const number = blockBySize(size, ordinals[i]!)
      const from = number * size
      let end = i + 1
      while (end < ordinals.length && ordinals[end]! >= from && ordinals[end]! < from + size) end++
      const block = this.block(resource, number, asked * (end - i))
      while (i < end) {
        const first = ordinals[i]! - from
        let last = first
        const step = i + 1 < end && ordinals[i + 1]! < ordinals[i]! ? -1 : 1
        for (i++; i < end && ordinals[i]! - from === last + step; i++) last += step
        slices.push({ block, first, last })
      }
    }
    return slices
  }

  /** Adds the records from `from` up to but excluding `to`, with `reverse` the last of them first. Requested as those of {@link slices}. */
  neighbours<R>(resource: Resource<R>, from: number, to: number, reverse: boolean, slices: Slice<R>[] = []): Slice<R>[] {
    if (from >= to) return slices
    this.askFor(resource, from, to)
    const size = recordsPerBlock(resource)
    const lowest = blockBySize(size, from)
    const highest = blockBySize(size, to - 1)
    for (let nth = 0; nth <= highest - lowest; nth++) {
      const number = reverse ? highest - nth : lowest + nth
      const first = number * size
      const low = Math.max(0, from - first)
      const high = Math.min(size, to - first) - 1
      const block = this.block(resource, number, high - low + 1)
      slices.push({ block, first: reverse ? high : low, last: reverse ? low : high })
    }
    return slices
  }

  private prefetch(resource: Resource, numbers: Iterable<number>): void {
    const wanted = new Map<number, Uint8Array>()
    for (const number of numbers) {
      const id = blockId(resource.tag, number)
      if (!this.cache.has(id)) wanted.set(id, blockKey(resource.tag, number))
    }
    this.requests.getMany(wanted)
  }

  /** Requests the blocks of a range of records in one call, from a store that answers with promises. */
  askFor(resource: Resource, from: number, to: number): void {
    if (this.store.capabilities.sync || from >= to) return
    const first = blockNumber(resource, from)
    const numbers = Array.from({ length: blockNumber(resource, to - 1) + 1 - first }, (_, nth) => first + nth)
    this.prefetch(resource, numbers)
  }

  /** The place of a record. */
  at<R>(resource: Resource<R>, ordinal: number): Place<R> {
    const size = recordsPerBlock(resource)
    const number = blockBySize(size, ordinal)
    return { block: this.block(resource, number), at: ordinal - number * size }
  }

  /** True if the blocks of all these records are cached. */
  hasAll(resource: Resource, ordinals: readonly number[]): boolean {
    const size = recordsPerBlock(resource)
    return ordinals.every((ordinal) => this.cache.has(blockId(resource.tag, blockBySize(size, ordinal))))
  }

  /** False if history has moved since the read began: what it holds may belong to another history than the cache. */
  get isCurrent(): boolean {
    return this.cache.generation === this.generation
  }

  /** Neighbouring blocks of a log that were gathered into a run. */
  runOfLog<R>(resource: Resource<R>, number: number, reverse: boolean): Block<R> | undefined {
    return this.cache.run(resource, number, reverse)
  }

  /** Does not depend on what this read has seen: runs are made from what the cache holds by now. */
  gatherRun(resource: Resource, number: number, reverse: boolean): void {
    this.cache.gatherRun(resource, number, reverse)
  }

  /** Records that this many records were served from a cluster or a run. */
  served(block: Block, records: number): void {
    block.asked += records
    this.cache.gathering.serve(records)
    this.stats.blocks++
    this.stats.hits++
  }

  /** The right edge of a posting list; empty if nothing was ever filed under the key. */
  edge({ id, index, key: elements }: ListKey): PostingEdge {
    const cached = this.cache.get<Held<PostingEdge>>(id)
    if (cached !== undefined && this.isCurrentEdge(cached, index)) {
      this.stats.hits++
      return cached.value
    }
    const key = postingKey(index.tag, elements)
    const value = this.requests.get(id, key)
    if (value === undefined) return PostingEdge.empty
    const edge = decodeEdge(key, value)
    this.keep(id, toHeld(this.cache, edge, this.head.last))
    return edge
  }

  /** The same, if it is cached. */
  heldEdge({ id, index }: ListKey): Held<PostingEdge> | undefined {
    const cached = this.cache.peek<Held<PostingEdge>>(id)
    return cached !== undefined && this.isCurrentEdge(cached, index) ? cached : undefined
  }

  /** A sealed page of level 0, if it is cached. */
  heldPage(list: ListKey, page: number): Held<unknown> | undefined {
    return this.cache.peek<Held<unknown>>(list.pageId(0, page))
  }

  /** False if another process may have changed it since, or pruning may have forgotten it. */
  private isCurrentEdge({ asOf, value }: Held<PostingEdge>, { of }: Index): boolean {
    const since = this.head.since[of.tag]!
    return (!this.store.capabilities.shared || asOf >= this.head.last) && (since === 0 || value.mayReach(since))
  }

  /** The sealed pages of a posting list. One that names only what was pruned may be of a list that was forgotten and begun anew. */
  pages(list: ListKey): PageSource {
    const since = this.head.since[list.index.of.tag]!
    return (level, page) => {
      const id = list.pageId(level, page)
      const cached = this.cache.get<Held<readonly number[]>>(id)
      if (cached !== undefined && (since === 0 || cached.value.at(-1)! >= since)) {
        this.stats.hits++
        return cached.value
      }
      const key = postingPageKey(list.index.tag, list.key, level, page)
      const value = this.requests.get(id, key)
      if (value === undefined) throw corrupt(key, 'a page of a posting list is missing')
      const entries = decodePage(key, value)
      this.keep(id, new Held(this.cache, entries, 100 + 8 * entries.length, this.head.last))
      return entries
    }
  }

  /** The place of a transaction that may have this hash: the record tells whether it does. */
  guess(hash: string): Found | undefined {
    const found = this.cache.hashes.get(hash)
    if (found !== undefined) this.stats.hits++
    return found
  }

  /** The place of the transaction with this hash. */
  hashed(hash: string): Found | undefined {
    const key = hashKey(hash)
    const value = this.requests.get(`hash ${hash}`, key)
    if (value === undefined) return undefined
    const { ordinal, failed } = decodeHash(key, value)
    const found = { log: (failed ? failedTransactions : transactions).tag, ordinal }
    this.whenSure(() => this.cache.hashes.add(hash, found))
    return found
  }

  /** An offer of the current book, as a block of one; undefined if it never was there or was removed. */
  offer(id: bigint, attempt = 1): Block<Offer> | undefined {
    const sellerKey = bookSellerKey(id)
    const seller = this.requests.get(`seller ${id} ${attempt}`, sellerKey)
    if (seller === undefined) return undefined
    const key = bookKey(decodeText(sellerKey, seller), id)
    const value = this.requests.get(`offer ${id} ${attempt}`, key)
    if (value !== undefined) return decodeBlock(key, offers, value)
    // A commit between the two reads may have removed the offer, or given it another seller.
    if (attempt === 4) throw corrupt(key, 'an offer of the book is missing')
    return this.offer(id, attempt + 1)
  }

  /** The last change of an offer below the oldest ledger held; its position is the ordinal of the change. */
  base(id: bigint): Place<Offer> | undefined {
    const key = baseKey(id)
    const value = this.requests.get(`base ${id}`, key)
    return value && { block: decodeBlock(key, offerChanges, value), at: 0 }
  }

  /** How many lists of each index name pruned records. */
  pruned(): Pruned {
    const value = this.requests.get('pruned', PRUNED)
    return value ? decodePruned(value) : {}
  }

  scan(range: KeyRange, options: ScanOptions): Chunk {
    return this.requests.scan(range, options)
  }

  /** The book entries of a seller, by offer id, from `from` up to but excluding `to`. */
  book(seller: string, from: bigint, to: bigint, limit: number, reverse: boolean): Block<Offer>[] {
    if (from >= to) return []
    const chunk = this.scan(bookRange(seller, from, to), { limit, reverse })
    if (chunk.more && chunk.entries.length < limit) throw new FolioError('STORE_FAILED', { reason: 'a scan ended before its limit' })
    return chunk.entries.map(([key, value]) => decodeBlock(key, offers, value))
  }
}
