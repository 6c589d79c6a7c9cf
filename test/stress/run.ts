/**
 * Runs the stresses and prints their figures.
 * `--only NAME[,NAME]`, `--scale 0.1` (of the full figure), `--count N`, `--seed N`, `--plants` (each must find the bugs planted for it).
 */
import { parseArgs } from 'node:util'
import { crowd } from './crowd.ts'
import { damage } from './damage.ts'
import { disk } from './disk.ts'
import { chaos, failing } from './failing.ts'
import { full } from './full.ts'
import { fuzz } from './fuzz.ts'
import { handles } from './handles.ts'
import { kill } from './kill.ts'
import { power } from './power.ts'
import { sequences } from './sequences.ts'
import { streams } from './streams.ts'
import { type Figure, look, type Stress } from './stress.ts'
import { verify } from './verify.ts'
import { walkers } from './walkers.ts'

const all: readonly Stress[] = [kill, failing, chaos, power, disk, crowd, full, fuzz, walkers, handles, streams, damage, sequences, verify]

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    scale: { type: 'string', default: '1' },
    count: { type: 'string' },
    seed: { type: 'string', default: '1' },
    plants: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed)
const names = values.only?.split(',')
const chosen = all.filter(({ name }) => !names || names.includes(name))
if (chosen.length === 0) throw new Error(`--only takes ${all.map(({ name }) => name).join(', ')}`)
const say = (line: string): void => void process.stderr.write(`  ${line}\n`)
const digits = (count: number): string => count.toLocaleString('en-US')

function told({ done, faults, counted, skipped }: Figure, unit: string, seconds: number): string {
  if (skipped !== undefined) return `skipped: ${skipped}`
  const more = Object.entries(counted).map(([name, value]) => `${name} ${typeof value === 'number' ? digits(value) : value}`)
  return `${digits(done)} ${unit}: ${faults.length === 0 ? '0 faults' : `${faults.length} FAULTS`}; ${more.join(', ')}; ${seconds.toFixed(0)} s`
}

async function promise(stress: Stress): Promise<boolean> {
  const count = Number(values.count ?? Math.max(1, Math.round(stress.full * Number(values.scale))))
  const started = performance.now()
  const figure = await stress.run({ count, seed, say })
  console.log(`${stress.name.padEnd(8)} ${told(figure, stress.unit, (performance.now() - started) / 1000)}`)
  for (const fault of figure.faults.slice(0, 10)) console.log(`         ${fault}`)
  return figure.faults.length === 0
}

async function plants(stress: Stress): Promise<boolean> {
  let found = true
  for (const plant of Object.keys(stress.plants)) {
    const figure = await look(stress, plant, seed)
    const [fault] = figure.faults
    const said = figure.skipped ?? (fault === undefined ? 'NOT FOUND' : `found: ${fault}`)
    console.log(`${stress.name.padEnd(8)} planted: ${plant}\n         ${said}`)
    found &&= fault !== undefined || figure.skipped !== undefined
  }
  return found
}

let good = true
for (const stress of chosen) good = (await (values.plants ? plants : promise)(stress)) && good
process.exitCode = good ? 0 : 1
