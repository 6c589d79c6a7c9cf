/**
 * Answers of one turn of the event loop, sent together at its end: a sleeping reader is woken once for all of them, and waking costs as much as
 * writing.
 */

/** An answer that was computed and is not sent yet. */
export interface Ready {
  send(): void
}

export class Outbox {
  /** In the order in which they became ready. */
  private ready: Ready[] = []

  put(answer: Ready): void {
    if (this.ready.push(answer) === 1) setImmediate(this.flush)
  }

  private readonly flush = (): void => {
    const { ready } = this
    this.ready = []
    for (const answer of ready) answer.send()
  }
}
