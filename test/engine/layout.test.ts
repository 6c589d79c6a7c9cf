/** The bytes under the engine: posting lists compared with arrays, blocks and seals with damage, positions and cursors by value. */
import { totalmem } from 'node:os'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { crc32, portableCrc32, VarintReader, Writer } from '../../src/bytes.ts'
import { Cache, defaultCacheBytes } from '../../src/cache/cache.ts'
import { Block } from '../../src/layout/block.ts'
import { encodeBlock } from '../../src/layout/encode-block.ts'
import {
  decodeEdge,
  decodePage,
  encodeEdge,
  encodePage,
  FANOUT,
  type PageSource,
  PostingEdge,
  rank,
  slice,
  truncate,
} from '../../src/layout/posting.ts'
import type { Row } from '../../src/layout/row.ts'
import { payloadOf, seal, unseal } from '../../src/layout/seal.ts'
import { idOf, idText, low, MAX_ID, parseCursor, parseId, splitId } from '../../src/position.ts'
import { effects } from '../../src/resources/effect.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import type { Apart } from '../../src/text/apart.ts'
import { takeApart } from '../../src/text/writer.ts'
import { codeOf } from '../support/errors.ts'
import { holds } from '../support/property.ts'

const key = Uint8Array.of(1, 2, 3)

/** A posting list built in steps, with its pages on a shelf; every value is encoded and decoded. */
class Shelf {
  edge = PostingEdge.empty
  readonly pages = new Map<string, Uint8Array>()
  page: PageSource = (level, page) => decodePage(key, this.pages.get(`${level}/${page}`)!)

  append(ordinals: readonly number[]): void {
    const next = this.edge.append(ordinals, (level, page, entries) => {
      expect(this.pages.has(`${level}/${page}`)).toBe(false)
      this.pages.set(`${level}/${page}`, encodePage(key, entries))
    })
    this.edge = decodeEdge(key, encodeEdge(key, next))
    expect(this.edge.levels).toEqual(next.levels)
  }
}

/** Rising ordinals, some dense, some with gaps. */
const rising = (count: number, seed: number): number[] => {
  const all: number[] = []
  for (let at = 0, last = seed % 3; at < count; at++) {
    all.push(last)
    last += 1 + ((at * 2654435761 + seed) % 97 === 0 ? 70_000 : at % 5 === 0 ? seed % 7 : 0)
  }
  return all
}

/** Counts around the page boundaries of three levels. */
const borders = [0, 1, FANOUT - 1, FANOUT, FANOUT + 1, 2 * FANOUT, FANOUT ** 2 - 1, FANOUT ** 2, FANOUT ** 2 + FANOUT, 3 * FANOUT ** 2 + 5]

