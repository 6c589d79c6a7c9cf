/** The laws of what is left when a process is killed between two writes: of a new store, of one that was opened again, and of what a kill has left. */
import type { Entry, Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { checked, closing, opened } from './store-answers.ts'
import { alike, type MakeLaw, same, within } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { bytes, everything, filled, Model, materialFor, numbered } from './store-model.ts'

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

const entriesOf = async (store: Store): Promise<readonly Entry[]> => (await store.scan(everything, { limit: 10_000 })).entries

/** What is to be held by a store that lives on, through closes, kills and reopens. */
class Kept {
  private readonly model = new Model()
  /** What is held with none of the last batches that need not be durable, with the first of them, and so on. */
  private states: (readonly Entry[])[] = [[]]
  private batches = 0
  private noted = 0

  /** A durable batch, a durable note of it if there are notes, and some batches that need not be durable. */
  async write(store: Store, more: number): Promise<void> {
    await this.batch(store, true)
    this.states = [this.model.entries]
    if (store.note) {
      this.noted = this.batches
      await store.note.write(bytes(this.noted), { durable: true })
    }
    for (let n = 0; n < more; n++) {
      await this.batch(store, false)
      this.states.push(this.model.entries)
    }
  }

  private async batch(store: Store, durable: boolean): Promise<void> {
    const n = this.batches++
    const { filled } = materialFor(store.capabilities)
    // Longer than what a store may gather before it writes, so that a part of it may be in its file.
    const batch: Write[] = [...growing(n), ...(durable ? [] : [[numbered(n * 1000 + 997), filled(70_000, n)] as const])]
    await store.write(batch, { durable, expect: { key: HEAD, value: this.model.get(HEAD) } })
    this.model.write(batch)
  }

  async check(store: Store): Promise<void> {
    await this.found(store)
  }

  /** The store goes on with what is found of it. Another kill may leave less of that: nothing has made it durable since. */
  async goOn(store: Store): Promise<void> {
    const state = await this.found(store)
    this.states = this.states.slice(0, state + 1)
    this.model.entries = [...this.states[state]!]
  }

  private async found(store: Store): Promise<number> {
    const found = await entriesOf(store)
    const state = this.states.findIndex((entries) => alike(entries, found))
    if (state < 0) same(found, this.states[0], 'what is held')
    if (this.noted > 0) same(await store.note?.read(), bytes(this.noted), 'the note')
    return state
  }
}

export const killLaws = (law: MakeLaw, subject: StoreSubject): Law[] => {
  const skip = subject.killed ? undefined : 'the subject cannot tell what is left of its store'
  /** What the work gives with a store that a member of the subject opens. */
  const on =
    (member: 'killed' | 'reopen') =>
    async <T>(before: Store, work: (store: Store, own: Store) => Promise<T>): Promise<T> => {
      const own = await opened(member, () => subject[member]!(before), subject)
      const store = checked(own)
      return closing(store, () => work(store, own))
    }
  const [left, again] = [on('killed'), on('reopen')]
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
          const found = await left(own, entriesOf)
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
    law(
      'a kill takes nothing durable of a store that was opened again, or of what another kill left; and that can be written to and opened again',
      async (store, own) => {
        const kept = new Kept()
        const check = (when: string) => (found: Store) => within(when, () => kept.check(found))
        await kept.write(store, 0)
        await store.close()
        await again(own, async (store, own) => {
          await left(own, check('after a reopen and a kill'))
          await kept.write(store, 4)
          await left(own, async (store, own) => {
            await within('after a reopen, writes and a kill', () => kept.goOn(store))
            await left(own, check('after two kills'))
            await kept.write(store, 0)
            await left(own, check('after a kill, a write and another kill'))
            await store.close()
            await again(own, check('after a kill, a write, a close and a reopen'))
          })
        })
      },
      skip ?? (subject.reopen ? undefined : 'the subject cannot reopen its store'),
    ),
  ]
}
