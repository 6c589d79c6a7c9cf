/**
 * A process that holds one contender and executes the calls it is sent. Each side has its own process, so neither pays for the other's
 * garbage, compiled code or memory.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector/promises'
import { type GeneratedClose, generate } from '../adapters/generate/index.ts'
import { confined } from './confined.ts'
import type { Ask, Contender, ServerUse } from './contender.ts'
import { networkOptions } from './dataset.ts'
import type { PeerKind } from './flags.ts'
import type { Run } from './measure.ts'
import { serveBare } from './peers/bare-http.ts'
import { LevelRaw } from './peers/classic-level-raw.ts'
import { serveFastify } from './peers/fastify.ts'
import { Folio, serveFolio } from './peers/folio.ts'
import { peers } from './peers/index.ts'
import type { Mode } from './peers/sql.ts'
import { answerCalls } from './process.ts'
import type { Answer } from './works.ts'

export type Kind = 'folio' | PeerKind | 'level-raw' | 'bare'

export interface Settings {
  readonly mode?: Mode
  /** How much ours may cache, if not what it takes by itself. */
  readonly cacheMib?: number | undefined
  /** How much memory the process may take, with the page cache of its files. */
  readonly memoryMib?: number | undefined
}

const [kind, place, settings] = process.argv.slice(2) as [Kind, string, string]
const { memoryMib, mode = memoryMib === undefined ? 'read' : 'confined', cacheMib }: Settings = JSON.parse(settings)
const path = memoryMib === undefined ? place : confined(place, memoryMib)

const contender: (Contender & { scan?(how: string): AsyncIterable<number> }) | LevelRaw | undefined =
  kind === 'bare'
    ? undefined
    : kind === 'folio'
      ? await Folio.open(path, { cacheBytes: cacheMib === undefined ? undefined : cacheMib * 2 ** 20 })
      : kind === 'level-raw'
        ? await LevelRaw.open(path)
        : await peers[kind].open(path, mode)

let prepared: unknown[] = []
let answer: Answer = 'body'
let closes: Generator<GeneratedClose> | undefined
let pending: GeneratedClose[] = []
let stop: (() => Promise<unknown>) | undefined
let session: Session | undefined

/** The network of the data set, continued without end; or one that is sparse. */
const network = (quick: boolean, sparse = false): Generator<GeneratedClose> =>
  generate({ ...networkOptions(quick), ledgers: 1_000_000, ...(sparse && { transactionsPerLedger: 1 }) })

/** The process's own memory. Linux counts it apart from mapped files, which the page cache holds anyway. */
function ownMemory(): number | undefined {
  try {
    const found = /RssAnon:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))
    return found ? Number(found[1]) * 1024 : undefined
  } catch {
    return undefined
  }
}

const NO_SERVER: ServerUse = { cpuMs: 0, systemMs: 0, bytes: 0 }
const server = (): ServerUse => (contender instanceof LevelRaw ? undefined : contender?.server?.()) ?? NO_SERVER

/** Measures the wall time of some work, and the CPU time of this process and of the contender's server, if it has one. */
async function measured(work: () => number | Promise<number>): Promise<Run> {
  const there = server()
  const before = process.resourceUsage()
  const start = performance.now()
  const counted = work()
  const count = typeof counted === 'number' ? counted : await counted
  const ms = performance.now() - start
  const after = process.resourceUsage()
  const later = server()
  const userMs = (after.userCPUTime - before.userCPUTime) / 1000
  const systemMs = (after.systemCPUTime - before.systemCPUTime) / 1000
  return {
    ...{ count, ms, cpuMs: userMs + systemMs + later.cpuMs - there.cpuMs, systemMs: systemMs + later.systemMs - there.systemMs },
    faults: after.minorPageFault - before.minorPageFault,
  }
}

const answering = (): Contender => {
  if (!contender || contender instanceof LevelRaw) throw new Error('this contender answers no queries')
  return contender
}

async function bodies(from: number, to: number): Promise<number> {
  const asked = answering()
  for (let i = from; i < to; i++) {
    const parts = asked.body(prepared[i])
    if (parts instanceof Promise) await parts
  }
  return to - from
}

