/** What is handed in is taken at the call, whatever class it is of: it may be changed as soon as the call has returned. */
import { describe, expect, test } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, type Ledger, type LedgerClose, networkOf, openLedger, type Trade } from '../../src/index.ts'

const closes = Array.from({ length: 4 }, (_, n): LedgerClose => richClose(5 + n, hashOf(4 + n, 1)))
const chained = closes.map((close, n) => ({ ...close, ledger: { ...close.ledger, prev_hash: n === 0 ? '' : closes[n - 1]!.ledger.hash } }))

/** Over a store that answers later, without a cache. */
async function holding(): Promise<Ledger> {
  const ledger = await openLedger(slowStore(memory(memoryDisk())), { cacheBytes: 0 })
  await ledger.ingest(chained)
  return ledger
}

const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}
const tokens = (records: readonly { readonly paging_token: string }[]): string[] => records.map(({ paging_token }) => paging_token)

describe('options that are changed after the call', () => {
  test('of an open', async () => {
    const disks = [memoryDisk(), memoryDisk()]
    const options = { network: '' }
    await Promise.all(
      disks.map((disk, n) => {
        options.network = `network ${n}`
        return openLedger(Promise.resolve(memory(disk)), options)
      }),
    )
    expect(await Promise.all(disks.map((disk) => networkOf(memory(disk))))).toEqual(['network 0', 'network 1'])
  })

  test('of pages and explanations', async () => {
    const ledger = await holding()
    const options = { limit: 0 }
    const asked = [1, 2, 3].flatMap((limit) => {
      options.limit = limit
      return [
        ledger.page(catalogue.ledgers, {}, options).then(({ records }) => records.length),
        ledger.explain(catalogue.ledgers, {}, options).then(({ records }) => records),
        Promise.resolve(ledger.read(catalogue.ledgers, {}, options)).then(({ count }) => count),
      ]
    })
    expect(await Promise.all(asked)).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3])
  })

  test.each(['records', 'pages', 'ndjson'] as const)('of a walk by %s, as its values', async (how) => {
    const ledger = await holding()
    const values = { ledger: 6 }
    const options = { order: 'desc' as 'asc' | 'desc', limit: 1 }
    const walked = ledger[how](catalogue.operationsOfLedger, values, options)
    values.ledger = 7
    options.order = 'asc'
    options.limit = -1
    const found = await all<unknown>(walked)
    expect(found).toEqual(await all<unknown>(ledger[how](catalogue.operationsOfLedger, { ledger: 6 }, { order: 'desc', limit: 1 })))
    expect(found.length).toBeGreaterThan(1)
  })

  test('of lines, closes and a digest', async () => {
    const ledger = await holding()
    const range = { from: 6, to: 7 }
    const [lines, found, digest] = [ledger.lines(range), ledger.closes(range), ledger.digest(range)]
    range.from = 8
    range.to = -1
    expect((await all(lines)).map((line) => JSON.parse(line).ledger.sequence)).toEqual([6, 7])
    expect((await all(found)).map(({ ledger }) => ledger.sequence)).toEqual([6, 7])
    expect(await digest).toBe(await ledger.digest({ from: 6, to: 7 }))
  })

  test('of a walk are refused at the first pull if they were wrong', async () => {
    const ledger = await holding()
    const options = { limit: 201 }
    const walked = ledger.records(catalogue.ledgers, {}, options)
    options.limit = 200
    await expect(walked.next()).rejects.toMatchObject({ code: 'BAD_REQUEST', fields: { field: 'limit' } })
  })

  test('while a walk is under way', async () => {
    const ledger = await holding()
    const options = { order: 'asc' as 'asc' | 'desc', limit: 1 }
    const found: string[] = []
    for await (const { paging_token } of ledger.records(catalogue.ledgers, {}, options)) {
      found.push(paging_token)
      options.order = 'desc'
    }
    expect(found).toEqual(tokens(await all(ledger.records(catalogue.ledgers, {}))))
  })
})

