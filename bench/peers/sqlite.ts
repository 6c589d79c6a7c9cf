/**
 * The peer: better-sqlite3 over finished JSON, indexed as Horizon's tables are. Its fastest variant (`npm run variants` shows the others):
 * a page is one row, the records' texts joined by SQLite itself and handed over as a blob, so that no text is turned into a string.
 */
import Database from 'better-sqlite3'
import type { GeneratedClose } from '../../adapters/generate/index.ts'
import { type Ask, BASE, type ListName } from '../contender.ts'
import { Wire, type WireClose } from '../wire.ts'
import { cursorValues, type Prepared, pageBody, prepared, type Size, type SqlContender } from './sql.ts'

export const SCHEMA = `
create table ledgers (sequence integer primary key, json text not null);
create table accounts (id integer primary key, address text not null unique);
create table assets (id integer primary key, name text not null unique);
create table transactions (id integer primary key, hash blob not null unique, json text not null);
create table failed_transactions (id integer primary key, hash blob not null unique, json text not null);
create table operations (id integer primary key, json text not null);
create table effects (n integer primary key, operation integer not null, i integer not null, account integer not null, json text not null, unique (operation, i));
create index effects_account on effects (account);
create table trades (n integer primary key, operation integer not null, i integer not null, low integer not null, high integer not null, base integer not null,
  json text not null, turned text not null, unique (operation, i));
create index trades_pair on trades (low, high);
create table transaction_accounts (account integer, id integer, primary key (account, id)) without rowid;
create table operation_accounts (account integer, id integer, primary key (account, id)) without rowid;
create table payments (id integer primary key);
create table payment_accounts (account integer, id integer, primary key (account, id)) without rowid;
create table trade_accounts (account integer, n integer, primary key (account, n)) without rowid;
create table trade_offers (offer integer, n integer, primary key (offer, n)) without rowid;
create table offers (id integer primary key, seller integer not null, json text not null);
create index offers_seller on offers (seller);
`

export interface SqliteOptions {
  readonly readonly?: boolean
  /** What a commit waits for. Default FULL: durable a transaction. */
  readonly synchronous?: 'FULL' | 'NORMAL' | 'OFF'
  readonly pageSize?: number
  /** There is less memory than data. */
  readonly confined?: boolean
}

/**
 * Opens a database with generous caches: all of it mapped, and half a gigabyte of pages besides. Or, confined, with 16 MB of pages, and the rest of the
 * memory for the page cache.
 */
export function openDatabase(
  file: string,
  { readonly = false, synchronous = 'FULL', pageSize = 8192, confined = false }: SqliteOptions = {},
): Database {
  const db = new Database(file, { readonly })
  if (!readonly) {
    db.pragma(`page_size = ${pageSize}`)
    db.pragma('journal_mode = WAL')
    db.pragma(`synchronous = ${synchronous}`)
  }
  db.pragma(`mmap_size = ${confined ? 0 : 2147418112}`)
  db.pragma(`cache_size = ${confined ? -16_000 : -524_288}`)
  db.pragma('temp_store = MEMORY')
  return db
}

/** Where an account stands for its number. */
const ACCOUNT = '(select id from accounts where address = ?)'

/** After (before) a cursor of a table whose rows are numbered apart from their tokens. */
const past = (table: string, desc: boolean): string =>
  desc
    ? `n < coalesce((select n from ${table} where (operation, i) >= (?, ?) order by operation, i limit 1), 9223372036854775807) order by n desc limit ?`
    : `n > coalesce((select n from ${table} where (operation, i) <= (?, ?) order by operation desc, i desc limit 1), 0) order by n limit ?`

/** After (before) a cursor of a table whose key is the token. */
const beyond = (desc: boolean): string => (desc ? 'id < ? order by id desc limit ?' : 'id > ? order by id limit ?')

