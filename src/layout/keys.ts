/**
 * Keys: the only place that builds one. The first byte says what kind of value lies there.
 *
 *     00                                    head: how far history reaches, and the counts of every log
 *     01                                    format: version, catalogue, settings
 *     02                                    intent: a change over several batches that an open has to finish
 *     03                                    pruned: how many lists name records that were given up
 *     04                                    high water: how far history reached, kept beside the store
 *     05                                    era: how often history was taken back, in a store that processes share
 *     10 log:1 block:6                      block of a log
 *     20 index:1 tuple                      posting list: its right edge
 *     21 index:1 tuple level:1 page:6       posting list: a sealed page
 *     30 hash:32                            a transaction by its hash
 *     40 tuple(seller, offer id)            an offer of the current book
 *     41 tuple(offer id)                    the seller of an offer of the current book
 *     42 tuple(offer id)                    the last change of an offer below the oldest ledger held
 *     50 ledger:4                           digest of a ledger
 *
 * Numbers most significant byte first. **Invariant:** a leading byte is never given a second meaning.
 */
import { unhex, Writer } from '../bytes.ts'
import { type Element, writeTuple, writeU32BE } from '../tuple.ts'

export const HEAD = Uint8Array.of(0x00)
export const FORMAT = Uint8Array.of(0x01)
export const INTENT = Uint8Array.of(0x02)
export const PRUNED = Uint8Array.of(0x03)
export const MARK = Uint8Array.of(0x04)
export const ERA = Uint8Array.of(0x05)

/** What the keys of the posting lists of an index begin with. */
export const indexKey = (index: number): Uint8Array => Uint8Array.of(0x20, index)
/** The same of their sealed pages. */
export const indexPagesKey = (index: number): Uint8Array => Uint8Array.of(0x21, index)

/** Every key is written here and copied out: keys are short, and made by the hundred a ledger. */
const out = new Writer(256)

function writeU48(value: number): void {
  const high = Math.floor(value / 4294967296)
  out.u8(high >>> 8)
  out.u8(high & 255)
  writeU32BE(out, value % 4294967296)
}

export function blockKey(log: number, block: number): Uint8Array {
  out.u8(0x10)
  out.u8(log)
  writeU48(block)
  return out.take()
}

export function postingKey(index: number, key: readonly Element[]): Uint8Array {
  out.u8(0x20)
  out.u8(index)
  writeTuple(out, key)
  return out.take()
}

export function postingPageKey(index: number, key: readonly Element[], level: number, page: number): Uint8Array {
  out.u8(0x21)
  out.u8(index)
  writeTuple(out, key)
  out.u8(level)
  writeU48(page)
  return out.take()
}

/** @param hash 64 hexadecimal digits */
export function hashKey(hash: string): Uint8Array {
  const key = new Uint8Array(33)
  key[0] = 0x30
  key.set(unhex(hash), 1)
  return key
}

export function bookKey(seller: string, offer: bigint): Uint8Array {
  out.u8(0x40)
  writeTuple(out, [seller, offer])
  return out.take()
}

export function bookSellerKey(offer: bigint): Uint8Array {
  out.u8(0x41)
  writeTuple(out, [offer])
  return out.take()
}

export function baseKey(offer: bigint): Uint8Array {
  out.u8(0x42)
  writeTuple(out, [offer])
  return out.take()
}

export function digestKey(ledger: number): Uint8Array {
  out.u8(0x50)
  writeU32BE(out, ledger)
  return out.take()
}

/** The book entries of a seller with offer ids from `from` up to, but without, `to`. */
export const bookRange = (seller: string, from: bigint, to: bigint): { gte: Uint8Array; lt: Uint8Array } => ({
  gte: bookKey(seller, from),
  lt: bookKey(seller, to),
})
