/**
 * Giving up the oldest ledgers: their records, and what only these named. A step gives up a bounded number of records and ends at a ledger. What
 * stays is a function of history and of the oldest ledger held, however many steps led there.
 * **Invariants:** lists are complete at least up to the ledger before the oldest one; a list keeps its edge, its count, and every page to which a
 * bound at or above `since` can lead; of an offer that changed below `since` the last such change is kept, since a rollback may need it.
 */
import type { Place } from '../layout/block.ts'
import { encodePruned, type Head } from '../layout/head.ts'
import { blockKey, blockRange, digestRange, KIND, keysOf, PRUNED, postingPageKey } from '../layout/keys.ts'
import { blockNumber } from '../layout/ordinals.ts'
import { rank, unreachable } from '../layout/posting.ts'
import { logs } from '../logs.ts'
import type { Resource } from '../query.ts'
import { offerChanges } from '../resources/offer.ts'
import { ListKey } from '../scan/list-key.ts'
import { countsAfter } from '../scan/locate.ts'
import type { Reader } from '../scan/reader.ts'
import type { Waiting } from '../scan/unfiled.ts'
import type { KeyRange, Write } from '../store.ts'
import { baseWrite } from './book.ts'
import { Filing, fileAgain, recordsBetween } from './filing.ts'
import type { History } from './history.ts'
import { type Between, joined, type Run, readEach, readRecords } from './parts.ts'
import { removeDigests, removeHashes, type Step } from './step.ts'

/** The most records that one step gives up, if they belong to more than one ledger. */
const STEP_RECORDS = 4096

/** The step that moves the oldest ledger towards `target`. */
export const stepUp = (history: History, target: number): Promise<Step> =>
  history.head.filed < target - 1 ? fileUp(history, target - 1) : giveUp(history, target)

/** What is to be pruned is filed first: a record that is filed only in memory would leave no trace. What waits is at hand, and not read again. */
async function fileUp(history: History, sequence: number): Promise<Step> {
  const counts = await history.readToWrite((reader) => countsAfter(reader, sequence))
  const waiting = history.backlog.unfiled.whole.split(counts)
  const filing = new Filing({ sequence, counts }, waiting.older!, 0)
  await history.askToWrite(() => filing.advance(counts, history.store, history.cachedEdge))
  const { edges, pages } = filing
  const head: Head = { ...history.head, filed: sequence, filedCounts: counts }
  return { writes: [...pages, ...Array.from(edges.values(), ({ write }) => write)], head, unfiled: waiting.newer, edges }
}

/** Nothing that stays is changed by it: a filing in progress goes on, and what is cached of it is as good as before. */
async function giveUp({ readToWrite: run, head: before }: History, target: number): Promise<Step> {
  const head = await run((reader) => headFrom(reader, target))
  const given: Between = [before.since, head.since]
  const writes = [
    ...logs.flatMap((log) => removeBlocks(log, given)),
    ...(await giveUpPages(run, given)),
    ...(await removeHashes(run, given)),
    ...(await keepBases(run, given)),
    ...removeDigests(before.oldest, head.oldest),
  ]
  return { writes, head }
}

/** The head with which a step ends. */
function headFrom(reader: Reader, target: number): Head {
  const { head } = reader
  let oldest = head.oldest + 1
  while (oldest < target && recordsBetween(head.since, countsAfter(reader, oldest)) <= STEP_RECORDS) oldest++
  return { ...head, oldest, since: countsAfter(reader, oldest - 1) }
}

/** Removes the blocks of a log that hold nothing but what is given up. */
function removeBlocks(log: Resource, given: Between): Write[] {
  const [from, to] = given.map((counts) => blockNumber(log, counts[log.tag]!)) as [number, number]
  return Array.from({ length: to - from }, (_, nth) => [blockKey(log.tag, from + nth), undefined])
}

/** Gives up the pages of lists that no read from now on can reach, and counts the lists that name pruned records. */
async function giveUpPages(run: Run, given: Between): Promise<Write[]> {
  const pruned = { ...(await run((reader) => reader.pruned())) }
  const writes: Write[] = []
  const reach = (reader: Reader, { index, key }: Waiting) => {
    const list = new ListKey(index, key)
    const [edge, page] = [reader.edge(list), reader.pages(list)]
    const [passed, passing] = given.map((counts) => rank(edge, counts[index.of.tag]!, page)) as [number, number]
    return { index, key, isFirst: passed === 0, from: unreachable(edge, passed), to: unreachable(edge, passing) }
  }
  const filed = await fileAgain(run, given)
  for (const { index, key, isFirst, from, to } of await joined(readEach(run, filed.all(), reach))) {
    if (isFirst) pruned[index.tag] = (pruned[index.tag] ?? 0) + 1
    for (const [level, end] of to.entries())
      for (let number = from[level]!; number < end; number++) writes.push([postingPageKey(index.tag, key, level, number), undefined])
  }
  return [...writes, [PRUNED, encodePruned(pruned)]]
}

/** Keeps the last change of each offer that changed in what is given up. */
async function keepBases(run: Run, given: Between): Promise<Write[]> {
  const { id } = offerChanges.columns
  const change = ({ block, at }: Place, _: Resource, ordinal: number) => [block.side(at, id), { row: block.row(at), ordinal }] as const
  const last = new Map(await joined(readRecords(run, [offerChanges], given, change)))
  return Array.from(last, ([id, { row, ordinal }]) => baseWrite(BigInt(id), row, ordinal))
}

/** The ranges of keys that pruning leaves sparse, for a store that can reclaim their space. */
export const prunedRanges = ({ since, oldest }: Head): KeyRange[] => [
  ...logs.map((resource) => blockRange(resource.tag, blockNumber(resource, since[resource.tag]!))),
  keysOf(KIND.page),
  keysOf(KIND.hash),
  digestRange(0, oldest),
]
