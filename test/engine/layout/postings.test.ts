/** Posting lists: their bytes, what is refused and why, which pages a list can spare, and which pages are read. */
import { describe, expect, test } from 'vitest'
import { hex, Writer } from '../../../src/bytes.ts'
import {
  decodeEdge,
  decodePage,
  encodeEdge,
  encodePage,
  FANOUT,
  lowerBound,
  type PageSource,
  PostingEdge,
  rank,
  slice,
  truncate,
  unreachable,
} from '../../../src/layout/posting.ts'
import { payloadOf, seal } from '../../../src/layout/seal.ts'

const KEY = Uint8Array.of(0x20, 1)
const varints = (...values: number[]): Uint8Array => {
  const out = new Writer(16)
  for (const value of values) out.varint(value)
  return out.finish()
}
/** A value with this payload. */
const sealed = (payload: Uint8Array): Uint8Array => seal(KEY, Uint8Array.from([...payload, 0, 0, 0, 0, 0]))
const damage = (reason: string) => expect.objectContaining({ code: 'CORRUPT', fields: { key: '2001', reason } })

/** The list of the first `count` multiples of ten, and its pages. */
function tens(count: number) {
  const pages = new Map<string, readonly number[]>()
  const edge = PostingEdge.empty.append(
    Array.from({ length: count }, (_, n) => 10 * n),
    (level, page, entries) => pages.set(`${level}/${page}`, entries.slice()),
  )
  const read: string[] = []
  const page: PageSource = (level, number) => {
    read.push(`${level}/${number}`)
    return pages.get(`${level}/${number}`)!
  }
  return { edge, pages, page, read }
}

describe('an edge', () => {
  test('is a count and, for each level, the number of entries and their differences', () => {
    const edge = new PostingEdge(3, [[5, 6, 300]])
    expect(hex(payloadOf(encodeEdge(KEY, edge)))).toBe('03' + '03' + '0501a602')
    expect(decodeEdge(KEY, encodeEdge(KEY, edge))).toEqual(edge)
    expect(hex(payloadOf(encodeEdge(KEY, PostingEdge.empty)))).toBe('00')
    expect(decodeEdge(KEY, sealed(varints(0)))).toEqual(PostingEdge.empty)
  })

  test('is the same after another that could not be written', () => {
    const edge = new PostingEdge(3, [[5, 6, 300]])
    const broken = new PostingEdge(3, [[5, 6, 300], undefined as unknown as number[]])
    const entries = Array.from({ length: FANOUT }, (_, n) => n)
    const wanted = [encodeEdge(KEY, edge), encodePage(KEY, entries)].map((value) => hex(payloadOf(value)))
    for (const [at, encode] of [() => encodeEdge(KEY, edge), () => encodePage(KEY, entries)].entries()) {
      expect(() => encodeEdge(KEY, broken)).toThrow(TypeError)
      expect(hex(payloadOf(encode()))).toBe(wanted[at])
    }
  })

  test('weighs its levels and entries', () => {
    expect(PostingEdge.empty.weight).toBe(200)
    expect(new PostingEdge(FANOUT + 2, [[1, 2], [1]]).weight).toBe(200 + (16 + 16) + (16 + 8))
  })

  test('is not changed by appending to it', () => {
    const { edge } = tens(3)
    const more = edge.append([100], () => {})
    expect([edge.count, edge.levels, more.count, more.levels]).toEqual([3, [[0, 10, 20]], 4, [[0, 10, 20, 100]]])
  })

  test('is not changed even if pages fill up', () => {
    const { edge } = tens(2 * FANOUT - 1)
    const before = structuredClone(edge.levels)
    const later = [10 * (2 * FANOUT), 10 * (2 * FANOUT) + 1]
    const more = edge.append(later, () => {})
    expect(edge.levels).toEqual(before)
    expect([more.count, more.levels]).toEqual([2 * FANOUT + 1, [[later[1]], [0, 10 * FANOUT]]])
  })

  test.each([
    ['the posting list has another count', varints(3, 2, 5, 1)],
    ['the posting list has another count', varints(3)],
    ['the posting list has another count', varints(FANOUT, 0)],
    ['the posting list does not rise', varints(3, 3, 5, 0, 1)],
    ['the posting list does not rise', varints(2, 2, 5)],
    ['the posting list has another length', varints(2, 2, 5, 1, 9)],
    ['the posting list has another length', varints(0, 0)],
  ])('is refused if %s', (reason, bytes) => {
    expect(() => decodeEdge(KEY, sealed(bytes))).toThrow(damage(reason))
  })

  test('without bytes is refused', () => {
    expect(() => decodeEdge(KEY, sealed(new Uint8Array(0)))).toThrow(damage('the posting list has another length'))
  })
})

