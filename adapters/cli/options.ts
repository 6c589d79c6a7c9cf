/** How values of options are read. */
import { InvalidArgumentError } from 'commander'

/** A whole number in decimal digits; nothing else that `Number` would take. */
export const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= least && value <= most)) throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
    return value
  }

/** An absolute http URL without query, its trailing slash taken off. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw new InvalidArgumentError('It must be like https://example.org/path.')
  return text.replace(/\/+$/, '')
}
