/** What a check finds in headers, refusals and event streams: a correct service passes, and faulty ones are rejected. */
import { beforeAll, describe, expect, test } from 'vitest'
import { answerLaws } from '../../adapters/check/answers.ts'
import { problemLaws, siteLaws } from '../../adapters/check/problems.ts'
import { listedLaws } from '../../adapters/check/service.ts'
import { streamLaws } from '../../adapters/check/streams.ts'
import { generate } from '../../adapters/generate/index.ts'
import { createHandler, type HandlerOptions, serve } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { checkService, type LawResult, type ServiceReport } from '../../adapters/testing/index.ts'
import { openLedger } from '../../src/index.ts'
import { faultyAnswers } from './faulty-answers.ts'
import { faultyEvents } from './faulty-events.ts'
import type { Service } from './faulty-services.ts'
import { halService, otherService } from './hal-service.ts'
import { Pages } from './pages.ts'

const BASE = 'http://service.example'
const closes = [...generate({ ledgers: 6, seed: 'forms', firstLedger: 2_100_000, accounts: 16, transactionsPerLedger: 6, tradeShare: 0.3 })]

const serving = async (count: number, options: HandlerOptions = {}): Promise<Service> => {
  const ledger = await openLedger(memory())
  await ledger.ingest(closes.slice(0, count))
  const handler = createHandler(ledger, options)
  return (url, init) => handler(new Request(url, init))
}

let service: Service
beforeAll(async () => {
  service = await serving(closes.length)
})

const resultsOf = ({ laws, listings }: ServiceReport): LawResult[] => [{ laws }, ...listings].flatMap(({ laws }) => laws)
const broken = (report: ServiceReport): string[] => [
  ...new Set(resultsOf(report).flatMap(({ law, outcome }) => (outcome === 'broken' ? [law] : []))),
]
const said = (report: ServiceReport): string[] =>
  resultsOf(report).flatMap(({ outcome, detail = '' }) => (outcome === 'broken' ? [detail] : []))
/** The laws of form that hold somewhere. */
const held = (report: ServiceReport): Set<string> =>
  new Set(resultsOf(report).flatMap(({ law, outcome }) => (outcome === 'holds' && laws.includes(law) ? [law] : [])))

const laws = [...answerLaws, ...listedLaws, ...siteLaws].map(({ name }) => name)
const faults = [...faultyAnswers, ...faultyEvents]

// Some of them are found only once a check has waited.
test.concurrent.for(faults)('"%s" rejects a service that %s', async ([law, , spoil, at = '/operations']) => {
  const { seller } = closes.flatMap(({ offers }) => offers?.changed ?? [])[0]!
  const url = BASE + at.replace('{account}', seller).replace('{ledger}', '2100001')
  const report = await checkService(url, { fetch: spoil(service), window: 4, maxLimit: 20, listings: 3, requests: 500 })
  expect(broken(report)).toContain(law)
  // Whatever else follows from the fault, paging is as it was.
  expect(broken(report).filter((one) => !laws.includes(one))).toEqual([])
})

test('a listing whose pages are no JSON is one all the same, and is rejected', async () => {
  const cut: Service = async (url, init) => {
    const response = await service(url, init)
    return new URL(url).pathname === '/trades' ? new Response((await response.text()).slice(0, -5), response) : response
  }
  const { listings } = await checkService(BASE, { fetch: cut, window: 4, requests: 600 })
  const outcomes = listings.map(({ kind, laws }) => [kind, laws.some(({ outcome }) => outcome === 'broken')])
  expect(outcomes.filter(([, isBroken]) => isBroken)).toEqual([['/trades', true]])
})

test('every law rejects some service', () => {
  expect(laws.filter((law) => !faults.some(([of]) => of === law))).toEqual([])
})

