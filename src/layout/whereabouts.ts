/**
 * Where blocks are that are at hand: as bytes in slabs, as an object, or as both. What the table of addresses holds for an object is its slot, below
 * {@link NOWHERE}, and the address of its bytes stands beside it; so an object is found by two reads and no comparison, as bytes are.
 * Objects have two generations: what was asked for since the last {@link Whereabouts.turn | turn}, and what was asked for since the one before.
 */
import { MAX_LIMIT } from '../params.ts'
import { Addresses, NOWHERE } from './addresses.ts'
import type { Block } from './block.ts'

const EMPTY = 0
const OLD = 1
const YOUNG = 2
const LEAST_SLOTS = 64

/** The slot of an entry, and the entry of a slot. */
const turnedOver = (slot: number): number => NOWHERE - 1 - slot

/** What the table holds for each record of a page. */
const entries = new Int32Array(MAX_LIMIT)

export class Whereabouts {
  private readonly table = new Addresses()
  private objects: (Block<any> | undefined)[] = []
  /** Of each slot: what its object is found by, where its bytes are, and its generation. */
  private readonly ids: number[] = []
  private readonly addresses: number[] = []
  private ages = new Uint8Array(LEAST_SLOTS)
  private free: number[] = []
  /** What was read ahead, folded: kept so that no compiler leaves those reads out. */
  touched = 0

  /** How many blocks there are. */
  get size(): number {
    return this.table.size
  }

  /** Of a block of a log: the address of its bytes; less than {@link NOWHERE} where it is an object; else that. */
  entry(log: number, number: number): number {
    return this.table.at(log, number)
  }

  entryOf(id: number): number {
    return this.table.get(id)
  }

  /** The same of the blocks that records are in, up to {@link MAX_LIMIT} of them; good until the next call. */
  entries(log: number, shift: number, ordinals: readonly number[]): Int32Array {
    const count = Math.min(ordinals.length, MAX_LIMIT)
    const share = 1 / (1 << shift)
    for (let i = 0; i < count; i++) entries[i] = this.table.at(log, Math.floor(ordinals[i]! * share))
    return entries
  }

  /** The address of the bytes of a block, or {@link NOWHERE}. */
  find(id: number): number {
    const entry = this.table.get(id)
    return entry < NOWHERE ? this.addresses[turnedOver(entry)]! : entry
  }

  set(id: number, address: number): void {
    const entry = this.table.get(id)
    if (entry < NOWHERE) this.addresses[turnedOver(entry)] = address
    else this.table.set(id, address)
  }

  delete(id: number): void {
    const entry = this.table.get(id)
    if (entry < NOWHERE) this.addresses[turnedOver(entry)] = NOWHERE
    else this.table.delete(id)
  }

  /** @param entry one below {@link NOWHERE} */
  object(entry: number): Block<any> {
    return this.objects[turnedOver(entry)]!
  }

  /** The object that a block is, where it is one. */
  objectOf(id: number): Block<any> | undefined {
    const entry = this.table.get(id)
    return entry < NOWHERE ? this.object(entry) : undefined
  }

  /** The address of the bytes of an object, or {@link NOWHERE}. */
  addressBeside(entry: number): number {
    return this.addresses[turnedOver(entry)]!
  }

  isYoung(entry: number): boolean {
    return this.ages[turnedOver(entry)] === YOUNG
  }

  makeYoung(entry: number): void {
    this.ages[turnedOver(entry)] = YOUNG
  }

  /** Keeps an object, young. */
  add(id: number, object: Block<any>): void {
    const address = this.table.get(id)
    const slot = this.free.pop() ?? this.objects.length
    if (slot === this.ages.length) this.ages = longer(this.ages)
    this.objects[slot] = object
    this.ids[slot] = id
    this.addresses[slot] = address
    this.ages[slot] = YOUNG
    this.table.set(id, turnedOver(slot))
  }

  /** Takes an object away; its bytes stay. */
  remove(entry: number): void {
    this.empty(turnedOver(entry))
  }

  private empty(slot: number): void {
    const id = this.ids[slot]!
    const address = this.addresses[slot]!
    if (address === NOWHERE) this.table.delete(id)
    else this.table.set(id, address)
    this.objects[slot] = undefined
    this.ages[slot] = EMPTY
    this.free.push(slot)
  }

  /** Takes away what is old, and makes what is young old. */
  turn(): void {
    const { ages } = this
    for (let slot = 0; slot < this.objects.length; slot++) {
      if (ages[slot] === OLD) this.empty(slot)
      else if (ages[slot] === YOUNG) ages[slot] = OLD
    }
  }

  clear(): void {
    this.table.clear()
    this.objects = []
    this.ages.fill(EMPTY)
    this.free = []
  }

  /** Reads ahead in objects: touches what a look-up of each record begins with, so that the waits for memory overlap. */
  readAhead(found: Int32Array, ordinals: readonly number[], within: number): void {
    const count = Math.min(ordinals.length, MAX_LIMIT)
    const { objects } = this
    let touched = 0
    for (let i = 0; i < count; i++) {
      const entry = found[i]!
      if (entry < NOWHERE) touched ^= objects[turnedOver(entry)]!.touch(ordinals[i]! & within)
    }
    this.touched = touched
  }
}

function longer(list: Uint8Array): Uint8Array<ArrayBuffer> {
  const twice = new Uint8Array(2 * list.length)
  twice.set(list)
  return twice
}
