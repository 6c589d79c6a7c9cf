/** Which network a store was made for, so that a copy of it can be made for the same one. */
import { text } from '../bytes.ts'
import { catalogueOf, networkIn } from '../ingest/identity.ts'
import { encodeFormat } from '../layout/head.ts'
import { FORMAT } from '../layout/keys.ts'
import { sumOf } from '../layout/seal.ts'
import { checkStore, type Store } from '../store.ts'

/**
 * The name of the network that a store keeps; undefined if it was given none.
 * @throws STORE_MISUSE if `store` is not a store, STORE_FORMAT, STORE_CATALOGUE, CORRUPT, CLOSED, STORE_FAILED
 */
export async function networkOf(store: Store): Promise<string | undefined> {
  checkStore(store)
  const format = await store.get(FORMAT)
  return format && networkIn(store, format)
}

/**
 * What a damaged format still tells of the network. The name was included in the checksum: if the format rebuilt from what can be read has the same
 * checksum, the damage lies elsewhere, and the name, or that there was none, is right.
 * @returns `known` is false if nothing can be told
 */
export function namedStill(format: Uint8Array = new Uint8Array(0)): { network?: string; known: boolean } {
  const [, named] = /"network":(".*")\}/s.exec(text(format)) ?? []
  for (const network of [nameIn(named), undefined])
    if (sumOf(encodeFormat(catalogueOf(), network)) === sumOf(format)) return { known: true, ...(network !== undefined && { network }) }
  return { known: false }
}

function nameIn(json = 'null'): string | undefined {
  try {
    return JSON.parse(json) ?? undefined
  } catch {
    return undefined
  }
}
