/** Small stores with one thing wrong: exactly what an audit says about it, and exactly what a repair does about it. */
import { describe, expect, test } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { type Fault, type LedgerClose, openLedger, repairStore, verifyStore, type Write } from '../../src/index.ts'
import { baseWrite, offerWrites } from '../../src/ingest/book.ts'
import { encodeDigest } from '../../src/layout/digest.ts'
import { encodeHash } from '../../src/layout/hash.ts'
import { encodeEra, encodePruned, encodeText } from '../../src/layout/head.ts'
import {
  baseKey,
  blockKey,
  bookKey,
  bookSellerKey,
  digestKey,
  ERA,
  HEAD,
  hashKey,
  PRUNED,
  postingKey,
  postingPageKey,
} from '../../src/layout/keys.ts'
import { decodePage, encodeEdge, encodePage, PostingEdge } from '../../src/layout/posting.ts'
import type { Row } from '../../src/layout/row.ts'
import { logs } from '../../src/logs.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { offerChanges, offers } from '../../src/resources/offer.ts'
import { operations, operationsByAccount } from '../../src/resources/operation.ts'
import { trades } from '../../src/resources/trade.ts'
import { failedTransactions } from '../../src/resources/transaction.ts'
import { dump, hex } from '../support/dump.ts'
import {
  broken,
  CHECKSUM,
  edgeOf,
  fault,
  gone,
  headOf,
  held,
  keysOf,
  type Plant,
  resealed,
  rowsOf,
  STRAY,
  type Store,
  sealed,
  storesOf,
  withRows,
} from './support.ts'

const FIRST = 5
/** Ledgers with every kind of record; trades in the first two only. */
const rich = Array.from({ length: 4 }, (_, n): LedgerClose => {
  const close = richClose(FIRST + n, hashOf(FIRST + n - 1, 99))
  const [first, failed] = close.transactions!
  const more = { ...first!, hash: hashOf(FIRST + n, 3), operations: Array.from({ length: 45 }, () => ({ type: 'inflation' })) }
  const own = n < 2 ? first!.operations : first!.operations!.filter(({ type }) => type !== 'manage_offer')
  return { ...close, transactions: [{ ...first!, operations: own! }, more, failed!] }
})
/** Many ledgers, each with one change of an offer. */
const long = Array.from({ length: 150 }, (_, n): LedgerClose => {
  const { ledger, offers: all } = richClose(FIRST + n, hashOf(FIRST + n - 1, 99))
  return { ledger, offers: { changed: all!.changed! } }
})
const LAST = FIRST + rich.length - 1
const { names, stored, spoiled, mends, loses } = storesOf({
  whole: { closes: rich, fileEvery: 1 },
  pruned: { closes: rich, oldest: FIRST + 2, fileEvery: 1 },
  unfiled: { closes: rich, fileEvery: 1e6 },
  'half filed': { closes: rich, fileEvery: 120 },
  'pruned and unfiled': { closes: rich, oldest: FIRST + 2, fileEvery: 1e6 },
  'long and half filed': { closes: long, fileEvery: 100 },
  'long and pruned': { closes: long, oldest: FIRST + 140, fileEvery: 1 },
})
type Kind = (typeof names)[number]

const NO_BLOCK = 'no ledger that is held has this block'
const NO_HASH = 'no transaction that is held has this hash'
const alice = postingKey(operationsByAccount.tag, ['GALICE'])
const page = (number: number, level = 0) => postingPageKey(operationsByAccount.tag, ['GALICE'], level, number)

