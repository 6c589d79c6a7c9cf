/** Our own service, spoilt: each listing pages as it should, but not with what the others say. */

import { pagingAlgebra } from '../../adapters/check/algebra.ts'
import { BELONGS } from '../../adapters/check/belongs.ts'
import { parseJson, stringifyJson } from '../../src/index.ts'
import { byNumbers } from './pages.ts'

export type Service = (url: string, init?: RequestInit) => Promise<Response>
export type ServiceFault = readonly [law: string, fault: string, spoil: (service: Service) => Service]

const JOINED = pagingAlgebra[0]!.name

const isPage = ({ headers }: Response): boolean => /json/.test(headers.get('content-type') ?? '')
const bodyOf = async (response: Response): Promise<any> => parseJson(await response.text())

/** Answers paths that fit with something else. */
const answering =
  (path: RegExp, answer: (url: URL, service: Service) => Promise<Response>) =>
  (service: Service): Service =>
  (text, init) => {
    const url = new URL(text)
    const asked = (other: string): Promise<Response> => service(other, init)
    return path.test(url.pathname) ? answer(url, asked) : service(text, init)
  }

/** Changes every body at paths that fit. */
const changing = (path: RegExp, change: (body: any) => void): ServiceFault[2] =>
  answering(path, async (url, service) => {
    const response = await service(url.href)
    if (response.status !== 200) return response
    if (!isPage(response)) return response
    const { headers } = response
    const body = await bodyOf(response)
    change(body)
    return new Response(stringifyJson(body), { headers })
  })

const each = (body: any, change: (record: any) => void): void => body._embedded.records.forEach(change)

/** Tokens as in {@link byNumbers}, which wants two numbers. */
const two = (token: string): string => (token.includes('-') ? token : `${token}-0`)

/** Pages over the records of listings at paths that fit, without those that are left out. */
const without = (path: RegExp, isLeftOut: (record: any, at: number, count: number) => boolean): ServiceFault[2] =>
  answering(path, async (url, service) => {
    const all: any[] = []
    for (let cursor = ''; ; ) {
      const response = await service(`${url.origin}${url.pathname}?limit=200&cursor=${cursor}`)
      if (response.status !== 200) return response
      const { records } = (await bodyOf(response))._embedded
      if (records.length === 0) break
      all.push(...records)
      cursor = records.at(-1).paging_token
    }
    const kept = all.filter((record, at) => !isLeftOut(record, at, all.length))
    const [cursor, order, limit] = ['cursor', 'order', 'limit'].map((name) => url.searchParams.get(name) ?? '') as [string, string, string]
    const way = order === 'desc' ? -1 : 1
    const ahead = (way < 0 ? kept.reverse() : kept).filter(
      ({ paging_token }) => cursor === '' || byNumbers(two(paging_token), two(cursor)) * way > 0,
    )
    const records = ahead.slice(0, Number(limit))
    const link = (from: string, order: string) => ({ href: `${url.origin}${url.pathname}?cursor=${from}&limit=${limit}&order=${order}` })
    return new Response(
      stringifyJson({
        _links: {
          next: link(records.at(-1)?.paging_token ?? cursor, order),
          prev: link(records[0]?.paging_token ?? cursor, order === 'desc' ? 'asc' : 'desc'),
        },
        _embedded: { records },
      }),
    )
  })

/** Gives all records of everything instead of those of one owner. */
const ofEverything = (path: RegExp, whole: string): ServiceFault[2] =>
  answering(path, async (url, service) => {
    const text = await (await service(`${url.origin}${whole}${url.search}`)).text()
    const [links, records] = text.split('"_embedded"') as [string, string]
    return new Response(`${links.replaceAll(`${whole}?`, `${url.pathname}?`)}"_embedded"${records}`)
  })

const failing = (path: RegExp, status: number): ServiceFault[2] => answering(path, async () => new Response('{}', { status }))

const number = ({ paging_token }: any): number => Number((BigInt(paging_token.split('-')[0]) >> 12n) % 1_000_003n)

export const faultyServices: readonly ServiceFault[] = [
  [JOINED, 'fails on one listing, whatever is asked', failing(/^\/trades$/, 500)],
  [
    JOINED,
    'fails on one listing in descending order',
    answering(/^\/trades$/, async (url, service) =>
      url.searchParams.get('order') === 'desc' ? new Response('{}', { status: 500 }) : service(url.href),
    ),
  ],
  [JOINED, 'fails on the listings of accounts', failing(/^\/accounts\/\w+\/\w+$/, 500)],
  [BELONGS, 'leaves operations out of those of an account', without(/^\/accounts\/\w+\/operations$/, (one) => number(one) % 3 === 0)],
  [BELONGS, 'lists only the newest effects of an account', without(/^\/accounts\/\w+\/effects$/, (_, at, count) => at < count - 5)],
  [BELONGS, 'leaves trades out of those of an account', without(/^\/accounts\/\w+\/trades$/, (one) => number(one) % 3 === 0)],
  [BELONGS, 'leaves out the last transaction of a ledger', without(/^\/ledgers\/\d+\/transactions$/, (_, at, count) => at === count - 1)],
  [
    BELONGS,
    'leaves effects out of all that it lists, but not out of those of an account',
    without(/^\/effects$/, (one) => number(one) % 5 === 0),
  ],
  [BELONGS, 'lists no effects, but does so for each account', without(/^\/effects$/, () => true)],
  [BELONGS, 'lists only one type of payments', without(/^\/payments$/, ({ type }) => type !== 'payment')],
  [BELONGS, 'lists the transactions of all ledgers for one', ofEverything(/^\/ledgers\/\d+\/transactions$/, '/transactions')],
  [BELONGS, 'lists the effects of all accounts for one', ofEverything(/^\/accounts\/\w+\/effects$/, '/effects')],
  [BELONGS, 'lists all operations as payments', ofEverything(/^\/payments$/, '/operations')],
  [
    BELONGS,
    'gives payments another amount than operations',
    changing(/^\/payments$/, (body) => each(body, (one) => void Object.assign(one, one.type === 'payment' && { amount: 1 }))),
  ],
  [
    BELONGS,
    'exchanges the amounts of the trades of an account',
    changing(/^\/accounts\/\w+\/trades$/, (body) =>
      each(body, (one) => ([one.base_amount, one.counter_amount] = [one.counter_amount, one.base_amount])),
    ),
  ],
  [BELONGS, 'gives a single transaction another ledger', changing(/^\/transactions\/\w+$/, (body) => body.ledger++)],
  [BELONGS, 'does not find a ledger that it lists', failing(/^\/ledgers\/\d+$/, 404)],
  [
    BELONGS,
    'links from each operation to another one as itself',
    changing(/^(?!\/operations\/\d+$).*\/operations$/, (body) =>
      each(body, (one) => (one._links.self.href = one._links.self.href.replace(/\d+$/, (id: string) => `${BigInt(id) - 4096n}`))),
    ),
  ],
]
