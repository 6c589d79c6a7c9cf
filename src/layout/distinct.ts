/**
 * Distinct strings and their numbers, in the order in which they first occurred.
 * A `Map` would hash every string in full, and blocks are full of long ones that occur once: here a few characters decide where a string is looked
 * for, and only a string found there is compared. Strings that those characters do not tell apart are left to a `Map`.
 */
export const NONE = -1

const LEAST_SLOTS = 256
/** How many slots are probed for a string. */
const TRIES = 16

export class Distinct {
  /** By number. */
  readonly strings: string[] = []
  /** Numbers, plus one; 0 marks an empty slot. */
  private slots = new Int32Array(LEAST_SLOTS)
  private others: Map<string, number> | undefined

  get size(): number {
    return this.strings.length
  }

  /** How many strings were left to the `Map`: few, or hashing in full would have been faster. */
  get untold(): number {
    return this.others?.size ?? 0
  }

  /** The number of a string, or {@link NONE}. */
  find(value: string): number {
    const at = this.slot(value)
    return at === NONE ? (this.others?.get(value) ?? NONE) : this.slots[at]! - 1
  }

  /** The number of a string; a new one if it did not occur before. */
  number(value: string): number {
    const found = this.find(value)
    if (found !== NONE) return found
    if (2 * this.size >= this.slots.length) this.grow()
    const number = this.strings.push(value) - 1
    this.place(value, number)
    return number
  }

  private place(value: string, number: number): void {
    const at = this.slot(value)
    if (at !== NONE) this.slots[at] = number + 1
    else {
      this.others ??= new Map()
      this.others.set(value, number)
    }
  }

  /** Where a string is, or the empty slot where it would go; {@link NONE} if there is none nearby. */
  private slot(value: string): number {
    const { strings, slots } = this
    const mask = slots.length - 1
    let at = trait(value) & mask
    for (let tries = 0; tries < TRIES; tries++) {
      const held = slots[at]! - 1
      if (held < 0 || strings[held] === value) return at
      at = (at + 1) & mask
    }
    return NONE
  }

  private grow(): void {
    this.slots = new Int32Array(2 * this.slots.length)
    this.others = undefined
    for (const [number, value] of this.strings.entries()) this.place(value, number)
  }
}

/** A mix of the length of a string and six of its characters: ids and hashes differ in their last ones, amounts in the middle. */
function trait(value: string): number {
  const last = value.length - 1
  if (last < 0) return 0
  let mixed = Math.imul(last, 31) + value.charCodeAt(last)
  mixed = Math.imul(mixed, 31) + value.charCodeAt(last >> 1)
  mixed = Math.imul(mixed, 31) + value.charCodeAt(last >> 2)
  mixed = Math.imul(mixed, 31) + value.charCodeAt(Math.max(0, last - 1))
  mixed = Math.imul(mixed, 31) + value.charCodeAt(Math.max(0, last - 2))
  mixed = Math.imul(mixed, 31) + value.charCodeAt(Math.min(last, 4))
  return Math.imul(mixed, 0x9e3779b1) >>> 15
}
