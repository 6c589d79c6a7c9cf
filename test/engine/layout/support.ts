/** What tests of blocks share: logs, rows, and blocks made of them. */
import { expect } from 'vitest'
import { Region, text } from '../../../src/bytes.ts'
import { Block } from '../../../src/layout/block.ts'
import { encodeBlock } from '../../../src/layout/encode-block.ts'
import type { Row } from '../../../src/layout/row.ts'
import { SEAL_BYTES } from '../../../src/layout/seal.ts'
import { putTogether, takeApart } from '../../../src/layout/text.ts'
import type { Resource } from '../../../src/query.ts'

/** A log of its own, whose records say what they were made of. */
export const resource = (indexed: boolean, ...sides: string[]): Resource<any> => ({
  name: 'coin',
  tag: 9,
  shift: 4,
  indexed,
  sides,
  decode: (members, id, json) => ({ members, id, json }),
})
export const bare = resource(false)
export const sided = resource(true, 'a', 'b')
export const KEY = Uint8Array.of(0x10, 9)

/** A row of one or two texts. */
export const row = (hi: number, lo: number, index: number, sides: string[], ...texts: string[]): Row => ({
  hi,
  lo,
  index,
  sides,
  texts: texts.map(takeApart),
  exact: false,
})
/** The value of a block, without its seal. */
export const payloadOf = (of: Resource<any>, rows: readonly Row[]): Uint8Array => {
  const value = encodeBlock(of, rows)
  return value.subarray(0, value.length - SEAL_BYTES)
}
export const blockOf = (of: Resource<any>, rows: readonly Row[]): Block => Block.of(of, payloadOf(of, rows), KEY)
export const textOf = (block: Block, at: number): string => text(block.text(at))
/** The block with its texts put together, amid other bytes. */
export function unfolded(block: Block, place: Uint8Array | number = KEY): Block {
  const region = Region.room(block.plainBytes + 100)
  region.bytes.fill(0xee)
  const end = block.unfold(region, 64)
  expect(end - 64).toBeLessThanOrEqual(block.plainBytes)
  return new Block(block.resource, region, 64, end, place, block.sum)
}

/** What went in comes out, as it is stored and unfolded: texts, positions, sides, and the rows that make the same bytes again. */
export function comesBack(of: Resource<any>, rows: readonly Row[]): Block {
  const value = payloadOf(of, rows)
  const stored = Block.of(of, value, KEY)
  const plain = unfolded(stored)
  expect([stored.plain, plain.plain]).toEqual([false, true])
  for (const block of [stored, plain, stored.kept(), unfolded(plain)]) {
    expect(block.count).toBe(rows.length)
    for (const [at, { hi, lo, index, sides, texts, exact }] of rows.entries()) {
      expect([block.hi(at), block.lo(at), block.index(at), block.isExact(at)]).toEqual([hi, lo, of.indexed ? index : 0, exact])
      expect(sides.map((_, column) => block.side(at, column))).toEqual(sides)
      expect(textOf(block, at) === putTogether(texts[0]!)).toBe(true)
      if (texts[1]) expect(textOf(block.turned([]), at)).toBe(putTogether(texts[1]))
    }
    const again = payloadOf(
      of,
      rows.map((_, at) => block.row(at)),
    )
    expect(Buffer.compare(again, value)).toBe(0)
  }
  return stored
}
