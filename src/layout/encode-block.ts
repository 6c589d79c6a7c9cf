/** Writing blocks, as `src/README.md` pictures them. The value depends on the rows alone, so that rolling history back restores the same bytes. */
import { carve, copy, Region } from '../bytes.ts'
import { writeNumber } from '../position.ts'
import type { Resource } from '../query.ts'
import { Block } from './block.ts'
import { distinct, forget, frameNumbers, frames, gather, id, numbers, ONCE, setId, sides, strings, values } from './common.ts'
import { NONE } from './distinct.ts'
import { encodeFrame } from './frame.ts'
import {
  EXACT,
  FIXED,
  ID,
  INDEXED,
  INDEXED_ID,
  LEDGER,
  LITERAL,
  MAX_LITERAL,
  MAX_STRINGS,
  MIN_SHARED,
  putNumber,
  type Row,
  SIMPLE,
  STRING,
  TWO_FACED,
  WIDE,
  type Width,
} from './row.ts'
import { payloadOf, SEAL_BYTES, seal, sumOf } from './seal.ts'

/** Enough for most blocks. More is given back. */
const OUT_BYTES = 1 << 17
/** Blocks are written here, one at a time, and copied out when their length is known. */
let out = Region.room(OUT_BYTES)

export const encodeBlock = (key: Uint8Array, resource: Resource, rows: readonly Row[]): Uint8Array =>
  seal(key, unsealedBlock(resource, rows))

/** The value of a block, and the block itself, which need not be checked. */
export function encodeAndKeep(
  key: Uint8Array,
  resource: Resource,
  rows: readonly Row[],
): { readonly value: Uint8Array; readonly block: Block } {
  const value = encodeBlock(key, resource, rows)
  return { value, block: Block.of(resource, payloadOf(value), key, sumOf(value)) }
}

/** A block of records that are not stored. */
export const looseBlock = <R>(resource: Resource<R>, rows: readonly Row[]): Block<R> =>
  Block.of(resource, payloadOf(unsealedBlock(resource, rows)))

/** The value of a block, with room for its seal at the end. */
function unsealedBlock(resource: Resource, rows: readonly Row[]): Uint8Array {
  try {
    const size = gather(resource, rows)
    return writeBlock(resource, rows, size)
  } finally {
    // Texts must not be kept in memory by this.
    forget()
    if (out.bytes.length > OUT_BYTES) out = Region.room(OUT_BYTES)
  }
}

/** @param size of what was gathered, about */
function writeBlock(resource: Resource, rows: readonly Row[], size: number): Uint8Array {
  const faces = rows[0]?.texts.length ?? 1
  const encoded = frames.map(encodeFrame)
  const tables = (12 + 12 * faces + 4 * resource.sides.length) * rows.length + 4 * (strings.length + frames.length)
  const most = encoded.reduce((sum, stored) => sum + stored.length, size + tables)
  if (most > out.bytes.length) out = Region.room(most)
  const width = size * 3 > 65535 ? 4 : 2
  const texts = writeFixed(resource, rows, (faces === 2 ? TWO_FACED : 0) | (width === 4 ? WIDE : 0))
  const cells = width * rows.length * faces
  const stringEnds = writeSides(texts + 3 * cells, width)
  const frameEnds = stringEnds + width * strings.length
  let to = frameEnds + width * frames.length
  to = writeStrings(to, stringEnds, width)
  to = writeFrames(to, frameEnds, width, encoded)
  to = writeBodies(to, texts, cells, width, rows)
  const value = carve(to + SEAL_BYTES)
  value.set(out.bytes.subarray(0, to))
  return value
}

/** What is as wide in every block: the counts, and the positions of the records. Like each of the parts below it returns where it ends. */
function writeFixed(resource: Resource, rows: readonly Row[], flags: number): number {
  const { bytes, view } = out
  view.setUint16(0, rows.length, true)
  view.setUint16(2, frames.length, true)
  view.setUint16(4, strings.length, true)
  bytes[6] = flags | (resource.indexed ? INDEXED : 0)
  bytes[7] = resource.sides.length
  let to = FIXED
  for (let at = 0; at < rows.length; at++, to += 4) view.setUint32(to, rows[at]!.hi, true)
  for (let at = 0; at < rows.length; at++, to += 4) view.setUint32(to, rows[at]!.lo, true)
  if (resource.indexed) for (let at = 0; at < rows.length; at++, to += 4) view.setUint32(to, rows[at]!.index, true)
  return to
}

