/** Named pipes, for the other end of which a thread may wait. Node waits for its threads before a process exits, and nothing else ends such a wait. */
import { constants, openSync, statSync, writeSync } from 'node:fs'

/** True if a thread is at work on a file, or waits for the other end of a pipe. */
export const isThreadBusy = (): boolean => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))

/**
 * Ends the waits for the other ends of the named pipes among the arguments of a command: whoever opens one has both its ends, and a line end wakes
 * who reads it. Call it only right before the process exits. It leaves alone what a command writes to.
 */
export function freeInputs(args: readonly string[]): void {
  for (const [nth, arg] of args.entries()) {
    if (arg.startsWith('--out=') || args[nth - 1] === '--out') continue
    for (const path of new Set([arg, arg.slice(arg.indexOf('=') + 1)])) free(path)
  }
}

function free(path: string): void {
  try {
    if (statSync(path).isFIFO()) writeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK), '\n')
  } catch {
    // It is no file, or full: then nobody waits for what it takes.
  }
}
