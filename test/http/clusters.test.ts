/** Lists that are asked for over and over: bytes and entity tags stay what they were when their records came from blocks. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { Cache } from '../../src/cache/cache.ts'
import { catalogue, type Ledger, type LedgerClose } from '../../src/index.ts'
import { ledgerOf } from '../support/benches.ts'
import { asker, expectTheSame } from './support.ts'

const closes = [...(generate({ ledgers: 40, seed: 8, accounts: 16, transactionsPerLedger: 16, tradeShare: 0.4 }) as Iterable<LedgerClose>)]

/** Pages of lists: of a busy account, and of a pair both ways. */
async function targetsOf(ledger: Ledger): Promise<string[]> {
  const { records } = await ledger.page(catalogue.effects, {}, { limit: 1 })
  const [trade] = (await ledger.page(catalogue.trades, {}, { limit: 1 })).records as any[]
  const asset = (side: string, as: string): string =>
    ['type', 'code', 'issuer']
      .map((name) => [name, trade[`${side}_asset_${name}`]])
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `&${as}_asset_${name}=${value}`)
      .join('')
  const lists = ['transactions', 'operations', 'payments', 'effects', 'trades'].map((kind) => `/accounts/${records[0]!.account}/${kind}?`)
  const pairs = [
    ['base', 'counter'],
    ['counter', 'base'],
  ] as const
  const all = [...lists, '/payments?', ...pairs.map(([one, other]) => `/trades?${asset('base', one)}${asset('counter', other)}`)]
  return all.flatMap((list) => [`${list}&limit=200`, `${list}&limit=200&order=desc`, `${list}&limit=20&order=desc`])
}

describe.each([0, 8])('gathered after %i times', (gatheredAt) => {
  beforeEach(() => void vi.spyOn(Cache.prototype, 'gatheredAt', 'get').mockReturnValue(gatheredAt))
  afterEach(() => void vi.restoreAllMocks())

  it('gives the same bytes and the same tag each time, for every base URL and profile', async () => {
    const ledger = await ledgerOf(closes, { fileEvery: 500 })
    const plain = await ledgerOf(closes, { cacheBytes: 0 })
    await expectTheSame(ledger, plain, await targetsOf(ledger), [
      ['one.test', 12],
      ['two.test', 60],
      ['one.test', 6],
    ])
  })
})

it('a block in which a page has several slices is finished once', async () => {
  const ledger = await ledgerOf(closes, { fileEvery: 500 })
  const ask = asker(ledger)
  const { records } = await ledger.page(catalogue.effects, {}, { limit: 1 })
  const { account } = records[0]!
  const { slices } = await ledger.read(catalogue.effectsOfAccount, { account }, { limit: 15 })
  const blocks = new Set(slices.map(({ block }) => block.place))
  expect(slices.length).toBeGreaterThan(blocks.size)
  for (let time = 0; time < 60; time++) await ask(`/accounts/${account}/effects?limit=15`)
  expect((await ask('/metrics')).text).toContain(`folio_rendered_blocks_total ${blocks.size}\n`)
})
