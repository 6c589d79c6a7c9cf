/** Stores that each break one law, and the law that rejects them: the laws are only worth what they reject. */
import { expect, test } from 'vitest'
import { memory, memoryDisk } from '../adapters/memory/index.ts'
import { type Law, type StoreSubject, storeConformance } from '../adapters/testing/store-conformance.ts'
import { compare, equal } from '../src/bytes.ts'
import { FolioError } from '../src/errors.ts'
import type { Chunk, Entry, KeyRange, ScanOptions, Store, Write } from '../src/store.ts'

type Mutant = (store: Store) => Partial<Store>

const later = (ms = 1): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const everything: KeyRange = { gte: Uint8Array.of(), lt: new Uint8Array(80).fill(0xff) }
const dump = (store: Store): Entry[] => (store.scan(everything, { limit: 1e6 }) as Chunk).entries

/** A scan over all entries, in an order and with bounds of the mutant's own. */
const scanBy =
  (order: (a: Uint8Array, b: Uint8Array) => number): Mutant =>
  (store) => ({
    scan(range, options) {
      const correct = store.scan(range, options) as Chunk
      const inside = dump(store).filter(([key]) => order(key, range.gte) >= 0 && order(key, range.lt) < 0)
      inside.sort((a, b) => order(a[0], b[0]))
      if (options.reverse) inside.reverse()
      if (options.maxBytes !== undefined) return correct
      return { entries: inside.slice(0, options.limit), more: inside.length > options.limit }
    },
  })

/** The answer of a right scan, spoilt. */
const spoiltScan =
  (spoil: (chunk: Chunk, range: KeyRange, options: ScanOptions) => Chunk): Mutant =>
  (store) => ({ scan: (range, options) => spoil(store.scan(range, options) as Chunk, range, options) })

/** The batch of a right write, changed. */
const changedBatch =
  (change: (batch: readonly Write[]) => readonly Write[]): Mutant =>
  (store) => ({ write: (batch, options) => store.write(change(batch), options) })

const mapValue = ([key, value]: Entry, map: (value: Uint8Array) => Uint8Array): Entry => [key, map(value)]
const sameBytes = (a: Uint8Array | undefined, b: Uint8Array | undefined) => (a && b ? equal(a, b) : a === b)

