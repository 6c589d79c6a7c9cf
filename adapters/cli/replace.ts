/**
 * A file that is written whole or not at all.
 * **Invariant:** what the path named before stays until the new file is complete and on disk.
 */
import { randomBytes } from 'node:crypto'
import { open, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { syncNames } from '../directory/index.ts'
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
  const found = await stat(path).catch((error) => {
    if (error.code === 'ELOOP') throw error
    return undefined
  })
  if (found && !found.isFile()) return Promise.race([writeInto(path, write), stopped(signal)])
  const target = await targetOf(path)
  // A name of its own: two commands that write the same file must not write into each other's, nor into what the user has there.
  const part = `${target}.${randomBytes(4).toString('hex')}.part`
  const file = await open(part, 'wx', found?.mode)
  try {
    // The umask may have taken something away. Not every file system has modes.
    if (found) await file.chmod(found.mode).catch(() => {})
    if (!(await write(file.createWriteStream({ flush: true })))) return
    await rename(part, target)
    await syncNames(dirname(target))
  } finally {
    await rm(part, { force: true })
  }
}

/** A symbolic link stays, whether or not there is a file where it leads to: that is where the file will be. */
async function targetOf(path: string): Promise<string> {
  const next = await readlink(path).catch(() => undefined)
  return next === undefined ? path : targetOf(resolve(await realpath(dirname(path)), next))
}

async function writeInto(path: string, write: Write): Promise<void> {
  const file = await open(path, 'w')
  await write(file.createWriteStream())
}
