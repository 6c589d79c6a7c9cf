/** A directory is opened with all that its logs hold, even where LevelDB passes over one that it cannot open or read at that moment. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { afterEach, expect, test, vi } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { directory } from '../support/directory.ts'

const key = (n: number): Uint8Array => Uint8Array.of(1, n)
const text = (value: string): Uint8Array => new TextEncoder().encode(value)
/** A program that writes into a directory, as another process would. */
const WRITES = "new (require('classic-level').ClassicLevel)(process.argv[1]).put(Buffer.of(1, 4), 'newest', { keyEncoding: 'buffer' })"

const all = { gte: Uint8Array.of(0), lt: Uint8Array.of(255) }

afterEach(() => vi.restoreAllMocks())

const logsIn = (place: string): string[] => readdirSync(place).filter((name) => name.endsWith('.log'))

/** A database with this in its log: 1 deleted, 2 written twice, 3 as long as several blocks of the log, 4 written last. */
async function logged(): Promise<string> {
  const place = directory()
  const store = await level(place)
  const batches = [
    [1, text('deleted')],
    [2, text('old')],
    [3, new Uint8Array(100_000).fill(3)],
    [1, undefined],
    [2, text('new')],
    [4, text('last')],
  ] as const
  for (const [n, value] of batches) await store.write([[key(n), value]], { durable: true })
  await store.close()
  return place
}

async function expectAll(place: string): Promise<void> {
  const store = await level(place)
  const { entries } = await store.scan(all, { limit: 10 })
  await store.close()
  expect(entries.map(([[, n], value]) => [n, value.length > 9 ? value.length : new TextDecoder().decode(value)])).toEqual([
    [2, 'new'],
    [3, 100_000],
    [4, 'last'],
  ])
}

/** Has something done just before LevelDB opens the directory next. */
function before(meddle: () => void): void {
  const { open } = ClassicLevel.prototype
  vi.spyOn(ClassicLevel.prototype, 'open').mockImplementationOnce(function (this: ClassicLevel, ...given) {
    meddle()
    return open.apply(this, given)
  })
}

test('a log that LevelDB finds whole is not written again', async () => {
  const place = await logged()
  const batch = vi.spyOn(ClassicLevel.prototype, 'batch')
  await expectAll(place)
  expect(batch).not.toHaveBeenCalled()
})

test('a log that LevelDB cannot open is written again', async () => {
  const place = await logged()
  const [log] = logsIn(place)
  before(() => rmSync(join(place, log!)))
  await expectAll(place)
  await expectAll(place)
})

test('a log of which LevelDB cannot read a part is written again', async () => {
  const place = await logged()
  const path = join(place, logsIn(place)[0]!)
  before(() => {
    const damaged = readFileSync(path)
    // Another file under its name: the one that is held open stays as it was.
    rmSync(path)
    writeFileSync(path, damaged.fill(0xff, 40_000, 50_000))
  })
  await expectAll(place)
  await expectAll(place)
})

test('if LevelDB reads a later log and not the one before it, both are written again, in order', async () => {
  const place = directory()
  const store = await level(place)
  await store.write([[key(2), text('old')]], { durable: true })
  const path = join(place, logsIn(place)[0]!)
  await store.close()
  const first = readFileSync(path)
  // Within a block, records of a log say nothing of where they lie: those behind the first one make up a log of their own.
  const second = directory()
  const other = await level(second)
  await other.write([[key(2), text('old')]], { durable: true })
  await other.write([[key(2), text('new')]], { durable: true })
  await other.write([[key(4), text('last')]], { durable: true })
  await other.close()
  const rest = readFileSync(join(second, logsIn(second)[0]!)).subarray(first.length)
  writeFileSync(join(place, '000009.log'), rest)
  before(() => rmSync(path))
  const opened = await level(place)
  expect((await opened.scan(all, { limit: 10 })).entries.map(([[, n], value]) => [n, new TextDecoder().decode(value)])).toEqual([
    [2, 'new'],
    [4, 'last'],
  ])
  await opened.close()
})

test('what another process wrote in between stays', async () => {
  const place = await logged()
  before(() => void execFileSync(process.execPath, ['-e', WRITES, place]))
  const store = await level(place)
  expect(await store.get(key(4))).toEqual(Buffer.from('newest'))
  await store.close()
})

test('if it cannot be written again, the open fails, and the directory is free', async () => {
  const place = await logged()
  const [log] = logsIn(place)
  before(() => renameSync(join(place, log!), join(place, 'hidden')))
  vi.spyOn(ClassicLevel.prototype, 'batch').mockImplementationOnce(() => {
    throw Object.assign(new Error('IO error: no space left'), { code: 'LEVEL_IO_ERROR' })
  })
  await expect(level(place)).rejects.toEqual(expect.objectContaining({ code: 'STORE_FAILED' }))
  await (await level(place)).close()
})
