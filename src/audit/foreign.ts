/** What is no ledger store of this release, told by its entries alone, so that it can be refused before anything is written to it. */
import { compare, equal } from '../bytes.ts'
import { FolioError } from '../errors.ts'
import { catalogueOf, foreign } from '../ingest/identity.ts'
import { checkFormat, decodeIntent } from '../layout/head.ts'
import { FORMAT, INTENT } from '../layout/keys.ts'
import { isSealed } from '../layout/seal.ts'
import type { Entry } from '../store.ts'

/**
 * Somebody else's database is no damaged store, and a repair would empty it; nor is it for this release to repair a store of another one, or a copy that
 * was cut short. To be asked before files are salvaged (`salvage` of `ledger-folio/level`); {@link repairStore} asks by itself.
 * @param entries all there are, in the order of their keys; no more of them are read than it takes. Damaged ones may be among them
 * @throws STORE_FORMAT if there are entries, and not one is of a ledger store of this release; STORE_CATALOGUE; STORE_INCOMPLETE
 */
export async function refuseForeign(entries: AsyncIterable<readonly Entry[]>): Promise<void> {
  let refusal: FolioError | undefined
  let isOwn = false
  for await (const part of entries)
    for (const [key, value] of part) {
      // Behind the intent, no entry says anything against a store that has one of ours.
      if (isOwn && compare(key, INTENT) > 0) return
      refusal ??= foreign()
      isOwn ||= isSealed(key, value)
      if (equal(key, FORMAT)) refusal = refusalOf(value) ?? refusal
      if (equal(key, INTENT) && isSealed(key, value) && 'copy' in decodeIntent(value)) throw new FolioError('STORE_INCOMPLETE')
    }
  if (refusal && !isOwn) throw refusal
}

/** What a format that is of another release says, if no entry is of this one. @throws STORE_CATALOGUE */
function refusalOf(format: Uint8Array): FolioError | undefined {
  try {
    checkFormat(format, catalogueOf())
  } catch (error) {
    if (!(error instanceof FolioError) || error.code === 'STORE_CATALOGUE') throw error
    if (error.code === 'STORE_FORMAT') return error
  }
  return undefined
}
