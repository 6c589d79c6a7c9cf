/** Laws of calls that overlap, or that a store may be tempted to answer together: by joining them, queueing them, or keeping a cursor for the next one. */
import type { Chunk, Entry, Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { agrees, alike, count, fill, type MakeLaw, refused, same, show, wipe } from './store-checks.ts'
import { bytes, everything, following, type Model } from './store-model.ts'

const durable = false

/** The same question asked in every way. */
const ways: readonly (readonly [name: string, ask: (store: Store, key: Uint8Array) => Promise<Uint8Array | undefined>])[] = [
  ['get', async (store, key) => store.get(key)],
  ['getMany', async (store, key) => (await store.getMany([key]))[0]],
  ['scan', async (store, key) => (await store.scan({ gte: key, lt: following(key) }, { limit: 2 })).entries[0]?.[1]],
]

/** Many reads at once, in no order of keys. */
async function mixed(store: Store, model: Model): Promise<void> {
  const keys = model.entries.map(([key]) => key)
  const nth = (n: number): Uint8Array => keys[(n * 7) % keys.length]!
  await Promise.all(
    keys.flatMap((_, n) => {
      const [one, other] = [nth(n), nth(n + 3)]
      return [
        (async () => same(await store.get(one), model.get(one), `get of ${show(one)}, one of many at once`))(),
        (async () =>
          same(
            await store.getMany([one, other]),
            [model.get(one), model.get(other)],
            `getMany of ${show([one, other])}, one of many at once`,
          ))(),
        agrees(store, model, { gte: one, lt: everything.lt }, { limit: 3, reverse: n % 2 === 0 }),
      ]
    }),
  )
}

/** Two reads of the same key: the second begins after a write that the first may have missed. */
async function joined(store: Store): Promise<void> {
  const key = bytes(1)
  for (const [name, ask] of ways)
    for (let n = 1; n <= 6; n++) {
      const [before, after] = [bytes(n, 0), bytes(n, 1)]
      await store.write([[key, before]], { durable })
      const first = ask(store, key)
      // Awaited only later: until then, its failure must not count as unhandled.
      first.catch(() => {})
      await store.write([[key, after]], { durable })
      const second = await ask(store, key)
      same(second, after, `${name} of ${show(key)}, begun after a write had resolved, while another ${name} of it was in flight`)
      second!.fill(0xee)
      const early = await first
      if (!alike(early, before) && !alike(early, after))
        throw new Error(
          `${name} of ${show(key)}, in flight while another one was answered and what that gave was overwritten: expected ${show(before)} or ${show(after)}, got ${show(early)}`,
        )
      const twins = await Promise.all([ask(store, key), ask(store, key)])
      twins[0]!.fill(0xee)
      same(twins[1], after, `${name} of ${show(key)}, once what another ${name} of it gave at the same time was overwritten`)
    }
}

export const overlapLaws = (law: MakeLaw): Law[] => [
  law('reads that are in flight together are answered each for itself, as of a time after it began', async (store) => {
    await mixed(store, await fill(store, count(40)))
    await wipe(store)
    await joined(store)
  }),
  law('a scan that goes on after a chunk sees what was written in between', async (store) => {
    for (const reverse of [false, true])
      for (const limit of [1, 3, 10]) {
        await wipe(store)
        const model = await fill(store, count(30))
        const { entries }: Chunk = await store.scan(everything, { limit, reverse })
        const last = entries.at(-1)![0]
        const rest = reverse ? { gte: bytes(), lt: last } : { gte: following(last), lt: everything.lt }
        const [next, second, third] = model.range(rest, reverse).map(([key]) => key) as [Uint8Array, Uint8Array, Uint8Array]
        const batch: Write[] = [
          [next, undefined],
          [second, bytes(7)],
          [following(third), bytes(8)],
        ]
        await store.write(batch, { durable })
        model.write(batch)
        await agrees(store, model, rest, { limit, reverse })
        await agrees(store, model, rest, { limit: 30, reverse })
      }
  }),
  law('batches that are handed in together apply in call order, each checked for what it expects when its turn has come', async (store) => {
    const key = bytes(1)
    for (let round = 0; round < 5; round++) {
      await store.write([[key, bytes(round, 0)]], { durable })
      const calls: Promise<unknown>[] = []
      for (let n = 0; n < 8; n++) {
        const batch = [[key, bytes(round, n + 1)] as const, [bytes(2, n), bytes(round)] as const]
        calls.push((async () => store.write(batch, { durable: n === 5, expect: { key, value: bytes(round, n) } }))())
        // What was there before, or will be: not what is there when its turn has come.
        const other = n % 2 === 0 ? bytes(round, n) : bytes(round, n + 2)
        calls.push(refused('CONFLICT', () => store.write([[bytes(3, n), bytes(round)]], { durable, expect: { key, value: other } })))
      }
      await Promise.all(calls)
      const wanted: Entry[] = [[key, bytes(round, 8)], ...Array.from({ length: 8 }, (_, n): Entry => [bytes(2, n), bytes(round)])]
      same((await store.scan(everything, { limit: 50 })).entries, wanted, 'what is held after batches that were handed in together')
    }
  }),
]
