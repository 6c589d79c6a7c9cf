/** What is kept as objects: what stays, what is pushed out, what is counted. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Ring } from '../../../src/cache/ring.ts'
import type { Weighed } from '../../../src/layout/holder.ts'

/** A ring with a table of the slot of each value, as its owner keeps it. */
function ringOf(maxBytes: number) {
  const slots = new Map<string, number>()
  const out: string[] = []
  const ring = new Ring((name, slot) => {
    expect([slots.get(name as string), ring.values[slot]]).toEqual([slot, undefined])
    slots.delete(name as string)
    out.push(name as string)
  })
  ring.maxBytes = maxBytes
  const put = (name: string, weight: number): Weighed & { weight: number } => {
    const value = { weight }
    const slot = ring.add(name, value)
    if (slot !== undefined) slots.set(name, slot)
    return value
  }
  const ask = (name: string): void => ring.ask(slots.get(name)!)
  const remove = (name: string): void => {
    ring.remove(slots.get(name)!)
    slots.delete(name)
  }
  return { ring, slots, out, put, ask, remove, held: () => [...slots.keys()] }
}
const grow = (value: Weighed & { weight: number }, bytes: number): void => {
  value.weight += bytes
  value.grew?.(bytes)
}

describe('a ring', () => {
  test('keeps what fits, to the byte', () => {
    const { ring, put, held, out } = ringOf(100)
    for (const name of ['a', 'b', 'c', 'd']) put(name, 25)
    expect([held(), ring.bytes, ring.pushedOut]).toEqual([['a', 'b', 'c', 'd'], 100, 0])
    put('e', 1)
    expect([out, ring.bytes, ring.pushedOut]).toEqual([['a'], 76, 25])
  })

  test('pushes out what was not asked for since the hand passed, the oldest first', () => {
    const { put, ask, out, held } = ringOf(100)
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
    const { put, ask, held } = ringOf(100)
    for (const name of ['a', 'b', 'c']) put(name, 25)
    for (let nth = 0; nth < 1000; nth++) {
      put(`once ${nth}`, 10)
      for (const name of ['a', 'b', 'c']) ask(name)
    }
    expect(held()).toEqual(['a', 'b', 'c', 'once 998', 'once 999'])
  })

  test('does not keep what is or becomes too heavy', () => {
    const { ring, put, held, out } = ringOf(100)
    const [a, b] = [put('a', 40), put('b', 40)]
    put('heavy', 101)
    expect([held(), out]).toEqual([['a', 'b'], []])
    grow(b, 70)
    expect([held(), out, ring.bytes]).toEqual([['a'], ['b'], 40])
    // The growth of a value that has left is not counted.
    grow(b, 70)
    grow(a, 60)
    expect([held(), ring.bytes, ring.pushedOut]).toEqual([['a'], 100, 110])
    const { put: keep, held: left } = ringOf(0)
    keep('nothing', 0)
    keep('something', 1)
    expect(left()).toEqual(['nothing'])
  })

  test('counts what its values grow and shrink by', () => {
    const { ring, put, held } = ringOf(100)
    const [a, b] = [put('a', 10), put('b', 10)]
    grow(a, 80)
    grow(b, -10)
    grow(b, 10)
    expect([held(), ring.bytes]).toEqual([['a', 'b'], 100])
    grow(b, 1)
    expect([held(), ring.bytes]).toEqual([['b'], 11])
  })

  test('reuses the slots of values that have left', () => {
    const { ring, put, remove, held } = ringOf(1000)
    for (let nth = 0; nth < 300; nth++) put(`${nth}`, 1)
    for (let nth = 0; nth < 300; nth++) remove(`${nth}`)
    expect([held(), ring.bytes]).toEqual([[], 0])
    for (let nth = 0; nth < 300; nth++) put(`again ${nth}`, 1)
    expect([ring.values.length, ring.bytes, ring.pushedOut]).toEqual([300, 300, 0])
    ring.clear()
    expect([ring.values.length, ring.bytes]).toEqual([0, 0])
  })

  test('ignores the growth of values it held before it was cleared', () => {
    const { ring, slots, put } = ringOf(100)
    const value = put('a', 10)
    ring.clear()
    slots.clear()
    grow(value, 50)
    expect(ring.bytes).toBe(0)
  })

  test('through any history, weighs what its values weigh, never too much, and keeps what is always asked for', () => {
    const step = fc.tuple(fc.constantFrom('put', 'put', 'put', 'grow', 'remove'), fc.nat(11), fc.integer({ min: -20, max: 60 }))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const { ring, slots, put, ask, remove } = ringOf(100)
        const values = new Map<string, Weighed & { weight: number }>()
        const favourites = ['f', 'g']
        for (const name of favourites) values.set(name, put(name, 20))
        for (const name of favourites) ask(name)
        for (const [what, number, bytes] of steps) {
          const name = `${number}`
          if (what === 'put') {
            if (slots.has(name)) remove(name)
            values.set(name, put(name, Math.abs(bytes)))
          } else if (what === 'grow') {
            const value = values.get(name)
            if (value) grow(value, Math.max(-value.weight, bytes))
          } else if (slots.has(name)) remove(name)
          const weights = [...slots].map(([one, slot]) => {
            expect([ring.values[slot], ring.names[slot]]).toEqual([values.get(one), one])
            return values.get(one)!.weight
          })
          expect(ring.bytes).toBe(weights.reduce((sum, weight) => sum + weight, 0))
          expect(ring.bytes).toBeLessThanOrEqual(100)
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
