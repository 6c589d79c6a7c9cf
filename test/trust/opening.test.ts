/** Opening: data that went back in time, files that are damaged, stores that are held elsewhere or are not ours: each is reported, and none hangs. */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { checkFiles, level } from '../../adapters/level/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type Ledger, type LedgerOptions, openLedger, repairStore } from '../../src/index.ts'
import { directory } from '../support/directory.ts'
import { dump } from '../support/dump.ts'
import { errorOf } from '../support/errors.ts'

const closes = [...generate({ ledgers: 30, seed: 9, accounts: 16, transactionsPerLedger: 6, firstLedger: 100 })]

async function held<T>(data: string, work: (ledger: Ledger) => Promise<T>, options: LedgerOptions = {}): Promise<T> {
  await using ledger = await openLedger(level(data), options)
  return await work(ledger)
}

const newest = async (ledger: Ledger): Promise<number> => ledger.head!.last

const fileOf = (data: string, pattern: RegExp): string => join(data, readdirSync(data).find((name) => pattern.test(name))!)

describe('data that went back in time', () => {
  /** A store of 20 ledgers whose files were replaced by those of 10. */
  async function older(): Promise<string> {
    const [data, copy] = [join(directory(), 'data'), directory()]
    await held(data, (ledger) => ledger.ingest(closes.slice(0, 10)))
    cpSync(data, copy, { recursive: true })
    await held(data, (ledger) => ledger.ingest(closes.slice(10, 20)))
    const note = readFileSync(join(data, 'HIGH-WATER'))
    rmSync(data, { recursive: true })
    cpSync(copy, data, { recursive: true })
    writeFileSync(join(data, 'HIGH-WATER'), note)
    return data
  }

  test('is noticed, and says what to do', async () => {
    const data = await older()
    const error = await errorOf(() => openLedger(level(data)))
    expect(error).toMatchObject({ code: 'STORE_WENT_BACK', fields: { noted: 119, held: 109 } })
    expect(error.message).toMatch(/folio repair/)
  })

  test('can be built on after a repair, which says what is lost', async () => {
    const data = await older()
    const store = await level(data)
    const report = await repairStore(store)
    expect(report.lost).toMatchObject([{ key: '04', reason: 'ledgers 110 to 119 were held, and are gone' }])
    await store.close()
    await held(data, (ledger) => ledger.ingest(closes))
    expect(await held(data, async (ledger) => ledger.head!.last)).toBe(129)
  })

  test('is not what a rollback, a whole copy put back, or a missing note amounts to', async () => {
    const [data, copy] = [join(directory(), 'data'), directory()]
    await held(data, (ledger) => ledger.ingest(closes.slice(0, 10)))
    cpSync(data, copy, { recursive: true })
    await held(data, async (ledger) => {
      await ledger.ingest(closes)
      await ledger.rollback(104)
    })
    await held(data, async (ledger) => void expect(ledger.head!.last).toBe(104))
    await held(data, (ledger) => ledger.rollback(0))
    await held(data, async (ledger) => void expect(ledger.head).toBeUndefined())
    await held(copy, async (ledger) => void expect(ledger.head!.last).toBe(109))
    writeFileSync(join(copy, 'HIGH-WATER'), Buffer.alloc(80))
    await held(copy, (ledger) => ledger.ingest(closes))
    rmSync(join(copy, 'HIGH-WATER'))
    await held(copy, async (ledger) => void expect(ledger.head!.last).toBe(129))
  })

  test('cannot be judged by a damaged note: that is CORRUPT, until a repair', async () => {
    const data = join(directory(), 'data')
    await held(data, (ledger) => ledger.ingest(closes.slice(0, 10)))
    flip(join(data, 'HIGH-WATER'), 0.5)
    expect(await errorOf(() => openLedger(level(data)))).toMatchObject({ code: 'CORRUPT', fields: { key: '04' } })
    const store = await level(data)
    expect(await repairStore(store)).toMatchObject({ repaired: 1, lost: [], after: { ok: true, last: 109 } })
    await store.close()
    await held(data, async (ledger) => void expect(ledger.head!.last).toBe(109))
  })

  test('of another chain is noticed', async () => {
    const data = join(directory(), 'data')
    await held(data, (ledger) => ledger.ingest(closes.slice(0, 10)))
    const note = readFileSync(join(data, 'HIGH-WATER'))
    rmSync(data, { recursive: true })
    await held(data, (ledger) => ledger.ingest(generate({ ledgers: 12, seed: 10, accounts: 16, firstLedger: 100 })))
    writeFileSync(join(data, 'HIGH-WATER'), note)
    expect(await errorOf(() => openLedger(level(data)))).toMatchObject({ code: 'STORE_WENT_BACK', fields: { ledger: 109 } })
  })
})

