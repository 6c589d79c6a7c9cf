/**
 * LevelDB's tables: blocks with a checksum each, an index of them, and a footer that says where the index is. Every byte of a table belongs to one of
 * these.
 */
import { same } from '../../src/bytes.ts'
import { crc32c, masked } from './crc32c.ts'
import type { LiveTable } from './manifest.ts'
import { Cursor, type FileReader } from './reading.ts'
import { unsnappy } from './snappy.ts'

const FOOTER = 48
export const TRAILER = 5
const MAGIC = Uint8Array.of(0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb)

/** Where a block lies, without its trailer: how it is packed, and its checksum. */
export interface Handle {
  readonly offset: number
  readonly size: number
}

export class TableFault extends Error {
  readonly at: number
  constructor(at: number, reason: string) {
    super(reason)
    this.at = at
  }
}

/** Checks a whole table: each block, that the blocks cover the file, and that its keys are those that the MANIFEST says. @throws TableFault */
export async function checkTable(file: FileReader, { size, smallest, largest }: LiveTable): Promise<void> {
  if (file.size !== size) throw new TableFault(file.size, `the table has ${file.size} bytes, not ${size}`)
  const { data, index, meta } = await readIndex(file)
  const blocks = [...data]
  for (const { value } of entriesOf(await readBlock(file, meta), meta.offset)) {
    const handle = handleOf(new Cursor(value))
    if (handle) blocks.push(handle)
  }
  let end = 0
  for (const { offset, size: length } of [...blocks, meta, index]) {
    if (offset !== end) throw new TableFault(end, 'the blocks do not cover the table')
    end = offset + length + TRAILER
  }
  if (end !== size - FOOTER) throw new TableFault(end, 'the blocks do not cover the table')
  let [first, last]: (Uint8Array | undefined)[] = []
  for (const handle of blocks) {
    const edge = handle === data[0] || handle === data.at(-1)
    const block = await readBlock(file, handle, edge)
    if (!edge) continue
    const entries = [...entriesOf(block, handle.offset)]
    first ??= entries[0]?.key
    last = entries.at(-1)?.key
  }
  if (!same(first, smallest) || !same(last, largest)) throw new TableFault(0, 'the keys are not those of this table')
}

/** The blocks of entries in their order, as the footer and the index say, and where the index and the list of other blocks lie. @throws TableFault */
export async function readIndex(file: FileReader): Promise<{ data: Handle[]; index: Handle; meta: Handle }> {
  const end = Math.max(0, file.size - FOOTER)
  const footer = await file.read(end, file.size)
  if (footer.length < FOOTER || !same(footer.subarray(FOOTER - 8), MAGIC)) throw new TableFault(end, 'the footer is damaged')
  const cursor = new Cursor(footer)
  const [meta, index] = [handleOf(cursor), handleOf(cursor)]
  if (!meta || !index || !footer.subarray(cursor.at, FOOTER - 8).every((byte) => byte === 0))
    throw new TableFault(end, 'the footer is damaged')
  const data: Handle[] = []
  for (const { value } of entriesOf(await readBlock(file, index), index.offset)) {
    const handle = handleOf(new Cursor(value))
    if (!handle) throw new TableFault(index.offset, 'the index is damaged')
    data.push(handle)
  }
  return { data, index, meta }
}

function handleOf(cursor: Cursor): Handle | undefined {
  const [offset, size] = [cursor.varint(), cursor.varint()]
  return Number.isNaN(size) ? undefined : { offset, size }
}

/** A block, its checksum verified; unpacked on request. @throws TableFault */
export async function readBlock(file: FileReader, { offset, size }: Handle, unpack = true): Promise<Uint8Array> {
  const bytes = await file.read(offset, offset + size + TRAILER)
  if (bytes.length < size + TRAILER) throw new TableFault(offset, 'a block is cut off')
  const sum = (bytes[size + 1]! | (bytes[size + 2]! << 8) | (bytes[size + 3]! << 16) | (bytes[size + 4]! << 24)) >>> 0
  if (masked(crc32c(bytes, 0, size + 1)) !== sum) throw new TableFault(offset, 'the checksum of a block does not match')
  if (!unpack) return bytes
  const block = unpacked(bytes.subarray(0, size + 1))
  if (!block) throw new TableFault(offset, 'a block cannot be unpacked')
  return block
}

/** The contents of a block, by the byte behind it that says how it is packed. @returns undefined if they cannot be unpacked */
export function unpacked(bytes: Uint8Array): Uint8Array | undefined {
  const data = bytes.subarray(0, -1)
  return bytes.at(-1) === 0 ? data : bytes.at(-1) === 1 ? unsnappy(data) : undefined
}

/** The entries of a block: keys share prefixes with the one before; the end of the block lists those that do not. */
export function* entriesOf(block: Uint8Array, offset: number): Generator<{ key: Uint8Array; value: Uint8Array }> {
  if (block.length < 4) throw new TableFault(offset, 'a block is too short')
  const restarts = new DataView(block.buffer, block.byteOffset).getUint32(block.length - 4, true)
  const cursor = new Cursor(block.subarray(0, Math.max(0, block.length - 4 - 4 * restarts)))
  let key: Uint8Array = new Uint8Array(0)
  while (!cursor.done) {
    const [shared, more, length] = [cursor.varint(), cursor.varint(), cursor.varint()]
    const [rest, value] = [cursor.take(more), cursor.take(length)]
    if (!rest || !value || shared > key.length) throw new TableFault(offset, 'a block is damaged')
    const whole = new Uint8Array(shared + more)
    whole.set(key.subarray(0, shared))
    whole.set(rest, shared)
    key = whole
    yield { key, value }
  }
}