describe('a page', () => {
  const entries = Array.from({ length: FANOUT }, (_, n) => 3 * n)

  test('is the differences of its entries', () => {
    const value = payloadOf(encodePage(KEY, entries))
    expect(hex(value)).toBe('00' + '03'.repeat(FANOUT - 1))
    expect(decodePage(KEY, sealed(value))).toEqual(entries)
  })

  test('that is longer or shorter, or does not rise, is refused', () => {
    const value = payloadOf(encodePage(KEY, entries))
    expect(() => decodePage(KEY, sealed(Uint8Array.from([...value, 1])))).toThrow(damage('the page has another length'))
    expect(() => decodePage(KEY, sealed(value.subarray(1, FANOUT)))).toThrow(damage('the posting list does not rise'))
    const flat = Uint8Array.from(value)
    flat[9] = 0
    expect(() => decodePage(KEY, sealed(flat))).toThrow(damage('the posting list does not rise'))
  })
})

test('lowerBound counts the entries below a bound', () => {
  for (let length = 0; length < 9; length++)
    for (let bound = -1; bound < 20; bound++) {
      const entries = Array.from({ length }, (_, n) => 2 * n)
      expect(lowerBound(entries, bound)).toBe(entries.filter((entry) => entry < bound).length)
    }
})

describe('in a list with pages', () => {
  test('a rank reads only the pages that it lies on', () => {
    const count = 2 * FANOUT + 3
    const asked = (bound: number): [number, string[]] => {
      const { edge, page, read } = tens(count)
      return [rank(edge, bound, page), read]
    }
    expect(asked(10 * count)).toEqual([count, []])
    expect(asked(10 * 2 * FANOUT + 1)).toEqual([2 * FANOUT + 1, []])
    expect(asked(10 * 2 * FANOUT)).toEqual([2 * FANOUT, ['0/1']])
    expect(asked(10 * FANOUT + 1)).toEqual([FANOUT + 1, ['0/1']])
    expect(asked(1)).toEqual([1, ['0/0']])
    expect(asked(0)).toEqual([0, []])
    expect(rank(PostingEdge.empty, 5, tens(0).page)).toBe(0)
    // If everything is on pages, the edge has nothing at level 0.
    const full = tens(FANOUT)
    expect([rank(full.edge, 5, full.page), full.read]).toEqual([1, ['0/0']])
  })

  test('a slice reads the pages that it crosses, and no others', () => {
    const { edge, page, read } = tens(2 * FANOUT + 3)
    expect(slice(edge, FANOUT - 1, FANOUT + 1, page)).toEqual([10 * (FANOUT - 1), 10 * FANOUT])
    expect(slice(edge, 2 * FANOUT, 2 * FANOUT + 3, page)).toEqual([2560, 2570, 2580])
    expect(slice(edge, 5, 5, page)).toEqual([])
    expect(read).toEqual(['0/0', '0/1'])
    // A slice ends with the list.
    expect(slice(edge, 2 * FANOUT + 1, 2 * FANOUT + 50, page)).toEqual([2570, 2580])
    expect(slice(edge, 2 * FANOUT + 40, 2 * FANOUT + 50, page)).toEqual([])
  })

  test('a cut drops the pages it no longer needs, and reads one page per level', () => {
    const cut = (count: number, kept: number) => {
      const { edge, page, read } = tens(count)
      const { edge: shorter, dropped } = truncate(edge, kept, page)
      expect([shorter.count, shorter.levels]).toEqual([kept, tens(kept).edge.levels])
      return [dropped.map(({ level, page: number }) => `${level}/${number}`), read]
    }
    expect(cut(2 * FANOUT + 3, 2 * FANOUT + 1)).toEqual([[], []])
    expect(cut(2 * FANOUT + 3, 2 * FANOUT)).toEqual([[], []])
    expect(cut(2 * FANOUT + 3, FANOUT + 7)).toEqual([['0/1'], ['0/1']])
    expect(cut(2 * FANOUT + 3, 5)).toEqual([['0/0', '0/1'], ['0/0']])
    expect(cut(2 * FANOUT + 3, 0)).toEqual([['0/0', '0/1'], []])
    // Two levels: the last page of level 0 goes, and the page of level 1 with it.
    const [dropped, read] = cut(FANOUT ** 2 + FANOUT, FANOUT ** 2 - 1) as [string[], string[]]
    expect(dropped).toEqual([`0/${FANOUT - 1}`, `0/${FANOUT}`, '1/0'])
    expect(read).toEqual([`0/${FANOUT - 1}`, '1/0'])
  })

  test.each([
    [0, [0, 0]],
    [1, [0, 0]],
    [FANOUT, [0, 0]],
    [FANOUT + 1, [1, 0]],
    [2 * FANOUT, [1, 0]],
    [2 * FANOUT + 1, [2, 0]],
    [FANOUT ** 2, [FANOUT - 1, 0]],
    [FANOUT ** 2 + 1, [FANOUT, 1]],
  ])('no bound at or above entry %i leads to the first %j of its levels', (from, gone) => {
    const edge = new PostingEdge(2 * FANOUT ** 2, [[], []])
    expect(unreachable(edge, from)).toEqual(gone)
  })
})
