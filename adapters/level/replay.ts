/**
 * What LevelDB leaves out while it opens. If it cannot open a log, since the process has no descriptor left just then, or if the disk fails to read one
 * once, LevelDB goes on without the log, or without the rest of it, and then deletes it: only its file LOG tells. So logs are held open meanwhile,
 * which keeps what is deleted; and unless LOG says that each was read, all that they hold is written again.
 */
import { fs, ifThere } from '../directory/index.ts'
import type { Logs } from './files.ts'
import { readLog } from './log.ts'
import { LiveFiles } from './manifest.ts'
import { numberOf } from './names.ts'
import { type ByteSource, FileReader } from './reading.ts'
import { readBatch, type Version } from './runs.ts'
import type { Database } from './scan.ts'

export class HeldLogs {
  private readonly directory: string
  private readonly logs: Logs
  private readonly files: readonly FileReader[]
  /** A descriptor for what has to be read to know whether anything is missing, if the process has none left by then. */
  private spare: number | undefined

  private constructor(directory: string, logs: Logs, files: readonly FileReader[], spare: number) {
    this.directory = directory
    this.logs = logs
    this.files = files
    this.spare = spare
  }

  /** A log that is gone was read, and deleted, by another process that opened the database. */
  static async hold(directory: string, logs: Logs): Promise<HeldLogs> {
    const files: FileReader[] = []
    try {
      for (const name of logs.names) {
        const file = await ifThere(FileReader.open(`${directory}/${name}`))
        if (file) files.push(file)
      }
      return new HeldLogs(directory, logs, files, fs().openSync(`${directory}/CURRENT`, 'r'))
    } catch (error) {
      for (const file of files) await file.close()
      throw error
    }
  }

  /**
   * Writes again what LevelDB may have left out. **Invariant:** nothing was written since the database was opened, nor by others since its logs were
   * looked at, so that what a log says of a key is not older than what the database has.
   */
  async replay(database: Database): Promise<void> {
    this.freeSpare()
    if (this.wereRead() || (await lastSequence(this.directory)) > this.logs.reach) return
    for (const file of this.files) {
      for await (const found of readLog(file)) if ('data' in found) await write(database, readBatch(found) ?? [])
      if (file.unreadable !== undefined) throw new Error('the disk cannot read a log')
    }
  }

  /** Whether LevelDB says that it read them, and has nothing to say of what it met. */
  private wereRead(): boolean {
    const said = this.said()
    const read = new Set(Array.from(said.matchAll(/Recovering log #(\d+)/g), ([, number]) => Number(number)))
    return !/ignoring error/i.test(said) && this.logs.names.every((name) => read.has(numberOf(name)))
  }

  private said(): string {
    try {
      return fs().readFileSync(`${this.directory}/LOG`, 'latin1')
    } catch {
      return ''
    }
  }

  private freeSpare(): void {
    if (this.spare !== undefined) fs().closeSync(this.spare)
    this.spare = undefined
  }

  async close(): Promise<void> {
    this.freeSpare()
    for (const file of this.files) await file.close()
  }
}

async function write(database: Database, versions: readonly Version[]): Promise<void> {
  const batch = database.batch()
  for (const { key, value } of versions) {
    if (value) batch.put(key, value)
    else batch.del(key)
  }
  await batch.write({ sync: true } as object)
}

/**
 * That of a database that was just opened. It may be sorting tables meanwhile, so the newest edit may be in the making. What has to be opened for it is
 * opened at once.
 */
async function lastSequence(directory: string): Promise<number> {
  const manifest = fs().readFileSync(`${directory}/CURRENT`, 'latin1').trim()
  const bytes = fs().readFileSync(`${directory}/${manifest}`)
  const source: ByteSource = { size: bytes.length, read: async (from, to) => bytes.subarray(from, to) }
  const live = new LiveFiles()
  for await (const found of readLog(source)) if ('data' in found) live.apply(found.data)
  return live.sequence
}
