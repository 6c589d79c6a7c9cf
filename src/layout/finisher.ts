/**
 * Finished texts: what a service sends of each record, made once for a whole block and kept in place of the stored texts. What stands around
 * a stored text (links, a brace, a comma) is the affair of who finishes it; here it is bytes.
 */
import { Region } from '../bytes.ts'
import type { Block, Place } from './block.ts'

/** Finished texts, one behind the other. */
export interface Finished {
  /** The number of who made them. */
  readonly by: number
  /** The texts, and how many bytes they have together: what lies behind those is of no account. */
  readonly bytes: Uint8Array
  readonly length: number
  /** Of each text: how much stands before the stored text, and where the finished one ends. */
  readonly leads: readonly number[]
  readonly ends: readonly number[]
}

export interface Finisher {
  /** Tells apart who finished a text: 1 to 2^32 − 1; 0 while nothing is to be finished by it. */
  readonly id: number
  /** The finished texts of records of one log, as they face there; good until the next call. */
  finish(records: readonly Place[]): Finished
}

/** Who keeps blocks, and decides when one is finished. */
export interface Finishing {
  /** @param id what the block is kept as */
  finish(id: number, block: Block<any>, finisher: Finisher): Block<any> | undefined
}

/** How often each record of a block was asked for of late, taken together, before it is finished anew for somebody else. */
export const FINISHED_ANEW_AT = 4

let scratch = new Region(new Uint8Array(0))

/** For those who send nothing: texts as they are stored. */
export const plain: Finisher = {
  id: 2 ** 32 - 1,
  finish(records) {
    const length = records.reduce((sum, { block, at }) => sum + block.textBytes(at), 0)
    if (scratch.bytes.length < length) scratch = Region.room(2 * length)
    let end = 0
    const ends = records.map(({ block, at }) => (end = block.write(at, scratch, end)))
    return { by: plain.id, bytes: scratch.bytes, length, leads: ends.map(() => 0), ends }
  },
}
