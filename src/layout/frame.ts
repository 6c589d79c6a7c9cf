/**
 * Frames as bytes: UTF-8, except that a byte from 1 to 31 together with the next one stands for an entry of the vocabulary, and 0 for a hole. There
 * are few of them and they are in every block, so each is decoded only once.
 */

import { Region, text, utf8 } from '../bytes.ts'
import { LONGEST_FRAME } from '../text/apart.ts'
import { Recipe } from './recipe.ts'
import { abbreviate, meaning } from './vocabulary.ts'

/** A frame as bytes, cut at its holes. */
export interface Frame {
  readonly text: string
  /** Valid in this process only: 1 and up; 0 if as many others came first, or if the frame is longer than those that are kept. */
  readonly number: number
  /** How its texts become records without parsing, if that is possible; determined on first use. */
  recipe: Recipe | undefined | 'unknown'
  /** What stands between the holes, concatenated. */
  readonly pieces: Region
  /** Where each piece ends: there is one more than there are holes. */
  readonly ends: readonly number[]
  /** As blocks hold it. */
  readonly stored: Uint8Array
}

/** Bounded, since texts may be of any shape. */
const MAX_KNOWN = 4096
/** By a hash of the stored bytes. Of two with the same hash, the latest is kept. */
const byHash = new Map<number, Frame>()
const byText = new Map<string, Uint8Array>()
/** Never forgotten, since blocks in memory refer to them by number. */
const numbered: Frame[] = []

export const frameOf = (number: number): Frame | undefined => numbered[number - 1]

/** About what a frame weighs in memory, with its recipe. */
export const weightOf = (frame: Frame): number => 8 * frame.text.length + 200

export function recipeOf(frame: Frame): Recipe | undefined {
  if (frame.recipe === 'unknown') frame.recipe = Recipe.of(frame.text)
  return frame.recipe
}

/** Those with a number are not forgotten: decoded anew, a frame would get another number, or none. */
function keep(hash: number, frame: Frame): Frame {
  if (byHash.size >= 2 * MAX_KNOWN) for (const [other, { number }] of byHash) if (number === 0) byHash.delete(other)
  byHash.set(hash, frame)
  return frame
}

/** A frame as blocks hold it. */
export function encodeFrame(frame: string): Uint8Array {
  const held = byText.get(frame)
  if (held) return held
  const out: number[] = []
  const short = abbreviate(frame)
  for (let at = 0; at < short.length; ) {
    const code = short.charCodeAt(at)
    if (code > 0 && code < 32) {
      // The character behind a code is a byte, not text.
      out.push(code, short.charCodeAt(at + 1))
      at += 2
    } else {
      const end = endOfText(short, at)
      for (const byte of utf8(short.slice(at, end))) out.push(byte)
      at = end
    }
  }
  const stored = Uint8Array.from(out)
  if (frame.length > LONGEST_FRAME) return stored
  if (byText.size >= MAX_KNOWN) byText.clear()
  byText.set(frame, stored)
  return stored
}

/** Where the next code comes after `from`. */
function endOfText(short: string, from: number): number {
  let end = from + 1
  while (end < short.length && (short.charCodeAt(end) >= 32 || short.charCodeAt(end) === 0)) end++
  return end
}

/** The frame for which `bytes[from, to)` stand. */
export function decodeFrame(bytes: Uint8Array, from: number, to: number): Frame {
  let hash = to - from
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193)
  const held = byHash.get(hash)
  if (held && matches(held.stored, bytes, from, to)) return held
  let frame = ''
  for (let at = from; at < to; ) {
    const code = bytes[at]!
    if (code > 0 && code < 32) {
      frame += meaning(code, bytes[at + 1]!)
      at += 2
      continue
    }
    let end = at + 1
    while (end < to && bytes[end]! >= 32) end++
    frame += text(bytes, at, end)
    at = end
  }
  let end = 0
  const isLong = frame.length > LONGEST_FRAME
  const pieces = frame.split('\u0000').map(utf8)
  const ends = pieces.map((piece) => (end += piece.length))
  const made: Frame = {
    text: frame,
    number: !isLong && numbered.length < MAX_KNOWN ? numbered.length + 1 : 0,
    recipe: 'unknown',
    pieces: Region.padded(utf8(frame.replaceAll('\u0000', ''))),
    ends,
    // A copy, which `slice` of a Node buffer is not: a view would keep the whole buffer in memory.
    stored: new Uint8Array(bytes.subarray(from, to)),
  }
  if (made.number > 0) numbered.push(made)
  return isLong ? made : keep(hash, made)
}

function matches(stored: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (stored.length !== to - from) return false
  for (let at = 0; at < stored.length; at++) if (stored[at] !== bytes[from + at]) return false
  return true
}
