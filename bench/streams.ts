/**
 * Streams: how fast they catch up with history, how long a commit takes to reach its subscribers, what that costs, and how much memory a subscriber holds.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from '../adapters/generate/index.ts'
import { serve } from '../adapters/http/index.ts'
import { level } from '../adapters/level/index.ts'
import { memory } from '../adapters/memory/index.ts'
import { catalogue, type Ledger, type LedgerClose, openLedger, type Stream } from '../src/index.ts'
import { beClients, Clients, type Seen } from './stream-clients.ts'

const quick = process.argv.includes('--quick')
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1]! : ''
export const now = (): number => performance.timeOrigin + performance.now()
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
  console.log(`${work.padEnd(52)} ${String(subscribers ?? '').padStart(6)} ${shown.padStart(12)} ${unit.padEnd(10)} ${rest.join(', ')}`)
}

const quantile = (sorted: readonly number[], at: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? 0
const sort = (numbers: number[]): number[] => numbers.sort((a, b) => a - b)
const median = (numbers: readonly number[]): number => quantile(sort([...numbers]), 0.5)

/** The memory in use once collections find nothing more to free: sockets of earlier runs are released late. */
async function held(): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let same = 0; same < 3; ) {
    ;(globalThis as { gc?: () => void }).gc?.()
    const { heapUsed, external } = process.memoryUsage()
    same = heapUsed + external < least * 0.999 ? 0 : same + 1
    least = Math.min(least, heapUsed + external)
    await wait(50)
  }
  return least
}

const ACCOUNTS = 1000
const nameOf = (n: number): string => `GSUBSCRIBER${n}`

