/** Rules: what a value of each must be, in words and in fact; and options, checked by them in any order and form. */
import { describe, expect, test } from 'vitest'
import { badRequest, Check, checkObject, OptionRules, type Rule } from '../../../src/check.ts'

const even = { expected: 'an even number', fits: (value: unknown) => typeof value === 'number' && value % 2 === 0 }
const signal = { aborted: false, addEventListener: () => {} }

test.each<[rule: Rule, expected: string, good: readonly unknown[], bad: readonly (readonly [value: unknown, found: string | undefined])[]]>(
  [
    [
      'flag',
      'true or false',
      [true, false],
      [
        ['no', 'string'],
        [0, 'number'],
        [null, 'null'],
      ],
    ],
    ['callback', 'a function', [() => {}, class {}], [[{}, 'object']]],
    [
      'object',
      'an object',
      [{}, []],
      [
        [null, 'null'],
        ['x', 'string'],
        [() => {}, 'function'],
      ],
    ],
    [
      'signal',
      'an AbortSignal',
      [AbortSignal.abort(), signal],
      [
        [null, 'null'],
        [undefined, 'undefined'],
        [new AbortController(), 'object'],
        [{ ...signal, aborted: 'no' }, 'object'],
        [{ aborted: true }, 'object'],
      ],
    ],
    [
      { least: 1, most: 3 },
      'a number from 1 to 3',
      [1, 2.5, 3],
      [
        [0.5, '0.5'],
        [3.5, '3.5'],
        [Number.NaN, 'NaN'],
        ['2', 'string'],
        [2n, '2n'],
        [null, 'null'],
      ],
    ],
    [
      { least: 0, whole: true, of: 'bytes' },
      'a whole number of bytes, 0 or more',
      [0, 7, Number.MAX_SAFE_INTEGER],
      [
        [0.5, '0.5'],
        [-1, '-1'],
        [Number.MAX_SAFE_INTEGER + 1, '9007199254740992'],
        [Number.POSITIVE_INFINITY, 'Infinity'],
      ],
    ],
    [{ least: 1, most: 9, of: 'ledgers' }, 'a number of ledgers, from 1 to 9', [1, 9], [[10, '10']]],
    [{ least: 0 }, 'a number, 0 or more', [0, Number.POSITIVE_INFINITY], [[-0.5, '-0.5']]],
    [{}, 'a number', [Number.NEGATIVE_INFINITY, 0], [['0', 'string']]],
    [
      { text: 'a name', least: 2 },
      'a name',
      ['ab', 'abc'],
      [
        ['a', undefined],
        ['', undefined],
        [['a', 'b'], 'object'],
        [7, 'number'],
      ],
    ],
    [
      ['asc', 'desc', 7],
      'asc, desc or 7',
      ['asc', 'desc', 7],
      [
        ['ASC', undefined],
        [8, 'number'],
        [undefined, 'undefined'],
      ],
    ],
    [
      even,
      'an even number',
      [2],
      [
        ['2', undefined],
        [3, 'number'],
      ],
    ],
  ],
)('a value that must be %o', (rule, expected, good, bad) => {
  const check = new Check(rule)
  expect(check.expected).toBe(expected)
  for (const value of good) expect([value, check.fits(value)]).toEqual([value, true])
  for (const [value, found] of bad) {
    expect([value, check.fits(value)]).toEqual([value, false])
    const fields = { field: 'it', reason: expected, ...(found !== undefined && { found }) }
    const error = check.wrong('it', value)
    expect([error.code, error.fields]).toStrictEqual(['BAD_REQUEST', fields])
  }
})

test('an error says what was found only if it knows', () => {
  expect(Object.keys(badRequest('a', 'b').fields)).toEqual(['field', 'reason'])
  expect(badRequest('a', 'b', 'c').fields).toEqual({ field: 'a', reason: 'b', found: 'c' })
})

test('an argument is an object, or refused', () => {
  const given = {}
  expect(checkObject(given, 'values')).toBe(given)
  for (const wrong of [null, undefined, 'x', () => {}])
    expect(() => checkObject(wrong as never, 'values')).toThrow(
      expect.objectContaining({ code: 'BAD_REQUEST', fields: { field: 'values', reason: 'an object, or nothing' } }),
    )
})

