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
/** Where there is no room for another, none is gathered for so many look-ups, and those not asked for in that time make room. */
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
  /** What runs may weigh together. */
  private readonly maxBytes: number
  private readonly where: Whereabouts
  /** Of those that were gathered; some may have been forgotten since. */
  private readonly ids = new Set<number>()
  /** The look-up before which there is no room. */
  private fullUntil = 0

  constructor(maxBytes: number, where: Whereabouts) {
    this.maxBytes = maxBytes
    this.where = where
  }

  /** The blocks of a run, where each of them is full, finished, and each of its records was asked for so often; else none. */
  due<R>({ tag, shift }: Resource<R>, number: number, finisher: Finisher, often: number): Block<R>[] {
    const blocks: Block<R>[] = []
    for (let nth = 0; nth < RUN; nth++) {
      const block = this.where.objectOf(member(tag, number, nth))
      if (block === undefined || block.count < 1 << shift || block.finisher !== finisher.id || block.asked < often * block.count) return []
      blocks.push(block)
    }
    return blocks
  }

  /** What those blocks of a run are found by that lie in slabs too, so that they need not be objects. */
  members({ tag }: Resource<any>, number: number): number[] {
    return Array.from({ length: RUN }, (_, nth) => member(tag, number, nth)).filter((id) => this.where.find(id) !== NOWHERE)
  }

  /** What they weigh, with what hangs on them. */
  get bytes(): number {
    let bytes = 0
    for (const id of this.ids) bytes += this.where.objectOf(id)?.weight ?? 0
    return bytes
  }

  isFull(lookUps: number): boolean {
    return lookUps < this.fullUntil
  }

  hasRoom(blocks: readonly Block[]): boolean {
    return blocks.reduce((bytes, { length }) => bytes + length, this.bytes) <= this.maxBytes
  }

  add(id: number): void {
    this.ids.add(id)
  }

  /** Says that there is no room, and gives those that were not asked for since the last time that was said. */
  unused(lookUps: number): number[] {
    this.fullUntil = lookUps + PATIENCE
    return [...this.ids].filter((id) => {
      const run = this.where.objectOf(id)
      if (run && run.asked > 0) run.asked = 0
      else this.ids.delete(id)
      return run !== undefined && !this.ids.has(id)
    })
  }

  clear(): void {
    this.ids.clear()
    this.fullUntil = 0
  }
}
