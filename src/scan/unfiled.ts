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

export const listId = (index: number, key: readonly Element[]): string => {
  let id = `${index}`
  for (const element of key) {
    const text = String(element)
    id += ` ${text.length}:${text}`
  }
  return id
}

export class Unfiled {
  readonly lists = new Map<string, Filing>()

  add(index: Index<any>, key: readonly Element[], ordinal: number): void {
    const id = listId(index.tag, key)
    const filing = this.lists.get(id)
    if (filing === undefined) this.lists.set(id, { index, key, ordinals: [ordinal] })
    else filing.ordinals.push(ordinal)
  }

  copy(): Unfiled {
    const copy = new Unfiled()
    for (const [id, filing] of this.lists) copy.lists.set(id, { ...filing, ordinals: filing.ordinals.slice() })
    return copy
  }

  /** Up to `limit` ordinals of a list within a span: its first ones rising, or with `reverse` its last ones falling. */
  take(id: string, { from, to }: Span, limit: number, reverse: boolean): number[] {
    const ordinals = this.lists.get(id)?.ordinals
    if (ordinals === undefined || from >= to) return []
    const [start, end] = [lowerBound(ordinals, from), lowerBound(ordinals, to)]
    return reverse ? ordinals.slice(Math.max(start, end - limit), end).reverse() : ordinals.slice(start, Math.min(end, start + limit))
  }
}
