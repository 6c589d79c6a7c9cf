/** What Node knows of files, found without an import, so that a bundle for browsers needs no stub for it. */

export const fs = () => process.getBuiltinModule('node:fs')
export const fsPromises = () => process.getBuiltinModule('node:fs/promises')

/** What a file or a directory gives; undefined if it is not there. */
export async function ifThere<T>(giving: Promise<T>): Promise<T | undefined> {
  try {
    return await giving
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}
