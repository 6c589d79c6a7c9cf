/** Checks a whole service over HTTP, listing by listing, within bounds, while it may grow. */
import { OptionRules } from '../../src/index.ts'
import { type Bounded, EMPTY, pagingAlgebra, remember } from './algebra.ts'
import { BELONGS, belonging, UNRELATED } from './belongs.ts'
import { type Bounds, boundDefaults, Client, Exhausted, Unreachable } from './client.ts'
import { discover, kindOf } from './discover.ts'
import { halListing, largestLimit } from './hal.ts'
import { COUNT } from './law.ts'
import type { PagedListing } from './paged.ts'
import { Fault } from './window.ts'

export interface ServiceOptions extends Bounds {
  /** The most listings. Default: 40. */
  readonly listings?: number | undefined
  /** How many records are checked, at either end of a listing. Default: 60. */
  readonly window?: number | undefined
  /** The largest limit that is requested. Default: 200, or less if the service accepts less. */
  readonly maxLimit?: number | undefined
  /** Called with every listing when it is done. */
  readonly onListing?: ((result: ListingResult) => void) | undefined
}

/** What the options are if they are not given. */
export const serviceDefaults = { ...boundDefaults, listings: 40, window: 60, maxLimit: 200 } satisfies ServiceOptions

export interface LawResult {
  readonly law: string
  readonly outcome: 'holds' | 'broken' | 'unchecked'
  /** What was expected and what came, or why it was not checked. */
  readonly detail?: string
}

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
  readonly requests: number
  readonly seconds: number
  /** How many laws were broken, over all listings. */
  readonly broken: number
  /** How many laws could not be checked, on listings that hold records. */
  readonly unchecked: number
}

/** There is nothing to check, or none was found within the bounds. */
export class NoListing extends Error {
  constructor(url: string, why = 'neither a page, nor links to pages, nor the usual paths') {
    super(`no listing was found at ${url}: ${why}`)
  }
}

const serviceOptions = new OptionRules<ServiceOptions>('checkService', {
  ...{ listings: COUNT, window: COUNT, maxLimit: COUNT },
  ...{ requests: COUNT, ms: { least: 1, of: 'milliseconds' } },
  ...{ onListing: 'callback', signal: 'signal', fetch: 'callback', headers: 'object' },
})

const STAYS = pagingAlgebra.at(-1)!.name
const BOOK = 'it lists what is there now'
/** These list what is there now, not history. */
const isBook = (kind: string): boolean => /\/(?:offers|order_book)$/.test(kind.replace(/\?.*/, ''))

/** What an error says about a law: that it is broken, or that bounds were reached. */
function whyNot(error: unknown): Omit<LawResult, 'law'> {
  if (error instanceof Exhausted) return { outcome: 'unchecked', detail: error.message }
  if (error instanceof Fault || error instanceof Unreachable) return { outcome: 'broken', detail: error.message }
  throw error
}

/** Runs a check; if bounds were reached, or the listing changes by itself, the outcome stays open. */
async function outcomeOf(law: string, check: () => Promise<string | undefined>): Promise<LawResult> {
  try {
    const unchecked = await check()
    return unchecked === undefined ? { law, outcome: 'holds' } : { law, outcome: 'unchecked', detail: unchecked }
  } catch (error) {
    return { law, ...whyNot(error) }
  }
}

interface Pending {
  readonly result: Omit<ListingResult, 'laws' | 'empty' | 'requests'> & { requests: number }
  readonly laws: LawResult[]
  /** The largest limit that it takes; undefined if it could not be read. */
  readonly limit?: number | undefined
  /** Reads again what the listing held at first. */
  readonly look: (() => Promise<void>) | string
}

