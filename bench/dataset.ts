/**
 * The data set: one seeded network, loaded into each contender and kept on disk until what produces it changes.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type GeneratedClose, type GenerateOptions, generate } from '../adapters/generate/index.ts'
import { memory } from '../adapters/memory/index.ts'
import { openLedger } from '../src/index.ts'
import { busyNetwork } from './busy.ts'
import type { PeerKind } from './flags.ts'
import { LevelRaw } from './peers/classic-level-raw.ts'
import { Folio } from './peers/folio.ts'
import { peers } from './peers/index.ts'
import type { Size } from './peers/sql.ts'

/** 200,000 transactions of about 1.2 KB, 400,000 operations, 800,000 effects, 100,000 trades, 10,000 accounts; or a tenth. */
export const networkOptions = (quick: boolean): GenerateOptions => ({
  seed: 'bench',
  ledgers: quick ? 1_050 : 10_500,
  operationsPerTransaction: 2,
  failedShare: 0.05,
  tradeShare: 0.24,
  offers: 3_000,
  accounts: 10_000,
})

export interface Counts {
  readonly ledgers: number
  readonly transactions: number
  readonly operations: number
  readonly effects: number
  readonly trades: number
}

export interface DataSet {
  readonly level: string
  /** Where cursors and accounts are drawn from, whatever ours is measured against. */
  readonly sqlite: string
  readonly peer: { readonly kind: PeerKind } & Filled
  /** A LevelDB that holds the bytes of the transactions, one key each. */
  readonly raw: string
  /** A store in which one account has a million effects (a tenth with `quick`). */
  readonly busy: string
  readonly busyEntries: number
  readonly counts: Counts
  readonly firstLedger: number
  readonly lastLedger: number
  /** How much ours may cache, if not what it takes by itself. */
  readonly cacheMib?: number | undefined
  /** How much memory each side may take, if there is a limit. */
  readonly memoryMib?: number | undefined
}

/** A database after its load. */
interface Filled extends Size {
  readonly place: string
}

export const diskBytes = (path: string): number =>
  statSync(path).isDirectory() ? readdirSync(path).reduce((sum, name) => sum + diskBytes(join(path, name)), 0) : statSync(path).size

/** Ledgers per batch of the load. */
const BATCH = 50
const root = join(import.meta.dirname, '..', '..')

/** A digest of source files: what they produced is stale once they change. */
function digest(paths: readonly string[], also: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(also))
  for (const path of paths) {
    const at = join(root, path)
    const files = statSync(at).isDirectory() ? readdirSync(at).map((name) => join(at, name)) : [at]
    for (const file of files.sort()) hash.update(readFileSync(file))
  }
  return hash.digest('hex')
}

const NETWORK = ['adapters/generate']
const FILES = ['adapters/level/open.ts']

/** Enough for both networks that lists are filed. */
const SAMPLE = { network: 300, busy: 20 }

/** What the engine makes of the first ledgers of a network, as a digest: what it stored before is stale once it would store something else. */
async function sample(closes: Iterable<GeneratedClose>, ledgers: number): Promise<string> {
  const store = memory()
  const ledger = await openLedger(store)
  let left = ledgers
  for (const close of closes) {
    await ledger.append(close as never)
    if (--left === 0) break
  }
  const hash = createHash('sha256')
  const { entries } = await store.scan({ gte: Uint8Array.of(), lt: Uint8Array.of(0xff) }, { limit: 1e6 })
  for (const [key, value] of entries) hash.update(key).update(value)
  await ledger.close()
  return hash.digest('hex')
}

/** Runs `make` and saves its result, unless that was done before with the same sources. */
async function kept<T>(folder: string, name: string, stamp: string, make: (path: string) => T | Promise<T>): Promise<T> {
  const path = join(folder, name)
  const note = `${path}.json`
  if (existsSync(note)) {
    const held = JSON.parse(readFileSync(note, 'utf8')) as { stamp: string; made: T }
    if (held.stamp === stamp) return held.made
  }
  rmSync(note, { force: true })
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { recursive: true })
  const made = await make(path)
  writeFileSync(note, JSON.stringify({ stamp, made }))
  return made
}

