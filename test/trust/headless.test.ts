/** A store without its head: damage if it holds records, whatever happened to them; empty if a rollback took everything. */
import { describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { catalogue, FolioError, openLedger, repairStore, type Store, verifyStore, type Write } from '../../src/index.ts'
import { encodeIntent } from '../../src/layout/head.ts'
import { FORMAT, HEAD, INTENT } from '../../src/layout/keys.ts'
import { dump, everything, shared } from '../support/dump.ts'
import { codeOf, errorOf } from '../support/errors.ts'
import { failingAfter } from './support.ts'

const closes = [...generate({ ledgers: 12, seed: 4, accounts: 16, transactionsPerLedger: 4, firstLedger: 100 })]
const fileEvery = 20

async function filled(kind: (store: Store) => Store = (store) => store): Promise<MemoryDisk> {
  const disk = memoryDisk()
  await (await openLedger(kind(memory(disk)), { fileEvery })).ingest(closes)
  return disk
}

const kinds: readonly (readonly [name: string, kind: (store: Store) => Store])[] = [
  ['of one process', (store) => store],
  ['that processes share', shared],
]

describe.each(kinds)('a store %s without its head', (_, kind) => {
  test('is not opened, nor is another chain taken, until it is repaired', async () => {
    const disk = await filled(kind)
    const before = await dump(memory(disk))
    for (const writes of [[], [[INTENT, encodeIntent({ rollback: 0 })]]] as readonly (readonly Write[])[]) {
      disk.write([[HEAD, undefined], ...writes])
      expect((await errorOf(() => openLedger(kind(memory(disk))))).fields).toEqual({ key: '00', reason: 'the head is missing' })
      expect((await verifyStore(kind(memory(disk)))).faults).toContainEqual({ key: '00', reason: 'the head is missing' })
    }
    disk.write([[INTENT, undefined]])
    expect(await repairStore(kind(memory(disk)))).toMatchObject({ lost: [], after: { ok: true, last: 111 } })
    expect(await dump(memory(disk))).toEqual(before)
    expect((await openLedger(kind(memory(disk)))).head!.last).toBe(111)
  })

  test('is empty after a rollback to nothing, wherever that was killed', async () => {
    let killed = 0
    for (let good = 0, done = false; !done; good++) {
      const disk = await filled(kind)
      const ledger = await openLedger(failingAfter(kind(memory(disk)), good), { fileEvery })
      done = (await codeOf(() => ledger.rollback(0))) === 'no error'
      if (!done) killed++
      const again = await openLedger(kind(memory(disk)), { fileEvery })
      if (good > 0) await again.rollback(0)
      else expect(again.head!.last).toBe(111)
      if (good > 0) {
        expect(again.head).toBeUndefined()
        expect((await openLedger(kind(memory(disk)))).head).toBeUndefined()
        expect(await verifyStore(kind(memory(disk)))).toMatchObject({ ok: true })
      }
    }
    expect(killed).toBeGreaterThan(2)
  })
})

test('a store that loses its head while processes have it open is not taken for an empty one', async () => {
  const disk = await filled(shared)
  const ledger = await openLedger(shared(memory(disk)), { fileEvery, pollMs: 2 ** 30 })
  const before = disk.get(HEAD)!
  disk.write([[HEAD, undefined]])
  const missing = { code: 'CORRUPT', fields: { key: '00', reason: 'the head is missing' } }
  expect(await errorOf(() => ledger.refresh())).toMatchObject(missing)
  expect(await errorOf(() => ledger.page(catalogue.ledgers, {}))).toMatchObject(missing)
  expect([ledger.unreachable, ledger.head?.last]).toEqual([true, 111])
  disk.write([[HEAD, before]])
  expect([await ledger.refresh(), ledger.unreachable]).toEqual([false, false])
  expect((await ledger.page(catalogue.ledgers, {}, { limit: 200 })).records.length).toBe(closes.length)
  await ledger.close()
})

test('a store that another process empties or begins meanwhile is opened as it is then', async () => {
  const [from, to] = [await filled(shared), memoryDisk()]
  await openLedger(memory(to))
  const store = shared(memory(to))
  const { entries } = await memory(from).scan(everything, { limit: 1e6 })
  const { scan } = store
  store.scan = (...args) => {
    to.write(entries)
    return scan.apply(store, args)
  }
  expect((await openLedger(store)).head!.last).toBe(111)
})

test('a store whose repair was not finished says so first', async () => {
  const disk = await filled()
  const { entries } = await memory(disk).scan({ gte: Uint8Array.of(0x50), lt: Uint8Array.of(0x51) }, { limit: 100 })
  const [last] = entries.at(-1)!
  disk.write([
    [last, undefined],
    [INTENT, encodeIntent({ repair: true })],
  ])
  for (const [, kind] of kinds) expect(await codeOf(() => openLedger(kind(memory(disk))))).toBe('STORE_UNREPAIRED')
  disk.write([[HEAD, undefined]])
  for (const [, kind] of kinds) expect(await codeOf(() => openLedger(kind(memory(disk))))).toBe('STORE_UNREPAIRED')
})

test('a damaged format is repaired even without a head', async () => {
  const before = await filled()
  for (const format of [
    new Uint8Array(0),
    before.get(HEAD)!,
    before.get(FORMAT)!.map((byte) => byte ^ 1),
    before.get(FORMAT)!.subarray(4),
  ]) {
    const disk = await filled()
    disk.write([[FORMAT, format]])
    expect((await errorOf(() => openLedger(memory(disk)))).fields['key']).toBe('01')
    disk.write([[HEAD, undefined]])
    expect(await errorOf(() => openLedger(memory(disk)))).toBeInstanceOf(FolioError)
    expect(await repairStore(memory(disk))).toMatchObject({ after: { ok: true } })
    expect(await dump(memory(disk))).toEqual(await dump(memory(before)))
  }
})
