/** A store over LMDB: how it opens, what is found in its file before LMDB sees it, and several that have it open. The laws are in `stores.test.ts`. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { level } from '../../adapters/level/index.ts'
import { checkFiles, lmdb } from '../../adapters/lmdb/index.ts'
import { failure } from '../../adapters/lmdb/open.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type LedgerClose, openLedger, type Store, verifyStore } from '../../src/index.ts'
import { branchOf } from '../support/closes.ts'

const root = mkdtempSync(join(tmpdir(), 'folio-lmdb-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let places = 0
const fresh = (): string => join(root, `store ${++places}`)
const rejected = (code: string, fields: object = {}) => expect.objectContaining({ code, fields: expect.objectContaining(fields) })

const closes = [...generate({ ledgers: 24, seed: 11, accounts: 40, transactionsPerLedger: 8 })] as readonly LedgerClose[]

describe('opening', () => {
  test('makes a directory, by its path or file: URL, of which several may be open at once', async () => {
    const place = join(fresh(), 'below')
    const first = await lmdb(place)
    const second = await lmdb(pathToFileURL(place))
    await first.write([[Uint8Array.of(1), Uint8Array.of(2)]], { durable: true })
    expect(second.get(Uint8Array.of(1))).toEqual(Uint8Array.of(2))
    await first.close()
    expect(second.get(Uint8Array.of(1))).toEqual(Uint8Array.of(2))
    await second.close()
    expect(readdirSync(place).sort()).toEqual(['WRITING', 'data.mdb', 'lock.mdb'])
  })

  test('makes a directory once, however many open it at the same time', async () => {
    const place = join(fresh(), 'below', 'deeper')
    for (const store of await Promise.all(Array.from({ length: 4 }, () => lmdb(place)))) await store.close()
    expect(readdirSync(place).sort()).toEqual(['WRITING', 'data.mdb', 'lock.mdb'])
  })

  test('refuses options that are unknown or wrong, and makes nothing', async () => {
    const place = fresh()
    for (const [options, field] of [
      [{ mustExists: true }, 'mustExists'],
      [{ mustExist: 1 }, 'mustExist'],
      [{ checkFiles: 'all' }, 'checkFiles'],
    ] as const)
      await expect(lmdb(place, options as never)).rejects.toEqual(rejected('BAD_REQUEST', { field }))
    await expect(lmdb(place, { mustExist: true })).rejects.toEqual(rejected('STORE_MISSING', { location: place }))
    await expect(lmdb('')).rejects.toEqual(rejected('BAD_REQUEST', { field: 'location' }))
    for (const location of [undefined, null, 5, Buffer.from('x')])
      for (const call of [lmdb, checkFiles])
        await expect(call(location as never)).rejects.toEqual(rejected('BAD_REQUEST', { field: 'location', found: typeof location }))
    expect(readdirSync(root)).not.toContain(`store ${places}`)
  })

  test('a file in place of the directory is STORE_MISSING', async () => {
    const file = fresh()
    writeFileSync(file, '')
    for (const location of [file, join(file, 'a')])
      await expect(lmdb(location)).rejects.toEqual(rejected('STORE_MISSING', { location, reason: expect.stringContaining('is a file') }))
  })

  test('a directory of another kind of database is left alone, by either', async () => {
    const [ofLevel, ofLmdb] = [fresh(), fresh()]
    await (await level(ofLevel)).close()
    await (await lmdb(ofLmdb)).close()
    const before = readdirSync(ofLevel)
    const reason = 'the directory holds a database of LevelDB, not of LMDB'
    await expect(lmdb(ofLevel)).rejects.toEqual(rejected('STORE_MISSING', { reason }))
    expect(readdirSync(ofLevel)).toEqual(before)
    const other = 'the directory holds a database of LMDB, not of LevelDB'
    await expect(level(ofLmdb)).rejects.toEqual(rejected('STORE_MISSING', { reason: other }))
    await (await lmdb(ofLmdb, { mustExist: true })).close()
  })
})

test('a commit that fails says why, and leaves no rejection behind that would end the process', async () => {
  const store = await lmdb(fresh())
  const { db } = store as unknown as { db: { childTransaction: unknown } }
  const commitError = Promise.reject(Object.assign(new Error('Input/output error'), { code: 5 }))
  db.childTransaction = () => Promise.reject(Object.assign(new Error('Commit failed (see commitError for details)'), { commitError }))
  await expect(store.write([], { durable: true })).rejects.toEqual(rejected('STORE_FAILED', { reason: 'Input/output error' }))
  const denied = Promise.reject(Object.assign(new Error('Permission denied'), { code: 13 }))
  db.childTransaction = () => Promise.reject(Object.assign(new Error('Commit failed'), { commitError: denied }))
  await expect(store.write([], { durable: true })).rejects.toEqual(rejected('STORE_DENIED', { reason: 'Permission denied' }))
  await store.close()
})

test('a batch that fails half way leaves nothing behind', async () => {
  const store = await lmdb(fresh())
  const batch = [
    [Uint8Array.of(1), Uint8Array.of(1)] as const,
    // Its key is looked at before, and its value when the first one was put.
    {
      *[Symbol.iterator]() {
        yield Uint8Array.of(2)
        throw new Error('half way')
      },
    } as never,
  ]
  await expect(store.write(batch, { durable: true })).rejects.toEqual(rejected('STORE_FAILED', { reason: 'half way' }))
  expect(store.get(Uint8Array.of(1))).toBe(undefined)
  await store.write([[Uint8Array.of(1), Uint8Array.of(3)]], { durable: true })
  expect(store.get(Uint8Array.of(1))).toEqual(Uint8Array.of(3))
  await store.close()
})

describe('damage that would end the process, or keep it busy for ever,', () => {
  let whole: Buffer
  beforeAll(async () => {
    const place = fresh()
    const ledger = await openLedger(await lmdb(place), { fileEvery: 200 })
    await ledger.ingest(closes)
    await ledger.close()
    whole = readFileSync(join(place, 'data.mdb'))
  })

  const PAGE = 4096
  const flagsAt = (page: number): number => whole.readUInt16LE(page * PAGE + 18)
  const isPage = (page: number): boolean => page > 1 && whole.readBigUInt64LE(page * PAGE) === BigInt(page)
  /** The pages that the tree in use consists of, from its root on. */
  const inUse = (): number[] => {
    const newest = whole.readBigUInt64LE(152) > whole.readBigUInt64LE(PAGE + 152) ? 0 : PAGE
    const pages = [Number(whole.readBigUInt64LE(newest + 136))]
    for (const page of pages)
      if (flagsAt(page) === 1)
        for (let i = 0; i < whole.readUInt16LE(page * PAGE + 20); i += 2)
          pages.push(whole.readUInt32LE(page * PAGE + 24 + whole.readUInt16LE(page * PAGE + 24 + i)))
    return pages
  }
  const branch = (): number => inUse().find((page) => flagsAt(page) === 1)! * PAGE
  const leaf = (): number => inUse().find((page) => flagsAt(page) === 2)! * PAGE
  const node = (bytes: Buffer, page: number, nth = 0): number => page + 24 + bytes.readUInt16LE(page + 24 + 2 * nth)
  /** A value with pages of its own: where the node tells which. */
  const big = (bytes: Buffer): number => {
    for (const page of inUse())
      if (flagsAt(page) === 2)
        for (let nth = 0; nth < bytes.readUInt16LE(page * PAGE + 20) / 2; nth++) {
          const at = node(bytes, page * PAGE, nth)
          if (bytes.readUInt16LE(at + 4) & 1) return at + 8 + bytes.readUInt16LE(at + 6)
        }
    throw new Error('no value has pages of its own')
  }
  const cut = (bytes: Buffer, length: number): Buffer => bytes.subarray(0, length)

  const plants: Record<string, [damage: (bytes: Buffer) => Buffer | undefined, reason: string]> = {
    'the last page is missing': [(bytes) => cut(bytes, bytes.length - PAGE), 'the file ends before page'],
    'the second half is missing': [(bytes) => cut(bytes, bytes.length >> 1), 'the file ends before page'],
    'all but the first page is missing': [(bytes) => cut(bytes, PAGE), 'the file is cut off'],
    'there is less than a page': [(bytes) => cut(bytes, 100), 'the file is cut off'],
    'it is something else': [(bytes) => bytes.fill(7), 'this is no file of LMDB'],
    'the second head is something else': [(bytes) => bytes.fill(7, PAGE, PAGE + 160), 'the head of the file is damaged'],
    'pages have no sensible size': [(bytes) => void bytes.writeUInt32LE(3, 48), 'pages of 3 bytes'],
    'a branch names a page beyond the end': [
      (bytes) => void bytes.writeUInt32LE(0xfffffff, node(bytes, branch())),
      'the file ends before page',
    ],
    'a branch names itself': [(bytes) => void bytes.writeUInt32LE(branch() / PAGE, node(bytes, branch())), 'a page is named twice'],
    'a branch names a head': [(bytes) => void bytes.writeUInt32LE(1, node(bytes, branch())), 'a page is named twice'],
    'a page has another number': [(bytes) => void bytes.writeUInt32LE(3, leaf()), 'a page of a tree is not what it must be'],
    'a page is of another kind': [(bytes) => void bytes.writeUInt16LE(0x22, leaf() + 18), 'a page of a tree is not what it must be'],
    'a page has more nodes than room': [(bytes) => void bytes.writeUInt16LE(PAGE, leaf() + 20), 'a page of a tree is not what it must be'],
    'a node lies beyond its page': [(bytes) => void bytes.writeUInt16LE(PAGE - 26, leaf() + 24), 'a node of a page reaches beyond it'],
    'a key is longer than its page': [
      (bytes) => void bytes.writeUInt16LE(5000, node(bytes, leaf()) + 6),
      'a node of a page reaches beyond it',
    ],
    'a value is longer than its page': [
      (bytes) => void bytes.writeUInt32LE(5000, node(bytes, leaf())),
      'a node of a page reaches beyond it',
    ],
    'a value lies beyond the end': [(bytes) => void bytes.writeUInt32LE(0xffffff, big(bytes)), 'the file ends before page'],
    'a value has too few pages': [(bytes) => void bytes.writeUInt32LE(0, big(bytes) + 16), 'a value is longer than its pages'],
  }

  test.each(Object.entries(plants))('is CORRUPT, and found without opening: %s', async (_, [damage, reason]) => {
    expect(isPage(leaf() / PAGE) && isPage(branch() / PAGE)).toBe(true)
    const place = fresh()
    mkdirSync(place)
    const bytes = Buffer.from(whole)
    writeFileSync(join(place, 'data.mdb'), damage(bytes) ?? bytes)
    const fault = { file: 'data.mdb', at: expect.any(Number), reason: expect.stringContaining(reason) }
    const report = await checkFiles(place)
    expect(report).toMatchObject({ ok: false, files: 1 })
    expect(report.faults).toContainEqual(fault)
    await expect(lmdb(place)).rejects.toEqual(rejected('CORRUPT', { location: place, file: 'data.mdb' }))
  })

  test('is not seen in a file that is whole, and the check takes its options', async () => {
    const place = fresh()
    mkdirSync(place)
    writeFileSync(join(place, 'data.mdb'), whole)
    const told: unknown[] = []
    const report = await checkFiles(place, { onFile: (file, bytes) => void told.push([file, bytes]) })
    expect(report).toEqual({ ok: true, faults: [], files: 1, bytes: whole.length, torn: [] })
    expect(told).toEqual([['data.mdb', whole.length]])
    await expect(checkFiles(place, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
    await expect(checkFiles(place, { tablebytes: 5 } as object)).rejects.toEqual(rejected('BAD_REQUEST', { field: 'tablebytes' }))
    await expect(checkFiles(fresh())).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await checkFiles(pathToFileURL(place))).toEqual(report)
  })

  test('does not count while another writes: it finds pages that are in use again', async () => {
    const place = fresh()
    const ledger = await openLedger(await lmdb(place), { fileEvery: 50 })
    let done = false
    const writing = ledger.ingest(closes).finally(() => {
      done = true
    })
    let checks = 0
    for (; !done; checks++) expect(await checkFiles(place)).toMatchObject({ ok: true })
    await writing
    expect(checks).toBeGreaterThan(0)
    await ledger.close()
  })

  test('is noticed where the file is gone or empty, since a note says how far history reached', async () => {
    const place = fresh()
    const ledger = await openLedger(await lmdb(place))
    await ledger.ingest(closes)
    await ledger.close()
    for (const lose of [(file: string) => truncateSync(file, 0), (file: string) => rmSync(file)]) {
      const copy = fresh()
      cpSync(place, copy, { recursive: true })
      lose(join(copy, 'data.mdb'))
      await expect(lmdb(copy).then((store) => openLedger(store))).rejects.toEqual(rejected('STORE_WENT_BACK'))
    }
  })
})

