import { setTimeout as delay } from 'node:timers/promises'
import { FolioError, type Ledger, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { level } from 'ledger-folio/level'

let ledger: Ledger | undefined

/** Calls with the open ledger, and again where that can help. */
async function withLedger<T>(call: (ledger: Ledger) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      ledger ??= await openLedger(level('./data/again'))
      return await call(ledger)
    } catch (error) {
      if (!(error instanceof FolioError && error.retry) || tries === 10) throw error
      console.log(error.code, error.recovery)
      // The handle will say the same for ever; a new one may not.
      if (error.recovery === 'reopen') {
        await ledger?.close().catch(() => {})
        ledger = undefined
      }
      await delay(100 * tries)
    }
  }
}

// Somebody else has the directory open for a moment: STORE_LOCKED, so wait.
const other = await openLedger(level('./data/again'))
setTimeout(() => void other.close(), 50)
const closes = [...generate({ ledgers: 20, seed: 7 })]
await withLedger((open) => open.ingest(closes))

// A closed ledger stays closed: CLOSED, so open it again.
await ledger!.close()
console.log('holds ledgers to', await withLedger(async (open) => open.head?.last))
console.log('digest', await withLedger((open) => open.digest()))
await ledger!.close()
