/** Lines of JSON: the stored texts of any list, in chunks that join, whatever became of the blocks in memory. */
import { expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { createCore } from '../../adapters/http/index.ts'
import { catalogue, type LedgerClose, type List, type NdjsonChunk, type PageOptions } from '../../src/index.ts'
import { ledgerOf } from '../support/benches.ts'
import { assetOf } from '../support/model.ts'

const ledger = await ledgerOf([...generate({ ledgers: 60, seed: 5 })] as unknown as LedgerClose[])

const last = async (query: List): Promise<any> => (await ledger.page(query, {}, { order: 'desc', limit: 1 })).records[0]
const trade = await last(catalogue.trades)
const account = (await last(catalogue.effects)).account
const [base, counter] = [assetOf(trade, 'base'), assetOf(trade, 'counter')]

const rows: [name: string, query: List, values: object][] = [
  ['transactions', catalogue.transactions, {}],
  ['operations', catalogue.operations, {}],
  ['effects', catalogue.effects, {}],
  ['effects of an account', catalogue.effectsOfAccount, { account }],
  ['trades of a pair', catalogue.trades, { base, counter }],
  ['trades of the reversed pair', catalogue.trades, { base: counter, counter: base }],
]

async function linesOf(query: List, values: object, options: PageOptions): Promise<NdjsonChunk[]> {
  const all: NdjsonChunk[] = []
  for await (const lines of ledger.ndjson(query, values, options)) all.push(lines)
  return all
}

/** The same lines, record by record. */
async function textOf(query: List, values: object, order: 'asc' | 'desc'): Promise<string> {
  let text = ''
  for (let cursor = '', ended = ''; ended !== 'end'; ) {
    const page = await ledger.read(query, values, { order, limit: 200, cursor })
    for (const { block, at } of page.records) text += `${block.json(at)}\n`
    ;({ next: cursor, ended } = page)
  }
  return text
}

test.for(rows)('lines of %s join to their stored texts', async ([, query, values]) => {
  const core = createCore(ledger, { baseUrl: 'http://ledger.example' })
  for (const finished of [false, true]) {
    // After enough requests for all of them, the blocks in memory are finished with links.
    for (let turn = 0; finished && turn < 8; turn++)
      for (const path of ['transactions', 'operations', 'effects', 'trades'])
        expect(await core({ method: 'GET', target: `/${path}?limit=200&order=desc`, header: () => undefined })).toMatchObject({
          status: 200,
        })
    const seen = (await ledger.read(query, values, { order: 'desc', limit: 1 })).records[0]!
    if (finished) expect(seen.block.finisher).toBeGreaterThan(0)
    for (const order of ['asc', 'desc'] as const) {
      const wanted = await textOf(query, values, order)
      expect(wanted.length).toBeGreaterThan(0)
      for (const options of [{ order }, { order, limit: 7 }]) {
        const batches = await linesOf(query, values, options)
        expect(batches.map(({ bytes }) => Buffer.from(bytes).toString()).join('')).toBe(wanted)
        for (const { bytes, count, next } of batches) {
          const records = Buffer.from(bytes).toString().trimEnd().split('\n')
          expect([records.length, JSON.parse(records.at(-1)!).paging_token]).toEqual([count, next])
        }
      }
    }
  }
})

test('chunks of lines share memory with `reuse`, and otherwise have their own', async () => {
  const wanted = await linesOf(catalogue.operations, {}, { limit: 50 })
  const [own, shared]: [NdjsonChunk[], NdjsonChunk[]] = [[], []]
  for (const [kept, reuse] of [
    [own, false],
    [shared, true],
  ] as const)
    for await (const lines of ledger.ndjson(catalogue.operations, {}, { limit: 50, reuse })) {
      expect(Buffer.compare(lines.bytes, wanted[kept.length]!.bytes)).toBe(0)
      kept.push(lines)
    }
  expect(own).toEqual(wanted)
  expect(shared.map(({ count, next }) => [count, next])).toEqual(wanted.map(({ count, next }) => [count, next]))
  const buffersOf = (all: readonly NdjsonChunk[]) => new Set(all.map(({ bytes }) => bytes.buffer)).size
  expect(buffersOf(own)).toBe(own.length)
  expect(buffersOf(shared)).toBeLessThan(own.length / 2)
})

test('lines go on after a cursor, end with the list, and are refused as a page is', async () => {
  const [first, ...others] = await linesOf(catalogue.operations, {}, { limit: 20 })
  expect(await linesOf(catalogue.operations, {}, { limit: 20, cursor: first!.next })).toEqual(others)
  expect(await linesOf(catalogue.operations, {}, { cursor: others.at(-1)!.next })).toEqual([])
  await expect(linesOf(catalogue.effectsOfAccount, { account: 'nobody' }, {})).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(linesOf(catalogue.operations, {}, { limit: 201 })).rejects.toMatchObject({ code: 'BAD_REQUEST' })
})
