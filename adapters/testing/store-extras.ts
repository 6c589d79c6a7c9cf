/** Laws of what a store may have besides: a note, compaction, limits, and something below it that can fail. */
import fc from 'fast-check'
import { FolioError } from '../../src/errors.ts'
import type { Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { checked, closing, given as fromSubject } from './store-answers.ts'
import { count, fill, holds, inChunks, type MakeLaw, modelOf, property, refused, same, wipe } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { forms } from './store-forms.ts'
import { bytes, everything, filled, LEAST, materialFor, numbered } from './store-model.ts'

const NO_NOTE = 'the store has no `note`'

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

export const noteLaws = (law: MakeLaw, { reopen }: StoreSubject): Law[] => [
  law('a note gives back what was last written to it; it lies beside the data, and changes to the data do not affect it', async (store) => {
    const { note } = store
    if (!note) return NO_NOTE
    same(await note.read(), undefined, 'a note that was never written')
    const model = await fill(store, count(20))
    for (const [seed, length] of [90, 1, 200, 64, 300].entries()) {
      const given = forms[seed % forms.length]![1](filled(length, seed))
      await note.write(given)
      given.fill(0xee)
      for (const out of [await note.read(), await note.read()]) {
        same(out, filled(length, seed), `a note of ${length} bytes`)
        out!.fill(0xee)
      }
      await holds(store, model)
    }
    await wipe(store)
    same(await note.read(), filled(300, 4), 'the note, once all entries are deleted')
  }),
  law(
    'a reopen finds the note that was last written, even if no data were written since',
    async (store, own) => {
      if (!store.note) return NO_NOTE
      await store.write([[bytes(1), bytes(1)]], { durable: true })
      await store.note.write(filled(90))
      await store.note.write(filled(60, 7))
      await store.close()
      const again = checked(await fromSubject('reopen', () => reopen!(own)))
      await closing(again, async () => {
        if (!again.note) throw new Error('expected a store with a note again, as the one before had')
        same(await again.note.read(), filled(60, 7), 'the note')
      })
    },
    reopen ? undefined : 'the subject cannot reopen its store',
  ),
]

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
      const model = await fill(store, [
        [new Uint8Array(maxKeyBytes ?? 8).fill(0x61), bytes(1)],
        [bytes(2), filled(maxValueBytes ?? 64)],
      ])
      await holds(store, model)
      const above: Write[] = []
      if (maxKeyBytes !== undefined) above.push([new Uint8Array(maxKeyBytes + 1).fill(0x61), bytes(1)])
      if (maxValueBytes !== undefined) above.push([bytes(2), filled(maxValueBytes + 1)])
      for (const write of above) {
        await refused('STORE_MISUSE', () => store.write([[bytes(1), bytes(1)], write, [bytes(3), bytes(3)]], { durable: false }))
        await holds(store, model)
      }
      await store.write([[bytes(3), bytes(3)]], { durable: false })
      same(await store.get(bytes(3)), bytes(3), 'what was written afterwards')
    },
  )

/** Of the codes that a store may give, these mean something else: it was closed, another wrote, it was misused. */
const OF_CALLERS = ['CLOSED', 'CONFLICT', 'STORE_MISUSE']

export const failureLaw = (law: MakeLaw, { fail }: StoreSubject): Law =>
  law(
    'a failure below the store surfaces as a FolioError that blames the store: STORE_FAILED, or a more specific code',
    async (store, own) => {
      const key = numbered(1)
      await store.write([[key, bytes(1)]], { durable: true })
      await fail!(own)
      const { filled } = materialFor(store.capabilities)
      const calls: readonly (readonly [string, () => unknown])[] = [
        ['write', () => store.write([[key, filled(5000)]], { durable: true })],
        ['get', () => store.get(key)],
        ['getMany', () => store.getMany([key, numbered(2)])],
        ['scan', () => store.scan(everything, { limit: 10 })],
        ['a write after all that', () => store.write([[key, bytes(2)]], { durable: false, expect: { key, value: bytes(1) } })],
      ]
      let failures = 0
      for (const [name, call] of calls) {
        const error = await outcome(call)
        if (error === undefined) continue
        failures++
        if (!(error instanceof FolioError)) throw error
        if (error.status < 500 || OF_CALLERS.includes(error.code))
          throw new Error(`${name}: expected a code that lays it on the store, such as STORE_FAILED; got ${error.code}`, { cause: error })
      }
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
