/**
 * A store over LevelDB (classic-level), or over any abstract-level database handed in.
 *
 * **Invariant:** one batch is in progress at a time, in call order; abstract-level promises no order among parallel ones.
 * **Invariant:** after a failed write no other is tried: LevelDB was measured to acknowledge, and lose, synced batches after a full disk.
 */
import { same } from '../../src/bytes.ts'
import { badRequest } from '../../src/check.ts'
import { FolioError } from '../../src/errors.ts'
import type { Chunk, Entry, KeyRange, MaybePromise, ScanOptions, Snapshot, Store, Write, WriteOptions } from '../../src/store.ts'
import { checkScan, isEmptyRange } from '../../src/store.ts'
import { Calls, heldIn, noteIn, pathOf } from '../directory/index.ts'
import { failure } from './failure.ts'
import { type LevelOptions, levelOptions, openDirectory } from './open.ts'
import { type AnyLevel, type Database, encodings, nextMany, nextOne, readChunk, reading, type Step } from './scan.ts'

export type { FileFault, FilesOptions, FilesReport } from '../directory/index.ts'
export { checkFiles } from './files.ts'
export type { LevelOptions } from './open.ts'
export { type LostParts, type SalvageOptions, type SalvageReport, salvage } from './salvage.ts'

/**
 * Opens a store.
 *
 * @param location A directory for classic-level, by its path or `file:` URL, created if need be; or an abstract-level database (classic-level,
 *   memory-level, level, browser-level, a sublevel), which from then on belongs to the store: it is closed with it, and nobody else may write to it.
 * @param options For directories only.
 * @throws `BAD_REQUEST` if an option is unknown, wrong, or given beside a database; `STORE_LOCKED` if another holder has it open,
 *   `STORE_DENIED` if it may not be read, written or created, `STORE_MISSING` with `mustExist` or where a file is in the way, `STORE_MISUSE` if
 *   `location` is neither or is a database that cannot keep bytes, `CORRUPT` if files are damaged or gone, `STORE_UNREPAIRED` if {@link salvage} did
 *   not come to its end, `STORE_FAILED` for the rest; all but `BAD_REQUEST` and `STORE_MISUSE` with the field `location`. Later, `STORE_MISSING` for
 *   a write once the directory was moved, deleted or replaced, and `POISONED` for every write after one that failed; reads go on.
 */
export async function level(location: string | URL | AnyLevel, options: LevelOptions = {}): Promise<Store> {
  const checked = levelOptions.check(options)
  if (typeof location === 'string' || location instanceof URL) {
    const path = pathOf(location)
    const db = await openDirectory(path, checked)
    const checkHeld = heldIn(path, ['LOCK'])
    return new LevelStore(db, path, nextMany, { checkHeld, note: noteIn(path, checkHeld) })
  }
  if (typeof location?.open !== 'function')
    throw new FolioError('STORE_MISUSE', {
      found: typeof location,
      expected: 'the path or file: URL of a directory, or an abstract-level database',
    })
  const [given] = Object.keys(checked)
  if (given) throw badRequest(given, 'omitted for a database, which already has its own options')
  const name = String((location as { location?: string }).location ?? location.constructor.name)
  await location.open().catch((error) => {
    throw failure(error, name)
  })
  checkEncodings(location as Database)
  return new LevelStore(location as Database, name, nextOne)
}

/** Some databases keep text alone (`storeEncoding: 'utf8'`), and could not give back every byte. @throws STORE_MISUSE */
function checkEncodings(db: Database): void {
  try {
    keepsBytes(db)
  } catch (error) {
    throw new FolioError('STORE_MISUSE', { reason: 'the database cannot keep bytes as they are' }, error)
  }
}

/** True if keys and values are taken as bytes when nothing else is said. */
const keepsBytes = (db: Database): boolean =>
  db.keyEncoding() === db.keyEncoding(encodings.keyEncoding) && db.valueEncoding() === db.valueEncoding(encodings.valueEncoding)

interface Supported {
  readonly permanence: boolean
  readonly getSync?: boolean
  readonly explicitSnapshots?: boolean
}

interface Directory {
  /** @throws STORE_MISSING if it is no longer where it was opened */
  readonly checkHeld: () => void
  readonly note: NonNullable<Store['note']>
}

class LevelStore implements Store {
  readonly capabilities: Store['capabilities']
  readonly note?: NonNullable<Store['note']>
  readonly snapshot?: () => Snapshot
  private readonly db: Database
  private readonly location: string
  private readonly step: Step
  private readonly checkHeld: () => void
  /** What a batch must be told with every entry: nothing if the database keeps bytes by itself, since telling it takes a tenth of the time. */
  private readonly told: Partial<typeof encodings>
  private readonly calls: Calls
  /** The batch in progress and those behind it, if any. */
  private writing: Promise<void> | undefined
  private poison: FolioError | undefined

