/**
 * Clusters: a list is served the same from gathered neighbours as from blocks, however often and in whatever order it is asked for,
 * and costs fewer look-ups.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { Cache } from '../../src/cache/cache.ts'
import { CLUSTER } from '../../src/cache/cluster.ts'
import {
  catalogue,
  type Ledger,
  type LedgerClose,
  type LedgerOptions,
  type List,
  openLedger,
  type PageOptions,
  type Slice,
} from '../../src/index.ts'
import { placesIn } from '../../src/layout/block.ts'
import { decodeHead } from '../../src/layout/head.ts'
import { HEAD } from '../../src/layout/keys.ts'
import { FANOUT } from '../../src/layout/posting.ts'
import { effects, effectsByAccount } from '../../src/resources/effect.ts'
import { Posting } from '../../src/scan/list.ts'
import { ListKey } from '../../src/scan/list-key.ts'
import { listed } from '../../src/scan/places.ts'
import { Reader } from '../../src/scan/reader.ts'
import { Unfiled } from '../../src/scan/unfiled.ts'
import { ledgerOf } from '../support/benches.ts'
import { codeOf } from '../support/errors.ts'
import { assetOf, written } from '../support/model.ts'

const closes = [...(generate({ ledgers: 60, seed: 5, accounts: 16, transactionsPerLedger: 16, tradeShare: 0.4 }) as Iterable<LedgerClose>)]
const FIRST = (closes[0]!.ledger as { sequence: number }).sequence
/** Enough reads of a page for all its clusters to be gathered, even one of which it has only three records, one of them elsewhere. */
const OFTEN = 300

