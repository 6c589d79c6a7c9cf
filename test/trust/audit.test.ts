/** What an audit counts, what it says about the values that describe a store and about chains of ledgers, and what a repair restores. */
import { describe, expect, test } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { UNNAMED, UNTOLD } from '../../src/audit/report.ts'
import { type Entry, openLedger, repairStore, type Store, verifyStore, type Write } from '../../src/index.ts'
import { decodeBlock } from '../../src/layout/block.ts'
import { encodeDigest } from '../../src/layout/digest.ts'
import { encodeBlock } from '../../src/layout/encode-block.ts'
import { decodeHead, encodeFormat, encodeHead, encodeHighWater, encodeIntent, encodeText, type Head } from '../../src/layout/head.ts'
import { blockKey, digestKey, FORMAT, HEAD, HIGH_WATER, INTENT, PRUNED, postingKey, postingPageKey } from '../../src/layout/keys.ts'
import { decodePage, encodePage } from '../../src/layout/posting.ts'
import type { Row } from '../../src/layout/row.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { operations, operationsByAccount } from '../../src/resources/operation.ts'
import { takeApart } from '../../src/text/writer.ts'
import { longCloses } from '../support/closes.ts'
import { dump, everything, hex } from '../support/dump.ts'
import { sealed } from './support.ts'

const FIRST = 5
const closes = longCloses(FIRST, 6)
const LAST = FIRST + closes.length - 1

const made = new Map<number, Promise<readonly Entry[]>>()
/** A store that holds the closes, except those before `oldest`. */
async function stored(oldest = FIRST): Promise<Store> {
  const make = async () => {
    const store = memory()
    const ledger = await openLedger(store, { fileEvery: 1 })
    await ledger.ingest(closes, { durable: false })
    if (oldest > FIRST) await ledger.prune(oldest)
    return (await store.scan(everything, { limit: 1e6 })).entries
  }
  if (!made.has(oldest)) made.set(oldest, make())
  const store = memory()
  await store.write(await made.get(oldest)!, { durable: false })
  return store
}

const held = async (store: Store, key: Uint8Array): Promise<Uint8Array> => (await store.get(key))!
const headOf = async (store: Store): Promise<Head> => decodeHead(await held(store, HEAD))
const faultsOf = async (store: Store): Promise<Record<string, string>> =>
  Object.fromEntries((await verifyStore(store)).faults.map(({ key, reason }) => [key, reason]))
const put = (store: Store, ...writes: Write[]) => store.write(writes, { durable: true })

/** The block of ledgers with a row changed. */
async function withLedger(store: Store, at: number, change: (row: Row) => Row): Promise<void> {
  const key = blockKey(ledgers.tag, 0)
  const block = decodeBlock(key, ledgers, await held(store, key))
  const rows = Array.from({ length: block.count }, (_, n) => (n === at ? change(block.row(n)) : block.row(n)))
  await put(store, sealed(key, encodeBlock, ledgers, rows))
}
const withSide =
  (column: number, change: (side: string) => string) =>
  (row: Row): Row => ({
    ...row,
    sides: row.sides.map((side, at) => (at === column ? change(side) : side)),
  })

describe('a whole store', () => {
  test.each([FIRST, FIRST + 2])('from ledger %i on is counted', async (oldest) => {
    const store = await stored(oldest)
    const { entries } = await store.scan(everything, { limit: 1e6 })
    const count = LAST - oldest + 1
    // Per ledger: itself, 3 transactions, 64 operations, 2 effects, 2 trades, 2 changes of offers.
    expect(await verifyStore(store)).toEqual({
      ok: true,
      faults: [],
      faultCount: 0,
      oldest,
      last: LAST,
      ledgers: count,
      records: 74 * count,
      filings: expect.any(Number),
      values: entries.length,
      bytes: entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0),
    })
  })

  test('without ledgers has no faults', async () => {
    const store = memory()
    expect(await verifyStore(store)).toMatchObject({ ok: false, faults: [{ key: '01', reason: 'the format of the store is missing' }] })
    await openLedger(store)
    const { ok, oldest, last, ledgers: count, records, values } = await verifyStore(store)
    expect([ok, oldest, last, count, records, values]).toEqual([true, undefined, undefined, 0, 0, 1])
  })
})

describe('the format', () => {
  test('is reported if it is missing, damaged, or of another release', async () => {
    const store = await stored()
    const before = await dump(store)
    const format = await held(store, FORMAT)
    await put(store, [FORMAT, undefined])
    expect(await faultsOf(store)).toEqual({ '01': 'the format of the store is missing' })
    await repairStore(store)
    expect(await dump(store)).toEqual(before)
    const damaged = Uint8Array.from(format)
    damaged[0]! ^= 1
    await put(store, [FORMAT, damaged])
    expect(await faultsOf(store)).toEqual({ '01': 'the checksum does not match' })
    const other = Uint8Array.from(format)
    other[other.length - 5] = 99
    await put(store, [FORMAT, other])
    expect(await faultsOf(store)).toEqual({ '01': 'its format version is not that of the other values' })
    await put(store, [HEAD, undefined])
    expect(await faultsOf(store)).toEqual({ '00': 'the head is missing', '01': 'its format version is not that of the other values' })
    await put(store, [FORMAT, encodeFormat('others')])
    await expect(verifyStore(store)).rejects.toMatchObject({ code: 'STORE_CATALOGUE' })
  })
})

