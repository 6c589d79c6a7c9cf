/** Files of LevelDB that are damaged: what can be read is saved, the store works again, and a kill on the way leaves what the next attempt completes. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs, { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { crc32c, masked } from '../../adapters/level/crc32c.ts'
import { checkFiles, level, type SalvageOptions, type SalvageReport, salvage } from '../../adapters/level/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { FolioError, openLedger, type RepairReport, refuseForeign, repairStore, type Store, type Write } from '../../src/index.ts'
import { encodeHighWater } from '../../src/layout/head.ts'
import { directory } from '../support/directory.ts'
import { dumpAndClose } from '../support/dump.ts'
import { errorOf } from '../support/errors.ts'

const closes = [...generate({ ledgers: 24, seed: 9, accounts: 16, transactionsPerLedger: 6, firstLedger: 100 })]
const ledgerOptions = { fileEvery: 100 }

interface Twin {
  readonly data: string
  readonly digest: string
  readonly values: readonly string[]
}
let made: Promise<Twin> | undefined

/** A store that is whole, with its digest and values. */
const twin = (): Promise<Twin> => {
  made ??= make()
  return made
}
const root = fs.mkdtempSync(join(process.env['TMPDIR'] ?? '/tmp', 'folio-salvage-'))

/** Written without reading, after which LevelDB might merge tables. */
async function make(): Promise<Twin> {
  const batches: (readonly Write[])[] = []
  const store = memory()
  const write: Store['write'] = (batch, options) => {
    batches.push(batch.map(([key, value]) => [key.slice(), value?.slice()]))
    return store.write(batch, options)
  }
  await (await openLedger(Object.assign(Object.create(store) as Store, { write }), ledgerOptions)).ingest(closes, { batch: 1 })
  const data = join(root, 'data')
  // Opening sorts the log of the time before into a table; four tables would be merged.
  for (let part = 0; part < 4; part++) {
    const copy = await level(data)
    for (const batch of batches.filter((_, at) => Math.floor((4 * at) / batches.length) === part))
      await copy.write(batch, { durable: true })
    await copy.note!.write(encodeHighWater({ last: closes.at(-1)!.ledger.sequence }))
    await copy.close()
  }
  const copy = join(root, 'copy')
  cpSync(data, copy, { recursive: true })
  const ledger = await openLedger(level(copy), ledgerOptions)
  const digest = await ledger.digest({})
  await ledger.close()
  return { data, digest, values: await dumpAndClose(level(copy)) }
}

function copyOf(data: string): string {
  const copy = join(directory(), 'data')
  cpSync(data, copy, { recursive: true })
  return copy
}

const copied = async (): Promise<string> => copyOf((await twin()).data)

const filesOf = (data: string, pattern: RegExp): string[] => readdirSync(data).filter((name) => pattern.test(name))
const MANIFEST = /^MANIFEST/
const TABLE = /\.ldb$/
const LOG = /\.log$/
const ANY = /^(CURRENT|MANIFEST-\d+|\d+\.(ldb|log))$/

function flip(path: string, at: number, mask = 4): void {
  const bytes = readFileSync(path)
  const place = at < 0 ? bytes.length + at : at
  bytes[place]! ^= mask
  writeFileSync(path, bytes)
}

/** As `folio repair --cut` does. */
async function repaired(data: string): Promise<{ salvaged: SalvageReport; report: RepairReport }> {
  const salvaged = await salvage(data)
  const store = await level(data, { mustExist: true })
  try {
    return { salvaged, report: await repairStore(store, { cut: true }) }
  } finally {
    await store.close()
  }
}

/** The files are clean, the store opens, and takes what is missing: then it holds what its twin does. */
async function completes(data: string): Promise<void> {
  expect((await checkFiles(data)).faults).toEqual([])
  const ledger = await openLedger(level(data, { mustExist: true }), ledgerOptions)
  const after = ledger.head?.last ?? 0
  await ledger.ingest(closes.filter((close) => close.ledger.sequence > after))
  expect(await ledger.digest({})).toBe((await twin()).digest)
  await ledger.close()
  expect(await dumpAndClose(level(data))).toEqual((await twin()).values)
}

