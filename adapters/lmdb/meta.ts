/**
 * The two meta pages with which LMDB's file begins, its head: each commit replaces the older one. Source of the format: `mdb.c` of LMDB 1.0, version 2 of
 * the data, on 64-bit systems; little-endian.
 *
 * ```
 * page    number:8 │ transaction:8 │ pad:2 │ flags:2 │ lower:2 │ upper:2
 * meta    magic:4 │ version:4 │ address:8 │ map size:8 │ free tree:48 │ main tree:48 │ last page:8 │ transaction:8
 * tree    page size:4 │ flags:2 │ depth:2 │ pages of each kind:8 × 3 │ entries:8 │ root:8
 * ```
 */
import { type FileFault, fs } from '../directory/index.ts'

/** The file that holds everything. */
export const DATA = 'data.mdb'

/** That of LMDB's lock, beside it. */
export const LOCK = 'lock.mdb'

/** No page: the root of an empty tree. */
export const NONE = 0xffffffffffffffffn

/** Of the data, as the package `lmdb` reads and writes it. */
export const VERSION = 2

const MAGIC = 0xbeefc0de

/** Where a meta page says what it is, by the byte. */
const AT = {
  number: 0,
  pageFlags: 18,
  magic: 24,
  version: 28,
  mapSize: 40,
  pageSize: 48,
  treeFlags: 52,
  freeRoot: 88,
  mainRoot: 136,
  lastPage: 144,
  transaction: 152,
  end: 160,
} as const

export interface Head {
  readonly version: number
  /** In bytes. */
  readonly pageSize: number
  /** The newest one that was committed. */
  readonly transaction: bigint
  /** The pages at which the trees begin that were committed with it; those of a tree that is empty are {@link NONE}. */
  readonly roots: readonly bigint[]
}

/** What a file begins with; or what is wrong with that. Of a version that is not {@link VERSION}, it is what the first page says. */
export function headOf(file: number): Head | FileFault {
  const first = metaOf(file, 0, 'this is no file of LMDB')
  if ('reason' in first || first.version !== VERSION) return first
  const { pageSize } = first
  if (pageSize < 512 || pageSize > 65536) return { file: DATA, at: AT.pageSize, reason: `pages of ${pageSize} bytes` }
  const second = metaOf(file, pageSize, 'the head of the file is damaged')
  return 'reason' in second || second.transaction > first.transaction ? second : first
}

function metaOf(file: number, place: number, otherwise: string): Head | FileFault {
  const page = new DataView(new ArrayBuffer(AT.end))
  if (fs().readSync(file, page, 0, AT.end, place) < AT.end)
    return { file: DATA, at: fs().fstatSync(file).size, reason: 'the file is cut off' }
  if (page.getUint32(AT.magic, true) !== MAGIC) return { file: DATA, at: place, reason: otherwise }
  return {
    version: page.getUint16(AT.version, true),
    pageSize: page.getUint32(AT.pageSize, true),
    transaction: page.getBigUint64(AT.transaction, true),
    roots: [page.getBigUint64(AT.freeRoot, true), page.getBigUint64(AT.mainRoot, true)],
  }
}

/** The newest transaction that a file holds; 0 if it is a new one. */
export function newestTransaction(file: number): bigint {
  const head = headOf(file)
  return 'reason' in head ? 0n : head.transaction
}

/** A file that holds nothing, as LMDB makes it where pages of memory have 4 KiB. */
export function emptyFile(): Uint8Array {
  const [pageSize, metaPage, numericKeys, mapSize] = [4096, 8, 8, 128 << 10]
  const bytes = new Uint8Array(2 * pageSize)
  for (const number of [0, 1]) {
    const page = new DataView(bytes.buffer, number * pageSize, pageSize)
    page.setBigUint64(AT.number, BigInt(number), true)
    page.setUint16(AT.pageFlags, metaPage, true)
    page.setUint32(AT.magic, MAGIC, true)
    page.setUint32(AT.version, VERSION, true)
    page.setBigUint64(AT.mapSize, BigInt(mapSize), true)
    page.setUint32(AT.pageSize, pageSize, true)
    page.setUint16(AT.treeFlags, numericKeys, true)
    for (const root of [AT.freeRoot, AT.mainRoot]) page.setBigUint64(root, NONE, true)
    page.setBigUint64(AT.lastPage, 1n, true)
  }
  return bytes
}
