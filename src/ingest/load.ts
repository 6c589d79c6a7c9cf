/** What a store holds when it is opened: the state of history, and what a writer needs in order to continue from there. */

import { FolioError, hasCode } from '../errors.ts'
import { type Cut, decodeHead, decodeIntent, emptyHead, type HighWater } from '../layout/head.ts'
import { HEAD, INTENT } from '../layout/keys.ts'
import { corrupt } from '../layout/seal.ts'
import { ledgerAt } from '../scan/locate.ts'
import { Reader } from '../scan/reader.ts'
import { Unfiled } from '../scan/unfiled.ts'
import type { MaybePromise, Store } from '../store.ts'
import { Damage } from './damage.ts'
import { fileAgain } from './filing.ts'
import { isSameNote, readHighWater } from './high-water.ts'
import type { History } from './history.ts'
import { holdsRecords } from './identity.ts'
import { checkNewest } from './newest.ts'
import type { Between } from './parts.ts'
import { isOfOne, isSame, type Snapshot, type State, stateOf, tailsOf } from './state.ts'

/**
 * Takes up what an earlier process left: under the head that is known, or if another one may be writing, all of it under one head, with no rollback in
 * between.
 */
export async function snapshotFor(history: History): Promise<Snapshot> {
  const { store } = history
  if (!store.capabilities.shared) return loadUnder(history.state, history)
  for (;;) {
    // Before the state: whoever appends meanwhile also notes it, and would go on doing so however often this begins again.
    const noted = await readHighWater(store.note)
    const state = await stateOf(store)
    try {
      const loaded = await loadUnder(state, history, () => noted)
      const now = await stateOf(store)
      // What others append meanwhile, the first look adopts.
      if (isOfOne(loaded, now)) return loaded
    } catch (error) {
      // A note without an era counts in any: another process may have lowered it since it was read, and then rolled history back.
      const isLowered = async () => hasCode(error, 'STORE_WENT_BACK') && !isSameNote(await readHighWater(store.note), noted)
      if (isSame(await stateOf(store), state) && !(await isLowered())) throw error
    }
    history.cache.clear()
  }
}

/** @param noted gives what is noted, if that was read before the state */
async function loadUnder(state: State, history: History, noted?: () => HighWater | undefined): Promise<Snapshot> {
  const { store, cache, highWater } = history
  // Rolled back to nothing, a store loses its head and its records in one batch.
  if (!state.head && (await holdsRecords(store))) {
    // A batch that a handle was given up over may have come only now, whole, with its head.
    const come = await store.get(HEAD)
    if (come === undefined) throw corrupt(HEAD, 'the head is missing')
    return loadUnder({ ...state, head: come }, history, noted)
  }
  const head = state.head ? decodeHead(state.head) : emptyHead
  const damage = new Damage()
  const waits: Between = [head.filedCounts, head.counts]
  const unfiled = await fileAgain((read) => new Reader(store, cache, head, new Unfiled()).run(read), waits, damage)
  const tails = await tailsOf(store, head, damage)
  const reader = (): Reader => new Reader(store, cache, head, unfiled)
  await checkNewest(store, reader(), damage)
  await highWater.check(head, (ledger) => damage.around(() => hashUnder(reader(), ledger)), state.era, noted)
  return { state, head, tails, unfiled, damage: damage.found }
}

/** The hash of a ledger; null if it is not held. @throws CORRUPT */
export const hashUnder = (reader: Pick<Reader, 'run'>, ledger: number): MaybePromise<string | null> =>
  reader.run((read) => hashOf(read, ledger) ?? null)

/** The hash of a ledger that is held. */
export function hashOf(reader: Reader, sequence: number): string | undefined {
  const { head } = reader
  if (head.last === 0 || sequence > head.last || sequence < head.oldest) return undefined
  const { block, at } = ledgerAt(reader, sequence)
  return block.members(at)['hash'] as string
}

/** The rollback or pruning that was begun and not finished. @throws STORE_UNREPAIRED, STORE_INCOMPLETE */
export async function unfinished(store: Store): Promise<Cut | undefined> {
  const bytes = await store.get(INTENT)
  const intent = bytes && decodeIntent(bytes)
  if (intent && 'repair' in intent) throw new FolioError('STORE_UNREPAIRED')
  if (intent && 'copy' in intent) throw new FolioError('STORE_INCOMPLETE')
  return intent
}
