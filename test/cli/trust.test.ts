/** The commands of trust: verify, repair, export, copy, rollback, prune. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { encodeDigest } from '../../src/layout/digest.ts'
import { encodeIntent } from '../../src/layout/head.ts'
import { digestKey } from '../../src/layout/keys.ts'
import { hex } from '../support/dump.ts'
import { damage, directory, failing, folio, lines, ndjson, type Running, start } from './support.ts'

const FIRST = 2_100_000
const closes = lines(40)

async function stored(): Promise<string> {
  const data = join(directory(), 'data')
  await folio(['ingest', '--data', data, '--batch', '50', '-'], { stdin: ndjson(closes) })
  return data
}

const digestOf = (text: string): string => /digest ([0-9a-f]{64})/.exec(text)![1]!

test('a whole store is reported as whole, in a line or in JSON', async () => {
  const data = await stored()
  const { code, out } = await folio(['verify', '--data', data])
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^whole: 40 ledgers, 2100000 to 2100039, [\d,]+ records, /) })
  const json = await folio(['verify', '--data', data, '--json'])
  expect(JSON.parse(json.out)).toMatchObject({ ok: true, faults: [], ledgers: 40, oldest: FIRST, last: FIRST + 39 })
})

test('a damaged store is reported as damaged, each fault by its key, with exit code 8', async () => {
  const data = await stored()
  await damage(data, '1003000000000001', Buffer.from('nonsense'))
  const { code, out } = await folio(['verify', '--data', data])
  expect(code).toBe(8)
  expect(out).toMatch(/^1003000000000001: the checksum does not match \(ledger \d+\)\nDAMAGED: 1 fault; /m)
  const json = await folio(['verify', '--data', data, '--json'])
  expect(json.code).toBe(8)
  expect(JSON.parse(json.out)).toMatchObject({ ok: false, faultCount: 1, faults: [{ key: '1003000000000001' }] })
})

test.for(['verify', 'repair'])('%s ends if nobody reads its faults', async (command) => {
  const data = await stored()
  for (const key of ['1003000000000001', '1003000000000002']) await damage(data, key, Buffer.from('nonsense'))
  expect(await folio([command, '--data', data], { stdout: failing('EPIPE', 1) })).toMatchObject({ code: 141, err: '' })
})

test.for(['verify', 'verify --json', 'verify --files', 'repair'])('a signal ends folio %s', async (command) => {
  const data = await stored()
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const running = start([...command.split(' '), '--data', data])
    running.stop(signal)
    expect(await running.done).toEqual({ code, out: '', err: '' })
  }
})

test('what follows from the records is repaired; lost records are listed, and with --cut history ends before them', async () => {
  const data = await stored()
  await damage(data, '00', undefined)
  expect(await folio(['repair', '--data', data])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nrepaired: [\d,]+ values; ledgers /),
  })
  expect((await folio(['verify', '--data', data])).code).toBe(0)
  await damage(data, '1003000000000001', undefined)
  const lost = await folio(['repair', '--data', data])
  expect(lost).toMatchObject({
    code: 8,
    out: expect.stringMatching(/cannot be saved:\n(1003000000000001: .*\(ledger \d+\)\n){4}0 values repaired, 4 LOST/),
  })
  const cut = await folio(['repair', '--data', data, '--cut', '--json'])
  expect(cut.code).toBe(0)
  const { cutAfter } = JSON.parse(cut.out)
  await folio(['ingest', '--data', data, '-'], { stdin: ndjson(closes.slice(cutAfter - FIRST + 1)) })
  expect((await folio(['verify', '--data', data])).out).toMatch(/^whole: 40 ledgers/)
})

test('records that are lost are taken from closes that are given, of which others are named and not used', async () => {
  const data = await stored()
  const keys = ['1003000000000001', '1005000000000000', '2004']
  const spoil = async (): Promise<void> => {
    for (const key of keys) await damage(data, key, Buffer.from('nonsense'))
  }
  await spoil()
  const stdin = ndjson(closes)
  expect(await folio(['repair', '--data', data, '--closes', '-'], { stdin })).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nrepaired: 3 values; ledgers 2100000 to 2100039\n$/),
  })
  expect(await folio(['verify', '--data', data])).toMatchObject({ code: 0, out: expect.stringMatching(/^whole: 40 ledgers/) })
  const digest = JSON.parse((await folio(['info', '--data', data, '--json'])).out).digest
  await spoil()
  const others = join(directory(), 'others.ndjson')
  writeFileSync(others, ndjson(closes.map((line) => line.replace('"memo_type"', '"memo":"other","memo_type"'))))
  const refused = await folio(['repair', '--data', data, '--closes', others])
  expect(refused).toMatchObject({
    code: 8,
    out: expect.stringMatching(/\nledger 21000\d\d was given: the close is not the one that was appended: /),
  })
  writeFileSync(others, `${closes[0]}\n{"half`)
  const broken = await folio(['repair', '--data', data, '--closes', others])
  expect(broken).toMatchObject({ code: 1, err: expect.stringContaining('MALFORMED_JSON') })
  expect((await folio(['repair', '--data', data, '--closes', join(directory(), 'none')])).err).toContain('ENOENT')
  expect((await folio(['repair', '--data', data, '--closes', '-', '--json'], { stdin })).code).toBe(0)
  expect(JSON.parse((await folio(['info', '--data', data, '--json'])).out).digest).toBe(digest)
})

test('a signal ends a repair that waits for closes; what could be repaired without them is, and nothing is cut', async () => {
  const data = await stored()
  for (const key of ['1003000000000001', '2004']) await damage(data, key, Buffer.from('nonsense'))
  let ask = (): void => {}
  const asked = new Promise<void>((resolve) => {
    ask = resolve
  })
  const stdin = new Readable({ read: () => ask() })
  const running = start(['repair', '--data', data, '--cut', '--closes', '-'], { stdin })
  await asked
  running.stop('SIGINT')
  expect(await running.done).toMatchObject({ code: 130, err: '' })
  expect(stdin.destroyed).toBe(true)
  expect(await folio(['verify', '--data', data])).toMatchObject({
    code: 8,
    out: expect.stringMatching(/^1003000000000001: .*\nDAMAGED: 1 fault; 40 ledgers, .* bytes\n$/),
  })
})

test('a store is served around records that are lost before they were filed, and nothing is appended to it', async () => {
  const data = await stored()
  await damage(data, '1003000000000001', undefined)
  const running = start(['serve', '--data', data, '--port', '0'])
  const [, url] = await running.until('err', /serving .* at (http:\S+), .*\n.*: records are damaged, so nothing can be appended: .*\n/)
  const status = async (path: string): Promise<number> => (await fetch(url + path)).status
  expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'poisoned', history: { last_ledger: FIRST + 39 } })
  expect(await Promise.all(['/ledgers?limit=40', '/transactions', '/operations?limit=16', '/operations'].map(status))).toEqual([
    200, 200, 200, 200,
  ])
  expect(await status('/operations?limit=17')).toBe(500)
  running.stop()
  await running.done
  const refused = await folio(['ingest', '--data', data, '-'], { stdin: ndjson(lines(41).slice(40)) })
  expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('CORRUPT') })
  const [copy, backup] = [join(directory(), 'copy'), await stored()]
  expect(await folio(['copy', '--from', data, '--to', copy])).toMatchObject({
    code: 8,
    err: expect.stringMatching(/^folio: CORRUPT: .*\nfolio: .*copy is not complete, and cannot be opened; copying again begins anew\n$/),
  })
  const compared = await folio(['copy', '--from', data, '--to', backup])
  expect(compared).toMatchObject({ code: 8, err: expect.stringMatching(/both hold 40 ledgers.*\n.*: records of the source are damaged: /) })
})

test('damaged files are reported by verify with and without --files, and salvaged by repair; copy then brings the rest back', async () => {
  const [data, dir] = [await stored(), directory()]
  // Opened once more, what the log held is in a table.
  await (await level(data)).close()
  const backup = join(dir, 'backup')
  await folio(['copy', '--from', data, '--to', backup])
  const table = readdirSync(data).find((name) => name.endsWith('.ldb'))!
  const bytes = readFileSync(join(data, table))
  for (const at of [0.2, 0.5, 0.8]) bytes[Math.floor(bytes.length * at)]! ^= 4
  writeFileSync(join(data, table), bytes)
  const line = new RegExp(`^${table} at byte \\d+: the checksum of a block does not match\nfiles DAMAGED: 1 fault: `)
  const found = await folio(['verify', '--data', data, '--files'])
  expect(found).toMatchObject({ code: 8, out: expect.stringMatching(line), err: '' })
  expect(await folio(['verify', '--data', data])).toEqual(found)
  const plain = join(dir, 'plain')
  cpSync(data, plain, { recursive: true })

  const salvaged = /: 3 blocks or records cannot be read\nfiles salvaged: [\d,]+ values; the damaged files are in .*\/damaged-1\n/
  const lost = await folio(['repair', '--data', plain])
  expect(lost).toMatchObject({ code: 8, out: expect.stringMatching(salvaged), err: '' })
  expect(await folio(['verify', '--data', plain, '--files'])).toMatchObject({ code: 8, out: expect.stringMatching(/^files whole: /m) })
  const cut = await folio(['repair', '--data', data, '--cut', '--json'])
  expect(cut.code).toBe(0)
  expect(JSON.parse(cut.out)).toMatchObject({
    files: { faults: [{ file: table }], lost: [{ file: table, parts: 3 }], kept: join(data, 'damaged-1') },
    lost: [],
    cutAfter: expect.any(Number),
  })
  const copied = await folio(['copy', '--from', backup, '--to', data])
  expect(copied).toMatchObject({ code: 0, err: expect.stringMatching(/^folio: copied 304 values, .*\nfolio: both hold 40 ledgers, /) })
  expect((await folio(['verify', '--data', data, '--files'])).out).toMatch(/^files whole: .*\nwhole: 40 ledgers/)
  expect((await folio(['repair', '--data', data])).out).toMatch(/^repaired: 0 values; /)
})

test('what is not a store is rejected as such, whether or not its files are to be checked first', async () => {
  const [dir, other, lost] = [directory(), directory(), await stored()]
  writeFileSync(join(other, 'notes.txt'), 'not a store')
  for (const [data, error] of [
    [join(dir, 'nothere'), 'STORE_MISSING'],
    [dir, 'STORE_MISSING'],
    [other, 'STORE_MISSING'],
    [join(other, 'notes.txt'), 'STORE_MISSING'],
  ] as const) {
    const plain = await folio(['verify', '--data', data])
    expect(plain).toMatchObject({ code: 3, err: expect.stringMatching(new RegExp(`^folio: ${error}: .*location: ${data}`)) })
    expect(await folio(['verify', '--data', data, '--files'])).toEqual(plain)
  }
  rmSync(join(lost, 'CURRENT'))
  expect(await folio(['verify', '--data', lost, '--files'])).toMatchObject({
    code: 8,
    out: expect.stringMatching(/^CURRENT: it is missing\n/),
  })
})

test('an unfinished change is reported by verify and repair, with what finishes it', async () => {
  const data = await stored()
  await damage(data, '02', encodeIntent({ rollback: FIRST + 29 }))
  const rest = '; a rollback is unfinished, which opening the store finishes\n'
  expect(await folio(['verify', '--data', data])).toMatchObject({ code: 0, out: expect.stringMatching(new RegExp(`^whole: .*${rest}$`)) })
  const repaired = `repaired: 0 values; ledgers ${FIRST} to ${FIRST + 39}${rest}`
  expect(await folio(['repair', '--data', data])).toMatchObject({ code: 0, out: repaired })
  await damage(data, '02', encodeIntent({ repair: true, unfinished: { rollback: FIRST + 29 } }))
  expect((await folio(['verify', '--data', data])).out).toMatch(/; a repair is unfinished, which folio repair finishes\n$/)
  expect(await folio(['repair', '--data', data])).toMatchObject({ code: 0, out: repaired })
  expect((await folio(['get', '/ledgers?order=desc&limit=1', '--data', data])).out).toContain(`"sequence":${FIRST + 29},`)
  expect((await folio(['verify', '--data', data])).out).toMatch(/^whole: 30 ledgers.* bytes\n$/)
})

test('a store of which nothing tells where its history ends is not opened, and repair says what ends it', async () => {
  const data = await stored()
  await damage(data, hex(digestKey(FIRST + 40)), encodeDigest(FIRST + 40, new Uint8Array(32)))
  const repaired = await folio(['repair', '--data', data])
  expect(repaired).toMatchObject({ code: 8, out: expect.stringMatching(/\ncannot be saved:\n00: the head is older than /) })
  expect(repaired.out).toMatch(/; without the head, nothing tells where history ends, .* run it again with --cut to end it there\n$/)
  const closed = await folio(['get', '/ledgers', '--data', data])
  expect(closed).toMatchObject({ out: '', err: expect.stringMatching(/^folio: STORE_UNREPAIRED: .* add --cut\. \(location: /) })
  const cut = await folio(['repair', '--data', data, '--cut'])
  expect(cut).toMatchObject({ code: 0, out: expect.stringMatching(new RegExp(`; history was cut after ledger ${FIRST + 39}, `)) })
  expect((await folio(['get', '/ledgers', '--data', data])).code).toBe(0)
})

test('what is exported and ingested gives the same lines and the same digest', async () => {
  const [data, dir] = [await stored(), directory()]
  const whole = await folio(['export', '--data', data])
  expect(whole.code).toBe(0)
  expect(whole.err).toMatch(/^folio: exported 40 ledgers, 2100000 to 2100039; digest [0-9a-f]{64}\n$/)
  const again = join(dir, 'again')
  await folio(['ingest', '--data', again, '-'], { stdin: whole.out })
  expect(await folio(['export', '--data', again])).toEqual(whole)
  expect(await folio(['export', '--data', again, '--out', '-'])).toEqual(whole)

  const [packed, plain] = [join(dir, 'a.ndjson.gz'), join(dir, 'b.ndjson')]
  await folio(['export', '--data', data, '--out', packed])
  expect(gunzipSync(readFileSync(packed)).toString()).toBe(whole.out)
  await folio(['export', '--data', data, '--out', plain, '--to', String(FIRST + 9)])
  const rest = await folio(['export', '--data', data, '--from', String(FIRST + 10)])
  expect(readFileSync(plain, 'utf8') + rest.out).toBe(whole.out)
  expect((await folio(['export', '--data', data, '--to', '9999999'])).code).toBe(2)
})

test.for(['closes.ndjson', 'closes.ndjson.gz'])(
  'an export to %s replaces what was there once it is complete, and not before',
  async (name) => {
    const [data, dir] = [await stored(), directory()]
    const [out, link] = [join(dir, name), join(dir, `link-${name}`)]
    writeFileSync(out, 'the last backup', { mode: 0o640 })
    symlinkSync(out, link)
    const kept = (): void => {
      expect(readFileSync(out, 'utf8')).toBe('the last backup')
      expect(readdirSync(dir).sort()).toEqual([name, `link-${name}`])
    }
    const write = (...more: string[]): Running => start(['export', '--data', data, '--out', link, ...more])
    for (const [code, range] of [
      [1, ['--from', '5']],
      [2, ['--to', '9999999']],
      [2, ['--from', String(FIRST + 5), '--to', String(FIRST + 3)]],
    ] as const) {
      expect((await write(...range).done).code).toBe(code)
      kept()
    }
    const stopped = write()
    stopped.stop()
    expect((await stopped.done).code).toBe(143)
    kept()
    expect((await write().done).code).toBe(0)
    const bytes = readFileSync(out)
    expect((name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()).toBe((await folio(['export', '--data', data])).out)
    expect([lstatSync(link).isSymbolicLink(), statSync(out).mode & 0o777, readdirSync(dir).length]).toEqual([true, 0o640, 2])
  },
)

test('an export keeps the mode of the file that it replaces, also what the umask would take away', async () => {
  const [data, out] = [await stored(), join(directory(), 'closes.ndjson')]
  writeFileSync(out, '')
  chmodSync(out, 0o666)
  expect((await folio(['export', '--data', data, '--out', out])).code).toBe(0)
  expect(statSync(out).mode & 0o777).toBe(0o666)
})

test('an export to a link that leads to no file yet makes it there; a circle of links is an error', async () => {
  const [data, dir] = [await stored(), directory()]
  mkdirSync(join(dir, 'below'))
  const [link, second] = [join(dir, 'link'), join(dir, 'below', 'second')]
  symlinkSync('below/second', link)
  symlinkSync('../closes.ndjson', second)
  expect((await folio(['export', '--data', data, '--out', link])).code).toBe(0)
  expect(readFileSync(join(dir, 'closes.ndjson'), 'utf8')).toBe((await folio(['export', '--data', data])).out)
  expect([link, second].map((path) => lstatSync(path).isSymbolicLink())).toEqual([true, true])
  expect(readdirSync(dir).sort()).toEqual(['below', 'closes.ndjson', 'link'])
  symlinkSync('circle', join(dir, 'circle'))
  const circle = await folio(['export', '--data', data, '--out', join(dir, 'circle')])
  expect(circle).toMatchObject({ code: 1, err: expect.stringMatching(/^folio: cannot be written: ELOOP/) })
})

test('two exports to the same file at once leave the whole of one, and no file of the user is touched', async () => {
  const [data, dir] = [await stored(), directory()]
  const out = join(dir, 'closes.ndjson')
  writeFileSync(`${out}.part`, 'of the user')
  const ranges = [FIRST + 4, FIRST + 9].map((to) => ['export', '--data', data, '--to', String(to)])
  const [one, other] = [await folio(ranges[0]!), await folio(ranges[1]!)]
  // The store is of one process at a time; these run in this one.
  const copy = join(dir, 'copy')
  cpSync(data, copy, { recursive: true })
  const both = [ranges[0]!, ranges[1]!.with(2, copy)].map((argv) => folio([...argv, '--out', out]))
  expect((await Promise.all(both)).map(({ code }) => code)).toEqual([0, 0])
  expect([one.out, other.out]).toContain(readFileSync(out, 'utf8'))
  expect(readFileSync(`${out}.part`, 'utf8')).toBe('of the user')
  expect(readdirSync(dir).sort()).toEqual(['closes.ndjson', 'closes.ndjson.part', 'copy'])
})

test('an export to something other than a regular file is written there', async () => {
  const [data, pipe] = [await stored(), join(directory(), 'pipe')]
  const { out } = await folio(['export', '--data', data])
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', pipe])
  const exported = folio(['export', '--data', data, '--out', pipe])
  expect(await readFile(pipe, 'utf8')).toBe(out)
  expect((await exported).code).toBe(0)
  expect(lstatSync(pipe).isFIFO()).toBe(true)
})

test('an export of a range that ends before it begins is rejected; one from after the newest ledger has nothing yet', async () => {
  const data = await stored()
  expect(await folio(['export', '--data', data, '--from', String(FIRST + 5), '--to', String(FIRST + 3)])).toEqual({
    code: 2,
    out: '',
    err: 'folio: --from must be at most 2100003, the last ledger of the range\n',
  })
  expect(await folio(['export', '--data', data, '--from', String(FIRST + 40)])).toEqual({
    code: 0,
    out: '',
    err: 'folio: exported no ledgers\n',
  })
})

test('output that cannot be written is distinguished from input that cannot be read', async () => {
  const data = await stored()
  const says = (err: RegExp) => ({ code: 1, err: expect.stringMatching(err) })
  for (const out of ['x.ndjson', 'x.ndjson.gz'])
    expect(await folio(['export', '--data', data, '--out', `/nowhere/${out}`])).toMatchObject(
      says(/^folio: cannot be written: ENOENT.*\/nowhere\/x\.ndjson/),
    )
  expect(await folio(['export', '--data', data], { stdout: failing('ENOSPC') })).toMatchObject(says(/^folio: cannot be written: .*ENOSPC/))
  const out = join(directory(), 'closes.ndjson')
  const handle = await open(data)
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync')
  await handle.close()
  sync.mockRejectedValue(Object.assign(new Error('ENOSPC: no space left on device, fsync'), { code: 'ENOSPC', syscall: 'fsync' }))
  try {
    for (const path of [out, `${out}.gz`])
      expect(await folio(['export', '--data', data, '--out', path])).toMatchObject(says(/^folio: cannot be written: ENOSPC.*fsync\n$/))
    // What Node says, run with --permission.
    sync.mockRejectedValue(Object.assign(new Error('Access to this API has been restricted'), { code: 'ERR_ACCESS_DENIED' }))
    expect(await folio(['export', '--data', data, '--out', out])).toMatchObject(says(/^folio: cannot be written: Access.*restricted\n$/))
  } finally {
    sync.mockRestore()
  }
  expect(readdirSync(join(out, '..'))).toEqual([])
  const unread = new Readable({ read: () => unread.destroy(Object.assign(new Error('write EIO'), { code: 'EIO', syscall: 'write' })) })
  expect(await folio(['ingest', '--data', join(out, '..', 'data'), '-'], { stdin: unread })).toMatchObject(
    says(/^folio: cannot be read: write EIO/),
  )
})

test('an empty store is reported to hold nothing, whatever was asked for', async () => {
  const data = join(directory(), 'data')
  await folio(['ingest', '--data', data, '-'])
  for (const range of [[], ['--from', '1', '--to', '5']])
    expect(await folio(['export', '--data', data, ...range])).toEqual({ code: 0, out: '', err: 'folio: the store holds no ledgers\n' })
})

test('a copy holds what the original holds, continues where it stopped, and is reported if it differs', async () => {
  const [data, dir] = [await stored(), directory()]
  // A colon within a path does not make it a kind of store.
  const copy = join(dir, 'a:copy')
  await folio(['ingest', '--data', copy, '-'], { stdin: ndjson(closes.slice(0, 7)) })
  const copied = await folio(['copy', '--from', data, '--to', `level:${copy}`])
  expect(copied).toMatchObject({ code: 0, err: expect.stringMatching(/^folio: both hold 40 ledgers, 2100000 to 2100039; digest /) })
  expect(digestOf(copied.err)).toBe(digestOf((await folio(['export', '--data', copy, '--out', join(dir, 'x')])).err))

  const other = JSON.parse(closes[39]!)
  other.ledger.extra = 1
  await folio(['rollback', '--data', copy, '--to', String(FIRST + 38)])
  await folio(['ingest', '--data', copy, '-'], { stdin: JSON.stringify(other) })
  expect(await folio(['copy', '--from', data, '--to', copy])).toMatchObject({ code: 8, err: expect.stringMatching(/DIFFER: /) })
})

test('a copy of a pruned store has all that is left, and is continued; what is made of its export is said to lack what pruned ledgers said', async () => {
  const [data, dir] = [await stored(), directory()]
  const [early, late, made] = [join(dir, 'early'), join(dir, 'late'), join(dir, 'made')]
  await folio(['rollback', '--data', data, '--to', String(FIRST + 34)])
  await folio(['copy', '--from', data, '--to', early])
  await folio(['prune', '--data', data, '--before', String(FIRST + 30)])
  const lacks = (what: string): RegExp => new RegExp(`\\nfolio: ${what} lacks what only ledgers ${FIRST} to ${FIRST + 29} said: offers`)
  const exported = (...range: string[]) => folio(['export', '--data', data, ...range])
  const { out, err } = await exported()
  expect(err).toMatch(lacks('a store made of these'))
  expect((await exported('--from', String(FIRST + 31))).err).not.toMatch(/lacks/)
  await folio(['ingest', '--data', made, '-'], { stdin: out })

  const whole = /^folio: copied [\d,]+ values, [\d,]+ bytes\nfolio: both hold 5 ledgers, 2100030 to 2100034; digest \w+\n$/
  expect(await folio(['copy', '--from', data, '--to', `lmdb:${late}`])).toMatchObject({ code: 0, err: expect.stringMatching(whole) })
  const [one, other] = await Promise.all(
    [[data], [late, '--store', 'lmdb']].map(([at, ...store]) => folio(['verify', '--data', at!, ...store, '--json'])),
  )
  expect(one).toEqual({ ...other, code: 0 })
  // What is new is appended, whichever way it was begun.
  await folio(['ingest', '--data', data, '-'], { stdin: ndjson(closes.slice(35)) })
  for (const [to, count] of [
    [early, 10],
    [`lmdb:${late}`, 10],
  ] as const)
    expect((await folio(['copy', '--from', data, '--to', to])).err).toMatch(new RegExp(`^folio: both hold ${count} ledgers, .*\\n$`))
  const said = lacks('the copy')
  for (const to of [made]) expect((await folio(['copy', '--from', data, '--to', to])).err).toMatch(said)
  expect((await folio(['copy', '--from', data, '--to', made])).err).toMatch(/: copy into a new store to have everything\n$/)
  // A prune takes from the copy only what it had.
  await folio(['prune', '--data', early, '--before', String(FIRST + 35)])
  expect((await folio(['copy', '--from', data, '--to', early])).err).not.toMatch(/lacks/)
})

test('a copy that was stopped says what it left, which nothing but another copy opens', async () => {
  const [data, dir] = [await stored(), directory()]
  const to = join(dir, 'copy')
  const copying = start(['copy', '--from', data, '--to', to])
  copying.stop('SIGINT')
  expect(await copying.done).toEqual({
    code: 130,
    out: '',
    err: `folio: stopped: ${to} is not complete, and cannot be opened; copying again begins anew\n`,
  })
  for (const command of [['verify'], ['repair'], ['export'], ['get', '/'], ['ingest', '-']])
    expect(await folio([...command, '--data', to])).toMatchObject({ code: 3, err: expect.stringMatching(/^folio: STORE_INCOMPLETE: /) })
  expect(await folio(['copy', '--from', to, '--to', join(dir, 'other')])).toMatchObject({ code: 3 })
  expect(await folio(['copy', '--from', data, '--to', to])).toMatchObject({
    code: 0,
    err: expect.stringMatching(/^folio: copied 304 values/),
  })
  expect((await folio(['verify', '--data', to])).out).toMatch(/^whole: 40 ledgers/)
})

test('a copy that is continued says how far it came, if it is stopped or meets damage', async () => {
  const [data, dir] = [await stored(), directory()]
  const to = join(dir, 'copy')
  await folio(['ingest', '--data', to, '-'], { stdin: ndjson(closes.slice(0, 1)) })
  const copying = start(['copy', '--from', data, '--to', to])
  copying.stop('SIGTERM')
  expect(await copying.done).toEqual({ code: 143, out: '', err: 'folio: stopped: copied 0 ledgers; newest 2100000\n' })
  await damage(data, '1003000000000001', Buffer.from('nonsense'))
  const { code, err } = await folio(['copy', '--from', data, '--to', to])
  expect(code).toBe(8)
  const [, count, newest] = /^folio: CORRUPT: .*\nfolio: before that, copied (\d) ledgers?; newest (\d+)\n$/.exec(err)!
  expect([Number(count) > 0, Number(newest) - Number(count)]).toEqual([true, FIRST])
  expect((await folio(['verify', '--data', to])).out).toMatch(new RegExp(`^whole: \\d ledgers, ${FIRST} to ${newest}, `))
})

test('a copy of a store whose files are damaged ends as one of damaged values does', async () => {
  const [data, dir] = [await stored(), directory()]
  rmSync(join(data, 'CURRENT'))
  expect(await folio(['copy', '--from', data, '--to', join(dir, 'copy')])).toMatchObject({
    code: 8,
    err: expect.stringMatching(/^folio: CORRUPT: .*\n$/),
  })
  expect(readdirSync(dir)).toEqual([])
})

test('a copy needs a directory other than that of its source, and not in it, however it is spelled', async () => {
  const [data, link] = [await stored(), join(directory(), 'link')]
  symlinkSync(data, link)
  for (const to of [data, `level:${data}/../data`, link])
    expect(await folio(['copy', '--from', data, '--to', to])).toEqual({
      code: 2,
      out: '',
      err: `folio: --from and --to are the same directory, ${data}: a copy needs one of its own\n`,
    })
  for (const to of [join(data, 'backup'), `lmdb:${join(link, 'a', 'b')}`])
    expect(await folio(['copy', '--from', data, '--to', to])).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(
        /^folio: --to .* lies in .*, the directory of the source, and would be lost with it: copy to a place outside\n$/,
      ),
    })
  expect(await folio(['copy', '--from', data, '--to', `${data}-backup`])).toMatchObject({ code: 0 })
})

test('a copy into a store that does not meet the source says which, and what to do; one that is ahead is only compared', async () => {
  const [data, dir] = [await stored(), directory()]
  const filled = async (name: string, from: number, to: number): Promise<string> => {
    await folio(['ingest', '--data', join(dir, name), '-'], { stdin: ndjson(closes.slice(from, to)) })
    return join(dir, name)
  }
  const [low, high, middle] = [await filled('low', 0, 5), await filled('high', 30, 35), await filled('middle', 10, 20)]
  const refused = (says: string) => ({ code: 1, out: '', err: expect.stringContaining(says) })
  expect(await folio(['copy', '--from', middle, '--to', low])).toEqual(
    refused(
      `sequence: 2100010, expected: 2100005, target: ${low}, reason: the source begins at 2100010: ingest 2100005 to 2100009 into the target first`,
    ),
  )
  expect(await folio(['copy', '--from', middle, '--to', high])).toEqual(
    refused(`sequence: 2100019, oldest: 2100030, target: ${high}, reason: the source ends at 2100019, before the target begins`),
  )
  const { err } = await folio(['copy', '--from', middle, '--to', data])
  expect(err).toMatch(/^folio: both hold 10 ledgers, 2100010 to 2100019; /)
  expect(err).toMatch(
    /\nfolio: the copy holds \d+ ledgers more, up to \d+, which the source does not: .* roll the copy back to 2100019 too\n$/,
  )
})

test('rollback removes the newest ledgers, and prune the oldest', async () => {
  const data = await stored()
  expect(await folio(['rollback', '--data', data, '--to', String(FIRST + 29)])).toMatchObject({
    code: 0,
    err: 'folio: removed 10 ledgers; newest 2100029\n',
  })
  expect(await folio(['prune', '--data', data, '--before', String(FIRST + 20)])).toMatchObject({
    code: 0,
    err: 'folio: removed 20 ledgers; oldest 2100020\n',
  })
  expect(await folio(['get', `/ledgers/${FIRST + 19}`, '--data', data])).toMatchObject({
    code: 4,
    out: expect.stringMatching(/"status":410/),
  })
  expect((await folio(['verify', '--data', data])).out).toMatch(/^whole: 10 ledgers, 2100020 to 2100029/)
  // What was pruned cannot come back, so this store cannot be emptied.
  expect(await folio(['rollback', '--data', data, '--to', '0'])).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^folio: GONE_BEFORE_HISTORY: .*roll back to 2100020 or later, or start anew in a new store/),
  })
  expect(await folio(['rollback', '--data', data, '--to', '5'])).toMatchObject({
    code: 2,
    err: 'folio: --to 5 is below the oldest ledger held, 2100020; 0 removes all, unless some were pruned\n',
  })
})

test('a rollback or prune that finds nothing to remove says so, and fails where what it was to leave is not there', async () => {
  const data = await stored()
  const newest = FIRST + closes.length - 1
  const of = (command: string, option: string, ledger: number, where = data) => folio([command, '--data', where, option, String(ledger)])
  const said = (code: number, line: string) => ({ code, out: '', err: `folio: ${line}\n` })
  expect(await of('rollback', '--to', newest)).toEqual(said(0, `nothing to remove: newest ${newest} already`))
  expect(await of('rollback', '--to', newest + 1)).toEqual(
    said(2, `nothing was removed: --to ${newest + 1} is beyond the newest ledger held, ${newest}`),
  )
  for (const before of [0, 5, FIRST])
    expect(await of('prune', '--before', before)).toEqual(said(0, `nothing to remove before ${before}: oldest ${FIRST}`))
  expect(await of('prune', '--before', newest + 1)).toEqual(said(2, `--before must be at most ${newest}, the newest ledger, which stays`))
  expect((await folio(['verify', '--data', data])).out).toMatch(new RegExp(`^whole: ${closes.length} ledgers, ${FIRST} to ${newest}`))

  const empty = join(directory(), 'empty')
  await folio(['ingest', '--data', empty, '-'])
  expect(await of('rollback', '--to', 0, empty)).toEqual(said(0, 'nothing to remove: the store is empty already'))
  expect(await of('rollback', '--to', 5, empty)).toEqual(said(2, 'nothing was removed: --to 5 is not held, the store is empty'))
  expect(await of('prune', '--before', 0, empty)).toEqual(said(0, 'nothing to remove before 0: the store is empty'))
  expect(await of('prune', '--before', 5, empty)).toEqual(said(2, '--before must be a ledger that is held: the store holds no ledgers'))
})

test('a range that reaches past what is held is named by its options', async () => {
  const data = await stored()
  const newest = FIRST + closes.length - 1
  const of = (...range: string[]) => folio(['export', '--data', data, ...range])
  const said = (line: string) => ({ code: 2, out: '', err: `folio: ${line}\n` })
  expect(await of('--to', `${newest + 1}`)).toEqual(said(`--to must be at most ${newest}, the newest ledger`))
  expect(await of('--from', `${newest + 2}`)).toEqual(said(`--from must be at most ${newest + 1}, the one after the newest ledger`))
  expect(await of('--from', '5')).toMatchObject({ code: 1, err: expect.stringMatching(/^folio: GONE_BEFORE_HISTORY: /) })
})

test('an export never takes the place of a file of the store', async () => {
  const [data, link] = [await stored(), join(directory(), 'link')]
  symlinkSync(data, link)
  for (const out of [join(data, 'CURRENT'), join(link, 'closes.ndjson')])
    expect(await folio(['export', '--data', data, '--out', out])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^folio: --out .* lies in the data directory, .*: write it elsewhere\n$/),
    })
  expect(await folio(['export', '--data', data, '--out', `${data}-closes.ndjson`])).toMatchObject({ code: 0 })
  expect((await folio(['verify', '--data', data, '--files'])).code).toBe(0)
})

test('LMDB is not opened on damaged pages to repair them, which would end the process: what to do is said', async () => {
  const [data, dir] = [await stored(), join(directory(), 'lmdb')]
  await folio(['copy', '--from', data, '--to', `lmdb:${dir}`])
  truncateSync(join(dir, 'data.mdb'), 100_000)
  for (const more of [[], ['--json'], ['--cut']])
    expect(await folio(['repair', '--store', 'lmdb', '--data', dir, ...more])).toEqual({
      code: 8,
      out: '',
      err: expect.stringMatching(
        /^folio: CORRUPT: .*the file ends before page \d+, which it needs; a file of LMDB cannot be repaired: restore a copy, or ingest into a new directory\)\n$/,
      ),
    })
  expect((await folio(['verify', '--store', 'lmdb', '--data', dir])).code).toBe(8)
})

test('of a store of the other kind it is said how to open it', async () => {
  const [data, dir] = [await stored(), directory()]
  await folio(['copy', '--from', data, '--to', `lmdb:${join(dir, 'lmdb')}`])
  const [level, lmdb] = [
    { of: 'level', where: data, says: `it is a store over LevelDB: --store level, or level:${data} to copy` },
    { of: 'lmdb', where: join(dir, 'lmdb'), says: `it is a store over LMDB: --store lmdb, or lmdb:${join(dir, 'lmdb')} to copy` },
  ]
  for (const [{ where, says }, { of }] of [
    [level, lmdb],
    [lmdb, level],
  ] as const)
    for (const command of ['verify', 'verify --files', 'repair', 'export', 'get /', 'serve', 'rollback --to 5'])
      expect(await folio([...command.split(' '), '--store', of, '--data', where])).toMatchObject({
        code: 3,
        err: expect.stringContaining(says),
      })
})

test('a store keeps the name of its network, as its copy does, and is rejected with another', async () => {
  const data = await stored()
  const ingest = (network: string, at: number) => folio(['ingest', '--data', data, '--network', network, '-'], { stdin: closes[at]! })
  expect((await ingest('Test Network', 39)).code).toBe(0)
  expect(await ingest('Public Network', 39)).toMatchObject({
    code: 3,
    err: expect.stringMatching(/^folio: STORE_NETWORK: .*found: Test Network/),
  })
  const copy = join(directory(), 'copy')
  expect((await folio(['copy', '--from', data, '--to', copy])).code).toBe(0)
  const other = await folio(['ingest', '--data', copy, '--network', 'Public Network', '-'])
  expect(other.err).toMatch(/^folio: STORE_NETWORK: .*found: Test Network/)
})

test("somebody else's database is refused by every command, and left as it is", async () => {
  const data = join(directory(), 'data')
  const foreign = async () => {
    const store = await level(data)
    const { entries } = await store.scan({ gte: Uint8Array.of(0), lt: Uint8Array.of(255) }, { limit: 10 })
    await store.close()
    return entries.map(([key, value]) => Buffer.concat([key, value]).toString())
  }
  for (const [key, value] of [
    ['a', 'b'],
    ['user:1', 'alice'],
  ] as const)
    await damage(data, Buffer.from(key).toString('hex'), Buffer.from(value))
  for (const command of ['verify', 'repair', 'repair --cut', 'export', 'get /', 'rollback --to 5'])
    expect(await folio([...command.split(' '), '--data', data])).toMatchObject({
      code: 3,
      err: expect.stringMatching(/^folio: STORE_FORMAT: .*found: entries of something else/m),
    })
  expect(await foreign()).toEqual(['ab', 'user:1alice'])
})

describe('damaged files are not salvaged, but left as they are,', () => {
  /** Everything in a directory but what LevelDB says of its own doings. */
  const filesIn = (data: string): Record<string, string> =>
    Object.fromEntries(
      readdirSync(data)
        .filter((name) => !name.startsWith('LOG'))
        .map((name) => [name, readFileSync(join(data, name), 'hex')]),
    )
  const refused = async (data: string, code: number, error: RegExp): Promise<void> => {
    const before = filesIn(data)
    for (const command of ['repair', 'repair --cut', 'repair --json'])
      expect(await folio([...command.split(' '), '--data', data])).toEqual({ code, out: '', err: expect.stringMatching(error) })
    expect(filesIn(data)).toEqual(before)
  }
  const somebodys = async (): Promise<string> => {
    const data = join(directory(), 'data')
    await damage(data, Buffer.from('user:1').toString('hex'), Buffer.from('alice'))
    // Opened once more, what the log held is in a table.
    await damage(data, Buffer.from('user:2').toString('hex'), Buffer.from('bob'))
    return data
  }

  test("if what can be read of them is somebody else's", async () => {
    for (const name of [/^CURRENT$/, /\.log$/, /\.ldb$/]) {
      const data = await somebodys()
      rmSync(join(data, readdirSync(data).find((one) => name.test(one))!))
      await refused(data, 3, /^folio: STORE_FORMAT: .*found: entries of something else/)
    }
  })

  test('if they are those of a store of another release, or of a copy that was cut short', async () => {
    const [other, copy] = [join(directory(), 'data'), join(directory(), 'data')]
    await damage(other, '01', Buffer.from('{"format":1}\x01sum!'))
    await damage(other, '1001000000000000', Buffer.from('ledgers\x01sum!'))
    await damage(copy, '02', encodeIntent({ copy: 'one' }))
    for (const data of [other, copy]) rmSync(join(data, 'CURRENT'))
    await refused(other, 3, /^folio: STORE_FORMAT: .*found: 1, expected: 2/)
    await refused(copy, 3, /^folio: STORE_INCOMPLETE: /)
  })

  test('if nothing can be read of them, unless a note says that they are those of a ledger store', async () => {
    const unreadable = (data: string): void => {
      for (const name of readdirSync(data)) if (/\.(ldb|log)$/.test(name)) truncateSync(join(data, name), 3)
      rmSync(join(data, 'CURRENT'))
    }
    const [other, own] = [await somebodys(), await stored()]
    for (const data of [other, own]) unreadable(data)
    const says =
      /^folio: CORRUPT: .*file: CURRENT, reason: it is missing; no value can be read, and no note says that this is a ledger store, so all files stay as they are: restore a copy, or ingest into a new directory/
    await refused(other, 8, says)
    expect(await folio(['repair', '--data', own])).toMatchObject({ code: 8, out: expect.stringMatching(/files salvaged: 0 values/) })
    expect((await folio(['repair', '--data', own])).code).toBe(0)
  })

  test('if there is nothing but a text named CURRENT', async () => {
    const data = directory()
    writeFileSync(join(data, 'CURRENT'), 'the current state of affairs')
    await refused(data, 8, /^folio: CORRUPT: .*file: CURRENT, reason: it is the only file of a database; no value can be read/)
    expect(await folio(['ingest', '--data', data, '-'])).toMatchObject({ code: 3, err: expect.stringMatching(/^folio: CORRUPT: /) })
    expect(readdirSync(data)).toEqual(['CURRENT'])
  })
})
