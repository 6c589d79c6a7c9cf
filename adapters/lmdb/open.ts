/**
 * Opens an LMDB directory, and turns what LMDB and the file system report into errors of ours.
 *
 * LMDB checks nothing of what it finds in its file: a page that a shortened file lacks would end the process. So the file is checked first, and
 * whatever else could end the process then.
 */
import type { RootDatabase } from 'lmdb'
import { OptionRules } from '../../src/check.ts'
import { FolioError } from '../../src/errors.ts'
import { denial, fs, fsPromises, makeDirectory, namesIn, refuseOther } from '../directory/index.ts'
import { createFile, removeUnplaced } from './create.ts'
import { checkFiles } from './files.ts'
import { Gate } from './gate.ts'
import { DATA } from './meta.ts'
import { checkData, reserve } from './prepare.ts'

export interface LmdbOptions {
  /** Fail with `STORE_MISSING` instead of creating a store. Default: false. */
  readonly mustExist?: boolean | undefined
  /**
   * Check the trees of pages before LMDB opens the file, which believes whatever they say. What values take up is not read: some tenths of a second
   * per gigabyte. Default: true.
   */
  readonly checkFiles?: boolean | undefined
}

export const lmdbOptions = new OptionRules<LmdbOptions>('lmdb', { mustExist: 'flag', checkFiles: 'flag' })

/** A read transaction that is kept. */
export type Transaction = ReturnType<RootDatabase['useReadTransaction']>

/** What the types of the package leave out: that `getBinaryFast` reads in a transaction too, and the length of the value that it found. */
export type Database = RootDatabase<Uint8Array, Uint8Array> & {
  readonly lastSize: number
  getBinaryFast(key: Uint8Array, options: { readonly transaction: Transaction }): Buffer | undefined
}

/** Without overlapping syncs: a commit that is reported is on stable storage, and one that cannot be flushed fails. */
const SETTINGS = { noSubdir: false, encoding: 'binary', keyEncoding: 'binary', overlappingSync: false, eventTurnBatching: false } as const

/** A commit while it is opened is rare; one in each of so many, from a process that does not know of the gate, is not. */
const MAX_TRIES = 20

/** What is open of a directory. */
export interface Opened {
  readonly db: Database
  readonly gate: Gate
}

/** @throws STORE_MISSING, STORE_DENIED, CORRUPT, STORE_FAILED, with the field `location`; and STORE_FORMAT */
export async function openDirectory(location: string, { mustExist = false, checkFiles: checked = true }: LmdbOptions): Promise<Opened> {
  try {
    const { open } = await library(location)
    const openFile = async (): Promise<Database> => {
      await reserve(location)
      return open<Uint8Array, Uint8Array>({ path: location, ...SETTINGS }) as Database
    }
    const names = await namesIn(location)
    const isThere = names.includes(DATA)
    if (!isThere) refuseOther(names, 'LMDB', location)
    if (!isThere && mustExist) throw new FolioError('STORE_MISSING', { location })
    if (!isThere) await makeDirectory(location)
    const { access, constants } = fsPromises()
    await access(location, constants.R_OK | constants.W_OK | constants.X_OK)
    if (isThere) checkData(location)
    if (isThere && checked) await refuseDamage(location)
    if (!isThere) await createFile(location)
    const gate = new Gate(location)
    try {
      const db = await gate.shut(() => openSettled(gate, openFile))
      await removeUnplaced(location, names)
      return { db, gate }
    } catch (error) {
      gate.end()
      throw error
    }
  } catch (error) {
    throw failure(error, location)
  }
}

/** Opens while nobody commits. Where that was not to be had, since a process is stuck or does not know of the gate, it is opened again. */
async function openSettled(gate: Gate, openFile: () => Promise<Database>): Promise<Database> {
  for (let tries = 1; ; tries++) {
    await gate.settled()
    const before = gate.newest()
    const db = await openFile()
    if (gate.newest() === before || tries === MAX_TRIES) return db
    await db.close()
  }
}

/** Loaded only when a directory is opened. That fails too where its binaries are not installed, which are optional to it. */
const library = (location: string): Promise<typeof import('lmdb')> =>
  import('lmdb').catch((error) => {
    const isThere = error.code !== 'ERR_MODULE_NOT_FOUND'
    const reason = isThere
      ? `the package lmdb cannot be loaded: ${firstLine(error)}`
      : 'the package lmdb is not installed: npm install lmdb'
    throw new FolioError('STORE_FAILED', { location, reason }, error)
  })

const firstLine = ({ message }: Error): string => message.split('\n', 1)[0]!

/** @throws CORRUPT if the file is damaged in a way that could end the process */
async function refuseDamage(location: string): Promise<void> {
  const [fault] = (await checkFiles(location)).faults
  if (fault) throw new FolioError('CORRUPT', { location, ...fault })
}

/** Codes of LMDB: a page that is missing or not of its kind, a file of another version or of something else. */
const DAMAGED = new Set<unknown>([-30797, -30796, -30794, -30793])

/** The name of a code of the operating system, which LMDB passes on as a number. */
function nameOf(code: string | number | undefined): string | undefined {
  if (typeof code !== 'number') return code
  return code > 0 ? process.getBuiltinModule('node:util').getSystemErrorName(-code) : undefined
}

/** The reason of a commit that failed, which comes as a promise; left alone, its rejection would end the process. */
export const reasonOf = async (error: unknown): Promise<unknown> =>
  Promise.race([(error as { commitError?: Promise<never> }).commitError ?? error, error]).catch((reason) => reason)

/** As little as this is no room for a commit. */
const FEW_BYTES = 1 << 16

/** A disk that took a part of what LMDB had to write is one that failed, as LMDB says it: it does not ask why. */
function isFull(location: string): boolean {
  try {
    const { bsize, blocks, bavail } = fs().statfsSync(location)
    return blocks > 0 && bavail * bsize < FEW_BYTES
  } catch {
    return false
  }
}

/** What went wrong, as an error of ours; `location` names the store. */
export function failure(error: unknown, location: string): FolioError {
  if (error instanceof FolioError) return error
  const { code, message } = error as { code?: string | number; message: string }
  const denied = denial({ code: nameOf(code), message }, location, error)
  if (denied) return denied
  if (DAMAGED.has(code)) return new FolioError('CORRUPT', { location, reason: message }, error)
  const reason = nameOf(code) === 'EIO' && isFull(location) ? `the disk is full (${message})` : message
  return new FolioError('STORE_FAILED', { location, reason }, error)
}
