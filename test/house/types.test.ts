/** The parameters of a query are typed by its row: what is missing, misspelt or of another type does not compile. */
import { expect, expectTypeOf, test } from 'vitest'
import type { GenerateOptions } from '../../adapters/generate/index.ts'
import type { CoreOptions, CoreRequest, HandlerOptions, Limits, ListenerOptions, ServeOptions } from '../../adapters/http/index.ts'
import type { FilesOptions, LevelOptions, SalvageOptions } from '../../adapters/level/index.ts'
import type { LmdbOptions } from '../../adapters/lmdb/index.ts'
import type { IngestClosesOptions, ReadClosesOptions } from '../../adapters/ndjson/index.ts'
import type { PagingOptions, ServiceOptions } from '../../adapters/testing/index.ts'
import {
  type AppendOptions,
  catalogue,
  type Effect,
  type EffectInput,
  type IngestOptions,
  isAccountCreated,
  isAccountDebited,
  isAccountMerge,
  isCreateAccount,
  isPathPayment,
  isPayment,
  isPaymentOperation,
  isSignerCreated,
  type Ledger,
  type LedgerClose,
  type LedgerInput,
  type LedgerOptions,
  type LedgerRange,
  type LedgerRecord,
  type List,
  type NdjsonOptions,
  type OfferChanges,
  type OfferInput,
  type Operation,
  type OperationInput,
  type PageOptions,
  type PaymentOperation,
  paymentTypes,
  type RecordOf,
  type RepairOptions,
  type StreamOptions,
  type Trade,
  type TradeFilter,
  type TradeInput,
  type TransactionInput,
  type ValuesOf,
  type VerifyOptions,
} from '../../src/index.ts'
import { list } from '../../src/query.ts'
import { effects, effectsByAccount } from '../../src/resources/effect.ts'
import { offers } from '../../src/resources/offer.ts'
import { operations, payments } from '../../src/resources/operation.ts'
import { trades, tradesByOffer } from '../../src/resources/trade.ts'

declare const ledger: Ledger

/** Rows of the catalogue: none compiles whose values would not all be looked up. */
function rows(): void {
  list('/ledgers/{ledger}/effects', effects)
  list('/accounts/{account}/effects', effects, { by: effectsByAccount, live: true })
  list('/accounts/{account}/ledgers/{ledger}/effects', effects, { by: effectsByAccount })
  list('/accounts/{account}/offers', offers)
  // @ts-expect-error: no index by account
  list('/accounts/{account}/effects', effects)
  // @ts-expect-error: no index by account
  list('/accounts/{account}/payments', operations, { by: payments, live: true })
  // @ts-expect-error: an index by offer
  list('/accounts/{account}/trades', trades, { by: tradesByOffer })
  // @ts-expect-error: no offer in the path
  list('/ledgers/{ledger}/trades', trades, { by: tradesByOffer })
  // @ts-expect-error: no such parameter
  list('/accounts/{acount}/effects', effects)
  // @ts-expect-error: an index of another log
  list('/accounts/{account}/trades', trades, { by: effectsByAccount })
}

// Never called: that it compiles, and that each line marked so does not, is the test; `npx tsc -p .` runs it.
function calls(): void {
  expectTypeOf(ledger.page(catalogue.transactions, {})).resolves.toHaveProperty('records')
  expectTypeOf(ledger.records(catalogue.paymentsOfAccount, { account: 'G' })).toExtend<AsyncIterable<Operation>>()
  void ledger.page(catalogue.operationsOfLedger, { ledger: 7 }, { limit: 1 })
  void ledger.page(catalogue.trades, { offer_id: 7n })
  void ledger.page(catalogue.tradesOfAccount, { account: 'G' })
  void ledger.get(catalogue.operation, { operation: 7n })
  // @ts-expect-error: no account
  void ledger.page(catalogue.paymentsOfAccount, {})
  // @ts-expect-error: no such value
  void ledger.page(catalogue.paymentsOfAccount, { acount: 'G' })
  // @ts-expect-error: a ledger is a number
  void ledger.page(catalogue.transactionsOfLedger, { ledger: '7' })
  // @ts-expect-error: this listing is of no account
  void ledger.page(catalogue.transactions, { account: 'G' })
  // @ts-expect-error: an offer is a bigint
  void ledger.page(catalogue.tradesOfOffer, { offer: '7' })
  // @ts-expect-error: no filter of trades
  void ledger.page(catalogue.trades, { account: 'G' })
  // @ts-expect-error: what a ledger holds never grows
  void ledger.stream(catalogue.operationsOfLedger, { ledger: 7 })
  // @ts-expect-error: a hash is text
  void ledger.get(catalogue.transaction, { hash: 7n })
}

