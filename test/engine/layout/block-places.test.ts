/** Where records are: block and place follow from the ordinal, also beyond 32 bits. */
import { expect, test } from 'vitest'
import { blockBySize, blockNumber, firstOfBlock, placeInBlock, recordsInBlock, recordsPerBlock } from '../../../src/layout/ordinals.ts'

test.each([0, 2, 5])('an ordinal is the first of its block and the place there, with 2^%i records a block', (shift) => {
  const log = { shift }
  const size = recordsPerBlock(log)
  expect(size).toBe(2 ** shift)
  for (const ordinal of [0, 1, 31, 32, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + 7, 2 ** 40 + 13, 2 ** 53 - 1]) {
    const [number, place] = [blockNumber(log, ordinal), placeInBlock(log, ordinal)]
    expect([number, place]).toEqual([Math.floor(ordinal / size), ordinal % size])
    expect(blockBySize(size, ordinal)).toBe(number)
    expect(firstOfBlock(log, number) + place).toBe(ordinal)
  }
})

test('a block holds what its log counts, up to its size', () => {
  const held = (count: number) => [0, 1, 2].map((number) => recordsInBlock({ shift: 2 }, number, count))
  expect([0, 3, 4, 6, 12].map(held)).toEqual([
    [0, -4, -8],
    [3, -1, -5],
    [4, 0, -4],
    [4, 2, -2],
    [4, 4, 4],
  ])
})
