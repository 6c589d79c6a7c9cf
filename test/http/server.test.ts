/** The two shells: one over sockets, one over Request and Response. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2'
import { connect, Server as NetServer, type Socket } from 'node:net'
import { MemoryLevel } from 'memory-level'
import { describe, expect, it, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { createCore, createHandler, type HttpServer, listener, serve } from '../../adapters/http/index.ts'
import { level } from '../../adapters/level/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { type Ledger, type LedgerClose, openLedger } from '../../src/index.ts'
import { badOption, closes, get, hashOf, idOf, smallLedger, whileServed } from './support.ts'

let ledger: Ledger
let server: HttpServer
whileServed((small, its) => {
  ledger = small
  server = its
})

/** Sends bytes as they are, and returns everything that came back until the other side closed, or `until` was seen. */
function raw(port: number, sent: string, until?: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(sent, 'latin1'))
    let got = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      got += chunk
      if (until?.test(got)) socket.destroy()
    })
    socket.on('close', () => resolve(got))
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve(got) : reject(error)))
    setTimeout(() => socket.destroy(), 5_000).unref()
  })
}

const last = (target: string, more = ''): string => get(target, `Connection: close\r\n${more}`)
const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])
const bodyOf = (answer: string): any => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))

describe('both shells', () => {
  it('give the same answers', async () => {
    const handler = createHandler(ledger, { log: () => {} })
    const targets = [
      '/',
      '/ledgers',
      '/ledgers?limit=2&order=desc',
      '/ledgers/2',
      '/ledgers/9',
      '/ledgers/x',
      '/operations?limit=0x10',
      '/nothing',
      '/health',
      '/openapi.json',
      '/problems/gone_before_history',
    ]
    targets.push(
      `/transactions/${hashOf('a')}`,
      `/transactions/${hashOf('b')}/effects`,
      `/operations/${idOf(1, 1, 2)}`,
      '/trades?offer_id=7',
      '/accounts/%C3%B6',
      '/accounts/%zz',
      `/ledgers?${'x'.repeat(9000)}`,
    )
    const requests: RequestInit[] = [
      {},
      { headers: { accept: 'application/json' } },
      { headers: { accept: 'image/png' } },
      { headers: { 'if-none-match': '*' } },
      { method: 'HEAD' },
      { method: 'OPTIONS', headers: { 'access-control-request-headers': 'x-a' } },
      { method: 'POST', body: 'x' },
    ]
    for (const target of targets)
      for (const init of requests) {
        const url = server.url + target
        const [over, direct] = [await fetch(url, init), await handler(new Request(url, init))]
        const about = `${init.method ?? 'GET'} ${target} ${JSON.stringify(init.headers)}`
        expect(over.status, about).toBe(direct.status)
        expect(await over.text(), about).toBe(await direct.text())
        const sent = Object.fromEntries(over.headers)
        for (const [name, value] of direct.headers) expect(sent[name], `${about} ${name}`).toBe(value)
      }
  })

  it('send large pages whole, from stored views and from copies', async () => {
    const big = await openLedger(memory())
    await big.ingest(generate({ ledgers: 40, seed: 9 }) as Iterable<LedgerClose>)
    const handler = createHandler(big)
    const served = await serve(big, { port: 0 })
    for (const path of ['/transactions?limit=200', '/transactions?limit=200&order=desc', '/effects?limit=200', '/operations?limit=200'])
      for (let i = 0; i < 3; i++) {
        const [over, direct] = [await fetch(served.url + path), await handler(new Request(served.url + path))]
        const text = await over.text()
        expect(text).toBe(await direct.text())
        expect(Buffer.byteLength(text)).toBe(Number(over.headers.get('content-length')))
        expect(JSON.parse(text)._embedded.records).toHaveLength(200)
      }
    await served.close()
  })

  it('answer from a store that answers late', async () => {
    const slow = await openLedger(level(new MemoryLevel({ keyEncoding: 'view', valueEncoding: 'view' })))
    await slow.ingest(closes)
    const handler = createHandler(slow, { baseUrl: 'http://x.test' })
    const now = createHandler(ledger, { baseUrl: 'http://x.test' })
    for (const path of ['/ledgers', '/operations?order=desc', `/transactions/${hashOf('b')}`, '/accounts/GNOBODY/trades']) {
      const [later, atOnce] = [await handler(new Request(`http://y.test${path}`)), await now(new Request(`http://y.test${path}`))]
      expect([later.status, await later.text()]).toEqual([atOnce.status, await atOnce.text()])
    }
    await slow.close()
  })
})

