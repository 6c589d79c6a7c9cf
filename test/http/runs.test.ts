/**
 * Pages of a log that are asked for over and over: their blocks are gathered into runs, and bytes and entity tags stay what they were when the
 * records came from blocks.
 */
import { describe, expect, it } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { RUN } from '../../src/cache/runs.ts'
import { catalogue, type Ledger, type LedgerClose, type LedgerOptions, type List, openLedger, type PageOptions } from '../../src/index.ts'
import { ledgerOf } from '../support/benches.ts'
import { assetOf, written } from '../support/model.ts'
import { type Ask, asker, asksForBytes, expectTheSame, type Sent } from './support.ts'

const closes = [...(generate({ ledgers: 140, seed: 8, accounts: 16, transactionsPerLedger: 4, tradeShare: 0.5 }) as Iterable<LedgerClose>)]
const FIRST = (closes[0]!.ledger as { sequence: number }).sequence
const lists = ['transactions', 'operations', 'effects', 'trades', 'ledgers'] as const
/** Often enough that every block is hot and every run is gathered, for this base URL. */
const OFTEN = 70

const pages = ['limit=200', 'limit=200&order=desc', 'limit=23', 'limit=23&order=desc']
const targetsOf = (list: string): string[] => pages.map((page) => `/${list}?${page}`)

/** Reads all of a list that often, by its links. */
async function walk(ask: Ask<Sent>, list: string, order: string): Promise<void> {
  const targets: string[] = []
  for (let next = `/${list}?limit=200&order=${order}`; next; ) {
    targets.push(next)
    const { _embedded, _links } = JSON.parse(String((await ask(next)).bytes))
    next = _embedded.records.length ? _links.next.href.replace(/^http:..[^/]*/, '') : ''
  }
  for (let time = 1; time < OFTEN; time++) for (const target of targets) await ask(target)
}

const costOf = async (ledger: Ledger, list: (typeof lists)[number], options: PageOptions): Promise<number> =>
  (await ledger.explain(catalogue[list] as List, {}, options)).cost.blocks

