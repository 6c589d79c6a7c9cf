/**
 * Where cached blocks are: as bytes in slabs, as an object, or as both. For an object, the table of addresses holds its slot among the objects,
 * as a number below {@link NOWHERE}, and the address of its bytes is kept separately by slot; so an object is found by two reads and no comparison,
 * just as bytes are.
 */

import type { Block } from '../layout/block.ts'
import { MAX_LIMIT } from '../params.ts'
import { Addresses, NOWHERE } from './addresses.ts'
import { ClockCache } from './clock-cache.ts'

/** Converts a slot to an entry, and an entry to a slot. */
const turnedOver = (slot: number): number => NOWHERE - 1 - slot

/** What the table holds for each record of a page. */
const entries = new Int32Array(MAX_LIMIT)

export class Whereabouts {
  private readonly table = new Addresses()
  private readonly objects: ClockCache
  private readonly values: readonly unknown[]
  /** For each slot that holds a block: where its bytes are. */
  private readonly addresses: number[] = []
  /** What was prefetched, folded: kept so that no compiler removes those reads. */
  touched = 0

  /** @param objects in which blocks have their ids as names */
  constructor(objects = new ClockCache()) {
    this.objects = objects
    this.values = objects.values
  }

  /** How many blocks there are. */
  get size(): number {
    return this.table.size
  }

  /** For a block of a log: the address of its bytes; less than {@link NOWHERE} if it is an object; otherwise {@link NOWHERE}. */
  entry(log: number, number: number): number {
    return this.table.at(log, number)
  }

  entryOf(id: number): number {
    return this.table.get(id)
  }

  /** The same for the blocks of these records, up to {@link MAX_LIMIT} of them; valid until the next call. */
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
    return this.values[turnedOver(entry)] as Block<any>
  }

  /** The object of a block, if it is one. */
  objectOf(id: number): Block<any> | undefined {
    const entry = this.table.get(id)
    return entry < NOWHERE ? this.object(entry) : undefined
  }

  /** The address of the bytes of an object, or {@link NOWHERE}. */
  addressBeside(entry: number): number {
    return this.addresses[turnedOver(entry)]!
  }

  /** Marks an object as asked for. */
  ask(entry: number): void {
    this.objects.ask(turnedOver(entry))
  }

  /** Keeps an object for a block that had none, if it is not too heavy. */
  add(id: number, object: Block<any>): void {
    const slot = this.objects.add(id, object)
    if (slot === undefined) return
    this.addresses[slot] = this.table.get(id)
    this.table.set(id, turnedOver(slot))
  }

  /** Removes an object; its bytes stay. */
  remove(entry: number): void {
    const slot = turnedOver(entry)
    const id = this.objects.names[slot] as number
    this.objects.remove(slot)
    this.left(id, slot)
  }

  /** An object has left its slot; returns the address of its bytes, or {@link NOWHERE}. */
  left(id: number, slot: number): number {
    const address = this.addresses[slot]!
    if (address === NOWHERE) this.table.delete(id)
    else this.table.set(id, address)
    return address
  }

  clear(): void {
    this.table.clear()
  }

  /** Prefetches objects: touches what a look-up of each record begins with, so that the cache misses overlap. */
  readAhead(found: Int32Array, ordinals: readonly number[], within: number): void {
    const count = Math.min(ordinals.length, MAX_LIMIT)
    const { values } = this
    let touched = 0
    for (let i = 0; i < count; i++) {
      const entry = found[i]!
      if (entry < NOWHERE) touched ^= (values[turnedOver(entry)] as Block).touch(ordinals[i]! & within)
    }
    this.touched = touched
  }
}
