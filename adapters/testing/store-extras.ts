/** Laws of what a store may have besides a note: compaction, limits, and something below it that can fail. */
import fc from 'fast-check'
import { FolioError } from '../../src/errors.ts'
import type { KeyRange, MaybePromise, Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { given as fromSubject, newestCall } from './store-answers.ts'
import { agrees, count, fill, holds, inChunks, type MakeLaw, modelOf, property, refused, same, show, wipe } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { bytes, everything, filled, LEAST, materialFor, numbered, order } from './store-model.ts'

/** More than a compact may move in one go: all of it held, and then what lies at its bounds, and right outside them, with most between deleted. */
async function ofThousands(store: Store, compact: (range: KeyRange) => Promise<unknown>): Promise<void> {
  // One more than round numbers of them, which is lost if the last of several moves has to be large.
  const all = count(3001)
  await wipe(store)
  const full = await fill(store, all)
  await compact(everything)
  await holds(store, full)
  const left = all.filter((_, n) => n < 100 || n >= 2900 || n % 50 === 0)
  const kept = new Set(left)
  await store.write(
    all.filter((entry) => !kept.has(entry)).map(([key]): Write => [key, undefined]),
    { durable: false },
  )
  const model = modelOf(left)
  const keyAt = (n: number): Uint8Array => all[n]![0]
  // The bounds are held; deleted; beyond all.
  for (const [gte, lt] of [
    [keyAt(100), keyAt(2900)],
    [keyAt(101), keyAt(2899)],
    [bytes(), everything.lt],
  ] as const) {
    await compact({ gte, lt })
    await holds(store, model)
  }
}

export const compactLaw = (law: MakeLaw): Law =>
  law('a compact of any range changes no answer, even of reads and writes in flight', async (store) => {
    if (!store.compact) return 'the store has no `compact`'
    const compact = async (...ranges: Parameters<typeof store.compact>[0][]): Promise<unknown> =>
      Promise.all(ranges.map(async (range) => store.compact!(range)))
    await property(
      store,
      ({ anyEntries, anyRange }) => fc.tuple(anyEntries, anyRange, fc.integer({ min: 2, max: 4 })),
      async ([entries, range, nth]) => {
        const model = await fill(store, entries)
        // So that there is space to reclaim.
        const deletes = entries.filter((_, n) => n % nth === 0).map(([key]): Write => [key, undefined])
        await store.write(deletes, { durable: false })
        model.write(deletes)
        await compact(range)
        await holds(store, model)
        await compact({ gte: range.gte, lt: range.gte }, { gte: everything.lt, lt: bytes() })
        await holds(store, model)
      },
    )
    await ofThousands(store, compact)
    await wipe(store)
    const model = await fill(store, count(300))
    const [{ entries }, chunks, , values] = await Promise.all([
      (async () => store.scan(everything, { limit: 200 }))(),
      inChunks(store, { gte: bytes(), lt: bytes(0xff) }, { limit: 7, reverse: true }),
      compact(everything),
      (async () => store.getMany(model.entries.map(([key]) => key)))(),
      (async () => store.write([[bytes(0xff), bytes(1)]], { durable: false }))(),
    ])
    same(entries, model.entries.slice(0, 200), 'the scan under way')
    same(chunks, model.range(everything, true), 'chunks read meanwhile')
    same(
      values,
      model.entries.map(([, value]) => value),
      'getMany begun meanwhile',
    )
    await holds(store, modelOf([...model.entries, [bytes(0xff), bytes(1)]]))
  })

export const limitLaw = (law: MakeLaw): Law =>
  law(
    'a key or value larger than the store says it takes is refused with STORE_MISUSE, and nothing of its batch is applied',
    async (store) => {
      const { maxKeyBytes, maxValueBytes } = store.capabilities
      if (maxKeyBytes === undefined && maxValueBytes === undefined) return 'the store names no limit'
      for (const [name, least] of Object.entries(LEAST) as [keyof typeof LEAST, number][]) {
        const most = store.capabilities[name] ?? least
        if (!(Number.isSafeInteger(most) && most >= least))
          throw new Error(`${name}: expected a whole number from ${least} on, got ${most}`)
      }
      const longest = new Uint8Array(maxKeyBytes ?? 8).fill(0x61)
      const model = await fill(store, [
        [longest, bytes(1)],
        [bytes(2), filled(maxValueBytes ?? 64)],
      ])
      await holds(store, model)
      if (maxKeyBytes !== undefined) {
        const longer = [maxKeyBytes + 1, 4 * maxKeyBytes].map((length) => new Uint8Array(length).fill(0x61))
        for (const key of longer) same(await store.get(key), undefined, `get of ${show(key)}, which is longer than any key`)
        const asked = [longest, ...longer, bytes(9)]
        same(
          await store.getMany(asked),
          [bytes(1), undefined, undefined, undefined],
          `getMany of ${show(asked)}, two of them longer than any key`,
        )
        for (const key of longer)
          for (const reverse of [false, true]) {
            await agrees(store, model, { gte: bytes(), lt: key }, { limit: 10, reverse })
            await agrees(store, model, { gte: key, lt: everything.lt }, { limit: 10, reverse })
          }
      }
      const above: Write[] = []
      if (maxKeyBytes !== undefined) above.push([new Uint8Array(maxKeyBytes + 1).fill(0x61), bytes(1)])
      if (maxValueBytes !== undefined) above.push([bytes(2), filled(maxValueBytes + 1)])
      for (const write of above)
        for (const durable of [false, true]) {
          await refused('STORE_MISUSE', () => store.write([[bytes(1), bytes(1)], write, [bytes(3), bytes(3)]], { durable }))
          await holds(store, model)
        }
      // To expect is to look up.
      for (const [key, value] of above) {
        const expect = { key, value: value && model.get(key) === undefined ? undefined : value }
        const call = () => store.write([[bytes(3), bytes(3)]], { durable: true, expect })
        if (expect.value) await refused('CONFLICT', call)
        else await call()
      }
      await store.write([[bytes(3), bytes(3)]], { durable: false })
      same(await store.get(bytes(3)), bytes(3), 'what was written afterwards')
    },
  )

/** Of the codes that a store may give, these mean something else: it was closed, another wrote, it was misused. */
const OF_CALLERS = ['CLOSED', 'CONFLICT', 'STORE_MISUSE']

/** What the keys of a write may hold: all of one of these. */
type State = readonly (Uint8Array | undefined)[]

export const failureLaw = (law: MakeLaw, { fail }: StoreSubject): Law =>
  law(
    'a failure below the store surfaces as a FolioError that blames the store, STORE_FAILED or a more specific code, and leaves no half of a batch',
    async (store, own) => {
      const { filled } = materialFor(store.capabilities)
      const keys = [1, 2, 3, 4].map(numbered)
      const batchOf = (state: State): Write[] => keys.map((key, n): Write => [key, state[n]])
      /** As known, which after a rejected write that nobody could look at is one of several. */
      let states: State[] = [[bytes(1), bytes(2), bytes(3), undefined]]
      await store.write(batchOf(states[0]!), { durable: true })
      await fromSubject('fail', () => fail!(own))
      let failures = 0
      /** Whether the call was answered. */
      const tried = async (call: () => unknown): Promise<boolean> => {
        const coming = outcome(call)
        const begun = newestCall()
        const error = await coming
        if (error === undefined) return true
        failures++
        if (!(error instanceof FolioError)) throw error
        const elsewhere = error.code === 'CONFLICT' && states.length > 1
        if (!elsewhere && (error.status < 500 || OF_CALLERS.includes(error.code)))
          throw new Error(`${begun()}: expected a code that lays it on the store, such as STORE_FAILED; got ${error.code}`, {
            cause: error,
          })
        return false
      }
      /** What was there, or all of the new: by every read that is answered. */
      const whole = async (after: string): Promise<void> => {
        const reads: readonly (readonly [string, () => MaybePromise<State>])[] = [
          [`getMany of ${show(keys)}`, () => store.getMany(keys)],
          [
            'a scan',
            async () => {
              const { entries } = await store.scan(everything, { limit: 10 })
              return keys.map((key) => entries.find(([one]) => order(one, key) === 0)?.[1])
            },
          ],
          ['gets one by one', async () => Promise.all(keys.map(async (key) => store.get(key)))],
        ]
        for (const [name, read] of reads) {
          const answers: State[] = []
          await tried(async () => answers.push(await read()))
          const [seen] = answers
          if (!seen) continue
          const fitting = states.filter((state) => show(state) === show(seen))
          if (fitting.length === 0) throw new Error(`${name} after ${after}: expected ${states.map(show).join(', or ')}, got ${show(seen)}`)
          states = fitting
        }
      }
      const write = async (next: State, durable: boolean, expected?: Uint8Array): Promise<void> => {
        const options = { durable, ...(expected && { expect: { key: keys[0]!, value: expected } }) }
        const done = await tried(() => store.write(batchOf(next), options))
        states = done ? [next] : [...states, next]
        await whole(done ? 'a write that resolved' : `a rejected write of ${show(batchOf(next))}`)
      }
      await write([filled(5000), undefined, bytes(4), bytes(5)], true)
      await tried(() => store.get(keys[0]!))
      await write([bytes(6), bytes(7), undefined, bytes(8)], false)
      await write([bytes(9), bytes(10), bytes(11), undefined], false, states[0]![0])
      if (failures === 0) throw new Error('expected a call that fails once the subject has made the store fail; all were answered')
    },
    fail ? undefined : 'the subject cannot make its store fail',
  )

/** What a call failed with, if it did. */
const outcome = async (call: () => unknown): Promise<unknown> => {
  try {
    await call()
    return undefined
  } catch (error) {
    return error
  }
}
