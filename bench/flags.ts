/** The flags of `npm run bench`, checked before anything is loaded or written. */
import { parseArgs } from 'node:util'

export interface Flags {
  readonly quick: boolean
  readonly only?: string
  readonly rounds?: number
}

/** A flag is wrong; the message says what it must be. */
export class WrongFlag extends Error {}

/**
 * @param names what `--only` may name a part of
 * @throws WrongFlag
 */
export function flagsOf(argv: readonly string[], names: readonly string[]): Flags {
  const { quick, only, rounds } = parsed(argv)
  if (rounds !== undefined && !/^[1-9]\d{0,3}$/.test(rounds))
    throw new WrongFlag(`--rounds must be a whole number from 1 to 9999, not ${rounds}`)
  if (only !== undefined && !names.some((name) => name.includes(only)))
    throw new WrongFlag(`--only ${only} names nothing; there is: ${names.join('; ')}`)
  return { quick, ...(only !== undefined && { only }), ...(rounds !== undefined && { rounds: Number(rounds) }) }
}

function parsed(args: readonly string[]): { quick: boolean; only?: string; rounds?: string } {
  try {
    return parseArgs({
      args: [...args],
      options: { quick: { type: 'boolean', default: false }, only: { type: 'string' }, rounds: { type: 'string' } },
    }).values
  } catch (error) {
    throw new WrongFlag(`${(error as Error).message}. The flags are --quick, --only TEXT, --rounds N`)
  }
}
