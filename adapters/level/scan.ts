/**
 * Reads one chunk of a range from an abstract-level database.
 *
 * LevelDB skips a damaged block, goes on, and reports it only with a read that came out shorter than asked. abstract-level never asks for more than
 * is left of an iterator's limit, so `all()` and `nextv()` hide damage in every full page (measured: 65 of 67 damaged tables).
 * **Invariant:** no entries leave this file before LevelDB was asked whether it had to skip any.
 */
import type { AbstractIterator, AbstractLevel, AbstractSnapshot } from 'abstract-level'
import type { Chunk, Entry, KeyRange, ScanOptions } from '../../src/store.ts'

export type Database = AbstractLevel<any, any, any>

/**
 * A database of abstract-level, whatever its keys and values are declared to be. It does not require the whole type: databases of other key types
 * differ in the types of their hooks and sublevels, which nothing here uses.
 */
export interface AnyLevel {
  readonly supports: object
  readonly status: string
  open(): Promise<void>
  close(): Promise<void>
  iterator(): unknown
  batch(): unknown
}
export type Found = [key: Uint8Array, value: Uint8Array]
type Cursor = AbstractIterator<Database, Uint8Array, Uint8Array>

export const encodings = { keyEncoding: 'view', valueEncoding: 'view' } as const

/** Values read one by one are cached by whoever asked; keeping them in LevelDB's cache as well costs a third of the read. */
export const reading = { ...encodings, fillCache: false } as const

/** Up to `size` entries; none at the end. Its last reads ask for more than the cursor's limit, and so learn of damage. */
export type Step = (cursor: Cursor, size: number) => Promise<Found[]>

/**
 * One thread hop per page: the method beneath `nextv`, which may ask for more than the limit (a page of 10 in 107 µs; with `next` 162 µs). It is not
 * held back while the database closes, so it serves only databases that nobody but the store can close.
 */
export const nextMany: Step = (cursor, size) =>
  (cursor as unknown as { _nextv(size: number): Promise<Found[]> })._nextv(Math.min(size, 1000))

/** For any database: `next` reads 1 entry, then up to 1,000 ahead, past the limit. */
export const nextOne: Step = async (cursor) => {
  const entry = await cursor.next()
  return entry ? [entry] : []
}

/** The most that LevelDB's 32-bit options can hold. */
const MAX_BYTES = 2 ** 32 - 1
const MAX_COUNT = 2 ** 31 - 2

/** The chunk at the low end of a non-empty range, or at the high end with `reverse`; of what a snapshot shows, if one is given. */
export async function readChunk(
  db: Database,
  step: Step,
  range: KeyRange,
  options: ScanOptions,
  snapshot?: AbstractSnapshot,
): Promise<Chunk> {
  const { limit, reverse = false } = options
  const maxBytes = Math.max(0, Math.min(Math.floor(options.maxBytes ?? MAX_BYTES), MAX_BYTES))
  // One more than asked tells whether there is more; two more if the reads of `next` would end exactly at the limit.
  const count = Math.min(limit + (limit % 1000 === 0 ? 2 : 1), MAX_COUNT)
  const native = { ...encodings, gte: range.gte, lt: range.lt, reverse, limit: count, highWaterMarkBytes: maxBytes, snapshot }
  const cursor: Cursor = db.iterator<Uint8Array, Uint8Array>(native)
  const found: Found[] = []
  let bytes = 0
  try {
    while (found.length <= count && (bytes <= maxBytes || found.length < 2)) {
      const part = await step(cursor, count + 1 - found.length)
      if (part.length === 0) break
      for (const entry of part) bytes += entry[0].length + entry[1].length
      found.push(...part)
    }
  } finally {
    await cursor.close()
  }
  if (bytes > maxBytes) {
    // Reads that LevelDB cut at its high-water mark reported no damage. Reading the keys again, to the end of a range, does.
    const last = found.at(-1)![0]
    const keys = reverse ? { gte: last, lt: range.lt } : { gte: range.gte, lte: last }
    await db.keys<Uint8Array>({ keyEncoding: 'view', snapshot, ...keys }).all()
  }
  return cut(found, limit, maxBytes)
}

/** What was read, without what exceeds the limits. */
function cut(found: Found[], limit: number, maxBytes: number): Chunk {
  const entries: Entry[] = []
  let bytes = 0
  for (const entry of found) {
    bytes += entry[0].length + entry[1].length
    if (entries.length === limit || (bytes > maxBytes && entries.length > 0)) return { entries, more: true }
    entries.push(entry)
  }
  return { entries, more: false }
}
