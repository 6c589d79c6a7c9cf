/**
 * What is not filed yet. Posting lists in the store are complete up to one ledger, `head.filed`; the records of later ledgers are filed here, in
 * memory, and go into the store's lists many ledgers at a time, since one list is touched by many ledgers. Nothing is lost with the memory:
 * an open files those records again, from the records themselves.
 * **Invariant:** every ordinal here is at or above `head.filedCounts`, every filed one below it.
 */
import { lowerBound } from '../layout/posting.ts'
import type { Index } from '../query.ts'
import type { Element } from '../tuple.ts'
import type { Span } from './list.ts'

/** The ordinals to file under one key, rising. */
export interface Filing {
  readonly index: Index<any>
  readonly key: readonly Element[]
  readonly ordinals: number[]
}

/** What tells the lists of an index apart, whose keys have as many elements as each other. Mostly a text that is there, and is hashed but once. */
function nameOf(key: readonly Element[]): string {
  if (key.length === 1) return String(key[0])
  let name = ''
  for (const element of key) {
    const text = String(element)
    name += `${text.length}:${text}`
  }
  return name
}

export const listId = (index: number, key: readonly Element[]): string => `${index} ${nameOf(key)}`

type Lists = Map<string, Filing>

export class Unfiled {
  /** By the tag of the index, then by name. */
  private readonly lists = new Map<number, Lists>()

  add(index: Index<any>, key: readonly Element[], ordinal: number): void {
    const lists = this.listsOf(index.tag)
    const name = nameOf(key)
    const filing = lists.get(name)
    if (filing === undefined) lists.set(name, { index, key, ordinals: [ordinal] })
    else filing.ordinals.push(ordinal)
  }

  private listsOf(tag: number): Lists {
    const held = this.lists.get(tag)
    if (held !== undefined) return held
    const lists: Lists = new Map()
    this.lists.set(tag, lists)
    return lists
  }

  *all(): Generator<Filing> {
    for (const lists of this.lists.values()) yield* lists.values()
  }

  /** Adds what was filed after all that is here, and is not to be used any more. */
  take(later: Unfiled): void {
    for (const [tag, added] of later.lists) {
      const lists = this.listsOf(tag)
      for (const [name, filing] of added) {
        const held = lists.get(name)
        if (held === undefined) lists.set(name, filing)
        else for (const ordinal of filing.ordinals) held.ordinals.push(ordinal)
      }
    }
  }

  /** What both have, in lists of its own where `later` has any; of those that are ours alone, nothing is copied. */
  with(later: Unfiled): Unfiled {
    const both = new Unfiled()
    for (const [tag, lists] of this.lists) both.lists.set(tag, new Map(lists))
    for (const [tag, added] of later.lists) {
      const lists = both.listsOf(tag)
      for (const [name, filing] of added)
        lists.set(name, { ...filing, ordinals: (lists.get(name)?.ordinals ?? []).concat(filing.ordinals) })
    }
    return both
  }

  /** Up to `limit` ordinals of a list within a span: its first ones rising, or with `reverse` its last ones falling. */
  within(index: Index<any>, key: readonly Element[], { from, to }: Span, limit: number, reverse: boolean): number[] {
    const ordinals = from < to ? this.lists.get(index.tag)?.get(nameOf(key))?.ordinals : undefined
    if (ordinals === undefined) return []
    const [start, end] = [lowerBound(ordinals, from), lowerBound(ordinals, to)]
    return reverse ? ordinals.slice(Math.max(start, end - limit), end).reverse() : ordinals.slice(start, Math.min(end, start + limit))
  }
}
