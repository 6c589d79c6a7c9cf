/** Pages: their links, their cursors, and answers past the end. */
import { beforeAll, describe, expect, it } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, FolioError, type List, openLedger } from '../../src/index.ts'
import { shared } from '../support/dump.ts'
import { type Ask, asker, BASE, closes, hashOf, idOf, recordsOf, smallLedger, tokensOf } from './support.ts'

let ask: Ask
beforeAll(async () => {
  ask = asker(await smallLedger())
})

const linksOf = async (target: string): Promise<Record<string, string>> => {
  const { body } = await ask(target)
  return Object.fromEntries(Object.entries<{ href: string }>(body._links).map(([name, { href }]) => [name, href.slice(BASE.length)]))
}

describe('the links of a page', () => {
  it('always carry all of cursor, limit and order', async () => {
    expect(await linksOf('/ledgers?limit=2')).toEqual({
      self: '/ledgers?cursor=&limit=2&order=asc',
      next: `/ledgers?cursor=${idOf(2, 0, 0)}&limit=2&order=asc`,
      prev: `/ledgers?cursor=${idOf(1, 0, 0)}&limit=2&order=desc`,
    })
  })

  it('lead on in the requested order, and back in the other', async () => {
    expect(await linksOf('/ledgers?order=desc&limit=1')).toEqual({
      self: '/ledgers?cursor=&limit=1&order=desc',
      next: `/ledgers?cursor=${idOf(3, 0, 0)}&limit=1&order=desc`,
      prev: `/ledgers?cursor=${idOf(3, 0, 0)}&limit=1&order=asc`,
    })
  })

  it('echo the cursor as it was given', async () => {
    expect((await linksOf('/ledgers?cursor=007'))['self']).toBe('/ledgers?cursor=007&limit=10&order=asc')
    const now = await linksOf('/ledgers?cursor=now')
    expect(now['self']).toBe('/ledgers?cursor=now&limit=10&order=asc')
    expect(now['next']).toBe(`/ledgers?cursor=${idOf(3, 0, 0)}&limit=10&order=asc`)
  })

  it('of an empty page keep its cursor', async () => {
    const token = idOf(3, 0, 0)
    expect(await linksOf(`/ledgers?cursor=${token}`)).toEqual({
      self: `/ledgers?cursor=${token}&limit=10&order=asc`,
      next: `/ledgers?cursor=${token}&limit=10&order=asc`,
      prev: `/ledgers?cursor=${token}&limit=10&order=desc`,
    })
  })

  it('carry the filters in declared order, and nothing that the endpoint does not know', async () => {
    const links = await linksOf(
      '/trades?X-Client-Name=sdk&offer_id=7&counter_asset_issuer=GISSUER&counter_asset_code=ABC&counter_asset_type=credit_alphanum4&base_asset_type=native&limit=3',
    )
    expect(links['self']).toBe(
      '/trades?base_asset_type=native&counter_asset_type=credit_alphanum4&counter_asset_code=ABC&counter_asset_issuer=GISSUER&offer_id=7&cursor=&limit=3&order=asc',
    )
  })

  it('leave out offer_id=0, which means no offer', async () => {
    expect((await linksOf('/trades?offer_id=0'))['self']).toBe('/trades?cursor=&limit=10&order=asc')
    expect(recordsOf(await ask('/trades?offer_id=0'))).toHaveLength(2)
  })

  it('carry the path in its canonical form: hash in lower case, account percent-encoded', async () => {
    expect((await linksOf(`/transactions/${hashOf('A')}/operations`))['self']).toBe(
      `/transactions/${hashOf('a')}/operations?cursor=&limit=10&order=asc`,
    )
    expect((await linksOf('/accounts/%47ALICE/operations/'))['self']).toBe('/accounts/GALICE/operations?cursor=&limit=10&order=asc')
  })
})

