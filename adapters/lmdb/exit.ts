/**
 * The end of a process while LMDB writes. LMDB's thread holds the lock of the writer when it asks this thread for what a transaction writes, and waits
 * for that without end. If the process ends meanwhile, by `process.exit` or an exception that nobody catches, it gets no answer any more, and Node, which
 * waits for its threads, would never come to its end (lmdb-js, issue 336), nor would others get to write. So a process that could only hang is killed:
 * what it was about to write was not acknowledged.
 */
import { fs } from '../directory/index.ts'
import type { Database } from './open.ts'

/** Transactions for which LMDB's thread may be waiting. */
const unanswered = new Set<object>()
let isWatched = false
/** What nobody has caught, in this turn. */
let uncaught: { readonly error: unknown } | undefined

/** Runs a transaction, as `childTransaction` does. */
export function transact<T>(db: Database, action: () => T): Promise<T> {
  watch()
  const asked = {}
  let turn: NodeJS.Immediate | undefined
  const answered = (): void => {
    clearImmediate(turn)
    unanswered.delete(asked)
  }
  const done = db.childTransaction(() => {
    answered()
    return action()
  })
  // LMDB hands it to its thread in the next turn, which it has asked for just now.
  turn = setImmediate(() => unanswered.add(asked))
  return Promise.resolve(done).finally(answered)
}

/** Once for all stores. A worker needs none of it: when one ends, Node waits until its transaction was answered. */
function watch(): void {
  if (isWatched) return
  isWatched = true
  if (!process.getBuiltinModule('node:worker_threads').isMainThread) return
  process.on('uncaughtExceptionMonitor', (error) => {
    uncaught = { error }
    setImmediate(() => {
      uncaught = undefined
    })
  })
  process.on('exit', () => {
    if (unanswered.size === 0) return
    // By `process.exit`, this is what Node ends with, after everybody else who listens; after an exception, Node only prints that, and hangs.
    if (uncaught) kill()
    else Object.assign(process, { reallyExit: kill })
  })
}

function kill(): void {
  const { inspect } = process.getBuiltinModule('node:util')
  if (uncaught) say(inspect(uncaught.error))
  say('ledger-folio: the process is killed, since it ended in the middle of a write to LMDB and would hang. Close the ledger first.')
  process.kill(process.pid, 'SIGKILL')
}

function say(text: string): void {
  try {
    fs().writeSync(2, `${text}\n`)
  } catch {
    // Nobody reads it.
  }
}
