/** Laws of refusals: which requests are refused, and what the problem says. */
import type { params } from '../../src/index.ts'
import type { Answer, Asking, Client } from './client.ts'
import { type FormLaw, filledIn, NOWHERE, recordsAt, recordsOf, type Site, withParams } from './document.ts'
import { tokenOf } from './hal.ts'
import { Fault } from './window.ts'

/** The problems that a request can ask for, and their status. */
const statuses = { bad_request: 400, not_found: 404, method_not_allowed: 405, not_acceptable: 406 } as const
export type Refusal = keyof typeof statuses

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What keeps an answer from being a problem at all. */
export function noProblem({ status, headers, body }: Answer): string | undefined {
  const type = headers.get('content-type')
  if (!type?.toLowerCase().startsWith('application/problem+json')) return `is of the type ${type}, not application/problem+json`
  if (!isObject(body)) return 'has no JSON object as its body'
  if (!/^\/problems\/\w+$/.test(String(body.type))) return `names its type ${JSON.stringify(body.type)}, not "/problems/<name>"`
  if (body.status !== status) return `says that its status is ${JSON.stringify(body.status)}`
  const lacks = ['title', 'detail'].find((name) => !isText(body[name])) ?? (isObject(body.extras) ? undefined : 'extras')
  return lacks && `has no ${lacks}`
}

/**
 * @param field which parameter must be named; any one if it is empty
 * @throws Fault if an answer is not this problem
 */
export function checkProblem(answer: Answer, said: string, name: Refusal, field?: string): void {
  const { status, body } = answer
  const wanted = `${said}: expected ${statuses[name]} ${name}`
  if (status !== statuses[name]) throw new Fault(`${wanted}, answered ${status}`)
  const wrong = noProblem(answer)
  if (wrong !== undefined) throw new Fault(`${wanted}; the answer ${wrong}`)
  if (body.type !== `/problems/${name}`) throw new Fault(`${wanted}; the answer is ${body.type}`)
  if (field === undefined) return
  const { invalid_field: named, reason } = body.extras
  if (field === '' ? !isText(named) : named !== field)
    throw new Fault(`${wanted}; extras.invalid_field is ${JSON.stringify(named)}${field && `, not "${field}"`}`)
  if (!isText(reason)) throw new Fault(`${wanted}; extras.reason is ${JSON.stringify(reason)}`)
}

async function refuses(client: Client, url: string, name: Refusal, field?: string, asking: Asking = {}): Promise<void> {
  checkProblem(await client.get(url, asking), `${asking.method ?? 'GET'} ${url}`, name, field)
}

/** Beyond every history: no id of a network that has begun is as large. */
const LAST_ID = String(2n ** 63n - 1n)
const UNKNOWN_HASH = '0badc0de'.repeat(8)

/** By path parameter: what nothing is named, and what nothing can be. */
const strangers: Readonly<Record<keyof typeof params, readonly [unknown: string, malformed: string | undefined]>> = {
  account: ['GNOBODYATALLHASTHISACCOUNT', undefined],
  hash: [UNKNOWN_HASH, 'xyz'],
  ledger: [String(2 ** 31 - 1), 'x'],
  operation: [LAST_ID, 'x'],
  offer: [LAST_ID, 'x'],
}

export const strangerTo = (hole: keyof typeof strangers | undefined): (typeof strangers)[keyof typeof strangers] | undefined =>
  hole && strangers[hole]

type Param = readonly [name: string, value: string]
const [BAD_ORDER, BAD_LIMIT, BAD_CURSOR]: Param[] = [
  ['order', 'up'],
  ['limit', '201'],
  ['cursor', String(2n ** 63n)],
]
const pair: readonly Param[] = [
  ['base_asset_type', 'gold'],
  ['counter_asset_type', 'native'],
]

/** What is wrong, and which parameter must be named: the first of cursor, limit, order and filters, wherever it stands. */
const wrong: readonly (readonly [params: readonly Param[], field: string])[] = [
  [[['limit', '0']], 'limit'],
  [[['cursor', 'x']], 'cursor'],
  [[BAD_ORDER!], 'order'],
  [[BAD_ORDER!, BAD_LIMIT!], 'limit'],
  [[BAD_ORDER!, BAD_LIMIT!, BAD_CURSOR!], 'cursor'],
]
const wrongFilters: typeof wrong = [
  [pair, 'base_asset_type'],
  [[...pair, BAD_ORDER!], 'order'],
]

