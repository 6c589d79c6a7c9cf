/** Typed records as readers get them: frozen, and shared once they are read over and over; and the walks that hand them out. */
import { expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, type List, openLedger } from '../../src/index.ts'
import { codeOf } from '../support/errors.ts'

const closes = [...generate({ ledgers: 30, seed: 12, accounts: 20, transactionsPerLedger: 6 })]
const open = async (): Promise<Ledger> => {
  const ledger = await openLedger(memory())
  await ledger.ingest(closes)
  return ledger
}
const deeplyFrozen = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(deeplyFrozen))
const logs = [catalogue.ledgers, catalogue.transactions, catalogue.operations, catalogue.effects, catalogue.trades] as List[]

test('records are deeply frozen and equal, however often they are read', async () => {
  const ledger = await open()
  for (const query of logs) {
    const first = (await ledger.page(query, {}, { limit: 200 })).records
    expect(first.length).toBeGreaterThan(5)
    expect(first.every(deeplyFrozen)).toBe(true)
    for (let reading = 0; reading < 12; reading++) {
      const { records } = await ledger.page(query, {}, { limit: 200 })
      expect(records).toEqual(first)
      expect(records.every(deeplyFrozen)).toBe(true)
    }
  }
})

test('records that are read over and over are decoded once, and others are not kept', async () => {
  const ledger = await open()
  const read = async () => (await ledger.page(catalogue.effects, {}, { limit: 32 })).records
  const rare = [await read(), await read()]
  expect(rare[0]!.some((record, at) => record === rare[1]![at])).toBe(false)
  for (let reading = 0; reading < 12; reading++) await read()
  const often = [await read(), await read()]
  expect(often[0]!.every((record, at) => record === often[1]![at])).toBe(true)
})

test('both faces of a trade are kept apart', async () => {
  const ledger = await open()
  const [trade] = (await ledger.page(catalogue.trades, {}, { limit: 1 })).records as any[]
  const asset = (side: string) =>
    trade[`${side}_asset_type`] === 'native'
      ? { type: 'native' }
      : { type: trade[`${side}_asset_type`], code: trade[`${side}_asset_code`], issuer: trade[`${side}_asset_issuer`] }
  const pair = async (base: string, counter: string) =>
    (await ledger.page(catalogue.trades, { base: asset(base), counter: asset(counter) } as never, { limit: 200 })).records as any[]
  for (let reading = 0; reading < 12; reading++) {
    const [one, other] = [await pair('base', 'counter'), await pair('counter', 'base')]
    expect(one.length).toBeGreaterThan(0)
    expect(other.map((record) => record.counter_amount)).toEqual(one.map((record) => record.base_amount))
  }
})

test('overlapping pulls of a walk are answered in order, and nothing comes after the end', async () => {
  const ledger = await open()
  const wanted: number[] = []
  for await (const { records } of ledger.pages(catalogue.ledgers, {}, { limit: 7 })) wanted.push(...records.map(({ sequence }) => sequence))
  expect(wanted).toHaveLength(30)
  const walk = ledger.records(catalogue.ledgers, {}, { limit: 7 })
  const pulled = await Promise.all(Array.from({ length: 33 }, () => walk.next()))
  expect(pulled.map(({ value }) => value?.sequence)).toEqual([...wanted, undefined, undefined, undefined])
  expect(pulled.map(({ done }) => done)).toEqual([...wanted.map(() => false), true, true, true])
  expect(await walk.next()).toEqual({ done: true, value: undefined })
})

test('a walk that is left ends, and one that is refused says why and ends', async () => {
  const ledger = await open()
  const seen: number[] = []
  const walk = ledger.records(catalogue.ledgers, {}, { limit: 3 })
  for await (const { sequence } of walk) if (seen.push(sequence) === 4) break
  expect(seen).toHaveLength(4)
  expect(await walk.next()).toEqual({ done: true, value: undefined })
  const left = ledger.records(catalogue.ledgers, {}, { limit: 3 })
  const [pulled] = await Promise.all([left.next(), left.return()])
  expect(pulled.value === undefined || pulled.value.sequence === seen[0]).toBe(true)
  expect(await left.next()).toEqual({ done: true, value: undefined })
  await using disposed = ledger.records(catalogue.ledgers, {})
  expect((await disposed.next()).done).toBe(false)
  const refused = ledger.records(catalogue.operationsOfAccount, { account: 'nobody' })
  expect(await codeOf(() => refused.next())).toContain('NOT_FOUND')
  expect(await refused.next()).toEqual({ done: true, value: undefined })
})
