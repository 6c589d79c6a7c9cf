/** A cached value to which what was made of it can be attached: they leave the cache together. */

/** What a cache can keep. */
export interface Weighed {
  /** Bytes, including everything attached. */
  readonly weight: number
  /** Called with the number of bytes by which it grows, or shrinks, while it is kept. */
  grew?: ((bytes: number) => void) | undefined
}

export class Holder implements Weighed {
  /** Its own bytes plus those of what is attached: its weight in the cache. */
  weight: number
  /** Called when something is attached to a cached value. */
  grew: ((bytes: number) => void) | undefined
  /** What was attached first, nearly always the only thing: found without a map, each step of which would cost a cache miss. */
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
   * What `make` returned for `key` the first time, kept as long as this is cached: finished wire text, for instance.
   * @param bytes its weight
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

  /** Counts bytes that were attached, or removed. */
  grow(bytes: number): void {
    this.weight += bytes
    this.grew?.(bytes)
  }

  attached<T>(key: unknown): T | undefined {
    return (this.firstKey === key ? this.first : this.others?.get(key)) as T | undefined
  }
}
