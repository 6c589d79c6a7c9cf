/** The streams of the engine keep the laws of streams over every store. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import {
  type AnyMembers,
  type CloseShape,
  closeOf,
  isRefusal,
  naiveLedger,
  type StreamSource,
  slowStore,
  streamLaws,
} from '../../adapters/testing/index.ts'
import { catalogue, openLedger, type QueryName, type Store } from '../../src/index.ts'

/** A ledger of `count` transactions, each of one operation with one effect. */
const shape = (count: number): CloseShape => ({
  ledger: {
    ...{ closed_at: '2019-06-01T12:00:00Z', total_coins: '1.0000000', fee_pool: '0' },
    ...{ base_fee_in_stroops: 100, base_reserve_in_stroops: 5, max_tx_set_size: 9 },
  },
  transactions: [
    {
      ...{ account: 'GALICE', account_sequence: 1, max_fee: 100, fee_paid: 100, envelope_xdr: '', result_xdr: '', result_meta_xdr: '' },
      operations: [{ type: 'inflation', effects: [{ account: 'GALICE', type: 'account_inflated', type_i: 99 }] }],
    },
  ],
  ...{ offers: undefined, times: count, shout: false },
})

const tokenOf = (record: AnyMembers): string => String(record['paging_token'])

async function streamOf(query: QueryName, store: Store): Promise<StreamSource<string>> {
  const ledger = await openLedger(store, { fileEvery: 7 })
  const model = naiveLedger()
  const row = catalogue[query] as never
  return {
    now: 'now',
    token: (record) => record,
    records() {
      const list = model.list(query, {})
      return isRefusal(list) ? [] : list.map(({ record }) => tokenOf(record))
    },
    async append(count) {
      const close = closeOf(shape(count), (ledger.head?.last ?? 99) + 1, ledger.head?.hash)
      await ledger.append(close, { durable: false })
      model.append(close)
    },
    stream(cursor, signal) {
      const records = ledger.stream<AnyMembers, object>(row, {}, { cursor, signal })
      return {
        next: async () => {
          const { done, value } = await records.next()
          return done ? { done: true, value: undefined } : { done: false, value: tokenOf(value) }
        },
        return: () => records.return!() as Promise<IteratorResult<string>>,
      }
    },
    close: () => ledger.close(),
  }
}

const places: string[] = []
afterAll(() => Promise.all(places.map((place) => rm(place, { recursive: true, force: true }))))

describe.each(['transactions', 'effects'] as const)('streams of %s', (query) => {
  describe('over memory', () => {
    for (const law of streamLaws({ open: () => streamOf(query, memory()), runs: 60 })) test(law.name, law.run)
  })
  describe('over a store whose every answer is scheduled', () => {
    for (const law of streamLaws({ open: (step) => streamOf(query, slowStore(memory(), step)), runs: 60 })) test(law.name, law.run)
  })
})

describe('streams of operations over LevelDB', () => {
  const open = async (): Promise<StreamSource<string>> => {
    const place = await mkdtemp(join(tmpdir(), 'folio-kit-'))
    places.push(place)
    return streamOf('operations', await level(join(place, 'db')))
  }
  for (const law of streamLaws({ open, runs: 10, patience: 3000 })) test(law.name, law.run)
})
