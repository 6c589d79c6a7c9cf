/** Something of the cache that what was made of it may hang on. */
import type { Weighed } from './cache.ts'

export class Holder implements Weighed {
  /** Bytes of its own, plus those of what is attached: what it weighs in the cache. */
  weight: number
  /** Told when something is attached to what is cached. */
  grew: ((bytes: number) => void) | undefined
  private attachments: Map<unknown, unknown> | undefined

  constructor(weight: number) {
    this.weight = weight
  }

  /**
   * What `make` gave for `key` the first time, kept as long as this is cached: finished wire text, for instance.
   * @param bytes what it weighs
   */
  attach<T>(key: unknown, make: () => T, bytes: (made: T) => number): T {
    this.attachments ??= new Map()
    const held = this.attachments.get(key) as T | undefined
    if (held !== undefined) return held
    const made = make()
    this.attachments.set(key, made)
    const more = bytes(made)
    this.weight += more
    this.grew?.(more)
    return made
  }

  attached<T>(key: unknown): T | undefined {
    return this.attachments?.get(key) as T | undefined
  }
}
