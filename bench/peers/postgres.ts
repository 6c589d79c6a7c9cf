/**
 * The peer that is a server: PostgreSQL over finished JSON, indexed as Horizon's tables are. Every request goes from this process to one of the
 * server's and back, as in a Node service. Its fastest variant: a statement is planned once, and the texts of its rows are handed over as the bytes
 * that arrived.
 */
import postgres from 'postgres'
import type { GeneratedClose } from '../../adapters/generate/index.ts'
import { type Ask, BASE, type ListName, type ServerUse } from '../contender.ts'
import { Wire } from '../wire.ts'
import { PostgresServer, USER } from './postgres-server.ts'
import { cursorValues, type Mode, type Prepared, pageBody, prepared, type Size, type SqlContender } from './sql.ts'

const SCHEMA = `
create table ledgers (sequence integer primary key, json text not null);
create table accounts (id integer primary key, address text not null unique);
create table assets (id integer primary key, name text not null unique);
create table transactions (id bigint primary key, hash bytea not null unique, json text not null);
create table failed_transactions (id bigint primary key, hash bytea not null unique, json text not null);
create table operations (id bigint primary key, json text not null);
create table effects (operation bigint, i integer, account integer not null, json text not null, primary key (operation, i));
create unique index effects_account on effects (account, operation, i);
create table trades (operation bigint, i integer, low integer not null, high integer not null, base integer not null, json text not null,
  turned text not null, primary key (operation, i));
create unique index trades_pair on trades (low, high, operation, i);
create table transaction_accounts (account integer, id bigint, primary key (account, id));
create table operation_accounts (account integer, id bigint, primary key (account, id));
create table payments (id bigint primary key);
create table payment_accounts (account integer, id bigint, primary key (account, id));
create table trade_accounts (account integer, operation bigint, i integer, primary key (account, operation, i));
create table trade_offers (offer bigint, operation bigint, i integer, primary key (offer, operation, i));
create table offers (id bigint primary key, seller integer not null, json text not null);
create index offers_seller on offers (seller);
${['transactions', 'failed_transactions']
  // By itself PostgreSQL compresses what is longer than 2 KB, or moves it out of the row; both make pages of transactions slower.
  .map((table) => `alter table ${table} alter json set storage external; alter table ${table} set (toast_tuple_target = 8160);`)
  .join('\n')}
`

/** The types of the columns of what a ledger adds rows to. */
const COLUMNS = {
  ledgers: ['integer', 'text'],
  accounts: ['integer', 'text'],
  assets: ['integer', 'text'],
  transactions: ['bigint', 'bytea', 'text'],
  failed_transactions: ['bigint', 'bytea', 'text'],
  operations: ['bigint', 'text'],
  effects: ['bigint', 'integer', 'integer', 'text'],
  trades: ['bigint', 'integer', 'integer', 'integer', 'integer', 'text', 'text'],
  transaction_accounts: ['integer', 'bigint'],
  operation_accounts: ['integer', 'bigint'],
  payments: ['bigint'],
  payment_accounts: ['integer', 'bigint'],
  trade_accounts: ['integer', 'bigint', 'integer'],
  trade_offers: ['bigint', 'bigint', 'integer'],
  offers: ['bigint', 'integer', 'text'],
} as const
type Table = keyof typeof COLUMNS
const tables = Object.keys(COLUMNS) as Table[]

/**
 * One statement writes all rows of one or more ledgers, and so is their transaction: one way to the server and back. Each column is one text with a line
 * per row, since no value has a line break. The last value: the ids of the offers that are gone.
 */
const WRITE = (() => {
  let count = 0
  const column = (type: string): string => `string_to_array($${++count}, e'\\n')::${type}[]`
  const inserts = tables.map((table) => {
    const replaced = table === 'offers' ? ' on conflict (id) do update set seller = excluded.seller, json = excluded.json' : ''
    return `new_${table} as (insert into ${table} select * from unnest(${COLUMNS[table].map(column).join()})${replaced})`
  })
  return `with ${inserts.join()} delete from offers where id = any(${column('bigint')})`
})()

/** The values of one such statement. */
class Rows {
  private readonly columns: Record<Table, string[][]>
  /** The last state of each offer that changed, none where it is gone: a statement can write a row only once. */
  readonly offers = new Map<bigint, { seller: number; json: string } | undefined>()

  constructor() {
    this.columns = Object.fromEntries(tables.map((table) => [table, COLUMNS[table].map(() => [])])) as unknown as Record<Table, string[][]>
  }

