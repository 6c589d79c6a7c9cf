/** Blocks byte by byte, at the sizes where their form changes, and what is read of a record. */
import { describe, expect, test } from 'vitest'
import { crc32, hex, Region, SLACK, text, utf8 } from '../../../src/bytes.ts'
import { Block } from '../../../src/layout/block.ts'
import { encodeBlock } from '../../../src/layout/encode-block.ts'
import type { Row } from '../../../src/layout/row.ts'
import { SEAL_BYTES } from '../../../src/layout/seal.ts'
import { putTogether, takeApart } from '../../../src/layout/text.ts'
import type { Resource } from '../../../src/query.ts'

const resource = (indexed: boolean, ...sides: string[]): Resource<any> => ({
  name: 'coin',
  tag: 9,
  shift: 4,
  indexed,
  sides,
  decode: (members, id, json) => ({ members, id, json }),
})
const bare = resource(false)
const sided = resource(true, 'a', 'b')
const KEY = Uint8Array.of(0x10, 9)

/** A row of one or two texts. */
const row = (hi: number, lo: number, index: number, sides: string[], ...texts: string[]): Row => ({
  hi,
  lo,
  index,
  sides,
  texts: texts.map(takeApart),
  exact: false,
})
const payloadOf = (of: Resource<any>, rows: readonly Row[]): Uint8Array => {
  const value = encodeBlock(of, rows)
  return value.subarray(0, value.length - SEAL_BYTES)
}
const blockOf = (of: Resource<any>, rows: readonly Row[]): Block => new Block(of, payloadOf(of, rows), KEY)
const textOf = (block: Block, at: number): string => text(block.text(at))
const damage = (reason: string) => expect.objectContaining({ code: 'CORRUPT', fields: { key: '1009', reason } })

/** What went in comes out: texts, positions, sides, and the rows that make the same bytes again. */
function comesBack(of: Resource<any>, rows: readonly Row[]): Block {
  const value = payloadOf(of, rows)
  const block = new Block(of, value, KEY)
  expect(block.count).toBe(rows.length)
  for (const [at, { hi, lo, index, sides, texts }] of rows.entries()) {
    expect([block.hi(at), block.lo(at), block.index(at)]).toEqual([hi, lo, of.indexed ? index : 0])
    expect(sides.map((_, column) => block.side(at, column))).toEqual(sides)
    expect(textOf(block, at) === putTogether(texts[0]!)).toBe(true)
    if (texts[1]) expect(textOf(block.turned([]), at)).toBe(putTogether(texts[1]))
  }
  const again = payloadOf(
    of,
    rows.map((_, at) => block.row(at)),
  )
  expect(Buffer.compare(again, value)).toBe(0)
  return block
}

