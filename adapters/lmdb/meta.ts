/** The two meta pages with which LMDB's file begins: each commit replaces the older one. Their format is in `files.ts`. */

/** The file that holds everything. */
export const DATA = 'data.mdb'

/** That of LMDB's lock, beside it. */
export const LOCK = 'lock.mdb'

/** Where a meta page says what it is, by the byte. */
export const META = { magic: 24, version: 28, pageSize: 48, freeTree: 88, mainTree: 136, transaction: 152, end: 160 } as const

const fs = () => process.getBuiltinModule('node:fs')

/** The newest transaction that a file holds; 0 if it is a new one. */
export function newestTransaction(file: number): bigint {
  const page = new DataView(new ArrayBuffer(META.end))
  const transactionAt = (place: number): bigint =>
    fs().readSync(file, page, 0, META.end, place) === META.end ? page.getBigUint64(META.transaction, true) : 0n
  const first = transactionAt(0)
  const second = transactionAt(page.getUint32(META.pageSize, true))
  if (second > first) return second
  return first
}
