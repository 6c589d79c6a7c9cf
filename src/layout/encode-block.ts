/** Writing blocks: see the picture in `shape.ts`. The value depends on the rows alone, so that rolling history back restores the same bytes. */
import { carve, copy, Region, writeText } from '../bytes.ts'
import { writeId, writeNumber } from '../position.ts'
import type { Resource } from '../query.ts'
import { Block } from './block.ts'
import { Distinct, NONE } from './distinct.ts'
import { encodeFrame } from './frame.ts'
import { Ints } from './ints.ts'
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
  type Row,
  SIMPLE,
  STRING,
  TWO_FACED,
  WIDE,
} from './row.ts'
import { payloadOf, SEAL_BYTES, seal, sumOf } from './seal.ts'

/** Enough for most blocks. More is given back. */
const OUT_BYTES = 1 << 17
const BESIDE_BYTES = 1 << 14
/** Blocks are written here, one at a time, and copied out when their length is known; and here lie their side columns and ids meanwhile. */
let out = Region.room(OUT_BYTES)
let beside = Region.room(BESIDE_BYTES)
/** How many bytes of {@link beside} are in use. */
let used = 0

const roomBeside = (bytes: number): void => {
  if (used + bytes <= beside.bytes.length) return
  // What lies in the present one is still referred to.
  beside = Region.room(Math.max(2 * beside.bytes.length, bytes))
  used = 0
}

/** Marks a value that has occurred once so far. */
const ONCE = -1

/** What the records of the block have in common: it is gathered here first. */
const distinct = new Distinct()
/** For each distinct value: which of the strings it is, or {@link ONCE}. */
const numbers = new Ints()
/** The values that are stored once, side columns first. */
const strings = new Ints()
/** For each record and column: which of the strings it is. */
const sides = new Ints()
/** For each value, text by text: which of the distinct values it is, or {@link NONE}. */
const values = new Ints()
/** For each text: which of the frames it has. */
const frameOf = new Ints()
const frames: string[] = []

const lists = [numbers, strings, sides, values, frameOf]

function clear(): void {
  distinct.clear()
  for (const list of lists) list.clear()
  frames.length = 0
  used = 0
  if (out.bytes.length > OUT_BYTES) out = Region.room(OUT_BYTES)
  if (beside.bytes.length > BESIDE_BYTES) beside = Region.room(BESIDE_BYTES)
}

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
    clear()
  }
}

/** The digits of a record's id, in {@link beside}. */
const id = { at: 0, length: 0 }

function setId({ hi, lo }: Row): void {
  roomBeside(24)
  id.at = used
  id.length = writeId(beside.bytes, used, hi, lo) - used
}

/** True if the bytes begin with the id. */
function beginsWithId(bytes: Uint8Array, from: number, length: number): boolean {
  if (length < id.length) return false
  const { bytes: digits } = beside
  for (let at = 0; at < id.length; at++) if (bytes[from + at] !== digits[id.at + at]) return false
  return true
}

/** Adds a distinct value to the strings; returns how many bytes that takes, about. */
function addString(number: number): number {
  numbers.items[number] = strings.push(number)
  return distinct.length(number) + 4
}

