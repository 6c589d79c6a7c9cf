/**
 * The turns of a writer: one piece of work after another, in the order of the calls. A turn may leave a write behind, which goes on while the next
 * turn prepares another one.
 * **Invariants:** a turn begins when the one before it is over, whether that failed or not; at most one write is under way, since whoever leaves one
 * behind has waited for the one before.
 */

export class Turns {
  /** The turn asked for last. Like the other two it never rejects: whoever asked for the work is told why it failed. */
  private last: Promise<unknown> = Promise.resolve()
  /** The write that was left behind last. */
  private writing: Promise<unknown> = Promise.resolve()
  /** All {@link change}s. It resolves to nothing: a promise that kept what the one before resolved to would keep every change there ever was. */
  private changing: Promise<void> = Promise.resolve()
  /** How many have begun. */
  private begun = 0

  /** Runs `work` in a turn, and tells it the number of that. A write that was left behind may still be under way. */
  take<T>(work: (turn: number) => Promise<T>): Promise<T> {
    const done = this.last.then(() => work(++this.begun))
    this.last = done.catch(() => {})
    return done
  }

  /** Runs `work` in a turn, with nothing being written. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.take(async () => {
      await this.writing
      return work()
    })
  }

  /** Leaves a write behind: this turn may be over before it is. */
  leave(write: Promise<unknown>): void {
    this.writing = write.catch(() => {})
  }

  /** Resolves when the write that was left behind is over. */
  written(): Promise<unknown> {
    return this.writing
  }

  /** Marks work that may leave another history behind, whether it has its turn or waits for it: {@link steady} waits for that. */
  change<T>(work: Promise<T>): Promise<T> {
    this.changing = Promise.allSettled([this.changing, work]).then(() => {})
    return work
  }

  /** Resolves when history is not being changed, and what was has been told. What leaves it as it is, however long, is not waited for. */
  async steady(): Promise<void> {
    await this.changing
    await this.writing
  }

  /** Resolves when every turn asked for is over, and nothing is being written. */
  async rest(): Promise<void> {
    await this.last
    await this.writing
  }
}
