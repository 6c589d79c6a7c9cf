/**
 * Values of blocks side by side in few large pieces of memory, found by number. As separate objects they would cost the garbage collector more
 * than everything else that a page does, and most of old history is read too seldom to be worth more than its bytes.
 * `src/README.md` has a picture of one; the next one begins at a multiple of four.
 *
 * Slabs are filled one after another. When there are as many as there may be, one is given up, and what is worth keeping of it is written once
 * more: fresh memory costs more than writing to it, so that is little. The first slab begins short, and moves when it is full: a small ledger is
 * opened in less time than a slab takes. **Invariant:** bytes that were handed out are never overwritten: a slab that was given up lives as long as
 * anyone reads it.
 */
import { Region } from '../bytes.ts'
import { COLUMNS, FINISHED_FIXED } from '../layout/row.ts'
import { MAX_LIMIT } from '../params.ts'
import { canBeFound, NOWHERE } from './addresses.ts'
import { Whereabouts } from './whereabouts.ts'

/** The length of a slab; in large caches up to eight times as long, since each slab is some objects that every look-up in it needs. */
export const SLAB_BYTES = 2 ** 20
const MOST = { times: 8, slabs: 256 }
const HEADER = 20
/** An address is a number of four bytes, counted over all slabs: a small integer. */
const MAX_BYTES = 2 ** 33 - 2 ** 24
/** Earlier requests count half each time every value could have been looked up `each` times, and at least `least` look-ups have passed. */
const HALVE_AFTER = { each: 8, least: 2 ** 16 }
const MAX_ASKED = 0xffff
/** Longer values would leave too much of a slab empty. */
const LONGEST = SLAB_BYTES / 8
export const MAX_PAYLOAD = LONGEST - HEADER - 4
/** The length of the first slab at first, with room for any value, and how many times as long it becomes when it is full. */
const FIRST_BYTES = 2 * LONGEST
const GROWTH = 8
/** The least share of the room that is left to dead values, so that rewriting a slab gains something. */
const SPARE = 1 / 16

/** The index of the least number of a list. */
function leastOf(list: readonly number[]): number {
  let least = 0
  for (let i = 1; i < list.length; i++) if (list[i]! < list[least]!) least = i
  return least
}

/** A row in the table of a finished block with numbers of two bytes. */
const ROW_BYTES = 2 * COLUMNS

/** Bytes that a payload takes. */
const sizeOf = (length: number): number => (HEADER + length + 3) & ~3

export class Slabs {
  /** The most that the slabs hold together. */
  readonly maxBytes: number
  private readonly slabBytes: number
  /** How much live values may take: so far below the total that the slab with the fewest of them has room for one more, however long. */
  private readonly roomBytes: number
  /** By how many bits an address is shifted to give the number of its slab. */
  private readonly bits: number
  private readonly regions: Region[] = []
  /** How many bytes of each slab are filled, and how many belong to live values. */
  private readonly used: number[] = []
  private readonly liveIn: number[] = []
  /** When each slab was begun, as a count. */
  private readonly begun: number[] = []
  private slabsBegun = 0
  private readonly where: Whereabouts
  private readonly left: (id: number, region: Region) => void
  /** What was prefetched, folded: kept so that no compiler removes those reads. */
  touched = 0
  /** The slab that is being filled. */
  private current = -1
  /** Bytes of all live values. */
  private live = 0
  private lookUps = 0
  /** How often the counts of requests were halved. */
  private halvings = 0

  /**
   * @param where keeps the addresses
   * @param left called with every value, live or not, that lies in a slab that is given up, or moves
   */
  constructor(maxBytes: number, where = new Whereabouts(), left: (id: number, region: Region) => void = () => {}) {
    this.where = where
    this.left = left
    let times = 1
    while (times < MOST.times && maxBytes > MOST.slabs * times * SLAB_BYTES) times *= 2
    this.slabBytes = times * SLAB_BYTES
    this.bits = Math.log2(this.slabBytes / 4)
    this.maxBytes = Math.floor(Math.min(MAX_BYTES, maxBytes) / this.slabBytes) * this.slabBytes
    this.roomBytes = this.maxBytes * (1 - Math.max(SPARE, LONGEST / this.slabBytes))
  }

