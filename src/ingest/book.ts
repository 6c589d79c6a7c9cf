/**
 * The current book as it is written: a live offer under its seller, the seller under the offer's id, and apart from both the last change of an
 * offer that was pruned.
 */
import { encodeBlock } from '../layout/encode-block.ts'
import { encodeText } from '../layout/head.ts'
import { baseKey, bookKey, bookSellerKey } from '../layout/keys.ts'
import type { Row } from '../layout/row.ts'
import { seal } from '../layout/seal.ts'
import { splitId } from '../position.ts'
import type { Resource } from '../query.ts'
import { offerChanges, offers } from '../resources/offer.ts'
import type { Write } from '../store.ts'

/** A change of an offer as a block of one, with another position than that of the change. */
const write = (key: Uint8Array, resource: Resource<any>, row: Row, position: bigint): Write => [
  key,
  seal(key, encodeBlock(resource, [{ ...row, ...splitId(position), index: 0 }])),
]

/** Puts an offer into the book as the change in `row` left it. */
export function offerWrites(id: bigint, row: Row): Write[] {
  const seller = row.sides[0]!
  const key = bookSellerKey(id)
  return [write(bookKey(seller, id), offers, row, id), [key, seal(key, encodeText(seller))]]
}

/** Takes an offer out of the book. */
export const offerRemoval = (id: bigint, seller: string): Write[] => [
  [bookKey(seller, id), undefined],
  [bookSellerKey(id), undefined],
]

/** Keeps the last change of an offer below the oldest ledger; says in the place of its position which change it is. */
export const baseWrite = (id: bigint, row: Row, ordinal: number): Write => write(baseKey(id), offerChanges, row, BigInt(ordinal))