/** The account with the most effects on the first page. */
async function busiest(ledger: Ledger): Promise<string> {
  const { records } = await ledger.page(catalogue.effects, {}, { limit: 200 })
  const counts = new Map<string, number>()
  for (const { account } of records) counts.set(account, (counts.get(account) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)[0]![0]
}

const read = async (ledger: Ledger, query: List, values: object, options: PageOptions): Promise<string[]> =>
  ((await ledger.page(query, values as never, options)).records as any[]).map((record) => written(record))

/** Reads a page so often that its clusters are gathered, and checks every twentieth time that it is still the same. */
async function readOften(ledger: Ledger, query: List, values: object, options: PageOptions): Promise<string[]> {
  const first = await read(ledger, query, values, options)
  for (let time = 1; time < OFTEN; time++)
    if (time % 20 > 0) await ledger.read(query, values as never, options)
    else expect(await read(ledger, query, values, options)).toEqual(first)
  return first
}

describe('if everything is gathered the first time', () => {
  beforeEach(() => void vi.spyOn(Cache.prototype, 'gatheredAt', 'get').mockReturnValue(0))
  afterEach(() => void vi.restoreAllMocks())

  test('a list that grows, is filed, pruned and rolled back is served like one that was never asked for before', async () => {
    const ledger = await openLedger(memory(), { fileEvery: 400 })
    await ledger.ingest(closes.slice(0, 20))
    const account = await busiest(ledger)
    const same = async (): Promise<void> => {
      const plain = await openLedger(memory(), { cacheBytes: 0, fileEvery: 1 })
      await plain.ingest(closes.slice(0, ledger.head!.last - FIRST + 1))
      if (ledger.head!.oldest > FIRST) await plain.prune(ledger.head!.oldest)
      for (const query of [catalogue.operationsOfAccount, catalogue.effectsOfAccount, catalogue.tradesOfAccount] as List[])
        for (const options of [{ limit: 200 }, { limit: 200, order: 'desc' }, { limit: 7, order: 'desc' }, { limit: 33 }] as const) {
          const wanted = await read(plain, query, { account }, options)
          for (let time = 0; time < 3; time++) expect(await read(ledger, query, { account }, options)).toEqual(wanted)
        }
    }
    await same()
    for (const to of [21, 22, 30, 45]) {
      await ledger.ingest(closes.slice(ledger.head!.last - FIRST + 1, to))
      await same()
    }
    await ledger.rollback(FIRST + 33)
    await same()
    await ledger.ingest(closes.slice(34))
    await same()
    await ledger.prune(FIRST + 25)
    await same()
  })
})

describe('a list that is asked for over and over', () => {
  const options: LedgerOptions = { fileEvery: 500 }
  /** The most blocks in which the first `records` of a list are found: a few at the end are not worth gathering. */
  const atMost = (records: number): number => Math.floor(records / CLUSTER) + (records % CLUSTER < CLUSTER / 2 ? records % CLUSTER : 1)
  const queries = [
    catalogue.operationsOfAccount,
    catalogue.paymentsOfAccount,
    catalogue.effectsOfAccount,
    catalogue.tradesOfAccount,
    catalogue.payments,
  ] as List[]

  test.each([1, 500])('takes one look-up per cluster, and reads the same, filed every %i records', async (fileEvery) => {
    const ledger = await ledgerOf(closes, { fileEvery })
    const account = await busiest(ledger)
    for (const query of queries)
      for (const order of ['asc', 'desc'] as const) {
        const values = query.by?.column === 'account' ? { account } : {}
        const page: PageOptions = { limit: 2 * CLUSTER, order }
        const { cost: before } = await ledger.explain(query, values as never, page)
        const first = await readOften(ledger, query, values, page)
        expect(first.length, query.path).toBeGreaterThan(CLUSTER)
        const { cost: after } = await ledger.explain(query, values as never, page)
        if (order === 'asc') expect(after.blocks, query.path).toBeLessThanOrEqual(atMost(first.length))
        expect([after.blocks < before.blocks / 2, after.gets], `${query.path} ${order}`).toEqual([true, 0])
      }
  })

  test('stays in its blocks if its texts are long', async () => {
    const ledger = await ledgerOf(closes, options)
    const values = { account: await busiest(ledger) }
    const page: PageOptions = { limit: 2 * CLUSTER }
    const { cost } = await ledger.explain(catalogue.transactionsOfAccount, values, page)
    await readOften(ledger, catalogue.transactionsOfAccount, values, page)
    expect((await ledger.explain(catalogue.transactionsOfAccount, values, page)).cost.blocks).toBe(cost.blocks)
  })

  test('of a pair is kept for either way that it is asked for', async () => {
    const ledger = await ledgerOf(closes, options)
    const trades = (await ledger.page(catalogue.trades, {}, { limit: 200 })).records as any[]
    const pairs = trades.slice(0, 40).map((trade) => ({ base: assetOf(trade, 'base'), counter: assetOf(trade, 'counter') }))
    const sizes = await Promise.all(pairs.map(async (pair) => (await read(ledger, catalogue.trades, pair, { limit: 200 })).length))
    const { base, counter } = pairs[sizes.indexOf(Math.max(...sizes))]!
    expect(Math.max(...sizes)).toBeGreaterThan(CLUSTER)
    for (const pair of [
      { base, counter },
      { base: counter, counter: base },
    ]) {
      const first = await readOften(ledger, catalogue.trades, pair, { limit: 200 })
      for (const record of first) expect(JSON.parse(record)).toContainEqual(['base_asset_type', pair.base['type']])
      const { cost } = await ledger.explain(catalogue.trades, pair as never, { limit: 200 })
      expect(cost.blocks).toBeLessThanOrEqual(atMost(first.length))
    }
  })

  test('gives the same records each time, decoded once', async () => {
    const ledger = await ledgerOf(closes, options)
    const account = await busiest(ledger)
    const page = async () => (await ledger.page(catalogue.effectsOfAccount, { account } as never, { limit: CLUSTER })).records
    for (let time = 0; time < OFTEN; time++) await page()
    const [one, other] = [await page(), await page()]
    expect(one.every((record, at) => record === other[at] && Object.isFrozen(record))).toBe(true)
  })

  test('is gathered again after it has grown, and reads right meanwhile', async () => {
    const ledger = await openLedger(memory(), options)
    await ledger.ingest(closes.slice(0, -5))
    const account = await busiest(ledger)
    const newest: PageOptions = { order: 'desc', limit: 20 }
    const cost = async () => (await ledger.explain(catalogue.operationsOfAccount, { account } as never, newest)).cost.blocks
    await readOften(ledger, catalogue.operationsOfAccount, { account }, newest)
    const least = await cost()
    expect(least).toBeLessThanOrEqual(2)
    await ledger.ingest(closes.slice(-5))
    const plain = await ledgerOf(closes, { cacheBytes: 0 })
    const wanted = await read(plain, catalogue.operationsOfAccount, { account }, newest)
    expect(await read(ledger, catalogue.operationsOfAccount, { account }, newest)).toEqual(wanted)
    expect(await cost()).toBeGreaterThan(least)
    await readOften(ledger, catalogue.operationsOfAccount, { account }, newest)
    expect(await cost()).toBeLessThanOrEqual(2)
    expect(await read(ledger, catalogue.operationsOfAccount, { account }, newest)).toEqual(wanted)
  })

  test('is not gathered if the cache has no room for it', async () => {
    const ledger = await ledgerOf(closes, { ...options, cacheBytes: 2000 })
    const account = await busiest(ledger)
    const wanted = await read(ledger, catalogue.operationsOfAccount, { account }, { limit: 50 })
    expect(await readOften(ledger, catalogue.operationsOfAccount, { account }, { limit: 50 })).toEqual(wanted)
    expect((await ledger.explain(catalogue.operationsOfAccount, { account } as never, { limit: 50 })).cost.gets).toBeGreaterThan(4)
  })
})

test('an account is not mistaken for a cached part of a list', async () => {
  const ledger = await ledgerOf(closes, { fileEvery: 1 })
  const account = await busiest(ledger)
  const first = await readOften(ledger, catalogue.effectsOfAccount, { account }, { limit: 200 })
  expect(first.length).toBeGreaterThan(FANOUT)
  for (const other of [`${account}/0/0`, `/0/0 6 ${account}`, `0/0 6 ${account}`])
    expect(await codeOf(() => ledger.page(catalogue.effectsOfAccount, { account: other }))).toBe('NOT_FOUND')
})

describe('a cluster', () => {
  beforeEach(() => void vi.spyOn(Cache.prototype, 'gatheredAt', 'get').mockReturnValue(0))
  afterEach(() => void vi.restoreAllMocks())

  const SHOWN = { reverse: false, facing: undefined }
  const tokens = (slices: readonly Slice[]): string[] => placesIn(slices).map(({ block, at }) => block.token(at))
  /** A reader of a store in which everything is filed, under its head or an older one with `count` effects, of which those before `from` are pruned. */
  async function reading(count?: number, from = 0): Promise<{ reader: Reader; list: Posting }> {
    return (await readings())(count, from)
  }
  /** The same, for readers that share a cache. */
  async function readings() {
    const store = memory()
    const ledger = await openLedger(store, { fileEvery: 1 })
    await ledger.ingest(closes)
    const account = await busiest(ledger)
    const head = decodeHead((await store.get(HEAD))!)
    const cache = new Cache(1e9)
    return (count?: number, from = 0): { reader: Reader; list: Posting } => {
      const counts = head.counts.map((all, tag) => (tag === effects.tag ? (count ?? all) : all))
      const since = head.since.map((all, tag) => (tag === effects.tag ? from : all))
      const reader = new Reader(store, cache, { ...head, counts, since }, new Unfiled())
      return { reader, list: new Posting(reader, new ListKey(effectsByAccount, [account])) }
    }
  }
  const ALL = { from: 0, to: 1e9 }

  test('serves only the records that are asked for, whatever rank they are said to have', async () => {
    const { reader, list } = await reading()
    const { ordinals, ...run } = list.take(ALL, 100, false)
    const wanted = tokens(listed(reader, effects, { ordinals, ...run }, SHOWN))
    expect(tokens(listed(reader, effects, { ordinals, ...run }, SHOWN))).toEqual(wanted)
    expect([run.rank, list.home(0)?.cluster(0, undefined)?.ordinals]).toEqual([0, ordinals.slice(0, CLUSTER)])
    for (const [skipped, rank] of [
      [3, 0],
      [0, 3],
      [7, 8],
      [0, 5000],
    ] as const)
      for (let time = 0; time < 2; time++)
        expect(tokens(listed(reader, effects, { ordinals: ordinals.slice(skipped), run: list, rank }, SHOWN))).toEqual(
          wanted.slice(skipped),
        )
  })

  test('gives its part of a page as one slice, wherever the page begins, in either order', async () => {
    const { reader, list } = await reading()
    const { ordinals, ...run } = list.take(ALL, 5 * CLUSTER, false)
    for (let time = 0; time < 2; time++) listed(reader, effects, { ordinals, ...run }, SHOWN)
    for (const from of [0, 1, CLUSTER - 1, CLUSTER, CLUSTER + 5])
      for (const count of [CLUSTER, 2 * CLUSTER + 3]) {
        const part = ordinals.slice(from, from + count)
        const clusters = Math.floor((from + count - 1) / CLUSTER) - Math.floor(from / CLUSTER) + 1
        const up = listed(reader, effects, { ordinals: part, run: list, rank: from }, SHOWN)
        const down = { ordinals: part.toReversed(), run: list, rank: from + count - 1 }
        expect([up.length, listed(reader, effects, down, { ...SHOWN, reverse: true }).length], `${count} from ${from}`).toEqual([
          clusters,
          clusters,
        ])
      }
  })

  test('that lacks some of its records gives the others as one slice', async () => {
    const under = await readings()
    const all = under().list.take(ALL, 1e9, false).ordinals
    // All but four of its records, and then all of them.
    const last = 3 * CLUSTER - 5
    const before = under(all[last]! + 1)
    const { ordinals, ...run } = before.list.take({ from: 0, to: all[last]! + 1 }, 1e9, false)
    for (let time = 0; time < 2; time++) listed(before.reader, effects, { ordinals, ...run }, SHOWN)
    const { reader, list } = under()
    const held = list.home(2 * CLUSTER)!.cluster(2, undefined)!
    expect(held.block.count).toBe(CLUSTER - 4)
    for (const reverse of [false, true]) {
      const part = all.slice(2 * CLUSTER, 3 * CLUSTER)
      const rank = reverse ? 3 * CLUSTER - 1 : 2 * CLUSTER
      const page = listed(reader, effects, { ordinals: reverse ? part.reverse() : part, run: list, rank }, { ...SHOWN, reverse })
      const ofCluster = page.filter(({ block }) => block === held.block).map(({ first, last }) => [first, last])
      expect(ofCluster).toEqual([reverse ? [CLUSTER - 5, 0] : [0, CLUSTER - 5]])
      expect(placesIn(page).length).toBe(CLUSTER)
    }
  })

  test('holds nothing above the head that it was gathered under', async () => {
    const { reader, list } = await reading(150)
    const { ordinals, ...run } = list.take({ from: 0, to: 150 }, 1000, false)
    for (let time = 0; time < 2; time++) listed(reader, effects, { ordinals, ...run }, SHOWN)
    const last = Math.floor((ordinals.length - 1) / CLUSTER)
    const held = list.home(last * CLUSTER)!.cluster(last, undefined)!
    expect([held.ordinals, held.block.count]).toEqual([ordinals.slice(last * CLUSTER), ordinals.length - last * CLUSTER])
    expect(list.between(0, 1000).length).toBeGreaterThan(ordinals.length)
  })

  test('is not gathered if some of its records were pruned, though they may still be cached', async () => {
    const { ordinals: all } = (await reading()).list.take(ALL, 100, false)
    const { reader, list } = await reading(undefined, all[10])
    reader.slices(effects, all)
    const { ordinals, ...run } = list.take({ from: all[10]!, to: 1e9 }, 80, false)
    for (let time = 0; time < 2; time++) expect(tokens(listed(reader, effects, { ordinals, ...run }, SHOWN)).length).toBe(80)
    expect([0, 1].map((number) => list.home(number * CLUSTER)!.cluster(number, undefined)?.ordinals)).toEqual([
      undefined,
      all.slice(CLUSTER, 2 * CLUSTER),
    ])
  })

  test('hangs on the sealed page that has its entries, or else on the edge, filed or not', async () => {
    const { reader, list } = await reading()
    const { ordinals } = list.take(ALL, 1e9, false)
    const sealed = Math.floor(ordinals.length / FANOUT) * FANOUT
    expect([sealed > 0, ordinals.length > sealed]).toEqual([true, true])
    expect(list.home(0)?.value).toEqual(ordinals.slice(0, FANOUT))
    expect(
      [sealed - 1, sealed, ordinals.length, ordinals.length + 500].map((rank) => list.home(rank) === reader.heldEdge(list.list)),
    ).toEqual([false, true, true, true])
    const { filedCounts } = reader.head
    const later = [0, 3, 4].map((more) => filedCounts[effects.tag]! + more)
    for (const ordinal of later) reader.unfiled.add(effectsByAccount, list.list.key, ordinal)
    const all = [...ordinals, ...later]
    for (const [from, to] of [
      [0, 1e9],
      [ordinals.length - 2, ordinals.length + 1],
      [ordinals.length, ordinals.length + 2],
      [ordinals.length + 1, ordinals.length + 50],
      [ordinals.length - 5, ordinals.length],
    ] as const)
      expect(list.between(from, to)).toEqual(all.slice(from, to))
  })

  test('is not gathered unless all its blocks are at hand', async () => {
    const { reader, list } = await reading()
    const { ordinals, ...run } = list.take(ALL, 20, false)
    for (let time = 0; time < 3; time++) listed(reader, effects, { ordinals, ...run }, SHOWN)
    expect(list.home(0)!.cluster(0, undefined)).toBeUndefined()
    const { gets } = reader.stats
    reader.slices(effects, list.between(0, CLUSTER))
    expect(reader.stats.gets).toBeGreaterThan(gets)
    listed(reader, effects, { ordinals, ...run }, SHOWN)
    expect(list.home(0)!.cluster(0, undefined)!.ordinals).toEqual(list.between(0, CLUSTER))
  })
})
