/** Writing blocks: see the picture in `shape.ts`. The value depends on the rows alone, so that rolling history back restores the same bytes. */
import { Writer } from '../bytes.ts'
import { idText } from '../position.ts'
import type { Resource } from '../query.ts'
import { Distinct, NONE } from './distinct.ts'
import { encodeFrame } from './frame.ts'
import {
  EXACT,
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
import { leaveRoom } from './seal.ts'

/** The value of a block, with room for its seal at the end. */
export function encodeBlock(resource: Resource<any>, rows: readonly Row[]): Uint8Array {
  const faces = rows[0]?.texts.length ?? 1
  const ids = rows.map(({ hi, lo }) => idText(hi, lo))
  const common = shared(rows, ids)
  const { strings, sides, frames, frameOf, size } = common
  let flags = (resource.indexed ? INDEXED : 0) | (faces === 2 ? TWO_FACED : 0)
  // A character takes at most three bytes.
  if (size * 3 > 65535) flags |= WIDE
  const width = flags & WIDE ? 4 : 2

  // A row of the table has up to 56 bytes; the unused rest is given back.
  const out = new Writer(size + 56 * rows.length)
  out.u16(rows.length)
  out.u16(frames.size)
  out.u16(strings.length)
  out.u8(flags)
  out.u8(resource.sides.length)
  for (const { hi } of rows) out.u32(hi)
  for (const { lo } of rows) out.u32(lo)
  if (resource.indexed) for (const { index } of rows) out.u32(index)
  const number = (value: number): void => (width === 4 ? out.u32(value) : out.u16(value))
  const set = (at: number, value: number): void => (width === 4 ? out.setU32(at, value) : out.setU16(at, value))
  const framesAt = out.length
  out.skip(width * rows.length * faces)
  const lengths = out.length
  const ends = lengths + width * rows.length * faces
  out.skip(2 * width * rows.length * faces)
  for (const side of sides) number(side)

  const tables = out.length
  out.skip(width * (strings.length + frames.size))
  /** Bytes of each string, then of each frame. */
  const sizes: number[] = []
  let part = out.length
  for (const string of strings) {
    sizes.push(out.text(string))
    set(tables + width * (sizes.length - 1), out.length - part)
  }
  part = out.length
  for (const frame of frames.strings) {
    const { stored, spelled } = encodeFrame(frame)
    out.raw(stored)
    sizes.push(spelled)
    set(tables + width * (sizes.length - 1), out.length - part)
  }
  part = out.length
  let cell = 0
  let nth = 0
  for (const [at, row] of rows.entries()) {
    const id = ids[at]!
    for (const { values } of row.texts) {
      const frame = frameOf[cell]!
      let simple = true
      let length = sizes[strings.length + frame]!
      for (const value of values) {
        const written = writeValue(out, value, row, id, common, nth++, sizes)
        // As many bytes as characters: ASCII. A quote occurs in what older blocks kept as one value: several strings with what is between them.
        if (written !== value.length || value.includes('\\') || value.includes('"')) simple = false
        length += written
      }
      set(framesAt + width * cell, frame | (simple ? SIMPLE : 0) | (row.exact ? EXACT : 0))
      set(lengths + width * cell, length)
      set(ends + width * cell, out.length - part)
      cell++
    }
  }
  leaveRoom(out)
  return out.finish()
}

/** Marks a value that has occurred once so far. */
const ONCE = -1

/** What records of a block have in common. */
interface Shared {
  readonly distinct: Distinct
  /** Strings that are stored once, side columns first. */
  readonly strings: readonly string[]
  /** Which of them each side column is, record by record. */
  readonly sides: readonly number[]
  /** For each value, text by text: which of the distinct values it is, or {@link NONE}. */
  readonly values: readonly number[]
  /** For each distinct value: which of the strings it is, or {@link ONCE}. */
  readonly numbers: readonly number[]
  readonly frames: Distinct
  /** Which of the frames each text has. */
  readonly frameOf: readonly number[]
  /** About how many characters there are to write. */
  readonly size: number
}

function shared(rows: readonly Row[], ids: readonly string[]): Shared {
  const distinct = new Distinct()
  const [strings, sides, values, numbers]: [string[], number[], number[], number[]] = [[], [], [], []]
  const frames = new Distinct()
  const frameOf: number[] = []
  let size = 64
  const add = (value: string, number: number): void => {
    numbers[number] = strings.push(value) - 1
    size += value.length + 4
  }
  for (const row of rows) {
    for (const side of row.sides) {
      const number = distinct.number(side)
      if (number === numbers.length) add(side, number)
      sides.push(numbers[number]!)
    }
    for (const { frame } of row.texts) {
      const before = frames.size
      frameOf.push(frames.number(frame))
      if (frames.size > before) size += frame.length + 4
    }
  }
  for (let at = 0; at < rows.length; at++) {
    const id = ids[at]!
    for (const text of rows[at]!.texts)
      for (const value of text.values) {
        size += value.length + 5
        if (value.length < MIN_SHARED || value.startsWith(id)) {
          values.push(NONE)
          continue
        }
        const number = distinct.number(value)
        values.push(number)
        if (number === numbers.length) numbers.push(ONCE)
        else if (numbers[number] === ONCE && strings.length < MAX_STRINGS) add(value, number)
      }
  }
  return { distinct, strings, sides, values, numbers, frames, frameOf, size }
}

/** Writes value number `nth`; returns how many bytes it stands for in the text. */
function writeValue(
  out: Writer,
  value: string,
  { hi, index }: Row,
  id: string,
  { distinct, values, numbers }: Shared,
  nth: number,
  sizes: readonly number[],
): number {
  if (value.length >= MIN_SHARED) {
    let number = values[nth]!
    if (value.startsWith(id)) {
      if (value.length === id.length) return code(out, ID, value)
      if (value === `${id}-${index}`) return code(out, INDEXED_ID, value)
      number = distinct.find(value)
    }
    const string = number === NONE ? ONCE : numbers[number]!
    if (string !== ONCE && string < MAX_STRINGS) {
      out.u8(STRING + (string >> 8))
      out.u8(string & 255)
      return sizes[string]!
    }
    if (value.length <= 10 && value === String(hi)) return code(out, LEDGER, value)
  }
  if (value.length * 3 <= MAX_LITERAL) {
    const at = out.length
    out.u8(0)
    const length = out.text(value)
    out.setU8(at, length)
    return length
  }
  out.u8(LITERAL)
  const at = out.length
  out.u32(0)
  const length = out.text(value)
  out.setU32(at, length)
  return length
}

function code(out: Writer, code: number, value: string): number {
  out.u8(code)
  return value.length
}
