/** The peer where the oldest ledgers are deleted: its lists are also indexed by record, so that a deletion need not read them whole. */
import { Sqlite, type SqliteOptions } from './sqlite.ts'

const ALL = ['transactions', 'failed_transactions', 'operations', 'payments'] as const
const LISTS_BY_ID = ['transaction_accounts', 'operation_accounts', 'payment_accounts'] as const
const LISTS_BY_NUMBER = ['trade_accounts', 'trade_offers'] as const

type Statement = ReturnType<Sqlite['db']['prepare']>

export class SqliteWindow extends Sqlite {
  private readonly lastTrade: Statement
  /** What deletes the rows below a sequence, an id, the id of an operation, and the number of a trade. */
  private readonly below: Readonly<Record<'sequence' | 'id' | 'operation' | 'n', readonly Statement[]>>

  constructor(file: string, options: SqliteOptions = {}) {
    super(file, options)
    const { db } = this
    for (const list of LISTS_BY_ID) db.exec(`create index if not exists ${list}_id on ${list} (id)`)
    for (const list of LISTS_BY_NUMBER) db.exec(`create index if not exists ${list}_n on ${list} (n)`)
    const below = (column: string, tables: readonly string[]): Statement[] =>
      tables.map((table) => db.prepare(`delete from ${table} where ${column} < ?`))
    this.lastTrade = db.prepare('select n from trades where operation < ? order by operation desc, i desc limit 1').pluck()
    this.below = {
      sequence: below('sequence', ['ledgers']),
      id: below('id', [...ALL, ...LISTS_BY_ID]),
      operation: below('operation', ['effects', 'trades']),
      n: below('n', LISTS_BY_NUMBER),
    }
  }

  /** Deletes every ledger before `oldest`, in one transaction. */
  prune(oldest: number): void {
    const { db, below } = this
    const id = BigInt(oldest) << 32n
    db.exec('begin')
    const bounds = { sequence: oldest, id, operation: id, n: (this.lastTrade.get(id) ?? -1) + 1 }
    for (const column of ['sequence', 'id', 'operation', 'n'] as const) for (const statement of below[column]) statement.run(bounds[column])
    db.exec('commit')
  }
}
