/**
 * The cache of what was read: blocks as bytes, and as objects what is read over and over: hot blocks with what was made of them, edges of posting
 * lists, their pages.
 *
 * A block that came from the store lies in the slabs, unfolded as long as there is room: its texts put together, so that a record is one copy.
 * Where history is larger than that, it lies there as it came, until about all of its records were asked for again. Asked for more often than most,
 * a block becomes an object, and finished wire text or typed records hang on it.
 * Objects have two generations: a hit in the young one is one map look-up; when the young one is full, it becomes the old one, and what of the
 * old one is still used moves over.
 * **Invariant:** it never holds much more than `maxBytes`, and needs no invalidation while history only grows: a commit puts the newer value.
 */
import type { Resource } from '../query.ts'
import { Block } from './block.ts'
import { MAX_PAYLOAD, NOWHERE, SLAB_BYTES, Slabs } from './slabs.ts'

export interface Weighed {
  readonly weight: number
}

const MB = 2 ** 20

/** A 16th of the memory of the machine, or of what the process is confined to; from 32 MiB to 1 GiB. Where neither is known, 128 MiB. */
export function defaultCacheBytes(): number {
  const { process } = globalThis
  const total = process?.getBuiltinModule?.('node:os')?.totalmem() ?? 2048 * MB
  // Zero, or more than there is, where the process is not confined.
  const confined = process?.constrainedMemory?.() || total
  return Math.min(1024 * MB, Math.max(32 * MB, Math.floor(Math.min(total, confined) / 16)))
}

/** So much of a cache is for bytes, where it has room for some slabs. */
const SHARE = 7 / 8
const MIN_SLABS = 7
/** How often each of its records was asked for of late, taken together, when a block is unfolded, and when it becomes an object. */
const UNFOLDED_AT = 2
const HOT_AT = { least: 4, most: 64 }
/** Where objects are pushed out by others within so many look-ups, it takes more to become one. */
const BRIEF = 2 ** 18

/** Small integers, as long as there are fewer than 2^24 blocks: maps find those fastest. */
export const blockId = (log: number, block: number): number => block * 64 + log

export class Cache {
  readonly maxBytes: number
  hits = 0
  misses = 0
  /** Counts commits and rollbacks. What was read before one may be older than what the store holds after it, and is not to be put any more. */
  edition = 0
  private readonly slabs: Slabs
  /** For objects. */
  private readonly room: number
  private young = new Map<number | string, Weighed>()
  private old = new Map<number | string, Weighed>()
  private youngBytes = 0
  private hotAt = HOT_AT.least
  private turnedAt = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.slabs = new Slabs(maxBytes * SHARE >= MIN_SLABS * SLAB_BYTES ? maxBytes * SHARE : 0)
    this.room = maxBytes - this.slabs.maxBytes
  }

  get<T extends Weighed>(id: number | string): T | undefined {
    return this.counted(this.find<T>(id))
  }

  private counted<T>(found: T | undefined): T | undefined {
    if (found === undefined) this.misses++
    else this.hits++
    return found
  }

  private find<T extends Weighed>(id: number | string): T | undefined {
    const held = this.young.get(id)
    if (held !== undefined) return held as T
    const older = this.old.get(id)
    if (older === undefined) return undefined
    this.old.delete(id)
    this.put(id, older)
    return older as T
  }

  /**
   * A block of a log, where at least so many of its records are at hand: one read before others were appended is its older self.
   * @param asked how many of its records are wanted
   */
  block<R>(resource: Resource<R>, number: number, needed: number, asked: number): Block<R> | undefined {
    const id = blockId(resource.tag, number)
    const held = this.find<Block<R>>(id)
    if (held !== undefined && held.count >= needed) return this.counted(held)
    const block = this.fromSlabs(resource, number, id, asked)
    return this.counted(block && block.count >= needed ? block : undefined)
  }

  private fromSlabs<R>(resource: Resource<R>, number: number, id: number, wanted: number): Block<R> | undefined {
    const { slabs } = this
    const address = slabs.find(id)
    if (address === NOWHERE) return undefined
    const asked = slabs.ask(address, wanted)
    const block = this.at(resource, number, address)
    if (asked >= this.hotAt * block.count) {
      // In memory of its own, since a slab lives as long as any block in it.
      const hot = block.kept()
      this.putBlock(resource, number, hot)
      return hot
    }
    if (asked < UNFOLDED_AT * block.count || block.plain) return block
    // Where it would be too long, it stays as it is.
    slabs.put(id, block.plainBytes, block.sum, asked, (out, start) => block.unfold(out, start))
    return this.at(resource, number, slabs.find(id))
  }

  private at<R>(resource: Resource<R>, number: number, address: number): Block<R> {
    const { slabs } = this
    return new Block(resource, slabs.region(address), slabs.start(address), slabs.end(address), number, slabs.sum(address))
  }

  /** True where a block is at hand, though perhaps an older self of it. */
  has(id: number): boolean {
    return this.young.has(id) || this.old.has(id) || this.slabs.find(id) !== NOWHERE
  }

  /** Keeps a block that came from the store. */
  keep(resource: Resource<any>, number: number, block: Block): void {
    const { length, plainBytes, sum } = block
    const { slabs } = this
    const id = blockId(resource.tag, number)
    if (length > MAX_PAYLOAD || slabs.maxBytes === 0) this.putBlock(resource, number, block)
    else if (plainBytes <= MAX_PAYLOAD && slabs.hasRoom(plainBytes)) slabs.put(id, plainBytes, sum, 0, (out, at) => block.unfold(out, at))
    else slabs.put(id, length, sum, 0, (out, at) => block.copyTo(out, at))
  }

  /** Keeps a block as an object, on which more may hang. */
  putBlock(resource: Resource<any>, number: number, block: Block): void {
    block.grew = (bytes) => this.grew(bytes)
    this.put(blockId(resource.tag, number), block)
  }

  put(id: number | string, value: Weighed): void {
    const before = this.young.get(id)
    if (before !== undefined) this.youngBytes -= before.weight
    else this.old.delete(id)
    this.young.set(id, value)
    this.youngBytes += value.weight
    if (this.youngBytes * 2 > this.room) this.turn()
  }

  /** Counts bytes that were attached to a value after it was put. */
  grew(bytes: number): void {
    this.youngBytes += bytes
    if (this.youngBytes * 2 > this.room) this.turn()
  }

  delete(id: number | string): void {
    const before = this.young.get(id)
    if (before !== undefined) this.youngBytes -= before.weight
    this.young.delete(id)
    this.old.delete(id)
  }

  clear(): void {
    this.edition++
    this.slabs.clear()
    this.young.clear()
    this.old.clear()
    this.youngBytes = 0
  }

  private turn(): void {
    const lookUps = this.hits + this.misses
    const brief = this.old.size > 0 && lookUps - this.turnedAt < BRIEF
    this.hotAt = brief ? Math.min(HOT_AT.most, this.hotAt * 2) : Math.max(HOT_AT.least, this.hotAt / 2)
    this.turnedAt = lookUps
    this.old = this.young
    this.young = new Map()
    this.youngBytes = 0
  }
}