async function worksAgain(data: string): Promise<SalvageReport> {
  const { salvaged } = await repaired(data)
  await completes(data)
  return salvaged
}

afterEach(() => vi.restoreAllMocks())

test('the store that is damaged here has several tables, and a log of several blocks', async () => {
  const { data } = await twin()
  expect(filesOf(data, TABLE).length).toBe(3)
  expect(readFileSync(join(data, filesOf(data, LOG)[0]!)).length).toBeGreaterThan(70_000)
})

describe('after damage, the store works again', () => {
  /** Small numbers that are always the same. */
  const random = ((state) => (below: number) => {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return Math.floor((state / 2 ** 31) * below)
  })(7)

  test('to any byte of any file', async () => {
    const counts = { whole: 0, lost: 0 }
    for (let round = 0; round < 24; round++) {
      const data = await copied()
      const names = filesOf(data, ANY)
      const path = join(data, names[round % names.length]!)
      flip(path, random(readFileSync(path).length), 1 << random(8))
      const { lost } = await worksAgain(data)
      counts[lost.length > 0 ? 'lost' : 'whole']++
    }
    expect(Math.min(counts.whole, counts.lost)).toBeGreaterThan(3)
  })

  test.each([MANIFEST, TABLE, LOG, /^CURRENT$/])('where a file was cut off: %s', async (pattern) => {
    for (const share of [0, 0.4, 0.9]) {
      const data = await copied()
      const path = join(data, filesOf(data, pattern).at(-1)!)
      truncateSync(path, Math.floor(readFileSync(path).length * share))
      await worksAgain(data)
    }
  })

  test.each([MANIFEST, TABLE, LOG, /^CURRENT$/])('where a file is gone: %s', async (pattern) => {
    const data = await copied()
    rmSync(join(data, filesOf(data, pattern)[0]!))
    const { faults } = await worksAgain(data)
    expect(faults).toContainEqual(expect.objectContaining({ reason: expect.stringMatching(/missing/) }))
  })

  test('where all tables are gone, or each has a damaged block', async () => {
    for (const damage of [(path: string) => rmSync(path), (path: string) => flip(path, 30)]) {
      const data = await copied()
      for (const name of filesOf(data, TABLE)) damage(join(data, name))
      await worksAgain(data)
    }
  })

  test('where a table was exchanged for another', async () => {
    const data = await copied()
    const [one, other] = filesOf(data, TABLE)
    cpSync(join(data, one!), join(data, other!))
    await worksAgain(data)
  })
})

test.each([TABLE, LOG])('a sector that the disk cannot read costs what is in it, and no more: %s', async (pattern) => {
  const data = await copied()
  const [file] = filesOf(data, pattern)
  const { open } = fs.promises
  vi.spyOn(fs.promises, 'open').mockImplementation(async (path, ...rest) => {
    const handle = await open(path, ...rest)
    if (String(path) !== join(data, file!)) return handle
    const read = handle.read.bind(handle) as (...args: any[]) => Promise<any>
    return Object.assign(handle, {
      read(bytes: Uint8Array, offset: number, length: number, at: number) {
        if (at < 12_288 && at + length > 8192) throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
        return read(bytes, offset, length, at)
      },
    })
  })
  expect((await checkFiles(data)).faults).toContainEqual({ file, at: 8192, reason: 'the disk cannot read it' })
  const { lost } = await salvage(data)
  expect(lost.map((one) => one.file)).toEqual([file])
  expect(lost[0]!.parts).toBeLessThan(8)
  // What is new may have that name, and lies elsewhere on the disk.
  vi.restoreAllMocks()
  await worksAgain(data)
})

