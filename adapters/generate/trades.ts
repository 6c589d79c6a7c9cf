/**
 * Trades, and the effects that go with them: between a taker and an offer, or between a taker and a liquidity pool.
 */
import { type Asset, canonical, decimal, named } from './accounts.ts'
import type { Fill } from './book.ts'
import { type Effect, effect } from './effects.ts'
import type { Network, Pool } from './network.ts'
import type { GeneratedMembers, Integer } from './options.ts'

export interface Traded {
  readonly trade: GeneratedMembers
  readonly effects: Effect[]
}

/** One side of a trade: what it is called, and what it gives. */
interface Side {
  readonly account?: string
  readonly offer?: Integer
  readonly pool?: string
  readonly asset: Asset
  readonly amount: number
}

function add(out: GeneratedMembers, prefix: string, { account, offer, pool, asset, amount }: Side): void {
  if (offer !== undefined) out[`${prefix}offer_id`] = String(offer)
  if (account !== undefined) out[`${prefix}account`] = account
  if (pool !== undefined) out[`${prefix}liquidity_pool_id`] = pool
  out[`${prefix}amount`] = decimal(amount)
  Object.assign(out, named(asset, prefix))
}

/**
 * The two sides in either order; the price, counter per base, is n / d if the seller is the base.
 * Member by member, as a parser makes objects: V8 gives an object that was put together by spreading others a shape of its own, and whatever reads
 * thousands of those is slow.
 */
function record(net: Network, seller: Side, taker: Side, n: number, d: number, own: GeneratedMembers): GeneratedMembers {
  const sellerIsBase = net.random.chance(0.5)
  const [over, under] = sellerIsBase ? [n, d] : [d, n]
  const out: GeneratedMembers = {}
  Object.assign(out, own)
  add(out, 'base_', sellerIsBase ? seller : taker)
  add(out, 'counter_', sellerIsBase ? taker : seller)
  out['base_is_seller'] = sellerIsBase
  out['price'] = net.random.chance(0.03) ? { N: over, D: under } : { n: over, d: under }
  return out
}

function tradeEffect(account: string, other: string, offer: Integer, bought: Asset, got: number, sold: Asset, gave: number): Effect {
  return effect(account, 'trade', {
    offer_id: offer,
    seller: other,
    bought_amount: decimal(got),
    sold_amount: decimal(gave),
    ...named(bought, 'bought_'),
    ...named(sold, 'sold_'),
  })
}

/** The id of an offer that is in no book: that of the operation with bit 62 set, which in ids from ledger 2^30 on it is already. */
const unlisted = (net: Network): bigint => (1n << 62n) | net.operation

/** The taker consumed a part of an offer. `resting` is the taker's own offer, if one resulted; otherwise its id is made of the operation's, or missing. */
export function consume(net: Network, { offer, sold, paid }: Fill, taker: number, resting?: Integer): Traded {
  const [seller, buyer] = [net.id(offer.seller), net.id(taker)]
  const own = resting ?? (net.random.chance(0.9) ? unlisted(net) : undefined)
  const theirs: Side = { account: seller, offer: offer.id, asset: offer.selling, amount: sold }
  const ours: Side = { account: buyer, asset: offer.buying, amount: paid, ...(own === undefined ? {} : { offer: own }) }
  return {
    trade: record(net, theirs, ours, offer.n, offer.d, net.random.chance(0.9) ? { offer_id: String(offer.id) } : {}),
    effects: [
      tradeEffect(buyer, seller, offer.id, offer.selling, sold, offer.buying, paid),
      tradeEffect(seller, buyer, offer.id, offer.buying, paid, offer.selling, sold),
    ],
  }
}

/** The taker exchanged `sold` of one asset of a pool for `bought` of the other. */
export function exchange(net: Network, pool: Pool, taker: number, selling: Asset, sold: number, buying: Asset, bought: number): Traded {
  const account = net.id(taker)
  const ours: Side = { account, asset: selling, amount: sold, offer: unlisted(net) }
  const reserves = (asset: Asset, amount: number) => ({ asset: canonical(asset), amount: decimal(amount) })
  return {
    trade: record(net, { pool: pool.id, asset: buying, amount: bought }, ours, sold, bought, {
      trade_type: 'liquidity_pool',
      liquidity_pool_fee_bp: 30,
    }),
    effects: [
      effect(account, 'liquidity_pool_trade', {
        liquidity_pool: { id: pool.id, fee_bp: 30, type: 'constant_product' },
        sold: reserves(selling, sold),
        bought: reserves(buying, bought),
      }),
    ],
  }
}
