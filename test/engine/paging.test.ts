/** Paging: pages join without gaps or overlaps, any token resumes, and a full page stays what it was. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { closeChain } from '../../adapters/testing/arbitraries.ts'
import { requestDraw, requestOf } from '../../adapters/testing/arbitrary-requests.ts'
import { isRefusal, naiveLedger } from '../../adapters/testing/naive-ledger.ts'
import { catalogue, type Ledger, type List, type OpenRecord, type Order, type PageOptions } from '../../src/index.ts'
import { ledgerOf } from '../support/benches.ts'
import { codeOf } from '../support/errors.ts'
import { holds } from '../support/property.ts'
import { collect } from '../support/turns.ts'

const tokensOf = async (ledger: Ledger, query: List<OpenRecord>, values: object, options: PageOptions): Promise<string[]> =>
  (await ledger.page(query, values, options)).records.map(({ paging_token }) => paging_token)

/** All tokens of a listing, page after page by `next`. */
async function walk(ledger: Ledger, query: List<OpenRecord>, values: object, order: Order, limit: number): Promise<string[]> {
  const tokens: string[] = []
  for (let cursor = ''; ; ) {
    const page = await ledger.page(query, values, { cursor, order, limit })
    tokens.push(...page.records.map(({ paging_token }) => paging_token))
    if (page.ended === 'end') {
      expect(await tokensOf(ledger, query, values, { cursor: page.next, order, limit })).toEqual([])
      return tokens
    }
    cursor = page.next
  }
}

/** Runs a property of listings, some of which must have had records. */
async function holdsOf<T>(arbitrary: fc.Arbitrary<T>, numRuns: number, check: (value: T) => Promise<number>): Promise<void> {
  let seen = 0
  await holds(arbitrary, numRuns, async (value) => {
    seen += await check(value)
  })
  expect(seen).toBeGreaterThan(0)
}

/** Lists that exist, drawn with their network. */
const listing = fc.tuple(closeChain, requestDraw, fc.array(requestDraw, { minLength: 3, maxLength: 3 })).map(([closes, ...draws]) => {
  const model = naiveLedger(closes)
  const lists = draws.flat().flatMap((drawn) => {
    const { query, values } = requestOf(model, drawn)
    const row = catalogue[query]
    return row.kind === 'list' && !isRefusal(model.list(query, values)) ? [{ query: row as List<OpenRecord>, values }] : []
  })
  return { closes, lists }
})

describe('every listing', () => {
  test('has cursors that are written as bytes as they are given as text', () =>
    holds(listing, 10, async ({ closes, lists }) => {
      const ledger = await ledgerOf(closes)
      for (const { query, values } of lists)
        for (const options of [{}, { order: 'desc', limit: 3 }, { cursor: '9223372036854775807' }, { cursor: 'now' }] as const) {
          const page = await ledger.read(query, values, options)
          const bytes = Buffer.alloc(50, '?')
          expect(bytes.toString('latin1', 0, page.writeNext(bytes, 0))).toBe(page.next)
          expect(bytes.toString('latin1', 7, page.writePrev(bytes, 7))).toBe(page.prev)
        }
    }))

  test('is the same in pages of 1, 7, 10 and 200, in both orders', () =>
    holdsOf(listing, 25, async ({ closes, lists }) => {
      const ledger = await ledgerOf(closes)
      let seen = 0
      for (const { query, values } of lists) {
        const whole = await walk(ledger, query, values, 'asc', 200)
        seen += whole.length
        expect(new Set(whole).size).toBe(whole.length)
        for (const limit of [1, 7, 10]) expect(await walk(ledger, query, values, 'asc', limit)).toEqual(whole)
        for (const limit of [1, 7, 200]) expect(await walk(ledger, query, values, 'desc', limit)).toEqual(whole.toReversed())
      }
      return seen
    }))

  test('resumes at the token of any record, and prev leads back from next', () =>
    holdsOf(listing, 25, async ({ closes, lists }) => {
      const ledger = await ledgerOf(closes)
      let seen = 0
      for (const { query, values } of lists)
        for (const order of ['asc', 'desc'] as const) {
          const whole = await walk(ledger, query, values, order, 200)
          seen += whole.length
          const back = order === 'asc' ? 'desc' : 'asc'
          for (const [at, cursor] of whole.slice(0, 40).entries()) {
            const page = await ledger.page(query, values, { cursor, order, limit: 7 })
            expect(page.records.map(({ paging_token }) => paging_token)).toEqual(whole.slice(at + 1, at + 8))
            const before = await tokensOf(ledger, query, values, { cursor: page.prev, order: back, limit: 7 })
            const behind = page.records.length > 0 ? at + 1 : at
            expect(before.toReversed()).toEqual(whole.slice(Math.max(0, behind - 7), behind))
          }
        }
      return seen
    }))
})

test('a final ascending page stays what it was while newer ledgers are appended', () =>
  holdsOf(fc.tuple(closeChain, fc.array(requestDraw, { minLength: 20, maxLength: 30 })), 25, async ([closes, draws]) => {
    const ledger = await ledgerOf(closes.slice(0, 1))
    const model = naiveLedger(closes.slice(0, 1))
    const seen: (() => Promise<void>)[] = []
    for (const close of closes.slice(1)) {
      for (const drawn of draws) {
        const { query, values, options } = requestOf(model, drawn)
        const row = catalogue[query] as List<OpenRecord>
        if (row.kind !== 'list' || isRefusal(model.page(query, values, options))) continue
        // Short ones are more often full.
        for (const limit of [options.limit, 1, 3]) {
          const asked = { ...options, order: 'asc', limit } as const
          const page = await ledger.read(row, values, asked)
          if (options.cursor === 'now' || !page.final) continue
          const records = page.records.map(({ block, at }) => block.record(at))
          seen.push(async () => expect((await ledger.page(row, values, asked)).records).toEqual(records))
        }
      }
      await ledger.append(close)
      model.append(close)
    }
    for (const look of seen) await look()
    return seen.length
  }))

test('`records` and `pages` walk a listing to its end', async () => {
  const [closes] = fc.sample(
    closeChain.filter((some) => some.length > 3),
    { numRuns: 1, seed: 7 },
  )
  const ledger = await ledgerOf(closes!)
  const whole = await walk(ledger, catalogue.transactions, {}, 'asc', 200)
  const unrolled = await collect(ledger.records(catalogue.transactions, {}, { limit: 3 }))
  expect(unrolled.map(({ paging_token }) => paging_token)).toEqual(whole)
  const sizes = (await collect(ledger.pages(catalogue.transactions, {}, { limit: 3 }))).map(({ records }) => records.length)
  expect(sizes.slice(0, -1).every((size) => size === 3)).toBe(true)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(whole.length)
})

describe('parameters are checked in order, before anything is looked up:', async () => {
  const ledger = await ledgerOf([])
  const bad = { base: { type: 'gold' } as never }
  const options = { cursor: 'x', limit: 0, order: 'up' as never }
  test.each([
    ['cursor', options],
    ['limit', { ...options, cursor: '' }],
    ['order', { ...options, cursor: '1', limit: 1 }],
    ['base_asset_type', { cursor: 'now', limit: 200, order: 'desc' as const }],
  ])('%s', async (field, given) => {
    expect(await codeOf(() => ledger.page(catalogue.tradesOfAccount, { account: 'nobody', ...bad }, given))).toBe(`BAD_REQUEST ${field}`)
  })
})
