/** Blocks byte by byte, what is read of a record, and how damage is reported. */
import { describe, expect, test } from 'vitest'
import { crc32, hex, Region, SLACK, text, utf8 } from '../../../src/bytes.ts'
import { Block } from '../../../src/layout/block.ts'
import { blockKey } from '../../../src/layout/keys.ts'
import { bare, blockOf, comesBack, finished, KEY, payloadOf, resource, row, sided, textOf } from './support.ts'

const damage = (reason: string) => expect.objectContaining({ code: 'CORRUPT', fields: { key: '1009', reason } })

describe('the bytes of a block', () => {
  test('without records are eight bytes', () => {
    for (const of of [bare, sided]) {
      const value = payloadOf(of, [])
      expect(Array.from(value)).toEqual([0, 0, 0, 0, 0, 0, of.indexed ? 2 : 0, of.sides.length])
      expect(Block.of(of, value).count).toBe(0)
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
    const wanted = [...[2, 0, 1, 0, 2, 0, 0, 1], ...[2, 0, 0, 0, 3, 0, 0, 0], ...[1, 0, 0, 0, 0, 16, 0, 0], ...[0, 0xc0, 0, 0x40]]
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
    ['the ledger, even if it is short', '0137', '7'],
    ['another id', `0b${hex(utf8('30064771081'))}`, '30064771081'],
    ['another index', `0d${hex(utf8('30064771080-6'))}`, '30064771080-6'],
    ['a longer id', `0c${hex(utf8('300647710801'))}`, '300647710801'],
    ['a short value', `03${hex(utf8('ABC'))}`, 'ABC'],
    ['a value as long as a side', 'c800', 'SIDE'],
    ['a value shorter than strings are', `03${hex(utf8('SID'))}`, 'SID'],
    ['199 bytes', `c7${'41'.repeat(199)}`, 'A'.repeat(199)],
    ['200 bytes', `e8c8000000${'41'.repeat(200)}`, 'A'.repeat(200)],
    ['201 bytes that are 67 characters', `e8c9000000${hex(utf8('€'.repeat(67)))}`, '€'.repeat(67)],
    ['66 characters of three bytes', `c6${hex(utf8('€'.repeat(66)))}`, '€'.repeat(66)],
    ['300 characters', `e82c010000${'41'.repeat(300)}`, 'A'.repeat(300)],
    ['nothing', '00', ''],
  ])('hold %s as %s', (_, bytes, value) => {
    const rows = [row(7, 8, 5, ['SIDE', 'SID'], `"v":"${value}"`)]
    const block = comesBack(sided, rows)
    comesBack(sided, [row(7, 8, 5, ['SIDE', 'SID'], `"v":"${value}","n":7,"v":"${value}","w":"ABC"`), ...rows])
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
    comesBack(bare, [row(hi, 8, 0, [], `"v":${hi},"w":"ABC","x":${hi}`)])
    const whole = hex(payloadOf(bare, rows))
    expect(whole.endsWith(bytes)).toBe(true)
    expect(whole.endsWith(`00${bytes}`)).toBe(true)
  })

  test('hold the index of a record only if records have one', () => {
    const record = row(1, 2, 3, [], '"v":"A"')
    const [plain, indexed] = [payloadOf(bare, [record]), payloadOf(resource(true), [record])]
    expect(indexed.length - plain.length).toBe(4)
    expect([plain[6], indexed[6]]).toEqual([0, 2])
    expect(comesBack(bare, [record]).token(0)).toBe('4294967298')
    expect(comesBack(resource(true), [record]).token(0)).toBe('4294967298-3')
  })

  test('hold a repeated value once if it has four bytes or more', () => {
    const strings = (...texts: string[]) =>
      payloadOf(
        sided,
        texts.map((one) => row(7, 8, 5, ['SIDE', 'B'], one)),
      )[4]
    expect(strings('"v":"FOUR","w":"FOUR"')).toBe(3)
    expect(strings('"v":"FOUR"', '"v":"FOUR","w":"FOUR"')).toBe(3)
    expect(strings('"v":"FOUR","w":"FIVE!"')).toBe(2)
    expect(strings('"v":"TRI","w":"TRI","x":"B","y":"B"')).toBe(2)
    // As bytes: these two characters take four.
    expect(strings('"v":"éé","w":"éé","x":"aé","y":"aé"')).toBe(3)
    expect(strings('"v":"SIDE","w":"SIDE"')).toBe(2)
    // A value that begins with the id nearly always follows from it.
    expect(strings('"v":"30064771080","w":"30064771080"')).toBe(2)
    expect(strings('"v":"30064771080-5","w":"30064771080-5"')).toBe(2)
    expect(strings('"v":"X30064771080","w":"X30064771080"')).toBe(3)
    // If it does not, it is one of the strings that are there in any case, or is spelled out.
    const value = '30064771080-another'
    const [held, spelled] = [value, 'SIDE'].map((side) => payloadOf(sided, [row(7, 8, 5, [side, 'B'], `"v":"${value}","w":"${value}"`)]))
    expect([held![4], spelled![4], text(held!).split('another').length, text(spelled!).split('another').length]).toEqual([2, 2, 2, 3])
  })
})

describe('a record of a block', () => {
  const rows = [
    row(7, 8, 5, ['one', 'two'], '"v":"A","n":1'),
    row(7, 9, 6, ['two', ''], '"v":"B€","n":2'),
    { ...row(7, 10, 7, ['', 'one'], '"v":"C","n":12345678901234567890,"r":1.50'), exact: true },
  ]
  const block = blockOf(sided, rows)

  test('is read as bytes, as JSON, as members, and as what its resource makes of it', () => {
    expect(textOf(block, 1)).toBe('"v":"B€","n":2')
    expect(block.json(1)).toBe('{"v":"B€","n":2}')
    expect(block.members(1)).toEqual({ v: 'B€', n: 2 })
    expect(block.record(1)).toEqual({ members: { v: 'B€', n: 2 }, id: 30064771081n, json: '{"v":"B€","n":2}' })
    // If it is marked as exact, digits that JSON.parse would change are kept.
    expect(block.members(2)).toEqual({ v: 'C', n: 12345678901234567890n, r: 1.5 })
    expect([block.row(1).exact, block.row(2).exact]).toEqual([false, true])
    // If it is not, they are rounded if the text has to be parsed.
    const [unsaid, parsed] = ['"n":12345678901234567890', '"n":12345678901234567890,"v":"€"'].map((text) =>
      blockOf(bare, [row(7, 9, 0, [], text)]),
    )
    expect([unsaid!.members(0)['n'], parsed!.members(0)['n']]).toEqual([12345678901234567890n, 12345678901234567000])
  })

  test('has its side columns in place in the bytes', () => {
    const { bytes } = block.region
    for (const [at, { sides }] of rows.entries())
      for (const [column, side] of sides.entries()) {
        const start = block.sideStart(at, column)
        expect(block.sideLength(at, column)).toBe(side.length)
        expect(text(bytes, start, start + side.length)).toBe(side)
        expect([block.side(at, column), block.side(at, column)]).toEqual([side, side])
      }
  })

  test('is written after what is there, and says where it ends', () => {
    const out = new Region(new Uint8Array(40))
    const end = block.write(1, out, 5)
    expect([end, block.textBytes(1), text(out.bytes, 5, end)]).toEqual([5 + 16, 16, '"v":"B€","n":2'])
  })

  test('is read from a value with few or no bytes after it', () => {
    const value = payloadOf(sided, rows)
    for (const behind of [0, 1, 2, 3, 4, 5]) {
      const around = new Uint8Array(40 + value.length + behind)
      around.set(value, 40)
      const inside = Block.of(sided, around.subarray(40, 40 + value.length), KEY)
      expect([textOf(inside, 2), textOf(inside, 0)]).toEqual(['"v":"C","n":12345678901234567890,"r":1.50', '"v":"A","n":1'])
    }
    expect(SLACK).toBe(3)
  })
})

describe('a block', () => {
  const rows = [row(7, 8, 5, ['one', 'two'], '"v":"A"'), row(7, 9, 6, ['two', ''], '"v":"B"')]
  const value = payloadOf(sided, rows)

  test('weighs its bytes and what it needs to be read', () => {
    expect(Block.of(sided, value).weight).toBe(value.length + 400)
  })

  test('has a checksum, of its seal or of its bytes and key', () => {
    expect(Block.of(sided, value, KEY, 77).sum).toBe(77)
    const block = Block.of(sided, value, KEY)
    expect(block.sum >>> 0).toBe(crc32(value, crc32(KEY)))
    expect(block.sum).toBe(block.sum)
    expect(Block.of(sided, value, Uint8Array.of(1)).sum).not.toBe(block.sum)
  })

  test('that is damaged says what is wrong', () => {
    const opened =
      (bytes: Uint8Array, of = sided) =>
      () =>
        Block.of(of, bytes, KEY)
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
    // The length of the first text comes after positions and frames.
    const at = 8 + 12 * 2 + 2 * 2
    expect(value[at]).toBe('"v":"A"'.length)
    const wrong = opened(changed(at, 6))()
    expect(() => wrong.text(0)).toThrow(damage('a text of the block has another length'))
    expect(textOf(wrong, 1)).toBe('"v":"B"')
  })
})

describe('a block amid other bytes', () => {
  const rows = [row(7, 1, 0, ['a', 'b'], '"n":1'), row(7, 2, 0, ['a', 'c'], '"n":22')]

  test('weighs its bytes, and names its key by its number if it is damaged', () => {
    const block = blockOf(sided, rows)
    const done = finished(block, undefined, 5)
    expect(done.weight).toBe(done.length + 400)
    // A block of few records takes two bytes per number even when it is finished.
    expect(done.length).toBeLessThan(block.length + 60)
    const region = Region.room(200)
    region.bytes.fill(0)
    const key = Buffer.from(blockKey(sided.tag, 5)).toString('hex')
    for (const to of [64, 71, 90])
      expect(() => new Block(sided, region, 64, to, 5)).toThrow(
        expect.objectContaining({ code: 'CORRUPT', fields: expect.objectContaining({ key }) }),
      )
    expect(() => new Block(sided, region, 64, 71, 5)).toThrow(/the block is too short/)
  })
})

describe('a block of records with two faces', () => {
  const turnable = [
    row(7, 8, 5, ['one', 'two'], '"base":"A","n":1', '"counter":"A!","n":-1'),
    row(7, 9, 6, ['two', ''], '"base":"BB","n":22', '"counter":"BB!","n":-22'),
    { ...row(7, 10, 7, ['x', 'y'], '"base":"C","n":1.50', '"counter":"C!","n":2.50'), exact: true },
  ]

  test('shows either face, with side columns in the order asked for', () => {
    comesBack(sided, turnable)
    const block = blockOf(sided, turnable)
    expect(block.region.bytes[6]).toBe(2 | 4)
    const turned = block.turned()
    expect(turned.json(1)).toBe('{"counter":"BB!","n":-22}')
    expect(block.json(1)).toBe('{"base":"BB","n":22}')
    expect([turned.side(0, 0), turned.side(0, 1), block.side(0, 0)]).toEqual(['two', 'one', 'one'])
    expect([turned.token(1), turned.id(1)]).toEqual([block.token(1), block.id(1)])
    expect([0, 1, 2].map((at) => [block.textBytes(at), turned.textBytes(at)])).toEqual([
      [16, 21],
      [18, 23],
      [19, 23],
    ])
    expect(block.row(1).texts.map((one) => one.text)).toEqual(['"base":"BB","n":22', '"counter":"BB!","n":-22'])
  })

  test('is turned once, and weighs what hangs on either face', () => {
    const block = blockOf(sided, turnable)
    const grown: number[] = []
    block.keeper = { grow: (bytes) => grown.push(bytes) }
    const before = block.weight
    const turned = block.turned()
    expect(block.turned()).toBe(turned)
    expect([turned.weight, block.weight - before]).toEqual([400, 400])
    const page = () =>
      turned.attach(
        'page',
        () => 'text',
        () => 30,
      )
    page()
    expect([turned.weight, block.weight - before]).toEqual([430, 430])
    turned.attach(
      'other page',
      () => 'text',
      () => 8,
    )
    expect([grown, block.weight - before]).toEqual([[400, 30, 8], 438])
    // A block that is not in the cache reports no growth.
    expect(blockOf(sided, turnable).turned().keeper).toBeUndefined()
    expect(turned.sum).not.toBe(block.sum)
  })
})

test('a block weighs frames that are too long to be kept for all blocks', () => {
  for (const [length, weight] of [
    [4000, 0],
    [5000, 8 * 5010 + 200],
  ] as const) {
    const block = blockOf(bare, [row(7, 1, 0, [], `"${'n'.repeat(length)}":1,"m":2`)])
    const before = block.weight
    expect(block.json(0).length).toBe(length + 12)
    expect(block.json(0)).toBe(`{"${'n'.repeat(length)}":1,"m":2}`)
    expect(block.weight - before).toBe(weight)
  }
})

test('values about as long as a one-byte code can say are read whole, as text and as members', () => {
  // Each value occurs once, so it is spelled out in its body; up to 66 characters are sure to fit, whatever they are.
  const values = [0, 1, 65, 66, 67, 199, 200, 256].flatMap((length, at) => ['a', 'é', '€'].map((one) => one.repeat(length) + at))
  const texts = values.map((value) => `"value":"${value}"`)
  const block = blockOf(
    bare,
    texts.map((text, at) => row(7, at, 0, [], text)),
  )
  for (const [at, value] of values.entries()) {
    expect(textOf(block, at)).toBe(texts[at])
    expect(block.members(at)).toEqual({ value })
    if (value.startsWith('a')) expect(block.made(at)).toEqual({ value })
  }
})
