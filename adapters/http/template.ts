/**
 * Wire text with holes: constant bytes, and places that each record fills with its own.
 * Holes of neighbouring records nearly always have the same lengths (account ids, hashes, tokens), so the constant bytes are kept laid out for the
 * last lengths seen: writing a record takes one copy of them, and one short copy per hole.
 */
import { Region, utf8 } from '../../src/index.ts'

/** What a hole can be filled with. */
export const slots = ['hash', 'token', 'ledger', 'account', 'other', 'operation', 'before'] as const
export type Slot = (typeof slots)[number]

const empty = Region.padded(new Uint8Array(0))
/** An id, a dash, an index, and the slack of `copy`. */
const NUMBER_BYTES = 40

/** What the holes of one record are filled with, by slot number. One object is filled again and again. */
export class Values {
  readonly regions: Region[] = slots.map(() => empty)
  readonly from = new Int32Array(slots.length)
  readonly length = new Int32Array(slots.length)
  /** Room for the numbers among these. */
  readonly digits: Region[] = slots.map(() => new Region(new Uint8Array(NUMBER_BYTES)))

  set(slot: number, region: Region, from: number, length: number): void {
    this.regions[slot] = region
    this.from[slot] = from
    this.length[slot] = length
  }
}

/** The constant bytes, laid out for holes of certain lengths. */
interface Shape {
  readonly bytes: Uint8Array
  /** Where each hole begins. */
  readonly offsets: Int32Array
  readonly lengths: Int32Array
}

/** Shapes kept per template; ids of unusual lengths must not pile up. */
const MAX_SHAPES = 64

export class Template {
  private readonly pieces: readonly Uint8Array[]
  /** The slot of each hole. */
  private readonly holes: Int32Array
  /** Every slot that a hole names, once. */
  private readonly used: Int32Array
  private readonly shapes = new Map<string, Shape>()
  private shape: Shape

  /** @param source text with holes written `<slot>` */
  constructor(source: string) {
    const parts = source.split(/<(\w+)>/)
    this.pieces = parts.filter((_, i) => i % 2 === 0).map(utf8)
    this.holes = Int32Array.from(
      parts.filter((_, i) => i % 2 === 1),
      (name) => slots.indexOf(name as Slot),
    )
    if (this.holes.includes(-1)) throw new TypeError(`a hole names no slot: ${source}`)
    this.used = Int32Array.from(new Set(this.holes))
    this.shape = this.lay(new Int32Array(slots.length))
  }

  private lay(lengths: Int32Array): Shape {
    const offsets = new Int32Array(this.holes.length)
    let size = this.pieces[0]!.length
    for (let i = 0; i < this.holes.length; i++) {
      offsets[i] = size
      size += lengths[this.holes[i]!]! + this.pieces[i + 1]!.length
    }
    const bytes = new Uint8Array(size)
    bytes.set(this.pieces[0]!)
    for (let i = 0; i < this.holes.length; i++) bytes.set(this.pieces[i + 1]!, offsets[i]! + lengths[this.holes[i]!]!)
    return { bytes, offsets, lengths: lengths.slice() }
  }

  /** Adapts the layout to the values, and returns how many bytes {@link write} will write. */
  fit(values: Values): number {
    const { used } = this
    const { lengths } = this.shape
    for (let i = 0; i < used.length; i++) {
      const slot = used[i]!
      if (lengths[slot] !== values.length[slot]) return this.change(values)
    }
    return this.shape.bytes.length
  }

  private change(values: Values): number {
    const key = Array.from(this.used, (slot) => values.length[slot]).join()
    let shape = this.shapes.get(key)
    if (!shape) {
      if (this.shapes.size >= MAX_SHAPES) this.shapes.clear()
      shape = this.lay(values.length)
      this.shapes.set(key, shape)
    }
    this.shape = shape
    return shape.bytes.length
  }

  /** Writes the text with the values given to {@link fit}; returns where it ends. */
  write(out: Region, at: number, values: Values): number {
    const { bytes, offsets } = this.shape
    const { holes } = this
    out.bytes.set(bytes, at)
    for (let i = 0; i < holes.length; i++) {
      const slot = holes[i]!
      fill(out, at + offsets[i]!, values.regions[slot]!, values.from[slot]!, values.length[slot]!)
    }
    return at + bytes.length
  }
}

/** As `copy`, but what lies behind the run is already there and must stay: the last bytes are copied one by one. */
function fill(out: Region, at: number, source: Region, from: number, length: number): void {
  const { bytes, view: to } = out
  const { view } = source
  let i = 0
  for (; i <= length - 8; i += 8) to.setFloat64(at + i, view.getFloat64(from + i, true), true)
  for (; i + 4 <= length; i += 4) to.setInt32(at + i, view.getInt32(from + i, true), true)
  for (; i < length; i++) bytes[at + i] = view.getUint8(from + i)
}
