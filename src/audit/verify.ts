/**
 * Whether a store is whole: every value against its key and its seal, every ledger against its digest and the one before, every index against the
 * records in both directions, the book against the changes that made it, and nothing present that nothing asks for. Only reads.
 * Its memory holds the live book and, of one list at a time, the first entry of each page. What else grows does so with the damage: the findings, the
 * spans of records that are lost, and the filings and offers that a fault is to name or leaves uncertain.
 */
import { equal, same } from '../bytes.ts'
import { FolioError } from '../errors.ts'
import { type NotHeld, notHeld, readHighWater } from '../ingest/high-water.ts'
import { holdsRecords, networkIn } from '../ingest/identity.ts'
import { hashUnder } from '../ingest/load.ts'
import { decodeBlock } from '../layout/block.ts'
import { decodeHash } from '../layout/hash.ts'
import { decodeEra, decodeHead, decodeIntent, type Era, emptyHead, type Head, type HighWater, kindOf } from '../layout/head.ts'
import { ALL_KEYS, ERA, FORMAT, HEAD, HIGH_WATER, hashKey, INTENT, KIND, keysOf, postingKey, readOffer } from '../layout/keys.ts'
import { isDamage } from '../layout/seal.ts'
import { eachFiling, logs } from '../logs.ts'
import { offerChanges } from '../resources/offer.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { checkStore, ofStore, type Store } from '../store.ts'
import { Context, entriesOf, type Recorded, readable, readerUnder, recordAt } from './context.ts'
import { refuseForeign } from './foreign.ts'
import { listOf, walk } from './lists.ts'
import { changeBook, checkRecords } from './records.ts'
import { Findings, UNHELD, type VerifyOptions, type VerifyReport, verifyOptions } from './report.ts'
import { bucketOf } from './tally.ts'
import { checkPruned, checkTails, checkValues } from './values.ts'

/**
 * Checks a store to which nobody writes meanwhile. Damage is in the report, by key; it is not thrown.
 * @throws BAD_REQUEST if an option is unknown or wrong, STORE_MISUSE if `store` is not a store, STORE_FORMAT, STORE_CATALOGUE, STORE_INCOMPLETE, CLOSED,
 * STORE_FAILED, and the reason of the signal; CONFLICT if another process wrote to a shared store meanwhile, and there are faults: what it wrote looks like damage
 */
export async function verifyStore(store: Store, options: VerifyOptions = {}): Promise<VerifyReport> {
  const checked = verifyOptions.check(options)
  checkStore(store)
  return (await audit(store, checked)).report
}

const MOVED = 'history moved while it was checked, so what was found then may be no fault; check while nobody writes'

interface Audit {
  readonly report: VerifyReport
  readonly context: Context
}

/** As {@link verifyStore}, with what was learned on the way. */
export const audit = (store: Store, options: VerifyOptions): Promise<Audit> => audited(store, options).catch(ofStore(store))

async function audited(store: Store, options: VerifyOptions): Promise<Audit> {
  const stay = async (): Promise<void> => {
    if (!same(await store.get(HEAD), context.storedHead)) throw new FolioError('CONFLICT', { reason: MOVED })
  }
  const findings = new Findings(options, store.capabilities.shared ? stay : undefined)
  const { head, held, intent } = await readState(store, findings)
  const context = new Context(store, head, findings, intent)
  context.storedHead = held
  try {
    const report = await look(context)
    if (!report.ok) await findings.settle()
    return { report, context }
  } catch (error) {
    if (isDamage(error)) await findings.settle()
    throw error
  }
}

async function look(context: Context): Promise<VerifyReport> {
  const { findings, head, intent } = context
  await readBases(context)
  if (head.last > 0) await checkRecords(context)
  const { values, bytes } = await checkValues(context)
  if (!findings.isNamed(HEAD)) await checkTails(context)
  await nameFilings(context)
  if (!findings.isNamed(HEAD)) await checkPruned(context)
  await nameHashes(context)
  return {
    ok: findings.count === 0,
    faults: findings.faults,
    faultCount: findings.count,
    ...(intent && { unfinished: kindOf(intent) }),
    ...(head.last > 0 && { oldest: head.oldest, last: head.last }),
    ledgers: head.last === 0 ? 0 : head.last - head.oldest + 1,
    records: context.records,
    filings: context.filed.count,
    values,
    bytes,
  }
}

async function readState(store: Store, findings: Findings) {
  const [format, held, begun] = [await store.get(FORMAT), await store.get(HEAD), await store.get(INTENT)]
  const intent = begun && (await findings.tried(() => decodeIntent(begun)))
  if (intent && 'copy' in intent) throw new FolioError('STORE_INCOMPLETE')
  if (format === undefined) {
    await refuseForeign(entriesOf(store, ALL_KEYS))
    findings.add(FORMAT, 'the format of the store is missing')
  } else await findings.tried(() => networkIn(store, format))
  const head = await findings.tried(() => (held === undefined ? emptyHead : decodeHead(held)))
  if (held === undefined && (await holdsRecords(store))) findings.add(HEAD, 'the head is missing')
  const era = await eraOf(store)
  const noted = await findings.tried(() => readHighWater(store.note, era))
  const gone = head && (await goneUnder(readerUnder(store, head), head, noted))
  if (gone) findings.add(HIGH_WATER, reasonOf(gone))
  return { head: head ?? emptyHead, held, intent }
}

