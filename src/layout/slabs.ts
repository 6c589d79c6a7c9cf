/**
 * Values of blocks side by side in few large pieces of memory, found by number. As an object each they would cost the garbage collector more
 * than all else that a page does, and most of old history is read too seldom to be worth more than its bytes.
 *
 *     length:4 sum:4 asked:2 epoch:2 id:8   payload …      the next one at a multiple of four
 *
 * Slabs are filled one after another. When there are as many as there may be, the oldest is given up, and what of it was asked for of late is
 * written once more. **Invariant:** bytes that were handed out are never written over: a slab that was given up lives as long as who reads it.
 */
import { Region } from '../bytes.ts'

export const SLAB_BYTES = 2 ** 20
const HEADER = 20
/** An address is a slab and a word in it: small integers, of which there are enough for so many slabs. */
const WORDS = SLAB_BYTES / 4
const MAX_SLABS = 2 ** 31 / WORDS - 1
/** What was asked for counts half each time so many values were looked up. */
const EPOCH = 2 ** 16
const MAX_ASKED = 0xffff
/** The part of the room that is left to dead values, so that there is always a slab that gains something from being written anew. */
const SPARE = 1 / 8

/** The address where there is none. */
export const NOWHERE = -1
/** Longer payloads would leave too much of a slab empty. */
export const MAX_PAYLOAD = SLAB_BYTES * SPARE - HEADER - 4

/** Bytes that a payload takes. */
const sizeOf = (length: number): number => (HEADER + length + 3) & ~3

export class Slabs {
  /** What the slabs hold at the most, together. */
  readonly maxBytes: number
  private readonly regions: Region[] = []
  /** Bytes that are filled of each slab, and those of values in it that can be found. */
  private readonly used: number[] = []
  private readonly liveIn: number[] = []
  private readonly addresses = new Map<number, number>()
  /** The slab that is being filled. */
  private current = -1
  /** Bytes of all values that can be found. */
  private live = 0
  private lookUps = 0

  constructor(maxBytes: number) {
    this.maxBytes = Math.min(MAX_SLABS, Math.floor(maxBytes / SLAB_BYTES)) * SLAB_BYTES
  }

  /** True while so many more bytes push nothing out. */
  hasRoom(bytes: number): boolean {
    return this.live + bytes <= this.maxBytes * (1 - SPARE)
  }

  /** The address of a value, or {@link NOWHERE}; good until the next value is put. */
  find(id: number): number {
    return this.addresses.get(id) ?? NOWHERE
  }

  region(address: number): Region {
    return this.regions[Math.floor(address / WORDS)]!
  }

  /** Where in its region a payload begins. */
  start(address: number): number {
    return (address % WORDS) * 4 + HEADER
  }

  /** Where it ends. */
  end(address: number): number {
    const start = this.start(address)
    return start + this.region(address).view.getInt32(start - HEADER, true)
  }

  sum(address: number): number {
    return this.region(address).view.getInt32(this.start(address) - HEADER + 4, true)
  }

  /** Notes that so many records of a value are asked for; returns how many were of late, these too. */
  ask(address: number, records: number): number {
    const { view } = this.region(address)
    const at = this.start(address) - HEADER + 8
    const epoch = this.epoch()
    this.lookUps++
    const passed = (epoch - view.getUint16(at + 2, true) + 65536) % 65536
    const asked = Math.min(MAX_ASKED, (view.getUint16(at, true) >>> Math.min(passed, 16)) + records)
    view.setUint16(at, asked, true)
    if (passed > 0) view.setUint16(at + 2, epoch, true)
    return asked
  }

  private epoch(): number {
    return Math.floor(this.lookUps / EPOCH) % 65536
  }

  /**
   * Keeps a payload, in place of what was kept for this id; none that is longer than {@link MAX_PAYLOAD}.
   * @param length how long it is at the most
   * @param write writes it from where it is told to, and returns where it ends
   */
  put(id: number, length: number, sum: number, asked: number, write: (out: Region, start: number) => number): void {
    if (length > MAX_PAYLOAD || this.maxBytes === 0) return
    this.delete(id)
    if (this.current < 0 || this.used[this.current]! + sizeOf(length) > SLAB_BYTES) this.next()
    const at = this.used[this.current]!
    const region = this.regions[this.current]!
    const end = write(region, at + HEADER)
    const { view } = region
    view.setInt32(at, end - at - HEADER, true)
    view.setInt32(at + 4, sum, true)
    view.setUint16(at + 8, asked, true)
    view.setUint16(at + 10, this.epoch(), true)
    view.setFloat64(at + 12, id, true)
    this.used[this.current] = at + sizeOf(end - at - HEADER)
    this.addresses.set(id, this.current * WORDS + at / 4)
    this.count(this.current, sizeOf(end - at - HEADER))
  }

  private count(slab: number, bytes: number): void {
    this.live += bytes
    this.liveIn[slab] = this.liveIn[slab]! + bytes
  }

  private delete(id: number): void {
    const address = this.find(id)
    if (address === NOWHERE) return
    this.count(Math.floor(address / WORDS), -sizeOf(this.end(address) - this.start(address)))
    this.addresses.delete(id)
  }

  clear(): void {
    this.regions.length = 0
    this.used.length = 0
    this.liveIn.length = 0
    this.addresses.clear()
    this.current = -1
    this.live = 0
  }

  /** An empty slab; or, in place of the oldest, one with some of what that held: all of it while there is room, else up to half a slab. */
  private next(): void {
    const region = Region.room(SLAB_BYTES)
    if (this.regions.length * SLAB_BYTES < this.maxBytes) {
      this.current = this.regions.push(region) - 1
      this.used.push(0)
      this.liveIn.push(0)
      return
    }
    const all = this.hasRoom(0)
    // Where nothing has to be pushed out, a slab that is full of what can be found is passed over: there is one that is not.
    do this.current = (this.current + 1) % this.regions.length
    while (all && this.liveIn[this.current]! > SLAB_BYTES * (1 - SPARE))
    const { view, bytes } = this.regions[this.current]!
    const end = this.used[this.current]!
    this.regions[this.current] = region
    this.used[this.current] = 0
    for (let at = 0; at < end; ) {
      const length = view.getInt32(at, true)
      const id = view.getFloat64(at + 12, true)
      const from = at + HEADER
      if (this.find(id) === this.current * WORDS + at / 4) {
        this.count(this.current, -sizeOf(length))
        this.addresses.delete(id)
        const asked = view.getUint16(at + 8, true) >>> 1
        if (all || (asked > 0 && this.used[this.current]! + sizeOf(length) <= SLAB_BYTES / 2))
          this.put(id, length, view.getInt32(at + 4, true), asked, (out, to) => {
            out.bytes.set(bytes.subarray(from, from + length), to)
            return to + length
          })
      }
      at += sizeOf(length)
    }
  }
}
