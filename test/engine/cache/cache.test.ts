/** The cache of decoded values, and what hangs on them: what is kept, what is forgotten, what is counted. */
import { totalmem } from 'node:os'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { Cache, defaultCacheBytes } from '../../../src/cache/cache.ts'
import type { ClockCache } from '../../../src/cache/clock-cache.ts'
import { MAX_PAYLOAD, SLAB_BYTES, type Slabs } from '../../../src/cache/slabs.ts'
import type { Whereabouts } from '../../../src/cache/whereabouts.ts'
import { Holder } from '../../../src/layout/holder.ts'
import { holds } from '../../support/property.ts'
import { blockOf, finisher, resource, row, sent, sided, textOf } from '../layout/support.ts'

const weighing = (weight: number) => ({ weight })

describe('the cache', () => {
  test('gives what was put', () => {
    const cache = new Cache(100)
    const value = weighing(1)
    expect(cache.get('a')).toBeUndefined()
    cache.put('a', value)
    expect(cache.get('a')).toBe(value)
    expect(cache.get('a')).toBe(value)
    expect(cache.get('b')).toBeUndefined()
    expect([cache.maxBytes, cache.generation]).toEqual([100, 0])
  })

  test('keeps what fits, and beyond that what was asked for', () => {
    const cache = new Cache(100)
    const [a, b, c] = [weighing(25), weighing(25), weighing(50)]
    cache.put('a', a)
    cache.put('b', b)
    cache.put('c', c)
    expect([cache.get('a'), cache.get('c')]).toEqual([a, c])
    cache.put('d', weighing(25))
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([a, undefined, c])
    cache.put('too heavy', weighing(101))
    expect([cache.get('a'), cache.get('too heavy')]).toEqual([a, undefined])
  })

  test('forgets the oldest first', () => {
    const cache = new Cache(10)
    for (let n = 0; n < 20; n++) cache.put(`${n}`, weighing(2))
    expect([14, 15, 16, 17, 18, 19].map((n) => cache.get(`${n}`)?.weight)).toEqual([undefined, 2, 2, 2, 2, 2])
  })

  test('counts once a value that is put again', () => {
    const cache = new Cache(100)
    const first = weighing(20)
    cache.put('first', first)
    for (let n = 0; n < 50; n++) cache.put('again', weighing(80))
    expect(cache.get('first')).toBe(first)
    // Nothing remains of one that has become too heavy.
    cache.put('again', weighing(200))
    expect(cache.get('again')).toBeUndefined()
    cache.put('other', weighing(80))
    expect(cache.get('first')).toBe(first)
  })

  test('gives the newer of two values', () => {
    const cache = new Cache(10)
    const [old, newer] = [weighing(6), weighing(1)]
    cache.put('a', old)
    cache.put('a', newer)
    expect(cache.get('a')).toBe(newer)
  })

  test('counts the bytes that a value grows by as long as that value is kept', () => {
    const cache = new Cache(100)
    const [a, held] = [new Holder(10), new Holder(10)]
    cache.put('a', a)
    cache.put('held', held)
    a.grow(80)
    expect([cache.get('a'), cache.get('held')]).toEqual([a, held])
    cache.put('held', new Holder(0))
    held.grow(100)
    expect(cache.get('a')).toBe(a)
    a.grow(11)
    expect(cache.get('a')).toBeUndefined()
  })

  test('judges whether clusters pay each time half of its size was pushed out', () => {
    const cache = new Cache(100)
    const judged = vi.spyOn(cache.gathering, 'judge')
    for (let n = 0; n < 10; n++) cache.put(`${n}`, weighing(10))
    for (let n = 0; n < 7; n++) cache.get('none')
    cache.get('9')
    const calls: number[] = []
    for (let n = 10; n < 30; n++) {
      cache.put(`${n}`, weighing(10))
      calls.push(judged.mock.calls.length)
    }
    expect(calls).toEqual([...Array(4).fill(0), ...Array(5).fill(1), ...Array(5).fill(2), ...Array(5).fill(3), 4])
    expect(judged.mock.calls).toEqual(Array(4).fill([8]))
  })

  test('holds nothing once it is cleared, and begins a new generation', () => {
    const cache = new Cache(100)
    cache.put('old', weighing(40))
    cache.put('older', weighing(11))
    cache.put('young', weighing(40))
    cache.clear()
    expect([cache.get('old'), cache.get('young'), cache.generation]).toEqual([undefined, undefined, 1])
    // Its bytes are counted from zero again.
    cache.put('a', weighing(50))
    cache.put('b', weighing(50))
    expect(cache.get('a')?.weight).toBe(50)
    cache.clear()
    expect(cache.generation).toBe(2)
  })
})

