/** The store in LevelDB, beyond the laws of stores: where it opens and where it does not, damaged files, writes that fail. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import promises, { chmod, cp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { ClassicLevel } from 'classic-level'
import { MemoryLevel } from 'memory-level'
import { describe, expect, test, vi } from 'vitest'
import { crc32c, masked } from '../../adapters/level/crc32c.ts'
import { checkFiles, level, salvage } from '../../adapters/level/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { directory } from '../support/directory.ts'
import { FailingLevel } from './failing-level.ts'

const key = (n: number): Uint8Array => Uint8Array.of(1, n >> 8, n & 255)
const all = { gte: Uint8Array.of(0), lt: Uint8Array.of(255) }
const code = (wanted: string, location?: string) =>
  expect.objectContaining({ code: wanted, ...(location ? { fields: expect.objectContaining({ location }) } : {}) })

/** A program that opens a directory, as another process would. */
const OPENS = "new (require('classic-level').ClassicLevel)(process.argv[1]).open().catch((error) => { throw error.cause })"

/** The same, until its input ends. */
const HOLDS = `${OPENS}.then(() => process.stdin.resume().once('end', process.exit) && console.log('open'))`

/** A store, and a process that opens it and says so. */
async function heldElsewhere() {
  const place = directory()
  const store = await level(place)
  await store.write([[key(1), key(2)]], { durable: true })
  await store.close()
  return { place, other: spawn(process.execPath, ['-e', HOLDS, place], { stdio: ['pipe', 'pipe', 'inherit'] }) }
}

