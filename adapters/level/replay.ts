/**
 * What LevelDB leaves out while it opens. If it cannot open a log, since the process has no descriptor left just then, or if the disk fails to read one
 * once, LevelDB goes on without the log, or without the rest of it, and then deletes it: only its file LOG tells. So logs are held open meanwhile,
 * which keeps what is deleted; and unless LOG says that each was read, all that they hold is written again.
 */
import type { AbstractLevel } from 'abstract-level'
import { readLog } from './log.ts'
import { LiveFiles } from './manifest.ts'
import { numberOf } from './names.ts'
import { FileReader } from './reading.ts'
import { readBatch, type Version } from './runs.ts'

type Database = AbstractLevel<any, any, any>

const fs = () => process.getBuiltinModule('node:fs/promises')

/** The logs that LevelDB will read. */
export interface Logs {
  /** Their names, the oldest first. */
  readonly names: readonly string[]
  /** The sequence number of the last entry of the database. */
  readonly reach: number
}

export class HeldLogs {
  private readonly directory: string
  private readonly logs: Logs
  private readonly files: readonly FileReader[]

  private constructor(directory: string, logs: Logs, files: readonly FileReader[]) {
    this.directory = directory
    this.logs = logs
    this.files = files
  }

  /** A log that is gone was read, and deleted, by another process that opened the database. */
  static async hold(directory: string, logs: Logs): Promise<HeldLogs> {
    const files: FileReader[] = []
    for (const name of logs.names)
      try {
        files.push(await FileReader.open(`${directory}/${name}`))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
        await closeAll(files)
        throw error
      }
    return new HeldLogs(directory, logs, files)
  }

  /**
   * Writes again what LevelDB may have left out. **Invariant:** nothing was written since the database was opened, nor by others since its logs were
   * looked at, so that what a log says of a key is not older than what the database has.
   */
  async replay(database: Database): Promise<void> {
    if ((await this.wereRead()) || (await lastSequence(this.directory)) > this.logs.reach) return
    for (const file of this.files) {
      for await (const found of readLog(file)) if ('data' in found) await write(database, readBatch(found) ?? [])
      if (file.unreadable !== undefined) throw new Error('the disk cannot read a log')
    }
  }

  /** Whether LevelDB says that it read them, and has nothing to say of what it met. */
  private async wereRead(): Promise<boolean> {
    const said = await fs()
      .readFile(`${this.directory}/LOG`, 'latin1')
      .catch(() => '')
    const read = new Set(Array.from(said.matchAll(/Recovering log #(\d+)/g), ([, number]) => Number(number)))
    return !/ignoring error/i.test(said) && this.logs.names.every((name) => read.has(numberOf(name)))
  }

  close(): Promise<void> {
    return closeAll(this.files)
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

/** That of a database that was just opened. It may be sorting tables meanwhile, so the newest edit may be in the making. */
async function lastSequence(directory: string): Promise<number> {
  const manifest = (await fs().readFile(`${directory}/CURRENT`, 'latin1')).trim()
  const file = await FileReader.open(`${directory}/${manifest}`)
  try {
    const live = new LiveFiles()
    for await (const found of readLog(file)) if ('data' in found) live.apply(found.data)
    return live.sequence
  } finally {
    await file.close()
  }
}

const closeAll = async (files: readonly FileReader[]): Promise<void> => {
  for (const file of files) await file.close()
}
