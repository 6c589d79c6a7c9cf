/**
 * Where values lie, by number: a table of pairs of small integers, since a `Map` of some hundred thousand entries is three waits for memory a look-up.
 *
 * Open addressing, a slot for each pair of two at the least; numbers that follow each other by eight share a line of memory. Of a number its
 * lower half is kept: whoever looks up compares the number that the value itself carries.
 */
export const NOWHERE = -1

const LEAST_SLOTS = 64

export class Addresses {
  size = 0
  /** Number, address; an address of −1 where the slot is empty. */
  private slots = empty(LEAST_SLOTS)
  private mask = LEAST_SLOTS - 1

  /** The address of a number that has these lower 32 bits, or {@link NOWHERE}. */
  get(id: number): number {
    return this.slots[2 * this.slot(id) + 1]!
  }

  set(id: number, address: number): void {
    const at = 2 * this.slot(id)
    if (this.slots[at + 1] === NOWHERE) this.size++
    this.slots[at] = id
    this.slots[at + 1] = address
    if (2 * this.size > this.mask) this.grow()
  }

  delete(id: number): void {
    const { slots, mask } = this
    let hole = this.slot(id)
    if (slots[2 * hole + 1] === NOWHERE) return
    this.size--
    // What was put behind it for want of room moves up, so that every number is found without passing an empty slot.
    for (let next = (hole + 1) & mask; slots[2 * next + 1] !== NOWHERE; next = (next + 1) & mask) {
      const home = place(slots[2 * next]!) & mask
      if (((next - home) & mask) < ((next - hole) & mask)) continue
      slots[2 * hole] = slots[2 * next]!
      slots[2 * hole + 1] = slots[2 * next + 1]!
      hole = next
    }
    slots[2 * hole + 1] = NOWHERE
  }

  clear(): void {
    this.size = 0
    this.slots = empty(LEAST_SLOTS)
    this.mask = LEAST_SLOTS - 1
  }

  /** The slot of a number, or the empty one where it would go. */
  private slot(id: number): number {
    const { slots, mask } = this
    const wanted = id | 0
    let at = place(wanted) & mask
    while (slots[2 * at + 1] !== NOWHERE && slots[2 * at] !== wanted) at = (at + 1) & mask
    return at
  }

  private grow(): void {
    const { slots } = this
    this.slots = empty(slots.length)
    this.mask = slots.length - 1
    for (let at = 0; at < slots.length; at += 2) {
      if (slots[at + 1] === NOWHERE) continue
      const to = 2 * this.slot(slots[at]!)
      this.slots[to] = slots[at]!
      this.slots[to + 1] = slots[at + 1]!
    }
  }
}

const empty = (slots: number): Int32Array => new Int32Array(2 * slots).fill(NOWHERE)

/** Numbers of blocks are the number in the log × 64 + the log: eight blocks that follow each other are put side by side. */
const place = (id: number): number => (Math.imul((id & 63) ^ (id >>> 9), 0x9e3779b1) >>> 7) * 8 + ((id >>> 6) & 7)
