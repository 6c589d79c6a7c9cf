/** Values side by side in slabs: what is found, given up, carried over, and counted. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Region } from '../../../src/bytes.ts'
import { NOWHERE } from '../../../src/cache/addresses.ts'
import { MAX_PAYLOAD, SLAB_BYTES, Slabs } from '../../../src/cache/slabs.ts'
import { Whereabouts } from '../../../src/cache/whereabouts.ts'

/** A payload of `length` bytes that are told apart by `id`. */
function payload(id: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length).fill(id)
  if (length > 8) new DataView(bytes.buffer).setFloat64(length - 8, id)
  return bytes
}
const same = (found: Uint8Array | undefined, wanted: Uint8Array): void => expect(Buffer.compare(found!, wanted)).toBe(0)
const put = (slabs: Slabs, id: number, bytes: Uint8Array, asked = 0): void =>
  slabs.put(id, bytes.length, ~id, asked, (out: Region, at) => {
    out.bytes.set(bytes, at)
    return at + bytes.length
  })
const held = (slabs: Slabs, id: number): Uint8Array | undefined => {
  const address = slabs.find(id)
  if (address === NOWHERE) return undefined
  expect(slabs.sum(address)).toBe(~id)
  return slabs.region(address).bytes.slice(slabs.start(address), slabs.end(address))
}
/** Eight of them fill a slab. */
const EIGHTH = MAX_PAYLOAD

