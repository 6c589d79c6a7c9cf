/** A few bytes in a file beside LevelDB's own, which it leaves alone. The file is replaced as a whole, and synced only on request. */

import type { Store } from '../../src/store.ts'
import { syncNames } from './sync.ts'

const fs = () => process.getBuiltinModule('node:fs/promises')

/**
 * @param directory the directory of the database, which is open: what is written must not go into another one that has taken its place. Throws what
 * the file system says.
 */
export function noteIn(directory: string): NonNullable<Store['note']> {
  const path = `${directory}/HIGH-WATER`
  const opened = process.getBuiltinModule('node:fs').statSync(directory)
  return {
    read: () =>
      fs()
        .readFile(path)
        .catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error
          return undefined
        }),
    async write(bytes, { durable = false } = {}) {
      const { dev, ino } = await fs().stat(directory)
      if (dev !== opened.dev || ino !== opened.ino) throw new Error('another directory has taken the place of the one that was opened')
      await fs().writeFile(`${path}.new`, bytes, { flush: durable })
      await fs().rename(`${path}.new`, path)
      if (durable) await syncNames(directory)
    },
  }
}
