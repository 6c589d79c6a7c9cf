/**
 * Pages and single records in process: each work under both workloads, at both limits.
 */
import type Database from 'better-sqlite3'
import type { Ask } from './contender.ts'
import type { DataSet } from './dataset.ts'
import { decided, inTurns, type Row, type Run, timed } from './measure.ts'
import { peers } from './peers/index.ts'
import type { Worker } from './results.ts'
import { Draws, type Limit, lists, type Work, type Workload, works } from './works.ts'

export interface Pace {
  readonly rounds: number
  /** About how long a run takes, of either side, in process and over HTTP. */
  readonly runMs: readonly [inProcess: number, http: number]
  /**
   * How long each side answers other draws before a row is timed, in process and over HTTP, so that caches are as full as in a service that has been
   * up for a while.
   */
  readonly warmMs: readonly [inProcess: number, http: number]
  /** How many answers are compared before timing. */
  readonly checks: readonly [ten: number, twoHundred: number]
}
export const FULL: Pace = { rounds: 11, runMs: [100, 150], warmMs: [2000, 4000], checks: [300, 100] }
export const QUICK: Pace = { rounds: 5, runMs: [20, 30], warmMs: [50, 75], checks: [60, 20] }

/** Requests are made ready before the first run. */
const MOST_A_RUN = 16_000

/**
 * How many requests a side answers in so many milliseconds, going by a run of them. Sides that answer equally many would not be measured alike: what
 * the other one has pushed out of the processor's caches meanwhile counts the more, the shorter a run is.
 */
const inAbout = (ms: number, { count, ms: took }: Pick<Run, 'count' | 'ms'>): number =>
  Math.max(20, Math.min(MOST_A_RUN, Math.ceil((ms * count) / took)))

/** Draws requests, always the same ones for the same work. */
export class Asks {
  private readonly draws: Draws
  private readonly work: Work
  private readonly workload: Workload
  private readonly limit: Limit
  /** The same kind of requests, other ones: for what is not timed. */
  readonly others: () => Asks

  /** @param purpose other draws for another purpose */
  constructor(db: Database, data: DataSet, work: Work, workload: Workload, limit: Limit, purpose = '') {
    const seed = [...`${work.name} ${workload} ${limit}${purpose}`].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0), 7)
    this.draws = new Draws(db, data, seed)
    this.work = work
    this.workload = workload
    this.limit = limit
    this.others = () => new Asks(db, data, work, workload, limit, 'others')
  }

  take(count: number): Ask[] {
    return Array.from({ length: count }, () => this.work.draw(this.draws, this.workload, this.limit))
  }
}

/**
 * Warms a side up with requests that are not timed, and then knows its pace.
 * @param trial a run of it
 * @returns how many requests make a run of it
 */
export async function paced(
  runMs: number,
  warmMs: number,
  asks: Asks,
  trial: Run,
  run: (list: readonly Ask[]) => Promise<Run>,
): Promise<number> {
  const others = asks.others()
  const each = inAbout(runMs, trial)
  let last = trial
  for (let spent = 0; spent < warmMs; spent += last.ms) last = await run(others.take(each))
  return inAbout(runMs, last)
}

/** Checks that both sides give the same answers; throws an error that shows the first difference. */
async function compare(ours: Worker, theirs: Worker, asks: readonly Ask[], name: string): Promise<void> {
  const [left, right] = await Promise.all([ours.call('digests', 0, asks.length), theirs.call('digests', 0, asks.length)])
  const other = left.findIndex((digest, i) => digest !== right[i])
  if (other < 0) return
  const [a, b] = await Promise.all([ours.call('shown', other), theirs.call('shown', other)])
  let at = 0
  while (a[at] === b[at]) at++
  const around = (text: string): string => text.slice(Math.max(0, at - 80), at + 160)
  throw new Error(`${name}: the answers differ for ${JSON.stringify(asks[other])}\n  ours:   …${around(a)}\n  theirs: …${around(b)}`)
}

/** How often each record of history is read before anything is timed: a service that has been up for a while has full caches. */
const READ_BEFORE = 3
const PAGES_A_CALL = 2000
const PAGE = 200

/** Pages that cover a log from its first record to its last, with some overlap. */
function* walk(draws: Draws, { firstLedger, lastLedger, counts }: DataSet, [what, kind]: (typeof lists)[number]): Generator<Ask> {
  const ledgers = lastLedger - firstLedger + 1
  const step = Math.max(1, Math.floor((PAGE / 2) * (ledgers / counts[what as 'transactions'])))
  for (let ledger = firstLedger; ledger <= lastLedger; ledger += step) {
    const cursor = draws.tokenAfter(kind, BigInt(ledger) << 32n)
    if (cursor !== undefined) yield { what, cursor, order: 'asc', limit: PAGE }
  }
}

/** All sides answer the same pages: every log from end to end, and trades of pairs from anywhere. */
export async function warmUp(sides: readonly Worker[], db: Database, data: DataSet): Promise<void> {
  const draws = new Draws(db, data, 1)
  const pairs = works.find(({ name }) => name === 'trades of a pair')!
  const asks = lists.flatMap((log) => Array.from({ length: READ_BEFORE }, () => [...walk(draws, data, log)]).flat())
  for (let left = Math.ceil((READ_BEFORE * data.counts.trades) / PAGE); left > 0; left--) asks.push(pairs.draw(draws, 'uniform', PAGE))
  for (let at = 0; at < asks.length; at += PAGES_A_CALL) {
    const some = asks.slice(at, at + PAGES_A_CALL)
    for (const side of sides) {
      await side.call('prepare', some, 'body')
      await side.call('run', 0, some.length)
    }
  }
}

/** One row: draws requests, compares the answers, then runs both sides in turns on fresh draws, so that a page repeats only by chance. */
export async function pageRow(
  ours: Worker,
  theirs: Worker,
  db: Database,
  data: DataSet,
  pace: Pace,
  work: Work,
  workload: Workload,
  limit: Limit,
): Promise<Row> {
  const column = limit === 10 ? 0 : 1
  const asks = new Asks(db, data, work, workload, limit)
  const checks = pace.checks[column]!
  const checked = asks.take(checks)
  for (const side of [ours, theirs]) await side.call('prepare', checked, work.answer)
  await compare(ours, theirs, checked, `${work.name} ${limit} ${workload}`)
  const paceOf = async (side: Worker): Promise<number> =>
    paced(pace.runMs[0], pace.warmMs[0], asks, await side.call('run', 0, checks), async (list) => {
      await side.call('prepare', list, work.answer)
      return side.call('run', 0, list.length)
    })
  const [each, theirEach] = [await paceOf(ours), await paceOf(theirs)]
  const { name, hasFloors } = peers[data.peer.kind]
  const floor = hasFloors ? work.floors[workload][column]! : undefined
  const [left, right] = await decided(pace.rounds, floor, async (rounds) => {
    const list = asks.take(Math.max(each, theirEach) * rounds)
    await ours.call('prepare', list.slice(0, each * rounds), work.answer)
    await theirs.call('prepare', list.slice(0, theirEach * rounds), work.answer)
    const run = (side: Worker, many: number) => (round: number) => side.call('run', round * many, (round + 1) * many)
    return inTurns(rounds, run(ours, each), run(theirs, theirEach))
  })
  return timed(
    {
      ...{ suite: 'page', work: work.name, group: work.group, workload, limit },
      peer: work.answer === 'body' ? name : `${name} + JSON.parse`,
      ...(floor !== undefined && { floor }),
    },
    left,
    right,
  )
}
