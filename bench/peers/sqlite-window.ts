/** The peer where the oldest ledgers are deleted: its lists are also indexed by record, so that a deletion need not read them whole. */
import { Sqlite, type SqliteOptions } from './sqlite.ts'

/** What is deleted: a table, and its column that grows with history. */
const BY_ID = [
  'transactions',
  'failed_transactions',
  'operations',
  'payments',
  'transaction_accounts',
  'operation_accounts',
  'payment_accounts',
]
const BY_NUMBER = ['trade_accounts', 'trade_offers']
const lists = BY_ID.filter((table) => table.endsWith('_accounts'))

export class SqliteWindow extends Sqlite {
  private readonly statements = new Map<string, ReturnType<Sqlite['db']['prepare']>>()

  constructor(file: string, options: SqliteOptions = {}) {
    super(file, options)
    for (const table of lists) this.db.exec(`create index if not exists ${table}_id on ${table} (id)`)
    for (const table of BY_NUMBER) this.db.exec(`create index if not exists ${table}_n on ${table} (n)`)
  }

  /** Deletes every ledger before `oldest`, in one transaction. */
  prune(oldest: number): void {
    const id = BigInt(oldest) << 32n
    this.db.exec('begin')
    const last = this.prepared('select n from trades where operation < ? order by operation desc, i desc limit 1').get(id) as
      | { n: number }
      | undefined
    this.prepared('delete from ledgers where sequence < ?').run(oldest)
    for (const table of BY_ID) this.prepared(`delete from ${table} where id < ?`).run(id)
    for (const table of ['effects', 'trades']) this.prepared(`delete from ${table} where operation < ?`).run(id)
    for (const table of BY_NUMBER) this.prepared(`delete from ${table} where n <= ?`).run(last?.n ?? -1)
    this.db.exec('commit')
  }

  private prepared(sql: string): ReturnType<Sqlite['db']['prepare']> {
    const held = this.statements.get(sql) ?? this.db.prepare(sql)
    this.statements.set(sql, held)
    return held
  }
}
