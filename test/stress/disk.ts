/**
 * A disk that fails during ingest: any call of the process that changes a file fails, alone or with all that follow, over LevelDB and LMDB; and over
 * LevelDB any that opens or reads one. (LMDB maps its file. If it cannot read the head of that, it ends the process.)
 * The command line says so and ends; what it had acknowledged is there, and opening succeeds once the disk works again.
 * A library that is preloaded into the process (`disk.c`, compiled here) lets calls fail.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { stores } from '../../adapters/cli/stores.ts'
import { openLedger } from '../../src/index.ts'
import { History } from './history.ts'
import { checkSaid, heard, inspect } from './kill.ts'
import { preloaded } from './preload.ts'
import { child } from './program.ts'
import { type Ask, Faults, type Figure, random, type Stress } from './stress.ts'

const LEDGERS = 12
const FILL = 4
const FAULTS_A_STORE = 10
/** The longest that an ingest may go on, in milliseconds. */
const PATIENCE = 60_000

const { EIO, ENOSPC, EMFILE } = constants.errno
const READS = [
  [1, EIO],
  [1, EMFILE],
  [1e9, EIO],
] as const
/** How many calls fail, and with what. */
const FAILURES = {
  changes: [
    [1, EIO],
    [1e9, EIO],
    [1e9, ENOSPC],
  ],
  reads: READS,
  streams: READS,
} as const
/** Below which number is the first that fails. */
const FIRST = { changes: [12, 60, 120], reads: [12, 30, 60], streams: [14] } as const

/** What the command line says of a store that failed, alone or below what LMDB prints by itself, and how far it had come. */
const TOLD = /^folio: (STORE_FAILED|STORE_DENIED|CORRUPT|POISONED)\b.*\n({"appended":.*}\n)?$/m

/**
 * What LMDB prints of a write that failed. lmdb-js 3.5 then puts it into words in a buffer of 100 bytes, with what happens to be in memory: where that is
 * longer, it writes beyond, and the process may be ended for it (SIGABRT).
 */
const OVERFLOWN = /Write error: .* position \d+, size \d+/

/** Appends some ledgers, so that LevelDB has to read them from its log when it is opened next. */
async function fill(history: History, data: string, held: number): Promise<number> {
  const next = held + 1 - history.first
  await using ledger = await openLedger(await stores.level.open(data, { mustExist: false }))
  await ledger.ingest(history.closes.slice(next, next + FILL))
  return ledger.head?.last ?? held
}

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const counted = { acknowledged: 0, told: 0, 'ended by LMDB': 0, stores: 0 }
  const made = preloaded('disk')
  if ('reason' in made) return { done: 0, faults: [], counted, skipped: made.reason }
  const chance = random(`disk ${seed}`)
  const history = await History.of({ ledgers: FAULTS_A_STORE * (LEDGERS + FILL), seed })
  const faults = new Faults()
  let done = 0
  while (done < count) {
    const folder = mkdtempSync(join(tmpdir(), 'folio-disk-'))
    const data = join(folder, 'data')
    const kind = counted.stores++ % 2 === 0 ? 'level' : 'lmdb'
    let held = history.first - 1
    for (let i = 0; i < FAULTS_A_STORE && done < count && held >= history.first - 1 && held < history.last; i++) {
      const calls = kind === 'level' ? chance.pick(['changes', 'changes', 'reads', 'streams'] as const) : 'changes'
      if (calls !== 'changes') held = await fill(history, data, held)
      // A store is made in the first few calls.
      const isNew = held < history.first
      const at = 1 + chance.below(isNew ? FIRST[calls][0] : chance.pick(FIRST[calls]))
      const [failing, code] = chance.pick(FAILURES[calls])
      const env = { FOLIO_DISK_CALLS: calls, FOLIO_DISK_AT: String(at), FOLIO_DISK_FOR: String(failing), FOLIO_DISK_CODE: String(code) }
      const writeBufferBytes = chance.pick([undefined, 64 << 10])
      const lines = history.lines.slice(held + 1 - history.first, held + 1 - history.first + LEDGERS)
      const loaded = { LD_PRELOAD: made.library, FOLIO_DISK_FOLDER: data, ...env }
      const args = ['--store', kind, '--data', data, '--batch', String(chance.pick([1, 1, 3]))]
      const options = { env: loaded, timeout: PATIENCE, killSignal: 'SIGKILL' } as const
      const feeder = await child(['cli', 'ingest', '--json', ...args, '-'], { plant, writeBufferBytes }, options)
      feeder.stdin!.on('error', () => {})
      feeder.stdin!.end(`${lines.join('\n')}\n`)
      const said = await heard(feeder)
      const told = TOLD.test(said.error)
      const found = new Faults()
      found.add(...checkSaid({ ...said, code: told ? 0 : said.code }, held + 1))
      if (said.code === null) {
        if (kind === 'lmdb' && feeder.signalCode !== options.killSignal && OVERFLOWN.test(said.error)) counted['ended by LMDB']++
        else found.add(`the program was killed: ${said.error.slice(-300)}`)
      }
      if (said.code === 0 && said.acknowledged.length < lines.length) found.add('the program ended well, and not all is acknowledged')
      held = await inspect(history, data, said.acknowledged.at(-1) ?? held, found, kind)
      faults.add(...found.list.map((one) => `${kind}, ${calls} from call ${at}, ${failing} with ${code}: ${one}`))
      counted.acknowledged += said.acknowledged.length
      if (told) counted.told++
      done++
      if (done % 20 === 0) say?.(`${done} faults of the disk, ${faults.count} of ours`)
    }
    rmSync(folder, { recursive: true, force: true })
  }
  return { done, faults: faults.list, counted }
}

export const disk: Stress = {
  name: 'disk',
  unit: 'faults of the disk during ingest, LevelDB and LMDB in turns',
  full: 300,
  plants: { 'the result of a write is ignored': 10, 'acknowledged before it is written': 10 },
  run,
}
