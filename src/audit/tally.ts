/**
 * Compares two large sets in little memory: each is reduced to sums of well-mixed numbers, a pair for each bucket of keys. Equal sets give equal
 * sums, in whatever order; different sets give different ones, except with a chance of 2^-64 per bucket, and the bucket narrows down where to look.
 */
import { crc32 } from '../bytes.ts'

const BUCKETS = 1 << 16

const mixed = (value: number): number => {
  let x = value ^ (value >>> 16)
  x = Math.imul(x, 0x85ebca6b)
  x ^= x >>> 13
  x = Math.imul(x, 0xc2b2ae35)
  return x ^ (x >>> 16)
}

function fnv(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  return hash
}

export const bucketOf = (key: Uint8Array): number => crc32(key) % BUCKETS

/** A set of (key, number) pairs, as sums. */
export class Tally {
  count = 0
  private readonly sums = new Uint32Array(2 * BUCKETS)

  add(key: Uint8Array, value: number): void {
    const name = crc32(key)
    const [low, high] = [value % 4294967296, Math.floor(value / 4294967296)]
    const first = mixed(name ^ mixed(low ^ Math.imul(high + 1, 0x9e3779b1)))
    const second = mixed(fnv(key) ^ mixed(first ^ Math.imul(low, 0x27d4eb2f)))
    const at = 2 * (name % BUCKETS)
    this.sums[at]! += first
    this.sums[at + 1]! += second
    this.count++
  }

  /** The buckets in which two sets differ. */
  differing(other: Tally): Set<number> {
    const found = new Set<number>()
    for (let at = 0; at < this.sums.length; at++) if (this.sums[at] !== other.sums[at]) found.add(at >> 1)
    return found
  }
}
