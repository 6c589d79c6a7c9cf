/**
 * Where the records of a page lie: slices of blocks. Neighbours in a log that are read over and over lie in runs (`cache/runs.ts`), so that a long
 * page is a few slices. The records of a posting list are scattered over their log; if a list is read over and over, neighbours are gathered
 * (`cache/cluster.ts`) and served from there: one look-up finds up to 32 of them, side by side.
 */

import { CLUSTER, type Held } from '../cache/cluster.ts'
import { RUN } from '../cache/runs.ts'
import { type Block, lengthOf, type Place, placesIn, type Slice } from '../layout/block.ts'
import { blockBySize, recordsPerBlock } from '../layout/ordinals.ts'
import type { Facing, Resource } from '../query.ts'
import { type OrdinalList, type Posting, type Span, type Taken, wholeLog } from './list.ts'
import { everything } from './locate.ts'
import type { Reader } from './reader.ts'

/** Fewer records than this are found faster one by one than gathered, however often they are asked for. */
const MANY = CLUSTER / 2
/** If records have longer texts on average, copying them takes longer than finding them. */
const LONG = 1024

/** Which records of a list are wanted, and how. */
export interface Selection {
  readonly limit: number
  readonly reverse: boolean
  /** As a filter wants them shown: those that face the other way are turned. Only filters that select by a posting list turn. */
  readonly facing: Facing
  /** Whether they may be in runs of blocks. */
  readonly runs: boolean
}

/** Up to `limit` records of the span: its first ones ascending, or with `reverse` its last ones descending. */
export function slicesOf(reader: Reader, resource: Resource, list: OrdinalList, span: Span, selection: Selection): Slice[] {
  const { limit, reverse, runs } = selection
  if (list !== wholeLog) return listed(reader, resource, list.take(span, limit, reverse), selection)
  const from = reverse ? Math.max(span.from, span.to - limit) : span.from
  const to = reverse ? span.to : Math.min(span.to, span.from + limit)
  if (from >= to) return []
  return runs && to - from > 1 ? inRuns(reader, resource, from, to, reverse) : reader.neighbours(resource, from, to, reverse)
}

/** Neighbours in their log, from runs of blocks where there are any. */
function inRuns(reader: Reader, resource: Resource, from: number, to: number, reverse: boolean): Slice[] {
  const size = RUN * recordsPerBlock(resource)
  const lowest = blockBySize(size, from)
  const highest = blockBySize(size, to - 1)
  const slices: Slice[] = []
  for (let nth = 0; nth <= highest - lowest; nth++) {
    const number = reverse ? highest - nth : lowest + nth
    const start = Math.max(from, number * size)
    const end = Math.min(to, (number + 1) * size)
    const block = reader.runOfLog(resource, number, reverse)
    if (block === undefined) continue
    if (reverse && end < to) inBlocks(reader, resource, end, to, true, slices)
    if (!reverse && from < start) inBlocks(reader, resource, from, start, false, slices)
    reader.served(block, end - start)
    const first = reverse ? (number + 1) * size - end : start - number * size
    slices.push({ block, first, last: first + end - start - 1 })
    if (reverse) to = start
    else from = end
  }
  if (from < to) inBlocks(reader, resource, from, to, reverse, slices)
  return slices
}

/** Adds neighbours that are in no run; gathers those that are worth it. */
function inBlocks(reader: Reader, resource: Resource, from: number, to: number, reverse: boolean, slices: Slice[]): void {
  const known = slices.length
  reader.neighbours(resource, from, to, reverse, slices)
  const size = RUN * recordsPerBlock(resource)
  let ordinal = reverse ? to - 1 : from
  let before = -1
  for (let i = known; i < slices.length; i++) {
    const { block, first, last } = slices[i]!
    const number = blockBySize(size, ordinal)
    // A failed attempt, which looks at each block of the run, is repeated only after twice as many requests.
    if (number !== before && block.isHot && block.asked >= 2 * block.triedAt) {
      block.triedAt = block.asked
      reader.gatherRun(resource, number, reverse)
    }
    before = number
    ordinal += last - first + (reverse ? -1 : 1)
  }
}

