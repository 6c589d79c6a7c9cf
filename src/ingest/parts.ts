/**
 * Long reads of the writer, in parts between which others have their turn: its own turn lasts, so history stays as it is, unless another process writes.
 * A part is one read: from a store that answers with promises, what it needs is requested in one call.
 */
import { eachOf, type Place } from '../layout/block.ts'
import type { Resource } from '../query.ts'
import type { Reader } from '../scan/reader.ts'
import type { MaybePromise } from '../store.ts'
import { giveWay } from '../turn.ts'
import type { Damage } from './damage.ts'

/** Runs one read to its end. */
export type Run = <T>(read: (reader: Reader) => T) => MaybePromise<T>

/** How many things are read before others may have their turn. */
const PART = 512

/** Counts of every log: the first records that are meant, and the first ones after them. */
export type Between = readonly [from: readonly number[], to: readonly number[]]

/** What is read of each item, part by part. */
export function readEach<T, R>(run: Run, items: Iterable<T>, read: (reader: Reader, item: T) => R): AsyncGenerator<R[]> {
  return readParts(run, partsOf(items), (reader, part) => {
    const found: R[] = []
    reader.each(part, (item) => void found.push(read(reader, item)))
    return found
  })
}

/** What is read of each record of some logs, in order, part by part. */
export function readRecords<R>(
  run: Run,
  resources: readonly Resource[],
  between: Between,
  read: (place: Place, resource: Resource, ordinal: number) => R,
): AsyncGenerator<R[]> {
  return readParts(run, spansOf(resources, between), (reader, part) => recordsOf(reader, part, read))
}

/** As {@link readRecords}, although some may be damaged: `lost` says what is given for those. A part that holds one is read record by record. */
export async function* readRecordsLeft<R>(
  run: Run,
  resources: readonly Resource[],
  between: Between,
  damage: Damage,
  read: (place: Place, resource: Resource, ordinal: number) => R,
  lost: (resource: Resource, ordinal: number) => R,
): AsyncGenerator<readonly R[]> {
  const readSpans = (spans: readonly LogSpan[]) => damage.around(() => run((reader) => recordsOf(reader, spans, read)))
  for (const part of spansOf(resources, between)) {
    await giveWay()
    const found = await readSpans(part)
    if (found) {
      yield found
      continue
    }
    for (const { resource, from, to } of part)
      for (let ordinal = from; ordinal < to; ordinal++)
        yield (await readSpans([{ resource, from: ordinal, to: ordinal + 1 }])) ?? [lost(resource, ordinal)]
  }
}

function recordsOf<R>(reader: Reader, spans: readonly LogSpan[], read: (place: Place, resource: Resource, ordinal: number) => R): R[] {
  reader.each(spans, ({ resource, from, to }) => reader.askFor(resource, from, to))
  const found: R[] = []
  for (const { resource, from, to } of spans) {
    let ordinal = from
    // Each block is looked for once: what is read of a store that processes share is cached only later.
    eachOf(reader.neighbours(resource, from, to, false), (block, at) => found.push(read({ block, at }, resource, ordinal++)))
  }
  return found
}

async function* readParts<P, R>(run: Run, parts: Iterable<P>, read: (reader: Reader, part: P) => R[]): AsyncGenerator<R[]> {
  for (const part of parts) {
    await giveWay()
    yield await run((reader) => read(reader, part))
  }
}

/** The parts put together. */
export async function joined<R>(parts: AsyncIterable<readonly R[]>): Promise<R[]> {
  const all: R[] = []
  for await (const part of parts) for (const one of part) all.push(one)
  return all
}

function* partsOf<T>(items: Iterable<T>): Generator<T[]> {
  let part: T[] = []
  for (const item of items) {
    part.push(item)
    if (part.length < PART) continue
    yield part
    part = []
  }
  if (part.length > 0) yield part
}

/** Records of a log, from one ordinal up to but excluding another. */
interface LogSpan {
  readonly resource: Resource
  readonly from: number
  readonly to: number
}

function* spansOf(resources: readonly Resource[], [from, to]: Between): Generator<LogSpan[]> {
  let part: LogSpan[] = []
  let room = PART
  for (const resource of resources)
    for (let at = from[resource.tag]!; at < to[resource.tag]!; ) {
      const end = Math.min(to[resource.tag]!, at + room)
      part.push({ resource, from: at, to: end })
      room -= end - at
      at = end
      if (room > 0) continue
      yield part
      part = []
      room = PART
    }
  if (part.length > 0) yield part
}
