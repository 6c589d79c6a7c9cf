/** What ends a command beside errors of the engine: each class is thrown where it is known whose fault it is. */
import { FolioError } from '../../src/index.ts'

/** The options contradict each other, or make no sense together. */
export class UsageError extends Error {}

/** The input cannot be read. */
export class Unreadable extends Error {}

/** The output cannot be written. */
export class Unwritable extends Error {}

/** What was to be checked or repaired is damaged, so that no more can be said or done. */
export class Damaged extends Error {}

/** For `catch`, of what checks or repairs a store: that it is damaged is what was asked, and no failure of it. */
export const damaged = (error: unknown): never => {
  throw error instanceof Begun ? new Begun(error.message, asDamage(error.cause)) : asDamage(error)
}

const asDamage = (error: unknown): unknown =>
  error instanceof FolioError && error.code === 'CORRUPT' ? new Damaged(`${error.code}: ${error.message}`, { cause: error }) : error

/** What a command had done when an error ended it, to be told behind that. */
export class Begun extends Error {
  /** @param told for people: lines with their ends, @param cause the error */
  constructor(told: string, cause: unknown) {
    super(told, { cause })
  }
}

/** Whether an error is what the system says, or what Node says in its place, run with `--permission`: that one names no call of the system. */
export const isOfSystem = ({ syscall, code }: NodeJS.ErrnoException): boolean => syscall !== undefined || code === 'ERR_ACCESS_DENIED'

/** For `catch`, of what reads the input: what the system says becomes Unreadable. */
export const unreadable = (error: NodeJS.ErrnoException): never => {
  throw isOfSystem(error) ? new Unreadable(error.message, { cause: error }) : error
}

/** For `catch`, of what writes the output: what the system says becomes Unwritable, unless it is EPIPE, after which nothing is left to say. */
export const unwritable = (error: NodeJS.ErrnoException): never => {
  throw error.code === 'EPIPE' || !isOfSystem(error) ? error : new Unwritable(error.message, { cause: error })
}

/** For `catch`, of what is given options of the command line under their own names: the engine knows these as parameters. */
export const usage = (error: unknown): never => {
  if (!(error instanceof FolioError) || error.code !== 'BAD_REQUEST') throw error
  throw new UsageError(`${flagOf(String(error.fields['field']))} must be ${error.fields['reason']}`, { cause: error })
}

/** An option as typed: `--first-ledger` for `firstLedger`. */
const flagOf = (option: string): string => `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
