/** Laws of a store's life: closing, and what remains of it. */
import { hasCode } from '../../src/errors.ts'
import type { MaybePromise, Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { checked, closing, given, opened, unfailing } from './store-answers.ts'
import { count, fill, type MakeLaw, refused, same, turn } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { bytes, everything, type Model, materialFor, numbered } from './store-model.ts'

/** Calls that come too late to be waited for: they are answered as ever, or told that the store is closed. */
function whileItCloses(store: Store, model: Model): Promise<void>[] {
  const [key, value] = model.entries[9]!
  const late = async <T>(call: () => MaybePromise<T>, look: (answer: T) => void): Promise<void> => {
    let answer: T
    try {
      answer = await call()
    } catch (error) {
      if (hasCode(error, 'CLOSED')) return
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

/** Half of what is deleted, so that there is something to compact. */
const halved = async (store: Store): Promise<Model> => {
  const model = await fill(store, count(500))
  const deletes = model.entries.filter((_, n) => n % 2 === 0).map(([key]): Write => [key, undefined])
  await store.write(deletes, { durable: false })
  model.write(deletes)
  return model
}

/** Each call that a close may meet with no other under way, which would have it wait by chance. */
const alone: Readonly<Record<string, (store: Store, model: Model) => MaybePromise<unknown> | undefined>> = {
  'a get': (store, model) => store.get(model.entries[0]![0]),
  'a getMany': (store, model) => store.getMany(model.entries.map(([key]) => key)),
  'a scan': (store) => store.scan(everything, { limit: 400 }),
  'a write': (store) => store.write([[bytes(0xff), bytes(1)]], { durable: false }),
  'a durable write': (store) => store.write([[bytes(0xff), bytes(1)]], { durable: true }),
  'a compact': (store) => store.compact?.({ gte: bytes(), lt: bytes(0xff) }),
  'a write of the note': (store) => store.note?.write(bytes(1)),
  'a durable write of the note': (store) => store.note?.write(bytes(1), { durable: true }),
  'a read of the note': (store) => store.note?.read(),
}

export const closeLaws = (law: MakeLaw, subject: StoreSubject): Law[] => [
  law('whatever is in flight alone is over before a close is', async () => {
    for (const [name, call] of Object.entries(alone)) {
      const store = checked(await opened('open', () => subject.open(), subject))
      await closing(store, async () => {
        const model = await halved(store)
        let isOver = false
        const over = (async () => call(store, model))().then(() => {
          isOver = true
        })
        await Promise.all([
          over,
          (async () => store.close())()
            .then(turn)
            .then(() => same(isOver, true, `whether ${name} was over when the close had resolved`)),
        ])
      })
    }
  }),
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