const reasonOf = ({ ledger, noted, held }: NotHeld): string =>
  ledger === undefined
    ? `ledgers ${held + 1} to ${noted} were held, and are gone`
    : `ledger ${ledger} was held with the hash ${noted}, and is gone`

/** What was noted and is not held under a head, as far as that can be read. */
export const goneUnder = (reader: Context['reader'], head: Head, noted: HighWater | undefined): Promise<NotHeld | undefined> =>
  notHeld(noted, head, (ledger) => readable(() => hashUnder(reader, ledger)))

/** The era of the store; the first one if it is damaged, as if it is missing. */
export async function eraOf(store: Store): Promise<Era> {
  const value = await store.get(ERA)
  return (await readable(() => decodeEra(value))) ?? decodeEra(undefined)
}

/** The book starts from what pruning left of it. */
async function readBases({ store, book, unsure, findings }: Context): Promise<void> {
  for await (const entries of entriesOf(store, keysOf(KIND.base)))
    for (const [key, value] of entries) {
      await findings.step()
      const row = await readable(() => decodeBlock(key, offerChanges, value).row(0))
      if (row) changeBook(book, row)
      // Reported when every value is looked at.
      else unsure.add(String(readOffer(key)))
    }
}

/** Where the tallies differ, the lists of those buckets are compared with the records entry by entry. */
async function nameFilings(context: Context): Promise<void> {
  const { findings, store, head, unread } = context
  const suspect = context.wanted.differing(context.filed)
  if (suspect.size === 0) return
  const wanted = new Map<string, { readonly key: Uint8Array; readonly ordinals: Set<number> }>()
  for await (const { resource, record, sides, ordinal } of eachRecord(context)) {
    if (ordinal >= head.filedCounts[resource.tag]!) continue
    eachFiling(resource, record, sides, (index, elements) => {
      const key = postingKey(index.tag, elements)
      if (!suspect.has(bucketOf(key))) return
      const name = key.join()
      const held = wanted.get(name)
      if (held) held.ordinals.add(ordinal)
      else wanted.set(name, { key, ordinals: new Set([ordinal]) })
    })
  }
  for await (const entries of entriesOf(store, keysOf(KIND.edge)))
    for (const [key, value] of entries) {
      const list = listOf(key)
      if (!list || !suspect.has(bucketOf(key))) continue
      const name = key.join()
      const missing = wanted.get(name)?.ordinals ?? new Set()
      wanted.delete(name)
      const { tag } = list.index.of
      let [extra, broken] = [0, false]
      try {
        for await (const ordinals of walk(context, list, value))
          for (const ordinal of ordinals) if (!missing.delete(ordinal) && ordinal >= head.since[tag]! && !unread.has(tag, ordinal)) extra++
      } catch (error) {
        findings.take(error)
        broken = true
      }
      if (!broken && extra + missing.size > 0)
        findings.add(key, `a posting list lacks ${missing.size} records, and names ${extra} that are not of it`)
    }
  for (const { key, ordinals } of wanted.values()) findings.add(key, `a posting list is missing, of ${ordinals.size} records`)
}

async function nameHashes(context: Context): Promise<void> {
  const { findings, store } = context
  const suspect = context.wantedHashes.differing(context.heldHashes)
  if (suspect.size === 0) return
  for await (const { resource, record, ordinal } of eachRecord(context)) {
    if (resource !== transactions && resource !== failedTransactions) continue
    const key = hashKey(record['hash'])
    if (!suspect.has(bucketOf(key))) continue
    const value = await store.get(key)
    if (value === undefined) findings.add(key, 'the entry of a transaction is missing')
    if (value === undefined || findings.isNamed(key)) continue
    const found = decodeHash(key, value)
    if (found.ordinal !== ordinal || found.failed !== (resource === failedTransactions))
      findings.add(key, 'the entry of a transaction names another one')
  }
  if (!findings.isNamed(HEAD)) await nameHashless(context, suspect)
}

/** Entries that name a transaction that is held, under a hash that none has. */
async function nameHashless(context: Context, suspect: ReadonlySet<number>): Promise<void> {
  const { findings, store, unread } = context
  for await (const entries of entriesOf(store, keysOf(KIND.hash)))
    for (const [key, value] of entries) {
      await findings.step()
      if (!suspect.has(bucketOf(key)) || findings.isNamed(key)) continue
      const { ordinal, failed } = decodeHash(key, value)
      const resource = failed ? failedTransactions : transactions
      if (unread.has(resource.tag, ordinal)) continue
      const { sides } = await recordAt(context, resource, ordinal)
      if (!equal(hashKey(sides[transactions.columns.hash]!), key)) findings.add(key, UNHELD)
    }
}

/** Every record that can be read, once more. */
export async function* eachRecord(context: Context): AsyncGenerator<Recorded, void, undefined> {
  const { head, findings, unread } = context
  for (const resource of logs)
    for (let ordinal = head.since[resource.tag]!; ordinal < head.counts[resource.tag]!; ordinal++) {
      if (ordinal % 1024 === 0) await findings.progress('naming', ordinal, head.counts[resource.tag]!)
      if (!unread.has(resource.tag, ordinal)) yield await recordAt(context, resource, ordinal)
    }
}
