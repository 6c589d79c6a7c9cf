/** Typed records of blocks. Decoding one takes several times as long as finding it, so those that are read over and over are kept. */
import { frozen, parseForReading } from '../json.ts'
import type { OpenRecord } from '../query.ts'
import type { Block } from './block.ts'

/** Under this, the records of a block that were kept. */
const RECORDS = Symbol('records')
/** The records of a block are kept once each was read so often, as far as one can tell by their number. */
const KEPT_AFTER = 6
/** About what a record takes as an object, as measured: a byte a character, and what holds them. */
const weight = (json: string): number => json.length + 100

/** @param exact where the text holds numbers that `JSON.parse` would change */
export const parseRecord = (json: string, exact: boolean): OpenRecord => (exact ? parseForReading(json) : JSON.parse(json)) as OpenRecord

/** A record, frozen: of a block in the cache that is read over and over, every reader is given the same one. */
export function typedRecord<R>(block: Block<R>, at: number): R {
  const kept = block.attached<(R | undefined)[]>(RECORDS) ?? begin(block)
  const held = kept?.[at]
  if (held !== undefined) return held
  const json = block.json(at)
  const record = frozen(block.resource.decode(parseRecord(json, block.isExact(at)), block.id(at), json))
  if (kept) {
    kept[at] = record
    block.grow(weight(json))
  }
  return record
}

/** Room for the records of a block, once so many were read that another reading of each is to be expected. Only blocks of the cache live on. */
function begin<R>(block: Block<R>): (R | undefined)[] | undefined {
  if (block.grew === undefined || (!block.isHot && ++block.reads <= KEPT_AFTER * block.count)) return undefined
  return block.attach<(R | undefined)[]>(
    RECORDS,
    () => Array(block.count).fill(undefined),
    (kept) => 8 * kept.length + 64,
  )
}
