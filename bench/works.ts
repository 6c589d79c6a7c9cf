/**
 * What is measured, and how requests are drawn. Each work is a kind of request with the floors it has to reach.
 * Draws are seeded and read the peer's tables to find cursors that exist; both sides get the same requests.
 */
import type Database from 'better-sqlite3'
import type { Ask, AssetName, ListName } from './contender.ts'
import type { DataSet } from './dataset.ts'

export type Workload = 'uniform' | 'recent'
export type Limit = 10 | 200
/** Bodies are bytes; records are objects. */
export type Answer = 'body' | 'records'

/** The minimum ratio to the peer's speed, by workload: pages of 10, pages of 200. */
export type Floors = { readonly [W in Workload]: readonly [ten: number, twoHundred: number] }

export interface Work {
  readonly name: string
  readonly group: string
  readonly answer: Answer
  readonly limits: readonly Limit[]
  readonly floors: Floors
  /** Also measured over HTTP. */
  readonly http: boolean
  draw(draws: Draws, workload: Workload, limit: Limit): Ask
}

/** A small seeded generator (mulberry32): the same draws on every run. */
export class Random {
  private state: number
  constructor(seed: number) {
    this.state = seed >>> 0
  }
  /** From 0 to 1, excluding 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }
}

/** Which share of history is recent, and which share of requests goes there. */
const RECENT = { ledgers: 0.05, requests: 0.9 }

/** How far before the newest of `all` a request goes: 0 to `all` − 1. */
export function backFrom(random: Random, workload: Workload, all: number): number {
  const recent = workload === 'recent' && random.next() < RECENT.requests
  return random.below(recent ? Math.max(1, Math.floor(all * RECENT.ledgers)) : all)
}

const BUSY = 20
/** A rare account has enough records for one page, and at most this many times that: its page comes from all over history. */
const RARE = 5

type Kind = 'transaction' | 'operation' | 'payment' | 'effect' | 'trade'
const links: Record<Kind, { readonly table: string; readonly key: string }> = {
  transaction: { table: 'transaction_accounts', key: 'id' },
  operation: { table: 'operation_accounts', key: 'id' },
  payment: { table: 'payment_accounts', key: 'id' },
  effect: { table: 'effects', key: 'n' },
  trade: { table: 'trade_accounts', key: 'n' },
}

export class Draws {
  readonly random: Random
  private readonly db: Database
  private readonly data: DataSet
  private readonly statements = new Map<string, ReturnType<Database['prepare']>>()
  private readonly accounts = new Map<string, { id: number; address: string; entries: number }[]>()

  constructor(db: Database, data: DataSet, seed: number) {
    this.db = db
    this.data = data
    this.random = new Random(seed)
  }

  get<T>(sql: string, ...values: unknown[]): T | undefined {
    let statement = this.statements.get(sql)
    if (!statement) {
      statement = this.db.prepare(sql).safeIntegers()
      this.statements.set(sql, statement)
    }
    return statement.get(...values)
  }

  /** A random place in history, as a total order id. */
  place(workload: Workload): bigint {
    const { firstLedger, lastLedger } = this.data
    const all = lastLedger - firstLedger + 1
    const ledger = lastLedger - backFrom(this.random, workload, all)
    return (BigInt(ledger) << 32n) | BigInt(this.random.below(20) << 12)
  }

  order(): 'asc' | 'desc' {
    return this.random.next() < 0.5 ? 'asc' : 'desc'
  }

  /** The paging token of the first record after a random place in history. */
  token(kind: Kind, workload: Workload): string {
    return this.tokenAfter(kind, this.place(workload)) ?? this.tokenAfter(kind, 0n)!
  }

  /** The paging token of the first record after a place, if there is one. */
  tokenAfter(kind: Kind, place: bigint): string | undefined {
    const table = kind === 'payment' ? 'operation' : kind
    const found =
      table === 'transaction' || table === 'operation'
        ? this.get<{ token: string }>(`select cast(id as text) as token from ${table}s where id > ? order by id limit 1`, place)
        : this.get<{ token: string }>(
            `select operation || '-' || i as token from ${table}s where operation > ? order by operation, i limit 1`,
            place,
          )
    return found?.token
  }

