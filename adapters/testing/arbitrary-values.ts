/** Values at the limits: account names that break keys and paths, numbers past what JavaScript and 64 bits hold, JSON of every kind. */
import fc from 'fast-check'
import { Digits } from '../../src/index.ts'
import type { AnyMembers } from './naive-records.ts'

export const accountPool = [
  'GALICE',
  'GBOB',
  'GCAROL',
  'a/b?c=d&e#f',
  'nul\u0000',
  'nul\u0000\u00ffin',
  '😀 é\u2028',
  '"q\\uote",',
  ',"account_sequence":1,',
  '%2F..',
]
/** Any code point. Unlike the unit `binary`, it needs no table of all of them, which takes a second to make. */
const codePoint = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0x10f7ff }))
  .map((number) => String.fromCodePoint(number < 0xd800 ? number : number + 0x800))
/** Text of any characters, but for halves of surrogate pairs. */
export const anyText = (maxLength: number): fc.Arbitrary<string> => fc.string({ unit: codePoint, maxLength })

export const few = <T>(item: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<T[]> => fc.array(item, { maxLength, size: 'max' })
export const sometimes = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(item, { nil: undefined, freq: 2 })
/** Omits members that are undefined, as JSON would. */
export const members = (shape: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<AnyMembers> =>
  fc.record(shape).map((record) => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)))

export const accountId: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...accountPool.slice(0, 3)) },
  fc.constantFrom(...accountPool),
)
const edge = fc.constantFrom(0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n)
/** A 64-bit integer in one of the forms that input may use. */
export const int64: fc.Arbitrary<number | bigint | string> = fc
  .tuple(fc.oneof(edge, fc.bigInt(0n, 2n ** 63n - 1n)), fc.constantFrom('bigint', 'text', 'number'))
  .map(([value, form]) => (form === 'text' ? String(value) : form === 'number' && value < 2n ** 53n ? Number(value) : value))
const digits = fc.constantFrom(
  '1.50',
  '0.0000001',
  '-0',
  '-0.0',
  '1E400',
  '1e5',
  '123456789.123456789123456789',
  '10000000000000000000000.5',
)
export const oddNumber: fc.Arbitrary<number | bigint | Digits> = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(2 ** 53 - 1, 2 ** 53, -(2 ** 60), 1e21, 123456789012345680000),
  fc.bigInt(-(2n ** 70n), 2n ** 70n),
  digits.map((text) => new Digits(text)),
)
export const odd: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.oneof(fc.constantFrom(null, true, false, undefined), oddNumber, anyText(8)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.string({ maxLength: 4 }).map(safeName), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value

function safeName(name: string): string {
  return name === '__proto__' ? 'proto' : name
}
const openName = fc.oneof(
  fc.constantFrom('memo', 'source', 'constructor', '0', 'base_liquidity_pool_id', 'counter_x', 'to', 'from', 'effects'),
  fc.string({ unit: 'grapheme', maxLength: 4 }).map((name) => `x${name}`),
)
export const open: fc.Arbitrary<AnyMembers> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.dictionary(openName, odd, { maxKeys: 4, noNullPrototype: true }) },
)
