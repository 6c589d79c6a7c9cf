import { openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { level } from 'ledger-folio/level'

const ledger = await openLedger(level('./data/example'))
await ledger.ingest(generate({ ledgers: 20, seed: 7 }))

// The backup is a store too. It takes what it lacks, while the ledger may go on reading and writing.
const backup = await openLedger(level('./data/backup'))
const from = backup.head && backup.head.last + 1
const { appended } = await backup.ingest(ledger.closes({ from }), { batch: 100 })

// Equal digests mean equal ledgers.
const held = { from: ledger.head!.oldest, to: backup.head!.last }
const isEqual = (await backup.digest(held)) === (await ledger.digest(held))
console.log(`${appended} ledgers copied; the backup ${isEqual ? 'is equal' : 'DIFFERS'}`)
await backup.close()
await ledger.close()