describe('opening', () => {
  test('a store that is already open is STORE_LOCKED, until it is closed', async () => {
    const place = directory()
    const first = await level(place)
    await expect(level(place)).rejects.toEqual(code('STORE_LOCKED', place))
    await first.close()
    await (await level(place)).close()
  })

  test('a store that this process has open is STORE_LOCKED by every name of its directory, even while it is being opened', async () => {
    const place = directory()
    const link = join(directory(), 'link')
    await symlink(place, link)
    const both = await Promise.allSettled([level(place), level(link)])
    expect(both).toContainEqual({ status: 'rejected', reason: code('STORE_LOCKED') })
    for (const name of [`${place}/`, link]) await expect(level(name)).rejects.toEqual(code('STORE_LOCKED', name))
    const name = relative('.', place)
    await expect(level(name)).rejects.toEqual(code('STORE_LOCKED', `${process.cwd()}/${name}`))
    for (const one of both) if (one.status === 'fulfilled') await one.value.close()
    await (await level(link)).close()
  })

  test('a store that another process has just created, and not written to, stays as it is', async () => {
    const place = directory()
    const other = spawn(process.execPath, ['-e', HOLDS, place], { stdio: ['pipe', 'pipe', 'inherit'] })
    try {
      await once(other.stdout, 'data')
      // As it is before LevelDB has written its second MANIFEST.
      const current = join(place, 'CURRENT')
      await writeFile(current, 'MANIFEST-000001\n')
      for (const checkFiles of [true, false]) {
        await expect(level(place, { checkFiles })).rejects.toEqual(code('STORE_LOCKED', place))
        expect(await readFile(current, 'utf8')).toBe('MANIFEST-000001\n')
      }
    } finally {
      other.stdin.end()
      await once(other, 'exit')
    }
    await (await level(place)).close()
    expect((await readdir(place)).filter((name) => name.includes('lock'))).toEqual([])
  })

  test('a store that another process is writing to is STORE_LOCKED, whatever its files look like just then', async () => {
    const { place, other } = await heldElsewhere()
    try {
      await once(other.stdout, 'data')
      // As whoever has read the MANIFEST, or the names, finds a file that was merged into others since.
      const table = join(place, (await readdir(place)).find((name) => name.endsWith('.ldb'))!)
      await rename(table, `${table}.gone`)
      await expect(level(place)).rejects.toEqual(code('STORE_LOCKED', place))
      await expect(checkFiles(place)).rejects.toEqual(code('STORE_LOCKED', place))
      await symlink('nowhere', table)
      await expect(level(place)).rejects.toEqual(code('STORE_LOCKED', place))
      await expect(checkFiles(place)).rejects.toEqual(code('STORE_LOCKED', place))
      await rm(table)
      await rename(`${table}.gone`, table)
    } finally {
      other.stdin.end()
      await once(other, 'exit')
    }
    expect(await checkFiles(place)).toMatchObject({ ok: true })
    await (await level(place)).close()
    expect((await readdir(place)).filter((name) => name.includes('lock'))).toEqual([])
  })

  test('the check of files lets nobody in while this process has them open, and adds nothing to a copy', async () => {
    const place = directory()
    const store = await level(place)
    const log = join(place, (await readdir(place)).find((name) => name.endsWith('.log'))!)
    await rm(log)
    await expect(checkFiles(place)).rejects.toEqual(code('STORE_LOCKED', place))
    const { stderr } = await promisify(execFile)(process.execPath, ['-e', OPENS, place]).catch((error) => error)
    expect(stderr).toMatch('LEVEL_LOCKED')
    await store.close()
    await rm(join(place, 'LOCK'))
    const names = await readdir(place)
    expect(await checkFiles(place)).toMatchObject({ ok: false })
    expect(await readdir(place)).toEqual(names)
  })

  test('of two that take the lock at once, the one whose place the other took away does not have it', async () => {
    const { place, other } = await heldElsewhere()
    const link = vi.spyOn(promises, 'link')
    try {
      await once(other.stdout, 'data')
      link.mockImplementation(async (from, to) => {
        link.mockRestore()
        await promises.link(from, to)
        await rm(dirname(String(to)), { recursive: true })
      })
      await expect(salvage(place)).rejects.toEqual(code('STORE_LOCKED', place))
    } finally {
      link.mockRestore()
      other.stdin.end()
      await once(other, 'exit')
    }
    expect((await readdir(place)).filter((name) => name.includes('lock'))).toEqual([])
  })

  test('an open that is rejected leaves the store locked to other processes', async () => {
    const place = directory()
    const first = await level(place)
    const elsewhere = () =>
      promisify(execFile)(process.execPath, ['-e', OPENS, place]).then(
        () => 'opened',
        ({ stderr }) => stderr,
      )
    expect(await elsewhere()).toMatch('LEVEL_LOCKED')
    for (const name of [place, `${place}/`]) await expect(level(name)).rejects.toEqual(code('STORE_LOCKED', name))
    await Promise.allSettled([level(place), level(place)])
    expect(await elsewhere()).toMatch('LEVEL_LOCKED')
    await first.close()
    expect(await elsewhere()).toBe('opened')
  })

  test.each([
    [{ mustExists: true }, 'mustExists'],
    [{ mustExist: 'no' }, 'mustExist'],
    [{ checkFiles: 'all' }, 'checkFiles'],
    [{ compression: 0 }, 'compression'],
    [{ cacheBytes: '8 MiB' }, 'cacheBytes'],
    [{ writeBufferBytes: 0.5 }, 'writeBufferBytes'],
    [{ blockBytes: -1 }, 'blockBytes'],
    [{ blockBytes: '4096' }, 'blockBytes'],
    [{ writeBufferBytes: 2 ** 31 }, 'writeBufferBytes'],
    [{ cacheBytes: 0.5 }, 'cacheBytes'],
    [null, 'options'],
  ])('with %o is rejected, and makes nothing', async (options, field) => {
    const place = join(directory(), 'data')
    const refused = expect.objectContaining({ code: 'BAD_REQUEST', fields: expect.objectContaining({ field }) })
    await expect(level(place, options as never)).rejects.toEqual(refused)
    await expect(level(place, { mustExist: true })).rejects.toEqual(code('STORE_MISSING', place))
  })

  test('of a directory are rejected beside a database, which has its own', async () => {
    const refused = expect.objectContaining({ code: 'BAD_REQUEST', fields: expect.objectContaining({ field: 'mustExist' }) })
    await expect(level(new MemoryLevel(), { mustExist: true })).rejects.toEqual(refused)
    await (await level(new MemoryLevel(), { mustExist: undefined })).close()
  })

  test('the check of files takes only its own options, and memory only a disk or nothing', async () => {
    const place = directory()
    for (const options of [{ tableBytes: '5' }, { tableBytes: -1 }, { tableBytes: null }, { onFile: 5 }, { signal: 5 }])
      await expect(checkFiles(place, options as object)).rejects.toEqual(code('BAD_REQUEST'))
    await expect(checkFiles(place, { tablebytes: 5 } as object)).rejects.toMatchObject({
      code: 'BAD_REQUEST',
      fields: { field: 'tablebytes' },
    })
    expect(() => memory({ cacheBytes: 5 } as never)).toThrow(code('STORE_MISUSE'))
  })

  test('a database that keeps text alone is refused, since it could not give back every byte', async () => {
    await expect(level(new MemoryLevel({ storeEncoding: 'utf8' }))).rejects.toEqual(code('STORE_MISUSE'))
    await (await level(new MemoryLevel({ storeEncoding: 'view', valueEncoding: 'json' }))).close()
  })

  test('a directory is also named by its file: URL, and no other URL or empty path is taken for one', async () => {
    const place = join(directory(), 'a store')
    const store = await level(pathToFileURL(place))
    expect(await readdir(place)).toContain('CURRENT')
    await expect(level(place)).rejects.toEqual(code('STORE_LOCKED', place))
    await store.close()
    const refused = expect.objectContaining({ code: 'BAD_REQUEST', fields: expect.objectContaining({ field: 'location' }) })
    for (const wrong of ['', new URL('https://ledger.example/store'), new URL('file:///a%2Fb')])
      for (const call of [level, checkFiles, salvage]) await expect(call(wrong)).rejects.toEqual(refused)
    for (const wrong of [undefined, null, 5])
      for (const call of [checkFiles, salvage]) await expect(call(wrong as never)).rejects.toEqual(refused)
    expect(await checkFiles(pathToFileURL(place))).toMatchObject({ ok: true, files: 3 })
  })

  test('a file in place of the directory, or of one above it, is STORE_MISSING and says so', async () => {
    const file = join(directory(), 'file')
    await writeFile(file, '')
    for (const location of [file, join(file, 'a', 'b')])
      await expect(level(location)).rejects.toMatchObject({
        code: 'STORE_MISSING',
        fields: { location, reason: 'this path, or one that it begins with, is a file and not a directory' },
      })
  })

  test.skipIf(process.getuid?.() === 0)('a directory without permissions is STORE_DENIED (skipped for root, who may enter)', async () => {
    const place = directory()
    await chmod(place, 0o500)
    await expect(level(place)).rejects.toEqual(code('STORE_DENIED', place))
  })

  test.runIf(process.platform === 'linux')('a parent that takes no directories is STORE_DENIED at once, though it could hang', async () => {
    await expect(level('/proc/folio/a/b')).rejects.toEqual(code('STORE_DENIED', '/proc/folio/a/b'))
  })

  test('directories on the way are made; with mustExist a place without a store is STORE_MISSING, and stays as it was', async () => {
    const above = directory()
    const place = join(above, 'a', 'b')
    await expect(level(place, { mustExist: true })).rejects.toEqual(code('STORE_MISSING', place))
    await expect(level(above, { mustExist: true })).rejects.toEqual(code('STORE_MISSING', above))
    expect(await readdir(above)).toEqual([])
    await (await level(place)).close()
    await (await level(place, { mustExist: true })).close()
  })

  test('if CURRENT is lost beside data, the store is CORRUPT and the data stays', async () => {
    const place = directory()
    const store = await level(place)
    await store.write([[key(1), key(1)]], { durable: true })
    await store.close()
    await (await level(place)).close()
    await rm(join(place, 'CURRENT'))
    const before = await readdir(place)
    await expect(level(place)).rejects.toEqual(code('CORRUPT', place))
    expect(await readdir(place)).toEqual(before)
  })

  test.for(['MANIFEST', '.ldb'])('without its %s file the store is CORRUPT', async (part) => {
    const place = await tables()
    for (const name of await readdir(place)) if (name.includes(part)) await rm(join(place, name))
    await expect(level(place)).rejects.toEqual(code('CORRUPT', place))
  })
})

