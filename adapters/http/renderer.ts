/**
 * Records on the wire: `{"_links":{…},` and the stored text and `}`. Nothing is parsed, nothing is stringified.
 *
 * For the one base URL that is used most, the cache keeps blocks finished (`src/layout/finisher.ts`): from then on a page is assembled from views.
 * **Invariant:** every record is rendered with a trailing comma, which the last one of a page drops.
 */
import { type Block, crc32, type Finished, type Finisher, type Place, Region, type Slice, utf8 } from '../../src/index.ts'
import { extendedText, type Profile } from './extended.ts'
import { type Fill, fillOf, type Templates, templatesFor } from './links.ts'
import type { Form } from './negotiate.ts'
import { Out } from './out.ts'
import type { Sink } from './sink.ts'
import { Tag } from './tag.ts'
import { Values } from './template.ts'

/** A descending run of this many records is worth a copy of the block in that order. */
const DOWN_RUN = 4

/** What is attached to a finished block that is read over and over. */
interface Down {
  /** How often a run was asked for in descending order. */
  asked: number
  /** The same records last to first, made when a descending page wants a run of them for the second time. */
  region: Region | undefined
}

export interface RenderStats {
  /** Blocks finished, and runs of records served from them. */
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
export class Renderer implements Finisher {
  /** The number of what it writes, while it has blocks finished; 0 otherwise. `renderers.ts` sets it. */
  id = 0
  readonly base: string
  /** Differs with what all links begin with, and with the profile. */
  private readonly salt: number
  /** Names what it writes: renderers of the same name write the same. */
  readonly what: string
  uses = 0
  private readonly extended: boolean
  private readonly templates: Templates
  private readonly stats: RenderStats

  constructor(base: string, profile: Profile, stats: RenderStats) {
    this.base = base
    this.what = `${profile} ${base}`
    this.salt = crc32(utf8(this.what))
    this.extended = profile === 'extended'
    this.templates = templatesFor(base, profile)
    this.stats = stats
  }

  /** True while it has blocks finished: no other base URL is used far more. */
  get isMain(): boolean {
    return this.id > 0
  }

  /** A tag that differs if the same records would be different bytes. */
  tag(form: Form): Tag {
    const tag = new Tag()
    tag.add(form === 'hal' ? this.salt : ~this.salt)
    return tag
  }

  /** Writes one record, as {@link page} would. */
  one(sink: Sink, { block, at }: Place, tag: Tag): void {
    this.page(sink, [{ block, first: at, last: at }], tag)
  }

  /** Writes the records in order, separated by commas. Adds what it wrote to the tag. */
  page(sink: Sink, slices: readonly Slice[], tag: Tag): void {
    const count = slices.length
    let before: Block | undefined
    let finished: Block | undefined
    for (let i = 0; i < count; i++) {
      const { block, first, last } = slices[i]!
      tag.addMarks(block, first, last)
      // Asked once per block: to finish it again for each of its slices would cost as much each time.
      if (block !== before) finished = this.isMain ? block.finishedBy(this) : undefined
      before = block
      const comma = i === count - 1 ? 1 : 0
      if (finished === undefined) {
        this.singles(sink, block, first, last, comma)
        continue
      }
      this.stats.hits++
      if (first <= last) sink.pass(finished.region, finished.bodyStart(first), finished.bodyEnd(last) - comma)
      else this.down(sink, finished, first, last, comma)
    }
  }

  /** Writes descending records of a finished block. */
  private down(sink: Sink, block: Block, first: number, last: number, comma: number): void {
    const kept = first - last >= DOWN_RUN - 1 && block.isHot ? block.attach<Down>(this, notAsked, downWeight) : undefined
    if (kept && (kept.region || kept.asked++ > 0)) {
      kept.region ??= reversed(block)
      const end = block.bodyEnd(block.count - 1)
      sink.pass(kept.region, end - block.bodyEnd(first), end - block.bodyStart(last) - comma)
    } else
      for (let at = first; at >= last; at--) sink.pass(block.region, block.bodyStart(at), block.bodyEnd(at) - (at === last ? comma : 0))
  }

  /** Writes records of a block that is not finished. */
  private singles(sink: Sink, block: Block, first: number, last: number, comma: number): void {
    const fill = fillOf(block)
    const step = first <= last ? 1 : -1
    for (let at = first; at !== last + step; at += step) {
      this.stats.records++
      this.write(sink, fill, block, at)
    }
    sink.at -= comma
  }

  /** Writes one record. */
  record(out: Out, block: Block, at: number): void {
    this.stats.records++
    this.write(out, fillOf(block), block, at)
    out.at--
  }

  /** Writes one record and a comma; returns how many bytes precede its stored text. */
  private write(sink: Out, fill: Fill, block: Block, at: number): number {
    const template = fill(this.templates, values, block, at)
    const more = this.extended ? utf8(extendedText(block, at)) : nothing
    const lead = template.fit(values)
    sink.reserve(lead + block.textBytes(at) + more.length + 2)
    const { bytes } = sink
    let end = block.write(at, sink, template.write(sink, sink.at, values))
    if (this.extended) bytes.set(more, end)
    end += more.length
    bytes[end] = CLOSE
    bytes[end + 1] = COMMA
    sink.at = end + 2
    return lead
  }

  /** Records in wire form. */
  finish(records: readonly Place[]): Finished {
    const fill = fillOf(records[0]!.block)
    const [leads, ends]: [number[], number[]] = [[], []]
    scratch.at = 0
    for (const { block, at } of records) {
      leads.push(block.finisher === this.id ? again(scratch, block, at) : this.write(scratch, fill, block, at))
      ends.push(scratch.at)
    }
    this.stats.blocks++
    return { by: this.id, bytes: scratch.bytes, length: scratch.at, leads, ends }
  }
}

/** Writes what was finished before; returns how many bytes precede its stored text. */
function again(out: Out, block: Block, at: number): number {
  const text = block.region.part(block.bodyStart(at), block.bodyEnd(at))
  out.reserve(text.length)
  out.bytes.set(text, out.at)
  out.at += text.length
  return block.lead(at)
}

const notAsked = (): Down => ({ asked: 0, region: undefined })
const downWeight = (): number => 100

/** The records of a finished block, last to first. */
function reversed(block: Block): Region {
  const start = block.bodyStart(0)
  const end = block.bodyEnd(block.count - 1)
  const down = new Uint8Array(end - start)
  let to = 0
  for (let at = block.count - 1; at >= 0; at--) {
    const text = block.region.part(block.bodyStart(at), block.bodyEnd(at))
    down.set(text, to)
    to += text.length
  }
  block.grow(down.length)
  return new Region(down)
}
