/** A batch of ledger closes on its way: what it holds, and who waits for what until the store is given it. */
import type { LedgerClose } from './close.ts'
import type { Prepared } from './encode.ts'
import { total } from './filing.ts'
import type { BatchBehind } from './writer.ts'

export class Batch implements BatchBehind {
  readonly closes: Prepared[] = []
  /** The same as they came, if one may have to be named. */
  readonly given: LedgerClose[] = []
  /** How many records its closes add. */
  records = 0
  isOpen = true
  /** What has to be written and told first. This one fails if that does. */
  readonly before: Promise<unknown>
  /** Resolves when the store was given it, or will not be given it. */
  readonly over: Promise<void>
  private readonly mayBeWritten: () => boolean
  private waits: boolean
  private added = (): void => {}
  private rests = (): void => {}
  private end!: () => void

  /**
   * @param before what has to be written and told first, if anything; this one fails if that does
   * @param mayBeWritten asked when it has its turn; may throw
   */
  constructor(before: Promise<unknown> | undefined, mayBeWritten: () => boolean) {
    this.waits = before !== undefined
    this.before = before ?? Promise.resolve()
    this.mayBeWritten = mayBeWritten
    this.over = new Promise((resolve) => {
      this.end = resolve
    })
    const isNext = (): void => {
      this.waits = false
    }
    this.before.then(isNext, isNext)
  }

  /** Adds a close; only while it is open. Resolves when there is nothing to do for it: it is drafted and waits, or the store was given it. */
  add(close: Prepared): Promise<void> {
    this.closes.push(close)
    this.records += total(close.encoded?.added ?? [])
    return new Promise((resolve) => {
      this.rests = resolve
      this.added()
    })
  }

  more(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.added = () => resolve(true)
      this.before.then(() => resolve(false), reject)
    })
  }

  drafted(): void {
    // If no batch is before it any more, it is about to be handed over.
    if (this.waits) this.rests()
  }

  isWanted(): boolean {
    this.isOpen = false
    return this.mayBeWritten()
  }

  handed(): void {
    this.isOpen = false
    this.rests()
    this.end()
  }
}
