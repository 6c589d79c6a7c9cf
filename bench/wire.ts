/**
 * The finished JSON of every record of a ledger close, links and all: what a user who picks an SQL database would store.
 * Written apart from the engine, from the service document alone, so that equal bytes prove both right.
 */
import type { GeneratedClose, GeneratedMembers, GeneratedOperation, GeneratedTransaction, Integer } from '../adapters/generate/index.ts'

/** A transaction, successful or not. `id` is the total order id. */
export interface WireTransaction {
  readonly id: bigint
  readonly hash: string
  readonly failed: boolean
  readonly accounts: readonly string[]
  readonly json: string
}
export interface WireOperation {
  readonly id: bigint
  readonly payment: boolean
  readonly accounts: readonly string[]
  readonly json: string
}
export interface WireEffect {
  readonly operation: bigint
  readonly index: number
  readonly account: string
  readonly json: string
}
export interface WireTrade {
  readonly operation: bigint
  readonly index: number
  readonly accounts: readonly string[]
  readonly offers: readonly bigint[]
  readonly base: string
  readonly counter: string
  readonly json: string
  /** The same trade seen from its other side. */
  readonly turned: string
}
export interface WireOffer {
  readonly id: bigint
  readonly seller: string
  readonly json: string
}
export interface WireClose {
  readonly sequence: number
  readonly ledger: string
  readonly transactions: readonly WireTransaction[]
  readonly operations: readonly WireOperation[]
  readonly effects: readonly WireEffect[]
  readonly trades: readonly WireTrade[]
  readonly offers: readonly WireOffer[]
  readonly removed: readonly bigint[]
}

const TYPES = [
  'create_account',
  'payment',
  'path_payment',
  'manage_offer',
  'create_passive_offer',
  'set_options',
  'change_trust',
  'allow_trust',
  'account_merge',
  'inflation',
  'manage_data',
  'bump_sequence',
]
const PAYMENTS = new Set(['create_account', 'payment', 'path_payment', 'account_merge'])
const NAMING = ['account', 'funder', 'sender', 'receiver', 'from', 'to', 'into', 'trustor']

const distinct = (accounts: readonly unknown[]): string[] => [
  ...new Set(accounts.filter((one): one is string => typeof one === 'string' && one !== '')),
]

/** Members without braces, after those that come first. */
function joined(first: string, rest: GeneratedMembers): string {
  const json = JSON.stringify(rest)
  return json === '{}' ? first : `${first},${json.slice(1, -1)}`
}

/** The price with its letters in lower case. */
const priced = (price: any): GeneratedMembers => (price.N === undefined ? price : { n: price.N, d: price.D })

/** Writes finished records for one base URL. */
export class Wire {
  private readonly base: string

  constructor(base: string) {
    this.base = base
  }

  close(close: GeneratedClose): WireClose {
    const { sequence, closed_at } = close.ledger
    const transactions: WireTransaction[] = []
    const operations: WireOperation[] = []
    const effects: WireEffect[] = []
    const trades: WireTrade[] = []
    let count = 0
    for (const [t, transaction] of close.transactions.entries()) {
      const id = (BigInt(sequence) << 32n) | BigInt((t + 1) << 12)
      transactions.push(this.transaction(id, transaction, sequence, closed_at))
      if (transaction.successful === false) continue
      for (const [o, operation] of transaction.operations.entries()) {
        const operationId = id + BigInt(o + 1)
        count++
        operations.push(this.operation(operationId, operation, transaction))
        let next = 1
        for (const effect of operation.effects ?? []) {
          const index = effect.index ?? next
          effects.push(this.effect(operationId, index, effect))
          next = index + 1
        }
        next = 0
        for (const trade of operation.trades ?? []) {
          const index = trade.index ?? next
          trades.push(this.trade(operationId, index, trade, closed_at))
          next = index + 1
        }
      }
    }
    const { changed = [], removed = [] } = close.offers ?? {}
    return {
      sequence,
      ledger: this.ledger(close, count),
      transactions,
      operations,
      effects,
      trades,
      offers: changed.map((offer) => this.offer(offer, closed_at)),
      removed: removed.map(BigInt),
    }
  }

  private ledger(close: GeneratedClose, operations: number): string {
    const { hash, prev_hash, sequence, closed_at, ...rest } = close.ledger
    const failed = close.transactions.filter((one) => one.successful === false).length
    const successful = close.transactions.length - failed
    const counts: GeneratedMembers = {
      transaction_count: successful,
      successful_transaction_count: successful,
      failed_transaction_count: failed,
      operation_count: operations,
    }
    const missing = Object.fromEntries(Object.entries(counts).filter(([name]) => rest[name] === undefined))
    const token = BigInt(sequence) << 32n
    const first = `"id":"${hash}","paging_token":"${token}","hash":"${hash}","prev_hash":"${prev_hash}","sequence":${sequence},"closed_at":"${closed_at}"`
    const at = `/ledgers/${sequence}`
    return this.record(joined(first, { ...rest, ...missing }), [
      this.link('self', at),
      ...['effects', 'operations', 'transactions'].map((name) => this.template(name, `${at}/${name}`)),
    ])
  }