describe('values that nothing refers to', () => {
  const longer = (key: Uint8Array, ...more: number[]) => Uint8Array.of(...key, ...more)
  test.each<[string, Kind, Write, string]>([
    ['a count of lists though nothing was pruned', 'whole', resealed(PRUNED, encodePruned({})), STRAY],
    ['a longer key of the counts of pruned lists', 'pruned', resealed(longer(PRUNED, 1), encodePruned({})), STRAY],
    ['a longer key of a format', 'whole', sealed(Uint8Array.of(1, 1), encodeText, 'x'), STRAY],
    ['a longer key of an intent', 'whole', sealed(Uint8Array.of(2, 1), encodeText, 'x'), STRAY],
    ['a value without a key', 'whole', sealed(new Uint8Array(0), encodeText, 'x'), STRAY],
    ['a mark', 'whole', sealed(Uint8Array.of(4), encodeText, 'x'), STRAY],
    ['a block of an unknown log', 'whole', sealed(blockKey(99, 0), encodeText, 'x'), STRAY],
    ['a block without a log', 'whole', sealed(Uint8Array.of(0x10), encodeText, 'x'), STRAY],
    ['a longer key of a block', 'whole', sealed(longer(blockKey(operations.tag, 0), 0), encodeText, 'x'), STRAY],
    ['a block beyond the last', 'whole', sealed(blockKey(operations.tag, 20), encodeText, 'x'), NO_BLOCK],
    ['a block far beyond the last', 'whole', sealed(blockKey(operations.tag, 2 ** 32), encodeText, 'x'), NO_BLOCK],
    ['a block that was pruned', 'pruned', sealed(blockKey(operations.tag, 0), encodeText, 'x'), NO_BLOCK],
    ['a list of an unknown index', 'whole', sealed(Uint8Array.of(0x20), encodeText, 'x'), STRAY],
    ['a list of an unknown index, with a key', 'whole', sealed(postingKey(250, ['x']), encodeText, 'x'), STRAY],
    [
      'a page of an unknown index',
      'whole',
      sealed(
        postingPageKey(250, ['x'], 0, 0),
        encodePage,
        Array.from({ length: 128 }, (_, n) => n),
      ),
      STRAY,
    ],
    ['a longer key of a hash', 'whole', sealed(longer(hashKey(hashOf(FIRST, 1)), 0), encodeHash, { ordinal: 0, failed: false }), NO_HASH],
    ['a hash', 'whole', sealed(hashKey('ab'.repeat(32)), encodeHash, { ordinal: 4, failed: true }), NO_HASH],
    ['a hash that was pruned', 'pruned', sealed(hashKey('ab'.repeat(32)), encodeHash, { ordinal: 3, failed: false }), NO_HASH],
    ['a failed hash that was pruned', 'pruned', sealed(hashKey('ab'.repeat(32)), encodeHash, { ordinal: 1, failed: true }), NO_HASH],
    ['the seller of an unknown offer', 'whole', sealed(bookSellerKey(6n), encodeText, 'G'), 'no offer of the book has this seller'],
    ['a seller under a name', 'whole', sealed(longer(Uint8Array.of(0x41), ...bookKey('G', 1n).subarray(1)), encodeText, 'G'), STRAY],
    [
      'a seller under a key longer than an offer',
      'whole',
      sealed(longer(bookSellerKey(7n), ...bookSellerKey(7n).subarray(1)), encodeText, 'GALICE'),
      STRAY,
    ],
    ['a digest before the first', 'whole', sealed(digestKey(FIRST - 1), encodeText, 'x'), STRAY],
    ['a digest that was pruned', 'pruned', sealed(digestKey(FIRST + 1), encodeText, 'x'), STRAY],
    ['a longer key of a digest', 'whole', sealed(longer(digestKey(FIRST), 0), encodeText, 'x'), STRAY],
  ])('are named and removed: %s', async (_, kind, write, reason) => {
    const { store, before, faults } = await spoiled(kind, () => [write])
    expect(faults).toEqual([fault(write[0], reason)])
    const { lost, repaired } = await repairStore(store)
    expect([lost, repaired]).toEqual([[], 1])
    expect(await dump(store)).toEqual(before)
  })

  test('do not include the era of a store, unless it is damaged', async () => {
    expect((await spoiled('whole', () => [[ERA, encodeEra(3)]])).faults).toEqual([])
    const value = Uint8Array.from(encodeEra(3))
    value[0]! ^= 1
    expect((await spoiled('whole', () => [[ERA, value]])).faults).toEqual([fault(ERA, CHECKSUM)])
  })
})