describe('files', () => {
  /** Each ledger in a record of the log by itself. */
  async function files(): Promise<string> {
    const data = join(directory(), 'data')
    for (const part of [closes.slice(0, 10), closes.slice(10, 20), closes.slice(20)])
      await held(data, (ledger) => ledger.ingest(part, { batch: 1 }))
    return data
  }

  test('that are whole pass; a second opening while a process has them open is only STORE_LOCKED', async () => {
    const data = await files()
    expect(await checkFiles(data)).toMatchObject({ ok: true, faults: [], torn: [] })
    await held(data, async () => {
      expect(await errorOf(() => level(data))).toMatchObject({ code: 'STORE_LOCKED' })
    })
  })

  test.each([
    ['a bit of a table', /\.ldb$/, (path: string) => flip(path, 0.3)],
    ['the end of a table', /\.ldb$/, (path: string) => truncateSync(path, statSync(path).size - 1)],
    ['a bit in the middle of the log', /\.log$/, (path: string) => flip(path, 0.4)],
    ['a bit of the MANIFEST', /^MANIFEST/, (path: string) => flip(path, 0.1)],
    ['a bit of the last edit of the MANIFEST', /^MANIFEST/, (path: string) => flip(path, 0.95)],
    ['CURRENT', /^CURRENT$/, (path: string) => writeFileSync(path, 'MANIFEST-999999\n')],
    ['the log', /\.log$/, (path: string) => rmSync(path)],
  ] as const)('that lost %s are named before LevelDB opens them', async (_, pattern, damage) => {
    const data = await files()
    const path = fileOf(data, pattern)
    damage(path)
    const report = await checkFiles(data)
    expect(report.ok).toBe(false)
    expect(join(data, report.faults[0]!.file)).toBe(path.endsWith('CURRENT') ? join(data, 'MANIFEST-999999') : path)
    expect(await errorOf(() => level(data))).toMatchObject({ code: 'CORRUPT', fields: { location: data } })
  })

  test('whose newest log ends in a partly written record are whole, and open', async () => {
    const data = await files()
    const path = fileOf(data, /\.log$/)
    writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from([1, 2, 3, 4, 200, 0, 1, 9, 9])]))
    expect(await checkFiles(data)).toMatchObject({ ok: true, torn: [expect.stringMatching(/\.log$/)] })
    await held(data, async (ledger) => void expect(ledger.head!.last).toBe(129))
  })

  test.each([
    ['show no ledger that was rolled back', (data: string) => held(data, (ledger) => ledger.rollback(104)), {}, 104],
    ['keep the name of the network', (data: string) => held(data, newest, { network: 'one' }), { network: 'another' }, 'STORE_NETWORK'],
  ])('that lost a bit near their end %s', async (_, change, options, expected) => {
    const data = await files()
    await change(data)
    const path = fileOf(data, /\.log$/)
    const bytes = readFileSync(path)
    const outcomes: (number | string)[] = []
    // Of the last record, which says that the rollback is complete, or the name again; and of the one before it.
    for (const at of [...Array(60).keys(), 1000]) {
      const damaged = Uint8Array.from(bytes)
      damaged[bytes.length - 1 - at]! ^= 1
      const copy = join(directory(), 'copy')
      cpSync(data, copy, { recursive: true })
      writeFileSync(join(copy, basename(path)), damaged)
      outcomes.push(await held(copy, newest, options).catch((error) => error.code))
      rmSync(copy, { recursive: true })
    }
    expect([outcomes[0], outcomes.at(-1), new Set(outcomes)]).toEqual([expected, 'CORRUPT', new Set([expected, 'CORRUPT'])])
  })

  test('whose last records are cut off are whole, also if an empty log follows, but not if another record does', async () => {
    const data = await files()
    const path = fileOf(data, /\.log$/)
    const next = join(
      data,
      String(Number(/(\d+)\.log$/.exec(path)![1]) + 100)
        .padStart(6, '0')
        .concat('.log'),
    )
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.subarray(0, bytes.length - 9))
    writeFileSync(next, '')
    expect(await checkFiles(data)).toMatchObject({ ok: true, torn: [basename(path)] })
    writeFileSync(next, bytes)
    expect((await checkFiles(data)).faults).toContainEqual(expect.objectContaining({ file: basename(path), reason: 'a record is cut off' }))
  })

  test('that are nothing but long records of no use are soon given up, and looked at only as long as wanted', async () => {
    const data = await files()
    writeFileSync(fileOf(data, /\.log$/), Buffer.alloc(24 << 20, Buffer.from([4, 64])))
    await expect(checkFiles(data, { signal: AbortSignal.timeout(20) })).rejects.toThrow(/timeout/)
    expect(await checkFiles(data)).toMatchObject({ ok: true, torn: [expect.stringMatching(/\.log$/)] })
  })
})

