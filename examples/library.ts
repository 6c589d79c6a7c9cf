import { catalogue, isPayment, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { level } from 'ledger-folio/level'

// Open a ledger over a store. `await ledger.close()` closes it; so does `await using`, where it is compiled or Node is 24 or later.
const ledger = await openLedger(level('./data/example'))

// Each append is one atomic, durable batch. Appending the newest ledger again is a no-op.
for (const close of generate({ ledgers: 20, seed: 7 })) await ledger.append(close)

// Queries return pages of typed records; 64-bit integers are bigints.
const page = await ledger.page(catalogue.transactions, {}, { order: 'desc', limit: 3 })
for (const { ledger: sequence, account, account_sequence } of page.records) console.log(sequence, account, account_sequence)

// The cursor of a page continues the listing, today or in a year.
const older = await ledger.page(catalogue.transactions, {}, { order: 'desc', limit: 3, cursor: page.next })
console.log(older.records.length, 'more, then', older.ended)

// The row of the catalogue types path parameters and filters. A guard narrows an operation, so that its members are typed.
const newest = await ledger.page(catalogue.payments, {}, { order: 'desc' })
const { sender: account } = newest.records.find(isPayment)!
for await (const operation of ledger.records(catalogue.paymentsOfAccount, { account }))
  if (isPayment(operation)) console.log(operation.sender, 'paid', operation.amount, operation.asset.code, 'to', operation.receiver)

console.log(await ledger.get(catalogue.ledger, { ledger: ledger.head!.last }))
await ledger.close()