/** Law (the beginning of its name) → what a store does that breaks it. */
const mutants: [law: string, fault: string, mutant: Mutant][] = [
  ['capabilities', 'promises where it said at once', (store) => ({ get: async (key) => store.get(key) })],
  [
    'keys come in the order',
    'compares bytes as signed',
    scanBy((a, b) =>
      compare(
        Uint8Array.from(a, (byte) => byte ^ 128),
        Uint8Array.from(b, (byte) => byte ^ 128),
      ),
    ),
  ],
  ['keys come in the order', 'puts longer keys after all shorter ones', scanBy((a, b) => a.length - b.length || compare(a, b))],
  ['keys that part only', 'compares the first 16 bytes only', scanBy((a, b) => compare(a.subarray(0, 16), b.subarray(0, 16)))],
  ['keys that part only', 'ignores zeros at the end of a key', scanBy((a, b) => compare(trimmed(a), trimmed(b)))],
  [
    'FF is no infinity',
    'takes an upper bound of FF for no bound',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan({ gte, lt: lt[0] === 0xff ? everything.lt : lt }, options) }),
  ],
  [
    'FF is no infinity',
    'takes FF for the end',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan({ gte, lt: lt[0] === 0xff ? Uint8Array.of(0xff) : lt }, options) }),
  ],
  [
    'a range holds',
    'includes the upper bound',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan({ gte, lt: Uint8Array.of(...lt, 0) }, options) }),
  ],
  [
    'a range holds',
    'excludes the lower bound in reverse',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan({ gte: options.reverse ? Uint8Array.of(...gte, 0) : gte, lt }, options) }),
  ],
  [
    'an undefined bound',
    'gives nothing for an undefined bound',
    (store) => ({ scan: (range, options) => (range.gte && range.lt ? store.scan(range, options) : { entries: [], more: false }) }),
  ],
  [
    'a scan gives as many',
    'loses the entry at the border of 1,000',
    spoiltScan(({ entries, more }) => ({ entries: entries.filter((_, n) => n !== 1000), more })),
  ],
  [
    'a scan gives as many',
    'says more whenever the limit is reached',
    spoiltScan((chunk, _, { limit }) => ({ ...chunk, more: chunk.entries.length === limit })),
  ],
  [
    'a scan gives as many',
    'never gives more than 1,000',
    (store) => ({ scan: (range, options) => store.scan(range, { ...options, limit: Math.min(options.limit || 0, 1000) }) }),
  ],
  [
    'a scan stops before maxBytes',
    'ignores maxBytes',
    (store) => ({ scan: (range, { maxBytes: _, ...options }) => store.scan(range, options) }),
  ],
  [
    'a scan stops before maxBytes',
    'gives nothing where the first entry is too large',
    spoiltScan((chunk, _, { maxBytes = 1e9 }) => (size(chunk) > maxBytes ? { entries: [], more: true } : chunk)),
  ],
  [
    'a scan taken up',
    'forgets that bytes ran out',
    spoiltScan((chunk, _, { limit }) => ({ ...chunk, more: chunk.more && chunk.entries.length === limit })),
  ],
  [
    'a scan sees all of a batch',
    'applies a batch in two steps',
    (store) => ({
      write: async (batch, options) => {
        store.write(batch.slice(0, 100), options)
        await later()
        store.write(batch.slice(100), options)
      },
    }),
  ],
  ['values of any size', 'cuts values at 64 KiB', changedBatch((batch) => batch.map(([key, value]) => [key, value?.subarray(0, 65_535)]))],
  [
    'values of any size',
    'takes an empty value for a delete',
    changedBatch((batch) => batch.map(([key, value]) => [key, value?.length ? value : undefined])),
  ],
  ['get and getMany', 'answers getMany in key order', (store) => ({ getMany: (keys) => store.getMany([...keys].sort(compare)) })],
  [
    'get and getMany',
    'leaves out what is missing',
    (store) => ({ getMany: (keys) => (store.getMany(keys) as Entry[1][]).filter((value) => value) }),
  ],
  ['after any batches', 'ignores deletes', changedBatch((batch) => batch.filter(([, value]) => value))],
  [
    'the last write of a key',
    'keeps the first write of a key',
    changedBatch((batch) => batch.filter(([key], n) => batch.findIndex(([other]) => equal(key, other)) === n)),
  ],
  ['the last write of a key', 'applies deletes last', changedBatch((batch) => [...batch].sort((a, b) => Number(!a[1]) - Number(!b[1])))],
  [
    'a write that resolved',
    'resolves before it applies',
    (store) => ({
      write: (batch, options) =>
        void later()
          .then(() => store.write(batch, options))
          .catch(() => {}),
    }),
  ],
  [
    'batches apply in call order',
    'lets small batches overtake large ones',
    (store) => ({
      write: async (batch, options) => {
        if (batch.length > 10) await later(2)
        await store.write(batch, options)
      },
    }),
  ],
  [
    'with expect',
    'applies the first write before it checks',
    (store) => ({
      write: (batch, options) => {
        store.write(batch.slice(0, 1), { durable: false })
        return store.write(batch, options)
      },
    }),
  ],
  ['with expect', 'ignores expect', (store) => ({ write: (batch, { durable }) => store.write(batch, { durable }) })],
  [
    'an empty value and a missing key',
    'takes an empty value for a missing key',
    (store) => ({
      write: (batch, { durable, expect }) => {
        const held = expect && (store.get(expect.key) as Uint8Array | undefined)
        if (expect && !sameBytes(held?.length ? held : undefined, expect.value?.length ? expect.value : undefined))
          throw new FolioError('CONFLICT')
        return store.write(batch, { durable })
      },
    }),
  ],
  [
    'of many writers',
    'checks, then waits, then applies',
    (store) => ({
      write: async (batch, { durable, expect }) => {
        if (expect && !sameBytes(await store.get(expect.key), expect.value)) throw new FolioError('CONFLICT')
        await later()
        return store.write(batch, { durable })
      },
    }),
  ],
  [
    'keys and values handed in',
    'keeps the buffers it was given',
    (store) => {
      const kept = new Map<string, Uint8Array>()
      return {
        write: (batch, options) => {
          store.write(batch, options)
          for (const [key, value] of batch) if (value) kept.set(String(key), value)
        },
        get: (key) => kept.get(String(key)),
      }
    },
  ],
  [
    'keys and values handed out',
    'hands out the buffers it keeps',
    (store) => {
      const known = new Map<string, Uint8Array>()
      const keep = (value: Uint8Array) => {
        const name = String(value)
        if (!known.has(name)) known.set(name, value)
        return known.get(name)!
      }
      return {
        scan: (range, options) => {
          const { entries, more } = store.scan(range, options) as Chunk
          return { entries: entries.map((entry) => mapValue(entry, keep)), more }
        },
      }
    },
  ],
  ['after the close', 'answers after the close', (store) => ({ close: () => {}, get: (key) => store.get(key) })],
  [
    'a close waits',
    'drops what is under way when it closes',
    (store) => ({
      write: async (batch, options) => {
        await later()
        await store.write(batch, options)
      },
    }),
  ],
]

const trimmed = (key: Uint8Array): Uint8Array => key.subarray(0, key.findLastIndex((byte) => byte !== 0) + 1)
const size = ({ entries }: Chunk): number => entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0)
const named = (laws: Law[], start: string): Law => laws.find(({ name }) => name.startsWith(start))!

test.for(mutants)('"%s…" rejects a store that %s', async ([start, , mutant]) => {
  const open = (): Store => {
    const store = memory()
    return { ...store, ...mutant(store) }
  }
  await expect(named(storeConformance({ open }), start).run()).rejects.toThrow()
})

test('"a reopen…" rejects a store that loses its last batch', async () => {
  const stores = new WeakMap<Store, Write[][]>()
  const opened = (batches: Write[][]): Store => {
    const store = memory(memoryDisk())
    for (const batch of batches) store.write(batch, { durable: true })
    const recording: Store = {
      ...store,
      write: (batch, options) => {
        batches.push([...batch])
        return store.write(batch, options)
      },
    }
    stores.set(recording, batches)
    return recording
  }
  const subject = (lost: number): StoreSubject => ({
    open: () => opened([]),
    reopen: (store) => opened(stores.get(store)!.slice(0, stores.get(store)!.length - lost)),
  })
  await named(storeConformance(subject(0)), 'a reopen').run()
  await expect(named(storeConformance(subject(1)), 'a reopen').run()).rejects.toThrow('expected')
})

test('every law rejects some store', () => {
  const proven = [...mutants.map(([start]) => start), 'a reopen']
  const laws = storeConformance({ open: () => memory(), reopen: () => memory() })
  expect(laws.filter(({ name }) => !proven.some((start) => name.startsWith(start))).map(({ name }) => name)).toEqual([])
})
