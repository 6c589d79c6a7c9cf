/** The note of how far history reached, in a directory where something is in its way. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { level } from '../../adapters/level/index.ts'
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
