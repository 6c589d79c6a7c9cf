/** What `npm run bench` and its report are told on the command line, checked before anything is loaded or written. */
import { parseArgs } from 'node:util'

/** What ours may be measured against; the first is the default. */
export const AGAINST = ['sqlite', 'postgres'] as const
export type PeerKind = (typeof AGAINST)[number]

export interface Flags {
  readonly quick: boolean
  readonly against: PeerKind
  readonly only?: string
  readonly rounds?: number
}

/** A flag is wrong; the message says what it must be. */
export class WrongFlag extends Error {}

/**
 * @param suitesOf what `--only` may name a part of
 * @throws WrongFlag
 */
export function flagsOf(argv: readonly string[], suitesOf: (against: PeerKind) => readonly string[]): Flags {
  const { quick, only, rounds, against: asked = AGAINST[0] } = parsed(argv)
  const against = AGAINST.find((kind) => kind === asked)
  if (against === undefined) throw new WrongFlag(`--against ${asked} names nothing; there is: ${AGAINST.join('; ')}`)
  if (rounds !== undefined && !/^[1-9]\d{0,3}$/.test(rounds))
    throw new WrongFlag(`--rounds must be a whole number from 1 to 9999, not ${rounds}`)
  const names = suitesOf(against)
  if (only !== undefined && !names.some((name) => name.includes(only)))
    throw new WrongFlag(`--only ${only} names nothing; there is: ${names.join('; ')}`)
  return { quick, against, ...(only !== undefined && { only }), ...(rounds !== undefined && { rounds: Number(rounds) }) }
}

/** The name of what a run writes: a part leaves the last whole run alone, and one against another peer that by default. */
export const resultsOf = ({ only, against }: Flags): string => (only !== undefined ? 'part' : against === AGAINST[0] ? 'latest' : against)

/** The files of a report: what a run wrote, and what is made of that. */
export interface ReportFiles {
  readonly results: string
  readonly page: string
  readonly table: string
}

const [, ...OTHERS] = AGAINST

/** @throws WrongFlag */
export function reportFilesOf(argv: readonly string[]): ReportFiles {
  const [name, ...rest] = argv
  if (name === undefined) return { results: 'latest.json', page: 'report.html', table: 'table.md' }
  const known = ['part', ...OTHERS]
  const wrong = known.includes(name) ? rest[0] : name
  if (wrong !== undefined)
    throw new WrongFlag(
      `${wrong} names no report: it is that of the last whole run, or, with one word (${known.join(', ')}), of --only or --against`,
    )
  return { results: `${name}.json`, page: `${name}-report.html`, table: `${name}-table.md` }
}

/** Says what is wrong with the flags, and ends the process. */
export function refuse(error: unknown): never {
  if (!(error instanceof WrongFlag)) throw error
  console.error(error.message)
  return process.exit(2)
}

function parsed(args: readonly string[]): { quick: boolean; against?: string; only?: string; rounds?: string } {
  const text = { type: 'string' } as const
  try {
    return parseArgs({ args: [...args], options: { quick: { type: 'boolean', default: false }, against: text, only: text, rounds: text } })
      .values
  } catch (error) {
    throw new WrongFlag(`${(error as Error).message}. The flags are --quick, --against PEER, --only TEXT, --rounds N`)
  }
}
