/**
 * A head written by another process, or by an earlier one of ours: whether history continued from what was known, and what a writer needs in order to
 * continue from there.
 */
import { same } from '../bytes.ts'
import { Cache } from '../cache/cache.ts'
import { FolioError } from '../errors.ts'
import { decodeBlock } from '../layout/block.ts'
import { decodeEra, decodeHead, type Era, emptyHead, encodeHead, type Head } from '../layout/head.ts'
import { blockKey, ERA, HEAD } from '../layout/keys.ts'
import { blockNumber, placeInBlock } from '../layout/ordinals.ts'
import { corrupt } from '../layout/seal.ts'
import { logs } from '../logs.ts'
import { ledgerAt } from '../scan/locate.ts'
import { Reader } from '../scan/reader.ts'
import { Unfiled } from '../scan/unfiled.ts'
import { after, type MaybePromise, type Store } from '../store.ts'
import type { Tail, Tails } from './draft.ts'
import { fileAgain } from './filing.ts'

/** The size of a cache for reads under a head that may not continue from the one before. */
const LOOK_BYTES = 2 ** 20

/** What distinguishes one state of a store from every other. */
export interface State {
  readonly head: Uint8Array | undefined
  readonly era: Era
}

export const stateOf = (store: Store): MaybePromise<State> =>
  after(store.getMany([HEAD, ERA]), ([head, era]) => ({ head, era: decodeEra(era) }))

export const isSame = (one: State, other: State): boolean => one.era === other.era && same(one.head, other.head)

/** A head as stored: in a shared store no two are the same, even if ledgers were rolled back and appended again between them. */
export const inEra = ({ capabilities }: Store, head: Head, era: Era): Head =>
  capabilities.shared && head.last > 0 ? { ...head, era } : head

/** A read on which a write will be based. Under a head that is no longer current, not everything may be there. @throws CONFLICT if that is so */
export async function readToWrite<T>(store: Store, state: State, read: () => MaybePromise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!store.capabilities.shared || isSame(await stateOf(store), state)) throw error
    throw new FolioError('CONFLICT', {}, error)
  }
}

/** Whether a store holds a head whose write failed; also true if the store does not answer. */
export async function mayHold(store: Store, head: Head): Promise<boolean> {
  try {
    return same(await store.get(HEAD), encodeHead(head))
  } catch {
    return true
  }
}

/** Everything on which a writer builds. */
export interface Stand {
  readonly state: State
  readonly head: Head
  /** The records not filed yet. */
  readonly unfiled: Unfiled
  /** The rows with which the next blocks start. */
  readonly tails: Tails
}

export interface Following extends Stand {
  /** History has only grown. */
  readonly grown: boolean
  /** What is cached is still valid. */
  readonly kept: boolean
}

/** What is known of a store: the state it had, the head of that state, and what belongs to it. */
export interface Known {
  readonly state: State
  readonly head: Head
  readonly unfiled: Unfiled
  readonly cache: Cache
}

/** What follows if the store has a state other than the known one. */
export async function lookFor(store: Store, known: Known): Promise<Following | undefined> {
  const state = await stateOf(store)
  if (isSame(state, known.state)) return undefined
  try {
    const following = await whatFollows(store, known, state)
    // A read during which history was rolled back belongs to neither.
    if ((await stateOf(store)).era === state.era) return following
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
  const head = state.head ? decodeHead(state.head) : emptyHead
  const grown = head.last >= before.last && (before.last === 0 || (await holds(store, head, before)))
  // What was rolled back and appended again may be other records under the same hashes, counted from another first ledger, and filed differently.
  const unbroken = grown && state.era === era
  // A cached list is recognised as old by a newer ledger that filed it; pruning files without one.
  const kept = unbroken && head.oldest === before.oldest
  const reader = new Reader(store, kept ? cache : new Cache(LOOK_BYTES), head, new Unfiled())
  // What already waited is not computed again, apart from what has been filed since.
  const goesOn = unbroken && head.filed >= before.filed && head.filed < before.last
  const still = !goesOn ? new Unfiled() : head.filed === before.filed ? waited.whole : waited.whole.split(head.filedCounts).newer
  const added = await reader.run((read) => fileAgain(read, goesOn ? before.counts : head.filedCounts, head.counts))
  const unfiled = still.with(added)
  return { state, head, grown, kept, unfiled, tails: await tailsOf(store, head) }
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

/** The rows with which the next blocks under a head start. */
export async function tailsOf(store: Store, head: Head): Promise<Tails> {
  const tails = new Map<number, Tail>()
  for (const resource of logs) {
    const count = head.counts[resource.tag]!
    const rest = placeInBlock(resource, count)
    if (rest === 0) continue
    const key = blockKey(resource.tag, blockNumber(resource, count))
    const value = await store.get(key)
    if (value === undefined) throw corrupt(key, `the last block of the ${resource.name} log is missing`)
    const block = decodeBlock(key, resource, value)
    if (block.count < rest) throw corrupt(key, `the last block of the ${resource.name} log lacks records`)
    tails.set(resource.tag, { resource, rows: block.rows(rest) })
  }
  return tails
}
