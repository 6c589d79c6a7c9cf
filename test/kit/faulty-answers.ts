/** Our own service, spoilt in its headers and its refusals: its pages and streams are as they should be. */
import { answerLaws, formLaws } from '../../adapters/check/answers.ts'
import { filterLaws } from '../../adapters/check/filters.ts'
import { problemLaws, siteLaws } from '../../adapters/check/problems.ts'
import { parseJson, stringifyJson } from '../../src/index.ts'
import type { Service } from './faulty-services.ts'

/** @param at where the check begins; `{account}` and `{ledger}` stand for one that is there. Default: the operations */
export type FormFault = readonly [law: string, fault: string, spoil: (service: Service) => Service, at?: string]

const [ORIGIN, TYPES, TAGS] = answerLaws.map(({ name }) => name) as [string, string, string]
const [KEPT, HEAD, ACCEPT, SLASH] = formLaws.map(({ name }) => name) as [string, string, string, string]
const [PAIRS, OFFERS] = filterLaws.map(({ name }) => name) as [string, string]
const [PARAMS, DEFAULTS, STRANGERS] = problemLaws.map(({ name }) => name) as [string, string, string]
const [PATHS, RECORDS, METHODS] = siteLaws.map(({ name }) => name) as [string, string, string]

/** A request, as faults look at it. */
export interface Asked {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly param: (name: string) => string | null
}

const askedOf = (text: string, { method = 'GET', headers }: RequestInit = {}): Asked => {
  const url = new URL(text)
  return { url, method, headers: new Headers(headers), param: (name) => url.searchParams.get(name) }
}

/** Asks for something else where that is given: another URL, or other headers. */
export const asking =
  (change: (asked: Asked) => string | RequestInit | undefined): FormFault[2] =>
  (service) =>
  (text, init) => {
    const other = change(askedOf(text, init))
    return typeof other === 'string' ? service(other, init) : service(text, { ...init, ...other })
  }

/** Answers something else where that is given. */
export const answered =
  (change: (response: Response, asked: Asked, service: Service) => Response | Promise<Response | undefined> | undefined): FormFault[2] =>
  (service) =>
  async (text, init) => {
    const response = await service(text, init)
    return (await change(response, askedOf(text, init), service)) ?? response
  }

/** Changes the headers of every answer. */
const headed = (change: (headers: Headers, response: Response, asked: Asked) => void): FormFault[2] =>
  answered((response, asked) => {
    const headers = new Headers(response.headers)
    change(headers, response, asked)
    const { status, body } = response
    return new Response(body, { status, headers })
  })

/** Changes every problem. */
const problem = (change: (body: any) => void): FormFault[2] =>
  answered(async (response) => {
    if (response.status < 400) return undefined
    const { status, headers } = response
    const body = await response.json()
    change(body)
    return new Response(JSON.stringify(body), { status, headers })
  })

/** Whether a pair is asked for that is none of the wrong ones. */
const isPair = (param: Asked['param']): boolean => /^(?:native|credit)/.test(param('base_asset_type') ?? '')

const isHal = ({ status, headers }: Response): boolean => status === 200 && /json/.test(headers.get('content-type') ?? '')

/** Changes the text of pages and records that were asked for in some way. */
const reworded = (fits: (asked: Asked) => boolean, change: (text: string) => string): FormFault[2] =>
  answered(async (response, asked) => (isHal(response) && fits(asked) ? new Response(change(await response.text()), response) : undefined))

/** Changes pages that were asked for in some way. */
const repaged = (
  fits: (asked: Asked) => boolean,
  change: (page: any, asked: Asked, service: Service) => Promise<void> | void,
): FormFault[2] =>
  answered(async (response, asked, service) => {
    if (!isHal(response) || !fits(asked)) return undefined
    const page = parseJson(await response.text()) as any
    await change(page, asked, service)
    return new Response(stringifyJson(page), response)
  })

/** A URL with other parameters; those that are undefined are left out. */
export function changed(url: URL, params: Readonly<Record<string, string | undefined>>): string {
  const other = new URL(url)
  for (const [name, value] of Object.entries(params))
    value === undefined ? other.searchParams.delete(name) : other.searchParams.set(name, value)
  return other.href
}

