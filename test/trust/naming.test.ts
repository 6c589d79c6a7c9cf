/** What an audit says if sums differ: which lists and entries of hashes are at fault, and how; and what else it counts. */
import { describe, expect, test, vi } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { UNHELD } from '../../src/audit/report.ts'
import { catalogue, type Fault, type LedgerClose, openLedger, type VerifyReport, verifyStore, type Write } from '../../src/index.ts'
import { baseWrite } from '../../src/ingest/book.ts'
import { encodeHash } from '../../src/layout/hash.ts'
import { encodeFormat, encodeHead, encodeHighWater, encodeIntent, encodeText } from '../../src/layout/head.ts'
import {
  baseKey,
  blockKey,
  bookKey,
  bookSellerKey,
  FORMAT,
  HEAD,
  HIGH_WATER,
  hashKey,
  INTENT,
  PRUNED,
  postingKey,
  postingPageKey,
} from '../../src/layout/keys.ts'
import { encodeEdge, encodePage, PostingEdge } from '../../src/layout/posting.ts'
import { indexes } from '../../src/logs.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { changesByOffer, offerChanges, offers } from '../../src/resources/offer.ts'
import { operations, operationsByAccount, payments, paymentsByAccount } from '../../src/resources/operation.ts'
import { trades } from '../../src/resources/trade.ts'
import { transactions } from '../../src/resources/transaction.ts'
import { longCloses } from '../support/closes.ts'
import { everything, hex } from '../support/dump.ts'
import { errorOf } from '../support/errors.ts'
import {
  broken,
  CHECKSUM,
  edgeOf,
  fault,
  gone,
  headOf,
  headWith,
  held,
  keysOf,
  type Plant,
  resealed,
  rowsOf,
  STRAY,
  type Store,
  sealed,
  storesOf,
} from './support.ts'

/** What the engine takes for the clock: it takes hold of that when it is loaded. */
const clock = vi.hoisted(() => {
  const clock = { now: performance.now.bind(performance) }
  performance.now = () => clock.now()
  return clock
})

const FIRST = 5
const COUNT = 20
const LAST = FIRST + COUNT - 1
/** Trades in the first six ledgers only; an account and an offer that first appear in the ninth. */
const closes = Array.from({ length: COUNT }, (_, n): LedgerClose => {
  const close = richClose(FIRST + n, hashOf(FIRST + n - 1, 99))
  const [first, failed] = close.transactions!
  const own = first!.operations!.filter(({ type }) => n < 6 || type !== 'manage_offer')
  const participants = n < 8 ? first!.participants! : ['GLATE']
  const [one] = close.offers!.changed!
  const changed = n === 8 ? [one!, { ...one!, id: 40n, seller: 'GBOB' }] : [one!]
  return { ...close, transactions: [{ ...first!, participants, operations: own }, failed!], offers: { changed, removed: [8n] } }
})
/** One ledger with more operations than are named between two looks at the clock. */
const [wide] = closes.map((close): LedgerClose => {
  const [first] = close.transactions!
  return { ledger: close.ledger, transactions: [{ ...first!, operations: Array.from({ length: 1030 }, () => ({ type: 'inflation' })) }] }
})

const { names, stored, planted, spoiled, mends } = storesOf({
  whole: { closes, fileEvery: 1 },
  'half filed': { closes, fileEvery: 130 },
  pruned: { closes, oldest: FIRST + 6, fileEvery: 1 },
  'pruned by blocks': { closes, oldest: FIRST + 8, fileEvery: 1 },
  'pruned later': { closes, oldest: FIRST + 10, fileEvery: 1 },
  long: { closes: longCloses(FIRST, 4), fileEvery: 1 },
  'long and pruned': { closes: longCloses(FIRST, 4), oldest: FIRST + 1, fileEvery: 1 },
  'long, pruned by pages': { closes: longCloses(FIRST, 4), oldest: FIRST + 3, fileEvery: 1 },
  wide: { closes: [wide!], fileEvery: 1 },
})

type Name = (typeof names)[number]

