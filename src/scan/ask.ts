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

/** The reads of a ledger. */
export class Reads {
  private readonly history: ReadableHistory
  private readonly writer: HistoryWriter
  private readonly shared: boolean
  private readonly underWay = new Set<Promise<unknown>>()

  /** @param shared other processes write to the store */
  constructor(history: ReadableHistory, writer: HistoryWriter, shared: boolean) {
    this.history = history
    this.writer = writer
    this.shared = shared
  }

  /**
   * Runs a read under the current head; without a promise if the store answers without one.
   * @param of what is read, if that may be state: there is only one state, that of the store, and while a step removes, the head is ahead of it
   */
  ask<T>(read: (reader: Reader) => T, of?: Resource): MaybePromise<T> {
    const answer = this.run(read, of?.kept === 'state')
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

  /** @param caughtUp what was stored before it was asked for is known here */
  private run<T>(read: (reader: Reader) => T, ofState: boolean, caughtUp = false): MaybePromise<T> {
    const { history } = this
    const { removals } = history
    if (ofState && isRemoving(removals)) return history.stepped().then(() => this.run(read, ofState, caughtUp))
    const reader = history.reader()
    const again = (known = caughtUp): MaybePromise<T> => this.run(read, ofState, known)
    let answer: MaybePromise<T>
    try {
      answer = reader.run(read)
    } catch (error) {
      return this.judge(reader, removals, caughtUp, again).failed(error)
    }
    // What a store gives at once, nobody has moved meanwhile.
    if (!this.shared && !isPromise(answer)) return history.removals === removals ? answer : again()
    const { given, failed } = this.judge(reader, removals, caughtUp, again)
    return isPromise(answer) ? answer.then(given, failed) : given(answer)
  }

  /** What becomes of what a read gave, or failed with, if history may have moved meanwhile. */
  private judge<T>(reader: Reader, removals: number, caughtUp: boolean, again: (known?: boolean) => MaybePromise<T>) {
    const { history, shared } = this
    // What arrived with awaits in between may mix what was there before and what was appended in its place.
    const still = (answer: T): MaybePromise<T> => (history.removals === removals ? answer : again())
    // What was missing may be in what others have written; what nobody wrote is looked for no third time.
    const isAnew = (moved: boolean, lacks: boolean): boolean => moved && lacks && !caughtUp
    const given = (answer: T): MaybePromise<T> => {
      if (!shared) return still(answer)
      return this.confirmed(reader, (moved) => (isAnew(moved, reader.behind) ? again(true) : still(answer)))
    }
    const failed = (error: unknown): MaybePromise<T> => {
      if (!(error instanceof FolioError)) throw error
      // Values from both sides do not fit together: what they refer to may seem missing, or damaged.
      if (history.removals !== removals || (error.code === 'CORRUPT' && isRemoving(removals))) return history.stepped().then(() => again())
      if (!shared) throw error
      return this.confirmed(reader, (moved) => {
        if (isAnew(moved, reader.behind || error.code === 'NOT_FOUND')) return again(true)
        if (history.removals === removals) throw error
        return again()
      })
    }
    return { given, failed }
  }

  /**
   * Runs `then` once the head known here is the one in the store: another process may have rolled history back meanwhile.
   * @param then told whether that head had to be adopted
   */
  private confirmed<T>(reader: Reader, then: (moved: boolean) => MaybePromise<T>): MaybePromise<T> {
    const { history } = this
    return after(history.stands(), (stands) => {
      if (stands) {
        if (history.head === reader.head) reader.confirm()
        return then(false)
      }
      // It may be a step of this process that is stored and not known yet: a look would wait for all steps that follow.
      if (isRemoving(history.removals)) return history.stepped().then(() => this.confirmed(reader, then))
      return this.writer.refresh().then(() => then(true))
    })
  }
}

/** True between the beginning and the end of a step that removes. */
const isRemoving = (removals: number): boolean => removals % 2 === 1