/** Refuses what fits, with the problem of that name. */
const refusing = (status: number, name: string, fits: (asked: Asked, response: Response) => boolean): FormFault[2] =>
  answered((response, asked) => {
    if (!fits(asked, response)) return undefined
    const body = { type: `/problems/${name}`, title: 'No', status, detail: 'No.', extras: { invalid_field: 'path', reason: 'no' } }
    const headers = { 'content-type': 'application/problem+json', 'access-control-allow-origin': '*' }
    return new Response(JSON.stringify(body), { status, headers })
  })

const FOR_GOOD = 'public, max-age=31536000, immutable'
const kept = (value: string, fits: (asked: Asked, response: Response) => boolean | Promise<boolean>): FormFault[2] =>
  answered(async (response, asked) => {
    if (!isHal(response) || !(await fits(asked, response))) return undefined
    const headers = new Headers(response.headers)
    headers.set('cache-control', value)
    return new Response(response.body, { headers })
  })

const isFull = async ({ param }: Asked, response: Response): Promise<boolean> => {
  const { _embedded } = parseJson((await response.clone().text()) || '{}') as any
  return param('order') !== 'desc' && _embedded?.records.length === Number(param('limit') || 10)
}

const UNREADABLE = String(2n ** 63n)

export const faultyAnswers: readonly FormFault[] = [
  [ORIGIN, 'may be read by its own pages alone', headed((headers) => headers.delete('access-control-allow-origin'))],
  [
    ORIGIN,
    'lets other origins read what it gives, but not what it refuses',
    headed((headers, { status }) => status >= 400 && headers.delete('access-control-allow-origin')),
  ],
  [
    TYPES,
    'calls its pages JSON, although HAL was preferred',
    headed((headers, response, asked) => {
      if (isHal(response) && !asked.headers.get('accept')?.includes('q=0.5')) headers.set('content-type', 'application/json; charset=utf-8')
    }),
  ],
  [
    TYPES,
    'lays its pages out over many lines',
    reworded(
      () => true,
      (text) => text.replaceAll('"_links":', '\n  "_links": '),
    ),
  ],
  [TYPES, 'refuses in words instead of JSON', headed((headers, { status }) => status >= 400 && headers.set('content-type', 'text/plain'))],
  [TAGS, 'gives its pages no tag', headed((headers) => headers.delete('etag'))],
  [TAGS, 'does not say how long its pages may be kept', headed((headers) => headers.delete('cache-control'))],
  [TAGS, 'lets pages be kept for good that are not full yet', kept(FOR_GOOD, ({ param }) => param('order') !== 'desc')],
  [KEPT, 'lets nothing be kept for good', kept('no-cache', () => true)],
  [KEPT, 'lets every full page be kept for good, also one that ends in the newest ledger', kept(FOR_GOOD, isFull)],
  [KEPT, 'lets no single record be kept for good', kept('no-cache', ({ url }) => /\d$/.test(url.pathname))],
  [KEPT, 'lets the offers of an account be kept for good', kept(FOR_GOOD, isFull), '/accounts/{account}/offers'],
  [
    KEPT,
    'sends again what is known',
    asking(({ headers }) => {
      headers.delete('if-none-match')
      return { headers }
    }),
  ],
  [
    KEPT,
    'says of everything that it is known, if anything is',
    answered(({ headers }, asked) => (asked.headers.has('if-none-match') ? new Response(null, { status: 304, headers }) : undefined)),
  ],
  [KEPT, 'gives no tag with the answer that it is known', headed((headers, { status }) => status === 304 && headers.delete('etag'))],
  [HEAD, 'does not know HEAD', refusing(405, 'method_not_allowed', ({ method }) => method === 'HEAD')],
  [HEAD, 'sends HEAD the body too', asking(({ method }) => (method === 'HEAD' ? { method: 'GET' } : undefined))],
  [HEAD, 'gives HEAD no tag', headed((headers, _, { method }) => method === 'HEAD' && headers.delete('etag'))],
  [
    ACCEPT,
    'sends HAL to who wants plain JSON',
    headed((headers, response) => isHal(response) && headers.set('content-type', 'application/hal+json; charset=utf-8')),
  ],
  [ACCEPT, 'does not say that its forms vary with Accept', headed((headers) => headers.delete('vary'))],
  [ACCEPT, 'sends HAL to who wants HTML', asking(({ headers }) => (headers.get('accept') === 'text/html' ? { headers: {} } : undefined))],
  [
    ACCEPT,
    'streams to whoever names event streams at all',
    asking(({ headers }) => {
      if (headers.get('accept')?.includes('event-stream')) headers.set('accept', 'text/event-stream')
      return { headers }
    }),
  ],
  [
    SLASH,
    'finds nothing at a path with a slash at its end',
    refusing(404, 'not_found', ({ url }) => url.pathname.length > 1 && url.pathname.endsWith('/')),
  ],
  [
    PARAMS,
    'takes a limit that is too large for the largest',
    asking(({ url, param }) => (param('limit') === '201' && !param('cursor') ? changed(url, { limit: '200', order: 'asc' }) : undefined)),
  ],
  [
    PARAMS,
    'takes a limit of zero for none',
    asking(({ url, param }) => (param('limit') === '0' ? changed(url, { limit: undefined }) : undefined)),
  ],
  [
    PARAMS,
    'takes a cursor that it cannot read for the beginning',
    asking(({ url, param }) => (param('cursor') === 'x' ? changed(url, { cursor: '' }) : undefined)),
  ],
  [
    PARAMS,
    'takes an unknown order for the ascending one',
    asking(({ url, param }) => (param('order') === 'up' ? changed(url, { order: 'asc' }) : undefined)),
  ],
  [
    PARAMS,
    'names the limit before the cursor',
    asking(({ url, param }) => (param('limit') === '201' && param('cursor') === UNREADABLE ? changed(url, { cursor: '' }) : undefined)),
  ],
  [
    PARAMS,
    'checks filters before anything else',
    asking(({ url, param }) => (param('base_asset_type') === 'gold' ? changed(url, { order: 'asc' }) : undefined)),
    '/trades',
  ],
  [
    PARAMS,
    'takes an unknown type of asset for no filter',
    asking(({ url, param }) =>
      param('base_asset_type') === 'gold' ? changed(url, { base_asset_type: '', counter_asset_type: '' }) : undefined,
    ),
    '/trades',
  ],
  [PARAMS, 'does not name the parameter that it refuses', problem(({ extras }) => Reflect.deleteProperty(extras, 'invalid_field'))],
  [PARAMS, 'does not say what a parameter must be', problem(({ extras }) => Reflect.deleteProperty(extras, 'reason'))],
  [PARAMS, 'gives all its problems one type', problem((body) => Object.assign(body, { type: 'about:blank' }))],
  [PARAMS, 'writes the status of a problem as text', problem((body) => Object.assign(body, { status: String(body.status) }))],
  [PARAMS, 'fails at a cursor that it cannot read', refusing(500, 'internal_error', ({ param }) => param('cursor') === 'x')],
  [DEFAULTS, 'refuses a parameter that is empty', refusing(400, 'bad_request', ({ param }) => param('limit') === '')],
  [
    DEFAULTS,
    'takes the last of two',
    asking(({ url }) => {
      const limits = url.searchParams.getAll('limit')
      return limits.length > 1 ? changed(url, { limit: limits.at(-1), order: undefined }) : undefined
    }),
  ],
  [
    DEFAULTS,
    'echoes in its links what it does not know',
    reworded(
      ({ param }) => param('x_client') !== null,
      (text) => text.replaceAll('&limit=', '&x_client=folio&limit='),
    ),
  ],
  [
    DEFAULTS,
    'names another limit in its links than was asked for',
    reworded(
      ({ param }) => param('limit') === '',
      (text) => text.replaceAll('limit=10', 'limit=20'),
    ),
  ],
  [
    DEFAULTS,
    'says of a page that it descends, though it ascends',
    reworded(
      ({ param }) => param('order') === '',
      (text) => text.replace(/("self":\{"href":"[^"]*order=)asc/, '$1desc'),
    ),
  ],
  [
    PAIRS,
    'ignores filters that it can read',
    asking(({ url, param }) => (isPair(param) ? changed(url, { base_asset_type: undefined, counter_asset_type: undefined }) : undefined)),
    '/trades',
  ],
  [
    PAIRS,
    'knows a pair only by one of its names',
    asking(({ url, param }) => (isPair(param) && param('base_asset_type') === 'native' ? changed(url, { cursor: 'now' }) : undefined)),
    '/trades',
  ],
  [
    PAIRS,
    'shows trades of a pair as they were, whichever asset is named first',
    repaged(
      ({ param }) => isPair(param),
      async (page, { url }, service) => {
        for (const [n, { paging_token }] of page._embedded.records.entries()) {
          const cursor = paging_token.replace(/\d+$/, (last: string) => String(Number(last) - 1))
          const plain = await (await service(`${url.origin}/trades?limit=1&cursor=${cursor}`)).text()
          page._embedded.records[n] = (parseJson(plain) as any)._embedded.records[0]
        }
      },
    ),
    '/trades',
  ],
  [
    OFFERS,
    'ignores which offer is asked for',
    asking(({ url, param }) => (param('offer_id') ? changed(url, { offer_id: undefined }) : undefined)),
    '/trades',
  ],
  [
    OFFERS,
    'knows the offer of one side alone',
    repaged(
      ({ param }) => Boolean(param('offer_id')),
      ({ _embedded: page }, { param }) => {
        page.records = page.records.filter((record: any) => record.counter_offer_id !== param('offer_id'))
      },
    ),
    '/trades',
  ],
  [
    OFFERS,
    'turns the trades of an offer, though no pair is asked for',
    reworded(
      ({ param }) => Boolean(param('offer_id')),
      (text) =>
        text.replaceAll('"base_account"', '"x"').replaceAll('"counter_account"', '"base_account"').replaceAll('"x"', '"counter_account"'),
    ),
    '/trades',
  ],
  [
    STRANGERS,
    'gives an empty page for an account that nobody knows',
    answered((response, { url }, service) =>
      response.status === 404 && /accounts/.test(url.pathname) ? service(`${url.origin}/operations?cursor=now`) : undefined,
    ),
    '/accounts/{account}/operations',
  ],
  [
    STRANGERS,
    'says that a ledger is not there which is no number',
    refusing(404, 'not_found', ({ url }, { status }) => status === 400 && /ledgers\/x/.test(url.pathname)),
    '/ledgers/{ledger}/operations',
  ],
  [
    PATHS,
    'gives its index for an unknown path',
    asking(({ url }) => (url.pathname === '/no/such/path' ? `${url.origin}/` : undefined)),
    '/',
  ],
  [PATHS, 'does not say what its problems are', refusing(404, 'not_found', ({ url }) => url.pathname.startsWith('/problems/')), '/'],
  [
    RECORDS,
    'gives nothing for a record that is not there, instead of refusing',
    answered((response, { url }) =>
      response.status === 404 && /^\/(?:ledgers|operations)\/\d+$/.test(url.pathname)
        ? Response.json(null, { headers: { 'access-control-allow-origin': '*' } })
        : undefined,
    ),
    '/',
  ],
  [
    RECORDS,
    'says that a transaction is not there whose hash is none',
    refusing(404, 'not_found', ({ url }) => url.pathname === '/transactions/xyz'),
    '/',
  ],
  [METHODS, 'reads, whatever the method', asking(({ method }) => (method === 'PROPFIND' ? { method: 'GET' } : undefined)), '/'],
  [METHODS, 'does not say which methods it allows', headed((headers) => headers.delete('allow')), '/'],
  [METHODS, 'does not answer preflights', refusing(405, 'method_not_allowed', ({ method }) => method === 'OPTIONS'), '/'],
  [METHODS, 'lets scripts send no headers of their own', headed((headers) => headers.delete('access-control-allow-headers')), '/'],
]
