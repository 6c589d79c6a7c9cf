/** What tests of blocks share: logs, rows, and blocks made of them. */
import { expect } from 'vitest'
import { Region, text, utf8 } from '../../../src/bytes.ts'
import { Block, type Place } from '../../../src/layout/block.ts'
import { encodeBlock } from '../../../src/layout/encode-block.ts'
import { finishedBlock, layOut, writeFinished } from '../../../src/layout/finished.ts'
import type { Finisher } from '../../../src/layout/finisher.ts'
import type { Row } from '../../../src/layout/row.ts'
import { payloadOf as unsealed } from '../../../src/layout/seal.ts'
import { type Resource, resource as resourceOf } from '../../../src/query.ts'
import { Apart, Sheet } from '../../../src/text/apart.ts'
import { takeApart } from '../../../src/text/writer.ts'

/** A log for tests, whose records say what they were made of. */
export const resource = (indexed: boolean, ...sides: string[]): Resource =>
  resourceOf({
    name: 'coin',
    kept: 'log',
    tag: 9,
    shift: 4,
    indexed,
    columns: Object.fromEntries(sides.map((name, column) => [name, column])),
    faces: { turned: sides.map((_, column) => sides.length - 1 - column), by: 0 },
    decode: (members, { id, text }) => ({ members, id, json: text }),
  })
export const bare = resource(false)
export const sided = resource(true, 'a', 'b')
export const KEY = Uint8Array.of(0x10, 9)

/** The values in the holes of a text. */
export const valuesOf = ({ sheet, from, cut, holes }: Apart): string[] =>
  Array.from({ length: holes }, (_, hole) => text(sheet.bytes, from + sheet.cuts[cut + 2 * hole]!, from + sheet.cuts[cut + 2 * hole + 1]!))

/** A row of one or two texts. */
export const row = (hi: number, lo: number, index: number, sides: string[], ...texts: string[]): Row => ({
  hi,
  lo,
  index,
  sides,
  texts: texts.map(takeApart),
  exact: false,
})
/** A text that is cut as `values` say, not as it would be by itself. */
export function cutAs(frame: string, values: readonly string[]): Apart {
  const pieces = frame.split('\u0000').map(utf8)
  const sheet = new Sheet(1000, 100)
  let at = 0
  const put = (bytes: Uint8Array): number => {
    sheet.bytes.set(bytes, at)
    at += bytes.length
    return at
  }
  put(pieces[0]!)
  for (const [hole, value] of values.entries()) {
    sheet.cuts[2 * hole] = at
    sheet.cuts[2 * hole + 1] = put(utf8(value))
    put(pieces[hole + 1]!)
  }
  return new Apart(sheet, 0, at, 0, values.length, frame, false)
}
/** The value of a block, without its seal. */
export const payloadOf = (of: Resource, rows: readonly Row[]): Uint8Array => unsealed(encodeBlock(KEY, of, rows))
export const blockOf = (of: Resource, rows: readonly Row[]): Block => Block.of(of, payloadOf(of, rows), KEY)
export const textOf = (block: Block, at: number): string => text(block.text(at))
/** A finisher that puts a word before each text and a semicolon after it. */
export const finisher = (id: number, word: string): Finisher => ({
  id,
  finish(records: readonly Place[]) {
    const [leads, ends]: [number[], number[]] = [[], []]
    let texts = ''
    for (const { block, at } of records) {
      texts += `${word}${textOf(block, at)};`
      leads.push(utf8(word).length)
      ends.push(utf8(texts).length)
    }
    return { by: id, bytes: utf8(`${texts}and more`), length: utf8(texts).length, leads, ends }
  },
})
const FIRST = finisher(7, 'é: ')
const SECOND = finisher(0xfedcba98, '')

/** The block with finished texts, amid other bytes. */
export function finished(block: Block, by: Finisher = FIRST, place: Uint8Array | number = KEY): Block {
  const layout = layOut(block.records, by)
  const region = Region.room(layout.bytes + 100)
  region.bytes.fill(0xee)
  const end = writeFinished(region, 64, layout)
  expect(end - 64).toBeLessThanOrEqual(layout.bytes)
  return new Block(block.resource, region, 64, end, place, block.sum)
}

/** What is sent for a record of a finished block. */
export const sent = (block: Block, at: number): string => text(block.region.bytes, block.bodyStart(at), block.bodyEnd(at))

/** Turns bigints into the numbers that `JSON.parse` gives. */
export const rounded = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value)

/** Checks that what went in comes out, stored and finished: texts, positions, sides, members, and rows that make the same bytes again. */
export function comesBack(of: Resource, rows: readonly Row[]): Block {
  const value = payloadOf(of, rows)
  const stored = Block.of(of, value, KEY)
  const once = finished(stored)
  const twice = finished(once, SECOND)
  expect([stored.finisher, once.finisher, twice.finisher]).toEqual([0, FIRST.id, SECOND.id])
  const run = finishedBlock(layOut(stored.records, FIRST, 'run'), KEY)
  for (const block of [stored, once, finishedBlock(layOut(stored.records, FIRST), KEY), twice, run]) {
    expect(block.count).toBe(rows.length)
    for (const [at, { hi, lo, index, sides, texts, exact }] of rows.entries()) {
      expect([block.hi(at), block.lo(at), block.index(at), block.isExact(at)]).toEqual([hi, lo, of.indexed ? index : 0, exact])
      expect(sides.map((_, column) => block.side(at, column))).toEqual(sides)
      for (const [face, apart] of texts.entries()) {
        const shown = face === 0 ? block : block.turned()
        const json = apart.text
        expect(textOf(shown, at) === json).toBe(true)
        if (block === run) expect(shown.mark(at)).toBe((face === 0 ? stored : stored.turned()).mark(at))
        if (block.finisher !== 0) expect(sent(shown, at) === (block.finisher === FIRST.id ? `é: ${json};` : `${json};`)).toBe(true)
        if (texts.length === 2 && sides.length > 0) {
          const [own, counterpart] = face === 0 ? [sides[0]!, sides.at(-1)!] : [sides.at(-1)!, sides[0]!]
          expect(shown.isLesser(at)).toBe(Buffer.compare(utf8(own), utf8(counterpart)) < 0)
        }
        const made = shown.made(at)
        if (made !== undefined) expect(JSON.stringify(made, rounded)).toBe(JSON.stringify(JSON.parse(`{${json}}`)))
      }
    }
    const again = payloadOf(
      of,
      rows.map((_, at) => block.row(at)),
    )
    expect(Buffer.compare(again, value)).toBe(0)
  }
  return stored
}
