/**
 * Blocks with finished texts, made from records of one log wherever they lie: all of a block, or neighbours in a posting list. `src/README.md`
 * has a picture. Strings that only occurred in texts are left out; a string of side columns is kept once for as long as consecutive records share it.
 */
import { Region } from '../bytes.ts'
import { Block, type Place } from './block.ts'
import type { Finished, Finisher } from './finisher.ts'
import { COLUMNS, FINISHED, FINISHED_FIXED, FIXED, INDEXED, MARKED, putNumber, TWO_FACED, WIDE, type Width } from './row.ts'

/** A string of side columns, in place. */
interface Side {
  readonly bytes: Uint8Array
  readonly start: number
  readonly length: number
}

/** What records are laid out as: all of a block; neighbours of a posting list, with the face that they show; or neighbours of a log. */
export type Kind = 'block' | 'cluster' | 'run'

/** What is to be written, and how long it will be. */
export interface Layout {
  readonly kind: Kind
  readonly records: readonly Place[]
  /** The records to which the texts belong: as they are shown, then with their other face, if both are kept. */
  readonly shown: readonly Place[]
  readonly texts: Finished
  /** For each text, where its holes end. */
  readonly cuts: readonly (readonly number[])[]
  /** Strings of side columns, and which of them each column is, record by record. */
  readonly sides: readonly Side[]
  readonly refs: readonly number[]
  readonly width: Width
  readonly bytes: number
}

const turned = ({ block, at }: Place): Place => ({ block: block.turned(), at })

/** Has records finished. */
export function layOut(records: readonly Place[], finisher: Finisher, kind: Kind = 'block'): Layout {
  const { faces, resource } = records[0]!.block
  const columns = resource.sides.length
  const shown = faces === 2 && kind !== 'cluster' ? records.concat(records.map(turned)) : records
  const texts = finisher.finish(shown)
  const cuts = shown.map(({ block, at }) => block.cuts(at))
  let numbers = cuts.reduce((sum, { length }) => sum + COLUMNS + length, 0)
  const sides: Side[] = []
  const refs: number[] = []
  let bytes = FINISHED_FIXED + texts.length + 12 * records.length
  let known: number[] = []
  for (const [i, { block, at }] of records.entries()) {
    if (block !== records[i - 1]?.block) known = []
    for (let column = 0; column < columns; column++) {
      const ref = block.ref(at, column)
      known[ref] ??= sideOf(sides, refs[refs.length - columns], block, at, column)
      refs.push(known[ref])
    }
  }
  for (const { length } of sides) bytes += length
  if (kind !== 'block') bytes += 4 * records.length
  numbers += refs.length + sides.length
  const width = bytes + 2 * numbers > 65535 ? 4 : 2
  return { kind, records, shown, texts, cuts, sides, refs, width, bytes: bytes + width * numbers }
}

/** The number of a string: that of the previous record's string in this column, if they are equal. */
function sideOf(sides: Side[], before: number | undefined, block: Block, at: number, column: number): number {
  const { bytes } = block.region
  const start = block.sideStart(at, column)
  const length = block.sideLength(at, column)
  if (before !== undefined && isAt(sides[before]!, bytes, start, length)) return before
  return sides.push({ bytes, start, length }) - 1
}

/** True if a string equals these bytes: there are few, so a loop is faster than making views. */
function isAt({ bytes: own, start: from, length: held }: Side, bytes: Uint8Array, start: number, length: number): boolean {
  if (held !== length) return false
  for (let i = 0; i < length; i++) if (own[from + i] !== bytes[start + i]) return false
  return true
}

/** Writes a block into `out` from `start` on, and returns where it ends: at most {@link Layout.bytes} further. */
export function writeFinished(out: Region, start: number, layout: Layout): number {
  const { kind, records, texts, cuts, width } = layout
  const { view } = out
  writeFixed(out, start, layout)
  let to = writeTable(view, start + FINISHED_FIXED, layout)
  to = writePositions(view, to, records)
  to = writeSides(out, to, layout)
  view.setUint32(start + FIXED + 8, to - start, true)
  for (const holes of cuts) for (const hole of holes) to = putNumber(view, width, to, hole)
  view.setUint32(start + FIXED + 4, to - start, true)
  out.bytes.set(texts.bytes.subarray(0, texts.length), to)
  to += texts.length
  if (kind !== 'block') for (const { block, at } of records) to = putNumber(view, 4, to, block.mark(at))
  return to
}

/** But for where bodies and cuts begin. */
function writeFixed({ bytes, view }: Region, start: number, { kind, records, shown, texts, sides, width }: Layout): void {
  const { resource } = records[0]!.block
  view.setUint16(start, records.length, true)
  view.setUint16(start + 2, 0, true)
  view.setUint16(start + 4, sides.length, true)
  bytes[start + 6] =
    FINISHED |
    (kind === 'block' ? 0 : MARKED) |
    (resource.indexed ? INDEXED : 0) |
    (shown.length > records.length ? TWO_FACED : 0) |
    (width === 4 ? WIDE : 0)
  bytes[start + 7] = resource.sides.length
  view.setUint32(start + FIXED, texts.by, true)
}

/** Where to find each text. Like the parts below it returns where it ends. */
function writeTable(view: DataView, to: number, { shown, texts, cuts, width }: Layout): number {
  const { leads, ends } = texts
  let cut = 0
  for (const [cell, { block, at }] of shown.entries()) {
    to = putNumber(view, width, to, block.kind(at))
    to = putNumber(view, width, to, block.textBytes(at))
    to = putNumber(view, width, to, ends[cell]!)
    to = putNumber(view, width, to, leads[cell]!)
    to = putNumber(view, width, to, cut)
    cut += cuts[cell]!.length
  }
  return to
}

function writePositions(view: DataView, to: number, records: readonly Place[]): number {
  for (const { block, at } of records) to = putNumber(view, 4, to, block.hi(at))
  for (const { block, at } of records) to = putNumber(view, 4, to, block.lo(at))
  if (records[0]!.block.resource.indexed) for (const { block, at } of records) to = putNumber(view, 4, to, block.index(at))
  return to
}

/** The strings of side columns, behind the numbers that say which is whose and where each ends. */
function writeSides({ bytes, view }: Region, to: number, { sides, refs, width }: Layout): number {
  for (const ref of refs) to = putNumber(view, width, to, ref)
  let end = 0
  for (const { length } of sides) {
    end += length
    to = putNumber(view, width, to, end)
  }
  for (const side of sides) {
    bytes.set(side.bytes.subarray(side.start, side.start + side.length), to)
    to += side.length
  }
  return to
}

/**
 * The layout written as a block in memory of its own, to which whatever is made of it may be attached.
 * @param place the key under which it is stored, or the number of the block
 * @param sum its checksum, if it has one
 */
export function finishedBlock(layout: Layout, place: Uint8Array | number, sum?: number): Block {
  const region = Region.room(layout.bytes)
  const block = new Block(layout.records[0]!.block.resource, region, 0, writeFinished(region, 0, layout), place, sum)
  block.isHot = true
  return block
}