  /** True as long as this many more bytes push nothing out. */
  hasRoom(bytes: number): boolean {
    return this.live + bytes <= this.roomBytes
  }

  /** The address of a value, or {@link NOWHERE}; valid until the next value is put. */
  find(id: number): number {
    return this.where.find(id)
  }

  /**
   * Touches what a look-up of each record begins with, in a loop so short that the cache misses overlap; one after another, they would take most of
   * the time of scattered records.
   * @param found the addresses of the blocks that hold them; negative ones are skipped
   * @param within the bits of an ordinal that say which record of a block it is
   */
  readAhead(found: Int32Array, ordinals: readonly number[], within: number): void {
    if (this.current < 0) return
    const count = Math.min(ordinals.length, MAX_LIMIT)
    const { regions, bits } = this
    const inside = 2 ** bits - 1
    const last = this.roomIn(0) - 1
    let touched = 0
    for (let i = 0; i < count; i++) {
      const address = found[i]!
      if (address < 0) continue
      const { bytes } = regions[address >>> bits]!
      const start = (address & inside) * 4
      const row = start + HEADER + FINISHED_FIXED + ROW_BYTES * (ordinals[i]! & within)
      touched ^= bytes[start]! ^ bytes[start + HEADER]! ^ bytes[Math.min(row, last)]!
    }
    this.touched = touched
  }

  /** How many bytes a slab has room for. If there are several, all have the same. */
  private roomIn(slab: number): number {
    return this.regions[slab]!.bytes.length
  }

  region(address: number): Region {
    return this.regions[address >>> this.bits]!
  }

  /** Where in its region a payload begins. */
  start(address: number): number {
    return (address & ((1 << this.bits) - 1)) * 4 + HEADER
  }

  /** Where it ends. */
  end(address: number): number {
    const start = this.start(address)
    return start + this.region(address).view.getInt32(start - HEADER, true)
  }

  sum(address: number): number {
    return this.region(address).view.getInt32(this.start(address) - HEADER + 4, true)
  }

  /** Counts requests for this many records of a value; returns the recent total, including these. */
  ask(address: number, records: number): number {
    const { view } = this.region(address)
    const at = this.start(address) - HEADER + 8
    this.tick()
    const { halvings } = this
    const passed = (halvings - view.getUint16(at + 2, true) + 65536) % 65536
    const asked = Math.min(MAX_ASKED, (view.getUint16(at, true) >>> Math.min(passed, 16)) + records)
    view.setUint16(at, asked, true)
    if (passed > 0) view.setUint16(at + 2, halvings, true)
    return asked
  }

  /** Resets a value's count of requests. */
  forgive(address: number): void {
    this.region(address).view.setUint16(this.start(address) - HEADER + 8, 0, true)
  }

  private tick(): void {
    if (++this.lookUps < Math.max(HALVE_AFTER.least, HALVE_AFTER.each * this.where.size)) return
    this.lookUps = 0
    this.halvings = (this.halvings + 1) % 65536
  }

  /**
   * Keeps a payload, replacing what was kept for this id; none that is longer than {@link MAX_PAYLOAD}.
   * @param length its greatest possible length
   * @param write writes it from the given place on, and returns where it ends
   */
  put(id: number, length: number, sum: number, asked: number, write: (out: Region, start: number) => number): void {
    if (length > MAX_PAYLOAD || this.maxBytes === 0 || !canBeFound(id)) return
    this.delete(id)
    if (this.current < 0 || this.used[this.current]! + sizeOf(length) > this.roomIn(this.current)) this.makeRoom()
    const at = this.used[this.current]!
    const region = this.regions[this.current]!
    const end = write(region, at + HEADER)
    const { view } = region
    view.setInt32(at, end - at - HEADER, true)
    view.setInt32(at + 4, sum, true)
    view.setUint16(at + 8, asked, true)
    view.setUint16(at + 10, this.halvings, true)
    view.setFloat64(at + 12, id, true)
    this.used[this.current] = at + sizeOf(end - at - HEADER)
    this.where.set(id, this.address(at))
    this.count(this.current, sizeOf(end - at - HEADER))
  }

