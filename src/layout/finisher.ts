/**
 * Finished texts: what a service sends for each record, made once for a whole block and kept in place of the stored texts. What surrounds a stored
 * text (links, a brace, a comma) is the business of the finisher; here it is just bytes.
 */
import { Region } from '../bytes.ts'
import type { Block, Place } from './block.ts'

/** Finished texts, one after another. */
export interface Finished {
  /** The id of the finisher that made them. */
  readonly by: number
  /** The texts, and how many bytes they have together: anything after that is ignored. */
  readonly bytes: Uint8Array
  readonly length: number
  /** For each text: how many bytes precede the stored text, and where the finished one ends. */
  readonly leads: readonly number[]
  readonly ends: readonly number[]
}

export interface Finisher {
  /** Tells finishers apart: 1 to 2^32 − 1; 0 while this one is not to finish anything. */
  readonly id: number
  /** The finished texts of records of one log, with the faces given; valid until the next call. */
  finish(records: readonly Place[]): Finished
}

/** Whoever keeps blocks, and decides when one is finished. */
export interface Finishing {
  /** @param id the id under which the block is kept */
  finish(id: number, block: Block<any>, finisher: Finisher): Block<any> | undefined
}

/** How often each record of a block must have been asked for recently, on average, before the block is finished again for another finisher. */
export const FINISHED_ANEW_AT = 4

let scratch = new Region(new Uint8Array(0))

/** For those who send nothing: texts as stored. */
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
