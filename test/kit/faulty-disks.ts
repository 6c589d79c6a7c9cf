/** Stores that break a law only when they are opened again, or twice. */
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import type { StoreSubject } from '../../adapters/testing/index.ts'
import { FolioError, type Store, same, type Write } from '../../src/index.ts'
import { closing, noteInMemory } from './faulty-extras.ts'
import { dump, later } from './faulty-store.ts'

interface Held {
  readonly store: Store
  readonly disk: MemoryDisk
  /** What there was when it was opened, and in its note. */
  readonly base: readonly Write[]
  readonly noted: Uint8Array | undefined
  /** Whether it was opened after a close, or after a kill. */
  readonly after?: 'close' | 'kill'
  readonly batches: { readonly batch: readonly Write[]; readonly durable: boolean; readonly expects: boolean }[]
  readonly bells: Set<() => void>
  readonly note: NonNullable<Store['note']>
  /** The batch that was refused last, unless another was written after it. */
  refused?: readonly Write[] | undefined
  /** Set once it was compacted, if it can be: what was there then, and how many batches came before it ended. */
  compacted?: { readonly then: readonly Write[]; readonly batches: number }
  /** Set once the disk fails: what reads and writes throw, or `silent` if they throw nothing. */
  broken?: (() => never) | 'silent'
}

interface Change {
  /** What is left if the process is killed, after what there was when it was opened. */
  killed?: (batches: Held['batches'], held: Held) => readonly (readonly Write[])[]
  /** The note that is left then. */
  noted?: (note: Held['note'], held: Held) => Held['note'] | undefined
  reopen?: (held: Held) => Store | Partial<Store>
  beside?: (held: Held, there: Store) => Partial<Store>
  stop?: boolean
  stopAll?: boolean
  /** How a bell is rung. */
  rings?: (ring: () => void) => void
  /** Rings before it writes. */
  early?: boolean
  /** Has `compact`; the slow one takes a while, and then replaces what is kept by what was there when it began. */
  compacts?: boolean | 'slow'
  broken?: Held['broken']
  /** What is left of a batch that the failed disk rejects; reads go on. */
  torn?: (batch: readonly Write[], store: Store) => readonly Write[]
}

const failed = (): never => {
  throw new FolioError('STORE_FAILED', { reason: 'the disk is full' })
}

/** A correct store over a disk, which can be reopened, and opened twice; `change` plants a fault. */
function over(change: Change = {}): StoreSubject {
  const all = new WeakMap<Store, Held>()
  const opened = (disk: MemoryDisk, bells = new Set<() => void>(), note = noteInMemory(), after?: Held['after']): Store => {
    const base = dump(disk)
    const noted = note.read() as Uint8Array | undefined
    const batches: Held['batches'] = []
    const inner = memory(disk)
    const fails = (batch?: readonly Write[]): void => {
      const { broken } = all.get(store)!
      if (broken && change.torn) {
        if (!batch) return
        inner.write(change.torn(batch, inner), { durable: false })
        failed()
      }
      if (typeof broken === 'function') broken()
    }
    const store: Store = {
      ...inner,
      ...closing(inner, note),
      get(key) {
        fails()
        return inner.get(key)
      },
      async write(batch, options) {
        fails(batch)
        // A store need not take longer keys, nor say so: no law writes any (docs/testing.md).
        if (batch.some(([key]) => key.length > 258)) throw new FolioError('STORE_MISUSE', { reason: 'the key is too long' })
        const copy = batch.map(([key, value]): Write => [new Uint8Array(key), value && new Uint8Array(value)])
        const rings = change.rings ?? ((ring) => ring())
        if (change.early) {
          for (const ring of bells) ring()
          await later()
          await inner.write(batch, options)
          return
        }
        const held = all.get(store)!
        try {
          await inner.write(batch, options)
          held.refused = undefined
        } catch (error) {
          held.refused = copy
          throw error
        }
        batches.push({ batch: copy, durable: options.durable, expects: options.expect !== undefined })
        for (const ring of bells) setTimeout(() => rings(ring), 0)
      },
      ...(change.compacts && {
        async compact() {
          const then = dump(disk)
          if (change.compacts === 'slow') await later()
          all.get(store)!.compacted = { then, batches: batches.length }
        },
      }),
      watch(given) {
        // One bell each, even if the same function is given twice.
        const ring = () => given()
        bells.add(ring)
        return () => {
          if (change.stopAll) bells.clear()
          if (change.stop !== false) bells.delete(ring)
        }
      },
    }
    all.set(store, { store, disk, base, noted, batches, bells, note, ...(after && { after }) })
    return store
  }
  return {
    open: () => opened(memoryDisk()),
    reopen: (store) => {
      const held = all.get(store)!
      const again = opened(held.disk, held.bells, held.note, 'close')
      return Object.assign(again, change.reopen?.(held))
    },
    killed: (store) => {
      const held = all.get(store)!
      const { base, batches } = held
      const disk = memoryDisk()
      for (const batch of [base, ...(change.killed ? change.killed(batches, held) : batchesOf(batches))]) disk.write(batch)
      const noted = change.noted ? change.noted(held.note, held) : held.note
      const left = opened(disk, new Set(), noteOf(noted?.read() as Uint8Array | undefined), 'kill')
      return noted ? left : Object.assign(left, { note: undefined })
    },
    fail: (store) => {
      all.get(store)!.broken = change.broken ?? failed
    },
    beside: (store) => {
      const held = all.get(store)!
      const there = opened(held.disk, held.bells)
      return { ...there, ...change.beside?.(held, there) }
    },
  }
}

