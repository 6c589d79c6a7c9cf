/** Filing: from records to the posting lists that name them, in memory first, then in the store. */

import { postingKey, postingPageKey } from '../layout/keys.ts'
import { encodeEdge, encodePage } from '../layout/posting.ts'
import { seal } from '../layout/seal.ts'
import { eachFiling } from '../logs.ts'
import type { Resource } from '../query.ts'
import type { Reader } from '../scan/reader.ts'
import { Unfiled } from '../scan/unfiled.ts'
import type { Write } from '../store.ts'

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
export function* fileLists(reader: Reader, waiting: Unfiled, bound: readonly number[]): Generator<Write> {
  for (const { index, key, ordinals } of waiting.lists.values()) {
    const due = ordinals.filter((ordinal) => ordinal < bound[index.of.tag]!)
    if (due.length === 0) continue
    const sealed: Write[] = []
    const edge = reader.edge(index, key).append(due, (level, page, entries) => {
      const at = postingPageKey(index.tag, key, level, page)
      sealed.push([at, seal(at, encodePage(entries))])
    })
    yield* sealed
    const at = postingKey(index.tag, key)
    yield [at, seal(at, encodeEdge(edge))]
  }
}