  add(table: Table, ...values: readonly (string | number | bigint)[]): void {
    for (const [i, value] of values.entries()) this.columns[table][i]!.push(String(value))
  }

  values(): string[] {
    const gone: bigint[] = []
    for (const [id, offer] of this.offers)
      if (offer === undefined) gone.push(id)
      else this.add('offers', id, offer.seller, offer.json)
    return [...tables.flatMap((table) => this.columns[table].map((column) => column.join('\n'))), gone.join('\n')]
  }
}

/** Where an account stands for its number. */
const ACCOUNT = '(select id from accounts where address = $1)'

/** After (before) a cursor of as many columns, which are the values after the first `named`. */
const beyond = (columns: readonly string[], named: number, desc: boolean): string => {
  const values = columns.map((_, i) => `$${named + 1 + i}`)
  const order = columns.map((column) => (desc ? `${column} desc` : column))
  return `(${columns}) ${desc ? '<' : '>'} (${values}) order by ${order} limit $${named + 1 + columns.length}`
}
const ID = ['id']
const IN_OPERATION = ['operation', 'i']

/** The records of a list after a cursor. Values: what the path and the filters name, the cursor, the limit. */
const lists: Record<ListName, (desc: boolean) => string> = {
  transactions: (desc) => `select json from transactions where ${beyond(ID, 0, desc)}`,
  operations: (desc) => `select json from operations where ${beyond(ID, 0, desc)}`,
  effects: (desc) => `select json from effects where ${beyond(IN_OPERATION, 0, desc)}`,
  trades: (desc) =>
    `select case when base = $1 then json else turned end from trades where low = $2 and high = $3 and ${beyond(IN_OPERATION, 3, desc)}`,
  transactionsOfAccount: (desc) =>
    `select json from transaction_accounts join transactions using (id) where account = ${ACCOUNT} and ${beyond(ID, 1, desc)}`,
  operationsOfAccount: (desc) =>
    `select json from operation_accounts join operations using (id) where account = ${ACCOUNT} and ${beyond(ID, 1, desc)}`,
  paymentsOfAccount: (desc) =>
    `select json from payment_accounts join operations using (id) where account = ${ACCOUNT} and ${beyond(ID, 1, desc)}`,
  effectsOfAccount: (desc) => `select json from effects where account = ${ACCOUNT} and ${beyond(IN_OPERATION, 1, desc)}`,
  tradesOfAccount: (desc) =>
    `select json from trade_accounts join trades using (operation, i) where account = ${ACCOUNT} and ${beyond(IN_OPERATION, 1, desc)}`,
  tradesOfOffer: (desc) =>
    `select json from trade_offers join trades using (operation, i) where offer = $1 and ${beyond(IN_OPERATION, 1, desc)}`,
}
const LISTS = Object.fromEntries(Object.entries(lists).map(([what, sql]) => [what, { asc: sql(false), desc: sql(true) }])) as Record<
  ListName,
  Record<Ask['order'], string>
>

const BY_HASH =
  "select json from transactions where hash = decode($1, 'hex') union all " +
  "select json from failed_transactions where hash = decode($1, 'hex') limit 1"

const COMMA = Buffer.from(',')
/** One for each request that a server has at once; a process that asks for one page after another opens only one. */
const CONNECTIONS = 8

export class Postgres implements SqlContender {
  private readonly own: PostgresServer
  private readonly sql: ReturnType<typeof postgres>
  private readonly wire = new Wire(BASE)
  private readonly assets: Map<string, number>
  /** The numbers of accounts and assets are kept in memory and made here, which is generous to this side. */
  private readonly accounts: Map<string, number>

  private constructor(own: PostgresServer, sql: ReturnType<typeof postgres>, assets: Map<string, number>, accounts: Map<string, number>) {
    this.own = own
    this.sql = sql
    this.assets = assets
    this.accounts = accounts
  }

  static async open(directory: string, mode: Mode): Promise<Postgres> {
    const own = await PostgresServer.start(directory)
    const sql = postgres({
      ...{ path: own.socket, username: USER, database: 'postgres', max: CONNECTIONS, fetch_types: false, max_lifetime: null },
      ...(mode === 'load' && { connection: { synchronous_commit: 'off' } }),
    })
    const [there] = await sql.unsafe("select from pg_tables where tablename = 'ledgers'")
    if (there === undefined) await sql.unsafe(SCHEMA)
    const numbers = async (select: string): Promise<Map<string, number>> =>
      new Map((await sql.unsafe(select).values()) as [string, number][])
    return new Postgres(own, sql, await numbers('select name, id from assets'), await numbers('select address, id from accounts'))
  }

