/**
 * Giving up the oldest ledgers: their records, and what only these named. A step gives up a bounded number of records and ends at a ledger. What
 * stays is the same however many steps led there.
 * **Invariants:** lists are complete at least up to the ledger before the oldest one; a list that names a record from `since` on keeps its edge, its
 * count, and every page to which a bound at or above `since` can lead, and any other is forgotten; of an offer whose changes are listed, and that
 * changed below `since`, the last such change is kept, since a rollback may need it.
 */
import type { Place } from '../layout/block.ts'
import type { Head } from '../layout/head.ts'
import { blockKey, blockRange, digestRange, KIND, keysOf } from '../layout/keys.ts'
import { blockNumber } from '../layout/ordinals.ts'
import { type PostingEdge, rank, unreachable } from '../layout/posting.ts'
import type { Row } from '../layout/row.ts'
import { logs } from '../logs.ts'
import type { Index, Resource } from '../query.ts'
import { changesByOffer, offerChanges } from '../resources/offer.ts'
import { ListKey } from '../scan/list-key.ts'
import { countsAfter } from '../scan/locate.ts'
import type { Reader } from '../scan/reader.ts'
import type { Waiting } from '../scan/unfiled.ts'
import type { KeyRange, Write } from '../store.ts'
import type { Element } from '../tuple.ts'
import { baseWrite } from './book.ts'
import { Filing, fileAgain, recordsBetween } from './filing.ts'
import { countPruned, forget, isForgotten, removePages } from './forget.ts'
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
  const { edges, writes } = filing
  const head: Head = { ...history.head, filed: sequence, filedCounts: counts }
  return { writes, head, unfiled: waiting.newer, filed: [edges] }
}

/** Nothing that stays is changed by it: a filing in progress goes on, and what is cached of it is as good as before. */
async function giveUp({ readToWrite: run, head: before }: History, target: number): Promise<Step> {
  const head = await run((reader) => headFrom(reader, target))
  const given: Between = [before.since, head.since]
  const changes = await lastChanges(run, given)
  const lists = await passedLists(run, given, changes)
  const [forgotten, left] = [lists.filter((list) => list.isForgotten), lists.filter((list) => !list.isForgotten)]
  const gone = new Set(forgotten.filter(({ index }) => index === changesByOffer).map(({ key }) => String(key[0])))
  const writes = [
    ...logs.flatMap((log) => removeBlocks(log, given)),
    ...left.flatMap((list) => removePages(list, list.from, list.to)),
    ...[...changes].filter(([id]) => !gone.has(id)).map(([id, { row, ordinal }]) => baseWrite(BigInt(id), row, ordinal)),
    ...forgotten.flatMap((list) => forget(list, list.edge, list.from)),
    await run((reader) =>
      countPruned(
        reader,
        lists.filter(({ isFirst }) => isFirst),
        forgotten,
      ),
    ),
    ...(await removeHashes(run, given)),
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

/** A list that names something that is given up. */
interface Passed {
  readonly index: Index
  readonly key: readonly Element[]
  readonly edge: PostingEdge
  /** It names nothing that was pruned before. */
  readonly isFirst: boolean
  readonly isForgotten: boolean
  /** The first page of each level that is there, and the first that a read from now on can reach. */
  readonly from: readonly number[]
  readonly to: readonly number[]
}

async function passedLists(run: Run, given: Between, changes: ReadonlyMap<string, Change>): Promise<Passed[]> {
  const lives = (offer: bigint): boolean => changes.get(String(offer))!.lives
  const passed = (reader: Reader, waiting: Waiting): Passed => {
    const { index, key } = waiting
    const list = new ListKey(index, key)
    const [edge, page] = [reader.edge(list), reader.pages(list)]
    const [before, after] = given.map((counts) => rank(edge, counts[index.of.tag]!, page)) as [number, number]
    const isAll = after === edge.count
    return {
      index,
      key,
      edge,
      isFirst: before === 0,
      isForgotten: isAll && isForgotten(waiting, reader.unfiled, lives),
      from: unreachable(edge, before),
      to: unreachable(edge, after),
    }
  }
  const filed = await fileAgain(run, given)
  return joined(readEach(run, filed.all(), passed))
}

/** A change of an offer: its row, where it lies, and whether it left the offer in the book. */
interface Change {
  readonly row: Row
  readonly ordinal: number
  readonly lives: boolean
}

/** The last change of each offer that changed in what is given up. */
async function lastChanges(run: Run, given: Between): Promise<Map<string, Change>> {
  const { id } = offerChanges.columns
  const change = ({ block, at }: Place, _: Resource, ordinal: number) =>
    [block.side(at, id), { row: block.row(at), ordinal, lives: block.textBytes(at) > 0 }] as const
  return new Map(await joined(readRecords(run, [offerChanges], given, change)))
}

/** The ranges of keys that pruning leaves sparse, for a store that can reclaim their space. */
export const prunedRanges = ({ since, oldest }: Head): KeyRange[] => [
  ...logs.map((resource) => blockRange(resource.tag, blockNumber(resource, since[resource.tag]!))),
  keysOf(KIND.page),
  keysOf(KIND.hash),
  digestRange(0, oldest),
]
