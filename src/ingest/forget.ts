/**
 * Forgetting a posting list that names nothing any more but what was pruned: if its key comes up again, it begins anew. Otherwise a store that holds a
 * window of history would grow with every account and offer that ever was.
 * **Invariant:** the changes of an offer that lives stay listed, and the last pruned one is kept, since a rollback may need it; both go together.
 */
import { encodePruned, type Pruned } from '../layout/head.ts'
import { baseKey, PRUNED, postingKey, postingPageKey } from '../layout/keys.ts'
import { type PostingEdge, sealedPages } from '../layout/posting.ts'
import { changesByOffer } from '../resources/offer.ts'
import { ListKey } from '../scan/list-key.ts'
import type { Reader } from '../scan/reader.ts'
import type { Unfiled, Waiting } from '../scan/unfiled.ts'
import type { Write } from '../store.ts'

type Named = Pick<Waiting, 'index' | 'key'>

/**
 * Whether a list is to be forgotten of which all filed entries are pruned.
 * @param unfiled what will wait
 * @param lives whether an offer lived after its last pruned change
 */
export const isForgotten = ({ index, key }: Named, unfiled: Unfiled, lives: (offer: bigint) => boolean): boolean =>
  unfiled.rank(new ListKey(index, key), Number.POSITIVE_INFINITY) === 0 && !(index === changesByOffer && lives(key[0] as bigint))

/** @param from the first page of each level that may be there */
export function forget(list: Named, edge: PostingEdge, from: readonly number[]): Write[] {
  const { index, key } = list
  const sealed = edge.levels.map((_, level) => sealedPages(edge.count, level))
  const writes = removePages(list, from, sealed)
  writes.push([postingKey(index.tag, key), undefined])
  if (index === changesByOffer) writes.push([baseKey(key[0] as bigint), undefined])
  return writes
}

/** Removes the pages of each level from one number up to but excluding another. */
export const removePages = ({ index, key }: Named, from: readonly number[], to: readonly number[]): Write[] =>
  to.flatMap((end, level) =>
    Array.from(
      { length: Math.max(0, end - from[level]!) },
      (_, nth): Write => [postingPageKey(index.tag, key, level, from[level]! + nth), undefined],
    ),
  )

/** Counts lists that name pruned records: those that do from now on, and those that were forgotten. */
export function countPruned(reader: Reader, more: readonly Named[], forgotten: readonly Named[]): Write {
  const counts = new Map(Object.entries(reader.pruned()).map(([tag, count]) => [Number(tag), count]))
  const add = (lists: readonly Named[], by: number): void => {
    for (const { index } of lists) counts.set(index.tag, (counts.get(index.tag) ?? 0) + by)
  }
  add(more, 1)
  add(forgotten, -1)
  const pruned: Pruned = Object.fromEntries([...counts].filter(([, count]) => count > 0))
  return [PRUNED, encodePruned(pruned)]
}
