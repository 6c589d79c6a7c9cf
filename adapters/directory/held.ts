/** Whether a directory is still the one that was opened. */
import { FolioError } from '../../src/errors.ts'
import { fs } from './node.ts'

/**
 * Databases do not notice that their directory was moved, deleted or replaced while they have it open. What is written then is lost with it; and LevelDB,
 * which knows its files by their paths, deletes those of the database that has taken its place. Nor do they notice that the file of their lock was
 * deleted, after which others get in.
 * @param directory of a database that is open
 * @param files those in it that the database keeps open, so that they keep their numbers
 * @returns to be called before anything is written; throws STORE_MISSING, or what the file system says
 */
export function heldIn(directory: string, files: readonly string[]): () => void {
  const { statSync } = fs()
  const look = (path: string) => statSync(path, { throwIfNoEntry: false })
  const parts = [
    { what: 'directory', path: directory, opened: look(directory) },
    ...files.map((name) => {
      const path = `${directory}/${name}`
      return { what: `file ${name}`, path, opened: look(path) }
    }),
  ]
  return () => {
    for (const { what, path, opened } of parts) {
      const found = look(path)
      if (found !== undefined && found.ino === opened?.ino && found.dev === opened.dev) continue
      const reason = found
        ? `another ${what} has taken the place of the one that was opened`
        : `since it was opened, the ${what} was moved or deleted`
      throw new FolioError('STORE_MISSING', { location: directory, reason })
    }
  }
}
