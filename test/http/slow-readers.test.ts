/** Answers that wait on sockets while others are written: the memory of a body is reused, but not before it was sent. */
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { createCore, type HttpServer, serve } from '../../adapters/http/index.ts'
import { Pipelines } from '../../adapters/http/node/pipeline.ts'
import { memory } from '../../adapters/memory/index.ts'
import { type Ledger, openLedger } from '../../src/index.ts'

const BASE = 'http://folio.test'
/** Pages of hundreds of kilobytes. */
const targets = ['/transactions?limit=200', '/operations?limit=200&order=desc', '/effects?limit=200', '/transactions?limit=150&order=desc']

let ledger: Ledger
let server: HttpServer
let wanted: Map<string, string>
beforeAll(async () => {
  // A small cache, so that records are written out each time and are not views of what is kept.
  ledger = await openLedger(memory(), { cacheBytes: 0 })
  await ledger.ingest([...generate({ ledgers: 30, seed: 9, transactionsPerLedger: 20 })])
  server = await serve(ledger, { port: 0, baseUrl: BASE, log: () => {} })
  const core = createCore(ledger, { baseUrl: BASE })
  wanted = new Map()
  for (const target of targets) {
    const { parts } = await core({ method: 'GET', target, header: () => undefined })
    wanted.set(target, Buffer.concat([...parts]).toString())
  }
})
afterAll(async () => {
  await server.close()
  await ledger.close()
})

/** More than the sockets of a connection hold between them. */
const MANY = 24

/** Asks for a page many times on one connection, reads nothing for a while, and returns the bodies that arrive in the end. */
function slowly(target: string, ms: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const request = (more: string): string => `GET ${target} HTTP/1.1\r\nhost: x\r\n${more}\r\n`
    const socket = connect({ port: server.port, host: '127.0.0.1' }, () => {
      socket.write(request('').repeat(MANY - 1) + request('connection: close\r\n'))
      socket.pause()
      setTimeout(() => socket.resume(), ms)
    })
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString()
      resolve(text.split(/HTTP\/1\.1 200 OK\r\n[^{]*?\r\n\r\n(?=\{)/).slice(1))
    })
  })
}

const expectAll = (bodies: readonly string[], target: string): void => {
  expect(bodies.length).toBe(MANY)
  for (const body of bodies) expect(body === wanted.get(target)).toBe(true)
}

test('answers that are read late stay what they were while hundreds of others are written', async () => {
  const readers = targets.map((target, n) => ({ target, bodies: slowly(target, 300 + 50 * n) }))
  await pause(100)
  for (let count = 0; count < 200; count++) {
    const target = targets[count % targets.length]!
    const response = await fetch(`${server.url}${target}`)
    expect((await response.text()) === wanted.get(target)).toBe(true)
  }
  for (const { target, bodies } of readers) expectAll(await bodies, target)
})

test('an answer to a reader that goes away halfway harms no other', async () => {
  const late = slowly(targets[3]!, 500)
  for (let round = 0; round < 20; round++) {
    const socket = connect({ port: server.port, host: '127.0.0.1' }, () =>
      socket.write(`GET ${targets[0]} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(MANY)),
    )
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('data', resolve))
    socket.destroy()
    await pause(1)
    const response = await fetch(`${server.url}${targets[1]}`)
    expect((await response.text()) === wanted.get(targets[1]!)).toBe(true)
  }
  expectAll(await late, targets[3]!)
})

test('a connection whose answer has long waited for the reader is not read, and its timeout is the stall limit; then both are what they were', async () => {
  const pipelines = new Pipelines(32, { stallMs: 20_000, headersMs: 50_000 })
  const asked: string[] = []
  const after: unknown[] = []
  let served: Socket | undefined
  const state = (): unknown => [served!.timeout, served!.isPaused()]
  const host = createServer((request, response) => {
    served = request.socket
    asked.push(request.url!)
    const body = request.url === '/big' ? Buffer.alloc(20_000_000) : Buffer.from('x')
    pipelines.take(request, response, () => ({ status: 200, headers: ['content-length', String(body.length)], parts: [body] }))
    response.once('close', () => process.nextTick(() => after.push([request.url, state()])))
  })
  Object.assign(host, { timeout: 90_000, keepAliveTimeout: 3_000 })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`
  const socket = connect((host.address() as AddressInfo).port, '127.0.0.1', () => socket.write(get('/big') + get('/small')))
  await new Promise((resolve) => socket.once('readable', resolve))
  // An answer that is taken soon changes nothing.
  expect(state()).toEqual([90_000, false])
  await expect.poll(state).toEqual([20_000, true])
  socket.write(get('/late', 'connection: close\r\n'))
  await pause(50)
  expect(asked).toEqual(['/big', '/small'])
  socket.resume()
  await new Promise((resolve) => socket.once('close', resolve))
  expect(asked).toEqual(['/big', '/small', '/late'])
  // If nothing waited behind an answer, the timeout is that of an idle connection.
  expect(after).toEqual([
    ['/big', [90_000, false]],
    ['/small', [4_000, false]],
    ['/late', [90_000, false]],
  ])
  host.close()
})
