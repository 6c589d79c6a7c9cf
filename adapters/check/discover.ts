/** Finds the listings of a service, one of each kind: those to which its root links, and those to which its records link. */
import { catalogue } from '../../src/index.ts'
import { type Answer, Busy, type Client, Exhausted, Unreachable } from './client.ts'
import { listAt } from './document.ts'
import { type Members, paged, plainHref, recordsIn, targetOf, withoutPaging } from './hal.ts'

/** Links that are not listings, or lead to the listing that the record is on. */
const passedOver = new Set(['self', 'next', 'prev', 'precedes', 'succeeds', 'curies', 'metrics', 'health', 'openapi'])
/** How many of a kind are tried to find one that holds records. */
const TRIES = 6
/** How far records are followed from the root: listing, record, its parent, the parent's listings. */
const DEPTH = 3

const segmentsOf = (url: string): string[] => new URL(url).pathname.replace(/\/$/, '').split('/')

/** Whether a segment of a path is fixed, such as `trades` or `v1`, and does not name one record. */
const isWord = (segment: string): boolean => /^(?:[a-z_.-]{0,24}|v\d{1,2})$/.test(segment)

/** A path without what names one record: `/accounts/GALICE/trades` as `/accounts/{}/trades`. */
export function kindOf(url: string): string {
  const segments = segmentsOf(url).map((segment) => (isWord(segment) ? segment : '{}'))
  const filters = [...withoutPaging(url).searchParams.keys()].sort()
  return segments.join('/') + (filters.length > 0 ? `?${filters.join('&')}` : '')
}

/** The links of a body that stay with the service, by name. */
function linksOf(body: Members, base: string): [name: string, target: string][] {
  return Object.entries(body?.['_links'] ?? {}).flatMap(([name, link]): [string, string][] => {
    const target = targetOf(link, base)
    return target !== undefined && new URL(target).origin === new URL(base).origin ? [[name, target]] : []
  })
}

/** The origin that all links of a body lead to, if that is another one: what is there is not the service that was asked for. */
function elsewhere(body: Members, base: string): string | undefined {
  const targets = Object.values(body?.['_links'] ?? {}).flatMap((link) => targetOf(link, base) ?? [])
  const [first, ...others] = new Set(targets.map((target) => new URL(target).origin))
  return others.length > 0 || first === new URL(base).origin ? undefined : first
}

/** The templates of a body that have holes in their paths, as paths. */
const templatesOf = (body: Members): string[] =>
  Object.values(body?.['_links'] ?? {})
    .flatMap((link) => plainHref(link) ?? [])
    .filter((href) => href.includes('{'))
    .map((href) => href.replace(/^\w+:\/\/[^/]*/, ''))

/** `/ledgers/{ledger}/payments` filled in from paths that begin likewise, such as `/ledgers/7` or `/ledgers/7/effects`. */
function filled(template: string, known: Iterable<string>): string[] {
  const wanted = template.split('/')
  const holes = wanted.findLastIndex((segment) => segment.includes('{')) + 1
  const begins = [...known].map((path) => path.split('/').slice(0, holes))
  const like = begins.filter((path) => path.length === holes && path.every((one, n) => wanted[n]!.includes('{') || wanted[n] === one))
  return [...new Set(like.map((path) => [...path, ...wanted.slice(holes)].join('/')))].slice(0, TRIES)
}

/** The listings of the catalogue that need no value, for a service without a root. */
const usual = (base: string): string[] =>
  Object.values(catalogue)
    .filter(({ kind, path }) => kind === 'list' && !path.includes('{'))
    .map(({ path }) => base.replace(/\/$/, '') + path)

interface Kind {
  /** Empty if it is not a listing. */
  readonly url: string
  /** What did not answer, and may be one: a check says why. Empty if there is none. */
  readonly failed: string
  /** The last answer. */
  readonly status: number
  /** Nothing better is looked for. */
  readonly settled: boolean
  readonly tries: number
}

/**
 * No answer is an answer, too: whoever checks that listing is told why. It is made only then, since with `--jitless` Node has no `Headers`, nor
 * anything else that fetches.
 */
const none = (): Answer => ({ status: 599, headers: new Headers(), text: '', body: undefined })

/** @throws Exhausted */
const answerOf = (client: Client, url: string): Promise<Answer> =>
  client.get(url).catch((error) => {
    if (error instanceof Busy || error instanceof Unreachable) return none()
    throw error
  })

/**
 * Whether an answer leaves open what is there. A record may have nothing to list, which is 404; what needs more parameters is no listing, which is 400.
 * A page of words may stand at any link, but not where a listing of the document is.
 */
const failedAt = (target: string, { status, body }: Answer, stated: boolean): boolean =>
  status >= 500 || (stated && (status > 400 || (status === 200 && typeof body !== 'object' && listAt(target) !== undefined)))

export interface Found {
  /** Of listings, one of each kind, those of the root first, and of what may be a listing and did not answer. */
  readonly urls: string[]
  /** Another origin, to which all links lead that were to be followed first. */
  readonly elsewhere: string | undefined
}

/**
 * @param url a service, or one listing of it, which is then all that is found
 * @param most how many
 * @throws Unreachable; Exhausted, if nothing was found before
 */
export async function discover(client: Client, url: string, most: number): Promise<Found> {
  const { status, body } = await client.get(url)
  const found = (urls: string[]): Found => ({ urls, elsewhere: status === 200 ? elsewhere(body, url) : undefined })
  if (status === 200 && recordsIn(body)) return found([withoutPaging(url).href])
  const kinds = new Map<string, Kind>()
  const paths = new Set<string>()
  const listings = (): string[] => [...kinds.values()].flatMap((kind) => kind.url || kind.failed || [])

  /** @param stated these are links of the root, each of which should lead somewhere */
  const crawl = async (begin: readonly string[], stated: boolean): Promise<void> => {
    const queue = begin.map((target) => ({ target, depth: 0 }))
    for (const { target, depth } of queue) {
      const kind = kindOf(target)
      const { settled = false, tries = 0, url: before = '', failed = '' } = kinds.get(kind) ?? {}
      if (settled || tries >= TRIES || (tries === 0 && listings().length >= most)) continue
      const answer = await answerOf(client, paged(target, '', 'desc', 3))
      const good = answer.status === 200
      const records = good ? recordsIn(answer.body) : undefined
      kinds.set(kind, {
        url: records ? withoutPaging(target).href : before,
        failed: failedAt(target, answer, stated && depth === 0) ? withoutPaging(target).href : failed,
        status: answer.status,
        settled: records ? records.length > 0 : good,
        tries: tries + 1,
      })
      if (!good) continue
      const links = (records ?? [answer.body]).flatMap((one) => linksOf(one, target))
      for (const [, link] of links) paths.add(segmentsOf(link).join('/'))
      if (depth < DEPTH)
        queue.push(...links.filter(([name]) => !passedOver.has(name)).map(([, link]) => ({ target: link, depth: depth + 1 })))
    }
  }

  const links = status === 200 ? linksOf(body, url).filter(([name]) => !passedOver.has(name)) : []
  try {
    await crawl(links.length > 0 ? links.map(([, target]) => target) : usual(url), links.length > 0)
    await crawl(
      templatesOf(body).flatMap((template) => filled(template, paths).map((path) => new URL(path, url).href)),
      false,
    )
  } catch (error) {
    if (!(error instanceof Exhausted) || listings().length === 0) throw error
  }
  // A root all of whose links lead nowhere is that of another service.
  return [...kinds.values()].some(({ url, status }) => url !== '' || status >= 500) ? found(listings()) : found([])
}
