/**
 * What a page may allocate: counts of bytes, not times, so that a change which makes pages cost more fails here, on any machine.
 * Heap is what V8 hands out between two readings without a collection in between. The least of many readings is compared with the budget, since
 * compilation and other noise only ever add. A budget is a fifth to a half more than was measured on whichever of Node 20, 22 and 24 takes most.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { createCore } from '../../adapters/http/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, type List, openLedger } from '../../src/index.ts'
import { collectGarbage } from '../support/held.ts'

const closes = [...generate({ ledgers: 150, seed: 4, accounts: 40, transactionsPerLedger: 20 })]
const disk = memoryDisk()
let ledger: Ledger
let account: string

beforeAll(async () => {
  const writer = await openLedger(memory(disk), { fileEvery: 500 })
  await writer.ingest(closes as never)
  await writer.close()
  ledger = await openLedger(memory(disk), { fileEvery: 500 })
  account = (await ledger.page(catalogue.transactions, {}, { limit: 1 })).records[0]!.account
})
afterAll(() => ledger.close())

/** The least heap bytes that a call allocates, over many readings of a few calls each. */
async function allocated(work: () => unknown): Promise<number> {
  for (let i = 0; i < 1500; i++) await work()
  let least = Number.POSITIVE_INFINITY
  for (let reading = 0; reading < 25; reading++) {
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 8; i++) work()
    const grown = (process.memoryUsage().heapUsed - before) / 8
    // A collection between the readings shows as a negative difference.
    if (grown > 0) least = Math.min(least, grown)
  }
  return least
}

const pageOf =
  (query: List, limit: number, values: object = {}) =>
  () =>
    ledger.read(query, values, { limit })
const answerTo = (target: string) => {
  const respond = createCore(ledger)
  return () => respond({ method: 'GET', target, header: (name) => (name === 'host' ? 'folio.test' : undefined) })
}

const cases: readonly [name: string, budget: number, work: () => () => unknown][] = [
  ['transactions, 10', 3_900, () => pageOf(catalogue.transactions, 10)],
  ['transactions, 200', 10_000, () => pageOf(catalogue.transactions, 200)],
  ['effects, 200', 4_500, () => pageOf(catalogue.effects, 200)],
  ['effects of an account, 200', 10_000, () => pageOf(catalogue.effectsOfAccount, 200, { account })],
  ['HTTP, transactions, 10', 10_000, () => answerTo('/transactions?limit=10')],
  ['HTTP, effects, 200', 12_000, () => answerTo('/effects?limit=200')],
]

test.each(cases)('a page from the cache stays within its budget of allocations: %s', async (_, budget, work) => {
  const bytes = await allocated(work())
  expect(bytes).toBeLessThanOrEqual(budget)
  // Far less would mean that the measurement fails, or that the budget should be cut.
  expect(bytes).toBeGreaterThan(budget / 3)
})
