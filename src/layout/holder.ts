/** A cached value to which what was made of it can be attached: they leave the cache together. */

/** Counts what the values weigh that it keeps. */
export interface Keeper {
  /** Counts bytes that were attached to a value, or removed. @param slot that of the value */
  grow(bytes: number, slot: number): void
}

/** What a cache can keep. */
export interface Weighed {
  /** Bytes, including everything attached. */
  readonly weight: number
  /** Who keeps it, while somebody does, and its number there. A function for each value would weigh about as much as the value. */
  keeper?: Keeper | undefined
  slot?: number
}

export class Holder implements Weighed, Keeper {
  /** Its own bytes plus those of what is attached: its weight in the cache. */
  weight: number
  /** @internal */
  keeper: Keeper | undefined
  slot: number
  /** What was attached first, nearly always the only thing: found without a map, each step of which would cost a cache miss. */
  private firstKey: unknown
  private first: unknown
  private others: Map<unknown, unknown> | undefined

  constructor(weight: number) {
    this.weight = weight
    this.keeper = undefined
    this.slot = 0
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
    this.keeper?.grow(bytes, this.slot)
  }

  attached<T>(key: unknown): T | undefined {
    return (this.firstKey === key ? this.first : this.others?.get(key)) as T | undefined
  }
}
