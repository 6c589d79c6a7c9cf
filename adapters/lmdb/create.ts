/**
 * Creates the file of LMDB, whole or not at all. LMDB itself writes the first two pages of a new file without syncing them: if power is lost before the
 * first commit, later pages may be there without them, and such a file cannot be told from a store that was damaged. Where it cannot write them, it ends
 * the process (SIGSEGV). So the file is written here, under another name, synced, and only then put in its place, where it never replaces the file that
 * another process has put there meanwhile.
 */
import { fsPromises, namesIn, ownName, syncFile, syncNames, UNPLACED_NOTE } from '../directory/index.ts'
import { DATA, emptyFile } from './meta.ts'
import { reserveDescriptors } from './prepare.ts'

/** What files are called that are not in their place yet; earlier releases had a lock beside each, whose name begins with it. */
const UNPLACED = `${DATA}.new-`

/** What a file system says that has no second names for files. */
const UNLINKABLE = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** @param location a directory; throws what the file system says */
export async function createFile(location: string): Promise<void> {
  // Nothing is made that could not be opened.
  reserveDescriptors(location)
  const { link, rm, writeFile } = fsPromises()
  const path = `${location}/${UNPLACED}${ownName()}`
  try {
    await writeFile(path, emptyFile(), { flag: 'wx', mode: 0o664 })
    await syncFile(path)
    await link(path, `${location}/${DATA}`)
  } catch (error) {
    // Another process was first, and may have taken ours away; or LMDB is left to make the file in its place.
    const isUnlinkable = UNLINKABLE.has((error as NodeJS.ErrnoException).code ?? '')
    if (!isUnlinkable && !(await namesIn(location)).includes(DATA)) throw error
  } finally {
    await rm(path, { force: true })
  }
  await syncNames(location)
}

/**
 * Takes away what was cut short before it was in its place. **Invariants:** the file is in its place, so that no creation depends on another one; whose
 * note is taken away writes it again.
 */
export async function removeUnplaced(location: string, names: readonly string[]): Promise<void> {
  const isUnplaced = (name: string): boolean => name.startsWith(UNPLACED) || name.startsWith(UNPLACED_NOTE)
  for (const name of names.filter(isUnplaced)) await fsPromises().rm(`${location}/${name}`, { force: true })
}
