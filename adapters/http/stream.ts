/**
 * Event streams: the frames of a tail, pulled one answer at a time by whoever writes them to a socket.
 *
 *     hello    retry: 1000 ⏎ event: open ⏎ data: "hello" ⏎ id: <cursor> ⏎ ⏎      at once, and after silence
 *     record   data: <one line of JSON> ⏎ id: <paging token> ⏎ ⏎
 *     error    event: error ⏎ data: <problem> ⏎ ⏎                                then the end
 *
 * `id` comes after `data`: older clients take the id from its line at once, so that a connection cut between the two would lose the record.
 * **Invariants:** nothing is read ahead of what was pulled; the records that one commit brings are rendered once for all tails that wait for
 * them with one base URL.
 */
import type { Ledger, List, RawPage, Stream } from '../../src/index.ts'
import { Out, own, utf8 } from './bytes.ts'
import type { Renderer } from './hal.ts'
import { type Problem, ProblemError, problemBody } from './problem.ts'

/** The body of an event stream. */
export interface Frames {
  /** The next bytes to send; undefined at the end. One call at a time. */
  next(): Promise<Uint8Array | undefined>
  /** Ends the stream and lets go of everything; `cut` where the reader was too slow. */
  end(cut?: boolean): void
}

/** A stream as it was asked for: everything checked, nothing read. */
export interface StreamRequest {
  readonly query: List<any, any, true>
  /** Path parameters and filters. */
  readonly values: Readonly<Record<string, unknown>>
  /** `Last-Event-ID`, or else `cursor`; empty for the earliest record. */
  readonly cursor: string
  readonly renderer: Renderer
}

export interface StreamOptions {
  /** Streams open at a time; one more is answered 503. Default 10,000. */
  readonly maxStreams?: number
  /** Silence after which the hello is sent again. Default 15,000. */
  readonly streamIdleMs?: number
}

const scratch = new Out()

/** The frames of a page's records. */
function frame({ records }: RawPage, renderer: Renderer): Uint8Array {
  scratch.at = 0
  for (const { block, at } of records) {
    scratch.ascii('data: ')
    renderer.record(scratch, block, at)
    scratch.ascii(`\nid: ${block.token(at)}\n\n`)
  }
  return own(scratch.bytes.subarray(0, scratch.at))
}

const hello = (cursor: string): Uint8Array => utf8(`retry: 1000\nevent: open\ndata: "hello"\nid: ${cursor}\n\n`)

const diagnostics = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')

/** Tells whoever subscribed to the channel `ledger-folio:stream` on `node:diagnostics_channel`. */
const tell = (event: 'open' | 'end' | 'cut', path: string, events: number): void =>
  diagnostics?.channel('ledger-folio:stream').publish({ event, path, events })

/** The open streams of a core. */
export class Streams {
  readonly open = new Set<FramesOf>()
  events = 0
  cut = 0
  readonly idleMs: number
  private readonly max: number
  private readonly ledger: Ledger
  private readonly shared = new WeakMap<RawPage, { readonly renderer: Renderer; readonly bytes: Uint8Array }>()
  private readonly problem: (error: unknown) => Problem

  /** @param problem what an error after the hello is answered with */
  constructor(ledger: Ledger, { maxStreams = 10_000, streamIdleMs = 15_000 }: StreamOptions, problem: (error: unknown) => Problem) {
    this.ledger = ledger
    this.max = maxStreams
    this.idleMs = streamIdleMs
    this.problem = problem
  }

  /** Opens a stream. What would make a page fail makes this fail, before anything is sent. @throws ProblemError, and as Ledger.read */
  async start({ query, values, cursor, renderer }: StreamRequest): Promise<Frames> {
    if (this.open.size >= this.max) throw new ProblemError({ name: 'unavailable', detail: 'Too many streams are open. Try again later.' })
    // The tail first: what is taken back from now on, it knows of. `now` is asked for in the same turn, so both mean the same head.
    const tail = this.ledger.tail(query, values, { cursor })
    let from = cursor
    try {
      if (cursor === 'now') from = await this.ledger.now(query)
      await this.ledger.read(query, values, from === '' ? { limit: 1 } : { cursor: from, limit: 1 })
    } catch (error) {
      void tail.return()
      throw error
    }
    const frames = new FramesOf(this, query.path, tail, from, renderer)
    this.open.add(frames)
    tell('open', query.path, 0)
    return frames
  }

