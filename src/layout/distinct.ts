/**
 * Distinct runs of bytes and their numbers, in the order in which they first occurred.
 * A `Map` would need them as strings and hash every one in full, and blocks are full of long ones that occur once: here a few bytes decide where a
 * run is looked for, and only a run found there is compared. Runs that those bytes do not tell apart are left to a `Map`.
 */
import { characters, type Region } from '../bytes.ts'
import { Ints } from './ints.ts'

export const NONE = -1

const LEAST_SLOTS = 256
/** How many slots are probed for a run. */
const TRIES = 16

export class Distinct {
  size = 0
  /** By number: where the first of its kind lies. Longer than `size`, since it is not given up. */
  private readonly regions: (Region | undefined)[] = []
  private readonly starts = new Ints()
  private readonly ends = new Ints()
  /** Numbers, plus one; 0 marks an empty slot. */
  private slots = new Int32Array(LEAST_SLOTS)
  /** Runs left to the `Map`: few, or hashing in full would have been faster. */
  private others: Map<string, number> | undefined

  region(number: number): Region {
    return this.regions[number]!
  }

  start(number: number): number {
    return this.starts.items[number]!
  }

  length(number: number): number {
    return this.ends.items[number]! - this.starts.items[number]!
  }

  /** Forgets everything, so that the same object can serve again. */
  clear(): void {
    if (this.slots.length > 4 * LEAST_SLOTS) this.slots = new Int32Array(LEAST_SLOTS)
    else if (this.size > 0) this.slots.fill(0)
    this.others = undefined
    if (this.regions.length > 64 * LEAST_SLOTS) this.regions.length = 0
    else for (let number = 0; number < this.size; number++) this.regions[number] = undefined
    this.size = 0
    this.starts.clear()
    this.ends.clear()
  }

  /** The number of the bytes from `from` to `to` of a region, or {@link NONE}. */
  find(region: Region, from: number, to: number): number {
    const at = this.slot(region, from, to)
    return at === NONE ? (this.others?.get(characters(region.bytes, from, to)) ?? NONE) : this.slots[at]! - 1
  }

  /** The number of the bytes from `from` to `to` of a region, which must not change any more; a new one if they did not occur before. */
  number(region: Region, from: number, to: number): number {
    let at = this.slot(region, from, to)
    const found = at === NONE ? (this.others?.get(characters(region.bytes, from, to)) ?? NONE) : this.slots[at]! - 1
    if (found !== NONE) return found
    if (2 * this.size >= this.slots.length) {
      this.grow()
      at = this.slot(region, from, to)
    }
    const number = this.size++
    this.regions[number] = region
    this.starts.push(from)
    this.ends.push(to)
    this.place(at, number)
    return number
  }

  private place(at: number, number: number): void {
    if (at !== NONE) this.slots[at] = number + 1
    else {
      this.others ??= new Map()
      this.others.set(this.text(number), number)
    }
  }

  /** Where a run is, or the empty slot where it would go; {@link NONE} if there is none nearby. */
  private slot(region: Region, from: number, to: number): number {
    const { slots, regions } = this
    const { items: starts } = this.starts
    const { items: ends } = this.ends
    const mask = slots.length - 1
    const length = to - from
    let at = trait(region.bytes, from, length) & mask
    for (let tries = 0; tries < TRIES; tries++) {
      const held = slots[at]! - 1
      if (held < 0) return at
      const start = starts[held]!
      if (ends[held]! - start === length && equalRuns(regions[held]!, start, region, from, length)) return at
      at = (at + 1) & mask
    }
    return NONE
  }

  private grow(): void {
    this.slots = new Int32Array(2 * this.slots.length)
    this.others = undefined
    for (let number = 0; number < this.size; number++)
      this.place(this.slot(this.regions[number]!, this.starts.items[number]!, this.ends.items[number]!), number)
  }

  private text(number: number): string {
    const start = this.start(number)
    return characters(this.regions[number]!.bytes, start, start + this.length(number))
  }
}

/** A mix of the length of a run and six of its bytes: ids and hashes differ in their last ones, amounts in the middle. */
function trait(bytes: Uint8Array, from: number, length: number): number {
  const last = length - 1
  if (last < 0) return 0
  let mixed = Math.imul(last, 31) + bytes[from + last]!
  mixed = Math.imul(mixed, 31) + bytes[from + (last >> 1)]!
  mixed = Math.imul(mixed, 31) + bytes[from + (last >> 2)]!
  mixed = Math.imul(mixed, 31) + bytes[from + Math.max(0, last - 1)]!
  mixed = Math.imul(mixed, 31) + bytes[from + Math.max(0, last - 2)]!
  mixed = Math.imul(mixed, 31) + bytes[from + Math.min(last, 4)]!
  return Math.imul(mixed, 0x9e3779b1) >>> 15
}

/** True if two runs of bytes of the same length are equal. */
function equalRuns(a: Region, at: number, b: Region, from: number, length: number): boolean {
  const [left, right] = [a.view, b.view]
  let i = 0
  for (; i <= length - 4; i += 4) if (left.getInt32(at + i) !== right.getInt32(from + i)) return false
  for (; i < length; i++) if (a.bytes[at + i] !== b.bytes[from + i]) return false
  return true
}