describe('the bytes of a block', () => {
  test('without records are eight', () => {
    for (const of of [bare, sided]) {
      const value = payloadOf(of, [])
      expect(Array.from(value)).toEqual([0, 0, 0, 0, 0, 0, of.indexed ? 2 : 0, of.sides.length])
      expect(new Block(of, value).count).toBe(0)
    }
  })

  test('are a table, strings, frames and bodies', () => {
    // Positions 2-1 and 3-4096: the ids are 8589934593 and 12884905984.
    const value = payloadOf(resource(false, 'who'), [
      { ...row(2, 1, 9, ['GA'], '"x":"YES!","id":"8589934593","n":12,"w":"YES!"'), exact: true },
      row(3, 4096, 9, ['YES!'], '"x":"YES!","id":"12884905984","n":3,"w":"GA"'),
    ])
    // "x":"□" spelled out, ,"id":"□" and ,"n":□ of the vocabulary, ,"w":"□" spelled out.
    const frame = '2278223a220022' + '0100' + '050b' + '2c2277223a220022'
    const wanted = [...[2, 0, 1, 0, 2, 0, 0, 1], ...[2, 0, 0, 0, 3, 0, 0, 0], ...[1, 0, 0, 0, 0, 16, 0, 0], ...[0, 0x80, 0, 0]]
    expect(Array.from(value.subarray(0, wanted.length))).toEqual(wanted)
    expect(hex(value.subarray(wanted.length))).toBe(
      [
        // lengths of the texts, ends of their bodies
        '2e00',
        '2c00',
        '0800',
        '1000',
        // sides: strings 0 and 1
        '0000',
        '0100',
        // ends of the strings, end of the frame
        '0200',
        '0600',
        '1300',
        hex(utf8('GAYES!')),
        frame,
        // string 1, the id, two bytes, string 1
        `c801e902${hex(utf8('12'))}c801`,
        // string 1, the id, one byte, two bytes: too short to be worth a string
        `c801e901${hex(utf8('3'))}02${hex(utf8('GA'))}`,
      ].join(''),
    )
  })

  test.each([
    ['the id', 'e9', '30064771080'],
    ['the id and the index', 'ea', '30064771080-5'],
    ['the ledger, though it is short', '0137', '7'],
    ['another id', `0b${hex(utf8('30064771081'))}`, '30064771081'],
    ['another index', `0d${hex(utf8('30064771080-6'))}`, '30064771080-6'],
    ['a longer id', `0c${hex(utf8('300647710801'))}`, '300647710801'],
    ['a short value', `03${hex(utf8('ABC'))}`, 'ABC'],
    ['a value as long as a side', 'c800', 'SIDE'],
    ['a value shorter than strings are', `03${hex(utf8('SID'))}`, 'SID'],
    ['66 characters', `42${'41'.repeat(66)}`, 'A'.repeat(66)],
    ['67 characters', `e843000000${'41'.repeat(67)}`, 'A'.repeat(67)],
    ['66 characters of three bytes', `c6${hex(utf8('€'.repeat(66)))}`, '€'.repeat(66)],
    ['300 characters', `e82c010000${'41'.repeat(300)}`, 'A'.repeat(300)],
    ['nothing', '00', ''],
  ])('hold %s as %s', (_, bytes, value) => {
    const rows = [row(7, 8, 5, ['SIDE', 'SID'], `"v":"${value}"`)]
    const block = comesBack(sided, rows)
    expect(hex(payloadOf(sided, rows)).endsWith(bytes)).toBe(true)
    const frame = '22763a'
    expect(hex(payloadOf(sided, rows)).length).toBeGreaterThan(bytes.length + frame.length)
    expect(block.token(0)).toBe('30064771080-5')
  })

  test.each([
    [2147483647, 'eb'],
    [1234, 'eb'],
    [123, `03${hex(utf8('123'))}`],
  ])('hold the ledger %i as %s', (hi, bytes) => {
    const rows = [row(hi, 8, 0, [], `"v":${hi}`)]
    comesBack(bare, rows)
    const whole = hex(payloadOf(bare, rows))
    expect(whole.endsWith(bytes)).toBe(true)
    expect(whole.endsWith(`00${bytes}`)).toBe(true)
  })

  test('hold the index of a record only where records have one', () => {
    const record = row(1, 2, 3, [], '"v":"A"')
    const [plain, indexed] = [payloadOf(bare, [record]), payloadOf(resource(true), [record])]
    expect(indexed.length - plain.length).toBe(4)
    expect([plain[6], indexed[6]]).toEqual([0, 2])
    expect(comesBack(bare, [record]).token(0)).toBe('4294967298')
    expect(comesBack(resource(true), [record]).token(0)).toBe('4294967298-3')
  })

  test('hold a value that comes twice once, where it has four characters', () => {
    const strings = (...texts: string[]) =>
      payloadOf(
        sided,
        texts.map((one) => row(7, 8, 5, ['SIDE', 'B'], one)),
      )[4]
    expect(strings('"v":"FOUR","w":"FOUR"')).toBe(3)
    expect(strings('"v":"FOUR"', '"v":"FOUR","w":"FOUR"')).toBe(3)
    expect(strings('"v":"FOUR","w":"FIVE!"')).toBe(2)
    expect(strings('"v":"TRI","w":"TRI","x":"B","y":"B"')).toBe(2)
    expect(strings('"v":"SIDE","w":"SIDE"')).toBe(2)
    // What begins with the id follows from it, nearly always.
    expect(strings('"v":"30064771080","w":"30064771080"')).toBe(2)
    expect(strings('"v":"30064771080-5","w":"30064771080-5"')).toBe(2)
    expect(strings('"v":"X30064771080","w":"X30064771080"')).toBe(3)
  })
})

