/** The reader: what a read asks of a store, what it caches, what it refuses; and how a page refuses wrong options. */
import { beforeEach, describe, expect, test } from 'vitest'
import { memory } from '../../../adapters/memory/index.ts'
import { hashOf } from '../../../adapters/testing/arbitraries.ts'
import { richClose } from '../../../adapters/testing/invalid-closes.ts'
import { slowStore } from '../../../adapters/testing/slow-store.ts'
import { Cache } from '../../../src/cache/cache.ts'
import { catalogue, type Entry, openLedger, type Store } from '../../../src/index.ts'
import { placesIn } from '../../../src/layout/block.ts'
import { encodeHash } from '../../../src/layout/hash.ts'
import { decodeHead, type Head } from '../../../src/layout/head.ts'
import { blockKey, bookKey, HEAD, hashKey, postingPageKey } from '../../../src/layout/keys.ts'
import { FANOUT } from '../../../src/layout/posting.ts'
import { seal } from '../../../src/layout/seal.ts'
import type { Index } from '../../../src/query.ts'
import { ledgers } from '../../../src/resources/ledger.ts'
import { operations, operationsByAccount, paymentsByAccount } from '../../../src/resources/operation.ts'
import { tradesByPair } from '../../../src/resources/trade.ts'
import { transactions } from '../../../src/resources/transaction.ts'
import { common, type OrdinalList, Posting, wholeLog } from '../../../src/scan/list.ts'
import { ListKey } from '../../../src/scan/list-key.ts'
import { Listing } from '../../../src/scan/listing.ts'
import { seek, spanOfLedger } from '../../../src/scan/locate.ts'
import { type PageOptions, pageRead, type RawPage } from '../../../src/scan/page.ts'
import { Reader } from '../../../src/scan/reader.ts'
import { Unfiled } from '../../../src/scan/unfiled.ts'
import type { Element } from '../../../src/tuple.ts'
import { ledgerOf } from '../../support/benches.ts'
import { longCloses } from '../../support/closes.ts'
import { everything, shared } from '../../support/dump.ts'
import { codeOf, errorOf } from '../../support/errors.ts'

const pageOf = (reader: Reader, listing: Listing<any>, options: PageOptions): RawPage => pageRead(listing, options)(reader)

const FIRST = 5
const closes = longCloses(FIRST, 6)
const LAST = FIRST + closes.length - 1

let entries: readonly Entry[]
let head: Head
/** A new store with all closes, everything filed. */
async function holding(): Promise<Store> {
  const store = memory()
  await store.write(entries, { durable: false })
  return store
}
const readerOf = (store: Store, cache = new Cache(1e9)): Reader => new Reader(store, cache, head, new Unfiled())

beforeEach(async () => {
  const store = memory()
  const ledger = await openLedger(store, { fileEvery: 1 })
  await ledger.ingest(closes, { durable: false })
  entries = (await store.scan(everything, { limit: 1e6 })).entries
  head = decodeHead((await store.get(HEAD))!)
})

