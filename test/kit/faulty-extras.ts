/** Stores that each break a law of something optional in a store: a note, compaction, limits. */
import { FolioError } from '../../src/errors.ts'
import { isEmptyRange, type KeyRange, type Store, type Write } from '../../src/store.ts'
import { dump, type FaultyStore, later, type Mutant } from './faulty-store.ts'

type Note = NonNullable<Store['note']>

/** A correct note. */
export const noteInMemory = (): Note => {
  let held: Uint8Array | undefined
  return {
    read: () => held && new Uint8Array(held),
    write: (bytes) => {
      held = new Uint8Array(bytes)
    },
  }
}

/** The note of a store, and a compaction of nothing, until that is closed. */
export const closing = (store: Store, note: Note): Required<Pick<Store, 'note' | 'close' | 'compact'>> => {
  let closed = false
  const open = <T>(call: () => T): T => {
    if (closed) throw new FolioError('CLOSED')
    return call()
  }
  return {
    note: { read: () => open(() => note.read()), write: (bytes, options) => open(() => note.write(bytes, options)) },
    compact: () => open(() => {}),
    close: () => {
      closed = true
      return store.close()
    },
  }
}

const withNote =
  (change: (note: Note, store: Store) => Partial<Note>): Mutant =>
  (store) => {
    const note = noteInMemory()
    return closing(store, { ...note, ...change(note, store) })
  }

/** A store whose note is closed with it, but for one call. */
const open =
  (call: keyof Note): Mutant =>
  (store) => {
    const note = noteInMemory()
    const right = closing(store, note)
    return { ...right, note: { ...right.note, [call]: note[call] } }
  }

/** A store whose close waits for its writes, which take a while, and for nothing else. */
const waitingForWrites =
  (change: Mutant): Mutant =>
  (store) => {
    let writing: Promise<unknown> = Promise.resolve()
    return {
      write(batch, options) {
        const done = later(20).then(() => store.write(batch, options))
        writing = Promise.allSettled([writing, done])
        return done
      },
      close: () => writing.then(() => store.close()),
      ...change(store),
    }
  }

/** Deletes the entries of a range, and returns them. */
const remove = (store: Store, { gte, lt }: KeyRange): readonly Write[] => {
  const held = dump(store).filter(([key]) => Buffer.compare(key, gte) >= 0 && Buffer.compare(key, lt) < 0)
  void store.write(
    held.map(([key]): Write => [key, undefined]),
    { durable: false },
  )
  return held
}

const LIMITS = { maxKeyBytes: 20, maxValueBytes: 300 }
const fits = ([key, value]: Write): boolean => key.length <= LIMITS.maxKeyBytes && (value?.length ?? 0) <= LIMITS.maxValueBytes
const misuse = (): never => {
  throw new FolioError('STORE_MISUSE', { reason: 'a key or a value is too large' })
}

/** A store with limits, which `write` must enforce. */
const limited =
  (write: (batch: readonly Write[], store: Store) => readonly Write[]): Mutant =>
  (store) => ({
    capabilities: { ...store.capabilities, ...LIMITS },
    write: (batch, options) => store.write(write(batch, store), options),
  })

/** A correct store, which rejects what is too large. */
export const rightlyLimited: Mutant = limited((batch) => (batch.every(fits) ? batch : misuse()))

