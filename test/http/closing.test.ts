/** A server that closes: idle connections go at once, what is in flight is waited for, and nothing outlives `drainMs`. */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpServer, type ServeOptions, serve } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { type Ledger, type LedgerClose, openLedger } from '../../src/index.ts'
import { closes, get, hashOf } from './support.ts'

/** Longer than a test may take: what is seen to end did not end because of it. */
const NEVER = 600_000
/** Several polls of a server that closes. */
const LOOKS = 250
/** A page of 20 MB, more than the two sockets of a connection hold between them. */
const PAGE = '/transactions?limit=200'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger(memory())
  const [first] = closes
  const transaction = (i: number) => ({
    hash: String(i).padStart(64, '0'),
    account: 'GA',
    account_sequence: i,
    max_fee: 1,
    fee_paid: 1,
    envelope_xdr: 'A'.repeat(100_000),
    result_xdr: 'AAAA',
    result_meta_xdr: 'AAAA',
    operations: [],
  })
  await ledger.append({
    ledger: { ...first!.ledger, hash: hashOf('1') },
    transactions: Array.from({ length: 200 }, (_, i) => transaction(i)),
  } as LedgerClose)
})
afterAll(() => ledger.close())

const start = (options: Partial<ServeOptions> = {}): Promise<HttpServer> =>
  serve(ledger, { port: 0, drainMs: NEVER, log: () => {}, ...options })

/** A connection that has sent something, and reads nothing until it is told to. */
class Client {
  readonly socket: Socket
  private readonly chunks: Buffer[] = []
  private readonly closed: Promise<unknown>

  constructor({ port }: HttpServer, sent = '') {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => this.socket.write(sent))
    this.socket.pause()
    this.socket.on('error', () => {}).on('end', () => this.socket.end())
    this.closed = new Promise((resolve) => this.socket.once('close', resolve))
    this.socket.on('data', (chunk) => this.chunks.push(chunk))
    this.socket.pause()
  }

  /** Everything up to the end of the connection: of each answer its status, whether it is the last one, and whether its body is whole. */
  async answers(): Promise<string[]> {
    this.socket.resume()
    await this.closed
    let text = Buffer.concat(this.chunks).toString('latin1')
    const answers: string[] = []
    while (text !== '') {
      const body = text.indexOf('\r\n\r\n') + 4
      const head = text.slice(0, body).toLowerCase()
      const length = Number(/content-length: (\d+)/.exec(head)![1])
      const whole = text.length >= body + length ? 'whole' : 'cut'
      answers.push([head.slice(9, 12), /connection: (\S+)/.exec(head)![1], whole].join(' '))
      text = text.slice(body + length)
    }
    return answers
  }
}

/** What was sent has been read, and the answer is on its way. */
async function underWay(server: HttpServer): Promise<void> {
  await pause(100)
  await (await fetch(`${server.url}/health`, { headers: { connection: 'close' } })).text()
}

describe('what is in flight when a server closes', () => {
  it('is delivered to its end: an answer, the answers to requests behind it, and the problem that ends a connection', async () => {
    const server = await start()
    const clients = ['', get('/ledgers'), get('/ledgers') + get('/health'), 'nonsense\r\n\r\n'].map(
      (more) => new Client(server, get(PAGE) + more),
    )
    await underWay(server)
    const closing = server.close()
    await pause(LOOKS)
    const answers = await Promise.all(clients.map((client) => client.answers()))
    expect(answers).toEqual([
      ['200 keep-alive whole'],
      ['200 keep-alive whole', '200 close whole'],
      ['200 keep-alive whole', '200 keep-alive whole', '200 close whole'],
      ['200 keep-alive whole', '400 close whole'],
    ])
    await closing
  })

  it('includes a request that is still arriving; its answer then ends the connection', async () => {
    const server = await start()
    const [fresh, used] = [new Client(server, 'GET /hea'), new Client(server, `${get('/health')}`)]
    await underWay(server)
    used.socket.write('GET /ledgers HTTP/1.1\r\n')
    await underWay(server)
    const closing = server.close()
    await pause(LOOKS)
    fresh.socket.write('lth HTTP/1.1\r\nHost: x\r\n\r\n')
    used.socket.write('Host: x\r\n\r\n')
    expect(await fresh.answers()).toEqual(['200 close whole'])
    expect(await used.answers()).toEqual(['200 keep-alive whole', '200 close whole'])
    await closing
  })

  it('includes a request that has arrived but was not read yet, and the answer before it that its client has not taken', async () => {
    const server = await start()
    // As much as the two sockets of the connection hold between them: to the server it is sent.
    const [fresh, used] = [new Client(server), new Client(server, get('/transactions?limit=8'))]
    await underWay(server)
    for (const { socket } of [fresh, used]) socket.write(get('/ledgers'))
    const closing = server.close()
    // The process is busy meanwhile: a poll comes due before anything is read.
    for (const end = performance.now() + LOOKS; performance.now() < end; );
    expect(await fresh.answers()).toEqual(['200 close whole'])
    expect(await used.answers()).toEqual(['200 keep-alive whole', '200 close whole'])
    await closing
  })

  it('is cut after drainMs if nobody reads or nothing more comes, even if a tunnel was asked for', async () => {
    const server = await start({ drainMs: 100 })
    const tunnel = 'CONNECT x.test:80 HTTP/1.1\r\nHost: x\r\n\r\n'
    const clients = [get(PAGE), get(PAGE) + get(PAGE) + tunnel, 'GET / HT'].map((sent) => new Client(server, sent))
    await underWay(server)
    await Promise.all([server.close(), server.close()])
    await expect(fetch(`${server.url}/health`)).rejects.toThrow()
    expect(ledger.closed).toBe(false)
    for (const { socket } of clients) socket.destroy()
  })
})

it('an idle connection goes when a server closes, whether anything was asked over it or not', async () => {
  const server = await start()
  const [fresh, used] = [new Client(server), new Client(server, get('/health'))]
  await underWay(server)
  await server.close()
  expect([await fresh.answers(), await used.answers()]).toEqual([[], ['200 keep-alive whole']])
})

it('a connection is idle once the rest of a body has come, and waited for if more comes after that', async () => {
  const server = await start()
  const post = 'POST /ledgers HTTP/1.1\r\nHost: x\r\n'
  const bodies = [
    ['Content-Length: 5\r\n\r\n', 'he', 'llo'],
    ['Transfer-Encoding: chunked\r\n\r\n', '5\r\nhello\r\n', '0\r\n\r\n'],
    ['Content-Length: 5\r\n\r\n', 'he', 'llo', 'GET /health HTTP/1.1\r\n'],
  ]
  const clients = bodies.map(([fields]) => new Client(server, post + fields))
  for (let i = 1; i < 4; i++) {
    await underWay(server)
    for (const [at, { socket }] of clients.entries()) if (bodies[at]![i]) socket.write(bodies[at]![i]!)
  }
  await underWay(server)
  const closing = server.close()
  const [length, chunked, more] = clients as [Client, Client, Client]
  // Those that it does not take for idle stay until their wait for a request is over.
  const late = pause(20 * LOOKS).then(() => 'late')
  for (const idle of [length, chunked]) expect(await Promise.race([idle.answers(), late])).toEqual(['405 keep-alive whole'])
  more.socket.write('Host: x\r\n\r\n')
  expect(await more.answers()).toEqual(['405 keep-alive whole', '200 close whole'])
  await closing
})