describe('blocks in the cache', () => {
  const coins = resource(true, 'a')
  const rows = (count: number, length = 40) =>
    Array.from({ length: count }, (_, at) => row(7, at, 1, [`side ${at}`], `"value":"${'x'.repeat(length)}${at}"`))
  /** A cache of as many slabs, with the room for objects that goes with them. */
  const cacheOf = (slabs: number) => new Cache((slabs * SLAB_BYTES * 8) / 7)
  const id = (number: number): number => number * 64 + coins.tag

  test('come back as they were', () => {
    const cache = cacheOf(8)
    const block = blockOf(coins, rows(3))
    expect([cache.block(coins, 5, 1, 1), cache.has(id(5))]).toEqual([undefined, false])
    cache.keep(coins, 5, block)
    const found = cache.block(coins, 5, 3, 1)!
    expect([found.length, found.count, found.sum, cache.has(id(5))]).toEqual([block.length, 3, block.sum, true])
    for (const at of [0, 1, 2]) expect([textOf(found, at), found.side(at, 0), found.lo(at)]).toEqual([textOf(block, at), `side ${at}`, at])
    // It is not an object: what is made of it is not kept.
    expect([found.keeper, found.isHot, cache.block(coins, 5, 3, 1) === found]).toEqual([undefined, false, false])
    cache.clear()
    expect([cache.block(coins, 5, 1, 1), cache.has(id(5))]).toEqual([undefined, false])
  })

  test('that lack records appended since are not at hand until they are read anew', () => {
    const cache = cacheOf(8)
    cache.keep(coins, 5, blockOf(coins, rows(2)))
    expect([cache.block(coins, 5, 3, 1), cache.has(id(5))]).toEqual([undefined, true])
    cache.keep(coins, 5, blockOf(coins, rows(3)))
    expect(cache.block(coins, 5, 3, 1)?.count).toBe(3)
    // An object that is an older version of what the slabs hold is passed over.
    cache.putBlock(coins, 5, blockOf(coins, rows(1)))
    expect([cache.block(coins, 5, 1, 1)?.count, cache.block(coins, 5, 3, 1)?.count]).toEqual([1, 3])
  })

  test('become objects once each record was asked for 32 times of late, and stay objects', () => {
    const cache = cacheOf(8)
    cache.keep(coins, 5, blockOf(coins, rows(3)))
    for (const asked of [3, 3, 88]) expect(cache.block(coins, 5, 3, asked)?.isHot).toBe(false)
    const cold = cache.block(coins, 5, 3, 1)!
    const hot = cache.block(coins, 5, 3, 1)!
    expect([cold.isHot, hot.isHot, textOf(hot, 2), cache.block(coins, 5, 3, 1) === hot]).toEqual([
      false,
      true,
      textOf(blockOf(coins, rows(3)), 2),
      true,
    ])
    // Its bytes stay where they were, so that it weighs next to nothing.
    expect([hot.region === cold.region, hot.weight]).toEqual([true, 500])
    // What hangs on it has weight.
    const { objects: clock } = cache as unknown as { objects: ClockCache }
    expect(clock.bytes).toBe(500)
    hot.grow(100)
    expect(clock.bytes).toBe(600)
  })

  test('that others push out are objects no more, and must be asked for as often again', () => {
    const cache = cacheOf(8)
    cache.keep(coins, 5, blockOf(coins, rows(3)))
    const hot = cache.block(coins, 5, 3, 96)!
    const fill = (name: string): void => cache.put(name, { weight: SLAB_BYTES / 2 })
    // It stays if it is asked for in time.
    for (let n = 0; n < 10; n++) {
      fill(`${n}`)
      expect(cache.block(coins, 5, 3, 1)).toBe(hot)
    }
    for (let n = 10; n < 20; n++) fill(`${n}`)
    const again = cache.block(coins, 5, 3, 95)!
    expect([again === hot, again.isHot, textOf(again, 2)]).toEqual([false, false, textOf(hot, 2)])
    expect(cache.block(coins, 5, 3, 1)!.isHot).toBe(true)
  })

  test('that are objects alone are not at hand if they lack records', () => {
    const cache = cacheOf(8)
    cache.putBlock(coins, 5, blockOf(coins, rows(1)))
    expect([cache.block(coins, 5, 2, 1), cache.block(coins, 5, 1, 1)?.count]).toEqual([undefined, 1])
  })

  test('are not kept under numbers that are too large', () => {
    const cache = cacheOf(8)
    for (const number of [2 ** 32, 2 ** 32 + 5]) {
      cache.putBlock(coins, number, blockOf(coins, rows(1)))
      cache.keep(coins, number, blockOf(coins, rows(1)))
      expect([cache.block(coins, number, 1, 1), cache.has(id(number)), cache.has(id(number % 2 ** 32))]).toEqual([undefined, false, false])
    }
  })

  test('are read ahead at the records that are asked for, as bytes and as objects', () => {
    const cache = cacheOf(8)
    const { slabs, where } = cache as unknown as { slabs: Slabs; where: Whereabouts }
    const of = resource(true, 'a')
    cache.keep(of, 5, blockOf(of, rows(3)))
    const asked: number[] = []
    cache.putBlock(of, 7, Object.assign(blockOf(of, rows(3)), { touch: (at: number) => asked.push(at) }))
    const page = [5 * 16 + 2, 7 * 16 + 1]
    slabs.readAhead(where.entries(of.tag, of.shift, page), page, 15)
    const bytes = slabs.touched
    slabs.touched = -1
    cache.readAhead(of, page)
    expect([slabs.touched, asked]).toEqual([bytes, [1]])
  })

  test('are weighed once', () => {
    const cache = new Cache(10_000)
    const { objects: clock } = cache as unknown as { objects: ClockCache }
    const held = blockOf(coins, rows(1))
    for (let n = 0; n < 5; n++) cache.putBlock(coins, 5, held)
    expect([clock.bytes, cache.block(coins, 5, 1, 1)]).toEqual([held.weight, held])
    cache.putBlock(coins, 5, blockOf(coins, rows(2)))
    expect([clock.bytes, cache.block(coins, 5, 2, 1)?.count]).toEqual([blockOf(coins, rows(2)).weight, 2])
  })

  test('that are objects leave with the slab that has their bytes', () => {
    const cache = cacheOf(7)
    cache.keep(coins, 5, blockOf(coins, rows(3)))
    const first = cache.block(coins, 5, 3, 96)!
    const fill = (from: number, to: number): void => {
      for (let number = from; number < to; number++) cache.keep(coins, number, blockOf(coins, rows(1, 100_000)))
    }
    fill(100, 102)
    expect(cache.block(coins, 5, 3, 1) === first).toBe(true)
    // The first slab is full and moves: a block that is an object is another one the next time.
    fill(102, 104)
    const hot = cache.block(coins, 5, 3, 1)!
    expect([first.isHot, hot.isHot, hot === first, hot.region === first.region]).toEqual([true, true, false, false])
    expect(textOf(hot, 2)).toBe(textOf(first, 2))
    fill(104, 160)
    expect(cache.block(coins, 5, 3, 1) === hot).toBe(true)
    fill(160, 180)
    // It was asked for often enough to be copied to another slab, and to be an object again.
    const again = cache.block(coins, 5, 3, 100)!
    expect([again.isHot, again.region === hot.region, textOf(again, 2)]).toEqual([true, false, textOf(hot, 2)])
    fill(180, 900)
    expect([cache.has(id(5)), cache.block(coins, 5, 3, 1)]).toEqual([false, undefined])
    // A block in memory of its own stays, even if the slab had an older version of it.
    const own = blockOf(coins, rows(3))
    cache.keep(coins, 6, blockOf(coins, rows(2)))
    cache.putBlock(coins, 6, own)
    fill(900, 1000)
    expect(cache.block(coins, 6, 3, 1)).toBe(own)
  })

  const [alice, bob] = [finisher(1, 'alice: '), finisher(2, 'bob: ')]

  test('are finished once half of the records were asked for, and for another finisher once each was asked for four times more', () => {
    const cache = cacheOf(8)
    const block = blockOf(coins, rows(4))
    cache.keep(coins, 5, block)
    expect(cache.block(coins, 5, 4, 1)!.finishedBy(alice)).toBeUndefined()
    // A block that is not kept is not finished.
    expect(block.finishedBy(alice)).toBeUndefined()
    const done = cache.block(coins, 5, 4, 1)!.finishedBy(alice)!
    expect([done.finisher, done.sum, done.count, sent(done, 2)]).toEqual([1, block.sum, 4, `alice: ${textOf(block, 2)};`])
    expect(done.finishedBy(alice)).toBe(done)
    const again = cache.block(coins, 5, 4, 4)!
    expect([again.finisher, textOf(again, 3), again.side(3, 0), again.finishedBy(bob)]).toEqual([1, textOf(block, 3), 'side 3', undefined])
    const anew = cacheOf(8)
    anew.keep(coins, 5, block)
    anew.block(coins, 5, 4, 2)!.finishedBy(alice)
    expect(anew.block(coins, 5, 4, 13)!.finishedBy(bob)).toBeUndefined()
    const other = anew.block(coins, 5, 4, 1)!
    expect([other.isHot, other.finisher]).toEqual([false, 1])
    const turned = other.finishedBy(bob)!
    expect([turned.finisher, sent(turned, 0), turned.asked]).toEqual([2, `bob: ${textOf(block, 0)};`, 0])
    expect(anew.block(coins, 5, 4, 1)?.finisher).toBe(2)
    // After that, the count starts again.
    expect(anew.block(coins, 5, 4, 14)!.finishedBy(alice)).toBeUndefined()
    // An object stays an object.
    const hot = anew.block(coins, 5, 4, 255)!
    const back = hot.finishedBy(alice)!
    expect([hot.isHot, back.isHot, back.finisher, anew.block(coins, 5, 4, 1) === back]).toEqual([true, true, 1, true])
  })

  test('with two faces are finished with both, and turned twice are themselves', () => {
    const cache = cacheOf(8)
    const two = Array.from({ length: 4 }, (_, at) => row(7, at, 1, ['a', 'b'], `"value":"${at}"`, `"other":"${at}"`))
    const block = blockOf(sided, two)
    const back = block.turned()
    expect([back.turned() === block, block.turned() === back, textOf(back, 2)]).toEqual([true, true, '"other":"2"'])
    cache.keep(sided, 5, block)
    expect(cache.block(sided, 5, 4, 1)!.turned().finishedBy(alice)).toBeUndefined()
    const done = cache.block(sided, 5, 4, 1)!.turned().finishedBy(alice)!
    expect([done.finisher, sent(done, 2), sent(done.turned(), 2)]).toEqual([1, 'alice: "other":"2";', 'alice: "value":"2";'])
  })

  test('that were replaced since they were read are not finished', () => {
    const cache = cacheOf(8)
    cache.keep(coins, 5, blockOf(coins, rows(2)))
    const before = cache.block(coins, 5, 2, 2)!
    cache.keep(coins, 5, blockOf(coins, rows(3)))
    expect([before.finishedBy(alice), cache.block(coins, 5, 3, 1)?.count]).toEqual([undefined, 3])
    const cleared = cache.block(coins, 5, 3, 3)!
    cache.clear()
    expect(cleared.finishedBy(alice)).toBeUndefined()
  })

  test('are finished, if there is no room, once each record was asked for four times, and what was not asked for goes', () => {
    const cache = cacheOf(16)
    for (let number = 1; number <= 200; number++) cache.keep(coins, number, blockOf(coins, rows(4, 25_000)))
    const held = () => Array.from({ length: 200 }, (_, i) => i + 1).filter((number) => cache.has(id(number)))
    cache.keep(coins, 300, blockOf(coins, rows(4)))
    const before = held()
    expect(cache.block(coins, 300, 4, 15)!.finishedBy(alice)).toBeUndefined()
    const done = cache.block(coins, 300, 4, 1)!.finishedBy(alice)!
    // It lies in a slab, and is no object yet.
    expect([done.finisher, done.isHot, sent(done, 3)]).toEqual([1, false, `alice: ${textOf(done, 3)};`])
    expect(held()).toEqual(before)
    for (const number of before.slice(-60)) expect(cache.block(coins, number, 4, 16)!.finishedBy(alice)?.finisher).toBe(1)
    const left = held()
    expect(left.length).toBeLessThan(before.length)
    expect(left).toEqual(before.slice(before.length - left.length))
    expect(cache.block(coins, 300, 4, 1)?.finisher).toBe(1)
    // An object whose bytes lie in a slab stays one, and is finished there.
    cache.keep(coins, 301, blockOf(coins, rows(4)))
    const hot = cache.block(coins, 301, 4, 128)!
    const own = hot.finishedBy(alice)!
    expect([hot.isHot, hot.finisher, own.isHot, own.finisher, own.weight]).toEqual([true, 0, true, 1, hot.weight])
    expect(cache.block(coins, 301, 4, 1)).toBe(own)
  })

  test('in memory of their own are finished in it, once each record was asked for four times', () => {
    const cache = cacheOf(8)
    cache.putBlock(coins, 5, blockOf(coins, rows(4)))
    expect(cache.block(coins, 5, 4, 15)!.finishedBy(alice)).toBeUndefined()
    const done = cache.block(coins, 5, 4, 1)!.finishedBy(alice)!
    expect([done.finisher, done.weight, cache.block(coins, 5, 4, 1) === done]).toEqual([1, done.length + 400, true])
  })

  test('that are objects are finished once each record was asked for four times', () => {
    const cache = new Cache(SLAB_BYTES)
    const block = blockOf(coins, rows(3))
    cache.keep(coins, 5, block)
    expect(cache.block(coins, 5, 3, 11)!.finishedBy(alice)).toBeUndefined()
    const done = cache.block(coins, 5, 3, 1)!.finishedBy(alice)!
    expect([done.isHot, done.weight, cache.block(coins, 5, 3, 1)]).toEqual([true, done.length + 400, done])
  })

  test('too long for a slab are objects, as are all blocks if the cache has no room for slabs', () => {
    const large = cacheOf(8)
    const long = blockOf(coins, rows(1, MAX_PAYLOAD))
    large.keep(coins, 5, long)
    expect(large.block(coins, 5, 1, 1)).toBe(long)
    const small = new Cache(7.5 * SLAB_BYTES)
    const block = blockOf(coins, rows(2))
    small.keep(coins, 5, block)
    expect([small.block(coins, 5, 2, 1), block.isHot, block.keeper !== undefined]).toEqual([block, false, true])
    expect([small.has(id(5)), small.has(id(6))]).toEqual([true, false])
  })

  test('take no more than the cache may hold', () => {
    const cache = cacheOf(8)
    for (let number = 0; number < 200; number++) cache.keep(coins, number, blockOf(coins, rows(1, 100_000)))
    const held = Array.from({ length: 200 }, (_, number) => number).filter((number) => cache.has(id(number)))
    expect(held.length * 100_000).toBeLessThanOrEqual(8 * SLAB_BYTES)
    expect(held.length * 100_000).toBeGreaterThan(6 * SLAB_BYTES)
    expect(held.at(-1)).toBe(199)
  })

  test('that are too long for a slab when finished are objects from then on', () => {
    const cache = cacheOf(8)
    const repeated = Array.from({ length: 8 }, (_, at) => row(7, at, 1, ['side'], `"value":"${'x'.repeat(20_000)}"`))
    const block = blockOf(coins, repeated)
    expect(block.length).toBeLessThan(MAX_PAYLOAD)
    cache.keep(coins, 5, block)
    const done = cache.block(coins, 5, 8, 8)!.finishedBy(alice)!
    expect([done.isHot, done.keeper !== undefined, sent(done, 7) === `alice: ${textOf(block, 7)};`]).toEqual([true, true, true])
    expect(cache.block(coins, 5, 8, 8)).toBe(done)
  })

  test('that are too heavy to be kept finished are not finished again each time', () => {
    const cache = cacheOf(8)
    const repeated = Array.from({ length: 16 }, (_, at) => row(7, at, 1, ['side'], `"value":"${'x'.repeat(120_000)}"`))
    cache.keep(coins, 5, blockOf(coins, repeated))
    const finish = vi.fn(alice.finish)
    for (let time = 0; time < 80; time++) cache.block(coins, 5, 16, 1)!.finishedBy({ ...alice, finish })
    expect(finish).toHaveBeenCalledTimes(10)
  })
})