describe('a log that is asked for over and over', () => {
  it.each(lists)('is found with one look-up per run, in either order: %s', async (list) => {
    const ledger = await ledgerOf(closes)
    const ask = asksForBytes(ledger)
    const query = catalogue[list] as List
    const { shift } = query.of
    const all: any[] = []
    for await (const record of ledger.records(query, {})) all.push(record)
    const runs = Math.floor(all.length / (RUN << shift))
    for (const order of ['asc', 'desc'] as const) {
      // What follows the last whole run is found in blocks.
      const cursor = order === 'asc' ? '' : String(all[runs * (RUN << shift)]?.paging_token ?? '')
      const limit = Math.min(200, runs * (RUN << shift))
      const before = await costOf(ledger, list, { cursor, limit, order })
      await walk(ask, list, order)
      const after = await costOf(ledger, list, { cursor, limit, order })
      // The cursor costs some look-ups too, always the same number.
      expect([runs > 0, before - after], `${list} ${order}`).toEqual([
        true,
        Math.ceil(limit / (1 << shift)) - Math.ceil(limit / (RUN << shift)),
      ])
      expect((await ledger.explain(query, {}, { cursor, limit, order })).cost.gets).toBe(0)
    }
  })

  it('is gathered as soon in descending order, all the runs of a page at once', async () => {
    const query = catalogue.transactions as List
    const size = RUN << query.of.shift
    const limit = Math.floor(200 / size) * size
    const requests = async (order: 'asc' | 'desc'): Promise<number> => {
      const ledger = await ledgerOf(closes)
      const ask = asksForBytes(ledger)
      const all: any[] = []
      for await (const record of ledger.records(query, {})) all.push(record)
      const cursor = order === 'asc' ? '' : all[all.length - (all.length % size)].paging_token
      const before = await costOf(ledger, 'transactions', { cursor, limit, order })
      const costs: number[] = []
      while (costs.length < OFTEN && costs.at(-1) !== before - limit / (1 << query.of.shift) + limit / size) {
        await ask(`/transactions?limit=${limit}&order=${order}&cursor=${cursor}`)
        costs.push(await costOf(ledger, 'transactions', { cursor, limit, order }))
      }
      expect([limit / size > 2, new Set(costs).size], order).toEqual([true, 2])
      return costs.length
    }
    const [up, down] = [await requests('asc'), await requests('desc')]
    expect([up < OFTEN, down]).toEqual([true, up])
  })

  it('gives the same bytes and the same tag each time, for every base URL and profile', async () => {
    const ledger = await ledgerOf(closes)
    const plain = await ledgerOf(closes, { cacheBytes: 0 })
    await expectTheSame(ledger, plain, lists.flatMap(targetsOf), [
      ['one.test', 40],
      ['two.test', 110],
      ['one.test', 6],
    ])
  })

  it.each<LedgerOptions>([{}, { cacheBytes: 2 << 20 }, { cacheBytes: 300_000 }])(
    'is served like one that was never asked for before when it grows, is rolled back and is pruned, with %o',
    async (options) => {
      const ledger = await openLedger(memory(), { fileEvery: 400, ...options })
      const ask = asksForBytes(ledger)
      const same = async (): Promise<void> => {
        const plain = await openLedger(memory(), { cacheBytes: 0, fileEvery: 1 })
        await plain.ingest(closes.slice(0, ledger.head!.last - FIRST + 1))
        if (ledger.head!.oldest > FIRST) await plain.prune(ledger.head!.oldest)
        const wanted = asker(plain)
        for (const target of lists.flatMap(targetsOf)) {
          const bytes = Buffer.from((await wanted(target)).text)
          for (let time = 0; time < OFTEN; time++) expect((await ask(target)).bytes.equals(bytes), target).toBe(true)
        }
        for (const list of lists) {
          const [ours, theirs] = [ledger, plain].map((one) => one.page(catalogue[list] as List, {}, { limit: 200, order: 'desc' }))
          const [left, right] = [(await ours!).records as any[], (await theirs!).records as any[]]
          expect(left.map((record) => written(record))).toEqual(right.map((record) => written(record)))
        }
      }
      await ledger.ingest(closes.slice(0, 70))
      await same()
      await ledger.ingest(closes.slice(70, 110))
      await same()
      await ledger.rollback(FIRST + 50)
      await same()
      await ledger.ingest(closes.slice(51))
      await same()
      await ledger.prune(FIRST + 60)
      await same()
    },
  )

  it('gives the same records wherever a page begins and ends, and for lists whose records are scattered over it', async () => {
    const [ledger, plain] = [await ledgerOf(closes), await ledgerOf(closes, { cacheBytes: 0 })]
    const ask = asksForBytes(ledger)
    const shown = async (one: Ledger, query: List, values: object, page: PageOptions): Promise<string[]> =>
      (await one.read(query, values as never, page)).records.map(({ block, at }) => `${block.token(at)} ${block.json(at)}`)
    const same = async (query: List, values: object, page: PageOptions): Promise<void> =>
      expect(await shown(ledger, query, values, page), `${query.path} ${JSON.stringify(page)}`).toEqual(
        await shown(plain, query, values, page),
      )
    for (const list of lists) {
      const query = catalogue[list] as List
      for (const order of ['asc', 'desc']) await walk(ask, list, order)
      const tokens: string[] = []
      for await (const record of plain.records(query, {})) tokens.push((record as any).paging_token)
      const size = RUN << query.of.shift
      const around = tokens.flatMap((cursor, at) => ((at + 3) % size < 6 ? [cursor] : []))
      expect(around.length).toBeGreaterThan(6)
      for (const cursor of around)
        for (const limit of [2, 3, size - 1, size + 1].map((limit) => Math.min(200, limit)))
          for (const order of ['asc', 'desc'] as const) await same(query, {}, { cursor, limit, order })
    }
    const { records } = await plain.page(catalogue.effects, {}, { limit: 40 })
    for (const account of new Set(records.map((record) => record.account)))
      for (const query of [
        catalogue.transactionsOfAccount,
        catalogue.operationsOfAccount,
        catalogue.effectsOfAccount,
        catalogue.tradesOfAccount,
      ])
        for (const limit of [2, 10, 15, 200])
          for (const order of ['asc', 'desc'] as const) await same(query as List, { account }, { limit, order })
    for (const pair of (await plain.page(catalogue.trades, {}, { limit: 10 })).records as any[])
      for (const [base, counter] of [
        ['base', 'counter'],
        ['counter', 'base'],
      ] as const)
        for (const limit of [2, 10, 200])
          await same(catalogue.trades as List, { base: assetOf(pair, base), counter: assetOf(pair, counter) }, { limit })
  })

  it('is gathered for the base URL that is asked for most', async () => {
    const ledger = await ledgerOf(closes)
    const ask = asksForBytes(ledger)
    const page: PageOptions = { limit: 128 }
    expect(await costOf(ledger, 'operations', page)).toBe(RUN)
    for (const host of ['one.test', 'two.test']) {
      const { bytes } = await ask('/operations?limit=128', { host })
      for (let time = 0; time < 4 * OFTEN; time++) expect((await ask('/operations?limit=128', { host })).bytes.equals(bytes)).toBe(true)
      expect(await costOf(ledger, 'operations', page)).toBe(1)
    }
  })
})
