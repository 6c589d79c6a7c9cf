/**
 * What the store laws are checked against: a sorted array as the oracle, and arbitrary keys, values and batches that lie where stores break.
 *
 * **Invariant:** the order here is spelled out and shares no code with the stores under test.
 */
import fc from 'fast-check'
import type { Capabilities, Entry, KeyRange, Write } from '../../src/store.ts'

export const bytes = (...values: number[]): Uint8Array => new Uint8Array(values)

/** `length` bytes that vary with the seed, so that a cut or a mix-up shows. */
export function filled(length: number, seed = 0): Uint8Array {
  const value = new Uint8Array(length)
  for (let i = 0; i < length; i++) value[i] = (i * 31 + (i >> 8) * 7 + seed) & 255
  return value
}

/** A key whose order is that of `number`. */
export const numbered = (number: number): Uint8Array => bytes(0x6b, number >>> 24, number >>> 16, number >>> 8, number)

export function order(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!
  return a.length - b.length
}

/** Everything that the laws ever write lies within: none of their keys is more than 66 times FF. */
export const everything: KeyRange = { gte: bytes(), lt: new Uint8Array(80).fill(0xff) }

/** The first key above `key`. */
export const following = (key: Uint8Array): Uint8Array => bytes(...key, 0)

/** The oracle: what a store must hold after the same writes. */
export class Model {
  entries: Entry[] = []

  write(batch: readonly Write[]): void {
    for (const [key, value] of batch) {
      this.entries = this.entries.filter((entry) => order(entry[0], key) !== 0)
      if (value) this.entries.push([key, value])
    }
    this.entries.sort((a, b) => order(a[0], b[0]))
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.entries.find((entry) => order(entry[0], key) === 0)?.[1]
  }

  range({ gte, lt }: KeyRange, reverse = false): Entry[] {
    const inside = this.entries.filter(([key]) => order(key, gte) >= 0 && order(key, lt) < 0)
    return reverse ? inside.reverse() : inside
  }
}

/** Bytes at the corners: signed and unsigned order differ between 7F and 80, and ends are confused at 00 and FF. */
const corner = fc.constantFrom(0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff)

/** The smallest bounds with which the laws can work, for those that count on a number in a key, or on one in a value. */
export const LEAST = { maxKeyBytes: 8, maxValueBytes: 64 } as const

/** No law writes a longer key than this. */
export const LONGEST_KEY = 258

/** What a property of a store draws from. Keys differ only within the bounds of the store, values are cut to its limit. */
export interface Material {
  readonly anyKey: fc.Arbitrary<Uint8Array>
  /** Bounds may be longer than any key. */
  readonly anyRange: fc.Arbitrary<KeyRange>
  readonly anyValue: fc.Arbitrary<Uint8Array>
  /** Puts, and now and then a delete. */
  readonly anyBatch: fc.Arbitrary<Write[]>
  /** Entries under distinct keys. */
  readonly anyEntries: fc.Arbitrary<[Uint8Array, Uint8Array][]>
  /** As `filled`, but no longer than the store accepts. */
  readonly filled: typeof filled
}

/** Keys, values and batches that lie where stores break, none larger than the store says it accepts. */
export function materialFor({
  maxKeyBytes = Number.POSITIVE_INFINITY,
  maxValueBytes = Number.POSITIVE_INFINITY,
}: Pick<Capabilities, 'maxKeyBytes' | 'maxValueBytes'>): Material {
  const fitting = (length: number, seed?: number): Uint8Array => filled(Math.min(length, maxValueBytes), seed)
  const anyKey = keysUpTo(maxKeyBytes)
  // Bounds are keys too, or empty, or lie just beside a key.
  const anyBound = fc.oneof(
    { weight: 5, arbitrary: anyKey },
    { weight: 1, arbitrary: fc.constant(bytes()) },
    { weight: 2, arbitrary: anyKey.map(following) },
    { weight: 1, arbitrary: fc.constant(everything.lt) },
  )
  const anyValue = fc.oneof(
    { withCrossShrink: true },
    { weight: 1, arbitrary: fc.constant(bytes()) },
    { weight: 4, arbitrary: fc.uint8Array({ maxLength: 20 }) },
    { weight: 1, arbitrary: fc.tuple(fc.integer({ min: 100, max: 5000 }), fc.nat(255)).map(([length, seed]) => fitting(length, seed)) },
  )
  return {
    anyKey,
    anyRange: fc.oneof(
      { weight: 3, arbitrary: fc.record({ gte: anyBound, lt: anyBound }) },
      { weight: 1, arbitrary: fc.constant(everything) },
    ),
    anyValue,
    anyBatch: fc.array(fc.tuple(anyKey, fc.option(anyValue, { nil: undefined, freq: 4 })), { maxLength: 12 }),
    anyEntries: fc.uniqueArray(fc.tuple(anyKey, anyValue), { maxLength: 40, selector: ([key]) => key.join() }),
    filled: fitting,
  }
}

/** Short keys of corner bytes, long keys that differ only after 16, 32 or 64 bytes or in their length, and some of any kind. */
function keysUpTo(most: number): fc.Arbitrary<Uint8Array> {
  const prefixes = [16, 32, 63, 64].filter((length) => length + 2 <= most)
  // If the bound lies between, keys that differ at it.
  if (most < 66) prefixes.push(most - 2)
  return fc.oneof(
    { weight: 3, arbitrary: fc.array(corner, { minLength: 1, maxLength: 3 }).map((tail) => bytes(...tail)) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom(...prefixes), fc.constantFrom(0x00, 0x61, 0xff), fc.array(corner, { maxLength: 2 }))
        .map(([length, byte, tail]) => bytes(...new Array<number>(length).fill(byte), ...tail)),
    },
    { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: Math.min(65, most) }) },
  )
}
