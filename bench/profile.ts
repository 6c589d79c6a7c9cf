/**
 * Where the time of one work goes: `npm run bench:profile -- "transactions" [--workload recent] [--limit 200] [--side folio|sqlite] [--quick]`.
 * Samples the side's process every 50 µs while it answers fresh draws, and prints self time a page by function, then by source file.
 */
import { readFileSync } from 'node:fs'
import type { Profiler } from 'node:inspector'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { load } from './dataset.ts'
import { Asks } from './pages.ts'
import { openDatabase } from './peers/sqlite.ts'
import { worker } from './results.ts'
import { type Limit, type Workload, works } from './works.ts'

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    workload: { type: 'string', default: 'uniform' },
    limit: { type: 'string', default: '200' },
    side: { type: 'string', default: 'folio' },
    pages: { type: 'string' },
  },
})

/** Which source file a line of a bundle came from: the bundler leaves a comment where each begins. */
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
      // A native function says little without the one that called it.
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
const work = works.find((one) => one.name === name)
if (!work) throw new Error(`no such work; there are: ${works.map((one) => one.name).join('; ')}`)
const limit = Number(flags.limit) as Limit
const data = await load(join(import.meta.dirname, '..', 'data'), flags.quick, console.error)
const db = openDatabase(data.sqlite, { readonly: true })
const asks = new Asks(db, data, work, flags.workload as Workload, limit)
const count = Number(flags.pages ?? (limit === 10 ? 8000 : 1500))
const side = flags.side === 'sqlite' ? worker('sqlite', data.sqlite) : worker('folio', data.level)
await side.call('prepare', asks.take(2 * count), work.answer)
await side.call('run', 0, count)
const { run, profile } = await side.call('profile', count, 2 * count)
await side.end()
console.log(`${name}, ${flags.workload}, ${limit}, ${flags.side}: ${((run.ms * 1000) / run.count).toFixed(1)} µs a page under the profiler`)
const times = selfTimes(profile)
// The profiler's own start and end, and the wait for them.
for (const name of times.keys()) if (/^(\(root\)|\(idle\)|dispatch\tnative)/.test(name)) times.delete(name)
print('by function, self time a page', times, count)
const files = new Map<string, number>()
for (const [name, time] of times) {
  const [what, where] = name.split('\t')
  const key = where === 'native' || where === 'node' ? `${where}: ${what}` : where!
  files.set(key, (files.get(key) ?? 0) + time)
}
print('by file', files, count)
