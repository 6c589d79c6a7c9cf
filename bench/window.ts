/**
 * A window of history that moves: as many ledgers are held at any time, each one that is appended pushes out the oldest. `npm run window`; a number of
 * ledgers as its argument is the size of the window, by default 500. How long each call takes, what is written, and how large the store is; ours and
 * SQLite's in turns.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spread } from './measure.ts'
import { Remote } from './process.ts'
import type { Calls, Moves } from './window-side.ts'

/** How many times each side moves its window while the other waits, and how often. */
const MOVES = 50
const ROUNDS = 20
const MB = 2 ** 20

const [given = '500', ...rest] = process.argv.slice(2)
if (!/^[1-9]\d{0,5}$/.test(given) || rest.length > 0) {
  console.error('window: the size of the window must be a whole number of ledgers, from 1 to 999999')
  process.exit(2)
}
const size = Number(given)
const directory = mkdtempSync(join(tmpdir(), 'folio-window-'))
const sides = ['folio', 'sqlite'].map((kind) => {
  const place = join(directory, kind)
  mkdirSync(place)
  return { side: new Remote<Calls>('window-side.js', [kind, place]), runs: [] as Moves[] }
})
for (const { side } of sides) await side.call('fill', size)
for (let round = 0; round < ROUNDS; round++)
  for (const { side, runs } of round % 2 === 0 ? sides : sides.toReversed()) runs.push(await side.call('move', MOVES))
const ends = await Promise.all(sides.map(({ side }) => side.call('ends')))
if (new Set(ends).size > 1) throw new Error('the sides hold different ledgers')

const row = (name: string, of: (runs: readonly Moves[]) => string): void =>
  console.log([name.padEnd(34), ...sides.map(({ runs }) => of(runs).padStart(10))].join(''))
const perMove = (runs: readonly Moves[], of: (moves: Moves) => number): number =>
  runs.reduce((sum, moves) => sum + of(moves), 0) / ROUNDS / MOVES
const ms = (value: number): string => value.toFixed(value < 10 ? 1 : 0)
console.log(`a window of ${size} ledgers, moved by ${ROUNDS * MOVES}`)
console.log(`${' '.repeat(34)}      ours    SQLite`)
for (const call of ['appends', 'prunes'] as const) {
  const all = (runs: readonly Moves[]) => spread(runs.flatMap((moves) => moves[call]))
  const name = call.slice(0, -1)
  row(`${name}, median, ms`, (runs) => ms(all(runs).median))
  row(`${name}, longest, ms`, (runs) => ms(all(runs).most))
}
row('append and prune, mean, ms', (runs) => ms(perMove(runs, ({ appends, prunes }) => appends.concat(prunes).reduce((a, b) => a + b, 0))))
row('CPU per ledger, whole process, ms', (runs) => ms(perMove(runs, ({ cpuMs }) => cpuMs)))
row('written per ledger, MB', (runs) => (perMove(runs, ({ written }) => written) / MB).toFixed(2))
row('disk at most, MB', (runs) => (Math.max(...runs.map(({ disk }) => disk)) / MB).toFixed(0))
for (const { side } of sides) await side.end()
rmSync(directory, { recursive: true })
