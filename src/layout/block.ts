/**
 * Blocks: up to 2^shift consecutive records of one log in one value, each to be had without touching the others.
 *
 *     count:2 frames:2 strings:2 flags:1 sides:1
 *     hi:4×count   lo:4×count   index:4×count (only with flag 2)
 *     frame, length, end: count × faces each; side: count × sides; string end: strings; frame end: frames
 *     string bytes   frame bytes   bodies
 *
 * Numbers little-endian; those of the third line have four bytes with flag 8, else two. `hi`, `lo`, `index` are the position. A record has one
 * text, or with flag 4 two: its faces. `frame` is what the text is put into (plus 8000 where it holds numbers that `JSON.parse` would change), `length` its bytes, `end` where its body ends, counted from the
 * first body. A body holds the values of the holes of its frame, each a code and what the code says:
 *
 *     0–199 so many bytes · 200–231 string (code − 200) × 256 + next byte · 232 length:4 and so many bytes
 *     233 the id in decimal · 234 the id, a dash and the index · 235 the ledger
 *
 * In memory only, with flag 16: a body is the text itself, there are no frames, and frame, length and end of a record stand side by side. Some
 * half more bytes, and a text is one copy from few places.
 *
 * Strings are distinct: those of side columns, and values that come more than once.
 * **Invariant:** a block only ever grows at its end; cut at an older count, it equals its older self.
 */
import { copy, crc32, i32, Region, SLACK, text } from '../bytes.ts'
import { idOf, idText, writeId, writeNumber } from '../position.ts'
import type { OpenRecord, Resource } from '../query.ts'
import { decodeFrame, type Frame } from './frame.ts'
import { Holder } from './holder.ts'
import { blockKey } from './keys.ts'
import { EXACT, FIXED, ID, INDEXED, INDEXED_ID, LEDGER, LITERAL, MAX_LITERAL, PLAIN, type Row, STRING, TWO_FACED, WIDE } from './row.ts'
import { corrupt } from './seal.ts'
import { type Apart, takeApart } from './text.ts'
import { parseRecord, typedRecord } from './typed.ts'

/** Where texts are put together to be read. */
let scratch = new Region(new Uint8Array(64 * 1024))

export class Block<R = any> extends Holder {
  readonly resource: Resource<R>
  readonly count: number
  /** Asked for so often that whatever is made of it is worth keeping. */
  isHot = false
  /** Counted by whoever decides what is worth keeping beside the block. */
  asked = 0
  /** Typed records given so far, before any is kept. */
  reads = 0
  /** What its value is kept under, or its number in the log. */
  private readonly place: Uint8Array | number
  private checksum: number | undefined
  /** Where the value lies, for copying from: among other values, perhaps. */
  readonly region: Region
  private readonly bytes: Uint8Array
  private readonly from: number
  private readonly to: number
  private readonly flags: number
  private readonly faces: number
  /** Bytes of a number of the table: 2 or 4. */
  private readonly width: number
  /** Where the parts of the value begin. */
  private readonly table: number
  private readonly sideAt: number
  private readonly stringEnds: number
  private readonly frameEnds: number
  private readonly stringsAt: number
  private readonly framesAt: number
  private readonly bodies: number
  private frames: (Frame | undefined)[] | undefined
  /** Side strings that were asked for as text. */
  private decoded: string[] | undefined
  /** Which of the faces is shown, and which column stands for which. */
  private face = 0
  private columns: readonly number[] | undefined

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

  /** The block whose payload lies from `from` to `to` in a region, with {@link SLACK} bytes behind it that may be read. */
  constructor(resource: Resource<R>, region: Region, from: number, to: number, place: Uint8Array | number, sum?: number) {
    super(to - from + 400)
    const { bytes } = region
    this.resource = resource
    this.place = place
    this.checksum = sum
    this.region = region
    this.bytes = bytes
    this.from = from
    this.to = to
    if (to - from < FIXED) throw corrupt(this.key, 'the block is too short')
    this.count = u16(bytes, from)
    const frames = u16(bytes, from + 2)
    const strings = u16(bytes, from + 4)
    this.flags = bytes[from + 6]!
    this.faces = this.flags & TWO_FACED ? 2 : 1
    this.width = this.flags & WIDE ? 4 : 2
    const { count, width } = this
    this.table = from + FIXED + count * (this.flags & INDEXED ? 12 : 8)
    this.sideAt = this.table + 3 * width * count * this.faces
    this.stringEnds = this.sideAt + width * count * resource.sides.length
    this.frameEnds = this.stringEnds + width * strings
    this.stringsAt = this.frameEnds + width * frames
    if (bytes[from + 7] !== resource.sides.length || this.stringsAt > to) throw corrupt(this.key, 'the block has another shape')
    this.framesAt = this.stringsAt + (strings ? this.number(this.frameEnds - width) : 0)
    this.bodies = this.framesAt + (frames ? this.number(this.stringsAt - width) : 0)
    if (this.bodies + (count ? this.number(this.sideAt - width) : 0) !== to) throw corrupt(this.key, 'the block has another length')
  }

