/** Checks a whole service over HTTP, listing by listing, within bounds, while it may grow. */
import { OptionRules } from '../../src/index.ts'
import { type Bounded, EMPTY, pagingAlgebra, remember } from './algebra.ts'
import { answerLaws, formLaws } from './answers.ts'
import { BELONGS, belonging } from './belongs.ts'
import { Checking, type LawResult, whyNot } from './checking.ts'
import { type Bounds, boundDefaults, Client, Exhausted } from './client.ts'
import { discover, kindOf } from './discover.ts'
import { Ends, type FormLaw, type Listed, listAt, otherMake, recordAt, Site } from './document.ts'
import { filterLaws } from './filters.ts'
import { halListing, largestLimit, listingOf } from './hal.ts'
import { COUNT, type Declined, reasonsOf } from './law.ts'
import { problemLaws, siteLaws } from './problems.ts'
import { streamLaws } from './streams.ts'

export interface ServiceOptions extends Bounds {
  /** The most listings. Default: 40. */
  readonly listings?: number | undefined
  /** How many records are checked, at either end of a listing. Default: 60. */
  readonly window?: number | undefined
  /** The largest limit that is requested. Default: 200, or less if the service accepts less. */
  readonly maxLimit?: number | undefined
  /**
   * Laws that the service does not keep, each by a beginning of its name that no other law shares, with the reason: none of its listings is checked for
   * them. What is wrong with the first page of a listing is told even so.
   */
  readonly declined?: Declined | undefined
  /** Called with every listing when it is done. */
  readonly onListing?: ((result: ListingResult) => void) | undefined
}

/** What the options are if they are not given. */
export const serviceDefaults = { ...boundDefaults, listings: 40, window: 60, maxLimit: 200 } satisfies ServiceOptions

export interface ListingResult {
  readonly url: string
  /** Its path, without what names one record. */
  readonly kind: string
  readonly requests: number
  /** The listing held no records, so nothing could be said of it. */
  readonly empty: boolean
  readonly laws: readonly LawResult[]
}

export interface ServiceReport {
  readonly url: string
  readonly listings: readonly ListingResult[]
  /** Of the service as a whole. */
  readonly laws: readonly LawResult[]
  /**
   * What was not checked at all, and why: laws that were declined; where links lead to another origin; laws of the service document, if the service is
   * of another make.
   */
  readonly passedOver: readonly string[]
  readonly requests: number
  readonly seconds: number
  /** How many laws were broken, of the service and of all listings. */
  readonly broken: number
  /** How many laws could not be checked, of the service and of listings that hold records. */
  readonly unchecked: number
}

/** The laws that a report counts: those of the service, and of listings that hold records. */
export const countedLaws = ({ laws, listings }: Pick<ServiceReport, 'laws' | 'listings'>): readonly LawResult[] => [
  ...laws,
  ...listings.flatMap(({ empty, laws }) => (empty ? [] : laws)),
]

/** There is nothing to check, or none was found within the bounds. */
export class NoListing extends Error {
  constructor(url: string, why = 'neither a page, nor links to pages, nor the usual paths') {
    super(`no listing was found at ${url}: ${why}`)
  }
}

const serviceOptions = new OptionRules<ServiceOptions>('checkService', {
  ...{ listings: COUNT, window: COUNT, maxLimit: COUNT },
  ...{ requests: COUNT, ms: { least: 1, of: 'milliseconds' } },
  ...{ declined: 'object', onListing: 'callback', signal: 'signal', fetch: 'callback', headers: 'object' },
})

const STAYS = pagingAlgebra.at(-1)!.name
const BOOK = 'it lists what is there now'
/** These list what is there now, not history. */
const isBook = (kind: string): boolean => /\/(?:offers|order_book)$/.test(kind.replace(/\?.*/, ''))

/** What a listing of a service that keeps the document is checked for, besides its paging. */
export const listedLaws: readonly FormLaw[] = [...formLaws, ...filterLaws, ...problemLaws, ...streamLaws]

