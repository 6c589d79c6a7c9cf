/** A value of the cache that what was made of it may be attached to: they leave the cache together. */
import type { Weighed } from './ring.ts'

export class Holder implements Weighed {
  /** Bytes of its own, plus those of what is attached: what it weighs in the cache. */
  weight: number
  /** Told when something is attached to what is cached. */
  grew: ((bytes: number) => void) | undefined
  /** What was attached first, which is all there is nearly always: to be had without a map, each step of which would wait for memory. */
  private firstKey: unknown
  private first: unknown
  private others: Map<unknown, unknown> | undefined

  constructor(weight: number) {
    this.weight = weight
    this.grew = undefined
    this.firstKey = undefined
    this.first = undefined
    this.others = undefined
  }

  /**
   * What `make` gave for `key` the first time, kept as long as this is cached: finished wire text, for instance.
   * @param bytes what it weighs
   */
  attach<T>(key: unknown, make: () => T, bytes: (made: T) => number): T {
    const held = this.attached<T>(key)
    if (held !== undefined) return held
    const made = make()
    if (this.firstKey === undefined) {
      this.firstKey = key
      this.first = made
    } else {
      this.others ??= new Map()
      this.others.set(key, made)
    }
    this.grow(bytes(made))
    return made
  }

  /** Counts bytes that came to hang on it, or went. */
  grow(bytes: number): void {
    this.weight += bytes
    this.grew?.(bytes)
  }

  attached<T>(key: unknown): T | undefined {
    return (this.firstKey === key ? this.first : this.others?.get(key)) as T | undefined
  }
}
