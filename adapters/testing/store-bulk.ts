/** The law of amounts: batches and requests as large as the engine makes them, which reach what a store or a protocol below it may be limited to. */
import { type Entry, isPromise, type KeyRange, type MaybePromise, type Store, type Write } from '../../src/store.ts'
import { nextTurn } from '../../src/turn.ts'
import type { Law } from '../check/index.ts'
import { plainly } from './store-answers.ts'
import { alike, inChunks, type MakeLaw, refused, show } from './store-checks.ts'
import type { StoreSubject } from './store-conformance.ts'
import { bytes, everything, filled, numbered } from './store-model.ts'
import { reopened } from './store-reopen.ts'

/** Above 65,535, the most that 16 bits count; the engine was measured to make larger ones. */
const WRITES = 70_000
/** Above 32,767, for the same reason, and above the 32,766 variables of a statement that some databases take. */
const ASKED = 35_000

/** Shares no factor with the numbers above, so that steps of it come by all of them, in no order. */
const STEP = 7919

/** Above 16 MiB, which is the most that several protocols and databases take at once; others take 1, 4 or 10. */
const MANY_BYTES = 17 << 20
/** A byte more than 24 bits count. */
const LONG = (1 << 24) + 1

/** What a large value has; a store of small ones is tried with as many of them as a batch of that many bytes has. */
const LARGE = 65_536

/** Closes the store and opens it again, if the subject can do that, and looks at it. */
async function afterReopen(own: Store, subject: StoreSubject, look: (store: Store) => Promise<void>): Promise<boolean> {
  if (!subject.reopen) return false
  await plainly(own).close()
  await reopened(own, subject, 'a reopen', look, plainly)
  return true
}

/** One scan gives just these entries. */
async function scanned(store: Store, entries: readonly Entry[], reverse: boolean, what: string): Promise<void> {
  const chunk = await store.scan(everything, { limit: entries.length + 1, reverse })
  first([...chunk.entries, chunk.more], [...(reverse ? [...entries].reverse() : entries), false], what)
}

export const bulkLaws = (law: MakeLaw, subject: StoreSubject): Law[] => [
  law('a value of more than 16 MiB comes back whole, unless the store names a limit', async (_, own) => {
    if ((own.capabilities.maxValueBytes ?? LONG) < LONG) return 'the store takes no values as large'
    const entries: Entry[] = [
      [numbered(1), bytes(1)],
      [numbered(2), filled(LONG, 2)],
      [numbered(3), bytes(3)],
    ]
    const look = async (store: Store): Promise<void> => {
      const what = `after a write of a value of ${LONG} bytes`
      first([await store.get(numbered(2))], [entries[1]![1]], `get ${what}`)
      await scanned(store, entries, false, `a scan ${what}`)
    }
    const store = plainly(own)
    await store.write(entries, { durable: true })
    await look(store)
    return void (await afterReopen(own, subject, look))
  }),
  law('a batch of 17 MiB applies whole, and one getMany and one scan return as much', async (_, own) => {
    const length = Math.min(LARGE, own.capabilities.maxValueBytes ?? LARGE)
    const size = MANY_BYTES / LARGE
    const keys = Array.from({ length: size }, (_, n) => numbered(n))
    const write = async (store: Store, round: 1 | 2): Promise<void> => {
      const batch = keys.map((key, n): Write => [key, round === 2 && n % 3 === 0 ? undefined : filled(length, n * round)])
      const total = `${size} writes of ${length} bytes, ${round === 1 ? 'into an empty store' : 'over as many'}`
      // Two neighbours are its first and its last write: a scan shows either both as they were, or both as they will be.
      const [one, two] = [batch[1]!, batch[2]!]
      const rest = batch.filter((write) => write !== one && write !== two)
      const writing = store.write([one, ...rest, two], { durable: round === 1 })
      await during(writing, store, { gte: one[0], lt: keys[3]! }, (entries, call) => {
        const isNew = [one, two].map(([key, value]) => entries.some((entry) => alike(entry, [key, value])))
        if (isNew[0] !== isNew[1])
          throw new Error(`${call}: expected what was held before or after, got the new value of ${show(isNew[0] ? one[0] : two[0])} alone`)
      })
      first(
        await store.getMany(keys),
        batch.map(([, value]) => value),
        `getMany of ${size} keys after ${total}`,
      )
      const held = batch.filter(([, value]) => value) as Entry[]
      for (const reverse of [false, true]) await scanned(store, held, reverse, `a scan, reverse: ${reverse}, after ${total}`)
      // Again, so that what is overwritten and deleted is as large.
      const again = async (after: Store): Promise<void> => {
        await scanned(after, held, false, `a scan after ${total}`)
        await write(after, 2)
      }
      if (round === 1 && !(await afterReopen(own, subject, again))) await write(store, 2)
    }
    await write(plainly(own), 1)
  }),
  law(
    `a batch of ${WRITES.toLocaleString('en')} writes applies whole, and one getMany and one scan return as many values`,
    async (store, own) => {
      const durable = false
      const keys = Array.from({ length: WRITES }, (_, n) => numbered(n))
      const value = (n: number, round: number): Uint8Array => bytes(n >> 16, n >> 8, n, round)
      await store.write(
        Array.from({ length: 1000 }, (_, n) => [keys[n * 50]!, value(n, 1)] as const),
        { durable },
      )
      // Every key is written, and some of those that were there are deleted.
      const held = keys.map((_, n) => (n % 20 === 10 ? undefined : value(n, 2)))
      const numbers = keys.map((_, n) => (n * STEP) % WRITES)
      const writing = store.write(
        numbers.map((n) => [keys[n]!, held[n]] as const),
        { durable },
      )
      await during(writing, store, { gte: keys[0]!, lt: keys[100]! }, roundsApart)
      // The last ones, which are lost if a batch is cut.
      const asked = numbers.slice(-ASKED)
      const answers = await store.getMany(asked.map((n) => keys[n]!))
      const wanted = asked.map((n) => held[n])
      first(answers, wanted, `getMany of ${ASKED} keys`, (at) => `, for the key ${show(keys[asked[at]!])}`)
      const model = keys.flatMap((key, n): Entry[] => (held[n] ? [[key, held[n]]] : []))
      const { entries, more } = await store.scan(everything, { limit: WRITES })
      first([...entries, more], [...model, false], `a scan, limit: ${WRITES}`)
      first(await inChunks(store, everything, { limit: 20_000, reverse: true }), model.reverse(), 'scans, limit: 20000, reverse: true')
      // No longer in forms, which would take as long again.
      const last = await expecting(plainly(own), keys, held, numbers)
      const left = keys.flatMap((key, n): Entry[] => (last(n) ? [[key, last(n)!]] : []))
      await afterReopen(own, subject, (after) => scanned(after, left, false, `a scan after ${WRITES} writes`))
    },
  ),
]

