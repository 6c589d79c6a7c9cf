/**
 * Processes that write to one store over LMDB, while others open and close it, and any of them is killed. Nothing that was acknowledged is lost, who
 * writes sees it at once, the file is whole, and nobody fails.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkFiles, lmdb } from '../../adapters/lmdb/index.ts'
import { GATE_OPEN, keyOf } from './crowd-child.ts'
import { child } from './program.ts'
import { type Ask, Faults, type Figure, random, type Stress, wait } from './stress.ts'

const WRITERS = 2
const OPENERS = 3
/** Openings of one process. */
const OPENINGS = 150

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const chance = random(seed)
  const place = mkdtempSync(join(tmpdir(), 'folio-crowd-'))
  const faults = new Faults()
  const counted = { writes: 0, kills: 0, processes: 0 }
  let done = 0

  /** Runs a process to its end, or kills it sometime. Returns how many lines it said. */
  const ran = async (args: readonly string[], over: Promise<void> | undefined, dies: boolean): Promise<number> => {
    counted.processes++
    const one = await child(['crowd', ...args], { plant })
    one.stdin!.on('error', () => {})
    let [text, error, isKilled] = ['', '', false]
    one.stderr!.setEncoding('utf8').on('data', (part) => {
      error += part
    })
    one.stdout!.setEncoding('latin1').on('data', (part) => {
      text += part
    })
    const closed = once(one, 'close') as Promise<[code: number | null, signal: string | null]>
    void over?.then(() => one.stdin!.end())
    if (dies) {
      await Promise.race([wait(200 + chance.below(800)), closed])
      isKilled = one.kill('SIGKILL')
      if (isKilled) counted.kills++
    }
    const [code, signal] = await closed
    if (code !== 0 && !(isKilled && signal === 'SIGKILL')) faults.add(`${args[0]}: ended with ${code ?? signal}: ${error.slice(0, 300)}`)
    return text.split('\n').length - 1
  }

  const opened = async (): Promise<void> => {
    while (done < count && faults.count === 0) {
      done += await ran(['open', place, String(Math.min(OPENINGS, count - done))], undefined, chance.chance(0.2))
      say?.(`${done} openings, ${faults.count} faults`)
    }
  }
  let isOver = false
  const over = Promise.all(Array.from({ length: OPENERS }, opened)).then(() => {
    isOver = true
  })
  /** How many writes of each process were acknowledged. */
  const acknowledged: number[] = []
  const written = async (): Promise<void> => {
    while (!isOver) {
      const number = acknowledged.push(0) - 1
      acknowledged[number] = await ran(['write', place, String(number)], over, chance.chance(0.5))
    }
  }
  await Promise.all([over, ...Array.from({ length: WRITERS }, written)])
  faults.add(...(await checkFiles(place)).faults.map((fault) => `file: ${JSON.stringify(fault)}`))
  const store = await lmdb(place, { checkFiles: false })
  for (const [number, writes] of acknowledged.entries()) {
    counted.writes += writes
    for (let i = 0; i < writes; i++) if (!store.get(keyOf(number, i))) faults.add(`lost: write ${i} of ${writes} of process ${number}`)
  }
  await store.close()
  rmSync(place, { recursive: true, force: true })
  return { done, faults: faults.list, counted }
}

export const crowd: Stress = {
  name: 'crowd',
  unit: 'openings of a store over LMDB while others write',
  full: 10_000,
  plants: { [GATE_OPEN]: 6000 },
  run,
}
