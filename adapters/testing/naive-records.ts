/**
 * What the specification says a ledger close holds: plain records with their places, derived from the input alone.
 * It is the first half of the reference model (`naive-ledger.ts`), written for clarity; it uses none of the engine's own code.
 */
import { Digits, type LedgerClose, operationTypes } from '../../src/index.ts'

export type AnyMembers = { [member: string]: any }
export type Kind = 'ledger' | 'transaction' | 'operation' | 'effect' | 'trade'

/** A record with everything that a query can ask about it. */
export interface ModelEntry {
  readonly kind: Kind
  readonly record: AnyMembers
  readonly token: string
  /** The first number of its token: for effects and trades, the id of their operation. */
  readonly id: bigint
  /** The second number of the token of effects and trades, otherwise 0. */
  readonly index: number
  readonly ledger: number
  /** The hash of its transaction. */
  readonly hash: string
  /** False for a failed transaction, which only a look-up by hash finds. */
  readonly listed: boolean
  /** The accounts that it affects. */
  readonly accounts: readonly string[]
  /** The offers that it names. */
  readonly offers: readonly bigint[]
}

/** What a ledger did to an offer: its state afterwards, or nothing if it was removed. */
export interface OfferChange {
  readonly ledger: number
  readonly id: bigint
  readonly record: AnyMembers | undefined
}

/** The documented members of each record, and those of the input that are never shown. Everything else is open. */
export const documented: Record<Kind | 'offer', readonly string[]> = {
  ledger: (
    'id paging_token hash prev_hash sequence transaction_count successful_transaction_count failed_transaction_count operation_count ' +
    'closed_at total_coins fee_pool base_fee_in_stroops base_reserve_in_stroops max_tx_set_size'
  ).split(' '),
  transaction: (
    'id paging_token hash ledger created_at account account_sequence max_fee fee_paid operation_count envelope_xdr result_xdr ' +
    'result_meta_xdr participants operations'
  ).split(' '),
  operation: 'id paging_token type type_i amount participants effects trades'.split(' '),
  effect: 'account paging_token type type_i'.split(' '),
  trade: (
    'id paging_token ledger_close_time offer_id base_offer_id counter_offer_id base_account base_amount base_asset_type base_asset_code ' +
    'base_asset_issuer counter_account counter_amount counter_asset_type counter_asset_code counter_asset_issuer base_is_seller price'
  ).split(' '),
  offer: 'id paging_token seller selling buying amount price_r price last_modified'.split(' '),
}
const inputOnly = { transaction: ['participants', 'operations'], operation: ['participants', 'effects', 'trades'] }
const accountMembers = ['account', 'funder', 'sender', 'receiver', 'from', 'to', 'into', 'trustor']
const paymentTypes = ['create_account', 'payment', 'path_payment', 'account_merge']

export const isPayment = (entry: ModelEntry): boolean => paymentTypes.includes(entry.record['type'])

/** The total order id of SEP-35. */
export const orderId = (ledger: number, transaction: number, operation: number): bigint =>
  (BigInt(ledger) << 32n) | (BigInt(transaction) << 12n) | BigInt(operation)

/** A value as it is read back: integers past 2^53 as bigint, every other number as a number. */
export function plain(value: unknown): unknown {
  if (value instanceof Digits) return /^-?[1-9]\d*$|^0$/.test(value.value) ? plain(BigInt(value.value)) : Number(value.value)
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (typeof value === 'number') return /^-?\d{16,}$/.test(String(value)) ? plain(BigInt(String(value))) : value === 0 ? 0 : value
  if (Array.isArray(value)) return value.map((item) => (item === undefined ? null : plain(item)))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).flatMap(([name, item]) => (item === undefined ? [] : [[name, plain(item)]])))
}

/** The input's members, overridden by the derived ones, without those that are never shown. */
const shown = (input: object, derived: AnyMembers, hidden: readonly string[] = []): AnyMembers => {
  const record = { ...(plain(input) as AnyMembers), ...derived }
  for (const name of hidden) delete record[name]
  return record
}

/** UTC with a Z; whole seconds unless the input carries a fraction. */
const utc = (time: string): string => {
  const fraction = time.match(/\.\d+/)?.[0] ?? ''
  return new Date(time).toISOString().replace(/\.\d+Z$/, `${fraction}Z`)
}

const ratio = (price: AnyMembers): AnyMembers => (price['n'] === undefined ? { n: price['N'], d: price['D'] } : price)
const names = (values: unknown[]): string[] => [
  ...new Set(values.filter((value): value is string => typeof value === 'string' && value !== '')),
]

const affectedBy = (operation: AnyMembers, source: string): string[] =>
  names([operation['source_account'] ?? source, ...accountMembers.map((name) => operation[name]), ...(operation['participants'] ?? [])])

/** Gives each item its own index, or the one after the previous. */
const numbered = (items: readonly AnyMembers[] = [], first: number): [index: number, item: AnyMembers][] => {
  let next = first
  return items.map((item) => {
    const index: number = item['index'] ?? next
    next = index + 1
    return [index, item]
  })
}

