/**
 * JSON with every digit kept. JavaScript rounds integers past 2^53 and rewrites numbers such as 1.50; a ledger must do neither.
 * Plain `JSON` serves wherever it is exact, which is nearly always; `lossless-json` serves the rest.
 */
import { isLosslessNumber, LosslessNumber, parse as parseLossless, stringify as stringifyLossless } from 'lossless-json'

export type Json = null | boolean | number | bigint | string | Digits | readonly Json[] | { readonly [member: string]: Json | undefined }

/** A number that JavaScript would write with other digits than its source had, such as `1.50`. `String` of it gives those digits. */
export class Digits extends LosslessNumber {
  /** `JSON.stringify` cannot write bare digits: it must fail, so that {@link stringifyJson} is used. */
  toJSON(): never {
    throw new TypeError(`JSON.stringify would change the digits of ${this.value}: write it with stringifyJson, or String of it`)
  }
}

/**
 * Number tokens that may not survive a round trip: long, with a trailing zero after the point, tiny, with an exponent, or minus zero. What stands
 * before the token is part of the match: looking back for it takes three times as long.
 */
const suspicious = /(^|[[:,\s])((?:-?(?:[\d.]{16,}|\d+\.\d*0(?!\d)|0\.0{6}|[\d.]+[eE])|-0(?![.\d]))[\d.eE+-]*)/g

/** True if the token reads back with the same digits and, for an integer, is safe as JavaScript defines it. */
function isPlain(token: string): boolean {
  const value = Number(token)
  return String(value) === token && (Number.isSafeInteger(value) || !Number.isInteger(value) || !/^-?\d+$/.test(token))
}

/** What JSON accepts as a number. */
const numberToken = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** True if `JSON.parse` would change the digits of a number in `text`; false positives (digits inside strings) cost only time. */
export function hasExactNumbers(text: string): boolean {
  suspicious.lastIndex = 0
  for (let hit = suspicious.exec(text); hit; hit = suspicious.exec(text)) if (!isPlain(hit[2]!)) return true
  return false
}

const toNumber = (token: string): number | bigint | Digits => {
  if (isPlain(token)) return Number(token)
  return /^-?\d+$/.test(token) && token !== '-0' ? BigInt(token) : new Digits(token)
}

/** A number in disguise: no string of an input starts like this, since inputs with this escape are parsed the slow way. */
const MARK = '\u0001#'
const ESCAPED_MARK = '\\u0001#'

/**
 * Puts each number that JavaScript would change into a string before parsing, which is several times faster than a parser written in JavaScript. A
 * match inside a string breaks that string, so the text no longer parses and is parsed the slow way.
 */
function parseExact(text: string, convert: (token: string) => unknown): unknown {
  // Of members with the same name the last one wins, as in `JSON.parse`.
  const slow = (): unknown => parseLossless(text, null, { parseNumber: convert, onDuplicateKey: ({ newValue }) => newValue })
  if (text.includes('\\u0001')) return slow()
  let value: unknown
  try {
    value = JSON.parse(
      text.replace(suspicious, (found, before: string, token: string, at: number) =>
        staysBare(token, text, at + found.length) ? found : `${before}"${ESCAPED_MARK}${token}"`,
      ),
    )
  } catch {
    return slow()
  }
  return unmask(value, convert)
}

/** A string may stand where a number may not: a token that is not a number, or stands for the name of a member, is left for the parser to refuse. */
function staysBare(token: string, text: string, end: number): boolean {
  if (isPlain(token) || !numberToken.test(token)) return true
  colonNext.lastIndex = end
  return colonNext.test(text)
}
const colonNext = /\s*:/y

function unmask(value: any, convert: (token: string) => unknown): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? convert(value.slice(MARK.length)) : value
  if (typeof value !== 'object' || value === null) return value
  for (const name of Object.keys(value)) {
    const held = value[name]
    if (typeof held === 'string' ? !held.startsWith(MARK) : typeof held !== 'object' || held === null) continue
    const shown = unmask(held, convert)
    if (shown !== held) Object.defineProperty(value, name, { value: shown, writable: true, enumerable: true, configurable: true })
  }
  return value
}

