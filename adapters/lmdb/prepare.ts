/**
 * What LMDB needs to open its files, seen to before: where anything fails meanwhile, the package `lmdb` 3.5 frees what it has freed already, and the
 * process ends (SIGSEGV) instead of telling what failed.
 */
import { FolioError } from '../../src/errors.ts'
import { fs, ifThere } from '../directory/index.ts'
import { DATA, headOf, LOCK, VERSION } from './meta.ts'

/** What LMDB's lock takes for 126 readers. */
const LOCK_BYTES = 8272

/** How many files LMDB has open at a time while it opens one of its own. */
const DESCRIPTORS = 4

/**
 * Sees to it that the file of a directory can be read and written, and begins as LMDB expects.
 * @throws STORE_FORMAT if its version is another one, CORRUPT if it is none of LMDB's, and what the file system says
 */
export function checkData(directory: string): void {
  const { openSync, closeSync, fstatSync } = fs()
  const file = openSync(`${directory}/${DATA}`, 'r+')
  try {
    // LMDB makes a new one of it.
    if (fstatSync(file).size === 0) return
    const head = headOf(file)
    if ('reason' in head) throw new FolioError('CORRUPT', { location: directory, ...head })
    if (head.version !== VERSION)
      throw new FolioError('STORE_FORMAT', { found: `data of LMDB of version ${head.version}`, expected: `version ${VERSION}` })
  } finally {
    closeSync(file)
  }
}

/** Sees to it that there is room for what LMDB opens. @throws what the file system says */
export async function reserve(directory: string): Promise<void> {
  await reserveLock(`${directory}/${LOCK}`)
  reserveDescriptors(directory)
}

/**
 * LMDB makes its lock of holes, and writes to them in memory: a disk that has no room for that would end the process (SIGBUS). One that is whole may be
 * locked by this process, which would let go of it by closing it, so it is not opened here.
 */
async function reserveLock(path: string): Promise<void> {
  const { access, appendFile, constants, stat } = fs().promises
  const { size = 0 } = (await ifThere(stat(path))) ?? {}
  if (size < LOCK_BYTES) await appendFile(path, Buffer.alloc(LOCK_BYTES - size), { mode: 0o664 })
  else await access(path, constants.R_OK | constants.W_OK)
}

/** Sees to it that LMDB may open as many files as it needs. @param directory any; throws EMFILE or ENFILE */
export function reserveDescriptors(directory: string): void {
  const { closeSync, openSync } = fs()
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
