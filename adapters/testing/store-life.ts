/** Laws of a store's life: closing, reopening, and what remains of it. */
import fc from 'fast-check'
import { FolioError } from '../../src/errors.ts'
import type { MaybePromise, Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { seed } from './property.ts'
import { checked, closing, given, opened, unfailing } from './store-answers.ts'
import { count, fill, holds, type MakeLaw, refused, same, turn, within } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { bytes, everything, LONGEST_KEY, Model, materialFor, numbered } from './store-model.ts'

/** Calls that come too late to be waited for: they are answered as ever, or told that the store is closed. */
function whileItCloses(store: Store, model: Model): Promise<void>[] {
  const [key, value] = model.entries[9]!
  const late = async <T>(call: () => MaybePromise<T>, look: (answer: T) => void): Promise<void> => {
    let answer: T
    try {
      answer = await call()
    } catch (error) {
      if (error instanceof FolioError && error.code === 'CLOSED') return
      throw error
    }
    look(answer)
  }
  return [
    late(
      () => store.get(key),
      (answer) => same(answer, value, 'a get that began while the store closed'),
    ),
    late(
      () => store.getMany([key]),
      (answer) => same(answer, [value], 'a getMany that began while the store closed'),
    ),
    late(
      () => store.scan(everything, { limit: 1 }),
      ({ entries }) => same(entries, model.entries.slice(0, 1), 'a scan that began while the store closed'),
    ),
    late(
      () => store.write([[bytes(0xff, 9), bytes(9)]], { durable: false }),
      () => {},
    ),
  ]
}

export const closeLaws = (law: MakeLaw): Law[] => [
  law('a close waits for the reads and writes in flight, and a second close changes nothing', async (store) => {
    const { filled } = materialFor(store.capabilities)
    const model = await fill(store, count(500))
    const underWay = new Set<string>()
    const begin = async <T>(call: string, make: () => MaybePromise<T>): Promise<T> => {
      underWay.add(call)
      const answer = await make()
      underWay.delete(call)
      return answer
    }
    // One that fails while another is awaited must not count as an unhandled rejection.
    const reads = Promise.all([
      begin('a scan', () => store.scan(everything, { limit: 400 })),
      begin('a get', () => store.get(model.entries[7]![0])),
      begin('a getMany', () => store.getMany(model.entries.map(([key]) => key))),
    ])
    // Behind all that is read: a read under way may show them, or not.
    const writes = [1, 2, 3].map((n) => begin('a write', () => store.write([[bytes(0xff, n), filled(5000, n)]], { durable: n === 2 })))
    const others = [
      begin('a write of the note', () => store.note?.write(bytes(1))),
      begin('a compact', () => store.compact?.({ gte: bytes(), lt: bytes(0xff) })),
    ]
    // Twice at once, as by an owner and by a handler of signals.
    const closes = ['a close', 'another close'].map(async (name) => {
      await store.close()
      await turn()
      same([...underWay], [], `calls under way when ${name} had resolved`)
    })
    const [[chunk, value, values]] = await Promise.all([reads, ...writes, ...others, ...closes, ...whileItCloses(store, model)])
    same(chunk.entries, model.entries.slice(0, 400), 'the scan under way')
    same(value, model.entries[7]![1], 'the get under way')
    same(
      values,
      model.entries.map(([, each]) => each),
      'the getMany under way',
    )
    await store.close()
  }),
  law('after the close, every call fails with CLOSED', async (store) => {
    await store.write([[bytes(1), bytes(1)]], { durable: false })
    await store.close()
    await refused('CLOSED', () => store.get(bytes(1)))
    await refused('CLOSED', () => store.getMany([bytes(1)]))
    await refused('CLOSED', () => store.scan(everything, { limit: 1 }))
    await refused('CLOSED', () => store.write([[bytes(1), bytes(2)]], { durable: false }))
    const { note, compact } = store
    if (compact) await refused('CLOSED', () => compact(everything))
    if (note) {
      await refused('CLOSED', () => note.read())
      await refused('CLOSED', () => note.write(bytes(2)))
    }
    // Calls that a store can answer without looking at what it holds.
    await refused('CLOSED', () => store.getMany([]))
    await refused('CLOSED', () => store.write([], { durable: true }))
    await refused('CLOSED', () => store.write([], { durable: true, expect: { key: bytes(1), value: bytes(1) } }))
    const [gte, lt] = [bytes(1), bytes(2)]
    for (const reverse of [false, true])
      for (const range of [
        { gte, lt: gte },
        { gte: lt, lt: gte },
        { gte: lt, lt: everything.lt },
      ])
        await refused('CLOSED', () => store.scan(range, { limit: 1, reverse }))
  }),
]

/** How often the store is closed and opened again. What the second of them loses was written to a store that had been opened again. */
const REOPENS = ['the first reopen', 'the second reopen', 'the third reopen']

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
            if (error instanceof FolioError && error.code === 'CLOSED') return false
            throw error
          },
        )
        const [isWritten] = await Promise.all([written, closing])
        model.write(last)
        if (isWritten) model.write(late)
      }
      /**
       * What a log may keep, or lose, in a way of its own: expectations met and not met, with what no later batch writes again; calls that do not wait;
       * many writes; deletes alone, few and many; a value of more than 1 MiB; keys that differ only in their last of 300 bytes; and what was there
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
        batches.push([1, 2].map((last): Write => [bytes(...long, last), bytes(last, round)]))
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
      for (const [n, name] of REOPENS.entries()) {
        before = await opened('reopen', () => subject.reopen!(before), subject)
        const again = checked(before)
        await closing(again, () =>
          within(`after ${name}`, async () => {
            await holds(again, model)
            if (n + 1 < REOPENS.length) await write(again, n + 1)
          }),
        )
      }
    },
    subject.reopen ? undefined : 'the subject cannot reopen its store',
  )

/** Resources that Node's process holds: what keeps its event loop busy and, if they can be counted, open files. */
function heldByProcess(): number | undefined {
  const node = globalThis.process
  if (node?.getActiveResourcesInfo === undefined) return undefined
  const active = node.getActiveResourcesInfo().length
  const files = '/proc/self/fd'
  const fs = node.getBuiltinModule?.('node:fs')
  return fs?.existsSync(files) ? active + fs.readdirSync(files).length : active
}