describe('an unfinished change', () => {
  test.each([
    [{ rollback: 7 }, 'rollback'],
    [{ prune: 7 }, 'prune'],
    [{ repair: true }, 'repair'],
  ] as const)('%j is reported, and is not a fault', async (intent, unfinished) => {
    const store = await stored()
    await put(store, [INTENT, encodeIntent(intent)])
    expect(await verifyStore(store)).toMatchObject({ ok: true, unfinished })
    const damaged = encodeIntent(intent)
    damaged[0]! ^= 1
    await put(store, [INTENT, damaged])
    expect(await faultsOf(store)).toEqual({ '02': 'the checksum does not match' })
    expect(await repairStore(store)).toMatchObject({ lost: [{ key: '02', reason: UNTOLD }], after: { ok: true } })
    expect(await store.get(INTENT)).toBeUndefined()
  })
})

test('ledgers that were held and are gone are noticed by the note beside the store', async () => {
  const inner = await stored()
  let note: Uint8Array | undefined = encodeHighWater({ last: LAST + 2 })
  const store: Store = Object.assign(Object.create(inner) as Store, {
    note: {
      read: () => note,
      write(bytes: Uint8Array) {
        note = bytes
      },
    },
  })
  expect(await faultsOf(store)).toEqual({ [hex(HIGH_WATER)]: `ledgers ${LAST + 1} to ${LAST + 2} were held, and are gone` })
  note = encodeHighWater({ last: LAST })
  expect(await faultsOf(store)).toEqual({})
  note = new Uint8Array(20)
  expect(await faultsOf(store)).toEqual({})
  note = Uint8Array.of(1, 2, 3, 4, 5, 6, 7)
  expect(await faultsOf(store)).toEqual({ [hex(HIGH_WATER)]: 'the checksum does not match, in the note of how far history reached' })
  await repairStore(store)
  expect(await faultsOf(store)).toEqual({})
})

