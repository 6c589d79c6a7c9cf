/**
 * What serving may hold: pages from all over a history several times the size of the cache are rendered, and what stays in memory after a collection
 * is compared with the size that the cache was given. Without a bound on the cache, the same pages exceed it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { createCore } from '../../adapters/http/index.ts'
import { level } from '../../adapters/level/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, openLedger } from '../../src/index.ts'
import { heldBytes } from '../support/held.ts'
import { collect } from '../support/turns.ts'

const MiB = 2 ** 20
const CACHE = 4 * MiB
/** What is held besides the cache: renderers, LevelDB's tables, compiled code. */
const BESIDE = 8 * MiB
const directory = mkdtempSync(join(tmpdir(), 'folio-memory-'))

beforeAll(async () => {
  const ledger = await openLedger(level(directory))
  await ledger.ingest(generate({ ledgers: 400, seed: 11, transactionsPerLedger: 25 }) as never, { batch: 50, durable: false })
  await ledger.close()
})
const named = mkdtempSync(join(tmpdir(), 'folio-memory-'))
afterAll(() => {
  for (const one of [directory, named]) rmSync(one, { recursive: true, force: true })
})

/** What stays after answering for pages from everywhere, beyond what a few of them left. */
async function growth(cacheBytes: number): Promise<number> {
  await using ledger = await openLedger(level(directory), { cacheBytes })
  const respond = createCore(ledger)
  const { oldest, last } = ledger.head!
  const ask = async (nth: number): Promise<void> => {
    const at = Math.floor(oldest + ((nth * 0.618034) % 1) * (last - oldest))
    const list = ['transactions', 'operations', 'effects', 'trades'][nth % 4]
    const target = `/${list}?limit=200&cursor=${BigInt(at) << 32n}&order=${nth % 8 < 4 ? 'asc' : 'desc'}`
    const { status } = await respond({ method: 'GET', target, header: (name) => (name === 'host' ? 'folio.test' : undefined) })
    expect(status).toBe(200)
  }
  for (let nth = 0; nth < 4; nth++) await ask(nth)
  const before = await heldBytes()
  let most = 0
  for (let nth = 4; nth < 1600; nth++) {
    await ask(nth)
    if (nth % 200 === 0) most = Math.max(most, (await heldBytes()) - before)
  }
  return Math.max(most, (await heldBytes()) - before)
}

test('what pages leave in memory stays within the cache', async () => {
  expect(await growth(CACHE)).toBeLessThan(CACHE + BESIDE)
})

test('the same pages hold several times as much if the cache may', async () => {
  expect(await growth(256 * MiB)).toBeGreaterThan(3 * (CACHE + BESIDE))
})

test('records whose member names are data, no two alike, leave in memory what the cache may hold', async () => {
  await using ledger = await openLedger(level(named), { cacheBytes: CACHE })
  const before = await heldBytes()
  const names = (of: number): string[] => Array.from({ length: 1_000 }, (_, nth) => `of ${of}, ${String(nth).padStart(60, '0')}`)
  for (const { ledger: row } of generate({ ledgers: 200, seed: 12, transactionsPerLedger: 1 }) as Iterable<any>)
    await ledger.append({ ledger: { ...row, held: Object.fromEntries(names(row.sequence).map((name) => [name, 1])) } }, { durable: false })
  expect((await heldBytes()) - before).toBeLessThan(CACHE + BESIDE)
  let read = 0
  for (let time = 0; time < 2; time++)
    for await (const { records } of ledger.pages(catalogue.ledgers, {}, { limit: 8 })) {
      read += records.length
      expect(Object.keys(records[0]!['held'] as object).length).toBe(1_000)
    }
  expect([read, (await heldBytes()) - before < CACHE + BESIDE]).toEqual([400, true])
})

test('a ledger of many megabytes leaves no copy of itself in memory once it is gone', async () => {
  await using ledger = await openLedger(memory(), { cacheBytes: 0 })
  const [first, second, ...rest] = [...generate({ ledgers: 8, seed: 13, transactionsPerLedger: 20 })] as any[]
  const [shape] = second.transactions
  const result_meta_xdr = 'A'.repeat(MiB)
  const large = Array.from({ length: 24 }, (_, nth) => ({ ...shape, hash: String(nth).padStart(64, '0'), result_meta_xdr, operations: [] }))
  await ledger.append(first)
  const before = await heldBytes()
  await ledger.append({ ledger: second.ledger, transactions: large })
  expect((await collect(ledger.lines({ from: second.ledger.sequence })))[0]!.length).toBeGreaterThan(24 * MiB)
  await ledger.rollback(first.ledger.sequence)
  for (const close of [second, ...rest]) await ledger.append(close)
  expect((await heldBytes()) - before).toBeLessThan(2 * BESIDE)
})
