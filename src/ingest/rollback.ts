/**
 * Rolling ledgers back: what their appends added is derived again from their records and removed, so that the store equals one that never held them.
 * A step goes back at most to the ledger up to which lists were filed before; what was filed since then becomes unfiled again.
 */

import { encodeBlock } from '../layout/encode-block.ts'
import { emptyHead, type Head } from '../layout/head.ts'
import { blockKey, digestKey, hashKey, postingKey, postingPageKey } from '../layout/keys.ts'
import { filedAt, topOfferAt } from '../layout/ledger-row.ts'
import { blockNumber, firstOfBlock, placeInBlock } from '../layout/ordinals.ts'
import { rank, truncate } from '../layout/posting.ts'
import { logs } from '../logs.ts'
import type { Index, Resource } from '../query.ts'
import { changesByOffer, offerChanges } from '../resources/offer.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { Posting } from '../scan/list.ts'
import { ListKey } from '../scan/list-key.ts'
import { countsAfter, ledgerAt, placesBetween } from '../scan/locate.ts'
import type { Reader } from '../scan/reader.ts'
import type { Unfiled } from '../scan/unfiled.ts'
import type { Write } from '../store.ts'
import type { Element } from '../tuple.ts'
import { offerWrites } from './book.ts'
import { edgeWrite, type FiledList, fileAgain } from './filing.ts'

/** One batch of a change that takes several, without the head in which it ends; that head; and what is unfiled under it, if that changes. */
export interface Step {
  readonly writes: readonly Write[]
  readonly head: Head
  readonly unfiled?: Unfiled
  /** The lists that were filed, by id, if nothing else was changed. */
  readonly edges?: ReadonlyMap<string, FiledList>
}

/** The step that goes back towards ledger `target`. */
export function stepBack(reader: Reader, target: number): Step {
  const before = reader.head
  // The lowest ledger that this step may reach without cutting lists below where they were once filed before.
  const floor = before.filed > target ? filedUnder(reader, before.filed - 1) : target
  const head = headAt(reader, Math.max(target, floor))
  const writes: Write[] = []
  // One by one: as arguments of a call there could be too many.
  for (const resource of logs) for (const write of cutLog(reader, resource, head.counts[resource.tag]!)) writes.push(write)
  if (head.filed < before.filed)
    reader.each(fileAgain(reader, head.filedCounts, before.filedCounts).all(), ({ index, key }) => {
      writes.push(...cutList(reader, index, key, head.filedCounts[index.of.tag]!))
    })
  reader.each([transactions, failedTransactions, offerChanges], (log) => reader.askFor(log, head.counts[log.tag]!, before.counts[log.tag]!))
  for (const resource of [transactions, failedTransactions])
    for (const { block, at } of placesBetween(reader, resource, head.counts, before.counts))
      writes.push([hashKey(block.side(at, resource.columns.hash)), undefined])
  const changed = new Set<string>()
  for (const { block, at } of placesBetween(reader, offerChanges, head.counts, before.counts))
    changed.add(block.side(at, offerChanges.columns.id))
  reader.each(changed, (id) => void writes.push(...restoreOffer(reader, BigInt(id), head.counts[offerChanges.tag]!)))
  for (let sequence = before.last; sequence > head.last && sequence >= before.oldest; sequence--)
    writes.push([digestKey(sequence), undefined])
  return { writes, head, unfiled: fileAgain(reader, head.filedCounts, head.counts) }
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

function* cutLog(reader: Reader, resource: Resource, count: number): Generator<Write> {
  const before = reader.head.counts[resource.tag]!
  if (before === count) return
  const kept = blockNumber(resource, count)
  const rest = placeInBlock(resource, count)
  if (rest > 0) {
    const key = blockKey(resource.tag, kept)
    const block = reader.block(resource, kept)
    yield [key, encodeBlock(key, resource, block.rows(rest))]
  }
  for (let number = rest > 0 ? kept + 1 : kept; firstOfBlock(resource, number) < before; number++)
    yield [blockKey(resource.tag, number), undefined]
}

function* cutList(reader: Reader, index: Index, key: readonly Element[], bound: number): Generator<Write> {
  const list = new ListKey(index, key)
  const [edge, page] = [reader.edge(list), reader.pages(list)]
  const cut = truncate(edge, rank(edge, bound, page), page)
  for (const { level, page: number } of cut.dropped) yield [postingPageKey(index.tag, key, level, number), undefined]
  yield edgeWrite(postingKey(index.tag, key), cut.edge)
}

/** Resets an offer to its newest state below `bound`. */
function* restoreOffer(reader: Reader, id: bigint, bound: number): Generator<Write> {
  const held = reader.offer(id)?.side(0, offerChanges.columns.seller)
  const from = reader.head.since[offerChanges.tag]!
  const ordinal = new Posting(reader, new ListKey(changesByOffer, [id])).take({ from, to: bound }, 1, true).ordinals[0]
  const place = ordinal === undefined ? reader.base(id) : reader.at(offerChanges, ordinal)
  const lives = place !== undefined && place.block.textBytes(place.at) > 0
  yield* offerWrites(id, lives ? place.block.row(place.at) : undefined, held)
}
