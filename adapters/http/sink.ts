/**
 * A writer that collects the parts of response bodies.
 * **Invariant:** once a byte was handed out in a part, it is not written again until the receiver says that the part was sent, so parts may wait on a
 * socket while the writer goes on.
 */
import { Region, SLACK } from '../../src/index.ts'
import { CHUNK, Out } from './out.ts'

/** Memory that bodies are written into; abandoned if nobody says that they were sent. */
interface Chunk {
  readonly bytes: Uint8Array
  /** Bodies in it that have not been sent yet. */
  users: number
}

/** Chunks kept for later bodies: enough for those in progress at once in most services. */
const MAX_FREE = 64

export interface Body {
  readonly parts: readonly Uint8Array[]
  /** How many bytes in front of the first part, in its memory, are its own to write to. */
  readonly room: number
  /** To be called once the parts were sent, or will not be, and are no longer looked at: their memory is reused. May be omitted. */
  readonly release: () => void
}

/** The number of pieces that are prefetched together. */
const MANY = 8
/** The bytes of a cache line. */
const LINE = 64
/** Longer pieces are not prefetched: once a processor sees consecutive lines being read, it does that itself. */
const SHORT = 2048
const nothing = new Region(new Uint8Array(0))

/** Touches each cache line of the pieces, in a loop so short that the cache misses overlap. */
function readAhead(pieces: readonly Region[], froms: readonly number[], tos: readonly number[], count: number): number {
  let sum = 0
  for (let i = 0; i < count; i++) {
    const { bytes } = pieces[i]!
    const to = tos[i]!
    for (let at = froms[i]!; at < to; at += LINE) sum ^= bytes[at]!
  }
  return sum
}

/** Collects a body: small pieces are copied one after another, large views are passed on as they are. */
export class Sink extends Out {
  private start = 0
  private parts: Uint8Array[] = []
  private chunk: Chunk = { bytes: this.bytes, users: 0 }
  /** Chunks that the body filled before the current one. */
  private full: Chunk[] = []
  private readonly free: Chunk[] = []
  private readonly passed: number
  /** What is left free in front of each body that begins with bytes written here: from `start - room` on, while there are no parts. */
  private readonly room: number
  /** The room in front of the first part. */
  private roomBefore = 0
  /** Short pieces that are still to be copied. */
  private readonly pieces: Region[] = []
  private readonly froms: number[] = []
  private readonly tos: number[] = []
  private waiting = 0
  /** What was prefetched, folded: kept so that no compiler removes those reads. */
  touched = 0

  /**
   * @param passed views of at least this many bytes become a part of their own; smaller ones are copied. For a body that is only handed on, 1 KiB is
   * best; for a socket it is better to copy into few parts: each costs half a µs, and the kernel copies what was just copied at twice the speed.
   * @param room how many bytes to leave free in front of a body
   */
  constructor(passed = 1024, room = 0) {
    super()
    this.passed = passed
    this.room = room
    this.begin(0)
  }

  /** Goes on at `at`; a body that begins there leaves room in front of it. */
  private begin(at: number): void {
    this.at = this.parts.length === 0 ? at + this.room : at
    this.start = this.at
  }

  override reserve(more: number): void {
    if (this.waiting > 0) this.copyWaiting()
    if (this.at + more + SLACK <= this.bytes.length) return
    this.flush()
    this.full.push(this.chunk)
    const need = Math.max(CHUNK, this.room + more + SLACK)
    this.chunk = (need === CHUNK ? this.free.pop() : undefined) ?? { bytes: Region.room(need).bytes, users: 0 }
    this.use(this.chunk.bytes)
    this.begin(0)
  }

  /** Appends bytes `from` to `to` of a region, which must not change any more: copied if small, passed on if large. */
  pass(region: Region, from: number, to: number): void {
    const length = to - from
    if (length < SHORT && length < this.passed) {
      const { waiting } = this
      this.pieces[waiting] = region
      this.froms[waiting] = from
      this.tos[waiting] = to
      this.waiting = waiting + 1
      return
    }
    if (this.waiting > 0) this.copyWaiting()
    const view = region.part(from, to)
    if (length < this.passed) this.copy(view)
    else {
      this.flush()
      this.parts.push(view)
    }
  }

  /** Copies the waiting pieces, all at once, so that the cache misses of pieces all over memory overlap. */
  private copyWaiting(): void {
    const { pieces, froms, tos, waiting } = this
    this.waiting = 0
    if (waiting >= MANY) this.touched = readAhead(pieces, froms, tos, waiting)
    for (let i = 0; i < waiting; i++) {
      this.copy(pieces[i]!.part(froms[i]!, tos[i]!))
      pieces[i] = nothing
    }
  }

  private copy(view: Uint8Array): void {
    this.reserve(view.length)
    this.bytes.set(view, this.at)
    this.at += view.length
  }

  private flush(): void {
    if (this.at > this.start) {
      if (this.parts.length === 0) this.roomBefore = this.room
      this.parts.push(this.bytes.subarray(this.start, this.at))
    }
    this.start = this.at
  }

  /** The body collected since the last call. */
  finish(): Body {
    this.copyWaiting()
    this.flush()
    const { parts, full, roomBefore: room } = this
    const used = [...full, this.chunk]
    for (const chunk of used) chunk.users++
    this.parts = []
    this.full = []
    this.roomBefore = 0
    this.begin(this.at)
    return { parts, room, release: () => this.reuse(used.splice(0)) }
  }

  /** Discards what was collected since the last {@link finish}: a body that failed halfway. */
  drop(): void {
    this.pieces.fill(nothing)
    this.waiting = 0
    this.parts = []
    this.roomBefore = 0
    this.begin(this.at)
    for (const chunk of this.full.splice(0)) this.spare(chunk)
  }

  private reuse(used: readonly Chunk[]): void {
    for (const chunk of used) {
      chunk.users--
      if (chunk !== this.chunk) this.spare(chunk)
      else if (chunk.users === 0 && this.at === this.start && this.parts.length === 0) {
        // Written from its beginning again, which is still in the processor's cache.
        this.begin(0)
      }
    }
  }

  private spare(chunk: Chunk): void {
    if (chunk.users === 0 && chunk.bytes.length === CHUNK && this.free.length < MAX_FREE) this.free.push(chunk)
  }
}

/** The body that `write` wrote; nothing of it stays behind if that throws. */
export function collect(sink: Sink, write: () => void): Body {
  try {
    write()
    return sink.finish()
  } catch (error) {
    sink.drop()
    throw error
  }
}
