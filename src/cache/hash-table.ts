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

export interface Found {
  /** The tag of the log. */
  readonly log: number
  readonly ordinal: number
}

export class Hashes {
  /** How many sets there may be. */
  private readonly most: number
  /** How many there are: more whenever an entry would have to be evicted, until there are as many as there may be. */
  private sets = 0
  private table = new Int32Array(0)
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
    if (this.table.length === 0) return undefined
    const [first, second] = [beginning(hash, 0), beginning(hash, 8)]
    const { table } = this
    const set = this.set(first)
    for (let at = set; at < set + SET; at += ENTRY) {
      if (table[at] !== first || table[at + 1] !== second || isEmpty(table, at)) continue
      const entry = (table[at + 3]! >>> 0) * HALF + (table[at + 2]! >>> 0) - 1
      return { log: entry % TAGS, ordinal: Math.floor(entry / TAGS) }
    }
    return undefined
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
    if (this.sets === 0) this.allocate(Math.min(FIRST_SETS, this.most))
    const entry = ordinal * TAGS + log + 1
    this.enter(first, second, (entry % HALF) | 0, Math.floor(entry / HALF))
  }

  private enter(first: number, second: number, low: number, high: number): void {
    const { table } = this
    const set = this.set(first)
    let at = set
    while (at < set + SET && !(table[at] === first && table[at + 1] === second) && !isEmpty(table, at)) at += ENTRY
    if (at === set + SET) {
      if (this.sets < this.most) {
        this.allocate(Math.min(this.most, this.sets * GROWTH))
        this.enter(first, second, low, high)
        return
      }
      at = set + ENTRY * (this.turn++ % WAYS)
    }
    table[at] = first
    table[at + 1] = second
    table[at + 2] = low
    table[at + 3] = high
  }

  /** A table of so many sets, with the entries of the present one. */
  private allocate(sets: number): void {
    const { table } = this
    this.sets = sets
    this.table = new Int32Array(sets * SET)
    for (let at = 0; at < table.length; at += ENTRY)
      if (!isEmpty(table, at)) this.enter(table[at]!, table[at + 1]!, table[at + 2]!, table[at + 3]!)
  }

  private set(first: number): number {
    return (first & (this.sets - 1)) * SET
  }

  clear(): void {
    this.table = new Int32Array(0)
    this.sets = 0
  }
}

const isEmpty = (table: Int32Array, at: number): boolean => table[at + 2] === 0 && table[at + 3] === 0

/** Eight hexadecimal digits as a signed number. */
const beginning = (hash: string, from: number): number => Number.parseInt(hash.substring(from, from + 8), 16) | 0

function inBytes(bytes: Uint8Array, from: number): number {
  let value = 0
  for (let at = from; at < from + 8; at++) value = (value << 4) | nibble(bytes[at]!)
  return value
}
