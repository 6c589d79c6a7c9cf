/** What tells a ledger store from an empty one and from those of other releases, before anything in it is read. */
import { equal } from '../bytes.ts'
import { FolioError, hasCode } from '../errors.ts'
import { checkFormat, fingerprint } from '../layout/head.ts'
import { CONTENT_KEYS, ERA, FORMAT, HEAD, HIGH_WATER } from '../layout/keys.ts'
import { corrupt, isSealed } from '../layout/seal.ts'
import { indexes, logs } from '../logs.ts'
import type { Store } from '../store.ts'

/** What this release writes into the format of a store. */
export const catalogueOf = (): string => fingerprint(logs, indexes)

/** Whether a store holds more than one that was emptied keeps: its high water and its era. Without a head, that is damage. */
export async function holdsRecords(store: Pick<Store, 'scan'>): Promise<boolean> {
  const { entries } = await store.scan(CONTENT_KEYS, { limit: 3 })
  return entries.some(([key]) => !equal(key, HIGH_WATER) && !equal(key, ERA))
}

/** Checks that a store without a head holds no records. @throws CORRUPT if it is the head that was lost */
export async function checkEmpty(store: Pick<Store, 'scan'>): Promise<void> {
  if (await holdsRecords(store)) throw corrupt(HEAD, 'the head is missing')
}

/**
 * Checks the format of a store. In a store of another release every value has that format; in one value alone it is damage.
 * @returns the network for which the store was made, if it was named
 * @throws STORE_FORMAT, STORE_CATALOGUE, CORRUPT
 */
export async function networkIn(store: Store, format: Uint8Array): Promise<string | undefined> {
  try {
    return checkFormat(format, catalogueOf())
  } catch (error) {
    if (hasCode(error, 'STORE_FORMAT') && (await holdsOwn(store)))
      throw corrupt(FORMAT, 'its format version is not that of the other values')
    throw error
  }
}

/** What a store without a format holds is somebody else's. */
export const foreign = (): FolioError =>
  new FolioError('STORE_FORMAT', { found: 'entries of something else', expected: 'a ledger store, or an empty one' })

/** More than a few damaged values at the beginning of a store are not expected. */
const WITNESSES = 8

/** Whether the head, or one of the first values, was sealed by this release. */
async function holdsOwn(store: Store): Promise<boolean> {
  const head = await store.get(HEAD)
  const { entries } = await store.scan(CONTENT_KEYS, { limit: WITNESSES })
  return [...(head ? [[HEAD, head] as const] : []), ...entries].some(([key, value]) => isSealed(key, value))
}
