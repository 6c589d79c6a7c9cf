/**
 * Streams: how fast history is caught up with, how long a commit takes to reach its subscribers, what a subscriber costs.
 * With `--client` this is the other end: a process of bare sockets that reads event streams and says when they came.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { generate } from '../adapters/generate/index.ts'
import { serve } from '../adapters/http/index.ts'
import { memory } from '../adapters/memory/index.ts'
import { catalogue, type Ledger, type LedgerClose, openLedger, type Stream } from '../src/index.ts'

const quick = process.argv.includes('--quick')
const now = (): number => performance.timeOrigin + performance.now()
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

interface Row {
  readonly work: string
  readonly subscribers?: number
  readonly value: number
  readonly unit: string
  readonly more?: Readonly<Record<string, number>>
}

const rows: Row[] = []
function row(one: Row): void {
  rows.push(one)
  const { work, subscribers, value, unit, more = {} } = one
  const rest = Object.entries(more).map(([name, number]) => `${name} ${number.toLocaleString('en-US', { maximumFractionDigits: 2 })}`)
  const shown = value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 2 : 0 })
  console.log(`${work.padEnd(44)} ${String(subscribers ?? '').padStart(6)} ${shown.padStart(12)} ${unit.padEnd(10)} ${rest.join(', ')}`)
}

const quantile = (sorted: readonly number[], at: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? 0
const spread = (times: number[]): { p50: number; p99: number } => {
  times.sort((a, b) => a - b)
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}

/** What the process holds after a collection. */
function held(): number {
  for (let n = 0; n < 3; n++) (globalThis as { gc?: () => void }).gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const ACCOUNTS = 1000
const nameOf = (n: number): string => `GSUBSCRIBER${n}`

/** Ledgers of one transaction with one payment; what is paid, and to whom, follows from the sequence. */
function* payments(from: number): Generator<LedgerClose> {
  const hex = (n: number, kind: number): string => (kind * 2 ** 40 + n).toString(16).padStart(64, '0')
  for (let n = from; ; n++) {
    const operations = [
      {
        type: 'payment',
        type_i: 1,
        sender: nameOf(n % ACCOUNTS),
        receiver: nameOf((n + 1) % ACCOUNTS),
        asset: { code: 'XLM' },
        amount: 1,
        amount_f: 1e-7,
      },
    ]
    yield {
      ledger: {
        ...{ sequence: n, hash: hex(n, 1), prev_hash: n === 1 ? '' : hex(n - 1, 1), closed_at: '2020-01-01T00:00:00Z' },
        ...{ total_coins: '1.0000000', fee_pool: '1.0000000', base_fee_in_stroops: 100, base_reserve_in_stroops: 5, max_tx_set_size: 9 },
      },
      transactions: [
        {
          ...{ hash: hex(n, 2), account: nameOf(n % ACCOUNTS), account_sequence: n, max_fee: 100, fee_paid: 100 },
          ...{ envelope_xdr: 'AAAA', result_xdr: 'AAAA', result_meta_xdr: 'AAAA', operations },
        },
      ],
    } as unknown as LedgerClose
  }
}

/** A ledger in which every account has been seen, and what goes on from there. */
async function lively(): Promise<{ ledger: Ledger; closes: Generator<LedgerClose> }> {
  const ledger = await openLedger(memory())
  const closes = payments(1)
  await ledger.ingest(
    Array.from({ length: ACCOUNTS }, () => closes.next().value as LedgerClose),
    { batch: 100 },
  )
  return { ledger, closes }
}

async function catchUpInProcess(ledger: Ledger, records: number): Promise<void> {
  const { ledgers: _, ...queries } = { ledgers: catalogue.ledgers, operations: catalogue.operations }
  for (let warm = 0; warm < 2; warm++)
    for (const via of ['stream', 'streamPages', 'tail'] as const) {
      const started = now()
      let seen = 0
      const stream = ledger[via](queries.operations, {}) as Stream<any>
      for await (const part of stream) {
        seen += via === 'stream' ? 1 : via === 'streamPages' ? part.length : part.records.length
        if (seen >= records) break
      }
      if (warm > 0) row({ work: `catch up in process, ${via}`, value: (seen / (now() - started)) * 1000, unit: 'records/s' })
    }
}

async function latencyInProcess(count: number, different: boolean, commits: number): Promise<void> {
  const { ledger, closes } = await lively()
  const before = held()
  const latencies: number[] = []
  let committed = 0
  let delivered = 0
  const follow = async (stream: Stream<unknown>): Promise<void> => {
    for await (const _ of stream) {
      latencies.push(now() - committed)
      delivered++
    }
  }
  const followers = Array.from({ length: count }, (_, n) =>
    follow(
      different
        ? ledger.stream(catalogue.operationsOfAccount, { account: nameOf(n % ACCOUNTS) }, { cursor: 'now' })
        : ledger.stream(catalogue.operations, {}, { cursor: 'now' }),
    ),
  )
  await wait(20)
  const each = (held() - before) / count
  const cpu = process.cpuUsage()
  for (let n = 0; n < commits; n++) {
    const close = closes.next().value as LedgerClose
    const appended = ledger.append(close)
    committed = now()
    await appended
    await wait(0)
  }
  const { user, system } = process.cpuUsage(cpu)
  const { p50, p99 } = spread(latencies)
  const what = different ? 'of different accounts' : 'of one query'
  row({
    ...{ work: `append to delivery in process, ${what}`, subscribers: count, value: p50, unit: 'ms p50' },
    more: { 'ms p99': p99, 'CPU µs a wake-up': (user + system) / (commits * count), events: delivered, 'bytes a subscriber': each },
  })
  await ledger.close()
  await Promise.all(followers)
}

type FromClient = { readonly what: 'ready' | 'seen'; readonly events: number; readonly at: readonly number[]; readonly bytes: number }

/** The other process: opens streams, and tells when what it waits for has come. */
class Client {
  private readonly child: ChildProcess = fork(process.argv[1]!, ['--client'], { serialization: 'advanced' })
  ask(what: object): Promise<FromClient> {
    return new Promise((resolve, reject) => {
      this.child.once('exit', (code) => reject(new Error(`the client ended with ${code}`)))
      this.child.once('message', (answer) => {
        this.child.removeAllListeners('exit')
        resolve(answer as FromClient)
      })
      this.child.send(what)
    })
  }
  end(): void {
    this.child.kill()
  }
}

function beClient(): void {
  const sockets: Socket[] = []
  let at: number[] = []
  let events = 0
  let bytes = 0
  let wanted = Number.POSITIVE_INFINITY
  const answer = (what: FromClient['what']): void => void process.send!({ what, events, at, bytes } satisfies FromClient)
  const RECORD = Buffer.from('\ndata: {')
  const take = (chunk: Buffer): void => {
    const time = now()
    bytes += chunk.length
    // A record begins after the blank line before it; a chunk begins with one or within one.
    let found = chunk.subarray(0, 7).equals(RECORD.subarray(1)) ? 1 : 0
    for (let i = chunk.indexOf(RECORD); i >= 0; i = chunk.indexOf(RECORD, i + 8)) found++
    events += found
    for (let n = 0; n < found; n++) at.push(time)
    if (events >= wanted) {
      wanted = Number.POSITIVE_INFINITY
      answer('seen')
    }
  }
  const open = (port: number, path: string): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n`))
      sockets.push(socket)
      socket.once('data', () => resolve())
      socket.on('data', take).on('error', (error) => {
        throw error
      })
    })
  process.on('message', async ({ port, paths, want }: { port?: number; paths?: readonly string[]; want?: number }) => {
    at = []
    events = 0
    bytes = 0
    wanted = want ?? Number.POSITIVE_INFINITY
    if (port === undefined || paths === undefined) return
    for (let from = 0; from < paths.length; from += 100) await Promise.all(paths.slice(from, from + 100).map((path) => open(port, path)))
    if (want === undefined) answer('ready')
  })
}

async function catchUpOverSockets(ledger: Ledger, records: number): Promise<void> {
  const server = await serve(ledger, { port: 0 })
  for (let warm = 0; warm < 2; warm++) {
    const client = new Client()
    await client.ask({ port: server.port, paths: [] })
    const started = now()
    const cpu = process.cpuUsage()
    const { events, bytes } = await client.ask({ port: server.port, paths: ['/operations'], want: Math.floor(records * 0.98) })
    const ms = now() - started
    const { user, system } = process.cpuUsage(cpu)
    if (warm > 0)
      row({
        ...{ work: 'catch up over SSE', subscribers: 1, value: (events / ms) * 1000, unit: 'records/s' },
        more: { 'MB/s': bytes / ms / 1000, 'CPU µs a record': (user + system) / events },
      })
    client.end()
  }
  await server.close()
}

async function latencyOverSockets(count: number, different: boolean, commits: number): Promise<void> {
  const { ledger, closes } = await lively()
  const server = await serve(ledger, { port: 0, maxConnections: 20_000, maxStreams: 20_000 })
  const client = new Client()
  await client.ask({ port: server.port, paths: [] })
  const before = held()
  const rss = process.memoryUsage().rss
  const paths = Array.from({ length: count }, (_, n) =>
    different ? `/accounts/${nameOf(n % ACCOUNTS)}/operations?cursor=now` : '/operations?cursor=now',
  )
  await client.ask({ port: server.port, paths })
  await wait(50)
  const each = (held() - before) / count
  const resident = (process.memoryUsage().rss - rss) / count
  const latencies: number[] = []
  let [cpu, events] = [0, 0]
  for (let n = -2; n < commits; n++) {
    // A commit reaches all subscribers of one query, or those of two accounts.
    const seen = client.ask({ want: different ? Math.floor((2 * count) / ACCOUNTS) : count })
    await wait(5)
    const close = closes.next().value as LedgerClose
    const began = process.cpuUsage()
    const appended = ledger.append(close)
    const started = now()
    await appended
    const answer = await seen
    const { user, system } = process.cpuUsage(began)
    if (n < 0) continue
    cpu += user + system
    events += answer.events
    for (const at of answer.at) latencies.push(at - started)
  }
  const { p50, p99 } = spread(latencies)
  row({
    ...{ work: `append to delivery over SSE, ${different ? 'of different accounts' : 'of one query'}`, subscribers: count },
    ...{ value: p50, unit: 'ms p50' },
    more: {
      ...{ 'ms p99': p99, 'CPU µs an event': cpu / events, 'CPU µs a wake-up': cpu / (commits * count) },
      ...{ 'heap bytes a connection': each, 'resident bytes a connection': resident },
    },
  })
  client.end()
  await server.close()
  await ledger.close()
}

async function main(): Promise<void> {
  const started = now()
  const history = await openLedger(memory())
  await history.ingest(generate({ ledgers: quick ? 1_000 : 5_000, seed: 'streams', operationsPerTransaction: 2 }), {
    batch: 50,
    durable: false,
  })
  const newest = await history.page(catalogue.operations, {}, { order: 'desc', limit: 1 })
  let records = 0
  for await (const { records: page } of history.tail(catalogue.operations, {})) {
    records += page.length
    if (page.at(-1)!.block.token(page.at(-1)!.at) === newest.records[0]!.paging_token) break
  }
  await catchUpInProcess(history, records)
  await catchUpOverSockets(history, records)
  await history.close()
  const commits = quick ? 10 : 50
  for (const count of [1, 100, 1_000, 10_000]) await latencyInProcess(count, false, commits)
  await latencyInProcess(ACCOUNTS, true, commits)
  for (const count of quick ? [1, 100, 1_000] : [1, 100, 1_000, 9_000]) await latencyOverSockets(count, false, commits)
  await latencyOverSockets(ACCOUNTS, true, commits)
  const results = join(import.meta.dirname, '..', 'results')
  mkdirSync(results, { recursive: true })
  const machine = { cpu: cpus()[0]?.model ?? '', cores: cpus().length, node: process.version }
  const seconds = (now() - started) / 1000
  writeFileSync(join(results, 'streams.json'), `${JSON.stringify({ mode: quick ? 'quick' : 'full', machine, seconds, rows }, null, 2)}\n`)
  console.log(`${seconds.toFixed(0)} s, results/streams.json`)
  process.exit()
}

if (process.argv.includes('--client')) beClient()
else await main()
