/**
 * Shows where the time of one work goes: `npm --prefix bench run profile -- "transactions" [--workload recent] [--limit 200] [--side folio|sqlite|postgres|bare] [--cache-mib N] [--cold] [--quick]`.
 * Also `"http transactions"`, `ingest`, and `"scan records"` (or pages, ndjson). Samples the side's process every 50 µs while it answers fresh
 * draws, and prints self time per page, by function and then by source file. Before that, the side reads all of history and answers as many draws,
 * unless it is to be `cold`.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import type { Profiler } from 'node:inspector'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { targetOf } from './contender.ts'
import { load } from './dataset.ts'
import { AGAINST } from './flags.ts'
import { Client, requestOf } from './load.ts'
import type { Run } from './measure.ts'
import { Asks, warmUp } from './pages.ts'
import { bareTarget } from './peers/bare-http.ts'
import { openDatabase } from './peers/sqlite.ts'
import { bareWorker, ourWorker, theirWorker, type Worker, worker } from './results.ts'
import { type Limit, type Work, type Workload, works } from './works.ts'

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    workload: { type: 'string', default: 'uniform' },
    limit: { type: 'string', default: '200' },
    side: { type: 'string', default: 'folio' },
    pages: { type: 'string' },
    'cache-mib': { type: 'string' },
    cold: { type: 'boolean', default: false },
  },
})

/** Which source file a line of a bundle came from: the bundler leaves a comment where each file begins. */
class Origins {
  private readonly bundles = new Map<string, string[]>()

