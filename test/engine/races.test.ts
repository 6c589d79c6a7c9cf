/** Reads that wait for their values while ledgers are appended and rolled back, over stores that answer late. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { closeOf, closeShape, hashOf } from '../../adapters/testing/arbitraries.ts'
import { requestDraw, requestOf } from '../../adapters/testing/arbitrary-requests.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { naiveLedger } from '../../adapters/testing/naive-ledger.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { hex } from '../../src/bytes.ts'
import { catalogue, FolioError, type Ledger, type LedgerClose, openLedger, type Store } from '../../src/index.ts'
import { postingKey } from '../../src/layout/keys.ts'
import { operationsByAccount } from '../../src/resources/operation.ts'
import { codeOf } from '../support/errors.ts'
import { agree } from '../support/model.ts'
import { holds } from '../support/property.ts'
import { turns } from '../support/turns.ts'

const story = fc.record({
  shapes: fc.array(closeShape, { minLength: 2, maxLength: 6, size: 'max' }),
  draws: fc.array(requestDraw, { minLength: 30, maxLength: 60 }),
  delays: fc.array(fc.nat(4), { minLength: 1, maxLength: 12 }),
  cacheBytes: fc.constantFrom(0, 3_000, 1_000_000),
  fileEvery: fc.constantFrom(1, 20, 1000),
  back: fc.constantFrom(0, 0, 1, 3),
})

test('no read that waits while history changes sees damage, and later reads are right', () =>
  holds(story, 40, async ({ shapes, draws, delays, cacheBytes, fileEvery, back }) => {
    const disk = memoryDisk()
    let answers = 0
    const store = slowStore(memory(disk), () => turns(delays[answers++ % delays.length]!))
    const ledger = await openLedger(store, { cacheBytes, fileEvery })
    const model = naiveLedger()
    const waiting: Promise<string>[] = []
    const ask = (from: number): void => {
      for (const drawn of draws.slice(from, from + 8)) {
        const { query, values, options } = requestOf(model, drawn)
        const row = catalogue[query]
        waiting.push(
          codeOf(() =>
            row.kind === 'one' ? ledger.get(row as never, values as never) : ledger.page(row as never, values as never, options),
          ),
        )
      }
    }
    let previous: string | undefined
    for (const [at, one] of shapes.entries()) {
      const close = closeOf(one, 100 + at, previous)
      previous = close.ledger.hash
      const appended = ledger.append(close)
      ask(at * 8)
      await appended
      model.append(close)
      ask(at * 8 + 4)
    }
    if (back > 0) {
      const to = Math.max(99, ledger.head!.last - back)
      const taken = ledger.rollback(to)
      ask(0)
      await taken
      ask(8)
      model.rollback(to)
      for (const one of shapes.slice(0, back)) {
        const close = closeOf(one, (ledger.head?.last ?? 99) + 1, ledger.head?.hash, 1)
        await ledger.append(close)
        model.append(close)
      }
    }
    const codes = await Promise.all(waiting)
    expect(codes.filter((code) => !/^(no error|BAD_REQUEST|NOT_FOUND|GONE_BEFORE_HISTORY)/.test(code))).toEqual([])
    for (const drawn of draws) await agree(ledger, model, requestOf(model, drawn))
    const again = await openLedger(memory(disk))
    for (const drawn of draws) await agree(again, model, requestOf(model, drawn))
  }))

/** A store that runs `between` after the first `get` of a key that begins with `prefix`. */
function interrupted(store: Store, prefix: number, between: () => Promise<unknown>): Store {
  let done = false
  const late = slowStore(store)
  return {
    ...late,
    async get(key) {
      const value = await store.get(key)
      if (key[0] !== prefix || done) return value
      done = true
      await between()
      return value
    },
  }
}

describe('if between reading the seller and the state of an offer', () => {
  const first = richClose(10, hashOf(9))
  const offer = first.offers!.changed![0]!
  const nextWith = (offers: NonNullable<LedgerClose['offers']>): LedgerClose => ({ ...richClose(11, first.ledger.hash), offers })

  async function offerWhile(change: (ledger: Ledger) => Promise<unknown>): Promise<unknown> {
    const disk = memoryDisk()
    await (await openLedger(memory(disk))).append(first)
    let ledger!: Ledger
    ledger = await openLedger(interrupted(memory(disk), 0x41, () => change(ledger)))
    return ledger.get(catalogue.offer, { offer: 7n })
  }

  test('it is removed, nothing is found', async () => {
    expect(await offerWhile((ledger) => ledger.append(nextWith({ removed: [7n] })))).toBeUndefined()
  })

  test('it goes to another seller, it is found there', async () => {
    const found = await offerWhile((ledger) => ledger.append(nextWith({ changed: [{ ...offer, seller: 'GZED' }] })))
    expect(found).toMatchObject({ id: 7n, seller: 'GZED' })
  })

  test('its ledger is rolled back, nothing is found', async () => {
    expect(await offerWhile((ledger) => ledger.rollback(9))).toBeUndefined()
  })
})

