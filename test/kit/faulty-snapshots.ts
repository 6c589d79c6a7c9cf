/** Stores whose snapshots break a law. */
import { FolioError } from '../../src/errors.ts'
import type { Chunk, Entry, Snapshot, Store } from '../../src/store.ts'
import { dump, type FaultyStore, later, type Mutant } from './faulty-store.ts'

const taken = (store: Store): Snapshot => store.snapshot!() as Snapshot

/** A store whose snapshots differ in some calls from right ones. */
const changed =
  (change: (snapshot: Snapshot, store: Store) => Partial<Snapshot>): Mutant =>
  (store) => ({
    snapshot: () => {
      const snapshot = taken(store)
      return { ...snapshot, ...change(snapshot, store) }
    },
  })

export const storesWithSnapshots: readonly FaultyStore[] = [
  ['a snapshot shows what', 'shows in a snapshot what is written later', changed((_, store) => ({ scan: store.scan }))],
  [
    'a snapshot shows what',
    'hides in a snapshot what is deleted later',
    changed(({ scan }, store) => ({
      scan(range, options) {
        const { entries, more } = scan(range, options) as Chunk
        return { entries: entries.filter(([key]) => store.get(key) !== undefined), more }
      },
    })),
  ],
  [
    'a snapshot shows what',
    'shows in a snapshot what overwrites a value of the same length later',
    changed(({ scan }, store) => ({
      scan(range, options) {
        const { entries, more } = scan(range, options) as Chunk
        const inPlace = ([key, value]: Entry): Entry => {
          const now = store.get(key) as Uint8Array | undefined
          return [key, now?.length === value.length ? now : value]
        }
        return { entries: entries.map(inPlace), more }
      },
    })),
  ],
  [
    'a snapshot shows what',
    'hands out in a snapshot what it keeps',
    changed(({ scan }) => {
      const kept = new Map<string, Entry>()
      const keep = ([key, value]: Entry): Entry => {
        const id = key.join()
        if (!kept.has(id)) kept.set(id, [key, value])
        return kept.get(id)!
      }
      return {
        scan(range, options) {
          const { entries, more } = scan(range, options) as Chunk
          return { entries: entries.map(keep), more }
        },
      }
    }),
    /<ee/,
  ],
  [
    'a snapshot shows what',
    'gives the first snapshot again while that is open',
    (store) => {
      let first: Snapshot | undefined
      return {
        snapshot() {
          first ??= taken(store)
          return { scan: first.scan, close() {} }
        },
      }
    },
  ],
  [
    'a snapshot shows what',
    'takes its snapshot with the first scan of it',
    (store) => ({
      snapshot() {
        let snapshot: Snapshot | undefined
        return {
          scan(range, options) {
            snapshot ??= taken(store)
            return snapshot.scan(range, options)
          },
          close: () => snapshot?.close(),
        }
      },
    }),
  ],
  [
    'a snapshot shows what',
    'loses its snapshots when it is compacted',
    (store) => {
      let compactions = 0
      return {
        compact() {
          compactions++
        },
        snapshot() {
          const [snapshot, then] = [taken(store), compactions]
          return { ...snapshot, scan: (range, options) => (compactions === then ? snapshot : store).scan(range, options) }
        },
      }
    },
  ],
  [
    'a snapshot shows what',
    'shows in a snapshot half of a batch that is being written',
    (store) => {
      let half: Snapshot | undefined
      return {
        async write(batch, options) {
          const { durable } = options
          void store.write(batch.slice(0, 2), options)
          half = taken(store)
          await later()
          void store.write(batch.slice(2), { durable })
          half = undefined
        },
        snapshot: () => half ?? taken(store),
      }
    },
  ],
  [
    'a snapshot shows what',
    'scans snapshots upwards alone',
    changed(({ scan }) => ({ scan: (range, { reverse: _, ...options }) => scan(range, options) })),
  ],
  [
    'a snapshot shows what',
    'ignores maxBytes in snapshots',
    changed(({ scan }) => ({ scan: (range, { maxBytes: _, ...options }) => scan(range, options) })),
  ],
  [
    'a snapshot gives CLOSED',
    'still scans a snapshot that is closed',
    changed(() => ({ close() {} })),
    /^snapshot\.scan from .*: expected CLOSED, got the answer /,
  ],
  [
    'a snapshot gives CLOSED',
    'still scans a snapshot once it is closed itself',
    (store) => ({
      snapshot() {
        const entries = dump(store)
        let isClosed = false
        return {
          scan(_, { limit }) {
            if (limit < 1) throw new FolioError('STORE_MISUSE')
            if (isClosed) throw new FolioError('CLOSED')
            return { entries: entries.slice(0, limit), more: entries.length > limit }
          },
          close() {
            isClosed = true
          },
        }
      },
    }),
  ],
  [
    'a snapshot gives CLOSED',
    'takes snapshots once it is closed',
    (store) => {
      let isClosed = false
      const closed: Snapshot = { scan: () => ({ entries: [], more: false }), close() {} }
      return {
        snapshot: () => (isClosed ? closed : taken(store)),
        close() {
          isClosed = true
          return store.close()
        },
      }
    },
    /^snapshot: expected CLOSED, /,
  ],
  [
    'a snapshot gives CLOSED',
    'closes all snapshots with one',
    (store) => {
      const open: Snapshot[] = []
      return {
        snapshot() {
          const snapshot = taken(store)
          open.push(snapshot)
          return { ...snapshot, close: () => void Promise.all(open.map((one) => one.close())) }
        },
      }
    },
  ],
  [
    'a snapshot gives CLOSED',
    'ends a scan of a snapshot when that is closed',
    changed(({ scan, close }) => {
      let isClosed = false
      return {
        async scan(range, options) {
          await later()
          if (isClosed) throw new FolioError('CLOSED')
          return scan(range, options)
        },
        close() {
          isClosed = true
          return close()
        },
      }
    }),
  ],
  [
    'a snapshot gives CLOSED',
    'takes any limit for a scan of a snapshot',
    changed(({ scan }) => ({ scan: (range, options) => scan(range, { ...options, limit: Math.max(1, options.limit) }) })),
  ],
  [
    'stores that are opened',
    'leaves a timer behind for each snapshot',
    changed(() => {
      setTimeout(() => {}, 2 ** 30)
      return {}
    }),
  ],
]
