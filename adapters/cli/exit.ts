/** The exit codes, and the one line printed for an error. */
import { CommanderError } from 'commander'
import { FolioError } from '../../src/index.ts'
import { NoListing, Unreachable } from '../check/index.ts'
import { Incomparable } from '../compare/index.ts'
import { Unreadable, Unwritable, UsageError } from './errors.ts'
import { type Io, note } from './io.ts'

export const exits = {
  ok: 0,
  refused: 1,
  usage: 2,
  store: 3,
  answer4xx: 4,
  answer5xx: 5,
  listen: 6,
  broken: 7,
  damaged: 8,
  defect: 70,
  interrupted: 130,
  terminated: 143,
  unread: 141,
} as const

export const exitHelp = `
Exit codes:
  0    done
  1    the input was refused or cannot be read, ledgers before it stay; or the output cannot be written;
       bench: the stores cannot be compared
  2    wrong usage
  3    the store cannot be opened, or failed
  4    get: the answer is a 4xx problem
  5    get: the answer is a 5xx problem
  6    serve: the address cannot be listened on
  7    check: the service breaks a law of paging
  8    verify, repair: the store is damaged; copy: the digests differ
  70   a defect of folio
  130  stopped by SIGINT before the end, or 143 by SIGTERM; serve ends with 0 then
  141  nobody reads the output any more

FOLIO_DEBUG=1 shows where an error came from.`

/** The exit code of a command that ran to its end, or was stopped by a signal. */
export function exitOf(signal: AbortSignal): number {
  if (!signal.aborted) return exits.ok
  return signal.reason === 'SIGTERM' ? exits.terminated : exits.interrupted
}

interface Explained {
  readonly exit: number
  /** Absent if everything was already printed. */
  readonly line?: string
}

/** The exit code of an error, and what to print: code, sentence, fields. */
export function explain(error: unknown): Explained {
  // Commander has already printed its message, and requested help is not an error.
  if (error instanceof CommanderError) return { exit: error.exitCode === 0 ? exits.ok : exits.usage }
  if (error instanceof FolioError) {
    return { exit: error.status < 500 ? exits.refused : exits.store, line: oneLine(`${error.code}: ${error.message}`) }
  }
  if (error instanceof Unreachable || error instanceof NoListing)
    return { exit: exits.refused, line: oneLine(`cannot be checked: ${error.message}`) }
  if (error instanceof Incomparable) return { exit: exits.refused, line: oneLine(`cannot be compared: ${error.message}`) }
  if (error instanceof Unreadable) return { exit: exits.refused, line: oneLine(`cannot be read: ${error.message}`) }
  if (error instanceof Unwritable) return { exit: exits.refused, line: oneLine(`cannot be written: ${error.message}`) }
  if (error instanceof UsageError) return { exit: exits.usage, line: oneLine(error.message) }
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (code === 'EPIPE') return { exit: exits.unread }
  if (syscall === 'listen' || syscall === 'getaddrinfo') return { exit: exits.listen, line: oneLine(`cannot listen: ${message}`) }
  if (syscall !== undefined) return { exit: exits.refused, line: oneLine(message) }
  return { exit: exits.defect, line: oneLine(`DEFECT: ${message ?? String(error)}`) }
}

/** Prints the error behind an answer of 500 or 503, with the id that its reader was given. */
export const logTo =
  (io: Io) =>
  (error: unknown, { id, method, target }: { readonly id: string; readonly method: string; readonly target: string }): void => {
    note(io, oneLine(`answer ${id} to ${method} ${target}: ${explain(error).line ?? ''}`))
  }

/** A message may quote input: it must neither break the line nor steer the terminal. */
export const oneLine = (text: string): string =>
  text.replace(/\s*[\r\n]+\s*/g, ' ').replace(/[\x00-\x1f\x7f-\x9f]/g, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`)
