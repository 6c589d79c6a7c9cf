/** `folio bench`: stores compared on generated and on given ledgers; stores that give wrong answers are found out. */
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { generateLines } from '../../adapters/generate/index.ts'
import manifest from '../../package.json' with { type: 'json' }
import { type Answer, directory, folio, lines, ndjson, start } from './support.ts'

/** Measured no longer than it takes to get a figure. */
const bench = (argv: readonly string[], given?: Parameters<typeof folio>[1]): Promise<Answer> =>
  folio(['bench', '--rounds', '1', '--readers', '2', '--run-ms', '1', ...argv], given)

test('gives one figure per store for every row', async () => {
  const { code, out } = await bench(['--ledgers', '30', '--json'])
  expect(code).toBe(0)
  const { ledgers, stores, persistent, rows } = JSON.parse(out)
  expect([ledgers, stores, persistent]).toEqual([30, ['level', 'memory'], [true, false]])
  const ids = rows.map(({ id }: { id: string }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual(expect.arrayContaining(['append: p99 of a ledger', 'effects of an account: bytes read', 'disk: on disk']))
  const units = new Map<string, string>(rows.map(({ name, unit }: { name: string; unit: string }) => [name, unit]))
  expect([units.get('a durable ledger'), units.get('on disk'), units.get('effects of an account, 200')]).toEqual(['µs', 'MB', 'µs'])
  expect(new Set(rows.map(({ work }: { work: string }) => work))).toContain('effects of an account')
  for (const { work, name, unit, ratios } of rows) {
    expect([work, name]).toEqual([expect.stringMatching(/^\S.*\S$/), expect.stringMatching(/^\S.*\S$/)])
    if (name.endsWith(', 200')) expect([unit, ratios]).toEqual(['µs', [[1, 1], expect.any(Array)]])
  }
  for (const { name, figures } of rows)
    for (const [at, figure] of figures.entries()) expect(figure, name).toEqual(name === 'on disk' && at === 1 ? null : expect.any(Number))
})

test('takes ledgers of the user, and prints a table that says where it stopped', async () => {
  const { code, out, err } = await bench(['--store', 'memory', '--data', '-', '--ledgers', '10'], { stdin: ndjson(lines(12)) })
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(/^10 ledgers, the first of standard input, where --ledgers ended reading; 1 round of 1 ms or more\nNode /)
  expect(out).toMatch(/\n\n +memory\na durable ledger +µs/)
})

test('the table says what was measured and where, has the least and the greatest of the ratios, and costs under their work', async () => {
  const { out } = await bench(['--ledgers', '20', '--rounds', '2'])
  expect(out).toMatch(/^20 ledgers, generated from seed bench; 2 rounds of 1 ms or more\nNode \d[\d.]+, \w+ \w+, \d+ × .+, \d+ GB\n/)
  expect(out).toMatch(/\n\n +level +memory\na durable ledger +µs +[\d.]+ +[\d.]+ ~[\d.]+× \([\d.]+ to [\d.]+\)\n/)
  expect(out).toMatch(/\ntrades, 200 +µs +[\d.]+ +[\d.]+ ~[\d.]+× \([\d.]+ to [\d.]+\)\n {2}calls of the store +calls /)
  expect(out).toMatch(/\n~n×: cannot be told from 1×: .*fewer than 7\n$/)
  expect(out).toMatch(/\nn×: .* the median of the ratios of the rounds, .*\n +the figures, .*, may have another ratio\. /)
  expect(out.split('\n').slice(2, 5)).toEqual([
    expect.stringMatching(/^folio \d[^ ]*, \d{4}-\d\d-\d\d \d\d:\d\d UTC, in \/.+$/),
    'memory is not durable: it keeps nothing when the process ends',
    '',
  ])
})

test('names of any length stand apart, above their figures', async () => {
  const path = moduleOf(keeping)
  const names = ['a-name-that-takes-much-room', 'another-that-takes-as-much-room']
  const { out } = await bench(['--store', names.map((name) => `${name}=${path}`).join(','), '--ledgers', '12'])
  expect(out).toMatch(new RegExp(`\\n +${names.join(' +')}\\n`))
})

test('on a terminal that is too narrow for all stores, each part of the table begins with the first one', async () => {
  const path = moduleOf(keeping)
  const argv = ['--store', `memory,level,other=${path},mine=${path}`, '--ledgers', '12']
  const heads = async (columns: number): Promise<string[]> => {
    const stdout = Object.assign(new PassThrough(), { columns })
    const [{ code }, out] = await Promise.all([bench(argv, { stdout }).finally(() => stdout.end()), text(stdout)])
    expect(code).toBe(0)
    const parts = out.split('\n\n').slice(1, -1)
    for (const part of parts) {
      expect(part.match(/^(?:a durable ledger|effects of an account, 200) /gm)).toHaveLength(2)
      // Two stores are shown in any case.
      for (const line of part.split('\n')) expect(line.length).toBeLessThanOrEqual(Math.max(columns, 84))
    }
    return parts.map((part) => part.split('\n')[0]!.trim().replace(/ +/g, ' '))
  }
  expect(await heads(60)).toEqual(['memory level', 'memory other', 'memory mine'])
  expect(await heads(118)).toEqual(['memory level other', 'memory mine'])
  expect(await heads(152)).toEqual(['memory level other mine'])
})

test('the JSON says what was measured and where', async () => {
  const of = async (argv: readonly string[], stdin = '') =>
    JSON.parse((await bench([...argv, '--store', 'memory', '--json'], { stdin })).out)
  const machine = { platform: expect.any(String), cpu: expect.any(String), cores: expect.any(Number), memoryGB: expect.any(Number) }
  const where = { version: manifest.version, node: process.versions.node, directory: tmpdir(), machine }
  const date = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const facts = { rounds: 1, readers: 2, runMs: 1, ...where, date, stores: ['memory'], persistent: [false], known: 0 }
  expect(await of(['--ledgers', '12', '--seed', '7'])).toEqual({ ...facts, ledgers: 12, seed: '7', rows: expect.any(Array) })
  const given = { ...facts, data: '-', rows: expect.any(Array) }
  expect(await of(['--data', '-'], ndjson(lines(12)))).toEqual({ ...given, ledgers: 12, limited: false })
  expect(await of(['--data', '-', '--ledgers', '11'], ndjson(lines(12)))).toEqual({ ...given, ledgers: 11, limited: true })
})

test('ledgers given twice are not counted as appended', async () => {
  const { out } = await bench(['--store', 'level,memory', '--data', '-'], { stdin: ndjson([...lines(15), ...lines(15)]) })
  expect(out).toMatch(/^15 ledgers, of standard input, 15 more were held already; /)
})

test('a ledger that is refused is named by its file and line', async () => {
  const [one, two, , four] = lines(4)
  const { code, err } = await bench(['--store', 'memory', '--data', '-'], { stdin: ndjson([one!, two!, four!]) })
  expect([code, err]).toEqual([1, expect.stringMatching(/^folio: LEDGER_GAP: .*\(file: -, line: 3, sequence: \d+, expected: \d+/)])
})

test('a directory for temporary files that cannot be used is named', async () => {
  vi.stubEnv('TMPDIR', '/nowhere')
  try {
    expect(await bench(['--store', 'level'])).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /^folio: cannot be written: the directory for temporary files, \/nowhere, takes no store; TMPDIR names another: ENOENT/,
      ),
    })
  } finally {
    vi.unstubAllEnvs()
  }
})