/** Ledgers of one transaction with `count` payments; sender and receiver follow from the sequence. */
function* payments(count: number): Generator<LedgerClose> {
  const hex = (n: number, kind: number): string => (kind * 2 ** 40 + n).toString(16).padStart(64, '0')
  for (let n = 1; ; n++) {
    const operations = Array.from({ length: count }, () => ({
      ...{ type: 'payment', type_i: 1, sender: nameOf(n % ACCOUNTS), receiver: nameOf((n + 1) % ACCOUNTS) },
      ...{ asset: { code: 'XLM' }, amount: 1, amount_f: 1e-7 },
    }))
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

type StoreName = 'memory' | 'LevelDB'

/** A ledger in which every account has been seen, and the closes that follow. */
async function lively(store: StoreName, events: number): Promise<{ ledger: Ledger; next: () => LedgerClose; end: () => Promise<void> }> {
  const path = mkdtempSync(join(tmpdir(), 'folio-bench-'))
  const ledger = await openLedger(store === 'memory' ? memory() : level(path))
  const closes = payments(events)
  const next = (): LedgerClose => closes.next().value as LedgerClose
  await ledger.ingest(Array.from({ length: ACCOUNTS }, next), { batch: 100 })
  const end = async (): Promise<void> => {
    await ledger.close()
    rmSync(path, { recursive: true, force: true })
  }
  return { ledger, next, end }
}

async function catchUpInProcess(ledger: Ledger, records: number): Promise<void> {
  for (let warm = 0; warm < 2; warm++)
    for (const via of ['stream', 'streamPages', 'tail'] as const) {
      const started = now()
      let seen = 0
      const stream = ledger[via](catalogue.operations, {}) as Stream<any>
      for await (const part of stream) {
        seen += via === 'stream' ? 1 : via === 'streamPages' ? part.length : part.records.length
        if (seen >= records) break
      }
      if (warm > 0) row({ work: `catch up in process, ${via}`, value: (seen / (now() - started)) * 1000, unit: 'records/s' })
    }
}

async function catchUpOverSockets(ledger: Ledger, records: number): Promise<void> {
  const server = await serve(ledger, { port: 0 })
  for (let warm = 0; warm < 2; warm++) {
    const clients = new Clients()
    const cpu = process.cpuUsage()
    const { events, bytes, began } = await clients.open(server.port, ['/operations'], Math.floor(records * 0.98))
    const ms = now() - began
    const { user, system } = process.cpuUsage(cpu)
    if (warm > 0)
      row({
        ...{ work: 'catch up over SSE', subscribers: 1, value: (events / ms) * 1000, unit: 'records/s' },
        more: { 'MB/s': bytes / ms / 1000, 'CPU µs a record': (user + system) / events },
      })
    clients.end()
  }
  await server.close()
}

/** CPU time of this process for each of several commits, after some that do not count. */
class Costs {
  readonly user: number[] = []
  readonly system: number[] = []
  readonly wall: number[] = []

  async of(work: () => Promise<void>, counts: boolean): Promise<void> {
    const [cpu, started] = [process.cpuUsage(), now()]
    await work()
    const { user, system } = process.cpuUsage(cpu)
    if (!counts) return
    this.user.push(user)
    this.system.push(system)
    this.wall.push(now() - started)
  }

  /** The medians, divided by the number of parts of a commit. */
  per(parts: number): Record<string, number> {
    const sum = this.user.map((user, n) => user + this.system[n]!)
    const mean = sum.reduce((a, b) => a + b, 0) / sum.length
    return {
      'CPU µs each': median(sum) / parts,
      user: median(this.user) / parts,
      system: median(this.system) / parts,
      mean: mean / parts,
    }
  }
}

const WARM = 5

interface Case {
  readonly count: number
  /** Events a ledger. */
  readonly events: number
  readonly different?: boolean
  readonly store?: StoreName
  readonly via?: 'stream' | 'tail'
}

const nameOfCase = ({ events, different, store = 'memory' }: Case): string =>
  `${different ? 'different accounts' : 'one query'}, ${events} event${events > 1 ? 's' : ''} a ledger, ${store}`

async function latencyInProcess(one: Case, commits: number): Promise<void> {
  const { count, events, different = false, store = 'memory', via = 'stream' } = one
  const { ledger, next, end } = await lively(store, events)
  const before = await held()
  const latencies: number[] = []
  let [committed, left, done] = [0, 0, (): void => {}]
  const follow = async (stream: Stream<any>): Promise<void> => {
    for await (const part of stream) {
      const got = via === 'tail' ? part.records.length : 1
      latencies.push(now() - committed)
      left -= got
      if (left <= 0) done()
    }
  }
  const followers = Array.from({ length: count }, (_, n) =>
    follow(
      different
        ? ledger[via](catalogue.operationsOfAccount, { account: nameOf(n % ACCOUNTS) }, { cursor: 'now' })
        : ledger[via](catalogue.operations, {}, { cursor: 'now' }),
    ),
  )
  await wait(20)
  const each = ((await held()) - before) / count
  // A commit reaches all subscribers of one query, or those of two accounts.
  const reached = different ? Math.floor((2 * count) / ACCOUNTS) : count
  const costs = new Costs()
  for (let n = -WARM; n < commits; n++) {
    if (n === 0) latencies.length = 0
    left = reached * events
    const seen = new Promise<void>((resolve) => (done = resolve))
    const close = next()
    await costs.of(async () => {
      committed = now()
      await ledger.append(close)
      await seen
    }, n >= 0)
    await wait(1)
  }
  sort(latencies)
  row({
    ...{ work: `in process (${via}), ${nameOfCase(one)}`, subscribers: count, value: quantile(latencies, 0.5), unit: 'ms p50' },
    more: { 'ms p99': quantile(latencies, 0.99), ...costs.per(different ? count : reached * events), 'bytes a subscriber': each },
  })
  await end()
  await Promise.all(followers)
}

async function latencyOverSockets(one: Case, commits: number): Promise<void> {
  const { count, events, different = false, store = 'memory' } = one
  const { ledger, next, end } = await lively(store, events)
  const server = await serve(ledger, { port: 0, host: '0.0.0.0', maxConnections: 20_000, maxStreams: 20_000, drainMs: 500 })
  const clients = new Clients()
  const before = await held()
  const rss = process.memoryUsage().rss
  const paths = Array.from({ length: count }, (_, n) =>
    different ? `/accounts/${nameOf(n % ACCOUNTS)}/operations?cursor=now` : '/operations?cursor=now',
  )
  await clients.open(server.port, paths)
  await wait(50)
  const each = ((await held()) - before) / count
  const resident = (process.memoryUsage().rss - rss) / count
  const latencies: number[] = []
  const costs = new Costs()
  let bytes = 0
  for (let n = -WARM; n < commits; n++) {
    const share = different ? (2 * events) / ACCOUNTS : events
    const { seen } = await clients.expect((sockets) => Math.floor(sockets * share))
    const close = next()
    const started = now()
    let came: Seen | undefined
    await costs.of(async () => {
      await ledger.append(close)
      came = await seen
    }, n >= 0)
    if (n < 0) continue
    bytes = came!.bytes
    for (const at of came!.at) latencies.push(at - started)
  }
  sort(latencies)
  row({
    ...{ work: `event streams, ${nameOfCase(one)}`, subscribers: count, value: quantile(latencies, 0.5), unit: 'ms p50' },
    more: {
      ...{ 'ms p99': quantile(latencies, 0.99), ...costs.per(different ? count : count * events) },
      ...{ 'heap bytes a connection': each, 'resident bytes a connection': resident, 'bytes a commit': bytes },
    },
  })
  clients.end()
  await server.close()
  await end()
}

/** The lower bound: as many bare sockets, and the same bytes, already in a buffer, written in a loop. */
async function bareSockets(count: number, events: number, commits: number): Promise<void> {
  const sockets: import('node:net').Socket[] = []
  const event = `data: {${'x'.repeat(733)}}\nid: 4294971392\n\n`
  const body = event.repeat(events)
  const chunk = Buffer.from(`${body.length.toString(16)}\r\n${body}\r\n`)
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.push(socket)
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'))
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  const clients = new Clients()
  await clients.open((server.address() as import('node:net').AddressInfo).port, Array<string>(count).fill('/'))
  const costs = new Costs()
  for (let n = -WARM; n < commits; n++) {
    const { seen } = await clients.expect((sockets) => sockets * events)
    await costs.of(async () => {
      for (const socket of sockets) socket.write(chunk)
      await seen
    }, n >= 0)
  }
  row({
    ...{
      work: `bare sockets, ${events} event${events > 1 ? 's' : ''} a write`,
      subscribers: count,
      value: median(costs.wall),
      unit: 'ms all',
    },
    more: costs.per(count * events),
  })
  clients.end()
  for (const socket of sockets) socket.destroy()
  server.close()
}

async function catchUp(): Promise<void> {
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
}

async function main(): Promise<void> {
  const started = now()
  const commits = quick ? 10 : 30
  const run = async (name: string, work: () => Promise<void>): Promise<void> => {
    if (name.includes(only)) await work()
  }
  const most = quick && only === '' ? 1_000 : 10_000
  const counts = [1, 100, 1_000, 10_000].filter((count) => count <= most)
  const cases: Case[] = [
    ...counts.map((count) => ({ count, events: 1 })),
    { count: most, events: 20 },
    { count: ACCOUNTS, events: 1, different: true },
    ...(most > ACCOUNTS ? [{ count: most, events: 1, different: true }] : []),
  ]
  await run('catch up', catchUp)
  for (const one of cases) await run(`process ${one.count}`, () => latencyInProcess(one, commits))
  await run(`process ${most} tail`, () => latencyInProcess({ count: most, events: 1, via: 'tail' }, commits))
  for (const one of cases) await run(`sse ${one.count}`, () => latencyOverSockets(one, commits))
  for (const one of cases.filter(({ count, different }) => count === most || different))
    await run(`level sse ${one.count}`, () => latencyOverSockets({ ...one, store: 'LevelDB' }, commits))
  for (const events of [1, 20]) await run('bare', () => bareSockets(most, events, commits))
  const results = join(import.meta.dirname, '..', 'results')
  mkdirSync(results, { recursive: true })
  const machine = { cpu: cpus()[0]?.model ?? '', cores: cpus().length, node: process.version }
  const seconds = (now() - started) / 1000
  writeFileSync(join(results, 'streams.json'), `${JSON.stringify({ mode: quick ? 'quick' : 'full', machine, seconds, rows }, null, 2)}\n`)
  console.log(`${seconds.toFixed(0)} s, results/streams.json`)
  process.exit()
}

if (process.argv.includes('--client')) beClients()
else await main()