/** Functions for any list: what they read has the type of its row. */
async function anyList<R, V>(query: List<R, V>, values: V): Promise<readonly R[]> {
  for await (const record of ledger.records(query, values)) return [record]
  return (await ledger.page(query, values)).records
}
const anyStream = <R, V>(query: List<R, V, true>, values: V): AsyncIterable<R> => ledger.stream(query, values)
async function anyRow<Q extends List>(query: Q, values: ValuesOf<Q>): Promise<readonly RecordOf<Q>[]> {
  // @ts-expect-error: of a row that is a type parameter itself, records are unknown
  return (await ledger.page(query, values)).records
}

function generic(): void {
  expectTypeOf(anyList(catalogue.paymentsOfAccount, { account: 'G' })).resolves.toEqualTypeOf<readonly Operation[]>()
  expectTypeOf(anyList(catalogue.trades, { offer_id: 7n })).resolves.toEqualTypeOf<readonly Trade[]>()
  expectTypeOf(anyStream(catalogue.ledgers, {})).toEqualTypeOf<AsyncIterable<LedgerRecord>>()
  void anyRow(catalogue.trades, { offer_id: 7n })
  // @ts-expect-error: no account
  void anyList(catalogue.paymentsOfAccount, {})
  // @ts-expect-error: what a ledger holds never grows
  void anyStream(catalogue.operationsOfLedger, { ledger: 7 })
}

/** What a program has that was given some options, or none. */
type Maybe<T> = { readonly [N in keyof Required<T>]: Required<T>[N] | undefined }

function options(): void {
  expectTypeOf<Maybe<PageOptions>>().toExtend<PageOptions>()
  expectTypeOf<Maybe<NdjsonOptions>>().toExtend<NdjsonOptions>()
  expectTypeOf<Maybe<StreamOptions>>().toExtend<StreamOptions>()
  expectTypeOf<Maybe<LedgerOptions>>().toExtend<LedgerOptions>()
  expectTypeOf<Maybe<IngestOptions>>().toExtend<IngestOptions>()
  expectTypeOf<Maybe<AppendOptions>>().toExtend<AppendOptions>()
  expectTypeOf<Maybe<LedgerRange>>().toExtend<LedgerRange>()
  expectTypeOf<Maybe<VerifyOptions>>().toExtend<VerifyOptions>()
  expectTypeOf<Maybe<RepairOptions>>().toExtend<RepairOptions>()
  expectTypeOf<Maybe<LevelOptions>>().toExtend<LevelOptions>()
  expectTypeOf<Maybe<FilesOptions>>().toExtend<FilesOptions>()
  expectTypeOf<Maybe<SalvageOptions>>().toExtend<SalvageOptions>()
  expectTypeOf<Maybe<LmdbOptions>>().toExtend<LmdbOptions>()
  expectTypeOf<Maybe<CoreOptions>>().toExtend<CoreOptions>()
  expectTypeOf<Maybe<Limits>>().toExtend<Limits>()
  expectTypeOf<Maybe<HandlerOptions>>().toExtend<HandlerOptions>()
  expectTypeOf<Maybe<ListenerOptions>>().toExtend<ListenerOptions>()
  expectTypeOf<Maybe<Omit<ServeOptions, 'port'>>>().toExtend<Omit<ServeOptions, 'port'>>()
  expectTypeOf<Maybe<Pick<CoreRequest, 'scheme' | 'mount'>>>().toExtend<Pick<CoreRequest, 'scheme' | 'mount'>>()
  expectTypeOf<Maybe<TradeFilter>>().toExtend<TradeFilter>()
  expectTypeOf<Maybe<ReadClosesOptions>>().toExtend<ReadClosesOptions>()
  expectTypeOf<Maybe<IngestClosesOptions>>().toExtend<IngestClosesOptions>()
  expectTypeOf<Maybe<Omit<GenerateOptions, 'ledgers' | 'seed'>>>().toExtend<Omit<GenerateOptions, 'ledgers' | 'seed'>>()
  expectTypeOf<Maybe<ServiceOptions>>().toExtend<ServiceOptions>()
  expectTypeOf<Maybe<PagingOptions>>().toExtend<PagingOptions>()
}