describe('a page', () => {
  it('holds the records in order, however much of their blocks is kept rendered', async () => {
    const up = tokensOf(await ask('/operations'))
    expect(up).toEqual([idOf(1, 1, 1), idOf(1, 1, 2), idOf(2, 1, 1), idOf(2, 1, 2)])
    for (let i = 0; i < 3; i++) {
      expect(tokensOf(await ask('/operations?order=desc'))).toEqual([...up].reverse())
      expect(tokensOf(await ask('/operations?limit=3'))).toEqual(up.slice(0, 3))
      expect(tokensOf(await ask(`/operations?cursor=${up[0]}&limit=2`))).toEqual(up.slice(1, 3))
      expect(tokensOf(await ask('/payments?order=desc'))).toEqual(up.slice(0, 2).reverse())
      expect(tokensOf(await ask('/accounts/GALICE/operations'))).toEqual([up[0], up[1]])
    }
  })

  it('past the end is empty, even if an empty list is not found', async () => {
    const effects = `/transactions/${hashOf('a')}/effects`
    expect(recordsOf(await ask(effects))).toHaveLength(2)
    expect(recordsOf(await ask(`${effects}?cursor=${idOf(9, 9, 9)}`))).toEqual([])
    expect((await ask(`/transactions/${hashOf('b')}/effects`)).status).toBe(404)
  })

  it('of an unknown account is not found, except for its offers', async () => {
    for (const list of ['transactions', 'operations', 'payments', 'effects', 'trades'])
      expect((await ask(`/accounts/GNOBODY/${list}`)).status, list).toBe(404)
    expect(recordsOf(await ask('/accounts/GNOBODY/offers'))).toEqual([])
  })
})

describe('a history that starts late', () => {
  it('rejects a page backwards from below its oldest ledger, and emits no link that would ask for one', async () => {
    const late = await openLedger(memory())
    await late.ingest(closes.slice(1))
    const ask = asker(late)
    expect((await ask('/ledgers/1')).status).toBe(410)
    const gone = await ask('/ledgers?cursor=5&order=desc')
    expect(gone.status).toBe(410)
    expect(gone.body.extras).toEqual({ oldest_ledger: 2 })
    for (const [path, cursor] of [
      [`/ledgers/3/operations`, '5'],
      ['/ledgers/3/effects', '5-1'],
    ] as const) {
      const { body } = await ask(`${path}?cursor=${cursor}`)
      expect(body._links.next.href).toContain(`cursor=${cursor}&`)
      expect((await ask(body._links.prev.href.slice(BASE.length))).status, body._links.prev.href).toBe(200)
    }
  })

  it('leaves the cursor of an empty page of offers, which is an offer id, as it is', async () => {
    const late = await openLedger(memory())
    await late.ingest(closes.slice(1))
    const ask = asker(late)
    const { body } = await ask('/accounts/GALICE/offers?cursor=7')
    expect(body._embedded.records).toEqual([])
    expect(body._links.prev.href).toBe(`${BASE}/accounts/GALICE/offers?cursor=7&limit=10&order=desc`)
  })

  it('without a ledger yet has empty listings, and its records are not found', async () => {
    const ask = asker(await openLedger(memory()))
    expect(recordsOf(await ask('/transactions?order=desc'))).toEqual([])
    expect((await ask('/ledgers/1')).status).toBe(404)
    expect((await ask('/health')).body).toEqual({ status: 'ok', history: null })
    expect((await ask('/')).status).toBe(200)
  })
})

it('health and metrics say whether a store that processes share can be read', async () => {
  const store = shared(memory())
  const opened = await openLedger(store, { pollMs: 2 ** 30 })
  const ask = asker(opened)
  await opened.append(closes[0]!)
  const told = async () => [
    (await ask('/health')).status,
    /^folio_unreachable .$/m.exec((await ask('/metrics')).text)?.[0],
    opened.unreachable,
  ]
  expect(await told()).toEqual([200, 'folio_unreachable 0', false])
  const { getMany } = store
  store.getMany = () => Promise.reject(new FolioError('STORE_FAILED', { reason: 'gone' }))
  await expect(opened.refresh()).rejects.toMatchObject({ code: 'STORE_FAILED' })
  expect(await told()).toEqual([503, 'folio_unreachable 1', true])
  expect((await ask('/health')).body).toMatchObject({ type: expect.stringMatching(/\/unavailable$/) })
  store.getMany = getMany
  await opened.refresh()
  expect(await told()).toEqual([200, 'folio_unreachable 0', false])
})

