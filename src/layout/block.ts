/**
 * Blocks: up to 2^shift consecutive records of one log in one value, each to be had without touching the others.
 *
 *     count:2 flags:1 sides:1
 *     hi:4×count   lo:4×count   index:4×count (only with flag 2)   end:4×count
 *     side refs:2×count×sides
 *     strings:2   end:4×strings   string bytes
 *     record texts
 *
 * Numbers little-endian. `hi`, `lo`, `index` are the position; `end` is where the text ends, counted from the first text. A side ref points
 * into the strings of the block, which are distinct. Flag 1: some text holds numbers that `JSON.parse` would change.
 * **Invariant:** a block only ever grows at its end; cut at an older count, it equals its older self.
 */
import { crc32, text, Writer } from '../bytes.ts'
import { parseForReading } from '../json.ts'
import { comparePositions, idOf, idText, type Position } from '../position.ts'
import type { OpenRecord, Resource } from '../query.ts'
import { corrupt, leaveRoom } from './seal.ts'

const EXACT = 1
const INDEXED = 2

/** One record on its way into a block. */
export interface Row extends Position {
  /** JSON members without braces: text on its way in, bytes where taken from an older block. */
  readonly text: string | Uint8Array
  readonly sides: readonly string[]
  readonly exact: boolean
}

export class Block<R = any> {
  readonly resource: Resource<R>
  readonly count: number
  /** Bytes of the stored value, plus those of what is attached to it: what it weighs in the cache. */
  weight: number
  /** Told when something is attached to a cached block. */
  grew: ((bytes: number) => void) | undefined
  private readonly key: Uint8Array
  private checksum: number | undefined
  protected readonly bytes: Uint8Array
  protected readonly view: DataView
  private readonly indexed: number
  private readonly exact: boolean
  private readonly strings: number
  private readonly texts: number
  /** Side strings that were asked for as text. */
  private readonly decoded: string[] = []
  private attachments: Map<unknown, unknown> | undefined

  /**
   * @param sum the checksum of its seal, where it has one
   * @throws CORRUPT where the parts do not fit each other
   */
  constructor(resource: Resource<R>, payload: Uint8Array, key: Uint8Array = payload, sum?: number) {
    this.checksum = sum
    this.resource = resource
    this.key = key
    this.bytes = payload
    this.weight = payload.length + 256
    this.view = new DataView(payload.buffer, payload.byteOffset, payload.length)
    if (payload.length < 4) throw corrupt(key, 'the block is too short')
    this.count = this.view.getUint16(0, true)
    const flags = payload[2]!
    this.exact = (flags & EXACT) !== 0
    this.indexed = flags & INDEXED ? 1 : 0
    this.strings = 4 + this.count * (12 + 4 * this.indexed + 2 * resource.sides.length)
    if (payload[3] !== resource.sides.length || this.strings + 2 > payload.length) throw corrupt(key, 'the block has another shape')
    const stringCount = this.view.getUint16(this.strings, true)
    if (this.strings + 2 + 4 * stringCount > payload.length) throw corrupt(key, 'the block has another shape')
    this.texts = this.strings + 2 + 4 * stringCount + (stringCount ? this.view.getUint32(this.strings + 4 * stringCount - 2, true) : 0)
    if (this.texts + (this.count ? this.end(this.count - 1) : 0) !== payload.length) throw corrupt(key, 'the block has another length')
  }

  hi(at: number): number {
    return this.view.getUint32(4 + 4 * at, true)
  }

  lo(at: number): number {
    return this.view.getUint32(4 + 4 * (this.count + at), true)
  }

  index(at: number): number {
    return this.indexed ? this.view.getUint32(4 + 4 * (2 * this.count + at), true) : 0
  }

  private end(at: number): number {
    return this.view.getUint32(4 + 4 * ((2 + this.indexed) * this.count + at), true)
  }

  /** Negative where the record lies before `to`, positive where after. */
  compare(at: number, to: Position): number {
    return comparePositions(this.hi(at), this.lo(at), this.index(at), to)
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
    this.checksum ??= crc32(this.bytes, crc32(this.key))
    return this.checksum
  }

  /** The wire members of a record without braces and `_links`: a view of the block, not to be written to. */
  text(at: number): Uint8Array {
    return this.bytes.subarray(this.texts + (at ? this.end(at - 1) : 0), this.texts + this.end(at))
  }

  /** Bytes of the texts of records `from` to `to`, the last excluded. */
  textBytes(from: number, to: number): number {
    return to === 0 ? 0 : this.end(to - 1) - (from ? this.end(from - 1) : 0)
  }

  /** The bytes of a side column of a record: a view of the block, not to be written to. */
  sideBytes(at: number, column: number): Uint8Array {
    return this.string(this.ref(at, column))
  }

  /** Which of the block's strings a side column holds. */
  protected ref(at: number, column: number): number {
    const refs = 4 + 4 * (3 + this.indexed) * this.count
    return this.view.getUint16(refs + 2 * (at * this.resource.sides.length + column), true)
  }