  prepare(ask: Ask): Prepared {
    return prepared(ask, BASE, this.assets)
  }

  async body(asked: unknown): Promise<readonly Uint8Array[]> {
    const texts = await this.texts(asked as Prepared)
    if ((asked as Prepared).ask.what === 'transaction') return texts
    return pageBody(
      asked as Prepared,
      texts.flatMap((text, i) => (i === 0 ? [text] : [COMMA, text])),
    )
  }

  async records(asked: unknown): Promise<readonly unknown[]> {
    return (await this.texts(asked as Prepared)).map((text) => JSON.parse(text.toString()))
  }

  /** The text of each record, as the bytes that arrived. */
  private async texts({ ask, named }: Prepared): Promise<Buffer[]> {
    const [sql, values] = ask.what === 'transaction' ? [BY_HASH, named] : [LISTS[ask.what][ask.order], [...named, ...cursorValues(ask)]]
    const rows = await this.sql.unsafe(sql, values, { prepare: true }).raw()
    return rows.map(([text]) => text!)
  }

  append(close: GeneratedClose): Promise<void> {
    return this.appendAll([close])
  }

  /** Each ledger is durable by itself; the next one is written out while the server stores the last. */
  async ingest(closes: readonly GeneratedClose[]): Promise<void> {
    let stored: Promise<void> | undefined
    for (const close of closes) {
      const values = this.rows([close]).values()
      await stored
      stored = this.write(values)
    }
    await stored
  }

  appendAll(closes: readonly GeneratedClose[]): Promise<void> {
    return this.write(this.rows(closes).values())
  }

  private async write(values: readonly string[]): Promise<void> {
    await this.sql.unsafe(WRITE, values, { prepare: true })
  }

  private rows(closes: readonly GeneratedClose[]): Rows {
    const rows = new Rows()
    const number = (table: 'accounts' | 'assets', name: string): number => {
      const known = this[table]
      const found = known.get(name)
      if (found !== undefined) return found
      known.set(name, known.size + 1)
      rows.add(table, known.size, name)
      return known.size
    }
    for (const one of closes) {
      const close = this.wire.close(one)
      rows.add('ledgers', close.sequence, close.ledger)
      for (const { id, hash, failed, accounts, json } of close.transactions) {
        rows.add(failed ? 'failed_transactions' : 'transactions', id, `\\x${hash}`, json)
        for (const account of accounts) {
          const n = number('accounts', account)
          if (!failed) rows.add('transaction_accounts', n, id)
        }
      }
      for (const { id, payment, accounts, json } of close.operations) {
        rows.add('operations', id, json)
        if (payment) rows.add('payments', id)
        for (const account of accounts) {
          rows.add('operation_accounts', number('accounts', account), id)
          if (payment) rows.add('payment_accounts', number('accounts', account), id)
        }
      }
      for (const { operation, index, account, json } of close.effects)
        rows.add('effects', operation, index, number('accounts', account), json)
      for (const { operation, index, accounts, offers, base, counter, json, turned } of close.trades) {
        const [low, other] = [number('assets', base), number('assets', counter)]
        rows.add('trades', operation, index, Math.min(low, other), Math.max(low, other), low, json, turned)
        for (const account of accounts) rows.add('trade_accounts', number('accounts', account), operation, index)
        for (const offer of offers) rows.add('trade_offers', offer, operation, index)
      }
      for (const { id, seller, json } of close.offers) rows.offers.set(id, { seller: number('accounts', seller), json })
      for (const id of close.removed) rows.offers.set(id, undefined)
    }
    return rows
  }

  /** Index-only scans need what a vacuum notes, and the planner what an analysis finds. */
  async settle(): Promise<Size> {
    await this.sql.unsafe('vacuum (freeze, analyze)')
    await this.sql.unsafe('checkpoint')
    const [size] = await this.sql.unsafe(
      'select pg_database_size(current_database())::float8 as bytes, (select sum(size) from pg_ls_waldir())::float8 as "logBytes"',
    )
    return size as unknown as Size
  }

  server(): ServerUse {
    return this.own.use()
  }

  async close(): Promise<void> {
    await this.sql.end()
    await this.own.stop()
  }
}