describe('records', () => {
  test.each(logs.map((resource) => [resource.name, resource] as const))(
    'of the %s log that are damaged or gone are named, and nothing that follows from them',
    async (name, { tag }) => {
      for (const kind of ['whole', 'pruned'] as const) {
        const keys = keysOf(await stored(kind), 0x10).filter((key) => key[1] === tag)
        const key = keys[keys.length >> 1]!
        for (const plant of [(store: Store) => [broken(store, key)], () => [gone(key)]]) {
          const { store, faults } = await spoiled(kind, plant)
          expect([kind, faults.map((one) => one.key)]).toEqual([kind, [hex(key)]])
          const missing = `a block of the ${name} log is missing`
          expect([CHECKSUM, missing, `the last block of the ${name} log is missing`]).toContain(faults[0]!.reason)
          const { lost, repaired } = await repairStore(store)
          expect([[...new Set(lost.map((one) => one.key))], repaired]).toEqual([[hex(key)], 0])
          expect(new Set(lost.map((one) => one.ledger)).size).toBe(lost.length)
        }
      }
    },
  )

  test('of a last block are missed even if all are pruned', async () => {
    const key = blockKey(trades.tag, 0)
    await loses('pruned', () => [gone(key)], fault(key, 'the last block of the trade log is missing'))
  })

  test('beyond the count in the head are cut off', async () => {
    const store = await stored('whole')
    const key = keysOf(store, 0x10)
      .filter((one) => one[1] === operations.tag)
      .at(-1)!
    const count = headOf(store).counts[operations.tag]! % 16
    await mends(
      'whole',
      (spoilt) => {
        const rows = rowsOf(spoilt, operations, key)
        return [withRows(operations, key, [...rows, { ...rows.at(-1)!, lo: rows.at(-1)!.lo + 1 }])]
      },
      fault(key, `it holds ${count + 1} records, not ${count}`),
    )
  })

  test.each([
    ['its place', (row: Row) => ({ ...row, lo: row.lo + 1 })],
    ['its side columns', (row: Row) => ({ ...row, sides: row.sides.map((side, at) => (at === 0 ? `${side}x` : side)) })],
  ])('of which one has lost %s are named with the ledger', async (_, change) => {
    const key = blockKey(operations.tag, 3)
    const { faults } = await spoiled('whole', (store) => {
      const rows = rowsOf(store, operations, key)
      return [withRows(operations, key, [...rows.slice(0, -1), change(rows.at(-1)!)])]
    })
    expect(faults[0]).toEqual(fault(key, 'a operation is not as its text says, or not in its place', FIRST + 1))
  })

  test('that are lost are cut off with all that follow, and the note beside the store no longer asks for them', async () => {
    const inner = await stored('whole')
    const key = blockKey(failedTransactions.tag, 0)
    const first = (await spoiled('whole', () => [gone(key)])).faults[0]!
    expect(first.ledger).toBe(FIRST)
    // With the first ledger everything is given up.
    await inner.write([gone(key)], { durable: true })
    expect(await repairStore(inner, { cut: true })).toMatchObject({ cutAfter: 0, lost: [], after: { ok: true, ledgers: 0 } })
    const store = await stored('whole')
    let note: Uint8Array | undefined
    Object.assign(store, {
      note: {
        read: () => note,
        write(bytes: Uint8Array) {
          note = bytes
        },
      },
    })
    const last = keysOf(store, 0x10)
      .filter((one) => one[1] === operations.tag)
      .at(-1)!
    await store.write([gone(last)], { durable: true })
    const report = await repairStore(store, { cut: true })
    expect(report).toMatchObject({ cutAfter: LAST - 1, lost: [], after: { ok: true, last: LAST - 1 } })
    expect((await verifyStore(store)).faults).toEqual([])
    const shorter = memory()
    await (await openLedger(shorter, { fileEvery: 1 })).ingest(rich.slice(0, -1))
    expect(await dump(store)).toEqual(await dump(shorter))
  })
})

describe('a head', () => {
  test.each(names)('of a store that is %s is rebuilt', async (kind) => {
    for (const plant of [(store: Store) => [broken(store, HEAD)], () => [gone(HEAD)]]) {
      const { store, before, faults } = await spoiled(kind, plant)
      expect(faults[0]!.key).toBe('00')
      expect(['the head is missing', CHECKSUM]).toContain(faults[0]!.reason)
      expect(await repairStore(store)).toMatchObject({ lost: [], repaired: faults.length, after: { ok: true } })
      expect(await dump(store)).toEqual(before)
    }
  })

  test('that is damaged hides nothing except what it takes to judge a value', async () => {
    const [hash] = keysOf(await stored('whole'), 0x30)
    const { faults } = await spoiled('whole', (store) => [broken(store, HEAD), broken(store, hash!), sealed(baseKey(3n), encodeText, 'x')])
    expect(faults).toEqual([fault(HEAD, CHECKSUM), fault(hash!, CHECKSUM)])
  })

  test('of older ledgers is named because of the digests after it, and is not repaired, since the ledgers of those are not there', async () => {
    const { store, before, faults } = await spoiled('whole', () => [sealed(digestKey(LAST + 1), encodeText, 'x')])
    expect(faults).toEqual([fault(HEAD, 'the head is older than the ledgers that are there'), fault(digestKey(LAST + 1), STRAY)])
    const { after } = await repairStore(store)
    const kept = (await dump(store)).filter((line) => !line.startsWith('02='))
    expect([kept.length, before.length, after.unfinished]).toEqual([before.length + 1, before.length, 'repair'])
  })
})

