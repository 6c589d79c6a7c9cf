/** A few bytes in a file beside those of a database, which leaves it alone. The file is replaced as a whole, and synced only on request. */
import type { Store } from '../../src/store.ts'
import { inTurn } from './in-turn.ts'
import { syncFile, syncNames } from './sync.ts'

const fs = () => process.getBuiltinModule('node:fs/promises')

/**
 * @param checkHeld of the directory, which is open: what is written must not go into another one that has taken its place
 * @param writer differs where several write the file: what they write first, they must not write into each other's
 */
export function noteIn(directory: string, checkHeld: () => void, writer = 'new'): NonNullable<Store['note']> {
  const path = `${directory}/HIGH-WATER`
  const next = `${path}.${writer}`
  /** At once, each would move away the file that another is about to move. */
  const inLine = inTurn()
  const write = async (bytes: Uint8Array, durable: boolean): Promise<void> => {
    checkHeld()
    await fs().writeFile(next, bytes)
    // Not by `flush`, which Yarn's Plug'n'Play passes over.
    if (durable) await syncFile(next)
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