const alice = postingKey(operationsByAccount.tag, ['GALICE'])
const bob = postingKey(paymentsByAccount.tag, ['GBOB'])
const differs = (lacks: number, names: number): string => `a posting list lacks ${lacks} records, and names ${names} that are not of it`
/** A list of one level with other entries. */
const withEntries = (store: Store, key: Uint8Array, change: (entries: readonly number[]) => readonly number[]): Write => {
  const entries = change(edgeOf(store, key).levels[0]!)
  return sealed(key, encodeEdge, new PostingEdge(entries.length, [entries]))
}

/** What an audit says, and nothing else. */
const says = async (kind: Name, plant: Plant, ...expected: Fault[]): Promise<void> =>
  expect((await spoiled(kind, plant)).faults).toEqual(expected)

describe('a list', () => {
  test('that lacks records or names others is named with how many', async () => {
    for (const kind of ['whole', 'half filed'] as const) {
      await mends(kind, (store) => [withEntries(store, bob, (entries) => entries.slice(2))], fault(bob, differs(2, 0)))
      await mends(kind, (store) => [withEntries(store, bob, (entries) => [0, ...entries])], fault(bob, differs(0, 1)))
      await mends(kind, (store) => [withEntries(store, bob, (entries) => [0, ...entries.slice(3)])], fault(bob, differs(3, 1)))
    }
  })

  test('that holds the entries of another is named, and so is the other', async () => {
    const key = postingKey(operationsByAccount.tag, ['GBOB'])
    const store = await stored('whole')
    const [one, other] = [alice, key].map((list) => edgeOf(store, list).levels[0]!) as [readonly number[], readonly number[]]
    const lacks = (mine: readonly number[], theirs: readonly number[]): number => mine.filter((entry) => !theirs.includes(entry)).length
    const { faults } = await spoiled('whole', (spoilt) => [withEntries(spoilt, alice, () => other), withEntries(spoilt, key, () => one)])
    expect(faults).toEqual([
      fault(alice, differs(lacks(one, other), lacks(other, one))),
      fault(key, differs(lacks(other, one), lacks(one, other))),
    ])
    expect(lacks(one, other)).not.toBe(lacks(other, one))
  })

  test('that is gone is named with how many were filed in it', async () => {
    const key = postingKey(operationsByAccount.tag, ['GNEW'])
    for (const kind of ['whole', 'half filed', 'pruned'] as const) {
      const store = await stored(kind)
      const from = headOf(store).since[operations.tag]!
      const count = edgeOf(store, key).levels[0]!.filter((ordinal) => ordinal >= from).length
      expect(count).toBe({ whole: 20, 'half filed': 12, pruned: 14 }[kind])
      const { faults } = await spoiled(kind, () => [gone(key)])
      // In a pruned store the number of lists that name what was pruned is wrong too, which adds nothing.
      expect(faults).toEqual([fault(key, `a posting list is missing, of ${count} records`)])
    }
  })

  test('that names fewer pruned records and all that are left is not at fault', async () => {
    await says('pruned', (store) => [withEntries(store, alice, (entries) => entries.slice(1))])
    await says('pruned', (store) => [withEntries(store, alice, (entries) => entries.slice(0, -1))], fault(alice, differs(1, 0)))
  })

  test('some of whose records cannot be read is judged by the others', async () => {
    const block = blockKey(operations.tag, 2)
    const lost = fault(block, 'a block of the operation log is missing', FIRST + 8)
    await says('whole', () => [gone(block)], lost)
    await says('whole', (store) => [gone(block), withEntries(store, bob, (entries) => entries.slice(1))], lost, fault(bob, differs(1, 0)))
    const first = (store: Store): number => edgeOf(store, bob).levels[0]!.findIndex((entry) => entry >= 32)
    await says(
      'whole',
      (store) => [gone(block), withEntries(store, bob, (entries) => entries.filter((_, at) => at > 0 && at !== first(store)))],
      lost,
      fault(bob, differs(1, 0)),
    )
  })

  test('with a damaged page is named by the page alone', async () => {
    const page = postingPageKey(operationsByAccount.tag, ['GALICE'], 0, 0)
    await mends('long', (store) => [broken(store, page)], fault(page, CHECKSUM))
    await mends('long', () => [gone(page)], fault(page, 'a page of a posting list is missing'))
    // Where a list begins to name what is left is known from its pages: of this list neither that nor its other pages can be judged.
    const other = postingPageKey(operationsByAccount.tag, ['GALICE'], 0, 7)
    const full = Array.from({ length: 128 }, (_, n) => n)
    await says('long and pruned', (store) => [broken(store, page), sealed(other, encodePage, full)], fault(page, CHECKSUM))
    await says('long, pruned by pages', () => [sealed(page, encodePage, full)], fault(page, 'no posting list has this page'))
    await mends('long', () => [gone(page), gone(alice)], fault(alice, `a posting list is missing, of ${await countOf('long')} records`))
  })

  test('that names a record that is not filed yet, or does not exist, is named for that', async () => {
    const reason = 'a posting list names a record that is not there, or not filed'
    for (const kind of ['whole', 'half filed'] as const) {
      const next = headOf(await stored(kind)).filedCounts[operations.tag]!
      for (const ordinal of [next, next + 1])
        await mends(kind, (store) => [withEntries(store, bob, (entries) => [...entries, ordinal])], fault(bob, reason))
    }
  })

  test('that is empty is named and removed', async () => {
    const key = postingKey(operationsByAccount.tag, ['GNOBODY'])
    await mends('whole', () => [sealed(key, encodeEdge, PostingEdge.empty)], fault(key, 'a posting list is empty'))
  })

  test('that no record belongs to names only records that are not its own', async () => {
    const key = postingKey(operationsByAccount.tag, ['GNOBODY'])
    await mends('whole', () => [sealed(key, encodeEdge, new PostingEdge(2, [[3, 9]]))], fault(key, differs(0, 2)))
  })

  test('of payments, which has no key, is checked like the others', async () => {
    const key = postingKey(payments.tag, [])
    await mends('whole', (store) => [withEntries(store, key, (entries) => entries.slice(1))], fault(key, differs(1, 0)))
  })

  const countOf = async (kind: 'long'): Promise<number> => edgeOf(await stored(kind), alice).count
})

