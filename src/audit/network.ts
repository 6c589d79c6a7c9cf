/** Which network a store was made for, so that a copy of it can be made for the same one. */
import { networkIn } from '../ingest/identity.ts'
import { FORMAT } from '../layout/keys.ts'
import { checkStore, ofStore, type Store } from '../store.ts'

/**
 * The name of the network that a store keeps; undefined if it was given none.
 * @throws STORE_MISUSE if `store` is not a store, STORE_FORMAT, STORE_CATALOGUE, CORRUPT, CLOSED, STORE_FAILED
 */
export async function networkOf(store: Store): Promise<string | undefined> {
  checkStore(store)
  const format = await store.get(FORMAT)
  return format && networkIn(store, format).catch(ofStore(store))
}
