/** Clusters of records: what they hold and weigh, when they are worth gathering, and by which finisher their texts are finished. */
import { expect, test } from 'vitest'
import { text } from '../../../src/bytes.ts'
import { Cache } from '../../../src/cache/cache.ts'
import { CLUSTER, Held } from '../../../src/cache/cluster.ts'
import { finishedBlock, layOut } from '../../../src/layout/finished.ts'
import { FINISHED_ANEW_AT, plain } from '../../../src/layout/finisher.ts'
import { blockOf, finisher, resource, row, sent, sided, textOf } from '../layout/support.ts'

const FIRST = finisher(5, 'one ')
const SECOND = finisher(6, 'the other ')

const texts = ['"a":"first","n":1', '"a":"second","n":2', '"b":"ü","n":3', '"a":"fourth","n":4']
/** Records of two blocks, in mixed order. */
function records(cache: Cache, faces = 1) {
  const of = sided
  const blocks = [0, 1].map((number) => {
    const rows = texts.map((text, i) =>
      row(7, 4096 * (10 * number + i), i, [`side${'s'.repeat(number + i)}`, 'same'], ...[text, text.toUpperCase()].slice(0, faces)),
    )
    const block = blockOf(of, rows)
    cache.keep(of, number, block)
    return block
  })
  // Consecutive records have the same number in their blocks, or sides that begin alike.
  return (
    [
      [0, 0],
      [1, 0],
      [1, 2],
      [0, 1],
    ] as const
  ).map(([number, at]) => ({ block: blocks[number]!, at }))
}

test('clusters hold the records in their order, each with its position, sides, text and mark', () => {
  for (const faces of [1, 2]) {
    const cache = new Cache(10_000_000)
    const held = new Held(cache, 'edge', 10, 3)
    const given = records(cache, faces)
    const shown = faces === 1 ? given : given.map(({ block, at }, i) => ({ block: i % 2 ? block.turned() : block, at }))
    expect(held.cluster(4, undefined)).toBeUndefined()
    held.gather(4, undefined, [9, 8, 7, 6], shown)
    const { block, ordinals } = held.cluster(4, undefined)!
    expect([block.count, ordinals, block.faces]).toEqual([4, [9, 8, 7, 6], 1])
    for (const [i, { block: own, at }] of shown.entries()) {
      expect(textOf(block, i)).toBe(textOf(own, at))
      expect(sent(block, i)).toBe(textOf(own, at))
      expect([block.token(i), block.sides(i), block.mark(i), block.isLesser(i)]).toEqual([
        own.token(at),
        own.sides(at),
        own.mark(at),
        own.isLesser(at),
      ])
    }
    expect(new Set(Array.from({ length: 4 }, (_, i) => block.mark(i))).size).toBe(4)
  }
})

test('clusters are kept apart by number and by the way their records face', () => {
  const cache = new Cache(10_000_000)
  const held = new Held(cache, 'edge', 10, 3)
  const [one, two, three, four] = records(cache)
  for (const [number, facing, place] of [
    [0, undefined, one],
    [0, 'lesser', two],
    [0, 'greater', three],
    [1, undefined, four],
  ] as const)
    held.gather(number, facing, [1], [place!])
  const found = ([0, 1, 2] as const).flatMap((number) =>
    [undefined, 'lesser' as const, 'greater' as const].map((way) => held.cluster(number, way)),
  )
  expect(found.map((cluster) => cluster?.block.token(0))).toEqual(
    [one, two, three, four].map((place) => place!.block.token(place!.at)).concat(Array(5).fill(undefined)),
  )
})

test('clusters are weighed once, with what hangs on them', () => {
  const cache = new Cache(10_000_000)
  let grown = 0
  const held = new Held(cache, 'edge', 10, 3)
  const slots = new Set<number>()
  held.slot = 5
  held.keeper = {
    grow: (bytes, slot) => {
      grown += bytes
      slots.add(slot)
    },
  }
  const given = records(cache)
  held.gather(0, undefined, [1, 2], given)
  const { block } = held.cluster(0, undefined)!
  expect(grown).toBeGreaterThan(block.length)
  expect([held.weight, block.length < grown, grown < block.length + 1000]).toEqual([10 + grown, true, true])
  const before = grown
  for (let time = 0; time < 5; time++) held.gather(0, undefined, [1, 2], given)
  expect([grown, held.weight]).toEqual([before, 10 + before])
  held.cluster(0, undefined)!.block.attach(
    'key',
    () => 1,
    () => 77,
  )
  expect([grown, held.weight]).toEqual([before + 77, 10 + before + 77])
  held.gather(0, undefined, [1, 2], given)
  held.gather(1, 'lesser', [1, 2], given)
  expect([grown, held.weight, [...slots]]).toEqual([2 * before, 10 + 2 * before, [5]])
})

