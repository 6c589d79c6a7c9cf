/** Event streams over real sockets: frames byte for byte, reconnects, and what is rejected before the hello. */
import { type IncomingMessage, get as request } from 'node:http'
import { EventSource } from 'eventsource'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { createHandler, type HttpServer, serve } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, openLedger } from '../../src/index.ts'
import { collectGarbage } from '../support/held.ts'
import { turns } from '../support/turns.ts'

const closes = [...generate({ ledgers: 40, seed: 11, accounts: 30, transactionsPerLedger: 10 })]
let ledger: Ledger
let server: HttpServer

const start = (port = 0): Promise<HttpServer> =>
  serve(ledger, { port, baseUrl: 'http://ledger.test', streamIdleMs: 300, streamStallMs: 1000, maxStreams: 20 })

beforeEach(async () => {
  ledger = await openLedger(memory())
  await ledger.ingest(closes.slice(0, 20))
  server = await start()
})
afterEach(async () => {
  await server.close()
  await ledger.close()
})

const open = (path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    request(`${server.url}${path}`, { headers: { accept: 'text/event-stream', ...headers } }, resolve).on('error', reject)
  })

/** Reads until `enough` says so. */
async function readText(response: IncomingMessage, enough: (text: string) => boolean): Promise<string> {
  let text = ''
  for await (const chunk of response) {
    text += chunk
    if (enough(text)) break
  }
  return text
}

