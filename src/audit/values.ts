/** Every value of the store, in order of keys: its seal, its form, and whether anything asks for it. */
import { equal } from '../bytes.ts'
import { type Block, decodeBlock } from '../layout/block.ts'
import { decodeHash } from '../layout/hash.ts'
import { decodeText } from '../layout/head.ts'
import {
  ALL_KEYS,
  baseKey,
  blockKey,
  bookKey,
  bookSellerKey,
  ERA,
  FORMAT,
  HEAD,
  INTENT,
  indexKey,
  indexPagesKey,
  isHashKey,
  KIND,
  kindOfKey,
  PRUNED,
  postingKey,
  readBlockKey,
  readDigestKey,
  readOffer,
} from '../layout/keys.ts'
import { blockNumber, firstOfBlock, placeInBlock, recordsInBlock } from '../layout/ordinals.ts'
import { decodePage } from '../layout/posting.ts'
import { checkSeal, corrupt } from '../layout/seal.ts'
import { indexes, logs } from '../logs.ts'
import { parseId } from '../position.ts'
import type { Index, Resource } from '../query.ts'
import { changesByOffer, offerChanges, offers } from '../resources/offer.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { type Context, entriesOf } from './context.ts'
import { lastPruned, listOf, pagesOf, walk } from './lists.ts'
import { sumOfRow } from './records.ts'
import { FORGOTTEN, STRAY, UNHELD } from './report.ts'

type Check = (key: Uint8Array, value: Uint8Array) => void | Promise<void>

/** @returns how many values there are, and their bytes */
export async function checkValues(context: Context): Promise<{ values: number; bytes: number }> {
  // Without a head, nothing can be said except whether a value is the one that was written.
  const checks = context.findings.isNamed(HEAD) ? undefined : checksOf(context)
  let [values, bytes] = [0, 0]
  for await (const entries of entriesOf(context.store, ALL_KEYS)) {
    await context.findings.progress('values', values)
    for (const [key, value] of entries) {
      await context.findings.step()
      values++
      bytes += key.length + value.length
      try {
        await (checks ? (checks[kindOfKey(key)] ?? unknown) : checkSeal)(key, value)
      } catch (error) {
        context.findings.take(error)
      }
    }
  }
  if (checks) checkAllMet(context)
  return { values, bytes }
}

const unknown: Check = (key, value) => {
  checkSeal(key, value)
  throw corrupt(key, STRAY)
}

function checksOf(context: Context): Readonly<Record<number, Check>> {
  // Values with a key of one byte: the seal, and whether the key is a known one. Their contents were checked before everything else, where that
  // matters.
  const own: Check = (key, value) => void (key.length === 1 ? checkSeal : unknown)(key, value)
  const placeOfPage = pagesOf(context)
  return {
    [kindOfKey(HEAD)]: own,
    [kindOfKey(FORMAT)]: own,
    [kindOfKey(INTENT)]: own,
    [kindOfKey(ERA)]: own,
    [kindOfKey(PRUNED)]: (key, value) => (context.head.oldest > context.head.first ? own(key, value) : unknown(key, value)),
    [KIND.block]: checkBlocks(context),
    [KIND.edge]: (key, value) => checkList(context, key, value),
    [KIND.page]: async (key, value) => {
      decodePage(key, value)
      const problem = await placeOfPage(key)
      if (problem) throw corrupt(key, problem)
    },
    [KIND.hash]: (key, value) => checkHash(context, key, value),
    [KIND.book]: (key, value) => checkBook(context, key, value),
    [KIND.seller]: (key, value) => checkSeller(context, key, value),
    [KIND.base]: (key, value) => checkBase(context, key, value),
    [KIND.digest]: (key, value) => {
      checkSeal(key, value)
      const ledger = readDigestKey(key) ?? -1
      if (ledger > context.head.last) context.findings.add(HEAD, 'the head is older than the ledgers that are there')
      if (ledger < context.head.oldest || ledger > context.head.last) throw corrupt(key, STRAY)
    },
  }
}

