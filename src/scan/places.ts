/**
 * Where the records of a page lie. Those of a posting list are scattered over their log; if a list is read over and over, neighbours are gathered
 * (`layout/cluster.ts`) and served from there: one look-up finds up to 32 of them, side by side.
 */
import type { Place } from '../layout/block.ts'
import { CLUSTER, type Held } from '../layout/cluster.ts'
import { RUN } from '../layout/runs.ts'
import type { Facing, Resource } from '../query.ts'
import type { Posting, Taken } from './list.ts'
import { everything } from './locate.ts'
import type { Reader } from './reader.ts'

/** Fewer records than this are found faster one by one than gathered, however often they are asked for. */
const MANY = CLUSTER / 2
/** If records have longer texts on average, copying them takes longer than finding them. */
const LONG = 1024

/** The records as a filter wants them shown: those that face the other way are turned. */
function faced(places: Place[], facing: Facing): Place[] {
  if (facing === undefined) return places
  const lesser = facing === 'lesser'
  return places.map((place) => (place.block.isLesser(place.at) === lesser ? place : { block: place.block.turned(), at: place.at }))
}

/** The places of records; for neighbours in their log, from gathered runs of blocks if there are any. */
function found<R>(reader: Reader, resource: Resource<R>, ordinals: readonly number[]): Place<R>[] {
  const { length } = ordinals
  if (length < 2 || Math.abs(ordinals[length - 1]! - ordinals[0]!) !== length - 1) return reader.places(resource, ordinals)
  const size = RUN << resource.shift
  const reverse = ordinals[1]! < ordinals[0]!
  let places: Place<R>[] = []
  /** The records from here up to the current one are in no run. */
  let from = 0
  for (let i = 0; i < length; ) {
    const number = Math.floor(ordinals[i]! / size)
    const inside = ordinals[i]! - number * size
    let at = reverse ? size - 1 - inside : inside
    const end = Math.min(length, i + size - at)
    const run = reader.runOfLog(resource, number, reverse)
    if (run === undefined) {
      i = end
      continue
    }
    if (from < i) places = places.concat(inBlocks(reader, resource, ordinals.slice(from, i), reverse))
    reader.served(run, end - i)
    for (; i < end; i++, at++) places.push({ block: run, at })
    from = end
  }
  if (from === 0) return inBlocks(reader, resource, ordinals, reverse)
  return from < length ? places.concat(inBlocks(reader, resource, ordinals.slice(from), reverse)) : places
}

/** The places of neighbours that are in no run; gathers those that are worth it. */
function inBlocks<R>(reader: Reader, resource: Resource<R>, ordinals: readonly number[], reverse: boolean): Place<R>[] {
  const places = reader.places(resource, ordinals)
  const size = 1 << resource.shift
  let before = -1
  for (let i = 0; i < places.length; i += size) {
    const number = Math.floor(ordinals[i]! / (RUN * size))
    const { block } = places[i]!
    // A failed attempt, which looks at each block of the run, is repeated only after twice as many requests.
    if (number !== before && block.isHot && block.asked >= 2 * block.triedAt) {
      block.triedAt = block.asked
      reader.gatherRun(resource, number, reverse)
    }
    before = number
  }
  return places
}

/**
 * The places of records taken from a list, in their order.
 * @param runs whether they may be in runs of blocks
 */
export function placesOf(reader: Reader, resource: Resource<any>, taken: Taken, reverse: boolean, facing: Facing, runs = true): Place[] {
  const { ordinals, run: list } = taken
  const { length } = ordinals
  const rank = length < MANY ? undefined : (taken.rank ?? list?.rank(ordinals[0]!))
  if (list === undefined || rank === undefined)
    return faced(runs ? found(reader, resource, ordinals) : reader.places(resource, ordinals), facing)
  const step = reverse ? -1 : 1
  const places: Place[] = []
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
    for (; i < end; i++, at += step) {
      if (cluster?.ordinals[at] === ordinals[i]) places[i] = { block: cluster!.block, at }
      else missing.push(i)
    }
    const missed = missing.length - before
    if (home && missed >= MANY && home.miss(missed)) due.push([home, number])
    if (missed < end - from) reader.served(cluster!.block, end - from - missed)
  }
  if (missing.length === 0) return places
  const others = faced(reader.places(resource, missing.length === length ? ordinals : missing.map((i) => ordinals[i]!)), facing)
  for (const [home, number] of due) gather(reader, resource, list, facing, home, number)
  if (missing.length === length) return others
  for (const [nth, i] of missing.entries()) places[i] = others[nth]!
  return places
}

/** Gathers the records of a cluster, if all of them are cached. */
function gather(reader: Reader, resource: Resource<any>, list: Posting, facing: Facing, home: Held<unknown>, number: number): void {
  const { to } = everything(reader, resource)
  const ordinals = list.between(number * CLUSTER, (number + 1) * CLUSTER).filter((ordinal) => ordinal < to)
  if (ordinals.length === 0 || !reader.isCurrent || !reader.hasAll(resource, ordinals)) return
  const places = faced(reader.places(resource, ordinals, 0), facing)
  const bytes = places.reduce((sum, { block, at }) => sum + block.textBytes(at), 0)
  if (bytes <= LONG * places.length) home.gather(number, facing, ordinals, places)
  else home.refuse()
}
