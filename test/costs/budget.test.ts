/**
 * Every query has a budget of store calls and bytes read, with a cold cache: counts, not times, so that a change which makes a page cost more fails
 * here, on any machine.
 */
import { expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { catalogue, type List, openLedger, pathNames } from '../../src/index.ts'

const closes = [...generate({ ledgers: 120, seed: 2, accounts: 60, transactionsPerLedger: 12 })]

/** Store calls and kilobytes read for a page of 10 in the middle, newest first: what finding the cursor, the parent and the records takes. */
const budgets: Record<string, readonly [calls: number, kilobytes: number]> = {
  ledgers: [2, 5],
  transactions: [4, 18],
  operations: [3, 11],
  payments: [6, 16],
  effects: [2, 7],
  trades: [3, 11],
  transactionsOfAccount: [10, 42],
  operationsOfAccount: [10, 33],
  paymentsOfAccount: [6, 15],
  effectsOfAccount: [9, 27],
  tradesOfAccount: [5, 11],
  offersOfAccount: [1, 1],
  tradesOfOffer: [5, 11],
  transactionsOfLedger: [4, 18],
  operationsOfLedger: [2, 7],
  paymentsOfLedger: [5, 12],
  effectsOfLedger: [2, 6],
  tradesOfLedger: [2, 7],
  operationsOfTransaction: [4, 12],
  paymentsOfTransaction: [6, 12],
  effectsOfTransaction: [4, 12],
  tradesOfTransaction: [4, 12],
  effectsOfOperation: [3, 11],
  tradesOfOperation: [3, 11],
}

test('a page stays within the budget of its row', async () => {
  const fileEvery = 500
  const disk = memoryDisk()
  const writer = await openLedger(memory(disk), { fileEvery })
  await writer.ingest(closes)
  await writer.close()
  const probe = await openLedger(memory(disk), { fileEvery })
  const trade = (await probe.page(catalogue.trades, {}, { limit: 50 })).records.find(({ offer_id }) => offer_id !== undefined)!
  const middle = (await probe.page(catalogue.transactions, {}, { limit: 200 })).records.at(-1)!
  const operation = (await probe.page(catalogue.operations, {}, { cursor: middle.paging_token, limit: 1 })).records[0]!
  await probe.close()
  const known = {
    account: middle.account,
    ledger: middle.ledger,
    hash: middle.hash,
    operation: operation.id,
    offer: BigInt(trade.offer_id!),
  }
  const costs: Record<string, readonly [calls: number, kilobytes: number]> = {}
  for (const [name, query] of Object.entries(catalogue)) {
    if (query.kind !== 'list') continue
    // Opened anew for each: nothing is cached except the newest records, which an open files again.
    const ledger = await openLedger(memory(disk), { fileEvery })
    const cursor =
      query.path.startsWith('/ledgers/') || query.path.includes('{hash}') || query.path.includes('{operation}') ? '' : middle.paging_token
    const values = Object.fromEntries(pathNames(query.path).map((name) => [name, known[name]]))
    const { cost } = await ledger.explain(query as List, values, { cursor, order: 'desc' })
    costs[name] = [cost.gets + cost.scans, cost.bytes / 1000]
    await ledger.close()
  }
  expect(Object.keys(costs).sort()).toEqual(Object.keys(budgets).sort())
  const over = Object.entries(costs).filter(([name, [calls, kilobytes]]) => calls > budgets[name]![0] || kilobytes > budgets[name]![1])
  expect(over).toEqual([])
})
