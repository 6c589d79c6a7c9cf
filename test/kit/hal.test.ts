/** Paging over HTTP: services of other makes, faults that only links can have, and the bounds of a check. */
import { getEventListeners } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { Checking } from '../../adapters/check/checking.ts'
import { Client } from '../../adapters/check/client.ts'
import { generate } from '../../adapters/generate/index.ts'
import { createHandler } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { checkService, type ServiceOptions, type ServiceReport } from '../../adapters/testing/index.ts'
import { openLedger } from '../../src/index.ts'
import { type HalOptions, halService } from './hal-service.ts'
import { Pages } from './pages.ts'

const BASE = 'http://service.example'
const check = (options: HalOptions, more: ServiceOptions = {}): Promise<ServiceReport> =>
  checkService(BASE, { fetch: halService(new Pages(), options), ...more })

/** What the report says about broken laws. */
const said = ({ listings }: ServiceReport): string =>
  listings.flatMap(({ laws }) => laws.flatMap(({ outcome, detail }) => (outcome === 'broken' ? [detail] : []))).join('\n')

const isPage = (body: any): boolean => body._embedded !== undefined

/** Changes the href of a link on every page. */
const link =
  (name: string, change: (href: string) => string | undefined) =>
  (body: any): unknown => {
    if (isPage(body)) body._links[name] = { href: change(body._links[name].href) }
    return body
  }

describe('a service of another make', () => {
  test.each<[string, HalOptions]>([
    ['with links that are paths alone', { relative: true }],
    ['that never gives more than 20 records', { most: 20 }],
    ['that refuses a limit above 100', { status: (url) => (Number(url.searchParams.get('limit')) > 100 ? 400 : 200) }],
    ['without links at its root', { path: '/ledgers', spoil: (body) => (isPage(body) ? body : {}) }],
    ['that has names which every object has', { path: '/constructor/__proto__/toString' }],
    ['below a path that has one', { path: '/constructor/A/trades' }],
    ['whose links name another host', { spoil: link('next', (href) => href.replace(BASE, 'http://behind.example:81')) }],
  ])('%s', async (_, options) => {
    const report = await check(options)
    expect(said(report)).toBe('')
    expect(report.listings[0]!.laws.filter(({ outcome }) => outcome === 'holds')).toHaveLength(9)
  })
})

describe('a check finds a service that', () => {
  test.each<[fault: string, options: HalOptions, says: RegExp]>([
    ['has a next link without an href', { spoil: link('next', () => undefined) }, /_links\.next has no href to follow$/m],
    [
      'leaves out its next link altogether',
      { spoil: (body: any) => ({ ...body, _links: { ...body._links, ...(isPage(body) && { next: undefined }) } }) },
      /: it leaves out `next`, as if nothing followed, and there is [\d-]+$/m,
    ],
    [
      'leaves out its next link, and gives fewer records than asked for',
      { most: 20, spoil: (body: any) => ({ ...body, _links: { ...body._links, ...(isPage(body) && { next: null }) } }) },
      /_links\.next is missing, as if nothing followed$/m,
    ],
    [
      'leaves out its prev link altogether',
      { spoil: (body: any) => ({ ...body, _links: { ...body._links, ...(isPage(body) && { prev: undefined }) } }) },
      /: it leaves out `prev`, as if nothing came before, and there is /,
    ],
    [
      'forgets the limit in a link',
      { spoil: link('next', (href) => href.replace(/limit=\d+&/, '')) },
      /_links\.next does not keep the limit/,
    ],
    [
      'does not reverse the order in prev',
      { spoil: link('prev', (href) => href.replace(/order=(\w+)/, (_, order) => `order=${order === 'asc' ? 'desc' : 'asc'}`)) },
      /_links\.prev is not in the order/,
    ],
    [
      'links to another listing',
      { spoil: link('next', (href) => href.replace('/rows', '/ledgers')) },
      /_links\.next leads to another listing/,
    ],
    [
      'leaves out the tokens',
      { spoil: (body: any) => ({ ...body, ...(isPage(body) && { _embedded: { records: [{}] } }) }) },
      /no paging token/,
    ],
    ['sends no page', { spoil: (body: any, url) => (url.searchParams.get('limit') === '7' ? {} : body) }, /_embedded\.records is missing/],
    ['fails some requests', { status: (url) => (url.searchParams.get('limit') === '7' ? 500 : 200) }, /answered 500/],
  ])('%s', async (_, options, says) => {
    const report = await check(options)
    expect(report.broken).toBeGreaterThan(0)
    expect(said(report)).toMatch(says)
  })
})

