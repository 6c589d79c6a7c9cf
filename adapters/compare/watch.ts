/**
 * Waiting for stores, which may be anybody's: a signal ends every wait at once, and so does a store that leaves a call unanswered.
 * **Invariant:** what still runs when a wait has ended stops at its next step.
 */
import { giveWay } from '../../src/index.ts'

/** What was asked of a store cannot be compared; the message says why. */
export class Incomparable extends Error {}

/** Patience is looked after so many times while it lasts: a store is given up no later than that part of it. */
const LOOKS = 30

export class Watch {
  /** The store whose call was made last. */
  asked: { readonly name: string; readonly called: string } | undefined
  private readonly ending = new AbortController()
  private readonly signal: AbortSignal
  /** How long nothing may go on, in milliseconds. */
  private readonly patienceMs: number
  private steps = 0
  private ended: { readonly why: unknown } | undefined

  constructor(signal: AbortSignal | undefined, patienceMs: number) {
    this.signal = signal ? AbortSignal.any([signal, this.ending.signal]) : this.ending.signal
    this.patienceMs = patienceMs
  }

  /** Ends every wait with an error, at once. */
  end(why: Error): void {
    this.ending.abort(why)
  }

  /**
   * Called between any two steps: stores that answer at once, and the generator, would never let a signal be noticed. Returns nothing to wait for
   * while the turn of the event loop is young.
   * @throws the signal's reason; whatever ended a wait
   */
  step(): Promise<void> | undefined {
    this.alive()
    this.signal.throwIfAborted()
    if (this.ended) throw this.ended.why
    return giveWay()?.then(() => this.signal.throwIfAborted())
  }

  /** Called when something goes on. */
  alive(): void {
    this.steps++
  }

  /** Whether an error is what ended a wait. */
  isEnd(error: unknown): boolean {
    return (this.signal.aborted && error === this.signal.reason) || (this.ended !== undefined && error === this.ended.why)
  }

  /** The work, up to the signal. @throws the signal's reason; what `silent` returns, if nothing goes on for longer than patience lasts; what `work` throws */
  wait<T>(work: () => Promise<T>, silent?: () => Error): Promise<T> {
    return this.waitFor(work, this.patienceMs, silent, true)
  }

  /** Work that ends what was begun: it is not asked to stop, but left after a while. Never rejects. */
  async wrapUp(work: () => Promise<unknown>): Promise<void> {
    await this.waitFor(work, Math.min(this.patienceMs, WRAP_UP_MS), () => new Incomparable('unfinished'), false).catch(() => {})
  }

  private waitFor<T>(work: () => Promise<T>, ms: number, silent: (() => Error) | undefined, heeds: boolean): Promise<T> {
    const signal = heeds ? this.signal : undefined
    let done = (): void => {}
    return new Promise<T>((resolve, reject) => {
      signal?.throwIfAborted()
      const end = (why: unknown): void => {
        this.ended = { why }
        reject(why)
      }
      const stop = (): void => end(signal?.reason)
      signal?.addEventListener('abort', stop)
      let [seen, still] = [this.steps, 0]
      // Looks are counted, and no time: while a store holds up the event loop, nobody looks.
      const look = (): void => {
        still = this.steps === seen ? still + 1 : 0
        seen = this.steps
        if (still === LOOKS) end(silent?.())
      }
      const timer = silent && setInterval(look, ms / LOOKS)
      done = () => {
        clearInterval(timer)
        signal?.removeEventListener('abort', stop)
      }
      work().then(resolve, reject)
    }).finally(() => done())
  }
}

/** Long enough for a store that works to close; a command that was told to end must not take longer. */
const WRAP_UP_MS = 2000
