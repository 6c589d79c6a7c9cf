/**
 * A directory is opened once in a process, which LevelDB does not see to: it knows directories by their spelling, and where it does know that it
 * holds one, it has opened and closed its LOCK by then. With any descriptor of a file that a process closes, POSIX drops the lock of the process on
 * that file: the next process would get in, and two would write.
 */
import { FolioError } from '../../src/errors.ts'

const fs = () => process.getBuiltinModule('node:fs')

/** Directories that this thread is opening. */
const opening = new Set<string>()

/**
 * Opens a directory, unless this process has it open, by whatever name and in whatever thread. Two threads that open it in the same instant may
 * both be let through.
 * @throws STORE_LOCKED
 */
export async function alone<T>(location: string, open: () => Promise<T>): Promise<T> {
  const { resolve } = process.getBuiltinModule('node:path')
  const place = await fs()
    .promises.realpath(location)
    .catch(() => resolve(location))
  if (opening.has(place)) throw new FolioError('STORE_LOCKED', { location })
  opening.add(place)
  try {
    if (await hasOpen(`${place}/LOCK`)) throw new FolioError('STORE_LOCKED', { location })
    return await open()
  } finally {
    opening.delete(place)
  }
}

/** Whether this process has a file open. The file is not opened to find out: closing it again is what must not be. */
async function hasOpen(path: string): Promise<boolean> {
  const { fstatSync, promises } = fs()
  const bigint = { bigint: true } as const
  const file = await promises.stat(path, bigint).catch(() => undefined)
  if (!file) return false
  // Windows has no such list, and no need of one: there a lock belongs to the handle that took it.
  const descriptors = await promises.readdir('/dev/fd').catch(() => [])
  return descriptors.some((name) => {
    try {
      const { dev, ino } = fstatSync(Number(name), bigint)
      return dev === file.dev && ino === file.ino
    } catch {
      // Closed meanwhile, as the one that the list was read from.
      return false
    }
  })
}
