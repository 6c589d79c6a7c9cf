/**
 * A file that is written whole or not at all.
 * **Invariant:** what the path named before stays until the new file is complete and on disk.
 */
import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { unwritable } from './errors.ts'
import { stopped } from './io.ts'

type Write = (file: Writable) => Promise<boolean>

/**
 * Writes to a file beside the path, and moves it there when `write` says that it is complete; otherwise, and if that fails, the path is left as it
 * was. Anything but a regular file, such as a pipe or `/dev/stdout`, is written to directly, up to the signal: it may be that nobody reads it.
 * @throws Unwritable, and what else `write` throws
 */
export const replaceFile = (path: string, signal: AbortSignal, write: Write): Promise<void> =>
  replaced(path, signal, write).catch(unwritable)

async function replaced(path: string, signal: AbortSignal, write: Write): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found && !found.isFile()) return Promise.race([writeInto(path, write), stopped(signal)])
  // A symbolic link stays: the file that it names is replaced.
  const target = found ? await realpath(path) : path
  const part = `${target}.part`
  const file = await open(part, 'w', found?.mode)
  try {
    if (await write(file.createWriteStream({ flush: true }))) await rename(part, target)
  } finally {
    await rm(part, { force: true })
  }
}

async function writeInto(path: string, write: Write): Promise<void> {
  const file = await open(path, 'w')
  await write(file.createWriteStream())
}