/** The named members of a record that goes in; those that may be absent are undefined. */
type Sparse<T> = { readonly [N in keyof T as string extends N ? never : N]: Partial<Pick<T, N>> extends Pick<T, N> ? undefined : T[N] }

function inputs(): void {
  expectTypeOf<Sparse<LedgerClose>>().toExtend<LedgerClose>()
  expectTypeOf<Sparse<OfferChanges>>().toExtend<OfferChanges>()
  expectTypeOf<Sparse<LedgerInput>>().toExtend<LedgerInput>()
  expectTypeOf<Sparse<TransactionInput>>().toExtend<TransactionInput>()
  expectTypeOf<Sparse<OperationInput>>().toExtend<OperationInput>()
  expectTypeOf<Sparse<EffectInput>>().toExtend<EffectInput>()
  expectTypeOf<Sparse<TradeInput>>().toExtend<TradeInput>()
  expectTypeOf<Sparse<OfferInput>>().toExtend<OfferInput>()
}

test('functions for any list compile, and give its records', () => {
  expectTypeOf(generic).returns.toBeVoid()
})

test('a member of a close that is undefined compiles like one that is absent', () => {
  expectTypeOf(inputs).returns.toBeVoid()
})

test('an option that is undefined compiles like one that is absent', () => {
  expectTypeOf(options).returns.toBeVoid()
})

test('guards give operations the types of their members', () => {
  const operation = (type: string, more: object): Operation => ({ id: 1n, paging_token: '1', type, type_i: 1, ...more })
  const sums = [
    operation('payment', { amount: 35n, asset: { code: 'XLM' } }),
    operation('create_account', { starting_balance: 2 }),
    operation('inflation', {}),
  ].map((one) => {
    if (isPayment(one)) {
      expectTypeOf(one.amount).toEqualTypeOf<bigint>()
      expectTypeOf(one.asset.code).toEqualTypeOf<string>()
      return one.amount
    }
    if (!isCreateAccount(one)) return undefined
    expectTypeOf(one.starting_balance).toEqualTypeOf<number>()
    return one.starting_balance
  })
  expect(sums).toEqual([35n, 2, undefined])
})

test('what listings of payments show is narrowed by its type, and every type of payments is one of them', () => {
  const operation = (type: string): Operation => ({ id: 1n, paging_token: '1', type, type_i: 1 })
  expectTypeOf<PaymentOperation['type']>().toEqualTypeOf<'create_account' | 'payment' | 'path_payment' | 'account_merge'>()
  for (const type of paymentTypes) expect([type, isPaymentOperation(operation(type))]).toEqual([type, true])
  expect(isPaymentOperation(operation('inflation'))).toBe(false)
  const guards = [isCreateAccount, isPayment, isPathPayment, isAccountMerge]
  expect([...paymentTypes].map((type) => guards.map((is) => is(operation(type))).indexOf(true))).toEqual([0, 1, 2, 3])
  const one = operation('path_payment')
  if (!isPaymentOperation(one)) throw new Error('it is one')
  if (one.type === 'payment') expectTypeOf(one.amount).toEqualTypeOf<bigint>()
  else if (one.type === 'create_account') expectTypeOf(one.funder).toEqualTypeOf<string>()
  else {
    expectTypeOf(one.amount).toEqualTypeOf<bigint | undefined>()
    expectTypeOf(one.amount_f).toEqualTypeOf<number | undefined>()
    expectTypeOf(one.sender).toEqualTypeOf<string | undefined>()
    expectTypeOf(one.asset?.code).toEqualTypeOf<string | undefined>()
  }
})

test('guards give effects the types of their members', () => {
  const effect = (type: string): Effect => ({ account: 'G', paging_token: '1-1', type, type_i: 1, amount: '3', weight: 2 })
  const found = ['account_created', 'account_debited', 'signer_created', 'trade'].map((type) => {
    const one = effect(type)
    if (isAccountCreated(one)) expectTypeOf(one.starting_balance).toEqualTypeOf<string>()
    if (isAccountDebited(one)) {
      expectTypeOf(one.asset_type).toEqualTypeOf<string>()
      return one.amount
    }
    if (!isSignerCreated(one)) return isAccountCreated(one)
    expectTypeOf(one.public_key).toEqualTypeOf<string>()
    return one.weight
  })
  expect(found).toEqual([true, '3', 2, false])
})

test('rows compile if every parameter of their paths is looked up', () => {
  expectTypeOf(rows).returns.toBeVoid()
})

test('calls compile, or do not, as their rows say', () => {
  expectTypeOf(calls).returns.toBeVoid()
})
