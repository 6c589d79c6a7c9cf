/**
 * Finished texts: what a service sends of each record, made once for a whole block and kept in place of the stored texts. What stands around
 * a stored text (links, a brace, a comma) is the affair of who finishes it; here it is bytes.
 */
import type { Block, Place } from './block.ts'

/** The finished texts of records, one behind the other; where records have two faces, those of the face that is shown of all, then those of the other. */
export interface Finished {
  /** The number of who made them. */
  readonly by: number
  readonly faces: number
  /** The texts, and how many bytes they have together: what lies behind those is of no account. */
  readonly bytes: Uint8Array
  readonly length: number
  /** Of each text: how much stands before the stored text, and where the finished one ends. */
  readonly leads: readonly number[]
  readonly ends: readonly number[]
}

export interface Finisher {
  /** Tells apart who finished a text: 1 to 2^32 − 1. */
  readonly id: number
  /** The finished texts of records of one log, good until the next call. */
  finish(records: readonly Place[]): Finished
}

/** Who keeps blocks, and decides when one is finished. */
export interface Finishing {
  /** @param id what the block is kept as */
  finish(id: number, block: Block<any>, finisher: Finisher): Block<any> | undefined
}
