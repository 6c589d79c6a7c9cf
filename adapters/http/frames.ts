/**
 * The frames of event streams, byte for byte.
 *
 *     hello    retry: 1000 ⏎ event: open ⏎ data: "hello" ⏎ id: <cursor> ⏎ ⏎      at once, and after silence
 *     record   data: <one line of JSON> ⏎ id: <paging token> ⏎ ⏎
 *     error    event: error ⏎ data: <problem> ⏎ ⏎                                then the end
 *
 * `id` comes after `data`: older clients take the id as soon as its line arrives, so a connection cut between the two would lose the record.
 */
import { fromUtf8, type RawPage, Region } from '../../src/index.ts'
import { Out } from './out.ts'
import { type Problem, problemBody } from './problem.ts'
import type { Renderer } from './renderer.ts'

/** What is sent at a time: plain, and as one chunk of an HTTP/1.1 body. Views of one buffer, which must not be written to. */
export interface Frame {
  readonly bytes: Uint8Array
  readonly chunk: Uint8Array
}

const scratch = new Out()
/** Room for the length of a chunk in hexadecimal digits, and its line end. */
const HEAD = 10

function frame(write: (out: Out) => void): Frame {
  scratch.at = HEAD
  write(scratch)
  const length = scratch.at - HEAD
  scratch.ascii('\r\n')
  const end = scratch.at
  const head = `${length.toString(16)}\r\n`
  scratch.at = HEAD - head.length
  const start = scratch.ascii(head)
  const chunk = Region.padded(scratch.bytes.subarray(start, end)).bytes
  return { chunk, bytes: chunk.subarray(head.length, head.length + length) }
}

/** @param cursor what the stream starts after, or the newest id sent */
export const helloFrame = (cursor: string): Frame => frame((out) => out.ascii(hello(cursor)))

const hello = (cursor: string): string => `retry: 1000\nevent: open\ndata: "hello"\nid: ${cursor}\n\n`

/** @param cursor where a client that connects again is to go on, if not after the newest record it was sent: a hello says so first */
export const errorFrame = (problem: Problem, cursor?: string): Frame =>
  frame((out) => {
    if (cursor !== undefined) out.ascii(hello(cursor))
    out.text(`event: error\ndata: ${fromUtf8(problemBody(problem))}\n\n`)
  })

/** All records of a page. */
export const recordsFrame = (page: RawPage, renderer: Renderer): Frame =>
  frame((out) =>
    page.each((block, at) => {
      out.ascii('data: ')
      renderer.record(out, block, at)
      out.ascii(`\nid: ${block.token(at)}\n\n`)
    }),
  )