/** Whatever may be declined. */
const allLaws: readonly { readonly name: string }[] = [...pagingAlgebra, { name: BELONGS }, ...listedLaws, ...siteLaws, ...answerLaws]

/** A listing, and all that is checked of it. */
class ListingCheck {
  readonly kind: string
  readonly checking: Checking
  /** The largest limit that it takes; undefined if it could not be read. */
  limit: number | undefined
  private readonly client: Client
  readonly url: string
  private readonly site: Site
  private readonly isOurs: boolean
  private readonly declined: ReadonlyMap<string, string>
  /** Reads again what the listing held at first; or why it does not. */
  private look: (() => Promise<void>) | string = BOOK

  /** @param isOurs whether the service keeps the document */
  constructor(client: Client, url: string, site: Site, isOurs: boolean, declined: ReadonlyMap<string, string>) {
    this.client = client
    this.url = url
    this.site = site
    this.isOurs = isOurs
    this.declined = declined
    this.kind = kindOf(url)
    this.checking = new Checking(client, isOurs, isBook(this.kind), declined)
  }

  /** The algebra of paging, but for what is seen only later. */
  async begin(options: Bounded, most: number): Promise<void> {
    const { client, url, kind, checking } = this
    let unread: unknown
    const listing = await checking.counted(async () => {
      try {
        this.limit = await largestLimit(client, url, most)
        const listing = halListing(client, url, this.limit)
        if (!isBook(kind)) this.look = await remember(listing, options).catch(whyUnread)
        return listing
      } catch (error) {
        this.look = whyUnread(error)
        unread = error
        return undefined
      }
    })
    if (listing) {
      for (const { name, check } of pagingAlgebra) if (name !== STAYS) await checking.law(name, () => check(listing, options))
      return
    }
    // What is wrong with the very first page is wrong with every law.
    const law = pagingAlgebra.find(({ name }) => !this.declined.has(name)) ?? pagingAlgebra[0]!
    await checking.law(law.name, () => Promise.reject(unread))
  }

  /** What it holds now is compared with what it held when the check began, after everything else. */
  async end(): Promise<void> {
    const { look } = this
    await this.checking.law(STAYS, async () => (typeof look === 'string' ? look : look().then(() => undefined)))
  }

  /** Headers, refusals, streams. Of another make, streams alone are checked. */
  async forms(): Promise<void> {
    const { client, url, kind, limit, site, isOurs, checking } = this
    if (limit === undefined) return
    const ends = new Ends(client, url, isBook(kind))
    const listed: Listed = { client, url, limit, place: listAt(url), site, ends, isOurs }
    const laws = isOurs ? listedLaws : streamLaws
    for (const { name, concerns, check } of laws) {
      if (checking.noStream !== undefined) return
      if (concerns(listed)) await checking.law(name, () => check(listed))
    }
  }

  get result(): ListingResult {
    const { url, kind, checking } = this
    const { requests, laws } = checking
    return { url, kind, requests, laws, empty: laws[0]?.detail === EMPTY && !laws.some(({ outcome }) => outcome === 'broken') }
  }
}

/** Why there are no first pages to compare with; the laws say what is wrong with them. */
function whyUnread(error: unknown): string {
  const { outcome, detail = '' } = whyNot(error)
  return outcome === 'broken' ? 'its first pages do not agree' : detail
}

/**
 * Checks the algebra of paging on every listing of a service, or on the one that the URL names; and, if the service keeps the document, its headers,
 * refusals and streams. The service is taken as it is: nothing is required of it but HAL pages, and ledgers may be added all the while.
 * @throws BAD_REQUEST if an option is unknown or wrong; NoListing; Unreachable if no service answers; the reason of the signal, if it aborts before a listing
 * is found
 */