interface Some {
  readonly first?: number | undefined
  readonly second?: boolean | undefined
  readonly third?: string | undefined
}

describe('options', () => {
  const rules = new OptionRules<Some>('it', { first: { least: 1, whole: true }, second: 'flag', third: { text: 'a name', least: 1 } })
  const needing = new OptionRules<{ open: () => void; count?: number | undefined }>('it', {
    open: { needed: 'callback' },
    count: { least: 0 },
  })

  /** The fault of options: none, or the field that is wrong and why. */
  const faultOf = <T extends object>(of: OptionRules<T>, options: unknown): unknown => {
    try {
      const given = options as Record<string, unknown>
      const checked = of.check(options as T) as Record<string, unknown>
      expect(Object.getPrototypeOf(checked)).toBe(Object.prototype)
      expect(Object.keys(checked)).toEqual(Object.keys(of.rules).filter((name) => given[name] !== undefined))
      for (const [name, value] of Object.entries(checked)) if (typeof value !== 'function') expect(value).toBe(given[name])
      expect(of.fit(options as T)).toBe(true)
      return 'none'
    } catch (error) {
      expect(of.fit(options as T)).toBe(false)
      const { field, reason } = (error as { fields: Record<string, unknown> }).fields
      return `${field}: ${reason}`
    }
  }
  class Own {
    first = 5
    get second(): unknown {
      return true
    }
  }
  const unknown = 'fourth: not an option of it; the options are first, second, third'

  test.each<[options: unknown, fault: string]>([
    [{}, 'none'],
    [{ first: 1, second: false, third: 'x' }, 'none'],
    [{ third: 'x', second: false, first: 1 }, 'none'],
    [{ second: true, first: undefined, third: undefined }, 'none'],
    [{ fourth: undefined, first: 2 }, 'none'],
    [Object.create(null), 'none'],
    [new Own(), 'none'],
    [{ fourth: undefined, first: 0 }, 'first: a whole number, 1 or more'],
    [{ fourth: 5 }, unknown],
    [{ first: 0, fourth: 5 }, unknown],
    [{ third: 'x', fourth: 5, first: 1 }, unknown],
    [{ third: '', first: 0 }, 'first: a whole number, 1 or more'],
    [{ third: '', first: 1 }, 'third: a name'],
    [{ third: 'x', second: 'no' }, 'second: true or false'],
    [Object.create({ second: 'no' }), 'second: true or false'],
    [Object.assign(new Own(), { first: 0 }), 'first: a whole number, 1 or more'],
    [null, 'options: an object, or nothing'],
    ['first', 'options: an object, or nothing'],
    [() => {}, 'options: an object, or nothing'],
  ])('%o have this fault: %s', (options, fault) => {
    expect(faultOf(rules, options)).toBe(fault)
  })

  test('of a class are read from its prototype too', () => {
    class Wrong {
      get second(): unknown {
        return 'no'
      }
    }
    expect(faultOf(rules, new Wrong())).toBe('second: true or false')
  })

  test('that are needed must be given, and be what their rule says', () => {
    expect(faultOf(needing, { open: () => {} })).toBe('none')
    expect(faultOf(needing, undefined)).toBe('options: an object that has open')
    expect(faultOf(needing, { count: 1 })).toBe('open: a function')
    expect(faultOf(needing, { open: undefined })).toBe('open: a function')
    expect(faultOf(needing, { open: 5 })).toBe('open: a function')
    expect(faultOf(needing, { open: () => {}, count: -1 })).toBe('count: a number, 0 or more')
    expect(needing.rules.count).toEqual({ least: 0 })
  })

  test('are copied, so that they may be changed afterwards, and their functions know what they came from', () => {
    const opened: unknown[] = []
    class Door {
      count = 1
      open(): void {
        opened.push(this)
      }
    }
    const door = new Door()
    const taken = needing.check(door)
    door.count = -5
    taken.open()
    expect(taken.count).toBe(1)
    expect(opened.length === 1 && opened[0] === door).toBe(true)
  })
})
