/** Laws of compare-and-set. The engine uses it with durable batches of many writes, whose last one is to the key that is expected to be as it was. */
import fc from 'fast-check'
import type { Store, Write } from '../../src/store.ts'
import { nextTurn } from '../../src/turn.ts'
import type { Law } from '../check/index.ts'
import { fill, holds, type MakeLaw, modelOf, property, refused, same, show, wipe } from './store-checks.ts'
import { bytes, filled, following, type Material, numbered } from './store-model.ts'

/** The same bytes except one. */
const beside = (value: Uint8Array, at: number): Uint8Array => value.map((byte, n) => (n === at ? byte ^ 1 : byte))

/** What is taken for the value by who compares too little of it. */
const almost = {
  near: (value: Uint8Array) => beside(value, value.length - 1),
  shorter: (value: Uint8Array) => value.subarray(0, -1),
  longer: (value: Uint8Array) => bytes(...value, 0),
} as const

/** The longest value to expect: with a byte more, it is still within the limit of the store. */
const mostExpected = ({ capabilities: { maxValueBytes = Number.POSITIVE_INFINITY } }: Store): number => maxValueBytes - 1

/** What reads of a key give while calls are in flight. */
async function watched(store: Store, key: Uint8Array, calls: readonly Promise<unknown>[]): Promise<(Uint8Array | undefined)[]> {
  let isOver = false
  const over = Promise.allSettled(calls).then(() => {
    isOver = true
  })
  const seen: (Uint8Array | undefined)[] = []
  for (let n = 0; !isOver && n < 200; n++) {
    seen.push(n % 2 === 0 ? await store.get(key) : (await store.scan({ gte: key, lt: following(key) }, { limit: 2 })).entries[0]?.[1])
    // Now and then a whole turn, or reads that are answered at once would let nothing else happen.
    if (n % 8 === 7) await nextTurn()
  }
  await over
  return seen
}

/** Numbers of writes, and lengths of what is expected. */
const SIZES = [
  [4, 3],
  [25, 100],
  [400, 5000],
] as const

/** Batches that put, overwrite and delete, of every size, durable and not. Drawn batches are short, and seldom delete what is held. */
async function inEverySize(store: Store): Promise<void> {
  const most = mostExpected(store)
  const [head, gone, other] = [bytes(1), bytes(2), bytes(3)]
  for (const durable of [false, true])
    for (const [size, length] of SIZES) {
      const value = filled(Math.min(length, most), size)
      await wipe(store)
      const before = await fill(store, [
        [head, value],
        [gone, bytes(1)],
        [other, bytes(2)],
      ])
      const puts = Array.from({ length: size - 3 }, (_, n) => [numbered(n), bytes(n & 255)] as const)
      const batch: Write[] = [...puts, [gone, undefined], [other, bytes(3)], [head, bytes(4)]]
      const wrong = [
        ...Object.values(almost).map((make) => make(value)),
        beside(value, 0),
        value.subarray(0, value.length >> 1),
        bytes(),
        undefined,
      ]
      for (const expected of wrong) await refused('CONFLICT', () => store.write(batch, { durable, expect: { key: head, value: expected } }))
      await holds(store, before)
      await store.write(batch, { durable, expect: { key: head, value } })
      await holds(store, modelOf([...puts, [other, bytes(3)], [head, bytes(4)]]))
    }
}

export const expectLaws = (law: MakeLaw): Law[] => [
  law(
    'with `expect`, a batch applies only if the key holds exactly those bytes; otherwise CONFLICT, with nothing applied and the store still usable',
    async (store) => {
      await inEverySize(store)
      const isLong = (value: Uint8Array): boolean => value.length > mostExpected(store)
      const drawn = ({ anyEntries, anyKey, anyValue, anyBatch }: Material) => {
        const held = fc.option(anyValue, { nil: undefined, freq: 3 })
        const how = fc.constantFrom('right', 'right', 'near', 'near', 'any', 'any', 'shorter', 'longer')
        return fc.tuple(anyEntries, anyKey, held, held, how, anyBatch, fc.constantFrom(0, 0, 0, 30), fc.constantFrom(false, false, true))
      }
      await property(store, drawn, async ([entries, key, holding, any, how, few, more, durable]) => {
        const model = await fill(store, entries)
        const first: Write[] = [[key, holding]]
        await store.write(first, { durable: false })
        model.write(first)
        const batch = [...Array.from({ length: more }, (_, n): Write => [numbered(n), bytes(n)]), ...few]
        const expect = {
          key,
          value: how === 'any' ? any : how === 'right' ? holding : holding && almost[isLong(holding) ? 'near' : how](holding),
        }
        const matches = show(expect.value) === show(holding)
        if (matches) {
          await store.write(batch, { durable, expect })
          model.write(batch)
        } else await refused('CONFLICT', () => store.write(batch, { durable, expect }))
        await holds(store, model)
      })
    },
  ),
  law(
    'an empty value and a missing key are different expectations, and an empty batch still has its expectation checked',
    async (store) => {
      for (const durable of [false, true]) {
        const key = bytes(durable ? 2 : 1)
        await refused('CONFLICT', () => store.write([], { durable, expect: { key, value: bytes() } }))
        await store.write([], { durable, expect: { key, value: undefined } })
        await store.write([[key, bytes()]], { durable, expect: { key, value: undefined } })
        await refused('CONFLICT', () => store.write([[key, bytes(1)]], { durable, expect: { key, value: undefined } }))
        await store.write([[key, bytes(2)]], { durable, expect: { key, value: bytes() } })
        await refused('CONFLICT', () => store.write([[key, bytes(1)]], { durable, expect: { key, value: bytes(2, 0) } }))
        same(await store.get(key), bytes(2), 'the key')
        // What is checked is what was held before the batch, whatever that makes of it.
        await store.write([[key, undefined]], { durable, expect: { key, value: bytes(2) } })
        same(await store.get(key), undefined, 'the key, deleted by a batch that expected its value')
      }
    },
  ),
  law('of many writers with the same expectation, one wins', async (store) => {
    for (let round = 0; round < 30; round++) {
      const value = round === 0 ? undefined : await store.get(bytes(1))
      const tries = Array.from({ length: 8 }, async (_, n) =>
        store.write(
          [
            [bytes(1), bytes(round, n)],
            [bytes(2, n), bytes(round)],
          ],
          { durable: round % 3 === 2, expect: { key: bytes(1), value } },
        ),
      )
      const shown = await watched(store, bytes(1), tries)
      const outcomes = await Promise.allSettled(tries)
      same(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, 'writers that won')
      const winner = (await store.get(bytes(1)))![1]!
      same(outcomes[winner]!.status, 'fulfilled', 'the writer whose value is held')
      for (const seen of shown)
        if (seen?.[0] === round && seen[1] !== winner)
          throw new Error(`${show(seen)} was read, which is of a batch that was refused with CONFLICT`)
      for (let n = 0; n < 8; n++) same((await store.get(bytes(2, n)))?.[0] === round, n === winner, `what writer ${n} left`)
    }
  }),
]
