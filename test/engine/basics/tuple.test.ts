/** Golden vectors of the key codec: what was once written must stay readable; and the order of keys is that of their elements. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../../../adapters/testing/arbitrary-values.ts'
import { compare, hex, utf8 } from '../../../src/bytes.ts'
import { type Element, readTuple, tuple } from '../../../src/tuple.ts'

test.each<[Element[], string]>([
  [[], ''],
  [[''], '0200'],
  [['A'], '024100'],
  [['\u0000'], '0200ff00'],
  [['a\u0000b'], '026100ff6200'],
  [['é😀'], '02c3a9f09f988000'],
  [['\u00ff'], '02c3bf00'],
  [[0n], '150000000000000000'],
  [[1n], '150000000000000001'],
  [[2n ** 32n], '150000000100000000'],
  [[2n ** 53n + 1n], '150020000000000001'],
  [[2n ** 63n - 1n], '157fffffffffffffff'],
  [['A', 7n], '024100150000000000000007'],
  [['A', 'B'], '024100024200'],
])('%o', (elements, bytes) => {
  expect(hex(tuple(elements))).toBe(bytes)
})

const shapes = [
  fc.tuple(anyText(4)),
  fc.tuple(fc.bigInt(0n, 2n ** 63n - 1n)),
  fc.tuple(fc.string({ unit: fc.constantFrom('\u0000', '\u0001', 'a', 'ÿ', '\u{10ffff}'), maxLength: 3 }), fc.bigInt(0n, 3n)),
  fc.tuple(...[1, 2].map(() => fc.string({ unit: fc.constantFrom('\u0000', 'a', '\u00ff'), maxLength: 3 }))),
] as fc.Arbitrary<Element[]>[]

const order = (a: Element, b: Element): number =>
  typeof a === 'string' ? compare(utf8(a), utf8(b as string)) : a < (b as bigint) ? -1 : a > (b as bigint) ? 1 : 0

test.each(shapes.map((shape, at) => [at, shape] as const))(
  'keys of one shape (%i) compare as their elements do, and none is a prefix of another except before FF',
  (_, shape) => {
    fc.assert(
      fc.property(shape, shape, (a, b) => {
        const wanted = a.map((element, at) => order(element, b[at]!)).find((sign) => sign !== 0) ?? 0
        const [x, y] = [tuple(a), tuple(b)]
        expect(Math.sign(compare(x, y))).toBe(Math.sign(wanted))
        if (x.length < y.length && compare(x, y.subarray(0, x.length)) === 0) expect(y[x.length]).toBe(0xff)
      }),
      { numRuns: 300 },
    )
  },
)

describe('elements are read back from bytes', () => {
  const anyShape = fc.array(
    fc.oneof(...shapes).map(([element]) => element!),
    { maxLength: 4 },
  )

  test('as they were written, even from the middle of a larger buffer', () => {
    fc.assert(
      fc.property(anyShape, fc.uint8Array({ maxLength: 3 }), (elements, before) => {
        const bytes = tuple(elements)
        const within = Uint8Array.of(...before, ...bytes, 0x15).subarray(before.length, before.length + bytes.length)
        expect(readTuple(within)).toEqual(elements)
      }),
      { numRuns: 500 },
    )
  })

  test('and from what is not a tuple, nothing is read', () => {
    for (const digits of [
      '15',
      '1500',
      '15000000000000000',
      '02',
      '0241',
      '0200ff',
      '02c3',
      '02c300',
      '0041',
      '16',
      '0300',

      '020015',
    ])
      expect(readTuple(Uint8Array.from(digits.match(/../g)!, (pair) => Number.parseInt(pair, 16))), digits).toBeUndefined()
    fc.assert(
      fc.property(anyShape, fc.nat(), fc.nat(255), (elements, at, byte) => {
        const bytes = tuple(elements)
        if (bytes.length > 0) bytes[at % bytes.length] = byte
        for (const some of [bytes, bytes.subarray(0, at % (bytes.length + 1))]) {
          const read = readTuple(some)
          if (read) expect(hex(tuple(read))).toBe(hex(some))
        }
      }),
      { numRuns: 500 },
    )
  })
})
