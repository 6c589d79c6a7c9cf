/** Event streams at their limits: too many of them, readers that take nothing, a service that closes, what fails halfway, other ways to be read. */
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { createHandler, type HttpServer, listener, serve } from '../../adapters/http/index.ts'
import { Renderer } from '../../adapters/http/renderer.ts'
import { memory } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { FolioError, type Ledger, openLedger } from '../../src/index.ts'

const closes = [...generate({ ledgers: 40, seed: 31, accounts: 30, transactionsPerLedger: 10 })]
const NEVER = 600_000
const logged: unknown[] = []
let ledger: Ledger
let server: HttpServer

const serveAt = (options: object = {}): Promise<HttpServer> =>
  serve(ledger, { port: 0, baseUrl: 'http://ledger.test', log: (error) => logged.push(error), ...options })

beforeEach(async () => {
  logged.length = 0
  ledger = await openLedger(memory())
  await ledger.ingest(closes.slice(0, 20))
  server = await serveAt()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await server.close()
  await ledger.close()
})

const open = (path: string, url = server.url): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get(`${url}${path}`, { headers: { accept: 'text/event-stream' } }, resolve).on('error', reject)
  })
const bare = (path: string, port = server.port, version = '1.1'): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`GET ${path} HTTP/${version}\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n`)
      resolve(socket)
    })
    socket.on('error', () => {})
  })
