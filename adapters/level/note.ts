/** A few bytes in a file beside LevelDB's own, which it leaves alone. The file is replaced as a whole, and synced only on request. */
import type { Store } from '../../src/store.ts'

const fs = () => process.getBuiltinModule('node:fs/promises')

/** @param directory the directory of the database. Throws what the file system says. */
export function noteIn(directory: string): NonNullable<Store['note']> {
  const path = `${directory}/HIGH-WATER`
  return {
    read: () =>
      fs()
        .readFile(path)
        .catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error
          return undefined
        }),
    async write(bytes, { durable = false } = {}) {
      await fs().writeFile(`${path}.new`, bytes, { flush: durable })
      await fs().rename(`${path}.new`, path)
      if (durable) await syncNames(directory)
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
