/** Streams over real sockets that break: connections are cut at any byte and the service is restarted, but nothing is lost or repeated. */
import { get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { EventSource } from 'eventsource'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lines, type Running, start } from '../cli/support.ts'
import { directory } from '../support/directory.ts'

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A proxy to a server that comes and goes, which cuts connections after given numbers of bytes of the answer, if one comes. */
class Breaker {
  target = 0
  /** After how many bytes to cut each next answer; the others are not cut. */
  readonly cuts: number[] = []
  broken = 0
  readonly server: Server

  constructor() {
    this.server = createServer((client) => this.pass(client))
  }

  listen(): Promise<string> {
    return new Promise((resolve) => {
      this.server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(this.server.address() as AddressInfo).port}`))
    })
  }

  private pass(client: Socket): void {
    const upstream = connect(this.target, '127.0.0.1')
    let left: number | undefined
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end)
    client.on('data', (chunk) => upstream.write(chunk))
    upstream.on('data', (chunk) => {
      left ??= this.cuts.shift() ?? Number.POSITIVE_INFINITY
      if (chunk.length < left) {
        left -= chunk.length
        client.write(chunk)
        return
      }
      this.broken++
      client.end(chunk.subarray(0, left))
      upstream.destroy()
    })
  }
}

/** The smallest possible client: an event counts once its blank line has come, and the last id is sent with each new request. */
class RawClient {
  readonly seen: string[] = []
  readonly faults: string[] = []
  private lastId: string | undefined
  private response: IncomingMessage | undefined
  private over = false

  constructor(url: string) {
    void this.follow(url)
  }

  private async follow(url: string): Promise<void> {
    while (!this.over) {
      try {
        await this.once(url)
      } catch {
        // The connection was cut, or there is no server: try again.
      }
      await wait(20)
    }
  }

  private async once(url: string): Promise<void> {
    const headers = { accept: 'text/event-stream', ...(this.lastId && { 'last-event-id': this.lastId }) }
    const response = await new Promise<IncomingMessage>((resolve, reject) => void get(url, { headers }, resolve).on('error', reject))
    this.response = response
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        this.take(text.slice(0, end))
        text = text.slice(end + 2)
      }
    }
  }

  private take(event: string): void {
    const fields = event.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)])
    const of = (name: string): string | undefined => fields.find(([field]) => field === name)?.[1]
    if (of('event') === 'error') this.faults.push(event)
    if (of('event') === undefined) {
      const { paging_token } = JSON.parse(of('data')!)
      if (paging_token !== of('id')) this.faults.push(event)
      this.seen.push(paging_token)
    }
    this.lastId = of('id')
  }

  /** It knows where to go on. */
  get greeted(): boolean {
    return this.lastId !== undefined
  }

  close(): void {
    this.over = true
    this.response?.destroy()
  }
}

/** Ledgers that are fed, and those of them that are fed when everybody listens. */
const [ALL, LAST] = [32, 3]

test('clients of a service that is fed, disconnected and restarted see every record once, in order', async () => {
  const closes = lines(ALL, 'sockets')
  const data = join(directory(), 'data')
  const breaker = new Breaker()
  const url = await breaker.listen()
  let input = new PassThrough()
  let running: Running | undefined
  let fed = 0
  const serve = async (): Promise<void> => {
    input = new PassThrough()
    const argv = ['serve', '--data', data, '--port', '0', '--ingest', '-', '--json', '--base-url', 'http://ledger.test']
    // Longer than a test may take: open streams do not delay the stop.
    running = start([...argv, '--limit', 'drainMs=600000'], { stdin: input })
    breaker.target = Number((await running.until('err', / at http:\/\/[^\s:]+:(\d+)/))[1])
  }
  const feed = async (count: number): Promise<void> => {
    for (const line of closes.slice(fed, fed + count)) input.write(`${line}\n`)
    fed += count
    await running!.until('out', new RegExp(`{"ledger":${2_100_000 + fed - 1}}\n`))
  }
  const all = async (path: string): Promise<string[]> => {
    const tokens: string[] = []
    for (let cursor = ''; ; ) {
      const page: any = await (await fetch(`http://127.0.0.1:${breaker.target}${path}?limit=200&cursor=${cursor}`)).json()
      const records: { paging_token: string }[] = page._embedded.records
      tokens.push(...records.map(({ paging_token }) => paging_token))
      if (records.length < 200) return tokens
      cursor = tokens.at(-1)!
    }
  }

  await serve()
  await feed(5)
  // Of whom operations are listed: not those of failed transactions, and not whoever sent one for others.
  const accountsOf = (some: readonly string[]): string[] =>
    some.flatMap((line) => {
      const transactions: { account: string; successful?: boolean; operations: { source_account?: string }[] }[] =
        JSON.parse(line).transactions
      const done = transactions.filter(({ successful }) => successful !== false)
      return done.flatMap(({ account, operations }) => operations.map(({ source_account }) => source_account ?? account))
    })
  const account = accountsOf(closes.slice(0, 5)).find((one) => accountsOf(closes.slice(ALL - LAST, ALL)).includes(one))!
  expect(account).toBeDefined()
  const paths = ['/effects', '/operations', '/ledgers', '/transactions', `/accounts/${account}/operations`]
  const before = Object.fromEntries(await Promise.all(paths.map(async (path) => [path, (await all(path)).at(-1)!])))
  // Within the head of the answer for every client at first; then within that, the hello or a record, or between records.
  breaker.cuts.push(...fc.sample(fc.integer({ min: 1, max: 100 }), 12))
  breaker.cuts.push(...fc.sample(fc.oneof(fc.integer({ min: 1, max: 700 }), fc.integer({ min: 1, max: 40_000 })), 40))
  const raw = paths.flatMap((path) => ['', '?cursor=now'].map((ask) => ({ path, ask, client: new RawClient(`${url}${path}${ask}`) })))
  const sources = ['/effects', '/transactions'].map((path) => {
    const source = new EventSource(`${url}${path}`)
    const seen: string[] = []
    source.onmessage = ({ lastEventId }) => void seen.push(lastEventId)
    return { path, source, seen }
  })
  for (let round = 0; round < 3; round++) {
    await feed(5)
    await wait(100)
    running!.stop()
    expect((await running!.done).code).toBe(0)
    await serve()
    await feed(3)
  }
  await expect.poll(() => raw.every(({ client }) => client.greeted), { timeout: 60_000 }).toBe(true)
  await feed(LAST)
  const behind = async (): Promise<string[]> => {
    const wrong: string[] = []
    for (const { path, ask, client } of raw) {
      const tokens = await all(path)
      // A client of `now` that was cut before its first hello begins at a later now, so what it saw must be the end of the listing.
      const wanted = ask === '' ? tokens : tokens.slice(tokens.indexOf(client.seen[0] ?? ''))
      if (client.seen.join() !== wanted.join() || (ask && !(client.seen.length > 0 && client.seen[0]! > before[path])))
        wrong.push(`${path}${ask}: ${client.seen.length} of ${wanted.length}`)
      wrong.push(...client.faults)
    }
    for (const { path, seen } of sources) {
      const tokens = await all(path)
      if (seen.join() !== tokens.join()) wrong.push(`EventSource ${path}: ${seen.length} of ${tokens.length}`)
    }
    return wrong
  }
  try {
    await expect.poll(behind, { timeout: 60_000, interval: 200 }).toEqual([])
    expect(breaker.broken).toBeGreaterThan(10)
  } finally {
    for (const { client } of raw) client.close()
    for (const { source } of sources) source.close()
    running!.stop()
    await running!.done
    breaker.server.close()
  }
})
