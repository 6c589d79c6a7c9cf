/** Whoever has several stores is told by an error which one it is about, whatever found that out: the store, or the engine. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { level } from '../../adapters/level/index.ts'
import { lmdb } from '../../adapters/lmdb/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { utf8 } from '../../src/bytes.ts'
import { copyStore, FolioError, networkOf, openLedger, type Store, verifyStore } from '../../src/index.ts'
import { catalogueOf } from '../../src/ingest/identity.ts'
import { encodeFormat, encodeHighWater, encodeIntent } from '../../src/layout/head.ts'
import { FORMAT, HEAD, INTENT } from '../../src/layout/keys.ts'
import { directory } from '../support/directory.ts'
import { errorOf } from '../support/errors.ts'

/** A store that says where it is, or does not. */
function at(disk: MemoryDisk, location?: string, more: Partial<Store> = {}): Store {
  const store = memory(disk)
  return { ...store, capabilities: { ...store.capabilities, ...(location !== undefined && { location }) }, ...more }
}

async function filled(): Promise<MemoryDisk> {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), { network: 'one' })
  await ledger.ingest(generate({ ledgers: 3, seed: 7, firstLedger: 7 }))
  await ledger.close()
  return disk
}

/** A disk on which a value is another one. */
async function changed(key: Uint8Array, value: Uint8Array | undefined): Promise<MemoryDisk> {
  const disk = await filled()
  await memory(disk).write([[key, value]], { durable: true })
  return disk
}

const note = { read: () => encodeHighWater({ last: 99 }), write: () => {} }

test.each<[code: string, disk: () => Promise<MemoryDisk>, calls: readonly ((store: Store) => Promise<unknown>)[], more?: Partial<Store>]>([
  ['STORE_NETWORK', filled, [(store) => openLedger(store, { network: 'other' })]],
  [
    'STORE_INCOMPLETE',
    () => changed(INTENT, encodeIntent({ copy: 'ff' })),
    [openLedger, verifyStore, (store) => copyStore(store, memory())],
  ],
  ['STORE_UNREPAIRED', () => changed(INTENT, encodeIntent({ repair: true })), [openLedger, (store) => copyStore(store, memory())]],
  ['STORE_WENT_BACK', filled, [openLedger, (store) => copyStore(store, memory())], { note }],
  [
    'STORE_CATALOGUE',
    () => changed(FORMAT, encodeFormat('of another release', undefined)),
    [openLedger, networkOf, (store) => copyStore(store, memory())],
  ],
  [
    'STORE_FORMAT',
    async () => memoryDisk(),
    [openLedger, verifyStore],
    { get: () => undefined, scan: () => ({ entries: [[utf8('a'), utf8('b')]], more: false }) },
  ],
  ['CORRUPT', () => changed(FORMAT, undefined), [openLedger, (store) => copyStore(store, memory())]],
  ['CORRUPT', () => changed(HEAD, utf8('no head')), [openLedger, (store) => copyStore(store, memory())]],
])('%s names the store, wherever it is found', async (code, disk, calls, more) => {
  for (const call of calls) {
    const plain = await errorOf(() => disk().then((held) => call(at(held, undefined, more))))
    expect([plain.code, plain.fields['location']]).toEqual([code, undefined])
    const named = await errorOf(() => disk().then((held) => call(at(held, 'the first', more))))
    expect(named).toBeInstanceOf(FolioError)
    expect([named.code, named.fields]).toEqual([code, { ...plain.fields, location: 'the first' }])
    expect(named.message).toContain('location: the first')
    // It says where it comes from, as before.
    expect(named.stack?.split('\n')[0]).toBe(`FolioError: ${named.message}`)
    expect(named.stack?.split('\n').slice(1, 3)).toEqual(plain.stack?.split('\n').slice(1, 3))
  }
})

test('of two stores, the one is named of which an error tells', async () => {
  const named = async (from: MemoryDisk, to: MemoryDisk, more?: Partial<Store>) => {
    const { code, fields } = await errorOf(() => copyStore(at(from, 'from', more), at(to, 'to')))
    return [code, fields['location']]
  }
  const vacant = memoryDisk()
  await memory(vacant).write([[FORMAT, encodeFormat(catalogueOf(), 'two')]], { durable: true })
  expect(await named(await filled(), vacant)).toEqual(['STORE_NETWORK', 'to'])
  expect(await named(await changed(utf8('0'), utf8('a stray')), memoryDisk())).toEqual(['CORRUPT', 'from'])
})

test('what a store says of itself stays, and what is no error of ours is not touched', async () => {
  const said = new FolioError('STORE_FAILED', { location: 'as I call it' })
  const fails = (error: unknown) => ({
    get: () => {
      throw error
    },
  })
  expect(await errorOf(() => openLedger(at(memoryDisk(), 'here', fails(said))))).toBe(said)
  const other = new Error('mine')
  await expect(openLedger(at(memoryDisk(), 'here', fails(other)))).rejects.toBe(other)
  const misuse = new FolioError('STORE_MISUSE', { reason: 'mine' })
  expect(await errorOf(() => openLedger(at(memoryDisk(), 'here', fails(misuse))))).toBe(misuse)
  const cause = new Error('the disk')
  const bare = await errorOf(() => openLedger(at(memoryDisk(), 'here', fails(new FolioError('STORE_FAILED', {}, cause)))))
  expect([bare.code, bare.fields, bare.cause]).toEqual(['STORE_FAILED', { location: 'here' }, cause])
})

test.each([
  ['LevelDB', level],
  ['LMDB', lmdb],
])('a store over %s says which directory it is', async (_, storeIn) => {
  const path = join(directory(), 'data')
  await (await openLedger(storeIn(path), { network: 'one' })).close()
  const { code, fields } = await errorOf(() => openLedger(storeIn(path), { network: 'two' }))
  expect([code, fields]).toEqual(['STORE_NETWORK', { found: 'one', expected: 'two', location: path }])
})
