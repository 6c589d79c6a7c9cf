/** Stores that each break a law of reading: order, ranges, chunks. */
import { compare, hex } from '../../src/bytes.ts'
import type { Chunk, Entry } from '../../src/store.ts'
import { cutAt, dump, everything, type FaultyStore, later, scanBy, size, spoiltGet, spoiltScan, trimmed } from './faulty-store.ts'

/** An entry in a form that no store may return. */
const texts = ([key, value]: Entry): Entry => [hex(key), hex(value)] as never
const asText = (key: Uint8Array): string => new TextDecoder().decode(key)
const byText = (a: Uint8Array, b: Uint8Array): number => (asText(a) < asText(b) ? -1 : asText(a) > asText(b) ? 1 : 0)
const untilZero = (key: Uint8Array): Uint8Array => (key.includes(0) ? key.subarray(0, key.indexOf(0)) : key)
const words = (key: Uint8Array): Uint8Array => {
  const whole = new Uint8Array(Math.ceil(key.length / 4) * 4)
  whole.set(key)
  for (let at = 0; at < whole.length; at += 4) whole.subarray(at, at + 4).reverse()
  return whole
}

export const storesThatMisread: readonly FaultyStore[] = [
  ['capabilities', 'returns promises although it says that it is synchronous', (store) => ({ get: async (key) => store.get(key) })],
  ['capabilities', 'gives null for a missing key', spoiltGet((value) => value ?? (null as never))],
  ['keys are ordered', 'gives keys and values as text', spoiltScan(({ entries, more }) => ({ entries: entries.map(texts), more }))],
  [
    'keys are ordered',
    'compares bytes as signed',
    scanBy((a, b) =>
      compare(
        Uint8Array.from(a, (byte) => byte ^ 128),
        Uint8Array.from(b, (byte) => byte ^ 128),
      ),
    ),
  ],
  ['keys are ordered', 'puts longer keys after all shorter ones', scanBy((a, b) => a.length - b.length || compare(a, b))],
  ['keys that differ only', 'compares the first 16 bytes only', scanBy((a, b) => compare(a.subarray(0, 16), b.subarray(0, 16)))],
  ['keys that differ only', 'ignores zeros at the end of a key', scanBy((a, b) => compare(trimmed(a), trimmed(b)))],
  [
    'FF is not infinity',
    'takes an upper bound that begins with FF for no bound',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan({ gte, lt: lt[0] === 0xff ? everything.lt : lt }, options) }),
  ],
  [
    'FF is not infinity',
    'cuts an upper bound that begins with FF to that byte',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan({ gte, lt: lt[0] === 0xff ? Uint8Array.of(0xff) : lt }, options) }),
  ],
  [
    'a range includes',
    'includes the upper bound',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan({ gte, lt: Uint8Array.of(...lt, 0) }, options) }),
  ],
  [
    'a range includes',
    'excludes the lower bound in reverse',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan({ gte: options.reverse ? Uint8Array.of(...gte, 0) : gte, lt }, options) }),
  ],
  [
    'an undefined bound',
    'gives nothing for an undefined bound',
    (store) => ({ scan: (range, options) => (range.gte && range.lt ? store.scan(range, options) : { entries: [], more: false }) }),
  ],
  [
    'a scan returns as many',
    'loses the entry after the first 1,000',
    spoiltScan(({ entries, more }) => ({ entries: entries.filter((_, n) => n !== 1000), more })),
  ],
  [
    'a scan returns as many',
    'says that more is left whenever the limit is reached',
    spoiltScan((chunk, _, { limit }) => ({ ...chunk, more: chunk.entries.length === limit })),
  ],
  [
    'a scan returns as many',
    'never gives more than 1,000 entries',
    (store) => ({ scan: (range, options) => store.scan(range, { ...options, limit: Math.min(options.limit || 0, 1000) }) }),
  ],
  [
    'a scan stops before maxBytes',
    'ignores maxBytes',
    (store) => ({ scan: (range, { maxBytes: _, ...options }) => store.scan(range, options) }),
  ],
  [
    'a scan stops before maxBytes',
    'gives nothing if the first entry is larger than maxBytes',
    spoiltScan((chunk, _, { maxBytes = 1e9 }) => (size(chunk) > maxBytes ? { entries: [], more: true } : chunk)),
  ],
  [
    'a scan resumed',
    'does not say that more is left if maxBytes ended the scan',
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
  ['keys are ordered', 'compares keys as text', scanBy(byText)],
  ['keys are ordered', 'compares four bytes at a time, the last byte first', scanBy((a, b) => compare(words(a), words(b)))],
  ['keys are ordered', 'compares from the last byte', scanBy((a, b) => compare(a.toReversed(), b.toReversed()))],
  ['keys that differ only', 'compares the first 32 bytes only', scanBy((a, b) => compare(a.subarray(0, 32), b.subarray(0, 32)))],
  ['keys that differ only', 'compares the first 64 bytes only', scanBy((a, b) => compare(a.subarray(0, 64), b.subarray(0, 64)))],
  ['keys that differ only', 'compares the first 128 bytes only', scanBy((a, b) => compare(a.subarray(0, 128), b.subarray(0, 128)))],
  ['keys that differ only', 'takes a zero for the end of a key', scanBy((a, b) => compare(untilZero(a), untilZero(b)))],
  [
    'FF is not infinity',
    'includes a key that equals an upper bound of FF',
    (store) => ({
      scan: ({ gte, lt }, options) =>
        store.scan({ gte, lt: lt.length > 0 && lt.every((byte) => byte === 0xff) ? Uint8Array.of(...lt, 0) : lt }, options),
    }),
  ],
  [
    'FF is not infinity',
    'hides keys that begin with two bytes FF',
    spoiltScan(({ entries, more }) => ({ entries: entries.filter(([key]) => key[0] !== 0xff || key[1] !== 0xff), more })),
  ],
  [
    'a range includes',
    'excludes the lower bound',
    (store) => ({
      scan: ({ gte, lt }, options) =>
        store.scan({ gte: options.reverse || gte.length === 0 ? gte : Uint8Array.of(...gte, 0), lt }, options),
    }),
  ],
  [
    'a range includes',
    'includes the upper bound in reverse',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan({ gte, lt: options.reverse ? Uint8Array.of(...lt, 0) : lt }, options) }),
  ],
  [
    'a range includes',
    'swaps the bounds of a backward range',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan(compare(gte, lt) > 0 ? { gte: lt, lt: gte } : { gte, lt }, options) }),
  ],
  [
    'a range includes',
    'gives nothing for an empty lower bound',
    (store) => ({ scan: (range, options) => (range.gte?.length === 0 ? { entries: [], more: false } : store.scan(range, options)) }),
  ],
  [
    'a range includes',
    'takes the lower bound for a prefix',
    spoiltScan(({ entries, more }, { gte }) => ({
      entries: entries.filter(([key]) => compare(key.subarray(0, gte.length), gte) === 0),
      more,
    })),
  ],
  [
    'an undefined bound',
    'takes a limit of 0 for no limit',
    (store) => ({ scan: (range, options) => store.scan(range, { ...options, limit: options.limit === 0 ? 1000 : options.limit }) }),
  ],
  [
    'an undefined bound',
    'takes an undefined upper bound for the end',
    (store) => ({ scan: (range, options) => store.scan({ ...range, lt: range.lt ?? everything.lt }, options) }),
  ],
  [
    'an undefined bound',
    'rounds a limit up to a whole number',
    (store) => ({ scan: (range, options) => store.scan(range, { ...options, limit: Math.ceil(options.limit) }) }),
  ],
  [
    'a scan returns as many',
    'loses the entry after the first 16',
    spoiltScan(({ entries, more }) => ({ entries: entries.filter((_, n) => n !== 16), more })),
  ],
  [
    'a scan returns as many',
    'gives one entry too few if the limit is 100 or more',
    (store) => ({
      scan: (range, options) => store.scan(range, { ...options, limit: options.limit >= 100 ? options.limit - 1 : options.limit }),
    }),
  ],
  ['a scan returns as many', 'never says that more is left', spoiltScan(({ entries }) => ({ entries, more: false }))],
  [
    'a scan returns as many',
    'takes a limit of 2^31 for a negative number',
    (store) => ({ scan: (range, options) => store.scan(range, { ...options, limit: options.limit > 2 ** 31 - 1 ? 1 : options.limit }) }),
  ],
  [
    'a scan returns as many',
    'applies its limit from the low end even in reverse',
    (store) => ({
      scan(range, options) {
        const { entries, more } = store.scan(range, { ...options, reverse: false }) as Chunk
        return { entries: options.reverse ? entries.reverse() : entries, more }
      },
    }),
  ],
  [
    'a scan returns as many',
    'says that more is left if something lies beyond the range',
    (store) => ({
      scan: (range, options) => {
        const chunk = store.scan(range, options) as Chunk
        return {
          ...chunk,
          more:
            chunk.more ||
            (options.reverse === true && dump(store).length > chunk.entries.length + 5) ||
            (options.limit > 1000 && dump(store).length > 999 && chunk.entries.length > 999),
        }
      },
    }),
  ],
  [
    'a scan stops before maxBytes',
    'counts only the bytes of values',
    (store) => ({
      scan: (range, { maxBytes, ...options }) => {
        const chunk = store.scan(range, options) as Chunk
        const bytes = (end: number): number => chunk.entries.slice(0, end).reduce((sum, [, value]) => sum + value.length, 0)
        const over = chunk.entries.findIndex((_, n) => n > 0 && bytes(n + 1) > (maxBytes ?? Number.POSITIVE_INFINITY))
        return cutAt(chunk, over)
      },
    }),
  ],
  [
    'a scan stops before maxBytes',
    'stops after the entry that exceeds maxBytes',
    (store) => ({
      scan: (range, { maxBytes, ...options }) => {
        const chunk = store.scan(range, options) as Chunk
        const bytes = (end: number): number => size({ ...chunk, entries: chunk.entries.slice(0, end) })
        const over = chunk.entries.findIndex((_, n) => bytes(n + 1) > (maxBytes ?? Number.POSITIVE_INFINITY))
        return over < 0 ? chunk : cutAt(chunk, over + 1)
      },
    }),
  ],
  [
    'a scan stops before maxBytes',
    'takes a maxBytes of 0 for no limit',
    (store) => ({
      scan: (range, { maxBytes, ...options }) =>
        store.scan(range, { ...options, ...(maxBytes !== undefined && maxBytes > 0 && { maxBytes }) }),
    }),
  ],
  [
    'a scan resumed',
    'loses the first entry of a chunk that resumes a scan',
    (store) => ({
      scan: (range, options) => {
        const { entries, more } = store.scan(range, options) as Chunk
        return { entries: range.gte.at(-1) === 0 && range.gte.length > 5 && !options.reverse ? entries.slice(1) : entries, more }
      },
    }),
  ],
  [
    'a scan resumed',
    'repeats the last entry of a chunk in reverse',
    (store) => ({ scan: ({ gte, lt }, options) => store.scan({ gte, lt: options.reverse ? Uint8Array.of(...lt, 0) : lt }, options) }),
  ],
  ['a scan resumed', 'says that more is left at the end of the range', spoiltScan(({ entries }) => ({ entries, more: true }))],
  [
    'a scan sees all of a batch',
    'reads a chunk in two halves, one after the other',
    (store) => ({
      scan: async (range, options) => {
        const first = store.scan(range, { ...options, limit: Math.ceil(options.limit / 2) }) as Chunk
        const last = first.entries.at(-1)?.[0]
        await later()
        if (!first.more || !last || options.limit < 2) return first
        const rest = options.reverse ? { gte: range.gte, lt: last } : { gte: Uint8Array.of(...last, 0), lt: range.lt }
        const second = store.scan(rest, { ...options, limit: Math.floor(options.limit / 2) }) as Chunk
        return { entries: [...first.entries, ...second.entries], more: second.more }
      },
    }),
  ],
]