describe('a read', () => {
  test('counts what it reads, and reads nothing twice', async () => {
    const store = await holding()
    const cache = new Cache(1e9)
    const first = readerOf(store, cache)
    expect(first.stats).toEqual({ gets: 0, scans: 0, bytes: 0, blocks: 0, hits: 0 })
    const bytes = (await store.get(blockKey(operations.tag, 2)))!.length
    const block = first.block(operations, 2)
    expect([block.count, first.stats]).toEqual([16, { gets: 1, scans: 0, bytes, blocks: 1, hits: 0 }])
    expect(first.block(operations, 2).text(3)).toEqual(block.text(3))
    expect(first.stats).toEqual({ gets: 1, scans: 0, bytes, blocks: 2, hits: 1 })
    const second = readerOf(store, cache)
    const edge = second.edge(new ListKey(operationsByAccount, ['GALICE']))
    expect([second.edge(new ListKey(operationsByAccount, ['GALICE'])), second.stats.gets, second.stats.hits]).toEqual([edge, 1, 1])
    const page = second.pages(new ListKey(operationsByAccount, ['GALICE']))(0, 1)
    expect(second.pages(new ListKey(operationsByAccount, ['GALICE']))(0, 1)).toBe(page)
    expect([
      page.length,
      second.pages(new ListKey(operationsByAccount, ['GALICE']))(0, 0)[0],
      second.stats.gets,
      second.stats.hits,
    ]).toEqual([FANOUT, 0, 3, 2])
    const entry = second.hashed(hashOf(FIRST + 1, 1))
    expect([entry, second.guess(hashOf(FIRST + 1, 1)), second.hashed(hashOf(FIRST + 1, 2))?.log]).toEqual([
      { log: 2, ordinal: 2 },
      entry,
      6,
    ])
    expect([second.stats.gets, second.stats.hits]).toEqual([5, 3])
    expect(second.hashed('f'.repeat(64))).toBeUndefined()
    expect(second.edge(new ListKey(operationsByAccount, ['nobody'])).count).toBe(0)
    expect(second.offer(7n)?.side(0, 0)).toBe('GALICE')
    expect([second.offer(8n), second.base(7n), second.pruned()]).toEqual([undefined, undefined, {}])
    expect(second.book('GALICE', 0n, 100n, 10, false).map((one) => one.id(0))).toEqual([7n])
    expect([second.book('GALICE', 8n, 8n, 10, false), second.stats.scans]).toEqual([[], 1])
    // What was read has weight in the cache, and so has what is attached to it.
    const small = new Cache(4 * (bytes + 400))
    const third = readerOf(store, small)
    third.block(operations, 2)
    third.block(operations, 2).attach(
      'page',
      () => 'x',
      () => 4 * bytes,
    )
    third.block(operations, 3)
    third.block(operations, 4)
    third.block(operations, 5)
    expect(small.has(2 * 64 + operations.tag)).toBe(false)
  })

  test('of records reads each block once, and from a late store all of them in one call', async () => {
    const ordinals = [0, 1, 17, 18, 40, 3]
    const early = readerOf(await holding())
    const wanted = placesIn(early.slices(operations, ordinals)).map(({ block, at }) => block.token(at))
    expect([early.stats.gets, early.stats.blocks]).toEqual([3, 4])
    const late = readerOf(slowStore(await holding()))
    const places = await late.run((read) => placesIn(read.slices(operations, ordinals)))
    expect(places.map(({ block, at }) => block.token(at))).toEqual(wanted)
    expect(late.stats.gets).toBe(1)
    expect((await late.run((read) => placesIn(read.slices(operations, [17, 18])))).map(({ block, at }) => block.token(at))).toEqual(
      wanted.slice(2, 4),
    )
    expect([late.stats.gets, late.slices(operations, []), late.at(operations, 17).at]).toEqual([1, [], 1])
    const none = readerOf(slowStore(await holding()), new Cache(0))
    expect(
      (await none.run((read) => [read.hashed(hashOf(FIRST, 1)), read.hashed(hashOf(FIRST + 1, 1))])).map((entry) => entry?.ordinal),
    ).toEqual([0, 2])
    expect(await none.run((read) => [read.offer(7n)?.id(0), read.offer(9n)])).toEqual([7n, undefined])
    const scans = await none.run((read) => [read.book('GALICE', 0n, 100n, 10, false).length, read.book('GBOB', 0n, 100n, 10, true).length])
    expect([scans, none.stats.scans]).toEqual([[1, 0], 2])
  })

  test('reports a value that is missing or holds less than the head says, with its key', async () => {
    const damage = (reason: string, key: Uint8Array) =>
      expect.objectContaining({ code: 'CORRUPT', fields: { key: Buffer.from(key).toString('hex'), reason } })
    const without = async (key: Uint8Array, value?: Uint8Array): Promise<Reader> => {
      const store = await holding()
      await store.write([[key, value]], { durable: false })
      return readerOf(store)
    }
    const block = blockKey(operations.tag, 1)
    const gone = await without(block)
    expect(() => gone.block(operations, 1)).toThrow(damage('a block of the operation log is missing', block))
    const empty = await without(block, seal(block, Uint8Array.of(0, 0, 0, 0, 0, 0, 0, operations.sides.length, 0, 0, 0, 0, 0)))
    expect(() => empty.block(operations, 1)).toThrow(damage('a block of the operation log lacks records', block))
    const page = postingPageKey(operationsByAccount.tag, ['GALICE'], 0, 1)
    const torn = await without(page)
    expect(() => torn.pages(new ListKey(operationsByAccount, ['GALICE']))(0, 1)).toThrow(
      damage('a page of a posting list is missing', page),
    )
    const offer = bookKey('GALICE', 7n)
    const lost = await without(offer)
    expect(() => lost.offer(7n)).toThrow(damage('an offer of the book is missing', offer))
    expect(lost.stats.gets).toBe(8)
    const short = Object.assign(Object.create(await holding()) as Store, { scan: () => ({ entries: [], more: true }) })
    expect((await errorOf(() => readerOf(short).book('GALICE', 0n, 9n, 5, false))).fields).toEqual({
      reason: 'a scan ended before its limit',
    })
    expect(await codeOf(() => readerOf(short).book('GALICE', 0n, 9n, 5, false))).toBe('STORE_FAILED')
  })

  test('that began before a commit caches nothing', async () => {
    const cache = new Cache(1e9)
    const reader = readerOf(await holding(), cache)
    cache.generation++
    reader.block(operations, 1)
    expect(cache.has(64 + operations.tag)).toBe(false)
    const next = readerOf(await holding(), cache)
    next.block(operations, 1)
    expect(cache.has(64 + operations.tag)).toBe(true)
  })

  test('of a shared store caches what it read once that is known to stand', async () => {
    const inner = await holding()
    const cache = new Cache(1e9)
    const id = 64 + operations.tag
    const reader = readerOf(shared(inner), cache)
    const block = reader.block(operations, 1)
    expect(cache.has(id)).toBe(false)
    reader.confirm()
    expect(cache.has(id)).toBe(true)
    const unsure = readerOf(shared(inner), cache)
    unsure.block(operations, 2)
    cache.generation++
    unsure.confirm()
    expect(cache.has(2 * 64 + operations.tag)).toBe(false)
    // A list read under an older head may lack what was filed since; a block has all records, or it is read again.
    const edge = readerOf(shared(inner), cache)
    edge.edge(new ListKey(operationsByAccount, ['GALICE']))
    edge.confirm()
    const later = new Reader(shared(inner), cache, { ...head, last: head.last + 1 }, new Unfiled())
    const same = readerOf(shared(inner), cache)
    for (const one of [later, same]) one.edge(new ListKey(operationsByAccount, ['GALICE']))
    expect([later.stats.gets, same.stats.gets]).toEqual([1, 0])
    const shorter = { ...head, counts: head.counts.map((count, tag) => (tag === operations.tag ? 20 : count)) }
    const early = new Reader(inner, cache, shorter, new Unfiled())
    expect([early.block(operations, 1).text(15), early.stats.gets]).toEqual([block.text(15), 0])
  })
})

