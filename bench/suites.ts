/**
 * Everything measured besides pages in process and ingest: HTTP, full scans, disk, depth, memory.
 */
import type Database from 'better-sqlite3'
import { BUSY_ACCOUNT } from './busy.ts'
import { targetOf } from './contender.ts'
import { type DataSet, diskBytes } from './dataset.ts'
import { Client, type Load, requestOf } from './load.ts'
import { decided, inTurns, type Row, type Run, spread, timed } from './measure.ts'
import { Asks, type Pace, paced, warmUp } from './pages.ts'
import { bareTarget } from './peers/bare-http.ts'
import { peers } from './peers/index.ts'
import { bareWorker, ourWorker, theirWorker, type Worker, worker } from './results.ts'
import { httpFloors, type Limit, type Work, type Workload, works } from './works.ts'

/** Requests in flight at once: enough to keep a server busy, few enough to show its own time. */
const CONNECTIONS = 8
const MB = 2 ** 20

interface Side {
  readonly worker: Worker
  readonly client: Client
  readonly idle: number
  most: number
}

async function serving(side: Worker): Promise<Side> {
  const port = await side.call('listen')
  const { own } = await side.call('usage')
  return { worker: side, client: await Client.open(port, CONNECTIONS), idle: own, most: own }
}

/** The same pages over HTTP: one server process per side, with the load from this process. Also the servers' memory meanwhile. */
export async function httpRows(
  db: Database,
  data: DataSet,
  pace: Pace,
  wanted: (name: string) => boolean,
  done: (row: Row) => void,
): Promise<void> {
  const chosen = works.filter((work) => work.http && wanted(`http ${work.name}`))
  if (chosen.length === 0) return
  const [left, right] = [ourWorker(data), theirWorker(data)]
  // Before connections are opened, since a server closes those that stay idle for a while.
  await warmUp([left, right], db, data)
  const [ours, theirs, bare] = [await serving(left), await serving(right), await serving(bareWorker(data))]
  for (const work of chosen)
    for (const workload of ['uniform', 'recent'] as const)
      for (const limit of work.limits) done(await httpRow({ ours, theirs, bare }, db, data, pace, work, workload, limit))
  done(memoryOf('an HTTP server under load', `Fastify + ${peers[data.peer.kind].name}`, [ours.idle, ours.most], [theirs.idle, theirs.most]))
  for (const { client, worker: server } of [ours, theirs, bare]) {
    client.close()
    await server.end()
  }
}

/** Memory of a process: the least and the most seen. Files that it maps do not count. */
function memoryOf(work: string, peer: string, ours: readonly [number, number], theirs: readonly [number, number]): Row {
  const spreadOf = ([least, most]: readonly [number, number]) => ({ median: most / MB, least: least / MB, most: most / MB })
  const ratio = ours[1] / theirs[1]
  return {
    ...{ suite: 'memory', work: `memory of ${work}`, group: 'memory', unit: 'MB', peer, sense: 'below' },
    ...{ ours: spreadOf(ours), theirs: spreadOf(theirs), ratio: { median: ratio, least: ratio, most: ratio } },
  }
}

/** Memory after all pages were served in process. */
export async function memoryRow(ours: Worker, theirs: Worker, { peer }: DataSet): Promise<Row> {
  const [left, right] = await Promise.all([ours.call('usage'), theirs.call('usage')])
  const row = memoryOf('the process that served all pages', peers[peer.kind].name, [left.own, left.own], [right.own, right.own])
  return {
    ...row,
    more: {
      'our resident MB': Math.round(left.rss / MB),
      'peer resident MB': Math.round(right.rss / MB),
      'our heap MB': Math.round(left.heap / MB),
      'our buffers MB': Math.round(left.external / MB),
    },
  }
}

interface Sides {
  readonly ours: Side
  readonly theirs: Side
  readonly bare: Side
}

