/**
 * Places for stores that are tried, in the directory for temporary files.
 * **Invariant:** none outlives the process, however that ends, unless it is killed.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '../../src/index.ts'
import type { Place } from '../compare/index.ts'
import { Unwritable, unwritable } from './errors.ts'

/** A store may still be writing there when it is no longer waited for. */
const whole = { recursive: true, force: true, maxRetries: 5 } as const

/** A store knows its directory by name: what it still does at the end of the process, in threads of its own, adds nothing under another. */
function outOfReach(directory: string): string {
  const moved = `${directory}-left`
  try {
    renameSync(directory, moved)
    return moved
  } catch {
    // Windows moves no directory with open files.
    return directory
  }
}

const left = new Set<string>()

function removeLeft(): void {
  for (const directory of left)
    try {
      rmSync(outOfReach(directory), whole)
    } catch {
      // The others are removed all the same; nobody is left to be told.
    }
}

/** Made and known in one go: a signal in between would leave it behind. */
function makeDirectory(): string {
  try {
    const directory = mkdtempSync(join(tmpdir(), 'folio-'))
    if (left.size === 0) process.once('exit', removeLeft)
    left.add(directory)
    mkdirSync(storeIn(directory))
    return directory
  } catch (error) {
    const { message } = error as Error
    throw new Unwritable(`the directory for temporary files, ${tmpdir()}, takes no store; TMPDIR names another: ${message}`)
  }
}

/** One level down: a store that is still being opened when the process ends makes its own directory anew, but not the one around it. */
const storeIn = (directory: string): string => join(directory, 'store')

/** Makes places. @throws Unwritable */
export function inDirectory(open: (directory: string) => Store | Promise<Store>): () => Promise<Place> {
  return async () => {
    const directory = makeDirectory()
    return {
      open: () => open(storeIn(directory)),
      // A store that keeps nothing on disk has no size there.
      size: async () => (await bytesIn(directory)) || undefined,
      async remove() {
        await rm(directory, whole).catch(unwritable)
        left.delete(directory)
        if (left.size === 0) process.off('exit', removeLeft)
      },
    }
  }
}

/**
 * What is allocated: files may have holes, as that of LMDB. Some file systems do not say; then, how long the files are. A store that is open may remove
 * files meanwhile.
 */
export async function bytesIn(directory: string): Promise<number> {
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
  const found = await Promise.all(files.map(({ parentPath, name }) => stat(join(parentPath, name)).catch(goneOnly)))
  const stats = found.filter((one) => one !== undefined)
  return stats.reduce((sum, { blocks }) => sum + blocks * 512, 0) || stats.reduce((sum, { size }) => sum + size, 0)
}

function goneOnly(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
