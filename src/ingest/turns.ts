/**
 * The turns of a writer: one piece of work after another, in the order of the calls. A turn may leave a write behind, which goes on while the next
 * turn prepares another one. What only takes up what others wrote happens between turns, and does not wait for those that are still to come.
 * **Invariants:** a turn begins when the one before it is over, whether that failed or not; history is held by one piece of work at a time; at most one
 * write is under way, since whoever leaves one behind has waited for the one before.
 */

export class Turns {
  /** The turn asked for last. Like the other three it never rejects: whoever asked for the work is told why it failed. */
  private last: Promise<unknown> = Promise.resolve()
  /** The work that asked last for history: nobody else changes it meanwhile. */
  private holding: Promise<unknown> = Promise.resolve()
  /** The write that was left behind last. */
  private writing: Promise<unknown> = Promise.resolve()
  /** All {@link change}s. It resolves to nothing: a promise that kept what the one before resolved to would keep every change there ever was. */
  private changing: Promise<void> = Promise.resolve()

  /** Runs `work` in a turn that holds history. A write that was left behind may still be under way. */
  take<T>(work: () => Promise<T>): Promise<T> {
    return this.next(() => this.hold(work))
  }

  /** The same, with nothing being written. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.next(() => this.between(work))
  }

  /** Runs `work` in a turn that leaves history as it is: nothing is written, but others may look {@link between}. */
  beside<T>(work: () => Promise<T>): Promise<T> {
    return this.next(() => this.unwritten(work))
  }

  /** Runs `work` in no turn, as soon as nobody holds history and nothing is being written. It writes nothing. */
  between<T>(work: () => Promise<T>): Promise<T> {
    return this.hold(() => this.unwritten(work))
  }

  private next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work)
    this.last = done.catch(() => {})
    return done
  }

  private hold<T>(work: () => Promise<T>): Promise<T> {
    const done = this.holding.then(work)
    this.holding = done.catch(() => {})
    return done
  }

  private async unwritten<T>(work: () => Promise<T>): Promise<T> {
    await this.writing
    return work()
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

  /** Resolves when every turn asked for is over, nobody holds history, and nothing is being written. */
  async rest(): Promise<void> {
    await this.last
    await this.holding
    await this.writing
  }
}
