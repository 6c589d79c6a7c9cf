/** Exact JSON: whatever digits a number has, it comes back with the same ones; and all the rest as `JSON` has it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Digits, parseJson } from '../../src/index.ts'
import { hasExactNumbers, parseForReading, stringifyJson } from '../../src/json.ts'
import { holds } from './support.ts'

const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength })
/** Any number that JSON's grammar allows. */
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constantFrom('0', '9007199254740993', '9223372036854775807'),
      digits(24).map((text) => text.replace(/^0+(?=\d)/, '')),
    ),
    fc.oneof(
      fc.constant(''),
      digits(20).map((text) => `.${text}`),
      fc.constantFrom('.50', '.0', '.0000001'),
    ),
    fc.oneof(
      { weight: 3, arbitrary: fc.constant('') },
      fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), digits(3)).map((parts) => parts.join('')),
    ),
  )
  .map((parts) => parts.join(''))
const stringText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 10 }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"1.50"', '": 1.50,"', '"\\"0.0000001"', '"[9007199254740993]"', '"\\u00e9"'),
)
/** JSON text of any shape, with white space where it may be. */
const jsonText = fc.letrec<{ value: string }>((tie) => {
  const space = fc.constantFrom('', '', ' ', '\n\t')
  const spaced = fc.tuple(space, tie('value'), space).map((parts) => parts.join(''))
  const member = fc
    .tuple(
      space,
      stringText.filter((text) => text !== '"__proto__"'),
      space,
      spaced,
    )
    .map(([a, name, b, value]) => `${a}${name}${b}:${value}`)
  return {
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      numberText,
      stringText,
      fc.constantFrom('null', 'true', 'false', '{}', '[]'),
      fc.array(spaced, { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
      fc
        .uniqueArray(member, { maxLength: 4, selector: (text) => JSON.stringify(Object.keys(JSON.parse(`{${text}}`))) })
        .map((all) => `{${all.join(',')}}`),
    ),
  }
}).value

/** The tokens of JSON text, white space dropped, escapes in strings undone, the members of objects as they stand. */
const tokens = (text: string): string[] =>
  Array.from(text.matchAll(/"(?:[^"\\]|\\.)*"|[^\s"[\]{},:]+|[[\]{},:]/g), ([token]) =>
    token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token,
  )

/** Members named like array indexes are moved to the front by JavaScript itself. */
const hasIndexNames = (text: string): boolean => /"(?:0|[1-9]\d{0,9})"\s*:/.test(text)

describe('JSON text that is parsed and written again', () => {
  test('has the same tokens, every digit of every number', () =>
    holds(
      jsonText.filter((text) => !hasIndexNames(text)),
      2000,
      (text) => {
        const { json } = stringifyJson([parseJson(text)])
        expect(tokens(json.slice(1, -1))).toEqual(tokens(text))
      },
    ))

  test('is refused where JSON itself refuses it, however it was spoilt', () =>
    holds(
      fc.tuple(jsonText, fc.nat(), fc.nat(3), fc.constantFrom(...'[]{}:," \\0195.eE+-', '1.50', ' 1e5:')),
      3000,
      ([text, at, cut, put]) => {
        const place = at % (text.length + 1)
        const other = text.slice(0, place) + put + text.slice(place + cut)
        const parses = (parse: (text: string) => unknown): boolean => {
          try {
            parse(other)
            return true
          } catch (error) {
            expect(error).toBeInstanceOf(SyntaxError)
            return false
          }
        }
        expect(parses(parseJson)).toBe(parses(JSON.parse))
      },
    ))

  test('is what JSON itself makes of it, where that is exact', () =>
    holds(fc.json(), 500, (text) => {
      if (hasExactNumbers(text)) return
      expect(parseJson(text)).toStrictEqual(JSON.parse(text))
    }))

  test('is read with numbers that may round, and integers that may not', () =>
    holds(numberText, 500, (text) => {
      const value = parseForReading(`[${text}]`) as unknown[]
      if (/^-?\d+$/.test(text) && text !== '-0') expect(BigInt(value[0] as bigint)).toBe(BigInt(text))
      else expect(value).toEqual([Number(text)])
    }))
})

test.each([
  ['1.50', new Digits('1.50')],
  ['[1.5]', [1.5]],
  ['{"a":0.0000001}', { a: new Digits('0.0000001') }],
  ['{"a":1e-7}', { a: 1e-7 }],
  ['[-0]', [new Digits('-0')]],
  ['[0, -1, 10, 100]', [0, -1, 10, 100]],
  ['9007199254740993', 9007199254740993n],
  ['-9007199254740993', -9007199254740993n],
  ['[9007199254740992]', [9007199254740992n]],
  ['{"a":"1.50","b":"0.0000001"}', { a: '1.50', b: '0.0000001' }],
  ['[1.0]', [new Digits('1.0')]],
  ['[1E2]', [new Digits('1E2')]],
])('%s is parsed as it should be', (text, value) => {
  expect(parseJson(text)).toEqual(value)
})

/** Texts whose numbers look as if they needed care, and are none, or stand where no number may. */
const spoilt = [
  '[01.50]',
  '[1.2.3.4.5.6.7.8.90]',
  '[0012345678901234567]',
  '[1.50e]',
  '[-]',
  '[1e5e5]',
  '{ 1.50:2}',
  '{"a":1, 1e5 : 2}',
  '[1.50 1.50]',
]

test.each(['', '{', '[1,]', '01', '[1.]', '[.5]', '{"a":1.50', '[9007199254740993', 'nul', '[1.50]]', ...spoilt])(
  '%s is no JSON',
  (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  },
)

test('digits cannot be written by plain JSON by mistake', () => {
  expect(() => JSON.stringify({ a: new Digits('1.50') })).toThrow(TypeError)
  expect(stringifyJson({ a: new Digits('1.50'), b: 2n ** 60n })).toEqual({ json: '{"a":1.50,"b":1152921504606846976}', exact: true })
  expect(stringifyJson({ a: 1.5, b: undefined })).toEqual({ json: '{"a":1.5}', exact: false })
})