  private count(slab: number, bytes: number): void {
    this.live += bytes
    this.liveIn[slab] = this.liveIn[slab]! + bytes
  }

  /** The address of a place in the slab being filled. */
  private address(at: number): number {
    return (this.current << this.bits) | (at / 4)
  }

  /** Forgets a value. */
  private delete(id: number): void {
    const address = this.find(id)
    if (address === NOWHERE) return
    this.count(address >>> this.bits, -sizeOf(this.end(address) - this.start(address)))
    this.where.delete(id)
  }

  /** Forgets every value, and with them where any block is. */
  clear(): void {
    this.where.clear()
    this.regions.length = 0
    this.used.length = 0
    this.liveIn.length = 0
    this.begun.length = 0
    this.current = -1
    this.live = 0
  }

  /** Makes room for any value: a slab that is longer, one more, or an old one without what is not worth keeping. */
  private makeRoom(): void {
    if (this.current < 0) this.begin(FIRST_BYTES)
    else if (this.roomIn(this.current) < this.slabBytes) this.grow()
    else if (this.regions.length * this.slabBytes < this.maxBytes) this.begin(this.slabBytes)
    else this.refill()
  }

  /**
   * Begins a slab in place of another: while there is room, of the one with the fewest live bytes, keeping all of those; otherwise of the oldest,
   * keeping up to half a slab.
   */
  private refill(): void {
    const region = Region.room(this.slabBytes)
    const all = this.hasRoom(0)
    this.current = leastOf(all ? this.liveIn : this.begun)
    const old = this.regions[this.current]!
    const found = this.leave(old)
    this.regions[this.current] = region
    this.used[this.current] = 0
    this.begun[this.current] = ++this.slabsBegun
    for (const at of found) {
      const length = old.view.getInt32(at, true)
      const asked = old.view.getUint16(at + 8, true) >>> 1
      if (!all && (asked === 0 || this.used[this.current]! + sizeOf(length) > this.slabBytes / 2)) continue
      const from = at + HEADER
      this.put(old.view.getFloat64(at + 12, true), length, old.view.getInt32(at + 4, true), asked, (out, to) => {
        out.bytes.set(old.bytes.subarray(from, from + length), to)
        return to + length
      })
    }
  }

  private begin(bytes: number): void {
    this.current = this.regions.push(Region.room(bytes)) - 1
    this.used.push(0)
    this.liveIn.push(0)
    this.begun.push(++this.slabsBegun)
  }

  /** Moves the first slab to where it can be longer; addresses stay as they are. */
  private grow(): void {
    const old = this.regions[this.current]!
    const region = Region.room(Math.min(GROWTH * this.roomIn(this.current), this.slabBytes))
    region.bytes.set(old.bytes.subarray(0, this.used[this.current]!))
    for (const at of this.valuesIn(old)) this.left(old.view.getFloat64(at + 12, true), old)
    this.regions[this.current] = region
  }

  /** Forgets all live values in the slab that is to be refilled; returns where in it they were. */
  private leave(region: Region): number[] {
    const { view } = region
    const found: number[] = []
    for (const at of this.valuesIn(region)) {
      const id = view.getFloat64(at + 12, true)
      this.left(id, region)
      if (this.find(id) !== this.address(at)) continue
      found.push(at)
      this.where.delete(id)
      this.count(this.current, -sizeOf(view.getInt32(at, true)))
    }
    return found
  }

  /** Where in the slab being filled each value is, live or not. */
  private *valuesIn({ view }: Region): Generator<number> {
    const end = this.used[this.current]!
    for (let at = 0; at < end; at += sizeOf(view.getInt32(at, true))) yield at
  }
}
