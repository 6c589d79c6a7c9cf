/** What a process has in use. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
export const collectGarbage = runInNewContext('gc') as () => void

/**
 * Bytes in use once everything was let go that can be; array buffers are among what is external. A closed database is let go in steps: its handle
 * first, then what only that held, whose buffers another thread frees some time after the collection; so there are collections until several in turn
 * have found nothing more.
 */
export async function heldBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let alike = 0, i = 0; alike < 3 && i < 50; i++) {
    collectGarbage()
    await new Promise((resolve) => setTimeout(resolve, 5))
    const { heapUsed, external } = process.memoryUsage()
    alike = heapUsed + external > least - 2 ** 16 ? alike + 1 : 0
    least = Math.min(least, heapUsed + external)
  }
  return least
}
