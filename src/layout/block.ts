/** Blocks: what is read from them, record by record, and what they become in memory. Their picture is in `shape.ts`. */
import { copy, crc32, Region, SLACK, text } from '../bytes.ts'
import { idText, writeId, writeNumber } from '../position.ts'
import type { OpenRecord, Resource } from '../query.ts'
import { decodeFrame, type Frame } from './frame.ts'
import { EXACT, ID, INDEXED_ID, LEDGER, LITERAL, MAX_LITERAL, PLAIN, type Row, STRING, WIDE } from './row.ts'
import { corrupt } from './seal.ts'
import { Shape, u16, u32 } from './shape.ts'
import { type Apart, takeApart } from './text.ts'
import { parseRecord, typedRecord } from './typed.ts'

/** Where texts are put together to be read. */
let scratch = new Region(new Uint8Array(64 * 1024))

export class Block<R = any> extends Shape<R> {
  /** Asked for so often that whatever is made of it is worth keeping. */
  isHot = false
  /** Counted by whoever decides what is worth keeping beside the block. */
  asked = 0
  /** Typed records given so far, before any is kept. */
  reads = 0
  private frames: (Frame | undefined)[] | undefined
  /** Side strings that were asked for as text. */
  private decoded: string[] | undefined

  /**
   * A block of its own.
   * @param sum the checksum of its seal, where it has one
   * @throws CORRUPT where the parts do not fit each other
   */
  static of<R>(resource: Resource<R>, payload: Uint8Array, key: Uint8Array = payload, sum?: number): Block<R> {
    const { byteOffset, length, buffer } = payload
    // A stored value has its seal behind the payload, so there is room nearly always.
    const region = byteOffset + length + SLACK <= buffer.byteLength ? new Region(payload) : Region.padded(payload)
    return new Block(resource, region, 0, length, key, sum)
  }

  /** The same block in memory of its own, known to be worth keeping what is made of it. */
  kept(): Block<R> {
    const region = Region.room(this.length)
    const block = new Block(this.resource, region, 0, this.copyTo(region, 0), this.place, this.checksum)
    block.isHot = true
    return block
  }

  /** A checksum of all that the block holds, and of where it is kept: blocks that differ in either differ in it, all but surely. */
  get sum(): number {
    this.checksum ??= crc32(this.bytes.subarray(this.from, this.to), crc32(this.key)) | 0
    return this.checksum
  }

  private frame(at: number, face = this.face): Frame {
    const number = this.number(this.cell(0, at, face)) & ~EXACT
    this.frames ??= []
    const held = this.frames[number]
    if (held) return held
    const end = this.frameEnds + this.width * number
    const frame = decodeFrame(this.bytes, this.framesAt + (number ? this.number(end - this.width) : 0), this.framesAt + this.number(end))
    this.frames[number] = frame
    return frame
  }

  /**
   * Writes the wire members of a record without braces and `_links` into `out`, which has room for {@link textBytes} and the slack of `copy`;
   * returns where they end.
   */
  write(at: number, out: Region, to: number): number {
    const { bytes, region } = this
    let from = this.body(at)
    if (this.flags & PLAIN) return copy(out, to, region, from, this.textBytes(at))
    const { pieces, ends } = this.frame(at)
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
    if (to - start !== this.textBytes(at)) throw corrupt(this.key, 'a text of the block has another length')
    return to
  }

  /** The wire members of a record without braces and `_links`, in bytes of their own. */
  text(at: number): Uint8Array {
    const { bytes } = this.room(at)
    return bytes.slice(0, this.write(at, scratch, 0))
  }

  /** The record as JSON text, without `_links`. */
  json(at: number): string {
    const { bytes } = this.room(at)
    bytes[0] = 123
    const end = this.write(at, scratch, 1)
    bytes[end] = 125
    return text(bytes, 0, end + 1)
  }

  /** The region that texts are put together in, with room for that of a record and braces. */
  private room(at: number): Region {
    const room = this.textBytes(at) + 2 + SLACK
    if (scratch.bytes.length < room) scratch = new Region(new Uint8Array(2 * room))
    return scratch
  }

  side(at: number, column: number): string {
    const ref = this.ref(at, column)
    this.decoded ??= []
    this.decoded[ref] ??= text(this.bytes, this.stringStart(ref), this.stringEnd(ref))
    return this.decoded[ref]
  }

  /** The side columns of a record, in order. */
  sides(at: number): string[] {
    return this.resource.sides.map((_, column) => this.side(at, column))
  }

