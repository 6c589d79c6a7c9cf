/** Blocks: what they become in memory: kept, finished, turned. Their picture is in `shape.ts`. */
import { crc32, Region, SLACK } from '../bytes.ts'
import type { Resource } from '../query.ts'
import type { Finished, Finisher, Finishing } from './finisher.ts'
import { COLUMNS, FINISHED, FINISHED_FIXED, FIXED, FRAME, INDEXED, LESSER, WIDE } from './row.ts'
import { u16 } from './shape.ts'
import { Texts } from './texts.ts'
import { typedRecord } from './typed.ts'

/** What a block weighs that shares the bytes of another. */
const TURNED_BYTES = 400

export class Block<R = any> extends Texts<R> {
  /** Asked for so often that whatever is made of it is worth keeping. */
  isHot = false
  /** How many records of it were asked for of late, as far as the cache counts. */
  asked = 0
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

  /** The same block in memory of its own, with texts that were finished; known to be worth keeping what is made of it. */
  kept(texts: Finished): Block<R> {
    const region = Region.room(this.finishedBytes(texts))
    const end = this.writeFinished(region, 0, texts)
    const block = new Block(this.resource, region, 0, end, this.place, this.sum)
    block.isHot = true
    block.asked = this.asked
    return block
  }

  /** A checksum of all that the block holds, and of where it is kept: blocks that differ in either differ in it, all but surely. */
  get sum(): number {
    this.checksum ??= crc32(this.bytes.subarray(this.from, this.to), crc32(this.key)) | 0
    return this.checksum
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

  /** How long {@link writeFinished} makes it, at the most. */
  finishedBytes({ length }: Finished): number {
    let holes = 0
    for (let at = 0; at < this.count; at++)
      for (let face = 0; face < this.faces; face++) holes += (this.frame(at, face)?.ends.length ?? 1) - 1
    return FINISHED_FIXED + 4 * (this.framesAt - this.from + holes) + length
  }

  /** Writes the block with its texts finished into `out` from `start` on, and returns where it ends. */
  writeFinished(out: Region, start: number, texts: Finished): number {
    const { by, bytes, length, leads, ends } = texts
    const { count, faces, resource } = this
    const cells = count * faces
    const strings = u16(this.bytes, this.from + 4)
    const width = this.finishedBytes(texts) > 65535 ? 4 : 2
    const { view } = out
    const set = (at: number, value: number): void => (width === 4 ? view.setUint32(at, value, true) : view.setUint16(at, value, true))
    const put = (at: number, from: number, to: number): number => {
      out.bytes.set(this.bytes.subarray(from, to), at)
      return at + to - from
    }
    put(start, this.from, this.from + FIXED)
    view.setUint16(start + 2, 0, true)
    out.bytes[start + 6] = (this.flags & ~WIDE) | FINISHED | (width === 4 ? WIDE : 0)
    view.setUint32(start + FIXED, by, true)
    const table = start + FINISHED_FIXED
    const rest = put(table + COLUMNS * width * cells, this.positions, this.positions + count * (this.flags & INDEXED ? 12 : 8))
    // Numbers of strings, for the side columns, and where each string ends.
    const numbers = count * resource.sides.length + strings
    for (let i = 0; i < numbers; i++) set(rest + width * i, this.number(this.sideAt + this.width * i))
    const cutsAt = put(rest + width * numbers, this.stringsAt, this.framesAt)
    const other = faces === 2 ? this.turned() : this
    let cut = 0
    for (let cell = 0; cell < cells; cell++) {
      const [at, face] = [cell % count, Math.floor(cell / count)]
      const row = table + COLUMNS * width * cell
      const isLesser = (face === 0 ? this : other).isLesser(at)
      set(row, (this.frame(at, face)?.number ?? 0) | (this.number(this.cell(0, at, face)) & ~FRAME) | (isLesser ? LESSER : 0))
      set(row + width, this.number(this.cell(1, at, face)))
      set(row + 2 * width, ends[cell]!)
      set(row + 3 * width, leads[cell]!)
      set(row + 4 * width, cut)
      for (const end of this.cuts(at, face)) set(cutsAt + width * cut++, end)
    }
    const bodies = cutsAt + width * cut
    view.setUint32(start + FIXED + 4, bodies - start, true)
    view.setUint32(start + FIXED + 8, cutsAt - start, true)
    out.bytes.set(bytes.subarray(0, length), bodies)
    return bodies + length
  }
}