describe('a correct service passes', () => {
  test.each<[how: string, ledgers: number, options: HandlerOptions, base: string]>([
    ['with history', closes.length, {}, BASE],
    ['with one ledger', 1, {}, BASE],
    ['without a ledger', 0, {}, BASE],
    ['with the members of the extended profile', 3, { profile: 'extended' }, BASE],
    ['below a path', 3, { mount: '/v1/history' }, `${BASE}/v1/history`],
  ])('%s', { timeout: 60_000 }, async (_, ledgers, options, base) => {
    const report = await checkService(base, { fetch: await serving(ledgers, options), window: 10 })
    expect(said(report)).toEqual([])
    expect(report.passedOver).toEqual([])
    // Without records, there is no listing of one thing, and nothing to stream.
    if (ledgers > 1) expect([...held(report)].sort()).toEqual([...laws].sort())
    else expect(held(report).size).toBeGreaterThan(ledgers === 0 ? 11 : 15)
  })

  test('that was pruned', { timeout: 60_000 }, async () => {
    const ledger = await openLedger(memory())
    await ledger.ingest(closes)
    await ledger.prune(closes[3]!.ledger.sequence)
    const handler = createHandler(ledger)
    const report = await checkService(BASE, { fetch: (url, init) => handler(new Request(url, init)), window: 10 })
    expect(said(report)).toEqual([])
  })

  test('over sockets, and no stream is left open', { timeout: 60_000 }, async () => {
    const ledger = await openLedger(memory())
    await ledger.ingest(closes)
    const server = await serve(ledger, { port: 0, maxStreams: 2 })
    try {
      const started = performance.now()
      const report = await checkService(server.url, { window: 5, listings: 8 })
      expect(said(report)).toEqual([])
      expect(held(report).size).toBeGreaterThan(14)
      // No law waits for a ledger.
      expect(performance.now() - started).toBeLessThan(45_000)
      await expect.poll(async () => (await fetch(`${server.url}/metrics`)).text()).toContain('folio_streams_open 0\n')
    } finally {
      await server.close()
      await ledger.close()
    }
  })

  test('behind a proxy that compresses: tags of bodies are weak then, and nginx keeps the header that is meant for it', {
    timeout: 60_000,
  }, async () => {
    const behind: Service = async (url, init) => {
      const { status, body, headers } = await service(url, init)
      const tag = headers.get('etag')
      if (tag !== null && status === 200 && init?.method !== 'HEAD') headers.set('etag', `W/${tag}`)
      headers.delete('x-accel-buffering')
      headers.set('server', 'nginx')
      return new Response(body, { status, headers })
    }
    const report = await checkService(BASE, { fetch: behind, window: 5, listings: 8 })
    expect(said(report)).toEqual([])
    expect(held(report).size).toBeGreaterThan(14)
  })

  test.each([
    ['a service', BASE],
    ['a listing', `${BASE}/trades`],
  ])('whose links lead to another origin, and that is said of %s', { timeout: 60_000 }, async (_, url) => {
    const report = await checkService(url, { fetch: await serving(3, { baseUrl: `${BASE}:8080` }), window: 5, listings: 3 })
    expect(said(report)).toEqual([])
    expect(report.passedOver).toEqual([
      `what its links lead to, which is ${BASE}:8080: what a client that follows them gets, a check of that URL shows`,
    ])
  })

  test('while ledgers are appended', { timeout: 60_000 }, async () => {
    const ledger = await openLedger(memory())
    await ledger.ingest(closes.slice(0, 2))
    const handler = createHandler(ledger)
    let [asked, added] = [0, 2]
    const report = await checkService(BASE, {
      window: 10,
      listings: 8,
      fetch: async (url, init) => {
        if (++asked % 150 === 0 && added < closes.length) await ledger.append(closes[added++]!)
        return handler(new Request(url, init))
      },
    })
    expect(added).toBe(closes.length)
    expect(said(report)).toEqual([])
  })
})

