/**
 * Opens a directory only once per process, which LevelDB does not ensure: it knows directories by their spelling, and by the time it notices that it
 * already holds one, it has opened and closed the LOCK file. When a process closes any descriptor of a file, POSIX drops the lock of that process on
 * the file: the next process would get in, and two would write.
 */
import { FolioError } from '../../src/errors.ts'
import { fs } from '../directory/index.ts'

/** Directories that this thread is opening. */
const opening = new Set<string>()

/**
 * Opens a directory, unless this process has it open, by whatever name and in whatever thread. Two threads that open it in the same instant may both
 * get through.
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

/** Whether this process has a file open. The check does not open the file, since closing it again is exactly what must not happen. */
async function hasOpen(path: string): Promise<boolean> {
  const { fstatSync, promises } = fs()
  const bigint = { bigint: true } as const
  const file = await promises.stat(path, bigint).catch(() => undefined)
  if (!file) return false
  // Windows has no such list, and does not need one: there a lock belongs to the handle that took it.
  const descriptors = await promises.readdir('/dev/fd').catch(() => [])
  return descriptors.some((name) => {
    try {
      const { dev, ino } = fstatSync(Number(name), bigint)
      return dev === file.dev && ino === file.ino
    } catch {
      // Closed meanwhile, like the descriptor that the list was read from.
      return false
    }
  })
}
