/**
 * Blocks: up to 2^shift consecutive records of one log in one value, each accessible without touching the others. `src/README.md` has pictures of them,
 * as they are stored (Values) and finished (Memory).
 *
 * Numbers are little-endian. `hi`, `lo`, `index` are the position. A record has one text or two, its faces. `frame` is what the text is put into,
 * `length` its bytes, `end` where its body ends, counted from the first body. A body holds the values of the holes of its frame, each a code and what
 * the code says.
 *
 * In memory only, a body is the text finished by whoever sends it, everything that is to be sent of a record, so that a record is one copy from few
 * places, and neighbours are one view. What is needed to find a body comes first, side by side per text: those of the first face of all records, then
 * those of the other. `lead` is how many bytes precede the stored text in its body, `cut` the number of the first of the hole ends of the text, which
 * are counted from its beginning; `bodies` and `cuts` are where the first body and hole end are.
 *
 * Strings are distinct: those of side columns, and values that occur more than once. In a finished block they are those of side columns alone, and a
 * string may occur again if records in between have another.
 * **Invariant:** a block only ever grows at its end; cut at an older count, it equals its older self.
 */
import { compare, i32, type Region } from '../bytes.ts'
import { idOf, idText, writeId, writeIndexed } from '../position.ts'
import type { Resource } from '../query.ts'
import { Holder } from './holder.ts'
import { blockKey } from './keys.ts'
import { COLUMNS, EXACT, FINISHED, FINISHED_FIXED, FIXED, INDEXED, LESSER, SIMPLE, TWO_FACED, WIDE } from './row.ts'
import { corrupt } from './seal.ts'

/** Where things lie in the payload of a block. */
export class Shape<R> extends Holder {
  readonly resource: Resource<R>
  readonly count: number
  /** The key under which its value is stored, or its number in the log. */
  readonly place: Uint8Array | number
  protected checksum: number | undefined
  /** Where the value lies, for copying from: possibly among other values. */
  readonly region: Region
  protected readonly bytes: Uint8Array
  protected readonly from: number
  protected readonly to: number
  protected readonly flags: number
  /** The id of the finisher of its texts; 0 if they are not finished. */
  readonly finisher: number
  /** How many texts a record has. */
  readonly faces: number
  /** The width in bytes of a number of the table: 2 or 4. */
  protected readonly width: number
  /** Where the parts of the value begin. */
  protected readonly positions: number
  protected readonly table: number
  protected readonly sideAt: number
  protected readonly stringEnds: number
  protected readonly frameEnds: number
  protected readonly stringsAt: number
  /** What follows the strings: frames, or in a finished block hole ends. */
  protected readonly framesAt: number
  protected readonly bodies: number
  /** Which face is shown, and which column takes the place of which. */
  protected face = 0

