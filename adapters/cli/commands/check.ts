/** `folio check`: the laws of paging, tried on a service over HTTP. */
import { unescape as decoded } from 'node:querystring'
import type { Command } from 'commander'
import { checkService, type ListingResult, type ServiceReport, serviceDefaults } from '../../check/index.ts'
import { exitOf, exits } from '../exit.ts'
import { aside, digits, type Io, print } from '../io.ts'
import { httpUrl, wholeNumber } from '../options.ts'
import type { Run } from '../run.ts'
import { oneLine } from '../text.ts'

interface Options {
  readonly requests: number
  readonly seconds: number
  readonly listings: number
  readonly window: number
  readonly maxLimit: number
  readonly json?: boolean
}

const help = `
The service may be anybody's, as long as its lists are HAL pages: _embedded.records, each with a paging_token, and
_links.next and prev. Listings are found by the links of the URL and of their records, one of each kind; where the URL
is itself a listing, with filters or not, that one is checked. Ledgers, transactions, operations, payments, effects and
trades are also looked for in the other listings that they belong to, and behind their own links. The service may grow
meanwhile. Requests go out one at a time; listings share them evenly, and what could not be checked is said. A service
that is busy (429, 503) is asked again, after the time that it names. A user and password in the URL are sent to its host
alone, by basic authentication, and never printed.

Standard output has the report, with --json as one JSON object. The exit code is 7 where a law is broken.

Examples:
  folio check http://127.0.0.1:8000
  folio check 'https://ledger.example/trades?offer_id=12' --requests 200
  folio check https://ledger.example --json | jq '.listings[].laws[] | select(.outcome == "broken")'`

export const check = (program: Command, run: Run): Command =>
  program
    .command('check')
    .description('check the paging of a service over HTTP')
    .argument('<url>', 'the root of the service, or one of its listings', httpUrl)
    .option('--requests <count>', 'the most requests to make', wholeNumber(1, 1e9), serviceDefaults.requests)
    .option('--seconds <count>', 'the longest time to take', wholeNumber(1, 1e6), serviceDefaults.ms / 1000)
    .option('--listings <count>', 'the most listings to check', wholeNumber(1, 1e6), serviceDefaults.listings)
    .option('--window <records>', 'how many records to look at, at either end of a listing', wholeNumber(3, 1e6), serviceDefaults.window)
    .option('--max-limit <records>', 'the largest page to ask for', wholeNumber(1, serviceDefaults.maxLimit), serviceDefaults.maxLimit)
    .option('--json', 'print the report as one JSON object')
    .addHelpText('after', help)
    .action((url: string, options: Options) => run((io) => checked(io, url, options)))

async function checked(io: Io, given: string, { seconds, json = false, ...options }: Options): Promise<number> {
  const { url, send } = asUser(given)
  const say = (text: string): Promise<void> => print(io, `${text}\n`)
  const listed = aside(io)
  const onListing = (result: ListingResult): void => void (json || listed.say(`${linesOf(result, url).join('\n')}\n`))
  const report = await checkService(url, { ...options, ms: seconds * 1000, signal: listed.signal, fetch: send, onListing })
  await listed.said()
  await say(json ? JSON.stringify(report) : `\n${summaryOf(report)}`)
  return report.broken > 0 ? exits.broken : exitOf(io.signal)
}

/** A URL without its user, and how to fetch as that user: `fetch` takes no URL that names one, and what is said of a URL is read by others. */
function asUser(given: string): { url: string; send: (url: string, init: RequestInit) => Promise<Response> } {
  const target = new URL(given)
  const { username, password, origin } = target
  if (username === '' && password === '') return { url: given, send: fetch }
  const authorization = `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`
  target.username = target.password = ''
  return {
    url: target.href,
    send: (url, init) => fetch(url, new URL(url).origin === origin ? { ...init, headers: { ...init.headers, authorization } } : init),
  }
}

/** A line for the listing; below it what is broken, and why anything was left out. */
function linesOf({ url, kind, requests, empty, laws }: ListingResult, base: string): string[] {
  const name = kind.padEnd(34)
  if (empty) return [`- ${name} holds no records to check with`]
  const of = (outcome: string) => laws.filter((law) => law.outcome === outcome)
  const [broken, unchecked] = [of('broken'), of('unchecked')]
  // Little can be said about a listing of which most was left out.
  const sign = broken.length > 0 ? '✗' : unchecked.length * 2 > laws.length ? '?' : '✓'
  return [
    `${sign} ${name} ${of('holds').length} of ${laws.length} laws hold, ${requests} requests`,
    ...(broken.length > 0 ? [`    ${oneLine(url)}`] : []),
    ...broken.flatMap(({ law, detail = '' }) => [`    broken: ${law}`, `        ${oneLine(detail.replaceAll(new URL(base).origin, ''))}`]),
    ...leftOut(unchecked, laws.length),
  ]
}

/** Each law that was left out, or that all of them were, for one reason. */
function leftOut(unchecked: ListingResult['laws'], of: number): string[] {
  const reasons = new Set(unchecked.map(({ detail }) => detail))
  if (unchecked.length === of && reasons.size === 1) return [`    nothing was checked (${[...reasons]})`]
  return unchecked.map(({ law, detail }) => `    not checked: ${law} (${detail})`)
}

function summaryOf({ listings, requests, seconds, broken, unchecked }: ServiceReport): string {
  const kinds = listings.filter(({ laws }) => laws.some(({ outcome }) => outcome === 'broken')).length
  const tried = listings.reduce((sum, { empty, laws }) => sum + (empty ? 0 : laws.length), 0)
  const unbroken =
    unchecked === 0 ? 'no law of paging is broken' : `${tried - unchecked} of ${tried} checks made, and no law was seen broken`
  const seen = tried === 0 ? 'nothing was checked, since no listing holds records' : unbroken
  const verdict = broken === 0 ? seen : `laws of paging are broken on ${kinds} of ${listings.length} listings, ${broken} times`
  return `${verdict}; ${listings.length} listings, ${unchecked} checks left out, ${digits(requests)} requests in ${seconds.toFixed(1)} s`
}