describe('a hash', () => {
  const key = hashKey(hashOf(FIRST + 2, 2))
  const other = 'the entry of a transaction names another one'
  test.each([
    ['another transaction', { ordinal: 3, failed: true }],
    ['one that did not fail', { ordinal: 2, failed: false }],
  ])('that names %s is named and rebuilt', async (_, entry) => {
    await mends('whole', () => [sealed(key, encodeHash, entry)], fault(key, other))
  })
  test('that is gone or damaged is named and rebuilt', async () => {
    await mends('pruned', () => [gone(key)], fault(key, 'the entry of a transaction is missing'))
    await mends('pruned', (store) => [broken(store, key)], fault(key, CHECKSUM))
  })
})

describe('a digest', () => {
  test('that is damaged or gone is taken again; one that says otherwise stays', async () => {
    const key = digestKey(FIRST + 2)
    for (const kind of ['whole', 'pruned'] as const) {
      await mends(kind, (store) => [broken(store, key)], fault(key, CHECKSUM, FIRST + 2))
      await loses(
        kind,
        () => [[key, encodeDigest(FIRST + 2, new Uint8Array(32))]],
        fault(key, 'the records of the ledger are not those that were digested', FIRST + 2),
      )
    }
    await mends('whole', (store) => [broken(store, digestKey(FIRST))], fault(digestKey(FIRST), CHECKSUM, FIRST))
    await mends('whole', (store) => [broken(store, digestKey(LAST))], fault(digestKey(LAST), CHECKSUM, LAST))
  })

  test('of records that are lost is lost with them', async () => {
    const [key, block] = [digestKey(FIRST + 1), blockKey(ledgers.tag, 0)]
    const { store } = await spoiled('whole', (spoilt) => [broken(spoilt, key), gone(block)])
    const { lost } = await repairStore(store)
    expect(lost.map((one) => one.key)).toEqual([block, key, block, block, block].map(hex))
  })
})

describe('a list', () => {
  const unfit = 'the pages of a posting list do not fit each other'
  const withEdge = (store: Store, change: (levels: number[][]) => void): Write => {
    const edge = edgeOf(store, alice)
    const levels = edge.levels.map((level) => level.slice())
    change(levels)
    return sealed(alice, encodeEdge, new PostingEdge(edge.count, levels))
  }

  test('has one page and two levels here', async () => {
    const store = await stored('whole')
    expect(edgeOf(store, alice).levels.length).toBe(2)
    expect(keysOf(store, 0x21).map(hex)).toContain(hex(page(0)))
  })

  test.each<[string, Plant, Fault[]]>([
    ['whose upper level names another first entry', (store) => [withEdge(store, (levels) => levels[1]![0]!++)], [fault(alice, unfit)]],
    [
      'whose edge begins before its page ends',
      (store) => [
        withEdge(store, (levels) => {
          levels[0]![0] = decodePage(page(0), held(store, page(0))).at(-1)!
        }),
      ],
      [fault(alice, unfit)],
    ],
    ['whose page is gone', () => [gone(page(0))], []],
    ['whose page is damaged', (store) => [broken(store, page(0))], []],
    ['that is damaged', (store) => [broken(store, alice)], [fault(alice, CHECKSUM)]],
  ])('%s is named and rebuilt', async (_, plant, expected) => {
    const { store, before, faults } = await spoiled('whole', plant)
    if (expected.length > 0) expect(faults).toEqual(expected)
    else expect(faults.map(({ key }) => key)).toEqual([hex(page(0))])
    expect(await repairStore(store)).toMatchObject({ lost: [], repaired: faults.length, after: { ok: true } })
    expect(await dump(store)).toEqual(before)
  })

  test('has no pages but its own', async () => {
    const none = 'no posting list has this page'
    const full = Array.from({ length: 128 }, (_, n) => n)
    for (const key of [page(1), page(2 ** 32), page(0, 1), page(0, 2), page(0, 3)])
      await mends('whole', () => [sealed(key, encodePage, full)], fault(key, none))
  })

  test('that is gone while its page is left is named once, and rebuilt', async () => {
    const { store, before, faults } = await spoiled('whole', () => [gone(alice)])
    expect(faults).toEqual([fault(alice, 'the edge of a posting list is missing')])
    await repairStore(store)
    expect(await dump(store)).toEqual(before)
  })

  test('that is gone is named with the number of its records', async () => {
    const key = postingKey(operationsByAccount.tag, ['GNEW'])
    await mends('whole', () => [gone(key)], fault(key, `a posting list is missing, of ${rich.length} records`))
  })
})

