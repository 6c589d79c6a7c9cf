/** Stores that break a law only when they are opened again, or twice. */
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import type { StoreSubject } from '../../adapters/testing/index.ts'
import type { Store, Write } from '../../src/index.ts'

interface Held {
  readonly store: Store
  readonly disk: MemoryDisk
  readonly batches: { readonly batch: readonly Write[]; readonly durable: boolean }[]
  readonly bells: Set<() => void>
}

/** A right store over a disk, which can be opened again and twice; `change` puts a fault in. */
function over(
  change: { reopen?: (held: Held) => Store; beside?: (held: Held, there: Store) => Partial<Store>; stop?: boolean } = {},
): StoreSubject {
  const all = new WeakMap<Store, Held>()
  const opened = (disk: MemoryDisk, bells = new Set<() => void>()): Store => {
    const batches: Held['batches'] = []
    const inner = memory(disk)
    const store: Store = {
      ...inner,
      async write(batch, options) {
        const copy = batch.map(([key, value]): Write => [key.slice(), value?.slice()])
        await inner.write(batch, options)
        batches.push({ batch: copy, durable: options.durable })
        for (const ring of bells) setTimeout(ring, 0)
      },
      watch(ring) {
        bells.add(ring)
        return () => void (change.stop !== false && bells.delete(ring))
      },
    }
    all.set(store, { store, disk, batches, bells })
    return store
  }
  return {
    open: () => opened(memoryDisk()),
    reopen: (store) => change.reopen?.(all.get(store)!) ?? opened(all.get(store)!.disk),
    beside: (store) => {
      const held = all.get(store)!
      const there = opened(held.disk, held.bells)
      return { ...there, ...change.beside?.(held, there) }
    },
  }
}

/** What is left of the batches, written to a new disk. */
const replayed = (batches: readonly (readonly Write[])[]): Store => {
  const store = memory()
  for (const batch of batches) store.write(batch, { durable: false })
  return store
}

export const rightSubject = (): StoreSubject => over()

export const storesOfOneDisk: readonly (readonly [law: string, fault: string, subject: () => StoreSubject])[] = [
  ['a reopen', 'loses its last batch', () => over({ reopen: ({ batches }) => replayed(batches.slice(0, -1).map(({ batch }) => batch)) })],
  [
    'a reopen',
    'has lost what was not written durably',
    () => over({ reopen: ({ batches }) => replayed(batches.filter(({ durable }) => durable).map(({ batch }) => batch)) }),
  ],
  [
    'a reopen',
    'has what was deleted again',
    () => over({ reopen: ({ batches }) => replayed(batches.map(({ batch }) => batch.filter(([, value]) => value))) }),
  ],
  ['a reopen', 'begins anew', () => over({ reopen: () => memory() })],
  [
    'what another process wrote',
    'reads what was there when it was opened',
    () =>
      over({
        beside: ({ disk }) => {
          const { entries } = disk.scan({ gte: Uint8Array.of(), lt: new Uint8Array(80).fill(0xff) }, { limit: 1e6 })
          const held = replayed([entries])
          return { get: held.get, getMany: held.getMany, scan: held.scan }
        },
      }),
  ],
  [
    'what another process wrote',
    'holds what it expects against what it wrote itself',
    () => over({ beside: (_, there) => ({ write: (batch, { durable }) => there.write(batch, { durable }) }) }),
  ],
  ['a watch rings', 'never rings', () => over({ beside: ({ bells }) => ({ write: () => bells.clear() }) })],
  ['a watch rings', 'rings on after it was stopped', () => over({ stop: false })],
]
