/** LevelDB itself: a directory is handed to it as it is, or kept from everybody else by its lock. */
import { FolioError } from '../../src/errors.ts'
import { fsPromises } from '../directory/index.ts'
import { failure } from './failure.ts'
import type { LevelOptions } from './open.ts'
import { type Database, encodings } from './scan.ts'

/**
 * A table is written anew if anything new lies between its first and its last key, which with records of many kinds is so for some tables of each level:
 * at 4 MiB that takes three quarters of the work that it takes at 8, and at 2 MiB half, but then a store has twice as many files.
 */
const TABLE_BYTES = 4 << 20

/** So many of them are kept open: they cover 8 GB. */
const OPEN_TABLES = 2000

/** Hands the directory to LevelDB as it is. */
export async function openDatabase(location: string, createIfMissing: boolean, options: LevelOptions = {}): Promise<Database> {
  const { ClassicLevel } = await import('classic-level')
  const db = new ClassicLevel<any, any>(location, {
    ...encodings,
    createIfMissing,
    cacheSize: options.cacheBytes ?? 8 << 20,
    writeBufferSize: options.writeBufferBytes ?? 32 << 20,
    blockSize: options.blockBytes ?? 4096,
    compression: options.compression ?? true,
    maxFileSize: TABLE_BYTES,
    maxOpenFiles: OPEN_TABLES,
  })
  await db.open()
  return db
}

/**
 * Works while nobody else can open the directory. Only LevelDB can take its kind of lock, and it cannot open what is damaged: so it opens an empty
 * database whose LOCK is the same file.
 * @throws STORE_LOCKED if somebody else has it open, what else keeps LevelDB from its lock, what the file system says, and what the work throws
 */
export async function locked<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const prefix = 'salvage-lock-'
  const place = await fsPromises().mkdtemp(`${directory}/${prefix}`)
  try {
    await fsPromises().appendFile(`${directory}/LOCK`, '')
    const link = `${place}/LOCK`
    // Not every system has hard links.
    await fsPromises()
      .link(`${directory}/LOCK`, link)
      .catch(() => fsPromises().symlink('../LOCK', link))
    const guard = await openDatabase(place, true).catch((error) => {
      throw failure(error, directory)
    })
    try {
      // Whoever has the lock takes this place away, as what a kill may have left. LevelDB makes it anew, with a LOCK of its own.
      if (!(await isSameFile(link, `${directory}/LOCK`))) throw new FolioError('STORE_LOCKED', { location: directory })
      for (const name of await fsPromises().readdir(directory))
        if (name.startsWith(prefix) && !place.endsWith(name)) await remove(`${directory}/${name}`)
      return await work()
    } finally {
      await guard.close()
    }
  } finally {
    await remove(place)
  }
}

/** By numbers that a double may not hold. */
async function isSameFile(path: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all([path, other].map((name) => fsPromises().stat(name, { bigint: true })))
  return one!.ino === two!.ino && one!.dev === two!.dev
}

const remove = (path: string): Promise<void> => fsPromises().rm(path, { recursive: true, force: true })