describe('nothing is lost', () => {
  test.each<[string, (data: string) => void]>([
    ['CURRENT is damaged', (data) => flip(join(data, 'CURRENT'), 12)],
    ['CURRENT is gone', (data) => rmSync(join(data, 'CURRENT'))],
    ['the MANIFEST is damaged', (data) => flip(join(data, filesOf(data, MANIFEST)[0]!), 20)],
    ['the footers of tables are damaged', (data) => eachTable(data, (path) => flip(path, -3))],
    ['the indexes of tables are damaged', (data) => eachTable(data, (path) => flip(path, -60))],
    ['the ends of tables are gone', (data) => eachTable(data, (path) => truncateSync(path, readFileSync(path).length - 50))],
  ])('if %s', async (_, damage) => {
    const data = await copied()
    const before = Object.fromEntries(filesOf(data, ANY).map((name) => [name, readFileSync(join(data, name))]))
    damage(data)
    const { salvaged, report } = await repaired(data)
    expect(salvaged).toMatchObject({ lost: [], entries: (await twin()).values.length, kept: join(data, 'damaged-1') })
    expect(salvaged.faults.length).toBeGreaterThan(0)
    expect(report).toMatchObject({ repaired: 0, lost: [], after: { ok: true } })
    expect(await dumpAndClose(level(data))).toEqual((await twin()).values)
    expect(filesOf(salvaged.kept!, TABLE)).toEqual(Object.keys(before).filter((name) => TABLE.test(name)))
    expect(filesOf(data, /salvage/)).toEqual([])
    expect(existsSync(join(salvaged.kept!, 'HIGH-WATER'))).toBe(true)
  })

  test('by damage to a MANIFEST with several edits, or a cut, wherever in it; an edit that was being written is no damage', async () => {
    const data = join(directory(), 'data')
    const store = await level(data, { writeBufferBytes: 1 << 16 })
    for (let n = 0; n < 20; n++) await store.write([[Buffer.from([n]), randomBytes(20_000)]], { durable: true })
    await store.compact!({ gte: Buffer.from([0]), lt: Buffer.from([99]) })
    await store.write([[Buffer.from([30]), undefined]], { durable: true })
    await store.close()
    const manifest = filesOf(data, MANIFEST)[0]!
    const bytes = readFileSync(join(data, manifest))
    const values = await dumpAndClose(level(copyOf(data)))
    const flipped = Array.from(bytes, (byte, at) =>
      Buffer.concat([bytes.subarray(0, at), Buffer.of(byte ^ (1 << (at % 8))), bytes.subarray(at + 1)]),
    )
    const cut = Array.from(bytes, (_, at) => bytes.subarray(0, at))
    for (const changed of [...flipped, ...cut].filter((_, at) => at % 23 === 0)) {
      const copy = copyOf(data)
      writeFileSync(join(copy, manifest), changed)
      expect((await checkFiles(copy)).faults).not.toEqual([])
      expect((await salvage(copy)).lost).toEqual([])
      expect(await dumpAndClose(level(copy))).toEqual(values)
    }
    const copy = copyOf(data)
    writeFileSync(join(copy, manifest), Buffer.concat([bytes, bytes.subarray(0, 20)]))
    expect(await checkFiles(copy)).toMatchObject({ ok: true, torn: [manifest] })
    expect(await dumpAndClose(level(copy))).toEqual(values)
  })

  test('if the MANIFEST ends in ways that LevelDB does not take for an edit that was being written', async () => {
    const data = join(directory(), 'data')
    const store = await level(data)
    for (let n = 0; n < 5; n++) await store.write([[Buffer.of(n), Buffer.alloc(100, n)]], { durable: true })
    await store.close()
    const manifest = filesOf(data, MANIFEST)[0]!
    const edits = readFileSync(join(data, manifest))
    const values = await dumpAndClose(level(copyOf(data)))
    // A legal edit that fills most of a block: where the next compaction of level 1 begins.
    const wide = piece(1, Buffer.concat([Buffer.of(5, 1, 0xe0, 0xda, 0x01), Buffer.alloc(28_000, 7)]))
    const begun = Buffer.concat([edits, wide])
    const left = 32_768 - begun.length - 7
    const tooLong = piece(2, Buffer.alloc(left, 1))
    tooLong.writeUInt16LE(40_000, 4)
    for (const [end, ok] of [
      [Buffer.alloc(0), true],
      [Buffer.alloc(4096), true],
      [piece(2, Buffer.alloc(left, 1)), true],
      [Buffer.concat([piece(2, Buffer.alloc(left, 1)), Buffer.alloc(4096)]), false],
      [tooLong, false],
    ] as const) {
      const copy = copyOf(data)
      writeFileSync(join(copy, manifest), Buffer.concat([begun, end]))
      expect((await checkFiles(copy)).ok).toBe(ok)
      expect((await salvage(copy)).faults.length > 0).toBe(!ok)
      expect(await dumpAndClose(level(copy))).toEqual(values)
    }
  })

  /** A piece of a record of a log, of one of the four types. */
  function piece(type: number, data: Buffer): Buffer {
    const header = Buffer.alloc(7)
    const bytes = Buffer.concat([header, data])
    bytes.writeUInt16LE(data.length, 4)
    bytes[6] = type
    bytes.writeUInt32LE(masked(crc32c(bytes, 6, bytes.length)), 0)
    return bytes
  }

  const eachTable = (data: string, damage: (path: string) => void): void => {
    for (const name of filesOf(data, TABLE)) damage(join(data, name))
  }

  test('of what was written last: older versions and deleted keys stay gone, even with all files read', async () => {
    const data = join(directory(), 'data')
    const bytes = (text: string) => Buffer.from(text)
    for (const round of ['1', '2', '3']) {
      const store = await level(data)
      await store.write(
        [
          [bytes('a'), bytes(round)],
          [bytes(`b${round}`), bytes(round)],
          [bytes('b1'), round === '1' ? bytes('1') : undefined],
        ],
        {
          durable: true,
        },
      )
      await store.close()
    }
    const values = await dumpAndClose(level(data))
    const copy = join(directory(), 'copy')
    cpSync(data, copy, { recursive: true })
    flip(join(copy, filesOf(copy, MANIFEST)[0]!), 20)
    expect(await salvage(copy)).toMatchObject({ lost: [], entries: 3 })
    expect(await dumpAndClose(level(copy))).toEqual(values)
  })
})