describe('blocks of any size', () => {
  const valuesOf = (count: number, value: (n: number) => string) => Array.from({ length: count }, (_, n) => `"${value(n)}"`).join()
  const four = (n: number) => String.fromCharCode(65 + (n % 26), 65 + (Math.floor(n / 26) % 26), 65 + Math.floor(n / 676), 33)

  test('hold up to 8192 strings that values share, and spell out the others', () => {
    const rows = [row(1, 2, 3, ['a', 'b'], `"all":[${valuesOf(8200, four)},${valuesOf(8200, four)}]`)]
    const block = comesBack(sided, rows)
    expect(new DataView(block.region.bytes.buffer, block.region.bytes.byteOffset).getUint16(4, true)).toBe(8192)
  })

  test('hold as many side strings as there are, of which values share the first 8192', () => {
    const rows = Array.from({ length: 8200 }, (_, n) => row(1, n, 0, [four(n)], '"v":"A"'))
    for (const n of [0, 255, 256, 8191, 8192, 8193]) {
      const all = [...rows, row(1, 9000, 0, [four(0)], `"w":"${four(n)}"`)]
      const value = payloadOf(resource(false, 'a'), all)
      const block = new Block(resource(false, 'a'), value, KEY)
      expect([block.count, textOf(block, 8200), block.side(8193, 0)]).toEqual([8201, `"w":"${four(n)}"`, four(8193)])
      const shared = n < 8192 ? [200 + (n >> 8), n & 255] : [4, ...utf8(four(n))]
      expect(Array.from(value.subarray(-shared.length))).toEqual(shared)
    }
  })

  test.each([
    ['many short values', [row(1, 2, 3, ['', ''], `"all":[${valuesOf(14_000, four)}]`)]],
    ['a long side', [row(1, 2, 3, ['s'.repeat(70_000), 't'], '"v":"A"'), row(1, 3, 0, ['u', 's'.repeat(70_000)], '"v":"B"')]],
    ['a long frame', [row(1, 2, 3, ['', ''], `"${'member'.repeat(12_000)}":"A"`)]],
    ['a long value', [row(1, 2, 3, ['', ''], `"v":"${'A'.repeat(70_000)}","w":"B"`)]],
    ['a value of long characters', [row(1, 2, 3, ['', ''], `"v":"${'€'.repeat(22_000)}","w":"B"`)]],
  ])('%s take four bytes a number', (_, rows) => {
    const block = comesBack(sided, rows)
    expect(block.region.bytes[6]).toBe(2 | 8)
  })

  test('many short sides take four bytes a number', () => {
    const three = (n: number) => String.fromCharCode(65 + (n % 40), 65 + (Math.floor(n / 40) % 40), 65 + Math.floor(n / 1600))
    const rows = Array.from({ length: 22_000 }, (_, n) => row(1, n, 0, [three(n)], ''))
    const block = blockOf(resource(false, 'a'), rows)
    expect([block.count, block.region.bytes[6]]).toEqual([22_000, 8])
    for (const at of [0, 255, 256, 21_999]) expect([block.lo(at), block.side(at, 0)]).toEqual([at, three(at)])
  })

  test('few records take two bytes a number', () => {
    expect(blockOf(sided, [row(1, 2, 3, ['a', 'b'], `"v":"${'A'.repeat(20_000)}"`)]).region.bytes[6]).toBe(2)
  })

  test('written one after another do not share bytes', () => {
    const first = payloadOf(sided, [row(1, 2, 3, ['a', 'b'], '"v":"A"')])
    const before = hex(first)
    const empty = Array.from({ length: 200 }, (_, n) => row(1, n, n, ['', ''], ''))
    const rest = Array.from({ length: 5 }, () => payloadOf(sided, empty))
    expect(hex(first)).toBe(before)
    expect(new Set(rest.map(hex)).size).toBe(1)
  })
})