const noteOf = (bytes: Uint8Array | undefined): Held['note'] => {
  const note = noteInMemory()
  if (bytes) note.write(bytes)
  return note
}

/** The calls that are answered from another store, which need not be closed. */
const withoutClose = ({ get, getMany, scan, write }: Store): Partial<Store> => ({ get, getMany, scan, write })

/** Loses or moves writes of each batch when it is opened again, or its process was killed. */
const replaying = (left: (batch: readonly Write[]) => readonly Write[]): Change => {
  const all = (batches: Held['batches']): (readonly Write[])[] => batches.map(({ batch }) => left(batch))
  return { reopen: ({ batches }) => replayed(all(batches)), killed: all }
}

const isDelete = ([, value]: Write): boolean => value === undefined
const isPut = (write: Write): boolean => !isDelete(write)
const withoutSingleDeletes = (batch: readonly Write[]): readonly Write[] => (batch.length === 1 ? batch.filter(isPut) : batch)
const deletesFirst = (batch: readonly Write[]): readonly Write[] => [...batch.filter(isDelete), ...batch.filter(isPut)]
const deletesLast = (batch: readonly Write[]): readonly Write[] => [...batch.filter(isPut), ...batch.filter(isDelete)]
const bytesOf = (batch: readonly Write[]): number => batch.reduce((sum, [key, value]) => sum + key.length + (value?.length ?? 0), 0)

/** A new store with the batches that are left. */
const replayed = (batches: readonly (readonly Write[])[]): Store => {
  const store = memory()
  for (const batch of batches) store.write(batch, { durable: false })
  return store
}

const KILLED = 'what is left if the process is killed'
const NOTED = 'a note that was written durably'
const LIVES_ON = 'a kill takes nothing durable'
const batchesOf = (batches: Held['batches']): (readonly Write[])[] => batches.map(({ batch }) => batch)

export const rightSubject = (): StoreSubject => over()

