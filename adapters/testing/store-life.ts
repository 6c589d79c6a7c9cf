/** Laws of a store's life: closing, reopening, being opened twice, and what remains of it. */
import fc from 'fast-check'
import type { Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { seed } from './property.ts'
import { checked, closing, given, unfailing } from './store-answers.ts'
import { count, fill, holds, type MakeLaw, refused, same, turn, within } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { bytes, everything, Model, materialFor, numbered } from './store-model.ts'

export const closeLaws = (law: MakeLaw): Law[] => [
  law('a close waits for the reads and writes in flight, and a second close changes nothing', async (store) => {
    const { filled } = materialFor(store.capabilities)
    const model = await fill(store, count(500))
    // One that fails while another is awaited must not count as an unhandled rejection.
    const reads = Promise.all([(async () => store.scan(everything, { limit: 400 }))(), (async () => store.get(model.entries[7]![0]))()])
    const writes = [1, 2, 3].map(async (n) => store.write([[numbered(n), filled(5000, n)]], { durable: n === 2 }))
    let noting = store.note !== undefined
    const noted = (async () => store.note?.write(bytes(1)))().then(() => {
      noting = false
    })
    const closed = (async () => store.close())()
      .then(turn)
      .then(() => same(noting, false, 'whether a note is still being written'))
    const [[chunk, value]] = await Promise.all([reads, ...writes, noted, closed])
    same(chunk.entries, model.entries.slice(0, 400), 'the scan under way')
    same(value, model.entries[7]![1], 'the get under way')
    await store.close()
  }),
  law('after the close, every call fails with CLOSED', async (store) => {
    await store.write([[bytes(1), bytes(1)]], { durable: false })
    await store.close()
    await refused('CLOSED', () => store.get(bytes(1)))
    await refused('CLOSED', () => store.getMany([bytes(1)]))
    await refused('CLOSED', () => store.scan(everything, { limit: 1 }))
    await refused('CLOSED', () => store.write([[bytes(1), bytes(2)]], { durable: false }))
    const { note } = store
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
        const last: Write[] = [[bytes(0xff, 0xff), filled(100_000 + round, round)]]
        await Promise.all([to.write(last, { durable: true }), to.close()])
        model.write(last)
      }
      await write(store, 0)
      let before = own
      for (const [n, name] of REOPENS.entries()) {
        before = await given('reopen', () => subject.reopen!(before))
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

export function besideLaws(law: MakeLaw, { beside }: StoreSubject): Law[] {
  const alone = beside ? undefined : 'the subject cannot open its store twice'
  const second = (name: string, check: (here: Store, there: Store) => Promise<void>): Law =>
    law(
      name,
      async (here, own) => {
        const there = checked(await given('beside', () => beside!(own)))
        await closing(there, () => check(here, there))
      },
      alone,
    )
  return [
    second('what another process wrote is read here, and fences writes that did not expect it', async (here, there) => {
      const [key, durable] = [numbered(1), true]
      await here.write([[key, bytes(1)]], { durable })
      same(await here.get(key), bytes(1), 'what was written here')
      for (let n = 2; n < 8; n++) {
        const [writer, reader] = n % 2 ? [here, there] : [there, here]
        await writer.write([[key, bytes(n)]], { durable, expect: { key, value: bytes(n - 1) } })
        await refused('CONFLICT', () => reader.write([[key, bytes(0)]], { durable, expect: { key, value: bytes(n - 1) } }))
        same(await reader.get(key), bytes(n), 'what the other wrote, by get')
        same(await reader.getMany([key]), [bytes(n)], 'what the other wrote, by getMany')
        same((await reader.scan(everything, { limit: 9 })).entries, [[key, bytes(n)]], 'what the other wrote, by scan')
      }
    }),
    second('a watch rings after another process wrote, until it is stopped', async (here, there) => {
      if (!here.watch) throw new TypeError('the store offers no watch: decline this law, and say so')
      let rings = 0
      const stop = here.watch(() => rings++)
      const rung = async (): Promise<boolean> => {
        for (let waited = 0; waited < 500 && rings === 0; waited++) await turn()
        return rings > 0
      }
      await there.write([[bytes(1), bytes(1)]], { durable: true })
      same(await rung(), true, 'rang after a write')
      stop()
      for (let n = 0; n < 20; n++) await turn()
      rings = 0
      await there.write([[bytes(1), bytes(2)]], { durable: true })
      for (let n = 0; n < 20; n++) await turn()
      same(rings, 0, 'rings after it was stopped')
    }),
  ]
}

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

export function leakLaw({ open, held = heldByProcess as () => number }: StoreSubject): Law {
  const round = async (): Promise<void> => {
    const store = checked(await given('open', open))
    await store.write(count(40), { durable: true })
    await store.get(numbered(256))
    await store.getMany([numbered(256), bytes(9)])
    for (const reverse of [false, true]) await store.scan(everything, { limit: 3, reverse })
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
