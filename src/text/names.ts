/**
 * What frames consist of, each with a number of its own: names of members, short words, kinds of values. So a frame is known by a row of numbers,
 * before any of its characters were looked at.
 */
import { Region, utf8 } from '../bytes.ts'
import { longInteger } from '../json.ts'
import { LONGEST_FRAME } from './apart.ts'

/** Numbers of kinds of values; those of names and words follow. */
export const STRING = 0
export const NUMBER = 1
export const TRUE = 2
export const FALSE = 3
export const NULL = 4
export const OBJECT = 5
export const OBJECT_END = 6
export const ARRAY = 7
export const ARRAY_END = 8
const KINDS = 16

/** A member's name. */
export interface Name {
  readonly number: number
  /** It looks as if it held a long number. */
  readonly looksLong: boolean
  /** As it is written, with a comma before it. */
  readonly piece: Region
}

/** A frame that was seen before: the row of its numbers. */
interface Known {
  readonly row: Int32Array
  readonly frame: string
}

/** Bounded, since members may have any names: above this many bytes, about, everything known is forgotten. */
const MAX_WEIGHT = 1 << 22
let weight = 0
/** Counts how often that was: a name or a number of an earlier generation counts no more. */
export let generation = 0
let numbers = KINDS
const names = new Map<string, Name>()
const words = new Map<string, number>()
/** By a hash of the row. Of two with the same hash, the latest is kept. */
const frames = new Map<number, Known>()

/** To be called between texts. */
export function forgetTooMany(): void {
  if (weight <= MAX_WEIGHT) return
  names.clear()
  words.clear()
  frames.clear()
  numbers = KINDS
  weight = 0
  generation++
}

export function nameOf(name: string): Name {
  const found = names.get(name)
  if (found !== undefined) return found
  const piece = `,${JSON.stringify(name)}:`
  const made = { number: numbers++, looksLong: longInteger.test(piece), piece: Region.padded(utf8(piece)) }
  names.set(name, made)
  weight += 200 + 3 * name.length
  return made
}

export function wordNumber(word: string): number {
  const found = words.get(word)
  if (found !== undefined) return found
  words.set(word, numbers)
  weight += 100 + word.length
  return numbers++
}

function hashOf(row: Int32Array, length: number): number {
  let hash = length
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ row[at]!, 0x01000193)
  return hash
}

/** The frame that a row of numbers stands for, if it is remembered. */
export function knownFrame(row: Int32Array, length: number): string | undefined {
  const held = frames.get(hashOf(row, length))
  return held !== undefined && isRow(held.row, row, length) ? held.frame : undefined
}

/** Remembers the frame that a row of numbers stands for, unless it is too long; returns it. */
export function learnFrame(row: Int32Array, length: number, frame: string): string {
  if (frame.length <= LONGEST_FRAME) {
    weight += 200 + 4 * length + frame.length
    frames.set(hashOf(row, length), { row: row.slice(0, length), frame })
  }
  return frame
}

function isRow(held: Int32Array, row: Int32Array, length: number): boolean {
  if (held.length !== length) return false
  for (let at = 0; at < length; at++) if (held[at] !== row[at]) return false
  return true
}
