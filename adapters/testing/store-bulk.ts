/** The law of amounts: batches and requests as large as the engine makes them, which reach what a store or a protocol below it may be limited to. */
import type { Entry, Write } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { inChunks, type MakeLaw, show } from './store-checks.ts'
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
    async (store) => {
      const durable = false
      const value = (n: number, round: number): Uint8Array => bytes(n >> 16, n >> 8, n, round)
      const held = new Map<number, number>()
      const put = (n: number, round: number): Write => {
        held.set(n, round)
        return [numbered(n), value(n, round)]
      }
      const remove = (n: number): Write => {
        held.delete(n)
        return [numbered(n), undefined]
      }
      await store.write(
        Array.from({ length: 1000 }, (_, n) => put(n * 50, 1)),
        { durable },
      )
      const numbers = Array.from({ length: WRITES }, (_, n) => (n * STEP) % WRITES)
      await store.write(
        numbers.map((n) => (n % 20 === 10 ? remove(n) : put(n, 2))),
        { durable },
      )
      const model = [...held].sort(([n], [m]) => n - m).map(([n, round]): Entry => [numbered(n), value(n, round)])
      // The last ones, which are lost if a batch is cut.
      const asked = numbers.slice(-ASKED)
      const answers = await store.getMany(asked.map(numbered))
      const wanted = asked.map((n) => (held.has(n) ? value(n, held.get(n)!) : undefined))
      first(answers, wanted, `getMany of ${ASKED} keys`, (at) => `, for the key ${show(numbered(asked[at]!))}`)
      const { entries, more } = await store.scan(everything, { limit: WRITES })
      first([...entries, more], [...model, false], `a scan, limit: ${WRITES}`)
      first(await inChunks(store, everything, { limit: 20_000, reverse: true }), model.reverse(), 'scans, limit: 20000, reverse: true')
    },
  ),
]

/** As `same`, for lists too long to be shown. */
function first(came: readonly unknown[], wanted: readonly unknown[], what: string, where: (at: number) => string = () => ''): void {
  if (came.length !== wanted.length) throw new Error(`${what}: expected ${wanted.length} answers, got ${came.length}`)
  const at = wanted.findIndex((one, n) => !alike(one, came[n]))
  if (at >= 0) throw new Error(`${what}: expected at index ${at}${where(at)}: ${show(wanted[at])}, got ${show(came[at])}`)
}

const alike = (a: unknown, b: unknown): boolean => {
  if (!(a instanceof Uint8Array ? b instanceof Uint8Array : Array.isArray(a) && Array.isArray(b))) return a === b
  const [one, other] = [a as ArrayLike<unknown>, b as ArrayLike<unknown>]
  if (one.length !== other.length) return false
  for (let n = 0; n < one.length; n++) if (!alike(one[n], other[n])) return false
  return true
}
