/**
 * The data set: one seeded network, loaded into each contender and kept on disk until its description changes.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type GeneratedClose, type GenerateOptions, generate } from '../adapters/generate/index.ts'
import { busyNetwork } from './busy.ts'
import { LevelRaw } from './peers/classic-level-raw.ts'
import { Folio } from './peers/folio.ts'
import { Sqlite } from './peers/sqlite.ts'

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

export interface DataSet {
  readonly level: string
  readonly sqlite: string
  /** A LevelDB of the bytes of the transactions, a key each. */
  readonly raw: string
  /** A ledger in which one account has a million effects. */
  readonly busy: string
  readonly busyEntries: number
  readonly counts: {
    readonly ledgers: number
    readonly transactions: number
    readonly operations: number
    readonly effects: number
    readonly trades: number
  }
  readonly firstLedger: number
  readonly lastLedger: number
}

export const diskBytes = (path: string): number =>
  statSync(path).isDirectory() ? readdirSync(path).reduce((sum, name) => sum + diskBytes(join(path, name)), 0) : statSync(path).size

/** How many ledgers a batch of the load holds. */
const BATCH = 50

export async function load(folder: string, quick: boolean, log: (line: string) => void): Promise<DataSet> {
  const name = quick ? 'quick' : 'full'
  const at = join(folder, name)
  const options = networkOptions(quick)
  // Bump when a schema or the stored format changes.
  const wanted = JSON.stringify({ version: 1, options })
  const manifest = join(at, 'manifest.json')
  if (existsSync(manifest)) {
    const held = JSON.parse(readFileSync(manifest, 'utf8'))
    if (held.wanted === wanted) return held.data
  }
  rmSync(at, { recursive: true, force: true })
  mkdirSync(at, { recursive: true })
  const data = { level: join(at, 'level'), sqlite: join(at, 'sqlite.db'), raw: join(at, 'raw'), busy: join(at, 'busy') }
  const busyEntries = quick ? 100_000 : 1_000_000
  const counts = { ledgers: 0, transactions: 0, operations: 0, effects: 0, trades: 0 }
  const folio = await Folio.open(data.level)
  const sqlite = new Sqlite(data.sqlite, { synchronous: 'OFF' })
  const spent = { folio: 0, sqlite: 0 }
  let batch: GeneratedClose[] = []
  let firstLedger = 0
  let lastLedger = 0
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return
    let start = performance.now()
    sqlite.appendAll(batch)
    spent.sqlite += performance.now() - start
    start = performance.now()
    await folio.ledger.ingest(batch as never, { batch: BATCH, durable: false })
    spent.folio += performance.now() - start
    batch = []
  }
  for (const close of generate(options)) {
    batch.push(close)
    firstLedger ||= close.ledger.sequence
    lastLedger = close.ledger.sequence
    counts.ledgers++
    for (const transaction of close.transactions) {
      if (transaction.successful === false) continue
      counts.transactions++
      for (const { effects = [], trades = [] } of transaction.operations) {
        counts.operations++
        counts.effects += effects.length
        counts.trades += trades.length
      }
    }
    if (batch.length === BATCH) await flush()
    if (counts.ledgers % 1000 === 0) log(`loaded ${counts.ledgers} of ${options.ledgers} ledgers`)
  }
  await flush()
  sqlite.close()
  log(
    `load in bulk: ${JSON.stringify(counts)}; seconds ${(spent.folio / 1000).toFixed(1)} ours, ${(spent.sqlite / 1000).toFixed(1)} SQLite`,
  )
  const raw = await LevelRaw.open(data.raw)
  await raw.load(folio.texts())
  await raw.close()
  await folio.close()
  const busy = await Folio.open(data.busy)
  const start = performance.now()
  await busy.ledger.ingest(busyNetwork(busyEntries) as never, { batch: BATCH, durable: false })
  await busy.close()
  log(`load of an account with ${busyEntries} entries: ${((performance.now() - start) / 1000).toFixed(1)} s`)
  const set: DataSet = { ...data, busyEntries, counts, firstLedger, lastLedger }
  writeFileSync(manifest, JSON.stringify({ wanted, data: set }, undefined, 2))
  return set
}