test('does not take a directory, such as that of a store, for a file of ledgers', async () => {
  const { code, out, err } = await folio(['bench', '--store', 'memory', '--data', '.'])
  expect({ code, out, err }).toEqual({
    code: 1,
    out: '',
    err: "folio: cannot be read: EISDIR: '.' is a directory, not a file of ledger closes; folio export makes a file from a store\n",
  })
})

test('a signal ends it without figures', async () => {
  const running = start(['bench', '--store', 'memory', '--ledgers', '20'])
  running.stop('SIGINT')
  expect(await running.done).toEqual({ code: 130, out: '', err: '' })
})

test('a signal that comes while ledgers are generated and appended ends it at once', async () => {
  let began = Number.NaN
  const running = start(['bench', '--store', 'memory', '--ledgers', '20000'])
  // As the system delivers a signal: not before the event loop turns.
  setTimeout(() => {
    began = performance.now()
    running.stop('SIGTERM')
  }, 300)
  expect(await running.done).toEqual({ code: 143, out: '', err: '' })
  expect(performance.now() - began).toBeLessThan(10_000)
})

test('standard input that gives nothing is left at a signal', async () => {
  const stdin = new PassThrough()
  const running = start(['bench', '--store', 'memory', '--data', '-'], { stdin })
  setTimeout(() => running.stop('SIGINT'), 50)
  expect(await running.done).toEqual({ code: 130, out: '', err: '' })
  expect(stdin.destroyed).toBe(true)
})