function* batches(closes: Iterable<GeneratedClose>): Generator<GeneratedClose[]> {
  let batch: GeneratedClose[] = []
  for (const close of closes) {
    batch.push(close)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Loads a network batch by batch and logs how long that took, not counting the time to generate it. */
async function fill(
  name: string,
  closes: Iterable<GeneratedClose>,
  take: (batch: GeneratedClose[]) => unknown,
  log: (line: string) => void,
) {
  let ms = 0
  let ledgers = 0
  for (const batch of batches(closes)) {
    const start = performance.now()
    await take(batch)
    ms += performance.now() - start
    ledgers += batch.length
    if (ledgers % 1000 === 0) log(`${name}: ${ledgers} ledgers loaded`)
  }
  log(
    `${name}: ${ledgers} ledgers in ${(ms / 1000).toFixed(1)} s, ${Math.round((ledgers * 1000) / ms)} per second, ${BATCH} per batch, not individually durable`,
  )
}

function count(closes: Iterable<GeneratedClose>): { counts: Counts; firstLedger: number; lastLedger: number } {
  const counts = { ledgers: 0, transactions: 0, operations: 0, effects: 0, trades: 0 }
  let firstLedger = 0
  let lastLedger = 0
  for (const { ledger, transactions } of closes) {
    firstLedger ||= ledger.sequence
    lastLedger = ledger.sequence
    counts.ledgers++
    for (const transaction of transactions) {
      if (transaction.successful === false) continue
      counts.transactions++
      for (const { effects = [], trades = [] } of transaction.operations) {
        counts.operations++
        counts.effects += effects.length
        counts.trades += trades.length
      }
    }
  }
  return { counts, firstLedger, lastLedger }
}

export async function load(data: string, quick: boolean, log: (line: string) => void, against: PeerKind = 'sqlite'): Promise<DataSet> {
  const folder = join(data, quick ? 'quick' : 'full')
  const options = networkOptions(quick)
  mkdirSync(folder, { recursive: true })
  const filled = (kind: PeerKind): Promise<Filled> =>
    kept(folder, kind, digest([...NETWORK, ...peers[kind].sources], options), async (path) => {
      const place = join(path, 'history')
      const side = await peers[kind].open(place, 'load')
      await fill(peers[kind].name, generate(options), (batch) => side.appendAll(batch), log)
      const size = await side.settle()
      await side.close()
      return { place, ...size }
    })
  const sqlite = await filled('sqlite')
  const peer = { kind: against, ...(against === 'sqlite' ? sqlite : await filled(against)) }
  const about = await kept(folder, 'about', digest(NETWORK, options), () => count(generate(options)))
  const engine = digest(FILES, await sample(generate(options), SAMPLE.network))
  const level = await kept(folder, 'level', digest(NETWORK, [options, engine]), async (path) => {
    const side = await Folio.open(path)
    await fill('LevelDB', generate(options), (batch) => side.ledger.ingest(batch as never, { batch: BATCH, durable: false }), log)
    await side.close()
    return path
  })
  const raw = await kept(folder, 'raw', digest(NETWORK, [options, engine]), async (path) => {
    const [side, source] = [await LevelRaw.open(path), await Folio.open(level)]
    await side.load(source.texts())
    await side.close()
    await source.close()
    return path
  })
  const busyEntries = quick ? 100_000 : 1_000_000
  const busyEngine = digest(FILES, await sample(busyNetwork(busyEntries), SAMPLE.busy))
  const busy = await kept(folder, 'busy', digest(['bench/busy.ts'], [busyEntries, busyEngine]), async (path) => {
    const side = await Folio.open(path)
    const take = (batch: GeneratedClose[]) => side.ledger.ingest(batch as never, { batch: BATCH, durable: false })
    await fill(`an account with ${busyEntries} entries`, busyNetwork(busyEntries), take, log)
    await side.close()
    return path
  })
  return { ...about, level, sqlite: sqlite.place, peer, raw, busy, busyEntries }
}
