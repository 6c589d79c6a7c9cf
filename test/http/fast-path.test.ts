/** Plain requests, which are answered past Node's parser: with the same bytes, and on connections that Node can take over at any point. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type CoreRequest, type CoreResponse, createCore, type HttpServer } from '../../adapters/http/index.ts'
import { FastPath } from '../../adapters/http/node/fast-path.ts'
import { Pipelines } from '../../adapters/http/node/pipeline.ts'
import { PLAIN_BYTES, PlainRequest } from '../../adapters/http/node/plain.ts'
import { forAll } from '../../adapters/testing/property.ts'
import type { Ledger, MaybePromise } from '../../src/index.ts'
import { get, hashOf, whileServed } from './support.ts'

let ledger: Ledger
let server: HttpServer
whileServed((small, its) => {
  ledger = small
  server = its
})
afterEach(() => vi.restoreAllMocks())

/** Answers in turn, without their dates. */
const dateless = (text: string): string => text.replace(/^date: .*$/gim, 'Date')

/** How many requests have been read as plain since a point in time. */
function countPlain(): () => number {
  const reads = vi.spyOn(PlainRequest, 'read')
  return () => reads.mock.results.filter(({ value }) => value !== undefined).length
}

/** Sends pieces as they are, and waits after each until something comes back or 2 ms have passed; then closes its end and returns what came. */
function conversation(port: number, pieces: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = ''
    let wake = (): void => {}
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true }, async () => {
      for (const piece of pieces) {
        const came = new Promise<void>((ready) => {
          wake = ready
        })
        socket.write(piece, 'latin1')
        await Promise.race([came, pause(2)])
      }
      socket.end()
    })
    socket.setEncoding('latin1').on('data', (chunk) => {
      got += chunk
      wake()
    })
    socket.on('error', reject).on('close', () => resolve(got))
  })
}

/** The same, with every request left to Node. */
async function nodesOwn(port: number, pieces: readonly string[]): Promise<string> {
  const watch = (): void => {}
  subscribe('http.server.request.start', watch)
  try {
    return await conversation(port, pieces)
  } finally {
    unsubscribe('http.server.request.start', watch)
  }
}

