/**
 * The catalogue: one row per query. A new endpoint is one row; routes, typed API, OpenAPI, docs and property tests follow from it.
 * The numbers on the right are the rows of the service document's endpoint table.
 */
import { list, one, type Query } from './query.ts'
import { accounts } from './resources/account.ts'
import { effects, effectsByAccount } from './resources/effect.ts'
import { ledgers } from './resources/ledger.ts'
import { offers } from './resources/offer.ts'
import { operations, operationsByAccount, payments, paymentsByAccount } from './resources/operation.ts'
import { tradeFilters as filters, trades, tradesByAccount, tradesByOffer } from './resources/trade.ts'
import { type failedTransactions, transactions, transactionsByAccount } from './resources/transaction.ts'

export const catalogue = {
  account: one('/accounts/{account}', accounts),
  ledger: one('/ledgers/{ledger}', ledgers), // 19
  transaction: one('/transactions/{hash}', transactions), // 18
  operation: one('/operations/{operation}', operations), // 20
  offer: one('/offers/{offer}', offers),

  ledgers: list('/ledgers', ledgers, { live: true }),
  transactions: list('/transactions', transactions, { live: true }), // 15
  operations: list('/operations', operations, { live: true }), // 16
  payments: list('/payments', operations, { by: payments, live: true }),
  effects: list('/effects', effects, { live: true }), // 17
  trades: list('/trades', trades, { filters, live: true }), // 1

  transactionsOfAccount: list('/accounts/{account}/transactions', transactions, { by: transactionsByAccount, live: true }), // 2
  operationsOfAccount: list('/accounts/{account}/operations', operations, { by: operationsByAccount, live: true }), // 7
  paymentsOfAccount: list('/accounts/{account}/payments', operations, { by: paymentsByAccount, live: true }), // 5
  effectsOfAccount: list('/accounts/{account}/effects', effects, { by: effectsByAccount, live: true }),
  tradesOfAccount: list('/accounts/{account}/trades', trades, { by: tradesByAccount, filters, live: true }), // 3
  offersOfAccount: list('/accounts/{account}/offers', offers, { missing: 'never', live: true }), // 6
  tradesOfOffer: list('/offers/{offer}/trades', trades, { by: tradesByOffer, filters, live: true }), // 4

  transactionsOfLedger: list('/ledgers/{ledger}/transactions', transactions), // 8
  operationsOfLedger: list('/ledgers/{ledger}/operations', operations),
  paymentsOfLedger: list('/ledgers/{ledger}/payments', operations, { by: payments }), // 14
  effectsOfLedger: list('/ledgers/{ledger}/effects', effects), // 11
  tradesOfLedger: list('/ledgers/{ledger}/trades', trades, { filters }),

  operationsOfTransaction: list('/transactions/{hash}/operations', operations), // 12
  paymentsOfTransaction: list('/transactions/{hash}/payments', operations, { by: payments }), // 13
  effectsOfTransaction: list('/transactions/{hash}/effects', effects, { missing: 'empty' }), // 9
  tradesOfTransaction: list('/transactions/{hash}/trades', trades, { filters }),

  effectsOfOperation: list('/operations/{operation}/effects', effects, { missing: 'empty' }), // 10
  tradesOfOperation: list('/operations/{operation}/trades', trades, { filters }),
} as const

/** Not `satisfies` on the constant itself: that would turn what each row says about its values into `any`. */
type Rows<C extends Readonly<Record<string, Query>>> = C
export type Catalogue = Rows<typeof catalogue>
export type QueryName = keyof Catalogue
/** The names of the resources whose records answers hold. A failed transaction is found by hash, like any other. */
export type RecordName = Catalogue[QueryName]['of']['name'] | (typeof failedTransactions)['name']
