/**
 * Record texts taken apart: the frame, which records of one kind share, and the values in its holes. A block keeps a frame once, and a value
 * that it holds several times once; what follows from a record's position is not kept at all.
 *
 *     "account":"GA…","paging_token":"4294971393-1","type":"account_credited","type_i":2,"amount":"10.0"
 *     frame  "account":"□","paging_token":"□","type":"account_credited","type_i":□,"amount":"□"
 *     values GA…   4294971393-1   2   10.0
 *
 * A hole is the character 0, which no JSON text holds. Any text comes back byte for byte: how it is cut decides only how small it becomes.
 */
/** A text taken apart. */
export interface Apart {
  readonly frame: string
  readonly values: readonly string[]
}

const HOLE = '\u0000'
const QUOTE = 34
const COLON = 58
const MINUS = 45
/** Up to this length, a string that looks like the name of a type belongs to the frame. */
const NAME = 24

const isDigit = (code: number): boolean => code >= 48 && code <= 57
/** The characters of a number after its first one. */
const isNumeric = (code: number): boolean => isDigit(code) || code === 46 || code === 101 || code === 69 || code === 43 || code === MINUS

/** Where the string that begins after `from` ends: the place of its closing quote. */
function closing(json: string, from: number): number {
  for (let at = json.indexOf('"', from); ; at = json.indexOf('"', at + 1)) {
    if (at < 0) return json.length
    let slashes = at
    while (json.charCodeAt(slashes - 1) === 92) slashes--
    if ((at - slashes) % 2 === 0) return at
  }
}

/** True for a short word of lower-case letters, digits and underscores that begins with a letter: mostly the name of a type. */
function isName(json: string, from: number, to: number): boolean {
  if (to - from > NAME || to === from) return false
  for (let at = from; at < to; at++) {
    const code = json.charCodeAt(at)
    if (!((code >= 97 && code <= 122) || (at > from && (isDigit(code) || code === 95)))) return false
  }
  return true
}

/** Takes apart JSON members (or any JSON text without blanks). */
export function takeApart(json: string): Apart {
  const values: string[] = []
  let frame = ''
  let kept = 0
  const { length } = json
  for (let at = 0; at < length; ) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) {
      const end = closing(json, at + 1)
      if (json.charCodeAt(end + 1) === COLON || isName(json, at + 1, end)) at = end + 1
      else {
        frame += json.slice(kept, at + 1) + HOLE
        values.push(json.slice(at + 1, end))
        kept = end
        at = end + 1
      }
    } else if (isDigit(code) || code === MINUS) {
      let end = at + 1
      while (end < length && isNumeric(json.charCodeAt(end))) end++
      frame += json.slice(kept, at) + HOLE
      values.push(json.slice(at, end))
      kept = end
      at = end
    } else at++
  }
  return { frame: theOne(frame + json.slice(kept)), values }
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

/** The text, put together again. */
export function putTogether({ frame, values }: Apart): string {
  const pieces = frame.split(HOLE)
  let json = pieces[0]!
  for (let hole = 0; hole < values.length; hole++) json += values[hole]! + pieces[hole + 1]!
  return json
}
