/**
 * Sorted lists of ordinals: a whole log, a posting list, or the records that several posting lists have in common.
 * All are asked the same way: the first or last so many of a span.
 */
import { type PageSource, type PostingEdge, rank, slice } from '../layout/posting.ts'
import type { Index } from '../query.ts'
import type { Element } from '../tuple.ts'
import type { Reader } from './reader.ts'
import { listId } from './unfiled.ts'

/** Ordinals from `from` up to, but without, `to`. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface OrdinalList {
  /** Up to `limit` ordinals of the span: its first ones rising, or with `reverse` its last ones falling. */
  take(span: Span, limit: number, reverse: boolean): number[]
}

export const wholeLog: OrdinalList = {
  take({ from, to }, limit, reverse) {
    const ordinals: number[] = []
    if (reverse) for (let ordinal = to - 1; ordinal >= from && ordinals.length < limit; ordinal--) ordinals.push(ordinal)
    else for (let ordinal = from; ordinal < to && ordinals.length < limit; ordinal++) ordinals.push(ordinal)
    return ordinals
  },
}

/** A posting list: the filed part from the store, the newest part from memory. A read that either part can answer alone does not touch the other. */
export function posting(reader: Reader, index: Index<any>, key: readonly Element[]): OrdinalList {
  const filed = reader.head.filedCounts[index.of.tag]!
  const id = listId(index.tag, key)
  const stored = (span: Span, limit: number, reverse: boolean): number[] =>
    limit > 0 && span.from < span.to ? takeStored(reader.edge(index, key, id), reader.pages(index, key, id), span, limit, reverse) : []
  const recent = (span: Span, limit: number, reverse: boolean): number[] =>
    limit > 0 ? reader.unfiled.within(index, key, span, limit, reverse) : []
  return {
    take({ from, to }, limit, reverse) {
      const [older, newer] = [
        { from, to: Math.min(to, filed) },
        { from: Math.max(from, filed), to },
      ]
      const first = reverse ? recent(newer, limit, true) : stored(older, limit, false)
      const second = reverse ? stored(older, limit - first.length, true) : recent(newer, limit - first.length, false)
      return second.length === 0 ? first : first.concat(second)
    },
  }
}

/** How many entries of a filed list are below `bound`, at or above the oldest ordinal held. */
export const filedBelow = (reader: Reader, index: Index<any>, key: readonly Element[], bound: number): number =>
  rank(reader.edge(index, key), bound, reader.pages(index, key))

function takeStored(edge: PostingEdge, page: PageSource, { from, to }: Span, limit: number, reverse: boolean): number[] {
  if (edge.count === 0) return []
  if (reverse) {
    const end = rank(edge, to, page)
    const start = from === 0 ? 0 : rank(edge, from, page)
    return slice(edge, Math.max(start, end - limit), end, page).reverse()
  }
  const start = rank(edge, from, page)
  const ordinals = slice(edge, start, Math.min(edge.count, start + limit), page)
  const past = ordinals.findIndex((ordinal) => ordinal >= to)
  return past < 0 ? ordinals : ordinals.slice(0, past)
}

/** What all lists have in common: each in turn leaps to the next candidate of the one before, so runs of misses are skipped, not read. */
export function common(lists: readonly OrdinalList[]): OrdinalList {
  if (lists.length === 1) return lists[0]!
  return {
    take(span, limit, reverse) {
      const found: number[] = []
      let { from, to } = span
      let agreed = 0
      let candidate = -1
      for (let turn = 0; found.length < limit; turn = (turn + 1) % lists.length) {
        const next = lists[turn]!.take({ from, to }, 1, reverse)[0]
        if (next === undefined) break
        agreed = next === candidate ? agreed + 1 : 1
        candidate = next
        if (agreed < lists.length) {
          if (reverse) to = next + 1
          else from = next
          continue
        }
        found.push(next)
        agreed = 0
        candidate = -1
        if (reverse) to = next
        else from = next + 1
      }
      return found
    },
  }
}
