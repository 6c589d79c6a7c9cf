/**
 * Filing: from records to the posting lists that name them, first in memory, then in the store.
 *
 * A filing brings the stored lists up to one ledger, its bound. Thousands of lists are too much work for one ledger, so it is spread over those that
 * follow: each prepares some lists in memory, and the batch of the last one writes them all. **Invariants:** nothing of a filing is in the store
 * before all of it is, so a crash loses only work; where a filing begins and ends follows from history and `every` alone, so the store does not show
 * how ledgers were batched, nor an open or a rollback between them.
 */

import type { Place } from '../layout/block.ts'
import { postingKey, postingPageKey } from '../layout/keys.ts'
import { decodeEdge, encodeEdge, encodePage, PostingEdge } from '../layout/posting.ts'
import { eachFiling, isFiledBySides, logs } from '../logs.ts'
import type { Index, Resource } from '../query.ts'
import { ListKey } from '../scan/list-key.ts'
import { countsAfter } from '../scan/locate.ts'
import type { Reader } from '../scan/reader.ts'
import { Unfiled, type Waiting } from '../scan/unfiled.ts'
import type { Store, Write } from '../store.ts'
import type { Element } from '../tuple.ts'
import { giveWay } from '../turn.ts'
import { maybeStored } from './beyond.ts'
import type { Damage } from './damage.ts'
import { type Between, type Run, readRecords, readRecordsLeft } from './parts.ts'

/** How many parts a filing is done in. With many more, each ledger would find less of what it needs in the processor's caches. */
const PARTS = 8
/** How many lists are prepared before others on the event loop may have their turn. */
const LISTS_AT_ONCE = 256

/** Records of all logs, of which each has a count. */
export const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

/** Records of all logs between two counts of each. */
export const recordsBetween = (from: readonly number[], to: readonly number[]): number => total(to) - total(from)

/** A ledger, and the counts of every log after it. */
export interface Bound {
  readonly sequence: number
  readonly counts: readonly number[]
}

/** True if `every` records wait after a ledger. */
export const isDue = (filed: readonly number[], counts: readonly number[], every: number): boolean => recordsBetween(filed, counts) >= every

/** What waits to be filed, and how far the filing of its older part has come, if it has one. */
export interface Backlog {
  readonly unfiled: Unfiled
  readonly filing?: Filing | undefined
}

/** Takes up a filing that became due before the head: its bound is the first ledger after which `every` records waited. */
export function takeUp(reader: Reader, every: number): Backlog {
  const { head } = reader
  let [low, high] = [head.filed, head.last]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (isDue(head.filedCounts, countsAfter(reader, middle), every)) high = middle
    else low = middle + 1
  }
  const counts = countsAfter(reader, low)
  const unfiled = reader.unfiled.split(counts)
  return { unfiled, filing: new Filing({ sequence: low, counts }, unfiled.older!, every) }
}

/** Posting lists as they will be. They are looked up only while their filing is not in the store yet, so an index is made when one is first asked for. */
export class Edges {
  private readonly ids: string[] = []
  private readonly edges: PostingEdge[] = []
  private index: Map<string, PostingEdge> | undefined

  /** Adds a list, which must not be there. */
  add(id: string, edge: PostingEdge): void {
    this.ids.push(id)
    this.edges.push(edge)
    this.index?.set(id, edge)
  }

  get(id: string): PostingEdge | undefined {
    this.index ??= new Map(this.ids.map((known, at) => [known, this.edges[at]!]))
    return this.index.get(id)
  }

  each(call: (id: string, edge: PostingEdge) => void): void {
    for (let at = 0; at < this.ids.length; at++) call(this.ids[at]!, this.edges[at]!)
  }
}

/** The edge of a list as a filing has to go on from it, if it is at hand. */
export type EdgeOf = (list: ListKey) => PostingEdge | undefined

/** A filing in progress. */
export class Filing {
  readonly bound: Bound
  /** All that waits up to the bound. */
  readonly waiting: Unfiled
  /** The lists that are prepared. */
  readonly edges = new Edges()
  /** What stores them, and the pages that they filled. */
  readonly writes: Write[] = []
  private readonly lists: readonly Waiting[]
  /** Over how many incoming records the filing is spread. */
  private readonly spread: number
  /** How many of the lists are prepared. */
  private prepared = 0

