import cluster from 'node:cluster'
import { openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { serve } from 'ledger-folio/http'
import { lmdb } from 'ledger-folio/lmdb'

// Each process opens the same store. What one appends is noticed by the others within `pollMs`.
const ledger = await openLedger(lmdb('./data/shared'), { pollMs: 100 })

if (cluster.isPrimary) {
  // One writes …
  for (let n = 0; n < 2; n++) cluster.fork()
  await ledger.ingest(generate({ ledgers: 100, seed: 7 }))
} else {
  // … and the others serve, all on one port.
  const server = await serve(ledger, { port: 8000 })
  console.log(`${process.pid} serves ${server.url}`)
}
