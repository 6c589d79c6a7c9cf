/** What makes files and their names last. */
import type { FileHandle } from 'node:fs/promises'
import { fs, fsPromises } from './node.ts'

/** The handles of Yarn's Plug'n'Play cannot do it, and say so without a code. By number one can, except with `--permission`, where handles can. */
async function sync(handle: FileHandle): Promise<void> {
  try {
    await handle.sync()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error
    await process.getBuiltinModule('node:util').promisify(fs().fsync)(handle.fd)
  }
}

export async function syncFile(path: string): Promise<void> {
  const handle = await fsPromises().open(path, 'r+')
  try {
    await sync(handle)
  } finally {
    await handle.close()
  }
}

/** So that a rename survives a loss of power. Not every system lets a directory be opened. */
export async function syncNames(directory: string): Promise<void> {
  const handle = await fsPromises()
    .open(directory, 'r')
    .catch(() => undefined)
  if (handle) await sync(handle).catch(() => {})
  await handle?.close()
}