const ids = (text: string): string[] => Array.from(text.matchAll(/\ndata: \{.*\nid: (.*)\n/g), ([, id]) => id!)

const tokens = async (name: 'operations' | 'effects' | 'ledgers', cursor?: string): Promise<string[]> => {
  const all: string[] = []
  for await (const { paging_token } of ledger.records(
    catalogue[name] as typeof catalogue.effects,
    {},
    cursor === undefined ? {} : { cursor },
  ))
    all.push(paging_token)
  return all
}

test('the head goes out at once, then the hello, then records, each with its id after its data', async () => {
  const response = await open('/ledgers')
  expect(response.statusCode).toBe(200)
  expect(response.headers['content-type']).toBe('text/event-stream; charset=utf-8')
  expect(response.headers['cache-control']).toBe('no-cache, no-transform')
  // Otherwise a client would ask again over it when the stream has ended, and find it closed.
  expect(response.headers['connection']).toBe('close')
  expect(response.headers['x-accel-buffering']).toBe('no')
  expect(response.headers['access-control-allow-origin']).toBe('*')
  const text = await readText(response, (sofar) => ids(sofar).length >= 20)
  expect(text.startsWith('retry: 1000\nevent: open\ndata: "hello"\nid: \n\ndata: {"_links":{')).toBe(true)
  expect(text).not.toContain('\r')
  expect(ids(text)).toEqual(await tokens('ledgers'))
  const page = (await (await fetch(`${server.url}/ledgers?limit=1`)).json()) as { _embedded: { records: unknown[] } }
  expect(JSON.parse(/\ndata: (\{.*)\n/.exec(text)![1]!)).toEqual(page._embedded.records[0])
})

test('a stream from now says hello with the token of the newest record, follows commits, and greets again while nothing happens', async () => {
  const response = await open('/operations?cursor=now')
  const before = (await tokens('operations')).at(-1)!
  const count = closes
    .slice(20, 23)
    .flatMap(({ transactions }) =>
      transactions!.flatMap(({ operations = [], successful }) => (successful === false ? [] : operations)),
    ).length
  let ingested: Promise<unknown> | undefined
  const text = await readText(response, (sofar) => {
    // Once it is greeted.
    ingested ??= ledger.ingest(closes.slice(20, 23))
    return ids(sofar).length >= count && sofar.endsWith(`\n\nretry: 1000\nevent: open\ndata: "hello"\nid: ${ids(sofar).at(-1)}\n\n`)
  })
  await ingested
  expect(text.startsWith(`retry: 1000\nevent: open\ndata: "hello"\nid: ${before}\n\n`)).toBe(true)
  const seen = ids(text)
  expect(seen).toEqual(await tokens('operations', before))
  expect(text.endsWith(`retry: 1000\nevent: open\ndata: "hello"\nid: ${seen.at(-1)}\n\n`)).toBe(true)
})

test('Last-Event-ID wins over cursor, and limit does not end a stream', async () => {
  const all = await tokens('effects')
  const response = await open('/effects?cursor=now&limit=3', { 'last-event-id': all[9]! })
  expect(ids(await readText(response, (sofar) => ids(sofar).length >= all.length - 10))).toEqual(all.slice(10))
})

test.each([
  ['/operations?cursor=y', { 'last-event-id': 'x' }, 'Last-Event-ID'],
  ['/operations?cursor=y', { 'last-event-id': '' }, 'cursor'],
  ['/operations?cursor=y', {}, 'cursor'],
])('%s with %j is rejected for its %s', async (path, headers, field) => {
  const response = await open(path, headers)
  expect([response.statusCode, JSON.parse(Buffer.concat(await response.toArray()).toString()).extras]).toEqual([
    400,
    { invalid_field: field, reason: 'decimal digits from 0 to 2^63-1, or now' },
  ])
})

test.each([
  ['/operations?order=desc', 400],
  ['/operations?limit=201', 400],
  ['/operations?cursor=x', 400],
  ['/accounts/nobody/operations', 404],
  ['/ledgers/1/effects', 406],
])('%s is rejected before the hello', async (path, status) => {
  const response = await open(path)
  expect(response.statusCode).toBe(status)
  expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  response.resume()
})

test('one stream too many is told to come back later', async () => {
  const streams = await Promise.all(Array.from({ length: 20 }, () => open('/effects')))
  const refused = await open('/effects')
  expect(refused.statusCode).toBe(503)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  refused.resume()
  for (const stream of streams) stream.destroy()
  await expect.poll(async () => (await (await fetch(`${server.url}/metrics`)).text()).includes('folio_streams_open 0\n')).toBe(true)
})

test('a rollback below what was sent is an error event, and then the end', async () => {
  const response = await open('/ledgers')
  let back: Promise<unknown> | undefined
  const text = await readText(response, (sofar) => {
    if (ids(sofar).length === 20) back ??= ledger.rollback(closes[4]!.ledger.sequence)
    return false
  })
  await back
  expect(text).toMatch(/\n\nevent: error\ndata: \{"type":"\/problems\/unavailable".*"last_ledger":2100004\}\}\n\n$/)
  // A client that connects again by itself goes on after the newest ledger that is left, not after one that is no more.
  const resumed = String((2_100_005n << 32n) - 1n)
  expect(text).toContain(`\n\nretry: 1000\nevent: open\ndata: "hello"\nid: ${resumed}\n\nevent: error\n`)
  expect(ids(text)).toHaveLength(20)
  await ledger.ingest(closes.slice(5, 8))
  const again = await open('/ledgers', { 'last-event-id': resumed })
  expect(await readText(again, (read) => ids(read).length >= 3)).toContain(`"sequence":${closes[5]!.ledger.sequence}`)
  again.destroy()
})

test('a stream before which ledgers are pruned that it was not sent ends with an error event', async () => {
  const many = await openLedger(memory())
  await many.ingest(generate({ ledgers: 300, seed: 12 }), { batch: 50 })
  // Longer than a test may take: it does not end because it is not read.
  const own = await serve(many, { port: 0, streamStallMs: 600_000 })
  const response: IncomingMessage = await new Promise((resolve) =>
    request(`${own.url}/transactions`, { headers: { accept: 'text/event-stream' } }, resolve),
  )
  const metrics = async (): Promise<string> => (await fetch(`${own.url}/metrics`)).text()
  const figure = async (name: string): Promise<number> => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await metrics())![1])
  // Until its socket takes no more.
  let [before, sent] = [-1, 0]
  while (sent === 0 || sent !== before) {
    before = sent
    await new Promise((resolve) => setTimeout(resolve, 50))
    sent = await figure('folio_stream_events_total')
  }
  expect(await figure('folio_stream_lag_ledgers')).toBeGreaterThan(0)
  const { last } = many.head!
  await many.prune(last)
  const text = await readText(response, () => false)
  expect(text).toMatch(
    new RegExp(`\\n\\nevent: error\\ndata: \\{"type":"/problems/gone_before_history".*"oldest_ledger":${last}\\}\\}\\n\\n$`),
  )
  // Whoever connects again goes on after what it was sent.
  expect(text.match(/^event: open$/gm)).toHaveLength(1)
  expect(await figure('folio_http_response_body_bytes_total')).toBeGreaterThanOrEqual(Buffer.byteLength(text))
  expect(await figure('folio_stream_lag_ledgers')).toBe(0)
  await own.close()
  await many.close()
})

