/** What a service is made of, checked where it is given: over what is no ledger, it would answer every request with a defect. */
import { FolioError, isPromise, type Ledger } from '../../src/index.ts'

/** A ledger and options, whatever the types said. @throws BAD_REQUEST naming what is at fault, and what was found in its place */
export function checkGiven(ledger: Ledger, options: object): void {
  if (!isLedger(ledger))
    throw new FolioError('BAD_REQUEST', { field: 'ledger', reason: 'a ledger, such as openLedger gives', found: nameOf(ledger) })
  if (typeof options !== 'object' || options === null)
    throw new FolioError('BAD_REQUEST', { field: 'options', reason: 'an object', found: nameOf(options) })
}

const isLedger = (given: Partial<Ledger> | null | undefined): boolean =>
  typeof given?.read === 'function' && typeof given.readOne === 'function'

function nameOf(given: unknown): string {
  if (given === null || given === undefined) return String(given)
  if (isPromise(given)) return 'a promise, which is to be awaited'
  if (typeof (given as { scan?: unknown }).scan === 'function') return 'a store, which is to be opened with openLedger'
  return typeof given
}
