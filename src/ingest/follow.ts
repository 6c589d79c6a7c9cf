/**
 * A head that another process has written, or an earlier one of ours: whether history went on from what was known, and what a writer must have at
 * hand to go on from there.
 */
import { same } from '../bytes.ts'
import { FolioError } from '../errors.ts'
import { Block } from '../layout/block.ts'
import { Cache } from '../layout/cache.ts'
import { decodeEra, decodeHead, type Era, emptyHead, encodeHead, type Head } from '../layout/head.ts'
import { blockKey, ERA, HEAD } from '../layout/keys.ts'
import { corrupt, unseal } from '../layout/seal.ts'
import { logs } from '../logs.ts'
import { ledgerAt } from '../scan/locate.ts'
import { Reader } from '../scan/reader.ts'
import { Unfiled } from '../scan/unfiled.ts'
import { after, type MaybePromise, type Store } from '../store.ts'
import type { Tail, Tails } from './draft.ts'
import { fileAgain } from './filing.ts'

/** Of a cache for reads under a head that may not go on from the one before. */
const LOOK_BYTES = 2 ** 20

/** What tells one state of a store from every other. */
export interface State {
  readonly head: Uint8Array | undefined
  readonly era: Era
}

export const stateOf = (store: Store): MaybePromise<State> =>
  after(store.getMany([HEAD, ERA]), ([head, era]) => ({ head, era: decodeEra(era) }))

export const isSame = (one: State, other: State): boolean => one.era === other.era && same(one.head, other.head)

/** A head as it is stored: where the store is shared, no two are the same, though ledgers were taken back and appended again between them. */
export const inEra = ({ capabilities }: Store, head: Head, era: Era): Head =>
  capabilities.shared && head.last > 0 ? { ...head, era } : head

/** A read to write by. Under a head that does not stand any more, not all may be there. @throws CONFLICT where that is so */
export async function readToWrite<T>(store: Store, state: State, read: () => MaybePromise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!store.capabilities.shared || isSame(await stateOf(store), state)) throw error
    throw new FolioError('CONFLICT', {}, error)
  }
}

/** Whether a store holds a head whose write failed; true also where it does not say. */
export async function mayHold(store: Store, head: Head): Promise<boolean> {
  try {
    return same(await store.get(HEAD), encodeHead(head))
  } catch {
    return true
  }
}

/** All that a writer stands on. */
export interface Stand {
  readonly state: State
  readonly head: Head
  /** The records not filed yet. */
  readonly unfiled: Unfiled
  /** The rows that the next blocks start with. */
  readonly tails: Tails
}

export interface Following extends Stand {
  /** History has only grown. */
  readonly grown: boolean
  /** What is cached holds still. */
  readonly kept: boolean
}

/** What is known of a store: the state it had, the head of that, and what belongs to it. */
export interface Known {
  readonly state: State
  readonly head: Head
  readonly unfiled: Unfiled
  readonly cache: Cache
}

/** What follows where the store has another state than the one known. */
export async function lookFor(store: Store, known: Known): Promise<Following | undefined> {
  const state = await stateOf(store)
  if (isSame(state, known.state)) return undefined
  try {
    const following = await whatFollows(store, known, state)
    // What history was taken back under is of neither.
    if ((await stateOf(store)).era === state.era) return following
  } catch (error) {
    // Of a head that does not stand any more, not all may be there.
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
  // What was taken back and appended again may be other records under the same hashes, counted from another first ledger, and filed otherwise.
  const unbroken = grown && state.era === era
  // Cached lists are known to be old by a newer ledger that filed them; pruning files without one.
  const kept = unbroken && head.oldest === before.oldest
  const reader = new Reader(store, kept ? cache : new Cache(LOOK_BYTES), head, new Unfiled())
  // What waited before is not worked out again, but for what has been filed since.
  const goesOn = unbroken && head.filed >= before.filed && head.filed < before.last
  const still = !goesOn ? new Unfiled() : head.filed === before.filed ? waited.whole : waited.whole.split(head.filedCounts).newer
  const added = await reader.run((read) => fileAgain(read, goesOn ? before.counts : head.filedCounts, head.counts))
  const unfiled = still.with(added)
  return { state, head, grown, kept, unfiled, tails: await tailsOf(store, head) }
}

/** True where history under `head` goes on from `before`. Not by what is cached: that is the history that was. */
async function holds(store: Store, head: Head, before: Head): Promise<boolean> {
  if (before.last < head.oldest) return false
  const reader = new Reader(store, new Cache(LOOK_BYTES), head, new Unfiled())
  return reader.run((read) => {
    const { block, at } = ledgerAt(read, before.last)
    return block.members(at)['hash'] === before.hash
  })
}

/** The rows that the next blocks under a head start with. */
export async function tailsOf(store: Store, head: Head): Promise<Tails> {
  const tails = new Map<number, Tail>()
  for (const resource of logs) {
    const count = head.counts[resource.tag]!
    const rest = count % (1 << resource.shift)
    if (rest === 0) continue
    const key = blockKey(resource.tag, Math.floor(count / (1 << resource.shift)))
    const value = await store.get(key)
    if (value === undefined) throw corrupt(key, `the last block of the ${resource.name} log is missing`)
    const block = Block.of(resource, unseal(key, value), key)
    if (block.count < rest) throw corrupt(key, `the last block of the ${resource.name} log lacks records`)
    tails.set(resource.tag, { resource, rows: block.rows(rest) })
  }
  return tails
}