describe('a service of another make', () => {
  const streamed = streamLaws.slice(0, 3).map(({ name }) => name)

  test('is not asked for what our document says, and that is said', async () => {
    const report = await checkService(BASE, { fetch: halService(new Pages()) })
    expect(report).toMatchObject({ broken: 0, laws: [] })
    expect(held(report).size).toBe(0)
    expect(report.passedOver).toEqual([
      expect.stringMatching(
        /^headers, refusals and the form of streams \(it is of another make: GET \S+\/no\/such\/path is answered 404, no problem,/,
      ),
      expect.stringMatching(/^streams of 1 of 1 listings \(GET \S+\/rows as a stream is answered 200 /),
    ])
  })

  test('may stream in its own form: what it streams is compared with its pages', async () => {
    const report = await checkService(BASE, { fetch: otherService(new Pages()) })
    expect(said(report)).toEqual([])
    expect([...held(report)]).toEqual(streamed)
    expect(report.passedOver).toEqual([expect.stringContaining('a problem of type https://other.example/errors/not_found')])
  })

  test('is found out if a stream leaves out a record, or changes one', async () => {
    const lost = await checkService(BASE, { fetch: otherService(new Pages(), (event, n) => (n === 1 ? '' : event)) })
    expect(broken(lost)).toContain(streamed[0])
    const other = await checkService(BASE, { fetch: otherService(new Pages(), (event) => event.replace('record', 'row')) })
    expect(said(other).join()).toMatch(/text of \S+ is "row \d+ of \d+", and "record \d+ of \d+" in its page/)
  })

  test.each<[how: string, event: string]>([
    ['has nothing to stream but what comes', ''],
    ['streams what is no record', 'data: tick\n\n'],
  ])('that %s breaks no law', async (_, event) => {
    const report = await checkService(BASE, { fetch: otherService(new Pages(), () => event) })
    expect(said(report)).toEqual([])
    expect(report.passedOver.at(-1)).toMatch(/its events are no records of a page/)
  })
})

test('a stream that says nothing takes no longer than the check may', async () => {
  const silent: Service = async (url, init) => {
    const response = await service(url, init)
    return response.headers.get('content-type')?.startsWith('text/event-stream')
      ? new Response(new ReadableStream({ pull: () => new Promise(() => {}) }), { headers: response.headers })
      : response
  }
  const started = performance.now()
  const report = await checkService(`${BASE}/operations`, { fetch: silent, window: 3, ms: 4000 })
  expect(performance.now() - started).toBeLessThan(8000)
  expect(said(report)).toEqual([])
  expect(report.unchecked).toBeGreaterThan(0)
})

test('a stream is asked for again if the service is busy', async () => {
  let busy = 0
  const limited: Service = (url, init) =>
    new Headers(init?.headers).get('accept') === 'text/event-stream' && ++busy % 2 === 1
      ? Promise.resolve(new Response('', { status: 503, headers: { 'retry-after': '0.01' } }))
      : service(url, init)
  const report = await checkService(`${BASE}/operations`, { fetch: limited, window: 3 })
  expect(said(report)).toEqual([])
  expect(held(report)).toContain(streamLaws[0]!.name)
})

test('one listing is checked with what our document says of it, and the service as a whole is not', async () => {
  const trades: any = await (await service(`${BASE}/trades`)).json()
  const trade = trades._embedded.records.find((one: any) => one.offer_id)
  const filters = Object.entries(trade).filter(([name]) => /^(?:base|counter)_asset_/.test(name)) as [string, string][]
  const pair = await checkService(`${BASE}/trades?${new URLSearchParams(filters)}`, { fetch: service, window: 3 })
  expect(said(pair)).toEqual([])
  const report = await checkService(`${BASE}/trades?offer_id=${trade.offer_id}`, { fetch: service, window: 3 })
  expect(said(report)).toEqual([])
  expect(report.listings.map(({ kind }) => kind)).toEqual(['/trades?offer_id'])
  expect([...held(report)]).toContain(problemLaws[0]!.name)
  expect(resultsOf(report).filter(({ law }) => siteLaws.some(({ name }) => name === law))).toEqual([])
})