describe('files that LMDB could not open, which would end the process,', () => {
  const files = process.getBuiltinModule('node:fs/promises')
  const sync = process.getBuiltinModule('node:fs')
  const KEY = Uint8Array.of(1)
  afterEach(() => void vi.restoreAllMocks())

  async function made(): Promise<string> {
    const place = fresh()
    const store = await lmdb(place)
    await store.write([[KEY, KEY]], { durable: true })
    await store.close()
    return place
  }

  async function stillOpens(place: string): Promise<void> {
    vi.restoreAllMocks()
    const store = await lmdb(place, { mustExist: true })
    expect(store.get(KEY)).toEqual(KEY)
    await store.close()
  }

  const denied = (path: string): Error => Object.assign(new Error(`EACCES: permission denied, '${path}'`), { code: 'EACCES' })

  test('a lock of somebody else is STORE_DENIED', async () => {
    const place = await made()
    const { access } = files
    vi.spyOn(files, 'access').mockImplementation(async (path, mode) => {
      if (path === join(place, 'lock.mdb') && mode === 6) throw denied(path)
      return access(path, mode)
    })
    const reason = expect.stringContaining('lock.mdb')
    await expect(lmdb(place)).rejects.toEqual(rejected('STORE_DENIED', { location: place, reason }))
    await stillOpens(place)
  })

  test('a file that may be read alone is STORE_DENIED', async () => {
    const place = await made()
    const { openSync } = sync
    vi.spyOn(sync, 'openSync').mockImplementation((path, flags, mode) => {
      if (path === join(place, 'data.mdb') && flags !== 'r') throw denied(path)
      return openSync(path, flags, mode)
    })
    const reason = expect.stringContaining('data.mdb')
    for (const checked of [true, false])
      await expect(lmdb(place, { checkFiles: checked })).rejects.toEqual(rejected('STORE_DENIED', { location: place, reason }))
    await stillOpens(place)
  })

  test('data of another version is STORE_FORMAT, and no release of it is taken for damage', async () => {
    const place = await made()
    const file = join(place, 'data.mdb')
    const whole = readFileSync(file)
    for (const version of [1, 3]) {
      const other = Buffer.from(whole)
      for (const page of [0, 4096]) other.writeUInt16LE(version, page + 28)
      writeFileSync(file, other)
      const fields = { found: `data of LMDB of version ${version}`, expected: 'version 2' }
      for (const checked of [true, false])
        await expect(lmdb(place, { checkFiles: checked })).rejects.toEqual(rejected('STORE_FORMAT', fields))
      const fault = { file: 'data.mdb', at: 0, reason: `data of version ${version}, not of 2` }
      expect(await checkFiles(place)).toMatchObject({ ok: false, faults: [fault] })
      expect(readFileSync(file).equals(other)).toBe(true)
    }
    writeFileSync(file, whole)
    await stillOpens(place)
  })

  test('a head that is damaged is CORRUPT, even where nothing is checked', async () => {
    const place = await made()
    const file = join(place, 'data.mdb')
    const whole = readFileSync(file)
    for (const damaged of [whole.subarray(0, 4200), Buffer.alloc(8192, 7)]) {
      writeFileSync(file, damaged)
      await expect(lmdb(place, { checkFiles: false })).rejects.toEqual(rejected('CORRUPT', { location: place, file: 'data.mdb' }))
    }
    writeFileSync(file, whole)
    await stillOpens(place)
  })
})

