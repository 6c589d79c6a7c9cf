/** Blocks at the sizes at which their form changes: many strings, long texts, numbers past two bytes. */
import { describe, expect, test } from 'vitest'
import { hex, utf8 } from '../../../src/bytes.ts'
import { Block } from '../../../src/layout/block.ts'
import { decodeHash, encodeHash } from '../../../src/layout/hash.ts'
import { bare, blockOf, comesBack, KEY, payloadOf, resource, row, sided, textOf } from './support.ts'

// This test comes first, since the room in which texts are put together grows with the longest of them.
test('a record of any length can be put together', () => {
  for (let length = 65_520; length < 65_545; length++) {
    const long = blockOf(bare, [row(1, 2, 0, [], `"v":"${'A'.repeat(length - 6)}"`)])
    expect(long.text(0).length).toBe(length)
    expect(long.json(0).length).toBe(length + 2)
    expect(long.json(0).at(-1)).toBe('}')
  }
  const longer = blockOf(bare, [row(1, 2, 0, [], `"v":"${'B'.repeat(300_000)}"`)])
  expect(longer.json(0) === `{"v":"${'B'.repeat(300_000)}"}`).toBe(true)
})

describe('blocks of any size', () => {
  const quoted = (count: number, value: (n: number) => string) => Array.from({ length: count }, (_, n) => `"${value(n)}"`).join()
  const four = (n: number) => String.fromCharCode(65 + (n % 26), 65 + (Math.floor(n / 26) % 26), 65 + Math.floor(n / 676), 33)

  test('hold up to 8192 shared strings, and spell out the others', () => {
    const rows = [row(1, 2, 3, ['a', 'b'], `"all":[${quoted(8200, four)},${quoted(8200, four)}]`)]
    const block = comesBack(sided, rows)
    expect(new DataView(block.region.bytes.buffer, block.region.bytes.byteOffset).getUint16(4, true)).toBe(8192)
  })

  test('hold any number of side strings, of which values share the first 8192', () => {
    const rows = Array.from({ length: 8200 }, (_, n) => row(1, n, 0, [four(n)], '"v":"A"'))
    for (const n of [0, 255, 256, 8191, 8192, 8193]) {
      const all = [...rows, row(1, 9000, 0, [four(0)], `"w":"${four(n)}"`)]
      const value = payloadOf(resource(false, 'a'), all)
      const block = Block.of(resource(false, 'a'), value, KEY)
      expect([block.count, textOf(block, 8200), block.side(8193, 0)]).toEqual([8201, `"w":"${four(n)}"`, four(8193)])
      const shared = n < 8192 ? [200 + (n >> 8), n & 255] : [4, ...utf8(four(n))]
      expect(Array.from(value.subarray(-shared.length))).toEqual(shared)
    }
  })

  test.each([
    ['many short values', Array.from({ length: 300 }, (_, n) => row(1, n, 3, ['', ''], `[${quoted(50, (m) => four(50 * n + m))}]`))],
    ['a long side', [row(1, 2, 3, ['s'.repeat(70_000), 't'], '"v":"A"'), row(1, 3, 0, ['u', 's'.repeat(70_000)], '"v":"B"')]],
    ['a long frame', [row(1, 2, 3, ['', ''], `"${'member'.repeat(12_000)}":"A"`)]],
    ['a long value', [row(1, 2, 3, ['', ''], `"v":"${'A'.repeat(70_000)}","w":"B"`)]],
    ['a value of long characters', [row(1, 2, 3, ['', ''], `"v":"${'€'.repeat(22_000)}","w":"B"`)]],
  ])('%s: numbers take four bytes', (_, rows) => {
    const block = comesBack(sided, rows)
    expect(block.region.bytes[6]).toBe(2 | 8)
  })

  test('with many short sides take four bytes per number', () => {
    const three = (n: number) => String.fromCharCode(65 + (n % 400), 65 + (Math.floor(n / 40) % 400), 65 + Math.floor(n / 1600))
    const rows = Array.from({ length: 22_000 }, (_, n) => row(1, n, 0, [three(n)], ''))
    const block = blockOf(resource(false, 'a'), rows)
    expect([block.count, block.region.bytes[6]]).toEqual([22_000, 8])
    for (const at of [0, 255, 256, 21_999]) expect([block.lo(at), block.side(at, 0)]).toEqual([at, three(at)])
  })

  test('of few records take two bytes per number', () => {
    expect(blockOf(sided, [row(1, 2, 3, ['a', 'b'], `"v":"${'A'.repeat(20_000)}"`)]).region.bytes[6]).toBe(2)
  })

  test('are made without touching values made before or after them', () => {
    const hashes = () => Array.from({ length: 400 }, (_, n) => encodeHash(KEY, { ordinal: n, failed: false }))
    const empty = Array.from({ length: 20 }, (_, n) => row(1, n, n, ['', ''], ''))
    const values = [...hashes(), payloadOf(sided, empty), ...hashes(), payloadOf(sided, empty), ...hashes()]
    expect(new Set(values.filter((one) => one.length > 100).map(hex)).size).toBe(1)
    for (const [at, value] of values.filter((one) => one.length < 100).entries()) expect(decodeHash(KEY, value).ordinal).toBe(at % 400)
  })
})
