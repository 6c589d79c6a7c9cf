/** The law of reopening: what was written is there, however it was written, and nothing else is. */
import fc from 'fast-check'
import { hasCode } from '../../src/errors.ts'
import type { Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { seed } from './property.ts'
import { checked, closing, opened } from './store-answers.ts'
import { holds, type MakeLaw, modelOf, refused, wipe, within } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { bytes, everything, LONGEST_KEY, Model, materialFor, numbered } from './store-model.ts'

/** Opens what a store held that is closed, and closes it again when the work is done. Returns it, to be opened once more. */
export async function reopened(
  own: Store,
  subject: StoreSubject,
  since: string,
  work: (store: Store) => Promise<unknown>,
  seen: (own: Store) => Store = checked,
): Promise<Store> {
  const again = await opened('reopen', () => subject.reopen!(own), subject)
  const store = seen(again)
  await closing(store, () => within(`after ${since}`, () => work(store)))
  return again
}

/** How often the store is closed and opened again. What the second of them loses was written to a store that had been opened again. */
const REOPENS = ['the first reopen', 'the second reopen', 'the third reopen']

/** A log may replay a batch in another order, or pass over what is small: keys of their own, that no other batch writes. */
function inOrder(round: number): Write[][] {
  const [a, b, c, d] = [0, 1, 2, 3].map((n) => numbered(200 + 10 * round + n)) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
  const [one, two] = [bytes(1), bytes(2)]
  return [
    [a, c, d].map((key): Write => [key, one]),
    [[a, undefined]],
    [
      [b, two],
      [c, undefined],
      [c, two],
      [d, two],
      [d, undefined],
      [d, one],
      [b, undefined],
    ],
  ]
}

/** Nothing, something, and nothing again, compacted each time if the store can be. */
async function emptied(subject: StoreSubject): Promise<void> {
  let own = await opened('open', () => subject.open(), subject)
  await checked(own).close()
  const reopen = async (what: string, work: (store: Store) => Promise<unknown>): Promise<void> => {
    own = await reopened(own, subject, `a reopen of ${what}`, work)
  }
  const put = async (store: Store, n: number): Promise<void> => {
    await store.compact?.(everything)
    await store.write([[numbered(n), bytes(n)]], { durable: n === 2 })
  }
  await reopen('a store that holds nothing', async (store) => {
    await holds(store, modelOf([]))
    await put(store, 1)
  })
  await reopen('a store that held nothing, was compacted, and then written to', async (store) => {
    await holds(store, modelOf([[numbered(1), bytes(1)]]))
    await wipe(store)
    await put(store, 2)
  })
  await reopen('a store that was emptied, compacted, and then written to', (store) => holds(store, modelOf([[numbered(2), bytes(2)]])))
}

export const reopenLaw = (law: MakeLaw, subject: StoreSubject): Law =>
  law(
    'a reopen finds everything that was written, before and after reopens, including by writes that the close waited for',
    async (store, own) => {
      const { anyBatch, filled } = materialFor(store.capabilities)
      const model = new Model()
      const drawn = fc.sample(anyBatch, { numRuns: 20 * REOPENS.length, seed: seed() ?? 1 })
      /** Puts, overwrites and deletes, the last put under way while the store closes. */
      const write = async (to: Store, round: number): Promise<void> => {
        const again: Write[] = [0, 1, 2, 3].map((n) => [numbered(n), n === round ? undefined : filled(10 + n, round)])
        for (const [n, batch] of [again, ...drawn.slice(20 * round, 20 * (round + 1))].entries()) {
          await to.write(batch, { durable: n % 5 === 0 })
          model.write(batch)
        }
        await more(to, round)
        const last: Write[] = [[bytes(0xff, 0xff), filled(300_000 + round, round)]]
        const late: Write[] = [[bytes(0xff, 0xfe), bytes(round)]]
        // Whoever writes while it closes is told CLOSED, or finds it written.
        const closing = Promise.all([to.write(last, { durable: true }), to.close()])
        const written = (async () => to.write(late, { durable: true }))().then(
          () => true,
          (error) => {
            if (hasCode(error, 'CLOSED')) return false
            throw error
          },
        )
        const [isWritten] = await Promise.all([written, closing])
        model.write(last)
        if (isWritten) model.write(late)
      }
      /**
       * What a log may keep, or lose, in a way of its own: expectations met and not met, with what no later batch writes again; calls that do not wait;
       * many writes; deletes alone, few and many; a value of more than 1 MiB; keys of the greatest length that differ only in their last byte; and what was there
       * before a compact, or was written meanwhile.
       */
      const more = async (to: Store, round: number): Promise<void> => {
        const head = numbered(90)
        const value = model.get(head)
        await refused('CONFLICT', () =>
          to.write([[numbered(91), bytes(round)]], { durable: true, expect: { key: head, value: bytes(7, 7) } }),
        )
        const batches: Write[][] = [
          [[head, bytes(round, 0)]],
          [[head, bytes(round, 1)]],
          [[head, bytes(round, 2)]],
          Array.from({ length: 1200 }, (_, n): Write => [numbered(1000 + n), (n + round) % 3 === 0 ? undefined : bytes(n & 255, round)]),
          [1, 2, 4].map((n): Write => [numbered(1000 + 3 * n + round), undefined]),
          [
            [numbered(100 + round), filled((1 << 20) + 1, round)],
            [head, bytes(round, 3)],
          ],
          Array.from({ length: 300 }, (_, n): Write => [numbered(1600 + n), undefined]),
        ]
        const { maxKeyBytes = LONGEST_KEY } = to.capabilities
        const long = Array.from({ length: Math.min(LONGEST_KEY, maxKeyBytes) - 1 }, (_, n) => numbered(95)[n] ?? 0x61)
        batches.push(
          [1, 2].map((last): Write => [bytes(...long, last), bytes(last, round)]),
          ...inOrder(round),
        )
        const expected = new Map([
          [0, value],
          [5, bytes(round, 2)],
        ])
        // Once beside writes, and with none behind it that would bring back what it loses of them.
        const compacting = (async () => (round === 2 ? to.compact?.(everything) : undefined))()
        const writing = batches.map(async (batch, n) =>
          to.write(batch, { durable: n % 2 === 1, ...(expected.has(n) && { expect: { key: head, value: expected.get(n) } }) }),
        )
        await Promise.all([compacting, ...writing])
        for (const batch of batches) model.write(batch)
        if (round === 1) await to.compact?.(everything)
      }
      await write(store, 0)
      let before = own
      const reopen = async (name: string, work: (again: Store) => Promise<unknown>): Promise<void> => {
        before = await reopened(before, subject, name, async (again) => {
          await holds(again, model)
          await work(again)
        })
      }
      for (const [n, name] of REOPENS.entries())
        await reopen(name, async (again) =>
          n + 1 < REOPENS.length
            ? write(again, n + 1)
            : // What was refused is not there either if nothing was written after it.
              refused('CONFLICT', () =>
                again.write([[numbered(92), bytes(1)]], { durable: true, expect: { key: numbered(92), value: bytes(7, 7) } }),
              ),
        )
      await reopen('a reopen with nothing before it but a refused write', async () => {})
      await emptied(subject)
    },
    subject.reopen ? undefined : 'the subject cannot reopen its store',
  )