  /** Accounts with how many records of a kind they have, the most first. */
  private ranked(kind: Kind): { id: number; address: string; entries: number }[] {
    let held = this.accounts.get(kind)
    if (!held) {
      held = this.db
        .prepare(
          `select id, address, entries from (select account, count(*) as entries from ${links[kind].table} group by account) join accounts on id = account order by entries desc, id`,
        )
        .all() as { id: number; address: string; entries: number }[]
      this.accounts.set(kind, held)
    }
    return held
  }

  busy(kind: Kind): string {
    return this.random.pick(this.ranked(kind).slice(0, BUSY)).address
  }

  /** A rare account, and a cursor after which it has a full page of records; no cursor where the page starts at the end of the list. */
  rare(kind: Kind, limit: number, order: 'asc' | 'desc'): { account: string; cursor?: string } {
    const fitting = this.ranked(kind).filter(({ entries }) => entries >= limit && entries <= limit * RARE)
    const { id, address, entries } = this.random.pick(fitting)
    const skip = this.random.below(entries - limit + 1)
    if (skip === 0) return { account: address }
    const { table, key } = links[kind]
    const dir = order === 'asc' ? 'asc' : 'desc'
    const row = this.get<{ k: bigint }>(
      `select ${key} as k from ${table} where account = ? order by ${key} ${dir} limit 1 offset ?`,
      id,
      skip - 1,
    )!
    return { account: address, cursor: this.tokenOf(kind, row.k) }
  }

  private tokenOf(kind: Kind, key: bigint): string {
    if (kind !== 'effect' && kind !== 'trade') return String(key)
    return this.get<{ token: string }>(`select operation || '-' || i as token from ${kind}s where n = ?`, key)!.token
  }

  trade(workload: Workload): { base: AssetName; counter: AssetName; token: string; offer: string | undefined; account: string } {
    const place = this.place(workload)
    const sql = (where: string): string => `select json from trades where ${where} order by operation, i limit 1`
    const row = this.get<{ json: string }>(sql('operation > ?'), place) ?? this.get<{ json: string }>(sql('operation > ?'), 0n)!
    const trade = JSON.parse(row.json)
    const side = (name: string): AssetName =>
      trade[`${name}_asset_type`] === 'native'
        ? { type: 'native' }
        : { type: trade[`${name}_asset_type`], code: trade[`${name}_asset_code`], issuer: trade[`${name}_asset_issuer`] }
    return {
      base: side('base'),
      counter: side('counter'),
      token: trade.paging_token,
      offer: trade.offer_id ?? trade.base_offer_id ?? trade.counter_offer_id,
      account: trade.base_account ?? trade.counter_account,
    }
  }

