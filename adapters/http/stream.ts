/**
 * Event streams: the frames of tails, given one at a time to whoever writes them to a socket.
 * **Invariants:** nothing is read ahead of demand; the records of one commit are rendered once for all streams that wait at one place, as long as
 * those with one base URL follow each other; whatever goes wrong in a stream ends only that stream, with an error that its reader sees.
 */
import {
  FolioError,
  type HistoryHead,
  type Ledger,
  type List,
  newestLedger,
  parseCursor,
  type RawPage,
  type Tail,
  type Taker,
} from '../../src/index.ts'
import { errorFrame, type Frame, helloFrame, recordsFrame } from './frames.ts'
import type { Renderer } from './hal.ts'
import { type Problem, ProblemError } from './problem.ts'

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

/** A stream as requested: everything checked, nothing read. */
export interface StreamRequest {
  readonly query: List<unknown, any, true>
  /** Path parameters and filters. */
  readonly values: Readonly<Record<string, unknown>>
  /** `Last-Event-ID`, or else `cursor`; empty for the earliest record. */
  readonly cursor: string
  readonly renderer: Renderer
}

export interface StreamOptions {
  /** How many streams may be open at a time; one more is answered 503. Default 10,000. */
  readonly maxStreams?: number | undefined
  /** Milliseconds of silence after which the hello is sent again. Default 15,000. */
  readonly streamIdleMs?: number | undefined
  /** How many milliseconds an event stream waits for a reader that takes nothing of what it was given, before it is cut off. Default 30,000. */
  readonly streamStallMs?: number | undefined
}

/** Held in a variable: a channel that nobody holds may be collected, and publishers would then never reach those who subscribe to its successor. */
const channel = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')?.channel('ledger-folio:stream')

/** Notifies subscribers of the channel `ledger-folio:stream` on `node:diagnostics_channel`. */
const tell = (event: 'open' | 'end' | 'cut', path: string, events: number): void => channel?.publish({ event, path, events })

const soon: (work: () => void) => unknown = globalThis.setImmediate ?? ((work) => setTimeout(work))

/** The position after every record of a ledger and of those before it. */
const endOf = (ledger: number): string => String((BigInt(ledger + 1) << 32n) - 1n)

/** The newest ledger of which a stream that starts after a cursor is to give nothing, as far as the cursor tells. */
function before({ of }: List, cursor: string, head: HistoryHead | undefined): number {
  if (head === undefined) return 0
  if (cursor === '') return head.oldest - 1
  return of.kept === 'log' ? Math.min(head.last, parseCursor(cursor, of.indexed).hi) : head.last
}

/** Into how many parts the shorter wait is divided; streams are checked once per part. */
const PRECISION = 16

/** The open streams of a core. */
export class Streams {
  readonly open = new Set<FramesOf>()
  events = 0
  /** Of the frames that were given. */
  bytes = 0
  cut = 0
  /** Rises by one each time the streams are checked: the unit in which waits are measured. */
  clock = 0
  private readonly idle: number
  private readonly stall: number
  private readonly tickMs: number
  private readonly max: number
  readonly ledger: Ledger
  private readonly problem: (error: unknown) => Problem
  /** Streams being opened. */
  private opening = 0
  private closed = false
  private timer: ReturnType<typeof setInterval> | undefined
  private readonly shared = new WeakMap<RawPage, { readonly renderer: Renderer; readonly frame: Frame }>()

  /** @param problem the problem with which an error after the hello is answered */
  constructor(
    ledger: Ledger,
    { maxStreams, streamIdleMs, streamStallMs }: Readonly<Record<keyof StreamOptions, number>>,
    problem: (error: unknown) => Problem,
  ) {
    this.ledger = ledger
    this.max = maxStreams
    this.problem = problem
    this.tickMs = Math.max(1, Math.min(streamIdleMs, streamStallMs) / PRECISION)
    this.idle = Math.ceil(streamIdleMs / this.tickMs)
    this.stall = Math.ceil(streamStallMs / this.tickMs)
  }

  /** Opens a stream. Whatever would make a page fail makes this fail, before anything is sent. @throws ProblemError, and as Ledger.read */
  async start(request: StreamRequest): Promise<Frames> {
    if (this.open.size + this.opening >= this.max)
      throw new ProblemError({ name: 'unavailable', detail: 'Too many streams are open. Try again later.' })
    this.opening++
    try {
      return await this.begin(request)
    } finally {
      this.opening--
    }
  }

  private async begin({ query, values, cursor, renderer }: StreamRequest): Promise<Frames> {
    // The tail first: it knows of every rollback from now on. `now` is resolved in the same turn, so both refer to the same head.
    const tail = this.ledger.subscribe(query, values, { cursor })
    try {
      const from = cursor === 'now' ? await this.ledger.now(query) : cursor
      await this.ledger.read(query, values, from === '' ? { limit: 1 } : { cursor: from, limit: 1 })
      const frames = new FramesOf(this, query, tail, from, renderer)
      this.open.add(frames)
      this.watch()
      tell('open', query.path, 0)
      // Greeted, then ended: that brings a client back, whereas a status other than 200 ends an EventSource for good.
      if (this.closed) frames.end()
      return frames
    } catch (error) {
      tail.stop()
      throw error
    }
  }

  /** Checks the streams at intervals, as long as there are any. */
  private watch(): void {
    this.timer ??= setInterval(() => {
      this.clock++
      for (const frames of this.open) frames.look(this.clock - this.idle, this.clock - this.stall)
    }, this.tickMs)
    if (typeof this.timer === 'object') this.timer.unref()
  }

  /** A stream has ended. */
  left(frames: FramesOf, event: 'end' | 'cut', path: string, events: number): void {
    this.open.delete(frames)
    if (event === 'cut') this.cut++
    tell(event, path, events)
    if (this.open.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }

  /** The frame of a page; the same one for all who got the same page. */
  framed(page: RawPage, renderer: Renderer): Frame {
    const held = this.shared.get(page)
    if (held?.renderer === renderer) return held.frame
    const frame = recordsFrame(page, renderer)
    this.shared.set(page, { renderer, frame })
    return frame
  }

  /**
   * The frame of an error. A client connects again by itself and goes on after the newest id it has: if history was rolled back below that, it would
   * wait for ledgers that are already there in another form, so it is told to go on after the newest ledger that is left.
   */
  failed(error: unknown, query: List): Frame {
    const last = error instanceof FolioError && error.code === 'ROLLED_BACK' ? Number(error.fields['last']) : undefined
    // What offers were left by a rollback, an id does not tell.
    const cursor = last === undefined || query.of.kept !== 'log' ? undefined : endOf(last)
    return errorFrame(this.problem(error), cursor)
  }

  /** The newest ledger; 0 before the first one. */
  get last(): number {
    return this.ledger.head?.last ?? 0
  }

  /** How many ledgers the stream furthest behind has still to be sent. */
  get lag(): number {
    let lag = 0
    for (const { behind } of this.open) if (behind !== undefined) lag = Math.max(lag, this.last - behind)
    return lag
  }

  /** Ends all streams, and those requested from now on, each after its hello. */
  close(): void {
    this.closed = true
    for (const frames of this.open) frames.end()
  }
}

class FramesOf implements Frames, Taker {
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
  private readonly tail: Tail
  private readonly renderer: Renderer

  constructor(streams: Streams, query: List, tail: Tail, cursor: string, renderer: Renderer) {
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
      if (this.more) soon(() => this.tail.pull(this))
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
