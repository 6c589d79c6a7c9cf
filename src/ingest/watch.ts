/** Watching for what other processes write. */
import type { Store } from '../store.ts'

/**
 * Has `look` called whenever the store signals a write, and at every poll.
 * @param ms between two polls
 * @param look if it fails, the next one tries again; meanwhile reads fail by themselves, with an error that reaches a caller
 * @returns the timer of the polls, and what ends both
 */
export function watch(store: Store, ms: number, look: () => Promise<unknown>): { timer: ReturnType<typeof setInterval>; stop: () => void } {
  const ring = (): void => void look().catch(() => {})
  const unwatch = store.watch?.(ring)
  const timer = setInterval(ring, ms)
  return {
    timer,
    stop() {
      clearInterval(timer)
      unwatch?.()
    },
  }
}
