/** Stores that each break a law of writing, or of their life: batches, values, buffers, closing. */
import { compare, equal, same } from '../../src/bytes.ts'
import { FolioError } from '../../src/errors.ts'
import type { Chunk, Entry, Write, WriteOptions } from '../../src/store.ts'
import { changedBatch, dump, everything, type FaultyStore, later, mapValue, spoiltGet } from './faulty-store.ts'

const conflict = (): never => {
  throw new FolioError('CONFLICT')
}

/** Others go before such batches. */
const overtaken =
  (isSuch: (batch: readonly Write[], options: WriteOptions) => boolean): FaultyStore[2] =>
  (store) => ({
    write: async (batch, options) => {
      if (isSuch(batch, options)) await later(2)
      await store.write(batch, options)
    },
  })

export const storesThatMiswrite: readonly FaultyStore[] = [
  [
    'values of any size',
    'cuts values to a byte less than 64 KiB',
    changedBatch((batch) => batch.map(([key, value]) => [key, value?.subarray(0, 65_535)])),
  ],
  [
    'a value of more than 16 MiB',
    'keeps the length of a value in 24 bits',
    changedBatch((batch) => batch.map(([key, value]) => [key, value?.subarray(0, value.length % 2 ** 24)])),
    /^get after a write of a value of 16777217 bytes: expected at index 0: </,
  ],
  [
    'values of any size',
    'takes an empty value for a delete',
    changedBatch((batch) => batch.map(([key, value]) => [key, value?.length ? value : undefined])),
  ],
  ['get and getMany', 'answers getMany in the order of keys', (store) => ({ getMany: (keys) => store.getMany([...keys].sort(compare)) })],
  [
    'get and getMany',
    'leaves missing keys out of the answer',
    (store) => ({ getMany: (keys) => (store.getMany(keys) as Entry[1][]).filter((value) => value) }),
  ],
  ['after any batches', 'ignores deletes', changedBatch((batch) => batch.filter(([, value]) => value))],
  [
    'thousands of keys',
    'loses what comes below the hundreds of keys that it removed',
    (store) => {
      let below: Uint8Array | undefined
      return {
        write(batch, options) {
          const removed = batch.filter(([, value]) => !value)
          if (removed.length >= 400) below ??= removed.map(([key]) => key).sort(compare)[0]
          return store.write(
            batch.filter(([key, value]) => !value || !below || compare(key, below) >= 0),
            options,
          )
        },
      }
    },
  ],
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
  ['batches apply in call order', 'lets small batches overtake large ones', overtaken((batch) => batch.length > 10)],
  [
    'with `expect`',
    'applies the first write before it checks',
    (store) => ({
      write: (batch, options) => {
        store.write(batch.slice(0, 1), { durable: false })
        return store.write(batch, options)
      },
    }),
  ],
  ['with `expect`', 'ignores expect', (store) => ({ write: (batch, { durable }) => store.write(batch, { durable }) })],
  [
    'an empty value and a missing key',
    'takes an empty value for a missing key',
    (store) => ({
      write: (batch, { durable, expect }) => {
        const held = expect && (store.get(expect.key) as Uint8Array | undefined)
        if (expect && !same(held?.length ? held : undefined, expect.value?.length ? expect.value : undefined))
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
        if (expect && !same(await store.get(expect.key), expect.value)) throw new FolioError('CONFLICT')
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
  ['after the close', 'still answers after the close', (store) => ({ close: () => {}, get: (key) => store.get(key) })],
  [
    'a close waits',
    'drops writes in flight when it closes',
    (store) => ({
      write: async (batch, options) => {
        await later()
        await store.write(batch, options)
      },
    }),
  ],
  ['values of any size', 'cuts values to 64 KiB', changedBatch((batch) => batch.map(([key, value]) => [key, value?.subarray(0, 65_536)]))],
  [
    'values of any size',
    'counts the length of a value in 20 bits',
    changedBatch((batch) => batch.map(([key, value]) => [key, value?.subarray(0, value.length % (1 << 20))])),
  ],
  [
    'values of any size',
    'keeps values as text',
    changedBatch((batch) => batch.map(([key, value]) => [key, value && new TextEncoder().encode(new TextDecoder().decode(value))])),
  ],
  [
    'values of any size',
    'strips zeros from the end of a value',
    changedBatch((batch) => batch.map(([key, value]) => [key, value?.subarray(0, value.findLastIndex((byte) => byte !== 0) + 1)])),
  ],
  [
    'get and getMany',
    'answers only once a key that is asked for twice',
    (store) => ({
      getMany: (keys) =>
        keys.map((key, n) => (keys.findIndex((one) => equal(one, key)) === n ? (store.get(key) as Uint8Array | undefined) : undefined)),
    }),
  ],
  [
    'get and getMany',
    'gives the next entry for a key that is missing',
    spoiltGet((value, key, store) => value ?? (store.scan({ gte: key, lt: everything.lt }, { limit: 1 }) as Chunk).entries[0]?.[1]),
  ],
  ['get and getMany', 'takes an empty value for a missing one', spoiltGet((value) => (value?.length ? value : undefined))],
  [
    'after any batches',
    'leaves an empty value instead of deleting',
    changedBatch((batch) => batch.map(([key, value]) => [key, value ?? new Uint8Array()])),
  ],
  [
    'after any batches',
    'keeps the end of a longer value that it overwrites',
    (store) => ({
      write: (batch, options) =>
        store.write(
          batch.map(([key, value]): Write => {
            const held = value && (store.get(key) as Uint8Array | undefined)
            return [key, held && held.length > value.length ? Uint8Array.of(...value, ...held.subarray(value.length)) : value]
          }),
          options,
        ),
    }),
  ],
  [
    'after any batches',
    'applies only the first five writes of a batch of more than ten',
    changedBatch((batch) => (batch.length > 10 ? batch.slice(0, 5) : batch)),
  ],
  [
    'after any batches',
    'does not overwrite values',
    (store) => ({
      write: (batch, options) =>
        store.write(
          batch.filter(([key, value]) => !value || !store.get(key)),
          options,
        ),
    }),
  ],
  [
    'after any batches',
    'deletes the next entry if there is nothing to delete',
    (store) => ({
      write: (batch, options) =>
        store.write(
          batch.map(([key, value]): Write => {
            if (value || store.get(key)) return [key, value]
            return [(store.scan({ gte: key, lt: everything.lt }, { limit: 1 }) as Chunk).entries[0]?.[0] ?? key, undefined]
          }),
          options,
        ),
    }),
  ],
  ['the last write of a key', 'applies a batch backwards', changedBatch((batch) => [...batch].reverse())],
  ['the last write of a key', 'applies deletes first', changedBatch((batch) => [...batch].sort((a, b) => Number(!b[1]) - Number(!a[1])))],
  [
    'the last write of a key',
    'applies a batch in the order of its keys, sorted by an unstable sort',
    changedBatch((batch) => [...batch].reverse().sort((a, b) => compare(a[0], b[0]))),
  ],
  [
    'a write that resolved',
    'answers again what it read before',
    (store) => {
      const read = new Map<string, Uint8Array | undefined>()
      return {
        get: (key) => {
          const name = String(key)
          if (!read.has(name)) read.set(name, store.get(key) as Uint8Array | undefined)
          return read.get(name)
        },
      }
    },
  ],
  [
    'a write that resolved',
    'scans a snapshot from before the newest write',
    (store) => {
      let [before, now]: Entry[][] = [[], []]
      return {
        write: (batch, options) => {
          before = now
          store.write(batch, options)
          now = dump(store)
        },
        scan: (range, options) => {
          const held = before!.filter(([key]) => compare(key, range.gte) >= 0 && compare(key, range.lt) < 0)
          return { entries: held.slice(0, options.limit), more: held.length > options.limit }
        },
      }
    },
  ],
  [
    'a write that resolved',
    'shows a write to getMany a turn later',
    (store) => {
      let held: Entry[] = []
      return {
        write: (batch, options) => {
          held = dump(store)
          return store.write(batch, options)
        },
        getMany: (keys) => keys.map((key) => held.find(([one]) => equal(one, key))?.[1]),
      }
    },
  ],
  [
    'a read concurrent',
    'shows a write, takes it back, and then applies it',
    (store) => ({
      write: async (batch, options) => {
        const before = batch.map(([key]): Write => [key, store.get(key) as Uint8Array | undefined])
        store.write(batch, options)
        await later(2)
        store.write(before, options)
        await later(2)
        store.write(batch, options)
      },
      get: async (key) => {
        await later(0)
        return store.get(key)
      },
    }),
  ],
  [
    'a read concurrent',
    'gives an outdated value after several reads',
    (store) => {
      let reads = 0
      let old: Uint8Array | undefined
      return {
        get: (key) => {
          if (++reads === 1) old = store.get(key) as Uint8Array | undefined
          return reads > 8 ? old : store.get(key)
        },
      }
    },
  ],
  ['batches apply in call order', 'lets batches that need not be durable go first', overtaken((_, options) => options.durable)],
  ['batches apply in call order', 'lets batches of a single write go first', overtaken((batch) => batch.length > 1)],
  [
    'with `expect`',
    'compares only the length of the value that it expects',
    (store) => ({
      write: (batch, { durable, expect }) => {
        if (expect && (store.get(expect.key) as Uint8Array | undefined)?.length !== expect.value?.length) conflict()
        return store.write(batch, { durable })
      },
    }),
  ],
  [
    'with `expect`',
    'writes nothing more after a CONFLICT',
    (store) => {
      let poisoned = false
      return {
        write: (batch, options) => {
          if (poisoned) throw new FolioError('POISONED')
          try {
            return store.write(batch, options)
          } catch (error) {
            poisoned = true
            throw error
          }
        },
      }
    },
  ],
  [
    'with `expect`',
    'applies the batch, and then throws CONFLICT',
    (store) => ({
      write: (batch, { durable, expect }) => {
        const held = expect && (store.get(expect.key) as Uint8Array | undefined)
        store.write(batch, { durable })
        if (expect && !same(held, expect.value)) conflict()
      },
    }),
  ],
  [
    'with `expect`',
    'silently skips a batch when it should throw CONFLICT',
    (store) => ({
      write: (batch, { durable, expect }) => {
        if (!expect || same(store.get(expect.key) as Uint8Array | undefined, expect.value)) return store.write(batch, { durable })
      },
    }),
  ],
  [
    'an empty value and a missing key',
    'does not check what it expects if the batch is empty',
    (store) => ({ write: (batch, options) => (batch.length === 0 ? undefined : store.write(batch, options)) }),
  ],
  [
    'an empty value and a missing key',
    'compares only the first byte of the value that it expects',
    (store) => ({
      write: (batch, { durable, expect }) => {
        const held = expect && (store.get(expect.key) as Uint8Array | undefined)
        if (expect && !same(held?.subarray(0, 1), expect.value?.subarray(0, 1))) conflict()
        return store.write(batch, { durable })
      },
    }),
  ],
  [
    'keys and values handed in',
    'keeps the keys that it was given',
    (store) => {
      const kept: Uint8Array[] = []
      return {
        write: (batch, options) => {
          kept.push(...batch.map(([key]) => key))
          return store.write(batch, options)
        },
        scan: (range, options) => {
          const { entries, more } = store.scan(range, options) as Chunk
          return { entries: entries.map(([key, value], n): Entry => [kept[n] ?? key, value]), more }
        },
      }
    },
  ],
  [
    'keys and values handed out',
    'answers every get from one buffer',
    (store) => {
      const buffer = new Uint8Array(1 << 21)
      return spoiltGet((value) => {
        if (value) buffer.set(value)
        return value && buffer.subarray(0, value.length)
      })(store)
    },
  ],
  [
    'a close waits',
    'fails scans in flight when it closes',
    (store) => {
      let closed = false
      return {
        scan: async (range, options) => {
          const chunk = store.scan(range, options)
          await later()
          if (closed) throw new FolioError('CLOSED')
          return chunk
        },
        close: () => {
          closed = true
          return store.close()
        },
      }
    },
  ],
  [
    'a close waits',
    'throws when it is closed a second time',
    (store) => {
      let closed = false
      return {
        close: () => {
          if (closed) throw new FolioError('CLOSED')
          closed = true
          return store.close()
        },
      }
    },
  ],
  [
    'after the close',
    'silently drops writes after the close',
    (store) => {
      let closed = false
      return {
        write: (batch, options) => (closed ? undefined : store.write(batch, options)),
        close: () => {
          closed = true
          return store.close()
        },
      }
    },
  ],
  [
    'stores that are opened',
    'leaves a timer behind',
    () => {
      const timer = setInterval(() => {}, 1e6)
      setTimeout(() => clearInterval(timer), 60_000).unref()
      return {}
    },
  ],
]
