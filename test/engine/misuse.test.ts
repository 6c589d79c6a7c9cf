/** What an engineer gets wrong first: what is no store, options out of bounds, the database of another application. */
import { ClassicLevel } from 'classic-level'
import { MemoryLevel } from 'memory-level'
import { expect, test } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { openLedger, type Store } from '../../src/index.ts'
import { codeOf, errorOf } from './support.ts'

test.each([['./data'], [undefined], [{}]])('%o is no store', async (what) => {
  const error = await errorOf(() => openLedger(what as never))
  expect(error.code).toBe('STORE_MISUSE')
  expect(error.message).toContain('level(directory)')
})

test.each([
  ['network', { network: '' }],
  ['cacheBytes', { cacheBytes: -1 }],
  ['cacheBytes', { cacheBytes: '1g' as never }],
  ['fileEvery', { fileEvery: 0 }],
  ['fileEvery', { fileEvery: Number.NaN }],
  ['pollMs', { pollMs: -5 }],
  ['pollMs', { pollMs: 2 ** 31 }],
])('an option out of bounds is named: %s', async (field, options) => {
  let closed = 0
  const store: Store = { ...memory(), close: () => void closed++ }
  expect(await codeOf(() => openLedger(store, options))).toBe(`BAD_REQUEST ${field}`)
  expect(closed).toBe(1)
})

test('a batch of no ledgers is refused before anything is read of the source', async () => {
  const ledger = await openLedger(memory())
  for (const batch of [0, Number.NaN]) expect(await codeOf(() => ledger.ingest([], { batch }))).toBe('BAD_REQUEST batch')
})

test('the database of another application is left as it is', async () => {
  const db = new MemoryLevel<string, string>()
  await db.batch(['a', 'b'].map((name) => ({ type: 'put', key: `user:${name}`, value: name })))
  const before = await db.iterator().all()
  const store = await level(db)
  expect(await codeOf(() => openLedger({ ...store, ...bound(store), close: () => {} }))).toBe('STORE_FORMAT')
  expect(await db.iterator().all()).toEqual(before)
})

/** The methods of a store, which live on its prototype. */
const bound = (store: Store): Pick<Store, 'get' | 'getMany' | 'scan' | 'write'> => ({
  get: (key) => store.get(key),
  getMany: (keys) => store.getMany(keys),
  scan: (range, options) => store.scan(range, options),
  write: (batch, options) => store.write(batch, options),
})

test('databases of any key and value types are taken', () => {
  const takes = (_: Parameters<typeof level>[0]): boolean => true
  expect(takes(new MemoryLevel()) && takes(new MemoryLevel<string, object>({ valueEncoding: 'json' }))).toBe(true)
  const classic = (location: string): Promise<Store> => level(new ClassicLevel(location))
  expect(classic).toBeTypeOf('function')
})