/**
 * Parses JSON text: integers past 2^53 become `bigint`, other numbers that JavaScript would rewrite become {@link Digits}. Throws `SyntaxError`, and
 * `RangeError` for such numbers in text that is nested thousands deep.
 */
export const parseJson = (text: string): unknown => (hasExactNumbers(text) ? parseExact(text, toNumber) : JSON.parse(text))

/** As {@link parseJson}, for readers: {@link Digits} become ordinary numbers. */
export const parseForReading = (text: string): unknown =>
  parseExact(text, (token) => {
    const value = toNumber(token)
    return value instanceof Digits ? Number(token) : value
  })

/** An integer past 2^53 that was given as a number: read back as the same bigint, whatever stands beside it. */
export const longInteger = /[[:,]-?\d{16}/

/**
 * JSON text of a value, with every digit: bigints and {@link Digits} become bare numbers, so that what {@link parseJson} gave is written as it was.
 * Otherwise as `JSON.stringify`; throws a TypeError or RangeError for what JSON cannot hold, such as an object within itself.
 */
export const stringifyJson = (value: object): string => writeJson(value).json

/** As {@link stringifyJson}, whatever `JSON.stringify` would make of bigints and of the numbers of another copy of `lossless-json`. */
const exactJson = (value: object): string => stringifyLossless(value) ?? 'null'

/** As {@link stringifyJson}; `exact` if plain `JSON.parse` would not read it back as {@link parseForReading} does. */
export function writeJson(value: object): { json: string; exact: boolean } {
  // Some programs teach bigints to be written as strings.
  if ('toJSON' in BigInt.prototype) return written(exactJson(value))
  try {
    const json = JSON.stringify(value)
    return { json, exact: longInteger.test(json) }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return written(exactJson(value))
  }
}

/**
 * What {@link parseJson} gives for the JSON text of a value, except that numbers past 2^53 stay numbers: there they would read as integers of which
 * every digit counts, and nobody could tell any more that they may be rounded. Throws a RangeError for an object within itself.
 */
export function asJson(given: any): unknown {
  const says = typeof given === 'object' && typeof given?.toJSON === 'function' && !isLosslessNumber(given)
  const value = says ? given.toJSON() : given
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (isLosslessNumber(value)) return toNumber(String(value))
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return asJson(value.valueOf())
  if (Array.isArray(value)) return Array.from(value, (one) => asJson(one) ?? null)
  const members = Object.keys(value).map((name) => [name, asJson(value[name])] as const)
  return Object.fromEntries(members.filter(([, held]) => held !== undefined))
}

const written = (json: string): { json: string; exact: boolean } => ({ json, exact: isExact(json) })

/** What {@link writeJson} reports for the value that `json` reads as: in text, a small bigint is the same as that number. */
function isExact(json: string): boolean {
  try {
    const value = parseJson(json)
    // Fails for digits that no number has.
    JSON.stringify(value)
    return longInteger.test(exactJson(value as object))
  } catch {
    return true
  }
}

/** Whether JSON text has more than so many objects and lists within each other. */
export function isDeeper(json: string, most: number): boolean {
  // Each takes two brackets.
  if (json.length <= 2 * most) return false
  let depth = 0
  let quoted = false
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === QUOTE) quoted = !quoted
    else if (quoted) continue
    else if (code === BRACKET || code === BRACE) {
      if (++depth > most) return true
    } else if (code === BRACKET + 2 || code === BRACE + 2) depth--
  }
  return false
}

/** Of characters; a closing bracket comes two after the opening one. */
const [QUOTE, BRACKET, BACKSLASH, BRACE] = [34, 91, 92, 123]

/** Whether an object is an instance of no class, so that its members are all its own, or a list of no class of its own. */
export function isOfNoClass(value: object): boolean {
  const kind: unknown = Object.getPrototypeOf(value)
  return Array.isArray(value) ? kind === Array.prototype : kind === Object.prototype || kind === null
}

/** The value, deeply frozen, so that it may be shared. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const name in value) if (typeof value[name] === 'object') frozen(value[name])
  return Object.freeze(value)
}
