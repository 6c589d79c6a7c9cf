/** Exact JSON: a number comes back with the same digits, whatever they are, and everything else as `JSON` has it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../../../adapters/testing/arbitrary-values.ts'
import { Digits, parseJson, stringifyJson } from '../../../src/index.ts'
import { hasExactNumbers, parseForReading, writeJson } from '../../../src/json.ts'
import { holds } from '../../support/property.ts'

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
  anyText(10).map((text) => JSON.stringify(text)),
  fc.constantFrom('"1.50"', '": 1.50,"', '"\\"0.0000001"', '"[9007199254740993]"', '"\\u00e9"'),
)
/** JSON text of any shape, with white space wherever it is allowed. */
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

/** The tokens of JSON text without white space, with escapes in strings resolved and members in their given order. */
const tokens = (text: string): string[] =>
  Array.from(text.matchAll(/"(?:[^"\\]|\\.)*"|[^\s"[\]{},:]+|[[\]{},:]/g), ([token]) =>
    token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token,
  )

/** Whether there are members named like array indexes, which JavaScript moves to the front. */
const hasIndexNames = (text: string): boolean => /"(?:0|[1-9]\d{0,9})"\s*:/.test(text)

describe('JSON text that is parsed and written again', () => {
  test('has the same tokens, every digit of every number', () =>
    holds(
      jsonText.filter((text) => !hasIndexNames(text)),
      2000,
      (text) => {
        expect(tokens(stringifyJson([parseJson(text)]).slice(1, -1))).toEqual(tokens(text))
      },
    ))

  test('is refused if JSON.parse refuses it, however it was spoilt', () =>
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

  test('is what JSON.parse makes of it, if that is exact', () =>
    holds(fc.json(), 500, (text) => {
      if (hasExactNumbers(text)) return
      expect(parseJson(text)).toStrictEqual(JSON.parse(text))
    }))

  test('is read with exact integers and rounded other numbers', () =>
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
])('%s is parsed with every digit', (text, value) => {
  expect(parseJson(text)).toEqual(value)
})

/** Texts in which something looks like a number that needs care, but is no number or is out of place. */
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
  '%s is not JSON',
  (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  },
)

test('digits cannot be written by plain JSON by mistake', () => {
  expect(() => JSON.stringify({ a: new Digits('1.50') })).toThrow(TypeError)
  expect(writeJson({ a: new Digits('1.50'), b: 2n ** 60n })).toEqual({ json: '{"a":1.50,"b":1152921504606846976}', exact: true })
  expect(writeJson({ a: 1.5, b: undefined })).toEqual({ json: '{"a":1.5}', exact: false })
})

describe('a number', () => {
  test.each([
    ['1234567890123456', 1234567890123456],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['-9007199254740993', -9007199254740993n],
    ['0.1234567890123456', 0.1234567890123456],
    ['1e+21', 1e21],
    ['1e-7', 1e-7],
    ['0', 0],
  ])('%s is read as written', (text, value) => {
    expect(parseJson(text)).toBe(value)
    expect(parseForReading(text)).toBe(value)
    expect(parseJson(`{"a":[${text},1.50]}`)).toEqual({ a: [value, new Digits('1.50')] })
    expect(hasExactNumbers(text)).toBe(typeof value === 'bigint')
  })

  test.each(['1.50', '-0', '1e5', '0.00000001', '1E+21'])('%s keeps its digits, except for readers', (text) => {
    expect(parseJson(text)).toEqual(new Digits(text))
    expect(parseForReading(text)).toBe(Number(text))
    expect(hasExactNumbers(text)).toBe(true)
  })

  test('with digits to keep cannot be written by JSON.stringify, and says so', () => {
    expect(() => JSON.stringify(new Digits('1.50'))).toThrow('stringifyJson')
    expect(writeJson({ a: new Digits('1.50'), b: 5n })).toEqual({ json: '{"a":1.50,"b":5}', exact: true })
    expect(writeJson({ b: 5n })).toEqual({ json: '{"b":5}', exact: false })
  })
})

describe('beside numbers that need their digits', () => {
  test('everything else is parsed as by JSON.parse', () => {
    expect(parseForReading('null')).toBeNull()
    expect(parseForReading('true')).toBe(true)
    expect(parseForReading('"1.50"')).toBe('1.50')
    expect(parseJson('[null,true,"x",{"n":null},[],1.50]')).toEqual([null, true, 'x', { n: null }, [], new Digits('1.50')])
  })

  test('strings that look like placeholders of numbers are strings', () => {
    expect(parseJson(String.raw`["\u0001#2",5,"\u0001",1.50]`)).toEqual(['\u0001#2', 5, '\u0001', new Digits('1.50')])
  })

  test('the last of two members with the same name counts', () => {
    expect(parseJson('{"b":1.50,"b":2}')).toEqual({ b: 2 })
    expect(parseJson(String.raw`{"a":"\u0001","b":1.50,"b":2}`)).toEqual({ a: '\u0001', b: 2 })
    expect(parseJson(String.raw`{"a":"\u0001","b":2,"b":1.50}`)).toEqual({ a: '\u0001', b: new Digits('1.50') })
  })

  test('members can be added, changed and deleted', () => {
    const value = parseJson('{"a":1.50,"b":2.50}') as Record<string, unknown>
    value['a'] = 5
    delete value['b']
    expect([value, Object.keys(value)]).toEqual([{ a: 5 }, ['a']])
  })
})
