/**
 * JSON with every digit kept. JavaScript rounds integers past 2^53 and rewrites numbers such as 1.50; a ledger must do neither.
 * Plain `JSON` serves wherever it is exact, which is nearly always; `lossless-json` serves the rest.
 */
import { LosslessNumber, parse as parseLossless, stringify as stringifyLossless } from 'lossless-json'

export type Json = null | boolean | number | bigint | string | Digits | readonly Json[] | { readonly [member: string]: Json | undefined }

/** A number that JavaScript would write with other digits than its source had, such as `1.50`. */
export class Digits extends LosslessNumber {
  /** `JSON.stringify` cannot write bare digits: it must fail, so that the exact writer is used. */
  toJSON(): never {
    throw new TypeError('the digits of this number need the exact writer')
  }
}

/** Number tokens that may not survive a round trip: long, with a trailing zero behind the point, tiny, with an exponent, or minus zero. */
const suspicious = /(?<=^|[[:,\s])(?:-?(?:[\d.]{16,}|\d+\.\d*0(?!\d)|0\.0{6}|[\d.]+[eE])|-0(?![.\d]))[\d.eE+-]*/g

const exactInJs = (token: string): boolean => String(Number(token)) === token

/** True where `JSON.parse` would change the digits of a number in `text`; false positives (digits inside strings) cost time only. */
export function hasExactNumbers(text: string): boolean {
  suspicious.lastIndex = 0
  for (let hit = suspicious.exec(text); hit; hit = suspicious.exec(text)) if (!exactInJs(hit[0])) return true
  return false
}

const toNumber = (token: string): number | bigint | Digits => {
  if (exactInJs(token)) return Number(token)
  return /^-?\d+$/.test(token) && token !== '-0' ? BigInt(token) : new Digits(token)
}

/** Parses JSON text: integers past 2^53 become `bigint`, other numbers that JavaScript would rewrite become {@link Digits}. Throws `SyntaxError`. */
export const parseJson = (text: string): unknown => (hasExactNumbers(text) ? parseLossless(text, null, toNumber) : JSON.parse(text))

/** As {@link parseJson}, for readers: {@link Digits} become ordinary numbers. */
export const parseForReading = (text: string): unknown =>
  parseLossless(text, null, (token) => {
    const value = toNumber(token)
    return value instanceof Digits ? Number(token) : value
  })

/** JSON text of a value, its bigints as bare digits; `exact` where plain `JSON.parse` would not read it back unchanged. */
export function stringifyJson(value: object): { json: string; exact: boolean } {
  try {
    return { json: JSON.stringify(value), exact: false }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return { json: stringifyLossless(value) ?? 'null', exact: true }
  }
}
