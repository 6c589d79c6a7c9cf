#!/usr/bin/env node
/** The program `folio`: the process handed to the command line. */
import { exitAt } from './exit.ts'
import { freeInputs, isThreadBusy } from './pipes.ts'
import { run } from './run.ts'

const stop = new AbortController()

const signals = ['SIGINT', 'SIGTERM'] as const
for (const signal of signals) {
  process.on(signal, () => {
    // At the second signal nobody wants to wait; what is stored is whole in any case.
    if (stop.signal.aborted) end(exitAt(signal))
    stop.abort(signal)
  })
}

/**
 * Ends the process with this code now. Node would wait for a thread that waits for the other end of a named pipe: then a signal does what signals do,
 * for which shells tell the same code, or if the code is another, the pipe is freed. Whatever else Node waits for, the next signal is not caught.
 */
function end(code: number): void {
  for (const signal of signals) process.removeAllListeners(signal)
  const signal = signals.find((one) => exitAt(one) === code)
  if (isThreadBusy()) {
    if (signal) {
      process.emit('exit', code)
      process.kill(process.pid, signal)
    } else freeInputs(process.argv.slice(2))
  }
  process.exit(code)
}

// A reader that went away is noticed where the write is awaited; without a listener the error would end the process here.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

const code = await run(process.argv.slice(2), {
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: stop.signal,
})
process.exitCode = code
// A store of the user may have left something open, for which nobody waits: a failed one, or one whose connection is that of its module. And after a
// signal nobody may be left to take what was written. Until then, it can reach its reader.
setTimeout(() => end(code), 1000).unref()
