/** The stores that come with the package keep the laws of stores. A new one gets a line in the list. */
import { cpSync } from 'node:fs'
import { ClassicLevel } from 'classic-level'
import { MemoryLevel } from 'memory-level'
import { describe, test } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { lmdb } from '../../adapters/lmdb/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type StoreSubject, storeConformance } from '../../adapters/testing/index.ts'
import type { Store } from '../../src/store.ts'
import { directory } from '../support/directory.ts'
import { FailingLevel } from './failing-level.ts'

const disks = new WeakMap<Store, MemoryDisk>()
const onDisk = (disk: MemoryDisk): Store => {
  const store = memory(disk)
  disks.set(store, disk)
  return store
}

const homes = new WeakMap<Store, string>()
const inDirectory = async (place: string, open: (place: string) => Promise<Store>): Promise<Store> => {
  const store = await open(place)
  homes.set(store, place)
  return store
}
/** Opens a copy of a directory that is in use, which is what a process that is killed leaves. */
const copied = (store: Store, open: (place: string) => Promise<Store>): Promise<Store> => {
  const place = directory()
  cpSync(homes.get(store)!, place, { recursive: true })
  return inDirectory(place, open)
}
const levelSubject = (open: (place: string) => Promise<Store>): StoreSubject => ({
  capabilities: { name: 'level', sync: true, persistent: true, shared: false },
  open: async () => inDirectory(directory(), open),
  reopen: (store) => inDirectory(homes.get(store)!, open),
  killed: (store) => copied(store, open),
})

/** A database without `getSync`, as in browsers. */
class AsyncLevel extends MemoryLevel<any, any> {
  constructor() {
    super()
    Object.assign(this.supports, { getSync: false })
  }
}

const failing = new WeakMap<Store, FailingLevel>()

const subjects: Record<string, StoreSubject> = {
  memory: {
    capabilities: { name: 'memory', sync: true, persistent: false, shared: false },
    open: () => onDisk(memoryDisk()),
    reopen: (store) => onDisk(disks.get(store)!),
    beside: (store) => onDisk(disks.get(store)!),
    declined: { 'a watch rings': 'memory stores offer no watch, and what shares them polls' },
  },
  'level in a directory': levelSubject((place) => level(place)),
  'level over classic-level': levelSubject((place) => level(new ClassicLevel(place))),
  lmdb: {
    capabilities: { name: 'lmdb', sync: true, persistent: true, shared: true },
    open: async () => inDirectory(directory(), lmdb),
    reopen: (store) => inDirectory(homes.get(store)!, lmdb),
    beside: (store) => inDirectory(homes.get(store)!, lmdb),
    killed: (store) => copied(store, lmdb),
  },
  'level over memory-level': {
    capabilities: { sync: true, persistent: false },
    open: async () => {
      const db = new FailingLevel()
      const store = await level(db)
      failing.set(store, db)
      return store
    },
    fail: (store) => {
      failing.get(store)!.failure = new Error('IO error: 000003.log: No space left on device')
    },
  },
  'level over a database without synchronous reads': { capabilities: { sync: false }, open: () => level(new AsyncLevel()) },
  'level over a sublevel of strings': { open: () => level(new MemoryLevel<string, string>().sublevel('folio')) },
}

/** Those whose code has a bound of its own that the narrow run makes small; there, the others are as they are without. */
const bounded = ['memory', 'level in a directory']
const isRun = (name: string): boolean => process.env['MODE'] !== 'narrow' || bounded.includes(name)

for (const [name, subject] of Object.entries(subjects).filter(([name]) => isRun(name)))
  describe(name, () => {
    for (const law of storeConformance(subject)) test.skipIf(law.skip)(law.skip ? `${law.name} (skipped: ${law.skip})` : law.name, law.run)
  })
