/**
 * Creates the file of LMDB, whole or not at all. LMDB writes the first two pages of a new file without syncing them: if power is lost before the first
 * commit, later pages may be there without them, and such a file cannot be told from a store that was damaged. So it is made under another name, synced,
 * and only then put in its place, where it never replaces the file that another process has put there meanwhile.
 */
import { namesIn, syncFile, syncNames } from '../directory/index.ts'
import { DATA } from './meta.ts'

/** What files are called that are not in their place yet; LMDB's lock of each begins with its name. */
const UNPLACED = `${DATA}.new-`

/** What a file system says that has no second names for files. */
const UNLINKABLE = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** What LMDB's lock takes for 126 readers. */
const LOCK_BYTES = 8272

const fs = () => process.getBuiltinModule('node:fs/promises')

/** How many files LMDB has open at a time while it opens one of its own. */
const DESCRIPTORS = 4

/**
 * Sees to it that LMDB can open its files: where it may open no more of them, it ends the process (SIGSEGV).
 * @param directory any; throws EMFILE or ENFILE
 */
export function reserveDescriptors(directory: string): void {
  const { closeSync, openSync } = process.getBuiltinModule('node:fs')
  const held: number[] = []
  try {
    while (held.length < DESCRIPTORS) held.push(openSync(directory, 'r'))
  } catch (error) {
    // Where directories cannot be opened, there are no such limits.
    if (/^E[MN]FILE$/.test((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    for (const one of held) closeSync(one)
  }
}

/**
 * Sees to it that LMDB's lock has its place on the disk. LMDB makes it of holes, and writes to them in memory: a disk that has no room for that would end
 * the process (SIGBUS).
 * @param path of the lock, which nobody else makes meanwhile; throws what the file system says
 */
export async function reserveLock(path: string): Promise<void> {
  const held = await fs()
    .stat(path)
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      return { size: 0 }
    })
  if (held.size < LOCK_BYTES) await fs().appendFile(path, Buffer.alloc(LOCK_BYTES - held.size), { mode: 0o664 })
}

/**
 * @param location a directory
 * @param make makes a file of LMDB at a path, and closes it
 */
export async function createFile(location: string, make: (path: string) => Promise<void>): Promise<void> {
  const { link, rm } = fs()
  const path = `${location}/${UNPLACED}${process.pid}-${process.getBuiltinModule('node:crypto').randomUUID()}`
  try {
    await make(path)
    await syncFile(path)
    await link(path, `${location}/${DATA}`)
  } catch (error) {
    // Another process was first, and may have taken ours away; or LMDB is left to make the file in its place.
    const isUnlinkable = UNLINKABLE.has((error as NodeJS.ErrnoException).code ?? '')
    if (!isUnlinkable && !(await namesIn(location)).includes(DATA)) throw error
  } finally {
    for (const left of [path, `${path}-lock`]) await rm(left, { force: true })
  }
  await syncNames(location)
}

/** Takes away what creations that were cut short have left. **Invariant:** the file is in its place, so that no creation depends on another one. */
export async function removeUnplaced(location: string, names: readonly string[]): Promise<void> {
  for (const name of names) if (name.startsWith(UNPLACED)) await fs().rm(`${location}/${name}`, { force: true })
}
