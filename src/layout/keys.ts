/**
 * Keys: the only place that builds or reads one. The first byte says what kind of value lies there; `src/README.md` lists them all.
 * **Invariant:** a leading byte is never given a second meaning.
 */
import { unhex, Writer } from '../bytes.ts'
import type { KeyRange } from '../store.ts'
import { type Element, readTuple, writeTuple, writeU32BE } from '../tuple.ts'

export const HEAD = Uint8Array.of(0x00)
export const FORMAT = Uint8Array.of(0x01)
export const INTENT = Uint8Array.of(0x02)
export const PRUNED = Uint8Array.of(0x03)
export const HIGH_WATER = Uint8Array.of(0x04)
export const ERA = Uint8Array.of(0x05)

/** The first bytes of the keys that have more than one byte. */
export const KIND = { block: 0x10, edge: 0x20, page: 0x21, hash: 0x30, book: 0x40, seller: 0x41, base: 0x42, digest: 0x50 } as const

/** The first byte of a key, which says its kind; -1 if it has none. */
export const kindOfKey = (key: Uint8Array): number => key[0] ?? -1

/** No key begins with as many FF as the upper bound. */
export const ALL_KEYS: KeyRange = { gte: new Uint8Array(0), lt: new Uint8Array(64).fill(0xff) }
/** All but the head, the format and the intent. Of what lies here, a store that was emptied keeps its high water and its era. */
export const CONTENT_KEYS: KeyRange = { gte: PRUNED, lt: Uint8Array.of(0xff) }

/** All keys of a kind, or of several adjacent kinds. */
export const keysOf = (first: number, last = first): KeyRange => ({ gte: Uint8Array.of(first), lt: Uint8Array.of(last + 1) })

/** The prefix of the keys of an index's posting lists. */
export const indexKey = (index: number): Uint8Array => Uint8Array.of(KIND.edge, index)
/** The prefix of the keys of their sealed pages. */
export const indexPagesKey = (index: number): Uint8Array => Uint8Array.of(KIND.page, index)

/** Every key is written here and copied out: keys are short, and made by the hundred per ledger. */
const out = new Writer(256)

/** Begins a key. What a key that failed left behind is forgotten. */
function begin(kind: number): void {
  out.length = 0
  out.u8(kind)
}

function writeU48(value: number): void {
  const high = Math.floor(value / 4294967296)
  out.u8(high >>> 8)
  out.u8(high & 255)
  writeU32BE(out, value % 4294967296)
}

export function blockKey(log: number, block: number): Uint8Array {
  begin(KIND.block)
  out.u8(log)
  writeU48(block)
  return out.take()
}

export function postingKey(index: number, key: readonly Element[]): Uint8Array {
  begin(KIND.edge)
  out.u8(index)
  writeTuple(out, key)
  return out.take()
}

export function postingPageKey(index: number, key: readonly Element[], level: number, page: number): Uint8Array {
  begin(KIND.page)
  out.u8(index)
  writeTuple(out, key)
  out.u8(level)
  writeU48(page)
  return out.take()
}

const HASH_KEY_BYTES = 33

/** @param hash 64 hexadecimal digits */
export function hashKey(hash: string): Uint8Array {
  const key = new Uint8Array(HASH_KEY_BYTES)
  key[0] = KIND.hash
  return unhex(hash, key, 1)
}

export function bookKey(seller: string, offer: bigint): Uint8Array {
  begin(KIND.book)
  writeTuple(out, [seller, offer])
  return out.take()
}

export function bookSellerKey(offer: bigint): Uint8Array {
  begin(KIND.seller)
  writeTuple(out, [offer])
  return out.take()
}

export function baseKey(offer: bigint): Uint8Array {
  begin(KIND.base)
  writeTuple(out, [offer])
  return out.take()
}

export function digestKey(ledger: number): Uint8Array {
  begin(KIND.digest)
  writeU32BE(out, ledger)
  return out.take()
}

/** The blocks of a log: all of them, or those before block `to`. */
export const blockRange = (log: number, to?: number): KeyRange => ({
  gte: blockKey(log, 0),
  lt: to === undefined ? blockKey(log + 1, 0) : blockKey(log, to),
})

/** The sealed pages of a list. */
export const pageRange = (index: number, key: readonly Element[]): KeyRange => ({
  gte: postingPageKey(index, key, 0, 0),
  lt: postingPageKey(index, key, 255, 0),
})

/** The digests of ledgers from `from` up to but excluding `to`. */
export const digestRange = (from: number, to: number): KeyRange => ({ gte: digestKey(from), lt: digestKey(to) })

/** The book entries of a seller with offer ids from `from` up to but excluding `to`. */
export const bookRange = (seller: string, from: bigint, to: bigint): KeyRange => ({
  gte: bookKey(seller, from),
  lt: bookKey(seller, to),
})

const viewOf = (key: Uint8Array): DataView => new DataView(key.buffer, key.byteOffset, key.length)
const readU48 = (view: DataView, at: number): number => view.getUint16(at) * 4294967296 + view.getUint32(at + 2)

/** What a key of a block names; undefined if it is malformed after its first byte. */
export const readBlockKey = (key: Uint8Array): { readonly log: number; readonly number: number } | undefined =>
  key.length === 8 ? { log: key[1]!, number: readU48(viewOf(key), 2) } : undefined

/** False for a key that begins like that of a hash and has another length. */
export const isHashKey = (key: Uint8Array): boolean => key.length === HASH_KEY_BYTES

export const readDigestKey = (key: Uint8Array): number | undefined => (key.length === 5 ? viewOf(key).getUint32(1) : undefined)

/** How many bytes the key of a sealed page has after that of its list. */
const PAGE_BYTES = 7

/** The index and the key of the list to which a posting key belongs. */
export function readPostingKey(key: Uint8Array): { readonly index: number; readonly elements: readonly Element[] } | undefined {
  const end = kindOfKey(key) === KIND.page ? key.length - PAGE_BYTES : key.length
  const elements = end < 2 ? undefined : readTuple(key.subarray(2, end))
  return elements && { index: key[1]!, elements }
}

/** Which of its list's pages the key of a sealed page stands for. */
export function readPage(key: Uint8Array): { readonly level: number; readonly number: number } {
  const at = key.length - PAGE_BYTES
  return { level: key[at]!, number: readU48(viewOf(key), at + 1) }
}

/** The offer to which a key of the book belongs: its last element. */
export function readOffer(key: Uint8Array): bigint | undefined {
  const id = readTuple(key.subarray(1))?.at(-1)
  return typeof id === 'bigint' ? id : undefined
}