  hash(workload: Workload): string {
    const row = this.get<{ hash: string }>(
      'select hex(hash) as hash from transactions where id > ? order by id limit 1',
      this.place(workload),
    )
    return (row ?? this.get<{ hash: string }>('select hex(hash) as hash from transactions limit 1'))!.hash.toLowerCase()
  }
}

const both: readonly Limit[] = [10, 200]

const listing = (what: ListName, kind: Kind): Work['draw'] => {
  return (draws, workload, limit) => ({ what, cursor: draws.token(kind, workload), order: draws.order(), limit })
}

const ofBusy = (what: ListName, kind: Kind): Work['draw'] => {
  return (draws, workload, limit) => ({ what, account: draws.busy(kind), cursor: draws.token(kind, workload), order: draws.order(), limit })
}

/** In the recent workload, clients of a rare account ask for its newest records. */
const ofRare = (what: ListName, kind: Kind): Work['draw'] => {
  return (draws, workload, limit) => {
    const order = draws.order()
    const drawn = draws.rare(kind, limit, workload === 'recent' ? 'desc' : order)
    if (workload === 'uniform') return { what, ...drawn, order, limit }
    return { what, account: drawn.account, ...(order === 'asc' && { cursor: draws.token(kind, 'recent') }), order, limit }
  }
}

/** The logs that are listed as a whole. */
export const lists: readonly [ListName, Kind][] = [
  ['transactions', 'transaction'],
  ['operations', 'operation'],
  ['effects', 'effect'],
]
const accountLists: readonly [ListName, Kind][] = [
  ['transactionsOfAccount', 'transaction'],
  ['operationsOfAccount', 'operation'],
  ['paymentsOfAccount', 'payment'],
  ['effectsOfAccount', 'effect'],
]
const spoken = (what: string): string => what.replace('OfAccount', ' of an account').replace('OfOffer', ' of an offer')

/** The floors, by kind of work. */
const floors = {
  listings: { uniform: [1.2, 1.7], recent: [4, 5] },
  accounts: { uniform: [1, 1], recent: [2, 2.5] },
  trades: { uniform: [1, 1.2], recent: [2, 3] },
  hash: { uniform: [1, 1], recent: [1.5, 1.5] },
  typed: { uniform: [1.7, 2], recent: [2.5, 2.5] },
  http: { uniform: [1.4, 1.5], recent: [3, 4] },
} satisfies Record<string, Floors>
export const httpFloors: Floors = floors.http

export const works: readonly Work[] = [
  ...lists.map(
    ([what, kind]): Work => ({
      ...{ name: what, group: 'listings, bytes', answer: 'body', limits: both, floors: floors.listings, http: true },
      draw: listing(what, kind),
    }),
  ),
  ...accountLists.flatMap(([what, kind]): Work[] => [
    {
      ...{ name: `${spoken(what)}, busy`, group: 'of accounts, bytes', answer: 'body', limits: both, floors: floors.accounts },
      http: kind === 'operation',
      draw: ofBusy(what, kind),
    },
    {
      ...{ name: `${spoken(what)}, rare`, group: 'of accounts, bytes', answer: 'body', limits: both, floors: floors.accounts, http: false },
      draw: ofRare(what, kind),
    },
  ]),
  {
    ...{ name: 'trades of a pair', group: 'trades, bytes', answer: 'body', limits: both, floors: floors.trades, http: true },
    draw(draws, workload, limit) {
      const { base, counter, token } = draws.trade(workload)
      const turned = draws.random.next() < 0.5
      return { what: 'trades', base: turned ? counter : base, counter: turned ? base : counter, cursor: token, order: draws.order(), limit }
    },
  },
  {
    ...{ name: 'trades of an offer', group: 'trades, bytes', answer: 'body', limits: both, floors: floors.trades, http: false },
    draw(draws, workload, limit) {
      for (;;) {
        const { offer } = draws.trade(workload)
        if (offer !== undefined) return { what: 'tradesOfOffer', offer, order: draws.order(), limit }
      }
    },
  },
  {
    ...{ name: 'trades of an account', group: 'trades, bytes', answer: 'body', limits: both, floors: floors.trades, http: false },
    draw(draws, workload, limit) {
      const { account, token } = draws.trade(workload)
      return { what: 'tradesOfAccount', account, cursor: token, order: draws.order(), limit }
    },
  },
  {
    ...{ name: 'transaction by hash', group: 'by hash, bytes', answer: 'body', limits: [10], floors: floors.hash, http: true },
    draw: (draws, workload, limit) => ({ what: 'transaction', hash: draws.hash(workload), order: 'asc', limit }),
  },
  ...[...lists, ...accountLists.slice(1, 2)].map(
    ([what, kind]): Work => ({
      ...{ name: `${spoken(what)}, records`, group: 'typed records', answer: 'records', limits: both, floors: floors.typed, http: false },
      draw: what.endsWith('OfAccount') ? ofBusy(what, kind) : listing(what, kind),
    }),
  ),
]