describe('slabs', () => {
  test('hold what was last put under an id, byte for byte', () => {
    const slabs = new Slabs(4 * SLAB_BYTES)
    for (const id of [0, 1, 63, 2 ** 31, 2 ** 33 + 2]) put(slabs, id, payload(id, 1 + (id % 1000)))
    for (const id of [0, 1, 63, 2 ** 31, 2 ** 33 + 2]) same(held(slabs, id), payload(id, 1 + (id % 1000)))
    put(slabs, 2 ** 38 + 1, payload(2, 5))
    expect(held(slabs, 2 ** 38 + 1)).toBeUndefined()
    same(held(slabs, 1), payload(1, 2))
    put(slabs, 63, payload(64, 5))
    expect([held(slabs, 63), held(slabs, 64)]).toEqual([payload(64, 5), undefined])
    slabs.clear()
    expect([held(slabs, 0), held(slabs, 63)]).toEqual([undefined, undefined])
    put(slabs, 7, payload(7, 3))
    same(held(slabs, 7), payload(7, 3))
  })

  test('no longer count what was replaced', () => {
    const slabs = new Slabs(4 * SLAB_BYTES)
    for (let n = 0; n < 200_000; n++) put(slabs, 5, payload(n, 100))
    expect(slabs.hasRoom(3.5 * SLAB_BYTES - 130)).toBe(true)
    expect(slabs.hasRoom(3.5 * SLAB_BYTES - 110)).toBe(false)
  })

  test('are read ahead where the records lie', () => {
    const where = new Whereabouts()
    const slabs = new Slabs(4 * SLAB_BYTES, where)
    // Up to the very end of a slab, and more than are read ahead at once.
    for (let n = 0; n < 8; n++) put(slabs, n * 64 + 4, payload(n, n === 7 ? 4 : EIGHTH))
    const ordinals = Array.from({ length: 300 }, (_, i) => i * 32 + 31)
    const readAhead = (log: number, all: number[]): number => {
      slabs.readAhead(where.entries(log, 5, all), all, 31)
      return slabs.touched
    }
    readAhead(4, ordinals)
    // The length of the payload, and two bytes that are the same and cancel out: its first, and one of the row.
    expect([0, 1, 2, 9].map((block) => readAhead(4, [block * 32 + 31]))).toEqual([EIGHTH & 255, EIGHTH & 255, EIGHTH & 255, 0])
    expect(readAhead(5, [1, 2 ** 40])).toBe(0)
  })

  test('are longer if there is much room', () => {
    for (const [slabs, bytes] of [
      [256, SLAB_BYTES],
      [257, 2 * SLAB_BYTES],
      [1025, 8 * SLAB_BYTES],
      [4097, 8 * SLAB_BYTES],
    ] as const) {
      const large = new Slabs(slabs * SLAB_BYTES)
      for (let id = 0; id < 20; id++) put(large, id, payload(id, EIGHTH))
      expect([large.region(large.find(1)).bytes.length, large.maxBytes]).toEqual([bytes, Math.floor((slabs * SLAB_BYTES) / bytes) * bytes])
    }
  })

  test('begin short, and the first one moves when it is full', () => {
    const left: number[] = []
    const regions: Region[] = []
    const slabs = new Slabs(1025 * SLAB_BYTES, undefined, (id, region) => left.push(id, regions.indexOf(region)))
    const lengths: number[] = []
    for (let id = 0; id < 66; id++) {
      put(slabs, id, payload(id, EIGHTH))
      const region = slabs.region(slabs.find(id))
      if (regions.at(-1) !== region) regions.push(region)
      lengths[id] = region.bytes.length / SLAB_BYTES
      if (id > 0) expect(slabs.ask(slabs.find(1), 1)).toBe(id)
    }
    expect(lengths).toEqual([...Array(2).fill(1 / 4), ...Array(14).fill(2), ...Array(50).fill(8)])
    // Whoever holds an object there is told, once per move; nothing is said of a slab that is begun.
    expect(left).toEqual([0, 0, 1, 0, ...Array.from({ length: 16 }, (_, id) => [id, 1]).flat()])
    for (let id = 0; id < 66; id++) same(held(slabs, id), payload(id, EIGHTH))
    // What was handed out before stays as it was.
    same(regions[0]!.bytes.slice(20, 20 + EIGHTH), payload(0, EIGHTH))
    slabs.clear()
    put(slabs, 1, payload(1, 10))
    expect(slabs.region(slabs.find(1)).bytes.length).toBe(SLAB_BYTES / 4)
  })

  test('without room hold nothing, and none hold what is too long', () => {
    const none = new Slabs(SLAB_BYTES - 1)
    put(none, 1, payload(1, 10))
    expect([none.maxBytes, held(none, 1), none.hasRoom(1)]).toEqual([0, undefined, false])
    const slabs = new Slabs(2.5 * SLAB_BYTES)
    put(slabs, 1, payload(1, MAX_PAYLOAD + 1))
    put(slabs, 2, payload(2, MAX_PAYLOAD))
    expect([slabs.maxBytes, held(slabs, 1), held(slabs, 2)?.length]).toEqual([2 * SLAB_BYTES, undefined, MAX_PAYLOAD])
    expect(new Slabs(2 ** 50).maxBytes).toBe((2 ** 13 - 16) * SLAB_BYTES)
  })

  test('give up the oldest slab, but carry over what was asked for, up to half a slab', () => {
    const slabs = new Slabs(3 * SLAB_BYTES)
    for (let id = 0; id < 24; id++) put(slabs, id, payload(id, EIGHTH))
    expect(Array.from({ length: 24 }, (_, id) => held(slabs, id)?.length)).toEqual(Array(24).fill(EIGHTH))
    // Six values of the oldest slab were asked for; there is room for four of them.
    for (const id of [0, 1, 3, 5, 6, 7]) slabs.ask(slabs.find(id), 2)
    put(slabs, 24, payload(24, EIGHTH))
    expect(Array.from({ length: 8 }, (_, id) => held(slabs, id) !== undefined)).toEqual([
      true,
      true,
      false,
      true,
      false,
      true,
      false,
      false,
    ])
    for (const id of [0, 1, 3, 5, 8, 23, 24]) same(held(slabs, id), payload(id, EIGHTH))
    // Its count is halved when a value is carried over, so one that is not asked for again goes in the end.
    for (let id = 25; id < 100; id++) put(slabs, id, payload(id, EIGHTH))
    expect([0, 1, 3, 5].map((id) => held(slabs, id))).toEqual(Array(4).fill(undefined))
    same(held(slabs, 99), payload(99, EIGHTH))
  })

  test('give up nothing if there is room once replaced values are gone', () => {
    const slabs = new Slabs(4 * SLAB_BYTES)
    for (let id = 0; id < 8; id++) put(slabs, id, payload(id, EIGHTH))
    expect([slabs.hasRoom(20 * EIGHTH), slabs.hasRoom(21 * EIGHTH)]).toEqual([true, false])
    // One value is replaced over and over: its older versions fill slab after slab.
    for (let n = 0; n < 200; n++) put(slabs, 9, payload(n, EIGHTH))
    for (let id = 0; id < 8; id++) same(held(slabs, id), payload(id, EIGHTH))
    same(held(slabs, 9), payload(199, EIGHTH))
    expect([slabs.hasRoom(19 * EIGHTH), slabs.hasRoom(20 * EIGHTH)]).toEqual([true, false])
  })

  test('copy as little as they can while there is room', () => {
    const slabs = new Slabs(4 * SLAB_BYTES)
    const slabsOf = [[0, 1, 2, 3, 4, 5, 5, 5], Array(8).fill(16), [8, 9, 10, 11, 12, 13, 14, 15], [24, 25, 26, 27, 28, 29, 30, 31]]
    for (const id of slabsOf.flat()) put(slabs, id, payload(id, EIGHTH))
    const ids = [...new Set(slabsOf.flat())]
    const before = ids.map((id) => slabs.find(id))
    put(slabs, 40, payload(40, EIGHTH))
    // The second slab had one live value, and only that was copied, to the beginning of the slab that takes its place.
    expect(ids.filter((id, i) => slabs.find(id) !== before[i])).toEqual([16])
    for (const id of [...ids, 40]) same(held(slabs, id), payload(id, EIGHTH))
  })

  test('give up what was asked for only once, in any slab, and count what is left', () => {
    const slabs = new Slabs(3 * SLAB_BYTES)
    for (let id = 0; id < 24; id++) put(slabs, id, payload(id, EIGHTH))
    for (const id of [1, 9, 17]) slabs.ask(slabs.find(id), 1)
    for (const id of [2, 10, 18]) slabs.ask(slabs.find(id), 3)
    // Each time a slab is given up, its one value that was asked for more than once stays, beside the new ones.
    for (let id = 24; id < 45; id++) put(slabs, id, payload(id, EIGHTH))
    expect([1, 9, 17].map((id) => held(slabs, id))).toEqual([undefined, undefined, undefined])
    for (const id of [2, 10, 18, 24, 30, 31, 38, 44]) same(held(slabs, id), payload(id, EIGHTH))
    const count = Array.from({ length: 45 }, (_, id) => held(slabs, id)).filter((one) => one !== undefined).length
    // Each value with its header.
    const room = (3 * SLAB_BYTES * 7) / 8 - count * (EIGHTH + 20)
    expect([slabs.hasRoom(room), slabs.hasRoom(room + 1)]).toEqual([true, false])
  })

  test('never overwrite bytes that were handed out', () => {
    const slabs = new Slabs(2 * SLAB_BYTES)
    put(slabs, 1, payload(1, 1000))
    const address = slabs.find(1)
    const view = slabs.region(address).bytes.subarray(slabs.start(address), slabs.end(address))
    for (let id = 2; id < 100; id++) put(slabs, id, payload(id, EIGHTH))
    expect(held(slabs, 1)).toBeUndefined()
    same(view, payload(1, 1000))
  })

  test('count how often a value was asked for, and halve that after many other look-ups', () => {
    const slabs = new Slabs(2 * SLAB_BYTES)
    put(slabs, 1, payload(1, 10))
    put(slabs, 2, payload(2, 10), 7)
    expect([slabs.ask(slabs.find(1), 4), slabs.ask(slabs.find(1), 1), slabs.ask(slabs.find(2), 1)]).toEqual([4, 5, 8])
    for (let n = 3; n < 2 ** 16; n++) slabs.ask(slabs.find(2), 0)
    expect([slabs.ask(slabs.find(1), 0), slabs.ask(slabs.find(1), 3)]).toEqual([2, 5])
    for (let n = 0; n < 2 ** 17; n++) slabs.ask(slabs.find(2), 0)
    expect([slabs.ask(slabs.find(1), 0), slabs.ask(slabs.find(1), 2 ** 20)]).toEqual([1, 65535])
    for (let n = 0; n < 2 ** 21; n++) slabs.ask(slabs.find(2), 0)
    expect(slabs.ask(slabs.find(1), 1)).toBe(1)
    // A value that is put now keeps its whole count.
    put(slabs, 3, payload(3, 10), 8)
    expect(slabs.ask(slabs.find(3), 0)).toBe(8)
  })

  test('hold the last value of each id that they hold, whatever is put in whatever order', () => {
    const step = fc.record({ id: fc.nat(40), length: fc.nat(MAX_PAYLOAD), asked: fc.nat(3) })
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (steps, size) => {
        const slabs = new Slabs(size * SLAB_BYTES)
        const last = new Map<number, Uint8Array>()
        for (const { id, length, asked } of steps) {
          const bytes = payload(id + length, length)
          put(slabs, id, bytes)
          last.set(id, bytes)
          for (let n = 0; n < asked; n++) slabs.ask(slabs.find(id), 1)
          // The value put last is always there.
          expect(held(slabs, id)?.length).toBe(length)
        }
        for (const [id, bytes] of last) {
          const found = held(slabs, id)
          if (found) same(found, bytes)
        }
      }),
      { numRuns: 60 },
    )
  })
})
