/**
 * The responses of one turn of the event loop, made and sent together at its end. Made together, because the code and the data for it are then in the
 * processor's caches, which the kernel uses in between. Sent together, because a sleeping reader is woken once for all of them, and waking costs as
 * much as writing.
 */

/** Held from the start: clocks that a test replaces later must not keep answers back. */
const { setImmediate } = globalThis

/** A response that is to be sent at the end of this turn. */
export interface BatchedResponse {
  /** Computes it, unless that was done before. */
  make?(): void
  /** Sends it; if it takes longer to compute, it is put here again once it is there. */
  send(): void
}

export class ResponseBatch {
  /** In the order in which they were put here. */
  private responses: BatchedResponse[] = []

  put(response: BatchedResponse): void {
    if (this.responses.push(response) === 1) setImmediate(this.flush)
  }

  private readonly flush = (): void => {
    const { responses } = this
    this.responses = []
    for (const response of responses) response.make?.()
    for (const response of responses) response.send()
  }
}
