/** A store, and what is asked of it while that is measured. */
import { isPromise, type KeyRange, type MaybePromise, type Store } from '../../src/index.ts'

/** Calls that read, and the bytes of the values that they returned; or calls that write, and the bytes of the keys and values in them. */
export interface Cost {
  calls: number
  bytes: number
}

export interface Counted {
  readonly store: Store
  /** What was written since it was opened: counted always, since that costs far less than the write. */
  readonly written: Readonly<Cost>
  /** Whether a write is unanswered. */
  readonly isWriting: boolean
  /** What is asked of the store while the work is done. */
  costOf(work: () => Promise<unknown>): Promise<Cost>
}

/**
 * Calls go to the store itself, which may have members of its own; while nobody measures, little more is done.
 * @param onCall told which call is about to be made
 */
export function counted(store: Store, onCall: (call: keyof Store) => void): Counted {
  let cost: Cost | undefined
  let writes = 0
  const written: Cost = { calls: 0, bytes: 0 }
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
    return isPromise(given) ? given.then(look) : look(given)
  }
  return {
    written,
    get isWriting() {
      return writes > 0
    },
    store: {
      capabilities: store.capabilities,
      get(key) {
        onCall('get')
        return tell(store.get(key), (value) => [value])
      },
      getMany(keys) {
        onCall('getMany')
        return tell(store.getMany(keys), (values) => values)
      },
      scan(range, options) {
        onCall('scan')
        return tell(store.scan(range, options), ({ entries }) => entries.map(([, value]) => value))
      },
      write(batch, options) {
        onCall('write')
        written.calls++
        for (const [key, value] of batch) written.bytes += key.length + (value?.length ?? 0)
        const given = store.write(batch, options)
        if (!isPromise(given)) return given
        writes++
        return given.finally(() => writes--)
      },
      ...(store.watch && { watch: (ring: () => void) => store.watch!(ring) }),
      ...(note && { note }),
      ...(store.compact && {
        compact(range: KeyRange) {
          onCall('compact')
          return store.compact!(range)
        },
      }),
      close() {
        onCall('close')
        return store.close()
      },
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