  /** @param directory if the database lies in one */
  constructor(db: Database, location: string, step: Step, { checkHeld = () => {}, note }: Partial<Directory> = {}) {
    const { permanence, getSync = false, explicitSnapshots } = db.supports as Supported
    this.db = db
    this.calls = new Calls(location, (error) => failure(error, location))
    if (note) this.note = this.calls.note(note)
    this.checkHeld = checkHeld
    if (explicitSnapshots) this.snapshot = () => this.view()
    this.location = location
    this.step = step
    this.told = keepsBytes(db) ? {} : encodings
    this.capabilities = { name: 'level', sync: getSync, persistent: permanence, shared: false, location }
  }

  get(key: Uint8Array): MaybePromise<Uint8Array | undefined> {
    return this.capabilities.sync ? this.getNow(key) : this.calls.run(() => this.lookUp(key))
  }

  /** With synchronous reads, a batch may land between two of them. */
  getMany(keys: readonly Uint8Array[]): MaybePromise<(Uint8Array | undefined)[]> {
    // Asked first, since no keys meet no `getNow` that would say so.
    if (this.capabilities.sync) this.calls.checkOpen()
    if (this.capabilities.sync) return keys.map((key) => this.getNow(key))
    return this.calls.run(async () =>
      (await this.db.getMany<Uint8Array, Uint8Array>([...keys], reading)).map((value) => value && this.own(value)),
    )
  }

  scan(range: KeyRange, options: ScanOptions): Promise<Chunk> {
    return this.calls.run(() => this.read(range, options))
  }

  write(batch: readonly Write[], options: WriteOptions): Promise<void> {
    return this.calls.run(() => {
      // If nothing is in progress, LevelDB has the batch when this returns, so that the caller can go on with other work meanwhile.
      const apply = () => this.apply(batch, options)
      const done = this.writing ? this.writing.then(apply) : apply()
      const writing = done
        .catch(() => {})
        .then(() => {
          if (this.writing === writing) this.writing = undefined
        })
      this.writing = writing
      return done
    })
  }

  compact(range: KeyRange): Promise<void> {
    return this.calls.run(async () => {
      this.checkHeld()
      const { compactRange } = this.db as { compactRange?: (start: Uint8Array, end: Uint8Array, options: object) => Promise<void> }
      if (!isEmptyRange(range)) await compactRange?.call(this.db, range.gte, range.lt, encodings)
    })
  }

  /** The database closes with it what is still open. */
  close(): Promise<void> {
    return this.calls.close(() => this.db.close())
  }

  private view(): Snapshot {
    this.calls.checkOpen()
    const snapshot = this.taken()
    const calls = new Calls(this.location, (error) => failure(error, this.location))
    return {
      scan: (range, options) => this.calls.run(() => calls.run(() => this.read(range, options, snapshot))),
      close: () => calls.close(() => snapshot.close()),
    }
  }

  private taken(): ReturnType<Database['snapshot']> {
    try {
      return this.db.snapshot()
    } catch (error) {
      throw failure(error, this.location)
    }
  }

  private async read(range: KeyRange, options: ScanOptions, snapshot?: ReturnType<Database['snapshot']>): Promise<Chunk> {
    checkScan(range, options)
    if (isEmptyRange(range)) return { entries: [], more: false }
    const { entries, more } = await readChunk(this.db, this.step, range, options, snapshot)
    return { entries: entries.map(([key, value]): Entry => [this.own(key), this.own(value)]), more }
  }

  private async apply(batch: readonly Write[], { durable, expect }: WriteOptions): Promise<void> {
    if (this.poison) throw new FolioError('POISONED', { location: this.location }, this.poison)
    if (expect) {
      // A hop to another thread for one key would cost more than the look-up; and closing waits for this write.
      const held = this.capabilities.sync ? this.db.getSync<Uint8Array, Uint8Array>(expect.key, reading) : await this.lookUp(expect.key)
      if (!same(held, expect.value)) throw new FolioError('CONFLICT', { location: this.location })
    }
    try {
      this.checkHeld()
      // Handed over one by one, in a fifth of the time that LevelDB takes to read an array of operations.
      const chain = this.db.batch()
      for (const [key, value] of batch) {
        if (value) chain.put<Uint8Array, Uint8Array>(this.own(key), this.own(value), this.told)
        else chain.del<Uint8Array>(key, this.told)
      }
      await chain.write({ sync: durable } as object)
    } catch (error) {
      this.poison = failure(error, this.location)
      throw this.poison
    }
  }

  private async lookUp(key: Uint8Array): Promise<Uint8Array | undefined> {
    const value = await this.db.get<Uint8Array, Uint8Array>(key, reading)
    return value && this.own(value)
  }

  private getNow(key: Uint8Array): Uint8Array | undefined {
    this.calls.checkOpen()
    try {
      const value = this.db.getSync<Uint8Array, Uint8Array>(key, reading)
      return value && this.own(value)
    } catch (error) {
      throw failure(error, this.location)
    }
  }

  /** A database without persistence keeps and hands out the very buffers it was given, so these are copied. */
  private own(bytes: Uint8Array): Uint8Array {
    return this.capabilities.persistent ? bytes : new Uint8Array(bytes)
  }
}
