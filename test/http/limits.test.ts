/** Every wait of a server has an end, everything else a bound; all of them can be set, and are listed in docs/limits.md. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type HttpServer, limits, type ServeOptions, serve } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { type Ledger, type LedgerClose, openLedger } from '../../src/index.ts'
import { badOption, get } from './support.ts'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger(memory())
  await ledger.ingest(generate({ ledgers: 30, seed: 3 }) as Iterable<LedgerClose>)
})
afterAll(() => ledger.close())

const withServer = async (options: Partial<ServeOptions>, use: (server: HttpServer) => Promise<void>): Promise<void> => {
  const server = await serve(ledger, { port: 0, log: () => {}, drainMs: 100, ...options })
  try {
    await use(server)
  } finally {
    await server.close()
  }
}

/** What comes back until the other side closes. */
function answered({ port }: HttpServer, sent: string, prepare: (socket: Socket) => void = () => {}): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(sent, 'latin1'))
    let got = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      got += chunk
    })
    socket.on('error', () => {}).on('end', () => socket.end())
    socket.on('close', () => resolve(got))
    prepare(socket)
  })
}

const statuses = (answer: string): string[] => Array.from(answer.matchAll(/HTTP\/1\.1 (\d+) /g), ([, status]) => status!)

describe('a limit', () => {
  it.each([
    ['a target that is too long', { maxTargetBytes: 300 }, get(`/ledgers?x=${'x'.repeat(300)}`, 'Connection: close\r\n'), ['414']],
    ['a header that is too long', { maxHeaderBytes: 2048 }, get('/ledgers', `X: ${'x'.repeat(3000)}\r\n`), ['431']],
    ['a header that does not arrive', { headersMs: 200 }, 'GET /ledgers HTTP/1.1\r\nHost:', ['408']],
    ['a body that does not arrive', { requestMs: 300 }, get('/health', 'Content-Length: 9\r\n'), ['200', '408']],
    ['more requests than may wait', { maxQueued: 2 }, get('/health').repeat(9), ['200', '200', '200']],
    ['one stream too many', { maxStreams: 0 }, get('/ledgers', 'Accept: text/event-stream\r\nConnection: close\r\n'), ['503']],
  ])('on %s is enforced', async (_, options, sent, expected) => {
    await withServer(options, async (server) => {
      const answer = await answered(server, sent)
      expect(statuses(answer)).toEqual(expected)
      if (expected.at(-1) !== '200') expect(answer.toLowerCase()).toContain('content-type: application/problem+json')
    })
  })

  it('on connections is enforced: one more is closed, and the others carry on', async () => {
    await withServer({ maxConnections: 1 }, async (server) => {
      const first = connect(server.port, '127.0.0.1')
      await new Promise((resolve) => first.once('connect', resolve))
      expect(await answered(server, get('/health'))).toBe('')
      const answer = new Promise<string>((resolve) => first.once('data', (chunk) => resolve(String(chunk))))
      first.write(get('/health'))
      expect(statuses(await answer)).toEqual(['200'])
      first.destroy()
    })
  })

  it.each([
    ['keeps asking', '', get('/health')],
    ['sends a byte now and then', '', 'x'],
    ['asked for a tunnel', 'CONNECT x.test:80 HTTP/1.1\r\nHost: x\r\n\r\n', ''],
    ['asked for a tunnel and sends into it', 'CONNECT x.test:80 HTTP/1.1\r\nHost: x\r\n\r\n', 'x'],
    ['never finishes its next request', 'GET / HT', ''],
  ])(
    'on a client that reads nothing is enforced, even if the client %s: it is cut off, and what waits behind its answer is dropped',
    async (_, last, more) => {
      const server = await serve(ledger, { port: 0, log: () => {}, stallMs: 200, drainMs: 600_000 })
      // As long as it does not read, it sees no end; that the server has dropped it shows in that the server can close.
      const stalled = connect(server.port, '127.0.0.1', () => stalled.write(get('/transactions?limit=200').repeat(20) + last))
      stalled.pause()
      stalled.on('error', () => {})
      const sending = setInterval(() => stalled.write(more), 50)
      await new Promise((resolve) => setTimeout(resolve, 100))
      await server.close()
      clearInterval(sending)
      stalled.destroy()
    },
  )

  it.each([
    ['an event stream', get('/ledgers?cursor=now', 'Accept: text/event-stream\r\n')],
    ['answers that nobody reads', get('/transactions?limit=200').repeat(20)],
  ])('on requests that wait is enforced behind %s, however many come: few of those sent are read', async (_, first) => {
    let made = 0
    const count = (): void => void made++
    subscribe('http.server.request.start', count)
    await withServer({}, async (server) => {
      const client = connect(server.port, '127.0.0.1', () => client.write(first))
      client.pause()
      client.on('error', () => {})
      // Three megabytes.
      for (let i = 0; i < 60; i++) {
        await new Promise((resolve) => setTimeout(resolve, 10))
        client.write(get('/health').repeat(1500))
      }
      client.destroy()
    })
    unsubscribe('http.server.request.start', count)
    expect(made).toBeLessThan(10_000)
  })

  it.each([
    ['is answered if it has arrived by then', 'lth HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', '200'],
    ['is late otherwise', '', '408'],
  ])('on a header that waits unread behind an answer starts once that answer is taken: it %s', async (_, rest, status) => {
    // After a fifth of `stallMs`, nothing more is read.
    await withServer({ headersMs: 1000, stallMs: 3000 }, async (server) => {
      const answer = answered(server, `${get('/transactions?limit=200').repeat(20)}GET /hea`, (socket) => {
        socket.pause()
        setTimeout(() => socket.write(rest), 1500)
        setTimeout(() => socket.resume(), 1550)
      })
      expect(statuses(await answer)).toEqual([...Array(20).fill('200'), status])
    })
  })

  it('on who may connect is the loopback address by default', async () => {
    await withServer({}, async ({ url }) => expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/))
  })

  it('that makes no sense is rejected', async () => {
    for (const options of [{ maxStreams: -1 }, { headersMs: Number.NaN }, { keepAliveMs: 1 }, { maxQueued: 1.5 }])
      await expect(serve(ledger, { port: 0, ...options })).rejects.toThrow(badOption(Object.keys(options)[0]!))
  })
})