/** A directory whose 2,000 entries are sorted into tables. */
async function tables(): Promise<string> {
  const place = directory()
  const store = await level(place)
  await store.write(
    Array.from({ length: 2000 }, (_, n) => [key(n), new TextEncoder().encode(`entry ${n} `.repeat(20))] as const),
    { durable: true },
  )
  await store.close()
  await (await level(place)).close()
  return place
}

describe('damaged', () => {
  // Files of this size are checked before they are opened, which would find the damage first.
  const owned = (place: string) => level(place, { checkFiles: false })
  const handed = (place: string) => level(new ClassicLevel(place))
  test.for([
    ['its own', owned],
    ['one passed in', handed],
  ] as const)('no chunk hides a block that LevelDB had to skip: %s', async ([, open]) => {
    const place = await tables()
    for (const name of await readdir(place)) {
      if (!name.endsWith('.ldb')) continue
      // Blocks in the middle are overwritten; the index at the end of the file stays whole.
      const bytes = await readFile(join(place, name))
      await writeFile(join(place, name), bytes.fill(0xff, bytes.length >> 2, bytes.length >> 1))
    }
    const store = await open(place)
    const whole = [{ limit: 2000 }, { limit: 1999 }, { limit: 1500, reverse: true }, { limit: 2000, maxBytes: 400_000 }]
    for (const options of whole) await expect(store.scan(all, options), JSON.stringify(options)).rejects.toEqual(code('CORRUPT', place))
    for (const options of [{ limit: 1 }, { limit: 15 }, { limit: 100, maxBytes: 5000 }]) {
      const read = async () => {
        let gte = all.gte
        let count = 0
        for (;;) {
          const { entries, more } = await store.scan({ gte, lt: all.lt }, options)
          count += entries.length
          if (!more) return count
          gte = Uint8Array.of(...entries.at(-1)![0], 0)
        }
      }
      await expect(read(), JSON.stringify(options)).rejects.toEqual(code('CORRUPT', place))
    }
    await store.close()
  })
})