describe('several that have it open', () => {
  /** Another process, with the package alone. */
  const elsewhere = async (place: string, code: string): Promise<string> => {
    const script = `const { open } = require('lmdb'); const db = open({ path: process.argv[1], noSubdir: false, encoding: 'binary', keyEncoding: 'binary', overlappingSync: false });
      (async () => { ${code}; await db.close() })()`
    return (await promisify(execFile)(process.execPath, ['-e', script, place])).stdout
  }

  test('see what another process wrote, each in the next read', async () => {
    const place = fresh()
    const store = await lmdb(place)
    const key = Uint8Array.of(9)
    await store.write([[key, Uint8Array.of(1)]], { durable: true })
    expect(await elsewhere(place, 'console.log(db.get(Buffer.of(9))[0]); await db.put(Buffer.of(9), Buffer.of(2))')).toBe('1\n')
    expect(store.get(key)).toEqual(Uint8Array.of(2))
    const expected = { key, value: Uint8Array.of(1) }
    await expect(store.write([[key, undefined]], { durable: true, expect: expected })).rejects.toEqual(rejected('CONFLICT'))
    await store.write([[key, undefined]], { durable: true, expect: { key, value: Uint8Array.of(2) } })
    expect(await elsewhere(place, 'console.log(db.get(Buffer.of(9)))')).toBe('undefined\n')
    await store.close()
  })

  test('ledgers: one writes, the other streams what it writes and what it takes back, and both end with the bytes of a store in memory', async () => {
    const place = fresh()
    // It does not look by itself.
    const unwatched = Object.assign(await lmdb(place), { watch: undefined }) as unknown as Store
    const writer = await openLedger(unwatched, { fileEvery: 100, pollMs: 2 ** 30 })
    await writer.append(closes[0]!)
    const reader = await openLedger(await lmdb(place), { pollMs: 5 })
    const seen: number[] = []
    const ended = (async () => {
      for await (const { sequence } of reader.stream(catalogue.ledgers, {})) seen.push(sequence)
    })().catch((error) => error)
    await writer.ingest(closes.slice(1))
    await expect.poll(() => seen, { timeout: 20_000 }).toEqual(closes.map(({ ledger }) => ledger.sequence))
    const back = closes[9]!.ledger.sequence
    await writer.rollback(back)
    expect(await ended).toMatchObject({ code: 'ROLLED_BACK' })
    await expect.poll(() => reader.head?.last, { timeout: 20_000 }).toBe(back)
    const branch = branchOf([back + 1, back + 6], 5, () => [], closes[9]!.ledger.hash)
    await reader.ingest(branch)
    await expect(writer.append(closes[10]!)).rejects.toMatchObject({ code: 'CONFLICT' })
    const twin = await openLedger(memory(), { fileEvery: 100 })
    await twin.ingest([...closes.slice(0, 10), ...branch])
    expect(await reader.digest()).toEqual(await twin.digest())
    for (const ledger of [writer, reader, twin]) await ledger.close()
    const store = await lmdb(place)
    expect(await verifyStore(store)).toMatchObject({ ok: true })
    await store.close()
    expect(statSync(join(place, 'data.mdb')).size).toBeGreaterThan(0)
  })
})

describe('a commit of which the disk took only a part', () => {
  const fs = process.getBuiltinModule('node:fs')
  const said = Object.assign(new Error('Input/output error'), { code: 5 })
  const reasonWhere = (statfs: () => unknown): unknown => {
    const mocked = vi.spyOn(fs, 'statfsSync').mockImplementation(statfs as never)
    const { code, fields, cause } = failure(said, 'the store')
    expect([code, cause, mocked.mock.calls]).toEqual(['STORE_FAILED', said, [['the store']]])
    mocked.mockRestore()
    return fields['reason']
  }

  test('is said to have failed since the disk is full, if it is', () => {
    expect(reasonWhere(() => ({ bsize: 4096, blocks: 1000, bavail: 15 }))).toBe('the disk is full (Input/output error)')
  })

  test.each([
    ['has more room than that', () => ({ bsize: 4096, blocks: 1000, bavail: 16 })],
    ['does not say how large it is', () => ({ bsize: 4096, blocks: 0, bavail: 0 })],
    [
      'cannot be asked',
      () => {
        throw new Error('as a test has it')
      },
    ],
  ])('is a failure of the disk if that %s', (_, statfs) => {
    expect(reasonWhere(statfs)).toBe('Input/output error')
  })
})
