/** Records made from the values in the holes of their texts, equal to what `JSON.parse` gives. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Recipe } from '../../../src/layout/recipe.ts'
import { takeApart } from '../../../src/text/writer.ts'
import { bare, blockOf, cutAs, finished, rounded, row, valuesOf } from './support.ts'

const textOf = (members: object): string => JSON.stringify(members).slice(1, -1)
/** What a block makes of a text, both stored and finished; undefined if the text has to be parsed. */
function made(text: string): unknown {
  const block = blockOf(bare, [row(7, 4096, 0, [], text)])
  const [stored, done] = [block.made(0), finished(block).made(0)]
  expect(done).toEqual(stored)
  return stored
}

describe('records made without parsing', () => {
  test.each([
    { id: '30064775168', amount: '25.8585173', type: 'payment', type_i: 2, flag: true, none: null },
    { a: { b: { c: 'GA', d: [1, 'X', { e: -2.5 }] }, f: [] }, g: {}, h: [[]], i: 'AB' },
    { n: 0, m: -1, r: 1.5, e: 1e21, t: 1e-7, big: 2 ** 53 - 1, id: 30064775168, ledger: 7 },
    { 7: 'integer-like names come first', b: 1, 3: 'X Y' },
    {},
  ])('%j', (members) => {
    expect(made(textOf(members))).toEqual(members)
    expect(JSON.stringify(made(textOf(members)))).toBe(JSON.stringify(members))
  })

  test('are ordinary objects, in which all inner objects are frozen', () => {
    const record: any = made('"asset":{"code":"XLM","of":[{"n":12}]},"path":[],"memo":"M M"')
    expect([Object.getPrototypeOf(record), Object.isFrozen(record)]).toEqual([Object.prototype, false])
    for (const inside of [record.asset, record.asset.of, record.asset.of[0], record.path]) expect(Object.isFrozen(inside)).toBe(true)
    expect([Array.isArray(record.asset.of), Array.isArray(record.path)]).toEqual([true, true])
  })

  test.each([
    ['an escape', '"memo":"a\\"b"'],
    ['a backslash', '"memo":"a\\\\"'],
    ['a letter that is not ASCII', '"memo":"M€"'],
    ['a member that would set the prototype', '"__proto__":{"a":"GA"}'],
    ['two members of the same name', '"a":"GA","a":"GB"'],
  ])('are not made of a text with %s', (_, text) => expect(made(text)).toBeUndefined())

  test('keep every digit of integers that a number cannot hold', () => {
    const [least, most] = [2n ** 53n, 2n ** 63n - 1n]
    const text = `"a":${least},"b":${-least},"c":${most},"d":9007199254740991,"e":-9007199254740991,"f":1e300,"g":12345678901234567.5,"h":-0`
    const wanted = { a: least, b: -least, c: most, d: 2 ** 53 - 1, e: 1 - 2 ** 53, f: 1e300, g: 12345678901234568, h: -0 }
    expect(made(text)).toEqual(wanted)
    // The same with strings that a block holds once for several records.
    const rows = [0, 1].map((at) => row(7, 4096 * at, 0, [], text))
    for (const block of [blockOf(bare, rows), finished(blockOf(bare, rows))])
      expect([block.made(0), block.made(1)]).toEqual([wanted, wanted])
  })

  test('have the numbers that parsing gives, to the last bit', () => {
    const digits = (most: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: most })
    const number = fc
      .tuple(fc.constantFrom('', '-'), digits(18), fc.option(digits(25)), fc.constantFrom('', '', 'e5', 'E-7', 'e+20'))
      .map(([sign, whole, fraction, power]) => `${sign}${BigInt(whole)}${fraction === null ? '' : `.${fraction}`}${power}`)
    fc.assert(
      fc.property(number, (number) => {
        const { n } = made(`"n":${number}`) as { n: number | bigint }
        if (typeof n === 'bigint') expect([String(n), Number.isSafeInteger(Number(n))]).toEqual([number, false])
        else expect(n).toBe(JSON.parse(number))
      }),
    )
  })

  test('are not made if numbers would lose digits', () => {
    const block = blockOf(bare, [{ ...row(7, 0, 0, [], '"n":12345678901234567890'), exact: true }])
    expect([block.made(0), block.members(0)]).toEqual([undefined, { n: 12345678901234567890n }])
  })

  test('are not made of values that hold several strings, as older blocks have them', () => {
    const texts = [cutAs('"a":"\u0000","n":\u0000', ['AAAA","b":"BBBB', '12'])]
    const block = blockOf(bare, [{ ...row(7, 0, 0, []), texts }])
    expect([block.made(0), block.members(0)]).toEqual([undefined, { a: 'AAAA', b: 'BBBB', n: 12 }])
    expect(finished(block).members(0)).toEqual({ a: 'AAAA', b: 'BBBB', n: 12 })
  })

  test('an ambiguous frame has no recipe', () => {
    expect([Recipe.of('"a":\u0000\u0000'), Recipe.of('\u0000":1'), Recipe.of('"a')]).toEqual([undefined, undefined, undefined])
    expect(Recipe.of('"a":\u0000')!.make([5])).toEqual({ a: 5 })
  })

  test('are what parsing gives, for any members', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.oneof(
          fc.string(),
          fc.constantFrom('GA', 'credit_alphanum4', '30064775168', '12'),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc.integer(),
          fc.boolean(),
          fc.constant(null),
        ),
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('any'), { maxKeys: 5 }),
      ),
    })).any
    let without = 0
    fc.assert(
      fc.property(fc.dictionary(fc.string(), value, { maxKeys: 8 }), (members) => {
        const text = textOf(members)
        const record = made(text)
        if (record === undefined) without++
        else expect(JSON.stringify(record, rounded)).toBe(JSON.stringify(JSON.parse(`{${text}}`)))
        const apart = takeApart(text)
        expect(apart.frame.split('\u0000').length).toBe(valuesOf(apart).length + 1)
      }),
    )
    expect(without).toBeLessThan(fc.readConfigureGlobal().numRuns ?? 100)
  })
})
