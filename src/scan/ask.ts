/**
 * Reads while history moves: a read that may have seen values from both before and after a removal is run again.
 * **Invariant:** what a read gives is what one history says, even over a store to which another process writes.
 */
import { FolioError } from '../errors.ts'
import type { Head } from '../layout/head.ts'
import type { Resource } from '../query.ts'
import { after, isPromise, type MaybePromise } from '../store.ts'
import type { Reader } from './reader.ts'

/** History, as a moving read sees it. */
export interface ReadableHistory {
  readonly head: Head
  /** Counts the beginning and the end of each step that removes. */
  readonly removals: number
  /** Resolves when the step that is removing now is over: what takes many of them, such as a long prune, is not waited for. */
  stepped(): Promise<void>
  /** A reader under the head as it is now. */
  reader(): Reader
  /** True if history in the store is the one known here. */
  stands(): MaybePromise<boolean>
}

/** Whoever moves it. */
export interface HistoryWriter {
  /** Adopts what another process has written. */
  refresh(): Promise<unknown>
}

/** What a read needs to know about what it reads. */
export interface Ground {
  /** Other processes write to the store. */
  readonly shared: boolean
  /** There is only one state of the book, that of the store: while a step removes, the head is ahead of it. */
  readonly book: boolean
}

/**
 * Runs a read under the current head; without a promise if the store answers without one.
 * @param caughtUp what was stored before it was asked for is known here
 */
export function ask<T>(
  history: ReadableHistory,
  writer: HistoryWriter,
  ground: Ground,
  read: (reader: Reader) => T,
  caughtUp = false,
): MaybePromise<T> {
  const { removals } = history
  const again = (known = caughtUp): MaybePromise<T> => ask(history, writer, ground, read, known)
  if (ground.book && isRemoving(removals)) return history.stepped().then(() => again())
  const { shared } = ground
  const reader = history.reader()
  // What arrived with awaits in between may mix what was there before and what was appended in its place.
  const still = (answer: T): MaybePromise<T> => (history.removals === removals ? answer : again())
  // What was missing may be in what others have written; what nobody wrote is looked for no third time.
  const isAnew = (moved: boolean, lacks: boolean): boolean => moved && lacks && !caughtUp
  const given = (answer: T): MaybePromise<T> => {
    if (!shared) return still(answer)
    return confirmed(history, writer, reader, (moved) => (isAnew(moved, reader.behind) ? again(true) : still(answer)))
  }
  const failed = (error: unknown): MaybePromise<T> => {
    if (!(error instanceof FolioError)) throw error
    // Values from both sides do not fit together: what they refer to may seem missing, or damaged.
    if (history.removals !== removals || (error.code === 'CORRUPT' && isRemoving(removals))) return history.stepped().then(() => again())
    if (!shared) throw error
    return confirmed(history, writer, reader, (moved) => {
      if (isAnew(moved, reader.behind || error.code === 'NOT_FOUND')) return again(true)
      if (history.removals === removals) throw error
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

/** The reads of a ledger. */
export class Reads {
  private readonly history: ReadableHistory
  private readonly writer: HistoryWriter
  private readonly logs: Ground
  private readonly book: Ground
  private readonly underWay = new Set<Promise<unknown>>()

  constructor(history: ReadableHistory, writer: HistoryWriter, shared: boolean) {
    this.history = history
    this.writer = writer
    this.logs = { shared, book: false }
    this.book = { shared, book: true }
  }

  /** As {@link ask}. @param of what is read, if that may be state */
  ask<T>(read: (reader: Reader) => T, of?: Resource): MaybePromise<T> {
    const answer = ask(this.history, this.writer, of?.kept === 'state' ? this.book : this.logs, read)
    if (isPromise(answer)) this.await(answer)
    return answer
  }

  private await(answer: Promise<unknown>): void {
    const forget = (): void => void this.underWay.delete(answer)
    this.underWay.add(answer)
    answer.then(forget, forget)
  }

  /** Resolves when no read is in progress. */
  async rest(): Promise<void> {
    await Promise.allSettled(this.underWay)
  }
}

/** True between the beginning and the end of a step that removes. */
const isRemoving = (removals: number): boolean => removals % 2 === 1

/**
 * Runs `then` once the head known here is the one in the store: another process may have rolled history back meanwhile.
 * @param then told whether that head had to be adopted
 */
function confirmed<T>(
  history: ReadableHistory,
  writer: HistoryWriter,
  reader: Reader,
  then: (moved: boolean) => MaybePromise<T>,
): MaybePromise<T> {
  return after(history.stands(), (stands) => {
    if (stands) {
      if (history.head === reader.head) reader.confirm()
      return then(false)
    }
    // It may be a step of this process that is stored and not known yet: a look would wait for all steps that follow.
    if (isRemoving(history.removals)) return history.stepped().then(() => confirmed(history, writer, reader, then))
    return writer.refresh().then(() => then(true))
  })
}