  private transaction(id: bigint, transaction: GeneratedTransaction, sequence: number, closedAt: string): WireTransaction {
    const { hash, account, account_sequence, participants = [], operations, operation_count, successful, ...rest } = transaction
    const failed = successful === false
    const first =
      `"id":"${hash}","paging_token":"${id}","hash":"${hash}","ledger":${sequence},"created_at":"${closedAt}"` +
      `,"account":${JSON.stringify(account)},"account_sequence":${account_sequence},"operation_count":${operation_count}`
    const affected = operations.flatMap((operation) => this.affects(operation, account))
    const at = `/transactions/${hash}`
    const json = this.record(joined(first, successful === undefined ? rest : { ...rest, successful }), [
      this.link('account', `/accounts/${account}`),
      this.link('ledger', `/ledgers/${sequence}`),
      this.link('self', at),
      ...this.neighbours('/transactions', String(id)),
      this.template('effects', `${at}/effects`),
      this.template('operations', `${at}/operations`),
    ])
    return { id, hash, failed, accounts: distinct([account, ...participants, ...affected]), json }
  }

  private affects(operation: GeneratedOperation, account: string): string[] {
    const { source_account = account, participants = [] } = operation
    return distinct([source_account, ...NAMING.map((name) => operation[name]), ...participants])
  }

  private operation(id: bigint, operation: GeneratedOperation, owner: GeneratedTransaction): WireOperation {
    const { participants: _participants, effects: _effects, trades: _trades, type_i, ...members } = operation
    const payment = PAYMENTS.has(operation.type)
    let first = `"id":${id},"paging_token":"${id}"`
    let rest: GeneratedMembers = members
    if (payment && members['amount'] !== undefined) {
      const { amount, ...others } = members
      first += `,"amount":${amount as Integer}`
      rest = others
    }
    const at = `/operations/${id}`
    const json = this.record(joined(`${first},"type_i":${type_i ?? TYPES.indexOf(operation.type)}`, rest), [
      this.link('self', at),
      ...(payment ? [this.link('transaction', `/transactions/${owner.hash}`)] : []),
      this.template('effects', `${at}/effects`),
      ...this.neighbours('/operations', String(id), payment && operation.type !== 'create_account'),
      this.link('transactions', `/transactions/${owner.hash}`),
    ])
    return { id, payment, accounts: this.affects(operation, owner.account), json }
  }

  private effect(operation: bigint, index: number, effect: GeneratedMembers & { account: string }): WireEffect {
    const { account, ...rest } = effect
    const token = `${operation}-${index}`
    const json = this.record(joined(`"account":${JSON.stringify(account)},"paging_token":"${token}"`, rest), [
      this.link('operation', `/operations/${operation}`),
      ...this.neighbours('/effects', token),
    ])
    return { operation, index, account, json }
  }

  private trade(operation: bigint, index: number, trade: GeneratedMembers, closedAt: string): WireTrade {
    const token = `${operation}-${index}`
    const first = `"id":"${token}","paging_token":"${token}","ledger_close_time":"${closedAt}"`
    const { price, ...rest } = trade
    const seen = { ...rest, price: priced(price) }
    const json = (record: GeneratedMembers): string =>
      this.record(joined(first, record), [
        this.link('self', `/operations/${operation}/trades?cursor=${index === 0 ? '' : `${operation}-${index - 1}`}&limit=1&order=asc`),
        ...['base', 'counter'].flatMap((side) => {
          const account = record[`${side}_account`]
          return account === undefined ? [] : [this.link(side, `/accounts/${account}`)]
        }),
        this.link('operation', `/operations/${operation}`),
      ])
    const asset = (side: string): string =>
      trade[`${side}_asset_type`] === 'native' ? 'native' : `${trade[`${side}_asset_code`]}:${trade[`${side}_asset_issuer`]}`
    const ids = ['offer_id', 'base_offer_id', 'counter_offer_id'].map((name) => trade[name]).filter((id) => id !== undefined)
    return {
      operation,
      index,
      accounts: distinct([trade['base_account'], trade['counter_account']]),
      offers: [...new Set(ids)].map((id) => BigInt(id as string)),
      base: asset('base'),
      counter: asset('counter'),
      json: json(seen),
      turned: json(turned(seen)),
    }
  }

  private offer(offer: GeneratedMembers & { seller: string; id: Integer; price_r: GeneratedMembers }, closedAt: string): WireOffer {
    const { id, price_r, last_modified = closedAt, ...rest } = offer
    const json = this.record(joined(`"id":${id},"paging_token":"${id}"`, { ...rest, price_r: priced(price_r), last_modified }), [
      this.link('self', `/offers/${id}`),
      this.link('offer_maker', `/accounts/${offer.seller}`),
    ])
    return { id: BigInt(id), seller: offer.seller, json }
  }

  private record(members: string, links: readonly string[]): string {
    return `{"_links":{${links.join()}},${members}}`
  }

  private link(name: string, path: string): string {
    return `"${name}":{"href":"${this.base}${path}"}`
  }

  private template(name: string, path: string, list = '{?cursor,limit,order}'): string {
    return `"${name}":{"href":"${this.base}${path}${list}","templated":true}`
  }

  private neighbours(list: string, token: string, templated = false): string[] {
    return [
      ['precedes', 'asc'],
      ['succeeds', 'desc'],
    ].map(([name, order]) => {
      const path = `${list}?cursor=${token}&order=${order}`
      return templated ? this.template(name!, path, '{?limit}') : this.link(name!, path)
    })
  }
}

/** A trade with base and counter exchanged, each member in its place. */
function turned(trade: GeneratedMembers): GeneratedMembers {
  const out: GeneratedMembers = {}
  for (const [name, value] of Object.entries(trade)) {
    if (name === 'base_is_seller') out[name] = !value
    else if (name === 'price') out[name] = { ...(value as GeneratedMembers), n: (value as any).d, d: (value as any).n }
    else if (name.startsWith('base_')) out[`counter_${name.slice(5)}`] = value
    else if (name.startsWith('counter_')) out[`base_${name.slice(8)}`] = value
    else out[name] = value
  }
  return out
}
