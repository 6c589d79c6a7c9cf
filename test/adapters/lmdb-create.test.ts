/** How the file of LMDB comes to its place: whole, once, and never over that of another. What a loss of power leaves of it is in `stress/power.test.ts`. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'lmdb'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { lmdb } from '../../adapters/lmdb/index.ts'

const files = process.getBuiltinModule('node:fs/promises')
const root = mkdtempSync(join(tmpdir(), 'folio-lmdb-create-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
afterEach(() => void vi.restoreAllMocks())
let places = 0
const fresh = (): string => join(root, `store ${++places}`)
const WHOLE = ['WRITING', 'data.mdb', 'lock.mdb']
const [KEY, VALUE] = [Uint8Array.of(1), Uint8Array.of(2)]

/** What is done in place of, or before, putting the file in its place. */
function linking(step: (from: string, to: string, link: typeof files.link) => Promise<void>): void {
  const { link } = files
  vi.spyOn(files, 'link').mockImplementation((from, to) => step(String(from), String(to), link))
}

const failing = (code: string) => async (): Promise<void> => {
  throw Object.assign(new Error(`${code}: as a test has it`), { code })
}

/** A store that another process makes, and writes to. */
async function another(place: string): Promise<void> {
  vi.restoreAllMocks()
  const store = await lmdb(place)
  await store.write([[KEY, VALUE]], { durable: true })
  await store.close()
}

async function takesWrites(place: string): Promise<void> {
  const store = await lmdb(place)
  await store.write([[KEY, VALUE]], { durable: true })
  await store.close()
  const again = await lmdb(place, { mustExist: true })
  expect(again.get(KEY)).toEqual(VALUE)
  await again.close()
  expect(readdirSync(place).sort()).toEqual(WHOLE)
}

describe('a new file', () => {
  test('has both of its first pages before it is in its place', async () => {
    const place = fresh()
    const seen: number[] = []
    linking(async (from, to, link) => {
      expect(existsSync(to)).toBe(false)
      const bytes = readFileSync(from)
      for (const page of [0, 4096]) seen.push(bytes.readUInt32LE(page + 24))
      await link(from, to)
    })
    await takesWrites(place)
    expect(seen).toEqual([0xbeefc0de, 0xbeefc0de])
  })

  test('is the one that LMDB makes', async () => {
    const [ours, own] = [fresh(), fresh()]
    await (await lmdb(ours)).close()
    mkdirSync(own)
    await open({ path: own, noSubdir: false, pageSize: 4096, overlappingSync: false }).close()
    expect(readFileSync(join(ours, 'data.mdb')).equals(readFileSync(join(own, 'data.mdb')))).toBe(true)
  })

  test('is not made where there is no room for it, and nothing is left', async () => {
    const place = fresh()
    vi.spyOn(files, 'writeFile').mockImplementation(async (path, bytes) => {
      writeFileSync(String(path), (bytes as Uint8Array).subarray(0, 100))
      return failing('ENOSPC')()
    })
    await expect(lmdb(place)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      fields: { location: place, reason: 'ENOSPC: as a test has it' },
    })
    expect(readdirSync(place)).toEqual([])
    vi.restoreAllMocks()
    await takesWrites(place)
  })

  test('has a lock without holes, whose memory is there when the disk is full', async () => {
    const append = vi.spyOn(files, 'appendFile')
    const place = fresh()
    const store = await lmdb(place)
    const written = append.mock.calls.filter(([path]) => path === join(place, 'lock.mdb')).map(([, bytes]) => (bytes as Uint8Array).length)
    expect(written).toEqual([statSync(join(place, 'lock.mdb')).size])
    await store.close()
  })

  test.each(['EMFILE', 'ENFILE'])('is not made, nor opened, where too many are open (%s)', async (code) => {
    const place = fresh()
    const sync = process.getBuiltinModule('node:fs')
    const { openSync } = sync
    const few = () => {
      let left = 3
      vi.spyOn(sync, 'openSync').mockImplementation((path, ...how) => {
        if (path !== place || left-- > 0) return openSync(path, ...how)
        throw Object.assign(new Error(`${code}: as a test has it`), { code })
      })
    }
    const refused = { code: 'STORE_FAILED', fields: { location: place, reason: `${code}: as a test has it` } }
    few()
    await expect(lmdb(place)).rejects.toMatchObject(refused)
    expect(readdirSync(place)).not.toContain('data.mdb')
    vi.restoreAllMocks()
    await takesWrites(place)
    few()
    await expect(lmdb(place)).rejects.toMatchObject(refused)
    vi.restoreAllMocks()
    await takesWrites(place)
  })

  test('is not opened where there is no room for the lock', async () => {
    const place = fresh()
    const full = () => vi.spyOn(files, 'appendFile').mockImplementation(failing('ENOSPC'))
    full()
    await expect(lmdb(place)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      fields: { location: place, reason: 'ENOSPC: as a test has it' },
    })
    vi.restoreAllMocks()
    await takesWrites(place)
    rmSync(join(place, 'lock.mdb'))
    full()
    await expect(lmdb(place)).rejects.toMatchObject({ code: 'STORE_FAILED' })
    vi.restoreAllMocks()
    await takesWrites(place)
  })

  test('never replaces one that another process was first to make', async () => {
    const place = fresh()
    linking(async (from, to, link) => {
      await another(place)
      await link(from, to)
    })
    const store = await lmdb(place)
    expect(store.get(KEY)).toEqual(VALUE)
    await store.close()
    expect(readdirSync(place).sort()).toEqual(WHOLE)
  })

  test('may be taken away by another process that was first', async () => {
    const place = fresh()
    linking(async (from, to, link) => {
      // It found ours when it began, and so takes it for what is left of a creation that was cut short.
      await another(place)
      rmSync(from)
      await link(from, to)
    })
    const store = await lmdb(place)
    expect(store.get(KEY)).toEqual(VALUE)
    await store.close()
    expect(readdirSync(place).sort()).toEqual(WHOLE)
  })

  test.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])('is made in its place where files cannot be linked (%s)', async (code) => {
    const place = fresh()
    linking(failing(code))
    await takesWrites(place)
  })

  test('is not made if it cannot be put in its place, and nothing is left', async () => {
    const place = fresh()
    linking(failing('EIO'))
    const reason = expect.stringContaining('EIO')
    await expect(lmdb(place)).rejects.toMatchObject({ code: 'STORE_FAILED', fields: { location: place, reason } })
    expect(readdirSync(place)).toEqual([])
    vi.restoreAllMocks()
    await takesWrites(place)
  })
})

describe('what a creation that was cut short has left', () => {
  const left = 'data.mdb.new-1-00000000-0000-4000-8000-000000000000'
  const leave = (place: string): void => {
    mkdirSync(place, { recursive: true })
    for (const name of [left, `${left}-lock`]) writeFileSync(join(place, name), new Uint8Array(8192))
  }

  test('is no store', async () => {
    const place = fresh()
    leave(place)
    await expect(lmdb(place, { mustExist: true })).rejects.toMatchObject({ code: 'STORE_MISSING' })
    expect(readdirSync(place)).toHaveLength(2)
  })

  test('is taken away by the next that opens, whether the file was in its place or not', async () => {
    const place = fresh()
    leave(place)
    await takesWrites(place)
    leave(place)
    await takesWrites(place)
  })
})
