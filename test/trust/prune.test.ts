/** Pruning: what was pruned is gone, by name; everything else stays as it was, whatever follows. */
import { describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { queryNames, valuesWorthAsking } from '../../adapters/testing/arbitrary-requests.ts'
import { naiveLedger } from '../../adapters/testing/naive-ledger.ts'
import { catalogue, type Ledger, type LedgerClose, openLedger, type Store } from '../../src/index.ts'
import { KIND } from '../../src/layout/keys.ts'
import { ledgerOf } from '../support/benches.ts'
import { dump } from '../support/dump.ts'
import { codeOf, errorOf } from '../support/errors.ts'
import { written } from '../support/model.ts'
import { askedOnce } from '../support/twin.ts'

const FIRST = 100
const closes = [...generate({ ledgers: 40, seed: 3, accounts: 20, transactionsPerLedger: 12, firstLedger: FIRST })]
const model = naiveLedger(closes)
const values = valuesWorthAsking(model)

/** Every record of a listing, or the code of its rejection. */
async function listed(ledger: Ledger, query: any, path: any, order: 'asc' | 'desc'): Promise<string[] | string> {
  const found: string[] = []
  const code = await codeOf(async () => {
    for await (const record of ledger.records(query, path, { order })) found.push(written(record as never))
  })
  return code === 'no error' ? found : code
}

const ledgerOfToken = (record: string): number => Number(BigInt(/"paging_token","(\d+)/.exec(record)![1]!) >> 32n)

/** Ledgers of which nothing is pruned, by their newest ledger. */
const wholes = new Map<number, Promise<Ledger>>()
function wholeTo(last: number): Promise<Ledger> {
  const whole = wholes.get(last) ?? ledgerOf(closes.slice(0, last - FIRST + 1))
  wholes.set(last, whole)
  return whole
}

/** The pruned ledger answers like the whole one, without what lies below `oldest`. */
async function agree(pruned: Ledger, whole: Ledger, oldest: number): Promise<void> {
  for (const name of queryNames) {
    const query = catalogue[name] as any
    const param = /\{(\w+)\}/.exec(query.path)?.[1]
    for (const value of param ? values[param]!.filter((_, at) => at % 5 === 0) : [undefined]) {
      const path = param ? { [param]: value } : {}
      if (query.kind === 'one') {
        const a = await codeOf(() => pruned.readOne(query, path))
        const [b, record] = await askedOnce(whole, `${name} ${value}`, async () => {
          const code = await codeOf(() => whole.readOne(query, path))
          return [code, code === 'no error' ? written((await whole.get(query, path)) as never) : '']
        })
        const gone = record.includes('"paging_token"') && param !== 'offer' && ledgerOfToken(record) < oldest
        if (!gone) expect([name, value, a]).toEqual([name, value, b])
        else expect([name, value, a]).toEqual([name, value, param === 'ledger' ? 'GONE_BEFORE_HISTORY' : 'NOT_FOUND'])
        continue
      }
      for (const order of ['asc', 'desc'] as const) {
        const a = await listed(pruned, query, path, order)
        const b = await askedOnce(whole, `${name} ${value} ${order}`, () => listed(whole, query, path, order))
        if (typeof a === 'string' && typeof b !== 'string') {
          expect(['ledger', 'hash', 'operation']).toContain(param)
          expect(b.every((record) => ledgerOfToken(record) < oldest)).toBe(true)
        } else
          expect(a).toEqual(
            typeof b === 'string' || param === 'offer' || name === 'offersOfAccount' ? b : b.filter((one) => ledgerOfToken(one) >= oldest),
          )
      }
    }
  }
}

const open = (disk: MemoryDisk, fileEvery: number) => openLedger(memory(disk), { fileEvery })

describe.each([50, 400, 1e6])('with lists filed every %i records', (fileEvery) => {
  test('what is left is listed as before, and what was pruned is 410', async () => {
    const whole = await wholeTo(FIRST + 39)
    const disk = memoryDisk()
    const ledger = await open(disk, fileEvery)
    await ledger.ingest(closes)
    for (const before of [FIRST, FIRST + 1, FIRST + 17, FIRST + 39]) {
      const oldest = ledger.head!.oldest
      expect(await ledger.prune(before)).toBe(before - oldest)
      expect(ledger.head).toMatchObject({ oldest: before, last: FIRST + 39 })
      await agree(ledger, whole, before)
      await agree(await open(disk, fileEvery), whole, before)
      expect(await ledger.digest()).toBe(await whole.digest({ from: before }))
    }
  })

  test('a store pruned in one step, in several, or by a process that was killed, holds the same bytes', async () => {
    const [one, several] = [memoryDisk(), memoryDisk()]
    for (const disk of [one, several]) await (await open(disk, fileEvery)).ingest(closes)
    await (await open(one, fileEvery)).prune(FIRST + 30)
    for (const before of [3, 4, 11, 30]) await (await open(several, fileEvery)).prune(FIRST + before)
    expect(await dump(memory(several))).toEqual(await dump(memory(one)))
  })

  test('a rollback stops at the oldest ledger, and what is appended again is as it was', async () => {
    const disk = memoryDisk()
    const ledger = await open(disk, fileEvery)
    await ledger.ingest(closes)
    await ledger.prune(FIRST + 20)
    const whole = await wholeTo(FIRST + 39)
    expect(await errorOf(() => ledger.rollback(FIRST + 19))).toMatchObject({ code: 'GONE_BEFORE_HISTORY' })
    for (const last of [FIRST + 33, FIRST + 20]) {
      await ledger.rollback(last)
      const shorter = await wholeTo(last)
      await agree(ledger, shorter, FIRST + 20)
      await agree(await open(disk, fileEvery), shorter, FIRST + 20)
    }
    await ledger.ingest(closes.slice(21))
    await agree(ledger, whole, FIRST + 20)
    expect(await ledger.digest()).toBe(await whole.digest({ from: FIRST + 20 }))
  })
})

test('what is cached of the ledgers that stay is served as before', async () => {
  const ledger = await openLedger(memory(), { fileEvery: 1 })
  await ledger.ingest(closes)
  const cost = async (): Promise<number> => {
    const page = await ledger.explain(catalogue.operations, {}, { order: 'desc', limit: 100 })
    const { account } = closes.at(-1)!.transactions![0]!
    const list = await ledger.explain(catalogue.operationsOfAccount, { account }, { order: 'desc', limit: 5 })
    return page.cost.gets + list.cost.gets
  }
  await cost()
  for (const before of [3, 4, 11]) {
    await ledger.prune(FIRST + before)
    expect(await cost()).toBe(0)
  }
  // A rollback may leave anything else behind.
  await ledger.rollback(FIRST + 38)
  expect(await cost()).toBeGreaterThan(0)
})

test('what a prune files is at hand: it reads as much, however many records wait', async () => {
  const blocksRead = async (ledgers: number): Promise<number> => {
    const inner = memory()
    let blocks = 0
    const store: Store = Object.assign(Object.create(inner) as Store, {
      get(key: Uint8Array) {
        if (key[0] === KIND.block) blocks++
        return inner.get(key)
      },
    })
    const ledger = await openLedger(store, { fileEvery: 1e6, cacheBytes: 0 })
    await ledger.ingest(closes.slice(0, ledgers))
    blocks = 0
    await ledger.prune(FIRST + 1)
    return blocks
  }
  expect(await blocksRead(40)).toBe(await blocksRead(10))
})

test('space is freed', async () => {
  const store = memory()
  const ledger = await openLedger(store)
  await ledger.ingest(closes)
  const size = async () => (await dump(store)).join('').length
  const before = await size()
  await ledger.prune(FIRST + 36)
  expect(await size()).toBeLessThan(before / 4)
})

test.each([FIRST + 40, -1, 1.5, '7'])('%s is not a ledger to prune to', async (before) => {
  expect(await codeOf(async () => (await ledgerOf(closes.slice(0, 40) as LedgerClose[])).prune(before as number))).toBe(
    'BAD_REQUEST before',
  )
})
