/** Texts, blocks, seals and numbers of any content: what went in comes out, and nothing comes out of what is damaged. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { crc32, portableCrc32, VarintReader, Writer } from '../../../src/bytes.ts'
import { Block } from '../../../src/layout/block.ts'
import { encodeBlock } from '../../../src/layout/encode-block.ts'
import type { Row } from '../../../src/layout/row.ts'
import { payloadOf, seal, unseal } from '../../../src/layout/seal.ts'
import { effects } from '../../../src/resources/effect.ts'
import { ledgers } from '../../../src/resources/ledger.ts'
import type { Apart } from '../../../src/text/apart.ts'
import { takeApart } from '../../../src/text/writer.ts'
import { codeOf } from '../../support/errors.ts'
import { holds } from '../../support/property.ts'
import { valuesOf } from './support.ts'

const key = Uint8Array.of(1, 2, 3)

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

function putTogether(apart: Apart): string {
  const values = valuesOf(apart)
  return apart.frame.split('\u0000').reduce((text, piece, hole) => text + values[hole - 1]! + piece)
}

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
    expect([apart.frame, valuesOf(apart)]).toEqual([frame.replaceAll('□', '\u0000'), values])
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
