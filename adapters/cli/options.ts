/** How option values are read. */
import { InvalidArgumentError, Option } from 'commander'
import type { Profile } from '../http/index.ts'

/** A whole number in decimal digits; nothing else that `Number` would accept. */
export const wholeNumber =
  (least: number, most: number, name = 'It') =>
  (text: string): number => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= least && value <= most)) throw new InvalidArgumentError(`${name} must be a whole number from ${least} to ${most}.`)
    return value
  }

/** A number in decimal digits, perhaps with a fraction; its bounds are known to whoever takes it. */
export function anyNumber(text: string): number {
  if (!/^\d{1,16}(?:\.\d{1,16})?$/.test(text)) throw new InvalidArgumentError('It must be a number.')
  return Number(text)
}

/** An absolute http URL without user and query: what the service takes as its base URL. */
function absoluteUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password)
    throw new InvalidArgumentError('It must be like https://example.org/path.')
  return text
}

/** An absolute http URL, with its query kept. */
export function httpUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new InvalidArgumentError('It must be like https://example.org/path.')
  return text
}

/** What answers look like. */
export interface AnswerOptions {
  readonly profile: Profile
}

export const baseUrlOption = (what: string): Option => new Option('--base-url <url>', what).argParser(absoluteUrl)

const profiles = { document: true, extended: true } satisfies Record<Profile, true>

export const profileOption = (): Option =>
  new Option('--profile <name>', 'the members of records: as documented, or with those that SDKs also read')
    .choices(Object.keys(profiles))
    .default('document')

export const ledgerNumber = wholeNumber(0, 2 ** 31 - 1)

/** `--from` and `--to`: ledgers, both included. */
export const fromOption = (): Option => new Option('--from <ledger>', 'the first ledger (default: the oldest held)').argParser(ledgerNumber)
export const toOption = (): Option => new Option('--to <ledger>', 'the last ledger (default: the newest held)').argParser(ledgerNumber)