describe('ordinals', () => {
  test('of a log or a list are taken from either end of a span', async () => {
    const reader = readerOf(await holding())
    const list = new Posting(reader, new ListKey(operationsByAccount, ['GALICE']))
    const every = list.take({ from: 0, to: 1e9 }, 1e9, false).ordinals
    expect(every.length).toBeGreaterThan(2 * FANOUT)
    const apart = (...lists: OrdinalList[]): OrdinalList => common(lists, { progress: (_, begun) => begun, giveWay() {} })
    for (const one of [list, apart(list), apart(list, wholeLog), apart(list, list, list)])
      for (const [from, to] of [
        [0, 1e3],
        [1, 200],
        [10, 10],
        [11, 10],
        [130, 300],
      ] as const)
        for (const limit of [0, 1, 5, 1000]) {
          const within = every.filter((ordinal) => ordinal >= from && ordinal < to)
          expect(one.take({ from, to }, limit, false).ordinals).toEqual(within.slice(0, limit))
          expect(one.take({ from, to }, limit, true).ordinals).toEqual(within.toReversed().slice(0, limit))
        }
    expect(reader.stats.gets).toBeLessThanOrEqual(4)
  })

  test('of ledgers and positions are found in few blocks', async () => {
    const store = await holding()
    const reader = readerOf(store)
    expect([FIRST - 1, FIRST, LAST, LAST + 1].map((sequence) => spanOfLedger(reader, ledgers, sequence))).toEqual([
      { from: 0, to: 0 },
      { from: 0, to: 1 },
      { from: 5, to: 6 },
      { from: 6, to: 6 },
    ])
    expect(spanOfLedger(reader, operations, FIRST + 1)).toEqual({ from: 64, to: 128 })
    for (let transaction = 0; transaction < 5; transaction++)
      for (const operation of [0, 1, 4, 30, 60, 61]) {
        const fresh = readerOf(store)
        const position = { hi: FIRST + 2, lo: transaction * 4096 + operation, index: 0 }
        const below = (inclusive: boolean) => {
          let count = 0
          for (let ordinal = 0; ordinal < head.counts[operations.tag]!; ordinal++) {
            const { block, at } = reader.at(operations, ordinal)
            const order = block.hi(at) - position.hi || block.lo(at) - position.lo
            if (order < 0 || (order === 0 && !inclusive)) count++
          }
          return count
        }
        expect([seek(fresh, operations, position, true), seek(fresh, operations, position, false)]).toEqual([below(true), below(false)])
        expect(fresh.stats.blocks).toBeLessThanOrEqual(14)
      }
  })
})

