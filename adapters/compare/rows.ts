/** What is measured: ledgers appended, stores opened, pages read. Stores take turns, and the first is not always the same. */
import type { Ledger, LedgerClose } from '../../src/index.ts'
import { locateError } from '../ndjson/index.ts'
import type { Closes } from './closes.ts'
import type { Cost } from './counted.ts'
import { orderOf, type Row, rowOf } from './measure.ts'
import type { Trial } from './trial.ts'
import { Incomparable, type Watch } from './watch.ts'
import { type Draw, draw, type Sample, type Work } from './works.ts'

export interface Pace {
  readonly rounds: number
  /** The least time that a measurement takes: a few requests alone would tell how busy the machine was. */
  readonly runMs: number
  readonly watch: Watch
}

/** How many ledgers one store takes before it is the next one's turn. */
const TURN = 10
/** Requests, asked over and over. */
const REQUESTS = { 10: 30, 200: 12 } as const
/** How often the stores take turns in a round: an even number, so that each round has either order as often. */
const SLICES = 4

interface Tally {
  readonly ms: number
  readonly count: number
}

export interface Filled {
  readonly rows: readonly Row[]
  /** How many ledgers were appended, and how many were held already. */
  readonly ledgers: number
  readonly known: number
}

/** Appends every ledger, each durable before the next. */
export async function fill(trials: readonly Trial[], closes: Closes, { rounds, watch }: Pace): Promise<Filled> {
  const turns: Tally[][] = trials.map(() => [])
  const before = trials.map(({ written }) => ({ ...written }))
  let given = 0
  for (let turn = 0; ; turn++) {
    const part = await closes.take(TURN)
    if (part.length === 0) break
    given += part.length
    for (const at of orderOf(trials.length, turn)) turns[at]!.push(await trials[at]!.run((ledger) => append(ledger, part, watch)))
  }
  const ledgers = sum(turns[0]!).count
  const parts = turns.map((list) => inRounds(list, rounds))
  const whole = [...parts[0]!.keys()].filter((round) => parts.every((list) => list[round]!.count > 0))
  const micros = parts.map((list) => whole.map((round) => (list[round]!.ms * 1000) / list[round]!.count))
  const timed = rowOf({ work: 'append', name: 'a durable ledger', unit: 'µs' }, micros)
  const costs = costRows(
    'append',
    ['writes to the store', 'bytes written'],
    trials.map(({ written: { calls, bytes } }, at) => ({ calls: calls - before[at]!.calls, bytes: bytes - before[at]!.bytes })),
    ledgers,
  )
  return { rows: [timed, ...costs], ledgers, known: given - ledgers }
}

/** Below a row of times: what each of so many ledgers or requests cost. */
function costRows(work: string, [calls, bytes]: readonly [string, string], costs: readonly Readonly<Cost>[], count: number): Row[] {
  return [
    { work, name: calls, unit: 'calls', figures: costs.map((cost) => cost.calls / count) },
    { work, name: bytes, unit: 'KB', figures: costs.map((cost) => cost.bytes / count / 1000) },
  ]
}

/** A ledger that is held already costs nothing worth knowing, and is not counted. */
async function append(ledger: Ledger, part: readonly LedgerClose[], watch: Watch): Promise<Tally> {
  let [ms, count] = [0, 0]
  for (const close of part) {
    await watch.step()
    const started = performance.now()
    const { appended } = await ledger.append(close).catch((error) => {
      throw locateError(error, close)
    })
    if (!appended) continue
    ms += performance.now() - started
    count++
  }
  return { ms, count }
}

/** Turns as rounds: as many as are wanted, as long as each has a turn in either order. */
function inRounds(turns: readonly Tally[], rounds: number): Tally[] {
  const pairs = Math.ceil(turns.length / 2)
  const count = Math.min(rounds, pairs)
  const from = (round: number): number => 2 * Math.floor((round * pairs) / count)
  return Array.from({ length: count }, (_, round) => sum(turns.slice(from(round), from(round + 1))))
}

const sum = (list: readonly Tally[]): Tally =>
  list.reduce((all, { ms, count }) => ({ ms: all.ms + ms, count: all.count + count }), { ms: 0, count: 0 })

