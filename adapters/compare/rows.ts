/** What is measured one by one: ledgers appended, stores opened, pages read. */
import type { Ledger, LedgerClose } from '../../src/index.ts'
import { locateError } from '../ndjson/index.ts'
import type { Closes } from './closes.ts'
import type { Cost } from './counted.ts'
import { percentile, type Row, rowOf } from './measure.ts'
import type { Trial } from './trial.ts'
import { cpuTime, inRounds, inSlices, meanOf, orderOf, type Pace, type Tally } from './turns.ts'
import { Incomparable, type Watch } from './watch.ts'
import { type Draw, drawn, type Limit, type Sample, type Work } from './works.ts'

/** How many ledgers one store takes before it is the next one's turn. */
const TURN = 10

interface Filled {
  readonly rows: readonly Row[]
  /** How many ledgers were appended, and how many were held already. */
  readonly ledgers: number
  readonly known: number
}

/** Appends every ledger but the last few, each durable before the next. @param kept how many are left */
export async function fill(trials: readonly Trial[], closes: Closes, { rounds, watch }: Pace, kept: number): Promise<Filled> {
  const turns: Turn[][] = trials.map(() => [])
  const before = trials.map(({ written }) => ({ ...written }))
  let given = 0
  for (let turn = 0; ; turn++) {
    const ahead = await closes.peek(TURN + kept)
    const part = await closes.take(Math.min(TURN, ahead.length - kept))
    if (part.length === 0) break
    given += part.length
    for (const at of orderOf(trials.length, turn)) {
      const began = cpuTime()
      const times = await trials[at]!.run((ledger) => append(ledger, part, watch))
      // Ledgers that are held already are so in every store.
      if (times.length > 0) turns[at]!.push({ times, cpu: cpuTime() - began })
    }
  }
  const ledgers = turns[0]!.flatMap(({ times }) => times).length
  const perLedger = (spent: (turn: Turn) => number): number[][] =>
    turns.map((list) => inRounds(list, rounds).map((round) => sum(round.map(spent)) / sum(round.map(({ times }) => times.length))))
  const detail = { work: 'append', unit: 'µs', more: true } as const
  const costs = costRows(
    'append',
    ['writes to the store', 'bytes written'],
    trials.map(({ written: { calls, bytes } }, at) => ({ calls: calls - before[at]!.calls, bytes: bytes - before[at]!.bytes })),
    ledgers,
  )
  const rows: Row[] = [
    rowOf(
      { work: 'append', name: 'a durable ledger', unit: 'µs' },
      perLedger(({ times }) => sum(times)),
    ),
    {
      ...detail,
      name: 'p99 of a ledger',
      figures: turns.map((list) =>
        percentile(
          list.flatMap(({ times }) => times),
          99,
        ),
      ),
    },
    rowOf(
      { ...detail, name: 'CPU time of a ledger' },
      perLedger(({ cpu }) => cpu),
    ),
    ...costs,
  ]
  return { rows, ledgers, known: given - ledgers }
}

/** Ledgers appended: how long each took, and the CPU time of all, in microseconds. */
interface Turn {
  readonly times: readonly number[]
  readonly cpu: number
}

const sum = (list: readonly number[]): number => list.reduce((all, one) => all + one, 0)

/** Below a row of times: what each of so many ledgers or requests cost. */
function costRows(work: string, [calls, bytes]: readonly [string, string], costs: readonly Readonly<Cost>[], count: number): Row[] {
  return [
    { work, name: calls, unit: 'calls', more: true, figures: costs.map((cost) => cost.calls / count) },
    { work, name: bytes, unit: 'KB', more: true, figures: costs.map((cost) => cost.bytes / count / 1000) },
  ]
}

/** How long each ledger took, in microseconds. One that is held already costs nothing worth knowing, and is left out. */
export async function append(ledger: Ledger, part: readonly LedgerClose[], watch: Watch): Promise<readonly number[]> {
  const times: number[] = []
  for (const close of part) {
    await watch.step()
    const started = performance.now()
    const { appended } = await ledger.append(close).catch((error) => {
      throw locateError(error, close)
    })
    if (appended) times.push((performance.now() - started) * 1000)
  }
  return times
}

/** Opens every store again and again, from now on without a cache. The first time does not count: it may tidy up what was written. */
export async function reopen(trials: readonly Trial[], pace: Pace): Promise<Row> {
  for (const trial of trials) {
    const last = await trial.run(async ({ head }) => head?.last)
    await openAgain(trial)
    if ((await trial.run(async ({ head }) => head?.last)) !== last)
      throw new Incomparable(`${trial.name}, opened again, does not hold what was written`)
  }
  const times = await inSlices(trials, pace, openFor, 2)
  return rowOf(
    { work: 'open', name: 'an open', unit: 'ms' },
    times.map((list) => list.map(meanOf)),
  )
}

