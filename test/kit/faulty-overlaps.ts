/** Stores that each break a law only where calls overlap, answers are kept, or much is handed over at once. */
import { compare, equal, same } from '../../src/bytes.ts'
import { FolioError } from '../../src/errors.ts'
import {
  type Chunk,
  checkScan,
  type Entry,
  type KeyRange,
  type MaybePromise,
  type ScanOptions,
  type Store,
  type Write,
} from '../../src/store.ts'
import { everything, type FaultyStore, later, type Mutant } from './faulty-store.ts'

type Value = Uint8Array | undefined

const copyOf = (value: Value): Value => value && new Uint8Array(value)
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const name = (key: Uint8Array): string => key.join()
const sizeOf = ([key, value]: Write): number => key.length + (value?.length ?? 0)

/** A correct store that answers late, and closes once nothing is under way; `change` plants a fault into it. */
const late =
  (change: (late: Store, store: Store) => Partial<Store>): Mutant =>
  (store) => {
    const underWay = new Set<Promise<unknown>>()
    let closing: Promise<void> | undefined
    const call = <A extends unknown[], T>(work: (...given: A) => Promise<T>): ((...given: A) => Promise<T>) => {
      return async (...given) => {
        if (closing) throw new FolioError('CLOSED')
        const done = work(...given)
        underWay.add(done)
        const forget = (): boolean => underWay.delete(done)
        done.then(forget, forget)
        return done
      }
    }
    const after = <A extends unknown[], T>(work: (...given: A) => MaybePromise<T>): ((...given: A) => Promise<T>) => {
      return async (...given) => {
        await turn()
        return await work(...given)
      }
    }
    const write = inTurns(store.write)
    const right: Store = {
      capabilities: { ...store.capabilities, sync: false },
      ...{ get: after(store.get), getMany: after(store.getMany), scan: after(store.scan), write },
      close: () => {
        closing ??= (async () => {
          while (underWay.size > 0) await Promise.allSettled(underWay)
          await store.close()
        })()
        return closing
      },
    }
    const all = { ...right, ...change(right, store) }
    return {
      ...all,
      get: call(async (key) => all.get(key)),
      getMany: call(async (keys) => all.getMany(keys)),
      scan: call(async (range, options) => all.scan(range, options)),
      write: call(async (batch, options) => all.write(batch, options)),
    }
  }

/** One write after another, in call order. */
function inTurns(write: Store['write']): (...given: Parameters<Store['write']>) => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return (batch, options) => {
    const done = last.then(async () => {
      await turn()
      await write(batch, options)
    })
    last = done.catch(() => {})
    return done
  }
}

/** Answers a call that is in flight already with the same promise. */
function joining<A extends unknown[], T>(nameOf: (...given: A) => string, ask: (...given: A) => Promise<T>): (...given: A) => Promise<T> {
  const asked = new Map<string, Promise<T>>()
  return (...given) => {
    const named = nameOf(...given)
    const before = asked.get(named)
    if (before) return before
    const coming = ask(...given)
    asked.set(named, coming)
    const forget = (): boolean => asked.delete(named)
    coming.then(forget, forget)
    return coming
  }
}

/** Reads parts of a range one after another, each as of its own time. */
const inParts = (part: (options: ScanOptions) => ScanOptions): Mutant =>
  late((_, store) => ({
    async scan(range, options) {
      checkScan(range, options)
      if (options.maxBytes !== undefined) return store.scan(range, options)
      const entries: Entry[] = []
      for (let { gte, lt } = range; ; ) {
        await turn()
        const chunk = store.scan({ gte, lt }, part({ ...options, limit: options.limit - entries.length })) as Chunk
        entries.push(...chunk.entries)
        if (!chunk.more || entries.length === options.limit) return { entries, more: chunk.more }
        const [last] = entries.at(-1)!
        if (options.reverse) lt = last
        else gte = Uint8Array.of(...last, 0)
      }
    },
  }))

