/** Walks whose signal aborts: never an end that could be taken for that of the listing. */
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, type Ledger, openLedger, type WalkOptions } from '../../src/index.ts'
import { codeOf } from '../support/errors.ts'
import { holds } from '../support/property.ts'
import { collect, turns } from '../support/turns.ts'

const disk = memoryDisk()
let ledger: Ledger
let tokens: readonly string[]

beforeAll(async () => {
  ledger = await openLedger(memory(disk))
  await ledger.ingest(generate({ ledgers: 20, seed: 7, transactionsPerLedger: 2 }))
  tokens = (await collect(ledger.records(catalogue.effects, {}))).map(({ paging_token }) => paging_token)
  return () => ledger.close()
})

/** What each walk gives, as the tokens of its records. */
const ways: Record<string, (of: Ledger, options: WalkOptions) => AsyncIterator<readonly string[], void>> = {
  records: async function* (of, options) {
    for await (const { paging_token } of of.records(catalogue.effects, {}, options)) yield [paging_token]
  },
  pages: async function* (of, options) {
    for await (const { records } of of.pages(catalogue.effects, {}, options)) yield records.map(({ paging_token }) => paging_token)
  },
  ndjson: async function* (of, options) {
    for await (const { bytes } of of.ndjson(catalogue.effects, {}, options))
      yield Array.from(new TextDecoder().decode(bytes).matchAll(/"paging_token":"([^"]+)"/g), ([, token]) => token!)
  },
}

const way = fc.constantFrom(...Object.keys(ways))

test('once it aborts, a walk has given a beginning of its listing, and is rejected with the reason', () =>
  holds(
    fc.record({ way, pulls: fc.nat(70), limit: fc.integer({ min: 1, max: 60 }), order: fc.constantFrom('asc', 'desc') }),
    60,
    async (plan) => {
      const control = new AbortController()
      const reason = new Error('enough')
      const { limit, order } = plan as WalkOptions
      const walk = ways[plan.way]!(ledger, { limit, order, signal: control.signal })
      const got: string[] = []
      let isOver = false
      for (let pull = 0; pull < plan.pulls && !isOver; pull++) {
        const { done, value } = await walk.next()
        isOver = done === true
        if (value) got.push(...value)
      }
      control.abort(reason)
      const whole = order === 'desc' ? tokens.toReversed() : tokens
      expect(got).toEqual(whole.slice(0, got.length))
      if (isOver) expect([got.length, await walk.next()]).toEqual([whole.length, { done: true, value: undefined }])
      else {
        await expect(walk.next()).rejects.toBe(reason)
        expect(await walk.next()).toEqual({ done: true, value: undefined })
      }
    },
  ))

test.each(Object.entries(ways))('%s read nothing if the signal had aborted before, and nothing more once it has', async (_, walked) => {
  let reads = 0
  const store = memory(disk)
  const get = (key: Uint8Array) => {
    reads++
    return store.get(key)
  }
  const getMany = (keys: readonly Uint8Array[]) => {
    reads++
    return store.getMany(keys)
  }
  const own = await openLedger({ ...store, get, getMany }, { cacheBytes: 0 })
  const before = reads
  await expect(walked(own, { signal: AbortSignal.abort('early') }).next()).rejects.toBe('early')
  expect(reads).toBe(before)
  const control = new AbortController()
  const walk = walked(own, { limit: 5, signal: control.signal })
  await walk.next()
  const after = reads
  control.abort('late')
  await expect(walk.next()).rejects.toBe('late')
  expect([after > before, reads]).toEqual([true, after])
  await own.close()
})

test.each(Object.entries(ways))('%s are rejected if the signal aborts while a page is read', async (_, walked) => {
  const own = await openLedger(
    slowStore(memory(disk), () => turns(3)),
    { cacheBytes: 0 },
  )
  const control = new AbortController()
  const pulled = walked(own, { signal: control.signal }).next()
  await turns()
  control.abort('meanwhile')
  await expect(pulled).rejects.toBe('meanwhile')
  await own.close()
})

test('of overlapping pulls, the first is told the reason, and those behind it that it is over', async () => {
  const control = new AbortController()
  const walk = ledger.records(catalogue.effects, {}, { signal: control.signal })
  await walk.next()
  const pulls = [walk.next(), walk.next()]
  control.abort('now')
  pulls.push(walk.next(), walk.next())
  const outcomes = await Promise.allSettled(pulls)
  // What was pulled before it aborted was at hand.
  expect(outcomes.map((one) => (one.status === 'rejected' ? one.reason : one.value.done))).toEqual([false, false, 'now', true])
  expect(await walk.return()).toEqual({ done: true, value: undefined })
})

test('a page takes no signal, and a walk none but a signal', async () => {
  const { signal } = new AbortController()
  expect(await codeOf(() => ledger.page(catalogue.effects, {}, { signal } as object))).toBe('BAD_REQUEST signal')
  expect(await codeOf(() => ledger.explain(catalogue.effects, {}, { signal } as object))).toBe('BAD_REQUEST signal')
  for (const walked of Object.values(ways)) {
    expect(await codeOf(() => walked(ledger, { signal: {} as AbortSignal }).next())).toBe('BAD_REQUEST signal')
    expect((await walked(ledger, { signal: undefined }).next()).done).toBe(false)
  }
})
