/** Runs: when neighbouring blocks become one, that it holds what they held, and that it gives way when it is of no use. */
import { expect, test } from 'vitest'
import { NOWHERE } from '../../../src/cache/addresses.ts'
import { Cache } from '../../../src/cache/cache.ts'
import { RUN } from '../../../src/cache/runs.ts'
import type { Block } from '../../../src/layout/block.ts'
import { blockOf, finisher, resource, row, sent, textOf } from '../layout/support.ts'

const SIZE = 4
const coins = { ...resource(false, 'owner', 'taker'), tag: 3, shift: 2 }
/** Rows with two texts each, one of several hundred bytes. */
const rowsOf = (number: number, count = SIZE) =>
  Array.from({ length: count }, (_, at) => {
    const place = SIZE * number + at
    return row(7, place, 0, [`owner ${place}`, `taker ${place % 3}`], `"n":${place},"x":"${'x'.repeat(400)}"`, `"turned":${place}`)
  })
const [alice, bob] = [finisher(1, 'alice: '), finisher(2, 'bob: ')]

/** A cache with `blocks` finished blocks, each record of which was asked for `asked` times. */
function cacheWith(blocks: number, asked = 32): Cache {
  const cache = new Cache(8 * 2 ** 20)
  for (let number = 0; number < blocks; number++) {
    cache.keep(coins, number, blockOf(coins, rowsOf(number)))
    cache.block(coins, number, SIZE, 2)!.finishedBy(alice)
    cache.block(coins, number, SIZE, SIZE * asked - 2)
  }
  return cache
}
const gathered = (cache: Cache, number = 0, reverse = false): Block | undefined => {
  cache.gatherRun(coins, number, reverse)
  return cache.run(coins, number, reverse)
}

test.each([false, true])('a run holds what its blocks hold (last to first: %s)', (reverse) => {
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

test('the blocks of a run stay in the slabs, but are no longer objects', () => {
  const cache = cacheWith(RUN + 1)
  const [hot, next] = [cache.block(coins, 1, SIZE, 0)!, cache.block(coins, RUN, SIZE, 0)!]
  expect([hot.isHot, next.isHot, gathered(cache)?.count]).toEqual([true, true, RUN * SIZE])
  const again = cache.block(coins, 1, SIZE, 0)!
  expect([again === hot, again.finisher, sent(again, 2)]).toEqual([false, alice.id, sent(hot, 2)])
  // They must be asked for as often again.
  expect([cache.block(coins, 1, SIZE, 32 * SIZE - 1)!.isHot, cache.block(coins, 1, SIZE, 1)!.isHot]).toEqual([false, true])
  expect(cache.block(coins, RUN, SIZE, 0)).toBe(next)
  // Blocks that are only objects stay.
  const alone = cacheWith(RUN)
  const own = alone.block(coins, 2, SIZE, 0)!
  Object.assign((alone as any).where, { find: () => NOWHERE })
  expect([gathered(alone)?.count, alone.block(coins, 2, SIZE, 0) === own]).toEqual([RUN * SIZE, true])
})

test('a run is gathered if each of its blocks is at hand, full, finished by the same finisher, and often asked for', () => {
  expect(gathered(cacheWith(RUN - 1))).toBeUndefined()
  expect(gathered(cacheWith(2 * RUN), 1)?.id(0)).toBe(
    cacheWith(2 * RUN)
      .block(coins, RUN, SIZE, 0)!
      .id(0),
  )
  expect(gathered(cacheWith(RUN, 31))).toBeUndefined()
  const partly = cacheWith(RUN - 1)
  partly.keep(coins, RUN - 1, blockOf(coins, rowsOf(RUN - 1, SIZE - 1)))
  partly.block(coins, RUN - 1, SIZE - 1, 2)!.finishedBy(alice)
  expect(partly.block(coins, RUN - 1, SIZE - 1, 32 * SIZE)!.isHot).toBe(true)
  expect(gathered(partly)).toBeUndefined()
  const mixed = cacheWith(RUN)
  mixed.block(coins, 3, SIZE, 0)!.finishedBy(bob)
  mixed.block(coins, 3, SIZE, 16 * SIZE)
  // Runs are gathered for the finisher used last.
  expect([gathered(mixed), mixed.block(coins, 3, SIZE, 0)!.finisher]).toEqual([undefined, bob.id])
  const seldom = cacheWith(RUN)
  seldom.gathering.gather(1000)
  for (let time = 0; time < 3; time++) seldom.gathering.judge(0)
  expect(gathered(seldom)).toBeUndefined()
  for (let number = 0; number < RUN; number++) seldom.block(coins, number, SIZE, SIZE * 96)
  expect(gathered(seldom)?.count).toBe(RUN * SIZE)
})

test('a run is finished anew by another finisher, with the same marks', () => {
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

test('a run weighs what it holds and what hangs on it, and leaves when others push it out', () => {
  const cache = cacheWith(RUN)
  const { objects: clock } = cache as any
  const run = gathered(cache)!
  expect(clock.bytes).toBe(run.weight)
  run.grow(1000)
  expect(clock.bytes).toBe(run.weight)
  const fill = (name: string): void => cache.put(name, { weight: clock.maxBytes / 4 })
  for (let nth = 0; nth < 9; nth++) {
    fill(`${nth}`)
    expect(cache.run(coins, 0, false)).toBe(run)
  }
  for (let nth = 9; nth < 18; nth++) fill(`${nth}`)
  expect(cache.run(coins, 0, false)).toBeUndefined()
  cache.clear()
  expect([clock.bytes, cache.run(coins, 0, false)]).toEqual([0, undefined])
})