const ROUNDS = 12

export function leakLaw(subject: StoreSubject): Law {
  const { held = heldByProcess as () => number } = subject
  let left = 0
  const round = async (): Promise<void> => {
    const store = checked(await opened('open', () => subject.open(), subject))
    await store.write(count(40), { durable: true })
    await store.get(numbered(256))
    await store.getMany([numbered(256), bytes(9)])
    for (const reverse of [false, true]) await store.scan(everything, { limit: 3, reverse })
    await store.note?.write(bytes(1), { durable: true })
    await store.note?.read()
    await store.compact?.(everything)
    const snapshot = await store.snapshot?.()
    await snapshot?.scan(everything, { limit: 3 })
    // Every other one is left to the close of the store.
    if (left++ % 2 === 0) await snapshot?.close()
    store.watch?.(() => {})()
    await refused('STORE_MISUSE', () => store.scan(everything, { limit: 0 }))
    await refused('CONFLICT', () => store.write([], { durable: false, expect: { key: bytes(9), value: bytes(9) } }))
    await store.close()
    await refused('CLOSED', () => store.get(bytes(1)))
  }
  const heldNow = async (): Promise<number> => {
    const number: unknown = await given('held', held)
    if (typeof number !== 'number' || !Number.isFinite(number)) throw new Error(`held: expected a number, got ${String(number)}`)
    return number
  }
  const run = async (): Promise<void> => {
    // The first rounds may load what stays.
    for (let n = 0; n < 3; n++) await unfailing(round)
    await turn()
    const before = await heldNow()
    for (let n = 0; n < ROUNDS; n++) await unfailing(round)
    await turn()
    const left = (await heldNow()) - before
    // Others in the process come and go: what counts is what grows with every round.
    if (left >= ROUNDS / 2) throw new Error(`${ROUNDS} stores were opened and closed, and ${left} resources are left`)
  }
  const name = 'stores that are opened, used and closed over and over hold on to nothing'
  return heldByProcess() === undefined && held === heldByProcess
    ? { name, run, skip: 'the runtime does not say what is held on to' }
    : { name, run }
}
