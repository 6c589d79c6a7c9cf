/** Answers that wait on sockets while others are written: the memory of a body is used again, but not before it was sent. */
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { createCore, type HttpServer, serve } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { type Ledger, openLedger } from '../../src/index.ts'

const BASE = 'http://folio.test'
/** Pages of hundreds of kilobytes: more than a socket takes at once. */
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

/** Asks for a page, reads a little of it now and then, and gives the body. */
function slowly(target: string, waits: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ port: server.port, host: '127.0.0.1' }, () =>
      socket.write(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`),
    )
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      if (chunks.length > waits) return
      socket.pause()
      setTimeout(() => socket.resume(), 40)
    })
    socket.on('error', reject)
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString()
      resolve(text.slice(text.indexOf('\r\n\r\n') + 4))
    })
  })
}

test('answers that are read slowly stay what they were while hundreds of others are written', async () => {
  const readers = Array.from({ length: 24 }, (_, n) => ({
    target: targets[n % targets.length]!,
    body: slowly(targets[n % targets.length]!, n % 12),
  }))
  let done = false
  const others = (async () => {
    let count = 0
    for (; !done || count < 200; count++) {
      const target = targets[count % targets.length]!
      const response = await fetch(`${server.url}${target}`)
      expect((await response.text()) === wanted.get(target)).toBe(true)
    }
    return count
  })()
  for (const { target, body } of readers) expect((await body) === wanted.get(target)).toBe(true)
  done = true
  expect(await others).toBeGreaterThanOrEqual(200)
})

test('an answer to a reader that goes away half-way harms no other', async () => {
  for (let round = 0; round < 20; round++) {
    const socket = connect({ port: server.port, host: '127.0.0.1' }, () => socket.write(`GET ${targets[0]} HTTP/1.1\r\nhost: x\r\n\r\n`))
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('data', resolve))
    const other = slowly(targets[2]!, 3)
    socket.destroy()
    await pause(1)
    const response = await fetch(`${server.url}${targets[1]}`)
    expect((await response.text()) === wanted.get(targets[1]!)).toBe(true)
    expect((await other) === wanted.get(targets[2]!)).toBe(true)
  }
})
