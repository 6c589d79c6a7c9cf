/**
 * Seeded randomness: sfc32, by Chris Doty-Humphrey (PractRand, public domain), its state spread from the seed by FNV-1a and the finaliser of
 * MurmurHash3 (Austin Appleby, public domain).
 * **Invariant:** only 32-bit integer steps and single IEEE operations, whose results ECMAScript fixes. No logarithm, no power, no clock: the same
 * seed and the same calls give the same values on every engine.
 */

const TWO_32 = 4_294_967_296

function spread(seed: string, lane: number): number {
  let hash = 0x811c9dc5 ^ lane
  for (let i = 0; i < seed.length; i++) hash = Math.imul(hash ^ seed.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

export class Random {
  private a: number
  private b: number
  private c: number
  private counter = 1

  /** The seeds `7` and `'7'` are the same. */
  constructor(seed: number | string) {
    const text = String(seed)
    this.a = spread(text, 0)
    this.b = spread(text, 0x9e3779b9)
    this.c = spread(text, 0x3c6ef372)
    for (let i = 0; i < 15; i++) this.next()
  }

  /** 0 … 2^32 - 1. */
  next(): number {
    const sum = (this.a + this.b + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** 0 … `count` - 1, evenly; `count` up to 2^32. */
  below(count: number): number {
    return Math.floor((this.next() / TWO_32) * count)
  }

  /** 0 … `count` - 1, evenly; `count` up to 2^53. */
  wide(count: number): number {
    return Math.floor((((this.next() >>> 5) * 67_108_864 + (this.next() >>> 6)) / 9_007_199_254_740_992) * count)
  }

  /** 0 … `bound` - 1; `bound` up to 2^64. */
  big(bound: bigint): bigint {
    return ((BigInt(this.next()) << 32n) | BigInt(this.next())) % bound
  }

  chance(share: number): boolean {
    return this.next() < share * TWO_32
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  /**
   * A rank, 0 … `count` - 1, by Zipf's law with exponent 1: rank r about 1 / (r + 1) times as often as rank 0.
   * Every octave (1, 2–3, 4–7, …) is equally likely and evenly filled, so neither a table nor a logarithm is needed, and `count` may grow.
   */
  zipf(count: number): number {
    const octaves = 32 - Math.clz32(count)
    for (;;) {
      const octave = this.below(octaves)
      const rank = (1 << octave) - 1 + (octave === 0 ? 0 : this.next() >>> (32 - octave))
      if (rank < count) return rank
    }
  }

  /** A count of at least 1 with this mean (geometric), at most `most`. */
  several(mean: number, most: number): number {
    const more = 1 - 1 / mean
    let count = 1
    while (count < most && this.chance(more)) count++
    return count
  }

  /** Fills `bytes[from, from + length)`; `length` is a multiple of 4. */
  fill(bytes: Uint8Array, from: number, length: number): void {
    for (let at = from; at < from + length; at += 4) {
      const word = this.next()
      bytes[at] = word >>> 24
      bytes[at + 1] = word >>> 16
      bytes[at + 2] = word >>> 8
      bytes[at + 3] = word
    }
  }

  /** `digits` hex digits, a multiple of 8. */
  hex(digits: number): string {
    const bytes = Buffer.allocUnsafe(digits / 2)
    this.fill(bytes, 0, bytes.length)
    return bytes.toString('hex')
  }
}
