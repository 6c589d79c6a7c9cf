/** Laws of reading: order, ranges, chunks, values. */
import fc from 'fast-check'
import type { Entry, KeyRange, Store, Write } from '../../src/store.ts'
import { nextTurn } from '../../src/turn.ts'
import type { Law } from '../check/index.ts'
import { agrees, count, fill, holds, inChunks, type MakeLaw, property, refused, same, wipe } from './store-checks.ts'
import { bytes, everything, filled, following, type Material, numbered } from './store-model.ts'

/** Lengths of values, in neither order of size: together far above the bounds that are drawn. */
const LARGE = [400, 700, 1100, 1500, 2500, 4000, 7000, 12_000, 100_000, 9000, 5000, 3000]

export const orderLaws = (law: MakeLaw): Law[] => [
  law('keys are ordered by unsigned bytes over their whole length, a prefix first, forward and reverse', (store) =>
    property(
      store,
      ({ anyEntries }) => anyEntries,
      async (entries) => holds(store, await fill(store, entries)),
    ),
  ),
  law('keys that differ only in their last byte, or in length, are different keys', async (store) => {
    const { maxKeyBytes: most = Number.POSITIVE_INFINITY } = store.capabilities
    for (const length of [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257].filter((each) => each < most)) {
      const key = (last: number) => bytes(...new Array<number>(length - 1).fill(0x61), last)
      const keys = [0x00, 0x7f, 0x80, 0xff].flatMap((last) => [key(last), following(key(last))])
      await wipe(store)
      const model = await fill(
        store,
        keys.map((each, n): Entry => [each, bytes(n)]),
      )
      await holds(store, model)
      for (const each of keys) await agrees(store, model, { gte: each, lt: following(each) }, { limit: 10 })
    }
  }),
  law('FF is not infinity: keys of FF lie in ranges that end above them, and not in ranges that end at them', async (store) => {
    const { maxKeyBytes: most = Number.POSITIVE_INFINITY } = store.capabilities
    const keys = [1, 2, 16, 64, 65].filter((length) => length <= most).map((length) => new Uint8Array(length).fill(0xff))
    const model = await fill(store, [
      ...keys.map((key): Entry => [key, bytes(key.length)]),
      [bytes(0xfe, 0xff), bytes()],
      [bytes(0), bytes()],
    ])
    await holds(store, model)
    for (const lt of keys) for (const reverse of [false, true]) await agrees(store, model, { gte: bytes(), lt }, { limit: 100, reverse })
    for (const gte of keys) await agrees(store, model, { gte, lt: everything.lt }, { limit: 100 })
  }),
]

/** Entries, lengths of values, and batches: the second is more than a store reads or writes in one go, if it has to do either in parts. */
const VIEWED = [
  [300, 50, 60],
  [2500, 60, 6],
] as const

/** The same, of batches that come and go: every other one deletes all but each third entry. */
const THINNED = [
  [300, 50, 30],
  [30, 5000, 20],
] as const
const THIRD = 3

/**
 * Writes batches one after another, and meanwhile does each of the scans over and over. Not by timers: scans that take a millisecond each would find
 * the next one due at once, and the write of a file would never be heard of.
 */
async function duringWrites(
  store: Store,
  batches: number,
  batch: (n: number) => readonly Write[],
  scans: readonly (() => Promise<void>)[],
): Promise<void> {
  await wipe(store)
  await store.write(batch(0), { durable: false })
  let writing = true
  const writer = (async () => {
    for (let n = 1; n <= batches; n++) await store.write(batch(n), { durable: false })
  })().finally(() => {
    writing = false
  })
  const readers = scans.map(async (scan) => {
    for (; writing; await nextTurn()) await scan()
  })
  await Promise.all([writer, ...readers])
}

/** What is seen of a value that says which batch it is of. */
const batchesOf = (entries: readonly Entry[]): number[] => [...new Set(entries.map(([, [first]]) => first!))]

/** Batches that overwrite all entries. */
async function overwriting(store: Store): Promise<void> {
  for (const [count, length, batches] of VIEWED) {
    const value = filled(Math.min(length, store.capabilities.maxValueBytes ?? length))
    const batch = (n: number): Write[] => Array.from({ length: count }, (_, i) => [numbered(i), bytes(n, ...value.subarray(1))] as const)
    const scans = [false, true].map((reverse) => async () => {
      const { entries } = await store.scan(everything, { limit: count, reverse })
      same(
        [entries.length, batchesOf(entries).length],
        [count, 1],
        `a scan, limit: ${count}, reverse: ${reverse}, during writes: entries, and batches they are of`,
      )
    })
    await duringWrites(store, batches, batch, scans)
  }
}

