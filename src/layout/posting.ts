/**
 * Posting lists: the ordinals of the records filed under one key, as an append-only B+ tree whose right edge is one value.
 *
 * Level 0 is the list itself. Every FANOUT entries of a level are sealed into a page, and the first entry of that page is appended to the
 * level above. Pages of a level are numbered from 0 and always full, so entry i lies on page i / FANOUT, and what is not on a
 * page is in the edge. `src/README.md` pictures both.
 *
 * A list of up to FANOUT - 1 entries is one value. **Invariants:** entries strictly increase; level l of a list of n entries has
 * floor(n / FANOUT^l) in all; a list only ever grows at its end, so that cut below an older bound it equals its older self.
 */
import { VarintReader, Writer } from '../bytes.ts'
import { corrupt, leaveRoom, seal, unseal } from './seal.ts'

export const FANOUT = 128

/** How many pages of a level are sealed in a list of so many entries. */
export const sealedPages = (count: number, level: number): number => Math.floor(count / FANOUT ** (level + 1))

export class PostingEdge {
  readonly count: number
  /** The entries of each level that are not on a sealed page yet. */
  readonly levels: readonly (readonly number[])[]

  constructor(count: number, levels: readonly (readonly number[])[]) {
    this.count = count
    this.levels = levels
  }

  static readonly empty = new PostingEdge(0, [])

  get weight(): number {
    return 200 + this.levels.reduce((sum, level) => sum + 16 + 8 * level.length, 0)
  }

  /** False if all entries lie below a bound; also if only a sealed page could tell. */
  mayReach(bound: number): boolean {
    // The last entry of a level above is the first one of the newest page below it.
    const newest = this.levels.find((level) => level.length > 0)?.at(-1)
    return newest !== undefined && newest >= bound
  }

  /** The list with entries appended; each page that fills up is passed to `onPage`. */
  append(ordinals: readonly number[], onPage: (level: number, page: number, entries: readonly number[]) => void): PostingEdge {
    const tail = this.levels[0] ?? []
    if (ordinals.length > 0 && tail.length + ordinals.length < FANOUT)
      return new PostingEdge(this.count + ordinals.length, [tail.concat(ordinals), ...this.levels.slice(1)])
    const levels = this.levels.map((level) => level.slice())
    const full = this.levels.map((_, level) => sealedPages(this.count, level))
    const push = (level: number, ordinal: number): void => {
      if (level === levels.length) {
        levels.push([])
        full.push(0)
      }
      const entries = levels[level]!
      entries.push(ordinal)
      if (entries.length < FANOUT) return
      onPage(level, full[level]!++, entries)
      levels[level] = []
      push(level + 1, entries[0]!)
    }
    for (const ordinal of ordinals) push(0, ordinal)
    return new PostingEdge(this.count + ordinals.length, levels)
  }
}

/** Edges and pages are small and many, so they are written here, each from the beginning, and copied out. */
const out = new Writer(1024)

const writeDeltas = (entries: readonly number[]): void => {
  let previous = 0
  for (const entry of entries) {
    out.varint(entry - previous)
    previous = entry
  }
}

/** Reads strictly increasing entries. NaN, from bytes that end early, compares false and is refused with the rest. */
function readDeltas(input: VarintReader, count: number, key: Uint8Array): number[] {
  const entries: number[] = []
  let previous = -1
  let value = 0
  for (let i = 0; i < count; i++) {
    value += input.next()
    if (!(value > previous)) throw corrupt(key, 'the posting list does not rise')
    entries.push(value)
    previous = value
  }
  return entries
}

export function encodeEdge(key: Uint8Array, edge: PostingEdge): Uint8Array {
  out.length = 0
  out.varint(edge.count)
  for (const level of edge.levels) {
    out.varint(level.length)
    writeDeltas(level)
  }
  leaveRoom(out)
  return seal(key, out.take())
}