test('what was lost is counted for each file; damaged files are kept, each time in a directory of their own', async () => {
  const data = await copied()
  const [table, log] = [filesOf(data, TABLE)[0]!, filesOf(data, LOG)[0]!]
  flip(join(data, table), 30)
  flip(join(data, log), 30)
  const bytes = readFileSync(join(data, table))
  const first = await salvage(data)
  expect([...new Set(first.faults.map(({ file }) => file))]).toEqual([table, log])
  expect(first.lost).toEqual(
    expect.arrayContaining([
      { file: table, parts: 1 },
      { file: log, parts: 1 },
    ]),
  )
  expect(readFileSync(join(data, 'damaged-1', table))).toEqual(bytes)
  expect(JSON.parse(readFileSync(join(data, 'damaged-1', 'report.json'), 'utf8'))).toEqual({ ...first, kept: 'damaged-1' })
  expect(await salvage(data)).toEqual({ faults: [], lost: [], entries: 0 })
  mkdirSync(join(data, 'damaged-2'))
  rmSync(join(data, 'CURRENT'))
  expect(await salvage(data)).toMatchObject({ kept: join(data, 'damaged-2') })
  rmSync(join(data, 'CURRENT'))
  expect(await salvage(data)).toMatchObject({ kept: join(data, 'damaged-3') })
  expect(readFileSync(join(data, 'damaged-1', table))).toEqual(bytes)
})

