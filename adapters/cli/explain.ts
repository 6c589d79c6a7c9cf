/** What an error means for whoever runs a command: its exit code, and a line that says what was wrong. */
import { CommanderError } from 'commander'
import { FolioError } from '../../src/index.ts'
import { NoListing, Unreachable } from '../check/index.ts'
import { Incomparable } from '../compare/index.ts'
import { Damaged, isOfSystem, Unreadable, Unwritable, UsageError } from './errors.ts'
import { exits } from './exit.ts'

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
    return { exit: error.status < 500 ? exits.refused : exits.store, line: `${error.code}: ${error.message}` }
  }
  if (error instanceof Damaged) return { exit: exits.damaged, line: error.message }
  if (error instanceof Unreachable || error instanceof NoListing)
    return { exit: exits.refused, line: `cannot be checked: ${error.message}` }
  if (error instanceof Incomparable) return { exit: exits.refused, line: `cannot be compared: ${error.message}` }
  if (error instanceof Unreadable) return { exit: exits.refused, line: `cannot be read: ${error.message}` }
  if (error instanceof Unwritable) return { exit: exits.refused, line: `cannot be written: ${error.message}` }
  if (error instanceof UsageError) return { exit: exits.usage, line: error.message }
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (code === 'EPIPE') return { exit: exits.unread }
  if (syscall === 'listen' || syscall === 'getaddrinfo')
    return { exit: exits.listen, line: `cannot listen: ${message}${code === 'EADDRINUSE' ? '; --port names another, 0 a free one' : ''}` }
  if (isOfSystem(error as NodeJS.ErrnoException)) return { exit: exits.refused, line: message }
  return { exit: exits.defect, line: `DEFECT: ${message ?? String(error)}` }
}