async function textOf(stream: AsyncIterable<unknown>, enough: (text: string) => boolean = () => false): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += chunk
    if (enough(text)) break
  }
  return text
}
const metrics = async (): Promise<string> => (await fetch(`${server.url}/metrics`)).text()
const records = (text: string): number => (text.match(/\ndata: \{/g) ?? []).length

test('of more simultaneous requests than streams are allowed, those above the limit are rejected', async () => {
  await server.close()
  const late = await openLedger(slowStore(memory(), () => new Promise((resolve) => setTimeout(resolve, 1))))
  await late.ingest(closes.slice(0, 3))
  server = await serve(late, { port: 0, maxStreams: 5 })
  const answers = await Promise.all(Array.from({ length: 20 }, () => open('/effects')))
  expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(5)
  const refused = answers.filter(({ statusCode }) => statusCode === 503)
  expect(refused).toHaveLength(15)
  for (const { headers } of refused) expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  for (const answer of answers) answer.destroy()
  await server.close()
  await late.close()
})

test('with a stream that ends, its connection does: none is opened for what waited behind it, or came after it', async () => {
  await server.close()
  const ends = channel('ledger-folio:stream')
  const told: unknown[] = []
  const tell = (message: unknown): void => void told.push((message as { event: string }).event)
  ends.subscribe(tell)
  server = await serveAt()
  const socket = await bare('/effects?cursor=now')
  socket.write('GET /ledgers HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n'.repeat(3))
  const read = textOf(socket)
  await expect.poll(metrics).toContain('folio_streams_open 1\n')
  await ledger.rollback(closes[9]!.ledger.sequence)
  expect(await read).toMatch(/event: error\n(?:.+\n)+\n\r\n0\r\n\r\n$/)
  // Another connection has its turn: until then, an answer behind the stream would have begun.
  expect(await metrics()).toContain('folio_streams_open 0\n')
  ends.unsubscribe(tell)
  expect(told).toEqual(['open', 'end'])
})

describe('a service that closes', () => {
  test('ends every stream in bounded time: idle ones, one that is catching up, and one that reads nothing', async () => {
    const large = await openLedger(memory())
    await large.ingest(generate({ ledgers: 150, seed: 12 }), { batch: 50 })
    // Other waits are longer than a test may take: what ends did not end because of them.
    const own = await serve(large, { port: 0, drainMs: 400, streamStallMs: NEVER, streamIdleMs: NEVER })
    const idle = await Promise.all(Array.from({ length: 50 }, () => open('/effects?cursor=now', own.url)))
    const texts = idle.map((response) => textOf(response))
    const stalled = await bare('/effects', own.port)
    stalled.pause()
    const busy = await open('/effects', own.url)
    const read = textOf(busy).catch(() => 'cut')
    await expect.poll(() => large.waitingStreams).toBeGreaterThanOrEqual(idle.length)
    await own.close()
    for (const text of await Promise.all(texts)) expect(text).toMatch(/^retry: 1000\nevent: open\ndata: "hello"\nid: \S+\n\n$/)
    await read
    stalled.destroy()
    await large.close()
  })

  test('greets and ends a stream that was requested before it closed: the client knows where to go on, and comes back', async () => {
    await server.close()
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    let [late, reads] = [false, 0]
    const opened = await openLedger(
      slowStore(memory(), () => {
        if (!late) return Promise.resolve()
        reads++
        return held
      }),
      { cacheBytes: 0 },
    )
    await opened.ingest(closes.slice(0, 3))
    server = await serve(opened, { port: 0, drainMs: NEVER })
    late = true
    const asked = open('/effects')
    await expect.poll(() => reads).toBeGreaterThan(0)
    const closing = server.close()
    release()
    const response = await asked
    expect(response.statusCode).toBe(200)
    expect(await textOf(response)).toBe('retry: 1000\nevent: open\ndata: "hello"\nid: \n\n')
    await closing
    await opened.close()
  })

  test('says no goodbye when the ledger closes: the stream ends', async () => {
    const text = textOf(await open('/ledgers?cursor=now'))
    await expect.poll(metrics).toContain('folio_streams_waiting 1\n')
    await ledger.close()
    expect(await text).toMatch(/^retry: 1000\nevent: open\ndata: "hello"\nid: \d+\n\n$/)
  })
})

test('a record that cannot be framed ends its own stream with an error event, and no other stream', async () => {
  const other = textOf(await open('/effects?cursor=now'), (text) => records(text) > 0)
  const failing = textOf(await open('/ledgers?cursor=now'))
  await expect.poll(metrics).toContain('folio_streams_waiting 2\n')
  const record = Renderer.prototype.record
  vi.spyOn(Renderer.prototype, 'record').mockImplementation(function (this: Renderer, out, block, at) {
    if (block.resource.name === 'ledger') throw new FolioError('CORRUPT', { key: 'x' })
    record.call(this, out, block, at)
  })
  await ledger.append(closes[20]!)
  expect(await failing).toMatch(/\n\nevent: error\ndata: \{"type":"\/problems\/internal_error".*\}\n\n$/)
  expect(logged).toMatchObject([{ code: 'CORRUPT' }])
  expect(records(await other)).toBeGreaterThan(0)
})

test('counts of streams, events, lag and cut readers are published, and so is the opening and the end of each stream', async () => {
  const told: unknown[] = []
  const hear = (message: unknown): void => void told.push(message)
  const events = channel('ledger-folio:stream')
  events.subscribe(hear)
  const response = await open('/ledgers')
  await textOf(response, (text) => records(text) === 20)
  response.destroy()
  await expect.poll(metrics).toContain('folio_streams_open 0\n')
  expect(told).toEqual([
    { event: 'open', path: '/ledgers', events: 0 },
    { event: 'end', path: '/ledgers', events: 20 },
  ])
  const text = await metrics()
  for (const line of ['folio_stream_events_total 20', 'folio_streams_cut_total 0', 'folio_stream_lag_ledgers 0', 'folio_streams_waiting 0'])
    expect(text).toContain(`${line}\n`)
  events.unsubscribe(hear)
})

test('a connection that is no socket of the network ends with its stream, too', async () => {
  const answer = listener(ledger)
  const mounted = createServer(answer)
  let sent = ''
  const connection = new Duplex({
    read() {},
    write(chunk: Buffer, _, done) {
      sent += chunk
      done()
    },
  })
  mounted.emit('connection', connection)
  connection.push('GET /ledgers?cursor=now HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n')
  await expect.poll(() => sent).toContain('data: "hello"')
  answer.endStreams()
  await once(connection, 'finish')
  expect(sent).toMatch(/\r\n0\r\n\r\n$/)
})

describe('a socket that takes a frame slowly', () => {
  const count = closes.slice(0, 20).flatMap(({ transactions }) => transactions!.filter(({ successful }) => successful !== false)).length
  /** What arrives of all transactions, in one frame, over a socket that takes so many bytes per millisecond. */
  const over = async (bytesPerMs: number): Promise<{ text: string; open: boolean }> => {
    const mounted = createServer(listener(ledger, { streamStallMs: 300 }))
    const taken: Buffer[] = []
    const socket = new Duplex({
      read() {},
      write(chunk: Buffer, _, done) {
        setTimeout(() => {
          taken.push(chunk)
          done()
        }, chunk.length / bytesPerMs)
      },
    })
    mounted.emit('connection', socket)
    socket.push('GET /transactions HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n')
    const text = (): string => Buffer.concat(taken).toString()
    await expect.poll(() => socket.destroyed || records(text()) === count).toBe(true)
    const seen = { text: text(), open: !socket.destroyed }
    socket.destroy()
    return seen
  }

  test('but steadily goes on, however long the frame takes', async () => {
    const began = Date.now()
    const { text, open } = await over(400)
    expect([open, records(text)]).toEqual([true, count])
    expect(Date.now() - began).toBeGreaterThan(600)
    // A frame is one chunk, in however many pieces it was written.
    const [, size, body] = /\r\n([0-9a-f]+)\r\n(data: \{.*)$/s.exec(text)!
    expect(Buffer.byteLength(body!)).toBe(Number.parseInt(size!, 16) + 2)
  })

  test('and no part of it in time is cut', async () => {
    expect((await over(50)).open).toBe(false)
  })
})

test('a client that takes nothing is cut at the stall limit of streams, however short the waits of a server for other things are', async () => {
  const told: unknown[] = []
  const hear = (message: unknown): void => void told.push(message)
  const events = channel('ledger-folio:stream')
  const large = await openLedger(memory())
  await large.ingest(generate({ ledgers: 100, seed: 12, envelopeBytes: 4000 }), { batch: 50 })
  const own = await serve(large, { port: 0, stallMs: 100, streamIdleMs: 100, streamStallMs: 1000, drainMs: 100 })
  events.subscribe(hear)
  const stalled = await bare('/transactions', own.port)
  stalled.pause()
  await expect.poll(() => told.length).toBe(2)
  expect(told).toMatchObject([{ event: 'open' }, { event: 'cut' }])
  events.unsubscribe(hear)
  stalled.destroy()
  await own.close()
  await large.close()
})

describe('a client that half-closes', () => {
  const half = (sent: string): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true }, () => resolve(socket))
      socket.setEncoding('utf8').write(sent)
    })
  const asked = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n`

  test('has left: its stream ends', async () => {
    const socket = await half(asked('/ledgers?cursor=now'))
    const text = textOf(socket)
    await expect.poll(metrics).toContain('folio_streams_waiting 1\n')
    socket.end()
    await expect.poll(metrics).toContain('folio_streams_open 0\n')
    expect(await text).toContain('event: open')
  })

  test('before its stream begins is greeted, and its stream ends', async () => {
    const socket = await half('')
    socket.end(`GET /transactions?limit=200 HTTP/1.1\r\nHost: x\r\n\r\n${asked('/ledgers?cursor=now')}`)
    const text = await textOf(socket)
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
    expect(text).toMatch(/data: "hello"\nid: \d+\n\n\r\n/)
    await expect.poll(metrics).toContain('folio_streams_open 0\n')
  })
})

describe('on the wire', () => {
  test('an HTTP/1.1 stream comes in chunks, each a whole number of events; an HTTP/1.0 client gets it bare', async () => {
    const [chunked, plain] = [await bare('/ledgers?cursor=now'), await bare('/ledgers?cursor=now', server.port, '1.0')]
    const texts = [chunked, plain].map((socket) => textOf(socket.setEncoding('utf8')))
    await expect.poll(metrics).toContain('folio_streams_waiting 2\n')
    for (const close of closes.slice(20, 23)) await ledger.append(close)
    await expect.poll(metrics).toContain('folio_stream_events_total 6\n')
    await server.close()
    const [first, second] = await Promise.all(texts)
    let rest = first!.slice(first!.indexOf('\r\n\r\n') + 4)
    let body = ''
    for (;;) {
      const end = rest.indexOf('\r\n')
      const size = Number.parseInt(rest.slice(0, end), 16)
      const chunk = Buffer.from(rest)
        .subarray(end + 2, end + 2 + size)
        .toString()
      if (size > 0) expect(chunk.endsWith('\n\n')).toBe(true)
      body += chunk
      expect(
        Buffer.from(rest)
          .subarray(end + 2 + size, end + 4 + size)
          .toString(),
      ).toBe('\r\n')
      rest = Buffer.from(rest)
        .subarray(end + 4 + size)
        .toString()
      if (size === 0) break
    }
    expect(rest).toBe('')
    expect(records(body)).toBe(3)
    expect(second!.slice(second!.indexOf('\r\n\r\n') + 4)).toBe(body)
  })

  test('if middleware has wrapped the response, every byte goes through it', async () => {
    const handle = listener(ledger)
    let passed = ''
    let wrapped: ServerResponse | undefined
    const wrapping = createServer((request, response: ServerResponse) => {
      const write = response.write.bind(response) as (chunk: unknown) => boolean
      response.write = (chunk: unknown) => {
        passed += Buffer.from(chunk as Uint8Array).toString()
        return write(chunk)
      }
      wrapped = response
      handle(request, response)
    })
    await new Promise<void>((resolve) => wrapping.listen(0, '127.0.0.1', resolve))
    const response = await open('/ledgers?cursor=now', `http://127.0.0.1:${(wrapping.address() as AddressInfo).port}`)
    const text = textOf(response, (sofar) => records(sofar) === 3)
    await expect.poll(() => ledger.waitingStreams).toBe(1)
    for (const close of closes.slice(20, 23)) await ledger.append(close)
    expect(await text).toBe(passed)
    expect(wrapped!.listenerCount('drain')).toBe(1)
    wrapping.closeAllConnections()
    wrapping.close()
  })

  test('the fetch handler streams the same, is pulled, and lets go when it is cancelled', async () => {
    const handler = createHandler(ledger, { baseUrl: 'http://ledger.test' })
    const { body, headers } = await handler(new Request('http://x/ledgers', { headers: { accept: 'text/event-stream' } }))
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (records(text) < 20) text += (await reader.read()).value
    const more = reader.read()
    await ledger.append(closes[20]!)
    text += (await more).value
    const direct = await textOf(await open('/ledgers'), (sofar) => records(sofar) === 21)
    expect(text).toBe(direct)
    await reader.cancel()
    await expect.poll(() => ledger.waitingStreams).toBe(0)
  })

  test('a reader that takes history as fast as it comes lets others have their turns', async () => {
    await ledger.ingest(closes.slice(20))
    const handler = createHandler(ledger)
    const { body } = await handler(new Request('http://x/effects', { headers: { accept: 'text/event-stream' } }))
    const reader = body!.getReader()
    let turns = 0
    let over = false
    const count = (): void => {
      turns++
      if (!over) setImmediate(count)
    }
    count()
    const seen: number[] = []
    // The hello, and three full pages.
    for (let frames = 0; frames < 4; frames++) {
      await reader.read()
      seen.push(turns)
    }
    over = true
    expect(seen[2]).toBeGreaterThan(seen[1]!)
    expect(seen[3]).toBeGreaterThan(seen[2]!)
    await reader.cancel()
  })

  test('a body of the fetch handler that nobody reads is cut after the stall limit', async () => {
    const handler = createHandler(ledger, { streamStallMs: 100 })
    const { body } = await handler(new Request('http://x/ledgers', { headers: { accept: 'text/event-stream' } }))
    const reader = body!.getReader()
    await reader.read()
    await expect.poll(async () => (await handler(new Request('http://x/metrics'))).text()).toContain('folio_streams_cut_total 1\n')
    await expect(reader.read()).rejects.toThrow('took nothing')
  })
})
