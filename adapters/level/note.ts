/** A few bytes in a file beside LevelDB's own, which it leaves alone. They are put in place whole, and are not on disk before they need to be. */
import type { Store } from '../../src/store.ts'

const fs = () => process.getBuiltinModule('node:fs/promises')

/** @param directory the directory of the database */
export function noteIn(directory: string): NonNullable<Store['note']> {
  const path = `${directory}/HIGH-WATER`
  return {
    async read() {
      try {
        return await fs().readFile(path)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    async write(bytes) {
      await fs().writeFile(`${path}.new`, bytes)
      await fs().rename(`${path}.new`, path)
    },
  }
}
