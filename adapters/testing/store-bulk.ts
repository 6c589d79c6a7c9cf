/** The law of amounts: batches and requests as large as the engine makes them, which reach what a store or a protocol below it may be limited to. */
import type { Entry, Store, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { plainly } from './store-answers.ts'
import { alike, inChunks, type MakeLaw, refused, show } from './store-checks.ts'
import { bytes, everything, numbered } from './store-model.ts'

/** Above 65,535, the most that 16 bits count; the engine was measured to make larger ones. */
const WRITES = 70_000
/** Above 32,767, for the same reason, and above the 32,766 variables of a statement that some databases take. */
const ASKED = 35_000

/** Shares no factor with the numbers above, so that steps of it come by all of them, in no order. */
const STEP = 7919

export const bulkLaw = (law: MakeLaw): Law[] => [
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
      await store.write(
        numbers.map((n) => [keys[n]!, held[n]] as const),
        { durable },
      )
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
      await expecting(plainly(own), keys, held, numbers)
    },
  ),
]

/** As the engine writes: durable, and only if what is held is what was read before. */
async function expecting(
  store: Store,
  keys: readonly Uint8Array[],
  held: readonly (Uint8Array | undefined)[],
  numbers: readonly number[],
): Promise<void> {
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
}

/** As `same`, for lists too long to be shown. */
function first(came: readonly unknown[], wanted: readonly unknown[], what: string, where: (at: number) => string = () => ''): void {
  if (came.length !== wanted.length) throw new Error(`${what}: expected ${wanted.length} answers, got ${came.length}`)
  const at = wanted.findIndex((one, n) => !alike(one, came[n]))
  if (at >= 0) throw new Error(`${what}: expected at index ${at}${where(at)}: ${show(wanted[at])}, got ${show(came[at])}`)
}
