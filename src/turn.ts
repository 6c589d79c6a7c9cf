/**
 * Turns of the event loop. Over a store that answers at once, long work never leaves the turn in which it began: promises are settled before timers,
 * sockets and signals are looked at. So whatever may be long asks here now and then, and gives way.
 * **Invariant:** what is done does not depend on the time, only when it is done.
 */

/** Held from the start: clocks that a test replaces later must not stop the engine. */
const now = globalThis.performance.now.bind(globalThis.performance)
const { setTimeout } = globalThis
export const { queueMicrotask } = globalThis
export const soon: (work: () => void) => unknown = globalThis.setImmediate ?? ((work) => setTimeout(work))

/** For how long others may wait, in milliseconds. */
const LONG_MS = 10

/** When long work was first met in this turn; undefined if it was not. */
let began: number | undefined

/** True if this turn has been at work for too long. */
export function isTurnLong(): boolean {
  if (began !== undefined) return now() - began > LONG_MS
  began = now()
  soon(() => {
    began = undefined
  })
  return false
}

/** Resolves in the next turn, when everybody else has had theirs. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void soon(resolve))

/** Gives way if this turn has been long. What goes on is at work from then on, not only from when it next asks. */
export const giveWay = (): Promise<void> | undefined => (isTurnLong() ? nextTurn().then(goOn) : undefined)
const goOn = (): void => void isTurnLong()

/** What was found, in the next turn if this one has been long: whoever asks again and again then leaves others theirs. */
export const givingWay = <T>(found: T): T | Promise<T> => (isTurnLong() ? nextTurn().then(() => found) : found)

/** How often long work tells how far it is, in milliseconds. */
const TELL_MS = 100

/** The pace at which long work tells how far it is, whatever is done to the clock. */
export class Pace {
  private next = 0

  /** True at first, and then if the last time was long enough ago. */
  isDue(): boolean {
    const time = now()
    if (time < this.next) return false
    this.next = time + TELL_MS
    return true
  }
}
