/**
 * Bytes of a response body: a writer that collects parts, and a checksum for entity tags.
 * **Invariant:** once a byte was handed out in a part, it is not written again until the receiver says that the part was sent, so parts may wait on a
 * socket while the writer goes on.
 */
import { type Block, copy, Region, SLACK } from '../../src/index.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const node: typeof Buffer | undefined = globalThis.Buffer

export const utf8 = (text: string): Uint8Array => encoder.encode(text)
export const fromUtf8 = (bytes: Uint8Array): string => decoder.decode(bytes)

/** Bytes that nobody else has access to, their content undefined. */
const allocate = (length: number): Uint8Array => (node ? new Uint8Array(node.allocUnsafeSlow(length).buffer) : new Uint8Array(length))

/** A copy of `bytes` in memory of its own. */
export function own(bytes: Uint8Array): Uint8Array {
  const copy = allocate(bytes.length)
  copy.set(bytes)
  return copy
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!
  let length = 0
  for (const part of parts) length += part.length
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** FNV-1a, for platforms without a CRC-32: an entity tag needs a checksum, not a particular one. */
function fnv(bytes: Uint8Array): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < bytes.length; i++) sum = Math.imul(sum ^ bytes[i]!, 0x01000193)
  return sum >>> 0
}

export const checksum: (bytes: Uint8Array) => number = globalThis.process?.getBuiltinModule?.('node:zlib')?.crc32 ?? fnv

const QUOTE = 34
const LETTERS = utf8('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
const six = (bits: number): number => LETTERS[bits & 63]!

const foldA = (a: number, sum: number): number => Math.imul((a << 13) | (a >>> 19), 0x9e3779b1) ^ sum
const foldB = (b: number, sum: number): number => Math.imul(b + sum, 0x85ebca6b) ^ (b >>> 15)

/** Folds checksums into an entity tag of 64 bits. The order of what is folded matters. */
export class Tag {
  private a = 0x2545f491
  private b = 0x9e3779b9 | 0

  add(sum: number): void {
    this.a = foldA(this.a, sum)
    this.b = foldB(this.b, sum)
  }

  /** Folds the marks of neighbouring records, from the `first`-th to the `last`-th. */
  addMarks(block: Block, first: number, last: number): void {
    const step = first <= last ? 1 : -1
    let { a, b } = this
    for (let at = first; at !== last + step; at += step) {
      const mark = block.mark(at)
      a = foldA(a, mark)
      b = foldB(b, mark)
    }
    this.a = a
    this.b = b
  }

  toString(): string {
    const { a, b } = this
    // Six bits per character. Number.prototype.toString takes ten times as long for any base other than ten.
    return String.fromCharCode(
      QUOTE,
      six(a),
      six(a >> 6),
      six(a >> 12),
      six(a >> 18),
      six(a >> 24),
      six((a >>> 30) | ((b & 15) << 2)),
      six(b >> 4),
      six(b >> 10),
      six(b >> 16),
      six(b >> 22),
      six(b >>> 28),
      QUOTE,
    )
  }
}

const CHUNK = 64 * 1024
/** Text up to this length is written faster character by character than by a call to the platform. */
const SHORT_TEXT = 24

/** A buffer written front to back; when it is full, a larger one takes its place. */
export class Out extends Region {
  at = 0

  constructor() {
    super(allocate(CHUNK))
  }

  /** Makes room for `more` bytes from `at` on, and the slack of `copy`; `bytes` and `at` may change. */
  reserve(more: number): void {
    if (this.at + more + SLACK <= this.bytes.length) return
    const larger = allocate(Math.max(2 * this.bytes.length, this.at + more + SLACK))
    larger.set(this.bytes.subarray(0, this.at))
    this.use(larger)
  }

  text(text: string): void {
    this.reserve(text.length * 3)
    if (node) this.at += node.prototype.utf8Write.call(this.bytes, text, this.at)
    else this.at += encoder.encodeInto(text, this.bytes.subarray(this.at)).written
  }

  /** Copies all of a region, where there is room for it. */
  put(region: Region): void {
    this.at = copy(this, this.at, region, 0, region.bytes.length)
  }

  /** Writes text that consists of ASCII characters only; returns where it starts. */
  ascii(text: string): number {
    this.reserve(text.length)
    const start = this.at
    if (text.length <= SHORT_TEXT) {
      const { bytes } = this
      for (let i = 0; i < text.length; i++) bytes[start + i] = text.charCodeAt(i)
      this.at += text.length
    } else if (node) this.at += node.prototype.latin1Write.call(this.bytes, text, start)
    else this.at += encoder.encodeInto(text, this.bytes.subarray(start)).written
    return start
  }
}

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
  private lead = 0
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
    this.chunk = (need === CHUNK ? this.free.pop() : undefined) ?? { bytes: allocate(need), users: 0 }
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
      if (this.parts.length === 0) this.lead = this.room
      this.parts.push(this.bytes.subarray(this.start, this.at))
    }
    this.start = this.at
  }

  /** The body collected since the last call. */
  finish(): Body {
    this.copyWaiting()
    this.flush()
    const { parts, full, lead: room } = this
    const used = [...full, this.chunk]
    for (const chunk of used) chunk.users++
    this.parts = []
    this.full = []
    this.lead = 0
    this.begin(this.at)
    return { parts, room, release: () => this.reuse(used.splice(0)) }
  }

  /** Discards what was collected since the last {@link finish}: a body that failed halfway. */
  drop(): void {
    this.pieces.fill(nothing)
    this.waiting = 0
    this.parts = []
    this.lead = 0
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
