/** Laws of snapshots, of a store that has them. */
import type { Entry, ScanOptions, Snapshot, Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { checked, closing, opened } from './store-answers.ts'
import { agrees, alike, count, fill, holds, inChunks, type MakeLaw, modelOf, refused, same, turn, wipe } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { bytes, everything, filled, type Model, numbered } from './store-model.ts'

const NONE = 'the store has no `snapshot`'

/** What a snapshot shows is what a model holds: scanned whole and in chunks, from both ends, within bounds that are held and that are not. */
async function shows(snapshot: Snapshot, model: Model): Promise<void> {
  const seen = snapshot as Store
  const middle = model.entries[model.entries.length >> 1]?.[0] ?? bytes(1)
  const ways: readonly ScanOptions[] = [{ limit: 10_000 }, { limit: 7 }, { limit: 10_000, maxBytes: 500 }]
  for (const reverse of [false, true])
    for (const options of ways) {
      for (const range of [everything, { gte: middle, lt: everything.lt }, { gte: bytes(), lt: middle }, { gte: middle, lt: middle }])
        await agrees(seen, model, range, { ...options, reverse })
      same(await inChunks(seen, everything, { ...options, reverse }), model.range(everything, reverse), 'a snapshot, read in chunks')
    }
}

/**
 * Other values, also of the same length, deletes, and keys before, between and behind those of the model: each batch changes what every scan would give.
 */
const changes = ({ entries }: Model): Write[][] => [
  [[bytes(0), bytes(9)], ...entries.filter((_, n) => n % 3 === 0).map(([key], n): Write => [key, filled(60, n + 1)])],
  [[bytes(0xfe), bytes(9)], ...entries.filter((_, n) => n % 3 === 1).map(([key]): Write => [key, undefined])],
  entries.filter((_, n) => n % 3 === 2).map(([key, value], n): Write => [key, filled(value.length, n + 100)]),
  [[bytes(0), undefined], ...[0, 1, 150, 299].map((n): Write => [numbered(n * 256 + 7), filled(n % 40, n)])],
]

/** Writes through one store what the snapshots of another must not show. */
async function unmoved(store: Store, writer: Store): Promise<void> {
  const taken = async (): Promise<Snapshot> => store.snapshot!()
  const empty = await taken()
  const model = await fill(writer, count(300))
  const first = await taken()
  let now = model
  for (const [n, batch] of changes(model).entries()) {
    const before = await taken()
    const next = modelOf(now.entries)
    next.write(batch)
    // Of a write under way, a snapshot may show all or nothing.
    const writing = writer.write(batch, { durable: n % 2 === 0 })
    const during = await taken()
    await writing
    const shown = await inChunks(during as Store, everything, { limit: 50 })
    if (!alike(shown, next.entries)) same(shown, now.entries, 'a snapshot taken while a batch was being written')
    await shows(before, now)
    await shows(first, model)
    await holds(store, next)
    await Promise.all([before.close(), during.close()])
    now = next
  }
  await store.compact?.(everything)
  await shows(first, model)
  await wipe(writer)
  await shows(first, model)
  // What it hands out belongs to the receiver.
  for (const reverse of [false, true]) {
    const { entries } = await first.scan(everything, { limit: 10_000, reverse })
    for (const handed of entries.flat()) handed.fill(0xee)
    await shows(first, model)
  }
  await shows(empty, modelOf([]))
  await Promise.all([first.close(), empty.close()])
  await holds(store, modelOf([]))
  await outlived(store, writer)
}

/** How many keys are put or deleted in a row: more than a scan may pass over in one go. */
const ROW = 150

/**
 * What the steps do to a key, one after another: put, delete, or keep it. After a put, three in every order, since a version may be dropped because of
 * what comes before it or after it; and in between, rows of keys that are all put or deleted at once.
 */
const COURSES: readonly string[] = ['p', 'd', 'k'].flatMap((first) =>
  ['pp', 'pd', 'pk', 'dp', 'dd', 'dk', 'kp', 'kd', 'kk'].map((rest) => `p${first}${rest}`),
)
const ROWS = ['pdkp', 'kkpd'].flatMap((course) => Array.from({ length: ROW }, () => course))
const ALL_COURSES = [...COURSES.slice(0, 9), ...ROWS, ...COURSES.slice(9)]

/** What the nth step leaves of each key; after the last one, they begin again. */
const step = (n: number, before: readonly Write[]): Write[] =>
  before.map((write, key): Write => {
    const what = ALL_COURSES[key]![n % 4]
    return what === 'k' ? write : [numbered(key), what === 'p' ? bytes(n, key & 255) : undefined]
  })

/** Writes keys again and again while snapshots show what they held, two of each state, and closes these in no order. */
async function outlived(store: Store, writer: Store): Promise<void> {
  let states: Write[] = ALL_COURSES.map((_, key) => [numbered(key), undefined])
  let model = modelOf([])
  const open: { readonly snapshot: Snapshot; readonly shown: Model; readonly name: string }[] = []
  let steps = 0
  const write = async (): Promise<void> => {
    const before = states
    states = step(steps++, before)
    await writer.write(
      states.filter((write, key) => write !== before[key]),
      { durable: false },
    )
    model = modelOf(states.filter((write): write is Entry => write[1] !== undefined))
  }
  const look = async (since: string): Promise<void> => {
    for (const { snapshot, shown, name } of open)
      for (const reverse of [false, true])
        same(
          await inChunks(snapshot as Store, everything, { limit: 40, reverse }),
          shown.range(everything, reverse),
          `${name}, read in chunks, reverse: ${reverse}, after ${steps} writes, ${since}`,
        )
    await holds(store, model)
  }
  for (let n = 0; n < 4; n++) {
    await write()
    for (const name of ['one', 'another'])
      open.push({ snapshot: await store.snapshot!(), shown: model, name: `${name} snapshot taken after ${steps} writes` })
  }
  await look('with none closed')
  // Of every two of a state, the older or the younger; then one in the middle of what is left, the newest, the oldest, and the last.
  for (const places of [[0, 3, 4, 7], [1], [2], [0], [0]]) {
    const closed = places.map((place) => open[place]!)
    for (const one of closed) {
      open.splice(open.indexOf(one), 1)
      await one.snapshot.close()
    }
    await write()
    if (closed.length === 1) await store.compact?.(everything)
    await look(`and after the close of ${closed.map(({ name }) => name).join(', ')}`)
  }
  await wipe(writer)
}

export function snapshotLaws(law: MakeLaw, subject: StoreSubject): Law[] {
  return [
    law('a snapshot shows what was there when it was taken, whatever is written, deleted or compacted meanwhile', async (store) =>
      store.snapshot ? unmoved(store, store) : NONE,
    ),
    law(
      'no snapshot has what another process wrote after it was taken',
      async (here, own) => {
        if (!here.snapshot) return NONE
        const there = checked(await opened('beside', () => subject.beside!(own), subject))
        return closing(there, () => unmoved(here, there))
      },
      subject.beside ? undefined : 'the subject cannot open its store twice',
    ),
    law(
      'a snapshot gives CLOSED once it is closed, or its store; a close of it waits for its scans, and ends nothing else',
      async (store) => {
        if (!store.snapshot) return NONE
        const model = await fill(store, count(300))
        const [one, other, left] = [await store.snapshot(), await store.snapshot(), await store.snapshot()]
        let isScanned = false
        const scanned = async (): Promise<void> => {
          const { entries } = await one.scan(everything, { limit: 400 })
          isScanned = true
          same(entries, model.entries, 'a scan that began before its snapshot was closed')
        }
        const closed = async (): Promise<void> => {
          await one.close()
          await turn()
          same(isScanned, true, 'whether a scan was answered when the close of its snapshot had resolved')
        }
        // One that fails while the other is awaited must not count as an unhandled rejection.
        await Promise.all([scanned(), closed()])
        await one.close()
        await refused('CLOSED', () => one.scan(everything, { limit: 1 }))
        await shows(other, model)
        await holds(store, model)
        await other.close()
        await refused('STORE_MISUSE', () => left.scan(everything, { limit: 0 }))
        await store.close()
        await refused('CLOSED', () => left.scan(everything, { limit: 1 }))
        await left.close()
        await refused('CLOSED', () => store.snapshot!())
      },
    ),
  ]
}
