/** `folio ingest`: what goes in, what is acknowledged, and what each rejection says. */
import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { openLedger } from '../../src/index.ts'
import { directory, folio, lines, ndjson, start } from './support.ts'

const closes = lines(6)
const acks = (count: number): string =>
  closes
    .slice(0, count)
    .map((_, at) => `{"ledger":${2_100_000 + at}}\n`)
    .join('')

const lastOf = async (data: string): Promise<number | undefined> => {
  await using ledger = await openLedger(level(data, { mustExist: true }))
  return ledger.head?.last
}

/** The closes, one of them changed. */
const changed = (at: number, change: (close: any) => void): string[] => {
  const close = JSON.parse(closes[at]!)
  change(close)
  return closes.with(at, JSON.stringify(close))
}

test('plain files, gzip and standard input are read one after another, and summed up in one line', async () => {
  const dir = directory()
  const data = join(dir, 'data')
  writeFileSync(join(dir, 'a.ndjson'), ndjson(closes.slice(0, 2)))
  writeFileSync(join(dir, 'b.ndjson.gz'), gzipSync(ndjson(closes.slice(2, 4))))
  const answer = await folio(['ingest', '--data', data, join(dir, 'a.ndjson'), join(dir, 'b.ndjson.gz'), '-'], {
    stdin: ndjson(closes.slice(4)),
  })
  expect(answer).toMatchObject({ code: 0, out: '' })
  expect(answer.err).toMatch(/^folio: ingested 6 ledgers; newest 2100005; [\d.]+ s, [\d,]+ ledgers\/s\n$/)
  expect(await lastOf(data)).toBe(2_100_005)
})

test('gzip on standard input is recognised by its first bytes', async () => {
  const answer = await folio(['ingest', '--data', join(directory(), 'data'), '-'], { stdin: gzipSync(ndjson(closes)) })
  expect(answer.code).toBe(0)
})

test('--json acknowledges each ledger with a line, even one already held, and sums up in JSON', async () => {
  const data = join(directory(), 'data')
  const first = await folio(['ingest', '--data', data, '--json', '-'], { stdin: ndjson(closes.slice(0, 4)) })
  expect(first).toMatchObject({ code: 0, out: acks(4) })
  const again = await folio(['ingest', '--data', data, '--json', '--batch', '4', '-'], { stdin: ndjson(closes) })
  expect(again).toMatchObject({ code: 0, out: acks(6) })
  expect(JSON.parse(again.err)).toEqual({ appended: 2, known: 4, last: 2_100_005, seconds: expect.any(Number) })
})

test('a ledger is acknowledged before the next has arrived', async () => {
  const stdin = new PassThrough()
  const running = start(['ingest', '--data', join(directory(), 'data'), '--json', '-'], { stdin })
  for (const [at, line] of closes.slice(0, 3).entries()) {
    stdin.write(`${line}\n`)
    await running.until('out', new RegExp(`{"ledger":${2_100_000 + at}}\n$`))
  }
  stdin.end()
  expect((await running.done).code).toBe(0)
})

test('a signal ends it after the batch in flight, even if standard input stays open', async () => {
  const stdin = new PassThrough()
  const running = start(['ingest', '--data', join(directory(), 'data'), '--json', '-'], { stdin })
  stdin.write(ndjson(closes.slice(0, 2)))
  await running.until('out', /{"ledger":2100001}\n$/)
  running.stop('SIGINT')
  const { code, err } = await running.done
  expect([code, JSON.parse(err)]).toMatchObject([130, { appended: 2 }])
  expect(stdin.destroyed).toBe(true)
})

