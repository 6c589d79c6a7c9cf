/** The closes that go in, as they come: from a source that may have nothing to give for a long time. */
import type { LedgerClose } from './close.ts'

export type Closes = AsyncIterable<LedgerClose> | Iterable<LedgerClose>

const END = { done: true, value: undefined } as const

/** A source that can be left while it has nothing to give, such as a terminal. */
export class Source implements AsyncIterableIterator<LedgerClose> {
  private readonly inner: AsyncIterator<LedgerClose, unknown>
  /** It was not read to its end. */
  wasLeft = false
  /** Ends what waits for the next close. Made anew each time: a promise raced against many keeps what they resolved to. */
  private wake = (): void => {}

  constructor(closes: Closes) {
    this.inner = Symbol.asyncIterator in closes ? closes[Symbol.asyncIterator]() : inTime(closes)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<LedgerClose, undefined>> {
    if (this.wasLeft) return Promise.resolve(END)
    return new Promise((resolve, reject) => {
      this.wake = () => resolve(END)
      Promise.resolve(this.inner.next())
        .then((next) => (next.done ? END : next))
        .then(resolve, reject)
    })
  }

  /** Tells the source, once. */
  async return(): Promise<typeof END> {
    if (!this.wasLeft) {
      this.wasLeft = true
      await this.inner.return?.()
    }
    return END
  }

  /** The source is told, but not waited for: it may answer only once it has something to give. */
  leave(): void {
    this.wake()
    this.return().catch(() => {})
  }
}

async function* inTime(closes: Iterable<LedgerClose>): AsyncGenerator<LedgerClose, void, undefined> {
  yield* closes
}
