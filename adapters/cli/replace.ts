/**
 * A file that is written whole or not at all.
 * **Invariant:** what the path named before stays until the new file is complete and on disk.
 */
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { Unwritable } from './exit.ts'

/**
 * Writes to a file beside the path, and moves it there when `write` says that it is complete; otherwise, and if that fails, the path is left as it
 * was. Anything but a regular file, such as a pipe or `/dev/stdout`, is written to directly.
 * @throws Unwritable, and what `write` throws
 */
export async function replaceFile(path: string, write: (file: Writable) => Promise<boolean>): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found && !found.isFile()) return void (await write((await opened(path)).createWriteStream()))
  // A symbolic link stays: the file that it names is replaced.
  const target = found ? await writable(realpath(path)) : path
  const part = `${target}.part`
  const file = await opened(part, found?.mode)
  try {
    if (await write(file.createWriteStream({ flush: true }))) await writable(rename(part, target))
  } finally {
    await rm(part, { force: true })
  }
}

const opened = (path: string, mode?: number): Promise<FileHandle> => writable(open(path, 'w', mode))

/** @throws Unwritable */
const writable = <T>(done: Promise<T>): Promise<T> =>
  done.catch(({ message }: Error) => {
    throw new Unwritable(message)
  })
