/**
 * What is kept as objects, up to so many bytes: each in a slot of a ring. Where there is no room for more, a hand goes round and takes away what was not
 * asked for since it came by last (the rule known as clock, or second chance): what is asked for over and over stays as long as all of that fits.
 * **Invariant:** what it holds weighs no more than `maxBytes`.
 */
export interface Weighed {
  /** Bytes, with all that hangs on it. */
  readonly weight: number
  /** Told of bytes that it grows by, or loses, while it is kept. */
  grew?: ((bytes: number) => void) | undefined
}

const FREE = 0
const PASSED = 1
const ASKED = 2
const LEAST_SLOTS = 64

/** What a value goes by. */
export type Name = number | string

export class Ring {
  /** What its values may weigh together. */
  maxBytes = Number.POSITIVE_INFINITY
  bytes = 0
  /** Bytes that were pushed out so far. */
  pushedOut = 0
  /** By slot; undefined where that is free. */
  readonly values: (Weighed | undefined)[] = []
  /** By slot. */
  readonly names: (Name | undefined)[] = []
  /** By slot: what is counted of each. */
  private readonly weights: number[] = []
  private marks = new Uint8Array(LEAST_SLOTS)
  private free: number[] = []
  private hand = 0
  private readonly left: (name: Name, slot: number) => void

  /** @param left is told of what is pushed out */
  constructor(left: (name: Name, slot: number) => void = () => {}) {
    this.left = left
  }

  /** Keeps a value, in a slot that the hand comes to last; returns that, or undefined where the value is too heavy. */
  add(name: Name, value: Weighed): number | undefined {
    if (value.weight > this.maxBytes) return undefined
    this.makeRoom(value.weight)
    const slot = this.free.pop() ?? this.values.length
    if (slot === this.marks.length) {
      const { marks } = this
      this.marks = new Uint8Array(2 * slot)
      this.marks.set(marks)
    }
    this.values[slot] = value
    this.names[slot] = name
    this.marks[slot] = PASSED
    this.weights[slot] = 0
    this.count(slot, value.weight)
    value.grew = (bytes) => {
      this.count(slot, bytes)
      // It alone, where it would push out everything.
      if (this.weights[slot]! > this.maxBytes) this.pushOut(slot)
      else this.makeRoom(0)
    }
    return slot
  }

  private count(slot: number, bytes: number): void {
    this.bytes += bytes
    this.weights[slot]! += bytes
  }

  /** Says that a value was asked for. */
  ask(slot: number): void {
    if (this.marks[slot] !== ASKED) this.marks[slot] = ASKED
  }

  remove(slot: number): void {
    this.count(slot, -this.weights[slot]!)
    this.values[slot]!.grew = undefined
    this.values[slot] = undefined
    this.names[slot] = undefined
    this.marks[slot] = FREE
    this.free.push(slot)
  }

  /** Pushes out what has to go so that there is room for so many more bytes. */
  private makeRoom(bytes: number): void {
    const { marks } = this
    while (this.bytes + bytes > this.maxBytes) {
      const slot = this.hand
      this.hand = slot + 1 < this.values.length ? slot + 1 : 0
      if (marks[slot] === ASKED) marks[slot] = PASSED
      else if (marks[slot] === PASSED) this.pushOut(slot)
    }
  }

  private pushOut(slot: number): void {
    const name = this.names[slot]!
    this.pushedOut += this.weights[slot]!
    this.remove(slot)
    this.left(name, slot)
  }

  clear(): void {
    for (const value of this.values) if (value) value.grew = undefined
    this.values.length = 0
    this.names.length = 0
    this.marks.fill(FREE)
    this.free = []
    this.hand = 0
    this.bytes = 0
  }
}
