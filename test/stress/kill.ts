/**
 * `kill -9` during ingest: the command line is fed, killed at any moment, and its store opened again, LevelDB or LMDB.
 * Every acknowledged ledger is there, none in part, none is missing between; a batch is there whole; and opening always succeeds.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stores } from '../../adapters/cli/stores.ts'
import { openLedger } from '../../src/index.ts'
import { History } from './history.ts'
import { child } from './program.ts'
import { type Ask, Faults, type Figure, random, type Stress, wait } from './stress.ts'

type Kind = 'level' | 'lmdb'

interface Attempt {
  readonly kind?: Kind
  readonly data: string
  readonly from: number
  /** None is given: a batch is what comes while the one before is written. */
  readonly batch: number | undefined
  readonly plant: string | undefined
  readonly writeBufferBytes: number | undefined
  /** After so many acknowledgements, and then so many milliseconds; none: so many milliseconds after the start. */
  readonly afterLines: number
  readonly ms: number
}

/** What a child had said when it ended. */
interface Said {
  readonly acknowledged: readonly number[]
  readonly torn: boolean
  /** Null if it was killed. */
  readonly code: number | null
  readonly error: string
}

/** Feeds a child, kills it, and returns what it had acknowledged. */
export async function killed(history: History, attempt: Attempt, env: NodeJS.ProcessEnv = {}): Promise<Said> {
  const { kind = 'level', data, from, batch, plant, writeBufferBytes, afterLines, ms } = attempt
  const args = ['cli', 'ingest', '--store', kind, '--data', data, '--json', ...(batch === undefined ? [] : ['--batch', String(batch)]), '-']
  const feeder = await child(args, { plant, writeBufferBytes }, { env })
  feeder.stdin!.on('error', () => {})
  feeder.stdin!.write(`${history.lines.slice(from - history.first, from - history.first + 60).join('\n')}\n`)
  let hasEnough = (): void => {}
  const enough = new Promise<void>((resolve) => {
    hasEnough = resolve
  })
  const closed = heard(feeder, (text) => {
    if (text.split('\n').length > afterLines) hasEnough()
  })
  void closed.then(hasEnough)
  if (afterLines > 0) await enough
  if (ms > 0) await Promise.race([wait(ms), closed])
  feeder.kill('SIGKILL')
  return closed
}

/** What a child says until it ends. @param onText is given all of its output so far */
export async function heard(feeder: ChildProcess, onText: (text: string) => void = () => {}): Promise<Said> {
  let text = ''
  let error = ''
  feeder.stderr!.setEncoding('utf8').on('data', (chunk) => {
    error += chunk
  })
  feeder.stdout!.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
    onText(text)
  })
  const [code] = (await once(feeder, 'close')) as [code: number | null]
  const lines = text.split('\n')
  const torn = lines.pop() !== ''
  return { acknowledged: lines.map((line) => Number(/^\{"ledger":(\d+)\}$/.exec(line)?.[1])), torn, code, error }
}

/** Opens what a killed child has left, and compares it. Returns the newest ledger held. */
export async function inspect(history: History, data: string, promised: number, faults: Faults, kind: Kind = 'level'): Promise<number> {
  try {
    await using ledger = await openLedger(await stores[kind].open(data, { mustExist: false }))
    faults.add(...(await history.check(ledger, promised)))
    return ledger.head?.last ?? history.first - 1
  } catch (error) {
    faults.add(`open: ${error}`)
    return -1
  }
}

/** What acknowledgements must be like: every ledger once, in order, one per line. */
export function checkSaid({ acknowledged, torn, code, error }: Said, from: number): string[] {
  const wrong = acknowledged.findIndex((sequence, i) => sequence !== from + i)
  const faults = wrong < 0 ? [] : [`acknowledged ${acknowledged[wrong]} in place of ${from + wrong}`]
  if (torn) faults.push('an acknowledgement was not one write')
  if (code) faults.push(`the program ended with ${code}: ${error.slice(0, 300)}`)
  return faults
}

const KILLS_A_STORE = 25

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const chance = random(seed)
  const history = await History.of({ ledgers: 400, seed })
  const faults = new Faults()
  const counted = { acknowledged: 0, opening: 0, whole: 0, stores: 0 }
  let done = 0
  while (done < count) {
    const folder = mkdtempSync(join(tmpdir(), 'folio-kill-'))
    const data = join(folder, 'data')
    const kind = counted.stores++ % 2 === 0 ? 'level' : 'lmdb'
    let held = history.first - 1
    for (let i = 0; i < KILLS_A_STORE && done < count && held >= 0 && held < history.last; i++) {
      const opening = chance.chance(0.15) && plant === undefined
      const batch = chance.pick([1, undefined, undefined, 3, 10])
      const afterLines = opening ? 0 : 1 + chance.below(12)
      const ms = opening ? 60 + chance.below(250) : chance.pick([0, 0, chance.below(4), chance.below(20)])
      const writeBufferBytes = chance.pick([undefined, 64 << 10])
      const said = await killed(history, { kind, data, from: held + 1, batch, plant, writeBufferBytes, afterLines, ms })
      const promised = said.acknowledged.at(-1) ?? held
      faults.add(...checkSaid(said, held + 1))
      const before = held
      held = await inspect(history, data, promised, faults, kind)
      if (held < before) faults.add(`lost: went from ${before} to ${held}`)
      if (batch !== undefined && (held - before) % batch !== 0 && held !== history.last)
        faults.add(`half a batch of ${batch}: ${before} to ${held}`)
      counted.acknowledged += said.acknowledged.length
      if (said.acknowledged.length === 0) counted.opening++
      if (held === history.last) counted.whole++
      done++
      if (done % 50 === 0) say?.(`${done} kills, ${faults.count} faults`)
    }
    rmSync(folder, { recursive: true, force: true })
  }
  return { done, faults: faults.list, counted }
}

export const kill: Stress = {
  name: 'kill',
  unit: 'kills -9 during ingest, LevelDB and LMDB in turns',
  full: 1000,
  plants: {
    'acknowledged before it is written': 4,
    'two batches a ledger, the head first': 40,
    'every tenth block is not written': 5,
  },
  run,
}