describe('posting lists', () => {
  test.each(borders)('of %i entries rank and slice like an array', (count) => {
    const all = rising(count, count)
    const shelf = new Shelf()
    for (let at = 0; at < count; at += 1000) shelf.append(all.slice(at, at + 1000))
    expect(shelf.edge.count).toBe(count)
    const places = [...borders, count - 1, count >> 1, count - FANOUT].filter((place) => place >= 0 && place <= count)
    for (const place of places) {
      const entry = all[place] ?? (all.at(-1) ?? 0) + 1
      for (const bound of [entry - 1, entry, entry + 1])
        expect(rank(shelf.edge, bound, shelf.page)).toBe(all.filter((one) => one < bound).length)
      expect(slice(shelf.edge, place, Math.min(count, place + 200), shelf.page)).toEqual(all.slice(place, place + 200))
    }
  })

  test('grow the same in any steps, and read at most one page per level', () =>
    holds(
      fc.tuple(fc.array(fc.nat(300), { maxLength: 12 }), fc.nat(50), fc.array(fc.nat(4000), { maxLength: 10 })),
      60,
      ([steps, seed, bounds]) => {
        const count = steps.reduce((sum, step) => sum + step, 0)
        const all = rising(count, seed)
        const [stepwise, once] = [new Shelf(), new Shelf()]
        let done = 0
        for (const step of steps) {
          stepwise.append(all.slice(done, done + step))
          done += step
        }
        once.append(all)
        expect(stepwise.edge).toEqual(once.edge)
        expect([...stepwise.pages.keys()].sort()).toEqual([...once.pages.keys()].sort())
        for (const bound of bounds) {
          const read = new Set<number>()
          const counted: PageSource = (level, page) => {
            expect(read.has(level)).toBe(false)
            read.add(level)
            return once.page(level, page)
          }
          expect(rank(once.edge, bound, counted)).toBe(all.filter((one) => one < bound).length)
        }
      },
    ))

  test('that are cut equal shorter lists', () =>
    holds(fc.tuple(fc.constantFrom(...borders.slice(1)), fc.double({ min: 0, max: 1, noNaN: true })), 40, ([count, share]) => {
      const all = rising(count, 1)
      const kept = Math.floor(count * share)
      const [long, short] = [new Shelf(), new Shelf()]
      long.append(all)
      short.append(all.slice(0, kept))
      const cut = truncate(long.edge, kept, long.page)
      expect(decodeEdge(key, encodeEdge(key, cut.edge))).toEqual(short.edge)
      for (const { level, page } of cut.dropped) expect(long.pages.delete(`${level}/${page}`)).toBe(true)
      expect([...long.pages.keys()].sort()).toEqual([...short.pages.keys()].sort())
    }))

  test('with damaged bytes are refused, or are another list with the same count', () =>
    holds(fc.tuple(fc.nat(300), fc.nat(), fc.integer({ min: 1, max: 255 })), 300, async ([count, at, flip]) => {
      const list = new Shelf().edge.append(rising(count, 5), () => {})
      const value = encodeEdge(key, list)
      value[at % payloadOf(value).length]! ^= flip
      seal(key, value)
      const code = await codeOf(() => {
        const edge = decodeEdge(key, value)
        const entries = edge.levels.flat()
        expect(edge.levels.every((level) => level.every((one, place) => place === 0 || one > level[place - 1]!))).toBe(true)
        expect(entries.length).toBeLessThanOrEqual(edge.count)
      })
      expect(['CORRUPT', 'no error']).toContain(code)
    }))
})

const json = fc
  .tuple(fc.jsonValue({ maxDepth: 3 }), fc.array(fc.string({ unit: 'grapheme', minLength: 90, maxLength: 300 }), { maxLength: 3 }))
  .map(([value, long]) => JSON.stringify({ value, long, hash: 'ab'.repeat(32), id: 12345 }).slice(1, -1))

const row = fc.record({
  hi: fc.nat(2 ** 31 - 1),
  lo: fc.nat(),
  index: fc.nat(),
  texts: fc.tuple(json.map(takeApart)),
  sides: fc.tuple(fc.string({ unit: 'grapheme', maxLength: 5 }), fc.constantFrom('', 'GA', 'nul\u0000')),
  exact: fc.boolean(),
})

const putTogether = ({ frame, values }: Apart): string =>
  frame.split('\u0000').reduce((text, piece, hole) => text + values[hole - 1]! + piece)

describe('texts', () => {
  test('come back from their parts', () =>
    holds(json, 300, (text) => {
      const apart = takeApart(text)
      expect([putTogether(apart), apart.text]).toEqual([text, text])
    }))

  test.each([
    ['"a":"GABC","type":"credit_alphanum4","n":-1.50e3', '"a":"□","type":"credit_alphanum4","n":□', ['GABC', '-1.50e3']],
    [String.raw`"a\\":"x\"y","b":["UP",{"c":1}],"d":true`, String.raw`"a\\":"□","b":["□",{"c":□}],"d":true`, [String.raw`x\"y`, 'UP', '1']],
    ['', '', []],
    [`"x":"${'A'.repeat(101)}","y":"${'B'.repeat(101)}","z":"C"`, '"x":"□","y":"□","z":"□"', ['A'.repeat(101), 'B'.repeat(101), 'C']],
  ])('%s', (text, frame, values) => {
    const apart = takeApart(text)
    expect([apart.frame, apart.values]).toEqual([frame.replaceAll('□', '\u0000'), values])
  })
})