describe('a page', () => {
  test.each([
    [{ limit: 0 }, 'limit', 'a whole number from 1 to 200', '0'],
    [{ limit: -1 }, 'limit', 'a whole number from 1 to 200', '-1'],
    [{ limit: 201 }, 'limit', 'a whole number from 1 to 200', '201'],
    [{ limit: 1.5 }, 'limit', 'a whole number from 1 to 200', '1.5'],
    [{ limit: '5' }, 'limit', 'a whole number from 1 to 200', 'string'],
    [{ order: 'up' }, 'order', 'asc or desc', undefined],
    [{ order: null }, 'order', 'asc or desc', 'null'],
    [{ cursor: 5 }, 'cursor', 'a paging token, as text', 'number'],
  ])('asked for with %j is refused', async (options, field, reason, found) => {
    const reader = readerOf(await holding())
    expect((await errorOf(() => pageOf(reader, new Listing(catalogue.operations, {}), options as never))).fields).toEqual({
      field,
      reason,
      ...(found !== undefined && { found }),
    })
    expect(pageOf(reader, new Listing(catalogue.ledgers, {}), { limit: 1 }).records.length).toBe(1)
    expect(pageOf(reader, new Listing(catalogue.operations, {}), { limit: 200 }).records.length).toBe(200)
  })

  test('is final if it is full, ascending, and ends before the newest ledger', async () => {
    const reader = readerOf(await holding())
    const final = (query: any, values: object, options: object): boolean => pageOf(reader, new Listing(query, values), options).final
    expect([
      final(catalogue.ledgers, {}, { limit: 5 }),
      final(catalogue.ledgers, {}, { limit: 6 }),
      final(catalogue.ledgers, {}, { limit: 7 }),
      final(catalogue.ledgers, {}, { limit: 2, order: 'desc', cursor: String(BigInt(FIRST + 3) << 32n) }),
      final(catalogue.operations, {}, { limit: 200 }),
      final(catalogue.offersOfAccount, { account: 'GALICE' }, { limit: 1 }),
    ]).toEqual([true, false, false, false, true, false])
  })

  test('of something that does not exist says what that is', async () => {
    const ledger = await ledgerOf(closes)
    const fieldsOf = async (query: any, values: object) => (await errorOf(() => ledger.page(query, values as never))).fields
    expect(await fieldsOf(catalogue.operationsOfAccount, { account: 'nobody' })).toEqual({ what: 'account', value: 'nobody' })
    expect(await fieldsOf(catalogue.operationsOfLedger, { ledger: LAST + 1 })).toEqual({ what: 'ledger', value: String(LAST + 1) })
    expect(await fieldsOf(catalogue.effectsOfOperation, { operation: 5n })).toEqual({ what: 'effects of operation', value: '5' })
    expect(await fieldsOf(catalogue.operationsOfLedger, { ledger: FIRST - 1 })).toEqual({ ledger: FIRST - 1, oldest: FIRST })
    expect(await codeOf(() => ledger.page(catalogue.operations, {}, { order: 'desc', cursor: String(4n << 32n) }))).toBe(
      'GONE_BEFORE_HISTORY',
    )
    expect((await errorOf(() => ledger.page(catalogue.operations, {}, { order: 'desc', cursor: String(4n << 32n) }))).fields).toEqual({
      cursor: String(4n << 32n),
      oldest: FIRST,
    })
    const fresh = await ledgerOf([richClose(1, '')])
    expect(await codeOf(() => fresh.page(catalogue.operationsOfLedger, { ledger: 0 }))).toBe('NOT_FOUND')
    expect((await fresh.page(catalogue.operations, {}, { order: 'desc', cursor: '0' })).records).toEqual([])
    const none = await ledgerOf([])
    expect(await codeOf(() => none.page(catalogue.operationsOfLedger, { ledger: 7 }))).toBe('NOT_FOUND')
    expect(await none.page(catalogue.operations, {}, { cursor: 'now' })).toMatchObject({ records: [], next: '0', prev: '0' })
  })

  test('of offers reaches the newest and the largest id', async () => {
    const top = 2n ** 63n - 1n
    const close = richClose(5, '')
    const [offer] = close.offers!.changed!
    const ledger = await ledgerOf([{ ...close, offers: { changed: [offer!, { ...offer!, id: top }] } }])
    for (const order of ['asc', 'desc'] as const)
      expect((await ledger.page(catalogue.offersOfAccount, { account: 'GALICE' }, { order })).records.map(({ id }) => id).sort()).toEqual(
        [7n, top].sort(),
      )
    expect(
      (await ledger.page(catalogue.offersOfAccount, { account: 'GALICE' }, { cursor: 'now', order: 'desc' })).records.map(({ id }) => id),
    ).toEqual([7n])
  })
})

