/** Filing: from records to the posting lists that name them, in memory first, then in the store. */

import { postingKey, postingPageKey } from '../layout/keys.ts'
import { encodeEdge, encodePage, type PostingEdge } from '../layout/posting.ts'
import { seal } from '../layout/seal.ts'
import { eachFiling } from '../logs.ts'
import type { Index, Resource } from '../query.ts'
import type { Reader } from '../scan/reader.ts'
import { Unfiled } from '../scan/unfiled.ts'
import type { Write } from '../store.ts'
import type { Element } from '../tuple.ts'

/** Files the records from `from` up to, but without, `to` (counts of every log) as they were when they were appended. */
export function fileAgain(reader: Reader, logs: readonly Resource<any>[], from: readonly number[], to: readonly number[]): Unfiled {
  const unfiled = new Unfiled()
  for (const resource of logs)
    for (let ordinal = from[resource.tag]!; ordinal < to[resource.tag]!; ordinal++) {
      const { block, at } = reader.at(resource, ordinal)
      const record = block.textBytes(at) > 0 ? block.members(at) : {}
      eachFiling(resource, record, block.sides(at), (index, key) => unfiled.add(index, key, ordinal))
    }
  return unfiled
}

/** What files the ordinals below `bound` (counts of every log) in the store's lists. */
export function fileLists(reader: Reader, waiting: Unfiled, bound: readonly number[]): Write[] {
  const writes: Write[] = []
  for (const { index, key, ordinals } of waiting.all()) {
    const due = ordinals.filter((ordinal) => ordinal < bound[index.of.tag]!)
    if (due.length === 0) continue
    const edge = appendTo(reader.edge(index, key), index, key, due, writes)
    writes.push(edgeWrite(index, key, edge))
  }
  return writes
}

/** A list with ordinals appended. The pages that fill up go into `writes`; the edge does not, since more may be appended to it. */
export const appendTo = (
  edge: PostingEdge,
  index: Index<any>,
  key: readonly Element[],
  ordinals: readonly number[],
  writes: Write[],
): PostingEdge =>
  edge.append(ordinals, (level, page, entries) => {
    const at = postingPageKey(index.tag, key, level, page)
    writes.push([at, seal(at, encodePage(entries))])
  })

/** The edge of a list; an empty list has none. */
export function edgeWrite(index: Index<any>, key: readonly Element[], edge: PostingEdge): Write {
  const at = postingKey(index.tag, key)
  return [at, edge.count === 0 ? undefined : seal(at, encodeEdge(edge))]
}
