/**
 * Opens a LevelDB directory.
 *
 * Everything is checked before LevelDB sees the path: it creates whole trees under parents that cannot hold them (and may hang there forever), and it
 * takes a directory that has lost its CURRENT for a new one and deletes the old tables.
 */
import { OptionRules } from '../../src/check.ts'
import { FolioError } from '../../src/errors.ts'
import { fsPromises, makeDirectory, namesIn, refuseOther } from '../directory/index.ts'
import { alone } from './alone.ts'
import { locked, openDatabase } from './database.ts'
import { isExchanging } from './exchange.ts'
import { failure } from './failure.ts'
import { examineAtRest, type Logs } from './files.ts'
import { isData } from './names.ts'
import { HeldLogs } from './replay.ts'
import type { Database } from './scan.ts'

export interface LevelOptions {
  /** Fail with `STORE_MISSING` instead of creating a store. Default: false. */
  readonly mustExist?: boolean | undefined
  /** LevelDB's cache of uncompressed blocks, which only scans fill: single values are cached by whoever read them. Default: 8 MiB. */
  readonly cacheBytes?: number | undefined
  /**
   * When the log reaches this size it is sorted into a table; up to two logs are in memory, and one is replayed on open (32 MiB in three quarters of
   * a second). Default: 32 MiB, which makes ingest a tenth faster than 16.
   */
  readonly writeBufferBytes?: number | undefined
  /** About this many bytes are compressed and read together. Default: 4 KiB, since values are mostly larger than that already. */
  readonly blockBytes?: number | undefined
  /**
   * What is checked before LevelDB opens the files, since it silently passes over damage there, and ends the process when it merges damaged tables.
   * By default the MANIFEST, the logs and the sizes of tables (some hundredths of a second), and whole tables if they have less than 64 MiB together
   * (0.2 s). `true`: everything, however long it takes (a second for 300 MB). `false`: nothing, and a log that LevelDB
   * cannot read just then is lost.
   */
  readonly checkFiles?: boolean | undefined
  /** Compress with snappy. Default: true; without it, the same damage to a file goes unnoticed twice as often. */
  readonly compression?: boolean | undefined
}

/** If all tables have fewer bytes than this together, they are checked whole at every open. */
const CHECKED_BYTES = 64 << 20

const BYTES = { least: 0, most: 2 ** 31 - 1, whole: true, of: 'bytes' } as const

/** LevelDB silently replaces a value that is not a number, or is out of range, by its own default. */
export const levelOptions = new OptionRules<LevelOptions>('level', {
  ...{ mustExist: 'flag', checkFiles: 'flag', compression: 'flag' },
  ...{ cacheBytes: BYTES, writeBufferBytes: BYTES, blockBytes: BYTES },
})

export const openDirectory = (location: string, options: LevelOptions): Promise<Database> =>
  alone(location, () => openHere(location, options))

async function openHere(location: string, options: LevelOptions): Promise<Database> {
  try {
    const logs = (await holdsDatabase(location)) ? await soundLogs(location, options) : undefined
    if (!logs && options.mustExist) throw new FolioError('STORE_MISSING', { location })
    if (!logs) await makeDirectory(location)
    const { access, constants } = fsPromises()
    await access(location, constants.R_OK | constants.W_OK | constants.X_OK)
    return logs ? await openWhole(location, logs, options) : await openDatabase(location, true, options)
  } catch (error) {
    throw failure(error, location)
  }
}

/** Opens a database with all that its logs hold. */
async function openWhole(location: string, logs: Logs, options: LevelOptions): Promise<Database> {
  const held = await HeldLogs.hold(location, logs)
  try {
    const database = await openDatabase(location, false, options)
    try {
      await held.replay(database)
      return database
    } catch (error) {
      await database.close()
      throw error
    }
  } finally {
    await held.close()
  }
}

/**
 * The logs of a database, none if they are not checked; undefined for a database whose creation was cut short, which is created again.
 * @throws CORRUPT if files are damaged
 */
async function soundLogs(location: string, { checkFiles: asked, mustExist = false }: LevelOptions): Promise<Logs | undefined> {
  if (asked === false) {
    if (!(await neverWritten(location))) return { names: [], reach: 0 }
  } else {
    try {
      return await checkedLogs(location, asked ? Number.POSITIVE_INFINITY : CHECKED_BYTES)
    } catch (error) {
      if (!(await neverWritten(location))) throw error
    }
  }
  if (!mustExist) await locked(location, () => forgetUnwritten(location))
  return undefined
}

/** Makes LevelDB create a database anew. Asked under the lock, since whoever held it before may have created one. */
async function forgetUnwritten(location: string): Promise<void> {
  if (await neverWritten(location)) await fsPromises().unlink(`${location}/CURRENT`)
}

/**
 * True if nothing was ever written: LevelDB does not sync its first MANIFEST, so a loss of power may leave CURRENT without it. It points CURRENT to
 * the second one before it accepts any write.
 */
export async function neverWritten(location: string): Promise<boolean> {
  const { readdir, readFile, stat } = fsPromises()
  const names = await readdir(location)
  if (!names.includes('CURRENT') || (await readFile(`${location}/CURRENT`, 'latin1')) !== 'MANIFEST-000001\n') return false
  for (const name of names) {
    if (/\.(ldb|sst)$/.test(name) || /^MANIFEST-(?!00000[12]$)/.test(name)) return false
    if (name.endsWith('.log') && (await stat(`${location}/${name}`)).size > 0) return false
  }
  return true
}

async function checkedLogs(location: string, tableBytes: number): Promise<Logs> {
  const { report, logs } = await examineAtRest(location, { tableBytes })
  const [fault] = report.faults
  if (!fault) return logs
  const { file, at, reason } = fault
  throw new FolioError('CORRUPT', { location, file, at, reason })
}

async function holdsDatabase(location: string): Promise<boolean> {
  const names = await namesIn(location)
  if (await isExchanging(location)) throw new FolioError('STORE_UNREPAIRED', { location })
  if (names.includes('CURRENT')) return true
  refuseOther(names, 'LevelDB', location)
  const data = names.find(isData)
  if (data) throw new FolioError('CORRUPT', { location, reason: `CURRENT is missing beside ${data}` })
  return false
}
