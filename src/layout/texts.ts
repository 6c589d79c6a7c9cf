/** Reading a record: its text, its members, its side columns, and what it was put together from. */

import { characters, copy, Region, SLACK, text } from '../bytes.ts'
import { exactId, idText, writeId, writeNumber } from '../position.ts'
import type { OpenRecord } from '../query.ts'
import type { Apart } from '../text/apart.ts'
import { takeApart } from '../text/writer.ts'
import { decodeFrame, type Frame, frameOf, recipeOf, weightOf } from './frame.ts'
import { numberIn, numberOf } from './number.ts'
import { FINISHED, FRAME, ID, INDEXED_ID, LEDGER, LESSER, LITERAL, MAX_LITERAL, type Row, STRING } from './row.ts'
import { corrupt } from './seal.ts'
import { Shape, u32 } from './shape.ts'
import { parseRecord } from './typed.ts'

/** Where texts are put together for reading. */
let scratch = new Region(new Uint8Array(64 * 1024))

/** The values of the current text. */
const simpleValues: (string | number | bigint)[] = []

/** The records of a block, each accessible without the others. */
export class Texts<R> extends Shape<R> {
  private frames: (Frame | undefined)[] | undefined
  /** Strings that were requested as text. */
  private decoded: string[] | undefined

  /** The first number in a finished block's table for a text: the number of its frame in this process, and the flags outside {@link FRAME}. */
  kind(at: number): number {
    const flags = this.number(this.cell(0, at)) & ~FRAME
    return (this.frame(at)?.number ?? 0) | flags | (this.isLesser(at) ? LESSER : 0)
  }

  /** The frame of a text; undefined if the block was finished and the frame had no number. */
  protected frame(at: number, face = this.face): Frame | undefined {
    const number = this.number(this.cell(0, at, face)) & FRAME
    if (this.flags & FINISHED) return frameOf(number & ~LESSER)
    this.frames ??= []
    const held = this.frames[number]
    if (held) return held
    const end = this.frameEnds + this.width * number
    const frame = decodeFrame(this.bytes, this.framesAt + (number ? this.number(end - this.width) : 0), this.framesAt + this.number(end))
    this.frames[number] = frame
    // A frame without a number belongs to this block alone, or may soon.
    if (frame.number === 0) this.grow(weightOf(frame))
    return frame
  }

  /**
   * Writes the wire members of a record without braces and `_links` into `out`, which has room for {@link textBytes} and the slack of `copy`; returns
   * where they end.
   */
  write(at: number, out: Region, to: number, face = this.face): number {
    const { bytes, region } = this
    if (this.flags & FINISHED) return copy(out, to, region, this.textStart(at, face), this.textBytes(at, face))
    let from = this.bodyStart(at, face)
    const { pieces, ends } = this.frame(at, face)!
    const start = to
    let end = ends[0]!
    to = copy(out, to, pieces, 0, end)
    for (let hole = 1; hole < ends.length; hole++) {
      const code = bytes[from++]!
      if (code <= MAX_LITERAL) {
        to = copy(out, to, region, from, code)
        from += code
      } else if (code < LITERAL) {
        const string = (code - STRING) * 256 + bytes[from++]!
        const begin = this.stringStart(string)
        to = copy(out, to, region, begin, this.stringEnd(string) - begin)
      } else if (code === LITERAL) {
        const length = u32(bytes, from)
        to = copy(out, to, region, from + 4, length)
        from += 4 + length
      } else if (code === LEDGER) to = writeNumber(out.bytes, to, this.hi(at))
      else {
        to = writeId(out.bytes, to, this.hi(at), this.lo(at))
        if (code === INDEXED_ID) {
          out.bytes[to++] = 45
          to = writeNumber(out.bytes, to, this.index(at))
        }
      }
      const begin = end
      end = ends[hole]!
      to = copy(out, to, pieces, begin, end - begin)
    }
    if (to - start !== this.textBytes(at, face)) throw corrupt(this.key, 'a text of the block has another length')
    return to
  }

  /** The wire members of a record without braces and `_links`, in bytes of their own. */
  text(at: number): Uint8Array {
    const { bytes } = this.room(at)
    return bytes.slice(0, this.write(at, scratch, 0))
  }

  /** The record as JSON text, without `_links`. */
  json(at: number): string {
    return `{${this.membersText(at)}}`
  }

  /** The wire members of a record as JSON text, without braces and `_links`. */
  private membersText(at: number, face = this.face): string {
    if (this.flags & FINISHED) {
      const from = this.textStart(at, face)
      return text(this.bytes, from, from + this.textBytes(at, face))
    }
    const { bytes } = this.room(at, face)
    return text(bytes, 0, this.write(at, scratch, 0, face))
  }

  /** The region in which texts are put together, with room for that of a record. */
  private room(at: number, face = this.face): Region {
    const room = this.textBytes(at, face) + SLACK
    if (scratch.bytes.length < room) scratch = new Region(new Uint8Array(2 * room))
    return scratch
  }

  side(at: number, column: number): string {
    return this.string(this.ref(at, column))
  }