test('a version in the path is no record', async () => {
  const report = await checkService(`${BASE}/v1/rows`, { fetch: halService(new Pages(), { path: '/v1/rows' }), requests: 30 })
  expect(report.listings.map(({ kind }) => kind)).toEqual(['/v1/rows'])
})

test('the URL of one listing checks that listing alone, with its filters', async () => {
  const asked: string[] = []
  const fetch = halService(new Pages(), { spoil: link('next', (href) => `${href}&asset=USD`) })
  const report = await checkService(`${BASE}/rows?asset=USD&limit=3`, {
    fetch: (url) => {
      asked.push(url)
      return fetch(url)
    },
  })
  expect(asked.every((url) => url.includes('asset=USD'))).toBe(true)
  expect(report.listings.map(({ kind }) => kind)).toEqual(['/rows?asset'])
  expect(said(report)).toMatch(/_links\.prev leads to another listing/)
})

describe('a check', () => {
  test('stays within its number of requests, and says what was left out', async () => {
    const report = await check({}, { requests: 30 })
    expect(report.requests).toBeLessThanOrEqual(30)
    expect(report).toMatchObject({ broken: 0 })
    expect(report.listings[0]!.laws.find(({ outcome }) => outcome === 'unchecked')).toMatchObject({
      detail: 'its share of the 30 requests was used',
    })
  })

  test('gives a listing what others leave over, also one that came before them', async () => {
    const few = Object.assign(new Pages(), { rows: new Pages().rows.slice(0, 2) })
    const services = [halService(new Pages()), halService(few, { path: '/few' })]
    const root = { _links: { rows: { href: `${BASE}/rows` }, few: { href: `${BASE}/few` } } }
    const fetch = async (url: string) => {
      const { pathname } = new URL(url)
      return pathname === '/' ? Response.json(root) : services[pathname === '/few' ? 1 : 0]!(url)
    }
    const { listings, requests } = await checkService(BASE, { fetch, requests: 200 })
    expect(listings.map(({ kind }) => kind)).toEqual(['/rows', '/few'])
    expect(listings.flatMap(({ laws }) => laws.flatMap(({ detail = '' }) => (/its share/.test(detail) ? [detail] : [])))).toEqual([])
    expect(requests).toBeLessThanOrEqual(200)
  })

  test('stays within its time', async () => {
    const slow = halService(new Pages())
    let time = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => time)
    try {
      const late = (url: string): Promise<Response> => {
        time += 10
        return slow(url)
      }
      const report = await checkService(BASE, { fetch: late, ms: 200 })
      expect(report.seconds).toBeLessThan(0.22)
      expect(report.unchecked).toBeGreaterThan(0)
    } finally {
      clock.mockRestore()
    }
  })

  test('does not wait for an answer that never comes, though nothing ends the request', async () => {
    const never = () => new Promise<Response>(() => {})
    await expect(checkService(BASE, { fetch: never, ms: 300 })).rejects.toThrow('no listing was found')
  })

  test('ends when its signal is aborted', async () => {
    await expect(check({}, { signal: AbortSignal.abort('enough') })).rejects.toBe('enough')
  })

  test('leaves nothing that listens to the signals of its requests', async () => {
    const signals: AbortSignal[] = []
    const service = halService(new Pages(), {})
    const fetch = (url: string, init: RequestInit): Promise<Response> => {
      signals.push(init.signal!)
      return service(url)
    }
    await checkService(BASE, { fetch, requests: 40, signal: new AbortController().signal })
    expect(signals).toHaveLength(40)
    expect(signals.map((signal) => getEventListeners(signal, 'abort').length)).toEqual(signals.map(() => 0))
  })

  test('ends when its signal is aborted while it waits for a busy service', async () => {
    const stop = new AbortController()
    const busy = async () => {
      setTimeout(() => stop.abort('SIGINT'), 10)
      return new Response('', { status: 503, headers: { 'retry-after': '600' } })
    }
    const started = performance.now()
    await expect(checkService(BASE, { fetch: busy, ms: 600_000, signal: stop.signal })).rejects.toBe('SIGINT')
    expect(performance.now() - started).toBeLessThan(5000)
  })

  test('asks a busy service again', async () => {
    let times = 0
    const fetch = halService(new Pages())
    const report = await checkService(BASE, {
      fetch: (url) => (++times === 5 ? Promise.resolve(new Response('', { status: 503, headers: { 'retry-after': '0.01' } })) : fetch(url)),
    })
    expect(said(report)).toBe('')
  })
})

