/**
 * Lists that cannot be in the store, without a look at each: ids grow, so most lists of ids are new, and lie beyond all that are stored.
 */
import { compare } from '../bytes.ts'
import { indexKey, postingKey } from '../layout/keys.ts'
import type { Index } from '../query.ts'
import type { KeyRange, Store } from '../store.ts'
import type { Element } from '../tuple.ts'

/** The ids of offers that are in no book: those of operations, with this bit. They grow, as those of other offers do. */
const UNLISTED = 1n << 62n

/** A list, and its key in the store. */
export interface Sought {
  readonly index: Index
  readonly key: readonly Element[]
  readonly at: Uint8Array
}

/** What is stored, as long as no list is written. */
export class Stored {
  /** The last key of each row of lists whose ids grow; empty if the row is. */
  private readonly lasts = new Map<number, Uint8Array>()

  /** The lists that may be in the store. */
  async among<S extends Sought>(lists: readonly S[], store: Store): Promise<S[]> {
    for (const { index, key } of lists) {
      const row = rowOf(index, key)
      if (row !== undefined && !this.lasts.has(row)) this.lasts.set(row, await lastKey(store, index, key))
    }
    return lists.filter(({ index, key, at }) => {
      const last = this.lasts.get(rowOf(index, key) ?? -1)
      return last === undefined || compare(at, last) <= 0
    })
  }
}

const isUnlisted = ([id]: readonly Element[]): boolean => (id as bigint) >= UNLISTED

const rowOf = ({ tag }: Index, key: readonly Element[]): number | undefined =>
  typeof key[0] === 'bigint' ? 2 * tag + Number(isUnlisted(key)) : undefined

/** The last key that is stored of the row of a list. */
async function lastKey(store: Store, { tag }: Index, key: readonly Element[]): Promise<Uint8Array> {
  const unlisted = postingKey(tag, [UNLISTED])
  const range: KeyRange = isUnlisted(key) ? { gte: unlisted, lt: indexKey(tag + 1) } : { gte: indexKey(tag), lt: unlisted }
  const { entries } = await store.scan(range, { limit: 1, reverse: true })
  return entries[0]?.[0] ?? indexKey(tag)
}
