/**
 * Records on the wire: `{"_links":{…},` and the stored text and `}`. Nothing is parsed, nothing is stringified.
 *
 * Whole blocks are kept rendered, attached to the block in the cache, once their records were asked for {@link WARM} times over: from then on a page is
 * put together of views. **Invariants:** every record is rendered with a comma behind it, which the last one of a page gives up; at most
 * {@link KEPT_BASES} base URLs a core keep what they rendered, however many Host headers come in.
 */
import type { Block, Place } from '../../src/index.ts'
import { checksum, Out, own, type Sink, type Tag, utf8 } from './bytes.ts'
import { extendedText, type Profile } from './extended.ts'
import { type Fill, fills, type Templates, templatesFor } from './links.ts'
import { Values } from './template.ts'

/** Base URLs whose rendered blocks are kept. */
export const KEPT_BASES = 2
/** Base URLs whose templates are kept. */
const KNOWN_BASES = 16
const HALVE_AFTER = 4096
/** A descending run of so many records is worth a copy of the block in that order. */
const DOWN_RUN = 4

/** A block is rendered whole, and that kept, once so many times its records were asked for. */
const WARM = 4

/** What one kept base URL has of one block. Few objects, since each is a wait for memory where a page takes its records from many blocks. */
interface Slot {
  owner: Renderer
  /** Records asked for so far. */
  asked: number
  /** The block in wire form: four bytes a record that say where it ends, comma included, and then the records. */
  wire: Uint8Array | undefined
  /** Runs asked for in descending order. */
  turns: number
  /** The same records last to first, made when a descending page wants a run of them for the second time. */
  down: Uint8Array | undefined
}

export interface RenderStats {
  /** Blocks rendered whole, and runs of records served from them. */
  blocks: number
  hits: number
  /** Records rendered one by one. */
  records: number
}

const CLOSE = 125
const COMMA = 44
const nothing = new Uint8Array(0)
const values = new Values()
const scratch = new Out()

/** Writes records for one base URL and profile. */
export class Renderer {
  readonly base: string
  /** For entity tags: differs by what all links begin with, and by profile. */
  readonly salt: number
  /** What its slots are attached to blocks under; none where other base URLs are used more. */
  seat: object | undefined
  uses = 0
  private readonly extended: boolean
  private readonly templates: Templates
  private readonly stats: RenderStats

  constructor(base: string, profile: Profile, stats: RenderStats) {
    this.base = base
    this.salt = checksum(utf8(`${profile} ${base}`))
    this.extended = profile === 'extended'
    this.templates = templatesFor(base, profile)
    this.stats = stats
  }

  /** Writes the records in their order, commas between them. Adds to the tag what it wrote. */
  page(sink: Sink, places: readonly Place[], tag: Tag): void {
    const count = places.length
    for (let i = 0; i < count; ) {
      const { block } = places[i]!
      let end = i + 1
      while (end < count && places[end]!.block === block) end++
      // The text of a record is what its block holds at its place, so the checksum of the block and the places stand for the texts.
      tag.add(block.sum)
      for (let k = i; k < end; k++) tag.add(places[k]!.at)
      const slot = this.whole(block, end - i)
      if (slot) this.views(sink, block, slot, places, i, end)
      else this.singles(sink, block, places, i, end)
      i = end
    }
  }

  /** Hands out places `from` to `to`, all of one block: a view for each run of neighbours. */
  private views(sink: Sink, block: Block, slot: Slot, places: readonly Place[], from: number, to: number): void {
    const wire = slot.wire!
    const { count } = block
    for (let i = from; i < to; ) {
      const first = places[i]!.at
      const step = i + 1 < to && places[i + 1]!.at < first ? -1 : 1
      let last = first
      for (i++; i < to && places[i]!.at === last + step; i++) last += step
      const comma = i === places.length ? 1 : 0
      this.stats.hits++
      if (step === 1) sink.pass(wire, startOf(wire, count, first), endOf(wire, last) - comma)
      else if (first - last >= DOWN_RUN - 1 && (slot.down || slot.turns++ > 0)) {
        slot.down ??= turned(block, wire)
        sink.pass(slot.down, wire.length - endOf(wire, first), wire.length - startOf(wire, count, last) - comma)
      } else for (let at = first; at >= last; at--) sink.pass(wire, startOf(wire, count, at), endOf(wire, at) - (at === last ? comma : 0))
    }
  }

  private singles(sink: Sink, block: Block, places: readonly Place[], from: number, to: number): void {
    const fill = fills[block.resource.name]!
    this.stats.records += to - from
    for (let i = from; i < to; i++) this.write(sink, fill, block, places[i]!.at)
    if (to === places.length) sink.at--
  }

