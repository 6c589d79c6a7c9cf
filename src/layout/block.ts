/** Blocks in memory: who keeps them, and their other face. For what a block holds see `shape.ts`. */
import { crc32, Region, SLACK } from '../bytes.ts'
import type { Resource } from '../query.ts'
import type { Finisher, Finishing } from './finisher.ts'
import { MARKED } from './row.ts'
import { sumOf, unseal } from './seal.ts'
import { Texts } from './texts.ts'
import { typedRecord } from './typed.ts'

/** A record: the `at`-th of a block. */
export interface Place<R = any> {
  readonly block: Block<R>
  readonly at: number
}

/** Neighbouring records of a block: the `first`-th to the `last`-th, in descending order if `first` is greater. */
export interface Slice<R = any> {
  readonly block: Block<R>
  readonly first: number
  readonly last: number
}

export const lengthOf = ({ first, last }: Slice): number => Math.abs(last - first) + 1

/** How many records these are. */
export function countOf(slices: readonly Slice[]): number {
  let count = 0
  for (const slice of slices) count += lengthOf(slice)
  return count
}

/** Visits each record, in order. */
export function eachOf<R>(slices: readonly Slice<R>[], visit: (block: Block<R>, at: number) => void): void {
  for (const { block, first, last } of slices) {
    const step = first <= last ? 1 : -1
    for (let at = first; at !== last + step; at += step) visit(block, at)
  }
}

export function placesIn<R>(slices: readonly Slice<R>[]): Place<R>[] {
  const places: Place<R>[] = []
  eachOf(slices, (block, at) => places.push({ block, at }))
  return places
}

/** The weight of a block that shares the bytes of another. */
const TURNED_BYTES = 400

export class Block<R = any> extends Texts<R> {
  /** Asked for so often that whatever is made of it is worth keeping. */
  isHot = false
  /** How many requests there were for its records recently, as far as the cache counts. */
  asked = 0
  /** The value of `asked` when it was last considered whether the block's run is worth gathering. */
  triedAt = 0
  /** Who keeps the block, and under which id. */
  private home: Finishing | undefined
  private homeId = 0
  /** The block of which this is the other face; and the other face of this one, once asked for. */
  private front: Block<R> | undefined
  private back: Block<R> | undefined
  /** Typed records given out so far, before any is kept. */
  reads = 0

  /**
   * A block of its own, of a payload without its seal. What is stored is read by {@link decodeBlock}.
   * @param sum the checksum of its seal, if it has one
   * @throws CORRUPT if the parts do not fit together
   */
  static of<R>(resource: Resource<R>, payload: Uint8Array, key: Uint8Array = payload, sum?: number): Block<R> {
    const { byteOffset, length, buffer } = payload
    // A stored value has its seal behind the payload, so there is nearly always room.
    const region = byteOffset + length + SLACK <= buffer.byteLength ? new Region(payload) : Region.padded(payload)
    return new Block(resource, region, 0, length, key, sum)
  }

  /** All its records, in their order. */
  get records(): Place<R>[] {
    return Array.from({ length: this.count }, (_, at) => ({ block: this, at }))
  }

  /** A checksum of everything in the block and of where it is stored: blocks that differ in either almost certainly differ in it. */
  get sum(): number {
    this.checksum ??= crc32(this.bytes.subarray(this.from, this.to), crc32(this.key)) | 0
    return this.checksum
  }

  /** True if its records were gathered from several blocks. */
  get isGathered(): boolean {
    return (this.flags & MARKED) !== 0
  }

  /** A number that goes with the text of a record: if it differs, the text may differ. */
  mark(at: number): number {
    if (!this.isGathered) return this.sum ^ Math.imul(at + 1, 0x9e3779b1)
    const mark = this.region.view.getInt32(this.to - 4 * (this.count - at), true)
    return this.face === 0 ? mark : ~mark
  }

  /** Sets who keeps the block, and under which id. @internal */
  keptBy(home: Finishing, id: number): this {
    this.home = home
    this.homeId = id
    return this
  }

  /**
   * The same records with texts finished by `finisher`, if they are at hand, or if whoever keeps the block finds it worthwhile by now to have all of
   * them finished.
   */
  finishedBy(finisher: Finisher): Block<R> | undefined {
    if (this.finisher === finisher.id) return this
    if (this.front) return this.front.finishedBy(finisher)?.turned()
    return this.home?.finish(this.homeId, this, finisher)
  }

  /** The typed record, frozen, and possibly shared with other readers. */
  record(at: number): R {
    return typedRecord(this, at)
  }

  /** The same records with their other face, and with side columns exchanged; made without copying. */
  turned(): Block<R> {
    if (this.front) return this.front
    if (this.back === undefined) {
      this.back = this.makeTurned()
      this.grow(TURNED_BYTES)
    }
    return this.back
  }

  private makeTurned(): Block<R> {
    const turned = new Block(this.resource, this.region, this.from, this.to, this.place, ~this.sum)
    turned.face = 1
    turned.front = this
    turned.weight = TURNED_BYTES
    // What the turned block holds is charged to the stored one, if that is kept.
    if (this.keeper) turned.keeper = this
    return turned
  }
}

/** @throws CORRUPT */
export const decodeBlock = <R>(key: Uint8Array, resource: Resource<R>, value: Uint8Array): Block<R> =>
  Block.of(resource, unseal(key, value), key, sumOf(value))