describe('what hangs on a value', () => {
  test('is made once, and weighs', () => {
    const holder = new Holder(100)
    const grown: (readonly [bytes: number, slot: number])[] = []
    expect([holder.weight, holder.attached('page')]).toEqual([100, undefined])
    const made = holder.attach(
      'page',
      () => ({ text: 'x' }),
      ({ text }) => 20 + text.length,
    )
    expect([made.text, holder.weight, holder.attached('page')]).toEqual(['x', 121, made])
    holder.slot = 5
    holder.keeper = { grow: (...args) => grown.push(args) }
    const again = holder.attach(
      'page',
      () => ({ text: 'other' }),
      () => 1000,
    )
    expect([again, holder.weight, grown]).toEqual([made, 121, []])
    holder.attach(
      'more',
      () => 'y',
      () => 7,
    )
    expect([holder.attached('page'), holder.attached('more'), holder.weight, grown]).toEqual([made, 'y', 128, [[7, 5]]])
  })
})

test('the cache gives back the newest value put, or nothing, and stays near its size', () =>
  holds(
    fc.tuple(fc.nat(40), fc.array(fc.tuple(fc.nat(9).map(String), fc.integer({ min: 1, max: 20 }), fc.boolean()))),
    200,
    ([maxBytes, steps]) => {
      const cache = new Cache(maxBytes)
      const newest = new Map<string, { weight: number }>()
      for (const [id, weight, put] of steps) {
        if (put) {
          const value = { weight }
          newest.set(id, value)
          cache.put(id, value)
        } else {
          const held = cache.get(id)
          if (held !== undefined) expect(held).toBe(newest.get(id))
        }
        const all = [...newest.keys()].filter((one) => cache.get(one) !== undefined)
        expect(all.reduce((sum, one) => sum + newest.get(one)!.weight, 0)).toBeLessThanOrEqual(maxBytes + 60)
      }
    },
  ))

test('the default size of a cache is an eighth of the memory, within bounds', () => {
  const MB = 2 ** 20
  const may = (confined: number): number => {
    const asked = vi.spyOn(process, 'constrainedMemory').mockReturnValue(confined)
    try {
      return defaultCacheBytes()
    } finally {
      asked.mockRestore()
    }
  }
  expect([may(256 * MB), may(2048 * MB)]).toEqual([32 * MB, Math.min(256 * MB, Math.floor(totalmem() / 8))])
  const whole = Math.min(2048 * MB, Math.max(32 * MB, Math.floor(totalmem() / 8)))
  expect([may(0), may(2 ** 64)]).toEqual([whole, whole])
})