/** The records of a list after a cursor. Values: what the path and the filters name, the cursor, the limit. */
const lists: Record<ListName, (desc: boolean) => string> = {
  transactions: (desc) => `select json from transactions where ${beyond(desc)}`,
  operations: (desc) => `select json from operations where ${beyond(desc)}`,
  effects: (desc) => `select json from effects where ${past('effects', desc)}`,
  trades: (desc) =>
    `select case when base = ? then json else turned end as json from trades where low = ? and high = ? and ${past('trades', desc)}`,
  transactionsOfAccount: (desc) =>
    `select json from transaction_accounts join transactions using (id) where account = ${ACCOUNT} and ${beyond(desc)}`,
  operationsOfAccount: (desc) =>
    `select json from operation_accounts join operations using (id) where account = ${ACCOUNT} and ${beyond(desc)}`,
  paymentsOfAccount: (desc) =>
    `select json from payment_accounts join operations using (id) where account = ${ACCOUNT} and ${beyond(desc)}`,
  effectsOfAccount: (desc) => `select json from effects where account = ${ACCOUNT} and ${past('effects', desc)}`,
  tradesOfAccount: (desc) => `select json from trade_accounts join trades using (n) where account = ${ACCOUNT} and ${past('trades', desc)}`,
  tradesOfOffer: (desc) => `select json from trade_offers join trades using (n) where offer = ? and ${past('trades', desc)}`,
}
export const listSql = (what: ListName, desc: boolean): string => lists[what](desc)

export class Sqlite implements SqlContender {
  readonly db: Database
  private readonly wire: Wire
  private readonly base: string
  private readonly pages = new Map<string, ReturnType<Database['prepare']>>()
  private readonly assets = new Map<string, number>()
  private readonly accounts = new Map<string, number>()
  private next = { effects: 0, trades: 0 }
  private insert: Record<string, ReturnType<Database['prepare']>> | undefined

  constructor(file: string, options: SqliteOptions & { readonly base?: string } = {}) {
    this.db = openDatabase(file, options)
    this.base = options.base ?? BASE
    this.wire = new Wire(this.base)
    if (!options.readonly && this.db.prepare("select count(*) from sqlite_master where name = 'ledgers'").pluck().get() === 0)
      this.db.exec(SCHEMA)
    for (const { id, name } of this.db.prepare('select id, name from assets').all()) this.assets.set(name, id)
    for (const table of ['effects', 'trades'] as const)
      this.next[table] = this.db.prepare(`select coalesce(max(n), 0) from ${table}`).pluck().get()
  }

  prepare(ask: Ask): Prepared {
    return prepared(ask, this.base, this.assets)
  }

  body(asked: unknown): readonly Uint8Array[] {
    const { ask, named } = asked as Prepared
    if (ask.what === 'transaction') return [this.transaction(named[0] as string, 'select cast(json as blob)') as Buffer]
    const sql = `select cast(group_concat(json) as blob) from (${listSql(ask.what, ask.order === 'desc')})`
    const records = this.statement(sql).get(...named, ...cursorValues(ask)) as Buffer | null
    return pageBody(asked as Prepared, records === null ? [] : [records])
  }

  /** Row by row: parsing all of a page as one text takes two to three times as long. */
  records(asked: unknown): readonly unknown[] {
    const { ask, named } = asked as Prepared
    if (ask.what === 'transaction') return [JSON.parse(this.transaction(named[0] as string, 'select json') as string)]
    const desc = ask.order === 'desc'
    const rows = this.statement(listSql(ask.what, desc)).all(...named, ...cursorValues(ask)) as string[]
    return rows.map((json) => JSON.parse(json))
  }

  private statement(sql: string): ReturnType<Database['prepare']> {
    const held = this.pages.get(sql)
    if (held !== undefined) return held
    const made = this.db.prepare(sql).pluck()
    this.pages.set(sql, made)
    return made
  }

  private transaction(hash: string, select: string): unknown {
    const key = Buffer.from(hash, 'hex')
    return (
      this.statement(`${select} from transactions where hash = ?`).get(key) ??
      this.statement(`${select} from failed_transactions where hash = ?`).get(key)
    )
  }

  append(close: GeneratedClose): void {
    this.db.exec('begin')
    this.write(this.wire.close(close))
    this.db.exec('commit')
  }

  /** Takes in many ledgers in one transaction. */
  appendAll(closes: readonly GeneratedClose[]): void {
    this.db.exec('begin')
    for (const close of closes) this.write(this.wire.close(close))
    this.db.exec('commit')
  }

