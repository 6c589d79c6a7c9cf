/** What a query is asked with is typed by its row: what is missing, misspelt or of another type does not compile. */
import { expectTypeOf, test } from 'vitest'
import { catalogue, type Ledger, type Operation } from '../src/index.ts'

declare const ledger: Ledger

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

test('calls compile, or do not, as their rows say', () => {
  expectTypeOf(calls).returns.toBeVoid()
})