describe('values and options of a class', () => {
  class Native {
    get type() {
      return 'native' as const
    }
  }
  class Coded {
    get type() {
      return 'credit_alphanum4' as const
    }
    get code() {
      return 'USD'
    }
    get issuer() {
      return 'GISSUER'
    }
  }
  class Pair {
    get base() {
      return new Native()
    }
    get counter() {
      return new Coded()
    }
  }
  class None {
    get offer_id() {
      return 999n
    }
  }
  class Backwards {
    get order() {
      return 'desc' as const
    }
    get limit() {
      return 1
    }
  }
  const coded = { type: 'credit_alphanum4', code: 'USD', issuer: 'GISSUER' } as const
  const pair = { base: { type: 'native' }, counter: coded } as const

  /** A ledger in which two trades are of the pair, and others are not. */
  async function trading(): Promise<Ledger> {
    const ledger = await openLedger(memory())
    const side = (name: string, asset: object) =>
      Object.fromEntries(Object.entries(asset).map(([part, value]) => [`${name}_asset_${part}`, value]))
    const [first] = chained
    const [transaction] = first!.transactions!
    const [operation] = transaction!.operations!
    const trade = (counter: object) => ({
      ...{ base_account: 'GA', base_amount: '1', counter_account: 'GB', counter_amount: '2', base_is_seller: true },
      ...{ offer_id: 5n, price: { n: 1, d: 2 }, ...side('base', { type: 'native' }), ...side('counter', counter) },
    })
    const trades = [coded, { ...coded, code: 'EUR' }, coded].map(trade)
    await ledger.append({
      ...first!,
      transactions: [{ ...transaction!, operations: [{ ...operation!, trades: trades as never }] }],
    })
    return ledger
  }

  test.each([
    ['a pair', new Pair(), pair, 2],
    ['an offer', new None(), { offer_id: 999n }, 0],
  ])('select as plain ones do: %s', async (_, values, plain, count) => {
    const ledger = await trading()
    const expected = tokens((await ledger.page(catalogue.trades, plain)).records)
    expect(expected).toHaveLength(count)
    const account = Object.assign(Object.create(Object.getPrototypeOf(values)) as typeof values, { account: 'GA' })
    const given: (readonly Trade[])[] = [
      (await ledger.page(catalogue.trades, values)).records,
      (await ledger.page(catalogue.tradesOfAccount, account)).records,
      await all(ledger.records(catalogue.trades, values)),
      (await all(ledger.pages(catalogue.trades, values))).flatMap(({ records }) => records),
      ledger.listing(catalogue.trades, values).picked.lists.length > 0 ? (await ledger.page(catalogue.trades, plain)).records : [],
    ]
    for (const records of given) expect(tokens(records)).toEqual(expected)
    const stream = ledger.stream(catalogue.trades, values)
    const streamed: Trade[] = []
    while (streamed.length < count) streamed.push((await stream.next()).value as Trade)
    // Nothing else comes.
    setTimeout(() => void ledger.close(), 20)
    expect(tokens([...streamed, ...(await all(stream))])).toEqual(expected)
  })

  test('count for a walk, as for a page', async () => {
    const ledger = await holding()
    const newest = tokens(await all(ledger.records(catalogue.ledgers, {}))).toReversed()
    expect(tokens((await ledger.page(catalogue.ledgers, {}, new Backwards())).records)).toEqual(newest.slice(0, 1))
    expect(tokens(await all(ledger.records(catalogue.ledgers, {}, new Backwards())))).toEqual(newest)
    const lines = (await all(ledger.ndjson(catalogue.ledgers, {}, new Backwards()))).map(({ bytes }) =>
      JSON.parse(Buffer.from(bytes).toString()),
    )
    expect(tokens(lines)).toEqual(newest)
  })
})
