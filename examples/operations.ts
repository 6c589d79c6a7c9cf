import { catalogue, isCreateAccount, isPayment, type Operation, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { memory } from 'ledger-folio/memory'

function told(operation: Operation): string {
  if (isPayment(operation)) return `${operation.amount} of ${operation.asset.code} to ${operation.receiver}`
  if (isCreateAccount(operation)) return `${operation.starting_balance} to the new ${operation.account}`
  return operation.type
}

const ledger = await openLedger(memory())
await ledger.ingest(generate({ ledgers: 5, seed: 7 }))
for await (const operation of ledger.records(catalogue.payments, {})) console.log(told(operation))
await ledger.close()
