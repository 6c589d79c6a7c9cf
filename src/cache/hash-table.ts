/**
 * Where transactions lie by hash, as far as blocks read and ledgers written have shown: a table that grows to a fixed size.
 *
 * Each set has four entries, one cache line; if a set is full, one of them is evicted. Of a hash the first 64 bits are kept: whoever looks one up
 * compares the hash of the record found.
 */

import { nibble } from '../bytes.ts'
import { firstOfBlock } from '../layout/ordinals.ts'
import type { Shape } from '../layout/shape.ts'
import type { Resource } from '../query.ts'
import { TAGS } from './addresses.ts'

/** Numbers of four bytes: two of the hash, then the ordinal × {@link TAGS} + the log, plus 1, in two halves. */
const ENTRY = 4
const WAYS = 4
const SET = ENTRY * WAYS
const SET_BYTES = 4 * SET
const HALF = 2 ** 32
/** 256 MiB, for 16 million transactions. */
const MOST_SETS = 2 ** 22
/** 64 KiB at first: if every ledger that is opened had a table as large as it may become, small ones would take six times as long. */
const FIRST_SETS = 2 ** 10
const GROWTH = 8
/** How many places of the smaller table are moved with each entry: all at once would touch megabytes of fresh memory in one turn. */
const MOVED = 16
const none = new Int32Array(0)

export interface Found {
  /** The tag of the log. */
  readonly log: number
  readonly ordinal: number
}

export class Hashes {
  /** How many sets there may be. */
  private readonly most: number
  /** It grows whenever an entry would have to be evicted, until it is as large as it may be. */
  private table = none
  /** The table before it had grown, of which what lies before `moved` has been moved. */
  private older = none
  private moved = 0
  /** How often an entry was evicted: determines the next one. */
  private turn = 0

  constructor(maxBytes: number) {
    this.most = maxBytes < SET_BYTES ? 0 : Math.min(MOST_SETS, 2 ** Math.floor(Math.log2(maxBytes / SET_BYTES)))
  }

  /** The most that the table takes. */
  get maxBytes(): number {
    return this.most * SET_BYTES
  }

  /** The place of a record whose hash may be this one. */
  get(hash: string): Found | undefined {
    if (this.table === none) return undefined
    const [first, second] = [beginning(hash, 0), beginning(hash, 8)]
    return foundIn(this.table, first, second) ?? (this.older === none ? undefined : foundIn(this.older, first, second))
  }

  add(hash: string, { log, ordinal }: Found): void {
    this.put(beginning(hash, 0), beginning(hash, 8), log, ordinal)
  }

  /** Remembers all records of a block, if they have hashes. */
  learn(resource: Resource, number: number, block: Shape<any>): void {
    const { hashColumn, tag } = resource
    if (hashColumn === undefined) return
    const { bytes } = block.region
    const first = firstOfBlock(resource, number)
    for (let at = 0; at < block.count; at++) {
      if (block.sideLength(at, hashColumn) < 16) continue
      const start = block.sideStart(at, hashColumn)
      this.put(inBytes(bytes, start), inBytes(bytes, start + 8), tag, first + at)
    }
  }

  private put(first: number, second: number, log: number, ordinal: number): void {
    if (this.most === 0) return
    if (this.table === none) this.grow(Math.min(FIRST_SETS, this.most))
    if (this.older !== none) this.move(MOVED)
    let at = placeIn(this.table, first, second)
    const sets = this.table.length / SET
    if (at < 0 && sets < this.most) {
      this.move(this.older.length)
      this.grow(Math.min(this.most, sets * GROWTH))
      at = placeIn(this.table, first, second)
    }
    if (at < 0) at = setOf(this.table, first) + ENTRY * (this.turn++ % WAYS)
    const entry = ordinal * TAGS + log + 1
    write(this.table, at, first, second, (entry % HALF) | 0, Math.floor(entry / HALF))
  }

  private grow(sets: number): void {
    this.older = this.table
    this.moved = 0
    this.table = new Int32Array(sets * SET)
  }

  /** Moves what lies in so many places of the smaller table, unless newer entries have taken its place. */
  private move(places: number): void {
    const { older } = this
    const end = Math.min(older.length, this.moved + places * ENTRY)
    for (let at = this.moved; at < end; at += ENTRY) {
      if (isEmpty(older, at)) continue
      const to = placeIn(this.table, older[at]!, older[at + 1]!)
      if (to >= 0 && isEmpty(this.table, to)) write(this.table, to, older[at]!, older[at + 1]!, older[at + 2]!, older[at + 3]!)
    }
    this.moved = end
    if (end === older.length) this.older = none
  }

  clear(): void {
    this.table = none
    this.older = none
  }
}

function write(table: Int32Array, at: number, first: number, second: number, low: number, high: number): void {
  table[at] = first
  table[at + 1] = second
  table[at + 2] = low
  table[at + 3] = high
}

const isEmpty = (table: Int32Array, at: number): boolean => table[at + 2] === 0 && table[at + 3] === 0
const setOf = (table: Int32Array, first: number): number => (first & (table.length / SET - 1)) * SET

/** Where an entry lies in its set, or may lie; −1 if others fill it. */
function placeIn(table: Int32Array, first: number, second: number): number {
  const set = setOf(table, first)
  for (let at = set; at < set + SET; at += ENTRY) if ((table[at] === first && table[at + 1] === second) || isEmpty(table, at)) return at
  return -1
}

function foundIn(table: Int32Array, first: number, second: number): Found | undefined {
  const at = placeIn(table, first, second)
  if (at < 0 || isEmpty(table, at)) return undefined
  const entry = (table[at + 3]! >>> 0) * HALF + (table[at + 2]! >>> 0) - 1
  return { log: entry % TAGS, ordinal: Math.floor(entry / TAGS) }
}

/** Eight hexadecimal digits as a signed number. */
const beginning = (hash: string, from: number): number => Number.parseInt(hash.substring(from, from + 8), 16) | 0

function inBytes(bytes: Uint8Array, from: number): number {
  let value = 0
  for (let at = from; at < from + 8; at++) value = (value << 4) | nibble(bytes[at]!)
  return value
}
