/**
 * Reads while history moves: one that may have seen values from before and after something was removed is run again.
 * **Invariant:** what a read gives is what one history says, also over a store that another process writes to.
 */
import { FolioError } from '../errors.ts'
import type { Reader } from '../scan/reader.ts'
import { after, isPromise, type MaybePromise } from '../store.ts'
import type { LedgerWriter } from './writer.ts'

/** Runs a read under the head as of now; at once where the store answers at once. */
export function ask<T>(writer: LedgerWriter, shared: boolean, read: (reader: Reader) => T): MaybePromise<T> {
  const { removals } = writer
  const reader = writer.reader()
  const again = (): MaybePromise<T> => ask(writer, shared, read)
  const given = (answer: T): MaybePromise<T> =>
    shared ? confirmed(writer, reader, () => (writer.removals === removals ? answer : again())) : answer
  const failed = (error: unknown): MaybePromise<T> => {
    if (!(error instanceof FolioError)) throw error
    // Values of both sides do not fit each other, and are taken for damage.
    if (error.code === 'CORRUPT' && (writer.removals !== removals || removals % 2 === 1)) return writer.idle().then(again)
    if (!shared) throw error
    // What another process takes back while it is read may seem not to be there, or damaged.
    return confirmed(writer, reader, () => {
      if (writer.head === reader.head) throw error
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
function confirmed<T>(writer: LedgerWriter, reader: Reader, then: () => MaybePromise<T>): MaybePromise<T> {
  return after(writer.stands(), (stands) => {
    if (!stands) return writer.refresh().then(then)
    if (writer.head === reader.head) reader.confirm()
    return then()
  })
}
