/** Which network a store was made for, so that a copy of it can be made for the same one. */
import { checkFormat, fingerprint } from '../layout/head.ts'
import { FORMAT } from '../layout/keys.ts'
import { indexes, logs } from '../logs.ts'
import type { Store } from '../store.ts'

/**
 * The name of the network that a store keeps; undefined where it was given none.
 * @throws STORE_FORMAT, STORE_CATALOGUE, CORRUPT, CLOSED, STORE_FAILED
 */
export async function networkOf(store: Store): Promise<string | undefined> {
  const format = await store.get(FORMAT)
  return format && checkFormat(format, fingerprint(logs, indexes))
}
