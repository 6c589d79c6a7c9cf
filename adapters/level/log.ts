/**
 * LevelDB's logs: records in blocks of 32 KiB, each piece of a record with its own checksum. A MANIFEST is such a log, too.
 *
 *     crc:4  length:2  type:1 (1 whole, 2 first, 3 middle, 4 last)  data
 */
import { concat } from '../../src/bytes.ts'
import { crc32c, masked } from './crc32c.ts'
import type { FileReader } from './reading.ts'

const BLOCK = 32768
const HEADER = 7

export interface LogRecord {
  readonly data: Uint8Array
  /** Where the record begins in the file. */
  readonly at: number
}

/** What is wrong with a log, at `at`. Nothing follows a torn tail: the process died, or the power failed, while it was being written. */
export interface LogFault {
  readonly at: number
  readonly reason: string
  readonly torn: boolean
}

/** The good records of a log, and its faults in between. */
export async function* readLog(file: FileReader): AsyncGenerator<LogRecord | LogFault, void, undefined> {
  let parts: Uint8Array[] = []
  let start = 0
  /** The first fault since the last good record: torn, unless a good one follows. */
  let pending: { at: number; reason: string } | undefined
  const fail = (at: number, reason: string): void => {
    pending ??= { at, reason }
    parts = []
  }
  for (let base = 0; base < file.size; base += BLOCK) {
    const block = await file.read(base, base + BLOCK)
    for (let at = 0; block.length - at >= HEADER; ) {
      const place = base + at
      const length = block[at + 4]! | (block[at + 5]! << 8)
      const type = block[at + 6]!
      const end = at + HEADER + length
      // Space that was allocated and never written.
      if (type === 0 && length === 0 && block.subarray(at).every((byte) => byte === 0)) {
        if (base + BLOCK < file.size) fail(place, 'a hole of zeros')
        break
      }
      const sum = (block[at]! | (block[at + 1]! << 8) | (block[at + 2]! << 16) | (block[at + 3]! << 24)) >>> 0
      if (end > block.length || type < 1 || type > 4 || masked(crc32c(block, at + 6, end)) !== sum) {
        fail(place, end > block.length ? 'a record is cut off' : 'the checksum of a record does not match')
        break
      }
      const begins = type === 1 || type === 2
      if (begins && parts.length > 0) fail(start, 'a record has no end')
      if (!begins && parts.length === 0) {
        pending ??= { at: place, reason: 'a record has no beginning' }
        at = end
        continue
      }
      if (begins) start = place
      parts.push(block.subarray(at + HEADER, end))
      at = end
      if (type === 1 || type === 4) {
        if (pending) yield { ...pending, torn: false }
        pending = undefined
        yield { data: concat(parts), at: start }
        parts = []
      }
    }
  }
  if (parts.length > 0) fail(start, 'a record is cut off')
  if (pending) yield { ...pending, torn: true }
}

/** The sequence number with which a batch begins, and how many entries it has: the next batch begins with their sum. */
export function batchOf({ data }: LogRecord): { readonly sequence: number; readonly count: number } | undefined {
  if (data.length < 12) return undefined
  const view = new DataView(data.buffer, data.byteOffset)
  return { sequence: Number(view.getBigUint64(0, true)), count: view.getUint32(8, true) }
}
