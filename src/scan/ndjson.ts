/** Pages as lines of JSON (NDJSON): stored texts one after another, each in braces and with a line feed; nothing is parsed. */
import { Region } from '../bytes.ts'
import { atOnce, OptionRules } from '../check.ts'
import { type RawPage, type WalkOptions, walkOptions } from './page.ts'

export interface NdjsonOptions extends WalkOptions {
  /**
   * Batches share their memory: the bytes of one are valid until the next one is pulled. Up to a third faster, since fresh memory costs that much.
   * Default false.
   */
  readonly reuse?: boolean | undefined
}

/** What `ndjson` gives: the lines of one page. */
export interface NdjsonChunk {
  /** UTF-8: each record as it was stored, every digit kept, without `_links`, and followed by a line feed. */
  readonly bytes: Uint8Array
  /** How many records these are. */
  readonly count: number
  /** The cursor that continues after them. */
  readonly next: string
}

const ndjsonOptions = new OptionRules<NdjsonOptions>('ndjson', { ...walkOptions.rules, reuse: 'flag' })

const [OPEN, CLOSE, END] = [123, 125, 10]

/** The lines of pages, as they come. */
export function ndjsonOf(
  pagesOf: (options: WalkOptions) => AsyncIterable<RawPage>,
  options: NdjsonOptions,
): AsyncGenerator<NdjsonChunk, void, undefined> {
  const taken = atOnce(() => {
    const { reuse = false, ...ofPages } = ndjsonOptions.check(options)
    return { pages: pagesOf(ofPages), reuse }
  })
  return chunksOf(taken)
}

async function* chunksOf(taken: () => { readonly pages: AsyncIterable<RawPage>; readonly reuse: boolean }): AsyncGenerator<NdjsonChunk> {
  const { pages, reuse } = taken()
  let room = Region.room(0)
  for await (const page of pages) {
    let length = 0
    page.each((block, at) => {
      length += block.textBytes(at) + 3
    })
    if (!reuse || room.bytes.length < length) room = Region.room(length)
    const { bytes } = room
    let to = 0
    page.each((block, at) => {
      bytes[to] = OPEN
      to = block.write(at, room, to + 1)
      bytes[to++] = CLOSE
      bytes[to++] = END
    })
    yield { bytes: room.part(0, to), count: page.count, next: page.next }
  }
}
