/** Where a record is: its block and its place there, also beyond 2^32, where bits would not do. */
import { expect, test } from 'vitest'
import { blockBySize, blockNumber, firstOfBlock, placeInBlock, recordsInBlock, recordsPerBlock } from '../../../src/layout/ordinals.ts'

test.each([0, 2, 4])('a log whose blocks hold 2^%i records', (shift) => {
  const log = { shift }
  const size = recordsPerBlock(log)
  expect(size).toBe([1, 2, 4, 8, 16][shift])
  for (const ordinal of [0, 1, size - 1, size, size + 1, 5 * size + 3, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7]) {
    const [block, place] = [blockNumber(log, ordinal), placeInBlock(log, ordinal)]
    expect([block, place]).toEqual([Math.floor(ordinal / size), ordinal % size])
    expect(blockBySize(size, ordinal)).toBe(block)
    expect(firstOfBlock(log, block) + place).toBe(ordinal)
  }
})

test('the last block holds what is left, and those behind it nothing', () => {
  const log = { shift: 3 }
  expect([0, 1, 2, 3].map((number) => recordsInBlock(log, number, 17))).toEqual([8, 8, 1, -7])
  expect(recordsInBlock(log, 2 ** 30, 2 ** 33 + 5)).toBe(5)
})