export async function checkService(url: string, options: ServiceOptions = {}): Promise<ServiceReport> {
  const { onListing, ...given } = serviceOptions.check(options)
  const declined = reasonsOf(allLaws, given.declined)
  const { listings: most = serviceDefaults.listings, window = serviceDefaults.window, maxLimit = serviceDefaults.maxLimit } = given
  const client = new Client(given)
  client.share(0.3)
  const { urls, elsewhere } = await discover(client, url, most).catch((error) => {
    given.signal?.throwIfAborted()
    throw error instanceof Exhausted ? new NoListing(url, `not before ${error.message}`) : error
  })
  const [first] = urls
  // Such as 401: what stands at the URL, nobody may have been meant to see.
  if (first === undefined) throw new NoListing(client.status === 200 ? url : `${url}, which is answered ${client.status}`)
  const isOne = urls.length === 1 && listingOf(first) === listingOf(url)

  client.share(0.3)
  const base = (listAt(url) ?? recordAt(url))?.base ?? (isOne ? undefined : url.replace(/[?#].*/, '').replace(/\/$/, ''))
  const foreign = await otherMake(client, base)
  const site = new Site(client, base ?? '')
  const all = urls.map((one) => new ListingCheck(client, one, site, foreign === undefined, declined))

  // What comes after paging needs the more, the more there is to check.
  const later = foreign === undefined ? 1.5 : 1.1
  for (const [n, one] of all.entries()) {
    const share = client.share(1 / (all.length * later - n + 1))
    await one.begin({ window, cases: Math.max(4, Math.floor((share - 30) / 9)) }, maxLimit)
  }

  client.share(foreign === undefined ? 0.25 : 0.6)
  const belongs = belonging(
    client,
    all.flatMap(({ url, limit }) => (limit === undefined ? [] : [{ url, limit }])),
  )
  for (const one of all) await one.checking.law(BELONGS, () => belongs(one.url))

  const whole = new Checking(client, foreign === undefined, false, declined)
  client.share(0.15)
  if (foreign === undefined && !isOne) for (const { name, check } of siteLaws) await whole.law(name, () => check(client, site, first))
  for (const [n, one] of all.entries()) {
    client.share(1 / (all.length * 1.3 - n))
    await one.forms()
  }
  for (const [n, one] of all.entries()) {
    client.share(1 / (all.length - n))
    await one.end()
  }
  const spent = [whole, ...all.map(({ checking }) => checking)].filter(({ isSpent }) => isSpent)
  for (const [n, one] of spent.entries()) {
    client.share(1 / (spent.length - n))
    await one.again()
  }

  const listings = all.map(({ result }) => result)
  for (const one of listings) onListing?.(one)
  const { laws } = whole
  const counted = countedLaws({ laws, listings })
  const count = (wanted: LawResult['outcome']): number => counted.filter(({ outcome }) => outcome === wanted).length
  return {
    ...{
      url,
      listings,
      laws,
      passedOver: [...told(declined), ...passedOver(elsewhere, foreign, all)],
      requests: client.requests,
      seconds: client.elapsed / 1000,
    },
    ...{ broken: count('broken'), unchecked: count('unchecked') },
  }
}

const told = (declined: ReadonlyMap<string, string>): string[] =>
  Array.from(declined, ([law, reason]) => `"${law}", which was declined: ${reason}`)

/** What was not checked because it is at another place, or because a service is of another make. */
function passedOver(elsewhere: string | undefined, foreign: string | undefined, all: readonly ListingCheck[]): string[] {
  const without = all.flatMap(({ checking: { noStream } }) => noStream ?? [])
  return [
    ...(elsewhere === undefined
      ? []
      : [`what its links lead to, which is ${elsewhere}: what a client that follows them gets, a check of that URL shows`]),
    ...(foreign === undefined ? [] : [`headers, refusals and the form of streams (${foreign})`]),
    ...(foreign === undefined || without.length === 0 ? [] : [`streams of ${without.length} of ${all.length} listings (${without[0]})`]),
  ]
}