  of({ url, lineNumber, functionName }: { url: string; lineNumber: number; functionName: string }): string {
    if (functionName === '(garbage collector)') return 'garbage collector'
    if (url === '') return 'native'
    if (url.startsWith('node:')) return 'node'
    if (!url.includes('/build/')) return url.replace(/^.*node_modules\//, '')
    const lines = this.lines(url)
    return lines[lineNumber] ?? url
  }

  private lines(url: string): string[] {
    const held = this.bundles.get(url)
    if (held) return held
    let file = ''
    const lines = readFileSync(fileURLToPath(url), 'utf8')
      .split('\n')
      .map((line) => {
        const found = /^\/\/ (\S+\.[jt]s)$/.exec(line)
        if (found) file = found[1]!.replace(/^(\.\.\/)+/, '')
        return file
      })
    this.bundles.set(url, lines)
    return lines
  }
}

function selfTimes(profile: Profiler.Profile): Map<string, number> {
  const origins = new Origins()
  const callers = new Map(profile.nodes.flatMap(({ children = [], callFrame }) => children.map((child) => [child, callFrame.functionName])))
  const names = new Map(
    profile.nodes.map(({ id, callFrame }) => {
      const origin = origins.of(callFrame)
      // A native function says little without its caller.
      const from = origin === 'native' && !callFrame.functionName.startsWith('(p') ? ` < ${callers.get(id) ?? ''}` : ''
      return [id, `${callFrame.functionName || '(anonymous)'}${from}\t${origin}`]
    }),
  )
  const times = new Map<string, number>()
  for (const [i, id] of (profile.samples ?? []).entries()) {
    const name = names.get(id)!
    times.set(name, (times.get(name) ?? 0) + (profile.timeDeltas?.[i] ?? 0))
  }
  return times
}

function print(title: string, times: Map<string, number>, pages: number): void {
  const all = [...times.values()].reduce((sum, time) => sum + time, 0)
  console.log(`\n${title}`)
  for (const [name, time] of [...times].sort((a, b) => b[1] - a[1]).slice(0, 28)) {
    const [what, where = ''] = name.split('\t')
    console.log(
      `${(time / pages).toFixed(2).padStart(9)} µs ${((time * 100) / all).toFixed(1).padStart(5)} %  ${what!.padEnd(36)} ${where}`,
    )
  }
}

const name = positionals[0] ?? 'transactions'
const limit = Number(flags.limit) as Limit
const workload = flags.workload as Workload
const folder = join(import.meta.dirname, '..', 'data')
const peer = AGAINST.find((kind) => kind === flags.side)
const cacheMib = flags['cache-mib'] === undefined ? undefined : Number(flags['cache-mib'])
const data = { ...(await load(folder, flags.quick, console.error, peer)), cacheMib }

interface Profiled {
  readonly run: Run
  readonly profile: Profiler.Profile
  readonly costs: Readonly<Record<string, number>>
}

async function profiled(side: Worker, work: () => Promise<Run>): Promise<Pick<Profiled, 'run' | 'profile'>> {
  await side.call('startProfile')
  const run = await work()
  return { run, profile: await side.call('stopProfile') }
}

function workNamed(name: string): Work {
  const work = works.find((one) => one.name === name)
  if (!work)
    throw new Error(`no such work; choose one of: ${works.map((one) => one.name).join('; ')}; http NAME; ingest; scan records|pages|ndjson`)
  return work
}

const reading = (): Worker => (peer ? theirWorker(data) : ourWorker(data))

async function pages(): Promise<Profiled> {
  const work = workNamed(name)
  const db = openDatabase(data.sqlite, { readonly: true })
  const asks = new Asks(db, data, work, workload, limit)
  const usual = flags.cold ? { 10: 8000, 200: 1500 } : { 10: 100_000, 200: 30_000 }
  const count = Number(flags.pages ?? usual[limit])
  const side = reading()
  if (!flags.cold) await warmUp([side], db, data)
  await side.call('prepare', asks.take(2 * count), work.answer)
  await side.call('run', flags.cold ? Math.min(count, 500) : 0, count)
  const costs = await side.call('costs', 0, Math.min(count, 500))
  const found = await profiled(side, () => side.call('run', count, 2 * count))
  await side.end()
  return { ...found, costs }
}

/** How many bytes the answers have in the mean. */
async function meanBytes(targets: readonly string[]): Promise<number> {
  const side = ourWorker(data)
  const client = await Client.open(await side.call('listen'), 8)
  const { bytes, count } = await client.run(targets.map(requestOf))
  client.close()
  await side.end()
  return Math.round(bytes / count)
}

/** A server that has read all of history, under load from this process. */
async function http(what: string): Promise<Profiled> {
  const db = openDatabase(data.sqlite, { readonly: true })
  const asks = new Asks(db, data, workNamed(what), workload, limit)
  const count = Number(flags.pages ?? (limit === 10 ? 40_000 : 16_000))
  const isBare = flags.side === 'bare'
  const bytes = isBare ? await meanBytes(asks.take(400).map(targetOf)) : 0
  const asked = (target: string): string => (isBare ? bareTarget(target, workload, bytes) : target)
  const draw = (): Buffer[] => asks.take(count).map((ask) => requestOf(asked(targetOf(ask))))
  const side = isBare ? bareWorker(data) : reading()
  if (!isBare && !flags.cold) await warmUp([side], db, data)
  const client = await Client.open(await side.call('listen'), 8)
  await client.run(draw())
  const requests = draw()
  const found = await profiled(side, async () => {
    const before = await side.call('usage')
    const { ms } = await client.run(requests)
    const after = await side.call('usage')
    return { count, ms, cpuMs: after.cpuMs - before.cpuMs, systemMs: after.systemMs - before.systemMs }
  })
  client.close()
  await side.end()
  return { ...found, costs: {} }
}

async function ingest(): Promise<Profiled> {
  const at = join(folder, `profile-${process.pid}`)
  mkdirSync(at)
  const place = join(at, 'history')
  const side = peer ? worker(peer, place, { mode: 'write' }) : ourWorker(data, place)
  const count = Number(flags.pages ?? 300)
  await side.call('makeReady', flags.quick, 100)
  await side.call('appendReady', 'append')
  await side.call('makeReady', flags.quick, count)
  const found = await profiled(side, () => side.call('appendReady', 'append'))
  await side.end()
  rmSync(at, { recursive: true })
  return { ...found, costs: {} }
}

async function scan(how: string): Promise<Profiled> {
  const side = ourWorker(data)
  await side.call('scan', how)
  const found = await profiled(side, () => side.call('scan', how))
  await side.end()
  return { ...found, costs: {} }
}

/** What the command line names: `ingest`, `http` or `scan` with what follows it, or the name of a work. */
function asked(): Promise<Profiled> {
  const [, kind, what = ''] = /^(http|scan) (.+)$/.exec(name) ?? []
  if (name === 'ingest') return ingest()
  return kind === 'http' ? http(what) : kind === 'scan' ? scan(what) : pages()
}

const { run, profile, costs } = await asked()
console.log(`${name}, ${workload}, ${limit}, ${flags.side}: ${((run.ms * 1000) / run.count).toFixed(1)} µs each, under the profiler`)
const each = (value = 0): string => (value / run.count).toFixed(1)
console.log(
  `CPU ${each(run.cpuMs * 1000)} µs each, of which kernel ${each((run.systemMs ?? 0) * 1000)} µs; page faults ${each(run.faults)}`,
)
const shown = Object.entries(costs).map(([name, value]) => `${value.toFixed(name === 'bytes' ? 0 : 1)} ${name}`)
if (shown.length > 0) console.log(`store, per page: ${shown.join(', ')}`)
const times = selfTimes(profile)
// Leaves out the profiler's own start and stop, and waiting for them.
for (const name of times.keys()) if (/^(\(root\)|\(idle\)|dispatch\tnative)/.test(name)) times.delete(name)
print('self time by function (per page, ledger or record)', times, run.count)
const files = new Map<string, number>()
for (const [name, time] of times) {
  const [what, where] = name.split('\t')
  const key = where === 'native' || where === 'node' ? `${where}: ${what}` : where!
  files.set(key, (files.get(key) ?? 0) + time)
}
print('self time by file (the same)', files, run.count)
