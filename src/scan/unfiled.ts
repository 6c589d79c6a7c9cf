/**
 * What is not filed yet. Posting lists in the store are complete up to one ledger, `head.filed`; the records of later ledgers are filed here, in
 * memory, and go into the store's lists many ledgers at a time, since many ledgers touch the same list. Nothing is lost with the memory: an open
 * files those records again, from the records themselves.
 * While a filing is in progress there are two parts: the older one is being filed and does not change, the newer one is added to.
 * **Invariants:** every ordinal here is at or above `head.filedCounts`, every filed one below it; those of the newer part lie above those of the
 * older. What a single ledger files, before it is part of history, is kept in the same form, and counts from zero.
 */
import type { FolioError } from '../errors.ts'
import { blockKey } from '../layout/keys.ts'
import { blockNumber } from '../layout/ordinals.ts'
import { lowerBound } from '../layout/posting.ts'
import { corrupt } from '../layout/seal.ts'
import type { Index, Resource } from '../query.ts'
import type { Element } from '../tuple.ts'
import type { Span } from './list.ts'
import { type ListKey, nameOf } from './list-key.ts'

/** The ordinals to file under one key, ascending. */
export interface Waiting {
  readonly index: Index
  readonly key: readonly Element[]
  readonly ordinals: number[]
}

type Lists = Map<string, Waiting>

export class Unfiled {
  /** What is being filed. */
  readonly older: Unfiled | undefined
  /** By the tag of the index, then by name. */
  private readonly lists: Map<number, Lists>
  /** By the tag of the log: what may belong to any list, if anything does. */
  private lost: Map<number, Set<number>> | undefined

  constructor(older?: Unfiled, lists = new Map<number, Lists>()) {
    this.older = older
    this.lists = lists
  }

  /** What remains once the older part is filed. What is added to one of the two objects is added to both. */
  get newer(): Unfiled {
    return new Unfiled(undefined, this.lists)
  }

  /** The same in one part, for when the filing in progress was given up. */
  get whole(): Unfiled {
    return this.older ? this.older.with(this) : this
  }

  /** The same in two parts, of which the older one is what lies below `bound` (counts of every log). Nothing may be added to this one any more. */
  split(bound: readonly number[]): Unfiled {
    const [older, newer] = [new Unfiled(), new Unfiled()]
    for (const [tag, lists] of this.lists)
      for (const [name, waiting] of lists) {
        const { index, key, ordinals } = waiting
        const below = lowerBound(ordinals, bound[index.of.tag]!)
        // Most lists lie on one side, and are not copied.
        if (below === 0) newer.listsOf(tag).set(name, waiting)
        else if (below === ordinals.length) older.listsOf(tag).set(name, waiting)
        else {
          older.listsOf(tag).set(name, { index, key, ordinals: ordinals.slice(0, below) })
          newer.listsOf(tag).set(name, { index, key, ordinals: ordinals.slice(below) })
        }
      }
    return new Unfiled(older, newer.lists)
  }

  /** @returns whether the list is new here */
  add(index: Index, key: readonly Element[], ordinal: number): boolean {
    const lists = this.listsOf(index.tag)
    const name = nameOf(key)
    const waiting = lists.get(name)
    if (waiting === undefined) lists.set(name, { index, key, ordinals: [ordinal] })
    else waiting.ordinals.push(ordinal)
    return waiting === undefined
  }

  /** Adds a record that could not be read: it may belong to any list of its log. Upon what holds such, nothing is written. */
  lose({ tag }: Resource, ordinal: number): void {
    this.lost ??= new Map()
    const held = this.lost.get(tag)
    if (held === undefined) this.lost.set(tag, new Set([ordinal]))
    else held.add(ordinal)
  }

  /** False if a record could not be read. */
  get isExact(): boolean {
    return this.lost === undefined
  }

  /** True if a list names a record for certain. */
  names(list: ListKey): boolean {
    const [older, newer] = this.knownOf(list)
    return older.length > 0 || newer.length > 0
  }

  /** @throws CORRUPT if a record that could not be read may be in a list */
  checkWhole({ index: { of } }: ListKey): void {
    const [ordinal] = this.lost?.get(of.tag) ?? []
    if (ordinal !== undefined) throw unreadable(of, ordinal)
  }

