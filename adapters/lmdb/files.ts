/**
 * LMDB's file, checked without LMDB, which believes whatever its pages say: one that names a page beyond the end of the file, or itself, ends the process
 * or never comes to an end. The format of its head, and where all of it comes from, is in `meta.ts`; what follows that:
 *
 * ```
 * page    number:8 │ transaction:8 │ pad:2 │ flags:2 │ lower:2 │ upper:2 │ place of each node:2 …   the places from here, at byte 24, on
 * node    size:4 │ flags:2 │ key size:2 │ key │ value, or first page:8 │ transaction:8 │ pages:8
 *         in a branch, size and flags are the number of a page
 * ```
 */
import { giveWay } from '../../src/turn.ts'
import { type FileFault, type FilesOptions, type FilesReport, filesOptions, fs, pathOf } from '../directory/index.ts'
import { DATA, headOf, NONE, VERSION } from './meta.ts'

const HEAD = 24
const NODE = 8
const [BRANCH, LEAF] = [1, 2]
/** The value lies in pages of its own. */
const BIG = 1
/** What more faults would say has been said. */
const MAX_FAULTS = 100

/**
 * Checks the file of an LMDB directory: that every page a tree names is there, is the one that was named, belongs to one tree, and keeps its nodes
 * within itself. What the values hold is checked by who reads them.
 * @param location the path of the directory, or its `file:` URL
 * @param options `tableBytes` has no meaning here
 * @throws BAD_REQUEST if `location` or an option is wrong or unknown, what the file system says, and the reason of the signal
 */
export async function checkFiles(location: string | URL, options: FilesOptions = {}): Promise<FilesReport> {
  const { onFile, signal } = filesOptions.check(options)
  const { faults, bytes } = await settled(pathOf(location), signal)
  onFile?.(DATA, bytes)
  return { ok: faults.length === 0, faults, files: bytes > 0 ? 1 : 0, bytes, torn: [] }
}

interface Findings {
  readonly faults: readonly FileFault[]
  readonly bytes: number
  /** The newest transaction. */
  readonly transaction: bigint
}

/** Whoever writes meanwhile uses pages again, so a fault counts only if nobody has. */
async function settled(directory: string, signal: AbortSignal | undefined, tries = 5): Promise<Findings> {
  const found = await examine(directory, signal)
  if (found.faults.length === 0) return found
  const again = await examine(directory, signal)
  if (again.faults.length === 0 || again.transaction === found.transaction) return again
  return tries > 1 ? settled(directory, signal, tries - 1) : { ...again, faults: [] }
}

async function examine(directory: string, signal: AbortSignal | undefined): Promise<Findings> {
  const { openSync, closeSync, fstatSync } = fs()
  const file = openSync(`${directory}/${DATA}`, 'r')
  try {
    const bytes = fstatSync(file).size
    // A file without a byte is a new one.
    if (bytes === 0) return { faults: [], bytes, transaction: 0n }
    const head = headOf(file)
    if ('reason' in head) return { faults: [head], bytes, transaction: 0n }
    const { version, pageSize, transaction, roots } = head
    if (version !== VERSION) {
      const fault = { file: DATA, at: 0, reason: `data of version ${version}, not of ${VERSION}` }
      return { faults: [fault], bytes, transaction: 0n }
    }
    const check = new Check(file, bytes, pageSize, signal)
    for (const root of roots) if (root !== NONE) await check.tree(root)
    return { faults: check.faults, bytes, transaction }
  } finally {
    closeSync(file)
  }
}

class Node {
  readonly length: number
  readonly isBig: boolean
  /** The page that it names, in a branch. */
  readonly page: bigint
  /** Where its value lies, or what tells where that is, in a leaf. */
  readonly value: number
  readonly end: number

  constructor(view: DataView, at: number, flags: number) {
    const own = view.getUint16(at + 4, true)
    this.length = view.getUint32(at, true)
    this.page = BigInt(this.length) | (BigInt(own) << 32n)
    this.isBig = (own & BIG) !== 0
    this.value = at + NODE + view.getUint16(at + 6, true)
    this.end = this.value + (flags === BRANCH ? 0 : this.isBig ? 24 : this.length)
  }
}

class Check {
  readonly faults: FileFault[] = []
  private readonly file: number
  private readonly bytes: number
  private readonly signal: AbortSignal | undefined
  private readonly size: number
  private readonly page: DataView
  /** A bit for each page that a tree has. */
  private readonly taken: Uint8Array

  constructor(file: number, bytes: number, pageSize: number, signal: AbortSignal | undefined) {
    this.file = file
    this.bytes = bytes
    this.signal = signal
    this.size = pageSize
    this.page = new DataView(new ArrayBuffer(pageSize))
    this.taken = new Uint8Array((this.pages >> 3) + 1)
    this.taken[0] = 3
  }

  private get pages(): number {
    return Math.floor(this.bytes / this.size)
  }

  /** Visits the pages of a tree, each once. */
  async tree(root: bigint): Promise<void> {
    const waiting = [root]
    for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
      this.signal?.throwIfAborted()
      if (this.faults.length >= MAX_FAULTS) return
      if (this.take(number, 1n)) this.visit(Number(number), waiting)
      await giveWay()
    }
  }

  private visit(number: number, waiting: bigint[]): void {
    const { page, size } = this
    const start = number * size
    if (!this.read(start)) return
    const flags = page.getUint16(18, true)
    const places = page.getUint16(20, true)
    if (page.getBigUint64(0, true) !== BigInt(number) || (flags !== BRANCH && flags !== LEAF) || HEAD + places > size) {
      this.fault(start, 'a page of a tree is not what it must be')
      return
    }
    for (let i = 0; i < places; i += 2) {
      const at = HEAD + page.getUint16(HEAD + i, true)
      const node = at + NODE <= size ? new Node(page, at, flags) : undefined
      if (node === undefined || node.end > size) {
        this.fault(start, 'a node of a page reaches beyond it')
        return
      }
      if (flags === BRANCH) waiting.push(node.page)
      else if (node.isBig) this.big(node)
    }
  }

  /** The pages of a value that has its own. */
  private big({ value, length }: Node): void {
    const [first, count] = [this.page.getBigUint64(value, true), this.page.getBigUint64(value + 16, true)]
    if (HEAD + length > Number(count) * this.size) this.fault(Number(first) * this.size, 'a value is longer than its pages')
    else this.take(first, count)
  }

  /** Notes that pages are in use; false if they are not there, or are in use already. */
  private take(first: bigint, count: bigint): boolean {
    if (first + count > BigInt(this.pages)) {
      this.fault(this.bytes, `the file ends before page ${first + count - 1n}, which it needs`)
      return false
    }
    for (let number = Number(first); number < Number(first + count); number++) {
      if (this.taken[number >> 3]! & (1 << (number & 7))) {
        this.fault(number * this.size, 'a page is named twice')
        return false
      }
      this.taken[number >> 3]! |= 1 << (number & 7)
    }
    return true
  }

  private read(from: number): boolean {
    const { file, bytes, page, size } = this
    const read = from + size > bytes ? 0 : fs().readSync(file, page, 0, size, from)
    if (read < size) this.fault(bytes, 'the file is cut off')
    return read === size
  }

  private fault(at: number, reason: string): void {
    this.faults.push({ file: DATA, at, reason })
  }
}