describe('what is read as a plain request', () => {
  /** What Node's parser makes of a request, and of one that follows on the same connection. */
  type Seen = Pick<IncomingMessage, 'method' | 'url' | 'httpVersion' | 'headers'> & { readonly stays: boolean; body: number }
  let node: Server
  const seen: Seen[] = []
  beforeAll(async () => {
    node = createServer({ requireHostHeader: false, maxHeaderSize: 2 * PLAIN_BYTES }, (request, response) => {
      const { method, url, httpVersion, headers } = request
      const one: Seen = { method, url, httpVersion, headers, stays: response.shouldKeepAlive, body: 0 }
      request.on('data', (chunk) => {
        one.body += chunk.length
      })
      request.on('end', () => response.end())
      seen.push(one)
    })
    node.on('clientError', (_error, socket) => socket.destroy())
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => node.close())

  const names = [
    'Host',
    'host',
    'Accept',
    'X-A',
    'Connection',
    'Keep-Alive',
    'Content-Length',
    'Transfer-Encoding',
    'Expect',
    'Upgrade',
    'Cookie',
    'If-None-Match',
    'TE',
    'Trailer',
    'Proxy-Connection',
    '__proto__',
    'constructor',
    'Set-Cookie',
    '',
    'X A',
    'X\tA',
    'É',
    'X:',
  ]
  const values = [
    'x.test',
    '*/*',
    'application/hal+json',
    'keep-alive',
    'Keep-Alive',
    'close',
    'upgrade',
    'keep-alive, close',
    '0',
    '1',
    'chunked',
    '100-continue',
    'h2c',
    '',
    ' ',
    '\t x \t',
    'a\tb',
    'a"b\\',
    'é',
    'a\x01',
    'a\x7f',
    'a\x00b',
    'a\rb',
    'a\nb',
    'a\r\n b',
    'a\r\n\tb',
    'a:b',
    'x'.repeat(300),
  ]
  const field = fc
    .tuple(fc.constantFrom(...names), fc.constantFrom(':', ': ', ':\t', ' :', ''), fc.constantFrom(...values))
    .map((parts) => parts.join(''))
  const start = fc
    .tuple(
      fc.oneof({ weight: 8, arbitrary: fc.constant('GET') }, fc.constantFrom('HEAD', 'get', 'POST', '\r\nGET', ' GET', 'GETX')),
      fc.constantFrom(' ', ' ', ' ', '  ', '\t'),
      fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom('/', '/ledgers?limit=1', '/a#b', '/%zz', '/"<>\\^`{|}~', '//x', '/?') },
        fc.constantFrom('*', 'http://x/', '', '/é', '/a b', '/\x7f', '/\t', 'x'),
      ),
      fc.oneof(
        { weight: 8, arbitrary: fc.constant(' HTTP/1.1') },
        fc.constantFrom(' HTTP/1.0', ' HTTP/2.0', ' http/1.1', '', ' HTTP/1.1 '),
      ),
    )
    .map((parts) => parts.join(''))
  const lineEnd = fc.oneof({ weight: 20, arbitrary: fc.constant('\r\n') }, fc.constantFrom('\n', '\r', '\r\n\r\n'))
  const well = fc
    .tuple(
      start,
      fc.array(fc.tuple(lineEnd, field), { maxLength: 5 }),
      fc.oneof({ weight: 8, arbitrary: fc.constant('\r\n\r\n') }, fc.constantFrom('\r\n', '\n\n', '\r\n\r\nx', '')),
    )
    .map(([first, fields, end]) => first + fields.flat().join('') + end)
  const mutated = fc
    .tuple(fc.constant(get('/ledgers?limit=1', 'Accept: */*\r\n')), fc.nat(60), fc.nat(2), fc.integer({ min: 0, max: 255 }))
    .map(([text, at, cut, code]) => text.slice(0, at) + String.fromCharCode(code) + text.slice(at + cut))

  it('is what Node reads: one request without a body, after which the connection stays and nothing is left', async () => {
    let plain = 0
    await forAll(fc.oneof(well, mutated), 3000, async (text) => {
      const request = PlainRequest.read(text, undefined)
      if (!request) return
      plain++
      seen.length = 0
      const [first, second] = [text, get('/second')]
      await conversation((node.address() as AddressInfo).port, [first, second])
      expect(seen.map(({ url }) => url)).toEqual([request.target, '/second'])
      const [{ headers, ...rest }] = seen as [Seen]
      expect(rest).toEqual({ method: 'GET', url: request.target, httpVersion: '1.1', stays: true, body: 0 })
      const asNode = (name: string): string | undefined => [headers[name]].flat()[0]
      const all = new Set([...Object.keys(headers), ...names.map((name) => name.toLowerCase()), ...request.head.fields.keys()])
      for (const name of all)
        if (Object.hasOwn(headers, name) || !(name in {})) expect([name, request.header(name)]).toEqual([name, asNode(name)])
      // With the head of the request before it, it is read the same way.
      expect(PlainRequest.read(text, request.head)).toEqual(request)
      expect(PlainRequest.read(get('/other'), request.head)?.header('accept')).toBe(undefined)
    })
    // Otherwise nothing was compared.
    expect(plain).toBeGreaterThan(0)
  })

  it.each([
    ['what clients send', get('/ledgers', 'Accept: application/hal+json\r\nUser-Agent: x/1 (y; z)\r\nConnection: keep-alive\r\n'), true],
    ['a request without fields', 'GET / HTTP/1.1\r\n\r\n', true],
    ['any visible character in a target', 'GET /!"#$%&()*+,-.:;<=>?@[\\]^_`{|}~ HTTP/1.1\r\n\r\n', true],
    ['a request that is not all there', get('/ledgers').slice(0, -1), false],
    ['two requests', get('/ledgers') + get('/ledgers'), false],
    ['another method', get('/ledgers').replace('GET', 'HEAD'), false],
    ['another version', get('/ledgers').replace('1.1', '1.0'), false],
    ['a body', get('/ledgers', 'Content-Length: 0\r\n'), false],
    ['an encoded body', get('/ledgers', 'Transfer-Encoding: chunked\r\n'), false],
    ['the last request of a connection', get('/ledgers', 'Connection: close\r\n'), false],
    ['an upgrade', get('/ledgers', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'), false],
    ['an expectation', get('/ledgers', 'Expect: 100-continue\r\n'), false],
    ['a field twice', get('/ledgers', 'host: y\r\n'), false],
    ['a folded field', get('/ledgers', 'X: a\r\n b\r\n'), false],
    ['a line that ends with a newline alone', get('/ledgers', 'X: a\nY: b\r\n'), false],
    ['a space before the colon', get('/ledgers', 'X : a\r\n'), false],
    ['a letter beyond ASCII', get('/ledgers', 'X: \xe9\r\n'), false],
    ['an event stream', get('/ledgers', 'Accept: text/event-stream\r\n'), false],
    ['what may be an event stream', get('/ledgers', 'Accept: application/*;q=0, */*\r\n'), false],
    ['a control character in a target', get('/a\x01'), false],
    ['a space in a target', get('/a b'), false],
  ])('is decided by what it says: %s', (_, text, plain) => expect(PlainRequest.read(text, undefined) !== undefined).toBe(plain))
})

describe('a connection', () => {
  const targets = [
    '/',
    '/ledgers?limit=2',
    '/ledgers/2',
    '/ledgers/9',
    '/nothing',
    `/transactions/${hashOf('a')}`,
    '/health',
    '/ledgers?limit=x',
  ]
  const accepts = ['', 'Accept: */*\r\n', 'Accept: application/json\r\n', 'Accept: image/png\r\n', 'If-None-Match: *\r\n', 'Host: y\r\n']
  const plain = fc.tuple(fc.constantFrom(...targets), fc.constantFrom(...accepts)).map(([target, more]) => get(target, more))
  const other = fc.constantFrom(
    get('/ledgers').replace('GET', 'HEAD'),
    get('/ledgers').replace('GET', 'OPTIONS'),
    get('/ledgers', 'Content-Length: 3\r\n') + 'abc',
    `POST /ledgers HTTP/1.1\r\nHost: x.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
    get('/ledgers', `X: ${'x'.repeat(PLAIN_BYTES)}\r\n`),
    'GET /ledgers HTTP/1.0\r\nHost: x.test\r\nConnection: keep-alive\r\n\r\n',
    `\r\n${get('/ledgers')}`,
  )
  const end = fc.constantFrom('', get('/ledgers', 'Connection: close\r\n'), 'nonsense\r\n\r\n', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n')
  /** Requests one at a time, several at once, or cut anywhere. */
  const pieces = fc
    .tuple(
      fc.array(fc.oneof({ weight: 4, arbitrary: plain }, other), { minLength: 1, maxLength: 8 }),
      end,
      fc.array(fc.nat(1000), { maxLength: 3 }),
      fc.boolean(),
    )
    .map(([requests, last, cuts, whole]) => {
      if (whole) return [...requests, last].filter((one) => one !== '')
      const text = requests.join('') + last
      const places = [...new Set(cuts.map((cut) => cut % text.length))].sort((a, b) => a - b)
      return [...places, text.length].map((to, i) => text.slice(places[i - 1] ?? 0, to)).filter((one) => one !== '')
    })

  it('carries the same bytes as one that Node reads from the start, wherever what is sent is cut', async () => {
    const count = countPlain()
    await forAll(pieces, 200, async (sent) => {
      const [ours, nodes] = [await conversation(server.port, sent), await nodesOwn(server.port, sent)]
      expect(dateless(ours)).toBe(dateless(nodes))
    })
    expect(count()).toBeGreaterThan(0)
  })

  it('is answered past Node until something else is sent, and by Node from then on', async () => {
    const asked = new Set<unknown>()
    const count = countPlain()
    const sent = [get('/ledgers/1'), get('/ledgers/2'), get('/ledgers/1').replace('GET', 'HEAD'), get('/ledgers/3')]
    const answer = await conversation(server.port, sent)
    for (const [, sequence] of answer.matchAll(/"sequence":(\d)/g)) asked.add(sequence)
    expect([[...asked], count()]).toEqual([['1', '2', '3'], 2])
  })

  it('is left to Node while someone subscribes to requests of Node, from its next request on', async () => {
    const urls: unknown[] = []
    const seen = (message: unknown): void => void urls.push((message as { request: IncomingMessage }).request.url)
    const socket = connect(server.port, '127.0.0.1')
    const ask = async (target: string): Promise<string> => {
      const told = new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(String(bytes))))
      socket.write(get(target))
      return (await told).slice(0, 15)
    }
    const answers = [await ask('/ledgers/1')]
    subscribe('http.server.request.start', seen)
    answers.push(await ask('/ledgers/2'))
    unsubscribe('http.server.request.start', seen)
    socket.destroy()
    expect([answers, urls]).toEqual([['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK'], ['/ledgers/2']])
  })

  it('of which the first request is the last is closed after it', async () => {
    const count = countPlain()
    expect(await conversation(server.port, [get('/ledgers/1')])).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(count()).toBe(1)
  })
})

describe('a wait', () => {
  const WAITS = { headersMs: 10_000, keepAliveMs: 300, stallMs: 1_000 }
  /** Short enough to wait for; longer than a first request takes to arrive, except on a busy machine. */
  const SOON = { ...WAITS, headersMs: 150 }
  const SILENCE_MS = 1_500
  const servers: Server[] = []
  afterEach(async () => {
    for (const one of servers.splice(0)) {
      one.closeAllConnections()
      await new Promise((resolve) => one.close(resolve))
    }
  })

  /** A server of its own, with short waits, and the targets that it left to Node. */
  async function started(
    answer: (request: CoreRequest) => MaybePromise<CoreResponse>,
    waits = WAITS,
  ): Promise<{ port: number; fastPath: FastPath; sockets: Socket[]; left: unknown[] }> {
    const left: unknown[] = []
    const pipelines = new Pipelines(32, waits)
    const host = createServer((request, response) => {
      left.push(request.url)
      pipelines.take(request, response, ({ url }) => answer({ method: 'GET', target: url!, header: () => undefined }))
    })
    servers.push(host)
    host.on('clientError', (_error, socket) => pipelines.refuse(socket, 'bad_request'))
    const fastPath = new FastPath(host, Object.assign(answer, { endStreams: () => {} }), pipelines, waits)
    const sockets: Socket[] = []
    host.on('connection', (socket: Socket) => sockets.push(socket))
    Object.assign(host, { httpAllowHalfOpen: true, timeout: SILENCE_MS })
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
    return { port: (host.address() as AddressInfo).port, fastPath, sockets, left }
  }

  const small = (): CoreResponse => ({ status: 200, headers: ['content-length', '1'], parts: [Buffer.from('x')] })

  /** How long a connection lives, in ms, and what came over it. */
  async function lifetime(port: number, sent: string): Promise<[ms: number, got: string]> {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(sent))
    let got = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      got += chunk
    })
    socket.on('error', () => {})
    const began = performance.now()
    await new Promise((resolve) => socket.once('close', resolve))
    return [performance.now() - began, got]
  }

  /** A client that has asked for more than the two sockets of its connection hold between them, and reads nothing. */
  async function stuck({ port, sockets }: { port: number; sockets: Socket[] }, target = '/'): Promise<Socket> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(get(target)))
    socket.pause().on('error', () => {})
    await expect.poll(() => sockets[0]?.timeout).toBe(WAITS.stallMs)
    return socket
  }

  it('for a first request ends with 408', async () => {
    const { port } = await started(small, SOON)
    const [ms, got] = await lifetime(port, '')
    expect(got).toMatch(/^HTTP\/1\.1 408 /)
    expect(ms).toBeGreaterThan(SOON.headersMs - 20)
  })

  it('for a first request is over even if one comes in the end, or the client resets', async () => {
    let calls = 0
    const { port, sockets, left } = await started(() => {
      calls++
      return small()
    }, SOON)
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('data', resolve))
    socket.write(get('/'))
    await pause(50)
    expect([calls, left]).toEqual([0, []])
    socket.resetAndDestroy()
    await expect.poll(() => sockets[0]!.destroyed).toBe(true)
  })

  it('for the next request is as long as was said, and a second more', async () => {
    const { port, sockets } = await started(small)
    const [ms, got] = await lifetime(port, get('/'))
    expect(got).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*\r\nx$/)
    expect(ms).toBeGreaterThan(WAITS.keepAliveMs + 900)
    expect(sockets[0]!.destroyed).toBe(true)
  })

  it('for a reader ends after once or twice the stall limit, and nothing is released', async () => {
    let released = 0
    const big: CoreResponse = { status: 200, headers: [], parts: [Buffer.alloc(20_000_000)], release: () => void released++ }
    const { port, sockets } = await started(() => big)
    const socket = await stuck({ port, sockets })
    const began = performance.now()
    await expect.poll(() => sockets[0]!.destroyed).toBe(true)
    expect(performance.now() - began).toBeGreaterThan(WAITS.stallMs - 50)
    socket.destroy()
    expect(released).toBe(0)
  })

  it('for a reader that takes its time goes on; then the memory of the answer is released, and the wait is that for the next request', async () => {
    const released: unknown[] = []
    const { port, sockets } = await started(() => ({
      ...{ status: 200, headers: [], parts: [Buffer.alloc(20_000_000), Buffer.from('end')] },
      release: () => void released.push(sockets[0]!.timeout),
    }))
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(get('/')))
    let ended = false
    socket.on('data', (chunk: Buffer) => {
      ended ||= chunk.subarray(-3).equals(Buffer.from('end'))
      socket.pause()
      setTimeout(() => socket.resume(), 1)
    })
    await expect.poll(() => ended).toBe(true)
    await expect.poll(() => sockets[0]!.timeout).toBe(WAITS.keepAliveMs + 1000)
    expect(released).toEqual([WAITS.stallMs])
    socket.destroy()
  })

  it.each([
    ['a byte now and then', 'x'],
    ['a request now and then', get('/')],
    ['half a request', 'GET /'],
  ])('for a reader that sends %s instead of reading ends as soon', async (_, more) => {
    let released = 0
    const big: CoreResponse = { status: 200, headers: [], parts: [Buffer.alloc(20_000_000)], release: () => void released++ }
    const { port, sockets } = await started(() => big)
    const socket = await stuck({ port, sockets })
    const sending = setInterval(() => socket.write(more), 50)
    await expect.poll(() => sockets[0]!.destroyed).toBe(true)
    clearInterval(sending)
    socket.destroy()
    expect(released).toBe(0)
  })

  it('for a reader lets requests wait behind, which are answered by Node in turn', async () => {
    const released: string[] = []
    const { port, sockets, left } = await started(({ target }) => {
      const body = target === '/big' ? Buffer.alloc(20_000_000, 'b') : Buffer.from(target)
      return { status: 200, headers: ['content-length', String(body.length)], parts: [body], release: () => void released.push(target) }
    })
    const socket = await stuck({ port, sockets }, '/big')
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.write(get('/one') + get('/two').slice(0, 9))
    await expect.poll(() => left).toEqual(['/one'])
    await pause(50)
    expect([released, left]).toEqual([[], ['/one']])
    socket.end(get('/two').slice(9))
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
    const bodies = Buffer.concat(chunks)
      .toString('latin1')
      .split(/HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*\r\n/)
    expect(bodies.map((body) => body.length)).toEqual([0, 20_000_000, 4, 4])
    expect([released, left]).toEqual([
      ['/big', '/one', '/two'],
      ['/one', '/two'],
    ])
  })

  it.each([
    ['in pieces', ['GET /se', 'cond HTTP/1.1\r\n', 'Host: x\r\n\r\n\r\n']],
    ['in one piece', [get('/second')]],
  ])('for an answer keeps what arrives meanwhile %s, even the end of the connection', async (_, pieces) => {
    const answers: (() => void)[] = []
    const { port, sockets, left } = await started(
      ({ target }) => new Promise((resolve) => answers.push(() => resolve({ ...small(), status: target === '/' ? 200 : 404 }))),
    )
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let got = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      got += chunk
    })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(get('/'))
    await expect.poll(() => answers.length).toBe(1)
    for (const piece of pieces) {
      socket.write(piece)
      await pause(20)
    }
    socket.end()
    await pause(20)
    expect([answers.length, left]).toEqual([1, []])
    answers[0]!()
    await expect.poll(() => left).toEqual(['/second'])
    expect(sockets[0]!.timeout).toBe(SILENCE_MS)
    answers[1]!()
    await closed
    expect(Array.from(got.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)).toEqual(['200', '404'])
  })

  it.each([
    ['read past Node', get('/')],
    ['read by Node', get('/').replace('GET', 'HEAD')],
  ])('for an answer to a request %s is as long as a connection may be silent', async (_, sent) => {
    const { port } = await started(() => new Promise(() => {}))
    const [ms, got] = await lifetime(port, sent)
    expect(got).toBe('')
    expect(ms).toBeGreaterThan(SILENCE_MS - 20)
  })

  it('for an answer may outlive its client, or be followed by others', async () => {
    const answers: (() => void)[] = []
    let released = 0
    const answer = (): CoreResponse => ({ ...small(), release: () => void released++ })
    const { port, sockets } = await started(() => new Promise((resolve) => answers.push(() => resolve(answer()))))
    const [gone, stays] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
    for (const socket of [gone, stays]) socket.on('error', () => {}).write(get('/'))
    await expect.poll(() => answers.length).toBe(2)
    gone.resetAndDestroy()
    await expect.poll(() => sockets.filter(({ destroyed }) => destroyed).length).toBe(1)
    for (const ready of answers.splice(0)) ready()
    await new Promise((resolve) => stays.once('data', resolve))
    stays.write(get('/'))
    await expect.poll(() => answers.length).toBe(1)
    answers[0]!()
    await new Promise((resolve) => stays.once('data', resolve))
    await expect.poll(() => released).toBe(2)
    stays.destroy()
  })

  it('for what is idle ends at once when a server closes, not for what is busy', async () => {
    const answers: (() => void)[] = []
    const { port, fastPath, sockets } = await started(() => new Promise((resolve) => answers.push(() => resolve(small()))))
    const idle = (): boolean[] => sockets.map((socket) => fastPath.isIdle(socket))
    let got = ''
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    socket.on('data', (chunk) => {
      got += chunk
    })
    await expect.poll(idle).toEqual([true])
    socket.write(get('/'))
    await expect.poll(idle).toEqual([false])
    fastPath.close()
    answers[0]!()
    await new Promise((resolve) => socket.once('close', resolve))
    expect(got.toLowerCase()).toContain('\r\nconnection: close\r\n')
    expect(sockets[0]!.writableEnded).toBe(true)
  })

  it('for an answer that was said to be the last one ends the connection, whatever else is sent', async () => {
    const { port, fastPath, sockets, left } = await started(() => ({ status: 200, headers: [], parts: [Buffer.alloc(20_000_000)] }))
    fastPath.close()
    const socket = connect(port, '127.0.0.1', () => socket.write(get('/')))
    let length = 0
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      length += chunk.length
    })
    socket.pause()
    await expect.poll(() => sockets[0]?.timeout).toBe(WAITS.stallMs)
    socket.write(get('/more'))
    await pause(50)
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
    expect([left, sockets[0]!.writableEnded]).toEqual([[], true])
    expect(length).toBeGreaterThan(20_000_000)
  })

  it('for an answer whose client sends nothing more ends the connection', async () => {
    const answers: (() => void)[] = []
    const { port, sockets } = await started(() => new Promise((resolve) => answers.push(() => resolve(small()))))
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.end(get('/')))
    await expect.poll(() => sockets[0]?.readableEnded).toBe(true)
    answers[0]!()
    socket.resume()
    await new Promise((resolve) => socket.once('end', resolve))
    expect(sockets[0]!.writableEnded).toBe(true)
    socket.destroy()
  })
})

it('an answer has the head that Node would have written', async () => {
  const core = createCore(ledger)
  const { status, headers } = await core({
    method: 'GET',
    target: '/ledgers/2',
    header: (name) => (name === 'host' ? 'x.test' : undefined),
  })
  const answer = await conversation(server.port, [get('/ledgers/2')])
  const lines = answer.slice(0, answer.indexOf('\r\n\r\n')).split('\r\n')
  const pairs = Array.from({ length: headers.length / 2 }, (_, i) => `${headers[2 * i]}: ${headers[2 * i + 1]}`)
  expect(lines).toEqual([
    `HTTP/1.1 ${status} OK`,
    ...pairs,
    expect.stringMatching(/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/),
    'Connection: keep-alive',
    'Keep-Alive: timeout=65',
  ])
})
