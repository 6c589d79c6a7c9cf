/**
 * What the runs add up to: medians, spreads, ratios.
 */
export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.slice().sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const median = sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
  return { median, least: sorted[0]!, most: sorted[sorted.length - 1]! }
}

/** One run of one side. */
export interface Run {
  /** How many pages, ledgers or records. */
  readonly count: number
  /** Wall time of all of them. */
  readonly ms: number
  /** CPU time of the whole process meanwhile: its own threads, the garbage collector's and the store's. */
  readonly cpuMs: number
  /** The part of `cpuMs` that was spent in the kernel. */
  readonly systemMs?: number
  /** Page faults: pages of memory touched for the first time, or again after they were given back. */
  readonly faults?: number
  /** Where each append is awaited before the next: how long the longest one took. */
  readonly longestMs?: number
}

/** Sides measured in turns: within a round all ran under the same conditions. */
export interface Row {
  readonly suite: 'page' | 'http' | 'scan' | 'ingest' | 'disk' | 'deep' | 'memory'
  readonly work: string
  readonly group: string
  readonly workload?: string
  readonly limit?: number
  readonly unit: string
  readonly peer: string
  readonly ours: Spread
  readonly theirs: Spread
  /** How many times faster (smaller) we are: taken within each round, then the median. */
  readonly ratio: Spread
  /** How many rounds that is, of what was run in turns. */
  readonly rounds?: number
  readonly floor?: number
  /** `below`: the ratio must not exceed the floor. */
  readonly sense: 'above' | 'below'
  readonly ok?: boolean
  /** Mean CPU time per page over all rounds, in the row's unit. */
  readonly ourCpu?: number
  readonly theirCpu?: number
  /** The share of CPU time spent in the kernel. */
  readonly ourKernel?: number
  readonly theirKernel?: number
  /** How long a server takes that only sends as many bytes, and which share of its speed we reach. */
  readonly bare?: Spread
  readonly ofBare?: Spread
  readonly more?: Readonly<Record<string, number | string>>
}

const mean = (runs: readonly Run[], of: 'ms' | 'cpuMs'): number =>
  runs.reduce((sum, run) => sum + run[of], 0) / runs.reduce((sum, run) => sum + run.count, 0)

const kernel = (name: string, runs: readonly Run[]): Record<string, number> => {
  const sum = (of: (run: Run) => number): number => runs.reduce((all, run) => all + of(run), 0)
  return runs[0]?.systemMs === undefined ? {} : { [name]: Number((sum((run) => run.systemMs ?? 0) / sum((run) => run.cpuMs)).toFixed(3)) }
}

const micros = (run: Run): number => (run.ms * 1000) / run.count

/** How many times as fast the runs are as others, round by round. */
const against = (runs: readonly Run[], others: readonly Run[]): Spread =>
  spread(runs.map((run, round) => micros(others[round]!) / micros(run)))

type Named = Pick<Row, 'suite' | 'work' | 'group' | 'peer'> & Partial<Pick<Row, 'workload' | 'limit' | 'floor' | 'more'>>

/**
 * A row of times, in µs per page, ledger or record.
 * @param bare runs of a server that only sends
 */
export function timed(named: Named, ours: readonly Run[], theirs: readonly Run[], bare?: readonly Run[]): Row {
  const ratio = against(ours, theirs)
  return {
    ...named,
    unit: 'µs',
    sense: 'above',
    ours: spread(ours.map(micros)),
    theirs: spread(theirs.map(micros)),
    ratio,
    rounds: ours.length,
    ...(named.floor !== undefined && { ok: ratio.median >= named.floor }),
    ourCpu: mean(ours, 'cpuMs') * 1000,
    theirCpu: mean(theirs, 'cpuMs') * 1000,
    ...kernel('ourKernel', ours),
    ...kernel('theirKernel', theirs),
    ...(bare && { bare: spread(bare.map(micros)), ofBare: against(ours, bare) }),
  }
}

/** Runs the sides in turns, round by round, every other round in reverse order. */
export async function inTurns<S extends readonly ((round: number) => Promise<Run>)[]>(
  rounds: number,
  ...sides: S
): Promise<{ -readonly [K in keyof S]: Run[] }> {
  const runs = sides.map((): Run[] => [])
  for (let round = 0; round < rounds; round++) {
    const order = [...sides.keys()]
    if (round % 2 === 1) order.reverse()
    for (const side of order) runs[side]!.push(await sides[side]!(round))
  }
  return runs as { -readonly [K in keyof S]: Run[] }
}

/** A ratio that is within this share of its floor could be on the other side of it after a few rounds more. */
const NEAR = 0.2
/** So it is decided by this many times as many rounds. */
const LONGER = 3

/** Runs of all sides, from so many rounds; from {@link LONGER} times as many if the ratio of the first two sides is near its floor, above or below. */
export async function decided<R extends [Run[], Run[], ...Run[][]]>(
  rounds: number,
  floor: number | undefined,
  measure: (rounds: number) => Promise<R>,
): Promise<R> {
  const runs = await measure(rounds)
  if (floor === undefined || Math.abs(against(runs[0], runs[1]).median / floor - 1) >= NEAR) return runs
  const more = await measure((LONGER - 1) * rounds)
  for (const [i, side] of runs.entries()) side.push(...more[i]!)
  return runs
}
