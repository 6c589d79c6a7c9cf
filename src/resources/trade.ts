/** Trades: the record, its input, its text, its indexes, and its two sides turned. Token: `<operation id>-<index>`, the index counting from 0. */
import { compareTexts } from '../bytes.ts'
import { badRequest } from '../check.ts'
import { invalidInput } from '../errors.ts'
import { params } from '../params.ts'
import { type Filters, type Index, type KeyIndex, resource } from '../query.ts'
import { Form } from '../text/form.ts'
import { write } from '../text/writer.ts'
import type { Element } from '../tuple.ts'
import { type Asset, assetProblem, assetText, checkAsset } from './asset.ts'
import { checkOwn, compose, distinct, Encoded, indexedTokenOf, priceOf, type Spot } from './encode.ts'
import { amount, assetType, flag, int64, int64Text, integer, object, optional, price, text } from './schema.ts'

/** A trade between a base and a counter side. One side may lack account and offer (a liquidity pool). Amounts are decimal strings. */
export interface Trade {
  readonly id: string
  readonly paging_token: string
  readonly ledger_close_time: string
  readonly offer_id?: string
  readonly base_offer_id?: string
  readonly counter_offer_id?: string
  readonly base_account?: string
  readonly base_amount: string
  readonly base_asset_type: string
  readonly base_asset_code?: string
  readonly base_asset_issuer?: string
  readonly counter_account?: string
  readonly counter_amount: string
  readonly counter_asset_type: string
  readonly counter_asset_code?: string
  readonly counter_asset_issuer?: string
  readonly base_is_seller: boolean
  readonly price: { readonly n: number; readonly d: number }
  readonly [open: string]: unknown
}

type OfferId = string | number | bigint

/** A trade of a ledger close. `price` may be spelled `{ N, D }`. */
export interface TradeInput {
  readonly index?: number | undefined
  readonly offer_id?: OfferId | undefined
  readonly base_offer_id?: OfferId | undefined
  readonly counter_offer_id?: OfferId | undefined
  readonly base_account?: string | undefined
  readonly base_amount: string
  readonly base_asset_type: string
  readonly base_asset_code?: string | undefined
  readonly base_asset_issuer?: string | undefined
  readonly counter_account?: string | undefined
  readonly counter_amount: string
  readonly counter_asset_type: string
  readonly counter_asset_code?: string | undefined
  readonly counter_asset_issuer?: string | undefined
  readonly base_is_seller: boolean
  readonly price: { readonly n: number; readonly d: number } | { readonly N: number; readonly D: number }
  readonly [open: string]: unknown
}

export const tradeSchema = object({
  index: optional(integer),
  offer_id: optional(int64),
  base_offer_id: optional(int64),
  counter_offer_id: optional(int64),
  base_account: optional(text),
  base_amount: amount,
  base_asset_type: assetType,
  base_asset_code: optional(text),
  base_asset_issuer: optional(text),
  counter_account: optional(text),
  counter_amount: amount,
  counter_asset_type: assetType,
  counter_asset_code: optional(text),
  counter_asset_issuer: optional(text),
  base_is_seller: flag,
  price,
})

const columns = { base_account: 0, counter_account: 1, base_asset: 2, counter_asset: 3 }

export const trades = resource({
  name: 'trade',
  kept: 'log',
  tag: 5,
  shift: 3,
  indexed: true,
  columns,
  faces: { turned: [columns.counter_account, columns.base_account, columns.counter_asset, columns.base_asset], by: columns.base_asset },
  decode: (members) => members as Trade,
})

/** One key for both directions of a pair. */
const pairKey = (a: string, b: string): readonly [string, string] => (a < b ? [a, b] : [b, a])

