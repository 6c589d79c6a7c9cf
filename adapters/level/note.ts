/** A few bytes in a file beside LevelDB's own, which it leaves alone. The file is replaced as a whole, and synced only on request. */
import type { Store } from '../../src/store.ts'
import { failure } from './open.ts'

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
        throw failure(error, directory)
      }
    },
    async write(bytes, { durable = false } = {}) {
      try {
        await fs().writeFile(`${path}.new`, bytes, { flush: durable })
        await fs().rename(`${path}.new`, path)
        if (durable) await syncNames(directory)
      } catch (error) {
        throw failure(error, directory)
      }
    },
  }
}

/** So that a rename survives a loss of power. Not every system lets a directory be opened. */
async function syncNames(directory: string): Promise<void> {
  const handle = await fs()
    .open(directory, 'r')
    .catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
