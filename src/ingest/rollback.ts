/**
 * Rolling ledgers back: what their appends added is derived again from their records and removed, so that the store equals one that never held them.
 * A step goes back at most to the ledger up to which lists were filed before; what was filed since then becomes unfiled again.
 */

import { encodeBlock } from '../layout/encode-block.ts'
import { emptyHead, type Head } from '../layout/head.ts'
import { blockKey, postingKey, postingPageKey } from '../layout/keys.ts'
import { filedAt, topOfferAt } from '../layout/ledger-row.ts'
import { blockNumber, firstOfBlock, placeInBlock } from '../layout/ordinals.ts'
import { rank, truncate, unreachable } from '../layout/posting.ts'
import { logs } from '../logs.ts'
import type { Resource } from '../query.ts'
import { changesByOffer, offerChanges } from '../resources/offer.ts'
import { Posting } from '../scan/list.ts'
import { ListKey } from '../scan/list-key.ts'
import { countsAfter, ledgerAt } from '../scan/locate.ts'
import type { Reader } from '../scan/reader.ts'
import type { Unfiled, Waiting } from '../scan/unfiled.ts'
import type { Write } from '../store.ts'
import { offerWrites } from './book.ts'
import { edgeWrite, fileAgain } from './filing.ts'
import { countPruned, forget, isForgotten } from './forget.ts'
import type { History } from './history.ts'
import { type Between, joined, type Run, readEach, readRecords } from './parts.ts'
import { removeDigests, removeHashes, type Step } from './step.ts'

/** The step that goes back towards ledger `target`. */
export async function stepBack({ readToWrite: run, head: before, backlog }: History, target: number): Promise<Step> {
  const head = await run((reader) => headTowards(reader, target))
  const removed: Between = [head.counts, before.counts]
  const filed = await fileAgain(run, [head.filedCounts, before.filedCounts])
  const waited = backlog.unfiled.whole.split(head.counts)
  // What is filed no more waits again, before what waited; all of that is at hand.
  const unfiled = filed.split(head.counts).older!.with(waited.older!)
  // What waited may be all that kept a list from being forgotten.
  const lists = head.oldest > head.first ? filed.with(waited.newer) : filed
  const writes = [
    ...(await run((reader) => logs.flatMap((log) => cutLog(reader, log, head.counts[log.tag]!)))),
    ...(await cutLists(run, lists, head, unfiled)),
    ...(await removeHashes(run, removed)),
    ...(await restoreOffers(run, removed)),
    ...removeDigests(Math.max(head.last + 1, before.oldest), before.last + 1),
  ]
  return { writes, head, unfiled }
}

/** The head that a step towards `target` reaches: the lowest one for which no list is cut below where it was once filed before. */
function headTowards(reader: Reader, target: number): Head {
  const { filed } = reader.head
  return headAt(reader, filed > target ? Math.max(target, filedUnder(reader, filed - 1)) : target)
}

/** The ledger up to which lists were complete after ledger `sequence`. Pruning files what it gives up. */
function filedUnder(reader: Reader, sequence: number): number {
  const { first, oldest } = reader.head
  const least = oldest > first ? oldest - 1 : 0
  if (sequence < oldest) return least
  const { block, at } = ledgerAt(reader, sequence)
  return Math.max(least, filedAt(block, at))
}

/** The head as it was when `sequence` was the newest ledger, taken from that ledger's row. */
export function headAt(reader: Reader, sequence: number): Head {
  const { head } = reader
  if (sequence < head.first) return emptyHead
  if (sequence >= head.last) return head
  const { block, at } = ledgerAt(reader, sequence)
  const { hash, closed_at } = block.members(at)
  const filed = filedUnder(reader, sequence)
  return {
    ...head,
    last: sequence,
    hash,
    closedAt: closed_at,
    counts: countsAfter(reader, sequence),
    topOffer: topOfferAt(block, at),
    filed,
    filedCounts: countsAfter(reader, filed),
  }
}

function cutLog(reader: Reader, resource: Resource, count: number): Write[] {
  const before = reader.head.counts[resource.tag]!
  if (before === count) return []
  const kept = blockNumber(resource, count)
  const rest = placeInBlock(resource, count)
  const writes: Write[] = []
  if (rest > 0) {
    const key = blockKey(resource.tag, kept)
    const block = reader.block(resource, kept)
    writes.push([key, encodeBlock(key, resource, block.rows(rest))])
  }
  for (let number = rest > 0 ? kept + 1 : kept; firstOfBlock(resource, number) < before; number++)
    writes.push([blockKey(resource.tag, number), undefined])
  return writes
}

/** Cuts lists to what is filed under a head, and forgets those that name nothing else than what was pruned. @param unfiled what waits under it */
async function cutLists(run: Run, lists: Unfiled, head: Head, unfiled: Unfiled): Promise<Write[]> {
  const cut = (reader: Reader, waiting: Waiting) => {
    const { index, key } = waiting
    const list = new ListKey(index, key)
    const [before, page] = [reader.edge(list), reader.pages(list)]
    const { tag } = index.of
    const { edge, dropped } = truncate(before, rank(before, head.filedCounts[tag]!, page), page)
    const isAllPruned = edge.count > 0 && rank(edge, head.since[tag]!, page) === edge.count
    const isGone = isAllPruned && isForgotten(waiting, unfiled, (offer) => livesInBase(reader, offer))
    const pages = dropped.map(({ level, page }): Write => [postingPageKey(index.tag, key, level, page), undefined])
    const rest = edge.count === before.count ? [] : [edgeWrite(postingKey(index.tag, key), edge)]
    return { index, key, isGone, writes: [...pages, ...(isGone ? forget(waiting, edge, unreachable(edge, edge.count)) : rest)] }
  }
  const all = await joined(readEach(run, lists.all(), cut))
  const gone = all.filter(({ isGone }) => isGone)
  const writes = all.flatMap((list) => list.writes)
  return gone.length === 0 ? writes : [...writes, await run((reader) => countPruned(reader, [], gone))]
}

/** Whether the last pruned change of an offer left it in the book. */
function livesInBase(reader: Reader, offer: bigint): boolean {
  const base = reader.base(offer)
  return base === undefined || base.block.textBytes(base.at) > 0
}

/** Resets the offers that changed to their newest states before that. */
async function restoreOffers(run: Run, removed: Between): Promise<Write[]> {
  const { id } = offerChanges.columns
  const changed = await joined(readRecords(run, [offerChanges], removed, ({ block, at }) => block.side(at, id)))
  const to = removed[0][offerChanges.tag]!
  const restore = (reader: Reader, offer: string): Write[] => restoreOffer(reader, BigInt(offer), to)
  return (await joined(readEach(run, new Set(changed), restore))).flat()
}

function restoreOffer(reader: Reader, id: bigint, to: number): Write[] {
  const held = reader.offer(id)?.side(0, offerChanges.columns.seller)
  const from = reader.head.since[offerChanges.tag]!
  const ordinal = new Posting(reader, new ListKey(changesByOffer, [id])).take({ from, to }, 1, true).ordinals[0]
  const place = ordinal === undefined ? reader.base(id) : reader.at(offerChanges, ordinal)
  const lives = place !== undefined && place.block.textBytes(place.at) > 0
  return offerWrites(id, lives ? place.block.row(place.at) : undefined, held)
}
