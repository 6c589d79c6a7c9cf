/** What a store does where nobody waits for it: a promise of its own is rejected, it throws in a turn of its own, or it ends the process. */
import { Incomparable, type Watch } from './watch.ts'

/**
 * Runs work that is ended by whatever nobody catches meanwhile.
 * @param onExit called at the end of the process, if that comes before the work is done: nothing can be done then but to say so
 */
export async function heedingStrays<T>(watch: Watch, onExit: (error: Incomparable) => void, work: () => Promise<T>): Promise<T> {
  const after = (what: string): Incomparable =>
    new Incomparable(`${watch.asked ? `after ${watch.asked.name} was asked for ${watch.asked.called}, ` : ''}${what}`)
  const onStray = (error: unknown, origin: string): void => {
    const stray =
      origin === 'unhandledRejection' ? 'a promise was rejected that nobody waits for' : 'an error was thrown that nobody catches'
    const found = after(`${stray}: ${error instanceof Error ? error.message : error}`)
    found.cause = error
    watch.end(found)
  }
  const exited = (): void => onExit(after('the process was ended'))
  process.on('uncaughtException', onStray)
  process.on('exit', exited)
  try {
    return await work()
  } finally {
    process.off('uncaughtException', onStray)
    process.off('exit', exited)
  }
}
