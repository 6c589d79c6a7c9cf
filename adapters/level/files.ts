/**
 * LevelDB's own files, checked without LevelDB: it silently drops what is damaged in a log, goes back in time if its MANIFEST was cut, and ends the
 * process if a table was. CURRENT and the MANIFEST say which files are in use; others do not matter.
 */
import { FolioError } from '../../src/errors.ts'
import { type FileFault, type FilesOptions, type FilesReport, filesOptions, fsPromises, pathOf } from '../directory/index.ts'
import { alone } from './alone.ts'
import { locked } from './database.ts'
import { batchOf, readLog } from './log.ts'
import { LiveFiles, type LiveTable } from './manifest.ts'
import { isLog, isManifest, manifestNumber, numberOf } from './names.ts'
import { FileReader } from './reading.ts'
import { checkTable, TableFault } from './table.ts'

const logName = (number: number): string => `${String(number).padStart(6, '0')}.log`

/**
 * Checks the files of a LevelDB directory that nobody has open. Holds a megabyte in memory, and the list of tables. What looks like damage is looked at
 * once more under the lock: while somebody has the directory open, files come and go.
 * @param location its path, or `file:` URL
 * @throws BAD_REQUEST if `location` or an option is wrong or unknown, STORE_LOCKED if somebody has it open and it cannot be told whether it is whole,
 * what the file system says, and the reason of the signal
 */
export async function checkFiles(location: string | URL, options: FilesOptions = {}): Promise<FilesReport> {
  const [directory, checked] = [pathOf(location), filesOptions.check(options)]
  return (await examineAtRest(directory, checked, (again) => alone(directory, again))).report
}

/** The logs that LevelDB reads when it opens. */
export interface Logs {
  /** Their names, the oldest first. */
  readonly names: readonly string[]
  /** The sequence number of the last entry of the database. */
  readonly reach: number
}

export interface Examined {
  readonly report: FilesReport
  /** The tables and logs in use, if CURRENT and the MANIFEST can be read to their ends and all that they name is there. */
  readonly inUse: readonly string[] | undefined
  /** Of use only if the files are whole. */
  readonly logs: Logs
}

/**
 * Checks the files of a directory that may be open elsewhere, where they change meanwhile: faults count only if they are there while nobody has it open.
 * @param alone runs work while this process has not, if that is not sure
 * @throws STORE_LOCKED if somebody has it open and there are faults, what the file system says, and the reason of the signal
 */
export async function examineAtRest(
  directory: string,
  options: FilesOptions,
  alone: (work: () => Promise<Examined>) => Promise<Examined> = (work) => work(),
): Promise<Examined> {
  const found = await examine(directory, options).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  if (found?.report.ok) return found
  const again = (): Promise<Examined> => examine(directory, options)
  // LevelDB makes it before anything else. What has none, such as a copy, is not written to.
  if (!(await fsPromises().readdir(directory)).includes('LOCK')) return again()
  let isLocked = false
  return alone(() =>
    locked(directory, () => {
      isLocked = true
      return again()
    }).catch((error) => {
      if (isLocked || (error instanceof FolioError && error.code === 'STORE_LOCKED')) throw error
      // On a disk that is full or cannot be written to, there is no lock to be had, and not much that changes.
      return again()
    }),
  )
}

/** Checks the files. */
export async function examine(directory: string, options: FilesOptions): Promise<Examined> {
  const check = new Check(directory, options)
  await check.run()
  const { faults, files, bytes, torn, inUse, isAllThere, logs } = check
  return { report: { ok: faults.length === 0, faults, files, bytes, torn }, inUse: isAllThere ? inUse : undefined, logs }
}

/**
 * The tables and logs in use where CURRENT is lost, as the newest MANIFEST says: undefined if that cannot be read to its end, or names what is not there.
 * Without it, a table that was merged into others, and stayed since somebody was reading it, would count, and bring back what was deleted since. A
 * MANIFEST that does not know the newest tables names a log that is gone, unless it is that of a new database, which names none.
 */
export async function inUseWithoutCurrent(directory: string, signal: AbortSignal | undefined): Promise<readonly string[] | undefined> {
  const byAge = (await fsPromises().readdir(directory)).filter(isManifest).sort((a, b) => manifestNumber(a) - manifestNumber(b))
  const check = new Check(directory, { tableBytes: 0, signal })
  await check.run(byAge.at(-1))
  return check.isAllThere && check.namesLog ? check.inUse : undefined
}

class Check {
  readonly faults: FileFault[] = []
  readonly torn: string[] = []
  /** Tables and logs, as far as they can be named and are there. */
  readonly inUse: string[] = []
  isAllThere = false
  namesLog = false
  logs: Logs = { names: [], reach: 0 }
  files = 0
  bytes = 0
  private readonly directory: string
  private readonly options: FilesOptions
  private names: readonly string[] = []

  constructor(directory: string, options: FilesOptions) {
    this.directory = directory
    this.options = options
  }