test('ledgers that leave nothing to ask for are rejected', async () => {
  const bare = [...generateLines({ ledgers: 2, seed: 3, transactionsPerLedger: 0 })].join('\n')
  for (const [stdin, why] of [
    ['', 'there are no ledgers'],
    [bare, 'the ledgers hold no transactions'],
  ] as const)
    expect(await bench(['--store', 'memory', '--data', '-'], { stdin })).toEqual({
      code: 1,
      out: '',
      err: `folio: cannot be compared: ${why}\n`,
    })
})

const adapter = new URL('../../adapters/memory/index.ts', import.meta.url).href
const errors = new URL('../../src/errors.ts', import.meta.url).href

/** A module made by the test. */
function moduleOf(text: string): string {
  const path = join(directory(), 'store.mjs')
  writeFileSync(path, text)
  return path
}

/** A store that keeps what was written, as long as the process lives. */
const keeping = `
  import { memory, memoryDisk } from ${JSON.stringify(adapter)}
  const disks = new Map()
  export default (directory) => {
    if (!disks.has(directory)) disks.set(directory, memoryDisk())
    return memory(disks.get(directory))
  }`

test('takes a store of the user from a module', async () => {
  const path = moduleOf(`
    import { writeFileSync } from 'node:fs'
    import { memory, memoryDisk } from ${JSON.stringify(adapter)}
    const disks = new Map()
    export default async (directory) => {
      if (!disks.has(directory)) disks.set(directory, memoryDisk())
      writeFileSync(directory + '/file', 'x'.repeat(5000))
      return memory(disks.get(directory))
    }`)
  const { code, out, err } = await bench(['--store', `memory,mine=${path}`, '--ledgers', '12', '--json'])
  expect([code, err]).toEqual([0, ''])
  const { stores, rows } = JSON.parse(out)
  expect(stores).toEqual(['memory', 'mine'])
  // File systems allocate whole blocks.
  expect(rows.find(({ work }: { work: string }) => work === 'disk').figures).toEqual([null, expect.closeTo(0.02, 1)])
})

test.skipIf(process.platform === 'win32')('of a file with holes, what is allocated counts', async () => {
  const sparse = moduleOf(`
    import { truncateSync, writeFileSync } from 'node:fs'
    ${keeping.replace('(directory) => {', "(directory) => { writeFileSync(directory + '/file', 'x'); truncateSync(directory + '/file', 1e9)")}`)
  const { out } = await bench(['--store', `mine=${sparse}`, '--ledgers', '4', '--json'])
  const [megabytes] = JSON.parse(out).rows.find(({ work }: { work: string }) => work === 'disk').figures
  expect(megabytes).toBeLessThan(1)
})

test('pages are read by one reader, by as many as are wanted, and while ledgers are appended', async () => {
  const rowsOf = async (argv: readonly string[]): Promise<{ work: string; name: string; unit: string; more?: true; figures: unknown }[]> =>
    JSON.parse((await bench(['--store', 'memory', '--ledgers', '12', '--json', ...argv])).out).rows
  const page = ['  median of a page', '  p99 of a page']
  const appends = ['  median of an append', '  slowest append']
  const several = (await rowsOf(['--readers', '3'])).filter(({ work }) => /reader/.test(work))
  expect(several.map(({ name, more }) => `${more ? '  ' : ''}${name}`)).toEqual([
    ...['any list, 10, 1 reader', ...page],
    ...['any list, 10, 3 readers', ...page, '  CPU time of a page'],
    ...['3 readers beside appends', ...page, ...appends],
  ])
  for (const { name, unit, more, figures } of several) expect([unit, figures], name).toEqual([more ? 'µs' : '/s', [expect.any(Number)]])
  const one = (await rowsOf(['--readers', '1'])).filter(({ work, more }) => /reader/.test(work) && !more)
  expect(one.map(({ name }) => name)).toEqual(['any list, 10, 1 reader', '1 reader beside appends'])
  // Too few to keep one back.
  expect((await rowsOf(['--ledgers', '2'])).filter(({ work }) => work === 'readers beside appends')).toEqual([])
})