  settle(): Size {
    this.db.pragma('wal_checkpoint(TRUNCATE)')
    return { bytes: this.db.pragma('page_count', { simple: true }) * this.db.pragma('page_size', { simple: true }), logBytes: 0 }
  }

  private write(close: WireClose): void {
    this.insert ??= this.inserts()
    const into = this.insert
    into['ledger']!.run(close.sequence, close.ledger)
    for (const { id, hash, failed, accounts, json } of close.transactions) {
      into[failed ? 'failed' : 'transaction']!.run(id, Buffer.from(hash, 'hex'), json)
      for (const account of accounts) {
        const number = this.account(account)
        if (!failed) into['transactionAccount']!.run(number, id)
      }
    }
    for (const { id, payment, accounts, json } of close.operations) {
      into['operation']!.run(id, json)
      if (payment) into['payment']!.run(id)
      for (const account of accounts) {
        into['operationAccount']!.run(this.account(account), id)
        if (payment) into['paymentAccount']!.run(this.account(account), id)
      }
    }
    for (const { operation, index, account, json } of close.effects)
      into['effect']!.run(++this.next.effects, operation, index, this.account(account), json)
    for (const { operation, index, accounts, offers, base, counter, json, turned } of close.trades) {
      const n = ++this.next.trades
      const [one, other] = [this.asset(base), this.asset(counter)]
      into['trade']!.run(n, operation, index, Math.min(one, other), Math.max(one, other), one, json, turned)
      for (const account of accounts) into['tradeAccount']!.run(this.account(account), n)
      for (const offer of offers) into['tradeOffer']!.run(offer, n)
    }
    for (const { id, seller, json } of close.offers) into['offer']!.run(id, this.account(seller), json)
    for (const id of close.removed) into['removal']!.run(id)
  }

  private account(address: string): number {
    return this.number(this.accounts, 'account', address)
  }

  private asset(name: string): number {
    return this.number(this.assets, 'asset', name)
  }

  /** The number of an account or asset, made where it is new. The numbers are kept in memory, which is generous to this side. */
  private number(known: Map<string, number>, kind: 'account' | 'asset', name: string): number {
    let number = known.get(name)
    if (number === undefined) {
      const found = this.insert![`${kind}Of`]!.get(name) as { id: number } | undefined
      number = found?.id ?? Number(this.insert![kind]!.run(name).lastInsertRowid)
      known.set(name, number)
    }
    return number
  }

  private inserts(): Record<string, ReturnType<Database['prepare']>> {
    const { db } = this
    return {
      ledger: db.prepare('insert into ledgers values (?, ?)'),
      account: db.prepare('insert into accounts (address) values (?)'),
      accountOf: db.prepare('select id from accounts where address = ?'),
      asset: db.prepare('insert into assets (name) values (?)'),
      assetOf: db.prepare('select id from assets where name = ?'),
      transaction: db.prepare('insert into transactions values (?, ?, ?)'),
      failed: db.prepare('insert into failed_transactions values (?, ?, ?)'),
      transactionAccount: db.prepare('insert into transaction_accounts values (?, ?)'),
      operation: db.prepare('insert into operations values (?, ?)'),
      operationAccount: db.prepare('insert into operation_accounts values (?, ?)'),
      payment: db.prepare('insert into payments values (?)'),
      paymentAccount: db.prepare('insert into payment_accounts values (?, ?)'),
      effect: db.prepare('insert into effects values (?, ?, ?, ?, ?)'),
      trade: db.prepare('insert into trades values (?, ?, ?, ?, ?, ?, ?, ?)'),
      tradeAccount: db.prepare('insert into trade_accounts values (?, ?)'),
      tradeOffer: db.prepare('insert into trade_offers values (?, ?)'),
      offer: db.prepare('insert or replace into offers values (?, ?, ?)'),
      removal: db.prepare('delete from offers where id = ?'),
    }
  }

  close(): void {
    if (!this.db.readonly) this.db.pragma('wal_checkpoint(TRUNCATE)')
    this.db.close()
  }
}
