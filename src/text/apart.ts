/**
 * Record texts taken apart: the frame, which records of one kind share, and the values in its holes. A block keeps a frame once, and a value
 * that it holds several times once; what follows from a record's position is not kept at all.
 *
 *     "account":"GA…","paging_token":"4294971393-1","type":"account_credited","type_i":2,"amount":"10.0"
 *     frame  "account":"□","paging_token":"□","type":"account_credited","type_i":□,"amount":"□"
 *     values GA…   4294971393-1   2   10.0
 *
 * A hole is the character 0, which no JSON text holds. Any text comes back byte for byte: how it is cut decides only how small it becomes.
 * **Invariant:** where a text is cut depends on the text alone. Texts are bytes, and their values are places in those: a text that is never asked for
 * as a string is never made into one.
 */
import { Region, text } from '../bytes.ts'

export const HOLE = '\u0000'
const QUOTE = 34
const COLON = 58
const MINUS = 45
const BACKSLASH = 92
/** Up to this length, a string that looks like the name of a type belongs to the frame. */
export const NAME = 24

/** Memory in which texts lie side by side, and where they are cut. It is abandoned when full, never reused: it lives as long as any of its texts. */
export class Sheet {
  readonly region: Region
  readonly bytes: Uint8Array
  /** For each value where it begins and where it ends, counted from the beginning of its text. */
  readonly cuts: Int32Array

  constructor(bytes: number, cuts: number) {
    this.region = Region.room(bytes)
    this.bytes = this.region.bytes
    this.cuts = new Int32Array(cuts)
  }
}

/** A text taken apart. */
export class Apart {
  readonly sheet: Sheet
  /** Where the text begins, and how many bytes it has. */
  readonly from: number
  readonly length: number
  /** The number of the first of its cuts, and how many values it has. */
  readonly cut: number
  readonly holes: number
  readonly frame: string
  /** All values are ASCII, and hold neither backslash nor quote. */
  readonly simple: boolean

  constructor(sheet: Sheet, from: number, length: number, cut: number, holes: number, frame: string, simple: boolean) {
    this.sheet = sheet
    this.from = from
    this.length = length
    this.cut = cut
    this.holes = holes
    this.frame = frame
    this.simple = simple
  }

  /** The text as a string. */
  get text(): string {
    return text(this.sheet.bytes, this.from, this.from + this.length)
  }
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57
/** The characters of a number after its first one. */
const isNumeric = (code: number): boolean => isDigit(code) || code === 46 || code === 101 || code === 69 || code === 43 || code === MINUS
/** A short word of lower-case letters, digits and underscores that begins with a letter is mostly the name of a type. */
export const isOfName = (code: number, isFirst: boolean): boolean =>
  (code >= 97 && code <= 122) || (!isFirst && ((code >= 48 && code <= 57) || code === 95))

function isName(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from > NAME || to === from) return false
  for (let at = from; at < to; at++) if (!isOfName(bytes[at]!, at === from)) return false
  return true
}

/** True for ASCII without backslash and quote. */
export function isSimple(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = bytes[at]!
    if (code > 127 || code === BACKSLASH || code === QUOTE) return false
  }
  return true
}

/** Where the string that begins at `from` ends: the place of its closing quote. */
function closing(bytes: Uint8Array, from: number, to: number): number {
  for (let at = bytes.indexOf(QUOTE, from); ; at = bytes.indexOf(QUOTE, at + 1)) {
    if (at < 0 || at >= to) return to
    let slashes = at
    while (slashes > from && bytes[slashes - 1] === BACKSLASH) slashes--
    if ((at - slashes) % 2 === 0) return at
  }
}

/**
 * Cuts JSON members (or any JSON text without blanks). Of members there are at most as many cuts as bytes, of another text one more: `1` has two.
 * @param cut the number of the first cut to set
 * @returns how many values there are
 */
export function cutUp({ bytes, cuts }: Sheet, from: number, to: number, cut: number): number {
  const first = cut
  for (let at = from; at < to; ) {
    const code = bytes[at]!
    if (code === QUOTE) {
      const end = closing(bytes, at + 1, to)
      if (!((end + 1 < to && bytes[end + 1] === COLON) || isName(bytes, at + 1, end))) {
        cuts[cut++] = at + 1 - from
        cuts[cut++] = end - from
      }
      at = end + 1
    } else if (isDigit(code) || code === MINUS) {
      let end = at + 1
      while (end < to && isNumeric(bytes[end]!)) end++
      cuts[cut++] = at - from
      cuts[cut++] = end - from
      at = end
    } else at++
  }
  return (cut - first) / 2
}

/** Longer frames are not kept anywhere: if member names are data, no two records share a frame. */
export const LONGEST_FRAME = 4096
/** Bounded, since texts may be of any shape. */
const MAX_KNOWN = 4096
const known = new Map<string, string>()

/** One string for all equal frames, so that the hash by which blocks look it up is computed once. */
function theOne(frame: string): string {
  if (frame.length > LONGEST_FRAME) return frame
  const held = known.get(frame)
  if (held !== undefined) return held
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(frame, frame)
  return frame
}

/** The frame of a text that was cut. */
export function frameIn({ bytes, cuts }: Sheet, from: number, to: number, cut: number, holes: number): string {
  let frame = ''
  let kept = from
  for (let hole = 0; hole < holes; hole++) {
    frame += text(bytes, kept, from + cuts[cut + 2 * hole]!) + HOLE
    kept = from + cuts[cut + 2 * hole + 1]!
  }
  return theOne(frame + text(bytes, kept, to))
}