/** Queries all servers in turns, on fresh draws; the bare one sends as many bytes as an answer has in the mean. */
async function httpRow(
  { ours, theirs, bare }: Sides,
  db: Database,
  data: DataSet,
  pace: Pace,
  work: Work,
  workload: Workload,
  limit: Limit,
): Promise<Row> {
  const column = limit === 10 ? 0 : 1
  const asks = new Asks(db, data, work, workload, limit)
  let bytes = 0
  const checked = asks.take(Math.ceil(pace.checks[column]! / 4)).map(targetOf)
  for (const target of checked) {
    const [left, right] = [await ours.client.body(target), await theirs.client.body(target)]
    if (!left.equals(right))
      throw new Error(`the bytes differ over HTTP for ${target}\n${left.toString().slice(0, 400)}\n${right.toString().slice(0, 400)}`)
    bytes += left.length / checked.length
  }
  const draw = (count: number): string[] => asks.take(count).map(targetOf)
  const loads: { ours: Load[]; theirs: Load[] } = { ours: [], theirs: [] }
  const send = async (side: Side, targets: readonly string[], kept?: Load[]): Promise<Run> => {
    const asked = side === bare ? targets.map((target) => bareTarget(target, workload, Math.round(bytes))) : targets
    const requests = asked.map(requestOf)
    const before = await side.worker.call('usage')
    const load = await side.client.run(requests)
    const after = await side.worker.call('usage')
    side.most = Math.max(side.most, after.own)
    kept?.push(load)
    return { count: load.count, ms: load.ms, cpuMs: after.cpuMs - before.cpuMs }
  }
  const paceOf = async (side: Side): Promise<number> =>
    paced(pace.runMs[1], pace.warmMs[1], asks, await send(side, draw(limit === 10 ? 300 : 60)), (list) => send(side, list.map(targetOf)))
  const many = { ours: await paceOf(ours), theirs: await paceOf(theirs), bare: await paceOf(bare) }
  const { name, hasFloors } = peers[data.peer.kind]
  const floor = work.name === 'transaction by hash' || !hasFloors ? undefined : httpFloors[workload][column]!
  const [left, right, least] = await decided(pace.rounds, floor, (rounds) => {
    const most = Math.max(many.ours, many.theirs, many.bare)
    const sets = Array.from({ length: rounds }, () => draw(most))
    return inTurns(
      rounds,
      (round) => send(ours, sets[round]!.slice(0, many.ours), loads.ours),
      (round) => send(theirs, sets[round]!.slice(0, many.theirs), loads.theirs),
      (round) => send(bare, sets[round]!.slice(0, many.bare)),
    )
  })
  const middle = (list: readonly Load[], of: 'p50' | 'p99'): number => Math.round(spread(list.map((load) => load[of])).median)
  const more = {
    ...{ 'our p50 µs': middle(loads.ours, 'p50'), 'our p99 µs': middle(loads.ours, 'p99') },
    ...{ 'peer p50 µs': middle(loads.theirs, 'p50'), 'peer p99 µs': middle(loads.theirs, 'p99') },
    'bytes a body': Math.round(bytes),
  }
  const named = { suite: 'http', work: `HTTP ${work.name}`, group: 'over HTTP', workload, limit, peer: `Fastify + ${name}`, more } as const
  return timed({ ...named, ...(floor !== undefined && { floor }) }, left, right, least)
}

