import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { catalogue, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { memory } from 'ledger-folio/memory'

const ledger = await openLedger(memory())
await ledger.ingest(generate({ ledgers: 10, seed: 7 }))

// Chunks of up to 200 lines. The file sets the pace.
async function* payments() {
  for await (const { bytes } of ledger.ndjson(catalogue.payments, {})) yield bytes
}
await pipeline(payments, createWriteStream('payments.ndjson'))

// Each chunk says how many records it holds, and which cursor continues after it.
for await (const { bytes, count, next } of ledger.ndjson(catalogue.payments, {}, { limit: 20 })) console.log(bytes.length, count, next)
await ledger.close()
