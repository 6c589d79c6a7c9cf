/** The program as shipped: built, started as processes, stopped by signals. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'tsup'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { directory } from './support.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
// Not dist/, which may be in use; within the package, so that its dependencies are found.
const cache = join(root, 'node_modules/.cache')
let out: string
let program: string

beforeAll(async () => {
  mkdirSync(cache, { recursive: true })
  out = mkdtempSync(join(cache, 'folio-cli-'))
  await build({
    entry: { cli: join(root, 'adapters/cli/index.ts'), memory: join(root, 'adapters/memory/index.ts') },
    outDir: out,
    config: false,
    format: 'esm',
    target: 'node20',
    silent: true,
  })
  program = join(out, 'cli.js')
})

afterAll(() => rmSync(out, { recursive: true, force: true }))

const generated = (ledgers: number): string =>
  spawnSync(process.execPath, [program, 'generate', '--ledgers', String(ledgers), '--seed', '7'], { maxBuffer: 2 ** 28 }).stdout.toString()

test('standard input is not opened by a command that does not read it, since others may be reading it', () => {
  const [data, hook] = [join(directory(), 'data'), join(directory(), 'hook.cjs')]
  writeFileSync(hook, `Object.defineProperty(process, 'stdin', { get() { process._rawDebug('opened'); process.exit(99) } })`)
  const ran = (...argv: string[]) => spawnSync(process.execPath, ['--require', hook, program, ...argv], { input: '' })
  const closes = join(directory(), 'closes.ndjson')
  writeFileSync(closes, generated(3))
  for (const argv of [
    ['ingest', '--data', data, closes],
    ['get', '/ledgers', '--data', data],
    ['verify', '--data', data],
    ['export', '--data', data],
  ])
    expect([argv[0], ran(...argv).status]).toEqual([argv[0], 0])
  expect(ran('ingest', '--data', data, '-').status).toBe(99)
})

test('generate piped to ingest, then served until SIGTERM', async () => {
  const data = join(directory(), 'data')
  const pipe = `"$0" "$1" generate --ledgers 30 --seed 7 | "$0" "$1" ingest --data "$2" --json -`
  const made = spawnSync('sh', ['-c', pipe, process.execPath, program, data])
  expect(made.stderr.toString()).toMatch(/^{"appended":30,/)
  expect(made.stdout.toString().trimEnd().split('\n')).toHaveLength(30)

  const server = spawn(process.execPath, [program, 'serve', '--data', data, '--port', '0'])
  const url = await new Promise<string>((resolve) => {
    let text = ''
    server.stderr.on('data', (chunk) => {
      text += chunk
      const found = / at (http:\S+), ledgers/.exec(text)
      if (found) resolve(found[1]!)
    })
  })
  const answer = (await (await fetch(`${url}/ledgers?limit=1`)).json()) as any
  expect(answer._embedded.records[0].sequence).toBe(2_100_000)
  const locked = spawnSync(process.execPath, [program, 'get', '/', '--data', data])
  expect(locked.status).toBe(3)
  expect(locked.stderr.toString()).toMatch(/^folio: STORE_LOCKED: /)
  server.kill('SIGTERM')
  expect(await once(server, 'exit')).toEqual([0, null])
  expect(spawnSync(process.execPath, [program, 'get', '/ledgers/2100029', '--data', data]).status).toBe(0)
})

test('a process killed after an acknowledgement has kept what it acknowledged', async () => {
  const data = join(directory(), 'data')
  const feeder = spawn(process.execPath, [program, 'ingest', '--data', data, '--json', '-'])
  feeder.stdin.on('error', () => {})
  feeder.stdin.write(generated(60))
  let acknowledged = ''
  for await (const chunk of feeder.stdout) {
    acknowledged += chunk
    if (acknowledged.split('\n').length > 10) break
  }
  feeder.kill('SIGKILL')
  await once(feeder, 'exit')
  const last = /{"ledger":(\d+)}\n$/.exec(acknowledged)![1]!
  expect(spawnSync(process.execPath, [program, 'get', `/ledgers/${last}`, '--data', data]).status).toBe(0)
})

test('head ends generate as it ends other commands, without a word', () => {
  const { status, stderr } = spawnSync('bash', [
    '-c',
    `set -o pipefail; "$0" "$1" generate --ledgers 100000 --seed 7 | head -n 1`,
    process.execPath,
    program,
  ])
  expect({ status, stderr: stderr.toString() }).toEqual({ status: 141, stderr: '' })
})

test('one signal ends a command whose pipe nobody drains', async () => {
  const isFull = (pipe: number): boolean => {
    try {
      writeSync(pipe, 'x')
      return false
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      return true
    }
  }
  /** The exit code of a command that is told to end once its pipe takes nothing more, and what it said to people. */
  const told = async (command: string): Promise<[code: number, said: string]> => {
    const path = join(directory(), 'pipe')
    spawnSync('mkfifo', [path])
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    const stdout = openSync(path, 'w')
    const child = spawn('bash', ['-c', `exec ${command}`, process.execPath, program], { stdio: ['ignore', stdout, 'pipe'] })
    closeSync(stdout)
    let said = ''
    child.stderr!.setEncoding('utf8').on('data', (text) => {
      said += text
    })
    await expect.poll(() => isFull(pipe), { timeout: 60_000 }).toBe(true)
    child.kill('SIGTERM')
    const [code] = await once(child, 'close')
    closeSync(pipe)
    return [code, said]
  }
  expect(await told('"$0" "$1" generate --ledgers 1000000 --seed 7')).toEqual([143, ''])
  // 4,000 acknowledgements are more than a pipe holds.
  const feed = '"$0" "$1" generate --ledgers 100000 --seed 7 --transactions-per-ledger 0 --accounts 16'
  const [code, said] = await told(`"$0" "$1" serve --store memory --port 0 --json --ingest <(${feed})`)
  expect([code, said]).toEqual([0, expect.stringMatching(/SIGTERM: closing\n$/)])
})