  /** @param named the MANIFEST, if CURRENT is not to be asked */
  async run(named?: string): Promise<void> {
    this.names = await fsPromises().readdir(this.directory)
    const manifest = named ?? (await this.readCurrent())
    const live = manifest && (await this.readManifest(manifest))
    if (!live) return
    this.namesLog = live.log > 0
    // What was cut off may have been written long ago, and tables since: they are not named, then.
    this.isAllThere = this.torn.length === 0
    const tables = [...live.tables.values()].sort((a, b) => a.number - b.number)
    const total = tables.reduce((sum, { size }) => sum + size, 0)
    const whole = total <= (this.options.tableBytes ?? Number.POSITIVE_INFINITY)
    for (const table of tables) {
      const stem = String(table.number).padStart(6, '0')
      const name = [`${stem}.ldb`, `${stem}.sst`].find((one) => this.names.includes(one))
      if (name === undefined) this.missing(`${stem}.ldb`, 'a table is missing')
      else {
        this.inUse.push(name)
        await this.readTable(name, table, whole)
      }
    }
    await this.readLogs(live)
  }

  private fault(file: string, reason: string, at?: number): void {
    this.faults.push({ file, reason, ...(at !== undefined && { at }) })
  }

  private missing(file: string, reason: string): void {
    this.fault(file, reason)
    this.isAllThere = false
  }

  private async within<T>(name: string, work: (file: FileReader) => Promise<T>): Promise<T> {
    this.options.signal?.throwIfAborted()
    const file = await FileReader.open(`${this.directory}/${name}`)
    try {
      this.files++
      this.bytes += file.size
      this.options.onFile?.(name, file.size)
      const result = await work(file)
      if (file.unreadable !== undefined) this.fault(name, 'the disk cannot read it', file.unreadable)
      return result
    } finally {
      await file.close()
    }
  }

  private async readCurrent(): Promise<string | undefined> {
    if (!this.names.includes('CURRENT')) return void this.fault('CURRENT', 'it is missing')
    const text = await this.within('CURRENT', async (file) => new TextDecoder().decode(await file.read(0, 64)))
    const name = /^(MANIFEST-\d+)\n$/.exec(text)?.[1]
    if (name === undefined) return void this.fault('CURRENT', 'it does not name a MANIFEST', 0)
    if (!this.names.includes(name)) return void this.fault(name, 'it is missing')
    // A new MANIFEST is named only once it is on disk; the old one is deleted then.
    return name
  }

  /** LevelDB refuses a MANIFEST with a damaged edit, wherever that is, but not one that ends in the middle of an edit. */
  private readManifest(name: string): Promise<LiveFiles | undefined> {
    return this.within(name, async (file) => {
      const live = new LiveFiles()
      const before = this.faults.length
      for await (const found of readLog(file, this.options.signal)) {
        if ('data' in found) {
          const problem = live.apply(found.data)
          if (problem) this.fault(name, problem, found.at)
        } else if (found.torn && found.cut) this.torn.push(name)
        else this.fault(name, found.reason, found.at)
      }
      if (this.faults.length === before && !live.isWhole) this.fault(name, 'its first edits are missing', 0)
      return this.faults.length === before ? live : undefined
    })
  }

  private readTable(name: string, table: LiveTable, whole: boolean): Promise<void> {
    return this.within(name, async (file) => {
      try {
        if (whole) await checkTable(file, table)
        else if (file.size !== table.size) throw new TableFault(file.size, `the table has ${file.size} bytes, not ${table.size}`)
      } catch (error) {
        if (!(error instanceof TableFault)) throw error
        this.fault(name, error.message, error.at)
      }
    })
  }

  /** Batches are numbered without gaps, from log to log; only the last of all may have been cut off in the middle. */
  private async readLogs({ log, previousLog, sequence }: LiveFiles): Promise<void> {
    const numbers = this.names.filter(isLog).map(numberOf)
    const logs = numbers.filter((number) => number >= log || (number === previousLog && previousLog > 0)).sort((a, b) => a - b)
    const names = logs.map(logName)
    this.inUse.push(...names)
    if (log > 0 && !logs.includes(log)) this.missing(logName(log), 'the log is missing')
    let next: number | undefined
    /** Ends of logs in the middle of a record: if another one follows, in whatever log, that is no such end. */
    const torn: FileFault[] = []
    for (const name of names)
      await this.within(name, async (file) => {
        for await (const found of readLog(file, this.options.signal)) {
          if (!('data' in found)) {
            if (found.torn) torn.push({ file: name, reason: found.reason, at: found.at })
            else this.fault(name, found.reason, found.at)
            continue
          }
          this.faults.push(...torn.splice(0))
          const batch = batchOf(found)
          const expected = next ?? Math.min(batch?.sequence ?? 0, sequence + 1)
          if (!batch || batch.sequence !== expected) this.fault(name, 'batches before this one are missing', found.at)
          next = batch && batch.sequence + batch.count
        }
      })
    this.torn.push(...torn.map(({ file }) => file))
    this.logs = { names, reach: Math.max(sequence, (next ?? 0) - 1) }
  }
}
