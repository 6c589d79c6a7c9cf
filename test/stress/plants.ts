/** Bugs to plant in a store: each breaks one promise, and the stress that checks the promise must find it. */
import type { Store, Write, WriteOptions } from '../../src/index.ts'
import { wait } from './stress.ts'

type Write1 = (batch: readonly Write[], options: WriteOptions) => Promise<void>

const writing = (store: Store, write: Write1): Store => Object.assign(Object.create(store) as Store, { write })

export const storePlants: Readonly<Record<string, (store: Store) => Store>> = {
  'two batches a ledger, the head first': (store) =>
    writing(store, async (batch, options) => {
      await store.write(batch.slice(-1), options)
      if (batch.length > 1) await store.write(batch.slice(0, -1), { durable: options.durable })
    }),
  'two batches a ledger, the head last': (store) =>
    writing(store, async (batch, options) => {
      if (batch.length > 1) await store.write(batch.slice(0, -1), { durable: options.durable })
      await store.write(batch.slice(-1), options)
    }),
  'acknowledged before it is written': (store) => {
    let queue: Promise<unknown> = Promise.resolve()
    return writing(store, async (batch, { durable }) => {
      queue = queue
        .then(() => wait(5))
        .then(() => store.write(batch, { durable }))
        .catch(() => {})
    })
  },
  'the result of a write is ignored': (store) =>
    writing(store, async (batch, options) => {
      try {
        await store.write(batch, options)
      } catch {
        // As if nothing had happened.
      }
    }),
  'writes are not synced': (store) =>
    writing(store, async (batch, options) => {
      await store.write(batch, { ...options, durable: false })
    }),
  'every tenth block is not written': (store) => {
    let blocks = 0
    return writing(store, async (batch, options) => {
      await store.write(
        batch.filter(([key]) => key[0] !== 0x10 || ++blocks % 10 > 0),
        options,
      )
    })
  },
}

export const planted = (store: Store, plant: string | undefined): Store => (plant === undefined ? store : storePlants[plant]!(store))