export const storesOfOneDisk: readonly (readonly [law: string, fault: string, subject: () => StoreSubject, said?: RegExp])[] = [
  [
    'a reopen finds everything',
    'loses its last batch',
    () => over({ reopen: ({ batches }) => replayed(batches.slice(0, -1).map(({ batch }) => batch)) }),
  ],
  [
    'a reopen finds everything',
    'loses what was not written durably',
    () => over({ reopen: ({ batches }) => replayed(batches.filter(({ durable }) => durable).map(({ batch }) => batch)) }),
  ],
  [
    'a reopen finds everything',
    'loses batches of more than 1,000 writes',
    () => over({ reopen: ({ batches }) => replayed(batches.filter(({ batch }) => batch.length <= 1000).map(({ batch }) => batch)) }),
  ],
  [
    'a reopen finds everything',
    'loses batches that only delete',
    () =>
      over({
        reopen: ({ batches }) => replayed(batches.filter(({ batch }) => batch.some(([, value]) => value)).map(({ batch }) => batch)),
      }),
  ],
  [
    'a reopen finds everything',
    'loses values of more than 128 KiB',
    () =>
      over({ reopen: ({ batches }) => replayed(batches.map(({ batch }) => batch.filter(([, value]) => (value?.length ?? 0) <= 2 ** 17))) }),
  ],
  [
    'a reopen finds everything',
    'loses values of more than 1 MiB',
    () =>
      over({ reopen: ({ batches }) => replayed(batches.map(({ batch }) => batch.filter(([, value]) => (value?.length ?? 0) <= 2 ** 20))) }),
  ],
  [
    'a reopen finds everything',
    'loses batches that expect something',
    () => over({ reopen: ({ batches }) => replayed(batches.filter(({ expects }) => !expects).map(({ batch }) => batch)) }),
  ],
  [
    'no snapshot has',
    'shows in snapshots what another process writes later',
    () =>
      over({
        beside({ store }) {
          Object.assign(store, { snapshot: () => ({ scan: store.scan, close() {} }) })
          return {}
        },
      }),
  ],
  [
    'a reopen finds everything',
    'loses durable batches that expect something',
    () =>
      over({
        reopen: ({ batches }) => replayed(batches.filter(({ expects, durable }) => !expects || !durable).map(({ batch }) => batch)),
      }),
  ],
  [
    'a reopen finds everything',
    'loses batches of more than a hundred deletes',
    () =>
      over({
        reopen: ({ batches }) =>
          replayed(batches.filter(({ batch }) => batch.length <= 100 || batch.some(([, value]) => value)).map(({ batch }) => batch)),
      }),
  ],
  [
    'a reopen finds everything',
    'loses its first entry if it was compacted',
    () => over({ compacts: true, reopen: ({ compacted, disk }) => (compacted ? withoutClose(replayed([dump(disk).slice(1)])) : {}) }),
    /^after the (?:second|third) reopen: .*\nentry 0: expected <[^>]+> <[^>]*>, got <[^>]+> <[^>]*>$/,
  ],
  [
    'a reopen finds everything',
    'loses what was written while it was compacted',
    () =>
      over({
        compacts: 'slow',
        reopen: ({ compacted, batches }) =>
          compacted ? withoutClose(replayed([compacted.then, ...batchesOf(batches).slice(compacted.batches)])) : {},
      }),
    /^after the third reopen: /,
  ],
  [
    'a reopen finds everything',
    'ignores what writes expect once it was opened again',
    () => over({ reopen: ({ disk }) => ({ write: (batch) => disk.write(batch) }) }),
    /^after the first reopen: write of .*, if <6b0000005a> holds <0707>: expected CONFLICT, got the answer undefined$/,
  ],
  [
    'a reopen finds everything',
    'refuses what writes expect of what it held before it was opened again',
    () => {
      const written = new Set<string>()
      return over({
        reopen: ({ disk }) => {
          written.clear()
          return {
            write: (batch, { expect }) => {
              if (expect && expect.value !== undefined && !written.has(expect.key.join())) throw new FolioError('CONFLICT')
              for (const [key] of batch) written.add(key.join())
              disk.write(batch)
            },
          }
        },
      })
    },
    /^after the first reopen: write of .*: expected an answer; got CONFLICT/,
  ],
  [
    'a reopen finds everything',
    'brings back what was deleted before',
    () => over({ reopen: ({ batches }) => replayed(batches.map(({ batch }) => batch.filter(([, value]) => value))) }),
  ],
  [
    'a reopen finds everything',
    'loses what was written after a reopen',
    () => over({ reopen: ({ disk }) => withoutClose(replayed([dump(disk)])) }),
    /^after the second reopen: scan from <> to <ff×80>, \{"limit":\d+,"reverse":false\}: expected .*\nentry \d+: expected <[^>]+> <[^>]*>, got /,
  ],
  [
    'a reopen finds everything',
    'brings back after a second reopen what was deleted after the first',
    () =>
      over({
        reopen: ({ disk }) => ({
          write: (batch, { expect }) => {
            if (expect && !same(disk.get(expect.key), expect.value)) throw new FolioError('CONFLICT')
            disk.write(batch.filter(([, value]) => value))
          },
        }),
      }),
    /^after the second reopen: scan from <> to <ff×80>/,
  ],
  [
    'a reopen finds everything',
    'cannot be opened a third time',
    () => {
      let opened = 0
      return over({ reopen: () => (++opened < 2 ? {} : failed()) })
    },
    /^reopen: expected an answer; got STORE_FAILED: .*the disk is full/,
  ],
  [
    'a reopen finds everything',
    'fails to close once it was opened again',
    () => over({ reopen: () => ({ close: failed }) }),
    /^after the first reopen: close: expected an answer; got STORE_FAILED: .*the disk is full/,
  ],
  [
    'a reopen finds everything',
    'cuts keys of more than 255 bytes when it is opened again',
    () => over({ reopen: ({ disk }) => withoutClose(replayed([dump(disk).map(([key, value]): Write => [key.subarray(0, 255), value])])) }),
    /^after the first reopen: /,
  ],
  ['a reopen finds everything', 'begins anew', () => over({ reopen: () => memory() })],
  ['a reopen finds everything', 'loses batches of a single delete', () => over(replaying(withoutSingleDeletes))],
  ['a reopen finds everything', 'replays the deletes of a batch before its puts', () => over(replaying(deletesFirst))],
  ['a reopen finds everything', 'replays the deletes of a batch after its puts', () => over(replaying(deletesLast))],
  [
    'a reopen finds everything',
    'applies a batch that it refused right before it was closed',
    () =>
      over({
        reopen: ({ disk, refused = [] }) => {
          disk.write(refused)
          return {}
        },
      }),
    /^after a reopen with nothing before it but a refused write: scan /,
  ],
  [
    'a reopen finds everything',
    'loses what is written after it was compacted while it held nothing',
    () => over({ compacts: true, reopen: ({ compacted }) => (compacted?.then.length === 0 ? memory() : {}) }),
    /^after a reopen of a store that held nothing, was compacted, and then written to: scan .*: expected \[\[\[<6b00000001> <01>\]\] false\], got \[\[\] false\]$/,
  ],
  [
    'a batch of 70,000',
    'counts the writes of a batch with 16 bits, and replays no more when it is opened again',
    () => over(replaying((batch) => batch.slice(0, batch.length & 0xffff))),
    /^after a reopen: a scan after 70000 writes: expected /,
  ],
  [
    'a batch of 17 MiB',
    'loses batches of 16 MiB or more when it is opened again',
    () => over(replaying((batch) => (bytesOf(batch) < 2 ** 24 ? batch : []))),
    /^after a reopen: a scan after 272 writes of 65536 bytes, into an empty store: expected 273 answers, got 1$/,
  ],
  [
    'a value of more than 16 MiB',
    'keeps the length of a value in 24 bits of its file',
    () => over(replaying((batch) => batch.map(([key, value]): Write => [key, value?.subarray(0, value.length % 2 ** 24)]))),
    /^after a reopen: get after a write of a value of 16777217 bytes: expected at index 0: </,
  ],
  [
    KILLED,
    'keeps everything in memory until it is closed',
    () => over({ killed: () => [] }),
    /^what is left after batch 2 \(the last durable one was 2\), compared with what the first 2 leave: expected .*, got \[\]$/,
  ],
  [
    KILLED,
    'keeps batches that only delete in memory until it is closed',
    () => over({ killed: (batches) => batchesOf(batches).filter((batch) => batch.some(([, value]) => value)) }),
    /^what is left after batch 10 \(the last durable one was 10\)/,
  ],
  [
    KILLED,
    'keeps a batch of a single delete in memory until it is closed',
    () => over(replaying(withoutSingleDeletes)),
    /^what is left after batch 14 \(the last durable one was 14\)/,
  ],
  [KILLED, 'leaves a batch whose deletes come before its puts', () => over(replaying(deletesFirst))],
  [KILLED, 'leaves a batch whose deletes come after its puts', () => over(replaying(deletesLast))],
  [KILLED, 'keeps its newest batch in memory, durable or not', () => over({ killed: (batches) => batchesOf(batches).slice(0, -1) })],
  [
    KILLED,
    'keeps in memory what need not be durable, and writes it later than what must be',
    () => over({ killed: (batches) => batchesOf(batches.filter(({ durable }) => durable)) }),
  ],
  [
    KILLED,
    'writes the first half of a batch that need not be durable, and the other half later',
    () =>
      over({
        killed: (batches) =>
          batches.map(({ batch, durable }, n) => (durable || n < batches.length - 1 ? batch : batch.slice(0, batch.length >> 1))),
      }),
    /^what is left after batch 1 \(none was durable\), compared with what the first 0 leave: expected \[\], got /,
  ],
  [
    LIVES_ON,
    'keeps what is written in memory until it is closed, once it was opened again',
    () => over({ killed: (batches, { after }) => (after === 'close' ? [] : batchesOf(batches)) }),
    /^after a reopen, writes and a kill: what is held: expected /,
  ],
  [
    LIVES_ON,
    'keeps its note in memory until it is closed, once it was opened again',
    () => over({ noted: (note, { after, noted }) => (after === 'close' ? noteOf(noted) : note) }),
    /^after a reopen, writes and a kill: the note: expected <02>, got <01>$/,
  ],
  [
    LIVES_ON,
    'moves its log into memory when it is opened after a kill, and writes that only when it is closed',
    () =>
      over({
        killed: (batches, { after, base }) => [
          ...(after === 'kill' ? [base.map(([key]): Write => [key, undefined])] : []),
          ...batchesOf(batches),
        ],
      }),
    /^after two kills: what is held: expected .*, got \[\]$/,
  ],
  [
    LIVES_ON,
    'writes behind what a kill cut off, and reads no further than that when it is opened',
    () =>
      over({
        killed: (batches, { after }) => (after === 'kill' ? [] : batchesOf(batches)),
        reopen: ({ after, base }) => (after === 'kill' ? withoutClose(replayed([base])) : {}),
      }),
    /^after a kill, a write and another kill: what is held: expected /,
  ],
  [
    LIVES_ON,
    'forgets with its close what it read of its log when it was opened after a kill',
    () => over({ reopen: ({ after, batches }) => (after === 'kill' ? withoutClose(replayed(batchesOf(batches))) : {}) }),
    /^after a kill, a write, a close and a reopen: what is held: expected /,
  ],
  [
    'what another process wrote',
    'reads what was there when it was opened',
    () =>
      over({
        beside: ({ disk }) => {
          const { get, getMany, scan } = replayed([dump(disk)])
          return { get, getMany, scan }
        },
      }),
  ],
  [
    'what another process wrote',
    'compares what it expects only with what it wrote itself',
    () => over({ beside: (_, there) => ({ write: (batch, { durable }) => there.write(batch, { durable }) }) }),
  ],
  [
    'of writers in two processes',
    'checks what a batch expects, and then lets the other process write',
    () =>
      over({
        beside: ({ disk }) => ({
          write: async (batch, { expect }) => {
            if (expect && !same(disk.get(expect.key), expect.value)) throw new FolioError('CONFLICT')
            await later()
            disk.write(batch)
          },
        }),
      }),
    /^(?:writers that won, of two in each process: expected 1, got [23]|what is held after two processes wrote: expected .*)$/,
  ],
  [
    'what another process wrote',
    'still gives what another process deleted',
    () =>
      over({
        beside: (_, there) => {
          const known = new Map<string, Uint8Array>()
          return {
            get(key) {
              const value = there.get(key) as Uint8Array | undefined
              if (value) known.set(key.join(), value)
              return value ?? known.get(key.join())
            },
          }
        },
      }),
    /^what the other deleted, by get and getMany: expected \[undefined undefined\], got \[<07> undefined\]$/,
  ],
  [
    'a watch rings',
    'rings for the first write alone',
    () => {
      const rung = new Set<() => void>()
      return over({
        rings: (ring) => {
          if (!rung.has(ring)) ring()
          rung.add(ring)
        },
      })
    },
    /^whether it rang after a write of \[\[<01> <02>\]\], durable: false: expected true, got false$/,
  ],
  [
    'a watch rings',
    'rings before the write can be read',
    () => over({ early: true }),
    /^get of <01>, when it rang after a write of \[\[<01> <01>\]\], durable: true: expected <01>, got undefined$/,
  ],
  [
    'a watch rings',
    'stops all watches with the first',
    () => over({ stopAll: true }),
    /^whether it rang after a write of \[\[<01> <03>\]\], durable: true: expected true, got false$/,
  ],
  [
    NOTED,
    'keeps its note in memory until it is closed',
    () => over({ noted: () => noteInMemory() }),
    /^the note that is left after 1 writes? of it/,
  ],
  [NOTED, 'no longer has a `note` then', () => over({ noted: () => undefined })],
  ['a reopen finds the note', 'loses its note', () => over({ reopen: () => ({ note: noteInMemory() }) })],
  ['a reopen finds the note', 'no longer has a `note`', () => over({ reopen: () => ({ note: undefined as never }) })],
  [
    'a reopen finds the note',
    'writes its note when it closes, though it may not have read it',
    () =>
      over({
        reopen({ note }) {
          let known = new Uint8Array()
          const keep = (bytes: Uint8Array): Uint8Array => {
            known = new Uint8Array(bytes)
            return bytes
          }
          return {
            note: {
              read: () => keep((note.read() as Uint8Array | undefined) ?? known),
              write: (bytes, options) => note.write(keep(bytes), options),
            },
            close: () => note.write(known),
          }
        },
      }),
    /^after that: the note: expected <.*>, got <>$/,
  ],
  [
    'a reopen finds the note',
    'keeps a note that is not durable in memory alone, once it was opened again',
    () =>
      over({
        reopen({ note }) {
          let newest: Uint8Array | undefined
          return {
            note: {
              read: () => newest ?? note.read(),
              write(bytes, options) {
                newest = new Uint8Array(bytes)
                return options?.durable ? note.write(bytes, options) : undefined
              },
            },
          }
        },
      }),
    /^after a reopen, since which it was written twice: the note: expected </,
  ],
  [
    'a failure below',
    'passes on the errors of its disk as they are',
    () =>
      over({
        broken: () => {
          throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
        },
      }),
  ],
  [
    'a failure below',
    'blames the caller for the failure of its disk',
    () =>
      over({
        broken: () => {
          throw new FolioError('BAD_REQUEST', { field: 'key', reason: 'the disk is full' })
        },
      }),
  ],
  [
    'a failure below',
    'says that it is closed when its disk fails',
    () =>
      over({
        broken: () => {
          throw new FolioError('CLOSED')
        },
      }),
  ],
  [
    'a failure below',
    'keeps the first half of a batch that it rejects',
    () => over({ torn: (batch) => batch.slice(0, batch.length >> 1) }),
    /^getMany of \[<6b00000001> .*\] after a rejected write of \[\[<6b00000001> .*: expected \[<01> <02> <03> undefined\], or \[.*, got \[/,
  ],
  [
    'a failure below',
    'loses everything when it rejects a batch',
    () => over({ torn: (_, store) => dump(store).map(([key]): Write => [key, undefined]) }),
    /^getMany of \[<6b00000001> .*\] after a rejected write of .*: expected \[<01> .*, got \[undefined undefined undefined undefined\]$/,
  ],
  ['a failure below', 'answers as if its disk had not failed', () => over({ broken: 'silent' })],
  ['a watch rings', 'never rings', () => over({ beside: ({ bells }) => ({ write: () => bells.clear() }) })],
  ['a watch rings', 'goes on ringing after it was stopped', () => over({ stop: false })],
]