test('rejects a module that gives no store', async () => {
  const given = (path: string) => bench(['--store', `mine=${path}`])
  expect(await given('./nowhere.js')).toMatchObject({ code: 2, err: expect.stringMatching(/^folio: \.\/nowhere\.js cannot be loaded: /) })
  const path = moduleOf('export default 7')
  expect(await given(path)).toMatchObject({ code: 2, err: `folio: ${path} has no function as its default export\n` })
})

test('a module whose store fails to open is a store that fails', async () => {
  const given = (text: string) => bench(['--store', `memory,mine=${moduleOf(text)}`])
  const said = 'folio: cannot be compared: mine fails to open: '
  expect(await given("export default () => { throw new Error('no wire') }")).toMatchObject({ code: 1, err: `${said}no wire\n` })
  expect(await given("export default async () => { throw new Error('no wire') }")).toMatchObject({ code: 1, err: `${said}no wire\n` })
  expect(await given('export default class {}')).toMatchObject({ code: 1, err: expect.stringContaining(`${said}Class constructor`) })
})

const METHODS = '{ get() {}, getMany() {}, scan() {}, write() {}, close() {}'

test.for([
  ['{}', 'capabilities, get, getMany, scan, write, close'],
  ['7', 'capabilities, get, getMany, scan, write, close'],
  ['undefined', 'capabilities, get, getMany, scan, write, close'],
  [`${METHODS} }`, 'capabilities'],
  [`${METHODS}, capabilities: null }`, 'capabilities'],
  [`${METHODS}, capabilities: {} }`, 'capabilities.name, capabilities.sync, capabilities.persistent, capabilities.shared'],
])('rejects a module that gives %s, which is not a store, and says what is missing', async ([given, missing]) => {
  const path = moduleOf(`export default () => (${given})`)
  expect(await bench(['--store', `mine=${path}`])).toEqual({
    code: 2,
    out: '',
    err: `folio: ${path} did not return a store: what it returned has no ${missing}\n`,
  })
})

test('counts the calls and bytes of each store', async () => {
  const path = moduleOf(`
    import { memory, memoryDisk } from ${JSON.stringify(adapter)}
    const disks = new Map()
    // Each call with a wait, so that the engine asks for many values at a time. No method can be called on another object.
    class Mine {
      #store
      capabilities
      constructor(directory) {
        if (!disks.has(directory)) disks.set(directory, memoryDisk())
        this.#store = memory(disks.get(directory))
        this.capabilities = this.#store.capabilities
      }
      async get(key) { return this.#store.get(key) }
      async getMany(keys) { return this.#store.getMany(keys) }
      async scan(range, options) { return this.#store.scan(range, options) }
      async write(batch, options) { return this.#store.write(batch, options) }
      async close() { await this.#store.close() }
    }
    export default (directory) => new Mine(directory)`)
  const { out } = await bench(['--store', `memory,mine=${path}`, '--ledgers', '12', '--json'])
  const rowsOf = (name: string): [number, number][] =>
    JSON.parse(out).rows.flatMap((row: { name: string; figures: [number, number] }) => (row.name === name ? [row.figures] : []))
  const [calls, bytes] = [rowsOf('calls of the store'), rowsOf('bytes read')]
  for (const row of [...calls, ...bytes]) for (const figure of row) expect(figure).toBeGreaterThan(0)
  const named = (name: string): { work: string; unit: string; figures: [number, number] } =>
    JSON.parse(out).rows.find((row: { name: string }) => row.name === name)
  const [writes, written] = [named('writes to the store'), named('bytes written')]
  expect([writes.work, writes.unit, writes.figures, written.work, written.unit]).toEqual(['append', 'calls', [1, 1], 'append', 'KB'])
  expect(written.figures[0]).toBe(written.figures[1])
  // The requests differ in what they cost, and all of them count.
  expect(calls.flat().some((figure) => !Number.isInteger(figure))).toBe(true)
  // A store that answers at once may be asked twice for a value, since nothing waits for it.
  for (const rows of [calls, bytes]) expect(rows.some(([one, other]) => one !== other)).toBe(true)
})

