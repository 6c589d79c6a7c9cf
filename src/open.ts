/** Opening: what lies in the store is checked before anything is read from it. */
import { FolioError } from './errors.ts'
import { checkFormat, encodeFormat, fingerprint } from './layout/head.ts'
import { FORMAT, HEAD } from './layout/keys.ts'
import { corrupt } from './layout/seal.ts'
import { Ledger } from './ledger.ts'
import { indexes, logs } from './logs.ts'
import type { LedgerOptions } from './options.ts'
import type { MaybePromise, Store } from './store.ts'

/**
 * Opens a ledger over a store, creating it where the store is empty.
 * @throws STORE_FORMAT, STORE_CATALOGUE, STORE_NETWORK, STORE_WENT_BACK, STORE_UNREPAIRED, CORRUPT, and what opening the store throws
 */
export async function openLedger(store: MaybePromise<Store>, options: LedgerOptions = {}): Promise<Ledger> {
  const opened = await store
  try {
    const catalogue = fingerprint(logs, indexes)
    const format = await opened.get(FORMAT)
    const head = await opened.get(HEAD)
    if (!format && head) throw corrupt(FORMAT, 'the format of the store is missing')
    const { network } = options
    const found = format && checkFormat(format, catalogue)
    if (network !== undefined && found !== undefined && found !== network)
      throw new FolioError('STORE_NETWORK', { found, expected: network })
    if (!format || (network !== undefined && found === undefined))
      await opened.write([[FORMAT, encodeFormat(catalogue, network)]], { durable: true })
    const ledger = new Ledger(opened, head, options)
    await ledger.load()
    return ledger
  } catch (error) {
    await opened.close()
    throw error
  }
}
