/** The note of how far history reached, in a directory where something is in its way. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { lmdb } from '../../adapters/lmdb/index.ts'
import { FolioError, openLedger } from '../../src/index.ts'
import { branchOf } from '../support/closes.ts'

const data = join(mkdtempSync(join(tmpdir(), 'folio-note-')), 'data')
afterAll(() => rmSync(join(data, '..'), { recursive: true, force: true }))

test('fails with a FolioError, and rolls nothing back; what can be written is read again', async () => {
  const ledger = await openLedger(level(data))
  await ledger.ingest(branchOf([1, 10], 1, () => ['GX']))
  await ledger.close()
  const again = await openLedger(level(data))
  mkdirSync(join(data, 'HIGH-WATER.new'))
  const failed = again.rollback(5)
  await expect(failed).rejects.toBeInstanceOf(FolioError)
  await expect(failed).rejects.toMatchObject({ code: 'STORE_FAILED', fields: { location: data } })
  expect(again.head!.last).toBe(10)
  rmSync(join(data, 'HIGH-WATER.new'), { recursive: true })
  await again.rollback(5)
  await again.close()
  const lower = await openLedger(level(data))
  expect(lower.head!.last).toBe(5)
  await lower.close()
  rmSync(join(data, 'HIGH-WATER'))
  mkdirSync(join(data, 'HIGH-WATER'))
  const unread = openLedger(level(data))
  await expect(unread).rejects.toBeInstanceOf(FolioError)
  await expect(unread).rejects.toMatchObject({ code: 'STORE_FAILED', fields: { location: data } })
})

test('is written whole before a close ends, after which others may open the directory', async () => {
  const path = join(data, '..', 'closing')
  const store = await level(path)
  const size = 50_000_000
  const noted = store.note!.write(new Uint8Array(size))
  await store.close()
  expect(statSync(join(path, 'HIGH-WATER')).size).toBe(size)
  await noted
})

test('is not written into a directory that has taken the place of its own', async () => {
  const place = join(data, '..', 'place')
  const ledger = await openLedger(level(place))
  await ledger.ingest(branchOf([1, 10], 1, () => ['GX']))
  renameSync(place, `${place}-moved`)
  mkdirSync(place)
  await expect(ledger.rollback(5)).rejects.toMatchObject({ code: 'STORE_MISSING', fields: { location: place } })
  await ledger.close()
  expect(existsSync(join(place, 'HIGH-WATER'))).toBe(false)
})

test('two copies of the package, with one store each in the same process, do not write into the same file', async () => {
  const place = join(data, '..', 'copies')
  vi.resetModules()
  const copy = await import('../../adapters/lmdb/index.ts')
  expect(copy.lmdb).not.toBe(lmdb)
  const stores = [await lmdb(place), await copy.lmdb(place)]
  const noted = Array.from({ length: 200 }, (_, i) => stores[i % 2]!.note!.write(Uint8Array.of(i), { durable: i % 3 === 0 }))
  await Promise.all(noted)
  for (const store of stores) await store.close()
  expect(readdirSync(place).sort()).toEqual(['HIGH-WATER', 'WRITING', 'data.mdb', 'lock.mdb'])
})

test('what one that was killed has left beside it is taken away; one that is being written is written again', async () => {
  const place = join(data, '..', 'left')
  const store = await lmdb(place)
  writeFileSync(join(place, 'HIGH-WATER.77-1'), 'left')
  const fs = process.getBuiltinModule('node:fs/promises')
  const rename = vi.spyOn(fs, 'rename')
  rename.mockImplementationOnce(async (from, to) => {
    expect(existsSync(join(place, 'HIGH-WATER.77-1'))).toBe(true)
    await (await lmdb(place)).close()
    expect(existsSync(from as string)).toBe(false)
    rename.mockRestore()
    await fs.rename(from, to)
  })
  await store.note!.write(Uint8Array.of(7), { durable: true })
  expect(await store.note!.read()).toEqual(Buffer.of(7))
  await store.close()
  expect(readdirSync(place).sort()).toEqual(['HIGH-WATER', 'WRITING', 'data.mdb', 'lock.mdb'])
})

test('leaves nothing beside it where it cannot be put in its place', async () => {
  const place = join(data, '..', 'blocked')
  const store = await lmdb(place)
  mkdirSync(join(place, 'HIGH-WATER'))
  await expect(store.note!.write(Uint8Array.of(7))).rejects.toMatchObject({ code: 'STORE_FAILED' })
  await store.close()
  expect(readdirSync(place).sort()).toEqual(['HIGH-WATER', 'WRITING', 'data.mdb', 'lock.mdb'])
})