export const problemLaws: readonly FormLaw[] = [
  {
    name: 'a parameter that is malformed or out of range is 400, and the first of cursor, limit, order and filters that is wrong is named',
    concerns: ({ place }) => place !== undefined,
    async check({ client, url, place }) {
      // Where the URL has filters of its own, others would come second, and not count.
      const filters = place?.query.filters && new URL(url).search === ''
      for (const [params, field] of [...wrong, ...(filters ? wrongFilters : [])])
        await refuses(client, withParams(url, ...params), 'bad_request', field)
      return undefined
    },
  },
  {
    name: 'an empty parameter means its default, the first of two counts, and unknown ones are neither obeyed nor echoed',
    concerns: ({ place }) => place !== undefined,
    async check({ client, url, ends }) {
      const plain = await ends.oldest()
      const asked = withParams(url, ['cursor', ''], ['limit', ''], ['order', ''], ['limit', '1'], ['order', 'desc'], ['x_client', 'folio'])
      const answer = await client.get(asked)
      const tokens = recordsOf(answer, asked).map(tokenOf)
      const at = plain.findIndex((record, n) => tokens[n] !== tokenOf(record))
      if (at >= 0 || tokens.length > 10)
        throw new Fault(
          at < 0
            ? `GET ${asked}: ${tokens.length} records, where 10 are the default`
            : `GET ${asked}: expected ${tokenOf(plain[at]!)} at place ${at}, as by default, got ${tokens[at] ?? 'no record'}`,
        )
      checkEchoes(answer, asked)
      return undefined
    },
  },
  {
    name: 'a path that names what is not there is 404, and one that can name nothing is 400',
    concerns: ({ place }) => strangerTo(place?.hole) !== undefined,
    async check({ client, place }) {
      const [unknown, malformed] = strangerTo(place!.hole)!
      const url = filledIn(place!, unknown)
      if (place!.query.missing === 'never') {
        const { length } = await recordsAt(client, url, '', 'asc', 1)
        if (length > 0) throw new Fault(`GET ${url}: expected an empty page, got ${length} records`)
      } else await refuses(client, url, 'not_found')
      if (malformed !== undefined) await refuses(client, filledIn(place!, malformed), 'bad_request', '')
      return undefined
    },
  },
]

/** @throws Fault unless the links of a page that was asked for by defaults name these, and nothing that is unknown */
function checkEchoes({ body }: Answer, asked: string): void {
  for (const name of ['self', 'next', 'prev']) {
    const href = String(body._links?.[name]?.href)
    const wrong = (what: string): Fault => new Fault(`GET ${asked}: _links.${name} ${what}: ${href}`)
    const { searchParams } = new URL(href, asked)
    if (searchParams.has('x_client')) throw wrong('echoes x_client, which is no parameter')
    const lacking = ['cursor', 'limit', 'order'].find((name) => !searchParams.has(name))
    if (lacking) throw wrong(`lacks ${lacking}`)
    const order = name === 'prev' ? 'desc' : 'asc'
    if (searchParams.get('limit') !== '10') throw wrong('does not name the limit of 10')
    if (searchParams.get('order') !== order) throw wrong(`does not name the order ${order}`)
  }
}

/** What is checked once of a service; where a path is needed, at one of its listings. */
export interface SiteLaw {
  readonly name: string
  check(client: Client, site: Site, listing: string): Promise<undefined>
}

export const siteLaws: readonly SiteLaw[] = [
  {
    name: 'an unknown path is 404, and each problem can be read where its type says',
    async check(client, { base }) {
      await refuses(client, base + NOWHERE, 'not_found')
      await refuses(client, `${base}/problems/none`, 'not_found')
      for (const name of Object.keys(statuses)) {
        const url = `${base}/problems/${name}`
        const { status, body } = await client.get(url)
        if (status !== 200 || body?.type !== `/problems/${name}`)
          throw new Fault(`GET ${url}: answered ${status}, and ${JSON.stringify(body?.type)} as its type`)
      }
      return undefined
    },
  },
  {
    name: 'a record that is not there is 404, and one that cannot be is 400',
    async check(client, { base }) {
      for (const [path, [unknown, malformed]] of [
        ['ledgers', strangers.ledger],
        ['transactions', strangers.hash],
        ['operations', strangers.operation],
      ] as const) {
        await refuses(client, `${base}/${path}/${unknown}`, 'not_found')
        await refuses(client, `${base}/${path}/${malformed}`, 'bad_request', '')
      }
      return undefined
    },
  },
  {
    name: 'a method other than GET, HEAD and OPTIONS is 405 with Allow, and a preflight allows any header',
    async check(client, _, url) {
      // Of all methods that write nothing, the one that every parser knows.
      const asking = { method: 'PROPFIND' }
      const answer = await client.get(url, asking)
      checkProblem(answer, `PROPFIND ${url}`, 'method_not_allowed')
      checkNamed(answer, 'allow', ['GET', 'HEAD', 'OPTIONS'], `PROPFIND ${url}`)
      const preflight = await client.get(url, {
        method: 'OPTIONS',
        headers: {
          origin: 'http://page.example',
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'x-client-name',
        },
      })
      const said = `OPTIONS ${url}`
      if (preflight.status !== 204 && preflight.status !== 200) throw new Fault(`${said}: expected 204, answered ${preflight.status}`)
      checkNamed(preflight, 'access-control-allow-headers', ['x-client-name'], said)
      return undefined
    },
  },
]

/** @throws Fault if a header lists neither these nor everything */
function checkNamed({ headers }: Answer, header: string, wanted: readonly string[], said: string): void {
  const value = headers.get(header)
  const named = (value ?? '').toLowerCase().split(/\s*,\s*/)
  if (!named.includes('*') && wanted.some((one) => !named.includes(one.toLowerCase())))
    throw new Fault(`${said}: ${header} is ${JSON.stringify(value)}, and lacks some of ${wanted.join(', ')}`)
}
