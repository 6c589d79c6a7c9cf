/** Runs: when neighbouring blocks become one, that it holds what they held, and that it gives way where it is of no use. */
import { expect, test } from 'vitest'
import { blockId, NOWHERE } from '../../../src/layout/addresses.ts'
import type { Block } from '../../../src/layout/block.ts'
import { Cache } from '../../../src/layout/cache.ts'
import { RUN, runTag } from '../../../src/layout/runs.ts'
import { blockOf, finisher, resource, row, sent, textOf } from './support.ts'

const SIZE = 4
const coins = { ...resource(false, 'owner', 'taker'), tag: 3, shift: 2 }
/** Two texts a record, of several hundred bytes. */
const rowsOf = (number: number, count = SIZE) =>
  Array.from({ length: count }, (_, at) => {
    const place = SIZE * number + at
    return row(7, place, 0, [`owner ${place}`, `taker ${place % 3}`], `"n":${place},"x":"${'x'.repeat(400)}"`, `"turned":${place}`)
  })
const [alice, bob] = [finisher(1, 'alice: '), finisher(2, 'bob: ')]

/** A cache with so many blocks, finished, each record asked for so often. */
function cacheWith(blocks: number, asked = 16, cache = new Cache(8 * 2 ** 20), from = 0): Cache {
  for (let number = from; number < from + blocks; number++) {
    cache.keep(coins, number, blockOf(coins, rowsOf(number)))
    cache.block(coins, number, SIZE, 2)!.finishedBy(alice)
    cache.block(coins, number, SIZE, SIZE * asked - 2)
  }
  return cache
}
const entryOf = (cache: Cache, tag: number, number: number): boolean => cache.has(blockId(tag, number))
const gathered = (cache: Cache, number = 0, reverse = false): Block | undefined => {
  cache.gatherRun(coins, number, reverse)
  return cache.run(coins, number, reverse)
}

test.each([false, true])('a run holds what its blocks hold, last to first: %s', (reverse) => {
  const cache = cacheWith(RUN)
  const blocks = Array.from({ length: RUN }, (_, number) => cache.block(coins, number, SIZE, 0)!)
  const run = gathered(cache, 0, reverse)!
  expect([run.count, run.finisher, run.isHot, run.isGathered, run.faces]).toEqual([RUN * SIZE, alice.id, true, true, 2])
  for (const [number, block] of blocks.entries())
    for (let at = 0; at < SIZE; at++) {
      const place = SIZE * number + at
      const there = reverse ? RUN * SIZE - 1 - place : place
      for (const [own, other] of [
        [run, block],
        [run.turned(), block.turned()],
      ] as const)
        expect([sent(own, there), textOf(own, there), own.id(there), own.side(there, 0), own.side(there, 1), own.mark(there)]).toEqual([
          sent(other, at),
          textOf(other, at),
          other.id(at),
          other.side(at, 0),
          other.side(at, 1),
          other.mark(at),
        ])
    }
  expect(cache.run(coins, 0, !reverse)).toBeUndefined()
})

test('its blocks lie in the slabs still, and are no objects any more', () => {
  const cache = cacheWith(RUN + 1)
  const [hot, next] = [cache.block(coins, 1, SIZE, 0)!, cache.block(coins, RUN, SIZE, 0)!]
  expect([hot.isHot, next.isHot, gathered(cache)?.count]).toEqual([true, true, RUN * SIZE])
  const again = cache.block(coins, 1, SIZE, 0)!
  expect([again === hot, again.finisher, sent(again, 2)]).toEqual([false, alice.id, sent(hot, 2)])
  expect(cache.block(coins, RUN, SIZE, 0)).toBe(next)
  // Blocks that are objects alone stay.
  const alone = cacheWith(RUN)
  const own = alone.block(coins, 2, SIZE, 0)!
  Object.assign((alone as any).where, { find: () => NOWHERE })
  expect([gathered(alone)?.count, alone.block(coins, 2, SIZE, 0) === own]).toEqual([RUN * SIZE, true])
})

