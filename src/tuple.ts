/**
 * Order-preserving key codec, after FoundationDB's tuple layer: a type code before each element, so that tuples compare as their elements do.
 * If the bytes of one tuple begin those of another of the same shape, the longer one goes on with FF, so a tuple followed by any smaller
 * byte is never mistaken for it.
 *
 * | code | element | bytes |
 * |---|---|---|
 * | 02 | string | UTF-8, each 00 as 00 FF, ended by 00 |
 * | 15 | unsigned integer to 2^63 - 1 | eight bytes, most significant first |
 *
 * **Invariant:** a type code is never given a second meaning. Golden vectors: `test/engine/basics/tuple.test.ts`.
 */
import { equal, text, utf8, Writer } from './bytes.ts'
import { splitId } from './position.ts'

export type Element = string | bigint

const STRING = 0x02
const UNSIGNED = 0x15

export function writeU32BE(out: Writer, value: number): void {
  out.u8(value >>> 24)
  out.u8((value >>> 16) & 255)
  out.u8((value >>> 8) & 255)
  out.u8(value & 255)
}

/** Appends the elements to a key. */
export function writeTuple(out: Writer, elements: readonly Element[]): void {
  for (const element of elements) {
    if (typeof element === 'string') {
      out.u8(STRING)
      if (!element.includes('\0')) out.text(element)
      else
        for (const byte of utf8(element)) {
          out.u8(byte)
          if (byte === 0) out.u8(0xff)
        }
      out.u8(0)
    } else {
      const { hi, lo } = splitId(element)
      out.u8(UNSIGNED)
      writeU32BE(out, hi)
      writeU32BE(out, lo)
    }
  }
}

export function tuple(elements: readonly Element[]): Uint8Array {
  const out = new Writer(64)
  writeTuple(out, elements)
  return out.finish()
}

/** The elements that `bytes` hold; undefined if they are not a tuple. */
export function readTuple(bytes: Uint8Array): Element[] | undefined {
  const elements: Element[] = []
  for (let at = 0; at < bytes.length; ) {
    const code = bytes[at++]
    if (code === UNSIGNED && at + 8 <= bytes.length) {
      elements.push(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at))
      at += 8
    } else if (code === STRING) {
      const found: number[] = []
      for (; at < bytes.length && (bytes[at] !== 0 || bytes[at + 1] === 0xff); at += bytes[at] === 0 ? 2 : 1) found.push(bytes[at]!)
      if (bytes[at++] !== 0) return undefined
      elements.push(text(Uint8Array.from(found)))
    } else return undefined
  }
  return equal(tuple(elements), bytes) ? elements : undefined
}
