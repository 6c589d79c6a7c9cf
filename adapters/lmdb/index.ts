/**
 * A store over LMDB (the package `lmdb`), which several processes may have open at once.
 *
 * **Invariant:** a batch is one transaction, in a child of LMDB's own, so that what fails half way leaves nothing behind.
 * **Invariant:** a read begins with the newest snapshot and ends before it gives way to anything: it sees all of a batch or nothing, and keeps no page
 * from being used again. Only a snapshot that was asked for does, until it is closed.
 */
import { same } from '../../src/bytes.ts'
import { FolioError } from '../../src/errors.ts'
import type { Chunk, Entry, KeyRange, ScanOptions, Snapshot, Store, Write, WriteOptions } from '../../src/store.ts'
import { checkScan, isEmptyRange } from '../../src/store.ts'
import { Calls, fs, heldIn, inTurn, noteIn, ownName, pathOf } from '../directory/index.ts'
import { transact } from './exit.ts'
import type { Gate } from './gate.ts'
import { DATA, LOCK } from './meta.ts'
import { type Database, failure, type LmdbOptions, lmdbOptions, openDirectory, reasonOf, type Transaction } from './open.ts'

export type { FileFault, FilesOptions, FilesReport } from '../directory/index.ts'
export { checkFiles } from './files.ts'
export type { LmdbOptions } from './open.ts'

/** The longest key that LMDB takes, with pages of 4 KiB. */
const MAX_KEY_BYTES = 1978

/**
 * Opens a store that several processes may have open: one that writes and others that read, or several that take turns, since a writer that is
 * overtaken gets `CONFLICT`. Opening and closing wait for a commit in progress, and commits for them: LMDB alone loses commits to who opens meanwhile.
 *
 * The package `lmdb` must be installed beside this one. LMDB compresses nothing, so a store takes about twice what it does in LevelDB, and its
 * file never shrinks: what pruning frees is used again. Every batch is flushed, whatever `durable` says.
 *
 * @param location a directory, by its path or `file:` URL, created if need be; on a local disk
 * @throws `BAD_REQUEST` if `location` or an option is wrong or unknown. With the field `location`: `STORE_MISSING` with `mustExist` or where a file is
 *   in the way, `STORE_DENIED` if it may not be read, written or created, `CORRUPT` if its file is damaged (`checkFiles`), `STORE_FAILED` for the rest,
 *   also if the package is not installed. `STORE_FORMAT` if its file is of another version of LMDB's data. Later, `STORE_MISSING` for a write once the
 *   directory was moved, deleted or replaced.
 */
export async function lmdb(location: string | URL, options: LmdbOptions = {}): Promise<Store> {
  const checked = lmdbOptions.check(options)
  const path = pathOf(location)
  const { db, gate } = await openDirectory(path, checked)
  return new LmdbStore(db, gate, path)
}

class LmdbStore implements Store {
  readonly capabilities
  readonly note: NonNullable<Store['note']>
  private readonly db: Database
  private readonly gate: Gate
  private readonly location: string
  private readonly calls: Calls
  /** @throws STORE_MISSING if the directory is no longer where it was opened */
  private readonly checkHeld: () => void
  /** One write after another, since what is said at the gate is of one. */
  private readonly inLine = inTurn()
  private readonly watchers = new Set<{ close(): void }>()
  /** Those that are open: LMDB must not be closed under them. */
  private readonly snapshots = new Set<Snapshot>()

