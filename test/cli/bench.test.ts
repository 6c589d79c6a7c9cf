/** `folio bench`: stores compared on generated and on given ledgers; stores that give wrong answers are found out. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Candidate, compareStores, Incomparable } from '../../adapters/compare/index.ts'
import { generate, generateLines } from '../../adapters/generate/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type LedgerClose, openLedger, type Store } from '../../src/index.ts'
import { directory, folio, start } from './support.ts'

test('gives one figure per store for every row', async () => {
  const { code, out } = await folio(['bench', '--ledgers', '30', '--rounds', '1', '--json'])
  expect(code).toBe(0)
  const { ledgers, stores, rows } = JSON.parse(out)
  expect([ledgers, stores]).toEqual([30, ['level', 'memory']])
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

test('takes ledgers of the user, and prints a table', async () => {
  const lines = [...generateLines({ ledgers: 12, seed: 3 })].join('\n')
  const { code, out, err } = await folio(['bench', '--store', 'memory', '--data', '-', '--ledgers', '10', '--rounds', '1'], {
    stdin: lines,
  })
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(/^ +memory\n.*a durable ledger +µs/s)
})

test('the table has the least and the greatest of the ratios, and costs under their work', async () => {
  const { out } = await folio(['bench', '--ledgers', '20', '--rounds', '2'])
  expect(out).toMatch(/^ +level +memory\na durable ledger +µs +[\d.]+ +[\d.]+ [\d.]+×\n/)
  expect(out).toMatch(/\ntrades, 200 +µs +[\d.]+ +[\d.]+ [\d.]+× \([\d.]+ to [\d.]+\)\n {2}calls of the store +calls /)
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

test('ledgers that leave nothing to ask for are rejected', async () => {
  const bare = [...generateLines({ ledgers: 2, seed: 3, transactionsPerLedger: 0 })].join('\n')
  for (const [stdin, why] of [
    ['', 'there are no ledgers'],
    [bare, 'the ledgers hold no transactions'],
  ] as const)
    expect(await folio(['bench', '--store', 'memory', '--data', '-'], { stdin })).toEqual({
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
  const { code, out, err } = await folio(['bench', '--store', `memory,mine=${path}`, '--ledgers', '12', '--rounds', '1', '--json'])
  expect([code, err]).toEqual([0, ''])
  const { stores, rows } = JSON.parse(out)
  expect(stores).toEqual(['memory', 'mine'])
  expect(rows.find(({ work }: { work: string }) => work === 'disk').figures).toEqual([null, 0.005])
})

test('rejects a module that gives no store', async () => {
  const bench = (path: string) => folio(['bench', '--store', `mine=${path}`])
  expect(await bench('./nowhere.js')).toMatchObject({ code: 2, err: expect.stringMatching(/^folio: \.\/nowhere\.js cannot be loaded: /) })
  const path = moduleOf('export default 7')
  expect(await bench(path)).toMatchObject({ code: 2, err: `folio: ${path} has no function as its default export\n` })
  const broken = moduleOf('export default class {}')
  expect(await bench(broken)).toMatchObject({
    code: 2,
    err: expect.stringContaining(`folio: ${broken} did not return a store: Class constructor`),
  })
})

test.for(['{}', '7', 'undefined', '{ get() {}, getMany() {}, scan() {}, write() {}, close() {} }'])(
  'rejects a module that gives %s, which is not a store',
  async (given) => {
    const path = moduleOf(`export default () => (${given})`)
    expect(await folio(['bench', '--store', `mine=${path}`])).toEqual({
      code: 2,
      out: '',
      err: `folio: ${path} did not return a store: what it returned has no capabilities\n`,
    })
  },
)

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
  const { out } = await folio(['bench', '--store', `memory,mine=${path}`, '--ledgers', '12', '--rounds', '1', '--json'])
  const rowsOf = (name: string): [number, number][] =>
    JSON.parse(out).rows.flatMap((row: { name: string; figures: [number, number] }) => (row.name === name ? [row.figures] : []))
  const [calls, bytes] = [rowsOf('calls of the store'), rowsOf('bytes read')]
  for (const row of [...calls, ...bytes]) for (const figure of row) expect(figure).toBeGreaterThan(0)
  // A store that answers at once may be asked twice for a value, since nothing waits for it.
  for (const rows of [calls, bytes]) expect(rows.some(([one, other]) => one !== other)).toBe(true)
})

test('rejects a store that forgets what was written', async () => {
  const forgetful = moduleOf(`import { memory } from ${JSON.stringify(adapter)}\nexport default () => memory()`)
  expect(await folio(['bench', '--store', `mine=${forgetful}`, '--ledgers', '2'])).toEqual({
    code: 1,
    out: '',
    err: 'folio: cannot be compared: mine, opened again, does not hold what was written\n',
  })
})

test('says which store failed, whatever it throws', async () => {
  const failing = (error: string) =>
    moduleOf(`
      import { memory } from ${JSON.stringify(adapter)}
      import { FolioError } from ${JSON.stringify(errors)}
      export default () => ({ ...memory(), getMany() { throw ${error} }, write(batch) { if (batch.length > 9) throw ${error} } })`)
  const bench = (error: string) => folio(['bench', '--store', `memory,mine=${failing(error)}`, '--ledgers', '12'])
  expect(await bench("new Error('no wire')")).toMatchObject({ code: 1, err: 'folio: cannot be compared: mine fails: no wire\n' })
  const { code, err } = await bench("new FolioError('STORE_FAILED', { reason: 'no wire' })")
  expect([code, err]).toEqual([3, expect.stringMatching(/^folio: STORE_FAILED: .* \(location: mine, reason: no wire\)\n$/)])
})

test('names the store that failed also beside the place that the store gives, and if it cannot be opened', async () => {
  const at = (calls: string) =>
    moduleOf(`
      import { memory } from ${JSON.stringify(adapter)}
      import { FolioError } from ${JSON.stringify(errors)}
      const fails = () => { throw new FolioError('STORE_FAILED', { location: '/tmp/folio-x', reason: 'no wire' }) }
      export default () => (${calls})`)
  for (const calls of ['({ ...memory(), write: fails })', 'fails()', '({ ...memory(), close: fails })']) {
    const { code, err } = await folio(['bench', '--store', `memory,mine=${at(calls)}`, '--ledgers', '12', '--rounds', '1'])
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
  expect([code, err]).toEqual([2, expect.stringContaining('level, memory')])
})

test('a store that gives a wrong answer is an error, not a figure', async () => {
  const closes = [...generate({ ledgers: 12, seed: 5 })] as LedgerClose[]
  const disk = memoryDisk()
  const candidate = (name: string, open: () => Store): Candidate => ({
    name,
    open: async () => open(),
    size: async () => undefined,
    remove: async () => {},
  })
  const whole = candidate('whole', () => memory(disk))
  const other = memoryDisk()
  await (await openLedger(memory(other))).ingest(generate({ ledgers: 12, seed: 6 }))
  let opened = 0
  // The second time it is opened, it is another store.
  const mixed = candidate('mixed', () => memory(opened++ === 0 ? memoryDisk() : other))
  await expect(compareStores([whole, mixed], closes, { rounds: 1 })).rejects.toThrow(
    new Incomparable('mixed answers transactions differently from whole'),
  )
})
