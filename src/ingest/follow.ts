/**
 * A head written by another process, or by an earlier one of ours: whether history continued from what was known, and what a writer needs in order to
 * continue from there.
 */
import { Cache } from '../cache/cache.ts'
import { decodeHead, decodeIntent, type Era, emptyHead, type Head, leftSince } from '../layout/head.ts'
import { ERA, INTENT } from '../layout/keys.ts'
import { ledgerAt } from '../scan/locate.ts'
import { Reader } from '../scan/reader.ts'
import { Unfiled } from '../scan/unfiled.ts'
import type { Store } from '../store.ts'
import { Damage } from './damage.ts'
import { fileAgain } from './filing.ts'
import { checkEmpty } from './identity.ts'
import type { Between } from './parts.ts'
import { isOfOne, isSame, type Snapshot, type State, stateOf, tailsOf } from './state.ts'

/** The size of a cache for reads under a head that may not continue from the one before. */
const LOOK_BYTES = 2 ** 20

/** What follows what was known. */
export interface Following extends Snapshot {
  /** History has only grown. */
  readonly grown: boolean
  /** What is cached is still valid. */
  readonly kept: boolean
  /** The newest ledger of what was known that was never rolled back since; undefined if that is not known. */
  readonly left: number | undefined
}

/** What is known of a store, and what was cached under it. */
interface Known extends Omit<Snapshot, 'tails' | 'damage'> {
  readonly cache: Cache
}

/** What follows if the store has a state other than the known one. */
export async function lookFor(store: Store, known: Known): Promise<Following | undefined> {
  const state = await stateOf(store)
  if (isSame(state, known.state)) return undefined
  try {
    const following = await whatFollows(store, known, state)
    // A read during which history was rolled back belongs to neither.
    if (isOfOne(following, await stateOf(store))) return following
  } catch (error) {
    // Under a head that is no longer current, not everything may be there.
    if (isSame(await stateOf(store), state)) throw error
  }
  return lookFor(store, known)
}

async function whatFollows(
  store: Store,
  { head: before, state: { era }, unfiled: waited, cache }: Known,
  state: State,
): Promise<Following> {
  if (!state.head && !(await isRemade(store))) await checkEmpty(store)
  const head = state.head ? decodeHead(state.head) : emptyHead
  const grown = head.last >= before.last && (before.last === 0 || (await holds(store, head, before)))
  // Whatever takes history back begins an era, but for a repair that built a damaged head again.
  const untold = grown ? Number.POSITIVE_INFINITY : undefined
  const lowest = state.era === era ? untold : await lastLeft(store, head, era)
  // What was rolled back and appended again may be other records under the same hashes, counted from another first ledger, and filed differently.
  const unbroken = grown && lowest === Number.POSITIVE_INFINITY
  // A cached list is recognised as old by a newer ledger that filed it; pruning may file without one.
  const kept = unbroken && (state.era === era ? head.oldest === before.oldest : head.filed === before.filed)
  const within = kept ? cache : new Cache(LOOK_BYTES)
  // What already waited is not computed again, apart from what has been filed since.
  const goesOn = unbroken && waited.isExact && head.filed >= before.filed && head.filed < before.last
  const still = !goesOn ? new Unfiled() : head.filed === before.filed ? waited.whole : waited.whole.split(head.filedCounts).newer
  const damage = new Damage()
  const waits: Between = [goesOn ? before.counts : head.filedCounts, head.counts]
  const added = await fileAgain((read) => new Reader(store, within, head, new Unfiled()).run(read), waits, damage)
  const unfiled = still.with(added)
  const left = grown ? before.last : lowest
  const tails = await tailsOf(store, head, damage)
  return { state, head, grown, kept, left, unfiled, tails, damage: damage.found }
}

/** Rolled back to nothing, a store loses its head and its records in one batch; a repair that gives them up, or a copy, takes several. */
async function isRemade(store: Store): Promise<boolean> {
  const begun = await store.get(INTENT)
  const intent = begun && decodeIntent(begun)
  return intent !== undefined && ('repair' in intent || 'copy' in intent)
}

/**
 * The newest ledger that every rollback since an era has left, or will have left once it is done; infinitely new if there was none. Whoever is told of
 * it goes on from there, and would miss what replaces ledgers that are removed after that.
 */
async function lastLeft(store: Store, head: Head, since: Era): Promise<number | undefined> {
  const [eras, intent] = await store.getMany([ERA, INTENT])
  const left = leftSince(eras, since)
  const cut = intent && decodeIntent(intent)
  if (left === undefined || !cut || !('rollback' in cut)) return left
  return Math.min(left, cut.rollback < head.oldest ? 0 : cut.rollback)
}

/** True if history under `head` continues from `before`. Ignores the cache, which holds the earlier history. */
async function holds(store: Store, head: Head, before: Head): Promise<boolean> {
  if (before.last < head.oldest) return false
  const reader = new Reader(store, new Cache(LOOK_BYTES), head, new Unfiled())
  return reader.run((read) => {
    const { block, at } = ledgerAt(read, before.last)
    return block.members(at)['hash'] === before.hash
  })
}
