/** From the records to each kind of value that follows from them, but for posting lists. */

import { equal, hex, same } from '../bytes.ts'
import { baseWrite, offerWrites } from '../ingest/book.ts'
import { closeLine, storedRows } from '../ingest/line.ts'
import { type Block, decodeBlock } from '../layout/block.ts'
import { decodeDigest, encodeDigest } from '../layout/digest.ts'
import { encodeBlock } from '../layout/encode-block.ts'
import { encodeHash } from '../layout/hash.ts'
import { encodePruned } from '../layout/head.ts'
import { baseKey, hashKey, isHashKey, KIND, keysOf, PRUNED, readBlockKey, readDigestKey, readOffer } from '../layout/keys.ts'
import { firstOfBlock, recordsInBlock } from '../layout/ordinals.ts'
import { isEmpty, type Row } from '../layout/row.ts'
import { logs } from '../logs.ts'
import type { Resource } from '../query.ts'
import { offerChanges, offers } from '../resources/offer.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { sha256 } from '../sha256.ts'
import type { Store, Write } from '../store.ts'
import { type Context, entriesOf, readable, rowAt } from './context.ts'
import { lastPruned } from './lists.ts'
import { eachRecord } from './verify.ts'

/**
 * A block that holds more than history requires is cut to that; one that says what is not so of its texts is written again; one that nothing asks for
 * is removed; a damaged one is lost.
 */
export async function rebuildBlock({ store, head }: Context, key: Uint8Array): Promise<Write[]> {
  const { log, number = 0 } = readBlockKey(key) ?? {}
  const resource = logs.find(({ tag }) => tag === log)
  if (resource === undefined) return [[key, undefined]]
  const wanted = recordsInBlock(resource, number, head.counts[resource.tag]!)
  if (wanted <= 0 || firstOfBlock(resource, number + 1) <= head.since[resource.tag]!) return [[key, undefined]]
  const block = await readBlock(store, resource, key)
  if (block === undefined || block.count < wanted) return []
  const rows = await readable(() => block.rows(wanted))
  if (rows === undefined) return []
  const value = encodeBlock(key, resource, rows)
  return same(value, await store.get(key)) ? [] : [[key, value]]
}

export async function readBlock(store: Store, resource: Resource, key: Uint8Array): Promise<Block | undefined> {
  const value = await store.get(key)
  return readable(() => value && decodeBlock(key, resource, value))
}

/** Keys of values that may tell of records that cannot be read, by their names: they are not rebuilt. */
export type Unsure = Map<string, Uint8Array>

export function rebuildPruned({ pruned }: Context): Write[] {
  return [[PRUNED, encodePruned(Object.fromEntries(pruned))]]
}

/** Entries of transactions that can be read; what else has the key of one is removed, unless a transaction that cannot be read may have it. */
export async function rebuildHashes(context: Context, keys: readonly Uint8Array[], unsure: Unsure): Promise<Write[]> {
  const writes = new Map<string, Write>(keys.map((key) => [hex(key), [key, undefined]]))
  for await (const { resource, sides, ordinal } of eachRecord(context)) {
    if (resource !== transactions && resource !== failedTransactions) continue
    const key = hashKey(sides[transactions.columns.hash]!)
    if (writes.has(hex(key))) writes.set(hex(key), [key, encodeHash(key, { ordinal, failed: resource === failedTransactions })])
  }
  if (context.unread.any(transactions.tag) || context.unread.any(failedTransactions.tag))
    for (const [name, [key, value]] of writes)
      if (value === undefined && isHashKey(key)) {
        unsure.set(name, key)
        writes.delete(name)
      }
  return [...writes.values()]
}