/** All transactions, from the first to the last. */
export async function scanRows(data: DataSet, pace: Pace, done: (row: Row) => void): Promise<void> {
  const ours = ourWorker(data)
  const theirs = worker('level-raw', data.raw)
  const pairs = [
    { work: 'full scan, ledger.records', how: 'records', against: 'iterator', peer: 'raw iterator', floor: 1 },
    { work: 'full scan, ledger.ndjson', how: 'ndjson', against: 'iterator', peer: 'raw iterator', floor: 3 },
    { work: 'full scan, ledger.ndjson vs nextv', how: 'ndjson', against: 'nextv', peer: 'raw nextv(1000)' },
    { work: 'full scan, ledger.pages', how: 'pages', against: 'iterator', peer: 'raw iterator' },
    { work: 'full scan, records vs parsed', how: 'records', against: 'iterator parsed', peer: 'raw iterator + JSON.parse' },
    { work: 'full scan, pages vs nextv parsed', how: 'pages', against: 'nextv parsed', peer: 'raw nextv(1000) + JSON.parse' },
  ]
  for (const { how, against, ...named } of pairs) {
    const counts = await Promise.all([ours.call('scan', how), theirs.call('scan', against)])
    if (counts[0].count !== counts[1].count) throw new Error(`a scan gave ${counts[0].count} records, its peer ${counts[1].count}`)
    const [left, right] = await decided(Math.min(5, pace.rounds), named.floor, (rounds) =>
      inTurns(
        rounds,
        () => ours.call('scan', how),
        () => theirs.call('scan', against),
      ),
    )
    done(timed({ suite: 'scan', group: 'full scans', ...named }, left, right))
  }
  await ours.end()
  await theirs.end()
}

export function diskRow({ level, peer }: DataSet): Row {
  const { name, hasFloors } = peers[peer.kind]
  const [ours, theirs] = [diskBytes(level) / MB, peer.bytes / MB]
  const exact = (value: number) => ({ median: value, least: value, most: value })
  const ratio = ours / theirs
  return {
    ...{ suite: 'disk', work: 'disk after load', group: 'disk', unit: 'MB', peer: name, sense: 'below' },
    ...(hasFloors && { floor: 0.25, ok: ratio <= 0.25 }),
    ...{ ours: exact(ours), theirs: exact(theirs), ratio: exact(ratio), more: { 'peer log MB': Math.round(peer.logBytes / MB) } },
  }
}

/** As many records as may wait to be filed: read in another way, whichever page they are on. */
const NEWEST = 50_000

/** Pages near number 10,000 against pages near number 1, both ours and both of filed records: what depth costs. */
export async function deepRows(data: DataSet, pace: Pace, done: (row: Row) => void): Promise<void> {
  const effectsALedger = 2000
  const lists = [
    { work: 'page 10,000 of /effects', path: data.level, what: 'effects', entries: data.counts.effects, account: undefined },
    { work: 'page 10,000 of a busy account', path: data.busy, what: 'effectsOfAccount', entries: data.busyEntries, account: BUSY_ACCOUNT },
  ] as const
  for (const { work, path, what, entries, account } of lists) {
    const side = ourWorker(data, path)
    for (const limit of [10, 200] as const) {
      const deep = Math.min(10_000, Math.floor((entries - NEWEST) / limit) - 100)
      const near = (page: number, round: number) =>
        Array.from({ length: 100 }, (_, i) => {
          const skip = (page + ((i * 7 + round * 13) % 100)) * limit
          const cursor =
            account === undefined
              ? String((BigInt(data.firstLedger + Math.floor((skip / entries) * data.counts.ledgers)) << 32n) + 4096n)
              : String(
                  (BigInt(1 + Math.floor(skip / effectsALedger)) << 32n) + 4096n + BigInt(1 + Math.floor((skip % effectsALedger) / 100)),
                )
          return { what, ...(account !== undefined && { account }), cursor, order: 'asc' as const, limit }
        })
      const run = (page: number) => async (round: number) => {
        await side.call('prepare', near(page, round), 'body')
        return side.call('run', 0, 100)
      }
      for (let i = 0; i < 3; i++) for (const page of [1, deep]) await run(page)(i)
      const [first, later] = await inTurns(pace.rounds * 3, run(1), run(deep))
      // Here the peer is our own page 1.
      const { ratio, ok: _ok, ...row } = timed({ suite: 'deep', work, group: 'depth', limit, peer: 'page 1', floor: 1.2 }, later, first)
      const turned = { median: 1 / ratio.median, least: 1 / ratio.most, most: 1 / ratio.least }
      done({ ...row, sense: 'below', ratio: turned, ok: turned.median <= 1.2, more: { page: deep } })
    }
    await side.end()
  }
}
