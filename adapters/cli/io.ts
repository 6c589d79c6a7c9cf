/** What a command reads and writes, passed in so that commands run in a test as they do in a shell. */
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { unwritable } from './errors.ts'
import { oneLine, withoutUser } from './text.ts'

export interface Io {
  readonly stdin: Readable
  /** Answers only: records, acknowledgements, requested help. */
  readonly stdout: Writable & { readonly columns?: number }
  /** Everything meant for people: notes, progress, errors. Whoever passes it listens for its `error`. */
  readonly stderr: Writable & { readonly isTTY?: boolean }
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted when the command is to end; the reason is the name of the signal. */
  readonly signal: AbortSignal
}

/**
 * An answer on standard output, with a single write; done when it has been handed over.
 * @throws EPIPE if nobody reads any more; Unwritable; the reason of the signal, if that comes while nobody takes what was written. What is written after the
 * signal is left to whoever may still read it.
 */
export const print = ({ stdout, signal }: Io, text: string | Uint8Array): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    // After the signal nothing waits, so many writes may be under way.
    if (!signal.aborted) signal.addEventListener('abort', stop, { once: true })
    stdout.write(text, (error) => {
      signal.removeEventListener('abort', stop)
      if (error) reject(error)
      else resolve()
    })
    if (signal.aborted) resolve()
  }).catch(unwritable)

/** Whether an error says only that the signal came, by its reason or with that as its cause. */
export const isStop = ({ signal }: Io, error: unknown): boolean =>
  signal.aborted && (error === signal.reason || (error as Error | undefined)?.cause === signal.reason)

/** For `catch`: at the signal, what was not taken is left, and the work comes to its end by itself. */
export const unlessStopped =
  (io: Io) =>
  (error: unknown): void => {
    if (!isStop(io, error)) throw error
  }

export interface Aside {
  say(text: string): void
  /** Aborted when the work is to end: by a signal, or because a write failed. */
  readonly signal: AbortSignal
  /** Resolves when everything has been written, or at the signal; rejects with the first failure. */
  said(): Promise<void>
}

/** Text for standard output from work that does not wait for it. */
export function aside(io: Io): Aside {
  const failed = new AbortController()
  // One write at a time: each listens for the signal.
  let last: Promise<void> = Promise.resolve()
  return {
    say(text) {
      last = last
        .then(() => print(io, text))
        .catch(unlessStopped(io))
        .catch((error) => failed.abort(error))
    },
    signal: AbortSignal.any([io.signal, failed.signal]),
    async said() {
      await last
      failed.signal.throwIfAborted()
    },
  }
}

/** Chunks for a pipeline, up to the signal: signals are handled between chunks, since writes to a file or a pipe leave no chance for that. */
export function heeding(io: Io, chunks: AsyncIterable<string | Uint8Array>): Readable {
  const untilStopped = async function* (): AsyncGenerator<string | Uint8Array, void, undefined> {
    for await (const chunk of chunks) {
      yield chunk
      await setImmediate()
      if (io.signal.aborted) return
    }
  }
  return Readable.from(untilStopped())
}

/** Writes chunks to standard output, up to the signal, whether or not the last one is taken. @throws as {@link print}, and what `chunks` throws */
export const pour = (io: Io, chunks: AsyncIterable<string | Uint8Array>): Promise<void> =>
  // `end: false`, since standard output is not ours to close.
  pipeline(heeding(io, chunks), io.stdout, { end: false, signal: io.signal }).catch(unlessStopped(io)).catch(unwritable)

/** Text for people. **Invariant:** whether anybody reads it changes nothing about a command: it is neither waited for, nor does it fail. */
export const tell = ({ stderr }: Io, text: string): void => void stderr.write(text)

/** A line for people, like {@link tell}. */
export const note = (io: Io, line: string): void => tell(io, noteOf(line))

/** The same line, to be told later. */
export const noteOf = (line: string): string => `folio: ${withoutUser(oneLine(line))}\n`

/** `1234567` as `1,234,567`. */
export const digits = (count: number): string => count.toLocaleString('en-US')

/** `1 ledger`, `1,234 ledgers`. */
export const countOf = (count: number, what: string): string => `${digits(count)} ${what}${count === 1 ? '' : 's'}`

/** Resolves when the command is to end. */
export const stopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
