/**
 * Sorted lists of ordinals: a whole log, a posting list, or the intersection of several posting lists.
 * All are queried the same way: for the first or last so many ordinals of a span.
 */
import type { Held } from '../cache/cluster.ts'
import { FANOUT, rank, slice } from '../layout/posting.ts'
import type { ListKey } from './list-key.ts'
import type { Reader } from './reader.ts'
import type { Requests } from './requests.ts'

/** Ordinals from `from` up to but excluding `to`. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Ordinals taken from a list, and where they stand in it. */
export interface Taken {
  readonly ordinals: readonly number[]
  /** The posting list, if they are consecutive entries of one. */
  readonly run?: Posting | undefined
  /** How many entries of it precede the first of them, if that was found along the way. */
  readonly rank?: number | undefined
}

export interface OrdinalList {
  /** Up to `limit` ordinals of the span: its first ones ascending, or with `reverse` its last ones descending. */
  take(span: Span, limit: number, reverse: boolean): Taken
}

export const wholeLog: OrdinalList = {
  take({ from, to }, limit, reverse) {
    const ordinals: number[] = []
    if (reverse) for (let ordinal = to - 1; ordinal >= from && ordinals.length < limit; ordinal--) ordinals.push(ordinal)
    else for (let ordinal = from; ordinal < to && ordinals.length < limit; ordinal++) ordinals.push(ordinal)
    return { ordinals }
  },
}

/** A posting list: the filed part from the store, the newest part from memory. A read that either part can answer alone does not touch the other. */
export class Posting implements OrdinalList {
  readonly list: ListKey
  private readonly reader: Reader

  constructor(reader: Reader, list: ListKey) {
    this.reader = reader
    this.list = list
  }

  take({ from, to }: Span, limit: number, reverse: boolean): Taken {
    const filed = this.reader.head.filedCounts[this.list.index.of.tag]!
    const [older, newer] = [
      { from, to: Math.min(to, filed) },
      { from: Math.max(from, filed), to },
    ]
    if (reverse) {
      const recent = this.recent(newer, limit, true)
      return joined(recent, this.stored(older, limit - recent.ordinals.length, true))
    }
    const stored = this.stored(older, limit, false)
    return joined(stored, this.recent(newer, limit - stored.ordinals.length, false))
  }

  /** How many entries precede one that is not filed, if the edge of the filed ones is cached. */
  rank(ordinal: number): number | undefined {
    const edge = this.reader.heldEdge(this.list)
    return edge && edge.value.count + this.reader.unfiled.rank(this.list, ordinal)
  }

  /** The entries from number `from` up to but excluding number `to`. */
  between(from: number, to: number): number[] {
    const { reader, list } = this
    const edge = reader.edge(list)
    const stored = from < edge.count ? slice(edge, from, Math.min(to, edge.count), reader.pages(list)) : []
    return to <= edge.count ? stored : stored.concat(reader.unfiled.between(list, Math.max(0, from - edge.count), to - edge.count))
  }

  /** The cached value to which the entry of this rank and its neighbours belong, a sealed page or the edge; undefined if it is not cached. */
  home(rank: number): Held<unknown> | undefined {
    const edge = this.reader.heldEdge(this.list)
    if (edge === undefined || rank >= edge.value.count - (edge.value.count % FANOUT)) return edge
    return this.reader.heldPage(this.list, Math.floor(rank / FANOUT))
  }

  private stored(span: Span, limit: number, reverse: boolean): Taken {
    const { reader, list } = this
    if (limit <= 0 || span.from >= span.to) return none
    const edge = reader.edge(list)
    if (edge.count === 0) return none
    const page = reader.pages(list)
    if (reverse) {
      const end = rank(edge, span.to, page)
      const start = span.from === 0 ? 0 : rank(edge, span.from, page)
      return { ordinals: slice(edge, Math.max(start, end - limit), end, page).reverse(), run: this, rank: end - 1 }
    }
    const start = rank(edge, span.from, page)
    const ordinals = slice(edge, start, Math.min(edge.count, start + limit), page)
    const past = ordinals.findIndex((ordinal) => ordinal >= span.to)
    return { ordinals: past < 0 ? ordinals : ordinals.slice(0, past), run: this, rank: start }
  }

  private recent(span: Span, limit: number, reverse: boolean): Taken {
    if (limit <= 0) return none
    const ordinals = this.reader.unfiled.within(this.list, span, limit, reverse)
    return ordinals.length === 0 ? none : { ordinals, run: this }
  }
}

const none: Taken = { ordinals: [] }

function joined(first: Taken, second: Taken): Taken {
  if (second.ordinals.length === 0) return first
  return first.ordinals.length === 0 ? second : { ordinals: first.ordinals.concat(second.ordinals), run: first.run, rank: first.rank }
}

/** How many filed entries of a list are below `bound`, which is not below the oldest ordinal held. */
export const filedBelow = (reader: Reader, list: ListKey, bound: number): number => rank(reader.edge(list), bound, reader.pages(list))

/** How far an intersection has got: a read that is run again goes on from there. */
export interface Progress {
  /** What is left of the span. */
  from: number
  to: number
  /** Which list is asked next, what the one before it offered, and how many in a row have agreed on that. */
  turn: number
  candidate: number
  agreed: number
  readonly found: number[]
  leaps: number
  isOver: boolean
}

/** So many leaps take about a millisecond. */
const LEAPS = 256

/**
 * The intersection of the lists: each in turn leaps to the next candidate of the one before, so runs of misses are skipped, not read. Lists that have
 * nothing in common may take as many leaps as they have entries, so it gives way.
 * @param requests of one read, which has one intersection
 */
export function common(lists: readonly OrdinalList[], requests: Pick<Requests, 'progress' | 'giveWay'>): OrdinalList {
  if (lists.length === 1) return lists[0]!
  return {
    take({ from, to }, limit, reverse) {
      const begun: Progress = { from, to, turn: 0, candidate: -1, agreed: 0, found: [], leaps: 0, isOver: limit <= 0 }
      const progress = requests.progress(`${from} ${to} ${limit} ${reverse}`, begun)
      while (!progress.isOver) {
        if (++progress.leaps % LEAPS === 0) requests.giveWay()
        leap(lists, limit, reverse, progress)
      }
      return { ordinals: progress.found }
    },
  }
}

/** **Invariant:** if a list has to be awaited, there was no progress. */
function leap(lists: readonly OrdinalList[], limit: number, reverse: boolean, progress: Progress): void {
  const { from, to, turn, found } = progress
  const next = lists[turn]!.take({ from, to }, 1, reverse).ordinals[0]
  if (next === undefined) {
    progress.isOver = true
    return
  }
  progress.turn = (turn + 1) % lists.length
  progress.agreed = next === progress.candidate ? progress.agreed + 1 : 1
  progress.candidate = next
  const isCommon = progress.agreed === lists.length
  if (isCommon) {
    found.push(next)
    progress.agreed = 0
    progress.candidate = -1
    progress.isOver = found.length === limit
  }
  if (reverse) progress.to = isCommon ? next : next + 1
  else progress.from = isCommon ? next + 1 : next
}