  /** The members of a record as plain JSON: numbers rounded where JavaScript rounds them, unless they need exactness. */
  members(at: number): OpenRecord {
    return parseRecord(this.json(at), this.isExact(at))
  }

  /** The typed record, frozen, and perhaps shared with other readers. */
  record(at: number): R {
    return typedRecord(this, at)
  }

  /** The same records with their other face, and side columns in another order; made without copying. */
  turned(columns: readonly number[]): Block<R> {
    return this.attach(
      'turned',
      () => {
        const turned = new Block(this.resource, this.region, this.from, this.to, this.place, ~this.sum)
        turned.face = 1
        turned.columns = columns
        turned.weight = 400
        // What hangs on the turned block hangs on the stored one, if that is kept.
        if (this.grew) turned.grew = (bytes) => this.grow(bytes)
        return turned
      },
      () => 400,
    )
  }

  /** The record as it went in, to be written into another block. */
  row(at: number): Row {
    return {
      hi: this.hi(at),
      lo: this.lo(at),
      index: this.index(at),
      texts: Array.from({ length: this.faces }, (_, face) => this.apart(at, face)),
      sides: this.sides(at),
      exact: this.isExact(at),
    }
  }

  private apart(at: number, face: number): Apart {
    if (this.flags & PLAIN) {
      const from = this.body(at, face)
      return takeApart(text(this.bytes, from, from + this.number(this.cell(1, at, face))))
    }
    const { text: frame, ends } = this.frame(at, face)
    const values: string[] = []
    let from = this.body(at, face)
    for (let hole = 1; hole < ends.length; hole++) {
      const { value, next } = this.value(at, from)
      values.push(value)
      from = next
    }
    return { frame, values }
  }

  /** How long {@link unfold} makes it, at the most. */
  get plainBytes(): number {
    let length = 2 * (this.framesAt - this.from)
    for (let at = 0; at < this.count; at++) for (let face = 0; face < this.faces; face++) length += this.number(this.cell(1, at, face))
    return length
  }

  /** Writes the block with its texts put together (flag 16) into `out` from `start` on, and returns where it ends. */
  unfold(out: Region, start: number): number {
    const { bytes, count, faces, resource } = this
    const cells = count * faces
    const strings = u16(bytes, this.from + 4)
    const width = this.plainBytes > 65535 ? 4 : 2
    const { view } = out
    const set = (at: number, value: number): void => (width === 4 ? view.setUint32(at, value, true) : view.setUint16(at, value, true))
    out.bytes.set(bytes.subarray(this.from, this.table), start)
    view.setUint16(start + 2, 0, true)
    out.bytes[start + 6] = (this.flags & ~WIDE) | PLAIN | (width === 4 ? WIDE : 0)
    const table = start + (this.table - this.from)
    const rest = table + 3 * width * cells
    // What stands behind the table is numbers of strings, for the side columns, and where each string ends.
    const numbers = count * resource.sides.length + strings
    for (let i = 0; i < numbers; i++) set(rest + width * i, this.number(this.sideAt + this.width * i))
    const stringsAt = rest + width * numbers
    out.bytes.set(bytes.subarray(this.stringsAt, this.framesAt), stringsAt)
    const bodies = stringsAt + (this.framesAt - this.stringsAt)
    let end = bodies
    const shown = this.face
    for (let cell = 0; cell < cells; cell++) {
      const at = Math.floor(cell / faces)
      this.face = cell % faces
      end = this.write(at, out, end)
      const row = table + 3 * width * cell
      set(row, this.number(this.cell(0, at)) & EXACT)
      set(row + width, this.textBytes(at))
      set(row + 2 * width, end - bodies)
    }
    this.face = shown
    return end
  }

  /** The value in a hole whose code is at `from`, and where the code of the next one is. */
  private value(at: number, from: number): { value: string; next: number } {
    const { bytes } = this
    const code = bytes[from]!
    const literal = (start: number, next: number) => ({ value: text(bytes, start, next), next })
    if (code <= MAX_LITERAL) return literal(from + 1, from + 1 + code)
    if (code === LITERAL) return literal(from + 5, from + 5 + u32(bytes, from + 1))
    if (code === LEDGER) return { value: String(this.hi(at)), next: from + 1 }
    if (code < LITERAL) {
      const string = (code - STRING) * 256 + bytes[from + 1]!
      return { value: text(bytes, this.stringStart(string), this.stringEnd(string)), next: from + 2 }
    }
    const id = idText(this.hi(at), this.lo(at))
    return { value: code === ID ? id : `${id}-${this.index(at)}`, next: from + 1 }
  }
}
