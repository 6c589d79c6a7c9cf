/** Stores that take bytes for whole arrays, share memory with their caller, or stop short of large amounts. */
import { equal } from '../../src/bytes.ts'
import { FolioError } from '../../src/errors.ts'
import type { Chunk, Store, Write, WriteOptions } from '../../src/store.ts'
import { changedBatch, type FaultyStore, type Mutant } from './faulty-store.ts'

/** What a store reads that goes to the memory behind a view, and forgets where in it the view lies. */
const misread = <T extends Uint8Array | undefined>(bytes: T): T => (bytes && new Uint8Array(bytes.buffer.slice(0, bytes.length))) as T

/** Reads the bytes of a scan or of an expectation wrongly, and nothing else. */
const readsWrongly =
  (
    range: (range: Parameters<Store['scan']>[0]) => Parameters<Store['scan']>[0],
    expected: (of: NonNullable<WriteOptions['expect']>) => object,
  ): Mutant =>
  (store) => ({
    scan: (given, options) => store.scan(given.gte && given.lt ? range(given) : given, options),
    write: (batch, { durable, expect }) => store.write(batch, { durable, ...(expect && { expect: { ...expect, ...expected(expect) } }) }),
  })

const FORMS = 'keys, values, bounds and what a write expects'

/** Values under text, kept and handed out by `copy`; all that is scanned comes out of the store itself. */
const keptBy = (copyIn: (value: Uint8Array) => Uint8Array, copyOut: (value: Uint8Array) => Uint8Array): Mutant => {
  return (store) => {
    const kept = new Map<string, Uint8Array>()
    const get = (key: Uint8Array): Uint8Array | undefined => {
      const value = kept.get(String([...key]))
      return value && copyOut(value)
    }
    return {
      write: (batch, options) => {
        store.write(batch, options)
        for (const [key, value] of batch)
          if (value) kept.set(String([...key]), copyIn(value))
          else kept.delete(String([...key]))
      },
      get,
      getMany: (keys) => keys.map(get),
    }
  }
}
const whole = (value: Uint8Array): Uint8Array => new Uint8Array(value)

/** Keeps the very values, and the keys of deletes, that some writes hand in. */
const keepsOf =
  (when: (batch: readonly Write[], options: WriteOptions) => boolean): Mutant =>
  (store) => {
    const values = new Map<string, Uint8Array>()
    let gone: Uint8Array[] = []
    const get = (key: Uint8Array): Uint8Array | undefined => {
      if (gone.some((one) => equal(one, key))) return undefined
      const held = store.get(key) as Uint8Array | undefined
      return held && (values.get(key.join()) ?? held)
    }
    return {
      write(batch, options) {
        const isKept = when(batch, options)
        const kept = batch.filter(([, value]) => isKept && !value).map(([key]) => key)
        store.write(isKept ? batch.filter(([, value]) => value) : batch, options)
        for (const [key, value] of batch) {
          values.delete(key.join())
          if (isKept && value) values.set(key.join(), value)
          gone = gone.filter((one) => !equal(one, key))
        }
        gone.push(...kept)
      },
      get,
      getMany: (keys) => keys.map(get),
      scan(range, options) {
        const { entries } = store.scan(range, { ...options, limit: 1e6 }) as Chunk
        const left = entries.filter(([key]) => get(key))
        return { entries: left.slice(0, options.limit), more: left.length > options.limit }
      },
    }
  }

