/**
 * Finds the fastest way to fetch a page with better-sqlite3: `npm run variants`. `sqlite.ts` uses the winner.
 * Every variant returns the same bytes for the records of a page (whole or in parts); the variants run in turns.
 */
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import type { Ask } from '../contender.ts'
import { type DataSet, load } from '../dataset.ts'
import { listSql, openDatabase, Sqlite } from './sqlite.ts'

type Page = (values: readonly unknown[]) => readonly Uint8Array[]

const bytes = (text: string): readonly Uint8Array[] => [Buffer.from(text)]
const COMMA = Buffer.from(',')
const parted = (blobs: readonly Buffer[]): readonly Uint8Array[] => blobs.flatMap((blob, i) => (i === 0 ? [blob] : [COMMA, blob]))

/** By name: how the statement is derived from the list's own, and what is done with its result. */
const variants: Record<string, (db: Database, sql: string) => Page> = {
  'rows: all(), texts joined': (db, sql) => {
    const statement = db.prepare(sql)
    return (values) =>
      bytes(
        statement
          .all(...values)
          .map(({ json }) => json)
          .join(),
      )
  },
  'rows: raw().all(), texts joined': (db, sql) => {
    const statement = db.prepare(sql).raw()
    return (values) => bytes(statement.all(...values).join())
  },
  'rows: pluck().all(), texts joined': (db, sql) => {
    const statement = db.prepare(sql).pluck()
    return (values) => bytes(statement.all(...values).join())
  },
  'rows: pluck().iterate(), texts joined': (db, sql) => {
    const statement = db.prepare(sql).pluck()
    return (values) => bytes([...statement.iterate(...values)].join())
  },
  'rows: pluck().all(), blobs as parts': (db, sql) => {
    const statement = db.prepare(`select cast(json as blob) from (${sql})`).pluck()
    return (values) => parted(statement.all(...values))
  },
  'one row: group_concat, text': (db, sql) => {
    const statement = db.prepare(`select group_concat(json) from (${sql})`).pluck()
    return (values) => bytes(statement.get(...values))
  },
  'one row: group_concat, blob': (db, sql) => {
    const statement = db.prepare(`select cast(group_concat(json) as blob) from (${sql})`).pluck()
    return (values) => [statement.get(...values)]
  },
  'one row: json_group_array, blob': (db, sql) => {
    const statement = db.prepare(`select cast(json_group_array(json(json)) as blob) from (${sql})`).pluck()
    return (values) => [(statement.get(...values) as Buffer).subarray(1, -1)]
  },
}

const settings: Record<string, (db: Database) => void> = {
  'all mapped, 512 MB cache': () => {},
  'not mapped, 512 MB cache': (db) => db.pragma('mmap_size = 0'),
  'all mapped, default cache': (db) => db.pragma('cache_size = -16000'),
}

function asks(data: DataSet, what: Ask['what'], limit: number, accounts: readonly string[], count: number): Ask[] {
  return Array.from({ length: count }, (_, i) => {
    const ledger = data.firstLedger + Math.floor(((i * 0.618033988749895) % 1) * data.counts.ledgers)
    const account = what.endsWith('OfAccount') ? { account: accounts[i % accounts.length]! } : {}
    return { what, ...account, cursor: String(BigInt(ledger) << 32n), order: i % 2 ? 'desc' : 'asc', limit }
  })
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!

const quick = process.argv.includes('--quick')
const data = await load(join(import.meta.dirname, '..', 'data'), quick, console.error)
const accounts: string[] = openDatabase(data.sqlite, { readonly: true })
  .prepare(
    'select address from accounts where id in (select account from operation_accounts group by account order by count(*) desc limit 50)',
  )
  .pluck()
  .all()
for (const [setting, set] of Object.entries(settings)) {
  const db = openDatabase(data.sqlite, { readonly: true })
  set(db)
  for (const what of ['transactions', 'operationsOfAccount'] as const)
    for (const limit of [10, 200]) {
      const pages = Object.entries(variants).map(([name, make]) => ({
        name,
        run: [make(db, listSql(what, false)), make(db, listSql(what, true))],
        times: [] as number[],
      }))
      const sets = asks(data, what, limit, accounts, limit === 10 ? 400 : 60).map(
        ({ order, cursor, account, limit }) => [order === 'desc' ? 1 : 0, [...(account ? [account] : []), BigInt(cursor!), limit]] as const,
      )
      const first = sets.map(([desc, values]) => Buffer.concat(pages[0]!.run[desc]!(values)).toString())
      for (const { name, run } of pages)
        for (const [i, [desc, values]] of sets.entries())
          if (Buffer.concat(run[desc]!(values)).toString() !== first[i]) throw new Error(`${name}: the bytes differ`)
      for (let round = 0; round < 9; round++)
        for (const { run, times } of pages) {
          const start = performance.now()
          for (const [desc, values] of sets) run[desc]!(values)
          times.push(((performance.now() - start) * 1000) / sets.length)
        }
      console.log(`\n${what}, ${limit} records, ${setting} (µs per page)`)
      for (const { name, times } of pages) console.log(`  ${name.padEnd(42)} ${median(times).toFixed(1).padStart(8)}`)
    }
  db.close()
}
void Sqlite
