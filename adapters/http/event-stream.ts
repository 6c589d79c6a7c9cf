/**
 * One event stream: the frames of a tail, given one at a time to whoever writes them to a socket.
 * **Invariants:** nothing is read ahead of demand; whatever goes wrong ends only this stream, with an error that its reader sees.
 */
import {
  type HistoryHead,
  type List,
  newestLedger,
  nextTurn,
  parseCursor,
  type RawPage,
  type Subscription,
  type Taker,
} from '../../src/index.ts'
import { type Frame, helloFrame } from './frames.ts'
import type { Renderer } from './renderer.ts'
import type { Streams } from './streams.ts'

/** The body of an event stream. */
export interface Frames {
  /** Gives the reader the next frame or the end: at once, or when there is one. One call at a time. */
  pull(reader: FrameReader): void
  /** The reader has taken a part of what it was given: its time starts anew. */
  took(): void
  /** Ends the stream and releases everything. */
  end(): void
}

/** Whoever writes frames to a socket. It pulls again once the socket has taken a frame. */
export interface FrameReader {
  frame(frame: Frame): void
  /** `cut` if the reader took nothing for too long: what it has not taken yet is not to be waited for. */
  end(cut: boolean): void
}

/** The newest ledger of which a stream that starts after a cursor is to give nothing, as far as the cursor tells. */
function before({ of }: List, cursor: string, head: HistoryHead | undefined): number {
  if (head === undefined) return 0
  if (cursor === '') return head.oldest - 1
  return of.kept === 'log' ? Math.min(head.last, parseCursor(cursor, of.indexed).hi) : head.last
}

export class EventStream implements Frames, Taker {
  /** The newest ledger of which everything was given. */
  private through: number
  /** There was more to read behind the newest page. */
  private more = false
  private events = 0
  private greeted = false
  private over = false
  /** The cursor of the newest record given. */
  private cursor: string
  /** When the reader was last given something, took a part of it, or asked for more. */
  private since: number
  /** The reader, while it waits for a frame. */
  private reader: FrameReader | undefined
  /** The reader, while it was given a frame and has not asked for another. */
  private busy: FrameReader | undefined
  private pulling = false
  /** What arrived for a reader that is busy with a hello. */
  private arrived: { readonly page: RawPage; readonly last: number } | undefined
  private failure: { readonly error: unknown } | undefined
  private readonly streams: Streams
  private readonly query: List
  private readonly tail: Subscription
  private readonly renderer: Renderer

  constructor(streams: Streams, query: List, tail: Subscription, cursor: string, renderer: Renderer) {
    this.streams = streams
    this.query = query
    this.through = before(query, cursor, streams.ledger.head)
    this.tail = tail
    this.cursor = cursor
    this.renderer = renderer
    this.since = streams.clock
  }

  pull(reader: FrameReader): void {
    this.busy = undefined
    if (this.over && this.greeted) return void reader.end(false)
    this.reader = reader
    this.since = this.streams.clock
    const { arrived } = this
    if (!this.greeted) {
      this.greeted = true
      this.give(helloFrame(this.cursor))
    } else if (arrived) {
      this.arrived = undefined
      this.page(arrived.page, arrived.last)
    } else if (this.failure) this.fail(this.failure.error)
    else if (!this.pulling) {
      this.pulling = true
      // If history is available at once and its reader takes it at once, nobody else would get a turn.
      if (this.more) void nextTurn().then(() => this.tail.pull(this))
      else this.tail.pull(this)
    }
  }

  took(): void {
    this.since = this.streams.clock
  }

  /** The newest ledger of which everything was given; undefined while its reader waits for what comes next, and has missed nothing. */
  get behind(): number | undefined {
    return this.reader && this.pulling && !this.more ? undefined : this.through
  }

  private give(frame: Frame): void {
    const { reader } = this
    this.reader = undefined
    this.busy = reader
    this.since = this.streams.clock
    if (!reader) return
    this.streams.bytes += frame.bytes.length
    reader.frame(frame)
  }

  /** @param last the newest ledger when it was read */
  page(page: RawPage, last = this.streams.last): void {
    this.pulling = false
    if (this.over) return
    if (!this.reader) {
      this.arrived = { page, last }
      return
    }
    let frame: Frame
    try {
      frame = this.streams.framed(page, this.renderer)
    } catch (error) {
      return void this.fail(error)
    }
    this.more = page.ended === 'limit'
    this.through = this.more ? newestLedger(page) : last
    this.cursor = page.next
    this.events += page.count
    this.streams.events += page.count
    this.give(frame)
  }

  fail(error: unknown): void {
    this.pulling = false
    const { reader } = this
    if (this.over) return
    if (!reader) {
      this.failure = { error }
      return
    }
    this.reader = undefined
    this.finish('end')
    const frame = this.streams.failed(error, this.query)
    this.streams.bytes += frame.bytes.length
    reader.frame(frame)
  }

  end(): void {
    this.pulling = false
    this.finish('end')
  }

  /** Greets a reader that has waited since before `idle`, and cuts off one that has been busy since before `stall`. */
  look(idle: number, stall: number): void {
    if (this.reader ? this.since > idle : this.since > stall) return
    if (this.reader) this.give(helloFrame(this.cursor))
    else this.finish('cut')
  }

  private finish(event: 'end' | 'cut'): void {
    if (this.over) return
    this.over = true
    const { reader, busy } = this
    this.reader = undefined
    this.busy = undefined
    this.streams.left(this, event, this.query.path, this.events)
    this.tail.stop()
    reader?.end(false)
    if (event === 'cut') busy?.end(true)
  }
}
