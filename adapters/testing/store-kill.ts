/** The laws of what is left when a process is killed between two writes. */
import type { Entry, Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { checked, closing, opened } from './store-answers.ts'
import { alike, type MakeLaw, same } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { bytes, everything, filled, Model, numbered } from './store-model.ts'

const BATCHES = 16
const NOTES = 6
const HEAD = bytes(1)

/** These only delete, one of them a single key. They are durable, and the ones after them expect nothing. */
const [DELETES, DELETE] = [9, 13]

const batchOf = (n: number): Write[] =>
  n === DELETES || n === DELETE ? (n === DELETES ? [0, 2] : [0]).map((i): Write => [numbered((n - 1) * 1000 + i), undefined]) : growing(n)

/**
 * Of few or many writes: new keys, one that the batch before had put, deleted, keys that are both put and deleted, and a head that says which one it
 * was.
 */
const growing = (n: number): Write[] => [
  ...Array.from({ length: n % 5 === 4 ? 400 : 3 }, (_, i): Write => [numbered(n * 1000 + i), filled(i % 60, n)]),
  ...(n > 0 ? [[numbered((n - 1) * 1000 + 1), undefined] as const] : []),
  [numbered(n * 1000 + 998), bytes(n)],
  [numbered(n * 1000 + 998), undefined],
  [numbered(n * 1000 + 999), undefined],
  [numbered(n * 1000 + 999), bytes(n)],
  [HEAD, bytes(n)],
]

export const killLaws = (law: MakeLaw, subject: StoreSubject): Law[] => {
  const skip = subject.killed ? undefined : 'the subject cannot tell what is left of its store'
  /** What a look at what is left of the store gives. */
  const left = async <T>(own: Store, look: (store: Store) => Promise<T>): Promise<T> => {
    const store = checked(await opened('killed', () => subject.killed!(own), subject))
    return closing(store, () => look(store))
  }
  return [
    law(
      'what is left if the process is killed between writes is every batch up to the last durable one, and of later ones the first few, each whole',
      async (store, own) => {
        const model = new Model()
        /** What the first batches leave, at the place of their number. */
        const after: (readonly Entry[])[] = [[]]
        let sure = 0
        for (let n = 0; n < BATCHES; n++) {
          const durable = n % 4 === 1 || n % 4 === 2
          await store.write(batchOf(n), { durable, ...(n % 2 === 1 && { expect: { key: HEAD, value: bytes(n - 1) } }) })
          model.write(batchOf(n))
          after.push(model.entries)
          if (durable) sure = after.length - 1
          const found = await left(own, async (store) => (await store.scan(everything, { limit: 10_000 })).entries)
          if (after.slice(sure).some((entries) => alike(entries, found))) continue
          const head = found.find(([key]) => alike(key, HEAD))
          const seen = Math.max(sure, head ? (head[1][0] ?? 0) + 1 : 0)
          const what = `what is left after batch ${n + 1} (${sure === 0 ? 'none was durable' : `the last durable one was ${sure}`})`
          same(found, after[seen] ?? [], `${what}, compared with what the first ${seen} leave`)
        }
      },
      skip,
    ),
    law(
      'a note that was written durably is there if the process is killed, or one that was written after it',
      async ({ note }, own) => {
        if (!note) return 'the store has no `note`'
        let sure = 0
        for (let n = 1; n < NOTES; n++) {
          const durable = n % 3 !== 2
          await note.write(bytes(n), { durable })
          if (durable) sure = n
          const found = await left(own, async (store) => store.note?.read())
          if (!alike(found, bytes(sure)))
            same(found, bytes(n), `the note that is left after ${n} writes of it, of which the last durable one was ${sure}`)
        }
        return undefined
      },
      skip,
    ),
  ]
}