export const storesOfOtherForms: readonly FaultyStore[] = [
  [
    FORMS,
    'looks up the memory behind a key',
    (store) => ({ get: (key) => store.get(misread(key)) }),
    /^the key of a get, as a view into a larger Uint8Array: get of <6b00000001>: expected <0708>, got undefined$/,
  ],
  [
    FORMS,
    'looks up the memory behind many keys',
    (store) => ({ getMany: (keys) => store.getMany(keys.map(misread)) }),
    /^the keys of a getMany, as a view .*: getMany of \[<6b00000002> <6b00000003> <6b00000001>\]: expected /,
  ],
  [
    FORMS,
    'scans from the memory behind its lower bound',
    readsWrongly(
      ({ gte, lt }) => ({ gte: misread(gte), lt }),
      () => ({}),
    ),
    /^the lower bound of a scan, as a view .*: scan from <6b00000002> to <ff×80>: expected /,
  ],
  [
    FORMS,
    'scans to the memory behind its upper bound',
    readsWrongly(
      ({ gte, lt }) => ({ gte, lt: misread(lt) }),
      () => ({}),
    ),
    /^the upper bound of a scan, as a view .*: scan from <> to <6b0000000100>, in reverse: expected /,
  ],
  [
    FORMS,
    'writes the memory behind keys',
    changedBatch((batch) => batch.map(([key, value]): Write => [misread(key), value])),
    /^the keys of a write, as a view .*: getMany of .* after write of \[\[<6b00000003> <0708>\] .*: expected /,
  ],
  [
    FORMS,
    'writes the memory behind values',
    changedBatch((batch) => batch.map(([key, value]): Write => [key, misread(value)])),
    /^the values of a write, as a view .*: getMany of .* after write of \[\[<6b00000003> <0708>\] .*: expected /,
  ],
  [
    FORMS,
    'writes the memory behind values that are Buffers',
    changedBatch((batch) => batch.map(([key, value]): Write => [key, Buffer.isBuffer(value) ? misread(value) : value])),
    /^the values of a write, as a Buffer, at an offset of larger memory: getMany of /,
  ],
  [
    FORMS,
    'expects something of the memory behind a key',
    readsWrongly(
      (range) => range,
      ({ key }) => ({ key: misread(key) }),
    ),
    /^the key that a write expects, as a view .*: write of \[\[<6b00000003> <0708>\]\], durable: false, if <6b00000001> holds <0708>: expected an answer; got CONFLICT: /,
  ],
  [
    FORMS,
    'expects the memory behind a value',
    readsWrongly(
      (range) => range,
      ({ value }) => ({ value: misread(value) }),
    ),
    /^the value that a write expects, as a view .*: write of .*, if <6b00000001> holds <0708>: expected an answer; got CONFLICT: /,
  ],
  [
    'after any batches',
    'writes the memory behind values of a hundred bytes and more',
    changedBatch((batch) => batch.map(([key, value]): Write => [key, value && value.length >= 100 ? misread(value) : value])),
    /: expected .*, got .*\nin case /,
  ],
  [
    'get and getMany',
    'sorts the keys that it is given',
    (store) => ({
      getMany: (keys) => {
        const answers = keys.map((key) => store.get(key) as Uint8Array | undefined)
        void (keys as Uint8Array[]).reverse()
        return answers
      },
    }),
    /^getMany of \[.*\]: expected a store that leaves the array that it is given as it was/,
  ],
  [
    'keys are ordered',
    'overwrites the keys that it is given',
    (store) => ({
      write: (batch, options) => {
        store.write(batch, options)
        for (const [key] of batch) key.reverse()
      },
    }),
    /^write of \[.*: expected a store that leaves what it is given as it was, <.*>; it is <.*> now/,
  ],
  [
    'keys and values handed in',
    'copies values with `slice`, which shares the memory of a Buffer',
    keptBy((value) => value.slice(), whole),
    /^after a key and values, each a Buffer, at an offset of larger memory, were overwritten .*: getMany of \[<03> <6b00000014>\]: expected /,
  ],
  [
    'keys and values handed in',
    'keeps the values that writes without `expect` hand in',
    keepsOf((_, { expect }) => !expect),
    /^after a key and values, each a whole Uint8Array, were overwritten by who had written them \(3 writes, durable: false\): scan from /,
  ],
  ['keys and values handed in', 'keeps the values that durable writes hand in', keepsOf((_, { durable }) => durable)],
  [
    'keys and values handed in',
    'keeps the value that a batch of a single put hands in',
    keepsOf((batch) => batch.length === 1 && batch[0]![1] !== undefined),
  ],
  [
    'keys and values handed in',
    'keeps the key that a batch of a single delete hands in',
    keepsOf((batch) => batch.length === 1 && batch[0]![1] === undefined),
  ],
  [
    'keys and values handed out',
    'hands out values with `slice`, which shares the memory of a Buffer',
    keptBy(
      (value) => Buffer.from(value),
      (value) => value.slice(),
    ),
    /^after what getMany of .* gave was overwritten, .*: getMany of .*: expected /,
  ],
  [
    'keys and values handed out',
    'hands out the very values that it keeps if they are large',
    keptBy(whole, (value) => (value.length > 70_000 ? value : whole(value))),
    /^after what getMany of .* gave was overwritten, .*: getMany of \[<00> <01> <02> <03> <04> <05>\]: expected /,
  ],
  [
    'a batch of 70,000',
    'applies the first 65,535 writes of a batch',
    changedBatch((batch) => batch.slice(0, 65_535)),
    /^getMany of 35000 keys: expected at index \d+, for the key <6b[0-9a-f]{8}>: <[0-9a-f]+>, got /,
  ],
  [
    'a batch of 70,000',
    'puts the keys of a getMany into a statement of at most 32,766 variables',
    (store) => ({
      getMany: (keys) => {
        if (keys.length > 32_766) throw new FolioError('STORE_FAILED', { reason: 'too many variables' })
        return store.getMany(keys)
      },
    }),
    /^getMany of \[<6b000088b8> .* … 35000 in all\]: expected an answer; got STORE_FAILED: .*too many variables/,
  ],
  [
    'a batch of 70,000',
    'loses an entry of every scan of more than 8,192',
    (store) => ({
      scan: (range, options) => {
        const { entries, more } = store.scan(range, options) as Chunk
        if (entries.length > 8192) entries.splice(5000, 1)
        return { entries, more }
      },
    }),
    /^a scan, limit: 70000: expected 66501 answers, got 66500$/,
  ],
]