/** Gathers what the records have in common; returns about how many bytes there are to write. */
function gather(resource: Resource, rows: readonly Row[]): number {
  const columns = resource.sides.length
  let size = 64
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!
    for (let column = 0; column < columns; column++) {
      const side = row.sides[column]!
      if (at > 0 && side === rows[at - 1]!.sides[column]) {
        sides.push(sides.items[sides.length - columns]!)
        continue
      }
      roomBeside(3 * side.length)
      const length = writeText(beside.bytes, used, side)
      const number = distinct.number(beside, used, used + length)
      if (number === numbers.length) {
        numbers.push(ONCE)
        size += addString(number)
        used += length
      }
      sides.push(numbers.items[number]!)
    }
    for (const { frame } of row.texts) {
      let number = frames.indexOf(frame)
      if (number < 0) {
        number = frames.push(frame) - 1
        size += frame.length + 4
      }
      frameOf.push(number)
    }
  }
  for (const row of rows) {
    setId(row)
    for (const { sheet, from, cut, holes } of row.texts) {
      const { region, bytes, cuts } = sheet
      for (let at = cut; at < cut + 2 * holes; at += 2) {
        const [start, end] = [from + cuts[at]!, from + cuts[at + 1]!]
        const length = end - start
        size += length + 5
        if (length < MIN_SHARED || beginsWithId(bytes, start, length)) {
          values.push(NONE)
          continue
        }
        const number = distinct.number(region, start, end)
        values.push(number)
        if (number === numbers.length) numbers.push(ONCE)
        else if (numbers.items[number] === ONCE && strings.length < MAX_STRINGS) size += addString(number)
      }
    }
  }
  return size
}

function writeBlock(resource: Resource, rows: readonly Row[], size: number): Uint8Array {
  const faces = rows[0]?.texts.length ?? 1
  let flags = (resource.indexed ? INDEXED : 0) | (faces === 2 ? TWO_FACED : 0)
  if (size * 3 > 65535) flags |= WIDE
  const width = flags & WIDE ? 4 : 2
  const encoded = frames.map(encodeFrame)
  const tables = (12 + 12 * faces + 4 * resource.sides.length) * rows.length + 4 * (strings.length + frames.length)
  const most = encoded.reduce((sum, stored) => sum + stored.length, size + tables)
  if (most > out.bytes.length) out = Region.room(most)
  const { bytes, view } = out
  const setNumber = (at: number, value: number): void => (width === 4 ? view.setUint32(at, value, true) : view.setUint16(at, value, true))
  view.setUint16(0, rows.length, true)
  view.setUint16(2, frames.length, true)
  view.setUint16(4, strings.length, true)
  bytes[6] = flags
  bytes[7] = resource.sides.length
  let to = FIXED
  for (let at = 0; at < rows.length; at++, to += 4) view.setUint32(to, rows[at]!.hi, true)
  for (let at = 0; at < rows.length; at++, to += 4) view.setUint32(to, rows[at]!.lo, true)
  if (resource.indexed) for (let at = 0; at < rows.length; at++, to += 4) view.setUint32(to, rows[at]!.index, true)
  const framesAt = to
  const lengths = framesAt + width * rows.length * faces
  const ends = lengths + width * rows.length * faces
  to = ends + width * rows.length * faces
  for (let at = 0; at < sides.length; at++, to += width) setNumber(to, sides.items[at]!)
  const stringEnds = to
  const frameEnds = stringEnds + width * strings.length
  to = frameEnds + width * frames.length
  let part = to
  for (let at = 0; at < strings.length; at++) {
    const number = strings.items[at]!
    to = copy(out, to, distinct.region(number), distinct.start(number), distinct.length(number))
    setNumber(stringEnds + width * at, to - part)
  }
  part = to
  for (let at = 0; at < encoded.length; at++) {
    const stored = encoded[at]!
    bytes.set(stored, to)
    to += stored.length
    setNumber(frameEnds + width * at, to - part)
  }
  part = to
  let cell = 0
  let nth = 0
  for (const row of rows) {
    setId(row)
    for (const { sheet, from, length, cut, holes, simple } of row.texts) {
      const { region, cuts } = sheet
      for (let at = cut; at < cut + 2 * holes; at += 2) {
        const [start, end] = [from + cuts[at]!, from + cuts[at + 1]!]
        to = writeValue(to, region, start, end, row, values.items[nth++]!)
      }
      setNumber(framesAt + width * cell, frameOf.items[cell]! | (simple ? SIMPLE : 0) | (row.exact ? EXACT : 0))
      setNumber(lengths + width * cell, length)
      setNumber(ends + width * cell, to - part)
      cell++
    }
  }
  const value = carve(to + SEAL_BYTES)
  value.set(bytes.subarray(0, to))
  return value
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