/** Writes parts of a batch one after another. */
const writingParts = (most: number, weight: (write: Write) => number): Mutant =>
  late((_, store) => ({
    write: inTurns(async (batch, options) => {
      let [part, size]: [Write[], number] = [[], 0]
      let expecting = options
      const flush = async (): Promise<void> => {
        await store.write(part, expecting)
        ;[part, size, expecting] = [[], 0, { durable: false }]
        await turn()
      }
      for (const write of batch) {
        part.push(write)
        size += weight(write)
        if (size >= most) await flush()
      }
      await flush()
    }),
  }))

/** Answers from a few buffers in turns, if they are large enough. */
function reusing(count: number): (value: Value) => Value {
  const buffers = Array.from({ length: count }, () => new Uint8Array(2 ** 17))
  let used = 0
  return (value) => {
    if (!value || value.length > 2 ** 17) return value
    const buffer = buffers[used++ % count]!
    buffer.set(value)
    return buffer.subarray(0, value.length)
  }
}

/** Changes what was given out. */
const spoilingAt = (when: 'write' | 'close'): Mutant => {
  return (store) => {
    let given: Uint8Array[] = []
    const keep = <T extends Value>(value: T): T => {
      if (value && given.length < 5000) given.push(value)
      return value
    }
    const spoil = (): void => {
      for (const value of given) value.fill(0xdd)
      given = []
    }
    return {
      get: (key) => keep(store.get(key) as Value),
      getMany: (keys) => (store.getMany(keys) as Value[]).map(keep),
      [when]: (...call: unknown[]) => {
        spoil()
        return (store[when] as (...call: unknown[]) => unknown)(...call)
      },
    }
  }
}

const most4MiB = 4 << 20

/** The items of a list as far as they fit into 4 MiB. */
function fitting<T>(items: readonly T[], size: (item: T) => number): T[] {
  let sum = 0
  return items.filter((item) => {
    sum += size(item)
    return sum <= most4MiB
  })
}

const OVERLAP = 'reads that are in flight together'
const ONWARD = 'a scan that goes on'
const TOGETHER = 'batches that are handed in together'
/** Reads the keys of a range, and a turn later some of the values. */
function valuesLater(when: (value: Uint8Array) => boolean): Mutant {
  return late((_, store) => ({
    scan: async (range, options) => {
      await turn()
      const { entries, more } = store.scan(range, options) as Chunk
      await turn()
      const newest = (key: Uint8Array, value: Uint8Array): Uint8Array => (when(value) && (store.get(key) as Value)) || value
      return { entries: entries.map(([key, value]): Entry => [key, newest(key, value)]), more }
    },
  }))
}

const KEPT = 'what was handed out stays'
const BYTES = 'a batch of 17 MiB'