describe('the book', () => {
  const [key, back] = [bookKey('GALICE', 7n), bookSellerKey(7n)]
  const last = 'the offer is not as its last change left it'
  const under = 'an offer of the book lies under the key of another'
  const change = (row: Partial<Row>) => (store: Store) => [withRows(offers, key, [{ ...rowsOf(store, offers, key)[0]!, ...row }])]

  test.each<[string, Plant, Fault[]]>([
    ['an offer that is gone', () => [gone(key)], [fault(key, 'an offer of the book is missing')]],
    ['a seller that is gone', () => [gone(back)], [fault(back, 'the seller of an offer of the book is missing')]],
    ['another seller', () => [sealed(back, encodeText, 'GBOB')], [fault(back, 'the offer has another seller')]],
    ['an offer with another position', change({ lo: 8 }), [fault(key, last)]],
    ['two offers in one', (store) => [withRows(offers, key, Array(2).fill(rowsOf(store, offers, key)[0]!))], []],
  ])('%s is named and rebuilt', async (_, plant, expected) => {
    for (const kind of ['whole', 'pruned', 'unfiled'] as const)
      if (expected.length > 0) await mends(kind, plant, ...expected)
      else {
        const { store, before, faults } = await spoiled(kind, plant)
        expect(faults[0]).toEqual(fault(key, 'it holds another number of records'))
        await repairStore(store)
        expect(await dump(store)).toEqual(before)
      }
  })

  test.each([
    ['a malformed id', ['GALICE', 'x', '', '']],
    ['another id', ['GALICE', '9', '', '']],
  ])('an offer with %s is named', async (_, sides) => {
    const { faults } = await spoiled('whole', change({ sides }))
    expect(faults[0]).toEqual(fault(key, under))
  })

  test('an offer that was removed, or has another seller, is named and removed', async () => {
    const removed = 'the changes of the offer have removed it, or given it another seller'
    const other = (id: bigint, seller: string) => (store: Store) => {
      const row = rowsOf(store, offers, key)[0]!
      return offerWrites(id, { ...row, sides: [seller, String(id), ...row.sides.slice(2)] })
    }
    await mends(
      'whole',
      other(8n, 'GALICE'),
      fault(bookKey('GALICE', 8n), removed),
      fault(bookSellerKey(8n), 'no offer of the book has this seller'),
    )
    await mends('whole', other(7n, 'GBOB'), fault(bookKey('GBOB', 7n), removed), fault(back, 'the offer has another seller'))
  })

  test('nothing is said about it if changes are lost', async () => {
    const block = blockKey(offerChanges.tag, 0)
    const { store, faults } = await spoiled('whole', () => [gone(block), gone(key), gone(back)])
    expect(faults.map((one) => one.key)).toEqual([hex(block)])
    expect(new Set((await repairStore(store)).lost.map((one) => one.key))).toEqual(new Set([hex(block)]))
  })
})

describe('the last pruned change of an offer', () => {
  const key = baseKey(7n)
  const lost = 'the last change of an offer that was pruned is missing'
  const notLast = 'it is not the last change of the offer that was pruned'

  test('is missed, and is lost if a later change hides it', async () => {
    for (const kind of ['pruned', 'long and pruned'] as const) await loses(kind, () => [gone(key)], fault(key, lost))
  })

  test('is named if it is not the last', async () => {
    for (const kind of ['pruned', 'long and pruned'] as const) {
      const { faults } = await spoiled(kind, (store) => [baseWrite(7n, rowsOf(store, offerChanges, key)[0]!, 1)])
      expect(faults).toEqual([fault(key, notLast)])
    }
  })

  test('is kept only for offers that changed before the prune, and under no other key', async () => {
    const { store, before, faults } = await spoiled('pruned', (spoilt) => {
      const row = rowsOf(spoilt, offerChanges, key)[0]!
      return [baseWrite(9n, { ...row, sides: ['GALICE', '9', ...row.sides.slice(2)] }, 1)]
    })
    expect(faults).toEqual([
      fault(baseKey(9n), notLast),
      fault(bookKey('GALICE', 9n), 'an offer of the book is missing'),
      fault(bookSellerKey(9n), 'the seller of an offer of the book is missing'),
    ])
    await repairStore(store)
    expect((await verifyStore(store)).faults).toEqual([])
    expect(await dump(store)).toEqual(before)
    const odd = Uint8Array.of(0x42, ...bookKey('GALICE', 7n).subarray(1))
    await mends('pruned', (store) => [withRows(offerChanges, odd, rowsOf(store, offerChanges, key))], fault(odd, STRAY))
    const { faults: unpruned } = await spoiled('whole', (store) => {
      const row = rowsOf(store, offers, bookKey('GALICE', 7n))[0]!
      return [baseWrite(7n, row, 0)]
    })
    expect(unpruned.map((one) => one.key)).toContain(hex(key))
  })
})