describe('a record of a block', () => {
  const rows = [
    row(7, 8, 5, ['one', 'two'], '"v":"A","n":1'),
    row(7, 9, 6, ['two', ''], '"v":"B€","n":2'),
    { ...row(7, 10, 7, ['', 'one'], '"v":"C","n":12345678901234567890,"r":1.50'), exact: true },
  ]
  const block = blockOf(sided, rows)

  test('is read as bytes, as JSON, as members, as what its resource makes of it', () => {
    expect(textOf(block, 1)).toBe('"v":"B€","n":2')
    expect(block.json(1)).toBe('{"v":"B€","n":2}')
    expect(block.members(1)).toEqual({ v: 'B€', n: 2 })
    expect(block.record(1)).toEqual({ members: { v: 'B€', n: 2 }, id: 30064771081n, json: '{"v":"B€","n":2}' })
    // Where it says so, digits that JSON.parse would change are kept.
    expect(block.members(2)).toEqual({ v: 'C', n: 12345678901234567890n, r: 1.5 })
    expect([block.row(1).exact, block.row(2).exact]).toEqual([false, true])
    expect(blockOf(sided, [{ ...rows[2]!, exact: false }]).members(0)['n']).toBe(12345678901234567000)
  })

  test('has its side columns in place', () => {
    const { bytes } = block.region
    for (const [at, { sides }] of rows.entries())
      for (const [column, side] of sides.entries()) {
        const start = block.sideStart(at, column)
        expect(block.sideLength(at, column)).toBe(side.length)
        expect(text(bytes, start, start + side.length)).toBe(side)
        expect([block.side(at, column), block.side(at, column)]).toEqual([side, side])
      }
  })

  test('is written behind what is there, and says where it ends', () => {
    const out = new Region(new Uint8Array(40))
    const end = block.write(1, out, 5)
    expect([end, block.textBytes(1), text(out.bytes, 5, end)]).toEqual([5 + 16, 16, '"v":"B€","n":2'])
  })

  test('of any length has room where it is put together', () => {
    for (let length = 65_520; length < 65_545; length++) {
      const long = blockOf(bare, [row(1, 2, 0, [], `"v":"${'A'.repeat(length - 6)}"`)])
      expect(long.text(0).length).toBe(length)
      expect(long.json(0).length).toBe(length + 2)
      expect(long.json(0).at(-1)).toBe('}')
    }
    const longer = blockOf(bare, [row(1, 2, 0, [], `"v":"${'B'.repeat(300_000)}"`)])
    expect(longer.json(0) === `{"v":"${'B'.repeat(300_000)}"}`).toBe(true)
  })

  test('is read from a value with nothing behind it', () => {
    const value = payloadOf(sided, rows)
    for (const behind of [0, 1, 2, 3, 4, 5]) {
      const around = new Uint8Array(40 + value.length + behind)
      around.set(value, 40)
      const inside = new Block(sided, around.subarray(40, 40 + value.length), KEY)
      expect([textOf(inside, 2), textOf(inside, 0)]).toEqual(['"v":"C","n":12345678901234567890,"r":1.50', '"v":"A","n":1'])
    }
    expect(SLACK).toBe(3)
  })
})

