/** What blocks are made of: the rows that go in, and the numbers of the format that writer and reader share. The pictures are in `src/README.md`. */

import type { Position } from '../position.ts'
import type { Apart } from '../text/apart.ts'

/** One record on its way into a block. */
export interface Row extends Position {
  /** JSON members without braces, taken apart; a second text if the record has two faces. */
  readonly texts: readonly Apart[]
  readonly sides: readonly string[]
  readonly exact: boolean
}

/** True for an offer's removal, which has no text. */
export const isEmpty = (row: Row): boolean => row.texts[0]!.length === 0

/**
 * Set in the number of a frame: the text holds numbers that `JSON.parse` would change; all values in its holes are ASCII, without backslash or quote.
 */
export const EXACT = 0x8000
export const SIMPLE = 0x4000
export const FRAME = 0x3fff
/** The same in finished blocks, whose frames have smaller numbers: the column that says which way the record faces is less than its counterpart. */
export const LESSER = 0x2000
export const INDEXED = 2
export const TWO_FACED = 4
export const WIDE = 8
/** Never stored: bodies are texts, finished for whoever sends them. */
export const FINISHED = 16
/** Only in finished blocks that were gathered from several blocks: holds the marks that the records have there. */
export const MARKED = 32

export const MAX_LITERAL = 199
export const STRING = 200
export const MAX_STRINGS = 32 * 256
export const LITERAL = 232
export const ID = 233
export const INDEXED_ID = 234
export const LEDGER = 235
/** Shorter values are not worth storing as a string of their own. */
export const MIN_SHARED = 4
export const FIXED = 8
export const FINISHED_FIXED = 20
/** How many numbers a finished text has in the table. */
export const COLUMNS = 5

/** How many bytes a number in the tables of a block takes: four if the block is {@link WIDE}. */
export type Width = 2 | 4

/** Writes a number of a table; returns where it ends. */
export function putNumber(view: DataView, width: Width, at: number, value: number): number {
  if (width === 4) view.setUint32(at, value, true)
  else view.setUint16(at, value, true)
  return at + width
}