describe('salvage without CURRENT', () => {
  /** What a kill leaves while somebody reads a table that was merged into others since: it holds what was deleted, and nothing that deletes it. */
  async function killed(): Promise<string> {
    const [place, left] = [directory(), directory()]
    const db = new ClassicLevel<string, string>(place)
    await db.batch([
      { type: 'put', key: 'a', value: 'deleted later' },
      { type: 'put', key: 'b', value: 'overwritten later' },
    ])
    await db.compactRange('a', 'z')
    await db.batch([
      { type: 'del', key: 'a' },
      { type: 'put', key: 'b', value: 'newest' },
    ])
    const reading = db.iterator()
    await reading.next()
    await db.compactRange('a', 'z')
    await db.put('c', 'in the log')
    await cp(place, left, { recursive: true })
    await reading.close()
    await db.close()
    return left
  }

  async function salvaged(place: string): Promise<[string, string][]> {
    expect(await salvage(place)).toMatchObject({ lost: [] })
    const db = new ClassicLevel<string, string>(place)
    const held = await db.iterator().all()
    await db.close()
    return held
  }

  const newest = [
    ['b', 'newest'],
    ['c', 'in the log'],
  ]

  test.for([undefined, '', 'MANIFEST-\n'])('brings back nothing that was deleted, as the MANIFEST says (CURRENT: %j)', async (current) => {
    const place = await killed()
    expect((await readdir(place)).filter((name) => name.endsWith('.ldb'))).toHaveLength(2)
    await rm(join(place, 'CURRENT'))
    if (current !== undefined) await writeFile(join(place, 'CURRENT'), current)
    expect(await salvaged(place)).toEqual(newest)
  })

  /** That of a new database: the name of its order, no log, the next file, no sequence. */
  const first = (): Uint8Array => {
    const order = 'leveldb.BytewiseComparator'
    const edit = Buffer.from([1, 1, order.length, ...Buffer.from(order), 2, 0, 3, 2, 4, 0])
    const head = Buffer.alloc(6)
    head.writeUInt32LE(masked(crc32c(edit)))
    head.writeUInt16LE(edit.length - 1, 4)
    return Buffer.concat([head, edit])
  }

  test.for(['older', 'first'])('loses nothing that its %s MANIFEST does not know', async (which) => {
    const place = await killed()
    const older = await readFile(join(place, 'MANIFEST-000002'))
    const db = new ClassicLevel<string, string>(place)
    await db.put('d', 'in a newer table')
    await db.close()
    await (await level(place)).close()
    for (const name of await readdir(place)) if (name === 'CURRENT' || name.startsWith('MANIFEST')) await rm(join(place, name))
    await writeFile(join(place, `MANIFEST-00000${which === 'older' ? 2 : 1}`), which === 'older' ? older : first())
    expect(await salvaged(place)).toEqual([...newest, ['d', 'in a newer table']])
  })
})