describe('blocks', () => {
  test('give back what went in, and their rows make the same block again', () =>
    holds(fc.array(row, { minLength: 1, maxLength: 64 }), 150, (rows) => {
      const value = payloadOf(encodeBlock(key, effects, rows))
      const block = Block.of(effects, value)
      expect(block.count).toBe(rows.length)
      for (const [at, { hi, lo, index, texts, sides }] of rows.entries()) {
        expect([
          block.hi(at),
          block.lo(at),
          block.index(at),
          Buffer.from(block.text(at)).toString(),
          block.side(at, 0),
          block.side(at, 1),
        ]).toEqual([hi, lo, index, putTogether(texts[0]), ...sides])
        expect(block.token(at)).toBe(`${(BigInt(hi) << 32n) | BigInt(lo)}-${index}`)
        expect(block.textBytes(at)).toBe(block.text(at).length)
      }
      const again: Row[] = rows.map((_, at) => block.row(at))
      expect(payloadOf(encodeBlock(key, effects, again))).toEqual(value)
    }))

  test('are refused if they are cut, have extra bytes, or are read as another log', () =>
    holds(fc.tuple(fc.array(row, { minLength: 1, maxLength: 5 }), fc.nat()), 300, async ([rows, at]) => {
      const value = payloadOf(encodeBlock(key, effects, rows))
      expect(await codeOf(() => Block.of(effects, value.subarray(0, at % value.length), key))).toBe('CORRUPT')
      expect(await codeOf(() => Block.of(effects, Buffer.concat([value, Uint8Array.of(0)]), key))).toBe('CORRUPT')
      expect(await codeOf(() => Block.of(ledgers, value, key))).toBe('CORRUPT')
    }))
})

describe('seals', () => {
  test('detect any flipped bit, any cut, and any other key', () =>
    holds(
      fc.tuple(fc.uint8Array({ maxLength: 60 }), fc.uint8Array({ minLength: 1, maxLength: 10 }), fc.nat(), fc.nat(7)),
      500,
      async ([bytes, name, at, bit]) => {
        const value = seal(name, Uint8Array.from([...bytes, 0, 0, 0, 0, 0]))
        expect(Array.from(unseal(name, value))).toEqual(Array.from(bytes))
        const flipped = value.slice()
        flipped[at % value.length]! ^= 1 << bit
        expect(await codeOf(() => unseal(name, flipped))).toBe('CORRUPT')
        expect(await codeOf(() => unseal(name, value.subarray(0, at % value.length)))).toBe('CORRUPT')
        const other = name.slice()
        other[at % name.length]! ^= 1 << bit
        expect(await codeOf(() => unseal(other, value))).toBe('CORRUPT')
      },
    ))

  test('the portable checksum equals that of the platform, whole or in parts', () =>
    holds(fc.tuple(fc.uint8Array({ maxLength: 80 }), fc.uint8Array({ maxLength: 80 })), 200, ([a, b]) => {
      expect(portableCrc32(a)).toBe(crc32(a))
      expect(portableCrc32(b, portableCrc32(a))).toBe(crc32(Buffer.concat([a, b])))
    }))

  test('varints of any size come back', () =>
    holds(fc.array(fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 127, 128, 2 ** 31, 2 ** 32, 2 ** 53 - 1))), 200, (values) => {
      const out = new Writer(1)
      for (const value of values) out.varint(value)
      const input = new VarintReader(out.finish())
      expect(values.map(() => input.next())).toEqual(values)
      expect(input.next()).toBeNaN()
    }))
})

