/** Stores whose directory is moved, deleted or replaced while they have it open, or whose process goes elsewhere. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { level } from '../../adapters/level/index.ts'
import { lmdb } from '../../adapters/lmdb/index.ts'
import { catalogue, type LedgerClose, openLedger, type Store } from '../../src/index.ts'
import { directory } from '../support/directory.ts'

const closes = [...generate({ ledgers: 60, seed: 5, firstLedger: 1, accounts: 40 })] as readonly LedgerClose[]

const moved = /^since it was opened, the directory was moved or deleted$/
const withoutFile = /^since it was opened, the file (LOCK|data.mdb) was moved or deleted$/

/** With so few ledgers, LevelDB neither merges nor begins a new log: nothing is under way when a directory is replaced. */
const stores: [string, (place: string) => Promise<Store>][] = [
  ['level', level],
  ['lmdb', lmdb],
]

const filesIn = (place: string): Map<string, string> =>
  new Map(readdirSync(place).map((name) => [name, readFileSync(join(place, name), 'latin1')]))

const changes: [string, RegExp, (place: string, aside: string, backup: string) => void][] = [
  [
    'replaced by a backup',
    /^another directory has taken the place/,
    (place, aside, backup) => {
      renameSync(place, aside)
      renameSync(backup, place)
    },
  ],
  [
    'replaced by an empty directory',
    /^another directory has taken the place/,
    (place, aside) => {
      renameSync(place, aside)
      mkdirSync(place)
    },
  ],
  ['moved', moved, (place, aside) => renameSync(place, aside)],
  ['deleted', moved, (place) => rmSync(place, { recursive: true })],
  [
    'emptied',
    withoutFile,
    (place) => {
      for (const name of readdirSync(place)) rmSync(join(place, name))
    },
  ],
  [
    'filled from a backup',
    /^another file (LOCK|data.mdb) has taken the place/,
    (place, _, backup) => {
      for (const name of readdirSync(place)) rmSync(join(place, name))
      cpSync(backup, place, { recursive: true })
    },
  ],
]

describe.each(stores)('of %s', (_, open) => {
  test.each(changes)('a directory that is %s takes no more ledgers, and what is in its place stays as it is', async (_, reason, change) => {
    const root = directory()
    const [place, aside, backup] = [join(root, 'store'), join(root, 'aside'), join(root, 'backup')]
    const first = await openLedger(open(place))
    await first.ingest(closes.slice(0, 20))
    await first.close()
    cpSync(place, backup, { recursive: true })
    const ledger = await openLedger(open(place))
    await ledger.ingest(closes.slice(20, 30))

    change(place, aside, backup)
    const found = existsSync(place) ? filesIn(place) : undefined
    const refused = { code: 'STORE_MISSING', fields: { location: place, reason: expect.stringMatching(reason) } }
    await expect(ledger.append(closes[30]!)).rejects.toMatchObject(refused)
    await expect(ledger.ingest(closes.slice(30))).rejects.toMatchObject({ code: 'POISONED' })
    await expect(ledger.rollback(3)).rejects.toMatchObject({ code: 'POISONED' })
    expect(ledger).toMatchObject({ poisoned: true, head: { last: 30 } })
    expect((await ledger.page(catalogue.ledgers, {}, { order: 'desc', limit: 1 })).records).toMatchObject([{ sequence: 30 }])
    await ledger.close()
    expect(existsSync(place) ? filesIn(place) : undefined).toEqual(found)

    if (!existsSync(aside)) return
    const moved = await openLedger(open(aside))
    expect(moved.head!.last).toBe(30)
    await moved.close()
  })

  describe('by a relative path', () => {
    afterEach(() => void vi.restoreAllMocks())

    test.each(['store', './store', '../below/store'])('(%s) is that of the process as it was then', async (path) => {
      const below = join(directory(), 'below')
      mkdirSync(below)
      const cwd = vi.spyOn(process, 'cwd').mockReturnValue(below)
      const ledger = await openLedger(open(path))
      await ledger.ingest(closes.slice(0, 10))
      cwd.mockReturnValue(directory())
      await ledger.ingest(closes.slice(10))
      await ledger.rollback(50)
      await ledger.close()
      const again = await openLedger(open(join(below, 'store')))
      expect(again.head!.last).toBe(50)
      await again.close()
    })

    test('of a process whose directory is gone, it is STORE_DENIED', async () => {
      vi.spyOn(process, 'cwd').mockImplementation(() => {
        throw Object.assign(new Error('ENOENT: process.cwd failed'), { code: 'ENOENT' })
      })
      await expect(open('store')).rejects.toMatchObject({ code: 'STORE_DENIED', fields: { location: 'store' } })
    })
  })
})

test.each([
  ['level', level, 'LOCK'],
  ['lmdb', lmdb, 'lock.mdb'],
] as const)('of %s, a store whose lock was deleted, so that others get in, takes no more ledgers', async (_, open, lock) => {
  const place = join(directory(), 'store')
  const ledger = await openLedger(open(place))
  await ledger.ingest(closes.slice(0, 10))
  rmSync(join(place, lock))
  const reason = `since it was opened, the file ${lock} was moved or deleted`
  await expect(ledger.append(closes[10]!)).rejects.toMatchObject({ code: 'STORE_MISSING', fields: { location: place, reason } })
  await ledger.close()
  const again = await openLedger(open(place))
  expect(again.head!.last).toBe(10)
  await again.close()
})

test('a table is not merged in a directory that was replaced', async () => {
  const place = join(directory(), 'store')
  const store = await level(place)
  await store.write([[Uint8Array.of(1), Uint8Array.of(2)]], { durable: true })
  renameSync(place, `${place}-moved`)
  mkdirSync(place)
  await expect(store.compact!({ gte: Uint8Array.of(0), lt: Uint8Array.of(9) })).rejects.toMatchObject({ code: 'STORE_MISSING' })
  await store.close()
  expect(readdirSync(place)).toEqual([])
})
