/**
 * Taking the newest ledger back: what its append added is worked out again from its records and removed, so that the store equals one
 * that never held it.
 */
import { encodeBlock } from '../layout/block.ts'
import { emptyHead, encodeHead, encodeText, type Head } from '../layout/head.ts'
import { blockKey, bookKey, bookSellerKey, HEAD, hashKey, postingKey, postingPageKey } from '../layout/keys.ts'
import { encodeEdge, rank, truncate } from '../layout/posting.ts'
import { seal } from '../layout/seal.ts'
import { splitId } from '../position.ts'
import type { Index, Resource } from '../query.ts'
import { ledgers } from '../resources/ledger.ts'
import { changesByOffer, offerChanges, offers } from '../resources/offer.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { posting } from '../scan/list.ts'
import type { Place } from '../scan/locate.ts'
import { edgeId, type Reader } from '../scan/reader.ts'
import type { Write } from '../store.ts'
import type { Element } from '../tuple.ts'
import { filingsOf } from './encode.ts'

/** The batch that removes the newest ledger, the head last, and that head. */
export function undoNewest(reader: Reader, logs: readonly Resource<any>[]): { writes: Write[]; head: Head } {
  const head = headBefore(reader)
  const writes: Write[] = []
  const lists = new Map<string, { index: Index<any>; key: readonly Element[] }>()
  const offerIds = new Set<bigint>()
  for (const resource of logs) {
    for (const { block, at } of rowsFrom(reader, resource, head.counts[resource.tag]!)) {
      const { sides } = block.row(at)
      const record = block.textBytes(at, at + 1) > 0 ? block.members(at) : {}
      for (const [index, key] of filingsOf(resource, record, sides)) lists.set(edgeId(index.tag, key), { index, key })
      if (resource === transactions || resource === failedTransactions) writes.push([hashKey(record['hash']), undefined])
      if (resource === offerChanges) offerIds.add(BigInt(sides[1]!))
    }
    writes.push(...cutLog(reader, resource, head.counts[resource.tag]!))
  }
  for (const { index, key } of lists.values()) writes.push(...cutList(reader, index, key, head.counts[index.of.tag]!))
  for (const id of offerIds) writes.push(...restoreOffer(reader, id, head.counts[offerChanges.tag]!))
  writes.push([HEAD, encodeHead(head)])
  return { writes, head }
}

/** The head as it was before the newest ledger, read off the ledger under it. */
function headBefore(reader: Reader): Head {
  const { head } = reader
  if (head.last === head.first) return emptyHead
  const { block, at } = reader.at(ledgers, head.last - head.first - 1)
  const { hash, closed_at } = block.members(at)
  const [ends, topOffer] = [block.side(at, 0), block.side(at, 1)]
  return { ...head, last: head.last - 1, hash, closedAt: closed_at, counts: ends.split(',').map(Number), topOffer }
}

function* rowsFrom(reader: Reader, resource: Resource<any>, from: number): Generator<Place> {
  for (let ordinal = from; ordinal < reader.head.counts[resource.tag]!; ordinal++) yield reader.at(resource, ordinal)
}

function* cutLog(reader: Reader, resource: Resource<any>, count: number): Generator<Write> {
  const size = 1 << resource.shift
  const before = reader.head.counts[resource.tag]!
  if (before === count) return
  const kept = Math.floor(count / size)
  const rest = count % size
  if (rest > 0) {
    const key = blockKey(resource.tag, kept)
    const block = reader.block(resource, kept)
    yield [
      key,
      seal(
        key,
        encodeBlock(
          resource,
          Array.from({ length: rest }, (_, at) => block.row(at)),
        ),
      ),
    ]
  }
  for (let number = rest > 0 ? kept + 1 : kept; number * size < before; number++) yield [blockKey(resource.tag, number), undefined]
}

function* cutList(reader: Reader, index: Index<any>, key: readonly Element[], bound: number): Generator<Write> {
  const edge = reader.edge(index, key)
  const page = reader.pages(index, key)
  const cut = truncate(edge, rank(edge, bound, page), page)
  for (const { level, page: number } of cut.dropped) yield [postingPageKey(index.tag, key, level, number), undefined]
  const at = postingKey(index.tag, key)
  yield [at, cut.edge.count === 0 ? undefined : seal(at, encodeEdge(cut.edge))]
}

/** Puts an offer back to its newest state below `bound`. */
function* restoreOffer(reader: Reader, id: bigint, bound: number): Generator<Write> {
  const now = reader.offer(id)
  const sellerKey = bookSellerKey(id)
  if (now) {
    yield [bookKey(now.side(0, 0), id), undefined]
    yield [sellerKey, undefined]
  }
  const ordinal = posting(reader, changesByOffer, [id]).take({ from: 0, to: bound }, 1, true)[0]
  if (ordinal === undefined) return
  const { block, at } = reader.at(offerChanges, ordinal)
  const row = block.row(at)
  if (block.textBytes(at, at + 1) === 0) return
  const seller = row.sides[0]!
  const key = bookKey(seller, id)
  yield [key, seal(key, encodeBlock(offers, [{ ...row, ...splitId(id), index: 0 }]))]
  yield [sellerKey, seal(sellerKey, encodeText(seller))]
}
