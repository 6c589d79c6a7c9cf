import { copyStore, isVacant, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { level } from 'ledger-folio/level'

const store = await level('./data/example')
const ledger = await openLedger(store)
await ledger.ingest(generate({ ledgers: 20, seed: 7 }))

// The first time, everything is copied, as it is at one moment. The ledger may go on reading and writing.
const target = await level('./data/backup')
if (await isVacant(target)) await copyStore(store, target)

// The backup is a store too. From then on, it takes the ledgers that it lacks.
const backup = await openLedger(target)
const from = backup.head && backup.head.last + 1
await backup.ingest(ledger.closes({ from }), { batch: 100 })

// Equal digests mean equal ledgers.
const held = { from: ledger.head!.oldest, to: backup.head!.last }
const isEqual = (await backup.digest(held)) === (await ledger.digest(held))
console.log(`the backup of ledgers ${held.from} to ${held.to} ${isEqual ? 'is equal' : 'DIFFERS'}`)
await backup.close()
await ledger.close()