test.each([
  ['data', 40],
  ['length', 4],
  ['checksum', 0],
])('of batches side by side in a log, all but the one with damage to its %s are read', async (_, at) => {
  const data = join(directory(), 'data')
  const store = await level(data)
  for (let n = 0; n < 9; n++) await store.write([[Buffer.of(n), Buffer.alloc(100, n)]], { durable: true })
  await store.close()
  const values = await dumpAndClose(level(copyOf(data)))
  const log = filesOf(data, LOG)[0]!
  const length = readFileSync(join(data, log)).length / 9
  flip(join(data, log), 4 * length + at)
  expect(await checkFiles(data)).toMatchObject({
    ok: false,
    faults: [
      { file: log, at: 4 * length },
      { file: log, at: 5 * length },
    ],
  })
  expect(await salvage(data)).toMatchObject({ lost: [{ file: log, parts: 1 }], entries: 8 })
  expect(await dumpAndClose(level(data))).toEqual(values.filter((_, n) => n !== 4))
})

test('a table that is empty, or cut off between two blocks, counts as lost in one part', async () => {
  const whole = (await twin()).values.length
  const sizes = new Set<number>()
  const data = await copied()
  const [table] = filesOf(data, TABLE)
  const bytes = readFileSync(join(data, table!))
  for (const size of [0, firstBlockOf(bytes)]) {
    const copy = copyOf(data)
    writeFileSync(join(copy, table!), bytes.subarray(0, size))
    const { lost, entries } = await salvage(copy)
    expect(lost).toEqual([{ file: table, parts: 1 }])
    sizes.add(entries)
  }
  expect(sizes.size).toBe(2)
  expect(Math.max(...sizes)).toBeLessThan(whole)
})

/** Where the first block of a table ends, with its trailer. */
function firstBlockOf(bytes: Buffer): number {
  for (let end = 1; ; end++) if (bytes[end]! <= 1 && masked(crc32c(bytes, 0, end + 1)) === bytes.readUInt32LE(end + 1)) return end + 5
}

describe('a salvage that is killed', () => {
  /** Lets so many renames happen, and none after them. */
  function killAfter(renames: number): { readonly killed: () => boolean } {
    const { rename } = fs.promises
    let [left, killed] = [renames, false]
    vi.spyOn(fs.promises, 'rename').mockImplementation(async (from, to) => {
      if (left-- > 0) return rename(from, to)
      killed = true
      throw new Error('killed')
    })
    return { killed: () => killed }
  }

  test('between any two steps is completed by the next one; meanwhile the store is the old one, or is not opened', async () => {
    const seen = new Set<string>()
    for (let renames = 0; ; renames++) {
      const data = await copied()
      const [table] = filesOf(data, TABLE)
      flip(join(data, table!), 30)
      const old = filesOf(data, ANY)
      const { killed } = killAfter(renames)
      const error = await errorOf(() => salvage(data)).catch(() => undefined)
      vi.restoreAllMocks()
      if (!killed()) break
      expect(error).toMatchObject({ code: 'STORE_FAILED' })
      const { code } = await errorOf(() => level(data))
      seen.add(String(code))
      if (code === 'CORRUPT') expect(filesOf(data, ANY)).toEqual(old)
      // A CURRENT among other files than all the old ones is the new one, and comes last.
      const isOld = old.every((name) => existsSync(join(data, name)))
      if (existsSync(join(data, 'CURRENT')) && !isOld) expect((await checkFiles(data)).faults).toEqual([])
      const { salvaged } = await repaired(data)
      expect(salvaged).toMatchObject({ lost: [{ file: table, parts: 1 }], kept: join(data, 'damaged-1') })
      expect(filesOf(salvaged.kept!, ANY)).toEqual(old)
      if (renames % 5 === 0) await completes(data)
    }
    expect([...seen].sort()).toEqual(['CORRUPT', 'STORE_UNREPAIRED'])
  })

  test('while it removes its traces leaves the new store', async () => {
    const data = await copied()
    flip(join(data, filesOf(data, TABLE)[0]!), 30)
    const { rm } = fs.promises
    vi.spyOn(fs.promises, 'rm').mockImplementation(async (path, options) => {
      if (!existsSync(join(data, 'salvage', 'taken'))) return rm(path, options)
      throw new Error('killed')
    })
    expect(await errorOf(() => salvage(data))).toMatchObject({ code: 'STORE_FAILED' })
    vi.restoreAllMocks()
    expect(await errorOf(() => level(data))).toMatchObject({ code: 'STORE_UNREPAIRED' })
    expect(await salvage(data)).toEqual({ faults: [], lost: [], entries: 0 })
    expect(filesOf(data, /salvage/)).toEqual([])
    await worksAgain(data)
  })

  test('or aborted, or fails before the exchange leaves the old files as they were', async () => {
    const data = await copied()
    flip(join(data, filesOf(data, TABLE)[0]!), 30)
    const names = readdirSync(data)
    const stop = new AbortController()
    const onFile = () => stop.abort(new Error('enough'))
    await expect(salvage(data, { signal: stop.signal, onFile })).rejects.toThrow('enough')
    expect(readdirSync(data)).toEqual(names)
  })
})

