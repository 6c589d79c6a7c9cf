/**
 * The records, ledger by ledger: read back as a line, encoded again, and compared with what is stored: texts, side columns, places, counts, the chain
 * of hashes, the digest. What they require of the indexes and of the book is tallied on the way.
 */

import { crc32, equal, utf8 } from '../bytes.ts'
import { type EncodedClose, prepareClose } from '../ingest/encode.ts'
import { closeLine, type LedgerRows, rowsOfClose, storedRows, textOf } from '../ingest/line.ts'
import { parseJson } from '../json.ts'
import { decodeDigest } from '../layout/digest.ts'
import { blockKey, digestKey, HEAD, hashKey, postingKey } from '../layout/keys.ts'
import { filedOf, topOfferOf } from '../layout/ledger-row.ts'
import { blockNumber } from '../layout/ordinals.ts'
import { isEmpty, type Row } from '../layout/row.ts'
import { corrupt } from '../layout/seal.ts'
import { eachFiling, logs } from '../logs.ts'
import { parseId } from '../position.ts'
import type { OpenRecord, Resource } from '../query.ts'
import { ledgers } from '../resources/ledger.ts'
import { offerChanges } from '../resources/offer.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { countsAfter } from '../scan/locate.ts'
import { sha256 } from '../sha256.ts'
import { type Context, type Recorded, readable, recordAt, rowAt, sameRow, textsOf } from './context.ts'

type Counts = readonly number[]

/** A ledger as stored: its rows, and the ordinals at which they begin. */
interface Stored extends LedgerRows {
  readonly sequence: number
  readonly from: Counts
  readonly to: Counts
}

/** What the next ledger is compared with: the hash is undefined, and the highest offer id -1, if the one before could not be read. */
interface Previous {
  readonly hash: string | undefined
  readonly closedAt: string
  readonly top: bigint
  readonly filed: number
}
const unread: Previous = { hash: undefined, closedAt: '', top: -1n, filed: 0 }

export async function checkRecords(context: Context): Promise<void> {
  const { head, findings } = context
  const ledgersHeld = head.last - head.oldest + 1
  let previous: Previous = { hash: undefined, closedAt: '', top: 0n, filed: 0 }
  for await (const found of eachStored(context)) {
    await findings.progress('records', found.sequence - head.oldest, ledgersHeld)
    previous = 'ledger' in found ? await checkLedger(context, found, previous) : unread
  }
  const { hash, closedAt, top } = previous
  if (hash !== undefined && (hash !== head.hash || closedAt !== head.closedAt || String(top) !== head.topOffer))
    findings.add(HEAD, 'the head does not fit the newest ledger')
}

/** The ledgers that can be read, in order; for the others only the number, with their damage reported. Of their records, those that can be read count. */
async function* eachStored(context: Context): AsyncGenerator<Stored | { readonly sequence: number }, void, undefined> {
  const { head, reader, findings } = context
  /** Where the ledger after the last readable one begins, and whether that is the current one. */
  let from: Counts = head.since
  let sure = true
  for (let sequence = head.oldest; sequence <= head.last; sequence++) {
    let to: Counts
    try {
      to = await reader.run((read) => countsAfter(read, sequence))
      checkCounts(context, sequence, from, to)
    } catch (error) {
      findings.take(error, sequence)
      context.lost.add(sequence)
      sure = false
      yield { sequence }
      continue
    }
    try {
      const rows = sure ? await reader.run((read) => wholeRows(storedRows(read, sequence))) : undefined
      if (rows) yield { ...rows, sequence, from, to }
      else {
        findings.add(ledgerBlock(context, sequence - 1), 'the counts of the ledger before it cannot be read', sequence)
        context.lost.add(sequence)
        await tallyAlone(context, from, to)
      }
    } catch (error) {
      findings.take(error, sequence)
      context.lost.add(sequence)
      await tallyAlone(context, from, to)
      yield { sequence }
    }
    from = to
    sure = true
  }
  if (sure && logs.some(({ tag }) => from[tag] !== head.counts[tag]))
    findings.add(HEAD, 'the counts of the head are not those of the newest ledger')
  await tallyAlone(context, from, head.counts)
}

/** Reads every row at once, while what they need is available. */
function wholeRows({ ledger, of }: LedgerRows): LedgerRows {
  const rows = new Map(logs.map((resource) => [resource, of(resource)]))
  return { ledger, of: (resource) => rows.get(resource)! }
}

const ledgerBlock = (context: Context, sequence: number): Uint8Array =>
  blockKey(ledgers.tag, blockNumber(ledgers, sequence - context.head.first))

function checkCounts(context: Context, sequence: number, from: Counts, to: Counts): void {
  const { head } = context
  const good = logs.every(({ tag }) => Number.isSafeInteger(to[tag]) && to[tag]! >= from[tag]! && to[tag]! <= head.counts[tag]!)
  if (good && to[ledgers.tag] === sequence - head.first + 1) return
  throw corrupt(ledgerBlock(context, sequence), 'the counts of a ledger do not fit those around it')
}

