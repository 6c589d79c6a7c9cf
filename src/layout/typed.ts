/** Typed records of blocks. Decoding one takes several times as long as finding it, so those that are read over and over are kept. */
import { frozen, parseForReading } from '../json.ts'
import type { OpenRecord, Source } from '../query.ts'
import type { Block } from './block.ts'

/** Under this, the records of a block that were kept. */
const RECORDS = Symbol('records')
/** The records of a block are kept once each was read so often, as far as one can tell by their number. */
const KEPT_AFTER = 6
/** About what a record takes as an object, beside a byte a character, as measured. */
const OBJECT_BYTES = 100

/** @param exact where the text holds numbers that `JSON.parse` would change */
export const parseRecord = (json: string, exact: boolean): OpenRecord => (exact ? parseForReading(json) : JSON.parse(json)) as OpenRecord

/** A record, frozen: of a block in the cache that is read over and over, every reader is given the same one. */
export function typedRecord<R>(block: Block<R>, at: number): R {
  const kept = block.attached<(R | undefined)[]>(RECORDS) ?? begin(block)
  const held = kept?.[at]
  if (held !== undefined) return held
  const made = block.made(at)
  const source = new Stored(block, at)
  const record = made
    ? Object.freeze(block.resource.decode(made, source))
    : frozen(block.resource.decode(parseRecord(source.text, block.isExact(at)), source))
  if (kept) {
    kept[at] = record
    block.grow(block.textBytes(at) + OBJECT_BYTES)
  }
  return record
}

/** What a record is decoded from, besides its members: looked at by few. */
class Stored<R> implements Source {
  private readonly block: Block<R>
  private readonly at: number
  constructor(block: Block<R>, at: number) {
    this.block = block
    this.at = at
  }
  get id(): bigint {
    return this.block.id(this.at)
  }
  get text(): string {
    return this.block.json(this.at)
  }
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