  /** Adds what another one holds, whose ordinals count from those of each log. */
  addAll({ lists: added }: Unfiled, from: readonly number[]): void {
    for (const [tag, lists] of added) {
      const held = this.listsOf(tag)
      for (const [name, { index, key, ordinals }] of lists) {
        const first = from[index.of.tag]!
        const waiting = held.get(name)
        if (waiting !== undefined) for (const ordinal of ordinals) waiting.ordinals.push(first + ordinal)
        else {
          const own = ordinals.map((ordinal) => first + ordinal)
          held.set(name, { index, key, ordinals: own })
        }
      }
    }
  }

  private listsOf(tag: number): Lists {
    const held = this.lists.get(tag)
    if (held !== undefined) return held
    const lists: Lists = new Map()
    this.lists.set(tag, lists)
    return lists
  }

  /** The lists of the newer part. */
  *all(): Generator<Waiting> {
    for (const lists of this.lists.values()) yield* lists.values()
  }

  /** The union of all, with new lists where the later ones have any; lists that only this one has are not copied. */
  with(...later: readonly Unfiled[]): Unfiled {
    const all = new Unfiled()
    all.lost = later.find(({ isExact }) => !isExact)?.lost
    for (const [tag, lists] of this.lists) all.lists.set(tag, new Map(lists))
    for (const { lists: added } of later)
      for (const [tag, lists] of added) {
        const held = all.listsOf(tag)
        for (const [name, { index, key, ordinals }] of lists)
          held.set(name, { index, key, ordinals: (held.get(name)?.ordinals ?? []).concat(ordinals) })
      }
    return all
  }

  /** Up to `limit` ordinals of a list within a span: its first ones ascending, or with `reverse` its last ones descending. */
  within(list: ListKey, span: Span, limit: number, reverse: boolean): number[] {
    if (span.from >= span.to) return []
    const [older, newer] = this.ordinalsOf(list)
    const [first, second] = reverse ? [newer, older] : [older, newer]
    const found = first.length === 0 ? [] : within(first, span, limit, reverse)
    const rest = second.length === 0 || found.length === limit ? none : within(second, span, limit - found.length, reverse)
    return this.readable(list, rest.length === 0 ? found : found.concat(rest))
  }

  /** How many ordinals of a list are below `bound`. */
  rank(list: ListKey, bound: number): number {
    const [older, newer] = this.ordinalsOf(list)
    return lowerBound(older, bound) + lowerBound(newer, bound)
  }

  /** The ordinals of a list from number `from` up to but excluding number `to`. */
  between(list: ListKey, from: number, to: number): number[] {
    const [older, newer] = this.ordinalsOf(list)
    return this.readable(list, older.concat(newer).slice(from, to))
  }

  /** **Invariant:** a record that was lost once is in no answer, even if it can be read by now: nobody knows which lists it belongs to. */
  private readable({ index: { of } }: ListKey, ordinals: number[]): number[] {
    const lost = this.lost?.get(of.tag)
    if (lost !== undefined) for (const ordinal of ordinals) if (lost.has(ordinal)) throw unreadable(of, ordinal)
    return ordinals
  }

  /** The ordinals of both parts, with those of which nothing tells whether they are in it. */
  private ordinalsOf(list: ListKey): [older: readonly number[], newer: readonly number[]] {
    const [older, newer] = this.knownOf(list)
    const lost = this.lost?.get(list.index.of.tag)
    return [older, lost === undefined ? newer : newer.concat([...lost]).sort((a, b) => a - b)]
  }

  private knownOf({ index, name }: ListKey): [older: readonly number[], newer: readonly number[]] {
    return [this.older?.lists.get(index.tag)?.get(name)?.ordinals ?? none, this.lists.get(index.tag)?.get(name)?.ordinals ?? none]
  }
}

const none: readonly number[] = []

const unreadable = (log: Resource, ordinal: number): FolioError =>
  corrupt(blockKey(log.tag, blockNumber(log, ordinal)), `a record of the ${log.name} log could not be read, and may be in this list`)

function within(ordinals: readonly number[], { from, to }: Span, limit: number, reverse: boolean): number[] {
  const [start, end] = [lowerBound(ordinals, from), lowerBound(ordinals, to)]
  return reverse ? ordinals.slice(Math.max(start, end - limit), end).reverse() : ordinals.slice(start, Math.min(end, start + limit))
}