async function checkLedger(context: Context, stored: Stored, previous: Previous): Promise<Previous> {
  const { findings, store } = context
  const { sequence, ledger, to } = stored
  const line = closeLine(stored)
  const wrong = (reason: string, key = digestKey(sequence)): void => findings.add(key, reason, sequence)
  const digest = await findings.tried(async () => decodeDigest(sequence, await store.get(digestKey(sequence))), sequence)
  if (digest && !equal(digest, sha256(line))) {
    wrong('the records of the ledger are not those that were digested')
    context.lost.add(sequence)
  }
  // A ledger of thousands of records is long work, of which these are the parts.
  await findings.step()
  const { encoded, error } = prepareClose(safely(line))
  if (!encoded) {
    wrong(`the records of the ledger are no ledger close: ${(error as Error).message}`, ledgerBlock(context, sequence))
    context.lost.add(sequence)
    for (const { tag } of logs) context.unread.add(tag, stored.from[tag]!, to[tag]!)
    return unread
  }
  const again = rowsOfClose(encoded)
  const texts = JSON.parse(`{${textOf(ledger)}}`) as OpenRecord
  if (ledger.hi !== sequence || textOf(again.ledger) !== textOf(ledger))
    wrong('the record of the ledger does not fit its place', ledgerBlock(context, sequence))
  if (previous.hash !== undefined && texts['prev_hash'] !== previous.hash)
    wrong('prev_hash is not the hash of the ledger before', ledgerBlock(context, sequence))
  for (const resource of logs) if (resource !== ledgers) compareRows(context, stored, resource, again.of(resource))
  const filed = filedOf(ledger.sides)
  const top = checkTop(context, stored, previous.top)
  if (!(filed >= previous.filed && filed <= sequence))
    wrong('the ledger up to which lists are filed went back', ledgerBlock(context, sequence))
  await findings.step()
  tally(context, stored, encoded)
  return { hash: texts['hash'], closedAt: texts['closed_at'], top, filed }
}

/** Text that is not JSON becomes a close that no schema accepts. */
function safely(line: string): unknown {
  try {
    return parseJson(line)
  } catch {
    return undefined
  }
}

function compareRows({ findings }: Context, stored: Stored, resource: Resource, again: readonly Row[]): void {
  const rows = stored.of(resource)
  const first = stored.from[resource.tag]!
  for (let at = 0; at < Math.max(rows.length, again.length); at++) {
    const [row, other] = [rows[at], again[at]]
    const same = row && other && row.hi === other.hi && row.lo === other.lo && row.index === other.index && sameRow(row, other)
    if (same) continue
    const key = blockKey(resource.tag, blockNumber(resource, first + at))
    findings.add(key, `a ${resource.name} is not as its text says, or not in its place`, stored.sequence)
    return
  }
}

/** The highest offer id after a ledger; -1 if the one before it is not known. */
function checkTop(context: Context, { sequence, ledger, of }: Stored, before: bigint): bigint {
  let top = before
  for (const { sides } of of(offerChanges)) {
    const id = parseId(sides[offerChanges.columns.id]!)
    if (id !== undefined && id > top) top = id
  }
  const said = parseId(topOfferOf(ledger.sides)) ?? -1n
  const { head, findings } = context
  const known = before >= 0n && (sequence > head.oldest || head.oldest === head.first)
  if (known ? said !== top : said < top)
    findings.add(ledgerBlock(context, sequence), 'the highest offer id is not that of the offers', sequence)
  return said
}

/** Adds up what the records require of the indexes and of the book. */
function tally(context: Context, { from }: Stored, { rows, unfiled }: EncodedClose): void {
  const { head, wanted, wantedHashes, book } = context
  for (const { index, key, ordinals } of unfiled.all()) {
    const at = postingKey(index.tag, key)
    const first = from[index.of.tag]!
    for (const nth of ordinals) if (first + nth < head.filedCounts[index.of.tag]!) wanted.add(at, first + nth)
  }
  const next = from.slice()
  for (const row of rows) {
    const { resource } = row
    const ordinal = next[resource.tag]!++
    context.records++
    if (resource === transactions || resource === failedTransactions)
      wantedHashes.add(hashKey(row.sides[transactions.columns.hash]!), 2 * ordinal + (resource === failedTransactions ? 1 : 0))
    if (resource === offerChanges) changeBook(book, row)
  }
  context.records++
}

/** The same for records of ledgers that cannot be read: for each that can be read by itself. */
async function tallyAlone(context: Context, from: Counts, to: Counts): Promise<void> {
  const { head, wanted, wantedHashes, findings, unread, book } = context
  for (const resource of logs)
    for (let ordinal = from[resource.tag]!; ordinal < to[resource.tag]!; ordinal++) {
      if (ordinal % 1024 === 0) await findings.progress('naming', ordinal, to[resource.tag]!)
      const found = await readable(() => recordAt(context, resource, ordinal))
      const keys = found && filingsOf(found)
      if (keys === undefined) {
        unread.add(resource.tag, ordinal, ordinal + 1)
        continue
      }
      if (ordinal < head.filedCounts[resource.tag]!) for (const key of keys) wanted.add(key, ordinal)
      if (resource.hashColumn !== undefined)
        wantedHashes.add(hashKey(found!.sides[resource.hashColumn]!), 2 * ordinal + (resource === failedTransactions ? 1 : 0))
      if (resource === offerChanges) changeBook(book, await rowAt(context, resource, ordinal))
    }
}

/** The lists that name a record; undefined if its text is none of a close. No store is asked, so whatever is thrown is about the text. */
function filingsOf({ resource, record, sides }: Recorded): Uint8Array[] | undefined {
  const keys: Uint8Array[] = []
  try {
    eachFiling(resource, record, sides, (index, elements) => keys.push(postingKey(index.tag, elements)))
    return keys
  } catch {
    return undefined
  }
}

export function changeBook(book: Context['book'], row: Row): void {
  const [seller, id] = [row.sides[offerChanges.columns.seller]!, row.sides[offerChanges.columns.id]!]
  if (isEmpty(row)) book.delete(id)
  else book.set(id, { seller, sum: sumOfRow(row), entry: false, back: false })
}

export const sumOfRow = (row: Row): number => crc32(utf8(row.sides.join('\0')), crc32(utf8(textsOf(row).join('\0'))))