describe('a service that asks to be left alone, or breaks off, is not said to break a law', () => {
  const rows = halService(new Pages())
  /** Answers some of the requests otherwise. */
  const check = async (otherwise: (count: number) => Promise<Response> | undefined, more: ServiceOptions = {}) => {
    let count = 0
    const report = await checkService(BASE, { fetch: (url) => otherwise(++count) ?? rows(url), ...more })
    return { report, count }
  }
  const busy = (status: number, headers: Record<string, string> = {}) => Promise.resolve(new Response('', { status, headers }))

  test.each([429, 503])('%i without an end leaves laws unchecked', async (status) => {
    const { report } = await check((count) => (count > 40 ? busy(status, { 'retry-after': '0.001' }) : undefined))
    expect(said(report)).toBe('')
    expect(report.listings[0]!.laws.filter(({ outcome }) => outcome === 'unchecked').map(({ detail }) => detail)).toContainEqual(
      expect.stringMatching(new RegExp(`^GET ${BASE}/rows\\S* was answered ${status}, 5 times in a row$`)),
    )
  })

  test('a service that is busy from the start has nothing to check, and the error says why', async () => {
    await expect(check(() => busy(503, { 'retry-after': '0.001' }))).rejects.toThrow(
      `no listing was found at ${BASE}: not before GET ${BASE} was answered 503, 5 times in a row`,
    )
  })

  test('a Retry-After may be a date; without one, the waits grow', async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 200 })
    try {
      const until = Date.now() + 4000
      const limited = (headers: () => Record<string, string>) => (count: number) =>
        count > 10 && Date.now() < until ? busy(429, headers()) : undefined
      const dated = await check(limited(() => ({ 'retry-after': new Date(Math.ceil(until / 1000) * 1000).toUTCString() })))
      expect(said(dated.report)).toBe('')
      expect(dated.report.unchecked).toBe(0)
      const plain = await check(limited(() => ({})))
      expect(plain.report).toMatchObject({ broken: 0, unchecked: 0 })
    } finally {
      vi.useRealTimers()
    }
  })

  test('a connection that ends before any answer is tried again, a body that is cut off is not', async () => {
    const lost = () =>
      Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error('closed'), { code: 'ECONNRESET' }) }))
    const { report } = await check((count) => (count % 10 > 7 ? lost() : undefined))
    expect(report).toMatchObject({ broken: 0, unchecked: 0 })
    const cut = () => Promise.resolve(new Response(new ReadableStream({ pull: (controller) => controller.error(new Error('cut off')) })))
    expect(said((await check((count) => (count === 30 ? cut() : undefined))).report)).toMatch(/cut off/)
  })

  test.each([
    ['refuses connections', () => Promise.reject(new TypeError('fetch failed', { cause: new Error('refused') })), 'refused'],
    ['never answers', () => new Promise<never>(() => {}), 'no answer within 15 s'],
  ])('a service that from then on %s breaks one law, and the others are left out', async (_, none, reason) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const checking = check((count) => (count > 150 ? none() : undefined))
      await vi.advanceTimersByTimeAsync(60_000)
      const { report } = await checking
      expect(report.broken).toBe(1)
      expect(said(report)).toContain(`${reason}; nothing else is answered since`)
      const { laws } = report.listings[0]!
      const first = laws.findIndex(({ outcome }) => outcome === 'broken')
      expect(laws.slice(0, first).every(({ outcome }) => outcome === 'holds')).toBe(true)
      expect(
        laws
          .slice(first + 1)
          .every(({ outcome, detail }) => outcome === 'unchecked' && detail!.startsWith('nothing is answered since GET ')),
      ).toBe(true)
      expect([first > 0, laws.length - first > 3]).toEqual([true, true])
      // One look at whether anybody is there.
      expect(report.requests).toBe(152)
    } finally {
      vi.useRealTimers()
    }
  })

  test('what lists the present is looked at again if a law seems broken, but not once nothing is answered', async () => {
    let left = 1
    const fetch = async (url: string): Promise<Response> => {
      if (left-- > 0) return Response.json({})
      throw new TypeError('fetch failed', { cause: new Error(`refused ${url}`) })
    }
    const client = new Client({ fetch })
    await client.get(BASE)
    const checking = new Checking(client, false, true)
    for (const law of ['first', 'second']) await checking.law(law, () => client.get(`${BASE}/${law}`).then(() => undefined))
    expect(checking.laws).toEqual([
      { law: 'first', outcome: 'broken', detail: `GET ${BASE}/first: refused ${BASE}/first; nothing else is answered since` },
      { law: 'second', outcome: 'unchecked', detail: `nothing is answered since GET ${BASE}/first` },
    ])
    expect(checking.requests).toBe(2)
  })

  test('a request that alone is never answered breaks each law that needs it, and no other', async () => {
    const lost = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('refused') }))
    const { report } = await check((count) => (count === 30 ? lost() : undefined))
    expect([report.broken, report.unchecked]).toEqual([1, 0])
  })
})