describe('a salvage', () => {
  const openElsewhere = (data: string): string =>
    execFileSync(process.execPath, [
      '--input-type=module',
      '-e',
      `import { ClassicLevel } from 'classic-level'
       const db = new ClassicLevel(${JSON.stringify(data)})
       console.log(await db.open().then(() => 'open', (error) => error.cause.code))`,
    ])
      .toString()
      .trim()

  test('keeps other processes out from its first look at the files to the exchange', async () => {
    const data = await copied()
    flip(join(data, filesOf(data, TABLE)[0]!), 30)
    const seen: string[] = []
    const { rename } = fs.promises
    vi.spyOn(fs.promises, 'rename').mockImplementation(async (from, to) => {
      await rename(from, to)
      if (String(to).endsWith('CURRENT')) seen.push(openElsewhere(data))
    })
    await salvage(data, { onFile: () => void (seen.length === 0 && seen.push(openElsewhere(data))) })
    expect(seen).toEqual(['LEVEL_LOCKED', 'LEVEL_LOCKED', 'LEVEL_LOCKED'])
    expect(openElsewhere(data)).toBe('open')
  })

  test('gives what can be read to whoever may refuse it, in order, before it changes anything', async () => {
    const data = await copied()
    flip(join(data, filesOf(data, TABLE)[0]!), 30)
    const names = readdirSync(data)
    const given: string[] = []
    const refuse: SalvageOptions['refuse'] = async (entries) => {
      for await (const part of entries) given.push(...part.map(([key]) => Buffer.from(key).toString('hex')))
      throw new FolioError('STORE_FORMAT', { found: 'too little' })
    }
    expect(await errorOf(() => salvage(data, { refuse }))).toMatchObject({ code: 'STORE_FORMAT', fields: { found: 'too little' } })
    expect(readdirSync(data)).toEqual(names)
    const { entries } = await salvage(data, { refuse: refuseForeign })
    expect(entries).toBe(given.length)
    expect(given).toEqual([...new Set(given)].sort())
  })

  test('is refused while the store is open, in whatever way, and where there is none', async () => {
    const data = await copied()
    const store = await level(data)
    expect(await errorOf(() => salvage(data))).toMatchObject({ code: 'STORE_LOCKED', fields: { location: data } })
    await store.close()
    expect(await salvage(data)).toEqual({ faults: [], lost: [], entries: 0 })
    const empty = directory()
    for (const path of [empty, join(empty, 'nothere')]) expect(await errorOf(() => salvage(path))).toMatchObject({ code: 'STORE_MISSING' })
    expect(readdirSync(empty)).toEqual([])
    // A loss of power may leave CURRENT without the MANIFEST that it names, before anything is written.
    writeFileSync(join(empty, 'CURRENT'), 'MANIFEST-000001\n')
    expect(await salvage(empty)).toEqual({ faults: [], lost: [], entries: 0 })
    for (const checkFiles of [true, false])
      expect(await errorOf(() => level(empty, { mustExist: true, checkFiles }))).toMatchObject({ code: 'STORE_MISSING' })
    await (await level(empty, { checkFiles: false })).close()
    expect(await errorOf(() => salvage(data, { cut: true } as object))).toMatchObject({ code: 'BAD_REQUEST', fields: { field: 'cut' } })
  })
})