/** The whole book, from the changes that made it; nothing if one of them cannot be read. */
export async function rebuildBook(context: Context): Promise<Write[]> {
  const { store, head, unsure, findings } = context
  if (context.unread.any(offerChanges.tag)) return []
  const writes: Write[] = []
  for await (const entries of entriesOf(store, keysOf(KIND.book, KIND.seller)))
    for (const [key] of entries) if (!unsure.has(String(readOffer(key)))) writes.push([key, undefined])
  const live = new Map<string, Row>()
  const change = (row: Row): void => {
    const id = row.sides[offerChanges.columns.id]!
    if (isEmpty(row)) live.delete(id)
    else live.set(id, row)
  }
  for await (const entries of entriesOf(store, keysOf(KIND.base)))
    for (const [key, value] of entries) if (!unsure.has(String(readOffer(key)))) change(decodeBlock(key, offerChanges, value).row(0))
  for (let ordinal = head.since[offerChanges.tag]!; ordinal < head.counts[offerChanges.tag]!; ordinal++) {
    if (ordinal % 1024 === 0) await findings.progress('naming', ordinal, head.counts[offerChanges.tag]!)
    change(await rowAt(context, offerChanges, ordinal))
  }
  for (const [id, row] of live) writes.push(...offerWrites(BigInt(id), row))
  return writes
}

/**
 * The last pruned changes of offers: each as it is if it can be read, or from the book if that still shows it; behind a later change it is lost.
 * Later changes and the book are gone through once, however many are asked for.
 */
export async function rebuildBases(context: Context, keys: readonly Uint8Array[]): Promise<Write[]> {
  const { store, findings } = context
  const isWhole = !context.unread.any(offerChanges.tag)
  const writes: Write[] = []
  /** By offer, the ordinals of the changes that only the book may still show. */
  const sought = new Map<string, number>()
  for (const [at, key] of keys.entries()) {
    await findings.progress('naming', at, keys.length)
    const id = readOffer(key)
    if (id === undefined || !equal(key, baseKey(id))) {
      writes.push([key, undefined])
      continue
    }
    const ordinal = await lastPruned(context, id)
    if (ordinal === undefined) {
      // A change that cannot be read may have been pruned.
      if (isWhole) writes.push([key, undefined])
      continue
    }
    const block = await readBlock(store, offerChanges, key)
    const itself = block && (await readable(() => block.row(0)))
    if (itself && block.count === 1 && itself.sides[offerChanges.columns.id] === String(id) && block.id(0) === BigInt(ordinal))
      writes.push(baseWrite(id, itself, ordinal))
    else if (isWhole) sought.set(String(id), ordinal)
  }
  await dropChanged(context, sought)
  for await (const [id, row] of inBook(context, sought)) writes.push(baseWrite(BigInt(id), row, sought.get(id)!))
  return writes
}

/** Takes out the offers that have changed since. */
async function dropChanged({ head, reader, findings }: Context, sought: Map<string, number>): Promise<void> {
  const count = head.counts[offerChanges.tag]!
  for (let later = head.since[offerChanges.tag]!; later < count && sought.size > 0; later++) {
    if (later % 1024 === 0) await findings.progress('naming', later, count)
    const { block, at } = await reader.run((read) => read.at(offerChanges, later))
    sought.delete(block.side(at, offerChanges.columns.id))
  }
}

/** Those of the offers that the book shows, whether or not their sellers are known; without those that are lost or damaged. */
async function* inBook({ store, findings }: Context, sought: ReadonlyMap<string, number>): AsyncGenerator<[string, Row], void, undefined> {
  const left = new Set(sought.keys())
  let seen = 0
  if (left.size === 0) return
  for await (const entries of entriesOf(store, keysOf(KIND.book))) {
    await findings.progress('naming', seen)
    seen += entries.length
    for (const [key, value] of entries) {
      const id = String(readOffer(key))
      if (!left.delete(id)) continue
      const row = await readable(() => decodeBlock(key, offers, value).row(0))
      if (row) yield [id, row]
    }
    if (left.size === 0) return
  }
}

/** A damaged digest is computed again from the records; one that contradicts them is evidence, and stays. */
export async function rebuildDigest({ store, head, reader, lost }: Context, key: Uint8Array): Promise<Write[]> {
  const sequence = readDigestKey(key) ?? -1
  if (sequence < head.oldest || sequence > head.last) return [[key, undefined]]
  const value = await store.get(key)
  const held = await readable(() => decodeDigest(sequence, value))
  if (held !== undefined || lost.has(sequence)) return []
  return [[key, encodeDigest(sequence, sha256(await reader.run((read) => closeLine(storedRows(read, sequence)))))]]
}
