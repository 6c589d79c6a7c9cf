/** Laws of the memory that bytes lie in: what form it may have, and whose it is. */
import type { Entry, Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { plainly } from './store-answers.ts'
import { fill, holds, type MakeLaw, modelOf, refused, same, show, wipe, within } from './store-checks.ts'
import { type Form, forms } from './store-forms.ts'
import { bytes, everything, following, type Model, materialFor, numbered } from './store-model.ts'

const durable = false

type Place = readonly [place: string, use: (store: Store, form: Form) => Promise<void>]

/**
 * Every place where a caller hands in bytes, each on a store that holds the first two entries; all else is whole arrays. Made anew for each form, since
 * a faulty store may change what it is given.
 */
function placesOf(): { readonly entries: readonly Entry[]; readonly places: readonly Place[] } {
  const [a, b, c, d] = [1, 2, 3, 4].map(numbered) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
  const [held, other] = [bytes(7, 8), bytes(9, 10)]
  const writes = async (store: Store, batch: readonly Write[], left: readonly (Uint8Array | undefined)[]): Promise<void> => {
    await store.write(batch, { durable })
    const keys = [a, b, c, d]
    same(await store.getMany(keys), left, `getMany of ${show(keys)} after write of ${show(batch)}`)
    await holds(store, modelOf(keys.flatMap((key, n) => (left[n] ? [[key, left[n]] as const] : []))))
  }
  const places: readonly Place[] = [
    ['the key of a get', async (store, form) => same(await store.get(form(a)), held, `get of ${show(a)}`)],
    [
      'the keys of a getMany',
      async (store, form) => same(await store.getMany([b, c, a].map(form)), [other, undefined, held], `getMany of ${show([b, c, a])}`),
    ],
    [
      'the lower bound of a scan',
      async (store, form) => {
        const { entries } = await store.scan({ gte: form(b), lt: everything.lt }, { limit: 9 })
        same(entries, [[b, other]], `scan from ${show(b)} to ${show(everything.lt)}`)
      },
    ],
    [
      'the upper bound of a scan',
      async (store, form) => {
        const { entries } = await store.scan({ gte: bytes(), lt: form(following(a)) }, { limit: 9, reverse: true })
        same(entries, [[a, held]], `scan from ${show(bytes())} to ${show(following(a))}, in reverse`)
      },
    ],
    [
      'the keys of a write',
      (store, form) =>
        writes(
          store,
          [
            [form(c), held],
            [form(d), other],
            [form(a), undefined],
          ],
          [undefined, other, held, other],
        ),
    ],
    [
      'the values of a write',
      (store, form) =>
        writes(
          store,
          [
            [c, form(held)],
            [b, form(bytes())],
            [a, form(other)],
          ],
          [other, bytes(), held, undefined],
        ),
    ],
    [
      'the key that a write expects',
      async (store, form) => {
        await refused('CONFLICT', () => store.write([[c, held]], { durable, expect: { key: form(b), value: held } }))
        await store.write([[c, held]], { durable, expect: { key: form(a), value: held } })
        await refused('CONFLICT', () => store.write([[d, held]], { durable, expect: { key: form(c), value: undefined } }))
      },
    ],
    [
      'the value that a write expects',
      async (store, form) => {
        await refused('CONFLICT', () => store.write([[c, held]], { durable, expect: { key: a, value: form(other) } }))
        await store.write([[c, held]], { durable, expect: { key: a, value: form(held) } })
      },
    ],
    [
      'the bounds of a compact',
      async (store, form) => {
        await store.compact?.({ gte: form(a), lt: form(c) })
        await holds(
          store,
          modelOf([
            [a, held],
            [b, other],
          ]),
        )
      },
    ],
  ]
  return {
    entries: [
      [a, held],
      [b, other],
    ],
    places,
  }
}

export const formsLaw = (law: MakeLaw): Law =>
  law('keys, values, bounds and what a write expects may be views into larger memory, and Buffers', async (_, own) => {
    const store = plainly(own)
    for (const [name, form] of forms) {
      const { entries, places } = placesOf()
      for (const [place, use] of places) {
        await wipe(store)
        await fill(store, entries)
        await within(`${place}, as ${name}`, () => use(store, form))
      }
    }
  })

type Answers = readonly (Uint8Array | undefined)[]

/** Every way to read what is held, and what it must give. */
function readsOf(
  store: Store,
  model: Model,
  keys: readonly Uint8Array[],
): readonly (readonly [call: string, read: () => Promise<Answers>, wanted: Answers])[] {
  const scan = (reverse: boolean) =>
    [
      reverse ? 'a scan in reverse' : 'a scan',
      async () => (await store.scan(everything, { limit: 100, reverse })).entries.flat(),
      model.range(everything, reverse).flat(),
    ] as const
  return [
    scan(false),
    scan(true),
    [`getMany of ${show(keys)}`, async () => store.getMany(keys), keys.map((key) => model.get(key))],
    ...keys.map((key) => [`get of ${show(key)}`, async () => [await store.get(key)], [model.get(key)]] as const),
  ]
}

/** Puts and a delete, their bytes in a form. */
const batchIn = (form: Form, large: Uint8Array): Write[] => [
  [form(numbered(21)), undefined],
  [form(numbered(20)), form(large)],
  [form(bytes(3)), form(bytes(1, 2))],
]

/** A store may take each of these by a call of its own: all of the batch, its puts, one of them, its delete. */
const WAYS_TO_WRITE = [true, false].flatMap((expects) =>
  [false, true].flatMap((durable) =>
    [
      [0, 3],
      [1, 3],
      [1, 2],
      [0, 1],
    ].map((part) => ({ part, durable, expects })),
  ),
)

export const bufferLaws = (law: MakeLaw): Law[] => [
  law('keys and values handed in may be overwritten once the write resolved', async (_, own) => {
    const store = plainly(own)
    const { filled } = materialFor(store.capabilities)
    for (const [name, form] of forms)
      for (const { part, durable, expects } of WAYS_TO_WRITE) {
        await wipe(store)
        const model = await fill(store, [[numbered(21), bytes(7)]])
        const given: Uint8Array[] = []
        const lent: Form = (bytes) => {
          given.push(form(bytes))
          return given.at(-1)!
        }
        const batch = batchIn(lent, filled(5000)).slice(...part)
        await store.write(batch, { durable, ...(expects && { expect: { key: lent(bytes(9)), value: undefined } }) })
        for (const one of given) one.fill(0xee)
        model.write(batchIn((bytes) => bytes, filled(5000)).slice(...part))
        const how = `${batch.length} writes, durable: ${durable}${expects ? ', with `expect`' : ''}`
        await within(`after a key and values, each ${name}, were overwritten by who had written them (${how})`, () => holds(store, model))
      }
  }),
  law('keys and values handed out belong to the receiver, who may overwrite them', async (_, own) => {
    const store = plainly(own)
    const { filled } = materialFor(store.capabilities)
    for (const [name, form] of forms) {
      await wipe(store)
      // The last ones are equal to others, and to their own key.
      const values = [bytes(1, 2, 3), filled(10), filled(5000), filled(100_000), filled(5000), bytes(5)]
      const entries = values.map((value, n) => [bytes(n), value] as const)
      const model = modelOf(entries.map(([key, value]) => [key, value]))
      await store.write(
        entries.map(([key, value]): Write => [form(key), form(value)]),
        { durable },
      )
      const keys = entries.map(([key]) => key)
      const twice = [...keys.slice(0, 4), ...keys.slice(0, 4)]
      for (const [call, read, wanted] of [...readsOf(store, model, keys), ...readsOf(store, model, twice)]) {
        const answers = await read()
        for (const [n, out] of answers.entries()) {
          same(out, wanted[n], `${call}: answer ${n}, once those before it were overwritten`)
          out?.fill(0xee)
        }
        await within(`after what ${call} gave was overwritten, of values written as ${name}`, () => holds(store, model))
      }
    }
  }),
  law('what was handed out stays as it was, whatever is called afterwards', async (_, own) => {
    const store = plainly(own)
    const { filled } = materialFor(store.capabilities)
    const entriesOf = (round: number): Entry[] =>
      [3, 10, 5000, 100_000].map((length, n): Entry => [bytes(n + 1), filled(length, n + 50 * round)])
    const keys = entriesOf(0).map(([key]) => key)
    const held: (readonly [call: string, out: Uint8Array | undefined, wanted: Uint8Array | undefined])[] = []
    const read = async (model: Model): Promise<void> => {
      for (const [call, ask, wanted] of readsOf(store, model, keys))
        for (const [n, out] of (await ask()).entries()) held.push([`answer ${n} of ${call}`, out, wanted[n]])
    }
    const look = (since: string): void => {
      for (const [what, out, wanted] of held) same(out, wanted, `${what}, ${since}`)
    }
    let model = await fill(store, entriesOf(0))
    for (const reverse of [false, true]) {
      const range = { gte: bytes(...keys[1]!), lt: bytes(...keys[3]!) }
      const { entries } = await store.scan(range, { limit: 10, reverse })
      for (const bound of [range.gte, range.lt]) bound.fill(0xee)
      const wanted = model.range({ gte: keys[1]!, lt: keys[3]! }, reverse)
      same(entries, wanted, `a scan, reverse: ${reverse}, after its bounds were overwritten`)
    }
    // Often enough to come round to the first of a few buffers that are used in turns.
    for (let n = 0; n < 20; n++) await read(model)
    look('after more reads')
    model = await fill(store, entriesOf(1))
    look('after its key was written again')
    await read(model)
    await wipe(store)
    look('after its key was deleted')
    for (let round = 2; round < 12; round++) await fill(store, entriesOf(round))
    await store.compact?.(everything)
    look('after its key was deleted and written again, ten times')
    await store.close()
    look('after the close')
  }),
]
