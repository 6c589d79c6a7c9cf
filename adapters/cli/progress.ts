/** The progress of long work, shown on a terminal only. */
import { stat } from 'node:fs/promises'
import { countOf, digits, type Io } from './io.ts'

export interface Progress {
  bytes(count: number): void
  ledger(): void
  stop(): void
}

const silent: Progress = { bytes: () => {}, ledger: () => {}, stop: () => {} }
const WIDTH = 24

const isQuiet = ({ stderr, env }: Io): boolean => !stderr.isTTY || env.TERM === 'dumb' || env.CI !== undefined

/** We handle signals ourselves: the batch in progress is to be finished first. But the cursor comes back even if the process does not wait for that. */
function spin({ stderr }: Io) {
  let [text, isOver] = ['', false]
  let spinner: { text: string; stop(): void } | undefined
  const begin = ({ default: yoctoSpinner }: typeof import('yocto-spinner')): void => {
    if (!isOver) spinner = yoctoSpinner({ stream: stderr as NodeJS.WriteStream, handleSignals: false, text }).start()
  }
  // Only now: it imports `node:process`, which opens standard input. A pipe there, which others may be reading, would no longer block them.
  void import('yocto-spinner').then(begin, () => {})
  const stop = (): void => {
    isOver = true
    process.removeListener('exit', stop)
    spinner?.stop()
  }
  process.once('exit', stop)
  const say = (next: string): void => {
    text = next
    if (spinner) spinner.text = next
  }
  return { say, stop }
}

/** A line that says what is being done, on a terminal only. */
export function showStatus(io: Io): { say(text: string): void; stop(): void } {
  if (isQuiet(io)) return { say: () => {}, stop: () => {} }
  return spin(io)
}

/** @param total the size of all sources together in bytes; undefined if one of them is a stream */
export function showProgress(io: Io, total: number | undefined): Progress {
  if (isQuiet(io)) return silent
  const started = performance.now()
  let bytes = 0
  let ledgers = 0
  const text = (): string => {
    const rate = `${countOf(ledgers, 'ledger')}, ${digits(Math.round(ledgers / ((performance.now() - started) / 1000)))}/s`
    if (!total) return rate
    const share = Math.min(1, bytes / total)
    const full = Math.floor(share * WIDTH)
    return `${'█'.repeat(full)}${'░'.repeat(WIDTH - full)} ${Math.floor(share * 100)} %  ${rate}`
  }
  const spinner = spin(io)
  const timer = setInterval(() => spinner.say(text()), 100)
  return {
    bytes(count) {
      bytes += count
    },
    ledger() {
      ledgers++
    },
    stop() {
      clearInterval(timer)
      spinner.stop()
    },
  }
}

/** The size of the files together in bytes; undefined if one is a stream, or cannot be determined. */
export async function totalBytes(files: readonly string[]): Promise<number | undefined> {
  let total = 0
  for (const file of files) {
    const found = file === '-' ? undefined : await stat(file).catch(() => undefined)
    if (!found?.isFile()) return undefined
    total += found.size
  }
  return total
}
