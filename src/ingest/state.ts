/** The state of a store, by which it is known again, and what a writer takes from it in order to go on from there. */
import { same } from '../bytes.ts'
import { decodeBlock } from '../layout/block.ts'
import { decodeEra, type Era, encodeHead, type Head } from '../layout/head.ts'
import { blockKey, ERA, HEAD } from '../layout/keys.ts'
import { blockNumber, placeInBlock } from '../layout/ordinals.ts'
import { corrupt } from '../layout/seal.ts'
import { logs } from '../logs.ts'
import type { Resource } from '../query.ts'
import type { Unfiled } from '../scan/unfiled.ts'
import { after, type MaybePromise, type Store } from '../store.ts'
import type { Damage } from './damage.ts'
import type { Tail, Tails } from './draft.ts'

/** What distinguishes one state of a store from every other. */
export interface State {
  readonly head: Uint8Array | undefined
  readonly era: Era
}

/** Everything on which a writer builds, as of one state of its store. */
export interface Snapshot {
  readonly state: State
  readonly head: Head
  /** The records not filed yet. */
  readonly unfiled: Unfiled
  /** The rows with which the next blocks start. */
  readonly tails: Tails
  /** Why nothing can be written upon it, if that is so: records that wait, or begin the next blocks, or the newest ledger, cannot be read. */
  readonly damage: unknown
}

export const stateOf = (store: Store): MaybePromise<State> =>
  after(store.getMany([HEAD, ERA]), ([head, era]) => ({ head, era: decodeEra(era) }))

/** False if the head may be older than the era: a store may answer for several keys one after another. A head without an era is of the first one. */
const isOne = ({ head, state }: Snapshot): boolean => head.last === 0 || (head.era ?? decodeEra(undefined)) === state.era

/** True if a snapshot shows one state of its store, and nothing was removed since: what others have appended meanwhile may be missing. */
export const isOfOne = (snapshot: Snapshot, now: State): boolean =>
  now.era === snapshot.state.era && (isOne(snapshot) || isSame(now, snapshot.state))

export const isSame = (one: State, other: State): boolean => one.era === other.era && same(one.head, other.head)

/** A head as stored: in a shared store no two are the same, even if ledgers were rolled back and appended again between them. */
export const inEra = ({ capabilities }: Store, head: Head, era: Era): Head =>
  capabilities.shared && head.last > 0 ? { ...head, era } : head

/** Whether a store holds a head whose write failed; also true if the store does not answer. */
export async function mayHold(store: Store, head: Head): Promise<boolean> {
  try {
    return same(await store.get(HEAD), encodeHead(head))
  } catch {
    return true
  }
}

/** The rows with which the next blocks under a head start. @param damage where it is put if some cannot be read @throws CORRUPT, without that */
export async function tailsOf(store: Store, head: Head, damage?: Damage): Promise<Tails> {
  const tails = new Map<number, Tail>()
  for (const resource of logs) {
    const tail = await (damage ? damage.around(() => tailOf(store, head, resource)) : tailOf(store, head, resource))
    if (tail) tails.set(resource.tag, tail)
  }
  return tails
}

async function tailOf(store: Store, head: Head, resource: Resource): Promise<Tail | undefined> {
  const count = head.counts[resource.tag]!
  const rest = placeInBlock(resource, count)
  if (rest === 0) return undefined
  const key = blockKey(resource.tag, blockNumber(resource, count))
  const value = await store.get(key)
  if (value === undefined) throw corrupt(key, `the last block of the ${resource.name} log is missing`)
  const block = decodeBlock(key, resource, value)
  if (block.count < rest) throw corrupt(key, `the last block of the ${resource.name} log lacks records`)
  return { resource, rows: block.rows(rest) }
}
