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
interface Sought {
  readonly index: Index
  readonly key: readonly Element[]
  readonly at: Uint8Array
}

/**
 * Those of the lists that may be in the store. **Invariant:** what is stored is looked up anew each time: a filing may outlast the write of an earlier
 * one, whose lists lie beyond what was stored before.
 */
export async function maybeStored<S extends Sought>(lists: readonly S[], store: Store): Promise<S[]> {
  /** The last key of each row of lists whose ids grow; empty if the row is. */
  const lasts = new Map<number, Uint8Array>()
  const found: S[] = []
  for (const list of lists) {
    const row = rowOf(list)
    if (row !== undefined && !lasts.has(row)) lasts.set(row, await lastKey(store, list))
    const last = row === undefined ? undefined : lasts.get(row)
    if (last === undefined || compare(list.at, last) <= 0) found.push(list)
  }
  return found
}

const isUnlisted = ([id]: readonly Element[]): boolean => (id as bigint) >= UNLISTED

const rowOf = ({ index, key }: Sought): number | undefined =>
  typeof key[0] === 'bigint' ? 2 * index.tag + Number(isUnlisted(key)) : undefined

/** The last key that is stored of the row of a list. */
async function lastKey(store: Store, { index: { tag }, key }: Sought): Promise<Uint8Array> {
  const unlisted = postingKey(tag, [UNLISTED])
  const range: KeyRange = isUnlisted(key) ? { gte: unlisted, lt: indexKey(tag + 1) } : { gte: indexKey(tag), lt: unlisted }
  const { entries } = await store.scan(range, { limit: 1, reverse: true })
  return entries[0]?.[0] ?? indexKey(tag)
}