/** Pages come from the store. No lists are filed: that reads much where nothing is cached, and would meet some of the appends that are still to come. */
const UNCACHED = { cacheBytes: 0, fileEvery: 2 ** 31 }

async function openAgain(trial: Trial): Promise<void> {
  await trial.close()
  await trial.open(UNCACHED)
}

/** The size of a store has settled when it is the same so many times, this long apart in milliseconds; it is not waited for more often than the most. */
const SETTLED = { same: 2, ms: 100, most: 100 } as const

/**
 * Of stores that are settled: what LevelDB has just written lies in a log, which the next open turns into a table; tables are merged in the background;
 * and files that were merged while somebody read them are removed by the open after that.
 */
export async function sizes(trials: readonly Trial[], watch: Watch): Promise<Row> {
  const figures: (number | undefined)[] = []
  for (const trial of trials) {
    let bytes = await trial.size()
    for (let opened = 0; bytes !== undefined && opened < 2; opened++) {
      await openAgain(trial)
      await settled(trial, watch)
      await trial.close()
      bytes = await trial.size()
    }
    figures.push(bytes === undefined ? undefined : bytes / 1e6)
  }
  return { work: 'disk', name: 'on disk', unit: 'MB', figures }
}

async function settled(trial: Trial, watch: Watch): Promise<void> {
  let bytes = await trial.size()
  for (let [same, tries] = [0, 0]; same < SETTLED.same && tries < SETTLED.most; tries++) {
    await new Promise((resolve) => setTimeout(resolve, SETTLED.ms))
    await watch.step()
    const before = bytes
    bytes = await trial.size()
    same = bytes === before ? same + 1 : 0
  }
}

/** Opens for a while. */
async function openFor(trial: Trial, { runMs, watch }: Pace): Promise<Tally> {
  let [ms, count] = [0, 0]
  do {
    await watch.step()
    await trial.close()
    const started = performance.now()
    await trial.open(UNCACHED)
    ms += performance.now() - started
    count++
  } while (ms < runMs)
  return { ms, count }
}

/** Pages of one list, compared and then timed. */
export async function pages(trials: readonly Trial[], sample: Sample, work: Work, limit: Limit, pace: Pace): Promise<Row[]> {
  const { name } = work
  const asked = drawn(work, sample, limit)
  await checkAlike(trials, name, asked, pace.watch)
  // What is new about a row is compiled before it is timed.
  for (const trial of trials) await readFor(trial, asked, { ...pace, runMs: pace.runMs / 2 })
  const times = await inSlices(trials, pace, (trial, slice) => readFor(trial, asked, slice))
  const micros = times.map((list) => list.map((slices) => meanOf(slices) * 1000))
  const timed = rowOf({ work: name, name: `${name}, ${limit}`, unit: 'µs' }, micros)
  if (limit !== 200) return [timed]
  const costs: Cost[] = []
  for (const trial of trials) costs.push(await trial.costOf((ledger) => readAll(ledger, asked, pace.watch)))
  return [timed, ...costRows(name, ['calls of the store', 'bytes read'], costs, asked.length)]
}

/** @throws Incomparable if a store answers otherwise than the first one */
export async function checkAlike(trials: readonly Trial[], name: string, asked: readonly Draw[], watch: Watch): Promise<void> {
  const answers: string[] = []
  for (const trial of trials)
    answers.push(
      await trial.run(async (ledger) => {
        const texts: string[] = []
        for (const one of asked) {
          await watch.step()
          texts.push(await answerOf(ledger, one))
        }
        return texts.join('\n')
      }),
    )
  for (const [at, answer] of answers.entries())
    if (answer !== answers[0]) throw new Incomparable(`${trials[at]!.name} answers ${name} differently from ${trials[0]!.name}`)
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
export async function read(ledger: Ledger, { query, values, options }: Draw): Promise<number> {
  let bytes = 0
  for (const { block, at } of (await ledger.read(query, values, options)).records) bytes += block.text(at).length
  return bytes
}

/** Everything that a page says. */
export async function answerOf(ledger: Ledger, { query, values, options }: Draw): Promise<string> {
  const { records, next, prev } = await ledger.read(query, values, options)
  return `${next} ${prev} ${records.map(({ block, at }) => `${block.token(at)} ${block.json(at)}`)}`
}