  /** The frames of a page; one buffer for all who got the same page. */
  framed(page: RawPage, renderer: Renderer): Uint8Array {
    const held = this.shared.get(page)
    if (held?.renderer === renderer) return held.bytes
    const bytes = frame(page, renderer)
    this.shared.set(page, { renderer, bytes })
    return bytes
  }

  failed(error: unknown): Uint8Array {
    const body = new TextDecoder().decode(problemBody(this.problem(error)))
    return utf8(`event: error\ndata: ${body}\n\n`)
  }

  /** Ledgers that the stream furthest behind has still to be sent. */
  get lag(): number {
    const last = this.ledger.head?.last ?? 0
    let lag = 0
    for (const { reached } of this.open) if (reached > 0) lag = Math.max(lag, last - reached)
    return lag
  }

  endAll(): void {
    for (const frames of this.open) frames.end()
  }
}

class FramesOf implements Frames {
  /** The ledger of the newest record sent, while there is more to send; 0 when caught up. */
  reached = 0
  private events = 0
  private greeted = false
  private ended = false
  private over = false
  private cursor: string
  private pulling = false
  private arrived: { readonly page: RawPage | undefined; readonly error?: unknown } | undefined
  private wake: (() => void) | undefined
  private readonly streams: Streams
  private readonly path: string
  private readonly tail: Stream<RawPage>
  private readonly renderer: Renderer

  constructor(streams: Streams, path: string, tail: Stream<RawPage>, cursor: string, renderer: Renderer) {
    this.streams = streams
    this.path = path
    this.tail = tail
    this.cursor = cursor
    this.renderer = renderer
  }

  async next(): Promise<Uint8Array | undefined> {
    if (this.over) return undefined
    if (!this.greeted) {
      this.greeted = true
      return hello(this.cursor)
    }
    if (!this.pulling) this.pull()
    if (!this.arrived) await this.wait()
    if (this.over) return undefined
    if (!this.arrived) return hello(this.cursor)
    const { page, error } = this.arrived
    this.arrived = undefined
    this.pulling = false
    if (error !== undefined) {
      const last = this.streams.failed(error)
      this.finish('end')
      return last
    }
    if (!page) {
      this.finish('end')
      return undefined
    }
    const { block, at } = page.records.at(-1)!
    this.reached = page.ended === 'limit' ? block.hi(at) : 0
    this.cursor = page.next
    this.events += page.records.length
    this.streams.events += page.records.length
    return this.streams.framed(page, this.renderer)
  }

  private pull(): void {
    this.pulling = true
    const arrive = (arrived: NonNullable<FramesOf['arrived']>): void => {
      this.arrived = arrived
      this.wake?.()
    }
    this.tail.next().then(
      ({ done, value }) => arrive({ page: done ? undefined : value }),
      (error) => arrive({ page: undefined, error }),
    )
  }

  /** Resolves when a page has arrived, when it was silent for too long, or at the end. */
  private wait(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.wake?.(), this.streams.idleMs)
      this.wake = () => {
        this.wake = undefined
        clearTimeout(timer)
        resolve()
      }
    })
  }

  end(cut = false): void {
    if (!this.ended) this.finish(cut ? 'cut' : 'end')
  }

  private finish(event: 'end' | 'cut'): void {
    this.over = true
    if (this.ended) return
    this.ended = true
    this.streams.open.delete(this)
    if (event === 'cut') this.streams.cut++
    tell(event, this.path, this.events)
    this.wake?.()
    void this.tail.return()
  }
}