  /** @param every with 0, the first call of {@link advance} prepares all */
  constructor(bound: Bound, waiting: Unfiled, every: number) {
    this.bound = bound
    this.waiting = waiting
    this.lists = [...waiting.all()]
    this.spread = Math.floor(every / 4)
  }

  /**
   * Prepares as many lists as should be ready after a ledger.
   * @returns whether all are prepared, so that the batch of this ledger has to write them
   */
  async advance(counts: readonly number[], store: Store, edgeOf: EdgeOf): Promise<boolean> {
    const since = recordsBetween(this.bound.counts, counts)
    const isLast = since >= this.spread
    const parts = isLast ? PARTS : Math.floor((PARTS * since) / this.spread)
    const ready = Math.ceil((this.lists.length * parts) / PARTS)
    while (this.prepared < ready) {
      await this.prepare(this.lists.slice(this.prepared, Math.min(ready, this.prepared + LISTS_AT_ONCE)), store, edgeOf)
      await giveWay()
    }
    return isLast
  }

  /** Prepares the lists that are next. If a read fails, nothing has changed. */
  private async prepare(part: readonly Waiting[], store: Store, edgeOf: EdgeOf): Promise<void> {
    const found = part.map(({ index, key, ordinals }) => {
      const list = new ListKey(index, key)
      return { id: list.id, index, key, ordinals, at: postingKey(index.tag, key), edge: edgeOf(list) }
    })
    const unknown = found.filter(({ edge }) => edge === undefined)
    const sought = await maybeStored(unknown, store)
    const values = sought.length > 0 ? await store.getMany(sought.map(({ at }) => at)) : []
    for (const [i, list] of sought.entries()) {
      const value = values[i]
      if (value) list.edge = decodeEdge(list.at, value)
    }
    for (const { id, index, key, ordinals, at, edge = PostingEdge.empty } of found) {
      const grown = appendTo(edge, index, key, ordinals, this.writes)
      this.edges.add(id, grown)
      this.writes.push(edgeWrite(at, grown))
    }
    this.prepared += part.length
  }
}

/** A record, and the lists that it belongs to: all of its log, if it cannot be read. */
interface Refiled {
  readonly resource: Resource
  readonly ordinal: number
  readonly lists: readonly { readonly index: Index; readonly key: readonly Element[] }[] | 'all'
}

/**
 * Files records as they were when they were appended.
 * @param damage given if those that cannot be read are to be filed as well: nothing tells which lists they belong to, so whoever comes to one in any
 * list meets the damage
 */
export async function fileAgain(run: Run, between: Between, damage?: Damage): Promise<Unfiled> {
  const unfiled = new Unfiled()
  const parts = damage ? readRecordsLeft(run, logs, between, damage, refiled, lost) : readRecords(run, logs, between, refiled)
  for await (const part of parts)
    for (const { resource, ordinal, lists } of part)
      if (lists === 'all') unfiled.lose(resource, ordinal)
      else for (const { index, key } of lists) unfiled.add(index, key, ordinal)
  return unfiled
}

const lost = (resource: Resource, ordinal: number): Refiled => ({ resource, ordinal, lists: 'all' })

function refiled({ block, at }: Place, resource: Resource, ordinal: number): Refiled {
  const lists: { readonly index: Index; readonly key: readonly Element[] }[] = []
  const record = isFiledBySides(resource) ? {} : block.members(at)
  eachFiling(resource, record, block.sides(at), (index, key) => void lists.push({ index, key }))
  return { resource, ordinal, lists }
}

/** A list with ordinals appended. Pages that fill go into `pages`; the edge does not, since more may be appended to it. */
export const appendTo = (
  edge: PostingEdge,
  index: Index,
  key: readonly Element[],
  ordinals: readonly number[],
  pages: Write[],
): PostingEdge =>
  edge.append(ordinals, (level, page, entries) => {
    const at = postingPageKey(index.tag, key, level, page)
    pages.push([at, encodePage(at, entries)])
  })

/** The edge of the list under a key; an empty list has none. */
export const edgeWrite = (key: Uint8Array, edge: PostingEdge): Write => [key, edge.count === 0 ? undefined : encodeEdge(key, edge)]
