/** A walk through a listing to its end: an async iterator over the records of consecutive pages. */
import { done, Item, type Stream } from './stream.ts'

/** The records of pages, one per pull, without waiting for those at hand. Overlapping pulls are answered in order. */
export class Walk<R> implements Stream<R> {
  private readonly pages: AsyncGenerator<{ readonly records: readonly R[] }, void, undefined>
  private records: readonly R[] = []
  private at = 0
  /** Pulls that wait for a page, or for the pulls before them. */
  private waiting = 0
  private left = false
  private queue: Promise<unknown> = Promise.resolve()

  constructor(pages: AsyncGenerator<{ readonly records: readonly R[] }, void, undefined>) {
    this.pages = pages
  }

  next(): Promise<IteratorResult<R, void>> {
    if (this.waiting === 0 && this.at < this.records.length) return Promise.resolve(this.take())
    this.waiting++
    const pulled = this.queue.then(() => this.pull())
    const over = () => void this.waiting--
    this.queue = pulled.then(over, over)
    return pulled
  }

  private take(): IteratorResult<R, void> {
    return new Item(this.records[this.at++]!)
  }

  private async pull(): Promise<IteratorResult<R, void>> {
    while (this.at === this.records.length) {
      const page = await this.pages.next()
      if (page.done || this.left) return done
      this.records = page.value.records
      this.at = 0
    }
    return this.take()
  }

  async return(): Promise<IteratorResult<R, void>> {
    this.left = true
    this.records = []
    this.at = 0
    await this.pages.return()
    return done
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }
}
