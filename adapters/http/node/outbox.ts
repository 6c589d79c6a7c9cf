/**
 * Answers of one turn of the event loop, made and sent together at its end. Made together, because the code and the data for it are then in the
 * processor's caches, which the kernel uses in between. Sent together, because a sleeping reader is woken once for all of them, and waking costs as
 * much as writing.
 */

/** Held from the start: clocks that a test replaces later must not keep answers back. */
const { setImmediate } = globalThis

/** An answer that is to be sent at the end of the turn. */
export interface Due {
  /** Computes it, unless that was done before. */
  make?(): void
  /** Sends it; if it takes longer to compute, it is put here again once it is there. */
  send(): void
}

export class Outbox {
  /** In the order in which they were put here. */
  private due: Due[] = []

  put(answer: Due): void {
    if (this.due.push(answer) === 1) setImmediate(this.flush)
  }

  private readonly flush = (): void => {
    const { due } = this
    this.due = []
    for (const answer of due) answer.make?.()
    for (const answer of due) answer.send()
  }
}