describe('the chain of ledgers', () => {
  const key = hex(blockKey(ledgers.tag, 0))
  const fits = 'the counts of a ledger do not fit those around it'
  const text =
    (change: (text: string) => string) =>
    (row: Row): Row => ({ ...row, texts: [takeApart(change(row.texts[0]!.text))] })

  test.each([
    ['falling counts', withSide(0, (counts) => counts.replace(/\d+$/, '0')), fits],
    ['counts past the head', withSide(0, (counts) => counts.replace(/\d+$/, '999')), fits],
    ['counts of another ledger', withSide(0, (counts) => counts.replace(/^(\d+),\d+/, '$1,9')), fits],
    ['malformed counts', withSide(0, () => 'x'), fits],
    ['another highest offer id', withSide(1, () => '3'), 'the highest offer id is not that of the offers'],
    ['a filing that goes back', withSide(2, () => '1'), 'the ledger up to which lists are filed went back'],
    ['a filing ahead of the ledger', withSide(2, () => '99'), 'the ledger up to which lists are filed went back'],
    ['another ledger before', text((json) => json.replace(/("prev_hash":")../, '$1ff')), 'prev_hash is not the hash of the ledger before'],
    ['another time', text((json) => json.replace('12:00:00Z', '14:00:00+02:00')), 'the record of the ledger does not fit its place'],
    ['another sequence number', text((json) => json.replace(/("sequence":)\d+/, '$19')), /no ledger close/],
    ['a text that is not a close', text((json) => json.replace(/"hash":"[^"]*",/, '')), /no ledger close/],
  ] as const)('with %s is named', async (_, change, reason) => {
    const store = await stored()
    await withLedger(store, 3, change)
    const { faults } = await verifyStore(store)
    const own = faults.find((fault) => fault.key === key)
    if (typeof reason === 'string') expect(own?.reason).toBe(reason)
    else expect(own?.reason).toMatch(reason)
    expect(own?.ledger).toBeGreaterThanOrEqual(FIRST + 3)
  })

  test('whose head has other counts is named', async () => {
    const store = await stored()
    const head = await headOf(store)
    await put(store, [HEAD, encodeHead({ ...head, counts: head.counts.map((count, tag) => count + (tag === operations.tag ? 1 : 0)) })])
    expect((await faultsOf(store))['00']).toBe('the counts of the head are not those of the newest ledger')
  })

  test('with a record in the wrong place is named', async () => {
    const store = await stored()
    const at = blockKey(operations.tag, 2)
    const block = decodeBlock(at, operations, await held(store, at))
    const rows = Array.from({ length: block.count }, (_, n) => block.row(n))
    await put(store, sealed(at, encodeBlock, operations, [rows[0]!, { ...rows[1]!, lo: rows[1]!.lo + 1 }, ...rows.slice(2)]))
    expect((await faultsOf(store))[hex(at)]).toBe('a operation is not as its text says, or not in its place')
    const store2 = await stored()
    await put(
      store2,
      sealed(at, encodeBlock, operations, [rows[0]!, { ...rows[1]!, sides: ['x', ...rows[1]!.sides.slice(1)] }, ...rows.slice(2)]),
    )
    expect((await faultsOf(store2))[hex(at)]).toBe('a operation is not as its text says, or not in its place')
  })

  test('that is damaged in the middle loses no more than that, and is cut before the damage on request', async () => {
    const store = await stored()
    const at = blockKey(operations.tag, 9)
    await put(store, [at, undefined])
    const { faults } = await verifyStore(store)
    expect(faults.map(({ key }) => key)).toEqual([hex(at)])
    const lost = faults[0]!.ledger!
    expect((await repairStore(store)).lost.map(({ key }) => key)).toEqual([hex(at)])
    expect(await repairStore(store, { cut: true })).toMatchObject({ lost: [], cutAfter: lost - 1, after: { ok: true, last: lost - 1 } })
    const ledger = await openLedger(store, { fileEvery: 1 })
    await ledger.ingest(closes)
    expect(await dump(store)).toEqual(await dump(await stored()))
  })
})

describe('a list with pages', () => {
  const list = postingKey(operationsByAccount.tag, ['GALICE'])
  const page = (number: number, level = 0) => postingPageKey(operationsByAccount.tag, ['GALICE'], level, number)

  test('of which one page is damaged, gone or replaced is named and rebuilt', async () => {
    const whole = await dump(await stored())
    for (const spoil of [
      async (store: Store) => put(store, [page(0), undefined]),
      async (store: Store) =>
        put(
          store,
          sealed(
            page(0),
            encodePage,
            decodePage(page(0), await held(store, page(0))).map((n) => n + 300),
          ),
        ),
      async (store: Store) => put(store, sealed(page(1), encodePage, decodePage(page(0), await held(store, page(0))))),
      async (store: Store) => put(store, [list, undefined]),
      async (store: Store) =>
        put(
          store,
          sealed(
            page(7),
            encodePage,
            Array.from({ length: 128 }, (_, n) => n),
          ),
        ),
      async (store: Store) =>
        put(
          store,
          sealed(
            page(0, 1),
            encodePage,
            Array.from({ length: 128 }, (_, n) => n),
          ),
        ),
    ]) {
      const store = await stored()
      await spoil(store)
      const faults = await faultsOf(store)
      expect(Object.keys(faults).length).toBeGreaterThan(0)
      for (const key of Object.keys(faults)) expect(['20', '21'].includes(key.slice(0, 2))).toBe(true)
      expect((await repairStore(store)).lost).toEqual([])
      expect(await dump(store)).toEqual(whole)
    }
  })
})

describe('a repair', () => {
  const derived = [0x00, 0x01, 0x20, 0x21, 0x30, 0x40, 0x41, 0x50]

  test.each(derived)('restores every value that begins with %i, and says how many', async (first) => {
    const store = await stored()
    const before = await dump(store)
    const { entries } = await store.scan({ gte: Uint8Array.of(first), lt: Uint8Array.of(first + 1) }, { limit: 1e6 })
    await put(store, ...entries.map(([key]): Write => [key, undefined]))
    const { repaired, lost, after } = await repairStore(store)
    // Whether the format named a network is stored nowhere else.
    const unnamed = first === 0x01 ? [{ key: '01', reason: UNNAMED }] : []
    expect([lost, after.ok, repaired + lost.length >= 1]).toEqual([unnamed, true, true])
    expect(await dump(store)).toEqual(before)
  })

  test('of a pruned store restores what follows from records', async () => {
    for (const first of [0x00, 0x03, 0x30, 0x40, 0x50]) {
      const store = await stored(FIRST + 2)
      const before = await dump(store)
      const { entries } = await store.scan({ gte: Uint8Array.of(first), lt: Uint8Array.of(first + 1) }, { limit: 1e6 })
      await put(store, ...(first === 0x50 ? entries.slice(1) : entries).map(([key]): Write => [key, undefined]))
      await repairStore(store)
      if (first !== 0x40) expect([first, await dump(store)]).toEqual([first, before])
    }
    const store = await stored(FIRST + 2)
    expect(await store.get(PRUNED)).toBeDefined()
    await put(store, sealed(digestKey(FIRST), encodeText, 'x'), [digestKey(FIRST + 1), encodeDigest(FIRST + 1, new Uint8Array(32))])
    expect(Object.keys(await faultsOf(store))).toEqual([hex(digestKey(FIRST)), hex(digestKey(FIRST + 1))])
    expect(await repairStore(store)).toMatchObject({ repaired: 2, lost: [] })
  })

  test('leaves a whole store as it is', async () => {
    const store = await stored()
    const before = await dump(store)
    expect(await repairStore(store)).toMatchObject({ repaired: 0, lost: [], after: { ok: true } })
    expect(await dump(store)).toEqual(before)
  })
})