function writeSides(to: number, width: Width): number {
  const { view } = out
  for (let at = 0; at < sides.length; at++, to += width) putNumber(view, width, to, sides.items[at]!)
  return to
}

/** @param ends where the end of each goes */
function writeStrings(to: number, ends: number, width: Width): number {
  const { view } = out
  const start = to
  for (let at = 0; at < strings.length; at++) {
    const number = strings.items[at]!
    to = copy(out, to, distinct.region(number), distinct.start(number), distinct.length(number))
    putNumber(view, width, ends + width * at, to - start)
  }
  return to
}

function writeFrames(to: number, ends: number, width: Width, encoded: readonly Uint8Array[]): number {
  const { bytes, view } = out
  const start = to
  for (let at = 0; at < encoded.length; at++) {
    const stored = encoded[at]!
    bytes.set(stored, to)
    to += stored.length
    putNumber(view, width, ends + width * at, to - start)
  }
  return to
}

/** @param texts where the three columns of numbers about each text are, of `cells` bytes each: its frame, its length, and the end of its body */
function writeBodies(to: number, texts: number, cells: number, width: Width, rows: readonly Row[]): number {
  const { view } = out
  const start = to
  let cell = texts
  let text = 0
  let nth = 0
  for (const row of rows) {
    setId(row)
    for (const { sheet, from, length, cut, holes, simple } of row.texts) {
      const { region, cuts } = sheet
      for (let at = cut; at < cut + 2 * holes; at += 2)
        to = writeValue(to, region, from + cuts[at]!, from + cuts[at + 1]!, row, values.items[nth++]!)
      putNumber(view, width, cell, frameNumbers.items[text++]! | (simple ? SIMPLE : 0) | (row.exact ? EXACT : 0))
      putNumber(view, width, cell + cells, length)
      putNumber(view, width, cell + 2 * cells, to - start)
      cell += width
    }
  }
  return to
}

/** Writes a value; returns where it ends. @param number which of the distinct values it is, or {@link NONE} */
function writeValue(to: number, region: Region, from: number, end: number, row: Row, number: number): number {
  const { bytes } = out
  const length = end - from
  if (length >= MIN_SHARED) {
    if (number === NONE) {
      // Begins with the id.
      if (length === id.length) {
        bytes[to] = ID
        return to + 1
      }
      if (isIndexedId(region.bytes, from, length, row.index)) {
        bytes[to] = INDEXED_ID
        return to + 1
      }
      number = distinct.find(region, from, end)
    }
    const string = number === NONE ? ONCE : numbers.items[number]!
    if (string !== ONCE && string < MAX_STRINGS) {
      bytes[to] = STRING + (string >> 8)
      bytes[to + 1] = string & 255
      return to + 2
    }
    if (length <= 10 && isNumber(region.bytes, from, length, row.hi)) {
      bytes[to] = LEDGER
      return to + 1
    }
  }
  if (length <= MAX_LITERAL) {
    bytes[to] = length
    return copy(out, to + 1, region, from, length)
  }
  bytes[to] = LITERAL
  out.view.setUint32(to + 1, length, true)
  return copy(out, to + 5, region, from, length)
}

const digits = new Uint8Array(16)

/** True for the digits of a number. */
function isNumber(bytes: Uint8Array, from: number, length: number, number: number): boolean {
  if (length === 0 || writeNumber(digits, 0, number) !== length) return false
  for (let at = 0; at < length; at++) if (bytes[from + at] !== digits[at]) return false
  return true
}

const DASH = 45

/** True for the id, a dash and the index. */
const isIndexedId = (bytes: Uint8Array, from: number, length: number, index: number): boolean =>
  bytes[from + id.length] === DASH && isNumber(bytes, from + id.length + 1, length - id.length - 1, index)
