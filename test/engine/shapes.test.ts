/** Records have the members that their types declare, with the declared types: the compiler checks one shape per record type. */
import { expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { closeChain } from '../../adapters/testing/arbitraries.ts'
import {
  type Account,
  type AccountCreated,
  type AccountDebited,
  type AccountMerge,
  type CreateAccount,
  catalogue,
  type Effect,
  type LedgerClose,
  type LedgerRecord,
  type Offer,
  type OfferAsset,
  type Operation,
  type PathPayment,
  type Payment,
  type SignerCreated,
  type Trade,
  type Transaction,
} from '../../src/index.ts'
import { ledgerOf } from '../support/benches.ts'
import { holds } from '../support/property.ts'

/** The members that a type names. */
type Named<R> = { [K in keyof R as string extends K ? never : number extends K ? never : K]: R[K] }
type KindOf<T> = T extends string
  ? 'string'
  : T extends number
    ? 'number'
    : T extends bigint
      ? 'bigint'
      : T extends boolean
        ? 'boolean'
        : Shape<T>
/** The type of each member as `typeof` gives it, in an array of one if it may be absent. */
type Shape<R> = {
  readonly [K in keyof Named<R>]-?: object extends Pick<Named<R>, K>
    ? readonly [KindOf<NonNullable<R[K & keyof R]>>]
    : KindOf<R[K & keyof R]>
}

const ledger: Shape<LedgerRecord> = {
  id: 'string',
  paging_token: 'string',
  hash: 'string',
  prev_hash: 'string',
  sequence: 'number',
  transaction_count: 'number',
  successful_transaction_count: 'number',
  failed_transaction_count: 'number',
  operation_count: 'number',
  closed_at: 'string',
  total_coins: 'string',
  fee_pool: 'string',
  base_fee_in_stroops: 'number',
  base_reserve_in_stroops: 'number',
  max_tx_set_size: 'number',
}
const transaction: Shape<Transaction> = {
  id: 'string',
  paging_token: 'string',
  hash: 'string',
  ledger: 'number',
  created_at: 'string',
  account: 'string',
  account_sequence: 'bigint',
  max_fee: 'number',
  fee_paid: 'number',
  operation_count: 'number',
  envelope_xdr: 'string',
  result_xdr: 'string',
  result_meta_xdr: 'string',
}
const operation: Shape<Operation> = { id: 'bigint', paging_token: 'string', type: 'string', type_i: 'number' }
const payment: Shape<Payment> = {
  ...operation,
  sender: 'string',
  receiver: 'string',
  asset: { code: 'string' },
  amount: 'bigint',
  amount_f: 'number',
}
const createAccount: Shape<CreateAccount> = { ...operation, account: 'string', funder: 'string', starting_balance: 'number' }
const asPaid = { sender: ['string'], receiver: ['string'], asset: [{ code: 'string' }], amount: ['bigint'], amount_f: ['number'] } as const
const pathPayment: Shape<PathPayment> = { ...operation, ...asPaid }
const accountMerge: Shape<AccountMerge> = { ...operation, ...asPaid }
const effect: Shape<Effect> = { account: 'string', paging_token: 'string', type: 'string', type_i: 'number' }
const accountCreated: Shape<AccountCreated> = { ...effect, starting_balance: 'string' }
const accountDebited: Shape<AccountDebited> = { ...effect, amount: 'string', asset_type: 'string' }
const signerCreated: Shape<SignerCreated> = { ...effect, public_key: 'string', weight: 'number' }
const ratio: Shape<Trade['price']> = { n: 'number', d: 'number' }
const trade: Shape<Trade> = {
  id: 'string',
  paging_token: 'string',
  ledger_close_time: 'string',
  offer_id: ['string'],
  base_offer_id: ['string'],
  counter_offer_id: ['string'],
  base_account: ['string'],
  base_amount: 'string',
  base_asset_type: 'string',
  base_asset_code: ['string'],
  base_asset_issuer: ['string'],
  counter_account: ['string'],
  counter_amount: 'string',
  counter_asset_type: 'string',
  counter_asset_code: ['string'],
  counter_asset_issuer: ['string'],
  base_is_seller: 'boolean',
  price: ratio,
}
const asset: Shape<OfferAsset> = { asset_type: 'string', asset_code: ['string'], asset_issuer: ['string'] }
const offer: Shape<Offer> = {
  id: 'bigint',
  paging_token: 'string',
  seller: 'string',
  selling: asset,
  buying: asset,
  amount: 'string',
  price_r: ratio,
  price: 'string',
  last_modified: 'string',
}
const account: Shape<Account> = { id: 'string' }

/** How a value differs from a shape. */
function differences(shape: object, value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [`${path} is ${value}`]
  return Object.entries(shape).flatMap(([name, kind]) => {
    const [at, held] = [`${path}.${name}`, (value as Record<string, unknown>)[name]]
    if (Array.isArray(kind) && held === undefined) return []
    const wanted = Array.isArray(kind) ? kind[0] : kind
    if (typeof wanted === 'object') return differences(wanted, held, at)
    return typeof held === wanted ? [] : [`${at} is a ${typeof held}, not a ${wanted}`]
  })
}

/** What a type makes of a record, beyond what each of its kind is. */
const ofTypes: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  operation: { payment, create_account: createAccount, path_payment: pathPayment, account_merge: accountMerge },
  effect: { account_created: accountCreated, account_debited: accountDebited, signer_created: signerCreated },
}