/** Batches that delete and put again: what is read of a range at two times shows in how many entries there are, and in whether more are left. */
async function thinning(store: Store): Promise<void> {
  for (const [count, length, batches] of THINNED) {
    const value = filled(Math.min(length, store.capabilities.maxValueBytes ?? length))
    const few = count / THIRD
    const batch = (n: number): Write[] =>
      Array.from({ length: count }, (_, i) => [numbered(i), n % 2 === 0 || i % THIRD === 0 ? bytes(n, ...value.subarray(1)) : undefined])
    const scans = [count, few].flatMap((limit) =>
      [false, true].map((reverse) => async () => {
        const { entries, more } = await store.scan(everything, { limit, reverse })
        const seen = batchesOf(entries)
        const held = seen[0]! % 2 === 0 ? count : few
        same(
          [entries.length, seen.length, more],
          [Math.min(limit, held), 1, held > limit],
          `a scan, limit: ${limit}, reverse: ${reverse}, while every other batch of ${count} writes deletes all but ${few} entries: entries, batches they are of, and whether more are left after batch ${seen[0]}`,
        )
      }),
    )
    await duringWrites(store, batches, batch, scans)
  }
}

/** Ranges of none to nine entries whose bounds, and the keys right outside them, are held, with limits below, at and above what they hold. */
async function atHeldBounds(store: Store): Promise<void> {
  await wipe(store)
  const model = await fill(store, count(12))
  const keys = model.entries.map(([key]) => key)
  for (let size = 0; size <= 9; size++) {
    const [below, gte, lt] = [keys[0]!, keys[1]!, keys[1 + size]!]
    for (const range of [
      { gte, lt },
      { gte: following(below), lt },
      { gte: following(below), lt: following(lt) },
    ])
      for (const reverse of [false, true])
        for (const limit of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) await agrees(store, model, range, { limit, reverse })
  }
}

/** Bounds around the end of each entry; what is drawn, and reaches no more than some KB, may go by a bound that is not kept above them. */
async function amongLargeValues(store: Store): Promise<void> {
  const { maxValueBytes: most = Number.POSITIVE_INFINITY } = store.capabilities
  // A store of small values holds as many bytes in more entries.
  const lengths = LARGE.flatMap((length) => (length <= most ? [length] : new Array<number>(Math.ceil(length / most)).fill(most)))
  await wipe(store)
  const model = await fill(
    store,
    lengths.map((length, n): Entry => [numbered(n), filled(length, n)]),
  )
  for (const reverse of [false, true]) {
    const inside = model.range(everything, reverse)
    const every = Math.ceil(inside.length / LARGE.length)
    let size = 0
    for (const [n, [key, value]] of inside.entries()) {
      size += key.length + value.length
      if (n % every === 0)
        for (const maxBytes of [size - 1, size, size + 1])
          await agrees(store, model, everything, { limit: inside.length, maxBytes, reverse })
    }
  }
}