/** Scans a range over and over while a batch is being written, and has each answer looked at. */
async function during(
  writing: MaybePromise<void>,
  store: Store,
  range: KeyRange,
  look: (entries: readonly Entry[], call: string) => void,
): Promise<void> {
  if (!isPromise(writing)) return
  let isOver = false
  const over = writing.finally(() => {
    isOver = true
  })
  // Until it is awaited, its failure must not count as unhandled.
  over.catch(() => {})
  while (!isOver) {
    const { entries } = await store.scan(range, { limit: 100 })
    look(entries, `a scan from ${show(range.gte)} to ${show(range.lt)} while a batch is being written`)
    await nextTurn()
  }
  await over
}

/** Keys that lie apart in the batch of the second round: all of it, or what was there before. */
function roundsApart(entries: readonly Entry[], call: string): void {
  const rounds = entries.map(([, value]) => value[3])
  const [before, written] = [1, 2].map((round) => rounds.filter((one) => one === round).length)
  if (rounds.length !== (before === 0 ? 95 : 2) || (before !== 0 && written !== 0))
    throw new Error(`${call}: expected what was held before or after, got ${before} entries from before and ${written} of the batch`)
}

/** As the engine writes: durable, and only if what is held is what was read before. Returns what each key then holds. */
async function expecting(
  store: Store,
  keys: readonly Uint8Array[],
  held: readonly (Uint8Array | undefined)[],
  numbers: readonly number[],
): Promise<(n: number) => Uint8Array | undefined> {
  const [key, value, next] = [keys[1]!, held[1]!, bytes(3)]
  const written = (n: number): Uint8Array | undefined => (n % 4 === 1 ? next : undefined)
  const batch = numbers.map((n): Write => [keys[n]!, written(n)])
  // Enough to see where a batch is cut, and whether anything of it was applied.
  const few = [...numbers.slice(0, 500), ...numbers.slice(-500)]
  const hold = async (wanted: (n: number) => Uint8Array | undefined, what: string): Promise<void> =>
    first(
      await store.getMany(few.map((n) => keys[n]!)),
      few.map(wanted),
      `getMany of ${few.length} keys after ${WRITES} writes were ${what}`,
    )
  await refused('CONFLICT', () => store.write(batch, { durable: true, expect: { key, value: value.subarray(0, -1) } }))
  await hold((n) => held[n], 'refused')
  await store.write(batch, { durable: true, expect: { key, value } })
  await hold(written, 'applied')
  return written
}

/** As `same`, for lists too long to be shown. */
function first(came: readonly unknown[], wanted: readonly unknown[], what: string, where: (at: number) => string = () => ''): void {
  if (came.length !== wanted.length) throw new Error(`${what}: expected ${wanted.length} answers, got ${came.length}`)
  const at = wanted.findIndex((one, n) => !alike(one, came[n]))
  if (at >= 0) throw new Error(`${what}: expected at index ${at}${where(at)}: ${show(wanted[at])}, got ${show(came[at])}`)
}
