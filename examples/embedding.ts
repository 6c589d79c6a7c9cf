import { FolioError, type Ledger, openLedger } from 'ledger-folio'
import { serve } from 'ledger-folio/http'
import { level } from 'ledger-folio/level'

async function open(path: string): Promise<Ledger> {
  try {
    return await openLedger(level(path))
  } catch (error) {
    if (!(error instanceof FolioError)) throw error
    // Switch on `code`; `message` says what to do.
    if (error.code === 'STORE_LOCKED') throw new Error(`${path} is open elsewhere`, { cause: error })
    throw error
  }
}

const ledger = await open('./data/example')
const server = await serve(ledger, { port: 8000 })

// Close the server first, since responses in flight still read the ledger. Then close the ledger, which waits for an append in flight.
async function stop(): Promise<void> {
  await server.close()
  await ledger.close()
}
process.once('SIGINT', stop)
process.once('SIGTERM', stop)
