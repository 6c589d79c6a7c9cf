/** Members written straight into bytes: what comes out is what JSON says, cut where that text would be cut. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '../../../adapters/testing/arbitrary-values.ts'
import { Digits } from '../../../src/index.ts'
import { writeJson } from '../../../src/json.ts'
import { HOLE, isSimple } from '../../../src/text/apart.ts'
import { Form } from '../../../src/text/form.ts'
import { TextWriter, takeApart, write } from '../../../src/text/writer.ts'
import { valuesOf } from '../layout/support.ts'

const none = new Form([])
const refuse = (name: string, value: unknown, isReserved: boolean): never => {
  throw new Error(`${name} ${value} ${isReserved}`)
}
const written = (members: object, form = none) => {
  const out = write()
  try {
    out.members(members as never, form, refuse)
  } catch (error) {
    out.abandon()
    throw error
  }
  const { exact } = out
  return { apart: out.end(), exact }
}

/** Holds what was written against the JSON of the same members, taken apart as a string. */
function checkWritten(members: object, found = written(members)): void {
  const { json, exact } = writeJson(members)
  const cut = takeApart(json.slice(1, -1))
  for (const apart of [found.apart, cut]) {
    const { text, frame } = apart
    const values = valuesOf(apart)
    expect([text, frame, values]).toEqual([json.slice(1, -1), cut.frame, valuesOf(cut)])
    const pieces = frame.split(HOLE)
    expect([pieces.map((piece, n) => piece + (values[n] ?? '')).join(''), values.length]).toEqual([text, pieces.length - 1])
    const { sheet, from } = apart
    const simple = valuesOf(cut).every((_, n) => {
      const at = apart.cut + 2 * n
      return isSimple(sheet.bytes, from + sheet.cuts[at]!, from + sheet.cuts[at + 1]!)
    })
    expect(apart.simple).toBe(simple)
  }
  expect(found.exact).toBe(exact)
}

/** Checks texts that were written one after another: one that is taken apart in between begins another sheet before the last one is full. */
function checkAllWritten(all: readonly object[]): void {
  const found = all.map((members) => written(members))
  for (const [n, members] of all.entries()) checkWritten(members, found[n])
}

const name = fc.oneof(fc.constantFrom('id', 'type', 'a_b', 'é', '', '__proto__', 'with "quote"', '7', ':1234567890123456'), fc.string())
const leaf = fc.oneof(
  fc.string(),
  anyText(40),
  fc.stringMatching(/^[a-z][a-z0-9_]{0,30}$/),
  fc.stringMatching(/^G[A-Z2-7]{55}$/),
  fc.constantFrom('a:1234567890123456', '[-12345678901234567890', 'x,9999999999999999 and more than twenty-four', '\u007f', 'Ģ'.repeat(30)),
  fc.constantFrom(...['\ud800', 'a\ud800b'.repeat(9), '"', '\\', '\n', 'A'.repeat(70_000), 'é'.repeat(30_000)]),
  fc.integer(),
  fc.double(),
  fc.constantFrom(1e15, -1e15, 1e21, 123456789012345680000, 0.1, -0, 1e-7, Number.NaN, Number.POSITIVE_INFINITY),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
  fc.boolean(),
  fc.constantFrom<unknown>(
    null,
    undefined,
    new Digits('1.50'),
    new Date(0),
    () => 1,
    Symbol('s'),
    new Map([[1, 2]]),
    Object(7),
    Object('s'),
  ),
)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 5, arbitrary: leaf },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 5 }) },
    { weight: 1, arbitrary: fc.dictionary(name, tie('value'), { maxKeys: 5 }) },
  ),
}))
const members = fc.dictionary(name, value, { maxKeys: 12, noNullPrototype: true })