/** Opens every store again and again, from now on without a cache. The first time does not count: it may tidy up what was written. */
export async function reopen(trials: readonly Trial[], pace: Pace): Promise<Row[]> {
  const lasts: (number | undefined)[] = []
  const sizes: (number | undefined)[] = []
  for (const trial of trials) {
    lasts.push(await trial.run(async ({ head }) => head?.last))
    await trial.close()
    const bytes = await trial.size()
    sizes.push(bytes === undefined ? undefined : bytes / 1e6)
  }
  for (const [at, trial] of trials.entries()) {
    await trial.open({ cacheBytes: 0 })
    if ((await trial.run(async ({ head }) => head?.last)) !== lasts[at])
      throw new Incomparable(`${trial.name}, opened again, does not hold what was written`)
  }
  const times = await inSlices(trials, pace, openFor)
  return [{ work: 'disk', name: 'on disk', unit: 'MB', figures: sizes }, rowOf({ work: 'open', name: 'an open', unit: 'ms' }, times)]
}

/** Round by round, how long one takes of what is done in slices: any change of the machine meets all stores within a round. */
async function inSlices(trials: readonly Trial[], pace: Pace, work: (trial: Trial, slice: Pace) => Promise<Tally>): Promise<number[][]> {
  const times: number[][] = trials.map(() => [])
  for (let round = 0; round < pace.rounds; round++) {
    const tallies: Tally[][] = trials.map(() => [])
    for (let turn = 0; turn < SLICES; turn++)
      for (const at of orderOf(trials.length, turn)) tallies[at]!.push(await work(trials[at]!, { ...pace, runMs: pace.runMs / SLICES }))
    for (const [at, list] of tallies.entries()) {
      const { ms, count } = sum(list)
      times[at]!.push(ms / count)
    }
  }
  return times
}

/** Opens for a while. */
async function openFor(trial: Trial, { runMs, watch }: Pace): Promise<Tally> {
  let [ms, count] = [0, 0]
  do {
    await watch.step()
    await trial.close()
    const started = performance.now()
    await trial.open({ cacheBytes: 0 })
    ms += performance.now() - started
    count++
  } while (ms < runMs)
  return { ms, count }
}

/** Pages of one list, compared and then timed. */
export async function pages(trials: readonly Trial[], sample: Sample, work: Work, limit: 10 | 200, pace: Pace): Promise<Row[]> {
  const { name } = work
  const asked = Array.from({ length: REQUESTS[limit] }, (_, nth) => draw(work, sample, limit, nth))
  const answers: string[] = []
  for (const trial of trials) answers.push(await trial.run((ledger) => answersOf(ledger, asked, pace.watch)))
  for (const [at, answer] of answers.entries())
    if (answer !== answers[0]) throw new Incomparable(`${trials[at]!.name} answers ${name} differently from ${trials[0]!.name}`)
  // What is new about a row is compiled before it is timed.
  for (const trial of trials) await readFor(trial, asked, { ...pace, runMs: pace.runMs / 2 })
  const times = await inSlices(trials, pace, (trial, slice) => readFor(trial, asked, slice))
  const micros = times.map((list) => list.map((ms) => ms * 1000))
  const timed = rowOf({ work: name, name: `${name}, ${limit}`, unit: 'µs' }, micros)
  if (limit !== 200) return [timed]
  const costs: Cost[] = []
  for (const trial of trials) costs.push(await trial.costOf((ledger) => readAll(ledger, asked, pace.watch)))
  return [timed, ...costRows(name, ['calls of the store', 'bytes read'], costs, asked.length)]
}

/** Reads pages for a while. */
const readFor = (trial: Trial, asked: readonly Draw[], { runMs, watch }: Pace): Promise<Tally> =>
  trial.run(async (ledger) => {
    const started = performance.now()
    let [ms, count] = [0, 0]
    do {
      await readAll(ledger, asked, watch)
      count += asked.length
      ms = performance.now() - started
    } while (ms < runMs)
    return { ms, count }
  })

async function readAll(ledger: Ledger, asked: readonly Draw[], watch: Watch): Promise<void> {
  for (const one of asked) {
    const turn = watch.step()
    if (turn) await turn
    await read(ledger, one)
  }
}

/** Reads a page down to the bytes of its records; returns how many there are. */
async function read(ledger: Ledger, { query, values, options }: Draw): Promise<number> {
  let bytes = 0
  for (const { block, at } of (await ledger.read(query, values, options)).records) bytes += block.text(at).length
  return bytes
}

async function answersOf(ledger: Ledger, asked: readonly Draw[], watch: Watch): Promise<string> {
  const answers: string[] = []
  for (const { query, values, options } of asked) {
    await watch.step()
    const { records, next, prev } = await ledger.read(query, values, options)
    answers.push(`${next} ${prev} ${records.map(({ block, at }) => `${block.token(at)} ${block.json(at)}`)}`)
  }
  return answers.join('\n')
}
