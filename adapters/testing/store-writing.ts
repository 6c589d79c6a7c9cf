/** Laws of writing batches. */
import fc from 'fast-check'
import type { Entry, Store, Write } from '../../src/store.ts'
import { nextTurn } from '../../src/turn.ts'
import type { Law } from '../check/index.ts'
import { agrees, holds, type MakeLaw, modelOf, property, same, show, wipe, within } from './store-checks.ts'
import { bytes, everything, filled, Model, materialFor, numbered } from './store-model.ts'

/** Above every number that the law of thousands writes. */
const BEYOND = 5100

/** Writes of a large batch, a multiple of three. */
const MANY = 3600

/** Reads of what is not held any more, or not yet, and scans that begin and end there. */
async function inHoles(store: Store, model: Model, held: ReadonlyMap<number, Uint8Array>): Promise<void> {
  const all = Array.from({ length: BEYOND }, (_, n) => n)
  const answers = await store.getMany(all.map(numbered))
  for (const n of all) if (!held.has(n)) same(answers[n], undefined, `getMany of ${BEYOND} keys, for ${show(numbered(n))}`)
  const missing = spread(
    all.filter((n) => !held.has(n)),
    60,
  )
  for (const key of missing.map(numbered)) {
    same(await store.get(key), undefined, `get of ${show(key)}`)
    await agrees(store, model, { gte: key, lt: everything.lt }, { limit: 2 })
    await agrees(store, model, { gte: bytes(), lt: key }, { limit: 2, reverse: true })
  }
}

/** At most so many items, from all over the list. */
const spread = <T>(items: readonly T[], most: number): T[] => items.filter((_, n) => n % Math.ceil(items.length / most) === 0)

