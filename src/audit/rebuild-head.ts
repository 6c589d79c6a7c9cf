/**
 * The head, from the newest ledger that is there. Where each log begins after pruning follows from the row of the ledger before the oldest. If that
 * is gone, it is where the first block begins to hold records of the oldest ledger; unless it holds nothing older, since then blocks before it may be
 * lost. In that case the digest of the oldest ledger tells whether it is whole. **Invariant:** what may be lost is not passed over: otherwise the log is
 * said to begin one record earlier, so that its block is missed.
 */

import { equal } from '../bytes.ts'
import { digestOf, storedRows } from '../ingest/line.ts'
import { inEra } from '../ingest/state.ts'
import type { Block } from '../layout/block.ts'
import { decodeDigest } from '../layout/digest.ts'
import { decodeHash } from '../layout/hash.ts'
import { emptyHead, encodeHead, type Head } from '../layout/head.ts'
import { blockKey, blockRange, digestKey, digestRange, HEAD, hashKey, PRUNED, readBlockKey, readDigestKey } from '../layout/keys.ts'
import { endsOf, filedAt, topOfferAt } from '../layout/ledger-row.ts'
import { blockNumber, firstOfBlock, placeInBlock } from '../layout/ordinals.ts'
import { logs } from '../logs.ts'
import { MAX_LEDGER } from '../position.ts'
import type { Resource } from '../query.ts'
import { ledgers } from '../resources/ledger.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import type { Write } from '../store.ts'
import { type Context, entriesOf, readable, readerUnder } from './context.ts'
import { readBlock } from './rebuild.ts'
import { eraOf } from './verify.ts'

export async function rebuildHead(context: Context): Promise<Write[]> {
  const { store } = context
  const blocks = new Map<number, Block>()
  for await (const number of blockNumbers(context, ledgers)) {
    const block = await readBlock(store, ledgers, blockKey(ledgers.tag, number))
    if (block) blocks.set(number, block)
  }
  const newest = [...blocks.keys()].at(-1) ?? -1
  const block = blocks.get(newest)
  if (block === undefined) return []
  const at = block.count - 1
  const last = block.hi(at)
  const first = last - (firstOfBlock(ledgers, newest) + at)
  const endsAfter = (sequence: number): readonly number[] | undefined => {
    const held = blocks.get(blockNumber(ledgers, sequence - first))
    return held && endsOf(held, placeInBlock(ledgers, sequence - first))
  }
  const counts = endsOf(block, at)
  const oldest = Math.max(first, await oldestHeld(context, first, counts))
  const { hash, closed_at } = block.members(at)
  const filed = Math.max(filedAt(block, at), oldest === first ? 0 : oldest - 1)
  const topOffer = topOfferAt(block, at)
  const from = (since: readonly number[]): Head => {
    const filedCounts = filed < oldest ? since : (endsAfter(filed) ?? since)
    return { first, oldest, last, hash, closedAt: closed_at, counts, since, topOffer, filed, filedCounts }
  }
  const known = oldest === first ? emptyHead.since : endsAfter(oldest - 1)
  const head = from(known ?? (await firstOrdinals(context, from(counts))))
  return [[HEAD, encodeHead(inEra(store, head, await eraOf(store)))]]
}

/** The numbers of the blocks of a log, ascending. */
async function* blockNumbers({ store, findings }: Context, { tag }: Resource): AsyncGenerator<number, void, undefined> {
  for await (const entries of entriesOf(store, blockRange(tag)))
    for (const [key] of entries) {
      const found = readBlockKey(key)
      if (!found) continue
      if (found.number % 128 === 0) await findings.progress('naming', found.number)
      yield found.number
    }
}

async function firstBlock(context: Context, resource: Resource): Promise<number | undefined> {
  for await (const number of blockNumbers(context, resource)) return number
  return undefined
}

/**
 * Pruning removes the digest of a ledger and the hashes of its transactions, but blocks only whole: the oldest ledger is the first of which either is
 * there. If nothing was pruned, it is the first of all, whatever is there of it.
 */
async function oldestHeld(context: Context, first: number, counts: readonly number[]): Promise<number> {
  const { store } = context
  let isWhole = (await store.get(PRUNED)) === undefined
  for (const resource of logs) isWhole &&= counts[resource.tag] === 0 || (await firstBlock(context, resource)) === 0
  if (isWhole) return first
  for await (const entries of entriesOf(store, digestRange(0, MAX_LEDGER + 1)))
    for (const [key] of entries) {
      const found = readDigestKey(key)
      if (found !== undefined) return (await oldestHashed(context, found)) ?? found
    }
  return first
}

/** The oldest ledger below another one whose transactions are found by their hashes. */
async function oldestHashed(context: Context, below: number): Promise<number | undefined> {
  let oldest: number | undefined
  for (const resource of [transactions, failedTransactions])
    for await (const number of blockNumbers(context, resource)) {
      const block = await readBlock(context.store, resource, blockKey(resource.tag, number))
      for (let at = 0; block && at < block.count && block.hi(at) < (oldest ?? below); at++)
        if (await isHashed(context, block.side(at, transactions.columns.hash), firstOfBlock(resource, number) + at)) oldest = block.hi(at)
      if (block && block.hi(block.count - 1) >= below) break
    }
  return oldest
}

/** Whether the hash of a transaction leads to it, or cannot be read: that of one that was pruned is gone, or leads to another one. */
async function isHashed({ store }: Context, hash: string, ordinal: number): Promise<boolean> {
  const key = hashKey(hash)
  const value = await store.get(key)
  if (value === undefined) return false
  const found = await readable(() => decodeHash(key, value))
  return found === undefined || found.ordinal === ordinal
}

/** The first record of each log that lies at or above the oldest ledger. */
async function firstOrdinals(context: Context, head: Head): Promise<readonly number[]> {
  const since: number[] = head.counts.slice()
  since[ledgers.tag] = head.oldest - head.first
  const unsure: Resource[] = []
  for (const resource of logs) {
    const { tag } = resource
    if (resource === ledgers || head.counts[tag] === 0) continue
    const number = await firstBlock(context, resource)
    const block = number === undefined ? undefined : await readBlock(context.store, resource, blockKey(tag, number))
    let at = 0
    while (block && at < block.count && block.hi(at) < head.oldest) at++
    if (number !== undefined) since[tag] = Math.min(head.counts[tag]!, firstOfBlock(resource, number) + at)
    if (number === undefined || (block && at === 0 && number > 0)) unsure.push(resource)
  }
  if (unsure.length > 0 && !(await isOldestWhole(context, { ...head, since }))) for (const { tag } of unsure) since[tag]!--
  return since
}

/** Whether the oldest ledger under a head is the one that was digested. */
async function isOldestWhole({ store }: Context, head: Head): Promise<boolean> {
  const { oldest } = head
  const found = await readable(async () => {
    const digest = decodeDigest(oldest, await store.get(digestKey(oldest)))
    return equal(digest, await readerUnder(store, head).run((read) => digestOf(storedRows(read, oldest))))
  })
  return found === true
}