describe('a target on the wire', () => {
  it('reaches the core as it was sent', async () => {
    expect(statusOf(await raw(server.port, last('//x.test/ledgers')))).toBe(404)
    expect(statusOf(await raw(server.port, last('/../ledgers')))).toBe(404)
    expect(statusOf(await raw(server.port, last('/ledgers/../transactions')))).toBe(400)
    expect(statusOf(await raw(server.port, last('/accounts/%zz')))).toBe(400)
    expect(statusOf(await raw(server.port, last('http://x.test/ledgers')))).toBe(200)
    expect(statusOf(await raw(server.port, 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))).toBe(204)
    expect(statusOf(await raw(server.port, 'TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))).toBe(405)
  })
})

describe('a Host on the wire', () => {
  it('is refused where HTTP/1.1 has it missing, repeated or malformed, whether or not a link is built on it', async () => {
    const served = await serve(ledger, { port: 0, baseUrl: 'https://api.example.com' })
    const statuses = async (hosts: string, version = '1.1'): Promise<number[]> => {
      const found: number[] = []
      // The first one may be read without Node's parser.
      for (const [port, path] of [
        [served.port, '/ledgers'],
        [served.port, '/offers/99'],
        [server.port, '/health'],
        [server.port, '/metrics'],
      ])
        for (const more of ['', 'Connection: close\r\n'])
          found.push(statusOf(await raw(Number(port), `GET ${path} HTTP/${version}\r\n${hosts}${more}\r\n`, /\r\n\r\n/)))
      return found
    }
    const good = [200, 200, 404, 404, 200, 200, 200, 200]
    const bad = good.map(() => 400)
    expect(await statuses('Host: x.test:80\r\n')).toEqual(good)
    expect(await statuses('Host:\r\n')).toEqual(good)
    expect(await statuses('', '1.0')).toEqual(good)
    for (const hosts of ['', 'Host: a<b\r\n', 'Host: x\r\nHost: x\r\n', 'Host: x\r\nhost: y\r\n', 'Host: x, y\r\n', 'Host: x:y\r\n'])
      expect([hosts, await statuses(hosts)]).toEqual([hosts, bad])
    expect(statusOf(await raw(server.port, 'OPTIONS /ledgers HTTP/1.1\r\nConnection: close\r\n\r\n'))).toBe(400)
    await served.close()
  })
})

describe('what the parser rejects', () => {
  it.each([
    ['nonsense', 'nonsense\r\n\r\n', 400, 'request'],
    ['a malformed header', 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', 400, 'request'],
    ['two lengths', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400, 'request'],
    ['a header without end', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['a target without end', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
    ['a method that nobody knows', 'BREW /ledgers HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['a method in lower case', 'get /ledgers HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['a method without a version', 'BREW /ledgers\r\n\r\n', 400, 'request'],
    ['a tunnel', 'CONNECT x.test:80 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['an expectation', 'GET / HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n', 417],
    ['no host', 'GET /ledgers HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'Host'],
    ['a malformed host', 'GET /ledgers HTTP/1.1\r\nHost: "x"\r\nConnection: close\r\n\r\n', 400, 'Host'],
    ['two hosts', last('/ledgers', 'Host: y.test\r\n'), 400, 'Host'],
    ['the same host twice', last('/ledgers', 'host: x.test\r\n'), 400, 'Host'],
    ['a body whose end cannot be told', get('/ledgers', 'Transfer-Encoding: identity\r\n'), 400, 'request'],
    ['a body that only begins as chunks', get('/ledgers', 'Transfer-Encoding: chunked, gzip\r\n'), 400, 'request'],
  ])('%s is answered with a problem, once', async (_name, sent, status, field?: string) => {
    const answer = await raw(server.port, sent)
    expect(answer.match(/HTTP\/1\.1 \d/g)).toHaveLength(1)
    expect(statusOf(answer)).toBe(status)
    expect(answer.toLowerCase()).toContain('content-type: application/problem+json')
    expect(answer.toLowerCase()).toContain('access-control-allow-origin: *')
    const body = bodyOf(answer)
    expect([body.status, body.extras.invalid_field]).toEqual([status, field])
  })
})

describe('pipelined requests', () => {
  it('are answered in order', async () => {
    const answer = await raw(server.port, get('/ledgers/1') + get('/ledgers/2') + get('/ledgers/x') + last('/ledgers/3'))
    expect(Array.from(answer.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)).toEqual(['200', '200', '400', '200'])
    expect(Array.from(answer.matchAll(/"sequence":(\d)/g), ([, sequence]) => sequence)).toEqual(['1', '2', '3'])
  })

  it.each([
    ['a request', get('/ledgers/3'), '200'],
    ['what is not one', 'nonsense\r\n\r\n', '400'],
  ])('of a client that half-closes are all answered, and then the connection ends; the last one is %s', async (_, last, status) => {
    const sent = get('/ledgers/1') + get('/transactions?limit=200') + get('/ledgers/x') + last
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.end(sent))
      let got = ''
      socket.setEncoding('latin1').on('data', (chunk) => {
        got += chunk
      })
      socket.on('error', reject).on('close', () => resolve(got))
    })
    expect(Array.from(answer.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)).toEqual(['200', '200', '400', status])
  })

  it.each([
    ['a request', get('/ledgers/3')],
    ['what is not one', 'nonsense\r\n\r\n'],
  ])('after one that ends the connection are not read: %s', async (_, more) => {
    for (const final of [last('/ledgers/2'), 'GET /ledgers/2 HTTP/1.0\r\nHost: x.test\r\n\r\n']) {
      const answer = await raw(server.port, get('/ledgers/1') + final + more)
      expect(Array.from(answer.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)).toEqual(['200', '200'])
      expect(Array.from(answer.matchAll(/\r\nconnection: (\S+)/gi), ([, what]) => what)).toEqual(['keep-alive', 'close'])
    }
  })

  it('behind an event stream that cannot be read close it, even if they arrive with it', async () => {
    const asked = get('/ledgers', 'Accept: text/event-stream\r\n')
    for (const before of ['', get('/ledgers/1')]) {
      const socket = connect(server.port, '127.0.0.1', () => socket.write(`${before}${asked}nonsense\r\n\r\n`))
      socket.on('error', () => {}).resume()
      await expect.poll(() => socket.closed).toBe(true)
    }
  })

  it('past the limit are left unanswered, and the connection ends', async () => {
    const answer = await raw(server.port, get('/ledgers/1').repeat(500))
    const answers = answer.match(/HTTP\/1\.1 200/g)!.length
    expect(answers).toBe(33)
    expect(answer.slice(answer.lastIndexOf('HTTP/1.1')).toLowerCase()).toContain('connection: close')
  })

  it('whose answers nobody reads cost one answer, not all of them', async () => {
    const big = await openLedger(memory())
    await big.ingest(generate({ ledgers: 20, seed: 3 }) as Iterable<LedgerClose>)
    const served = await serve(big, { port: 0, drainMs: 100 })
    const sockets: Socket[] = []
    for (let i = 0; i < 10; i++) {
      const socket = connect(served.port, '127.0.0.1')
      socket.pause()
      socket.on('error', () => {})
      socket.write(get('/transactions?limit=200').repeat(400))
      sockets.push(socket)
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
    const figures = await (await fetch(`${served.url}/metrics`)).text()
    expect(Number(/class="2xx"} (\d+)/.exec(figures)![1])).toBeLessThan(10 * 33)
    for (const socket of sockets) socket.destroy()
    await served.close()
    await big.close()
  })
})

describe('requests of several connections that arrive together', () => {
  it('are answered together, after all of them were read', async () => {
    const order: string[] = []
    const answer = listener(ledger)
    const mine = createServer((request, response) => {
      order.push('read')
      const end = response.end.bind(response) as (body?: unknown) => typeof response
      response.end = ((body?: unknown) => {
        order.push('sent')
        return end(body)
      }) as typeof response.end
      answer(request, response)
    })
    await new Promise<void>((resolve) => mine.listen(0, '127.0.0.1', resolve))
    const { port } = mine.address() as { port: number }
    const sockets = await Promise.all(
      Array.from(
        { length: 3 },
        () =>
          new Promise<Socket>((resolve) => {
            const socket = connect(port, '127.0.0.1', () => resolve(socket))
          }),
      ),
    )
    // All of them are written before the loop turns, so the server finds them in one poll; the first time it still has to accept the connections.
    for (const skip of [0, 1]) {
      order.length = 0
      const told = sockets.map((socket) => new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(String(bytes)))))
      for (const [i, socket] of sockets.entries()) socket.write(get(`/ledgers/${1 + ((i + skip) % 3)}`))
      for (const [i, text] of (await Promise.all(told)).entries()) expect(bodyOf(text).sequence).toBe(1 + ((i + skip) % 3))
    }
    expect(order).toEqual(['read', 'read', 'read', 'sent', 'sent', 'sent'])
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => mine.close(resolve))
  })
})

describe('a listener', () => {
  it('mounts in the server of someone else, below a path that links then begin with', async () => {
    const answer = listener(ledger)
    const host = createServer((request, response) => {
      // What Express does with a mount path.
      Object.assign(request, { baseUrl: '/history', url: request.url!.slice('/history'.length) || '/' })
      answer(request, response)
    })
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
    const { port } = host.address() as { port: number }
    const page: any = await (await fetch(`http://127.0.0.1:${port}/history/ledgers?limit=1`)).json()
    expect(page._links.self.href).toBe(`http://127.0.0.1:${port}/history/ledgers?cursor=&limit=1&order=asc`)
    expect((await fetch(page._links.next.href)).status).toBe(200)
    expect(statusOf(await raw(port, last('/history/ledgers', 'Host: y.test\r\n')))).toBe(400)
    host.closeAllConnections()
    host.close()
  })
})

describe('a service told where it is mounted', () => {
  type Fetch = (url: string, init?: RequestInit) => Promise<Response>
  // What Fastify does with a prefix, and Next with a route: nothing.
  const shells: [string, (mount: string, use: (origin: string, get: Fetch) => Promise<void>) => Promise<void>][] = [
    [
      'a listener',
      async (mount, use) => {
        const host = createServer(listener(ledger, { mount }))
        await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
        const origin = `127.0.0.1:${(host.address() as { port: number }).port}`
        try {
          await use(`http://${origin}`, fetch)
          const whole = await raw(Number(origin.split(':')[1]), last(`http://x.test${mount}/ledgers/2`))
          expect([statusOf(whole), bodyOf(whole)._links.self.href]).toEqual([200, `http://x.test${mount}/ledgers/2`])
        } finally {
          host.closeAllConnections()
          host.close()
        }
      },
    ],
    [
      'a handler',
      (mount, use) => {
        const handler = createHandler(ledger, { mount })
        return use('https://x.test:8443', (url, init) => handler(new Request(url, init)))
      },
    ],
  ]

  it.each(shells)('serves what is below that path, with links that are there too: %s', (_, served) =>
    served('/api/history', async (origin, get) => {
      const base = `${origin}/api/history`
      for (let again = 0; again < 2; again++) {
        const page: any = await (await get(`${base}/ledgers?limit=1`)).json()
        expect(page._links.self.href).toBe(`${base}/ledgers?cursor=&limit=1&order=asc`)
        expect((await get(page._links.next.href)).status).toBe(200)
      }
      for (const root of ['', '/', '?x=1']) expect([root, (await get(base + root)).status]).toEqual([root, 200])
    }),
  )

  it.each(shells)('finds nothing elsewhere: %s', (_, served) =>
    served('/history', async (origin, get) => {
      for (const path of [
        '/ledgers',
        '/',
        '/historyledgers',
        '/history2/ledgers',
        '/x/history/ledgers',
        '/history//ledgers',
        '/HISTORY/ledgers',
      ]) {
        const answer = await get(origin + path)
        expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 404, 'application/problem+json; charset=utf-8'])
        await answer.text()
      }
    }),
  )

  it.each(shells)('answers HEAD and OPTIONS elsewhere as anywhere, and counts those answers: %s', (_, served) =>
    served('/history', async (origin, get) => {
      const head = await get(`${origin}/ledgers`, { method: 'HEAD' })
      expect([head.status, await head.text()]).toEqual([404, ''])
      const options = await get(`${origin}/ledgers`, { method: 'OPTIONS' })
      expect([options.status, options.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, HEAD, OPTIONS'])
      const counted = await (await get(`${origin}/history/metrics`)).text()
      expect(counted).toContain('folio_http_responses_total{class="2xx"} 1\n')
      expect(counted).toContain('folio_http_responses_total{class="4xx"} 1\n')
      expect(counted).toContain('folio_http_response_body_bytes_total 0\n')
    }),
  )

  it('rejects what is not a path', () => {
    for (const shell of [listener, createHandler])
      for (const mount of ['', '/', 'history', '/history/', '//history', '/a?b', '/a b', '/"', null, 1])
        expect(() => shell(ledger, { mount: mount as string }), String(mount)).toThrow(badOption('mount'))
  })
})

describe('a listener in an HTTP/2 server', () => {
  it('answers lists, with links to the authority that was asked, and streams', async () => {
    const host = createHttp2(listener(ledger) as never)
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
    const { port } = host.address() as { port: number }
    const client = connectHttp2(`http://127.0.0.1:${port}`)
    const ask = async (path: string, headers = {}, until?: RegExp): Promise<[status: unknown, text: string]> => {
      const stream = client.request({ ':path': path, ...headers })
      const status = new Promise((resolve) => stream.once('response', (head) => resolve(head[':status'])))
      let text = ''
      for await (const chunk of stream) {
        text += chunk
        if (until?.test(text)) break
      }
      return [await status, text]
    }
    const [status, text] = await ask('/ledgers?limit=1')
    expect([status, JSON.parse(text)._links?.self.href]).toEqual([200, `http://127.0.0.1:${port}/ledgers?cursor=&limit=1&order=asc`])
    const three = /(?:"sequence":\d.*){3}\n\n/s
    expect(await ask('/ledgers', { accept: 'text/event-stream' }, three)).toEqual([200, expect.stringMatching(three)])
    expect((await ask('/health'))[0]).toBe(200)
    client.destroy()
    await new Promise((resolve) => host.close(resolve))
  })

  it('ends an event stream without its connection, on which others go on', async () => {
    const mine = await smallLedger()
    const answer = listener(mine)
    const others: (() => void)[] = []
    const host = createHttp2((request, response) => {
      if (request.url === '/other') others.push(() => response.end('whole'))
      else answer(request as never, response as never)
    })
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
    const client = connectHttp2(`http://127.0.0.1:${(host.address() as { port: number }).port}`)
    const texts = new Map<string, string>()
    const asked = (path: string, headers = {}) => {
      const stream = client.request({ ':path': path, ...headers }).setEncoding('utf8')
      texts.set(path, '')
      stream.on('data', (chunk) => texts.set(path, texts.get(path) + chunk))
      return stream
    }
    const [stream, other] = [asked('/ledgers', { accept: 'text/event-stream' }), asked('/other')]
    await expect.poll(() => [texts.get('/ledgers')?.match(/"sequence":/g)?.length, others.length]).toEqual([3, 1])
    await mine.rollback(1)
    await once(stream, 'end')
    expect(texts.get('/ledgers')).toContain('event: error')
    // A connection that is about to end does so within a turn or two.
    await new Promise((resolve) => setTimeout(resolve, 50))
    others[0]!()
    await once(other, 'close')
    expect([texts.get('/other'), client.closed]).toEqual(['whole', false])
    client.destroy()
    await new Promise((resolve) => host.close(resolve))
    await mine.close()
  })
})

describe('an error of a server that listens', () => {
  it('is logged each time, and ends nothing', async () => {
    const listen = vi.spyOn(NetServer.prototype, 'listen')
    const logged: unknown[] = []
    const own = await serve(ledger, { port: 0, log: (...given) => logged.push(given) })
    const [inner] = listen.mock.contexts as [NetServer]
    listen.mockRestore()
    // What a server says when it cannot accept a connection.
    const failure = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' })
    for (let again = 0; again < 2; again++) inner.emit('error', failure)
    const about = { id: expect.stringMatching(/^[\da-f-]{36}$/), method: '-', target: '(server)' }
    expect(logged).toEqual([
      [failure, about],
      [failure, about],
    ])
    expect((await fetch(`${own.url}/health`)).status).toBe(200)
    await own.close()
  })
})

describe('options', () => {
  it('that make no sense are rejected', async () => {
    await expect(serve(ledger, { port: 0, keepAliveMs: 1 })).rejects.toThrow(badOption('keepAliveMs'))
    await expect(serve(ledger, { port: 0, baseUrl: 'nowhere' })).rejects.toThrow(badOption('baseUrl'))
    await expect(serve(ledger, { port: 0, profile: 'x' as never })).rejects.toThrow(badOption('profile'))
    for (const port of [undefined, Number.NaN, '8000', -1, 65_536])
      await expect(serve(ledger, { port: port as never })).rejects.toThrow(badOption('port'))
    for (const host of ['', null, 0]) await expect(serve(ledger, { port: 0, host: host as never })).rejects.toThrow(badOption('host'))
    await expect(serve(ledger, { port: server.port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    for (const shell of [listener, createHandler, createCore]) {
      for (const options of [{ maxStreams: -1 }, { maxTargetBytes: 0 }, { streamIdleMs: Number.NaN }, { streamStallMs: 1.5 }])
        expect(() => shell(ledger, options), JSON.stringify(options)).toThrow(badOption(Object.keys(options)[0]!))
      for (const options of [
        { maxStreams: '5' },
        { maxTargetBytes: null },
        { streamIdleMs: 500n },
        { baseUrl: 5 },
        { baseUrl: 'ftp://x.test' },
      ])
        expect(() => shell(ledger, options as never), String(Object.keys(options))).toThrow(badOption(Object.keys(options)[0]!))
      for (const profile of ['x', '', null, 'constructor'])
        expect(() => shell(ledger, { profile: profile as never })).toThrow(badOption('profile'))
    }
    expect(() => listener(ledger, { maxQueued: 0 })).toThrow(badOption('maxQueued'))
    for (const shell of [listener, createHandler])
      for (const mount of ['', '/', 'history', '/history/', null, 5])
        expect(() => shell(ledger, { mount: mount as never })).toThrow(badOption('mount'))
  })

  it('that nothing takes are rejected by name', async () => {
    const refuse = (field: string, of: string): unknown =>
      expect.objectContaining({ fields: { field, reason: expect.stringMatching(`^not an option of ${of}; the options are .*maxStreams`) } })
    for (const shell of [listener, createHandler, createCore]) {
      expect(() => shell(ledger, { baseURL: 'http://x.test' } as object)).toThrow(refuse('baseURL', shell.name))
      // This one belongs to a server; here, the server is someone else's.
      expect(() => shell(ledger, { maxConnections: 5 } as object)).toThrow(refuse('maxConnections', shell.name))
      expect(() => shell(ledger, { baseUrl: undefined, baseURL: undefined } as object)).not.toThrow()
    }
    await expect(serve(ledger, { port: 0, maxStream: 5 } as never)).rejects.toThrow(refuse('maxStream', 'serve'))
    // A server of its own is not mounted below a path.
    await expect(serve(ledger, { port: 0, mount: '/history' } as never)).rejects.toThrow(refuse('mount', 'serve'))
  })

  it('that are not an object are rejected, and so is anything that is not a ledger, saying what was found', async () => {
    const refuse = (field: string, found: string): unknown =>
      expect.objectContaining({ code: 'BAD_REQUEST', fields: expect.objectContaining({ field, found }) })
    for (const [options, found] of [[null, 'null'] as const, ['x', 'string'] as const]) {
      for (const shell of [listener, createHandler, createCore])
        expect(() => shell(ledger, options as never)).toThrow(refuse('options', found))
      await expect(serve(ledger, options as never)).rejects.toThrow(refuse('options', found))
    }
    for (const shell of [listener, createHandler, createCore]) {
      expect(() => shell(ledger, { trustProxy: 'false' } as object)).toThrow(refuse('trustProxy', 'string'))
      expect(() => shell(ledger, { log: console } as object)).toThrow(refuse('log', 'object'))
    }
    await expect((serve as any)(ledger)).rejects.toThrow(refuse('options', 'undefined'))
    for (const [given, found] of [
      [undefined, 'undefined'],
      [null, 'null'],
      [{}, 'object'],
      ['./data', 'string'],
      [memory(), 'a store; open it with openLedger first'],
      [Promise.resolve(ledger), 'a promise; await it first'],
    ] as [any, string][]) {
      for (const shell of [listener, createHandler, createCore]) expect(() => shell(given)).toThrow(refuse('ledger', found))
      await expect(serve(given, { port: 0 })).rejects.toThrow(refuse('ledger', found))
    }
  })
})
