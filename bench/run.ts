/**
 * The whole benchmark: `npm run bench -- [--quick] [--against PEER] [--cache-mib N] [--memory-mib N] [--only TEXT] [--rounds N]`. Prints each row as it
 * comes and writes `results/latest.json`; `part.json` with `--only`, `cache.json` with `--cache-mib`, `memory.json` with `--memory-mib`, and that of the
 * peer with `--against`.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { load } from './dataset.ts'
import { AGAINST, type Flags, flagsOf, refuse, resultsOf, WrongFlag } from './flags.ts'
import { ingestRows } from './ingest.ts'
import type { Row } from './measure.ts'
import { FULL, pageRow, QUICK, warmUp } from './pages.ts'
import { peers } from './peers/index.ts'
import { openDatabase } from './peers/sqlite.ts'
import { ourWorker, type Results, theirWorker } from './results.ts'
import { deepRows, diskRow, httpRows, memoryRow, scanRows } from './suites.ts'
import { Table, verdict } from './table.ts'
import { works } from './works.ts'

/** Whatever `--only` may choose: pages and HTTP; with all the memory, what else is measured against the peer; by default, what has peers of its own. */
function suitesOf({ against, memoryMib }: Flags): string[] {
  const paged = [...works.map(({ name }) => `page ${name}`), ...works.filter(({ http }) => http).map(({ name }) => `http ${name}`)]
  if (memoryMib !== undefined) return paged
  return [...paged, 'ingest', 'disk', ...(against === AGAINST[0] ? ['scan', 'deep'] : [])]
}

function checked(): Flags {
  try {
    const flags = flagsOf(process.argv.slice(2), suitesOf)
    const missing = peers[flags.against].missing?.()
    if (missing !== undefined) throw new WrongFlag(missing)
    return flags
  } catch (error) {
    return refuse(error)
  }
}

const flags = checked()
const here = join(import.meta.dirname, '..')
const began = performance.now()
const pace = { ...(flags.quick ? QUICK : FULL), ...(flags.rounds !== undefined && { rounds: flags.rounds }) }
/** `--only page`, `--only "http effects"`, `--only scan`: text that occurs in the name of the suite, followed by the work's for `page` and `http`. */
const wanted = (name: string): boolean => suitesOf(flags).includes(name) && (flags.only === undefined || name.includes(flags.only))

const folder = join(here, 'data')
const { cacheMib, memoryMib } = flags
const data = { ...(await load(folder, flags.quick, console.error, flags.against)), cacheMib, memoryMib }
const rows: Row[] = []
const table = new Table(console.log)
const done = (row: Row): void => {
  rows.push(row)
  table.row(row)
}

const chosen = works.filter(({ name }) => wanted(`page ${name}`))
const db = openDatabase(data.sqlite, { readonly: true })
if (chosen.length > 0) {
  const ours = ourWorker(data)
  const theirs = theirWorker(data)
  await warmUp([ours, theirs], db, data)
  for (const work of chosen)
    for (const workload of ['uniform', 'recent'] as const)
      for (const limit of work.limits) done(await pageRow(ours, theirs, db, data, pace, work, workload, limit))
  done(await memoryRow(ours, theirs, data))
  await ours.end()
  await theirs.end()
}
await httpRows(db, data, pace, wanted, done)
db.close()
if (wanted('scan')) await scanRows(data, pace, done)
if (wanted('ingest')) await ingestRows(folder, data, flags.quick, pace, done)
if (wanted('disk')) done(diskRow(data))
if (wanted('deep')) await deepRows(data, pace, done)

const seconds = (performance.now() - began) / 1000
const results: Results = {
  mode: flags.quick ? 'quick' : 'full',
  against: flags.against,
  machine: {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGB: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    v8: process.versions.v8,
    platform: `${process.platform} ${process.arch}`,
  },
  data: data.counts,
  cacheMib,
  memoryMib,
  pace,
  seconds: Math.round(seconds),
  rows,
}
mkdirSync(join(here, 'results'), { recursive: true })
const name = resultsOf(flags)
writeFileSync(join(here, 'results', `${name}.json`), JSON.stringify(results, undefined, 1))
const judged = rows.filter((row) => row.ok !== undefined)
const short = judged.filter((row) => !row.ok)
const reached = judged.length === 0 ? 'no floors' : `${judged.length - short.length} of ${judged.length} floors reached`
console.log(`\n${reached}, in ${seconds.toFixed(0)} s; results/${name}.json`)
for (const row of short)
  console.log(
    `  ${verdict(row)}  ${row.work}${row.workload ? `, ${row.workload}` : ''}${row.limit ? `, ${row.limit}` : ''}: ${row.ratio.median.toFixed(2)} of ${row.floor}`,
  )
