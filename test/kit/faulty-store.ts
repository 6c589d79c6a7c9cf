/** What faulty stores are made of: a correct store in memory with some of its calls replaced. */
import type { Chunk, Entry, KeyRange, ScanOptions, Store, Write } from '../../src/store.ts'

/** The calls that a fault replaces. */
export type Mutant = (store: Store) => Partial<Store>

/** The law that rejects the store (the beginning of its name), what the store does, and how; and what the law says, where that is checked. */
export type FaultyStore = readonly [law: string, fault: string, mutant: Mutant, said?: RegExp]

export const later = (ms = 1): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
export const everything: KeyRange = { gte: Uint8Array.of(), lt: new Uint8Array(80).fill(0xff) }
export const dump = (store: Pick<Store, 'scan'>): Entry[] => (store.scan(everything, { limit: 1e6 }) as Chunk).entries

/** A scan over all entries, with the mutant's own order of keys and bounds. */
export const scanBy =
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

/** Spoils the answer of a correct scan. */
export const spoiltScan =
  (spoil: (chunk: Chunk, range: KeyRange, options: ScanOptions) => Chunk): Mutant =>
  (store) => ({ scan: (range, options) => spoil(store.scan(range, options) as Chunk, range, options) })

/** Changes the batch of a correct write. */
export const changedBatch =
  (change: (batch: readonly Write[]) => readonly Write[]): Mutant =>
  (store) => ({ write: (batch, options) => store.write(change(batch), options) })

export const mapValue = ([key, value]: Entry, map: (value: Uint8Array) => Uint8Array): Entry => [key, map(value)]

export const trimmed = (key: Uint8Array): Uint8Array => key.subarray(0, key.findLastIndex((byte) => byte !== 0) + 1)
export const size = ({ entries }: Chunk): number => entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0)

/** Spoils `get` and `getMany` alike. */
export const spoiltGet =
  (spoil: (value: Uint8Array | undefined, key: Uint8Array, store: Store) => Uint8Array | undefined): Mutant =>
  (store) => ({
    get: (key) => spoil(store.get(key) as Uint8Array | undefined, key, store),
    getMany: (keys) => keys.map((key) => spoil(store.get(key) as Uint8Array | undefined, key, store)),
  })

/** What a scan returns if it runs out of bytes before the entry at `end`; all of the chunk if there is no such entry. */
export const cutAt = ({ entries, more }: Chunk, end: number): Chunk =>
  end < 0 || end >= entries.length ? { entries, more } : { entries: entries.slice(0, end), more: true }
