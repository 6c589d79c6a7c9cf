/** The table of where values lie, compared with a Map. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Addresses, canBeFound, NOWHERE } from '../../../src/cache/addresses.ts'

/** Numbers of blocks: neighbours in a few logs, and distant ones. */
const ids = fc.oneof(
  fc.tuple(fc.nat(40), fc.constantFrom(2, 3, 4)).map(([block, log]) => block * 64 + log),
  fc.nat(2 ** 31 - 1),
)

test('the table finds what was set and not deleted, for any history', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('set', 'set', 'delete'), ids, fc.nat(2 ** 31 - 1)), { maxLength: 300 }), (steps) => {
      const [table, model] = [new Addresses(), new Map<number, number>()]
      for (const [step, id, address] of steps) {
        if (step === 'set') {
          table.set(id, address)
          model.set(id, address)
        } else {
          table.delete(id)
          model.delete(id)
        }
        expect(table.size).toBe(model.size)
      }
      for (const [, id] of steps) expect(table.get(id)).toBe(model.get(id) ?? NOWHERE)
    }),
  )
})

test('the table finds each of many values, and nothing once they are gone', () => {
  const table = new Addresses()
  const count = 20_000
  for (let n = 0; n < count; n++) table.set(n * 64 + 3, n)
  for (let n = 0; n < count; n += 2) table.delete(n * 64 + 3)
  expect(table.size).toBe(count / 2)
  for (let n = 0; n < count; n++) expect(table.get(n * 64 + 3)).toBe(n % 2 ? n : NOWHERE)
  table.clear()
  expect([table.size, table.get(67)]).toEqual([0, NOWHERE])
})

test('the table finds nothing beyond the largest id', () => {
  const table = new Addresses()
  table.set(5, 1)
  expect([canBeFound(2 ** 38 - 1), canBeFound(2 ** 38)]).toEqual([true, false])
  expect([table.get(2 ** 38 + 5), table.at(5, 2 ** 32), table.at(5, 0), table.at(6, 0)]).toEqual([NOWHERE, NOWHERE, 1, NOWHERE])
})

test('the table reuses leaves that have become empty', () => {
  const table = new Addresses()
  // One value at a time, all over a log: never more than one leaf is in use, so none is ever added.
  for (let n = 0; n < 1000; n++) {
    table.set(n * 128 * 64, -2 - n)
    expect([table.size, table.get(n * 128 * 64)]).toEqual([1, -2 - n])
    table.delete(n * 128 * 64)
  }
  expect(table['leaves'].byteLength).toBe(16 * 128 * 4)
  for (let n = 0; n < 17; n++) table.set(n * 128 * 64, n)
  expect([table.size, table['leaves'].byteLength]).toEqual([17, 32 * 128 * 4])
})
