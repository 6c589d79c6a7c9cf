/** Laws of a store that several processes have open. */
import type { Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { checked, closing, opened } from './store-answers.ts'
import { alike, type MakeLaw, refused, same, show, turn } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { bytes, everything, numbered } from './store-model.ts'

export function besideLaws(law: MakeLaw, subject: StoreSubject): Law[] {
  const alone = subject.beside ? undefined : 'the subject cannot open its store twice'
  const second = (name: string, check: (here: Store, there: Store) => Promise<unknown>): Law =>
    law(
      name,
      async (here, own) => {
        const there = checked(await opened('beside', () => subject.beside!(own), subject))
        return closing(there, () => check(here, there))
      },
      alone,
    )
  return [
    second('what another process wrote is read here, and fences writes that did not expect it', async (here, there) => {
      const [key, durable] = [numbered(1), true]
      await here.write([[key, bytes(1)]], { durable })
      same(await here.get(key), bytes(1), 'what was written here')
      for (let n = 2; n < 8; n++) {
        const [writer, reader] = n % 2 ? [here, there] : [there, here]
        await writer.write([[key, bytes(n)]], { durable, expect: { key, value: bytes(n - 1) } })
        await refused('CONFLICT', () => reader.write([[key, bytes(0)]], { durable, expect: { key, value: bytes(n - 1) } }))
        same(await reader.get(key), bytes(n), 'what the other wrote, by get')
        same(await reader.getMany([key]), [bytes(n)], 'what the other wrote, by getMany')
        same((await reader.scan(everything, { limit: 9 })).entries, [[key, bytes(n)]], 'what the other wrote, by scan')
      }
      await here.write([[key, undefined]], { durable })
      same([await there.get(key), ...(await there.getMany([key]))], [undefined, undefined], 'what the other deleted, by get and getMany')
      same((await there.scan(everything, { limit: 9 })).entries, [], 'what the other deleted, by scan')
      await there.write([[key, bytes(9)]], { durable, expect: { key, value: undefined } })
    }),
    second(
      'of writers in two processes with the same expectation, one wins, and a scan sees all of its batch or none',
      async (here, there) => {
        const keys = Array.from({ length: 40 }, (_, n) => numbered(n))
        for (let round = 0; round < 20; round++) {
          const value = await here.get(keys[0]!)
          const order = round % 2 === 0 ? [here, there, here, there] : [there, here, there, here]
          const tries = order.map(async (store, n) =>
            store.write(
              keys.map((key): Write => [key, bytes(round, n)]),
              { durable: round % 3 === 2, expect: { key: keys[0]!, value } },
            ),
          )
          const looks = [here, there].map(async (store) => {
            const { entries } = await store.scan(everything, { limit: 50 })
            same(
              new Set(entries.map(([, bytes]) => show(bytes))).size <= 1,
              true,
              'whether a scan, while two processes write, shows one batch',
            )
          })
          const [outcomes] = await Promise.all([Promise.allSettled(tries), ...looks])
          const winners = outcomes.flatMap(({ status }, n) => (status === 'fulfilled' ? [n] : []))
          same(winners.length, 1, 'writers that won, of two in each process')
          for (const store of [here, there])
            same(
              await store.getMany(keys),
              keys.map(() => bytes(round, winners[0]!)),
              'what is held after two processes wrote',
            )
        }
      },
    ),
    second('a watch rings after another process wrote, until it is stopped', async (here, there) => {
      if (!here.watch) return 'the store has no `watch`'
      let rings = 0
      let heard: Uint8Array | undefined
      // What is read at once when it rings, since nothing else may ever ring for that write.
      const stop = here.watch(() => {
        rings++
        void (async () => {
          heard = await here.get(bytes(1))
        })().catch(() => {})
      })
      let others = 0
      const stopOther = here.watch(() => others++)
      // The first and later ones, durable and not, and one that deletes.
      for (const [n, value] of [bytes(1), bytes(2), undefined, bytes(3)].entries()) {
        if (n === 3) {
          stopOther()
          for (let waited = 0; waited < 20; waited++) await turn()
        }
        others = 0
        await there.write([[bytes(1), value]], { durable: n !== 1 })
        for (let waited = 0; waited < 500 && (rings === 0 || !alike(heard, value)); waited++) await turn()
        const call = `a write of ${show([[bytes(1), value]])}, durable: ${n !== 1}`
        same(rings > 0, true, `whether it rang after ${call}`)
        same(heard, value, `get of <01>, when it rang after ${call}`)
        for (let waited = 0; n < 3 && waited < 500 && others === 0; waited++) await turn()
        same(others > 0, n < 3, `whether a second watch${n < 3 ? '' : ', which was stopped,'} rang after ${call}`)
        for (let waited = 0; waited < 20; waited++) await turn()
        rings = 0
      }
      stop()
      for (let n = 0; n < 20; n++) await turn()
      rings = 0
      await there.write([[bytes(1), bytes(4)]], { durable: true })
      for (let n = 0; n < 20; n++) await turn()
      same(rings, 0, 'rings after it was stopped')
    }),
  ]
}
