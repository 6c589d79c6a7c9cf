/**
 * Records on the wire: `{"_links":{…},` and the stored text and `}`. Nothing is parsed, nothing is stringified.
 *
 * Whole blocks are kept rendered, attached to the block in the cache, from the second time they are asked for on and once as many of their records
 * were asked for as half of them: from then on a page is a list of views. **Invariants:** every record is rendered with a comma behind it, which the last one of a page gives up;
 * at most {@link KEPT_BASES} base URLs a core keep what they rendered, however many Host headers come in.
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

/** A block in wire form: record `i` ends, comma included, at `ends[i]`. */
interface Rendered {
  readonly bytes: Uint8Array
  readonly ends: Uint32Array
  /** Runs asked for in descending order. */
  turns: number
  /** The same records last to first, made when a descending page wants a run of them for the second time. */
  down: Uint8Array | undefined
}

/** A block is rendered whole, and that kept, once so many times its records were asked for. */
const WARM = 4

/** What one kept base URL has of one block. */
interface Slot {
  readonly owner: Renderer
  /** Records asked for so far. */
  asked: number
  rendered: Rendered | undefined
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
  /** Which of the kept places on a block is its own; none where others are used more. */
  place: number | undefined
  uses = 0
  private readonly extended: boolean
  private readonly templates: Templates
  private readonly key: object
  private readonly stats: RenderStats

  /** @param key what the slots of this core are attached to blocks under */
  constructor(base: string, profile: Profile, key: object, stats: RenderStats) {
    this.base = base
    this.salt = checksum(utf8(`${profile} ${base}`))
    this.extended = profile === 'extended'
    this.templates = templatesFor(base, profile)
    this.key = key
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
      const rendered = this.whole(block, end - i)
      if (rendered) this.views(sink, block, rendered, places, i, end)
      else this.singles(sink, block, places, i, end)
      i = end
    }
  }

  /** Hands out places `from` to `to`, all of one block: a view for each run of neighbours. */
  private views(sink: Sink, block: Block, rendered: Rendered, places: readonly Place[], from: number, to: number): void {
    const { bytes, ends } = rendered
    for (let i = from; i < to; ) {
      const first = places[i]!.at
      const step = i + 1 < to && places[i + 1]!.at < first ? -1 : 1
      let last = first
      for (i++; i < to && places[i]!.at === last + step; i++) {
        last += step
      }
      const comma = i === places.length ? 1 : 0
      this.stats.hits++
      if (step === 1) sink.pass(bytes.subarray(first ? ends[first - 1]! : 0, ends[last]! - comma))
      else if (first - last >= DOWN_RUN - 1 && (rendered.down || rendered.turns++ > 0)) {
        rendered.down ??= turned(block, rendered)
        const { down } = rendered
        sink.pass(down.subarray(bytes.length - ends[first]!, bytes.length - (last ? ends[last - 1]! : 0) - comma))
      } else for (let at = first; at >= last; at--) sink.pass(bytes.subarray(at ? ends[at - 1]! : 0, ends[at]! - (at === last ? comma : 0)))
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
  private whole(block: Block, asked: number): Rendered | undefined {
    // Only blocks of the cache live on; and a base URL without a place keeps nothing.
    if (this.place === undefined || block.grew === undefined) return undefined
    let places = block.attached<(Slot | undefined)[]>(this.key)
    if (places === undefined) {
      // Much of old history is asked for once: for that, nothing is noted but the asking.
      block.asked += asked
      if (block.asked < WARM * block.count) return undefined
      places = block.attach(
        this.key,
        () => Array<Slot | undefined>(KEPT_BASES).fill(undefined),
        () => 128,
      )
    }
    let slot = places[this.place]
    if (slot?.owner === this) slot.asked += asked
    else {
      grow(block, -weight(slot?.rendered))
      slot = { owner: this, asked: slot ? asked : block.asked, rendered: undefined }
      places[this.place] = slot
    }
    if (slot.rendered) return slot.rendered
    if (slot.asked < WARM * block.count) return undefined
    slot.rendered = this.render(block)
    grow(block, weight(slot.rendered))
    return slot.rendered
  }

  private render(block: Block): Rendered {
    const fill = fills[block.resource.name]!
    const ends = new Uint32Array(block.count)
    this.stats.blocks++
    scratch.at = 0
    for (let at = 0; at < block.count; at++) {
      this.write(scratch, fill, block, at)
      ends[at] = scratch.at
    }
    return { bytes: own(scratch.bytes.subarray(0, scratch.at)), ends, turns: 0, down: undefined }
  }
}

/** The records of a rendered block, last to first. */
function turned(block: Block, { bytes, ends }: Rendered): Uint8Array {
  const down = new Uint8Array(bytes.length)
  let to = 0
  for (let at = ends.length - 1; at >= 0; at--) {
    const from = at ? ends[at - 1]! : 0
    down.set(bytes.subarray(from, ends[at]!), to)
    to += ends[at]! - from
  }
  grow(block, down.length)
  return down
}

/** Counts bytes that came to hang on a cached block, or went. */
function grow(block: Block, bytes: number): void {
  block.weight += bytes
  block.grew?.(bytes)
}

const weight = (rendered: Rendered | undefined): number =>
  rendered ? rendered.bytes.length + (rendered.down?.length ?? 0) + 8 * rendered.ends.length + 256 : 0

/** The renderers of a core, by base URL; the most used of them keep what they render. */
export class Renderers {
  readonly stats: RenderStats = { blocks: 0, hits: 0, records: 0 }
  private readonly profile: Profile
  private readonly known = new Map<string, Renderer>()
  private readonly kept: (Renderer | undefined)[] = Array(KEPT_BASES).fill(undefined)
  private asked = 0

  constructor(profile: Profile) {
    this.profile = profile
  }

  /** @param base absolute, ASCII, without a slash at its end */
  for(base: string): Renderer {
    let renderer = this.known.get(base)
    if (!renderer) {
      if (this.known.size >= KNOWN_BASES) this.forget()
      renderer = new Renderer(base, this.profile, this, this.stats)
      this.known.set(base, renderer)
    }
    renderer.uses++
    if (++this.asked % HALVE_AFTER === 0) for (const one of this.known.values()) one.uses >>= 1
    if (renderer.place === undefined) this.compete(renderer)
    return renderer
  }

  /** Takes a free place, or that of a base URL used far less of late. */
  private compete(renderer: Renderer): void {
    for (let place = 0; place < KEPT_BASES; place++) {
      const holder = this.kept[place]
      if (holder && renderer.uses <= 16 + 2 * holder.uses) continue
      if (holder) holder.place = undefined
      this.kept[place] = renderer
      renderer.place = place
      return
    }
  }

  private forget(): void {
    for (const [base, renderer] of this.known) if (renderer.place === undefined) this.known.delete(base)
  }
}