  /** Writes one record. */
  record(out: Out, block: Block, at: number): void {
    this.stats.records++
    this.write(out, fills[block.resource.name]!, block, at)
    out.at--
  }

  /** Writes one record and a comma. */
  private write(sink: Out, fill: Fill, block: Block, at: number): void {
    const template = fill(this.templates, values, block, at)
    const more = this.extended ? utf8(extendedText(block, at)) : nothing
    sink.reserve(template.fit(values) + block.textBytes(at) + more.length + 2)
    const { bytes } = sink
    let end = block.write(at, sink, template.write(sink, sink.at, values))
    if (this.extended) bytes.set(more, end)
    end += more.length
    bytes[end] = CLOSE
    bytes[end + 1] = COMMA
    sink.at = end + 2
  }

  /** The whole block in wire form, where it is at hand or `asked` records of it make it worth while. */
  private whole(block: Block, asked: number): Slot | undefined {
    const { seat } = this
    // Only blocks of the cache live on; and a base URL without a seat keeps nothing.
    if (seat === undefined || block.grew === undefined) return undefined
    let slot = block.attached<Slot>(seat)
    if (slot === undefined) {
      // Much of old history is asked for once: for that, nothing is noted but the asking.
      block.asked += asked
      if (!block.isHot && block.asked < WARM * block.count) return undefined
      slot = block.attach<Slot>(seat, () => ({ owner: this, asked: block.asked, wire: undefined, turns: 0, down: undefined }), weight)
    } else if (slot.owner !== this) {
      block.grow(weight(undefined) - weight(slot))
      Object.assign(slot, { owner: this, asked, wire: undefined, turns: 0, down: undefined } satisfies Slot)
    } else if (slot.wire) return slot
    else slot.asked += asked
    if (!block.isHot && slot.asked < WARM * block.count) return undefined
    slot.wire = this.render(block)
    block.grow(slot.wire.length)
    return slot
  }

  private render(block: Block): Uint8Array {
    const { count } = block
    const fill = fills[block.resource.name]!
    this.stats.blocks++
    scratch.at = 0
    scratch.reserve(4 * count)
    scratch.at = 4 * count
    for (let at = 0; at < count; at++) {
      this.write(scratch, fill, block, at)
      scratch.view.setUint32(4 * at, scratch.at, true)
    }
    return own(scratch.bytes.subarray(0, scratch.at))
  }
}

const endOf = (wire: Uint8Array, at: number): number =>
  wire[4 * at]! | (wire[4 * at + 1]! << 8) | (wire[4 * at + 2]! << 16) | (wire[4 * at + 3]! << 24)
const startOf = (wire: Uint8Array, count: number, at: number): number => (at === 0 ? 4 * count : endOf(wire, at - 1))

/** The records of a rendered block, last to first. */
function turned(block: Block, wire: Uint8Array): Uint8Array {
  const down = new Uint8Array(wire.length - 4 * block.count)
  for (let at = 0; at < block.count; at++)
    down.set(wire.subarray(startOf(wire, block.count, at), endOf(wire, at)), wire.length - endOf(wire, at))
  block.grow(down.length)
  return down
}

const weight = (slot: Slot | undefined): number => 384 + (slot?.wire?.length ?? 0) + (slot?.down?.length ?? 0)

/** The renderers of a core, by base URL; the most used of them keep what they render. */
export class Renderers {
  readonly stats: RenderStats = { blocks: 0, hits: 0, records: 0 }
  private readonly profile: Profile
  private readonly known = new Map<string, Renderer>()
  private readonly seats = Array.from({ length: KEPT_BASES }, () => ({ holder: undefined as Renderer | undefined }))
  private asked = 0

  constructor(profile: Profile) {
    this.profile = profile
  }

  /** @param base absolute, ASCII, without a slash at its end */
  for(base: string): Renderer {
    let renderer = this.known.get(base)
    if (!renderer) {
      if (this.known.size >= KNOWN_BASES) this.forget()
      renderer = new Renderer(base, this.profile, this.stats)
      this.known.set(base, renderer)
    }
    renderer.uses++
    if (++this.asked % HALVE_AFTER === 0) for (const one of this.known.values()) one.uses >>= 1
    if (renderer.seat === undefined) this.compete(renderer)
    return renderer
  }

  /** Takes a free seat, or that of a base URL used far less of late. */
  private compete(renderer: Renderer): void {
    for (const seat of this.seats) {
      const { holder } = seat
      if (holder && renderer.uses <= 16 + 2 * holder.uses) continue
      if (holder) holder.seat = undefined
      seat.holder = renderer
      renderer.seat = seat
      return
    }
  }

  private forget(): void {
    for (const [base, renderer] of this.known) if (renderer.seat === undefined) this.known.delete(base)
  }
}
