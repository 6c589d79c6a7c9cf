import { catalogue, isAccountDebited, isPaymentOperation, type Operation, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { memory } from 'ledger-folio/memory'

function told(operation: Operation): string {
  if (!isPaymentOperation(operation)) return operation.type
  switch (operation.type) {
    case 'payment':
      return `${operation.amount} of ${operation.asset.code} to ${operation.receiver}`
    case 'create_account':
      return `${operation.starting_balance} to the new ${operation.account}`
    // Of these two, what else they say is up to whoever supplies the ledgers.
    case 'path_payment':
    case 'account_merge':
      return `${operation.type} of ${operation.amount ?? 'an amount that it does not say'}`
  }
}

const ledger = await openLedger(memory())
await ledger.ingest(generate({ ledgers: 5, seed: 7 }))
for await (const operation of ledger.records(catalogue.payments, {})) console.log(told(operation))
for await (const effect of ledger.records(catalogue.effects, {}))
  if (isAccountDebited(effect)) console.log(effect.account, 'gave', effect.amount, effect.asset_type)
await ledger.close()