/** Blocks of a log are numbered without gaps, from the oldest record on, each full except the last. */
function checkBlocks({ head, findings, gaps }: Context): Check {
  const byTag = new Map(logs.map((resource) => [resource.tag, resource]))
  return (key, value) => {
    const { log = -1, number = 0 } = readBlockKey(key) ?? {}
    const resource = byTag.get(log)
    if (resource === undefined) return unknown(key, value)
    const wanted = recordsInBlock(resource, number, head.counts[resource.tag]!)
    if (wanted <= 0 || firstOfBlock(resource, number + 1) <= head.since[resource.tag]!) {
      checkSeal(key, value)
      throw corrupt(key, 'no ledger that is held has this block')
    }
    const block = decodeBlock(key, resource, value)
    if (block.count < wanted)
      gaps.set(log, Math.min(gaps.get(log) ?? Number.POSITIVE_INFINITY, firstOfBlock(resource, number) + block.count))
    if (block.count !== wanted) findings.add(key, `it holds ${block.count} records, not ${wanted}`)
    else checkSimple(block, key)
  }
}

/** Simple texts become typed records without being parsed, so a text that is not simple must not be said to be. */
function checkSimple(block: Block, key: Uint8Array): void {
  for (let at = 0; at < block.count; at++)
    for (const [face, { simple }] of block.row(at).texts.entries())
      if (simple !== block.isSimple(at, face)) throw corrupt(key, 'what it says of a text is not so')
}

/** Blocks that should be there and are not. One with records that are held was already reported when these were read. */
export async function checkTails({ head, findings, store }: Context): Promise<void> {
  for (const resource of logs) {
    const count = head.counts[resource.tag]!
    if (placeInBlock(resource, count) === 0) continue
    const key = blockKey(resource.tag, blockNumber(resource, count))
    if ((await store.get(key)) === undefined) findings.add(key, `the last block of the ${resource.name} log is missing`)
  }
}

/** A list whose records were all pruned is missed only by its number: nothing is left of its key, but for the last change of an offer. */
export async function checkPruned({ head, findings, reader, store, pruned, unlisted }: Context): Promise<void> {
  for (const key of unlisted) findings.add(key, 'a posting list is missing, all of whose records were pruned')
  if (head.oldest === head.first) return
  if ((await store.get(PRUNED)) === undefined) findings.add(PRUNED, 'the numbers of lists that name pruned records are missing')
  if (findings.isNamed(PRUNED)) return
  const wanted = await reader.run((read) => read.pruned())
  for (const { tag } of indexes)
    if ((wanted[tag] ?? 0) !== (pruned.get(tag) ?? 0) && !findings.any(indexKey(tag)) && !findings.any(indexPagesKey(tag)))
      findings.add(indexKey(tag), FORGOTTEN)
}

async function checkList(context: Context, key: Uint8Array, value: Uint8Array): Promise<void> {
  const list = listOf(key)
  if (list === undefined) return unknown(key, value)
  const { head, unread, filed, pruned } = context
  const { tag } = list.index.of
  const opened = (passed: number): void => {
    if (passed > 0) pruned.set(list.index.tag, (pruned.get(list.index.tag) ?? 0) + 1)
  }
  for await (const entries of walk(context, list, value, opened))
    for (const ordinal of entries) {
      if (ordinal >= head.filedCounts[tag]!) throw corrupt(key, 'a posting list names a record that is not there, or not filed')
      if (ordinal >= head.since[tag]! && !unread.has(tag, ordinal)) filed.add(key, ordinal)
    }
}

