/**
 * What a stress is: a promise, a harness that tries to break it as often as it is asked to, and planted bugs that it must find.
 * `npm run stress` runs them at their full figure, the tests beside this file at a small one.
 */
import { Random } from '../../adapters/generate/random.ts'

export interface Ask {
  readonly count: number
  readonly seed: number
  /** A bug to plant, by its name in {@link Stress.plants}. */
  readonly plant?: string | undefined
  /** Called now and then with how far it is. */
  readonly say?: ((line: string) => void) | undefined
}

export interface Figure {
  /** How many of what was asked for were done. */
  readonly done: number
  /** What broke the promise; empty if it was kept. */
  readonly faults: readonly string[]
  /** What else was counted. */
  readonly counted: Readonly<Record<string, number | string>>
  /** Why it could not run here. */
  readonly skipped?: string
}

export interface Stress {
  readonly name: string
  /** What is done `count` times. */
  readonly unit: string
  /** The count of a full run. */
  readonly full: number
  /** Planted bugs, and the count at which each is mostly found; see {@link look}. */
  readonly plants: Readonly<Record<string, number>>
  run(ask: Ask): Promise<Figure>
}

/** Where a process is killed depends on time too: what one seed does not find, another one may. */
const TRIES = 3

/** Plants a bug and looks for it. Its figure has no faults if it was not found. */
export async function look(stress: Stress, plant: string, seed: number): Promise<Figure> {
  const count = stress.plants[plant]!
  let figure = await stress.run({ count, seed, plant })
  for (let more = 1; more < TRIES && figure.faults.length === 0 && figure.skipped === undefined; more++)
    figure = await stress.run({ count, seed: seed + more, plant })
  return figure
}

/** Faults, kept up to a readable number. */
export class Faults {
  readonly list: string[] = []
  count = 0

  add(...faults: readonly string[]): void {
    this.count += faults.length
    this.list.push(...faults.slice(0, Math.max(0, 50 - this.list.length)))
  }
}

export const random = (seed: number | string): Random => new Random(seed)

export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
