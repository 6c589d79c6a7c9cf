/** Numbers of distinct runs of bytes, whatever they are. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { characters, Region, utf8 } from '../../../src/bytes.ts'
import { Distinct, NONE } from '../../../src/layout/distinct.ts'

/** How many runs their bytes did not tell apart, so that a `Map` holds them. */
const untold = (distinct: Distinct): number => distinct['others']?.size ?? 0

/** A text amid other bytes, each time elsewhere. */
let before = 0
function placed(text: string): [region: Region, from: number, to: number] {
  const bytes = utf8(text)
  before = (before + 1) % 5
  const region = Region.room(before + bytes.length + 2)
  region.bytes.fill(0x41)
  region.bytes.set(bytes, before)
  return [region, before, before + bytes.length]
}

describe('distinct runs', () => {
  test('are numbered in the order in which they are met, as by a Map', () => {
    const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', 'a', 'ab', 'aaaa', 'XLM'), fc.nat(300).map(String))
    fc.assert(
      fc.property(fc.array(text, { maxLength: 1000 }), (texts) => {
        const [distinct, known] = [new Distinct(), new Map<string, number>()]
        for (const value of texts) {
          expect(distinct.find(...placed(value))).toBe(known.get(value) ?? NONE)
          if (!known.has(value)) known.set(value, known.size)
          expect([distinct.number(...placed(value)), distinct.size]).toEqual([known.get(value), known.size])
        }
        for (const [value, number] of known) {
          expect(distinct.find(...placed(value))).toBe(number)
          const start = distinct.start(number)
          expect(characters(distinct.region(number).bytes, start, start + distinct.length(number))).toBe(
            characters(utf8(value), 0, utf8(value).length),
          )
        }
        distinct.clear()
        expect([distinct.size, ...texts.map((value) => distinct.find(...placed(value)))]).toEqual([0, ...texts.map(() => NONE)])
        for (const [value, number] of known) expect(distinct.number(...placed(value))).toBe(number)
      }),
    )
  })

  test('are told apart even if they differ only in characters that are not hashed', () => {
    const distinct = new Distinct()
    const twins = Array.from({ length: 2000 }, (_, n) => `GAAAA${String(n).padStart(6, '0')}${'A'.repeat(45)}`)
    expect(twins.map((twin) => distinct.number(...placed(twin)))).toEqual(twins.map((_, n) => n))
    expect(twins.map((twin) => distinct.number(...placed(twin)))).toEqual(twins.map((_, n) => n))
    expect([distinct.size, distinct.find(...placed('GA')), untold(distinct) > 1000]).toEqual([2000, NONE, true])
  })

  test('are told apart by few characters if they are such as ledgers hold', () => {
    const random = fc.sample(fc.stringMatching(/^G[A-Z2-7]{55}$/), { numRuns: 2000, seed: 1 })
    const amounts = Array.from({ length: 2000 }, (_, n) => `${n % 100}.${String(n * 7919).padStart(7, '0')}`)
    const tokens = Array.from({ length: 2000 }, (_, n) => `${103_079_215_104 + 4096 * (n >> 2)}-${1 + (n & 3)}`)
    for (const texts of [random, amounts, tokens]) {
      const distinct = new Distinct()
      for (const value of texts) distinct.number(...placed(value))
      expect(untold(distinct)).toBeLessThan(100)
    }
    const short = new Distinct()
    for (const value of ['', 'a', 'b', 'ab', 'ba', 'abc', 'abcde']) short.number(...placed(value))
    expect(untold(short)).toBe(0)
  })
})