export const storesThatOverlap: readonly FaultyStore[] = [
  [
    OVERLAP,
    'answers gets that come together in the order of their keys',
    late((_, store) => {
      let asked: { key: Uint8Array; give: (value: Value) => void }[] = []
      return {
        get: (key) =>
          new Promise((give) => {
            if (asked.length === 0)
              setImmediate(() => {
                const sorted = [...asked].sort((a, b) => compare(a.key, b.key))
                for (const [n, one] of asked.entries()) one.give(store.get(sorted[n]!.key) as Value)
                asked = []
              })
            asked.push({ key: new Uint8Array(key), give })
          }),
      }
    }),
    /^get of <6b[0-9a-f]+>, one of many at once: expected /,
  ],
  [
    OVERLAP,
    'answers scans that come together with each other’s chunks',
    late((_, store) => {
      let asked: { scan: [KeyRange, ScanOptions]; give: (chunk: Chunk) => void }[] = []
      return {
        async scan(...scan) {
          checkScan(...scan)
          return new Promise<Chunk>((give) => {
            if (asked.length === 0)
              setImmediate(() => {
                for (const [n, one] of asked.entries()) one.give(store.scan(...asked[(n + 1) % asked.length]!.scan) as Chunk)
                asked = []
              })
            asked.push({ scan, give })
          })
        },
      }
    }),
  ],
  [
    OVERLAP,
    'joins a get that was in flight before a write',
    late((right) => {
      const get = joining(name, async (key) => {
        const value = await right.get(key)
        await later(2)
        return value
      })
      return { get: async (key) => copyOf(await get(key)) }
    }),
    /^get of <01>, begun after a write had resolved, while another get of it was in flight: expected <0101>, got <0100>$/,
  ],
  [
    OVERLAP,
    'joins a scan that was in flight before a write',
    late((right) => {
      const nameOf = ({ gte, lt }: KeyRange, options: ScanOptions) => `${gte.join()}|${lt.join()}|${JSON.stringify(options)}`
      const scan = joining(nameOf, async (range, options) => {
        const chunk = await right.scan(range, options)
        await later(2)
        return chunk
      })
      return {
        async scan(range, options) {
          checkScan(range, options)
          const { entries, more } = await scan(range, options)
          return { entries: entries.map(([key, value]): Entry => [new Uint8Array(key), new Uint8Array(value)]), more }
        },
      }
    }),
  ],
  [
    OVERLAP,
    'gives one array to all who ask for a key at the same time',
    late((right) => ({ get: joining(name, async (key) => right.get(key)) })),
    /^get of <01>, once what another get of it gave at the same time was overwritten: expected <0101>, got <eeee>$/,
  ],
  [
    ONWARD,
    'keeps what lies behind a chunk for the scan that goes on after it',
    (store) => {
      let kept: { gte: Uint8Array; rest: readonly Entry[] } | undefined
      return {
        scan(range, options) {
          const chunk = store.scan(range, options) as Chunk
          const ahead = kept && !options.reverse && equal(kept.gte, range.gte) ? kept.rest : undefined
          kept = undefined
          if (ahead && options.maxBytes === undefined) {
            const inside = ahead.filter(([key]) => compare(key, range.lt) < 0)
            return { entries: inside.slice(0, options.limit), more: inside.length > options.limit }
          }
          if (chunk.more && !options.reverse) {
            const gte = Uint8Array.of(...chunk.entries.at(-1)![0], 0)
            kept = { gte, rest: (store.scan({ gte, lt: everything.lt }, { limit: 5000 }) as Chunk).entries }
          }
          return chunk
        },
      }
    },
    /^scan from <6b000000000?0?> to <ff×80>, \{"limit":1,"reverse":false\}: expected \[\[\[<6b00000200> <07>\]\] true\], got \[\[\[<6b00000100> <01>\]\] true\]$/,
  ],
  [
    'a scan sees all of a batch',
    'reads a range in parts of 1,000 entries',
    inParts(({ limit, ...rest }) => ({ ...rest, limit: Math.min(limit, 1000) })),
    /^a scan, limit: 2500, reverse: (?:true|false), during writes: entries, and batches they are of: expected \[2500 1\], got \[2500 [23]\]$/,
  ],
  ['a scan sees all of a batch', 'reads a range in parts of 64 KiB', inParts((options) => ({ ...options, maxBytes: 65_536 }))],
  ['a scan sees all of a batch', 'writes a batch in parts of 500', writingParts(500, () => 1)],
  [
    'a scan sees all of a batch',
    'looks up the keys of a scan, and their values later',
    valuesLater(() => true),
    /while every other batch of \d+ writes deletes all but \d+ entries: entries, batches they are of, and whether more are left after batch \d+: expected /,
  ],
  ['a scan sees all of a batch', 'looks up values of more than 4 KiB later than their keys', valuesLater((value) => value.length > 4096)],
  [
    'a scan sees all of a batch',
    'asks a second time whether more is left',
    late((_, store) => ({
      scan: async (range, options) => {
        await turn()
        const { entries } = store.scan(range, options) as Chunk
        const last = entries.at(-1)?.[0]
        await turn()
        const rest = !last ? range : options.reverse ? { gte: range.gte, lt: last } : { gte: Uint8Array.of(...last, 0), lt: range.lt }
        return { entries, more: (store.scan(rest, { limit: 1 }) as Chunk).entries.length > 0 }
      },
    })),
  ],
  [
    'a batch of 70,000',
    'writes a batch in parts of 10,000',
    writingParts(10_000, () => 1),
    /^a scan from <6b00000000> to <6b00000064> while a batch is being written: expected what was held before or after, got \d+ entries from before and \d+ of the batch$/,
  ],
  [
    'a read concurrent',
    'shows a batch that is under way to gets alone',
    late((right) => {
      const coming = new Map<string, Value>()
      return {
        get: async (key) => (coming.has(name(key)) ? copyOf(coming.get(name(key))) : right.get(key)),
        async write(batch, options) {
          for (const [key, value] of batch) coming.set(name(key), copyOf(value))
          try {
            await later(2)
            await right.write(batch, options)
          } finally {
            for (const [key] of batch) coming.delete(name(key))
          }
        },
      }
    }),
  ],
  [
    'of many writers with the same expectation',
    'shows a batch for a while that it refuses',
    late((_, store) => ({
      write: inTurns(async (batch, { durable, expect }) => {
        const before = batch.map(([key]): Write => [key, store.get(key) as Value])
        const held = expect && (store.get(expect.key) as Value)
        await store.write(batch, { durable })
        if (!expect || same(held, expect.value)) return
        await turn()
        await store.write(before, { durable })
        throw new FolioError('CONFLICT')
      }),
    })),
    /^<[0-9a-f]{4}> was read, which is of a batch that was refused with CONFLICT$/,
  ],
  [
    TOGETHER,
    'checks what a batch expects when it is handed in, and again when its turn has come',
    late((right, store) => ({
      async write(batch, options) {
        const { expect } = options
        if (expect && !same(store.get(expect.key) as Value, expect.value)) throw new FolioError('CONFLICT')
        return right.write(batch, options)
      },
    })),
    /^write of \[\[<01> <0002>\] .*, if <01> holds <0001>: expected an answer; got CONFLICT/,
  ],
  [
    'batches apply in call order',
    'drops a batch that comes while two others wait',
    late((right) => {
      let waiting = 0
      return {
        async write(batch, options) {
          if (waiting > 1 && batch.length < 4) return
          waiting++
          try {
            await right.write(batch, options)
          } finally {
            waiting--
          }
        },
      }
    }),
  ],
  [
    KEPT,
    'answers gets from eight buffers in turns',
    (store) => {
      const reuse = reusing(8)
      return { get: (key) => reuse(store.get(key) as Value) }
    },
  ],
  [
    KEPT,
    'answers getMany from a few buffers in turns',
    (store) => {
      const reuse = reusing(37)
      return { getMany: (keys) => (keys.length > 40 ? store.getMany(keys) : (store.getMany(keys) as Value[]).map(reuse)) }
    },
    /^answer \d of getMany of \[<01> <02> <03> <04>\], after more reads: expected /,
  ],
  [KEPT, 'gives values that are gone with the next write', spoilingAt('write'), /, after its key was written again: expected </],
  [KEPT, 'gives values that are gone once it is closed', spoilingAt('close'), /, after the close: expected </],
  [
    'keys and values handed out',
    'gives one array for equal values of a scan',
    (store) => ({
      scan(range, options) {
        const { entries, more } = store.scan(range, options) as Chunk
        const known = new Map<string, Uint8Array>()
        const one = (value: Uint8Array): Uint8Array => known.get(name(value)) ?? known.set(name(value), value).get(name(value))!
        return { entries: entries.map(([key, value]): Entry => [key, one(value)]), more }
      },
    }),
    /^a scan: answer \d+, once those before it were overwritten: expected </,
  ],
  [
    'values of any size',
    'cuts values to 1 MiB',
    (store) => ({
      write: (batch, options) =>
        store.write(
          batch.map(([key, value]): Write => [key, value?.subarray(0, 1 << 20)]),
          options,
        ),
    }),
  ],
  [BYTES, 'drops what a batch has beyond 4 MiB', (store) => ({ write: (batch, options) => store.write(fitting(batch, sizeOf), options) })],
  [
    BYTES,
    'writes a batch in parts of 1 MiB',
    writingParts(1 << 20, sizeOf),
    /^a scan from <6b00000001> to <6b00000003> while a batch is being written: expected what was held before or after, got the new value of <6b00000001> alone$/,
  ],
  [
    BYTES,
    'fails for a batch of more than 4 MiB',
    (store) => ({
      write(batch, options) {
        if (fitting(batch, sizeOf).length < batch.length) throw new FolioError('STORE_FAILED', { reason: 'the message is too large' })
        return store.write(batch, options)
      },
    }),
    /^write of \[.* 272 in all\], durable: true: expected an answer; got STORE_FAILED: .*the message is too large/,
  ],
  [
    BYTES,
    'gives no more than 4 MiB by one scan',
    (store) => ({
      scan: (range, options) => store.scan(range, { ...options, maxBytes: Math.min(options.maxBytes ?? most4MiB, most4MiB) }),
    }),
    /^a scan, reverse: false, after 272 writes of 65536 bytes, into an empty store: expected 273 answers, got \d+$/,
  ],
  [
    BYTES,
    'gives no more than 4 MiB by one getMany',
    (store) => ({
      getMany(keys) {
        const answers = (store.getMany(keys) as Value[]).map((value, n) => ({ value, n }))
        const left = new Set(fitting(answers, ({ value }) => value?.length ?? 0))
        return answers.map((answer) => (left.has(answer) ? answer.value : undefined))
      },
    }),
  ],
  [
    'thousands of keys',
    'finds nothing from a key on that was deleted with many others',
    (store) => {
      const gone = new Set<string>()
      return {
        write(batch, options) {
          const many = batch.filter(([, value]) => !value).length > 400
          for (const [key, value] of batch) {
            if (value) gone.delete(name(key))
            else if (many) gone.add(name(key))
          }
          return store.write(batch, options)
        },
        scan: (range, options) => {
          const chunk = store.scan(range, options)
          return gone.has(name(options.reverse ? range.lt : range.gte)) ? { entries: [], more: false } : chunk
        },
      }
    },
    /^scan from <6b00000[0-9a-f]+> to <ff×80>, \{"limit":2\}: expected .*, got \[\[\] false\]$/,
  ],
  [
    'thousands of keys',
    'still answers a get of what was deleted with many others',
    (store) => {
      const old = new Map<string, Value>()
      return {
        get: (key) => (store.get(key) as Value) ?? copyOf(old.get(name(key))),
        write(batch, options) {
          const deleted = batch.filter(([, value]) => !value)
          if (deleted.length > 400) for (const [key] of deleted) old.set(name(key), store.get(key) as Value)
          for (const [key, value] of batch) if (value) old.delete(name(key))
          return store.write(batch, options)
        },
      }
    },
    /^get of <6b00000[0-9a-f]+>: expected undefined, got </,
  ],
  ...(['large values', 'what is held', 'several keys'] as const).map(
    (what): FaultyStore => [
      'capabilities',
      `says that it is synchronous, and gives promises for ${what}`,
      (store) => ({
        get(key) {
          const value = store.get(key) as Value
          return what === 'large values'
            ? value && value.length > 1000
              ? Promise.resolve(value)
              : value
            : what === 'what is held' && value
              ? Promise.resolve(value)
              : value
        },
        getMany: (keys) => (what === 'several keys' && keys.length > 1 ? Promise.resolve(store.getMany(keys)) : store.getMany(keys)),
      }),
      /whether the answer is a promise: expected false, got true$/,
    ],
  ),
  [
    'a close waits',
    'fails with a plain Error while it closes',
    late((right) => {
      let closing = false
      const failing = async (): Promise<void> => {
        if (closing) throw new Error('Database is not open')
      }
      return {
        async get(key) {
          await failing()
          return right.get(key)
        },
        async close() {
          closing = true
          await later()
          await right.close()
          closing = false
        },
      }
    }),
    /^get of <6b00000900>: expected a FolioError where it fails; got an object of class Error: Database is not open$/,
  ],
  [
    'a close waits',
    'closes its file twice when it is closed twice at once',
    late((right) => {
      let [closes, isOver] = [0, false]
      return {
        async close() {
          if (isOver) return
          closes++
          await turn()
          if (closes > 1) throw new FolioError('STORE_FAILED', { reason: 'EBADF' })
          await right.close()
          isOver = true
        },
      }
    }),
    /^close: expected an answer; got STORE_FAILED: .*EBADF/,
  ],
  [
    'a close waits',
    'ends a second close before the first is over',
    late((right) => {
      let closes = 0
      return {
        async close() {
          if (closes++ > 0) return
          await right.close()
        },
        async write(batch, options) {
          await later(20)
          await right.write(batch, options)
        },
      }
    }),
    /^calls under way when another close had resolved: expected \[\], got \[.*a write.*\]$/,
  ],
]