  private string(number: number): string {
    this.decoded ??= []
    this.decoded[number] ??= text(this.bytes, this.stringStart(number), this.stringEnd(number))
    return this.decoded[number]
  }

  /** The side columns of a record, in order. */
  sides(at: number): string[] {
    return this.resource.sides.map((_, column) => this.side(at, column))
  }

  /**
   * The members of a record as plain JSON. An integer that no number holds exactly is a bigint, or rounded if it was not marked as needing exactness.
   * @throws CORRUPT, also if the text is not JSON
   */
  members(at: number): OpenRecord {
    const made = this.made(at)
    if (made) return made
    const json = this.json(at)
    try {
      return parseRecord(json, this.isExact(at))
    } catch {
      throw corrupt(this.key, 'a text of the block is not JSON')
    }
  }

  /** The same without parsing, if the frame says how: never rounded; objects inside it are frozen. */
  made(at: number): Record<string, unknown> | undefined {
    const { face } = this
    if (!this.isSimple(at) || this.isExact(at)) return undefined
    const frame = this.frame(at)
    const recipe = frame && recipeOf(frame)
    return recipe?.make(this.flags & FINISHED ? this.cut(at, face, frame!, recipe.isText) : this.values(at, face, recipe.isText))
  }

  /** The record as it went in, to be written into another block. @internal */
  row(at: number): Row {
    return {
      hi: this.hi(at),
      lo: this.lo(at),
      index: this.index(at),
      texts: Array.from({ length: this.faces }, (_, face): Apart => takeApart(this.membersText(at, face))),
      sides: this.sides(at),
      exact: this.isExact(at),
    }
  }

  /** The first rows of the block. @internal */
  rows(count: number): Row[] {
    return Array.from({ length: count }, (_, at) => this.row(at))
  }

  /**
   * The values in the holes of a text that was not finished, as strings.
   * @param isText for a simple text, which of them are to be strings; the others are given as numbers. The result is then valid until the next
   *   call, and may be longer than there are holes
   */
  private values(at: number, face: number, isText?: readonly boolean[]): (string | number | bigint)[] {
    const { bytes } = this
    const start = this.bodyStart(at, face)
    const body = isText ? characters(bytes, start, this.bodyEnd(at, face)) : ''
    const holes = this.frame(at, face)!.ends.length - 1
    const values: (string | number | bigint)[] = isText ? simpleValues : []
    let from = start
    for (let hole = 0; hole < holes; hole++) {
      const code = bytes[from++]!
      const bare = isText !== undefined && !isText[hole]
      if (code <= MAX_LITERAL || code === LITERAL) {
        if (code === LITERAL) from += 4
        const to = from + (code === LITERAL ? u32(bytes, from - 4) : code)
        values[hole] = bare ? numberIn(bytes, from, to) : isText ? body.substring(from - start, to - start) : text(bytes, from, to)
        from = to
      } else if (bare && code >= ID) {
        values[hole] = code === LEDGER ? this.hi(at) : exactId(this.hi(at), this.lo(at))
      } else {
        const value = code < LITERAL ? this.string((code - STRING) * 256 + bytes[from++]!) : this.numbered(at, code)
        values[hole] = bare ? numberOf(value) : value
      }
    }
    return values
  }

  /** What a code that stands for a number of the record's position says. */
  private numbered(at: number, code: number): string {
    if (code === LEDGER) return String(this.hi(at))
    const id = idText(this.hi(at), this.lo(at))
    return code === ID ? id : `${id}-${this.index(at)}`
  }

  /** The values in the holes of a finished simple text; valid until the next call, and possibly longer than there are holes. */
  private cut(at: number, face: number, { ends }: Frame, isText: readonly boolean[]): (string | number | bigint)[] {
    const { bytes, width } = this
    const start = this.textStart(at, face)
    const body = characters(bytes, start, start + this.number(this.cell(1, at, face)))
    const values = simpleValues
    let cut = this.framesAt + width * this.number(this.cell(4, at, face))
    let from = ends[0]!
    for (let hole = 0; hole < isText.length; hole++) {
      const to = this.number(cut)
      values[hole] = isText[hole] ? body.substring(from, to) : numberIn(bytes, start + from, start + to)
      from = to + ends[hole + 1]! - ends[hole]!
      cut += width
    }
    return values
  }

  /** Where the holes of a simple text end, counted from its beginning, if its frame has a number. */
  cuts(at: number): number[] {
    const frame = this.frame(at)
    if (!frame || frame.number === 0 || !this.isSimple(at)) return []
    const cuts: number[] = []
    if (this.flags & FINISHED) {
      const from = this.framesAt + this.width * this.number(this.cell(4, at))
      for (let hole = 1; hole < frame.ends.length; hole++) cuts.push(this.number(from + this.width * (hole - 1)))
      return cuts
    }
    let end = frame.ends[0]!
    for (const [hole, value] of (this.values(at, this.face) as string[]).entries()) {
      cuts.push(end + value.length)
      end += value.length + frame.ends[hole + 1]! - frame.ends[hole]!
    }
    return cuts
  }
}
