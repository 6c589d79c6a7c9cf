/** A few bytes in a file beside those of a database, which leaves it alone. The file is replaced as a whole, and synced only on request. */
import type { Store } from '../../src/store.ts'
import { inTurn } from './in-turn.ts'
import { syncNames } from './sync.ts'

const fs = () => process.getBuiltinModule('node:fs/promises')

/**
 * @param directory the directory of the database, which is open: what is written must not go into another one that has taken its place. Throws what
 * the file system says.
 * @param writer differs where several write the file: what they write first, they must not write into each other's
 */
export function noteIn(directory: string, writer = 'new'): NonNullable<Store['note']> {
  const path = `${directory}/HIGH-WATER`
  const next = `${path}.${writer}`
  const opened = process.getBuiltinModule('node:fs').statSync(directory)
  /** At once, each would move away the file that another is about to move. */
  const inLine = inTurn()
  const write = async (bytes: Uint8Array, durable: boolean): Promise<void> => {
    const { dev, ino } = await fs().stat(directory)
    if (dev !== opened.dev || ino !== opened.ino) throw new Error('another directory has taken the place of the one that was opened')
    await fs().writeFile(next, bytes, { flush: durable })
    await fs().rename(next, path)
    if (durable) await syncNames(directory)
  }
  return {
    read: () =>
      fs()
        .readFile(path)
        .catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error
          return undefined
        }),
    write: (bytes, { durable = false } = {}) => inLine(() => write(bytes, durable)),
  }
}
