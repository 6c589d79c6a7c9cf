/** Rolling history back while somebody walks through a listing: what was given and is gone ends with an error, and whatever else goes on. */
import { afterEach, describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, type Ledger, type LedgerClose, openLedger, type Store } from '../../src/index.ts'
import { insteadOf } from './instead.ts'

const FIRST = 70
const closes = [
  ...generate({ ledgers: 20, seed: 8, accounts: 16, transactionsPerLedger: 3, firstLedger: FIRST, envelopeBytes: 30 }),
] as readonly LedgerClose[]

/** The newest transaction of two operations or more: its ledger and its hash. */
const twoOperations = closes
  .flatMap(({ ledger, transactions = [] }) =>
    transactions
      .filter(({ successful, operations = [] }) => successful !== false && operations.length > 1)
      .map(({ hash }) => [ledger.sequence, hash] as const),
  )
  .at(-1)!

const open: Ledger[] = []
afterEach(async () => {
  for (const ledger of open.splice(0)) await ledger.close()
})

const others = (at: number): LedgerClose[] => insteadOf(closes, at)

describe.each([
  ['at once', () => memory()],
  ['late', () => slowStore(memory())],
] as const)('over a store that answers %s', (_, store) => {
  async function holding(count: number): Promise<Ledger> {
    const ledger = await openLedger(store(), { cacheBytes: 2 ** 20, fileEvery: 40 })
    open.push(ledger)
    await ledger.ingest(closes.slice(0, count))
    return ledger
  }

  describe.each(['records', 'pages', 'ndjson'] as const)('a walk by %s', (by) => {
    test('ends with an error if what it gave is gone, also if other ledgers took its place, and goes on otherwise', async () => {
      const ledger = await holding(20)
      const walk = ledger[by](catalogue.ledgers, {}, { limit: 1 })
      for (let at = 0; at < 4; at++) await walk.next()
      await ledger.rollback(FIRST + 3)
      await ledger.ingest(others(4))
      expect((await walk.next()).done).toBe(false)
      await ledger.rollback(FIRST + 3)
      await ledger.ingest(closes.slice(4))
      await expect(walk.next()).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: FIRST + 3, reached: FIRST + 4 } })
      expect(await walk.next()).toEqual({ done: true, value: undefined })
    })

    test('that has given everything ends with an error all the same, if some of that is gone, and without one if only more came', async () => {
      for (const limit of [200, 20, 10, 7]) {
        const ledger = await holding(20)
        const [first, second] = [0, 1].map(() => ledger[by](catalogue.ledgers, {}, { limit }))
        const all = by === 'records' ? 20 : Math.ceil(20 / limit)
        for (let at = 0; at < all; at++) await first!.next()
        await ledger.rollback(FIRST + 11)
        await expect(first!.next()).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: FIRST + 11, reached: FIRST + 19 } })
        const left = by === 'records' ? 12 : Math.ceil(12 / limit)
        for (let at = 0; at < left; at++) await second!.next()
        await ledger.rollback(FIRST + 11)
        await ledger.prune(FIRST + 5)
        expect(await second!.next()).toEqual({ done: true, value: undefined })
      }
    })

    test('that goes back ends with an error if the newest ledger that it gave is gone', async () => {
      const ledger = await holding(20)
      const walk = ledger[by](catalogue.ledgers, {}, { limit: 2, order: 'desc' })
      for (let at = 0; at < (by === 'records' ? 6 : 3); at++) await walk.next()
      await ledger.rollback(FIRST + 18)
      await expect(walk.next()).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: FIRST + 18, reached: FIRST + 19 } })
    })

    test('is told of it even if nothing is left of what its path names', async () => {
      const ledger = await holding(20)
      const [sequence, hash] = twoOperations
      const walks = (['asc', 'desc'] as const).flatMap((order) => [
        ledger[by](catalogue.operationsOfTransaction, { hash }, { limit: 1, order }),
        ledger[by](catalogue.operationsOfLedger, { ledger: sequence }, { limit: 1, order }),
      ])
      for (const walk of walks) expect((await walk.next()).done).toBe(false)
      await ledger.rollback(sequence - 1)
      for (const walk of walks)
        await expect(walk.next()).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: sequence - 1, reached: sequence } })
    })

    test('that has given nothing begins with what there is', async () => {
      const ledger = await holding(20)
      const walk = ledger[by](catalogue.ledgers, {}, { limit: 5 })
      await ledger.rollback(FIRST)
      expect((await walk.next()).done).toBe(false)
      expect((await walk.next()).done).toBe(true)
    })
  })

  test.each(['records', 'lines', 'closes'] as const)('%s that meet a rollback of several steps are told where it ends', async (by) => {
    const real = store()
    let written: Promise<unknown> = Promise.resolve()
    const held: Store = Object.assign(Object.create(real), {
      write: (...given: Parameters<Store['write']>) => written.then(() => real.write(...given)),
    })
    const ledger = await openLedger(held, { cacheBytes: 2 ** 20, fileEvery: 40 })
    open.push(ledger)
    await ledger.ingest(closes)
    const walk = by === 'records' ? ledger.records(catalogue.ledgers, {}, { limit: 1 }) : ledger[by]()
    for (let at = 0; at < 19; at++) await walk.next()
    let go = (): void => {}
    written = new Promise<void>((resolve) => {
      go = resolve
    })
    const rollback = ledger.rollback(FIRST + 3)
    await expect.poll(() => ledger.head!.last).toBeLessThan(FIRST + 18)
    // Reads go by the head of the first step already.
    expect(ledger.head!.last).toBeGreaterThan(FIRST + 3)
    await expect(walk.next()).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: FIRST + 3 } })
    go()
    expect(await rollback).toBe(16)
  })

  test('a walk that meets a rollback on its way is told of it, and does not end as if the list did', async () => {
    const ledger = await holding(20)
    for (let ahead = 0; ahead < 12; ahead++) {
      const walk = ledger.pages(catalogue.operations, {}, { limit: 3 })
      for (let at = 0; at < 5; at++) expect((await walk.next()).done).toBe(false)
      const rolledBack = ledger.rollback(FIRST)
      // The page that is read meanwhile may lie on either side of the rollback.
      for (let at = 0; at < ahead; at++) await null
      const pulled = await walk.next().catch((error: unknown) => error)
      expect(pulled).toEqual(expect.toSatisfy((it: { done?: boolean; code?: string }) => it.done === false || it.code === 'ROLLED_BACK'))
      expect(await rolledBack).toBe(19)
      if (!(pulled instanceof Error)) await expect(walk.next()).rejects.toMatchObject({ code: 'ROLLED_BACK' })
      await ledger.ingest(closes.slice(1))
    }
  })
})