describe('a hash entry', () => {
  test('that names a transaction above the head finds none, and below it none with another hash', async () => {
    const store = await holding()
    const hash = 'e'.repeat(64)
    for (const [ordinal, code] of [
      [head.counts[transactions.tag]!, 'NOT_FOUND'],
      [head.counts[transactions.tag]! + 5, 'NOT_FOUND'],
      [head.counts[transactions.tag]! - 1, 'CORRUPT'],
    ] as const) {
      await store.write([[hashKey(hash), encodeHash(hashKey(hash), { ordinal, failed: false })]], { durable: false })
      const ledger = await openLedger(Object.assign(Object.create(store) as Store, { close() {} }))
      expect(await codeOf(async () => ledger.readOne(catalogue.transaction, { hash }))).toBe(code)
    }
  })
})

describe('after a prune', () => {
  test('the book, and the accounts and offers that it or a record names, are still known; other accounts, records and hashes are gone', async () => {
    const first = richClose(5, hashOf(4, 99))
    const early = {
      ...first,
      transactions: first.transactions!.map((one) => ({
        ...one,
        account: 'GEARLY',
        operations: [{ type: 'inflation', source_account: 'GEARLY' }],
      })),
      offers: {
        changed: [
          { ...first.offers!.changed![0]!, id: 6n },
          { ...first.offers!.changed![0]!, id: 9n, seller: 'GELSE' },
        ],
      },
    }
    const rest = [6, 7, 8].map((sequence) => richClose(sequence, hashOf(sequence - 1, 99)))
    const ledger = await ledgerOf([early, ...rest], { fileEvery: 2 })
    await ledger.prune(7)
    for (const account of ['GALICE', 'GELSE']) expect(await ledger.get(catalogue.account, { account })).toEqual({ id: account })
    for (const account of ['GEARLY', 'nobody']) expect(await ledger.get(catalogue.account, { account })).toBeUndefined()
    expect(await codeOf(() => ledger.page(catalogue.operationsOfAccount, { account: 'GEARLY' }))).toBe('NOT_FOUND')
    expect((await ledger.page(catalogue.operationsOfAccount, { account: 'GELSE' })).records).toEqual([])
    expect((await ledger.page(catalogue.offersOfAccount, { account: 'GELSE' })).records).toHaveLength(1)
    expect((await ledger.page(catalogue.tradesOfOffer, { offer: 6n })).records).toEqual([])
    expect(await codeOf(() => ledger.page(catalogue.tradesOfOffer, { offer: 66n }))).toBe('NOT_FOUND')
    expect((await ledger.get(catalogue.offer, { offer: 9n }))?.seller).toBe('GELSE')
    expect(await ledger.get(catalogue.transaction, { hash: hashOf(5, 1) })).toBeUndefined()
    expect((await errorOf(() => ledger.get(catalogue.ledger, { ledger: 6 }))).fields).toEqual({ ledger: 6, oldest: 7 })
    expect((await ledger.page(catalogue.operationsOfLedger, { ledger: 7 })).records.length).toBe(4)
    expect((await ledger.page(catalogue.operations, {}, { order: 'desc', cursor: String(7n << 32n) })).records).toEqual([])
    expect((await ledger.page(catalogue.operations, {}, { cursor: '0', limit: 1 })).records[0]?.id).toBe((7n << 32n) + 4097n)
    expect((await ledger.page(catalogue.effects, {}, { order: 'desc', limit: 200 })).records.length).toBe(4)
  })
})