export const batchLaws = (law: MakeLaw): Law[] => [
  law('after any batches, each visible whole as soon as its write resolves, the store holds what a sorted array would', async (store) => {
    const after = async (batches: readonly (readonly Write[])[]): Promise<void> => {
      const model = new Model()
      for (const batch of batches) {
        await store.write(batch, { durable: false })
        model.write(batch)
        await holds(store, model)
      }
    }
    // Drawn cases may go by a key that is written again, with a value of another length.
    await after([20, 3, 0, 20].map((length): Write[] => [[numbered(1), filled(length, length)]]))
    await property(store, ({ anyBatch }) => fc.array(anyBatch, { maxLength: 6 }), after)
  }),
  law('thousands of keys, removed in large parts and written again in other places, are all found', async (store) => {
    const held = new Map<number, Uint8Array>()
    const write = async (numbers: readonly number[], seed?: number): Promise<void> => {
      for (let at = 0; at < numbers.length; at += 500) {
        const batch = numbers.slice(at, at + 500).map((n): Write => [numbered(n), seed === undefined ? undefined : bytes(n & 255, seed)])
        await store.write(batch, { durable: false })
        for (const [nth, [, value]] of batch.entries())
          if (value) held.set(numbers[at + nth]!, value)
          else held.delete(numbers[at + nth]!)
      }
      const model = modelOf([...held].map(([n, value]) => [numbered(n), value]))
      await holds(store, model)
      await inHoles(store, model, held)
    }
    const from = (first: number, count: number, step = 1): number[] => Array.from({ length: count }, (_, n) => first + step * n)
    await write(from(2000, 2000), 1)
    // The lowest go, and others come below what is left: from above, and from below.
    await write(from(2000, 1000))
    await write(from(1499, 1500, -1), 2)
    // The highest go, and others come above.
    await write(from(3500, 500))
    await write(from(5000, 1000, -2), 3)
    // All go but one in the middle, and others come on both sides of it, in no order.
    await write([...held.keys()].filter((n) => n !== 3200))
    await write(
      from(0, 1999).map((n) => ((n * 887) % 1999) + 2200),
      4,
    )
  }),
  law('the last write of a key in a batch wins, put or delete', async (store) => {
    const [a, b, c, d] = [bytes(1), bytes(2), bytes(3), bytes(4)]
    await store.write([[c, bytes(0)]], { durable: false })
    const batch: Write[] = [
      [a, bytes(1)],
      [b, undefined],
      [c, bytes(1)],
      [d, bytes(1)],
      [a, bytes(2)],
      [b, bytes(2)],
      [c, undefined],
      [d, undefined],
      [d, bytes(3)],
    ]
    await store.write(batch, { durable: false })
    same(await store.getMany([a, b, c, d]), [bytes(2), bytes(2), undefined, bytes(3)], 'last writes')
    // So large that a store may sort it, or write it in parts: each key three times, far apart; the last writes put some and delete the others.
    const many = Array.from({ length: MANY }, (_, n): Write => {
      const [nth, time] = [n % (MANY / 3), Math.floor(n / (MANY / 3))]
      return [numbered(nth), (nth + time) % 3 === 0 ? undefined : bytes(nth & 255, time)]
    })
    await wipe(store)
    const model = new Map<string, Entry>()
    for (const [key, value] of many)
      if (value) model.set(show(key), [key, value])
      else model.delete(show(key))
    await store.write(many, { durable: false })
    await within(`after a batch of ${MANY} writes, three of each key`, () => holds(store, modelOf([...model.values()])))
  }),
  law('a write that resolved is seen by every read that starts after it', async (store) => {
    for (let n = 0; n < 50; n++) {
      await store.write(
        [
          [bytes(1), bytes(n)],
          [numbered(n), bytes(n)],
        ],
        { durable: n === 7 },
      )
      same(await store.get(bytes(1)), bytes(n), 'get')
      same(await store.getMany([numbered(n), bytes(1)]), [bytes(n), bytes(n)], 'getMany')
      const { entries } = await store.scan({ gte: numbered(n), lt: numbered(n + 1) }, { limit: 1 })
      same(entries, [[numbered(n), bytes(n)]], 'scan')
    }
  }),
  law('a read concurrent with writes returns what was held at some time between its start and its end', async (store) => {
    const { filled } = materialFor(store.capabilities)
    const keys = [numbered(1), numbered(2), numbered(300)]
    let [begun, done, shown] = [0, 0, 0]
    const numberOf = (value: Uint8Array | undefined): number => (value ? value[0]! * 256 + value[1]! : 0)
    const writer = (async () => {
      while (begun < 80) {
        begun++
        const value = filled(begun % 3 === 0 ? 3000 : 5)
        value.set([begun >> 8, begun & 255])
        await store.write(
          keys.map((key) => [key, value] as const),
          { durable: begun % 20 === 0 },
        )
        done = begun
        if (begun % 4 === 0) await nextTurn()
      }
    })()
    const reads = [
      async () => [await store.get(keys[0]!)],
      async () => store.getMany(keys),
      async () => (await store.scan(everything, { limit: 10 })).entries.map(([, value]) => value),
      async () => (await store.scan(everything, { limit: 10, reverse: true })).entries.map(([, value]) => value),
    ]
    const readers = reads.map(async (read) => {
      for (; done < 80; await nextTurn()) {
        // What any read has shown, by whatever call, was held then.
        const least = Math.max(done, shown)
        const seen = (await read()).map(numberOf)
        shown = Math.max(shown, ...seen)
        if (Math.min(...seen) < least || Math.max(...seen) > begun)
          throw new Error(`write ${least} had resolved or was read before, ${begun} were begun, and ${seen} were read`)
      }
    })
    await Promise.all([writer, ...readers])
  }),
  law('batches apply in call order, even if the calls do not wait for each other', async (store) => {
    const { filled } = materialFor(store.capabilities)
    const writes = Array.from({ length: 60 }, async (_, n) => {
      const bulk = Array.from({ length: n % 3 === 0 ? 200 : 0 }, (_, i): Write => [numbered(i), filled(100, n)])
      const batch: Write[] = [
        [bytes(1), bytes(n)],
        [bytes(2, n), n === 0 ? undefined : bytes(n)],
        [bytes(2, n + 1), bytes(n)],
        [bytes(3, n), bytes(n)],
        ...bulk,
      ]
      // A database may take a single write by another call than several.
      const single: Write[] = [[bytes(3, n), bytes(n, 1)]]
      await Promise.all([batch, single].map(async (writes) => store.write(writes, { durable: n % 20 === 19 })))
      const seen = await store.get(bytes(1))
      if (seen!.length !== 1 || seen![0]! < n) throw new Error(`write ${n} resolved, and ${show(seen)} is held`)
    })
    await Promise.all(writes)
    same(await store.get(bytes(1)), bytes(59), 'the key that all wrote')
    for (let n = 1; n < 60; n++) same(await store.get(bytes(2, n)), bytes(n), `the key that calls ${n - 1} and ${n} wrote`)
    for (let n = 0; n < 60; n++)
      same(await store.get(bytes(3, n)), bytes(n, 1), `the key that call ${n} wrote, and then a batch of one write`)
    same(await store.get(numbered(0)), filled(100, 57), 'the key that every third wrote')
  }),
]
