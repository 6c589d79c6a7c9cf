import { openLedger } from 'ledger-folio'
import { level } from 'ledger-folio/level'
import { ingestCloses, readCloses } from 'ledger-folio/ndjson'

const ledger = await openLedger(level('./data/files'))

// Reads plain or gzip files and byte streams, one after the other. `folio generate … > closes.ndjson` makes such a file.
const closes = readCloses(['closes.ndjson'])
const { appended, known, last } = await ingestCloses(ledger, closes, {
  // Called for each ledger, once it is on stable storage. After a crash, the next run skips the ledgers that are held.
  onLedger: ({ sequence }) => {
    if (sequence % 1000 === 0) console.log(`at ledger ${sequence}`)
  },
})
console.log(`${appended} ledgers appended, ${known} were there already, up to ${last}`)
await ledger.close()
