/** Laws of the note that a store may keep beside its data. */
import type { Store } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { count, fill, holds, type MakeLaw, same, wipe } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { forms } from './store-forms.ts'
import { bytes, filled } from './store-model.ts'
import { reopened } from './store-reopen.ts'

type Note = NonNullable<Store['note']>

const NO_NOTE = 'the store has no `note`'

export const noteLaws = (law: MakeLaw, subject: StoreSubject): Law[] => [
  law('a note gives back what was last written to it; it lies beside the data, and changes to the data do not affect it', async (store) => {
    const { note } = store
    if (!note) return NO_NOTE
    same(await note.read(), undefined, 'a note that was never written')
    const model = await fill(store, count(20))
    for (const [seed, length] of [90, 1, 200, 64, 300].entries()) {
      const given = forms[seed % forms.length]![1](filled(length, seed))
      await note.write(given, ...(seed % 2 === 0 ? [] : [{ durable: seed % 4 === 1 }]))
      given.fill(0xee)
      for (const out of [await note.read(), await note.read()]) {
        same(out, filled(length, seed), `a note of ${length} bytes`)
        out!.fill(0xee)
      }
      await holds(store, model)
    }
    await wipe(store)
    same(await note.read(), filled(300, 4), 'the note, once all entries are deleted')
    // The last one is what stays, even if it did not wait for those before it.
    for (let round = 0; round < 5; round++) {
      const notes = [60, 90, 30].map((length, n) => filled(length, 10 * round + n))
      await Promise.all(notes.map(async (each, n) => note.write(each, { durable: n === 1 })))
      same(await note.read(), notes[2], 'the note, of three that were written without waiting for each other')
    }
  }),
  law(
    'a reopen finds the note that was last written, even if no data were written since',
    async (store, own) => {
      if (!store.note) return NO_NOTE
      await store.write([[bytes(1), bytes(1)]], { durable: true })
      await store.note.write(filled(90))
      await store.note.write(filled(60, 7), { durable: true })
      await store.close()
      let before = own
      const again = async (what: string, work: (note: Note, store: Store) => Promise<unknown>): Promise<void> => {
        before = await reopened(before, subject, what, async (next) => {
          if (!next.note) throw new Error('expected a store with a note again, as the one before had')
          await work(next.note, next)
        })
      }
      const found = async (note: Note, wanted: Uint8Array): Promise<void> => same(await note.read(), wanted, 'the note')
      await again('a reopen', (note) => found(note, filled(60, 7)))
      await again('another reopen, at which it is not looked at', async () => {})
      await again('that', async (note) => {
        await found(note, filled(60, 7))
        // A durable one that is followed by one that is not; then each of them alone.
        await note.write(filled(40, 1), { durable: true })
        await note.write(filled(50, 2))
      })
      await again('a reopen, since which it was written twice', async (note, next) => {
        await found(note, filled(50, 2))
        await note.write(filled(30, 3))
        await next.write([[bytes(1), bytes(2)]], { durable: true })
      })
      await again('a reopen, since which it was not written durably', async (note) => {
        await found(note, filled(30, 3))
        await note.write(filled(45, 4), { durable: true })
      })
      await again('a reopen, since which it was written durably', (note) => found(note, filled(45, 4)))
    },
    subject.reopen ? undefined : 'the subject cannot reopen its store',
  ),
]