export const scanLaws = (law: MakeLaw): Law[] => [
  law('a range includes its lower bound and excludes its upper; an empty or backward one holds nothing', async (store) => {
    await property(
      store,
      ({ anyEntries, anyRange }) => fc.tuple(anyEntries, anyRange, fc.integer({ min: 1, max: 9 }), fc.boolean()),
      async ([entries, range, few, reverse]) => {
        const model = await fill(store, entries)
        for (const limit of [100, few, 1]) await agrees(store, model, range, { limit, reverse })
        for (const limit of [100, few])
          for (const [key] of entries) {
            await agrees(store, model, { gte: key, lt: range.lt }, { limit, reverse })
            await agrees(store, model, { gte: range.gte, lt: key }, { limit, reverse })
          }
      },
    )
    // Drawn cases may go by what only a few limits show.
    await atHeldBounds(store)
  }),
  law('an undefined bound, or a limit that is not a whole number of 1 or more, is refused with STORE_MISUSE', async (store) => {
    const none = undefined as unknown as Uint8Array
    await refused('STORE_MISUSE', () => store.scan({ gte: none, lt: bytes(1) }, { limit: 1 }))
    await refused('STORE_MISUSE', () => store.scan({ gte: bytes(1), lt: none }, { limit: 1 }))
    await refused('STORE_MISUSE', () => store.scan({} as KeyRange, { limit: 1 }))
    for (const limit of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, undefined as unknown as number])
      await refused('STORE_MISUSE', () => store.scan(everything, { limit }))
  }),
  law('a scan returns as many entries as asked, and says whether more are left', async (store) => {
    for (const size of [1, 2, 15, 16, 17, 100, 999, 1000, 1001, 2002]) {
      await wipe(store)
      const model = await fill(store, count(size))
      for (const limit of [1, 2, size - 1, size, size + 1, 2 ** 31, Number.MAX_SAFE_INTEGER].filter((each) => each > 0))
        for (const reverse of [false, true]) await agrees(store, model, everything, { limit, reverse })
    }
  }),
  law('a scan stops before maxBytes, but never before the first entry', async (store) => {
    // Bounds at every byte of a few entries whose keys and values have several lengths: with the drawn cases below, omitting either from the count
    // may go unnoticed.
    const few = await fill(
      store,
      [1, 2, 3, 4, 5].map((n): Entry => [bytes(n, ...filled(n)), filled(7 - n)]),
    )
    for (let maxBytes = 0; maxBytes <= 45; maxBytes++)
      for (const reverse of [false, true]) await agrees(store, few, everything, { limit: 10, maxBytes, reverse })
    await amongLargeValues(store)
    await property(
      store,
      ({ anyEntries, anyRange }) => fc.tuple(anyEntries, anyRange, fc.nat(200), fc.integer({ min: 1, max: 50 }), fc.boolean()),
      async ([entries, range, maxBytes, limit, reverse]) => {
        const model = await fill(store, entries)
        for (const most of [0, maxBytes, maxBytes * 50, 2 ** 40]) await agrees(store, model, range, { limit, maxBytes: most, reverse })
      },
    )
  }),
  law('a scan resumed after its last key, in either direction, loses and repeats nothing', async (store) => {
    const model = await fill(store, count(1001))
    for (const limit of [1, 2, 15, 16, 17, 100, 333, 999, 1000, 1001])
      for (const reverse of [false, true])
        same(await inChunks(store, everything, { limit, reverse }), model.range(everything, reverse), `chunks of ${limit}`)
    const chunked = ({ anyEntries, anyRange }: Material) =>
      fc.tuple(anyEntries, anyRange, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 300 }), fc.boolean())
    await property(store, chunked, async ([entries, range, limit, maxBytes, reverse]) => {
      const found = await fill(store, entries)
      same(await inChunks(store, range, { limit, maxBytes, reverse }), found.range(range, reverse), 'all chunks')
    })
  }),
  law('a scan sees all of a batch or none of it', async (store) => {
    await overwriting(store)
    await thinning(store)
  }),
]

export const valueLaws = (law: MakeLaw): Law[] => [
  law('values of any size come back whole, from get, getMany and scan', async (store) => {
    const most = store.capabilities.maxValueBytes ?? Number.POSITIVE_INFINITY
    const sizes = [0, 1, 255, 256, 4095, 4096, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1].filter((size) => size <= most)
    const sized = sizes.map((size): Entry => [numbered(size), filled(size, size % 251)])
    const uniform = [0x00, 0x80, 0xff].flatMap((byte): Entry[] => [1, 2, 3].map((n) => [bytes(byte, n), new Uint8Array(n).fill(byte)]))
    const model = await fill(store, [...sized, ...uniform])
    await holds(store, model)
  }),
  law('get and getMany answer each key as asked, twice if asked twice, and undefined if nothing is there', (store) =>
    property(
      store,
      ({ anyEntries, anyKey }) => fc.tuple(anyEntries, fc.array(anyKey, { maxLength: 10 })),
      async ([entries, others]) => {
        const model = await fill(store, entries)
        const keys = [...others, ...entries.map(([key]) => key).reverse(), ...others, ...entries.map(([key]) => following(key))]
        same(
          await store.getMany(keys),
          keys.map((key) => model.get(key)),
          'getMany',
        )
        for (const key of keys) same(await store.get(key), model.get(key), 'get')
        same(await store.getMany([]), [], 'getMany of nothing')
      },
    ),
  ),
]
