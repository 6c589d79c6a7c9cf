/** A store that answers everything late: it turns any store into one without synchronous reads, like a database over a network. */
import type { MaybePromise, Snapshot, Store } from '../../src/index.ts'

/**
 * Has the note, the watch, the compaction and the snapshots that `store` has. A watch is not delayed.
 * @param store the store that answers; it is asked at once, so that what was asked first is answered as of then
 * @param later what an answer waits for; by default one turn of the microtask queue
 */
export function slowStore(store: Store, later: () => Promise<void> = () => Promise.resolve()): Store {
  const late = async <T>(ask: () => MaybePromise<T>): Promise<T> => {
    const answer = await ask()
    await later()
    return answer
  }
  const { note } = store
  const lateView = (snapshot: Snapshot): Snapshot => ({
    scan: (range, options) => late(() => snapshot.scan(range, options)),
    close: () => late(() => snapshot.close()),
  })
  return {
    capabilities: { ...store.capabilities, name: `slow ${store.capabilities.name}`, sync: false },
    get: (key) => late(() => store.get(key)),
    getMany: (keys) => late(() => store.getMany(keys)),
    scan: (range, options) => late(() => store.scan(range, options)),
    write: (batch, options) => late(() => store.write(batch, options)),
    close: () => late(() => store.close()),
    ...(store.watch && { watch: (ring) => store.watch!(ring) }),
    ...(note && { note: { read: () => late(() => note.read()), write: (bytes, options) => late(() => note.write(bytes, options)) } }),
    ...(store.compact && { compact: (range) => late(() => store.compact!(range)) }),
    ...(store.snapshot && { snapshot: async () => lateView(await late(() => store.snapshot!())) }),
  }
}
