/**
 * The current book as written: a live offer under its seller, the seller under the offer's id, and apart from both the last change of a pruned offer.
 */
import { encodeBlock } from '../layout/encode-block.ts'
import { encodeText } from '../layout/head.ts'
import { baseKey, bookKey, bookSellerKey } from '../layout/keys.ts'
import type { Row } from '../layout/row.ts'
import { splitId } from '../position.ts'
import type { Resource } from '../query.ts'
import { offerChanges, offers } from '../resources/offer.ts'
import type { Write } from '../store.ts'

/** A change of an offer as a block of one, under a position other than that of the change. */
const write = (key: Uint8Array, resource: Resource, row: Row, position: bigint): Write => [
  key,
  encodeBlock(key, resource, [{ ...row, ...splitId(position), index: 0 }]),
]

/**
 * The writes that bring an offer's book entries to what the change in `row` left of it, if anything.
 * @param held the seller under which the store has it, if it is there: an unchanged entry is not written again
 */
export function offerWrites(id: bigint, row: Row | undefined, held?: string): Write[] {
  const seller = row?.sides[offerChanges.columns.seller]
  const key = bookSellerKey(id)
  const writes: Write[] = []
  if (row) writes.push(write(bookKey(seller!, id), offers, row, id))
  if (held === seller) return writes
  if (held !== undefined) writes.push([bookKey(held, id), undefined])
  writes.push([key, seller === undefined ? undefined : encodeText(key, seller)])
  return writes
}

/** Keeps the last change of an offer below the oldest ledger; its position is replaced by the ordinal of the change. */
export const baseWrite = (id: bigint, row: Row, ordinal: number): Write => write(baseKey(id), offerChanges, row, BigInt(ordinal))
