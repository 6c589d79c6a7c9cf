/** What `npm run bench` and its report are told on the command line, checked before anything is loaded or written. */
import { parseArgs } from 'node:util'

/** What ours may be measured against; the first is the default. */
export const AGAINST = ['sqlite', 'postgres'] as const
export type PeerKind = (typeof AGAINST)[number]

export interface Flags {
  readonly quick: boolean
  readonly against: PeerKind
  /** How much ours may cache, instead of what it takes by itself. */
  readonly cacheMib?: number
  /** How much memory each side may take. */
  readonly memoryMib?: number
  readonly only?: string
  readonly rounds?: number
}

/** A flag is wrong; the message says what it must be. */
export class WrongFlag extends Error {}

/** @throws WrongFlag */
function whole(name: string, text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new WrongFlag(`--${name} must be a whole number from 1 to 9999, not ${text}`)
}

/**
 * @param suitesOf what `--only` may name a part of, by all other flags
 * @throws WrongFlag
 */
export function flagsOf(argv: readonly string[], suitesOf: (flags: Flags) => readonly string[]): Flags {
  const { quick, only, rounds, against: asked = AGAINST[0], 'cache-mib': cacheMib, 'memory-mib': memoryMib } = parsed(argv)
  const against = AGAINST.find((kind) => kind === asked)
  if (against === undefined) throw new WrongFlag(`--against ${asked} names nothing; there is: ${AGAINST.join('; ')}`)
  if (against !== AGAINST[0] && memoryMib !== undefined) throw new WrongFlag(`--memory-mib is for ${AGAINST[0]}, which has no server`)
  const flags: Flags = {
    ...{ quick, against, ...(only !== undefined && { only }) },
    ...(rounds !== undefined && { rounds: whole('rounds', rounds) }),
    ...(cacheMib !== undefined && { cacheMib: whole('cache-mib', cacheMib) }),
    ...(memoryMib !== undefined && { memoryMib: whole('memory-mib', memoryMib) }),
  }
  const names = suitesOf(flags)
  if (only !== undefined && !names.some((name) => name.includes(only)))
    throw new WrongFlag(`--only ${only} names nothing; there is: ${names.join('; ')}`)
  return flags
}

const [CACHE, MEMORY] = ['cache', 'memory']

/** The name of what a run writes: a part leaves the last whole run alone, and one with other memory or against another peer that by default. */
export function resultsOf({ only, cacheMib, memoryMib, against }: Flags): string {
  if (only !== undefined) return 'part'
  if (memoryMib !== undefined) return MEMORY
  if (cacheMib !== undefined) return CACHE
  return against === AGAINST[0] ? 'latest' : against
}

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
  const known = ['part', CACHE, MEMORY, ...OTHERS]
  const wrong = known.includes(name) ? rest[0] : name
  if (wrong !== undefined)
    throw new WrongFlag(
      `${wrong} names no report: it is that of the last whole run, or, with one word (${known.join(', ')}), of --only, --cache-mib, --memory-mib or --against`,
    )
  return { results: `${name}.json`, page: `${name}-report.html`, table: `${name}-table.md` }
}

/** Says what is wrong with the flags, and ends the process. */
export function refuse(error: unknown): never {
  if (!(error instanceof WrongFlag)) throw error
  console.error(error.message)
  return process.exit(2)
}

function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const
  const memory = { 'cache-mib': text, 'memory-mib': text }
  const options = { quick: { type: 'boolean', default: false }, against: text, ...memory, only: text, rounds: text } as const
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    const flags = '--quick, --against PEER, --cache-mib N, --memory-mib N, --only TEXT, --rounds N'
    throw new WrongFlag(`${(error as Error).message}. The flags are ${flags}`)
  }
}
