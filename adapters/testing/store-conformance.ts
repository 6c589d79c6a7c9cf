/**
 * The laws of the store contract (`src/store.ts`), as tests that any runner can run: hand each `law.name` and `law.run` to it.
 * Most are properties against a sorted array, checked with fast-check: a failure prints its seed, and `FC_SEED` in the environment repeats
 * it; `FC_RUNS` sets how many cases each property tries.
 *
 * Outside the contract, and never tried: the empty key (several stores refuse it; as a lower bound it is legal and means the beginning),
 * keys above 66 bytes, and whether `getMany` is one view.
 */
import fc from 'fast-check'
import { type Capabilities, type Entry, isPromise, type KeyRange, type MaybePromise, type Store, type Write } from '../../src/store.ts'
import { agrees, count, fill, holds, inChunks, modelOf, property, refused, same, seed, show, turn, wipe } from './store-checks.ts'
import { anyBatch, anyEntries, anyKey, anyRange, anyValue, bytes, everything, filled, following, Model, numbered } from './store-model.ts'

/** The store under test. */
export interface StoreSubject {
  /** An empty store, on its own each time. */
  open(): MaybePromise<Store>
  /** Opens again what `store`, which was closed, held. Without it, the laws about reopening are skipped. */
  reopen?(store: Store): MaybePromise<Store>
  /** What the stores must say of themselves, where that is known before. */
  capabilities?: Partial<Capabilities>
}

export interface Law {
  /** What holds, in words. */
  readonly name: string
  /** Why this law cannot be checked here. */
  readonly skip?: string
  run(): Promise<void>
}

/** The laws for a store; each opens stores of its own, and rejects with what was expected and what came. */
export function storeConformance(subject: StoreSubject): Law[] {
  const law = (name: string, check: (store: Store) => Promise<void>, skip?: string): Law => {
    const run = async (): Promise<void> => {
      const store = await subject.open()
      try {
        await check(store)
      } finally {
        await store.close()
      }
    }
    return skip === undefined ? { name, run } : { name, run, skip }
  }
  const reopens = subject.reopen ? undefined : 'the subject cannot reopen its store'
  return [
    law('capabilities are what the store does: a synchronous one answers without a promise', async (store) => {
      for (const [name, value] of Object.entries(subject.capabilities ?? {}))
        same(store.capabilities[name as keyof Capabilities], value, `capability ${name}`)
      const answers = [store.get(bytes(1)), store.getMany([bytes(1)])]
      if (store.capabilities.sync) same(answers.map(isPromise), [false, false], 'answers are promises')
      await Promise.all(answers)
    }),
    ...orderLaws(law),
    ...scanLaws(law),
    ...valueLaws(law),
    ...batchLaws(law),
    ...expectLaws(law),
    ...bufferLaws(law),

    law('a close waits for the reads and writes under way, and a second close changes nothing', async (store) => {
      const model = await fill(store, count(500))
      const scan = (async () => store.scan(everything, { limit: 400 }))()
      const value = (async () => store.get(model.entries[7]![0]))()
      const writes = [1, 2, 3].map(async (n) => store.write([[numbered(n), filled(5000, n)]], { durable: n === 2 }))
      await Promise.all([...writes, store.close()])
      same((await scan).entries, model.entries.slice(0, 400), 'the scan under way')
      same(await value, model.entries[7]![1], 'the get under way')
      await store.close()
    }),
    law('after the close every call gives CLOSED', async (store) => {
      await store.write([[bytes(1), bytes(1)]], { durable: false })
      await store.close()
      await refused('CLOSED', () => store.get(bytes(1)))
      await refused('CLOSED', () => store.getMany([bytes(1)]))
      await refused('CLOSED', () => store.scan(everything, { limit: 1 }))
      await refused('CLOSED', () => store.write([[bytes(1), bytes(2)]], { durable: false }))
    }),
    law(
      'a reopen finds everything that was written, also by writes that the close waited for',
      async (store) => {
        const model = new Model()
        const batches = fc.sample(anyBatch, { numRuns: 20, seed: seed() ?? 1 })
        for (const [n, batch] of batches.entries()) {
          await store.write(batch, { durable: n % 5 === 0 })
          model.write(batch)
        }
        const last: Write[] = [[bytes(0xff, 0xff), filled(100_000)]]
        await Promise.all([store.write(last, { durable: true }), store.close()])
        model.write(last)
        const again = await subject.reopen!(store)
        try {
          await holds(again, model)
        } finally {
          await again.close()
        }
      },
      reopens,
    ),
  ]
}

type MakeLaw = (name: string, check: (store: Store) => Promise<void>) => Law