describe('entries of hashes', () => {
  const [one, failed] = [hashKey(hashOf(FIRST + 9, 1)), hashKey(hashOf(FIRST + 9, 2))]
  const none = hashKey('ab'.repeat(32))
  const missing = 'the entry of a transaction is missing'
  const other = 'the entry of a transaction names another one'

  test.each([
    ['are gone', () => [gone(one), gone(failed)], [fault(one, missing), fault(failed, missing)]],
    ['name the next transaction', () => [sealed(one, encodeHash, { ordinal: 10, failed: false })], [fault(one, other)]],
    ['name a failed transaction', () => [sealed(one, encodeHash, { ordinal: 9, failed: true })], [fault(one, other)]],
    ['name a transaction that did not fail', () => [sealed(failed, encodeHash, { ordinal: 9, failed: false })], [fault(failed, other)]],
    ['are damaged', (store: Store) => [broken(store, one), gone(failed)], [fault(one, CHECKSUM), fault(failed, missing)]],
    ['no transaction has', () => [sealed(none, encodeHash, { ordinal: 9, failed: false })], [fault(none, UNHELD)]],
    ['no transaction has, one of which failed', () => [sealed(none, encodeHash, { ordinal: 9, failed: true })], [fault(none, UNHELD)]],
    [
      'no transaction has, in place of one',
      () => [sealed(none, encodeHash, { ordinal: 9, failed: false }), gone(one)],
      [fault(one, missing), fault(none, UNHELD)],
    ],
  ] as const)('that %s are named', async (_, plant, expected) => {
    for (const kind of ['whole', 'pruned'] as const) await mends(kind, plant, ...expected)
  })

  test('no transaction has are damage for whoever looks for one, not another transaction', async () => {
    const store = await planted('whole', () => [sealed(none, encodeHash, { ordinal: 9, failed: false })])
    await using ledger = await openLedger(store)
    const asked = () => ledger.get(catalogue.transaction, { hash: 'AB'.repeat(32) })
    expect(await errorOf(asked)).toMatchObject({ code: 'CORRUPT', fields: { key: hex(none), reason: other } })
    expect((await ledger.get(catalogue.transaction, { hash: hashOf(FIRST + 9, 1) }))?.hash).toBe(hashOf(FIRST + 9, 1))
  })

  test('of transactions that cannot be read are not expected', async () => {
    const block = blockKey(transactions.tag, 2)
    await says(
      'whole',
      () => [gone(block), gone(one), gone(hashKey(hashOf(FIRST + 2, 1)))],
      fault(block, 'a block of the transaction log is missing', FIRST + 8),
      fault(hashKey(hashOf(FIRST + 2, 1)), missing),
    )
  })
})