describe('writing', () => {
  test('after a failed write the store is POISONED for writes and still reads, until it is opened again', async () => {
    const db = new FailingLevel()
    const store = await level(db)
    await store.write([[key(1), key(1)]], { durable: true })
    db.failure = Object.assign(new Error('IO error: 000003.log: No space left on device'), { code: 'LEVEL_IO_ERROR' })
    const failed = store.write([[key(1), key(2)]], { durable: true })
    const queued = store.write([[key(1), key(3)]], { durable: true })
    await expect(failed).rejects.toEqual(expect.objectContaining({ code: 'STORE_FAILED', cause: db.failure }))
    await expect(queued).rejects.toEqual(
      expect.objectContaining({ code: 'POISONED', cause: await Promise.resolve(failed).catch((error) => error) }),
    )
    const tried = db.batches
    db.failure = undefined
    await expect(store.write([[key(1), key(4)]], { durable: false })).rejects.toEqual(code('POISONED', 'FailingLevel'))
    expect(db.batches).toBe(tried)
    expect(await store.get(key(1))).toEqual(key(1))
    expect((await store.scan(all, { limit: 1 })).entries).toHaveLength(1)
    await store.close()
    await expect(store.write([[key(1), key(4)]], { durable: false })).rejects.toEqual(code('CLOSED'))
    const again = await level(db)
    await again.write([[key(1), key(5)]], { durable: true })
    await again.close()
  })

  test('a CONFLICT poisons nothing', async () => {
    const store = await level(new MemoryLevel())
    await expect(store.write([], { durable: true, expect: { key: key(1), value: key(1) } })).rejects.toEqual(
      code('CONFLICT', 'MemoryLevel'),
    )
    await store.write([[key(1), key(1)]], { durable: true })
    await store.close()
  })

  test.for([
    ['IO error: 000003.log: Permission denied', 'LEVEL_IO_ERROR', 'STORE_DENIED'],
    ['Access to this API has been restricted', 'ERR_ACCESS_DENIED', 'STORE_DENIED'],
    ['IO error: MANIFEST-000004: No space left on device', 'LEVEL_IO_ERROR', 'STORE_FAILED'],
    ['Corruption: bad block', 'LEVEL_CORRUPTION', 'CORRUPT'],
  ] as const)('"%s" is reported as what it is', async ([message, given, wanted]) => {
    const db = new FailingLevel()
    const store = await level(db)
    db.failure = Object.assign(new Error(message), { code: given })
    await expect(store.write([[key(1), key(1)]], { durable: false })).rejects.toEqual(code(wanted, 'FailingLevel'))
    await store.close()
  })

  test('a database passed in is closed with the store, and if someone else closes it, it gives CLOSED', async () => {
    const [mine, theirs] = [new MemoryLevel(), new MemoryLevel()]
    const store = await level(mine)
    await store.close()
    expect(mine.status).toBe('closed')
    const other = await level(theirs)
    await theirs.close()
    expect(() => other.get(key(1))).toThrow(code('CLOSED', 'MemoryLevel'))
    await expect(other.scan(all, { limit: 1 })).rejects.toEqual(code('CLOSED', 'MemoryLevel'))
    const db = new ClassicLevel(directory())
    const third = await level(db)
    await db.close()
    expect(() => third.snapshot!()).toThrow(code('CLOSED', db.location))
  })
})