describe('positions', () => {
  test('are the halves of ids, in the same order', () =>
    holds(fc.tuple(fc.bigInt(0n, MAX_ID), fc.bigInt(0n, MAX_ID)), 500, ([a, b]) => {
      const [x, y] = [splitId(a), splitId(b)]
      expect(idOf(x.hi, x.lo)).toBe(a)
      expect(idText(x.hi, x.lo)).toBe(String(a))
      expect(x.hi < y.hi || (x.hi === y.hi && x.lo < y.lo)).toBe(a < b)
    }))

  test('refuse a transaction or an operation with more than 20 or 12 bits', async () => {
    expect(low(2 ** 20 - 1, 2 ** 12 - 1, 1)).toBe(2 ** 32 - 1)
    expect(await codeOf(() => low(2 ** 20, 0, 1))).toBe('ID_OUT_OF_RANGE')
    expect(await codeOf(() => low(1, 2 ** 12, 1))).toBe('ID_OUT_OF_RANGE')
  })

  test.each([
    ['0', 0n],
    ['007', 7n],
    ['9223372036854775807', MAX_ID],
    ['9223372036854775808', undefined],
    ['', undefined],
    ['-1', undefined],
    ['+1', undefined],
    ['1.0', undefined],
    ['1e3', undefined],
    [' 1', undefined],
    ['١', undefined],
    ['1\n', undefined],
  ])('%j read as an id is %s', (text, value) => {
    expect(parseId(text)).toBe(value)
  })

  test.each([
    ['5', false, { hi: 0, lo: 5, index: 0, whole: false }],
    ['5', true, { hi: 0, lo: 5, index: 0, whole: true }],
    ['4294967301-7', true, { hi: 1, lo: 5, index: 7, whole: false }],
    ['9223372036854775807-0', true, { hi: 2 ** 31 - 1, lo: 2 ** 32 - 1, index: 0, whole: false }],
  ])('%s is read as a cursor (indexed: %s)', (text, indexed, cursor) => {
    expect(parseCursor(text, indexed)).toEqual(cursor)
  })

  test.each([
    ['5-1', false],
    ['5-', true],
    ['-5', true],
    ['5-1-1', true],
    ['5-x', true],
    ['', true],
  ])('%j is not a cursor (indexed: %s)', async (text, indexed) => {
    expect(await codeOf(() => parseCursor(text, indexed))).toBe('BAD_REQUEST cursor')
  })
})

test('the cache gives back the newest value put, or nothing, and stays near its size', () =>
  holds(
    fc.tuple(fc.nat(40), fc.array(fc.tuple(fc.nat(9).map(String), fc.integer({ min: 1, max: 20 }), fc.boolean()))),
    200,
    ([maxBytes, steps]) => {
      const cache = new Cache(maxBytes)
      const newest = new Map<string, { weight: number }>()
      for (const [id, weight, put] of steps) {
        if (put) {
          const value = { weight }
          newest.set(id, value)
          cache.put(id, value)
        } else {
          const held = cache.get(id)
          if (held !== undefined) expect(held).toBe(newest.get(id))
        }
        const all = [...newest.keys()].filter((one) => cache.get(one) !== undefined)
        expect(all.reduce((sum, one) => sum + newest.get(one)!.weight, 0)).toBeLessThanOrEqual(maxBytes + 60)
      }
    },
  ))

test('the default size of a cache is an eighth of the memory, within bounds', () => {
  const MB = 2 ** 20
  const may = (confined: number): number => {
    const asked = vi.spyOn(process, 'constrainedMemory').mockReturnValue(confined)
    try {
      return defaultCacheBytes()
    } finally {
      asked.mockRestore()
    }
  }
  expect([may(256 * MB), may(2048 * MB)]).toEqual([32 * MB, Math.min(256 * MB, Math.floor(totalmem() / 8))])
  const whole = Math.min(2048 * MB, Math.max(32 * MB, Math.floor(totalmem() / 8)))
  expect([may(0), may(2 ** 64)]).toEqual([whole, whole])
})