/** The records of a list in their order, from clusters where there are any. */
export function listed(
  reader: Reader,
  resource: Resource,
  taken: Taken,
  { reverse, facing }: Pick<Selection, 'reverse' | 'facing'>,
): Slice[] {
  const { ordinals, run: list } = taken
  const { length } = ordinals
  const rank = length < MANY ? undefined : (taken.rank ?? list?.rank(ordinals[0]!))
  if (list === undefined || rank === undefined) return faced(reader.slices(resource, ordinals), facing)
  const step = reverse ? -1 : 1
  const slices: Slice[] = []
  /** Those that are in no cluster. */
  const missing: number[] = []
  const due: [home: Held<unknown>, number: number][] = []
  for (let i = 0; i < length; ) {
    const number = Math.floor((rank + step * i) / CLUSTER)
    let at = rank + step * i - number * CLUSTER
    const end = Math.min(length, i + (reverse ? at + 1 : CLUSTER - at))
    const home = list.home(number * CLUSTER)
    const cluster = home?.cluster(number, facing)
    const [before, from] = [missing.length, i]
    while (i < end) {
      const first = at
      for (; i < end && cluster?.ordinals[at] === ordinals[i]; i++) at += step
      if (at !== first) slices.push({ block: cluster!.block, first, last: at - step })
      for (; i < end && cluster?.ordinals[at] !== ordinals[i]; i++, at += step) missing.push(i)
    }
    const missed = missing.length - before
    if (home && missed >= MANY && home.miss(missed)) due.push([home, number])
    if (missed < end - from) reader.served(cluster!.block, end - from - missed)
  }
  if (missing.length === 0) return slices
  const others = faced(reader.slices(resource, missing.length === length ? ordinals : missing.map((i) => ordinals[i]!)), facing)
  for (const [home, number] of due) gather(reader, resource, list, facing, home, number)
  return missing.length === length ? others : woven(slices, placesIn(others), missing)
}

/** The records as a filter wants them shown. */
function faced(slices: Slice[], facing: Facing): Slice[] {
  if (facing === undefined) return slices
  const isShown = (block: Block, at: number): boolean => block.isLesser(at) === (facing === 'lesser')
  const shown: Slice[] = []
  for (const { block, first, last } of slices) {
    const step = first <= last ? 1 : -1
    for (let at = first; at !== last + step; ) {
      const from = at
      const asIs = isShown(block, at)
      do at += step
      while (at !== last + step && isShown(block, at) === asIs)
      shown.push({ block: asIs ? block : block.turned(), first: from, last: at - step })
    }
  }
  return shown
}

/** All records in order, of which `others` are those at the numbers `missing`. */
function woven(slices: readonly Slice[], others: readonly Place[], missing: readonly number[]): Slice[] {
  const all: Slice[] = []
  for (let i = 0, hits = 0, misses = 0; hits < slices.length || misses < others.length; ) {
    if (missing[misses] === i) {
      const { block, at } = others[misses++]!
      all.push({ block, first: at, last: at })
      i++
    } else {
      const slice = slices[hits++]!
      all.push(slice)
      i += lengthOf(slice)
    }
  }
  return all
}

/**
 * Gathers the records of a cluster, if all of them are held and cached: some that were pruned may still be cached, but not as a whole. Nothing is if
 * records are lost: one may be among those of the cluster, though none is on the page.
 */
function gather(reader: Reader, resource: Resource, list: Posting, facing: Facing, home: Held<unknown>, number: number): void {
  if (!reader.isCurrent || !reader.unfiled.isExact) return
  const { from, to } = everything(reader, resource)
  const ordinals = list.between(number * CLUSTER, (number + 1) * CLUSTER).filter((ordinal) => ordinal < to)
  if (ordinals.length === 0 || ordinals[0]! < from || !reader.hasAll(resource, ordinals)) return
  const places = placesIn(faced(reader.slices(resource, ordinals, 0), facing))
  const bytes = places.reduce((sum, { block, at }) => sum + block.textBytes(at), 0)
  if (bytes <= LONG * places.length) home.gather(number, facing, ordinals, places)
  else home.refuse()
}