test('clusters are worth gathering once each of their records was asked for eight times', () => {
  const held = new Held(new Cache(10_000_000), 'edge', 10, 3)
  const asks = (records: number): number => {
    let count = 1
    while (!held.miss(records)) count++
    return count
  }
  expect([asks(CLUSTER), asks(CLUSTER), asks(10), asks(8 * CLUSTER)]).toEqual([8, 8, 26, 1])
})

test('clusters are gathered later if they are pushed out before gathering has paid, and sooner if it pays', () => {
  const cache = new Cache(100_000)
  const held = new Held(cache, 'edge', 10, 3)
  const given = records(cache)
  /** Pushes out what was not used recently. */
  const turn = (): void => {
    for (let n = 0; n < 2; n++) cache.put(`${n}`, { weight: 50_000 })
  }
  const lookUps = (count: number): void => {
    for (let n = 0; n < count; n++) cache.get('nothing')
  }
  turn()
  turn()
  expect(cache.gatheredAt).toBe(8)
  held.gather(0, undefined, [1, 2, 3, 4], given)
  cache.gathering.serve(31)
  turn()
  expect(cache.gatheredAt).toBeGreaterThan(8)
  for (let n = 0; n < 20; n++) {
    held.gather(0, undefined, [1, 2, 3, 4], given)
    turn()
  }
  expect(cache.gatheredAt).toBe(256)
  lookUps(2 ** 20)
  expect(cache.gatheredAt).toBe(128)
  lookUps(2 ** 20 * 7)
  expect(cache.gatheredAt).toBe(8)
  for (let n = 0; n < 20; n++) {
    held.gather(0, undefined, [1, 2, 3, 4], given)
    turn()
  }
  cache.gathering.serve(1000)
  turn()
  expect(cache.gatheredAt).toBeLessThan(256)
  for (let n = 0; n < 20; n++) {
    held.gather(0, undefined, [1, 2, 3, 4], given)
    cache.gathering.serve(32)
    turn()
  }
  expect(cache.gatheredAt).toBe(8)
})

test('clusters are finished by the finisher used last, and anew by another that is asked for often enough', () => {
  const cache = new Cache(20_000_000)
  const held = new Held(cache, 'edge', 10, 3)
  const given = records(cache)
  held.gather(0, undefined, [1], given)
  expect(held.cluster(0, undefined)!.block.finisher).toBe(plain.id)
  cache.finish(0, given[0]!.block, FIRST)
  held.gather(0, undefined, [1], given)
  const cluster = held.cluster(0, undefined)!
  const { block } = cluster
  const marks = given.map((_, i) => block.mark(i))
  expect([block.finisher, sent(block, 1)]).toEqual([FIRST.id, `one ${textOf(given[1]!.block, given[1]!.at)};`])
  expect(block.finishedBy(FIRST)).toBe(block)
  block.asked = FINISHED_ANEW_AT * block.count - 1
  expect(block.finishedBy(SECOND)).toBeUndefined()
  block.asked++
  const before = held.weight
  const anew = block.finishedBy(SECOND)!
  expect([anew.finisher, anew.asked, cluster.block === anew, held.weight - before]).toEqual([
    SECOND.id,
    0,
    true,
    anew.length - block.length,
  ])
  for (const [i, { block: own, at }] of given.entries())
    expect([sent(anew, i), anew.mark(i), textOf(anew, i)]).toEqual([`the other ${textOf(own, at)};`, marks[i], textOf(own, at)])
  // A cluster that was replaced is not finished in place of the new one.
  block.asked = 1000
  expect(block.finishedBy(SECOND)).toBeUndefined()
})

test('clusters have their stored texts if the finisher used last has retired', () => {
  const cache = new Cache(20_000_000)
  const retired = { ...finisher(9, 'gone ') }
  const given = records(cache)
  cache.finish(0, given[0]!.block, retired)
  expect(cache.finisher).toBe(retired)
  ;(retired as { id: number }).id = 0
  expect(cache.finisher).toBe(plain)
})

test('stored texts follow one another, of both faces or of one', () => {
  const two = blockOf(resource(false, 'a', 'b'), [row(1, 2, 0, ['x', 'y'], '"a":1', '"b":2'), row(1, 3, 0, ['x', 'y'], '"a":3', '"b":4')])
  const both = layOut(two.records, plain)
  const { leads, ends, length, by, bytes } = both.texts
  const { faces } = finishedBlock(both, 0)
  expect(text(bytes, 0, length)).toBe('"a":1"a":3"b":2"b":4')
  expect({ faces, leads, ends, length, by }).toEqual({ faces: 2, leads: [0, 0, 0, 0], ends: [5, 10, 15, 20], length: 20, by: plain.id })
  const block = finishedBlock(layOut(two.records, plain, 'cluster'), 0)
  expect([sent(block, 0), sent(block, 1), block.faces]).toEqual(['"a":1', '"a":3', 1])
})