test('bench leaves no directory behind: not of a store that never answers, nor at a second signal', async () => {
  const [temporary, path] = [directory(), join(directory(), 'store.mjs')]
  // Something of the store keeps the process alive.
  writeFileSync(path, 'export default () => { setInterval(() => {}, 1000); return new Promise(() => {}) }')
  const compared = async (...signals: NodeJS.Signals[]) => {
    const child = spawn(process.execPath, [program, 'bench', '--store', `level,mine=${path}`, '--ledgers', '12'], {
      env: { ...process.env, TMPDIR: temporary },
    })
    await expect.poll(() => readdirSync(temporary).length, { timeout: 60_000 }).toBe(2)
    for (const signal of signals) child.kill(signal)
    const [code, signal] = await once(child, 'exit')
    return [code ?? signal, readdirSync(temporary)]
  }
  expect(await compared('SIGINT')).toEqual([130, []])
  // Two signals that come together may be taken in either order.
  const how = [130, 143, 'SIGINT', 'SIGTERM']
  expect(await compared('SIGINT', 'SIGTERM')).toEqual([expect.toSatisfy((one) => how.includes(one)), []])
})

test('bench ends once its figures are printed, whatever a module of the user has left open', async () => {
  const path = join(directory(), 'store.mjs')
  // As a connection that all stores of the module share.
  writeFileSync(
    path,
    `import { memory, memoryDisk } from ${JSON.stringify(join(out, 'memory.js'))}
    const disks = new Map()
    setInterval(() => {}, 1000)
    export default (directory) => memory(disks.get(directory) ?? disks.set(directory, memoryDisk()).get(directory))`,
  )
  const argv = ['bench', '--store', `mine=${path}`, '--ledgers', '12', '--rounds', '1', '--run-ms', '1', '--json']
  const child = spawn(process.execPath, [program, ...argv], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  const ended = once(child, 'exit')
  expect(JSON.parse(await text(child.stdout)).stores).toEqual(['mine'])
  expect(await ended).toEqual([0, null])
})

test('bench takes a module that was compiled to CommonJS', () => {
  const path = join(directory(), 'store.cjs')
  writeFileSync(
    path,
    "Object.defineProperty(exports, '__esModule', { value: true })\nexports.default = () => { throw new Error('no wire') }",
  )
  const { status, stderr } = spawnSync(process.execPath, [program, 'bench', '--store', `mine=${path}`])
  expect([status, stderr.toString()]).toEqual([1, 'folio: cannot be compared: mine fails to open: no wire\n'])
})

test('bench says after which call a store ended the process, or failed where nobody waits for it', () => {
  const says = (act: string): unknown[] => {
    const path = join(directory(), 'store.mjs')
    const memory = JSON.stringify(pathToFileURL(join(out, 'memory.js')).href)
    writeFileSync(
      path,
      `import { memory } from ${memory}\nexport default () => ({ ...memory(), write: () => { ${act}; return new Promise(() => {}) } })`,
    )
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'bench', '--store', `mine=${path}`], {
      env: { ...process.env, TMPDIR: directory() },
    })
    return [status, stdout.toString(), stderr.toString()]
  }
  const line = (what: string): string => `folio: cannot be compared: after mine was asked for write, ${what}\n`
  expect(says('process.exit(0)')).toEqual([1, '', line('the process was ended')])
  expect(says("Promise.reject(new Error('no wire'))")).toEqual([1, '', line('a promise was rejected that nobody waits for: no wire')])
  expect(says("setTimeout(() => { throw new Error('no wire') })")).toEqual([
    1,
    '',
    line('an error was thrown that nobody catches: no wire'),
  ])
})

