/**
 * The event streams of a core: how many there may be, when one is greeted again or cut, and what they share.
 * **Invariant:** the records of one commit are rendered once for all streams that wait at one place, as long as those with one base URL follow each
 * other.
 */
import { endOfLedger, FolioError, type Ledger, type List, type RawPage } from '../../src/index.ts'
import { EventStream, type Frames } from './event-stream.ts'
import { errorFrame, type Frame, recordsFrame } from './frames.ts'
import { type Problem, ProblemError } from './problem.ts'
import type { Renderer } from './renderer.ts'

/** A stream as requested: everything checked, nothing read. */
export interface StreamRequest {
  readonly query: List<unknown, any, true>
  /** Path parameters and filters. */
  readonly values: Readonly<Record<string, unknown>>
  /** `Last-Event-ID`, or else `cursor`; empty for the earliest record. */
  readonly cursor: string
  readonly renderer: Renderer
}

/** Held in a variable: a channel that nobody holds may be collected, and publishers would then never reach those who subscribe to its successor. */
const channel = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')?.channel('ledger-folio:stream')

/** Notifies subscribers of the channel `ledger-folio:stream` on `node:diagnostics_channel`. */
const tell = (event: 'open' | 'end' | 'cut', path: string, events: number): void => channel?.publish({ event, path, events })

/** Into how many parts the shorter wait is divided; streams are checked once per part. */
const PRECISION = 16

/** The open streams of a core. */
export class Streams {
  readonly open = new Set<EventStream>()
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
    { maxStreams, streamIdleMs, streamStallMs }: Readonly<Record<'maxStreams' | 'streamIdleMs' | 'streamStallMs', number>>,
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
      const frames = new EventStream(this, query, tail, from, renderer)
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
  left(frames: EventStream, event: 'end' | 'cut', path: string, events: number): void {
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
    const cursor = last === undefined || query.of.kept !== 'log' ? undefined : endOfLedger(last)
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