export const tradesByAccount: KeyIndex<Trade, 'account'> = {
  name: 'account',
  of: trades,
  tag: 7,
  column: 'account',
  bySides: true,
  keys: (_record, sides) => distinct([sides[columns.base_account], sides[columns.counter_account]]).map((account) => [account]),
}
export const tradesByOffer: KeyIndex<Trade, 'offer'> = {
  name: 'offer',
  of: trades,
  tag: 8,
  column: 'offer',
  keys: (record) => {
    const ids = [record['offer_id'], record['base_offer_id'], record['counter_offer_id']].filter((id) => id !== undefined)
    return distinct(ids.map(String)).map((id) => [BigInt(id)])
  },
}
export const tradesByPair: Index<Trade> = {
  name: 'pair',
  of: trades,
  tag: 9,
  bySides: true,
  keys: (_record, sides) => [pairKey(sides[columns.base_asset]!, sides[columns.counter_asset]!)],
}

const offerIds = ['offer_id', 'base_offer_id', 'counter_offer_id'] as const
const derivedNames = ['id', 'paging_token', 'ledger_close_time']
const asText = Object.fromEntries(offerIds.map((name) => [name, String]))
const form = new Form(derivedNames, ['price'], asText)
/** The name that a member has once base and counter are exchanged. */
const turnedName = (name: string): string => {
  const [, side, rest] = /^(base|counter)_(?!is_seller$)(.*)$/s.exec(name) ?? []
  return side === undefined ? name : `${side === 'base' ? 'counter' : 'base'}_${rest}`
}
/** The trade with base and counter exchanged; the order of members stays. */
const turnedForm = new Form(derivedNames, ['price'], { ...asText, base_is_seller: (value: boolean) => !value }, turnedName)

export function encodeTrade(input: TradeInput, spot: Spot): Encoded {
  const token = indexedTokenOf(spot)
  checkOwn(input, spot)
  if (input.base_account === undefined && input.counter_account === undefined)
    throw invalidInput(spot.ledger, spot.path('base_account'), 'an account on one side at least; both are missing')
  const { base_asset_type, base_asset_code, base_asset_issuer, counter_asset_type, counter_asset_code, counter_asset_issuer } = input
  checkAsset(base_asset_type, base_asset_code, base_asset_issuer, spot, 'base_')
  checkAsset(counter_asset_type, counter_asset_code, counter_asset_issuer, spot, 'counter_')
  const base = assetText(base_asset_type, base_asset_code, base_asset_issuer)
  const counter = assetText(counter_asset_type, counter_asset_code, counter_asset_issuer)
  checkOffer('offer_id', input.offer_id, spot)
  checkOffer('base_offer_id', input.base_offer_id, spot)
  checkOffer('counter_offer_id', input.counter_offer_id, spot)
  const price = priceOf(input.price)
  const turned = { ...price, n: price['d'], d: price['n'] }
  const derived = { id: token, paging_token: token, ledger_close_time: spot.closedAt }
  const sides = [input.base_account ?? '', input.counter_account ?? '', base, counter]
  const begin = () => write().string('id', token).string('paging_token', token).string('ledger_close_time', spot.closedAt)
  const front = compose(begin(), form, input, derived, spot, sides, { price })
  const back = compose(begin(), turnedForm, input, derived, spot, sides, { price: turned })
  return new Encoded([front.texts[0]!, back.texts[0]!], sides, front.exact)
}

/** @throws INVALID_INPUT */
function checkOffer(name: string, id: OfferId | undefined, spot: Spot): void {
  if (id !== undefined) int64Text(id, spot.ledger, () => spot.path(name))
}

/** Filters of trade listings; all that are given must match. Base and counter go together, and those of each record follow the order of the filter. */
export interface TradeFilter {
  readonly base?: Asset | undefined
  readonly counter?: Asset | undefined
  /** Only trades that consumed this offer. `0n` is offer 0 like any other; `offer_id=0` over HTTP means no filter. */
  readonly offer_id?: bigint | undefined
}