describe('what was pruned', () => {
  test('is kept for no offer that changed only since', async () => {
    const key = baseKey(40n)
    await mends('pruned', (store) => [baseWrite(40n, rowsOf(store, offers, bookKey('GBOB', 40n))[0]!, 1)], fault(key, STRAY))
  })

  test('is not referred to, and neither is what never existed: blocks next to those that are held', async () => {
    const none = 'no ledger that is held has this block'
    for (const [kind, number] of [
      ['whole', 5],
      ['pruned by blocks', 1],
      ['pruned by blocks', 5],
    ] as const) {
      const key = blockKey(transactions.tag, number)
      await mends(kind, () => [sealed(key, encodeText, 'x')], fault(key, none))
    }
  })

  test('of an offer, if damaged, leaves the book unsure of that offer alone', async () => {
    const key = baseKey(8n)
    const stray = bookKey('GBOB', 9n)
    await says(
      'pruned',
      (store) => [broken(store, key), resealed(bookSellerKey(8n), held(store, bookSellerKey(7n)).slice())],
      fault(key, CHECKSUM),
    )
    await says(
      'pruned',
      (store) => [broken(store, key), gone(bookSellerKey(7n))],
      fault(key, CHECKSUM),
      fault(bookSellerKey(7n), 'the seller of an offer of the book is missing'),
    )
    await says(
      'pruned',
      (store) => [broken(store, key), resealed(stray, held(store, bookKey('GALICE', 7n)).slice())],
      fault(stray, 'an offer of the book lies under the key of another'),
      fault(key, CHECKSUM),
    )
  })

  test('is expected only if the head is as it should be', async () => {
    const last = blockKey(trades.tag, 1)
    expect(headOf(await stored('pruned')).since[trades.tag]).toBe(12)
    await says(
      'pruned',
      () => [gone(PRUNED), gone(last)],
      fault(last, 'the last block of the trade log is missing'),
      fault(PRUNED, 'the numbers of lists that name pruned records are missing'),
    )
    await says(
      'pruned',
      (store) => [gone(PRUNED), gone(last), headWith(store, { hash: 'ab' })],
      fault(HEAD, 'the head does not fit the newest ledger'),
    )
  })

  test('is missed by the index of a list that is gone, and by that index alone', async () => {
    const forty = postingKey(changesByOffer.tag, [40n])
    const forgotten = 'a posting list of this index is missing; everything it named was pruned, so its key is unknown'
    const lost = [forty, baseKey(40n), bookKey('GBOB', 40n), bookSellerKey(40n)].map(gone)
    await says('pruned later', () => lost, fault(forty.subarray(0, 2), forgotten))
    const offer = postingKey(changesByOffer.tag, [7n])
    await says('pruned', () => [gone(offer)], fault(offer, 'a posting list is missing, of 14 records'))
  })
})

