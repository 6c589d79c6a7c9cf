/** Writing blocks: see the picture in `shape.ts`. The value depends on the rows alone, so that history taken back leaves the bytes it found. */
import { Writer } from '../bytes.ts'
import { idText } from '../position.ts'
import type { Resource } from '../query.ts'
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
  const { numbers, strings, frames, size } = shared(rows, ids)
  let flags = (resource.indexed ? INDEXED : 0) | (faces === 2 ? TWO_FACED : 0)
  // A character is three bytes at the most.
  if (size * 3 > 65535) flags |= WIDE
  const width = flags & WIDE ? 4 : 2

  // A row of the table has up to 56 bytes; what is not needed is given back.
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
  for (const { sides } of rows) for (const side of sides) number(numbers.get(side)!)

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
  for (const frame of frames.keys()) {
    const { stored, spelled } = encodeFrame(frame)
    out.raw(stored)
    sizes.push(spelled)
    set(tables + width * (sizes.length - 1), out.length - part)
  }
  part = out.length
  let cell = 0
  for (const [at, row] of rows.entries()) {
    const id = ids[at]!
    for (const { frame, values } of row.texts) {
      let simple = true
      let length = sizes[strings.length + frames.get(frame)!]!
      for (const value of values) {
        const written = writeValue(out, value, row, id, numbers, sizes)
        // As many bytes as characters: ASCII. A quote stands in what older blocks kept as one value: strings, and what is between them.
        if (written !== value.length || value.includes('\\') || value.includes('"')) simple = false
        length += written
      }
      set(framesAt + width * cell, frames.get(frame)! | (simple ? SIMPLE : 0) | (row.exact ? EXACT : 0))
      set(lengths + width * cell, length)
      set(ends + width * cell, out.length - part)
      cell++
    }
  }
  leaveRoom(out)
  return out.finish()
}

/** Of a value that was met once so far. */
const ONCE = -1

/** What records of a block have in common: strings and frames with their numbers; and about how many characters there are to write. */
function shared(rows: readonly Row[], ids: readonly string[]) {
  const strings: string[] = []
  const numbers = new Map<string, number>()
  const frames = new Map<string, number>()
  let size = 64
  const add = (value: string): void => {
    numbers.set(value, strings.length)
    strings.push(value)
    size += value.length + 4
  }
  for (const { sides, texts } of rows) {
    for (const side of sides) if (!numbers.has(side)) add(side)
    for (const { frame } of texts) {
      if (frames.has(frame)) continue
      frames.set(frame, frames.size)
      size += frame.length + 4
    }
  }
  for (let at = 0; at < rows.length; at++) {
    const id = ids[at]!
    for (const { values } of rows[at]!.texts)
      for (const value of values) {
        size += value.length + 5
        if (value.length < MIN_SHARED || value.startsWith(id)) continue
        const number = numbers.get(value)
        if (number === undefined) numbers.set(value, ONCE)
        else if (number === ONCE && strings.length < MAX_STRINGS) add(value)
      }
  }
  return { strings, numbers, frames, size }
}

/** Writes a value of a hole; returns how many bytes it stands for in the text. */
function writeValue(
  out: Writer,
  value: string,
  { hi, index }: Row,
  id: string,
  numbers: ReadonlyMap<string, number>,
  sizes: readonly number[],
): number {
  if (value.length >= MIN_SHARED) {
    if (value.startsWith(id)) {
      if (value.length === id.length) return code(out, ID, value)
      if (value === `${id}-${index}`) return code(out, INDEXED_ID, value)
    }
    const string = numbers.get(value)
    if (string !== undefined && string !== ONCE && string < MAX_STRINGS) {
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
