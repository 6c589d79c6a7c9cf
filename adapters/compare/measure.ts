/** What rounds add up to: medians, spreads, and whether two stores can be told apart. */

export type Span = readonly [least: number, most: number]

/** One figure per candidate, in the order in which they were given. */
export interface Row {
  /** What was done: appended, opened, kept on disk, or the list that was read. */
  readonly work: string
  readonly name: string
  readonly unit: '/s' | 'µs' | 'ms' | 'MB' | 'calls' | 'KB'
  /** Says more about the row before it. */
  readonly more?: true
  readonly figures: readonly (number | undefined)[]
  /** The least and the greatest of the rounds, if there were rounds. */
  readonly spread?: readonly Span[]
  /** How many times the first candidate's: the medians of the rounds, the least and the greatest. */
  readonly ratio?: readonly number[]
  readonly ratios?: readonly Span[]
  /** Whether the ratio cannot be told from 1. */
  readonly alike?: readonly boolean[]
}

/** @param rounds of each candidate, its figures */
export function rowOf(named: Pick<Row, 'work' | 'name' | 'unit' | 'more'>, rounds: readonly (readonly number[])[]): Row {
  const ratios = rounds.map((list) => list.map((figure, round) => ratioOf(figure, rounds[0]![round]!)))
  return {
    ...named,
    figures: rounds.map(median),
    spread: rounds.map(spanOf),
    ratio: ratios.map(median),
    ratios: ratios.map(spanOf),
    alike: ratios.map(isEven),
  }
}

/** Coarse clocks may say 0 of both. */
const ratioOf = (figure: number, first: number): number => (figure === first ? 1 : figure / first)

const spanOf = (list: readonly number[]): Span => [Math.min(...list), Math.max(...list)]

export function median(list: readonly number[]): number {
  const sorted = list.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The least of a list that so many of a hundred do not exceed; undefined of an empty one. */
export const percentile = (list: readonly number[], hundredths: number): number | undefined =>
  list.toSorted((a, b) => a - b)[Math.ceil((list.length * hundredths) / 100) - 1]

/** How often stores that cost the same may be told apart by chance: with seven rounds, if all ratios lie on the same side of 1. */
const CHANCE = 1 / 50

/** The sign test: whether tosses of a coin would often enough lie as unevenly on either side of 1. */
export function isEven(ratios: readonly number[]): boolean {
  const above = ratios.filter((ratio) => ratio > 1).length
  const below = ratios.filter((ratio) => ratio < 1).length
  const tosses = above + below
  let term = 2 ** (1 - tosses)
  let chance = 0
  for (let nth = 0; nth <= Math.min(above, below); nth++) {
    chance += term
    term *= (tosses - nth) / (nth + 1)
  }
  return chance >= CHANCE
}
