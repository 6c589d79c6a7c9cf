/** A store, and what is asked of it while that is measured. */
import type { KeyRange, MaybePromise, Store } from '../../src/index.ts'

/** Calls that read, and the bytes of the values that they returned. */
export interface Cost {
  calls: number
  bytes: number
}

export interface Counted {
  readonly store: Store
  /** What is asked of the store while the work is done. */
  costOf(work: () => Promise<unknown>): Promise<Cost>
}

/** Calls go to the store itself, which may have members of its own; while nobody measures, nothing more is done. */
export function counted(store: Store): Counted {
  let cost: Cost | undefined
  const { note } = store
  /** Passes on what a call returns, counted. */
  const tell = <T>(given: MaybePromise<T>, valuesOf: (given: T) => readonly (Uint8Array | undefined)[]): MaybePromise<T> => {
    if (!cost) return given
    const mine = cost
    mine.calls++
    const look = (answer: T): T => {
      for (const value of valuesOf(answer)) mine.bytes += value?.length ?? 0
      return answer
    }
    return given instanceof Promise ? given.then(look) : look(given as T)
  }
  return {
    store: {
      capabilities: store.capabilities,
      get: (key) => tell(store.get(key), (value) => [value]),
      getMany: (keys) => tell(store.getMany(keys), (values) => values),
      scan: (range, options) => tell(store.scan(range, options), ({ entries }) => entries.map(([, value]) => value)),
      write: (batch, options) => store.write(batch, options),
      ...(store.watch && { watch: (ring: () => void) => store.watch!(ring) }),
      ...(note && { note }),
      ...(store.compact && { compact: (range: KeyRange) => store.compact!(range) }),
      close: () => store.close(),
    },
    async costOf(work) {
      const mine = { calls: 0, bytes: 0 }
      cost = mine
      try {
        await work()
        return mine
      } finally {
        cost = undefined
      }
    },
  }
}
