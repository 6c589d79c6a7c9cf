/** `folio check`: the laws of paging, and those of our document, tried on a service over HTTP. */
import { unescape as decoded } from 'node:querystring'
import type { Command } from 'commander'
import { checkService, countedLaws, type LawResult, type ListingResult, type ServiceReport, serviceDefaults } from '../../check/index.ts'
import { exitOf, exits } from '../exit.ts'
import { aside, countOf, type Io, print } from '../io.ts'
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
It checks that pages of a service lose and repeat nothing: that following the links gives every record once and in order,
with any limit, forward and back, and that every cursor resumes where it should.

The service may be anybody's, as long as its lists are HAL pages: _embedded.records, each with a paging_token, and
_links.next and prev. Listings are found by the links of the URL and of their records, one of each kind; if the URL is
itself a listing, with filters or not, that one is checked. Ledgers, transactions, operations, payments, effects and
trades are also looked for in the other listings that they belong to, and behind their own links. The service may grow
meanwhile. Requests go out one at a time and are shared evenly between listings; the report says what could not be
checked. A service that is busy (429, 503) is asked again, after the time that it names; if it stops answering anything,
one law is broken, and the rest are left out. A user and password in the URL are sent to its host alone, by basic
authentication, and never printed.

A service like folio serve, recognised by its problems of type /problems/..., is also checked for headers and media
types, for what it refuses and how, and for event streams: their form, that they give what pages do, and that they can be
resumed. Of any other service, streams are compared with pages if it has any.

Standard output has the report; with --json, as one JSON object. The exit code is 7 if a law is broken; otherwise it is 1
if most of the checks were left out, as with a service that stays busy or with too few requests.

Examples:
  folio check http://127.0.0.1:8000
  folio check 'https://ledger.example/trades?offer_id=12' --requests 200
  folio check https://ledger.example --json | jq '.listings[].laws[] | select(.outcome == "broken")'`

export const check = (program: Command, run: Run): Command =>
  program
    .command('check')
    .description('check the pages, problems and streams of a service over HTTP')
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
  await say(json ? JSON.stringify(report) : [...linesOfWhole(report), '', summaryOf(report)].join('\n'))
  if (report.broken > 0) return exits.broken
  // Whoever goes by the exit code would take a service of which hardly anything was seen for one that keeps the laws.
  return isMost(report.unchecked, countedLaws(report).length) && !io.signal.aborted ? exits.refused : exitOf(io.signal)
}

/** Little can be said about what was mostly left out. */
const isMost = (unchecked: number, of: number): boolean => unchecked * 2 > of

/** The most laws that are named one by one with the same reason; --json names all. */
const MOST_NAMED = 4

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
  if (!empty) return linesAbout(name, laws, requests, base, url)
  const others = laws.filter(({ outcome }) => outcome === 'holds').length
  return [`- ${name} holds no records to check with${others === 0 ? '' : `; ${others} other laws hold`}`]
}

function linesAbout(name: string, laws: readonly LawResult[], requests: number, base: string, url?: string): string[] {
  const of = (outcome: string) => laws.filter((law) => law.outcome === outcome)
  const bare = (text: string): string => withoutOrigin(text, base)
  const [broken, unchecked] = [of('broken'), of('unchecked')]
  const reasons = [...new Set(unchecked.map(({ detail = '' }) => detail))]
  const sign = broken.length > 0 ? '✗' : isMost(unchecked.length, laws.length) ? '?' : '✓'
  return [
    `${sign} ${name} ${of('holds').length} of ${laws.length} laws hold, ${requests} requests`,
    ...(broken.length > 0 && url !== undefined ? [`    ${oneLine(url)}`] : []),
    ...broken.flatMap(({ law, detail = '' }) => [`    broken: ${law}`, `        ${bare(detail)}`]),
    ...reasons.flatMap((why) =>
      leftOut(
        unchecked.filter(({ detail }) => detail === why),
        laws.length,
        bare(why),
      ),
    ),
  ]
}

/** With few requests, most laws are left out for one reason, and a line for each would hide what was found. */
function leftOut(laws: readonly LawResult[], of: number, why: string): string[] {
  if (laws.length === of) return [`    nothing was checked (${why})`]
  if (laws.length > MOST_NAMED) return [`    not checked: ${laws.length} laws (${why})`]
  return laws.map(({ law }) => `    not checked: ${law} (${why})`)
}

/** Requests are named by their paths. What is at another port keeps its origin, which begins as this one does. */
const withoutOrigin = (text: string, url: string): string => oneLine(text.replaceAll(`${new URL(url).origin}/`, '/'))

/** What concerns no listing alone. */
function linesOfWhole({ url, laws, requests, listings, passedOver }: ServiceReport): string[] {
  const own = requests - listings.reduce((sum, listing) => sum + listing.requests, 0)
  return [
    ...(laws.length > 0 ? linesAbout('the service as a whole'.padEnd(34), laws, own, url) : []),
    ...passedOver.map((line) => `not checked: ${withoutOrigin(line, url)}`),
  ]
}

function summaryOf(report: ServiceReport): string {
  const { listings, laws, requests, seconds, broken, unchecked } = report
  const kinds = listings.filter(({ laws }) => laws.some(({ outcome }) => outcome === 'broken')).length
  const tried = countedLaws(report).length
  const unbroken = unchecked === 0 ? 'no law is broken' : `${tried - unchecked} of ${tried} checks made, and no law was seen broken`
  const isEmpty = listings.every(({ empty }) => empty)
  const seen = isEmpty
    ? `${laws.length > 0 ? 'no law is broken, but ' : ''}no paging was checked, since no listing holds records`
    : unbroken
  const places = laws.some(({ outcome }) => outcome === 'broken') ? ', and of the service as a whole' : ''
  const verdict =
    broken === 0 ? seen : `laws are broken on ${kinds} of ${countOf(listings.length, 'listing')}${places}, ${countOf(broken, 'time')}`
  return `${verdict}; ${countOf(listings.length, 'listing')}, ${countOf(unchecked, 'check')} left out, ${countOf(requests, 'request')} in ${seconds.toFixed(1)} s`
}