async function records(from: number, to: number): Promise<number> {
  const asked = answering()
  for (let i = from; i < to; i++) {
    const page = asked.records(prepared[i])
    if (page instanceof Promise) await page
  }
  return to - from
}

async function shown(at: number): Promise<string> {
  if (answer === 'body') return Buffer.concat(await answering().body(prepared[at])).toString()
  return JSON.stringify((await answering().records(prepared[at])).map((record: any) => record.paging_token ?? record.id))
}

const functions = {
  prepare(asks: readonly Ask[], kindOfAnswer: Answer): void {
    prepared = asks.map((ask) => answering().prepare(ask))
    answer = kindOfAnswer
  },
  /** A digest of each answer. */
  async digests(from: number, to: number): Promise<string[]> {
    const out: string[] = []
    for (let at = from; at < to; at++)
      out.push(
        createHash('md5')
          .update(await shown(at))
          .digest('base64'),
      )
    return out
  },
  shown,
  run: (from: number, to: number): Promise<Run> => measured(() => (answer === 'body' ? bodies(from, to) : records(from, to))),
  async scan(how: string): Promise<Run> {
    return measured(async () => {
      let count = 0
      for await (const more of (contender as { scan(how: string): AsyncIterable<number> }).scan(how)) count += more
      return count
    })
  },
  /** Skips the first ledgers of the network, which the store already holds. */
  skip(quick: boolean, count: number, sparse?: boolean): void {
    closes = network(quick, sparse)
    for (let i = 0; i < count; i++) closes.next()
  },
  /** Generates the next ledgers of the network, ready to be appended. */
  makeReady(quick: boolean, count: number): void {
    closes ??= network(quick)
    pending = Array.from({ length: count }, () => closes!.next().value as GeneratedClose)
  },
  /** @param how as {@link Contender.ingest}, each ledger alone or not, or one awaited after another */
  async appendReady(how: 'append' | 'ingest' | 'ingest alone'): Promise<Run> {
    let longestMs = 0
    const run = await measured(async () => {
      const asked = answering()
      if (how !== 'append' && asked.ingest) await asked.ingest(pending, how === 'ingest alone')
      else
        for (const close of pending) {
          const start = performance.now()
          await asked.append(close)
          longestMs = Math.max(longestMs, performance.now() - start)
        }
      return pending.length
    })
    return { ...run, longestMs }
  },
  async listen(): Promise<number> {
    if (contender instanceof LevelRaw) throw new Error('this contender has no server')
    const served =
      contender instanceof Folio ? await serveFolio(contender) : contender ? await serveFastify(contender) : await serveBare(Number(path))
    stop = served.stop
    return served.port
  },
  /** What a page costs the store: the mean over the answers to prepared requests. */
  async costs(from: number, to: number): Promise<Record<string, number>> {
    const sums: Record<string, number> = {}
    if (contender instanceof Folio)
      for (let at = from; at < to; at++)
        for (const [name, value] of Object.entries(await contender.cost(prepared[at]))) sums[name] = (sums[name] ?? 0) + value / (to - from)
    return sums
  },
  /** Starts sampling the stack every 50 µs. */
  async startProfile(): Promise<void> {
    session = new Session()
    session.connect()
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: 50 })
    await session.post('Profiler.start')
  },
  async stopProfile(): Promise<Profiler.Profile> {
    const { profile } = await session!.post('Profiler.stop')
    session!.disconnect()
    session = undefined
    return profile
  },
  /** `own`: memory that belongs to the process alone, or to the contender's server; `rss` also includes the files that the process maps. */
  usage(): { cpuMs: number; systemMs: number; rss: number; own: number; heap: number; external: number } {
    const there = server()
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed, external } = process.memoryUsage()
    return {
      ...{ cpuMs: (user + system) / 1000 + there.cpuMs, systemMs: system / 1000 + there.systemMs },
      ...{ rss: rss + there.bytes, own: (ownMemory() ?? rss) + there.bytes, heap: heapUsed, external },
    }
  },
}
export type WorkerFunctions = typeof functions

answerCalls(functions, async () => {
  await stop?.()
  await contender?.close()
})
