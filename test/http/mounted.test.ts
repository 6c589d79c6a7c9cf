/** The listener inside an application that has put something around its responses. */
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { createHandler, listener } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { openLedger } from '../../src/index.ts'

const ledger = await openLedger(memory())
await ledger.ingest(generate({ ledgers: 5, seed: 3 }))

let server: Server | undefined
const logged: unknown[] = []
afterEach(async () => {
  server?.closeAllConnections()
  server?.close()
  logged.length = 0
})

const log = (error: unknown, about: object): void => void logged.push([error, about])

async function served(around: (response: ServerResponse, request: IncomingMessage) => void): Promise<string> {
  const listen = listener(ledger, { log })
  const wrapped: RequestListener = (request, response) => {
    around(response, request)
    listen(request, response)
  }
  server = createServer(wrapped)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const opened = (url: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get(url, { headers: { accept: 'text/event-stream' } }, resolve).on('error', reject)
  })

/** What packages do that look at the headers right before they are sent: a list of headers is a list of pairs to them. */
function listening(response: ServerResponse): void {
  const { writeHead } = response
  response.writeHead = function (this: ServerResponse, status: number, ...rest: unknown[]) {
    const headers = rest.at(-1)
    if (Array.isArray(headers)) for (const [name, value] of headers) this.setHeader(name, value)
    this.setHeader('x-seen', String(this.getHeader('content-type')))
    return writeHead.call(this, status)
  } as ServerResponse['writeHead']
}

test('what wraps `writeHead` finds the headers where it looks for them', async () => {
  const bare = await fetch(`${await served(() => {})}/transactions?limit=3`)
  const body = await bare.text()
  server!.close()
  const wrapped = await fetch(`${await served(listening)}/transactions?limit=3`)
  expect([wrapped.status, wrapped.headers.get('x-seen')]).toEqual([200, 'application/hal+json; charset=utf-8'])
  expect(wrapped.headers.get('etag')).not.toBeNull()
  expect((await wrapped.text()).length).toBe(body.length)
  const stream = await opened(`http://127.0.0.1:${(server!.address() as AddressInfo).port}/transactions`)
  expect(stream.headers['x-seen']).toBe('text/event-stream; charset=utf-8')
  const [first] = await once(stream, 'data')
  expect(String(first)).toMatch(/^retry: /)
  stream.destroy()
})

test.each([
  ['Cookie', 'Cookie, accept'],
  [['Origin', 'Cookie'], 'Origin,Cookie, accept'],
  ['Accept, Origin', 'Accept, Origin'],
  ['*', '*'],
])('what else answers depend on (%s) is kept', async (given, expected) => {
  const url = await served((response) => void response.setHeader('Vary', given))
  const page = await fetch(`${url}/transactions`)
  expect([page.status, page.headers.get('vary')]).toEqual([200, expected])
  const stream = await opened(`${url}/transactions`)
  expect(stream.headers.vary).toBe(expected)
  stream.destroy()
})

test('a stream begins with its head, even if that is not written to the socket when it is flushed', async () => {
  // As in Bun.
  const url = await served((response) => void Object.assign(response, { flushHeaders() {} }))
  const stream = await opened(`${url}/ledgers`)
  let text = ''
  for await (const chunk of stream) {
    text += chunk
    if ((text.match(/^id: /gm) ?? []).length > 5) break
  }
  expect(text).toMatch(/^retry: 1000\nevent: open\n/)
})

test('a response around which something throws costs no other, and is logged', async () => {
  const broken = new Error('of the middleware')
  const url = await served((response, { url }) => {
    if (url?.endsWith('?limit=1'))
      response.writeHead = () => {
        throw broken
      }
  })
  const asked = [1, 2, 3].map((limit) => fetch(`${url}/transactions?limit=${limit}`).then(({ status }) => status))
  const found = await Promise.allSettled(asked)
  expect(found.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  await expect(opened(`${url}/transactions?limit=1`)).rejects.toThrow()
  const about = { id: expect.any(String), method: 'GET', target: '/transactions?limit=1' }
  expect(logged).toEqual([
    [broken, about],
    [broken, about],
  ])
})

test('a server closes once its streams are ended, and those asked for later end at once', async () => {
  const listen = listener(ledger)
  server = createServer(listen)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/transactions`
  const ended = async () => once((await opened(url)).resume(), 'end')
  const early = [await opened(url), await opened(url)].map((stream) => once(stream.resume(), 'end'))
  listen.endStreams()
  await Promise.all([...early, ended()])
  const page = await fetch(url, { headers: { connection: 'close' } })
  expect([page.status, (await page.text()).length > 0]).toEqual([200, true])
  await new Promise((resolve) => void server!.close(resolve))

  const handle = createHandler(ledger)
  const body = (await handle(new Request('http://ledger.test/transactions', { headers: { accept: 'text/event-stream' } }))).text()
  handle.endStreams()
  expect(await body).toMatch(/^retry: /)
})