describe('members', () => {
  test('of any kind are written as JSON says, and cut as that text is', () => {
    fc.assert(fc.property(members, (members) => checkWritten(members)))
  })

  test('of the same kind share one frame, whatever was written between', () => {
    fc.assert(
      fc.property(fc.array(members, { minLength: 2, maxLength: 4 }), (several) => {
        checkAllWritten(several)
        const [first] = several
        const { frame } = written(first!).apart
        for (const one of several) written(one)
        expect(written(first!).apart.frame).toBe(frame)
      }),
    )
  })

  test('are omitted, renamed and changed as a form says; reserved ones are refused, but for those without a value', () => {
    const form = new Form([], ['out', 'base_out'], { base_x: (x: number) => x + 1, flag: (is: boolean) => !is }, (name) =>
      name.replace('base_', 'counter_'),
    )
    const input = { base_x: 1, out: 'o', flag: true, base_out: 2, base_y: 'Y', nested: { base_x: 1, out: 2, flag: true } }
    const shown = '"counter_x":2,"flag":false,"counter_y":"Y","nested":{"base_x":1,"out":2,"flag":true}'
    // A value that is not plain leaves the rest to JSON, by the same rules.
    for (const [odd, text] of [
      [{}, shown],
      [{ d: new Digits('1.50') }, `"d":1.50,${shown}`],
    ] as const)
      expect(written({ ...odd, ...input }, form).apart.text).toBe(text)
    for (const reserved of ['_links', '_embedded']) {
      expect(() => written({ a: 1, [reserved]: null })).toThrow(`${reserved} null true`)
      expect(written({ a: { [reserved]: 1 }, [reserved]: undefined }).apart.text).toBe(`"a":{"${reserved}":1}`)
    }
  })

  test('that are derived are met with their values, and not written', () => {
    const form = new Form(['id', 'token'])
    const met: unknown[] = []
    const out = write().members({ a: 1, id: 7, token: undefined, b: { id: 8 } }, form, (...all) => void met.push(all))
    expect([out.end().text, met]).toEqual(['"a":1,"b":{"id":8}', [['id', 7, false]]])
  })

  test('that were inherited, or have no name that can be listed, are not written', () => {
    const input = Object.create({ inherited: 1 }, { hidden: { value: 2 }, own: { value: 3, enumerable: true } })
    expect(written({ ...{ a: 1 }, b: input }).apart.text).toBe('"a":1,"b":{"own":3}')
    expect(written(input).apart.text).toBe('"own":3')
  })

  test('of thousands of names, however long and deep, are written; what is known of names is bounded', () => {
    const wide = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`name ${n}`, n]))
    checkWritten(wide)
    checkWritten({ a: wide, list: Array.from({ length: 3000 }, (_, n) => `word_${n}`) })
    let deep: unknown = 1
    for (let depth = 0; depth < 100; depth++) deep = { deep: [deep] }
    checkWritten({ deep })
    for (let n = 0; n < 30_000; n++) written({ [`${n}${'x'.repeat(100)}`]: `w${n}` })
    checkWritten({ id: 1, type: 'payment' })
  })

  test('are whole wherever a sheet ends', () => {
    const words = Array.from({ length: 40 }, (_, n) => `${'w'.repeat(22)}_${n % 10}`)
    const numbers = words.map((_, n) => -1.2345678901234e-100 * (n + 1))
    const long = words.map((word, n) => (n % 2 ? word.toUpperCase() : `é${word}`))
    const digits = words.map((_, n) => -(10n ** BigInt(20 + 3 * n)))
    const wide = words.map((_, n) => '€'.repeat(10 + n))
    // In the last two a single value decides whether all are simple.
    const one = (odd: string) => words.map((word, n) => (n === 20 ? odd : word.toUpperCase()))
    for (const list of [words, numbers, long, digits, wide, numbers.map(() => [true, [null]]), one('"'), one('é'.repeat(30))])
      checkAllWritten(Array.from({ length: 2000 }, (_, n) => ({ list: list.slice(n % 7, 21 + (n % 11)), n })))
  })

  test('are known not to be simple even where the value that is not is the first on another sheet', () => {
    for (const odd of ['"', '\\', 'é', '\u0000', ' \\'.repeat(20)]) checkAllWritten(Array(2500).fill({ odd }))
  })

  test('that turn out not to be plain leave nothing of what was written before that was known', () => {
    const odd = { a: '"', toJSON: () => ({ b: 'B' }) }
    checkWritten({ odd })
    checkWritten({ a: 1, odd, c: 'C' })
    checkWritten({ a: ['"', 1234567890123456n, odd] })
    class Sums extends Array<number> {
      toJSON() {
        return this.length
      }
    }
    checkWritten({ a: 1, sums: Sums.of(1, 2, 3) })
  })

  test('begun while another text is being written do not mix with it', () => {
    let inner = ''
    const input = {
      a: 'A',
      get b() {
        inner = written({ c: 'C', d: 'w' }).apart.text
        return 'B'
      },
      e: 'E',
    }
    expect(written(input).apart.text).toBe('"a":"A","b":"B","e":"E"')
    expect(inner).toBe('"c":"C","d":"w"')
  })

  test('given up halfway leave nothing behind', () => {
    const out = write()
    expect(() =>
      out.members(
        {
          a: 'A',
          get b() {
            throw new Error('unreadable')
          },
        },
        none,
        refuse,
      ),
    ).toThrow('unreadable')
    out.abandon()
    checkWritten({ a: 'B' })
  })

  test('lie side by side in one piece of memory, without what was given up between them, and one writer serves all', () => {
    const writer = new TextWriter()
    const first = writer.begin().member('a', 'A').member('n', 1).end()
    writer.begin().member('b', ['"', 1, 2]).abandon()
    const second = writer.begin().member('c', 'C').end()
    // With small bounds, what was given up may have begun another sheet.
    const before = second.sheet === first.sheet ? [first.length, 2 * first.holes] : [0, 0]
    expect([second.from, second.cut, second.text]).toEqual([...before, '"c":"C"'])
    const open = write()
    open.member('a', 'A').end()
    expect(write() === open).toBe(true)
    open.abandon()
    expect(write() === open).toBe(true)
    open.abandon()
  })
})
