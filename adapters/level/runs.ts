/**
 * What can still be read of LevelDB's tables and logs, as runs of entries in order: block by block and record by record, without those whose checksum
 * does not match. A table whose footer or index is damaged is read from its beginning: its blocks lie side by side, and where one ends is found by
 * its checksum.
 */
import { compare } from '../../src/bytes.ts'
import { masked, step } from './crc32c.ts'
import { batchOf, type LogRecord, readLog } from './log.ts'
import { Cursor, FileReader } from './reading.ts'
import { entriesOf, type Handle, readBlock, readIndex, TableFault, TRAILER, unpacked } from './table.ts'

/** A key, and what was said of it with that sequence number. */
export interface Version {
  readonly key: Uint8Array
  readonly sequence: number
  /** Absent for a deletion. */
  readonly value: Uint8Array | undefined
}

/** By key; of one key, the newest first. */
export const inOrder = (a: Version, b: Version): number => compare(a.key, b.key) || b.sequence - a.sequence

/** Versions in order, from a file. */
export interface Run {
  readonly smallest: Uint8Array
  /** Some at a time. Whoever asks must read to the end, or return. */
  readonly read: () => AsyncIterable<readonly Version[]>
}

/** Called once for each block or record that cannot be read. */
export type OnLost = (file: string) => void

/** @returns undefined if nothing can be read. Losses are told when the run is read. */
export async function runOfTable(directory: string, file: string, onLost: OnLost): Promise<Run | undefined> {
  const path = `${directory}/${file}`
  for await (const [{ key } = { key: undefined }] of readTable(path, () => {}))
    if (key) return { smallest: key, read: () => readTable(path, () => onLost(file)) }
  for await (const _ of readTable(path, () => onLost(file)));
  return undefined
}

async function* readTable(path: string, lost: () => void): AsyncGenerator<readonly Version[], void, undefined> {
  const file = await FileReader.open(path)
  try {
    const index = await orFault(() => readIndex(file))
    if (!index) return yield* readOnward(file, lost)
    for (const handle of index.data) {
      const versions = await orFault(async () => versionsOf(await readBlock(file, handle), handle.offset))
      if (versions) yield versions
      else lost()
    }
  } finally {
    await file.close()
  }
}

/** The blocks from the beginning, up to the first that does not hold entries: the filter, or the list of such blocks. */
async function* readOnward(file: FileReader, lost: () => void): AsyncGenerator<readonly Version[], void, undefined> {
  for (let at = 0; at < file.size; ) {
    const handle = await blockAt(file, at)
    if (!handle) return lost()
    const bytes = await file.read(at, at + handle.size + 1)
    const versions = await orFault(async () => versionsOf(unpacked(bytes), at))
    if (!versions || versions.length === 0) return
    yield versions
    at += handle.size + TRAILER
  }
  // The table was cut off between two blocks: behind the entries others follow.
  lost()
}

const WINDOW = 1 << 16

/** The block that begins there ends where the checksum of all bytes so far stands behind them. */
async function blockAt(file: FileReader, from: number): Promise<Handle | undefined> {
  let crc = -1
  for (let at = from; at + TRAILER <= file.size; ) {
    const bytes = await file.read(at, at + WINDOW)
    const ends = bytes.length - TRAILER + 1
    if (ends <= 0) return undefined
    for (let i = 0; i < ends; i++) {
      crc = step(crc, bytes[i]!)
      if (bytes[i]! > 1) continue
      const sum = (bytes[i + 1]! | (bytes[i + 2]! << 8) | (bytes[i + 3]! << 16) | (bytes[i + 4]! << 24)) >>> 0
      if (masked(~crc >>> 0) === sum) return { offset: from, size: at + i - from }
    }
    at += ends
  }
  return undefined
}

/** @throws TableFault if the block does not hold entries with internal keys: a key, then eight bytes of sequence number and kind */
function versionsOf(block: Uint8Array | undefined, offset: number): Version[] {
  if (!block) throw new TableFault(offset, 'a block cannot be unpacked')
  return Array.from(entriesOf(block, offset), ({ key, value }) => {
    const end = key.length - 8
    const kind = key[end]
    if (kind !== 0 && kind !== 1) throw new TableFault(offset, 'a block has keys that LevelDB does not know')
    const view = new DataView(key.buffer, key.byteOffset)
    const sequence = view.getUint32(end + 4, true) * 2 ** 24 + (view.getUint32(end, true) >>> 8)
    return { key: key.subarray(0, end), sequence, value: kind === 1 ? value : undefined }
  })
}

async function orFault<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof TableFault) return undefined
    throw error
  }
}

/**
 * A log, sorted in memory.
 * @param newest whether it may end in a record that was being written
 * @returns undefined if it holds nothing
 */
export async function runOfLog(directory: string, name: string, newest: boolean, onLost: OnLost): Promise<Run | undefined> {
  const versions: Version[] = []
  const file = await FileReader.open(`${directory}/${name}`)
  try {
    for await (const found of readLog(file)) {
      if (!('data' in found)) {
        if (!found.torn || !newest) onLost(name)
        continue
      }
      const batch = readBatch(found)
      if (batch) for (const version of batch) versions.push(version)
      else onLost(name)
    }
  } finally {
    await file.close()
  }
  const [first] = versions.sort(inOrder)
  if (!first) return undefined
  return {
    smallest: first.key,
    async *read() {
      yield versions
    },
  }
}

/** What a batch says of its keys. @returns undefined if it is not well-formed */
export function readBatch(record: LogRecord): Version[] | undefined {
  const batch = batchOf(record)
  if (!batch) return undefined
  const input = new Cursor(record.data.subarray(12))
  const versions: Version[] = []
  for (let sequence = batch.sequence; !input.done; sequence++) {
    const kind = input.varint()
    const key = input.slice()
    const value = kind === 1 ? input.slice() : undefined
    if (!key || kind > 1 || (kind === 1 && !value)) return undefined
    versions.push({ key, sequence, value })
  }
  return versions.length === batch.count ? versions : undefined
}
