/** Blocks: what becomes of them in memory: who keeps them, their other face. Their picture is in `shape.ts`. */
import { crc32, i32, Region, SLACK } from '../bytes.ts'
import type { Resource } from '../query.ts'
import type { Finisher, Finishing } from './finisher.ts'
import { MARKED } from './row.ts'
import { Texts } from './texts.ts'
import { typedRecord } from './typed.ts'

/** A record: the `at`-th of a block. */
export interface Place<R = any> {
  readonly block: Block<R>
  readonly at: number
}

/** What a block weighs that shares the bytes of another. */
const TURNED_BYTES = 400

export class Block<R = any> extends Texts<R> {
  /** Asked for so often that whatever is made of it is worth keeping. */
  isHot = false
  /** How many records of it were asked for of late, as far as the cache counts. */
  asked = 0
  /** How many that were when it was last looked into whether its run is worth gathering. */
  triedAt = 0
  /** Where it is kept, and as what. */
  private home: Finishing | undefined
  private homeId = 0
  /** The block that this one is the other face of; and the other face of this one, once it was asked for. */
  private front: Block<R> | undefined
  private back: Block<R> | undefined
  /** Typed records given so far, before any is kept. */
  reads = 0

  /**
   * A block of its own.
   * @param sum the checksum of its seal, where it has one
   * @throws CORRUPT where the parts do not fit each other
   */
  static of<R>(resource: Resource<R>, payload: Uint8Array, key: Uint8Array = payload, sum?: number): Block<R> {
    const { byteOffset, length, buffer } = payload
    // A stored value has its seal behind the payload, so there is room nearly always.
    const region = byteOffset + length + SLACK <= buffer.byteLength ? new Region(payload) : Region.padded(payload)
    return new Block(resource, region, 0, length, key, sum)
  }

  /** All its records, in their order. */
  get records(): Place<R>[] {
    return Array.from({ length: this.count }, (_, at) => ({ block: this, at }))
  }

  /** A checksum of all that the block holds, and of where it is kept: blocks that differ in either differ in it, all but surely. */
  get sum(): number {
    this.checksum ??= crc32(this.bytes.subarray(this.from, this.to), crc32(this.key)) | 0
    return this.checksum
  }

  /** True where its records were gathered from several blocks. */
  get isGathered(): boolean {
    return (this.flags & MARKED) !== 0
  }

  /** A number that goes with the text of a record: where it is another, the text may be another. */
  mark(at: number): number {
    if (!this.isGathered) return this.sum ^ Math.imul(at + 1, 0x9e3779b1)
    const mark = i32(this.bytes, this.to - 4 * (this.count - at))
    return this.face === 0 ? mark : ~mark
  }

  /** Says who keeps it, and as what. */
  keptBy(home: Finishing, id: number): this {
    this.home = home
    this.homeId = id
    return this
  }

  /**
   * The same records with texts that `finisher` finished, where they are at hand, or whoever keeps the block finds by now that it is worth while
   * to have all of them finished.
   */
  finishedBy(finisher: Finisher): Block<R> | undefined {
    if (this.finisher === finisher.id) return this
    if (this.front) return this.front.finishedBy(finisher)?.turned()
    return this.home?.finish(this.homeId, this, finisher)
  }

  /** The typed record, frozen, and perhaps shared with other readers. */
  record(at: number): R {
    return typedRecord(this, at)
  }

  /** The same records with their other face, and side columns exchanged; made without copying. */
  turned(): Block<R> {
    if (this.front) return this.front
    if (this.back === undefined) {
      this.back = this.makeTurned()
      this.grow(TURNED_BYTES)
    }
    return this.back
  }

  /** The other face of this one. */
  private makeTurned(): Block<R> {
    const turned = new Block(this.resource, this.region, this.from, this.to, this.place, ~this.sum)
    turned.face = 1
    turned.front = this
    turned.weight = TURNED_BYTES
    // What hangs on the turned block hangs on the stored one, if that is kept.
    if (this.grew) turned.grew = (bytes) => this.grow(bytes)
    return turned
  }
}