const refusals: [name: string, input: () => string[], says: RegExp][] = [
  ['a malformed line', () => closes.with(3, '{"ledger":'), /^folio: MALFORMED_JSON: .*\(file: -, line: 4, column: 11, reason: /],
  ['a gap', () => closes.toSpliced(3, 1), /^folio: LEDGER_GAP: .*\(file: -, line: 4, sequence: 2100004, expected: 2100003\)/],
  [
    'a wrong prev_hash',
    () => changed(3, (close) => (close.ledger.prev_hash = 'ab'.repeat(32))),
    /^folio: PREV_HASH_MISMATCH: .*\(file: -, line: 4, sequence: 2100003, held: /,
  ],
  [
    'a different ledger with a known sequence',
    () => closes.with(3, changed(2, (close) => (close.ledger.hash = 'ab'.repeat(32)))[2]!),
    /^folio: LEDGER_FORK: .*\(file: -, line: 4, sequence: 2100002, /,
  ],
  [
    'a member of the wrong type',
    () => changed(3, (close) => (close.transactions = [{ account: 5 }])),
    /^folio: INVALID_INPUT: .*\(file: -, line: 4, ledger: 2100003, path: transactions\[0\]\.\w+, expected: /,
  ],
  [
    'a missing member, in a close whose sequence is unknown too',
    () => changed(3, (close) => delete close.ledger.sequence),
    /^folio: INVALID_INPUT: .*\(file: -, line: 4, path: ledger\.sequence, expected: /,
  ],
  ['a line that is not an object', () => closes.with(3, '[1'.slice(1)), /^folio: INVALID_INPUT: .*\(file: -, line: 4, /],
]

for (const [name, input, says] of refusals) {
  test.for([1, 2, 100])(`${name} is rejected by its line, and the ledgers before it stay (batches of %i)`, async (batch) => {
    const data = join(directory(), 'data')
    const { code, out, err } = await folio(['ingest', '--data', data, '--json', '--batch', String(batch), '-'], { stdin: ndjson(input()) })
    expect(code).toBe(1)
    const [error, sum, ...more] = err.trimEnd().split('\n')
    expect(error).toMatch(says)
    expect(JSON.parse(sum!)).toEqual({ appended: 3, known: 0, last: 2_100_002, seconds: expect.any(Number) })
    expect(more).toEqual([])
    expect(out).toBe(acks(3))
    expect(await lastOf(data)).toBe(2_100_002)
  })
}

test('truncated gzip is rejected by its file, and the ledgers before it stay', async () => {
  const path = join(directory(), 'cut.ndjson.gz')
  const packed = gzipSync(ndjson(lines(60)))
  writeFileSync(path, packed.subarray(0, packed.length - 9))
  const { code, err, out } = await folio(['ingest', '--data', join(directory(), 'data'), '--json', path])
  expect(code).toBe(1)
  const [error, sum, ...more] = err.trimEnd().split('\n')
  expect(error).toMatch(
    /^folio: MALFORMED_JSON: .*cut\.ndjson\.gz, reason: the gzip data is cut off in the line after the last one that was read\)$/,
  )
  const acknowledged = out.trimEnd().split('\n').length
  expect(acknowledged).toBeGreaterThan(20)
  expect([JSON.parse(sum!).appended, more]).toEqual([acknowledged, []])
})

test('an ingest that ends with an error says what it had done, and what the store holds', async () => {
  const data = join(directory(), 'data')
  const ingest = (input: readonly string[]) => folio(['ingest', '--data', data, '-'], { stdin: ndjson(input) })
  const error = 'folio: MALFORMED_JSON: .*'
  const first = await ingest([...closes.slice(0, 2), '{'])
  expect(first.err).toMatch(new RegExp(`^${error}\nfolio: before that, ingested 2 ledgers; newest 2100001\n$`))
  const second = await ingest([...closes.slice(0, 3), '{'])
  expect(second.err).toMatch(new RegExp(`^${error}\nfolio: before that, ingested 1 ledger, 2 held already; newest 2100002\n$`))
})

test('an ingest whose store is lost says what it had done', async () => {
  const data = join(directory(), 'data')
  const ingested = start(['ingest', '--data', data, '--json', '-'], { stdin: new PassThrough() })
  const stdin = ingested.stdin as PassThrough
  stdin.write(ndjson(closes.slice(0, 2)))
  await ingested.until('out', /2100001/)
  renameSync(data, `${data}-moved`)
  stdin.end(ndjson(closes.slice(2)))
  const { code, err } = await ingested.done
  expect(code).toBe(3)
  expect(err).toMatch(/^folio: STORE_MISSING: .*\n\{"appended":2,"known":0,"last":2100001,"seconds":[\d.]+\}\n$/)
})

test('a missing file is named before a store is made for it or any other file is read', async () => {
  const [dir, good] = [directory(), join(directory(), 'good.ndjson')]
  writeFileSync(good, ndjson(closes))
  const data = join(dir, 'data')
  for (const [path, reason] of [
    ['/nowhere/closes.ndjson', 'ENOENT'],
    [directory(), 'EISDIR'],
  ] as const) {
    const { code, err } = await folio(['ingest', '--data', data, good, path])
    expect(code).toBe(1)
    expect(err).toMatch(new RegExp(`^folio: cannot be read: ${reason}.*${path}`))
    expect(readdirSync(dir)).toEqual([])
  }
})

test('nothing of a pipe is lost by looking at it first', async () => {
  const [data, pipe] = [join(directory(), 'data'), join(directory(), 'pipe')]
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', pipe])
  const ingested = folio(['ingest', '--data', data, pipe])
  await writeFile(pipe, ndjson(closes))
  expect((await ingested).err).toMatch(/^folio: ingested 6 ledgers;/)
})

test('a file in place of the directory is said to be one, with advice that applies', async () => {
  const file = join(directory(), 'file')
  writeFileSync(file, '')
  const { code, err } = await folio(['ingest', '--data', file, '-'], { stdin: ndjson(closes) })
  expect(code).toBe(3)
  expect(err).toMatch(
    /^folio: STORE_MISSING: There is no ledger store here. Check the path: a store is a directory, .*is a file and not a directory/,
  )
})

test('a parent that is a file cannot hold a store', async () => {
  const file = join(directory(), 'file')
  writeFileSync(file, '')
  const { code, err } = await folio(['ingest', '--data', join(file, 'data'), '-'], { stdin: ndjson(closes) })
  expect(code).toBe(3)
  expect(err).toMatch(/^folio: STORE_MISSING: .*\(location: .*file\/data, reason: this path, or one that it begins with, is a file/)
})

// Permissions of a directory do not bind root.
test.skipIf(process.getuid?.() === 0)('a directory without permissions cannot hold a store (skipped for root, who may enter)', async () => {
  const dir = directory()
  chmodSync(dir, 0o500)
  const { code, err } = await folio(['ingest', '--data', join(dir, 'data'), '-'], { stdin: ndjson(closes) })
  expect(code).toBe(3)
  expect(err).toMatch(/^folio: STORE_DENIED: /)
})

test('a store that is open elsewhere is rejected with what to do', async () => {
  const data = join(directory(), 'data')
  await using _ = await openLedger(level(data))
  const { code, err } = await folio(['ingest', '--data', data, '-'], { stdin: ndjson(closes) })
  expect(code).toBe(3)
  expect(err).toMatch(/^folio: STORE_LOCKED: .*Close the other holder/)
})

test('an error quotes input without breaking its line or steering the terminal', async () => {
  const { err } = await folio(['ingest', '--data', join(directory(), 'data'), '-'], { stdin: '{"a":\u001b[31m}\n' })
  expect(err).toMatch(/^folio: MALFORMED_JSON: [^\u001b\n]*\nfolio: before that, ingested 0 ledgers; the store is empty\n$/)
})

test('FOLIO_DEBUG adds where an error came from', async () => {
  const { err } = await folio(['ingest', '--data', join(directory(), 'data'), '-'], { stdin: '{', env: { FOLIO_DEBUG: '1' } })
  expect(err).toMatch(/^folio: MALFORMED_JSON: .*\nFolioError: .*\n +at /)
  expect(err).toMatch(/caused by SyntaxError/)
})
