import { catalogue, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { memory } from 'ledger-folio/memory'

const ledger = await openLedger(memory())
const closes = generate({ ledgers: 10, seed: 7 })

// A stream replays history, then follows every commit: each record once, in order, until it is closed.
const seen = (async () => {
  let effects = 0
  for await (const _ of ledger.stream(catalogue.effects, {})) effects++
  return effects
})()

await ledger.ingest(closes)
let all = 0
for await (const _ of ledger.records(catalogue.effects, {})) all++
await ledger.close() // ends the stream
console.log(`${await seen} of ${all} effects streamed`)
