/** Where blocks are, as bytes, objects or both, compared with a Map of each through any history. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { blockId, NOWHERE } from '../../../src/cache/addresses.ts'
import { ClockCache } from '../../../src/cache/clock-cache.ts'
import { Whereabouts } from '../../../src/cache/whereabouts.ts'
import type { Block } from '../../../src/layout/block.ts'
import { blockOf, row, sided } from '../layout/support.ts'

const LOG = 3
const object = (name: string): Block => ({ name, weight: 1 }) as unknown as Block

/** A table of blocks of which at most `most` may be objects. */
function clocked(most: number, left: (id: number, address: number) => void = () => {}): { clock: ClockCache; where: Whereabouts } {
  const clock = new ClockCache((id, slot) => left(id as number, where.left(id as number, slot)))
  const where = new Whereabouts(clock)
  clock.maxBytes = most
  return { clock, where }
}

describe('where blocks are', () => {
  test('is known for bytes and for objects, each without the other', () => {
    const where = new Whereabouts()
    const id = blockId(LOG, 5)
    const held = object('held')
    expect([where.entry(LOG, 5), where.find(id), where.size]).toEqual([NOWHERE, NOWHERE, 0])
    where.set(id, 0)
    expect([where.entry(LOG, 5), where.find(id), where.entryOf(id)]).toEqual([0, 0, 0])
    where.add(id, held)
    const entry = where.entry(LOG, 5)
    expect(entry).toBeLessThan(NOWHERE)
    expect([where.object(entry), where.objectOf(id), where.addressBeside(entry), where.find(id), where.size]).toEqual([held, held, 0, 0, 1])
    // Its bytes come and go beside the object.
    where.set(id, 77)
    expect([where.entry(LOG, 5), where.find(id)]).toEqual([entry, 77])
    where.delete(id)
    expect([where.entry(LOG, 5), where.find(id), where.object(entry)]).toEqual([entry, NOWHERE, held])
    where.set(id, 78)
    where.remove(entry)
    expect([where.entry(LOG, 5), where.size]).toEqual([78, 1])
    where.add(id, held)
    where.delete(id)
    where.remove(where.entry(LOG, 5))
    expect([where.entry(LOG, 5), where.size]).toEqual([NOWHERE, 0])
  })

  test('is told for as many records as a page may have', () => {
    const where = new Whereabouts()
    for (let n = 0; n < 300; n++) where.set(blockId(LOG, n), n)
    const ordinals = Array.from({ length: 300 }, (_, n) => n * 16 + 7)
    expect([...where.entries(LOG, 4, ordinals)]).toEqual(Array.from({ length: 200 }, (_, n) => n))
    expect([...where.entries(LOG, 4, [16, 2 ** 40]).subarray(0, 2)]).toEqual([1, NOWHERE])
  })

  test('is forgotten for objects that others push out, but not for their bytes, nor for what is asked for', () => {
    const { where, clock } = clocked(200)
    const ids = Array.from({ length: 200 }, (_, n) => blockId(LOG, n))
    for (const id of ids) where.add(id, object(`${id}`))
    where.set(ids[7]!, 70)
    where.ask(where.entryOf(ids[3]!))
    const more = Array.from({ length: 199 }, (_, n) => blockId(LOG, 1000 + n))
    for (const id of more) where.add(id, object(`${id}`))
    const left = ids.filter((id) => where.entryOf(id) < NOWHERE)
    expect([left, where.find(ids[7]!), where.objectOf(ids[7]!), where.size]).toEqual([[ids[3]], 70, undefined, 201])
    // Slots are reused: what is added takes the place of what is gone.
    expect(Math.min(...more.map((id) => where.entryOf(id)))).toBe(NOWHERE - 200)
    // An object that is too heavy is not kept, but its bytes are.
    clock.maxBytes = 0
    where.add(ids[7]!, object('heavy'))
    expect(where.entryOf(ids[7]!)).toBe(70)
    where.clear()
    clock.clear()
    clock.maxBytes = 200
    expect([ids.map((id) => where.entryOf(id)).every((entry) => entry === NOWHERE), where.size]).toEqual([true, 0])
    where.add(ids[0]!, object('first'))
    expect([where.entryOf(ids[0]!), where.addressBeside(NOWHERE - 1)]).toEqual([NOWHERE - 1, NOWHERE])
  })

  test('is what a Map of bytes and one of objects would say, for any history', () => {
    const step = fc.tuple(fc.constantFrom('set', 'delete', 'add', 'add', 'remove', 'ask'), fc.nat(9), fc.nat(99))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const bytes = new Map<number, number>()
        const objects = new Map<number, Block>()
        const { where } = clocked(5, (id, address) => {
          expect([objects.delete(id), address]).toEqual([true, bytes.get(id) ?? NOWHERE])
        })
        for (const [what, number, value] of steps) {
          const id = blockId(LOG, number)
          const entry = where.entryOf(id)
          if (what === 'set') {
            where.set(id, value)
            bytes.set(id, value)
          } else if (what === 'delete') {
            where.delete(id)
            bytes.delete(id)
          } else if (what === 'add') {
            if (entry < NOWHERE) where.remove(entry)
            objects.delete(id)
            const held = object(`${value}`)
            where.add(id, held)
            objects.set(id, held)
          } else if (entry < NOWHERE) {
            if (what === 'ask') where.ask(entry)
            else {
              where.remove(entry)
              objects.delete(id)
            }
          }
          for (let n = 0; n < 10; n++) {
            const [one, found] = [blockId(LOG, n), where.entry(LOG, n)]
            const wanted = objects.get(one)
            expect(found < NOWHERE).toBe(wanted !== undefined)
            expect([where.find(one), where.objectOf(one)]).toEqual([bytes.get(one) ?? NOWHERE, wanted])
            if (wanted) expect([where.object(found), where.addressBeside(found)]).toEqual([wanted, bytes.get(one) ?? NOWHERE])
            else expect(found).toBe(bytes.get(one) ?? NOWHERE)
          }
          expect(where.size).toBe(new Set([...bytes.keys(), ...objects.keys()]).size)
          expect(objects.size).toBeLessThanOrEqual(5)
        }
      }),
    )
  })

  test('lets rows of objects, and only those, be read ahead, for as many records as a page may have', () => {
    const where = new Whereabouts()
    const asked: number[] = []
    const touch = (at: number): number => {
      asked.push(at)
      return 1 << at
    }
    where.add(blockId(LOG, 1), { touch, weight: 1 } as unknown as Block)
    where.set(blockId(LOG, 2), 9)
    const touched = (ordinals: number[]): number => {
      where.readAhead(where.entries(LOG, 4, ordinals), ordinals, 15)
      return where.touched
    }
    expect([touched([0, 33]), touched([16, 33, 18]), asked.splice(0)]).toEqual([0, 1 | 4, [0, 2]])
    touched(Array.from({ length: 300 }, () => 19))
    expect(asked).toEqual(Array(200).fill(3))
  })

  test('lets a block touch the row of a record: it reads which of the frames of texts is that of the record', () => {
    const rows = ['one', 'other', 'one'].map((name, at) => row(7, at, 1, ['a', 'b'], `"${name}":"${at}"`, `"other":${at}`))
    const block = blockOf(sided, rows)
    expect([0, 1, 2].map((at) => block.touch(at))).toEqual([0, 2, 0])
  })
})