/** @throws CORRUPT, also if the levels do not match the count */
export function decodeEdge(key: Uint8Array, value: Uint8Array): PostingEdge {
  const payload = unseal(key, value)
  const input = new VarintReader(payload)
  const count = input.next()
  const levels: number[][] = []
  for (let all = count; all > 0; all = Math.floor(all / FANOUT)) {
    if (input.next() !== all % FANOUT) throw corrupt(key, 'the posting list has another count')
    levels.push(readDeltas(input, all % FANOUT, key))
  }
  if (input.at !== payload.length) throw corrupt(key, 'the posting list has another length')
  return new PostingEdge(count, levels)
}

export function encodePage(key: Uint8Array, entries: readonly number[]): Uint8Array {
  out.length = 0
  writeDeltas(entries)
  leaveRoom(out)
  return seal(key, out.take())
}

/** @throws CORRUPT */
export function decodePage(key: Uint8Array, value: Uint8Array): readonly number[] {
  const payload = unseal(key, value)
  const input = new VarintReader(payload)
  const entries = readDeltas(input, FANOUT, key)
  if (input.at !== payload.length) throw corrupt(key, 'the page has another length')
  return entries
}

/** How many entries of a sorted array are below `bound`. */
export function lowerBound(entries: readonly number[], bound: number): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (entries[middle]! < bound) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns a sealed page of the current list. */
export type PageSource = (level: number, page: number) => readonly number[]

/** How many entries of the list are below `bound`. Reads at most one page per level. */
export function rank(edge: PostingEdge, bound: number, page: PageSource, level = 0): number {
  const tail = edge.levels[level]
  if (tail === undefined) return 0
  const sealed = sealedPages(edge.count, level)
  // Nothing is below the bound in an empty tail.
  if (tail[0]! < bound) return sealed * FANOUT + lowerBound(tail, bound)
  const above = rank(edge, bound, page, level + 1)
  return above === 0 ? 0 : (above - 1) * FANOUT + lowerBound(page(level, above - 1), bound)
}

/** The entries from number `from` up to but excluding number `to`. */
export function slice(edge: PostingEdge, from: number, to: number, page: PageSource): number[] {
  const sealed = Math.floor(edge.count / FANOUT)
  const out: number[] = []
  for (let at = from; at < to; ) {
    const number = Math.floor(at / FANOUT)
    const entries = number < sealed ? page(0, number) : edge.levels[0]!
    const start = at - number * FANOUT
    const stop = Math.min(entries.length, to - number * FANOUT)
    for (let i = start; i < stop; i++) out.push(entries[i]!)
    at += stop - start
    if (stop <= start) break
  }
  return out
}

/**
 * How many sealed pages of each level cannot be reached, now or later, by any bound at or above entry number `from`: page p is unreachable once the
 * first entry of page p + 1 lies before that entry.
 */
export const unreachable = (edge: PostingEdge, from: number): number[] =>
  edge.levels.map((_, level) => Math.max(0, Math.ceil(from / FANOUT ** (level + 1)) - 1))

/** The list cut to its first `count` entries, and the sealed pages that are no longer part of it. Reads at most one page per level. */
export function truncate(
  edge: PostingEdge,
  count: number,
  page: PageSource,
): { edge: PostingEdge; dropped: { level: number; page: number }[] } {
  const levels: number[][] = []
  const dropped: { level: number; page: number }[] = []
  for (const [level, tail] of edge.levels.entries()) {
    const sealed = sealedPages(edge.count, level)
    const kept = Math.floor(count / FANOUT ** level)
    const keptPages = sealedPages(count, level)
    if (kept > 0) levels.push((keptPages < sealed ? page(level, keptPages) : tail).slice(0, kept % FANOUT))
    for (let number = keptPages; number < sealed; number++) dropped.push({ level, page: number })
  }
  return { edge: new PostingEdge(count, levels), dropped }
}
