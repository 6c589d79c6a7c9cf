/** What frames consist of: numbers that stay while they are known, rows that are told apart, and a bound on what is remembered. */
import { afterEach, describe, expect, test } from 'vitest'
import { LONGEST_FRAME } from '../../../src/text/apart.ts'
import { Form } from '../../../src/text/form.ts'
import { forgetTooMany, generation, knownFrame, learnFrame, nameOf, wordNumber } from '../../../src/text/names.ts'

/** Above this many bytes, about, everything is forgotten. */
const MAX_WEIGHT = 1 << 22
/** What a hash of rows is multiplied with. */
const PRIME = 0x01000193

/** Weighs enough for everything to be forgotten, whatever was known before. */
const forget = (): void => {
  nameOf('x'.repeat(MAX_WEIGHT / 3))
  forgetTooMany()
}
afterEach(forget)

/** The frame of a row, and whether it had to be found. */
const frameOf = (row: readonly number[], frame: string): [frame: string, found: boolean] => {
  const numbers = Int32Array.from([...row, 99])
  const known = knownFrame(numbers, row.length)
  return known === undefined ? [learnFrame(numbers, row.length, frame), true] : [known, false]
}

describe('names and words', () => {
  test('have numbers of their own, above those of kinds of values, as long as they are known', () => {
    const [a, b, c] = [nameOf('a'), nameOf('b"'), wordNumber('c')]
    expect([a.number, b.number, c]).toEqual([16, 17, 18])
    expect([nameOf('a') === a, nameOf('b"') === b, wordNumber('c'), wordNumber('d')]).toEqual([true, true, 18, 19])
    expect([a, b].map(({ piece }) => Buffer.from(piece.bytes).toString())).toEqual([',"a":', ',"b\\"":'])
    expect([nameOf('a:12345678901234567890').looksLong, a.looksLong]).toEqual([true, false])
  })
})

describe('frames of rows', () => {
  test('are found once, and told apart by every number and by the length', () => {
    const rows = [[21], [22], [21, 22], [21, 23], [22, 22], [21, 22, 23], []]
    for (const row of rows) expect(frameOf(row, `frame ${row}`)).toEqual([`frame ${row}`, true])
    for (const row of rows) expect(frameOf(row, 'another')).toEqual([`frame ${row}`, false])
  })

  test('are told apart if their hashes are equal: the latest is kept', () => {
    const hashOf = (row: readonly number[]): number => row.reduce((hash, number) => Math.imul(hash ^ number, PRIME), row.length)
    const first = [5, 7]
    const other = [6, Math.imul(2 ^ 5, PRIME) ^ 7 ^ Math.imul(2 ^ 6, PRIME)]
    const shorter = [1 ^ Math.imul(2 ^ 5, PRIME) ^ 7]
    expect([hashOf(other), hashOf(shorter)]).toEqual([hashOf(first), hashOf(first)])
    expect([first, other, first, shorter, shorter, first].map((row) => frameOf(row, String(row)))).toEqual([
      [String(first), true],
      [String(other), true],
      [String(first), true],
      [String(shorter), true],
      [String(shorter), false],
      [String(first), true],
    ])
  })

  test('are not kept if they are long', () => {
    const [longest, longer] = [LONGEST_FRAME, LONGEST_FRAME + 1].map((length) => 'x'.repeat(length)) as [string, string]
    expect([frameOf([1], longest)[1], frameOf([1], longest)[1]]).toEqual([true, false])
    expect([frameOf([2], longer)[1], frameOf([2], longer)[1]]).toEqual([true, true])
  })
})

describe('everything known is forgotten', () => {
  /** How often `learn` is called before everything is forgotten. */
  const callsUntil = (learn: (call: number) => void): number => {
    forget()
    const before = generation
    let calls = 0
    while (generation === before) {
      learn(calls++)
      forgetTooMany()
    }
    expect(generation).toBe(before + 1)
    return calls
  }

  test('once it weighs too much: names, words, rows and frames by what they take', () => {
    const size = 1 << 16
    const padded = (call: number): string => String(call).padStart(size, '-')
    const frame = 'x'.repeat(LONGEST_FRAME)
    expect({
      names: callsUntil((call) => nameOf(padded(call))),
      words: callsUntil((call) => wordNumber(padded(call))),
      frames: callsUntil((call) => frameOf([call, call], frame)),
      rows: callsUntil((call) => frameOf(Array(size).fill(call), '')),
    }).toEqual({
      names: Math.floor(MAX_WEIGHT / (200 + 3 * size)) + 1,
      words: Math.floor(MAX_WEIGHT / (100 + size)) + 1,
      frames: Math.floor(MAX_WEIGHT / (200 + 4 * 2 + LONGEST_FRAME)) + 1,
      rows: Math.floor(MAX_WEIGHT / (200 + 4 * size)) + 1,
    })
  })

  test('and not before, nor between texts that know little', () => {
    const before = generation
    const a = nameOf('a')
    forgetTooMany()
    expect([generation, nameOf('a') === a]).toEqual([before, true])
  })

  test('names, words and frames alike, and they are numbered anew', () => {
    nameOf('a')
    wordNumber('b')
    frameOf([1], 'old')
    forget()
    expect([wordNumber('b'), nameOf('a').number, frameOf([1], 'new')]).toEqual([16, 17, ['new', true]])
  })
})

describe('a form', () => {
  const form = new Form(['id'], ['hidden'], { count: String }, (name) => (name === 'left' ? 'right' : name))
  /** The rules of members that come one after another. */
  const rules = (names: readonly string[], of = form) => {
    const found: ReturnType<Form['rule']>[] = []
    for (const name of names) found.push(of.rule(name, found.at(-1)))
    return found
  }
  const rule = (name: string) => rules([name])[0]!
  const kinds = (): string[] => rules(['id', 'hidden', '_links', '_embedded', 'left', 'count', 'any']).map(({ kind }) => kind)

  test('tells what is done with a member', () => {
    const expected = ['derived', 'omitted', 'reserved', 'reserved', 'written', 'written', 'written']
    expect([kinds(), kinds()]).toEqual([expected, expected])
    expect([rule('left').name, rule('any').name]).toEqual(['right', 'any'])
    expect([rule('count').change?.(5), rule('any').change]).toEqual(['5', undefined])
    expect(rules(['hidden'], new Form(['id']))[0]).toMatchObject({ kind: 'written', name: 'hidden' })
  })

  test('tells the same in whatever order members come', () => {
    const names = ['id', 'left', 'count', 'hidden']
    const orders = names.flatMap((first) => names.map((second) => [first, second, ...names, second, first]))
    for (const order of [...orders, ...orders.toReversed()]) {
      const found = rules(order)
      expect(found.map(({ of, kind, name }) => [of, kind, name])).toEqual(order.map((of) => [of, rule(of).kind, rule(of).name]))
      expect(found.every((one, at) => one === rule(order[at]!))).toBe(true)
    }
  })

  test('writes members by names that are still known', () => {
    const before = rules(['left', 'any'])
    expect(rules(['left', 'any']).every((one, at) => one === before[at])).toBe(true)
    expect(before[0]!.written).toBe(nameOf('right'))
    forget()
    nameOf('another')
    const after = rules(['left', 'any'])
    expect(after.some((one, at) => one === before[at])).toBe(false)
    expect(after[0]!.written).toBe(nameOf('right'))
    expect(after[0]!.written.number).toBe(17)
    expect(rules(['left', 'any']).every((one, at) => one === after[at])).toBe(true)
  })
})