  constructor(db: Database, gate: Gate, location: string) {
    this.db = db
    this.gate = gate
    this.location = location
    this.capabilities = { name: 'lmdb', sync: true, persistent: true, shared: true, maxKeyBytes: MAX_KEY_BYTES, location } as const
    this.calls = new Calls(location, async (error) => failure(await reasonOf(error), location))
    this.checkHeld = heldIn(location, [DATA, LOCK])
    this.note = this.calls.note(noteIn(location, this.checkHeld, ownName()))
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.read(() => this.lookUp(key))
  }

  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    return this.read(() => keys.map((key) => this.lookUp(key)))
  }

  scan(range: KeyRange, options: ScanOptions): Chunk {
    return this.read(() => this.look(range, options))
  }

  write(batch: readonly Write[], { expect }: WriteOptions): Promise<void> {
    return this.calls.run(async () => {
      for (const [key] of batch) if (key.length === 0 || key.length > MAX_KEY_BYTES) throw misfit(key)
      this.checkHeld()
      const isApplied = await this.commit(() => {
        if (expect && !same(this.lookUp(expect.key), expect.value)) return false
        for (const [key, value] of batch) {
          if (value) this.db.put(key, value)
          else this.db.remove(key)
        }
        return true
      })
      if (!isApplied) throw new FolioError('CONFLICT', { location: this.location })
    })
  }

  /** @param change false if it changes nothing */
  private commit(change: () => boolean): Promise<boolean> {
    return this.inLine(() => this.gate.pass(() => transact(this.db, () => this.enter(change))))
  }

  /** In a transaction, in which nobody else writes; undefined if it must come to nothing. */
  private enter(change: () => boolean): boolean | undefined {
    if (!this.gate.enter(this.db.getWriteTxnId())) return undefined
    const isChanged = change()
    if (!isChanged) this.gate.leave()
    return isChanged
  }

  /** Rings a few times for each batch, of whatever process, this one included: as often as LMDB writes to its file. */
  watch(ring: () => void): () => void {
    this.calls.checkOpen()
    const watcher = watched(`${this.location}/${DATA}`, ring)
    this.watchers.add(watcher)
    return () => {
      this.watchers.delete(watcher)
      watcher.close()
    }
  }

  /** What is freed by writes meanwhile is not used again before it is closed: the file grows by what they replace. */
  snapshot(): Snapshot {
    // Those between which nothing was written share one, which counts how often it is used.
    const transaction = this.read(() => this.db.useReadTransaction())
    const snapshot: Snapshot = {
      scan: (range, options) => {
        if (!this.snapshots.has(snapshot)) throw new FolioError('CLOSED', { location: this.location })
        return this.read(() => this.look(range, options, transaction))
      },
      close: () => {
        if (this.snapshots.delete(snapshot)) transaction.done()
      },
    }
    this.snapshots.add(snapshot)
    return snapshot
  }

  close(): Promise<void> {
    for (const watcher of this.watchers) watcher.close()
    for (const snapshot of this.snapshots) void snapshot.close()
    return this.calls.close(() => this.gate.close(() => this.db.close()))
  }

  /** A key that cannot be written is in no store. */
  private lookUp(key: Uint8Array, transaction?: Transaction): Uint8Array | undefined {
    if (key.length === 0 || key.length > MAX_KEY_BYTES) return undefined
    const found = transaction ? this.db.getBinaryFast(key, { transaction }) : this.db.getBinaryFast(key)
    // It lies in memory of LMDB's that the next look-up writes to.
    return found && new Uint8Array(found.buffer, found.byteOffset, this.db.lastSize).slice()
  }

  private look(range: KeyRange, options: ScanOptions, transaction?: Transaction): Chunk {
    checkScan(range, options)
    if (isEmptyRange(range)) return { entries: [], more: false }
    const { gte, lt } = range
    const { limit, maxBytes = Number.POSITIVE_INFINITY, reverse = false } = options
    const entries: Entry[] = []
    let bytes = 0
    for (const found of this.db.getKeys({ ...(reverse ? downFrom(lt, gte) : upFrom(gte, lt)), ...(transaction && { transaction }) })) {
      const key = new Uint8Array(found)
      const value = this.lookUp(key, transaction)!
      bytes += key.length + value.length
      if (entries.length === limit || (bytes > maxBytes && entries.length > 0)) return { entries, more: true }
      entries.push([key, value])
    }
    return { entries, more: false }
  }

  /** A read of the newest snapshot, with its errors turned into ours. */
  private read<T>(look: () => T): T {
    this.calls.checkOpen()
    try {
      this.db.resetReadTxn()
      return look()
    } catch (error) {
      throw failure(error, this.location)
    }
  }
}

/**
 * How much later it rings again, in milliseconds. LMDB writes to its file first, and shows a batch to readers right after: of those who read at once
 * when it rang, one in six was measured to come too early, and nothing rings for that batch any more.
 */
const AGAIN_MS = 10

/** What the system refuses to watch, or watches no longer, is left to polling. */
function watched(file: string, ring: () => void): { close(): void } {
  let again: NodeJS.Timeout | undefined
  const changed = (): void => {
    clearTimeout(again)
    again = setTimeout(ring, AGAIN_MS)
    again.unref()
    ring()
  }
  try {
    const watcher = fs().watch(file, { persistent: false }, changed)
    watcher.on('error', () => {})
    return {
      close() {
        clearTimeout(again)
        watcher.close()
      },
    }
  } catch {
    return { close() {} }
  }
}

/** No key is empty, and none is longer than the longest: a bound that is lies next to one that could be a key. */
function bounded(bound: Uint8Array): { readonly key: Uint8Array; readonly cut: boolean } {
  if (bound.length === 0) return { key: Uint8Array.of(0), cut: false }
  return { key: bound.subarray(0, MAX_KEY_BYTES), cut: bound.length > MAX_KEY_BYTES }
}

function upFrom(gte: Uint8Array, lt: Uint8Array) {
  const [from, to] = [bounded(gte), bounded(lt)]
  return { start: from.key, exclusiveStart: from.cut, end: to.key, inclusiveEnd: to.cut }
}

function downFrom(lt: Uint8Array, gte: Uint8Array) {
  const [from, to] = [bounded(lt), bounded(gte)]
  return { reverse: true, start: from.key, exclusiveStart: !from.cut, end: to.key, inclusiveEnd: !to.cut }
}

const misfit = (key: Uint8Array): FolioError =>
  new FolioError('STORE_MISUSE', { reason: `a key of LMDB has 1 to ${MAX_KEY_BYTES} bytes; this one has ${key.length}` })