export const storesWithMore: readonly FaultyStore[] = [
  ['a compact of any range', 'deletes what it compacts', (store) => ({ compact: (range) => void remove(store, range) })],
  [
    'a compact of any range',
    'takes an empty range for the whole store',
    (store) => ({
      compact: (range) => {
        if (isEmptyRange(range)) remove(store, { gte: new Uint8Array(), lt: new Uint8Array(80).fill(0xff) })
      },
    }),
  ],
  [
    'a compact of any range',
    'brings back what was deleted',
    (store) => {
      const deleted: Write[] = []
      return {
        write: (batch, options) => {
          for (const [key, value] of batch) if (!value) deleted.push([key.slice(), Uint8Array.of(1)])
          return store.write(batch, options)
        },
        compact: () => store.write(deleted, { durable: false }),
      }
    },
  ],
  [
    'a compact of any range',
    'removes entries while it moves them',
    (store) => ({
      compact: async (range) => {
        const moved = remove(store, range)
        await later()
        await store.write(moved, { durable: false })
      },
    }),
  ],
  [
    'a compact of any range',
    'drops what is written meanwhile',
    (store) => ({
      compact: async () => {
        const before = dump(store)
        await later()
        remove(store, { gte: new Uint8Array(), lt: new Uint8Array(80).fill(0xff) })
        await store.write(before, { durable: false })
      },
    }),
  ],
  [
    'a compact of any range',
    'fails with a plain Error if there is nothing to compact',
    () => ({
      compact: (range) => {
        if (isEmptyRange(range)) throw new Error('nothing to compact')
      },
    }),
  ],
  [
    'a compact of any range',
    'deletes the entry at the upper bound of a large range',
    (store) => ({
      compact: ({ gte, lt }) => {
        const inside = dump(store).filter(([key]) => Buffer.compare(key, gte) >= 0 && Buffer.compare(key, lt) < 0)
        if (inside.length > 10) void store.write([[lt, undefined]], { durable: false })
      },
    }),
  ],
  [
    'a compact of any range',
    'keeps the first thousand entries of what it compacts',
    (store) => ({
      compact: async ({ gte, lt }) => {
        const inside = dump(store).filter(([key]) => Buffer.compare(key, gte) >= 0 && Buffer.compare(key, lt) < 0)
        await store.write(
          inside.slice(1000).map(([key]): Write => [key, undefined]),
          { durable: false },
        )
      },
    }),
  ],
  [
    'a compact of any range',
    'moves entries by the thousand, and loses a last one that would be moved alone',
    (store) => ({
      compact: async ({ gte, lt }) => {
        const inside = dump(store).filter(([key]) => Buffer.compare(key, gte) >= 0 && Buffer.compare(key, lt) < 0)
        if (inside.length > 1 && inside.length % 1000 === 1) await store.write([[inside.at(-1)![0], undefined]], { durable: false })
      },
    }),
    /^scan from <> to <ff×80>, .*: expected .*\nentry 3000: expected <6b000bb800> <>, got no more$/,
  ],
  [
    'a compact of any range',
    'loses the last entry of a compact that moves more than 2,048',
    (store) => ({
      compact: async ({ gte, lt }) => {
        const inside = dump(store).filter(([key]) => Buffer.compare(key, gte) >= 0 && Buffer.compare(key, lt) < 0)
        if (inside.length > 2048) await store.write([[inside.at(-1)![0], undefined]], { durable: false })
      },
    }),
  ],
  [
    'after the close',
    'still compacts after the close',
    (store) => ({ compact: () => {}, close: () => store.close() }),
    /^compact from .*: expected CLOSED, /,
  ],
  [
    'a note gives back',
    'drops a note that is to be durable',
    withNote((note) => ({ write: (bytes, how) => (how?.durable ? undefined : note.write(bytes)) })),
  ],
  [
    'a note gives back',
    'keeps the first of several notes that are written at once',
    withNote((note) => {
      let writing: Promise<void> | undefined
      return {
        write(bytes) {
          const copy = new Uint8Array(bytes)
          writing ??= later().then(() => {
            writing = undefined
            return note.write(copy)
          })
          return writing
        },
      }
    }),
    /^the note, of three that were written without waiting for each other: expected </,
  ],
  [
    'stores that are opened',
    'leaves a timer behind for each note',
    withNote((note) => ({
      write(bytes) {
        setTimeout(() => {}, 2 ** 30)
        return note.write(bytes)
      },
    })),
  ],
  [
    'a note gives back',
    'throws when its note is read',
    withNote(() => ({
      read: () => {
        throw new Error('no notes here')
      },
    })),
  ],
  [
    'a note gives back',
    'keeps the first note',
    withNote((note) => ({ write: (bytes) => (note.read() === undefined ? note.write(bytes) : undefined) })),
  ],
  [
    'a note gives back',
    'keeps the end of a longer note',
    withNote((note) => ({
      write: (bytes) => {
        const held = (note.read() as Uint8Array | undefined) ?? new Uint8Array()
        return note.write(Uint8Array.of(...bytes, ...held.subarray(bytes.length)))
      },
    })),
  ],
  [
    'a note gives back',
    'keeps the buffer of a note',
    withNote(() => {
      let held: Uint8Array | undefined
      return {
        read: () => held,
        write: (bytes) => {
          held = bytes
        },
      }
    }),
  ],
  [
    'a note gives back',
    'copies its note with `slice`, which shares the memory of a Buffer',
    withNote(() => {
      let held: Uint8Array | undefined
      return {
        read: () => held && new Uint8Array(held),
        write: (bytes) => {
          held = bytes.slice()
        },
      }
    }),
    /^a note of 200 bytes: expected </,
  ],
  [
    'a note gives back',
    'keeps its note as one of the entries',
    withNote((_, store) => ({
      read: () => store.get(Uint8Array.of(4)),
      write: (bytes) => store.write([[Uint8Array.of(4), bytes]], { durable: false }),
    })),
  ],
  [
    'a note gives back',
    'forgets the note with the last entry',
    withNote((note, store) => ({ read: () => (dump(store).length > 0 ? note.read() : undefined) })),
  ],
  [
    'a close waits',
    'leaves a note half written when it closes',
    withNote((note) => ({
      async write(bytes) {
        await later(30)
        await note.write(bytes)
      },
    })),
    /^calls under way when a close had resolved: expected \[\], got \[a write of the note\]$/,
  ],
  [
    'a close waits',
    'fails a note that is being written when it closes',
    (store) => {
      const right = closing(store, noteInMemory())
      const write: Note['write'] = async (bytes) => {
        await later()
        await right.note.write(bytes)
      }
      return { ...right, note: { ...right.note, write } }
    },
  ],
  [
    'whatever is in flight alone',
    'closes while it compacts, unless it also writes',
    waitingForWrites(() => ({ compact: () => later(10) })),
    /^whether a compact was over when the close had resolved: expected true, got false$/,
  ],
  [
    'whatever is in flight alone',
    'closes while its note is written durably, unless it also writes an entry',
    waitingForWrites((store) => {
      const { note } = closing(store, noteInMemory())
      return {
        note: { ...note, write: (bytes, options) => (options?.durable ? later(10).then(() => note.write(bytes)) : note.write(bytes)) },
      }
    }),
    /^whether a durable write of the note was over when the close had resolved: /,
  ],
  [
    'whatever is in flight alone',
    'closes while it scans, unless it also writes',
    waitingForWrites((store) => ({ scan: (...asked) => later(10).then(() => store.scan(...asked)) })),
    /^scan from .*: expected an answer; got CLOSED|^whether a scan was over/,
  ],
  ['after the close', 'still reads its note after the close', open('read'), /^note\.read: expected CLOSED, got the answer /],
  [
    'after the close',
    'still takes a note after the close',
    open('write'),
    /^note\.write of <02>: expected CLOSED, got the answer undefined$/,
  ],
  [
    'a key or value larger',
    'refuses to look up keys that it would not write',
    (store) => ({
      ...rightlyLimited(store),
      get: (key) => (key.length > LIMITS.maxKeyBytes ? misuse() : store.get(key)),
    }),
    /^get of <61×21>: expected an answer; got STORE_MISUSE: .*too large/,
  ],
  [
    'a key or value larger',
    'cuts the keys that it looks up to the length of its columns',
    (store) => ({
      ...rightlyLimited(store),
      getMany: (keys) => store.getMany(keys.map((key) => key.subarray(0, LIMITS.maxKeyBytes))),
    }),
    /^getMany of \[<61×20> <61×21> <61×80> <09>\], two of them longer than any key: expected /,
  ],
  ['a key or value larger', 'accepts more than it says', limited((batch) => batch)],
  [
    'a key or value larger',
    'accepts more than it says in durable batches',
    (store) => ({
      ...rightlyLimited(store),
      write: (batch, options) => store.write(options.durable || batch.every(fits) ? batch : misuse(), options),
    }),
    /^write of .*, durable: true: expected STORE_MISUSE, got the answer undefined$/,
  ],
  [
    'a key or value larger',
    'refuses to expect nothing of a key that it would not write',
    (store) => ({
      ...rightlyLimited(store),
      write: (batch, options) =>
        store.write(batch.every(fits) && fits([options.expect?.key ?? Uint8Array.of(1), undefined]) ? batch : misuse(), options),
    }),
    /^write of .*, if <61×21> holds undefined: expected an answer; got STORE_MISUSE/,
  ],
  [
    'a key or value larger',
    'cuts values that are too large',
    limited((batch) => batch.map(([key, value]): Write => [key, value?.subarray(0, LIMITS.maxValueBytes)])),
  ],
  ['a key or value larger', 'silently leaves out what is too large', limited((batch) => batch.filter(fits))],
  [
    'a key or value larger',
    'applies what comes before a key that is too large',
    limited((batch, store) => {
      const at = batch.findIndex((write) => !fits(write))
      if (at < 0) return batch
      void store.write(batch.slice(0, at), { durable: false })
      return misuse()
    }),
  ],
  [
    'a key or value larger',
    'rejects what is too large with a plain Error',
    limited((batch) => {
      if (!batch.every(fits)) throw new Error('too big')
      return batch
    }),
  ],
]
