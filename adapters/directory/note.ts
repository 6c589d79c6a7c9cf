/** A few bytes in a file beside those of a database, which leaves it alone. The file is replaced as a whole, and synced only on request. */
import type { Store } from '../../src/store.ts'
import { inTurn } from './in-turn.ts'
import { fsPromises, ifThere } from './node.ts'
import { syncFile, syncNames } from './sync.ts'

/** What the file is called. Nothing but a ledger store has one. */
export const NOTE = 'HIGH-WATER'

/** What files are called that are not in its place yet. */
export const UNPLACED_NOTE = `${NOTE}.`

/** Each time, somebody else has opened the directory between two of our steps. */
const MAX_TRIES = 20

/**
 * @param checkHeld of the directory, which is open: what is written must not go into another one that has taken its place
 * @param writer differs where several write the file, in whatever process, thread or copy of this package: what they write first, they must not write
 * into each other's. Whoever opens the directory takes away what was left of those; should it be in use, it is written again
 */
export function noteIn(directory: string, checkHeld: () => void, writer = 'new'): NonNullable<Store['note']> {
  const path = `${directory}/${NOTE}`
  const next = `${directory}/${UNPLACED_NOTE}${writer}`
  /** At once, each would move away the file that another is about to move. */
  const inLine = inTurn()
  const place = async (bytes: Uint8Array, durable: boolean): Promise<void> => {
    await fsPromises().writeFile(next, bytes)
    // Not by `flush`, which Yarn's Plug'n'Play passes over.
    if (durable) await syncFile(next)
    await fsPromises().rename(next, path)
    if (durable) await syncNames(directory)
  }
  const write = async (bytes: Uint8Array, durable: boolean): Promise<void> => {
    for (let tries = 1; ; tries++) {
      checkHeld()
      try {
        return await place(bytes, durable)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT' && tries < MAX_TRIES) continue
        await fsPromises()
          .rm(next, { force: true })
          .catch(() => {})
        throw error
      }
    }
  }
  return {
    read: () => ifThere(fsPromises().readFile(path)),
    write: (bytes, { durable = false } = {}) => inLine(() => write(bytes, durable)),
  }
}