const orderLaws = (law: MakeLaw): Law[] => [
  law('keys come in the order of unsigned bytes over their whole length, the shorter first, forward and reverse', (store) =>
    property(store, anyEntries, async (entries) => holds(store, await fill(store, entries))),
  ),
  law('keys that part only at their last byte, or by length, are different keys', async (store) => {
    for (const length of [1, 15, 16, 17, 31, 32, 33, 63, 64, 65]) {
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
  law('FF is no infinity: keys of FF lie in ranges that end above them, and not in ranges that end at them', async (store) => {
    const keys = [1, 2, 16, 64, 65].map((length) => new Uint8Array(length).fill(0xff))
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

const scanLaws = (law: MakeLaw): Law[] => [
  law('a range holds its lower bound and not its upper; an empty or a backward one holds nothing', (store) =>
    property(store, fc.tuple(anyEntries, anyRange, fc.boolean()), async ([entries, range, reverse]) => {
      const model = await fill(store, entries)
      await agrees(store, model, range, { limit: 100, reverse })
      for (const [key] of entries) await agrees(store, model, { gte: key, lt: range.lt }, { limit: 100, reverse })
      for (const [key] of entries) await agrees(store, model, { gte: range.gte, lt: key }, { limit: 100, reverse })
    }),
  ),
  law('an undefined bound, or a limit that is not a whole number of 1 or more, is refused with STORE_MISUSE', async (store) => {
    const none = undefined as unknown as Uint8Array
    await refused('STORE_MISUSE', () => store.scan({ gte: none, lt: bytes(1) }, { limit: 1 }))
    await refused('STORE_MISUSE', () => store.scan({ gte: bytes(1), lt: none }, { limit: 1 }))
    await refused('STORE_MISUSE', () => store.scan({} as KeyRange, { limit: 1 }))
    for (const limit of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, undefined as unknown as number])
      await refused('STORE_MISUSE', () => store.scan(everything, { limit }))
  }),
  law('a scan gives as many entries as asked, and says whether more are left', async (store) => {
    for (const size of [1, 2, 15, 16, 17, 100, 999, 1000, 1001, 2002]) {
      await wipe(store)
      const model = await fill(store, count(size))
      for (const limit of [1, 2, size - 1, size, size + 1, 2 ** 31, Number.MAX_SAFE_INTEGER].filter((each) => each > 0))
        for (const reverse of [false, true]) await agrees(store, model, everything, { limit, reverse })
    }
  }),
  law('a scan stops before maxBytes, but never before the first entry', (store) =>
    property(
      store,
      fc.tuple(anyEntries, anyRange, fc.nat(200), fc.integer({ min: 1, max: 50 }), fc.boolean()),
      async ([entries, range, maxBytes, limit, reverse]) => {
        const model = await fill(store, entries)
        for (const most of [0, maxBytes, maxBytes * 50, 2 ** 40]) await agrees(store, model, range, { limit, maxBytes: most, reverse })
      },
    ),
  ),
  law('a scan taken up after its last key, in either direction, loses and repeats nothing', async (store) => {
    const model = await fill(store, count(1001))
    for (const limit of [1, 15, 16, 17, 100, 333, 999, 1000, 1001])
      for (const reverse of [false, true])
        same(await inChunks(store, everything, { limit, reverse }), model.range(everything, reverse), `chunks of ${limit}`)
    const chunked = fc.tuple(anyEntries, anyRange, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 300 }), fc.boolean())
    await property(store, chunked, async ([entries, range, limit, maxBytes, reverse]) => {
      const found = await fill(store, entries)
      same(await inChunks(store, range, { limit, maxBytes, reverse }), found.range(range, reverse), 'all chunks')
    })
  }),
  law('a scan sees all of a batch or none of it', async (store) => {
    const generation = (n: number): Write[] =>
      Array.from({ length: 300 }, (_, i) => [numbered(i), bytes(n >> 8, n, ...filled(50))] as const)
    await store.write(generation(0), { durable: false })
    let writing = true
    const writer = (async () => {
      for (let n = 1; n <= 60; n++) await store.write(generation(n), { durable: false })
      writing = false
    })()
    const readers = [false, true].map(async (reverse) => {
      while (writing) {
        const { entries } = await store.scan(everything, { limit: 300, reverse })
        const seen = new Set(entries.map(([, value]) => value[0]! * 256 + value[1]!))
        same([entries.length, seen.size], [300, 1], 'entries, and batches they are of')
        await turn()
      }
    })
    await Promise.all([writer, ...readers])
  }),
]

const valueLaws = (law: MakeLaw): Law[] => [
  law('values of any size come back whole, from get, getMany and scan', async (store) => {
    const most = store.capabilities.maxValueBytes ?? Number.POSITIVE_INFINITY
    const sizes = [0, 1, 255, 256, 4095, 4096, 65_535, 65_536, 65_537, 1 << 20].filter((size) => size <= most)
    const model = await fill(
      store,
      sizes.map((size): Entry => [numbered(size), filled(size, size % 251)]),
    )
    await holds(store, model)
  }),
  law('get and getMany answer each key as asked, twice where asked twice, and undefined where nothing is', (store) =>
    property(store, fc.tuple(anyEntries, fc.array(anyKey, { maxLength: 10 })), async ([entries, others]) => {
      const model = await fill(store, entries)
      const keys = [...others, ...entries.map(([key]) => key).reverse(), ...others, ...entries.map(([key]) => following(key))]
      same(
        await store.getMany(keys),
        keys.map((key) => model.get(key)),
        'getMany',
      )
      for (const key of keys) same(await store.get(key), model.get(key), 'get')
      same(await store.getMany([]), [], 'getMany of nothing')
    }),
  ),
]

const batchLaws = (law: MakeLaw): Law[] => [
  law('after any batches, each seen whole as soon as its write resolved, the store holds what a sorted array would', (store) =>
    property(store, fc.array(anyBatch, { maxLength: 6 }), async (batches) => {
      const model = new Model()
      for (const batch of batches) {
        await store.write(batch, { durable: false })
        model.write(batch)
        await holds(store, model)
      }
    }),
  ),
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
  law('batches apply in call order, also where the calls do not wait for each other', async (store) => {
    const writes = Array.from({ length: 60 }, async (_, n) => {
      const bulk = Array.from({ length: n % 3 === 0 ? 200 : 0 }, (_, i): Write => [numbered(i), filled(100, n)])
      await store.write([[bytes(1), bytes(n)], [bytes(2, n), n === 0 ? undefined : bytes(n)], [bytes(2, n + 1), bytes(n)], ...bulk], {
        durable: n % 20 === 19,
      })
      const seen = await store.get(bytes(1))
      if (seen!.length !== 1 || seen![0]! < n) throw new Error(`write ${n} resolved, and ${show(seen)} is held`)
    })
    await Promise.all(writes)
    same(await store.get(bytes(1)), bytes(59), 'the key that all wrote')
    for (let n = 1; n < 60; n++) same(await store.get(bytes(2, n)), bytes(n), `the key that calls ${n - 1} and ${n} wrote`)
    same(await store.get(numbered(0)), filled(100, 57), 'the key that every third wrote')
  }),
]

const expectLaws = (law: MakeLaw): Law[] => [
  law(
    'with expect a batch applies only if the key holds just those bytes; else CONFLICT, nothing of it applied, and the store goes on',
    (store) => {
      const held = fc.option(anyValue, { nil: undefined, freq: 3 })
      return property(
        store,
        fc.tuple(anyEntries, anyKey, held, held, fc.boolean(), anyBatch),
        async ([entries, key, holding, wanted, right, batch]) => {
          const model = await fill(store, entries)
          const first: Write[] = [[key, holding]]
          await store.write(first, { durable: false })
          model.write(first)
          const expect = { key, value: right ? holding : wanted }
          const matches = show(expect.value) === show(holding)
          if (matches) {
            await store.write(batch, { durable: false, expect })
            model.write(batch)
          } else await refused('CONFLICT', () => store.write(batch, { durable: false, expect }))
          await holds(store, model)
        },
      )
    },
  ),
  law('an empty value and a missing key are different expectations, and an empty batch is still held to its own', async (store) => {
    const [key, durable] = [bytes(1), false]
    await refused('CONFLICT', () => store.write([], { durable, expect: { key, value: bytes() } }))
    await store.write([], { durable, expect: { key, value: undefined } })
    await store.write([[key, bytes()]], { durable, expect: { key, value: undefined } })
    await refused('CONFLICT', () => store.write([[key, bytes(1)]], { durable, expect: { key, value: undefined } }))
    await store.write([[key, bytes(2)]], { durable, expect: { key, value: bytes() } })
    await refused('CONFLICT', () => store.write([[key, bytes(1)]], { durable, expect: { key, value: bytes(2, 0) } }))
    same(await store.get(key), bytes(2), 'the key')
  }),
  law('of many writers that expect the same, one wins', async (store) => {
    for (let round = 0; round < 20; round++) {
      const value = round === 0 ? undefined : await store.get(bytes(1))
      const tries = Array.from({ length: 8 }, async (_, n) =>
        store.write(
          [
            [bytes(1), bytes(round, n)],
            [bytes(2, n), bytes(round)],
          ],
          { durable: false, expect: { key: bytes(1), value } },
        ),
      )
      const outcomes = await Promise.allSettled(tries)
      same(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, 'writers that won')
      const winner = (await store.get(bytes(1)))![1]!
      same(outcomes[winner]!.status, 'fulfilled', 'the writer whose value is held')
      for (let n = 0; n < 8; n++) same((await store.get(bytes(2, n)))?.[0] === round, n === winner, `what writer ${n} left`)
    }
  }),
]

const bufferLaws = (law: MakeLaw): Law[] => [
  law('keys and values handed in may be overwritten once the write resolved', async (store) => {
    const [key, value, head] = [filled(20), filled(5000), bytes(9)]
    await store.write([[key, value]], { durable: false, expect: { key: head, value: undefined } })
    for (const given of [key, value, head]) given.fill(0xee)
    await holds(store, modelOf([[filled(20), filled(5000)]]))
  }),
  law('keys and values handed out belong to the receiver, who may overwrite them', async (store) => {
    const model = await fill(store, [
      [bytes(1), filled(10)],
      [bytes(2), filled(5000)],
      [bytes(3), bytes(3)],
    ])
    const { entries } = await store.scan(everything, { limit: 10 })
    const out = [...entries.flat(), await store.get(bytes(2)), ...(await store.getMany([bytes(1), bytes(2)]))]
    for (const given of out) given!.fill(0xee)
    await holds(store, model)
  }),
]
