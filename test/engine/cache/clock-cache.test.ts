/** What is kept as objects: what stays, what is pushed out, what is counted. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ClockCache } from '../../../src/cache/clock-cache.ts'
import type { Weighed } from '../../../src/layout/holder.ts'

/** A clock cache with a table of the slot of each value, as its owner keeps it. */
function clockOf(maxBytes: number) {
  const slots = new Map<string, number>()
  const out: string[] = []
  const clock = new ClockCache((name, slot) => {
    expect([slots.get(name as string), clock.values[slot]]).toEqual([slot, undefined])
    slots.delete(name as string)
    out.push(name as string)
  })
  clock.maxBytes = maxBytes
  const put = (name: string, weight: number): Weighed & { weight: number } => {
    const value = { weight }
    const before = slots.get(name)
    slots.delete(name)
    const slot = before === undefined ? clock.add(name, value) : clock.replace(before, name, value)
    if (slot !== undefined) slots.set(name, slot)
    return value
  }
  const ask = (name: string): void => clock.ask(slots.get(name)!)
  const remove = (name: string): void => {
    clock.remove(slots.get(name)!)
    slots.delete(name)
  }
  return { clock, slots, out, put, ask, remove, held: () => [...slots.keys()] }
}
const grow = (value: Weighed & { weight: number }, bytes: number): void => {
  value.weight += bytes
  value.keeper?.grow(bytes, value.slot!)
}

describe('a clock cache', () => {
  test('keeps what fits, to the byte', () => {
    const { clock, put, held, out } = clockOf(100)
    for (const name of ['a', 'b', 'c', 'd']) put(name, 25)
    expect([held(), clock.bytes, clock.evictedBytes]).toEqual([['a', 'b', 'c', 'd'], 100, 0])
    put('e', 1)
    expect([out, clock.bytes, clock.evictedBytes]).toEqual([['a'], 76, 25])
  })

  test('pushes out what was not asked for since the hand passed, the oldest first', () => {
    const { put, ask, out, held } = clockOf(100)
    for (const name of ['a', 'b', 'c', 'd']) put(name, 25)
    for (const name of ['a', 'c']) ask(name)
    put('e', 50)
    // Values that were asked for once have now had their second chance.
    expect([out, held()]).toEqual([
      ['b', 'd'],
      ['a', 'c', 'e'],
    ])
    put('f', 25)
    expect(out).toEqual(['b', 'd', 'a'])
  })

  test('keeps what is asked for, however much is put', () => {
    const { put, ask, held } = clockOf(100)
    for (const name of ['a', 'b', 'c']) put(name, 25)
    for (let nth = 0; nth < 1000; nth++) {
      put(`once ${nth}`, 10)
      for (const name of ['a', 'b', 'c']) ask(name)
    }
    expect(held()).toEqual(['a', 'b', 'c', 'once 998', 'once 999'])
  })

  test('keeps what replaces a value that was asked for, and no other for that', () => {
    const { clock, put, ask, held, out } = clockOf(100)
    for (const name of ['a', 'b', 'c', 'd']) put(name, 25)
    ask('a')
    for (const [name, weight] of [
      ['a', 20],
      ['b', 20],
    ] as const)
      put(name, weight)
    expect([held(), clock.bytes]).toEqual([['c', 'd', 'a', 'b'], 90])
    put('e', 60)
    // The second chance of `a` is used up.
    expect([out, held()]).toEqual([
      ['b', 'c', 'd'],
      ['a', 'e'],
    ])
    put('a', 25)
    put('f', 30)
    expect(held()).toEqual(['e', 'f'])
  })

  test('keeps what is asked for and replaced in turn, however much is put', () => {
    const { put, ask, out } = clockOf(100)
    for (const name of ['a', 'b', 'c']) put(name, 25)
    for (let nth = 0; nth < 1000; nth++) {
      for (const name of ['a', 'b', 'c']) {
        ask(name)
        put(name, 25)
      }
      put(`once ${nth}`, 10)
    }
    expect(out.filter((name) => !name.startsWith('once'))).toEqual([])
  })

  test('does not keep what is or becomes too heavy', () => {
    const { clock, put, held, out } = clockOf(100)
    const [a, b] = [put('a', 40), put('b', 40)]
    put('heavy', 101)
    expect([held(), out]).toEqual([['a', 'b'], []])
    grow(b, 70)
    expect([held(), out, clock.bytes]).toEqual([['a'], ['b'], 40])
    // The growth of a value that has left is not counted.
    grow(b, 70)
    grow(a, 60)
    expect([held(), clock.bytes, clock.evictedBytes]).toEqual([['a'], 100, 110])
    const { put: keep, held: left } = clockOf(0)
    keep('nothing', 0)
    keep('something', 1)
    expect(left()).toEqual(['nothing'])
  })

  test('counts what its values grow and shrink by', () => {
    const { clock, put, held } = clockOf(100)
    const [a, b] = [put('a', 10), put('b', 10)]
    grow(a, 80)
    grow(b, -10)
    grow(b, 10)
    expect([held(), clock.bytes]).toEqual([['a', 'b'], 100])
    grow(b, 1)
    expect([held(), clock.bytes]).toEqual([['b'], 11])
  })

  test('reuses the slots of values that have left', () => {
    const { clock, put, remove, held } = clockOf(1000)
    for (let nth = 0; nth < 300; nth++) put(`${nth}`, 1)
    for (let nth = 0; nth < 300; nth++) remove(`${nth}`)
    expect([held(), clock.bytes]).toEqual([[], 0])
    for (let nth = 0; nth < 300; nth++) put(`again ${nth}`, 1)
    expect([clock.values.length, clock.bytes, clock.evictedBytes]).toEqual([300, 300, 0])
    clock.clear()
    expect([clock.values.length, clock.bytes]).toEqual([0, 0])
  })

  test('ignores the growth of values it held before it was cleared', () => {
    const { clock, slots, put } = clockOf(100)
    const value = put('a', 10)
    clock.clear()
    slots.clear()
    grow(value, 50)
    expect(clock.bytes).toBe(0)
  })

  test('through any history, weighs what its values weigh, never too much, and keeps what is always asked for', () => {
    const step = fc.tuple(fc.constantFrom('put', 'put', 'put', 'grow', 'remove'), fc.nat(11), fc.integer({ min: -20, max: 60 }))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const { clock, slots, put, ask, remove } = clockOf(100)
        const values = new Map<string, Weighed & { weight: number }>()
        const favourites = ['f', 'g']
        for (const name of favourites) values.set(name, put(name, 20))
        for (const name of favourites) ask(name)
        for (const [what, number, bytes] of steps) {
          const name = `${number}`
          if (what === 'put') values.set(name, put(name, Math.abs(bytes)))
          else if (what === 'grow') {
            const value = values.get(name)
            if (value) grow(value, Math.max(-value.weight, bytes))
          } else if (slots.has(name)) remove(name)
          const weights = [...slots].map(([one, slot]) => {
            expect([clock.values[slot], clock.names[slot]]).toEqual([values.get(one), one])
            return values.get(one)!.weight
          })
          expect(clock.bytes).toBe(weights.reduce((sum, weight) => sum + weight, 0))
          expect(clock.bytes).toBeLessThanOrEqual(100)
          for (const favourite of favourites) {
            // There is room for these two beside whatever a step brings.
            expect(slots.has(favourite)).toBe(true)
            ask(favourite)
          }
        }
      }),
    )
  })
})
