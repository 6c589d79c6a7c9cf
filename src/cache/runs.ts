/**
 * Runs: neighbouring blocks of a log, finished side by side as one, in the requested order. A long page of what is asked for over and over is then a
 * few views, instead of as many as it has blocks, or records if it descends.
 * **Invariant:** a run holds full blocks, so it never changes; while history only grows, it needs no invalidation.
 */

import type { Block } from '../layout/block.ts'
import { finishedBlock, layOut } from '../layout/finished.ts'
import type { Finisher } from '../layout/finisher.ts'
import { recordsPerBlock } from '../layout/ordinals.ts'
import type { Resource } from '../query.ts'
import { blockId, NOWHERE, TAGS } from './addresses.ts'
import type { Whereabouts } from './whereabouts.ts'

/** Blocks per run, each 10 to 20 KB when finished. */
export const RUN = 8

/** Runs are kept like blocks; those of each log and order as if they belonged to another log. */
export const runTag = (tag: number, reverse: boolean): number => (reverse ? 3 : 2) * (TAGS / 4) + tag

/** The id of a block of a run. */
const member = (tag: number, number: number, nth: number): number => blockId(tag, number * RUN + nth)

/**
 * @param blocks all of a run, in order
 * @param reverse lays the records out last to first
 */
export function runOf<R>(blocks: readonly Block<R>[], reverse: boolean, finisher: Finisher): Block<R> {
  const records = blocks.flatMap((block) => block.records)
  if (reverse) records.reverse()
  const sum = records.reduce((sum, { block, at }) => Math.imul(sum ^ block.mark(at), 0x9e3779b1), 0)
  return finishedBlock(layOut(records, finisher, 'run'), blocks[0]!.place, sum)
}

/** The blocks of a run, if each of them is full, finished and an object, and each of its records was asked for often enough; otherwise none. */
export function blocksOf<R>(where: Whereabouts, resource: Resource<R>, number: number, finisher: Finisher, often: number): Block<R>[] {
  const size = recordsPerBlock(resource)
  const blocks: Block<R>[] = []
  for (let nth = 0; nth < RUN; nth++) {
    const block = where.objectOf(member(resource.tag, number, nth))
    if (block === undefined || block.count < size || block.finisher !== finisher.id || block.asked < often * block.count) return []
    blocks.push(block)
  }
  return blocks
}

/** The ids of those blocks of a run that also lie in slabs, so that they need not be objects. */
export const inSlabs = (where: Whereabouts, { tag }: Resource, number: number): number[] =>
  Array.from({ length: RUN }, (_, nth) => member(tag, number, nth)).filter((id) => where.find(id) !== NOWHERE)
