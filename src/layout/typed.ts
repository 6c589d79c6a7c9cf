/** Typed records of blocks. Decoding one takes several times as long as finding it, so those that are read over and over are kept. */
import { frozen, parseForReading } from '../json.ts'
import type { OpenRecord, StoredSource } from '../query.ts'
import type { Block } from './block.ts'

/** The key under which the kept records of a block are attached. */
const RECORDS = Symbol('records')
/** The records of a block are kept once each was read this often, judging by the total. */
const KEPT_AFTER = 6
/** The approximate size of a record as an object, in addition to a byte per character, as measured. */
const OBJECT_BYTES = 100

/** @param exact true if the text holds numbers that `JSON.parse` would change */
export const parseRecord = (json: string, exact: boolean): OpenRecord => (exact ? parseForReading(json) : JSON.parse(json)) as OpenRecord

/** A record, frozen: if its block is in the cache and read over and over, all readers are given the same one. */
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

/** What a record is decoded from, besides its members; few resources look at it. */
class Stored<R> implements StoredSource {
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

/** Room for the records of a block, once so many were read that each can be expected to be read again. Only blocks in the cache live on. */
function begin<R>(block: Block<R>): (R | undefined)[] | undefined {
  if (block.keeper === undefined || (!block.isHot && ++block.reads <= KEPT_AFTER * block.count)) return undefined
  return block.attach<(R | undefined)[]>(
    RECORDS,
    () => Array(block.count).fill(undefined),
    (kept) => 8 * kept.length + 64,
  )
}