function flip(path: string, share: number): void {
  const bytes = readFileSync(path)
  bytes[Math.floor(bytes.length * share)]! ^= 4
  writeFileSync(path, bytes)
}

describe('a store', () => {
  test('that a worker has open is STORE_LOCKED', async () => {
    const data = join(directory(), 'data')
    await (await level(data)).close()
    const worker = new Worker(
      `const { workerData, parentPort } = require('node:worker_threads')
       const { ClassicLevel } = require('classic-level')
       const db = new ClassicLevel(workerData)
       db.open().then(() => parentPort.postMessage('open'), (error) => parentPort.postMessage(String(error)))
       parentPort.once('message', () => db.close().then(() => parentPort.close()))`,
      { eval: true, workerData: data },
    )
    expect(await new Promise((resolve) => worker.once('message', resolve))).toBe('open')
    expect(await errorOf(() => openLedger(level(data)))).toMatchObject({ code: 'STORE_LOCKED' })
    worker.postMessage('close')
    await new Promise((resolve) => worker.once('exit', resolve))
    await held(data, async () => {})
  })

  test('of another network is rejected by name, and one without a name takes the first it is given', async () => {
    const disk = memoryDisk()
    await (await openLedger(memory(disk))).ingest(closes.slice(0, 3))
    await openLedger(memory(disk), { network: 'Public Network' })
    const error = await errorOf(() => openLedger(memory(disk), { network: 'Test Network' }))
    expect(error).toMatchObject({ code: 'STORE_NETWORK', fields: { found: 'Public Network', expected: 'Test Network' } })
    await openLedger(memory(disk), { network: 'Public Network' })
    await openLedger(memory(disk))
    const [one, other] = [memoryDisk(), memoryDisk()]
    await (await openLedger(memory(one), { network: 'Public Network' })).ingest(closes)
    const late = await openLedger(memory(other))
    await late.ingest(closes)
    await openLedger(memory(other), { network: 'Public Network' })
    expect(await dump(memory(other))).toEqual(await dump(memory(one)))
  })

  test('in a directory with other files leaves all but its own alone', async () => {
    const data = directory()
    mkdirSync(join(data, 'notes'))
    copyFileSync(new URL(import.meta.url), join(data, 'readme.txt'))
    await held(data, (ledger) => ledger.ingest(closes.slice(0, 2)))
    expect(readdirSync(data)).toEqual(expect.arrayContaining(['notes', 'readme.txt', 'HIGH-WATER']))
  })
})

describe('what LevelDB says', () => {
  const filesOf = (data: string) => readdirSync(data)
  async function sorted(): Promise<string> {
    const data = join(directory(), 'data')
    await held(data, (ledger) => ledger.ingest(closes.slice(0, 10)))
    await held(data, async () => {})
    return data
  }

  test('of a table that was cut off, or of a CURRENT that names no file, is CORRUPT', async () => {
    const data = await sorted()
    truncateSync(join(data, filesOf(data).find((name) => name.endsWith('.ldb'))!), 500)
    expect(await errorOf(() => openLedger(level(data, { checkFiles: false })))).toMatchObject({ code: 'CORRUPT' })
    const other = await sorted()
    writeFileSync(join(other, 'CURRENT'), 'MAOIFEST-000004\n')
    expect(await errorOf(() => level(other, { checkFiles: false }))).toMatchObject({ code: 'CORRUPT' })
  })
})