const shapeOf = (kind: string, type: string): object =>
  new Map(Object.entries(ofTypes[kind] ?? {})).get(type) ?? { ledger, transaction, operation, effect, trade, offer, account }[kind]!

/** Reads everything, in every way that gives typed records; returns what differs, and the shapes that were met. */
async function walk(closes: readonly LedgerClose[]): Promise<{ wrong: string[]; met: Set<object> }> {
  const held = await ledgerOf(closes)
  const wrong: string[] = []
  const met = new Set<object>()
  const look = (kind: string, record: any): void => {
    const shape = shapeOf(kind, record?.type)
    met.add(shape)
    wrong.push(...differences(shape, record, kind))
  }
  const { ledgers, transactions, operations, effects, trades } = catalogue
  for (const query of [ledgers, transactions, operations, effects, trades])
    for await (const record of held.records(query as typeof ledgers, {})) look(query.of.name, record)
  for await (const { id } of held.records(operations, {})) look('operation', await held.get(catalogue.operation, { operation: id }))
  const all = closes.flatMap(({ transactions = [] }) => transactions)
  for (const { hash } of all) look('transaction', await held.get(catalogue.transaction, { hash }))
  const sellers = closes.flatMap(({ offers }) => offers?.changed ?? []).map(({ seller }) => seller)
  for (const seller of new Set(sellers)) {
    look('account', await held.get(catalogue.account, { account: seller }))
    for await (const found of held.records(catalogue.offersOfAccount, { account: seller })) {
      look('offer', found)
      look('offer', await held.get(catalogue.offer, { offer: found.id }))
    }
  }
  await held.close()
  return { wrong, met }
}

test('records of a lifelike network have their declared shapes, and every shape occurs', async () => {
  const { wrong, met } = await walk([...generate({ ledgers: 40, seed: 7 })])
  expect(wrong).toEqual([])
  const plain = [ledger, transaction, operation, effect, trade, offer, account]
  expect(met).toEqual(new Set([...plain, ...Object.values(ofTypes).flatMap(Object.values)]))
})

test('records of any network have their declared shapes', () =>
  holds(closeChain, 60, async (closes) => {
    expect((await walk(closes)).wrong).toEqual([])
  }))

test('a shape that differs from its type does not compile, and a record of another shape is found out', () => {
  // @ts-expect-error: a number in the type
  const wrong: Shape<CreateAccount> = { ...createAccount, starting_balance: 'bigint' }
  expect(differences(wrong, { id: 7n, paging_token: '7', type: 'x', type_i: 0, account: 'G', starting_balance: 1 }, 'it')).toEqual([
    'it.funder is a undefined, not a string',
    'it.starting_balance is a number, not a bigint',
  ])
  expect(differences(offer, { ...Object.fromEntries(Object.keys(offer).map((name) => [name, '7'])), id: 7n }, 'it')).toEqual([
    'it.selling is 7',
    'it.buying is 7',
    'it.price_r is 7',
  ])
})
