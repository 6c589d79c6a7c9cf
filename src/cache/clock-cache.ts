/**
 * What is kept as objects, up to `maxBytes`: each in a slot of a ring. If there is no room for more, a hand goes round and evicts what was not asked
 * for since it last came by (the clock or second-chance algorithm): what is asked for over and over stays, as long as all of that fits.
 * **Invariant:** what it holds weighs no more than `maxBytes`.
 */
import type { Keeper, Weighed } from '../layout/holder.ts'

const FREE = 0
const PASSED = 1
const ASKED = 2
const LEAST_SLOTS = 64

/** The name of a value. */
export type Name = number | string

export class ClockCache implements Keeper {
  /** The most that its values may weigh together. */
  maxBytes = Number.POSITIVE_INFINITY
  bytes = 0
  /** How many bytes were evicted so far. */
  evictedBytes = 0
  /** By slot; undefined if it is free. */
  readonly values: (Weighed | undefined)[] = []
  /** By slot. */
  readonly names: (Name | undefined)[] = []
  /** By slot: the weight counted for each. */
  private readonly weights: number[] = []
  private marks = new Uint8Array(LEAST_SLOTS)
  private free: number[] = []
  private hand = 0
  private readonly left: (name: Name, slot: number) => void

  /** @param left called with what is evicted */
  constructor(left: (name: Name, slot: number) => void = () => {}) {
    this.left = left
  }

  /** Keeps a value in the slot that the hand will reach last; returns the slot, or undefined if the value is too heavy. */
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
    value.keeper = this
    value.slot = slot
    return slot
  }

  grow(bytes: number, slot: number): void {
    this.count(slot, bytes)
    // Evicts only this one, if it would evict everything else.
    if (this.weights[slot]! > this.maxBytes) this.evict(slot)
    else this.makeRoom(0)
  }

  private count(slot: number, bytes: number): void {
    this.bytes += bytes
    this.weights[slot]! += bytes
  }

  /** Marks a value as asked for. */
  ask(slot: number): void {
    if (this.marks[slot] !== ASKED) this.marks[slot] = ASKED
  }

  /** Keeps a value in the place of another, as one that was asked for as recently: what is asked for and replaced in turn stays. */
  replace(slot: number, name: Name, value: Weighed): number | undefined {
    const mark = this.marks[slot]!
    this.remove(slot)
    const place = this.add(name, value)
    if (place !== undefined) this.marks[place] = mark
    return place
  }

  remove(slot: number): void {
    this.count(slot, -this.weights[slot]!)
    this.values[slot]!.keeper = undefined
    this.values[slot] = undefined
    this.names[slot] = undefined
    this.marks[slot] = FREE
    this.free.push(slot)
  }

  /** Evicts what has to go to make room for `bytes` more. */
  private makeRoom(bytes: number): void {
    const { marks } = this
    while (this.bytes + bytes > this.maxBytes) {
      const slot = this.hand
      this.hand = slot + 1 < this.values.length ? slot + 1 : 0
      if (marks[slot] === ASKED) marks[slot] = PASSED
      else if (marks[slot] === PASSED) this.evict(slot)
    }
  }

  private evict(slot: number): void {
    const name = this.names[slot]!
    this.evictedBytes += this.weights[slot]!
    this.remove(slot)
    this.left(name, slot)
  }

  clear(): void {
    for (const value of this.values) if (value) value.keeper = undefined
    this.values.length = 0
    this.names.length = 0
    this.marks.fill(FREE)
    this.free = []
    this.hand = 0
    this.bytes = 0
  }
}
