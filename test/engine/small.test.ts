/** One small network, every query, in every state of a store: checked against the model in a second, where the model test takes a minute. */
import { beforeAll, describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { queryNames } from '../../adapters/testing/arbitrary-requests.ts'
import { isRefusal, type NaiveLedger, naiveLedger } from '../../adapters/testing/naive-ledger.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, type Ledger, type LedgerClose, type LedgerOptions, openLedger, type PageOptions, type Store } from '../../src/index.ts'
import { agree } from '../support/model.ts'

const FIRST = 300
const closes = [
  ...generate({
    ledgers: 24,
    seed: 11,
    accounts: 16,
    transactionsPerLedger: 5,
    operationsPerTransaction: 2,
    firstLedger: FIRST,
    envelopeBytes: 30,
  }),
] as readonly LedgerClose[]
const LAST = FIRST + closes.length - 1

/** Values for a path: from the oldest and newest records, some between, and some that do not exist. */
function pathsOf(model: NaiveLedger): Record<string, readonly unknown[]> {
  const of = (kind: string) => model.entries.filter((entry) => entry.kind === kind)
  const some = <T>(all: readonly T[]): T[] =>
    [...new Set([all[0]!, all[all.length >> 1]!, all.at(-2)!, all.at(-1)!])].filter((one) => one !== undefined)
  const { transactions = [] } = closes[0]!
  const ids = some(of('operation').map(({ id }) => id))
  const accounts = closes.flatMap(({ transactions: all = [] }) => all.map(({ account }) => account))
  const often = [...new Set(accounts)].sort(
    (a, b) => accounts.filter((one) => one === b).length - accounts.filter((one) => one === a).length,
  )
  const offers = [...new Set(model.changes.map(({ id }) => id))]
  return {
    account: [...often.slice(0, 3), often.at(-1)!, 'nobody'],
    ledger: [FIRST, FIRST + 1, FIRST + 11, LAST - 1, LAST, FIRST - 1, LAST + 1],
    hash: [...some(of('transaction').map(({ hash }) => hash)), ...transactions.slice(0, 2).map(({ hash }) => hash), 'f'.repeat(64)],
    operation: [...ids, ids[0]! + 1n, ids.at(-1)! + 1n, BigInt(LAST) << 32n, BigInt(LAST + 1) << 32n, 1n],
    offer: [...some(offers), ...offers.slice(3, 5), 7n],
  }
}

/** Asks everything worth asking of one query: each value with each cursor, order and limit. */
async function askAll(ledger: Ledger, model: NaiveLedger, query: (typeof queryNames)[number]): Promise<number> {
  const row = catalogue[query]
  const name = /\{(\w+)\}/.exec(row.path)?.[1]
  const paths = name ? pathsOf(model)[name]!.map((value) => ({ [name]: value })) : [{}]
  let asked = 0
  const ask = async (values: object, options: PageOptions): Promise<void> => {
    asked++
    await agree(ledger, model, { query, values: values as never, options })
  }
  for (const path of paths) {
    if (row.kind === 'one') {
      await ask(path, {})
      continue
    }
    const listed = model.list(query, path)
    const all = isRefusal(listed) ? [] : listed
    const middle = all[all.length >> 1]
    const cursors = [undefined, 'now', all[0]?.token, middle?.token, all.at(-1)?.token, `${BigInt(FIRST + 7) << 32n}`, '0']
    for (const order of ['asc', 'desc'] as const)
      for (const [at, cursor] of cursors.entries()) {
        if (cursor === undefined && at > 0) continue
        await ask(path, { ...(cursor !== undefined && { cursor }), order, limit: at % 2 ? 3 : 200 })
      }
    if (middle) await ask(path, { cursor: String(middle.id), limit: 2 })
    if (query === 'trades' || query === 'tradesOfAccount') await askFiltered(ask, model, path)
  }
  return asked
}

/** Asks for trades by their pair, either way round, and by an offer. */
async function askFiltered(ask: (values: object, options: PageOptions) => Promise<void>, model: NaiveLedger, path: object): Promise<void> {
  const trades = model.entries.filter(({ kind }) => kind === 'trade').map(({ record }) => record)
  const asset = (trade: any, side: string) => ({
    type: trade[`${side}_asset_type`],
    ...(trade[`${side}_asset_type`] !== 'native' && { code: trade[`${side}_asset_code`], issuer: trade[`${side}_asset_issuer`] }),
  })
  for (const trade of [trades[0], trades.at(-1)] as any[]) {
    const [base, counter] = [asset(trade, 'base'), asset(trade, 'counter')]
    const offer = trade.offer_id === undefined ? {} : { offer_id: BigInt(trade.offer_id) }
    for (const filter of [{ base, counter }, { base: counter, counter: base }, { base, counter: base }, offer, { base, counter, ...offer }])
      for (const order of ['asc', 'desc'] as const) await ask({ ...path, ...filter }, { order, limit: 3 })
  }
}

interface State {
  readonly store: () => Store
  readonly options: LedgerOptions
  /** Fills the empty ledger with all closes. */
  grow(ledger: Ledger, open: () => Promise<Ledger>): Promise<Ledger>
}

const atOnce = async (ledger: Ledger): Promise<Ledger> => {
  await ledger.ingest(closes, { batch: 5, durable: false })
  return ledger
}

const states: readonly (readonly [string, () => State])[] = [
  ['a ledger in memory', () => ({ store: memory, options: {}, grow: atOnce })],
  [
    'a ledger over a store that answers late, without a cache',
    () => ({ store: () => slowStore(memory()), options: { cacheBytes: 0 }, grow: atOnce }),
  ],
  ['a ledger whose lists are filed every few records', () => ({ store: memory, options: { fileEvery: 40 }, grow: atOnce })],
  [
    'a ledger that was rolled back, reopened and appended to again',
    () => {
      const disk = memoryDisk()
      return {
        store: () => memory(disk),
        options: { fileEvery: 90 },
        async grow(ledger, open) {
          await ledger.ingest(closes, { durable: false })
          expect(await ledger.rollback(LAST - 9)).toBe(9)
          await ledger.close()
          const again = await open()
          expect(again.head?.last).toBe(LAST - 9)
          await again.ingest(closes, { batch: 100 })
          return again
        },
      }
    },
  ],
  [
    'a ledger that was reopened',
    () => {
      const disk = memoryDisk()
      return {
        store: () => memory(disk),
        options: { fileEvery: 150 },
        async grow(ledger, open) {
          await ledger.ingest(closes.slice(0, 13))
          await ledger.close()
          const again = await open()
          await again.ingest(closes.slice(13), { batch: 2 })
          await again.close()
          return open()
        },
      }
    },
  ],
]

const model = naiveLedger(closes)

describe.each(states)('%s', (_, state) => {
  let ledger: Ledger
  beforeAll(async () => {
    const { store, options, grow } = state()
    const open = () => openLedger(store(), options)
    ledger = await grow(await open(), open)
  })

  test.each(queryNames)('answers %s as the model does', async (query) => {
    expect(await askAll(ledger, model, query)).toBeGreaterThan(0)
  })
})