const sideText = { base: 'Asset of the base side', counter: 'Asset of the counter side' }
const names = Object.fromEntries(
  (['base', 'counter'] as const).flatMap((side) => [
    [`${side}_asset_type`, { type: 'string', description: sideText[side], enum: ['native', 'credit_alphanum4', 'credit_alphanum12'] }],
    [`${side}_asset_code`, { type: 'string', description: `${sideText[side]}: its code; not for native` }],
    [`${side}_asset_issuer`, { type: 'string', description: `${sideText[side]}: its issuer; not for native` }],
  ]),
)

const isGiven = (filter: TradeFilter, side: 'base' | 'counter'): boolean => filter[side] !== undefined

function sideOf(filter: TradeFilter, side: 'base' | 'counter', other: 'base' | 'counter'): string {
  if (!isGiven(filter, side)) throw badRequest(`${side}_asset_type`, `given, since ${other} is: give both base and counter, or neither`)
  const asset: { type?: string; code?: string; issuer?: string } = filter[side] ?? {}
  const problem = assetProblem(asset.type, asset.code, asset.issuer)
  if (problem) throw badRequest(`${side}_asset_${problem.member}`, problem.reason)
  if (asset.issuer?.isWellFormed() === false) throw badRequest(`${side}_asset_issuer`, 'the account id of the issuer')
  return assetText(asset.type, asset.code, asset.issuer)
}

/** What is not text is left out, and then missed by the check. */
const copyOf = (asset: Asset | undefined): Asset | undefined => {
  if (asset === undefined) return undefined
  const { type, code, issuer }: Partial<Record<'type' | 'code' | 'issuer', unknown>> = asset ?? {}
  return { type: textOf(type), code: textOf(code), issuer: textOf(issuer) } as Asset
}
const textOf = (given: unknown): string | undefined => (typeof given === 'string' ? given : undefined)

const pairOf = (filter: TradeFilter): readonly [base: string, counter: string] | undefined =>
  isGiven(filter, 'base') || isGiven(filter, 'counter') ? [sideOf(filter, 'base', 'counter'), sideOf(filter, 'counter', 'base')] : undefined

export const tradeFilters: Filters<Trade, TradeFilter> = {
  members: ['base', 'counter', 'offer_id'],
  names: { ...names, offer_id: { type: 'string', description: 'Only trades that consumed this offer' } },
  parse(text) {
    const side = (name: 'base' | 'counter'): Asset | undefined => {
      const [type, code, issuer] = [text(`${name}_asset_type`), text(`${name}_asset_code`), text(`${name}_asset_issuer`)]
      return type || code || issuer ? ({ type, ...(code && { code }), ...(issuer && { issuer }) } as Asset) : undefined
    }
    const [base, counter, offer] = [side('base'), side('counter'), text('offer_id')]
    const filter: TradeFilter = { ...(base && { base }), ...(counter && { counter }) }
    pairOf(filter)
    // A published client always sends offer_id=0, meaning no filter.
    const id = offer === '' ? 0n : params.offer.parse(offer, 'offer_id')
    return id === 0n ? filter : { ...filter, offer_id: id }
  },
  format(filter) {
    const out: Record<string, string> = {}
    for (const side of ['base', 'counter'] as const) {
      const asset: { type?: string; code?: string; issuer?: string } = filter[side] ?? {}
      for (const part of ['type', 'code', 'issuer'] as const) if (asset[part] !== undefined) out[`${side}_asset_${part}`] = asset[part]
    }
    if (filter.offer_id !== undefined) out['offer_id'] = String(filter.offer_id)
    return out
  },
  copy: ({ base, counter, offer_id }) => ({ base: copyOf(base), counter: copyOf(counter), offer_id }),
  pick(filter) {
    const lists: [Index<Trade>, readonly Element[]][] = []
    const pair = pairOf(filter)
    if (pair) lists.push([tradesByPair, pairKey(...pair)])
    if (filter.offer_id !== undefined) lists.push([tradesByOffer, [params.offer.check(filter.offer_id, 'offer_id')]])
    const facing = pair && pair[0] !== pair[1] ? (compareTexts(...pair) < 0 ? 'lesser' : 'greater') : undefined
    return { lists, facing }
  },
}
