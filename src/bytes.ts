/**
 * Byte helpers: text, comparison, checksums, variable-length integers.
 * Runs wherever JavaScript runs: Node's own faster functions are used where they exist, found without importing them.
 */

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
/** Node's `Buffer`, or one that has all of it: what pages are given by that name for the sake of older packages lacks the faster functions. */
export const NodeBuffer: typeof Buffer | undefined =
  typeof globalThis.Buffer?.prototype?.utf8Slice === 'function' ? globalThis.Buffer : undefined

export const utf8 = (text: string): Uint8Array => encoder.encode(text)

/** The text of `bytes[from, to)`, read as UTF-8. */
export const text: (bytes: Uint8Array, from?: number, to?: number) => string = NodeBuffer
  ? (bytes, from = 0, to = bytes.length) => NodeBuffer.prototype.utf8Slice.call(bytes, from, to)
  : (bytes, from = 0, to = bytes.length) => decoder.decode(bytes.subarray(from, to))

const latin1Decoder = new TextDecoder('latin1')

/** One character per byte of `bytes[from, to)`: the text, if that is ASCII. */
export const characters: (bytes: Uint8Array, from: number, to: number) => string = NodeBuffer
  ? (bytes, from, to) => NodeBuffer.prototype.latin1Slice.call(bytes, from, to)
  : (bytes, from, to) => latin1Decoder.decode(bytes.subarray(from, to))

export const byteLength = (value: string): number => (NodeBuffer ? NodeBuffer.byteLength(value) : encoder.encode(value).length)

/** Unsigned byte order; of two keys with a common prefix, the shorter comes first. */
export const compare: (a: Uint8Array, b: Uint8Array) => number = NodeBuffer
  ? (a, b) => NodeBuffer.compare(a, b)
  : (a, b) => {
      const shared = Math.min(a.length, b.length)
      for (let i = 0; i < shared; i++) if (a[i] !== b[i]) return a[i]! - b[i]!
      return a.length - b.length
    }

const SURROGATE = 0xd800

/** As {@link compare} on the UTF-8 of both, which is encoded only where its order could differ from that of the characters. */
export function compareTexts(a: string, b: string): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x !== y) return x < SURROGATE || y < SURROGATE ? x - y : compare(utf8(a), utf8(b))
  }
  return a.length - b.length
}

export const equal = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && compare(a, b) === 0

/** Equal, or both absent. */
export const same = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean => (a && b ? equal(a, b) : a === b)

const HEX = '0123456789abcdef'

export function hex(bytes: Uint8Array): string {
  let out = ''
  for (const byte of bytes) out += HEX[byte >> 4]! + HEX[byte & 15]!
  return out
}

/** The value of a hexadecimal digit, in either case. */
export const nibble = (code: number): number => (code < 58 ? code - 48 : (code | 32) - 87)

/** The bytes of an even number of hex digits, in either case; written from `from` on, if they are part of something. */
export function unhex(digits: string, bytes: Uint8Array = new Uint8Array(digits.length >> 1), from = 0): Uint8Array {
  for (let at = 0; at < digits.length; at += 2)
    bytes[from + (at >> 1)] = (nibble(digits.charCodeAt(at)) << 4) | nibble(digits.charCodeAt(at + 1))
  return bytes
}

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

function crc32Table(bytes: Uint8Array, start = 0, from = 0, to = bytes.length): number {
  let value = ~start
  for (let i = from; i < to; i++) value = (value >>> 8) ^ table[(value ^ bytes[i]!) & 255]!
  return ~value >>> 0
}

/** CRC-32 (ISO 3309, as in gzip) of the bytes, continued from `start`. */
export const crc32: (bytes: Uint8Array, start?: number) => number = globalThis.process?.getBuiltinModule?.('node:zlib')?.crc32 ?? crc32Table

/** The portable form of {@link crc32}: for a few bytes, faster than a call out of JavaScript. */
export const portableCrc32 = crc32Table

/** Plain memory, since views of a `Buffer` cost more than those of a `Uint8Array`. */
const allocate = (size: number): Uint8Array => (NodeBuffer ? new Uint8Array(NodeBuffer.allocUnsafeSlow(size).buffer) : new Uint8Array(size))

/** Text up to this length is written faster character by character than by a call to the platform. */
const SHORT = 24

const writeLong: (bytes: Uint8Array, at: number, value: string) => number = NodeBuffer
  ? (bytes, at, value) => NodeBuffer.prototype.utf8Write.call(bytes, value, at)
  : (bytes, at, value) => encoder.encodeInto(value, bytes.subarray(at)).written

const writeLongAscii: typeof writeLong = NodeBuffer
  ? (bytes, at, value) => NodeBuffer.prototype.latin1Write.call(bytes, value, at)
  : writeLong

/** Writes text as UTF-8 at a place where there is room for it; returns how many bytes that took. */
export function writeText(bytes: Uint8Array, at: number, value: string): number {
  const { length } = value
  if (length > SHORT) return writeLong(bytes, at, value)
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i)
    if (code > 127) return writeLong(bytes, at, value)
    bytes[at + i] = code
  }
  return length
}

/** As {@link writeText}, for text that is all ASCII. */
export const writeAscii = (bytes: Uint8Array, at: number, value: string): number =>
  value.length > SHORT ? writeLongAscii(bytes, at, value) : writeText(bytes, at, value)

/**
 * Values are carved from slabs, since many small buffers cost the garbage collector far more than a few large ones. A slab is abandoned when full,
 * never reused: it lives as long as any value carved from it.
 */
const SLAB_BYTES = 256 * 1024
let slab: Uint8Array = new Uint8Array(0)
let slabUsed = 0