describe('a report', () => {
  test.each(['whole', 'half filed'] as const)('of a store that is %s counts what is filed', async (kind) => {
    const store = await stored(kind)
    const { entries } = await store.scan(everything, { limit: 1e6 })
    expect(await verifyStore(store)).toStrictEqual({
      ok: true,
      faults: [],
      faultCount: 0,
      oldest: FIRST,
      last: LAST,
      ledgers: COUNT,
      records: COUNT * (1 + 1 + 1 + 3 + 2 + 2) + 6 * (1 + 2) + 1,
      filings: keysOf(store, 0x20).reduce((sum, key) => sum + edgeOf(store, key).count, 0),
      values: entries.length,
      bytes: entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0),
    } satisfies VerifyReport)
  })

  test('of a pruned store counts what is filed of the records that are left', async () => {
    const store = await stored('pruned')
    const { since } = headOf(store)
    let filings = 0
    for (const key of keysOf(store, 0x20)) {
      const { of } = indexes.find(({ tag }) => tag === key[1])!
      filings += edgeOf(store, key).levels[0]!.filter((ordinal) => ordinal >= since[of.tag]!).length
    }
    expect(await verifyStore(store)).toMatchObject({ ok: true, filings, oldest: FIRST + 6, ledgers: 14 })
  })

  test('of a store without ledgers has no range', async () => {
    const store = memory()
    await openLedger(store)
    expect(await verifyStore(store)).toStrictEqual({
      ...{ ok: true, faults: [], faultCount: 0, ledgers: 0, records: 0, filings: 0, values: 1 },
      bytes: 1 + held(store, FORMAT).length,
    })
  })

  test('counts every fault, and keeps as many as it is asked for', async () => {
    const store = await planted('whole', () => Array.from({ length: 5 }, (_, n) => gone(hashKey(hashOf(FIRST + n, 1)))))
    const { ok, faults, faultCount } = await verifyStore(store, { maxFaults: 2 })
    expect([ok, faults.length, faultCount]).toEqual([false, 2, 5])
  })

  test('says how many values were looked at, from the first on', async () => {
    const told: unknown[] = []
    let time = 1e6
    const { now } = clock
    try {
      clock.now = () => (time += 100)
      await verifyStore(await stored('whole'), { onProgress: (progress) => progress.phase !== 'records' && told.push(progress) })
    } finally {
      clock.now = now
    }
    expect(told).toStrictEqual([{ phase: 'values', done: 0 }])
  })

  test('goes over every kind of record again to name what differs, and reports its progress', async () => {
    const told: unknown[] = []
    let time = 1e6
    const { now } = clock
    const store = await planted('wide', () => [gone(hashKey(hashOf(FIRST, 1)))])
    let report: VerifyReport
    try {
      clock.now = () => (time += 100)
      report = await verifyStore(store, {
        onProgress: (progress) => progress.phase === 'naming' && told.push([progress.done, progress.total]),
      })
    } finally {
      clock.now = now
    }
    expect(report.faults).toEqual([fault(hashKey(hashOf(FIRST, 1)), 'the entry of a transaction is missing')])
    expect(told).toEqual([
      [0, 1],
      [0, 1],
      [0, 1030],
      [1024, 1030],
    ])
  })
})