/** What a listing holds now is compared with what it held when the check began, after everything else. */
async function begin(client: Client, url: string, options: Bounded, most: number): Promise<Pending> {
  const before = client.requests
  const kind = kindOf(url)
  const laws: LawResult[] = []
  let look: Pending['look'] = BOOK
  let limit: number | undefined
  try {
    limit = await largestLimit(client, url, most)
    const listing = halListing(client, url, limit)
    if (!isBook(kind)) look = await remember(listing, options).catch(unread)
    for (const { name, check } of pagingAlgebra) if (name !== STAYS) laws.push(await settled(name, listing, options, check, isBook(kind)))
  } catch (error) {
    // What is wrong with the very first page is wrong with every law.
    laws.push({ law: pagingAlgebra[0]!.name, ...whyNot(error) })
    look = unread(error)
  }
  return { result: { url, kind, requests: client.requests - before }, laws, limit, look }
}

/** Why there are no first pages to compare with; the laws say what is wrong with them. */
function unread(error: unknown): string {
  const { outcome, detail = '' } = whyNot(error)
  return outcome === 'broken' ? 'its first pages do not agree' : detail
}

/** Adds what one more law says of a listing, unless that is nothing. */
async function add(client: Client, { result, laws }: Pending, law: string, check: () => Promise<string | undefined>): Promise<void> {
  const before = client.requests
  const one = await outcomeOf(law, check)
  if (one.detail !== UNRELATED) laws.push(one)
  result.requests += client.requests - before
}

/** A listing of what is there now may change between two requests: a law that seems broken is checked again. */
async function settled(
  name: string,
  listing: PagedListing,
  options: Bounded,
  check: (listing: PagedListing, options: Bounded) => Promise<string | undefined>,
  changes: boolean,
): Promise<LawResult> {
  for (let tries = changes ? 3 : 1; ; tries--) {
    const result = await outcomeOf(name, () => check(listing, options))
    if (result.outcome !== 'broken' || tries === 1) return result
  }
}

/**
 * Checks the algebra of paging on every listing of a service, or on the one that the URL names.
 * The service is taken as it is: nothing is required of it but HAL pages, and ledgers may be added all the while.
 * @throws BAD_REQUEST if an option is unknown or wrong; NoListing; Unreachable if no service answers; the reason of the signal, if it aborts before a listing
 * is found
 */
export async function checkService(url: string, options: ServiceOptions = {}): Promise<ServiceReport> {
  const { onListing, ...given } = serviceOptions.check(options)
  const { listings: most = serviceDefaults.listings, window = serviceDefaults.window, maxLimit = serviceDefaults.maxLimit } = given
  const client = new Client(options)
  client.share(0.3)
  const urls = await discover(client, url, most).catch((error) => {
    options.signal?.throwIfAborted()
    throw error instanceof Exhausted ? new NoListing(url, `not before ${error.message}`) : error
  })
  // Such as 401: what stands at the URL, nobody may have been meant to see.
  if (urls.length === 0) throw new NoListing(client.status === 200 ? url : `${url}, which is answered ${client.status}`)

  const pending: Pending[] = []
  for (const [n, one] of urls.entries()) {
    // The last shares are kept for checking all of them once more, and against each other.
    const share = client.share(1 / (urls.length * 1.1 - n + 1))
    const cases = Math.max(4, Math.floor((share - 30) / 9))
    pending.push(await begin(client, one, { window, cases }, maxLimit))
  }

  client.share(0.7)
  const known = pending.flatMap(({ result: { url }, limit }) => (limit === undefined ? [] : [{ url, limit }]))
  const belongs = belonging(client, known)
  for (const one of pending) await add(client, one, BELONGS, () => belongs(one.result.url))

  const listings: ListingResult[] = []
  for (const [n, one] of pending.entries()) {
    const { result, laws, look } = one
    client.share(1 / (pending.length - n))
    await add(client, one, STAYS, async () => (typeof look === 'string' ? look : look().then(() => undefined)))
    const empty = laws[0]?.detail === EMPTY && !laws.some(({ outcome }) => outcome === 'broken')
    const done = { ...result, empty, laws }
    onListing?.(done)
    listings.push(done)
  }
  const count = (outcome: LawResult['outcome']): number =>
    listings.reduce((sum, { empty, laws }) => sum + (empty ? 0 : laws.filter((law) => law.outcome === outcome).length), 0)
  return {
    ...{ url, listings, requests: client.requests, seconds: client.elapsed / 1000 },
    ...{ broken: count('broken'), unchecked: count('unchecked') },
  }
}
