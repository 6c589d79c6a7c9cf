/** Answers that wait on sockets while others are written: the memory of a body is used again, but not before it was sent. */
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { createCore, type HttpServer, serve } from '../../adapters/http/index.ts'
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

/** Asks for a page many times on one connection, reads nothing for a while, and gives the bodies that came in the end. */
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

test('an answer to a reader that goes away half-way harms no other', async () => {
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
