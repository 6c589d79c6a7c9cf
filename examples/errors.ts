import { FolioError, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { memory } from 'ledger-folio/memory'

const ledger = await openLedger(memory())
const [first, , third] = generate({ ledgers: 3, seed: 7 })
await ledger.append(first!)
try {
  await ledger.append(third!)
} catch (error) {
  if (!(error instanceof FolioError)) throw error
  // Switch on `code`; `fields` say what and where, `message` says what to do.
  console.log(error.code, error.fields, error.message)
}
await ledger.close()
