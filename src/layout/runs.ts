/**
 * Runs: neighbouring blocks of a log, finished side by side as one, in the order that is asked for. Of what is asked for over and over, a long page is a
 * few views then, in place of as many as it has blocks, or records where it descends.
 * **Invariant:** a run holds blocks that are full, so it never changes; while history only grows, it needs no invalidation.
 */
import type { Resource } from '../query.ts'
import { blockId, NOWHERE, TAGS } from './addresses.ts'
import type { Block } from './block.ts'
import { finishedBlock, layOut } from './finished.ts'
import type { Finisher } from './finisher.ts'
import type { Whereabouts } from './whereabouts.ts'

/** Blocks of a run, each 10 to 20 KB when they are finished. */
export const RUN = 8
/** Runs that were not asked for are looked for after so many look-ups, where there is no room for others. */
const PATIENCE = 2 ** 18

/** Runs are kept as blocks are, those of each log and order as if they were of another log. */
export const runTag = (tag: number, reverse: boolean): number => (reverse ? 3 : 2) * (TAGS / 4) + tag

/** What a block of a run is found by. */
const member = (tag: number, number: number, nth: number): number => blockId(tag, number * RUN + nth)

/**
 * @param blocks all of a run, in their order
 * @param reverse lays the records out last to first
 */
export function runOf<R>(blocks: readonly Block<R>[], reverse: boolean, finisher: Finisher): Block<R> {
  const records = blocks.flatMap((block) => block.records)
  if (reverse) records.reverse()
  const sum = records.reduce((sum, { block, at }) => Math.imul(sum ^ block.mark(at), 0x9e3779b1), 0)
  const run = finishedBlock(layOut(records, finisher, 'run'), blocks[0]!.place, sum)
  // So that it is not found unused before anybody could ask for it.
  run.asked = 1
  return run
}

/** Which runs there are, and which blocks are worth to become one. */
export class Runs {
  /** What runs may weigh together, and what they do. */
  private readonly maxBytes: number
  private bytes = 0
  private readonly where: Whereabouts
  private readonly ids = new Set<number>()
  private lookedAt = 0

  constructor(maxBytes: number, where: Whereabouts) {
    this.maxBytes = maxBytes
    this.where = where
  }

  /** The blocks of a run, where each of them is full, finished, and each of its records was asked for so often; else none. */
  due<R>({ tag, shift }: Resource<R>, number: number, finisher: Finisher, often: number): Block<R>[] {
    const blocks: Block<R>[] = []
    for (let nth = 0; nth < RUN; nth++) {
      const entry = this.where.entryOf(member(tag, number, nth))
      const block = entry < NOWHERE ? this.where.object(entry) : undefined
      if (block === undefined || block.count < 1 << shift || block.finisher !== finisher.id || block.asked < often * block.count) return []
      blocks.push(block)
    }
    return blocks
  }

  /** What those blocks of a run are found by that lie in slabs too, so that they need not be objects. */
  members({ tag }: Resource<any>, number: number): number[] {
    return Array.from({ length: RUN }, (_, nth) => member(tag, number, nth)).filter((id) => {
      const entry = this.where.entryOf(id)
      return entry < NOWHERE && this.where.addressBeside(entry) !== NOWHERE
    })
  }

  hasRoom(blocks: readonly Block[]): boolean {
    return blocks.reduce((bytes, { length }) => bytes + length, this.bytes) <= this.maxBytes
  }

  add(id: number): void {
    this.ids.add(id)
  }

  /** Counts bytes of what may be a run, which came or went. */
  count({ isGathered }: Block, bytes: number): void {
    if (isGathered) this.bytes += bytes
  }

  /** Those that were not asked for since the last time, if that is a while ago. */
  unused(lookUps: number): number[] {
    if (lookUps < this.lookedAt + PATIENCE) return []
    this.lookedAt = lookUps
    return [...this.ids].filter((id) => {
      const entry = this.where.entryOf(id)
      const run = entry < NOWHERE ? this.where.object(entry) : undefined
      if (run && run.asked > 0) run.asked = 0
      else this.ids.delete(id)
      return run !== undefined && !this.ids.has(id)
    })
  }

  clear(): void {
    this.ids.clear()
    this.bytes = 0
  }
}