/** The records of a ledger, each kind in order of position. */
export function entriesOf(close: LedgerClose): ModelEntry[] {
  const ledger = close.ledger.sequence
  const closed = utc(close.ledger.closed_at)
  const entries: ModelEntry[] = []
  const common = { ledger, index: 0, hash: '', listed: true, accounts: [] as string[], offers: [] as bigint[] }
  const transactions = close.transactions ?? []

  for (const [t, transaction] of transactions.entries()) {
    const id = orderId(ledger, t + 1, 0)
    const hash = transaction.hash.toLowerCase()
    const inner = transaction.operations ?? []
    const failed = transaction.successful === false
    const record = shown(
      transaction,
      {
        id: hash,
        hash,
        paging_token: String(id),
        ledger,
        created_at: closed,
        account_sequence: BigInt(transaction.account_sequence),
        operation_count: transaction.operation_count ?? inner.length,
      },
      inputOnly.transaction,
    )
    const accounts = names([
      transaction.account,
      ...(transaction.participants ?? []),
      ...inner.flatMap((operation) => affectedBy(operation, transaction.account)),
    ])
    entries.push({ ...common, kind: 'transaction', record, token: String(id), id, hash, listed: !failed, accounts })
    if (failed) continue
    for (const [o, operation] of inner.entries()) {
      const place = orderId(ledger, t + 1, o + 1)
      entries.push(operationEntry(operation, place, { ...common, hash, accounts: affectedBy(operation, transaction.account) }))
      for (const [index, effect] of numbered(operation.effects, 1)) {
        const token = `${place}-${index}`
        const accounts = [effect['account']]
        entries.push({ ...common, kind: 'effect', record: shown(effect, { paging_token: token }), token, id: place, index, hash, accounts })
      }
      for (const [index, trade] of numbered(operation.trades, 0)) entries.push(tradeEntry(trade, place, index, closed, { ...common, hash }))
    }
  }
  return [ledgerEntry(close, closed, common), ...entries]
}

type Common = Omit<ModelEntry, 'kind' | 'record' | 'token' | 'id'>

function ledgerEntry({ ledger, transactions = [] }: LedgerClose, closed: string, common: Common): ModelEntry {
  const id = orderId(ledger.sequence, 0, 0)
  const hash = ledger.hash.toLowerCase()
  const good = transactions.filter((transaction) => transaction.successful !== false)
  const counts = {
    transaction_count: good.length,
    successful_transaction_count: good.length,
    failed_transaction_count: transactions.length - good.length,
    operation_count: good.reduce((sum, { operations = [] }) => sum + operations.length, 0),
  }
  const derived = { id: hash, hash, paging_token: String(id), prev_hash: (ledger.prev_hash ?? '').toLowerCase(), closed_at: closed }
  const given = plain(ledger) as AnyMembers
  return { ...common, kind: 'ledger', record: { ...counts, ...given, ...derived }, token: String(id), id }
}

function operationEntry(operation: AnyMembers, id: bigint, common: Common): ModelEntry {
  const derived: AnyMembers = { id, paging_token: String(id), type_i: operation['type_i'] ?? operationTypes[operation['type']] }
  if (paymentTypes.includes(operation['type'])) {
    if (operation['amount'] !== undefined && operation['type'] !== 'create_account') derived['amount'] = BigInt(operation['amount'])
    for (const name of ['amount_f', 'starting_balance'])
      if (typeof plain(operation[name]) === 'bigint') derived[name] = Number(operation[name])
  }
  return { ...common, kind: 'operation', record: shown(operation, derived, inputOnly.operation), token: String(id), id }
}

function tradeEntry(trade: AnyMembers, id: bigint, index: number, closed: string, common: Common): ModelEntry {
  const token = `${id}-${index}`
  const derived: AnyMembers = { id: token, paging_token: token, ledger_close_time: closed, price: plain(ratio(trade['price'])) }
  const named = ['offer_id', 'base_offer_id', 'counter_offer_id'].filter((name) => trade[name] !== undefined)
  for (const name of named) derived[name] = String(trade[name])
  const accounts = names([trade['base_account'], trade['counter_account']])
  const offers = named.map((name) => BigInt(trade[name]))
  return { ...common, kind: 'trade', record: shown(trade, derived), token, id, index, accounts, offers }
}

/** What a ledger did to the book: changes first, then removals. */
export function changesOf({ ledger, offers: { changed = [], removed = [] } = {} }: LedgerClose): OfferChange[] {
  const made = changed.map((offer) => {
    const id = BigInt(offer.id)
    const modified = utc(offer.last_modified ?? ledger.closed_at)
    const derived = { id, paging_token: String(id), price_r: plain(ratio(offer.price_r)), last_modified: modified }
    return { ledger: ledger.sequence, id, record: shown(offer, derived) }
  })
  return [...made, ...removed.map((id) => ({ ledger: ledger.sequence, id: BigInt(id), record: undefined }))]
}

/** The trade with its sides exchanged. */
export function turned(trade: AnyMembers): AnyMembers {
  const out: AnyMembers = {}
  for (const [name, value] of Object.entries(trade)) {
    if (name === 'base_is_seller') out[name] = !value
    else if (name === 'price') out[name] = { ...value, n: value.d, d: value.n }
    else out[name.replace(/^(base|counter)_/, (side) => (side === 'base_' ? 'counter_' : 'base_'))] = value
  }
  return out
}
