/**
 * The walk: lifelike networks, generated and real, every query of the catalogue for every value worth asking, to its end, in both orders,
 * in pages of several sizes, compared with the reference model.
 */
import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { queryNames } from '../../adapters/testing/arbitrary-requests.ts'
import { isRefusal, type NaiveLedger, naiveLedger } from '../../adapters/testing/naive-ledger.ts'
import type { AnyMembers } from '../../adapters/testing/naive-records.ts'
import { catalogue, type Ledger, type LedgerClose, type List, parseJson } from '../../src/index.ts'
import { ledgerOf } from '../support/benches.ts'
import { codeOf } from '../support/errors.ts'
import { agree, assetOf, written } from '../support/model.ts'

const REAL = new URL('../../../shared/data/testnet-320.ndjson.gz', import.meta.url)

/** Up to `count` of the values, spread over all of them. */
const spread = <T>(values: Iterable<T>, count: number): T[] => {
  const all = [...new Set(values)]
  const stride = Math.max(1, all.length / count)
  return Array.from({ length: Math.min(count, all.length) }, (_, at) => all[Math.floor(at * stride)]!)
}

/** Values for the path of each query: a spread of those that exist, and at least one that does not. */
function samples(model: NaiveLedger, count: number): Record<string, unknown[]> {
  const of = (kind: string) => model.entries.filter((entry) => entry.kind === kind)
  const traded = of('trade').flatMap(({ offers }) => offers)
  return {
    account: [
      ...spread(
        model.entries.flatMap(({ accounts }) => accounts),
        count,
      ),
      'nobody',
    ],
    ledger: [
      ...spread(
        of('ledger').map(({ ledger }) => ledger),
        count,
      ),
      1,
      2 ** 31 - 1,
    ],
    hash: [
      ...spread(
        of('transaction').map(({ hash }) => hash),
        count,
      ),
      '0'.repeat(64),
    ],
    operation: [
      ...spread(
        of('operation').map(({ id }) => id),
        count,
      ),
      1n,
    ],
    offer: [...spread([...traded, ...model.changes.map(({ id }) => id)], count), 2n ** 62n],
  }
}

/** No filter, some pairs, and some offers. */
function filters(model: NaiveLedger): AnyMembers[] {
  const trades = model.entries.filter(({ kind }) => kind === 'trade')
  const pairs = spread(
    trades.map(({ record }) => JSON.stringify([assetOf(record, 'counter'), assetOf(record, 'base')])),
    3,
  )
  return [
    {},
    ...pairs.map((pair) => JSON.parse(pair) as AnyMembers[]).map(([base, counter]) => ({ base, counter })),
    ...spread(
      trades.flatMap(({ offers }) => offers),
      2,
    ).map((offer_id) => ({ offer_id })),
  ]
}

async function walkList(
  ledger: Ledger,
  row: List<AnyMembers>,
  values: AnyMembers,
  whole: readonly AnyMembers[],
  limits: readonly number[],
): Promise<void> {
  const ordered = values['base'] === undefined
  const wanted = whole.map((record) => written(record, ordered))
  for (const order of ['asc', 'desc'] as const)
    for (const limit of limits) {
      const got: string[] = []
      for await (const page of ledger.pages(row, values, { order, limit }))
        for (const record of page.records) got.push(written(record, ordered))
      if (order === 'desc') got.reverse()
      expect(got).toEqual(wanted)
    }
}

async function walkAll(closes: LedgerClose[], count: number, fileEvery: number): Promise<number> {
  const model = naiveLedger(closes)
  const ledger = await ledgerOf(closes, { fileEvery })
  const values = samples(model, count)
  let walked = 0
  for (const query of queryNames) {
    const row = catalogue[query]
    const name = /\{(\w+)\}/.exec(row.path)?.[1]
    const paths = name ? values[name]!.map((value) => ({ [name]: value })) : [{}]
    const asked = row.path.endsWith('trades') ? paths.flatMap((path) => filters(model).map((filter) => ({ ...path, ...filter }))) : paths
    for (const one of asked) {
      const whole = row.kind === 'list' ? model.list(query, one) : undefined
      if (whole === undefined) await agree(ledger, model, { query, values: one, options: {} })
      else if (isRefusal(whole)) expect(await codeOf(() => ledger.page(row as never, one as never))).toBe(whole.code)
      else {
        const limits = whole.length > 1500 ? [200] : whole.length > 300 ? [10, 200] : [1, 7, 10, 200]
        await walkList(
          ledger,
          row as List<AnyMembers>,
          one,
          whole.map(({ record }) => record),
          limits,
        )
      }
      walked++
    }
  }
  await ledger.close()
  return walked
}

test('a generated network is listed as by the model', async () => {
  const closes = [...generate({ ledgers: 50, seed: 'walk', accounts: 40, transactionsPerLedger: 12 })] as unknown as LedgerClose[]
  expect(await walkAll(closes, 10, 700)).toBeGreaterThan(200)
})

test('so is one from ledger 1, with offers past 2^53, and nothing filed', async () => {
  const options = { ledgers: 25, seed: 'walk 2', accounts: 16, firstLedger: 1, firstOffer: 2n ** 53n, tradeShare: 0.5 }
  expect(await walkAll([...generate(options)] as unknown as LedgerClose[], 6, 1e9)).toBeGreaterThan(150)
})

test.skipIf(!existsSync(REAL))(`so are real ledgers${existsSync(REAL) ? '' : ' (skipped: the file with them is not here)'}`, async () => {
  const lines = gunzipSync(readFileSync(REAL)).toString().trim().split('\n')
  const closes = lines.map((line) => parseJson(line) as LedgerClose)
  expect(await walkAll(closes, 30, 500)).toBeGreaterThan(700)
})
