/**
 * Reads while history moves: one that may have seen values from before and after something was removed is run again.
 * **Invariant:** what a read gives is what one history says, also over a store that another process writes to.
 */
import { FolioError } from '../errors.ts'
import type { Head } from '../layout/head.ts'
import { after, isPromise, type MaybePromise } from '../store.ts'
import type { Reader } from './reader.ts'

/** History, as a read sees it move. */
export interface History {
  readonly head: Head
  /** Counts the beginning and the end of each step that removes. */
  readonly removals: number
  /** A reader under the head as it is now. */
  reader(): Reader
  /** True where history in the store is the one known here. */
  stands(): MaybePromise<boolean>
  /** Takes on what another process has written. */
  refresh(): Promise<unknown>
  /** Resolves when no step is under way. */
  idle(): Promise<void>
}

/** Runs a read under the head as of now; at once where the store answers at once. */
export function ask<T>(history: History, shared: boolean, read: (reader: Reader) => T): MaybePromise<T> {
  const { removals } = history
  const reader = history.reader()
  const again = (): MaybePromise<T> => ask(history, shared, read)
  const given = (answer: T): MaybePromise<T> =>
    shared ? confirmed(history, reader, () => (history.removals === removals ? answer : again())) : answer
  const failed = (error: unknown): MaybePromise<T> => {
    if (!(error instanceof FolioError)) throw error
    // Values of both sides do not fit each other, and are taken for damage.
    if (error.code === 'CORRUPT' && (history.removals !== removals || removals % 2 === 1)) return history.idle().then(again)
    if (!shared) throw error
    // What another process takes back while it is read may seem not to be there, or damaged.
    return confirmed(history, reader, () => {
      if (history.head === reader.head) throw error
      return again()
    })
  }
  let answer: MaybePromise<T>
  try {
    answer = reader.run(read)
  } catch (error) {
    return failed(error)
  }
  return isPromise(answer) ? answer.then(given, failed) : given(answer)
}

/** Runs `then` when the head known here is the one in the store: another process may have taken history back meanwhile. */
function confirmed<T>(history: History, reader: Reader, then: () => MaybePromise<T>): MaybePromise<T> {
  return after(history.stands(), (stands) => {
    if (!stands) return history.refresh().then(then)
    if (history.head === reader.head) reader.confirm()
    return then()
  })
}
