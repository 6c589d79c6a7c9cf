/**
 * A window of history that moves: as many ledgers are held at any time, each one that is appended pushes out the oldest. `npm run window`; a number of
 * ledgers as its argument is the size of the window, by default 500. How long each call takes, what is written, and how large the store is.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from '../adapters/generate/index.ts'
import { level } from '../adapters/level/index.ts'
import { openLedger } from '../src/index.ts'
import { diskBytes, networkOptions } from './dataset.ts'
import { spread } from './measure.ts'

/** Ledgers that are appended once the window is full. */
const MOVES = 1_000
const MB = 2 ** 20

const [given = '500', ...rest] = process.argv.slice(2)
if (!/^[1-9]\d{0,5}$/.test(given) || rest.length > 0) {
  console.error('window: the size of the window must be a whole number of ledgers, from 1 to 999999')
  process.exit(2)
}
const size = Number(given)
const directory = mkdtempSync(join(tmpdir(), 'folio-window-'))
const ledger = await openLedger(level(directory))
const network = generate({ ...networkOptions(false), ledgers: size + MOVES })
const written = (): number => process.resourceUsage().fsWrite * 512

/** Milliseconds of work. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const [appends, prunes] = [[] as number[], [] as number[]]
let [most, before, cpu] = [0, 0, process.cpuUsage()]
let held = 0
for (const close of network) {
  const append = await timed(() => ledger.append(close as never))
  if (++held <= size) {
    if (held === size) [before, cpu] = [written(), process.cpuUsage()]
    continue
  }
  appends.push(append)
  prunes.push(await timed(() => ledger.prune(ledger.head!.oldest + 1)))
  if (appends.length % 50 === 0) most = Math.max(most, diskBytes(directory))
}
const { user, system } = process.cpuUsage(cpu)
const told = (values: readonly number[]): string => {
  const { median, most } = spread(values)
  return `median ${median.toFixed(1)} ms, longest ${most.toFixed(0)} ms`
}
console.log(`a window of ${size} ledgers, moved by ${MOVES}`)
console.log(`append   ${told(appends)}`)
console.log(`prune    ${told(prunes)}`)
console.log(`CPU      ${((user + system) / 1000 / MOVES).toFixed(1)} ms per ledger, of the whole process`)
console.log(`written  ${((written() - before) / MB / MOVES).toFixed(2)} MB per ledger, logs and compaction`)
console.log(`disk     ${(most / MB).toFixed(0)} MB at most`)
await ledger.close()
rmSync(directory, { recursive: true })