describe('what a root links to and cannot be read is said', () => {
  const linking = (status: number) => {
    const rows = halService(new Pages(), {
      spoil: (body: any) => (isPage(body) ? body : { _links: { ...body._links, gone: { href: `${BASE}/gone` } } }),
    })
    return checkService(BASE, {
      fetch: (url) => (new URL(url).pathname === '/gone' ? Promise.resolve(new Response('{}', { status })) : rows(url)),
    })
  }

  test.each([
    [500, 'broken'],
    [404, 'unchecked'],
    [403, 'unchecked'],
  ])('%i is %s', async (status, outcome) => {
    const { listings } = await linking(status)
    expect(listings.map(({ kind }) => kind)).toEqual(['/rows', '/gone'])
    expect(listings[1]!.laws[0]).toMatchObject({ outcome, detail: `GET ${BASE}/gone?limit=200&order=asc: answered ${status}` })
    expect(listings[0]!.laws.every(({ outcome }) => outcome === 'holds')).toBe(true)
  })

  test('where all of it leads nowhere, nothing was found', async () => {
    const root = { _links: { rows: { href: `${BASE}/rows` }, more: { href: `${BASE}/more` } } }
    const fetch = async (url: string) => (url === BASE ? Response.json(root) : new Response('{}', { status: 404 }))
    await expect(checkService(BASE, { fetch })).rejects.toThrow(/no listing was found/)
  })

  test('400 is no listing, since it needs more than a page', async () => {
    expect((await linking(400)).listings.map(({ kind }) => kind)).toEqual(['/rows'])
  })
})

test('a check fails if nobody answers or there is nothing to check', async () => {
  await expect(checkService('http://127.0.0.1:1')).rejects.toThrow(/127\.0\.0\.1:1.*(ECONNREFUSED|bad port)/)
  const nothing = async (): Promise<Response> => new Response('{}', { status: 404 })
  await expect(checkService(BASE, { fetch: nothing })).rejects.toThrow(/no listing was found/)
})

test('every listing of our own service keeps the laws, while ledgers are appended', async () => {
  const ledger = await openLedger(memory())
  const closes = [...generate({ ledgers: 120, seed: 'check', accounts: 30, transactionsPerLedger: 6, tradeShare: 0.3 })]
  await ledger.ingest(closes.slice(0, 60))
  const handler = createHandler(ledger, { baseUrl: BASE })
  let asked = 0
  const report = await checkService(BASE, {
    requests: 3000,
    fetch: async (url, init) => {
      if (++asked % 40 === 0 && asked / 40 < 60) await ledger.append(closes[59 + asked / 40]!)
      return handler(new Request(url, init))
    },
  })
  expect(said(report)).toBe('')
  expect(report.listings.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['/trades', '/accounts/{}/offers', '/ledgers/{}/payments']),
  )
  expect(report.listings.length).toBeGreaterThan(20)
  expect(ledger.head!.last).toBeGreaterThan(closes[80]!.ledger.sequence)
})