test('a read that waited during a commit leaves no outdated list in the cache, for readers or for the writer', async () => {
  const closes = [richClose(10, hashOf(9))]
  while (closes.length < 30) closes.push(richClose(10 + closes.length, closes.at(-1)!.ledger.hash))
  const disk = memoryDisk()
  const list = hex(postingKey(operationsByAccount.tag, ['GBOB']))
  let hold: Promise<void> | undefined
  const store: Store = {
    ...slowStore(memory(disk)),
    async get(key) {
      const value = await memory(disk).get(key)
      if (hex(key) === list) await hold
      return value
    },
  }
  await (await openLedger(memory(disk), { fileEvery: 1 })).ingest(closes.slice(0, 28))
  const ledger = await openLedger(store, { fileEvery: 1, cacheBytes: 30_000 })
  let release!: () => void
  hold = new Promise((resolve) => {
    release = resolve
  })
  const waiting = ledger.page(catalogue.operationsOfAccount, { account: 'GBOB' }, { limit: 1 })
  await turns(3)
  await ledger.append(closes[28]!)
  // Other reads push out what the commit put into the cache.
  for (const query of [catalogue.effects, catalogue.transactions, catalogue.trades]) await ledger.page(query as never, {}, { limit: 200 })
  release()
  await waiting
  hold = undefined
  await ledger.append(closes[29]!)
  const model = naiveLedger(closes)
  const request = { query: 'operationsOfAccount', values: { account: 'GBOB' }, options: { limit: 200 } } as const
  await agree(ledger, model, request)
  await agree(await openLedger(memory(disk)), model, request)
})

test('if reading lists fails during a filing, the ledger is rejected, and can be appended later with nothing lost', async () => {
  const disk = memoryDisk()
  const store = memory(disk)
  let failing = 0
  const flaky: Store = {
    ...slowStore(store),
    async getMany(keys) {
      if (failing > 0 && --failing === 0) throw new FolioError('STORE_FAILED', { reason: 'no answer' })
      return store.getMany(keys)
    },
  }
  const [first, second] = [richClose(10, hashOf(9)), richClose(11, hashOf(10, 99))]
  const ledger = await openLedger(flaky, { fileEvery: 1, cacheBytes: 0 })
  await ledger.append(first)
  for (const nth of [1, 2]) {
    failing = nth
    expect(await codeOf(() => ledger.append(second))).toBe('STORE_FAILED')
    expect(ledger.head?.last).toBe(10)
  }
  expect(await ledger.append(second)).toMatchObject({ appended: true })
  for (const opened of [ledger, await openLedger(memory(disk))]) {
    const { records } = await opened.page(catalogue.operationsOfAccount, { account: 'GALICE' })
    expect(records.map(({ paging_token }) => Number(BigInt(paging_token) >> 32n))).toEqual([10, 10, 10, 11, 11, 11])
  }
})

test('offers are answered between the steps of a prune, however many there are', async () => {
  const closes = Array.from({ length: 8 }, (_, n) => richClose(n + 1, n === 0 ? '' : hashOf(n, 99)))
  const store = memory()
  /** Writes that have begun, and wait to be let through. */
  const held: (() => void)[] = []
  let holding = false
  const slow: Store = {
    ...store,
    async write(batch, options) {
      if (holding) await new Promise<void>((resolve) => void held.push(resolve))
      await store.write(batch, options)
    },
  }
  const ledger = await openLedger(slow, { fileEvery: 32_768 })
  await ledger.ingest(closes)
  const { seller: account } = closes[0]!.offers!.changed![0]!
  const before = await ledger.page(catalogue.offersOfAccount, { account })
  holding = true
  // Nothing is filed yet, so it takes two steps at least: what is to be pruned is filed first.
  let isOver = false
  const pruned = ledger.prune(6).finally(() => {
    isOver = true
  })
  await turns(3)
  const asked = ledger.page(catalogue.offersOfAccount, { account })
  held.shift()!()
  expect([(await asked).records, before.records.length > 0, isOver]).toEqual([before.records, true, false])
  while (!isOver) {
    held.shift()?.()
    await turns(1)
  }
  expect(await pruned).toBe(5)
})