  private get key(): Uint8Array {
    return typeof this.place === 'number' ? blockKey(this.resource.tag, this.place) : this.place
  }

  /** Bytes of its payload. */
  get length(): number {
    return this.to - this.from
  }

  /** Copies its payload; returns where that ends. */
  copyTo(out: Region, start: number): number {
    out.bytes.set(this.bytes.subarray(this.from, this.to), start)
    return start + this.length
  }

  /** The same block in memory of its own, known to be worth keeping what is made of it. */
  kept(): Block<R> {
    const region = Region.room(this.length)
    const block = new Block(this.resource, region, 0, this.copyTo(region, 0), this.place, this.checksum)
    block.isHot = true
    return block
  }

  /** True where bodies are texts. */
  get plain(): boolean {
    return (this.flags & PLAIN) !== 0
  }

  /** A number of the table. */
  private number(at: number): number {
    const { bytes } = this
    return this.width === 2 ? bytes[at]! | (bytes[at + 1]! << 8) : u32(bytes, at)
  }

  hi(at: number): number {
    return u32(this.bytes, this.from + FIXED + 4 * at)
  }

  lo(at: number): number {
    return u32(this.bytes, this.from + FIXED + 4 * (this.count + at))
  }

  index(at: number): number {
    return this.flags & INDEXED ? u32(this.bytes, this.from + FIXED + 4 * (2 * this.count + at)) : 0
  }

  /** The 64-bit id of a record: its own, or that of its operation. */
  id(at: number): bigint {
    return idOf(this.hi(at), this.lo(at))
  }

  /** The paging token of a record. */
  token(at: number): string {
    const id = idText(this.hi(at), this.lo(at))
    return this.resource.indexed ? `${id}-${this.index(at)}` : id
  }

  /** A checksum of all that the block holds, and of where it is kept: blocks that differ in either differ in it, all but surely. */
  get sum(): number {
    this.checksum ??= crc32(this.bytes.subarray(this.from, this.to), crc32(this.key)) | 0
    return this.checksum
  }

  /** Where `column` (frame, length, end) of the text of a record stands. */
  private cell(column: number, at: number, face = this.face): number {
    const { faces, table, width } = this
    return table + width * (this.flags & PLAIN ? 3 * (at * faces + face) + column : (column * this.count + at) * faces + face)
  }

  /** How many bytes {@link write} writes; none where the record has no text. */
  textBytes(at: number): number {
    return this.number(this.cell(1, at))
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

  private body(at: number, face = this.face): number {
    if (at + face === 0) return this.bodies
    return this.bodies + this.number(this.flags & PLAIN ? this.cell(2, at, face) - 3 * this.width : this.cell(2, at, face) - this.width)
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

  private stringStart(string: number): number {
    return this.stringsAt + (string ? this.number(this.stringEnds + this.width * (string - 1)) : 0)
  }

  private stringEnd(string: number): number {
    return this.stringsAt + this.number(this.stringEnds + this.width * string)
  }

  /** Which of the block's strings a side column holds. */
  private ref(at: number, column: number): number {
    return this.number(this.sideAt + this.width * (at * this.resource.sides.length + (this.columns?.[column] ?? column)))
  }

  /** Where a side column of a record begins in {@link region}, and how long it is. */
  sideStart(at: number, column: number): number {
    return this.stringStart(this.ref(at, column))
  }

  sideLength(at: number, column: number): number {
    const ref = this.ref(at, column)
    return this.stringEnd(ref) - this.stringStart(ref)
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

  /** True where its text holds numbers that `JSON.parse` would change. */
  isExact(at: number): boolean {
    return (this.number(this.cell(0, at)) & EXACT) !== 0
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

const u16 = (bytes: Uint8Array, at: number): number => bytes[at]! | (bytes[at + 1]! << 8)
const u32 = (bytes: Uint8Array, at: number): number => i32(bytes, at) >>> 0