test('one signal ends what waits for the other end of a named pipe, and nothing of the store stays locked', async () => {
  const place = directory()
  const data = join(place, 'data')
  const pipe = join(place, 'pipe')
  spawnSync('mkfifo', [pipe])
  spawnSync(process.execPath, [program, 'ingest', '--data', data, '-'], { input: generated(3) })
  for (const [signal, code, ...waiting] of [
    ['SIGINT', 130, 'ingest', pipe],
    ['SIGTERM', 143, 'export', '--out', pipe],
    ['SIGTERM', 0, 'serve', '--port', '0', '--ingest', pipe],
    ['SIGINT', 0, 'serve', '--port', '0', `--ingest=${pipe}`],
  ] as const) {
    const child = spawn(process.execPath, [program, ...waiting, '--data', data], { stdio: ['ignore', 'ignore', 'pipe'] })
    const ended = once(child, 'exit')
    let said = ''
    child.stderr!.on('data', (text) => {
      said += text
    })
    if (code === 0) await expect.poll(() => said, { timeout: 60_000 }).toMatch('try curl')
    // Nothing tells whether it has come to the pipe.
    await setTimeout(2000)
    child.kill(signal)
    // A machine that does much else has not come to the pipe when the signal comes, and ends with the code.
    expect([[code, null], ...(code === 0 ? [] : [[null, signal]])]).toContainEqual(await ended)
    expect(spawnSync(process.execPath, [program, 'get', '/', '--data', data]).status).toBe(0)
  }
})

test.each([
  ['ingest', ['ingest']],
  ['serve', ['serve', '--port', '0', '--ingest']],
])('%s ends at a close that is refused, though the named pipe that brought it stays open', async (_, command) => {
  const place = directory()
  const pipe = join(place, 'pipe')
  spawnSync('mkfifo', [pipe])
  const writer = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  writeSync(writer, `${generated(1)}garbage\n`)
  const child = spawn(process.execPath, [program, ...command, pipe, '--data', join(place, 'data')], { stdio: 'ignore' })
  expect(await once(child, 'exit')).toEqual([1, null])
  closeSync(writer)
})

test('a directory as standard input is no empty input', () => {
  const place = directory()
  const data = join(place, 'data')
  const [from, nothing] = [openSync(place, 'r'), openSync('/dev/null', 'r')]
  const ingest = (stdin: number) =>
    spawnSync(process.execPath, [program, 'ingest', '--data', data, '-'], { stdio: [stdin, 'pipe', 'pipe'] })
  const { status, stderr } = ingest(from)
  expect([status, stderr.toString()]).toEqual([1, expect.stringMatching(/EISDIR: '-' is a directory/)])
  expect(readdirSync(place)).toEqual([])
  expect(ingest(nothing).status).toBe(0)
  for (const descriptor of [from, nothing]) closeSync(descriptor)
})
