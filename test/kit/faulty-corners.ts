/** Stores that keep the laws except in a corner: in durable or large batches, with small limits, above some bytes, for a repeated key, or for nothing. */
import { compare, equal, same } from '../../src/bytes.ts'
import { FolioError } from '../../src/errors.ts'
import type { Chunk, Store, Write, WriteOptions } from '../../src/store.ts'
import { dump, type FaultyStore, type Mutant } from './faulty-store.ts'

/** Ignores what some writes expect. */
const ignoringExpect =
  (when: (batch: readonly Write[], options: WriteOptions) => boolean): Mutant =>
  (store) => ({ write: (batch, options) => store.write(batch, when(batch, options) ? { durable: options.durable } : options) })

/** Has its own idea of which expectations are met. */
const expectingBy =
  (isMet: (held: Uint8Array, expected: Uint8Array) => boolean): Mutant =>
  (store) => ({
    write: (batch, { durable, expect }) => {
      const held = expect && (store.get(expect.key) as Uint8Array | undefined)
      const met = !expect || same(held, expect.value) || (held && expect.value && isMet(held, expect.value))
      if (!met) throw new FolioError('CONFLICT')
      return store.write(batch, { durable })
    },
  })

const beginsWith = (whole: Uint8Array, start: Uint8Array): boolean => start.length > 0 && equal(whole.subarray(0, start.length), start)

/** Applies a part of each batch that it refuses. */
const leaving =
  (part: (write: Write) => boolean): Mutant =>
  (store) => ({
    write: (batch, options) => {
      try {
        return store.write(batch, options)
      } catch (error) {
        store.write(batch.filter(part), { durable: false })
        throw error
      }
    },
  })

/** Adds to some scans the entry at their upper bound, if they have room. */
const includingUpper =
  (when: (chunk: Chunk, limit: number) => boolean): Mutant =>
  (store) => ({
    scan: (range, options) => {
      const chunk = store.scan(range, options) as Chunk
      if (options.reverse || chunk.more || chunk.entries.length >= options.limit || !when(chunk, options.limit)) return chunk
      const at = compare(range.gte, range.lt) <= 0 ? dump(store).filter(([key]) => equal(key, range.lt)) : []
      return { entries: [...chunk.entries, ...at], more: false }
    },
  })

const ignoringMaxBytes =
  (when: (maxBytes: number, reverse: boolean) => boolean): Mutant =>
  (store) => ({
    scan: (range, { maxBytes, ...options }) =>
      store.scan(range, {
        ...options,
        ...(maxBytes !== undefined && !when(maxBytes, options.reverse ?? false) && { maxBytes }),
      }),
  })

/** Answers some calls after the close as before. */
const answering =
  (after: (store: Store) => Partial<Store>): Mutant =>
  (store) => {
    let closed = false
    const wrong = after(store)
    const calls = Object.entries(wrong).map(([name, call]) => [
      name,
      (...given: unknown[]) => ((closed ? call : store[name as 'scan']) as (...given: unknown[]) => unknown)(...given),
    ])
    return {
      ...Object.fromEntries(calls),
      close: () => {
        closed = true
        return store.close()
      },
    }
  }

