/** What `npm run bench` and its report are told on the command line, checked before anything is loaded or written. */
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

/** The files of a report: what a run wrote, and what is made of that. Those of a part leave those of the last whole run alone. */
export interface ReportFiles {
  readonly isPart: boolean
  readonly results: string
  readonly page: string
  readonly table: string
}

/** @throws WrongFlag */
export function reportFilesOf(argv: readonly string[]): ReportFiles {
  const isPart = argv[0] === 'part'
  const [wrong] = isPart ? argv.slice(1) : argv
  if (wrong !== undefined)
    throw new WrongFlag(`${wrong} names no report: it is that of the last whole run, or, with the one word part, of --only`)
  return isPart
    ? { isPart, results: 'part.json', page: 'part-report.html', table: 'part-table.md' }
    : { isPart, results: 'latest.json', page: 'report.html', table: 'table.md' }
}

/** Says what is wrong with the flags, and ends the process. */
export function refuse(error: unknown): never {
  if (!(error instanceof WrongFlag)) throw error
  console.error(error.message)
  return process.exit(2)
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
