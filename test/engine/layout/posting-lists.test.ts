/** Posting lists, compared with arrays: what they rank and slice, however they grew, were cut, or are damaged. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
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
} from '../../../src/layout/posting.ts'
import { payloadOf, seal } from '../../../src/layout/seal.ts'
import { codeOf } from '../../support/errors.ts'
import { holds } from '../../support/property.ts'

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
