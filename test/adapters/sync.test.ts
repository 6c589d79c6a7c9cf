/** What must survive a loss of power is flushed, also in Yarn's Plug'n'Play, whose file handles cannot do it. */
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { level } from '../../adapters/level/index.ts'
import { lmdb } from '../../adapters/lmdb/index.ts'
import { type Ledger, openLedger } from '../../src/index.ts'
import { directory } from '../support/directory.ts'

const files = process.getBuiltinModule('node:fs')
afterEach(() => void vi.restoreAllMocks())

/** File handles fail to flush, and files are written without regard to `flush`. Gives what is flushed by its number. */
function withHandlesThat(fail: () => never): string[] {
  const flushed: string[] = []
  const { open, writeFile } = files.promises
  vi.spyOn(files.promises, 'open').mockImplementation(async (...asked) =>
    Object.assign(await open(...asked), { sync: fail, datasync: fail }),
  )
  vi.spyOn(files.promises, 'writeFile').mockImplementation((path, bytes) => writeFile(path, bytes))
  const { fsync } = files
  vi.spyOn(files, 'fsync').mockImplementation((fd, done) => {
    flushed.push(files.fstatSync(fd).isDirectory() ? 'names' : 'file')
    fsync(fd, done)
  })
  return flushed
}

const lacking = (): never => {
  throw new Error('Method not implemented.')
}

/** What was noted when it was closed says that history went on to ledger 3. */
async function reopened(): Promise<Ledger> {
  const place = directory()
  const ledger = await openLedger(level(place))
  await ledger.ingest(generate({ ledgers: 3, seed: 7, firstLedger: 1 }))
  await ledger.close()
  return openLedger(level(place))
}

test("a rollback in Plug'n'Play is noted, and the note is flushed", async () => {
  const ledger = await reopened()
  const flushed = withHandlesThat(lacking)
  expect(await ledger.rollback(1)).toBe(2)
  expect(flushed).toEqual(['file', 'names'])
  await ledger.close()
})

test("a store of LMDB that is made in Plug'n'Play is flushed", async () => {
  const flushed = withHandlesThat(lacking)
  const store = await lmdb(directory())
  expect(flushed).toEqual(['names', 'file', 'names'])
  await store.close()
})

test('what the system fails to flush is not flushed in another way', async () => {
  const ledger = await reopened()
  const flushed = withHandlesThat(() => {
    throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' })
  })
  await expect(ledger.rollback(1)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  expect(flushed).toEqual([])
  await ledger.close()
})

test.each([
  ['level', level],
  ['lmdb', lmdb],
] as const)('the name of each directory that %s makes is flushed, the highest first', async (_, make) => {
  const above = directory()
  const { open } = files.promises
  const flushed: string[] = []
  vi.spyOn(files.promises, 'open').mockImplementation(async (path, ...asked) => {
    const handle = await open(path, ...asked)
    const sync = handle.sync.bind(handle)
    return Object.assign(handle, {
      sync: () => {
        flushed.push(String(path))
        return sync()
      },
    })
  })
  const store = await make(join(above, 'one', 'two'))
  expect(flushed.slice(0, 2)).toEqual([above, join(above, 'one')])
  await store.close()
})
