/**
 * What the records of a block have in common, gathered before it is written: frames, and the values that are stored once. One block at a time.
 * What a value begins with is compared with the id of its record, which lies beside the block meanwhile, as side columns do.
 */
import { Region, writeText } from '../bytes.ts'
import { writeId } from '../position.ts'
import type { Resource } from '../query.ts'
import { Distinct, NONE } from './distinct.ts'
import { Ints } from './ints.ts'
import { MAX_STRINGS, MIN_SHARED, type Row } from './row.ts'

/** Enough for most blocks. More is given back. */
const BESIDE_BYTES = 1 << 14
/** Here lie side columns and ids. */
let beside = Region.room(BESIDE_BYTES)
/** How many bytes of it are in use. */
let used = 0

/** Stands for a value that has occurred once so far. */
export const ONCE = -1

/** The values that differ from each other. */
export const distinct = new Distinct()
/** For each distinct value: which of the strings it is, or {@link ONCE}. */
export const numbers = new Ints()
/** The values that are stored once, side columns first. */
export const strings = new Ints()
/** For each record and column: which of the strings it is. */
export const sides = new Ints()
/** For each value, text by text: which of the distinct values it is, or {@link NONE}. */
export const values = new Ints()
/** For each text: which of the frames it has. */
export const frameNumbers = new Ints()
export const frames: string[] = []

const lists = [numbers, strings, sides, values, frameNumbers]

export function forget(): void {
  distinct.clear()
  for (const list of lists) list.clear()
  frames.length = 0
  used = 0
  if (beside.bytes.length > BESIDE_BYTES) beside = Region.room(BESIDE_BYTES)
}

const roomBeside = (bytes: number): void => {
  if (used + bytes <= beside.bytes.length) return
  // What lies in the present one is still referred to.
  beside = Region.room(Math.max(2 * beside.bytes.length, bytes))
  used = 0
}

/** The digits of a record's id, in {@link beside}. */
export const id = { at: 0, length: 0 }

export function setId({ hi, lo }: Row): void {
  roomBeside(24)
  id.at = used
  id.length = writeId(beside.bytes, used, hi, lo) - used
}

/** True if the bytes begin with the id. */
function beginsWithId(bytes: Uint8Array, from: number, length: number): boolean {
  if (length < id.length) return false
  const { bytes: digits } = beside
  for (let at = 0; at < id.length; at++) if (bytes[from + at] !== digits[id.at + at]) return false
  return true
}

/** Adds a distinct value to the strings; returns how many bytes that takes, about. */
function addString(number: number): number {
  numbers.items[number] = strings.push(number)
  return distinct.length(number) + 4
}

/** Gathers what the records have in common; returns about how many bytes there are to write. */
export function gather(resource: Resource, rows: readonly Row[]): number {
  let size = 64
  // All side columns first: their strings come before those of texts.
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!
    size += gatherSides(row, at === 0 ? undefined : rows[at - 1], resource.sides.length)
    size += gatherFrames(row)
  }
  for (const row of rows) size += gatherValues(row)
  return size
}

function gatherSides(row: Row, before: Row | undefined, columns: number): number {
  let size = 0
  for (let column = 0; column < columns; column++) {
    const side = row.sides[column]!
    if (before !== undefined && side === before.sides[column]) {
      sides.push(sides.items[sides.length - columns]!)
      continue
    }
    roomBeside(3 * side.length)
    const length = writeText(beside.bytes, used, side)
    const number = distinct.number(beside, used, used + length)
    if (number === numbers.length) {
      numbers.push(ONCE)
      size += addString(number)
      used += length
    }
    sides.push(numbers.items[number]!)
  }
  return size
}

function gatherFrames({ texts }: Row): number {
  let size = 0
  for (const { frame } of texts) {
    let number = frames.indexOf(frame)
    if (number < 0) {
      number = frames.push(frame) - 1
      size += frame.length + 4
    }
    frameNumbers.push(number)
  }
  return size
}

function gatherValues(row: Row): number {
  let size = 0
  setId(row)
  for (const { sheet, from, cut, holes } of row.texts) {
    const { region, bytes, cuts } = sheet
    for (let at = cut; at < cut + 2 * holes; at += 2) {
      const [start, end] = [from + cuts[at]!, from + cuts[at + 1]!]
      const length = end - start
      size += length + 5
      if (length < MIN_SHARED || beginsWithId(bytes, start, length)) {
        values.push(NONE)
        continue
      }
      const number = distinct.number(region, start, end)
      values.push(number)
      if (number === numbers.length) numbers.push(ONCE)
      else if (numbers.items[number] === ONCE && strings.length < MAX_STRINGS) size += addString(number)
    }
  }
  return size
}
