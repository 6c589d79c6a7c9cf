/**
 * The cache of decoded values: blocks, edges of posting lists, their pages. Two generations: a hit in the young one is one map look-up;
 * when the young one is full, it becomes the old one, and what of the old one is still used moves over.
 * **Invariant:** it never holds much more than `maxBytes`, and needs no invalidation while history only grows: a commit puts the newer value.
 */
export interface Weighed {
  readonly weight: number
}

const MB = 2 ** 20

/** A 32nd of the memory of the machine, or of what the process is confined to; from 32 to 512 MiB. Where neither is known, 64 MiB. */
export function defaultCacheBytes(): number {
  const { process } = globalThis
  const total = process?.getBuiltinModule?.('node:os')?.totalmem() ?? 2048 * MB
  // Zero, or more than there is, where the process is not confined.
  const confined = process?.constrainedMemory?.() || total
  return Math.min(512 * MB, Math.max(32 * MB, Math.floor(Math.min(total, confined) / 32)))
}

export class Cache {
  readonly maxBytes: number
  hits = 0
  misses = 0
  /** Counts commits and rollbacks. What was read before one may be older than what the store holds after it, and is not to be put any more. */
  edition = 0
  private young = new Map<number | string, Weighed>()
  private old = new Map<number | string, Weighed>()
  private youngBytes = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  get<T extends Weighed>(id: number | string): T | undefined {
    const held = this.young.get(id)
    if (held !== undefined) {
      this.hits++
      return held as T
    }
    const older = this.old.get(id)
    if (older === undefined) {
      this.misses++
      return undefined
    }
    this.hits++
    this.old.delete(id)
    this.put(id, older)
    return older as T
  }

  put(id: number | string, value: Weighed): void {
    const before = this.young.get(id)
    if (before !== undefined) this.youngBytes -= before.weight
    else this.old.delete(id)
    this.young.set(id, value)
    this.youngBytes += value.weight
    if (this.youngBytes * 2 > this.maxBytes) this.turn()
  }

  /** Counts bytes that were attached to a value after it was put. */
  grew(bytes: number): void {
    this.youngBytes += bytes
    if (this.youngBytes * 2 > this.maxBytes) this.turn()
  }

  delete(id: number | string): void {
    const before = this.young.get(id)
    if (before !== undefined) this.youngBytes -= before.weight
    this.young.delete(id)
    this.old.delete(id)
  }

  clear(): void {
    this.edition++
    this.young.clear()
    this.old.clear()
    this.youngBytes = 0
  }

  private turn(): void {
    this.old = this.young
    this.young = new Map()
    this.youngBytes = 0
  }
}
