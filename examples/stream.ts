import { catalogue, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { memory } from 'ledger-folio/memory'

const ledger = await openLedger(memory())
const closes = [...generate({ ledgers: 10, seed: 7 })]
const last = closes.at(-1)!.ledger.sequence

// A stream gives history, and then what every commit adds: each record once, in order, without end.
const following = (async () => {
  let seen = 0
  for await (const { sequence } of ledger.stream(catalogue.ledgers, {})) {
    seen++
    if (sequence === last) break // ends the stream; so does closing the ledger
  }
  return seen
})()

await ledger.ingest(closes)
console.log(`${await following} of ${closes.length} ledgers streamed`)
await ledger.close()
