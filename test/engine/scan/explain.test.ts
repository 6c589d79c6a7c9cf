/** What explain says a page is read from, and what that costs. */
import { expect, test } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { memory } from '../../../adapters/memory/index.ts'
import { slowStore } from '../../../adapters/testing/slow-store.ts'
import { catalogue, type LedgerClose, openLedger } from '../../../src/index.ts'
import { ledgerOf } from '../../support/benches.ts'

const closes = [...generate({ ledgers: 6, seed: 3, accounts: 16, transactionsPerLedger: 5, firstLedger: 9 })] as readonly LedgerClose[]
const { account, hash } = closes.flatMap(({ transactions = [] }) => transactions)[0]!
const native = { type: 'native' } as const
const coin = { type: 'credit_alphanum4', code: 'USD', issuer: 'G' } as const

test('explain says what a page reads, how many records it finds, and what that costs', async () => {
  const ledger = await ledgerOf(closes)
  const reads = async (query: any, values: object): Promise<readonly string[]> => (await ledger.explain(query, values)).reads
  expect([
    await reads(catalogue.ledgers, {}),
    await reads(catalogue.payments, {}),
    await reads(catalogue.operationsOfAccount, { account }),
    await reads(catalogue.operationsOfLedger, { ledger: 9 }),
    await reads(catalogue.operationsOfTransaction, { hash }),
    await reads(catalogue.offersOfAccount, { account }),
    await reads(catalogue.trades, { base: native, counter: coin, offer_id: 5n }),
    await reads(catalogue.tradesOfAccount, { account, base: native, counter: coin }),
  ]).toEqual([
    ['log of ledger'],
    ['list payment of operation'],
    ['list account of operation'],
    ['log of operation', 'within ledger'],
    ['log of operation', 'within hash'],
    ['scan of the book'],
    ['list pair of trade', 'list offer of trade'],
    ['list account of trade', 'list pair of trade'],
  ])
  const { path, records, cost, logRecords } = await ledger.explain(catalogue.ledgers, {}, { limit: 4 })
  expect([path, records, logRecords]).toEqual(['/ledgers', 4, 6])
  expect(cost).toEqual({ gets: 0, scans: 0, bytes: 0, blocks: 1, hits: 1 })
  await ledger.prune(closes.at(-2)!.ledger.sequence)
  expect(await ledger.explain(catalogue.ledgers, {}, { limit: 4 })).toMatchObject({ records: 2, logRecords: 2 })
  expect(await ledger.explain(catalogue.offersOfAccount, { account })).toMatchObject({ logRecords: 0 })
  const cold = await ledgerOf(closes, { cacheBytes: 0 })
  const { cost: read } = await cold.explain(catalogue.offersOfAccount, { account })
  expect(read).toMatchObject({ scans: 1, blocks: 0 })
})

test('explain counts what the answer needed, however often the read was run over a store that answers late', async () => {
  const costs: (readonly [blocks: number, hits: number])[] = []
  for (const store of [memory(), slowStore(memory())]) {
    const ledger = await openLedger(store, { cacheBytes: 0 })
    await ledger.ingest(closes)
    const { cost } = await ledger.explain(catalogue.operationsOfAccount, { account })
    costs.push([cost.blocks, cost.hits])
    await ledger.close()
  }
  expect(costs[1]).toEqual(costs[0])
  expect(costs[0]![0]).toBeGreaterThan(0)
})