test('it is gathered where each of its blocks is at hand, full, finished by the same, and asked for over and over', () => {
  expect(gathered(cacheWith(RUN - 1))).toBeUndefined()
  expect(gathered(cacheWith(2 * RUN), 1)?.id(0)).toBe(
    cacheWith(2 * RUN)
      .block(coins, RUN, SIZE, 0)!
      .id(0),
  )
  expect(gathered(cacheWith(RUN, 15))).toBeUndefined()
  const partly = cacheWith(RUN - 1)
  partly.keep(coins, RUN - 1, blockOf(coins, rowsOf(RUN - 1, SIZE - 1)))
  partly.block(coins, RUN - 1, SIZE - 1, 2)!.finishedBy(alice)
  expect(partly.block(coins, RUN - 1, SIZE - 1, 100)!.isHot).toBe(true)
  expect(gathered(partly)).toBeUndefined()
  const mixed = cacheWith(RUN)
  mixed.block(coins, 3, SIZE, 0)!.finishedBy(bob)
  mixed.block(coins, 3, SIZE, 16 * SIZE)
  // Who had texts finished last is who they are gathered for.
  expect([gathered(mixed), mixed.block(coins, 3, SIZE, 0)!.finisher]).toEqual([undefined, bob.id])
  const seldom = cacheWith(RUN)
  seldom.gathering.gather(1000)
  seldom.gathering.judge(0, false)
  expect(gathered(seldom)).toBeUndefined()
  for (let number = 0; number < RUN; number++) seldom.block(coins, number, SIZE, SIZE * 16)
  expect(gathered(seldom)?.count).toBe(RUN * SIZE)
})

test('it is finished anew for somebody else, with the same marks', () => {
  const cache = cacheWith(RUN)
  const run = gathered(cache)!
  run.asked = 4 * run.count - 1
  expect(run.finishedBy(bob)).toBeUndefined()
  run.asked++
  const other = run.finishedBy(bob)!
  expect([other.finisher, sent(other, 9), other.mark(9), cache.run(coins, 0, false) === other]).toEqual([
    bob.id,
    `bob: ${textOf(run, 9)};`,
    run.mark(9),
    true,
  ])
})

test('where there is no room for another, those that nobody asks for any more give way', () => {
  const cache = cacheWith(3 * RUN)
  const { runs } = cache as any
  const bytes = gathered(cache)!.weight
  expect(runs.bytes).toBe(bytes)
  // With room for two of them.
  runs.maxBytes = 2.5 * bytes
  expect(gathered(cache, 1)?.count).toBe(RUN * SIZE)
  const later = (): void => {
    cache.hits += 2 ** 18
  }
  later()
  // Those that were gathered meanwhile have had no time to be asked for.
  expect([gathered(cache, 2), runs.bytes]).toEqual([undefined, bytes + cache.run(coins, 1, false)!.weight])
  cache.run(coins, 0, false)!.asked++
  // None gives way, and none is looked at, within that time.
  expect([gathered(cache, 2), cache.run(coins, 0, false)!.asked, cache.run(coins, 1, false)?.asked]).toEqual([undefined, 1, 0])
  later()
  expect([gathered(cache, 2), runs.bytes]).toEqual([undefined, bytes])
  expect([cache.run(coins, 1, false), cache.run(coins, 0, false)?.asked, gathered(cache, 2)]).toEqual([undefined, 0, undefined])
  later()
  expect([gathered(cache, 2)?.count, cache.run(coins, 0, false)?.count]).toEqual([RUN * SIZE, RUN * SIZE])
  cacheWith(RUN, 16, cache, 3 * RUN)
  expect([gathered(cache, 3), runs.isFull(cache.hits)]).toEqual([undefined, true])
  cache.clear()
  expect(runs.isFull(cache.hits)).toBe(false)
})

test('what runs weigh is summed up, with what hangs on them, and what goes with them', () => {
  const cache = cacheWith(2 * RUN)
  const { runs } = cache as any
  const run = gathered(cache)!
  run.grow(1000)
  expect([runs.bytes, run.weight > 1000]).toEqual([run.weight, true])
  const block = cache.block(coins, RUN, SIZE, 0)!
  block.grow(1000)
  expect(runs.bytes).toBe(run.weight)
  // Two generations pass, and it goes.
  for (let nth = 0; nth < 5; nth++) cache.put(`${nth}`, { weight: (cache as any).room / 2 })
  expect([cache.run(coins, 0, false), runs.bytes]).toEqual([undefined, 0])
  cacheWith(RUN, 100, cache)
  Object.assign(cache, { hotAt: 16 })
  expect(gathered(cache)?.count).toBe(RUN * SIZE)
  cache.clear()
  expect([runs.bytes, entryOf(cache, runTag(coins.tag, false), 0)]).toEqual([0, false])
})

test('none is gathered while objects are pushed out by others soon, until they were not for a while', () => {
  const cache = cacheWith(RUN)
  Object.assign(cache, { hotAt: 32, turnedAt: cache.hits + cache.misses })
  expect(gathered(cache)).toBeUndefined()
  cache.hits += 2 ** 20
  expect(gathered(cache)?.count).toBe(RUN * SIZE)
})
