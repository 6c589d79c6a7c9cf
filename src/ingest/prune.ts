/**
 * Giving up the oldest ledgers: their records, and what only these named. A step gives up a bounded number of records and ends at a ledger. What
 * stays is a function of history and of the oldest ledger held, however many steps led there.
 * **Invariants:** lists are complete at least up to the ledger before the oldest one; a list keeps its edge, its count, and every page to which a
 * bound at or above `since` can lead; of an offer that changed below `since` the last such change is kept, since a rollback may need it.
 */
import { encodePruned, type Head } from '../layout/head.ts'
import { blockKey, blockRange, digestKey, digestRange, hashKey, KIND, keysOf, PRUNED, postingPageKey } from '../layout/keys.ts'
import { blockNumber } from '../layout/ordinals.ts'
import { rank, unreachable } from '../layout/posting.ts'
import type { Row } from '../layout/row.ts'
import { logs } from '../logs.ts'
import { offerChanges } from '../resources/offer.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { ListKey } from '../scan/list-key.ts'
import { countsAfter, placesBetween } from '../scan/locate.ts'
import type { Reader } from '../scan/reader.ts'
import type { KeyRange, Write } from '../store.ts'
import { baseWrite } from './book.ts'
import { Filing, fileAgain, recordsBetween } from './filing.ts'
import type { History } from './history.ts'
import type { Step } from './rollback.ts'

/** The most records that one step gives up, if they belong to more than one ledger. */
const STEP_RECORDS = 4096

/** The step that moves the oldest ledger towards `target`. */
export const stepUp = (history: History, target: number): Promise<Step> =>
  history.head.filed < target - 1 ? fileUp(history, target - 1) : history.readToWrite((reader) => giveUp(reader, target))

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
function giveUp(reader: Reader, target: number): Step {
  const before = reader.head
  let oldest = before.oldest + 1
  while (oldest < target && recordsBetween(before.since, countsAfter(reader, oldest)) <= STEP_RECORDS) oldest++
  const head: Head = { ...before, oldest, since: countsAfter(reader, oldest - 1) }
  const writes: Write[] = []
  for (const resource of logs) {
    const [from, to] = [before.since[resource.tag]!, head.since[resource.tag]!].map((count) => blockNumber(resource, count))
    for (let number = from!; number < to!; number++) writes.push([blockKey(resource.tag, number), undefined])
  }
  giveUpPages(reader, head, writes)
  for (const resource of [transactions, failedTransactions])
    for (const { block, at } of placesBetween(reader, resource, before.since, head.since))
      writes.push([hashKey(block.side(at, resource.columns.hash)), undefined])
  keepBases(reader, head, writes)
  for (let sequence = before.oldest; sequence < oldest; sequence++) writes.push([digestKey(sequence), undefined])
  return { writes, head }
}

/** Gives up the pages of lists that no read under the new head can reach, and counts the lists that name pruned records. */
function giveUpPages(reader: Reader, head: Head, writes: Write[]): void {
  const before = reader.head
  const pruned = { ...reader.pruned() }
  reader.each(fileAgain(reader, before.since, head.since).all(), ({ index, key }) => {
    const list = new ListKey(index, key)
    const [edge, page] = [reader.edge(list), reader.pages(list)]
    const [passed, passing] = [before, head].map(({ since }) => rank(edge, since[index.of.tag]!, page)) as [number, number]
    if (passed === 0) pruned[index.tag] = (pruned[index.tag] ?? 0) + 1
    const from = unreachable(edge, passed)
    for (const [level, to] of unreachable(edge, passing).entries())
      for (let number = from[level]!; number < to; number++) writes.push([postingPageKey(index.tag, key, level, number), undefined])
  })
  writes.push([PRUNED, encodePruned(pruned)])
}

/** Keeps the last change of each offer that changed in what is given up. */
function keepBases(reader: Reader, head: Head, writes: Write[]): void {
  const bases = new Map<string, { readonly row: Row; readonly ordinal: number }>()
  for (const { block, at, ordinal } of placesBetween(reader, offerChanges, reader.head.since, head.since))
    bases.set(block.side(at, offerChanges.columns.id), { row: block.row(at), ordinal })
  for (const [id, { row, ordinal }] of bases) writes.push(baseWrite(BigInt(id), row, ordinal))
}

/** The ranges of keys that pruning leaves sparse, for a store that can reclaim their space. */
export const prunedRanges = ({ since, oldest }: Head): KeyRange[] => [
  ...logs.map((resource) => blockRange(resource.tag, blockNumber(resource, since[resource.tag]!))),
  keysOf(KIND.page),
  keysOf(KIND.hash),
  digestRange(0, oldest),
]
