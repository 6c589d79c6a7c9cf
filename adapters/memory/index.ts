/** A store in memory: every answer comes at once, and nothing outlives the process. */
import { same } from '../../src/bytes.ts'
import { FolioError } from '../../src/errors.ts'
import { checkScan, type Store } from '../../src/store.ts'
import { Tree } from './tree.ts'

/** What a memory store keeps its entries on. Two stores over one disk see each other's writes at once. */
export type { Tree as MemoryDisk } from './tree.ts'

/** An empty disk: pass it to `memory()` again and again to close and reopen the same store in a test. */
export const memoryDisk = (): Tree => new Tree()

/**
 * A store in memory, over a disk of its own or over the given one. It takes no lock: several stores may share a disk, as after a crash that is
 * imitated. Of two ledgers over them, neither notices what the other rolls back or prunes.
 * @throws STORE_MISUSE if `disk` is not a disk
 */
export function memory(disk: Tree = memoryDisk()): Store {
  if (!(disk instanceof Tree)) throw new FolioError('STORE_MISUSE', { found: typeof disk, expected: 'a memoryDisk(), or nothing' })
  let closed = false
  const open = (): void => {
    if (closed) throw new FolioError('CLOSED', { store: 'memory' })
  }
  return {
    capabilities: { name: 'memory', sync: true, persistent: false, shared: false },
    get(key) {
      open()
      return disk.get(key)
    },
    getMany(keys) {
      open()
      return keys.map((key) => disk.get(key))
    },
    scan(range, options) {
      open()
      checkScan(range, options)
      return disk.scan(range, options)
    },
    write(batch, { expect }) {
      open()
      if (expect && !same(disk.get(expect.key), expect.value)) throw new FolioError('CONFLICT', { store: 'memory' })
      disk.write(batch)
    },
    snapshot() {
      open()
      let held: Tree | undefined = disk.copied()
      return {
        scan(range, options) {
          open()
          if (!held) throw new FolioError('CLOSED', { store: 'memory' })
          checkScan(range, options)
          return held.scan(range, options)
        },
        close() {
          held = undefined
        },
      }
    },
    close() {
      closed = true
    },
  }
}
