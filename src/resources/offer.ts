/** Offers: the current book, and the log of changes that made it. Token of a book entry: the offer id. */
import type { TSchema } from 'typebox'
import { type KeyIndex, resource } from '../query.ts'
import { Form } from '../text/form.ts'
import { write } from '../text/writer.ts'
import { checkAsset } from './asset.ts'
import { compose, Encoded, priceOf, type Spot, utc } from './encode.ts'
import {
  amount,
  array,
  assetType,
  closedObject,
  type Int64Input,
  int64,
  int64Text,
  object,
  optional,
  price,
  text,
  timestamp,
} from './schema.ts'

export interface OfferAsset {
  readonly asset_type: string
  readonly asset_code?: string
  readonly asset_issuer?: string
  readonly [open: string]: unknown
}

/** An offer of the current book. */
export interface Offer {
  readonly id: bigint
  readonly paging_token: string
  readonly seller: string
  readonly selling: OfferAsset
  readonly buying: OfferAsset
  readonly amount: string
  readonly price_r: { readonly n: number; readonly d: number }
  readonly price: string
  readonly last_modified: string
  readonly [open: string]: unknown
}

/** The state of an offer after a ledger. `last_modified` is the time of that ledger if absent. */
export interface OfferInput {
  readonly id: Int64Input
  readonly seller: string
  readonly selling: OfferAsset
  readonly buying: OfferAsset
  readonly amount: string
  readonly price_r: { readonly n: number; readonly d: number } | { readonly N: number; readonly D: number }
  readonly price: string
  readonly last_modified?: string | undefined
  readonly [open: string]: unknown
}

const asset = object({ asset_type: assetType, asset_code: optional(text), asset_issuer: optional(text) })

const offerSchema = object({
  id: int64,
  seller: text,
  selling: asset,
  buying: asset,
  amount,
  price_r: price,
  price: amount,
  last_modified: optional(timestamp),
  paging_token: optional(text),
})

export const offersSchema: TSchema = closedObject({ changed: optional(array(offerSchema)), removed: optional(array(int64)) })

/** The current book: one entry per live offer, kept by seller and id. */
export const offers = resource({
  name: 'offer',
  kept: 'state',
  tag: 0,
  shift: 0,
  indexed: false,
  columns: { seller: 0, id: 1, ledger: 2, created_at: 3 },
  decode(members: any, { id }): Offer {
    members.id = id
    return members
  },
})

/** Every change of an offer, in order: the whole offer as it was afterwards, or nothing if it was removed. */
export const offerChanges = resource({ ...offers, name: 'offer change', kept: 'log', tag: 7, shift: 4 })

export const changesByOffer: KeyIndex<Offer, 'offer'> = {
  name: 'offer',
  of: offerChanges,
  tag: 10,
  column: 'offer',
  bySides: true,
  keys: (_record, sides) => [[BigInt(sides[offerChanges.columns.id]!)]],
}
export const changesBySeller: KeyIndex<Offer, 'account'> = {
  name: 'seller',
  of: offerChanges,
  tag: 11,
  column: 'account',
  bySides: true,
  keys: (_record, sides) => (sides[offerChanges.columns.seller] ? [[sides[offerChanges.columns.seller]!]] : []),
}

const form = new Form(['paging_token'], ['id', 'price_r', 'last_modified'])

/** The state of an offer after a change. */
export function encodeOffer(input: OfferInput, spot: Spot): Encoded {
  const { last_modified } = input
  const id = int64Text(input.id, spot.ledger, () => spot.path('id'))
  const { selling, buying } = input
  checkAsset(selling.asset_type, selling.asset_code, selling.asset_issuer, spot, 'selling.')
  checkAsset(buying.asset_type, buying.asset_code, buying.asset_issuer, spot, 'buying.')
  const modified = last_modified === undefined ? spot.closedAt : utc(last_modified, spot.ledger, () => spot.path('last_modified'))
  const sides = [input.seller, id, String(spot.ledger), spot.closedAt]
  const added = { price_r: priceOf(input.price_r), last_modified: modified }
  const out = write().number('id', id).string('paging_token', id)
  return compose(out, form, input, { paging_token: id }, spot, sides, added)
}

/** The change that removes an offer. */
export const encodeRemoval = (id: Int64Input, spot: Spot): Encoded => {
  const digits = int64Text(id, spot.ledger, () => spot.path())
  return new Encoded([write().end()], ['', digits, String(spot.ledger), spot.closedAt], false)
}
