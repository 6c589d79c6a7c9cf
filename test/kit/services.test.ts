/** What a check finds by comparing the listings of a service with each other: a correct service passes, and faulty ones are rejected. */
import { beforeAll, describe, expect, test } from 'vitest'
import { pagingAlgebra } from '../../adapters/check/algebra.ts'
import { answerLaws } from '../../adapters/check/answers.ts'
import { BELONGS } from '../../adapters/check/belongs.ts'
import { siteLaws } from '../../adapters/check/problems.ts'
import { generate } from '../../adapters/generate/index.ts'
import { type CoreOptions, createHandler } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { checkService, type ServiceReport } from '../../adapters/testing/index.ts'
import { type Ledger, openLedger } from '../../src/index.ts'
import { faultyServices } from './faulty-services.ts'

const BASE = 'http://service.example'
let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger(memory())
  await ledger.ingest(generate({ ledgers: 40, seed: 'services', accounts: 30, transactionsPerLedger: 6, tradeShare: 0.3 }))
})

const serviceOf = (options: CoreOptions & { mount?: string } = {}) => {
  const handler = createHandler(ledger, options)
  return (url: string, init?: RequestInit): Promise<Response> => handler(new Request(url, init))
}

const broken = ({ listings }: ServiceReport): string[] =>
  listings.flatMap(({ laws }) => laws.filter(({ outcome }) => outcome === 'broken').map(({ law }) => law))
const related = ({ listings }: ServiceReport): (string | undefined)[] =>
  listings.flatMap(({ kind, laws }) => (laws.some(({ law, outcome }) => law === BELONGS && outcome === 'holds') ? [kind] : []))

test.concurrent.for(faultyServices)('"%s" rejects a service that %s', async ([law, , spoil]) => {
  const report = await checkService(BASE, { fetch: spoil(serviceOf()), requests: 1500, window: 20 })
  expect(new Set(broken(report))).toContain(law)
})

describe('a correct service passes', () => {
  test.each<[how: string, url: string, options: CoreOptions & { mount?: string }]>([
    ['', BASE, {}],
    ['with the members of the extended profile', BASE, { profile: 'extended' }],
    ['below a path', `${BASE}/api`, { mount: '/api' }],
    ['below a path of two parts', `${BASE}/v1/history/`, { mount: '/v1/history' }],
  ])('%s', async (_, url, options) => {
    const report = await checkService(url, { fetch: serviceOf(options), requests: 2000 })
    expect(broken(report)).toEqual([])
    const below = new URL(url).pathname.replace(/\/$/, '')
    expect(related(report)).toEqual(
      expect.arrayContaining(['/effects', '/accounts/{}/operations', '/ledgers/{}/transactions'].map((kind) => below + kind)),
    )
  })
})

test.for(faultyServices.slice(0, 4))('"%s", once it is declined, is not checked of a service that %s', async ([law, , spoil]) => {
  const options = { fetch: spoil(serviceOf()), requests: 1500, window: 20 }
  const declined = { [law.slice(0, -1)]: 'we know' }
  const report = await checkService(BASE, { ...options, declined })
  const said = [...report.laws, ...report.listings.flatMap(({ laws }) => laws)].map((one) => one.law)
  expect(said).not.toContain(law)
  expect(said).toContain(pagingAlgebra.find(({ name }) => name !== law)!.name)
  expect(report.passedOver).toEqual([`"${law}", which was declined: we know`])
})

test('laws of single answers, and of the service as a whole, can be declined; a listing that cannot be read is told of even so', async () => {
  const names = [answerLaws[0]!.name, siteLaws[0]!.name]
  const all = await checkService(BASE, { fetch: serviceOf(), requests: 800 })
  const lawsOf = ({ laws, listings }: ServiceReport) => new Set([...laws, ...listings.flatMap((one) => one.laws)].map(({ law }) => law))
  expect(names.every((name) => lawsOf(all).has(name))).toBe(true)
  const some = await checkService(BASE, {
    fetch: serviceOf(),
    requests: 800,
    declined: Object.fromEntries(names.map((name) => [name, 'so'])),
  })
  expect(names.some((name) => lawsOf(some).has(name))).toBe(false)
  const serve = serviceOf()
  const fetch = async (url: string, init?: RequestInit): Promise<Response> =>
    /effects/.test(url) ? Response.json({ _embedded: { records: [5] }, _links: {} }) : serve(url, init)
  const report = await checkService(BASE, { fetch, requests: 800, declined: { [pagingAlgebra[0]!.name]: 'so' } })
  expect(broken(report)).toContain(pagingAlgebra[1]!.name)
})

test('nothing is said of a service whose tokens count the records of each listing', async () => {
  const rows = Array.from({ length: 30 }, (_, n) => ({ id: `row ${n}`, account: n % 3 === 0 ? 'A' : 'B' }))
  const listings: Record<string, typeof rows> = {
    '/transactions': rows,
    '/accounts/A/transactions': rows.filter(({ account }) => account === 'A'),
  }
  const fetch = async (text: string): Promise<Response> => {
    const { pathname, searchParams } = new URL(text)
    if (pathname === '/') return Response.json({ _links: Object.fromEntries(Object.keys(listings).map((path) => [path, { href: path }])) })
    const all = listings[pathname]
    if (!all) return new Response('{}', { status: 404 })
    const [cursor, order, limit] = ['cursor', 'order', 'limit'].map((name) => searchParams.get(name) ?? '') as [string, string, string]
    const numbered = all.map((row, n) => ({ ...row, paging_token: `${n + 1}` }))
    const way = order === 'desc' ? -1 : 1
    const records = (way < 0 ? numbered.reverse() : numbered)
      .filter(({ paging_token }) => cursor === '' || (Number(paging_token) - Number(cursor)) * way > 0)
      .slice(0, Number(limit))
    const link = (from: string, order: string) => ({ href: `${pathname}?cursor=${from}&limit=${limit}&order=${order}` })
    const next = link(records.at(-1)?.paging_token ?? cursor, order)
    return Response.json({
      _links: { next, prev: link(records[0]?.paging_token ?? cursor, way < 0 ? 'asc' : 'desc') },
      _embedded: { records },
    })
  }
  const report = await checkService(BASE, { fetch })
  expect(report.listings.map(({ kind }) => kind)).toEqual(['/transactions', '/accounts/{}/transactions'])
  expect({ broken: broken(report), related: related(report) }).toEqual({ broken: [], related: [] })
})
