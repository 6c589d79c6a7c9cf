/** The ledgers that stores are given: read a few at a time, so that any number of them takes little memory. */
import type { LedgerClose } from '../../src/index.ts'
import type { Watch } from './watch.ts'

export class Closes {
  private readonly inner: AsyncIterator<LedgerClose, unknown> | Iterator<LedgerClose, unknown>
  private readonly watch: Watch
  /** Read, and not yet taken. */
  private ahead: LedgerClose[] = []

  constructor(closes: AsyncIterable<LedgerClose> | Iterable<LedgerClose>, watch: Watch) {
    this.inner = Symbol.asyncIterator in closes ? closes[Symbol.asyncIterator]() : closes[Symbol.iterator]()
    this.watch = watch
  }

  /** The next ledgers, fewer at the end, which {@link take} gives again. */
  async peek(count: number): Promise<readonly LedgerClose[]> {
    while (this.ahead.length < count) {
      await this.watch.step()
      const next = await this.watch.wait(async () => this.inner.next())
      if (next.done) break
      this.ahead.push(next.value)
    }
    return this.ahead.slice(0, count)
  }

  async take(count: number): Promise<readonly LedgerClose[]> {
    const taken = await this.peek(count)
    this.ahead = this.ahead.slice(taken.length)
    return taken
  }

  /** The source is told, but not waited for: it may answer only once it has something to give. */
  leave(): void {
    void (async () => this.inner.return?.())().catch(() => {})
  }
}
