/** Where blocks are: as bytes, as objects, as both, through any history, as a map of each would have it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { blockId, NOWHERE } from '../../../src/layout/addresses.ts'
import type { Block } from '../../../src/layout/block.ts'
import { Whereabouts } from '../../../src/layout/whereabouts.ts'
import { blockOf, row, sided } from './support.ts'

const LOG = 3
const object = (name: string): Block => ({ name }) as unknown as Block

describe('where blocks are', () => {
  test('is known of bytes and of objects, each without the other', () => {
    const where = new Whereabouts()
    const id = blockId(LOG, 5)
    const held = object('held')
    expect([where.entry(LOG, 5), where.find(id), where.size]).toEqual([NOWHERE, NOWHERE, 0])
    where.set(id, 0)
    expect([where.entry(LOG, 5), where.find(id), where.entryOf(id)]).toEqual([0, 0, 0])
    where.add(id, held)
    const entry = where.entry(LOG, 5)
    expect(entry).toBeLessThan(NOWHERE)
    expect([where.object(entry), where.addressBeside(entry), where.find(id), where.isYoung(entry), where.size]).toEqual([
      held,
      0,
      0,
      true,
      1,
    ])
    // Bytes come and go beside it.
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

  test('of records is told for as many as a page has', () => {
    const where = new Whereabouts()
    for (let n = 0; n < 300; n++) where.set(blockId(LOG, n), n)
    const ordinals = Array.from({ length: 300 }, (_, n) => n * 16 + 7)
    expect([...where.entries(LOG, 4, ordinals)]).toEqual(Array.from({ length: 200 }, (_, n) => n))
    expect([...where.entries(LOG, 4, [16, 2 ** 40]).subarray(0, 2)]).toEqual([1, NOWHERE])
  })

  test('of objects is forgotten with the second turn after they were asked for', () => {
    const where = new Whereabouts()
    const ids = Array.from({ length: 200 }, (_, n) => blockId(LOG, n))
    for (const id of ids) where.add(id, object(`${id}`))
    where.set(ids[7]!, 70)
    where.turn()
    expect(ids.map((id) => where.isYoung(where.entryOf(id))).some(Boolean)).toBe(false)
    where.makeYoung(where.entryOf(ids[3]!))
    expect(where.isYoung(where.entryOf(ids[3]!))).toBe(true)
    where.turn()
    const left = ids.filter((id) => where.entryOf(id) < NOWHERE)
    expect([left, where.find(ids[7]!), where.size]).toEqual([[ids[3]], 70, 2])
    // Slots are used again: what is added takes the place of what is gone.
    for (const id of ids) if (where.entryOf(id) >= NOWHERE) where.add(id, object(`again ${id}`))
    expect(Math.min(...ids.map((id) => where.entryOf(id)))).toBe(NOWHERE - 200)
    where.clear()
    expect([ids.map((id) => where.entryOf(id)).every((entry) => entry === NOWHERE), where.size]).toEqual([true, 0])
    where.add(ids[0]!, object('first'))
    expect([where.entryOf(ids[0]!), where.addressBeside(NOWHERE - 1)]).toEqual([NOWHERE - 1, NOWHERE])
  })

  test('is what a map of bytes and one of objects would say, for any history', () => {
    const step = fc.tuple(fc.constantFrom('set', 'delete', 'add', 'add', 'remove', 'use', 'turn'), fc.nat(9), fc.nat(99))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const where = new Whereabouts()
        const bytes = new Map<number, number>()
        const objects = new Map<number, { held: Block; young: boolean }>()
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
            const held = object(`${value}`)
            where.add(id, held)
            objects.set(id, { held, young: true })
          } else if (what === 'turn') {
            where.turn()
            for (const [one, { held, young }] of objects) {
              if (young) objects.set(one, { held, young: false })
              else objects.delete(one)
            }
          } else if (entry < NOWHERE) {
            if (what === 'remove') {
              where.remove(entry)
              objects.delete(id)
            } else {
              where.makeYoung(entry)
              objects.get(id)!.young = true
            }
          }
          for (let n = 0; n < 10; n++) {
            const [one, found] = [blockId(LOG, n), where.entry(LOG, n)]
            const wanted = objects.get(one)
            expect(found < NOWHERE).toBe(wanted !== undefined)
            expect(where.find(one)).toBe(bytes.get(one) ?? NOWHERE)
            if (wanted) expect([where.object(found), where.isYoung(found)]).toEqual([wanted.held, wanted.young])
            else expect(found).toBe(bytes.get(one) ?? NOWHERE)
          }
          expect(where.size).toBe(new Set([...bytes.keys(), ...objects.keys()]).size)
        }
      }),
    )
  })

  test('of an object that was taken away is nothing to a turn', () => {
    const where = new Whereabouts()
    const ids = [0, 1, 2].map((n) => blockId(LOG, n))
    for (const id of ids) where.add(id, object(`${id}`))
    where.remove(where.entryOf(ids[1]!))
    where.turn()
    where.turn()
    const again = [3, 4, 5, 6].map((n) => blockId(LOG, n))
    for (const id of again) where.add(id, object(`${id}`))
    // Each in a slot of its own.
    expect(new Set(again.map((id) => where.entryOf(id))).size).toBe(4)
    expect(again.map((id) => where.object(where.entryOf(id)))).toEqual(again.map((id) => object(`${id}`)))
  })

  test('lets rows of objects be read ahead, and those alone, for as many records as a page has', () => {
    const where = new Whereabouts()
    const asked: number[] = []
    const touch = (at: number): number => {
      asked.push(at)
      return 1 << at
    }
    where.add(blockId(LOG, 1), { touch } as unknown as Block)
    where.set(blockId(LOG, 2), 9)
    const touched = (ordinals: number[]): number => {
      where.readAhead(where.entries(LOG, 4, ordinals), ordinals, 15)
      return where.touched
    }
    expect([touched([0, 33]), touched([16, 33, 18]), asked.splice(0)]).toEqual([0, 1 | 4, [0, 2]])
    touched(Array.from({ length: 300 }, () => 19))
    expect(asked).toEqual(Array(200).fill(3))
  })

  test('lets a block say where the row of a record is', () => {
    const rows = Array.from({ length: 3 }, (_, at) => row(7, at, 1, ['a', 'b'], `"value":"${at}"`, `"other":${at}`))
    const block = blockOf(sided, rows)
    expect([block.touch(0), block.touch(2)].every((byte) => byte >= 0 && byte < 256)).toBe(true)
  })
})