test('rejects a store that forgets what was written', async () => {
  const forgetful = moduleOf(`import { memory } from ${JSON.stringify(adapter)}\nexport default () => memory()`)
  expect(await bench(['--store', `mine=${forgetful}`, '--ledgers', '2'])).toEqual({
    code: 1,
    out: '',
    err: 'folio: cannot be compared: mine, opened again, does not hold what was written\n',
  })
})

test('a store that loses the last write of a batch is not said to have another writer', async () => {
  const losing = moduleOf(`
    import { memory } from ${JSON.stringify(adapter)}
    export default () => { const store = memory(); return { ...store, write: (batch, options) => store.write(batch.slice(0, -1), options) } }`)
  expect(await bench(['--store', `mine=${losing}`, '--ledgers', '12'])).toMatchObject({
    code: 1,
    err: 'folio: cannot be compared: mine gives back other values than were written; storeConformance of ledger-folio/testing says which law of stores that breaks\n',
  })
})

test('says which store failed, whatever it throws', async () => {
  const failing = (error: string) =>
    moduleOf(`
      import { memory } from ${JSON.stringify(adapter)}
      import { FolioError } from ${JSON.stringify(errors)}
      export default () => ({ ...memory(), getMany() { throw ${error} }, write(batch) { if (batch.length > 9) throw ${error} } })`)
  const given = (error: string) => bench(['--store', `memory,mine=${failing(error)}`, '--ledgers', '12'])
  expect(await given("new Error('no wire')")).toMatchObject({ code: 1, err: 'folio: cannot be compared: mine fails: no wire\n' })
  const { code, err } = await given("new FolioError('STORE_FAILED', { reason: 'no wire' })")
  expect([code, err]).toEqual([3, expect.stringMatching(/^folio: STORE_FAILED: .* \(location: mine, reason: no wire\)\n$/)])
  // Nobody sees a cause.
  const caused = await given("new FolioError('STORE_FAILED', {}, new Error('no wire'))")
  expect([caused.code, caused.err]).toEqual([3, expect.stringMatching(/^folio: STORE_FAILED: .* \(location: mine, reason: no wire\)\n$/)])
  // It is gone when the command ends: nothing could be verified, or repaired.
  expect(await given("new FolioError('CORRUPT', { key: '10', reason: 'no seal' })")).toMatchObject({
    code: 1,
    err: 'folio: cannot be compared: mine gives back other values than were written: no seal (key 10); storeConformance of ledger-folio/testing says which law of stores that breaks\n',
  })
})

test('names the store that failed also beside the place that the store gives, and if it cannot be opened', async () => {
  const at = (calls: string) =>
    moduleOf(`
      import { memory } from ${JSON.stringify(adapter)}
      import { FolioError } from ${JSON.stringify(errors)}
      const fails = () => { throw new FolioError('STORE_FAILED', { location: '/tmp/folio-x', reason: 'no wire' }) }
      export default () => (${calls})`)
  for (const calls of ['({ ...memory(), write: fails })', 'fails()', '({ ...memory(), close: fails })']) {
    const { code, err } = await bench(['--store', `memory,mine=${at(calls)}`, '--ledgers', '12'])
    expect([code, err], calls).toEqual([
      3,
      expect.stringMatching(/^folio: STORE_FAILED: .* \(location: mine, \/tmp\/folio-x, reason: no wire\)\n$/),
    ])
  }
})

test.for(['level,level', 'memory,mine=./a.js,mine=./b.js', 'memory=./a.js,memory'])('rejects two stores of one name: %s', async (given) => {
  const { code, out, err } = await folio(['bench', '--store', given])
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(/^folio: --store names (level|mine|memory) twice, and its columns could not be told apart: /)
})

test('rejects a seed beside ledgers that are given', async () => {
  const { code, out, err } = await folio(['bench', '--store', 'memory', '--data', '-', '--seed', '4'], { stdin: '' })
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(/^folio: option '--seed <seed>' cannot be used with option '--data <file>'/)
})

test('rejects a store that it does not know', async () => {
  const { code, err } = await folio(['bench', '--store', 'level,tape'])
  expect([code, err]).toEqual([2, expect.stringContaining('level, lmdb, memory')])
})