it('health and metrics say whether a write has failed', async () => {
  const store = memory()
  const opened = await openLedger(store)
  const ask = asker(opened)
  const told = async () => [(await ask('/health')).body, /^folio_poisoned .$/m.exec((await ask('/metrics')).text)?.[0]]
  await opened.append(closes[0]!)
  const history = expect.objectContaining({ last_ledger: 1 })
  expect(await told()).toEqual([{ status: 'ok', history }, 'folio_poisoned 0'])
  store.write = () => Promise.reject(new FolioError('STORE_FAILED', { reason: 'full' }))
  await expect(opened.append(closes[1]!)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  expect(await told()).toEqual([{ status: 'poisoned', history }, 'folio_poisoned 1'])
})

it('the index links everything that is served, and templates name what a listing takes', async () => {
  const { body } = await asker(await smallLedger())('/')
  const own = { problem: '/problems/{name}', openapi: '/openapi.json', health: '/health', metrics: '/metrics' }
  const href = `${BASE}/`
  const paths = Object.entries(catalogue).map(([name, query]) => {
    if (query.kind === 'one') return [name, query.path] as const
    const filters = Object.keys((query as List).filters?.names ?? {})
    return [name, `${query.path}{?${[...filters, 'cursor', 'limit', 'order'].join()}}`] as const
  })
  const links = [...paths, ...Object.entries(own)].map(([name, path]) => [
    name,
    path.includes('{') ? { href: BASE + path, templated: true } : { href: BASE + path },
  ])
  expect(body._links).toEqual({ self: { href }, ...Object.fromEntries(links) })
  expect(body._links.trades.href).toMatch(/\/trades\{\?base_asset_type,.*,offer_id,cursor,limit,order\}$/)
  expect(body.history).toEqual({
    oldest_ledger: 1,
    last_ledger: 3,
    last_hash: closes[2]!.ledger.hash,
    last_closed_at: '2019-06-01T12:00:03Z',
  })
})

it('metrics count answers by class, and what they took, and say how far history reaches', async () => {
  const opened = await smallLedger()
  const ask = asker(opened)
  const answers = []
  for (const target of ['/ledgers?limit=2', '/ledgers/1', '/nothing', '/ledgers?limit=0']) answers.push(await ask(target))
  await ask('/ledgers', {}, { method: 'HEAD' })
  await ask('/ledgers/1', { 'if-none-match': answers[1]!.headers['etag']! })
  const bytes = answers.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  await opened.prune(2)
  const { headers, text } = await ask('/metrics')
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  const samples = text.split('\n').filter((line) => !line.startsWith('#'))
  expect(samples).toEqual([
    'folio_http_responses_total{class="1xx"} 0',
    'folio_http_responses_total{class="2xx"} 3',
    'folio_http_responses_total{class="3xx"} 1',
    'folio_http_responses_total{class="4xx"} 2',
    'folio_http_responses_total{class="5xx"} 0',
    `folio_http_response_body_bytes_total ${bytes}`,
    'folio_rendered_blocks_total 0',
    'folio_rendered_runs_total 0',
    'folio_rendered_records_total 7',
    'folio_ledger_last 3',
    'folio_ledger_oldest 2',
    'folio_poisoned 0',
    'folio_unreachable 0',
    'folio_streams_open 0',
    'folio_stream_events_total 0',
    'folio_streams_cut_total 0',
    'folio_stream_lag_ledgers 0',
    'folio_streams_waiting 0',
    '',
  ])
  const told = text.split('\n').filter((line) => line.startsWith('#'))
  for (const name of new Set(samples.slice(0, -1).map((line) => /^\w+/.exec(line)![0]))) {
    const [help, type] = told.splice(0, 2)
    expect(help).toMatch(new RegExp(`^# HELP ${name} [A-Z].*\\.$`))
    expect(type).toBe(`# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}`)
  }
  expect(told).toEqual([])
})

it.each([
  ['/effects', `${idOf(1, 1, 1)}-1`, `${idOf(2, 0, 0)}-0`],
  ['/effects', idOf(1, 1, 1), idOf(2, 0, 0)],
  ['/ledgers/3/transactions', idOf(1, 1, 0), idOf(2, 0, 0)],
  ['/ledgers/3/transactions', idOf(2, 0, 0), idOf(2, 0, 0)],
  ['/ledgers/3/transactions', idOf(2, 1, 0), idOf(2, 1, 0)],
  ['/ledgers/3/effects', `${idOf(3, 1, 1)}-1`, `${idOf(3, 1, 1)}-1`],
  ['/ledgers', idOf(3, 1, 0), idOf(3, 1, 0)],
  ['/effects', '', ''],
])('the empty page of %s after "%s" leads back from "%s", where the oldest ledger was pruned', async (path, cursor, back) => {
  const opened = await smallLedger()
  await opened.prune(2)
  const ask = asker(opened)
  const page = await ask(`${path}?cursor=${cursor}`)
  const { prev } = page.body._links
  expect([recordsOf(page), prev.href]).toEqual([[], `${BASE}${path}?cursor=${back}&limit=10&order=desc`])
  expect((await ask(prev.href.slice(BASE.length))).status).toBe(200)
})
