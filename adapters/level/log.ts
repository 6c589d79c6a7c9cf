/**
 * LevelDB's logs: records in blocks of 32 KiB, each piece of a record with its own checksum. A MANIFEST is such a log, too.
 *
 *     crc:4  length:2  type:1 (1 whole, 2 first, 3 middle, 4 last)  data
 */
import { concat } from '../../src/bytes.ts'
import { giveWay } from '../../src/turn.ts'
import { crc32c, masked } from './crc32c.ts'
import type { ByteSource } from './reading.ts'

const BLOCK = 32768
const HEADER = 7
/** How many bytes of a log may be read to find good records after damaged ones. */
const SEARCH_BYTES = 64 << 20

export interface LogRecord {
  readonly data: Uint8Array
  /** Where the record begins in the file. */
  readonly at: number
}

/** What is wrong with a log, at `at`. */
export interface LogFault {
  readonly at: number
  readonly reason: string
  /** No good record follows: the process died, or the power failed, while this was being written. */
  readonly torn: boolean
  /** All is good, but the log ends in the middle of a record. */
  readonly cut: boolean
}

interface Piece {
  readonly type: number
  readonly data: Uint8Array
  /** Where it ends in its block. */
  readonly end: number
}

/** The good records of a log, and its faults in between. */
export async function* readLog(file: ByteSource, signal?: AbortSignal): AsyncGenerator<LogRecord | LogFault, void, undefined> {
  let parts: Uint8Array[] = []
  let start = 0
  /** The first fault since the last good record: torn, unless a good one follows. */
  let pending: Omit<LogFault, 'torn'> | undefined
  const budget = { bytes: SEARCH_BYTES }
  const fail = (at: number, reason: string, cut = false): void => {
    pending ??= { at, reason, cut }
    parts = []
  }
  for (let base = 0; base < file.size; base += BLOCK) {
    await giveWay()
    signal?.throwIfAborted()
    const block = await file.read(base, base + BLOCK)
    const last = base + BLOCK >= file.size
    for (let at = 0; at < block.length; ) {
      const place = base + at
      // No header fits into what is left of the block.
      if (at > BLOCK - HEADER) break
      // Space that was allocated and never written: LevelDB reads on, but not in the middle of a record.
      if (isZero(block, at)) {
        if (parts.length > 0) fail(start, 'a record has no end')
        if (!last) fail(place, 'a hole of zeros')
        break
      }
      const piece = pieceAt(block, at)
      if (typeof piece === 'string') {
        // At the end of a whole block, LevelDB does not take a record for cut off.
        fail(place, piece, last && piece === CUT_OFF && block.length < BLOCK)
        at = searched(block, at + 1, budget)
        continue
      }
      const { type, data, end } = piece
      at = end
      const begins = type === 1 || type === 2
      if (begins && parts.length > 0) fail(start, 'a record has no end')
      if (!begins && parts.length === 0) {
        fail(place, 'a record has no beginning')
        continue
      }
      if (begins) start = place
      parts.push(data)
      if (type === 1 || type === 4) {
        if (pending) yield { ...pending, torn: false }
        pending = undefined
        yield { data: concat(parts), at: start }
        parts = []
      }
    }
  }
  if (parts.length > 0) fail(start, CUT_OFF, true)
  if (pending) yield { ...pending, torn: true }
}

const CUT_OFF = 'a record is cut off'
const MISMATCH = 'the checksum of a record does not match'

const lengthAt = (block: Uint8Array, at: number): number => block[at + 4]! | (block[at + 5]! << 8)

const isZero = (block: Uint8Array, from: number): boolean => {
  for (let at = from; at < block.length; at++) if (block[at] !== 0) return false
  return true
}

/**
 * Where the next good piece of a block begins, or the end of the block. The length of the one before it may be what is damaged, so that only a
 * checksum tells. Where nothing is good, each byte may look like the beginning of a long piece: once the budget is spent, nothing is found.
 */
function searched(block: Uint8Array, from: number, budget: { bytes: number }): number {
  for (let at = from; at < block.length && budget.bytes > 0; at++) {
    const piece = pieceAt(block, at)
    if (typeof piece !== 'string') return at
    if (piece === MISMATCH) budget.bytes -= lengthAt(block, at)
  }
  return block.length
}

/** The piece that begins there, or what is wrong with it. */
function pieceAt(block: Uint8Array, at: number): Piece | string {
  if (block.length - at < HEADER) return CUT_OFF
  const sum = (block[at]! | (block[at + 1]! << 8) | (block[at + 2]! << 16) | (block[at + 3]! << 24)) >>> 0
  const type = block[at + 6]!
  const end = at + HEADER + lengthAt(block, at)
  if (end > block.length) return CUT_OFF
  if (type < 1 || type > 4) return 'a record is of no kind that LevelDB knows'
  if (masked(crc32c(block, at + 6, end)) !== sum) return MISMATCH
  return { type, data: block.subarray(at + HEADER, end), end }
}

/** The sequence number with which a batch begins, and how many entries it has: the next batch begins with their sum. */
export function batchOf({ data }: LogRecord): { readonly sequence: number; readonly count: number } | undefined {
  if (data.length < 12) return undefined
  const view = new DataView(data.buffer, data.byteOffset)
  return { sequence: Number(view.getBigUint64(0, true)), count: view.getUint32(8, true) }
}
