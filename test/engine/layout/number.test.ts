/** Numbers read from bytes are those of JSON.parse, except integers past 2^53, which keep every digit. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../src/bytes.ts'
import { numberIn, numberOf } from '../../../src/layout/number.ts'

const wanted = (text: string): number | bigint => {
  const value = JSON.parse(text) as number
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value
}
/** Reads a number from amid other bytes. */
const read = (text: string): number | bigint => numberIn(utf8(`7${text}7`), 1, 1 + text.length)

const digits = (max: number): fc.Arbitrary<string> =>
  fc.tuple(fc.integer({ min: 1, max: 9 }), fc.stringMatching(new RegExp(`^\\d{0,${max}}$`))).map(([first, rest]) => `${first}${rest}`)
const numbers = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), digits(24)),
    fc.option(fc.stringMatching(/^\d{1,24}$/)),
    fc.option(fc.integer({ min: -30, max: 30 })),
  )
  .map(([sign, whole, part, power]) => `${sign}${whole}${part === null ? '' : `.${part}`}${power === null ? '' : `e${power}`}`)

describe('a number', () => {
  test('is what JSON.parse makes of it, or a bigint if it is an integer past 2^53', () => {
    fc.assert(
      fc.property(numbers, (text) => {
        expect(read(text)).toBe(wanted(text))
        expect(numberOf(text)).toBe(wanted(text))
      }),
    )
  })

  test('of any number of digits is right at every edge', () => {
    const edges = [53, 63, 64].flatMap((bits) => [-1n, 0n, 1n].map((more) => 2n ** BigInt(bits) + more))
    const tens = Array.from({ length: 22 }, (_, power) => 10n ** BigInt(power)).flatMap((ten) => [ten - 1n, ten, ten + 1n])
    for (const text of [...edges, ...tens].map(String)) expect(read(text)).toBe(wanted(text))
  })
})