describe('what is not filed', () => {
  const of = (...filings: [key: string, ordinal: number][]): Unfiled => {
    const unfiled = new Unfiled()
    for (const [key, ordinal] of filings) unfiled.add(operationsByAccount, [key], ordinal)
    return unfiled
  }
  const shown = (unfiled: Unfiled) => Array.from(unfiled.all(), ({ key, ordinals }) => [key[0], ordinals])

  test('is joined with later entries, and neither part changes', () => {
    const [earlier, later] = [of(['G', 5], ['F', 6]), of(['G', 7], ['H', 8], ['G', 9])]
    const both = earlier.with(later)
    const joined = [
      ['G', [5, 7, 9]],
      ['F', [6]],
      ['H', [8]],
    ]
    expect(shown(both)).toEqual(joined)
    expect(shown(of().with(later))).toEqual(shown(later))
    both.add(operationsByAccount, ['G'], 11)
    both.add(operationsByAccount, ['H'], 12)
    expect(shown(earlier)).toEqual([
      ['G', [5]],
      ['F', [6]],
    ])
    expect(shown(later)).toEqual([
      ['G', [7, 9]],
      ['H', [8]],
    ])
    expect(shown(earlier.with(of(['G', 7]), of(['H', 8], ['G', 9])))).toEqual(joined)
  })

  test('has two generations while the older one is filed', () => {
    const counts = [0, 0, 0, 7, 0, 0, 0, 0]
    const before = of(['G', 5], ['F', 6], ['G', 7], ['H', 8])
    const both = before.split(counts)
    expect([shown(both), shown(both.older!)]).toEqual([
      [
        ['G', [7]],
        ['H', [8]],
      ],
      [
        ['G', [5]],
        ['F', [6]],
      ],
    ])
    const within = (from: number, to: number, limit: number, reverse: boolean, key = 'G', unfiled = both) =>
      unfiled.within(new ListKey(operationsByAccount, [key]), { from, to }, limit, reverse)
    both.add(operationsByAccount, ['G'], 9)
    expect([within(0, 99, 99, false), within(0, 99, 99, true)]).toEqual([
      [5, 7, 9],
      [9, 7, 5],
    ])
    expect([within(0, 99, 2, false), within(0, 99, 2, true), within(5, 9, 9, true), within(6, 9, 1, false)]).toEqual([
      [5, 7],
      [9, 7],
      [7, 5],
      [7],
    ])
    expect([within(0, 99, 1, false), within(0, 99, 1, true), within(0, 99, 9, false, 'F'), within(0, 99, 9, true, 'H')]).toEqual([
      [5],
      [9],
      [6],
      [8],
    ])
    expect(both.within(new ListKey(paymentsByAccount, ['G']), { from: 0, to: 99 }, 9, false)).toEqual([])
    const { newer, whole } = both
    expect([within(0, 99, 9, false, 'G', newer), within(0, 99, 9, false, 'F', newer)]).toEqual([[7, 9], []])
    expect(shown(whole)).toEqual([
      ['G', [5, 7, 9]],
      ['F', [6]],
      ['H', [8]],
    ])
    expect(newer.whole).toBe(newer)
    newer.add(operationsByAccount, ['F'], 10)
    expect(within(0, 99, 9, false, 'F')).toEqual([6, 10])
    expect(shown(before)[0]).toEqual(['G', [5, 7]])
  })

  test('is read within a span, from either end, by index and key', () => {
    const unfiled = of(['G', 5], ['H', 6], ['G', 7])
    const within = (
      from: number,
      to: number,
      limit: number,
      reverse: boolean,
      key: Element[] = ['G'],
      index: Index = operationsByAccount,
    ) => unfiled.within(new ListKey(index, key), { from, to }, limit, reverse)
    expect([within(0, 9, 9, false), within(6, 6, 9, false), within(9, 2, 9, true)]).toEqual([[5, 7], [], []])
    expect([within(0, 9, 1, false), within(0, 9, 1, true), within(6, 8, 9, true)]).toEqual([[5], [7], [7]])
    expect([within(0, 9, 9, false, ['J']), within(0, 9, 9, false, ['G'], paymentsByAccount)]).toEqual([[], []])
    unfiled.add(tradesByPair, ['a', '1:b'], 3)
    unfiled.add(tradesByPair, ['a1:', 'b'], 4)
    expect([within(0, 9, 9, false, ['a', '1:b'], tradesByPair), within(0, 9, 9, false, ['a1:', 'b'], tradesByPair)]).toEqual([[3], [4]])
  })
})
