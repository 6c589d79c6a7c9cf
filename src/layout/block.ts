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
 * Strings are distinct: those of side columns, and values that come more than once.
 * **Invariant:** a block only ever grows at its end; cut at an older count, it equals its older self.
 */
import { copy, crc32, i32, Region, SLACK, text } from '../bytes.ts'
import { idOf, idText, writeId, writeNumber } from '../position.ts'
import type { OpenRecord, Resource } from '../query.ts'
import { decodeFrame, type Frame } from './frame.ts'
import { Holder } from './holder.ts'
import { EXACT, FIXED, ID, INDEXED, INDEXED_ID, LEDGER, LITERAL, MAX_LITERAL, type Row, STRING, TWO_FACED, WIDE } from './row.ts'
import { corrupt } from './seal.ts'
import type { Apart } from './text.ts'
import { parseRecord, typedRecord } from './typed.ts'

/** Where texts are put together to be read. */
let scratch = new Region(new Uint8Array(64 * 1024))

export class Block<R = any> extends Holder {
  readonly resource: Resource<R>
  readonly count: number
  /** Counted by whoever decides what is worth keeping beside the block. */
  asked = 0
  /** Typed records given so far, before any is kept. */
  reads = 0
  private readonly key: Uint8Array
  private checksum: number | undefined
  /** The stored value, for copying from. */
  readonly region: Region
  private readonly bytes: Uint8Array
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
   * @param sum the checksum of its seal, where it has one
   * @throws CORRUPT where the parts do not fit each other
   */
  constructor(resource: Resource<R>, payload: Uint8Array, key: Uint8Array = payload, sum?: number) {
    super(payload.length + 400)
    this.checksum = sum
    this.resource = resource
    this.key = key
    const { byteOffset, length, buffer } = payload
    // A stored value has its seal behind the payload, so there is room nearly always.
    this.region = byteOffset + length + SLACK <= buffer.byteLength ? new Region(payload) : Region.padded(payload)
    this.bytes = payload
    if (payload.length < FIXED) throw corrupt(key, 'the block is too short')
    this.count = u16(payload, 0)
    const frames = u16(payload, 2)
    const strings = u16(payload, 4)
    this.flags = payload[6]!
    this.faces = this.flags & TWO_FACED ? 2 : 1
    this.width = this.flags & WIDE ? 4 : 2
    const { count, width } = this
    this.table = FIXED + count * (this.flags & INDEXED ? 12 : 8)
    this.sideAt = this.table + 3 * width * count * this.faces
    this.stringEnds = this.sideAt + width * count * resource.sides.length
    this.frameEnds = this.stringEnds + width * strings
    this.stringsAt = this.frameEnds + width * frames
    if (payload[7] !== resource.sides.length || this.stringsAt > payload.length) throw corrupt(key, 'the block has another shape')
    this.framesAt = this.stringsAt + (strings ? this.number(this.frameEnds - width) : 0)
    this.bodies = this.framesAt + (frames ? this.number(this.stringsAt - width) : 0)
    if (this.bodies + (count ? this.number(this.sideAt - width) : 0) !== payload.length) throw corrupt(key, 'the block has another length')
  }

  /** A number of the table. */
  private number(at: number): number {
    const { bytes } = this
    return this.width === 2 ? bytes[at]! | (bytes[at + 1]! << 8) : u32(bytes, at)
  }

  hi(at: number): number {
    return u32(this.bytes, FIXED + 4 * at)
  }

  lo(at: number): number {
    return u32(this.bytes, FIXED + 4 * (this.count + at))
  }

  index(at: number): number {
    return this.flags & INDEXED ? u32(this.bytes, FIXED + 4 * (2 * this.count + at)) : 0
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
    this.checksum ??= crc32(this.bytes, crc32(this.key)) | 0
    return this.checksum
  }

  /** Where `column` (frame, length, end) of the text of a record stands. */
  private cell(column: number, at: number, face = this.face): number {
    return this.table + this.width * ((column * this.count + at) * this.faces + face)
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
    return this.bodies + (at + face ? this.number(this.cell(2, at, face) - this.width) : 0)
  }

  /**
   * Writes the wire members of a record without braces and `_links` into `out`, which has room for {@link textBytes} and the slack of `copy`;
   * returns where they end.
   */
  write(at: number, out: Region, to: number): number {
    const { bytes, region } = this
    const { pieces, ends } = this.frame(at)
    const start = to
    let from = this.body(at)
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
        const turned = new Block(this.resource, this.bytes)
        turned.face = 1
        turned.columns = columns
        turned.weight = 400
        // What hangs on the turned block hangs on the stored one.
        turned.grew = (bytes) => this.grow(bytes)
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
