/** Pages as lines of JSON (NDJSON): stored texts one behind the other, each in braces and with a line feed; nothing is parsed. */
import { Region } from '../bytes.ts'
import type { PageOptions, RawPage } from './page.ts'

export interface LinesOptions extends PageOptions {
  /** Batches share their memory: what is in one is good until the next one is pulled. A third faster, since fresh memory costs that much. Default false. */
  readonly reuse?: boolean
}

export interface Lines {
  /** UTF-8: each record as it was stored, every digit kept, without `_links`; a line feed behind each. */
  readonly bytes: Uint8Array
  /** How many records that is. */
  readonly count: number
  /** The cursor that continues behind them. */
  readonly next: string
}

const [OPEN, CLOSE, END] = [123, 125, 10]

/** @param room memory to write into, if it is long enough */
export function linesOf({ records, next }: RawPage, room?: Region): { readonly lines: Lines; readonly room: Region } {
  let length = 0
  for (const { block, at } of records) length += block.textBytes(at) + 3
  const out = room && room.bytes.length >= length ? room : Region.room(length)
  const { bytes } = out
  let to = 0
  for (const { block, at } of records) {
    bytes[to] = OPEN
    to = block.write(at, out, to + 1)
    bytes[to++] = CLOSE
    bytes[to++] = END
  }
  return { lines: { bytes: out.part(0, to), count: records.length, next }, room: out }
}