describe('the state of a store', () => {
  const ofRelease = (value: Uint8Array): Uint8Array => Uint8Array.from(value, (byte, at) => (at === value.length - 5 ? 9 : byte))

  test('includes what is unfinished, and what is damaged of the values that describe it', async () => {
    for (const [intent, unfinished] of [
      [{ rollback: 7 }, 'rollback'],
      [{ prune: 7 }, 'prune'],
      [{ repair: true }, 'repair'],
    ] as const)
      expect(await verifyStore(await planted('whole', () => [[INTENT, encodeIntent(intent)]]))).toMatchObject({ ok: true, unfinished })
    expect(await verifyStore(await stored('whole'))).not.toHaveProperty('unfinished')
    await says('whole', (store) => [[INTENT, encodeIntent({ prune: 7 })], broken(store, FORMAT)], fault(FORMAT, CHECKSUM))
    await says('whole', () => [gone(FORMAT)], fault(FORMAT, 'the format of the store is missing'))
    const damaged = encodeIntent({ prune: 7 })
    damaged[0]! ^= 1
    const store = await planted('whole', () => [[INTENT, damaged]])
    const report = await verifyStore(store)
    expect(report.faults).toEqual([fault(INTENT, CHECKSUM)])
    expect(report).not.toHaveProperty('unfinished')
  })

  test('is damaged if the format alone is of another release, whether there is a head or not', async () => {
    const other = (store: Store): Write => [FORMAT, ofRelease(held(store, FORMAT))]
    await says('whole', (store) => [other(store)], fault(FORMAT, 'its format version is not that of the other values'))
    for (const head of [gone(HEAD), [HEAD, new Uint8Array(0)] as const])
      for (const format of [other, (): Write => [FORMAT, new Uint8Array(0)], (store: Store): Write => [FORMAT, held(store, HEAD)]]) {
        const { faults } = await verifyStore(await planted('whole', (store) => [format(store), head]))
        expect(faults.slice(0, 2).map(({ key }) => key)).toEqual(['01', '00'])
      }
  })

  test('is damaged if the head alone is of another release, whatever is wrong with the format', async () => {
    const other = (store: Store): Write => [HEAD, ofRelease(held(store, HEAD))]
    await says('whole', (store) => [other(store), broken(store, FORMAT)], fault(FORMAT, CHECKSUM), fault(HEAD, CHECKSUM))
    const catalogue = await planted('whole', (store) => [other(store), [FORMAT, encodeFormat('others')]])
    await expect(verifyStore(catalogue)).rejects.toMatchObject({ code: 'STORE_CATALOGUE' })
  })

  test('is compared with the note beside it', async () => {
    const beside = async (bytes: Uint8Array | undefined): Promise<readonly Fault[]> => {
      const note = { read: () => bytes, write() {} }
      return (await verifyStore(Object.assign(await stored('whole'), { note }))).faults
    }
    expect(await beside(encodeHighWater({ last: LAST + 2 }))).toEqual([
      fault(HIGH_WATER, `ledgers ${LAST + 1} to ${LAST + 2} were held, and are gone`),
    ])
    for (const note of [encodeHighWater({ last: LAST }), encodeHighWater({ last: FIRST }), new Uint8Array(20), undefined])
      expect(await beside(note)).toEqual([])
    expect(await beside(Uint8Array.of(1, 2, 3, 4, 5, 6, 7))).toEqual([
      fault(HIGH_WATER, `${CHECKSUM}, in the note of how far history reached`),
    ])
  })

  test('has no last change under a malformed key', async () => {
    const odd = Uint8Array.of(0x42, 1)
    await says('pruned', () => [sealed(odd, encodeText, 'x')], { key: '4201', reason: expect.any(String) as unknown as string })
  })

  test('without a head is that of an empty store, if there is nothing in it', async () => {
    const store = memory()
    await openLedger(store)
    expect((await verifyStore(store)).faults).toEqual([])
    await store.write([[Uint8Array.of(3), encodeHead(headOf(await stored('whole')))]], { durable: true })
    expect((await verifyStore(store)).faults[0]).toEqual(fault(HEAD, 'the head is missing'))
  })

  test('of another release is not damage: the format says so, and so does every other value', async () => {
    const store = await planted('whole', async (spoilt) =>
      (await spoilt.scan(everything, { limit: 1e6 })).entries.map(([key, value]) => [key, ofRelease(value)]),
    )
    await expect(verifyStore(store)).rejects.toMatchObject({ code: 'STORE_FORMAT', fields: { found: 9 } })
    const catalogue = await planted('whole', () => [[FORMAT, encodeFormat('others')]])
    await expect(verifyStore(catalogue)).rejects.toMatchObject({ code: 'STORE_CATALOGUE', fields: { found: 'others' } })
  })
})

test('blocks of a chain are named by their own keys', async () => {
  const [first, second] = [blockKey(ledgers.tag, 0), blockKey(offerChanges.tag, 1)]
  await says(
    'whole',
    (store) => [broken(store, first), gone(second)],
    fault(first, CHECKSUM, FIRST),
    fault(second, 'a block of the offer change log is missing', FIRST + 9),
  )
})
