/** Numbers of JSON text, read from its bytes. Anything but a plain integer or decimal is read as text. */
import { characters } from '../bytes.ts'
import { idOf } from '../position.ts'

/** Powers of ten that numbers hold exactly. */
const POWERS = Float64Array.from({ length: 23 }, (_, power) => 10 ** power)

/** The number for which JSON text stands: a bigint for an integer that no number holds exactly. */
export function numberIn(bytes: Uint8Array, from: number, to: number): number | bigint {
  const negative = bytes[from] === 45
  let value = 0
  let point = to
  let at = negative ? from + 1 : from
  for (; at < to; at++) {
    const digit = bytes[at]! - 48
    if (digit >= 0 && digit <= 9) value = value * 10 + digit
    else if (digit === -2 && point === to) point = at + 1
    else break
  }
  const power = to - point
  if (value > Number.MAX_SAFE_INTEGER && at === to && power === 0 && !negative && to - from <= LONGEST) return longInteger(bytes, from, to)
  if (at < to || value > Number.MAX_SAFE_INTEGER || power >= POWERS.length) return numberOf(characters(bytes, from, to))
  // Both operands are exact, so the quotient is rounded once, as it is when text is parsed.
  const size = power === 0 ? value : value / POWERS[power]!
  return negative ? -size : size
}

/** Numbers of this many digits are below 2^64. */
const LONGEST = 19

/** An integer of up to {@link LONGEST} digits, three at a time: every product stays below 2^53. */
function longInteger(bytes: Uint8Array, from: number, to: number): bigint {
  let hi = 0
  let lo = 0
  let at = from
  for (const first = from + ((to - from) % 3); at < first; at++) lo = lo * 10 + bytes[at]! - 48
  for (; at < to; at += 3) {
    const next = lo * 1000 + (bytes[at]! - 48) * 100 + (bytes[at + 1]! - 48) * 10 + bytes[at + 2]! - 48
    const carry = Math.floor(next / 4294967296)
    lo = next - carry * 4294967296
    hi = hi * 1000 + carry
  }
  return idOf(hi, lo)
}

/** As {@link numberIn}. */
export function numberOf(text: string): number | bigint {
  const value = Number(text)
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER || !/^-?\d+$/.test(text) ? value : BigInt(text)
}