  protected string(ref: number): Uint8Array {
    const first = this.strings + 2
    const start = first + 4 * this.view.getUint16(this.strings, true)
    const from = ref ? this.view.getUint32(first + 4 * (ref - 1), true) : 0
    return this.bytes.subarray(start + from, start + this.view.getUint32(first + 4 * ref, true))
  }

  side(at: number, column: number): string {
    const ref = this.ref(at, column)
    this.decoded[ref] ??= text(this.string(ref))
    return this.decoded[ref]
  }

  sides(at: number): { [column: string]: string } {
    const sides: { [column: string]: string } = {}
    for (const [column, name] of this.resource.sides.entries()) sides[name] = this.side(at, column)
    return sides
  }

  /** The members of a record as plain JSON: numbers rounded where JavaScript rounds them, unless they need exactness. */
  members(at: number): OpenRecord {
    const json = `{${text(this.text(at))}}`
    return (this.exact ? parseForReading(json) : JSON.parse(json)) as OpenRecord
  }

  /** The typed record. */
  record(at: number): R {
    const json = `{${text(this.text(at))}}`
    return this.resource.decode((this.exact ? parseForReading(json) : JSON.parse(json)) as OpenRecord, this.id(at), json)
  }

  /** The same records with other texts and sides, both stored beside the first; made without copying. */
  turned({ text, columns }: Turning): Block<R> {
    return this.attach(
      'turned',
      () => new TurnedBlock(this, this.bytes, text, columns),
      () => 256,
    )
  }

  /** The record as it went in, to be written into another block. */
  row(at: number): Row {
    return {
      hi: this.hi(at),
      lo: this.lo(at),
      index: this.index(at),
      text: this.text(at),
      sides: this.resource.sides.map((_, column) => this.side(at, column)),
      exact: this.exact,
    }
  }

  /**
   * What `make` gave for `key` the first time, kept as long as the block is cached: finished wire text, for instance.
   * @param bytes what it weighs
   */
  attach<T>(key: unknown, make: () => T, bytes: (made: T) => number): T {
    this.attachments ??= new Map()
    const held = this.attachments.get(key) as T | undefined
    if (held !== undefined) return held
    const made = make()
    this.attachments.set(key, made)
    const more = bytes(made)
    this.weight += more
    this.grew?.(more)
    return made
  }

  attached<T>(key: unknown): T | undefined {
    return this.attachments?.get(key) as T | undefined
  }
}

/** Where the other view of a record is stored: the side column of its text, and its side columns in their order. */
export interface Turning {
  readonly text: number
  readonly columns: readonly number[]
}

class TurnedBlock<R> extends Block<R> {
  private readonly textColumn: number
  private readonly columns: readonly number[]

  constructor(of: Block<R>, payload: Uint8Array, textColumn: number, columns: readonly number[]) {
    super(of.resource, payload)
    this.weight = 256
    this.textColumn = textColumn
    this.columns = columns
    // What hangs on the turned block hangs on the stored one.
    this.grew = (bytes) => {
      of.weight += bytes
      of.grew?.(bytes)
    }
  }

  override text(at: number): Uint8Array {
    return this.string(super.ref(at, this.textColumn))
  }

  protected override ref(at: number, column: number): number {
    return super.ref(at, this.columns[column] ?? column)
  }
}

/** The value of a block, with room for its seal at the end. */
export function encodeBlock(resource: Resource<any>, rows: readonly Row[]): Uint8Array {
  const columns = resource.sides.length
  let flags = resource.indexed ? INDEXED : 0
  let size = 64
  const refs = new Map<string, number>()
  for (const row of rows) {
    if (row.exact) flags |= EXACT
    size += row.text.length + 24
    for (const side of row.sides) if (!refs.has(side)) refs.set(side, refs.size)
  }
  const out = new Writer(size + refs.size * 64)
  out.u16(rows.length)
  out.u8(flags)
  out.u8(columns)
  for (const row of rows) out.u32(row.hi)
  for (const row of rows) out.u32(row.lo)
  if (resource.indexed) for (const row of rows) out.u32(row.index)
  const ends = out.length
  for (let i = 0; i < rows.length; i++) out.u32(0)
  for (const row of rows) for (const side of row.sides) out.u16(refs.get(side)!)

  out.u16(refs.size)
  const stringEnds = out.length
  for (let i = 0; i < refs.size; i++) out.u32(0)
  let written = 0
  let next = 0
  for (const string of refs.keys()) {
    written += out.text(string)
    out.setU32(stringEnds + 4 * next++, written)
  }
  written = 0
  for (const [at, row] of rows.entries()) {
    if (typeof row.text === 'string') written += out.text(row.text)
    else {
      out.raw(row.text)
      written += row.text.length
    }
    out.setU32(ends + 4 * at, written)
  }
  leaveRoom(out)
  return out.finish()
}