export const storesWithCorners: readonly FaultyStore[] = [
  [
    'capabilities',
    'says nothing of itself',
    () => ({ capabilities: {} as never }),
    /^expected a store, got an object of class Object without capabilities\.name, capabilities\.sync, capabilities\.persistent, capabilities\.shared$/,
  ],
  [
    'capabilities',
    'has null for its capabilities',
    () => ({ capabilities: null as never }),
    /^expected a store, got an object of class Object without capabilities$/,
  ],
  [
    'capabilities',
    'does not say whether others may share it',
    ({ capabilities: { shared: _, ...capabilities } }) => ({ capabilities: capabilities as never }),
    /without capabilities\.shared$/,
  ],
  ['with `expect`', 'ignores expect in durable batches', ignoringExpect((_, { durable }) => durable)],
  ['with `expect`', 'ignores expect in batches of more than 20', ignoringExpect(({ length }) => length > 20)],
  ['with `expect`', 'ignores expect in batches of more than 300', ignoringExpect(({ length }) => length > 300)],
  [
    'with `expect`',
    'ignores expect in durable batches of more than 300',
    ignoringExpect(({ length }, { durable }) => durable && length > 300),
  ],
  [
    'a batch of 70,000',
    'ignores expect in durable batches of more than 65,535',
    ignoringExpect(({ length }, { durable }) => durable && length > 65_535),
    /^write of \[\[.* … 70000 in all\], durable: true, if <6b00000001> holds <000001>: expected CONFLICT, got the answer undefined$/,
  ],
  [
    'a batch of 70,000',
    'applies the first 65,535 writes of a batch that expects something',
    (store) => ({ write: (batch, options) => store.write(options.expect ? batch.slice(0, 65_535) : batch, options) }),
    /^getMany of 1000 keys after 70000 writes were applied: expected at index 500: undefined, got <[0-9a-f]{8}>$/,
  ],
  [
    'with `expect`',
    'is content if what it expects is the beginning of what is held',
    expectingBy((held, expected) => beginsWith(held, expected)),
  ],
  [
    'with `expect`',
    'is content if what is held is the beginning of what it expects',
    expectingBy((held, expected) => beginsWith(expected, held)),
  ],
  [
    'with `expect`',
    'compares the first 64 bytes of what it expects',
    expectingBy((held, expected) => held.length >= 64 && equal(held.subarray(0, 64), expected.subarray(0, 64))),
  ],
  ['with `expect`', 'applies the deletes of a batch that it refuses', leaving(([, value]) => value === undefined)],
  ['with `expect`', 'applies the puts of a batch that it refuses', leaving(([, value]) => value !== undefined)],
  [
    'an empty value and a missing key',
    'checks what a batch expects of a key that it deletes once that is gone',
    (store) => ({
      write: (batch, options) => {
        const { expect } = options
        if (expect?.value && batch.some(([key, value]) => !value && equal(key, expect.key))) throw new FolioError('CONFLICT')
        return store.write(batch, options)
      },
    }),
    /^write of \[\[<01> undefined\]\], durable: false, if <01> holds <02>: expected an answer; got CONFLICT/,
  ],
  [
    'keys that differ only',
    'keeps keys of eight bytes as numbers, which JavaScript rounds',
    (store) => {
      const rounded = (key: Uint8Array): Uint8Array => {
        if (key.length !== 8) return key
        const number = new Uint8Array(8)
        const view = new DataView(number.buffer)
        view.setBigUint64(0, BigInt(Number(new DataView(key.buffer, key.byteOffset).getBigUint64(0))))
        return number
      }
      return {
        get: (key) => store.get(rounded(key)),
        getMany: (keys) => store.getMany(keys.map(rounded)),
        write: (batch, options) =>
          store.write(
            batch.map(([key, value]): Write => [rounded(key), value]),
            options,
          ),
      }
    },
  ],
  [
    'the last write of a key',
    'keeps the first write of a key in batches of more than 1,000',
    (store) => ({
      write: (batch, options) => {
        const first = new Map(batch.toReversed().map((write) => [String(write[0]), write]))
        return store.write(batch.length > 1000 ? [...first.values()] : batch, options)
      },
    }),
    /^after a batch of 3600 writes, three of each key: scan from <> to /,
  ],
  [
    'the last write of a key',
    'applies the deletes of a batch last if it has more than 1,000 writes',
    (store) => ({
      write: (batch, options) =>
        store.write(batch.length > 1000 ? [...batch.filter(([, value]) => value), ...batch.filter(([, value]) => !value)] : batch, options),
    }),
  ],
  [
    'what was handed out stays',
    'gives the lower bound of a scan for the key that equals it',
    (store) => ({
      scan: (range, options) => {
        const { entries, more } = store.scan(range, options) as Chunk
        return { entries: entries.map(([key, value]) => [equal(key, range.gte) ? range.gte : key, value]), more }
      },
    }),
    /^a scan, reverse: false, after its bounds were overwritten: expected \[\[<02> /,
  ],
  [
    'an empty value and a missing key',
    'takes a missing key for an empty value in durable batches',
    (store) => ({
      write: (batch, { durable, expect }) => {
        const isEmpty = durable && expect?.value?.length === 0 && store.get(expect.key) === undefined
        return store.write(batch, { durable, ...(expect && !isEmpty && { expect }) })
      },
    }),
  ],
  [
    'a range includes',
    'includes the upper bound if it is all that a scan for one entry would give',
    includingUpper(({ entries }, limit) => limit === 1 && entries.length === 0),
  ],
  ['a range includes', 'includes the upper bound in scans for two to nine entries', includingUpper((_, limit) => limit >= 2 && limit <= 9)],
  [
    'a range includes',
    'includes the upper bound as the ninth entry',
    includingUpper(({ entries }, limit) => limit === 9 && entries.length === 8),
  ],
  ['a scan stops before maxBytes', 'ignores a maxBytes of more than 2,000', ignoringMaxBytes((maxBytes) => maxBytes > 2000)],
  [
    'a scan stops before maxBytes',
    'ignores a maxBytes of more than 5,000 in reverse',
    ignoringMaxBytes((maxBytes, reverse) => reverse && maxBytes > 5000),
  ],
  ['a scan stops before maxBytes', 'ignores a maxBytes of more than 65,535', ignoringMaxBytes((maxBytes) => maxBytes > 65_535)],
  [
    'keys and values handed out',
    'answers a repeated key of a getMany with one array',
    (store) => ({
      getMany: (keys) => {
        const given = new Map<string, Uint8Array | undefined>()
        for (const key of keys) if (!given.has(String([...key]))) given.set(String([...key]), store.get(key) as Uint8Array | undefined)
        return keys.map((key) => given.get(String([...key])))
      },
    }),
    /^getMany of .*: answer 4, once those before it were overwritten: expected <010203>, got <eeeeee>$/,
  ],
  [
    'after the close',
    'still answers a getMany of no keys after the close',
    answering(({ getMany }) => ({ getMany: (keys) => (keys.length === 0 ? [] : getMany(keys)) })),
    /^getMany of \[\]: expected CLOSED, got the answer \[\]$/,
  ],
  [
    'after the close',
    'still answers a scan of an empty range after the close',
    answering(({ scan }) => ({
      scan: (range, options) => (compare(range.gte, range.lt) >= 0 ? { entries: [], more: false } : scan(range, options)),
    })),
    /^scan from <01> to <01>, .*: expected CLOSED, got the answer /,
  ],
  [
    'after the close',
    'still takes a batch of no writes after the close',
    answering(({ write }) => ({ write: (batch, options) => (batch.length === 0 ? undefined : write(batch, options)) })),
    /^write of \[\], durable: true: expected CLOSED, got the answer undefined$/,
  ],
]
