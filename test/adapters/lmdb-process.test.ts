/**
 * LMDB in processes of their own. One that follows what another writes stays alive for that; one that ends in the middle of a write does not hang,
 * what ended it is told, and the store is whole; one that cannot load the package is told why.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lmdb } from '../../adapters/lmdb/index.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { openLedger } from '../../src/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const cache = join(root, 'node_modules/.cache')
const places = mkdtempSync(join(tmpdir(), 'folio-lmdb-'))
let out: string

beforeAll(async () => {
  mkdirSync(cache, { recursive: true })
  out = mkdtempSync(join(cache, 'folio-lmdb-'))
  const entry = { lmdb: join(root, 'adapters/lmdb/index.ts'), index: join(root, 'src/index.ts') }
  await build({ entry, outDir: out, config: false, splitting: false, format: 'esm', target: 'node20', silent: true })
})

afterAll(() => {
  rmSync(out, { recursive: true, force: true })
  rmSync(places, { recursive: true, force: true })
})

const [key, one, two] = [Uint8Array.of(9), Uint8Array.of(1), Uint8Array.of(2)] as const

/** A process that writes, and writes again, and meanwhile runs `end`. */
function ending(place: string, end: string) {
  const script = `
    const { lmdb } = await import(${JSON.stringify(join(out, 'lmdb.js'))})
    const store = await lmdb(${JSON.stringify(place)})
    const write = (value) => store.write([[Uint8Array.of(9), Uint8Array.of(value)]], { durable: true })
    await write(1)
    process.on('exit', (code) => console.log('exit with', code))
    const second = write(2)
    // In the turn in which LMDB's thread has been asked to write, and before it is answered: it is asked once what was promised before has come.
    const midway = async (act) => {
      for (let i = 0; i < 20; i++) await undefined
      setImmediate(act)
    }
    ${end}`
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 30_000,
    killSignal: 'SIGTERM',
  })
  return { status, signal, stdout, stderr }
}

async function held(place: string): Promise<Uint8Array | undefined> {
  const store = await lmdb(place)
  const value = await store.get(key)
  await store.write([[key, two]], { durable: true })
  await store.close()
  return value
}

const told =
  'ledger-folio: the process is killed, since it ended in the middle of a write to LMDB and would hang. Close the ledger first.\n'

test('process.exit in the middle of a write: the process is killed, after all who listen, and others may write', async () => {
  const place = join(places, 'exit')
  expect(ending(place, 'midway(() => process.exit(5))')).toEqual({ status: null, signal: 'SIGKILL', stdout: 'exit with 5\n', stderr: told })
  expect(await held(place)).toEqual(one)
})

test('an exception that nobody catches is printed first', async () => {
  const place = join(places, 'thrown')
  const { signal, stderr } = ending(place, `midway(() => { throw new Error('of the program') })`)
  expect(signal).toBe('SIGKILL')
  expect(stderr).toMatch(/^Error: of the program\n {4}at .*\n/)
  expect(stderr.endsWith(told)).toBe(true)
  expect(await held(place)).toEqual(one)
})

test('one that is caught, and an end before or after the write, are nothing special', async () => {
  const place = join(places, 'others')
  expect(ending(place, 'process.exit(5)')).toEqual({ status: 5, signal: null, stdout: 'exit with 5\n', stderr: '' })
  expect(await held(place)).toEqual(one)
  const caught = `process.on('uncaughtException', () => second.then(() => process.exit(6)))`
  expect(ending(place, `${caught}; midway(() => { throw new Error() })`)).toEqual({
    status: 6,
    signal: null,
    stdout: 'exit with 6\n',
    stderr: '',
  })
  expect(await held(place)).toEqual(two)
})

test('a process that waits for what another will append stays alive, as long as it waits', async () => {
  const place = join(places, 'followed')
  const ledger = await openLedger(lmdb(place))
  const script = `
    const { catalogue, openLedger } = await import(${JSON.stringify(join(out, 'index.js'))})
    const { lmdb } = await import(${JSON.stringify(join(out, 'lmdb.js'))})
    const ledger = await openLedger(lmdb(${JSON.stringify(place)}), { pollMs: 20 })
    const look = () => (ledger.waitingStreams === 1 ? console.log('waits') : setImmediate(look))
    look()
    for await (const { sequence } of ledger.stream(catalogue.ledgers, {})) {
      console.log(sequence)
      if (sequence === 8) break
    }`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let said = ''
  for await (const text of child.stdout.setEncoding('utf8')) {
    said += text
    const next = { 'waits\n': 7, 'waits\n7\n': 8 }[said]
    if (next) await ledger.append(richClose(next, ledger.head?.hash ?? ''))
  }
  expect([said, await ended]).toEqual(['waits\n7\n8\n', [0, null]])
  await ledger.close()
})

describe('the package lmdb, if it cannot be loaded,', () => {
  function opened(program: string, place: string, ...flags: string[]): string {
    const script = `
      const { lmdb } = await import(${JSON.stringify(program)})
      await lmdb(${JSON.stringify(place)}).catch(({ code, fields }) => console.log(code, fields.reason))`
    return spawnSync(process.execPath, [...flags, '--input-type=module', '-e', script], { encoding: 'utf8' }).stdout
  }

  test('is not installed: the error says how, and no directory is made', () => {
    const alone = join(places, 'alone.mjs')
    copyFileSync(join(out, 'lmdb.js'), alone)
    expect(opened(alone, join(places, 'none'))).toBe('STORE_FAILED the package lmdb is not installed: npm install lmdb\n')
    expect(readdirSync(places)).not.toContain('none')
  })

  test('or is installed and fails: the error says why', () => {
    const told = opened(join(out, 'lmdb.js'), join(places, 'none'), '--disallow-code-generation-from-strings')
    expect(told).toBe('STORE_FAILED the package lmdb cannot be loaded: Code generation from strings disallowed for this context\n')
  })
})