function checkHash({ head, unread, heldHashes }: Context, key: Uint8Array, value: Uint8Array): void {
  const { ordinal, failed } = decodeHash(key, value)
  const { tag } = failed ? failedTransactions : transactions
  if (!isHashKey(key) || ordinal < head.since[tag]! || ordinal >= head.counts[tag]!) throw corrupt(key, UNHELD)
  if (!unread.has(tag, ordinal)) heldHashes.add(key, 2 * ordinal + (failed ? 1 : 0))
}

function blockOfOne(resource: Resource, key: Uint8Array, value: Uint8Array): Block {
  const block = decodeBlock(key, resource, value)
  if (block.count !== 1) throw corrupt(key, 'it holds another number of records')
  checkSimple(block, key)
  return block
}

function checkBook({ book, unread, unsure }: Context, key: Uint8Array, value: Uint8Array): void {
  const block = blockOfOne(offers, key, value)
  const row = block.row(0)
  const [name, seller] = [row.sides[offerChanges.columns.id]!, row.sides[offerChanges.columns.seller]!]
  const id = parseId(name)
  if (id === undefined || !equal(bookKey(seller, id), key)) throw corrupt(key, 'an offer of the book lies under the key of another')
  if (unread.any(offerChanges.tag)) return
  const wanted = book.get(name)
  if (wanted === undefined && unsure.has(name)) return
  if (wanted === undefined || wanted.seller !== seller)
    throw corrupt(key, 'the changes of the offer have removed it, or given it another seller')
  wanted.entry = true
  if (wanted.sum !== sumOfRow(row) || block.id(0) !== id) throw corrupt(key, 'the offer is not as its last change left it')
}

function checkSeller({ book, unread, unsure }: Context, key: Uint8Array, value: Uint8Array): void {
  const seller = decodeText(key, value)
  const id = readOffer(key)
  if (id === undefined || !equal(bookSellerKey(id), key)) throw corrupt(key, STRAY)
  if (unread.any(offerChanges.tag)) return
  const wanted = book.get(String(id))
  if (wanted === undefined && unsure.has(String(id))) return
  if (wanted === undefined) throw corrupt(key, 'no offer of the book has this seller')
  wanted.back = true
  if (wanted.seller !== seller) throw corrupt(key, 'the offer has another seller')
}

/** Whether more lists of the index named pruned records than are there, once all were looked at; true if that cannot be told. */
async function lacksLists({ findings, pruned, reader, store }: Context, { tag }: Index): Promise<boolean> {
  if (findings.isNamed(PRUNED) || (await store.get(PRUNED)) === undefined) return true
  return ((await reader.run((read) => read.pruned()))[tag] ?? 0) > (pruned.get(tag) ?? 0)
}

/** Only one thing can still be told: whether the change is the last one below the oldest ledger. */
async function checkBase(context: Context, key: Uint8Array, value: Uint8Array): Promise<void> {
  const block = blockOfOne(offerChanges, key, value)
  const id = readOffer(key)
  if (id === undefined || !equal(baseKey(id), key) || block.side(0, offerChanges.columns.id) !== String(id)) throw corrupt(key, STRAY)
  const ordinal = Number(block.id(0))
  const isUnread = context.unread.has(offerChanges.tag, ordinal)
  if (!isUnread && (await lastPruned(context, id)) === ordinal) return
  const list = postingKey(changesByOffer.tag, [id])
  const isListed = ordinal >= context.head.since[offerChanges.tag]! || (await context.store.get(list)) !== undefined
  if (!isListed && (await lacksLists(context, changesByOffer))) context.unlisted.push(list)
  else if (!isUnread) throw corrupt(key, 'it is not the last change of the offer that was pruned')
}

function checkAllMet({ book, findings, unread }: Context): void {
  if (unread.any(offerChanges.tag)) return
  for (const [id, { seller, entry, back }] of book) {
    if (!entry) findings.add(bookKey(seller, BigInt(id)), 'an offer of the book is missing')
    if (!back) findings.add(bookSellerKey(BigInt(id)), 'the seller of an offer of the book is missing')
  }
}
