/** How option values are read. */
import { InvalidArgumentError, Option } from 'commander'
import { isBaseUrl, type Profile } from '../http/index.ts'

/** A whole number in decimal digits; nothing else that `Number` would accept. */
export const wholeNumber =
  (least: number, most: number, name = 'It') =>
  (text: string): number => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= least && value <= most)) throw new InvalidArgumentError(`${name} must be a whole number from ${least} to ${most}.`)
    return value
  }

/** A text that says something: an empty one is what a variable of a shell gives that was never set. */
export function someText(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.')
  return text
}

/** A number in decimal digits, perhaps with a fraction; its bounds are known to whoever takes it. */
export function anyNumber(text: string): number {
  if (!/^\d{1,16}(?:\.\d{1,16})?$/.test(text)) throw new InvalidArgumentError('It must be a number in decimal digits, 16 of them at most.')
  return Number(text)
}

/** What the service takes as its base URL. */
function baseUrl(text: string): string {
  if (!isBaseUrl(text)) throw new InvalidArgumentError('It must be like https://example.org/path, without a user or query.')
  return text
}

/** An absolute http URL, with its query. */
export function httpUrl(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) throw new InvalidArgumentError('It must be like https://example.org/path.')
  return text
}

/** What answers look like. */
export interface AnswerOptions {
  readonly profile: Profile
}

export const baseUrlOption = (what: string): Option => new Option('--base-url <url>', what).argParser(baseUrl)

const profiles = { document: true, extended: true } satisfies Record<Profile, true>

export const profileOption = (): Option =>
  new Option('--profile <name>', 'the members of records: as documented, or with those that SDKs also read')
    .choices(Object.keys(profiles))
    .default('document')

export const ledgerNumber = wholeNumber(0, 2 ** 31 - 1)

/** `--from` and `--to`: ledgers, both included. */
export const fromOption = (): Option => new Option('--from <ledger>', 'the first ledger (default: the oldest held)').argParser(ledgerNumber)
export const toOption = (): Option => new Option('--to <ledger>', 'the last ledger (default: the newest held)').argParser(ledgerNumber)