describe('what the parser rejects behind good requests', () => {
  it.each([
    ['nonsense', 'nonsense\r\n\r\n', '400'],
    ['a method that nobody knows', 'BREW /ledgers HTTP/1.1\r\nHost: x\r\n\r\n', '405'],
    ['a tunnel', 'CONNECT x.test:80 HTTP/1.1\r\nHost: x\r\n\r\n', '405'],
    ['an expectation', get('/ledgers', 'Expect: miracles\r\nConnection: close\r\n'), '417'],
    ['a header without end', `GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}`, '431'],
  ])('is answered after them: %s', async (_, last, status) => {
    await withServer({}, async (server) => {
      const good = get('/transactions?limit=200') + get('/ledgers?limit=1') + get('/ledgers/x')
      expect(statuses(await answered(server, good + last))).toEqual(['200', '200', '400', status])
    })
  })
})

it('docs/limits.md has a row for every limit', () => {
  const path = new URL('../../docs/limits.md', import.meta.url)
  const text = readFileSync(path, 'utf8')
  const rows = Object.entries(limits).map(([name, { default: value, least, most, what }]) => {
    const [from, to] = [least.toLocaleString('en-US'), most.toLocaleString('en-US')]
    return `| \`${name}\` | ${value.toLocaleString('en-US')} | ${from} to ${to} | ${what} |`
  })
  const table = ['| limit | default | may be | what it bounds, and what happens beyond it |', '|---|---|---|---|', ...rows, ''].join('\n')
  const wanted = text.replace(/\| limit [\s\S]*?\|\n(?=\n|$)/, () => table)
  if (process.env['UPDATE_DOCS']) writeFileSync(path, wanted)
  expect(text).toBe(wanted)
  expect(text).toContain(table)
})
