/** Intersections of long lists that have nothing in common: what they cost, and that others have their turn meanwhile. */
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { slowStore } from '../../../adapters/testing/slow-store.ts'
import { catalogue, type LedgerClose, openLedger } from '../../../src/index.ts'
import { Posting } from '../../../src/scan/list.ts'

const LEDGERS = 4
const EACH = 2000
const hashOf = (number: number): string => number.toString(16).padStart(64, '0')

/** Trades of GM and of GX take turns: those of GM are of one pair, and those of GX of another, but for the last of all. */
function* closes(): Generator<LedgerClose> {
  const trade = (account: string, code: string) => ({
    ...{ base_account: account, base_amount: '1.0', base_asset_type: 'credit_alphanum4', base_asset_code: code, base_asset_issuer: 'GI' },
    ...{ counter_account: 'GZ', counter_amount: '1.0', counter_asset_type: 'native', base_is_seller: true, price: { n: 1, d: 1 } },
  })
  for (let sequence = 1; sequence <= LEDGERS; sequence++) {
    const trades = Array.from({ length: EACH }, () => [trade('GM', 'AAA'), trade('GX', 'BBB')]).flat()
    if (sequence === LEDGERS) trades.push(trade('GM', 'BBB'))
    const closed = {
      closed_at: '2020-01-01T00:00:00Z',
      total_coins: '1.0',
      fee_pool: '1.0',
      base_fee_in_stroops: 1,
      base_reserve_in_stroops: 1,
    }
    const ledger = { sequence, hash: hashOf(sequence), prev_hash: hashOf(sequence - 1), ...closed, max_tx_set_size: 1 }
    const sent = { account: 'GA', account_sequence: 1, max_fee: 1, fee_paid: 1, envelope_xdr: '', result_xdr: '', result_meta_xdr: '' }
    yield { ledger, transactions: [{ hash: hashOf(1e9 + sequence), ...sent, operations: [{ type: 'manage_offer', trades }] }] }
  }
}

const disk = memoryDisk()
beforeAll(async () => {
  const ledger = await openLedger(memory(disk), { fileEvery: 1000 })
  await ledger.ingest(closes())
  await ledger.close()
})
afterEach(() => void vi.restoreAllMocks())

const values = {
  account: 'GM',
  base: { type: 'credit_alphanum4', code: 'BBB', issuer: 'GI' },
  counter: { type: 'native' },
} as const

test.each(['asc', 'desc'] as const)('goes on where it was, over a store that answers late: %s', async (order) => {
  const [late, prompt] = [
    await openLedger(
      slowStore(memory(disk), async () => {}),
      { fileEvery: 1000, cacheBytes: 0 },
    ),
    await openLedger(memory(disk), { fileEvery: 1000 }),
  ]
  const take = vi.spyOn(Posting.prototype, 'take')
  const found = await late.page(catalogue.tradesOfAccount, values, { order })
  const [leaps, pages] = [take.mock.calls.length, (2 * LEDGERS * EACH) / 128]
  expect(found.records).toHaveLength(1)
  expect(await prompt.page(catalogue.tradesOfAccount, values, { order })).toEqual(found)
  // Each entry of both lists once, and again what was missed. From the beginning each time, that is 30 times as much.
  expect(leaps).toBeGreaterThan(2 * LEDGERS * EACH)
  expect(leaps).toBeLessThan(2 * LEDGERS * EACH + 4 * pages)
  await late.close()
  await prompt.close()
})

test('lets others have their turn, over a store that answers at once', async () => {
  const ledger = await openLedger(memory(disk), { fileEvery: 1000 })
  let hadTurn = false
  setImmediate(() => {
    hadTurn = true
  })
  // However fast the machine, so many leaps take longer than a turn may.
  const { take } = Posting.prototype
  vi.spyOn(Posting.prototype, 'take').mockImplementation(function (this: Posting, ...asked) {
    for (const until = performance.now() + 0.003; performance.now() < until; );
    return take.apply(this, asked)
  })
  const { count } = await ledger.read(catalogue.tradesOfAccount, values)
  expect([count, hadTurn]).toEqual([1, true])
  await ledger.close()
})
