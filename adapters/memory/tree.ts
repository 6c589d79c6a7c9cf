/**
 * A B+ tree of height two: a root array over leaves, each leaf two parallel arrays of sorted keys and their values.
 *
 * **Invariant:** a key is held as its latin1 string, one code unit per byte, since those compare fastest and in the order of unsigned bytes.
 * **Invariant:** there is at least one leaf; if there are several, none is empty. `firsts` rise from the empty string: `firsts[i]` is at or below the
 * first key of `leaves[i]`, and above every key of `leaves[i - 1]`.
 * **Invariant:** no buffer held here is known outside: bytes are copied on the way in and on the way out.
 */
import { NodeBuffer } from '../../src/bytes.ts'
import type { Chunk, Entry, KeyRange, ScanOptions, Write } from '../../src/store.ts'

interface Leaf {
  readonly keys: string[]
  readonly values: Uint8Array[]
}

/** Measured: from 32 to 512 keys per leaf there is no difference to speak of. */
const LEAF = 128

export class Tree {
  private readonly firsts: string[]
  private readonly leaves: Leaf[]

  constructor(firsts: string[] = [''], leaves: Leaf[] = [{ keys: [], values: [] }]) {
    this.firsts = firsts
    this.leaves = leaves
  }

  /** Another tree that holds the same now. Values are shared, since none is ever changed. */
  copied(): Tree {
    return new Tree(
      this.firsts.slice(),
      this.leaves.map(({ keys, values }) => ({ keys: keys.slice(), values: values.slice() })),
    )
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const name = latin1(key)
    const { keys, values } = this.leaves[this.leafOf(name)]!
    const at = lowerBound(keys, name)
    return keys[at] === name ? copy(values[at]!) : undefined
  }

  /** Everything that can throw comes first, so that a batch is applied whole or not at all. */
  write(batch: readonly Write[]): void {
    const copies = batch.map(([key, value]) => [latin1(key), value && new Uint8Array(value)] as const)
    for (const [key, value] of copies) {
      if (value) this.put(key, value)
      else this.delete(key)
    }
  }

  scan(range: KeyRange, { limit, maxBytes = Number.POSITIVE_INFINITY, reverse = false }: ScanOptions): Chunk {
    const bounds = [latin1(range.gte), latin1(range.lt)] as const
    const step = reverse ? -1 : 1
    const inside = (key: string): boolean => (reverse ? key >= bounds[0] : key < bounds[1])
    const start = reverse ? bounds[1] : bounds[0]
    const entries: Entry[] = []
    let bytes = 0
    let index = this.leafOf(start)
    let at = lowerBound(this.leaves[index]!.keys, start) - (reverse ? 1 : 0)
    for (let leaf = this.leaves[index]; leaf; leaf = this.leaves[index]) {
      for (; at >= 0 && at < leaf.keys.length; at += step) {
        const key = leaf.keys[at]!
        if (!inside(key)) return { entries, more: false }
        const value = leaf.values[at]!
        bytes += key.length + value.length
        if (entries.length === limit || (bytes > maxBytes && entries.length > 0)) return { entries, more: true }
        entries.push([unlatin1(key), copy(value)])
      }
      index += step
      at = reverse ? (this.leaves[index]?.keys.length ?? 0) - 1 : 0
    }
    return { entries, more: false }
  }

  private put(key: string, value: Uint8Array): void {
    const index = this.leafOf(key)
    const { keys, values } = this.leaves[index]!
    const at = lowerBound(keys, key)
    if (keys[at] === key) values[at] = value
    else {
      keys.splice(at, 0, key)
      values.splice(at, 0, value)
      if (keys.length > LEAF) this.split(index, at)
    }
  }

  private delete(key: string): void {
    const index = this.leafOf(key)
    const { keys, values } = this.leaves[index]!
    const at = lowerBound(keys, key)
    if (keys[at] !== key) return
    keys.splice(at, 1)
    values.splice(at, 1)
    if (keys.length > 0 || this.leaves.length === 1) return
    this.leaves.splice(index, 1)
    this.firsts.splice(index, 1)
    this.firsts[0] = ''
  }

  /** The only leaf that may hold the key. */
  private leafOf(key: string): number {
    const above = lowerBound(this.firsts, key)
    return this.firsts[above] === key ? above : above - 1
  }

  /** Keys that come in rising order leave full leaves behind; others halve them. */
  private split(index: number, at: number): void {
    const { keys, values } = this.leaves[index]!
    const from = at === keys.length - 1 ? at : keys.length >> 1
    const upper: Leaf = { keys: keys.splice(from), values: values.splice(from) }
    this.leaves.splice(index + 1, 0, upper)
    this.firsts.splice(index + 1, 0, upper.keys[0]!)
  }
}

/** A constant of this file: of an import, the compiler forgets within functions that it is there. */
const buffer = NodeBuffer

/**
 * A copy to hand out. Node's pooled buffers cost a third for small values; what the tree keeps is not pooled, since it would keep whole pools alive.
 */
const copy: (bytes: Uint8Array) => Uint8Array = buffer
  ? (bytes) => {
      const out = buffer.allocUnsafe(bytes.length)
      out.set(bytes)
      return out
    }
  : (bytes) => new Uint8Array(bytes)

/** The index of the first key that is not below `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (keys[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}

const latin1: (bytes: Uint8Array) => string = buffer
  ? (bytes) => buffer.prototype.latin1Slice.call(bytes, 0, bytes.length)
  : (bytes) => bytes.reduce((text, byte) => text + String.fromCharCode(byte), '')

function unlatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}