test('a reader that takes nothing is paced by its socket, and cut after the stall limit', async () => {
  const large = await openLedger(memory())
  await large.ingest(generate({ ledgers: 400, seed: 12 }), { batch: 50 })
  const own = await serve(large, { port: 0, streamStallMs: 300 })
  const before = process.memoryUsage()
  const response: IncomingMessage = await new Promise((resolve) =>
    request(`${own.url}/transactions`, { headers: { accept: 'text/event-stream' } }, resolve),
  )
  const metrics = async (): Promise<string> => (await fetch(`${own.url}/metrics`)).text()
  await expect.poll(metrics).toContain('folio_streams_cut_total 1\n')
  const sent = Number(/folio_stream_events_total (\d+)/.exec(await metrics())![1])
  expect(sent).toBeGreaterThan(0)
  expect(sent).toBeLessThan(7000)
  expect(process.memoryUsage().external - before.external).toBeLessThan(64 * 2 ** 20)
  response.destroy()
  await own.close()
  await large.close()
})

test('EventSource clients lose and repeat nothing across restarts of the server', async () => {
  const { port } = server
  const seen: string[] = []
  const source = new EventSource(`${server.url}/effects`)
  source.onmessage = ({ lastEventId }) => void seen.push(lastEventId)
  for (let turn = 0; turn < 3; turn++) {
    await ledger.ingest(closes.slice(20 + 4 * turn, 24 + 4 * turn))
    await new Promise((resolve) => setTimeout(resolve, 30 * turn))
    await server.close()
    await ledger.append(closes[32 + turn] && turn === 2 ? closes[32]! : closes[23 + 4 * turn]!)
    server = await start(port)
  }
  const all = await tokens('effects')
  await expect.poll(() => seen.length, { timeout: 30_000 }).toBe(all.length)
  expect(seen).toEqual(all)
  source.close()
})

test('a fetch request that is aborted ends its stream, whether its body is read or not', async () => {
  const handler = createHandler(ledger)
  const headers = { accept: 'text/event-stream' }
  const count = async () => /folio_streams_open (\d+)/.exec(await (await handler(new Request('http://x.test/metrics'))).text())![1]
  const stop = new AbortController()
  const [read, unread] = await Promise.all(
    ['/ledgers', '/effects'].map((path) => handler(new Request(`http://x.test${path}`, { headers, signal: stop.signal }))),
  )
  const body = read!.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (ids(text).length === 0) text += (await body.read()).value
  expect([unread!.status, await count()]).toEqual([200, '2'])
  // Nobody else holds the requests; the signal of one that is gone is told nothing.
  await turns()
  collectGarbage()
  stop.abort()
  while (!(await body.read()).done);
  expect(await count()).toBe('0')
  const late = await handler(new Request('http://x.test/ledgers', { headers, signal: AbortSignal.abort() }))
  expect([late.status, await count()]).toEqual([200, '0'])
})