  /** The block whose payload lies from `from` to `to` in a region, with room behind it that may be read. @throws CORRUPT */
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
    const finished = this.flags & FINISHED
    const cells = (finished ? COLUMNS : 3) * width * count * this.faces
    const numbers = count * (this.flags & INDEXED ? 12 : 8)
    this.finisher = finished ? u32(bytes, from + FIXED) : 0
    this.table = from + (finished ? FINISHED_FIXED : FIXED + numbers)
    this.positions = finished ? this.table + cells : from + FIXED
    this.sideAt = finished ? this.positions + numbers : this.table + cells
    this.stringEnds = this.sideAt + width * count * resource.sides.length
    this.frameEnds = this.stringEnds + width * strings
    this.stringsAt = this.frameEnds + width * frames
    if (finished) {
      // Made here from a block that was checked, and used without further checks: each would cost another cache miss.
      this.bodies = from + u32(bytes, from + FIXED + 4)
      this.framesAt = from + u32(bytes, from + FIXED + 8)
      return
    }
    if (bytes[from + 7] !== resource.sides.length || this.stringsAt > to) throw corrupt(this.key, 'the block has another shape')
    this.framesAt = this.stringsAt + (strings ? this.number(this.frameEnds - width) : 0)
    this.bodies = this.framesAt + (frames ? this.number(this.stringsAt - width) : 0)
    if (this.bodies + (count ? this.number(this.table + cells - width) : 0) !== to) throw corrupt(this.key, 'the block has another length')
  }

  protected get key(): Uint8Array {
    return typeof this.place === 'number' ? blockKey(this.resource.tag, this.place) : this.place
  }

  /** The length of its payload in bytes. */
  get length(): number {
    return this.to - this.from
  }

  /** Copies its payload; returns where that ends. */
  copyTo(out: Region, start: number): number {
    out.bytes.set(this.bytes.subarray(this.from, this.to), start)
    return start + this.length
  }

  /** Reads what is needed to find a record, so that it is soon in the processor's cache. */
  touch(at: number): number {
    return this.bytes[this.cell(0, at)]!
  }

  /** A number of the table. */
  protected number(at: number): number {
    const { bytes } = this
    return this.width === 2 ? bytes[at]! | (bytes[at + 1]! << 8) : u32(bytes, at)
  }

  hi(at: number): number {
    return u32(this.bytes, this.positions + 4 * at)
  }

  lo(at: number): number {
    return u32(this.bytes, this.positions + 4 * (this.count + at))
  }

  index(at: number): number {
    return this.flags & INDEXED ? u32(this.bytes, this.positions + 4 * (2 * this.count + at)) : 0
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

  /** Writes it into `out`, where there is room for 30 bytes; returns where it ends. */
  writeToken(out: Uint8Array, to: number, at: number): number {
    return this.resource.indexed
      ? writeIndexed(out, to, this.hi(at), this.lo(at), this.index(at))
      : writeId(out, to, this.hi(at), this.lo(at))
  }

  /** Where `column` (frame, length, end, lead, cut) of the text of a record stands. */
  protected cell(column: number, at: number, face = this.face): number {
    const { faces, table, width } = this
    return table + width * (this.flags & FINISHED ? COLUMNS * (face * this.count + at) + column : (column * this.count + at) * faces + face)
  }

  /** How many bytes the stored text has; 0 if the record has no text. */
  textBytes(at: number, face = this.face): number {
    return this.number(this.cell(1, at, face))
  }

  /** Where the body of a text begins: in a finished block, what is to be sent of the record. */
  bodyStart(at: number, face = this.face): number {
    if (at + face === 0) return this.bodies
    return (
      this.bodies + this.number(this.flags & FINISHED ? this.cell(2, at, face) - COLUMNS * this.width : this.cell(2, at, face) - this.width)
    )
  }

  bodyEnd(at: number, face = this.face): number {
    return this.bodies + this.number(this.cell(2, at, face))
  }

  /** How many bytes precede the stored text, in a finished block. */
  lead(at: number, face = this.face): number {
    return this.number(this.cell(3, at, face))
  }

  /** Where the stored text begins, in a finished block. */
  protected textStart(at: number, face = this.face): number {
    return this.bodyStart(at, face) + this.lead(at, face)
  }

  protected stringStart(string: number): number {
    return this.stringsAt + (string ? this.number(this.stringEnds + this.width * (string - 1)) : 0)
  }

  protected stringEnd(string: number): number {
    return this.stringsAt + this.number(this.stringEnds + this.width * string)
  }

  /** Which of the block's strings a side column holds. */
  ref(at: number, column: number): number {
    return this.number(
      this.sideAt + this.width * (at * this.resource.sides.length + (this.face ? this.resource.faces!.turned[column]! : column)),
    )
  }

  /** Where a side column of a record begins in {@link region}, and how long it is. */
  sideStart(at: number, column: number): number {
    return this.stringStart(this.ref(at, column))
  }

  sideLength(at: number, column: number): number {
    const ref = this.ref(at, column)
    return this.stringEnd(ref) - this.stringStart(ref)
  }

  /** True if the side column that says which way a record faces is less than its counterpart, byte by byte. */
  isLesser(at: number): boolean {
    if (this.flags & FINISHED) return (this.number(this.cell(0, at)) & LESSER) !== 0
    const { faces } = this.resource
    return faces !== undefined && compare(this.sideBytes(at, faces.by), this.sideBytes(at, faces.turned[faces.by]!)) < 0
  }

  private sideBytes(at: number, column: number): Uint8Array {
    const start = this.sideStart(at, column)
    return this.bytes.subarray(start, start + this.sideLength(at, column))
  }

  /** True if its text holds numbers that `JSON.parse` would change. */
  isExact(at: number): boolean {
    return (this.number(this.cell(0, at)) & EXACT) !== 0
  }

  /** True if all values in the holes of its text are ASCII, and hold neither backslash nor quote. */
  isSimple(at: number, face = this.face): boolean {
    return (this.number(this.cell(0, at, face)) & SIMPLE) !== 0
  }
}

export const u16 = (bytes: Uint8Array, at: number): number => bytes[at]! | (bytes[at + 1]! << 8)
export const u32 = (bytes: Uint8Array, at: number): number => i32(bytes, at) >>> 0

/** How many records a stored block has. @param value its seal was checked */
export const recordsIn = (value: Uint8Array): number => u16(value, 0)