/** Fresh memory of undefined content for a value. */
export function carve(bytes: number): Uint8Array {
  if (bytes > SLAB_BYTES / 4) return allocate(bytes)
  if (slabUsed + bytes > slab.length) {
    slab = allocate(SLAB_BYTES)
    slabUsed = 0
  }
  slabUsed += bytes
  return slab.subarray(slabUsed - bytes, slabUsed)
}

/** Pieces one after another; a single piece is given as it is. */
export function concat(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1) return pieces[0]!
  const whole = allocate(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** A growing byte buffer, written front to back. */
export class Writer {
  bytes: Uint8Array
  length = 0

  /** @param capacity bytes that will be needed; if that was too few, the buffer grows by copying */
  constructor(capacity = 256) {
    this.bytes = carve(capacity)
  }

  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const grown = allocate(Math.max(this.bytes.length * 2, this.length + more))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }

  u8(value: number): void {
    this.reserve(1)
    this.bytes[this.length++] = value
  }

  /** LEB128 of a whole number up to 2^53 - 1. */
  varint(value: number): void {
    this.reserve(8)
    while (value > 127) {
      this.bytes[this.length++] = (value % 128) | 128
      value = Math.floor(value / 128)
    }
    this.bytes[this.length++] = value
  }

  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /** Writes text as UTF-8 and returns how many bytes that took. */
  text(value: string): number {
    if (this.bytes.length - this.length < value.length * 3) this.reserve(byteLength(value))
    const written = writeText(this.bytes, this.length, value)
    this.length += written
    return written
  }

  /** What was written, as a view; the writer must not be used any more. */
  finish(): Uint8Array {
    // The part of the slab that was not needed goes back, if nothing was carved behind it.
    if (this.bytes.buffer === slab.buffer && this.bytes.byteOffset + this.bytes.length === slab.byteOffset + slabUsed)
      slabUsed -= this.bytes.length - this.length
    return this.bytes.subarray(0, this.length)
  }

  /** A copy of what was written; the writer is reset for the next value, so that small values can share one. */
  take(): Uint8Array {
    const { length } = this
    this.length = 0
    if (NodeBuffer) {
      const copy = NodeBuffer.allocUnsafe(length)
      for (let i = 0; i < length; i++) copy[i] = this.bytes[i]!
      return copy
    }
    return this.bytes.slice(0, length)
  }
}

/** Four bytes as a signed number, little-endian. */
export const i32 = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)

/** Bytes to copy from or to: the same memory, seen both byte by byte and through a `DataView`. */
export class Region {
  bytes: Uint8Array
  view: DataView
  /** The buffer of the bytes, and their offset in it: asking the bytes for these takes as long as making a view. */
  private buffer: ArrayBufferLike
  private offset: number

  /** @param bytes up to {@link SLACK} bytes behind these in their buffer may be read and, in a region written to, overwritten */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.buffer = bytes.buffer
    this.offset = bytes.byteOffset
    this.view = this.seen(bytes.length)
  }

  private seen(length: number): DataView {
    return new DataView(this.buffer, this.offset, Math.min(length + SLACK, this.buffer.byteLength - this.offset))
  }

  /** Switches to other bytes. */
  protected use(bytes: Uint8Array): void {
    this.bytes = bytes
    this.buffer = bytes.buffer
    this.offset = bytes.byteOffset
    this.view = this.seen(bytes.length)
  }

  /** A view of `bytes[from, to)`, which must lie in the region; faster than `subarray`. */
  part(from: number, to: number): Uint8Array {
    return new Uint8Array(this.buffer, this.offset + from, to - from)
  }

  /** This many bytes of undefined content, with slack behind them. */
  static room(length: number): Region {
    return new Region(allocate(length + SLACK).subarray(0, length))
  }

  /** A copy of the bytes, with the slack behind them that {@link copy} needs. */
  static padded(bytes: Uint8Array): Region {
    const room = allocate(bytes.length + SLACK)
    room.set(bytes)
    return new Region(room.subarray(0, bytes.length))
  }
}

/** How far {@link copy} may reach beyond what it copies. */
export const SLACK = 3
/** From this length on, a call to the platform copies faster. */
const LONG = 128

/**
 * Copies a run of UTF-8; returns where it ends. It copies eight bytes at a time through views, then four: measured four times faster than one at a
 * time, and for 60 bytes more than twice as fast as `set`, which first needs a view of the run. Up to three bytes behind the run are therefore
 * overwritten: callers write front to back, into a region with {@link SLACK} bytes more than they need.
 *
 * Eight bytes travel as a double, and an engine may change the bits of a NaN. UTF-8 never forms one: that would take a byte FF, or 7F behind a byte
 * from F0 on.
 */
export function copy(out: Region, at: number, source: Region, from: number, length: number): number {
  if (length > LONG) {
    out.bytes.set(source.part(from, from + length), at)
  } else {
    const { view: to } = out
    const { view } = source
    let i = 0
    for (; i <= length - 8; i += 8) to.setFloat64(at + i, view.getFloat64(from + i, true), true)
    for (; i < length; i += 4) to.setInt32(at + i, view.getInt32(from + i, true), true)
  }
  return at + length
}

/** Reads the varints of `bytes` from `at` on. */
export class VarintReader {
  at: number
  private readonly bytes: Uint8Array
  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  /** The next varint; NaN if the bytes end too early, which no caller may accept. */
  next(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.bytes[this.at++]
      if (byte === undefined || scale > 2 ** 49) return Number.NaN
      value += (byte & 127) * scale
      if (byte < 128) return value
      scale *= 128
    }
  }
}
