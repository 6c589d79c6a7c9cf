#!/usr/bin/env node
/** The program `folio`: the process handed to the command line. */
import { exitAt } from './exit.ts'
import { run } from './run.ts'

const stop = new AbortController()

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // At the second signal nobody wants to wait; what is stored is whole in any case.
    if (stop.signal.aborted) process.exit(exitAt(signal))
    stop.abort(signal)
  })
}
// A reader that went away is noticed where the write is awaited; without a listener the error would end the process here.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

process.exitCode = await run(process.argv.slice(2), {
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  signal: stop.signal,
})
// A store of the user that failed may have left something open, for which nobody waits, and after a signal nobody may be left to take what was
// written. Until then, it can reach its reader.
if (process.exitCode !== 0 || stop.signal.aborted) setTimeout(() => process.exit(), 1000).unref()
