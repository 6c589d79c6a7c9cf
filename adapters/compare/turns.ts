/** Stores take turns, and the first is not always the same: whatever happens to the machine meets all of them within a round. */
import type { Trial } from './trial.ts'
import type { Watch } from './watch.ts'

export interface Pace {
  readonly rounds: number
  /** The least time that a measurement takes: a few requests alone would tell how busy the machine was. */
  readonly runMs: number
  readonly watch: Watch
}

export interface Tally {
  readonly ms: number
  readonly count: number
}

/** How often the stores take turns in a round. */
export const SLICES = 4

/**
 * The order in which the candidates have their turn: every other time it is reversed, since the first to do something may pay for what all profit from.
 */
export function orderOf(count: number, turn: number): readonly number[] {
  const order = Array.from({ length: count }, (_, at) => at)
  return turn % 2 === 0 ? order : order.reverse()
}

/**
 * What is measured in slices: of each store, what those of each round gave.
 * @param slices of a round: an even number, so that each round has either order as often
 */
export async function inSlices<T>(
  trials: readonly Trial[],
  pace: Pace,
  work: (trial: Trial, slice: Pace) => Promise<T>,
  slices = SLICES,
): Promise<(readonly T[])[][]> {
  const all: T[][][] = trials.map(() => [])
  const slice = { ...pace, runMs: pace.runMs / slices }
  for (let round = 0; round < pace.rounds; round++) {
    for (const rounds of all) rounds.push([])
    for (let turn = 0; turn < slices; turn++)
      for (const at of orderOf(trials.length, turn)) all[at]![round]!.push(await work(trials[at]!, slice))
  }
  return all
}

/** Turns as rounds: as many as are wanted, as long as each has a turn in either order. */
export function inRounds<T>(turns: readonly T[], rounds: number): (readonly T[])[] {
  const pairs = Math.ceil(turns.length / 2)
  const count = Math.min(rounds, pairs)
  const from = (round: number): number => 2 * Math.floor((round * pairs) / count)
  return Array.from({ length: count }, (_, round) => turns.slice(from(round), from(round + 1)))
}

/** How long one takes, in milliseconds. */
export const meanOf = (list: readonly Tally[]): number =>
  list.reduce((sum, { ms }) => sum + ms, 0) / list.reduce((sum, { count }) => sum + count, 0)

/** CPU time of this process so far, in microseconds: that of all its threads, also those of a store. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
