import { openLedger } from 'ledger-folio'
import { level } from 'ledger-folio/level'
import { ingestCloses, readCloses } from 'ledger-folio/ndjson'

const ledger = await openLedger(level('./data/files'))

// Files, plain or gzip, and streams of bytes, one after the other: `folio generate … > closes.ndjson` makes such a file.
const closes = readCloses(['closes.ndjson'])
const { appended, known, last } = await ingestCloses(ledger, closes, {
  // Ledgers a durable write: more are faster, and a crash loses at most so many. Those are read again next time, and what is held is passed over.
  batch: 100,
  onLedger: ({ sequence }) => {
    if (sequence % 1000 === 0) console.log(`at ledger ${sequence}`)
  },
})
console.log(`${appended} ledgers appended, ${known} were there already, up to ${last}`)
await ledger.close()