describe('a block', () => {
  const rows = [row(7, 8, 5, ['one', 'two'], '"v":"A"'), row(7, 9, 6, ['two', ''], '"v":"B"')]
  const value = payloadOf(sided, rows)

  test('weighs its bytes and what it needs to be read', () => {
    expect(new Block(sided, value).weight).toBe(value.length + 400)
  })

  test('has a checksum, of its seal or of its bytes and key', () => {
    expect(new Block(sided, value, KEY, 77).sum).toBe(77)
    const block = new Block(sided, value, KEY)
    expect(block.sum).toBe(crc32(value, crc32(KEY)))
    expect(block.sum).toBe(crc32(value, crc32(KEY)))
    expect(new Block(sided, value, Uint8Array.of(1)).sum).not.toBe(block.sum)
  })

  test('that is damaged says how', () => {
    const opened =
      (bytes: Uint8Array, of = sided) =>
      () =>
        new Block(of, bytes, KEY)
    const changed = (at: number, to: number) => {
      const bytes = Uint8Array.from(value)
      bytes[at] = to
      return bytes
    }
    for (const length of [0, 3, 7]) expect(opened(value.subarray(0, length))).toThrow(damage('the block is too short'))
    expect(opened(payloadOf(sided, []), resource(true, 'a'))).toThrow(damage('the block has another shape'))
    expect(opened(changed(7, 3))).toThrow(damage('the block has another shape'))
    // The table alone would be longer than the block.
    expect(opened(changed(1, 5))).toThrow(damage('the block has another shape'))
    expect(opened(value.subarray(0, 40))).toThrow(damage('the block has another shape'))
    expect(opened(value.subarray(0, value.length - 1))).toThrow(damage('the block has another length'))
    expect(opened(Uint8Array.from([...value, 0]))).toThrow(damage('the block has another length'))
    // The length of the first text stands behind positions and frames.
    const at = 8 + 12 * 2 + 2 * 2
    expect(value[at]).toBe('"v":"A"'.length)
    const wrong = opened(changed(at, 6))()
    expect(() => wrong.text(0)).toThrow(damage('a text of the block has another length'))
    expect(textOf(wrong, 1)).toBe('"v":"B"')
  })
})

describe('a block of records with two faces', () => {
  const turnable = [
    row(7, 8, 5, ['one', 'two'], '"base":"A","n":1', '"counter":"A!","n":-1'),
    row(7, 9, 6, ['two', ''], '"base":"BB","n":22', '"counter":"BB!","n":-22'),
    { ...row(7, 10, 7, ['x', 'y'], '"base":"C","n":1.50', '"counter":"C!","n":2.50'), exact: true },
  ]

  test('shows either, with side columns in the order asked for', () => {
    comesBack(sided, turnable)
    const block = blockOf(sided, turnable)
    expect(block.region.bytes[6]).toBe(2 | 4)
    const turned = block.turned([1, 0])
    expect(turned.json(1)).toBe('{"counter":"BB!","n":-22}')
    expect(block.json(1)).toBe('{"base":"BB","n":22}')
    expect([turned.side(0, 0), turned.side(0, 1), block.side(0, 0)]).toEqual(['two', 'one', 'one'])
    expect([turned.token(1), turned.id(1)]).toEqual([block.token(1), block.id(1)])
    expect([0, 1, 2].map((at) => [block.textBytes(at), turned.textBytes(at)])).toEqual([
      [16, 21],
      [18, 23],
      [19, 23],
    ])
    expect(block.row(1).texts.map(putTogether)).toEqual(['"base":"BB","n":22', '"counter":"BB!","n":-22'])
  })

  test('is turned once, and weighs what hangs on either', () => {
    const block = blockOf(sided, turnable)
    const before = block.weight
    const turned = block.turned([1, 0])
    expect(block.turned([1, 0])).toBe(turned)
    expect([turned.weight, block.weight - before]).toEqual([400, 400])
    const page = () =>
      turned.attach(
        'page',
        () => 'text',
        () => 30,
      )
    page()
    expect([turned.weight, block.weight - before]).toEqual([430, 430])
    const grown: number[] = []
    block.grew = (bytes) => grown.push(bytes)
    turned.attach(
      'other page',
      () => 'text',
      () => 8,
    )
    expect([grown, block.weight - before]).toEqual([[8], 438])
  })
})
