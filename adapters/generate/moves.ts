/** What several operation types share: money that moves, offers that are made, changed or cross, paths that trade on their way. */
import { type Asset, decimal, named } from './accounts.ts'
import { priceText, type Resting } from './book.ts'
import { type Effect, effect } from './effects.ts'
import type { Network } from './network.ts'
import type { GeneratedMembers, Integer } from './options.ts'
import { consume, exchange, type Traded } from './trades.ts'
import type { Named } from './xdr.ts'

/** What one operation did: its own members, and what came of it. */
export interface Act extends Named {
  readonly members: GeneratedMembers
  readonly effects?: Effect[]
  readonly trades?: GeneratedMembers[]
  /** Who did it, if it could not be the transaction's account. */
  readonly source?: number
}

/** A kind of operation. Both weights are relative to those of the other rows: among all operations, and among those sent out to trade. */
export interface Row {
  readonly type: string
  readonly code: number
  readonly often: number
  readonly trading?: number
  /** Undefined if the network is in no state for it. */
  act(net: Network, source: number): Act | undefined
}

export const credited = (account: string, asset: Asset, amount: Integer): Effect =>
  effect(account, 'account_credited', { amount: decimal(amount), ...named(asset) })

export const debited = (account: string, asset: Asset, amount: Integer): Effect =>
  effect(account, 'account_debited', { amount: decimal(amount), ...named(asset) })

/** The members of a payment record; an issued asset is spelled out beside them. */
export function paid(sender: string, receiver: string, asset: Asset, amount: Integer): GeneratedMembers {
  const more = asset.rank === 0 ? {} : named(asset)
  return { sender, receiver, asset: { code: asset.code }, amount, amount_f: Number(amount) / 10_000_000, ...more }
}

const offered = (selling: Asset, buying: Asset, amount: number, n: number, d: number): GeneratedMembers => ({
  amount: decimal(amount),
  price: priceText(n, d),
  price_r: { n, d },
  ...named(buying, 'buying_'),
  ...named(selling, 'selling_'),
})

const gather = (done: readonly Traded[]) => ({ effects: done.flatMap((one) => one.effects), trades: done.map((one) => one.trade) })

/** A new offer that rests. `own` holds members that only this type has. */
export function makeOffer(net: Network, source: number, own: GeneratedMembers): Act {
  const seller = net.maker(source)
  const [selling, buying] = net.pair()
  const [amount, price] = [net.amount(), net.book.quote(selling, buying)]
  const offer = net.make(seller, selling, buying, amount, price)
  return {
    source: seller,
    members: { ...own, ...offered(selling, buying, amount, price.n, price.d) },
    effects: offer === undefined ? [] : [effect(net.id(seller), 'offer_created', { offer_id: offer.id })],
    ...{ accounts: [seller], assets: [selling, buying], amount },
  }
}

/** An offer of the book changed or taken back by its seller. */
export function editOffer(net: Network, offer: Resting): Act {
  const { seller, selling, buying, id } = offer
  const gone = net.book.full || net.random.chance(0.45)
  const [amount, price] = gone ? [0, offer] : [net.amount(), net.book.quote(selling, buying)]
  const members = { offer_id: id, ...offered(selling, buying, amount, price.n, price.d) }
  if (gone) net.remove(offer)
  else net.change(offer, amount, price)
  const effects = [effect(net.id(seller), gone ? 'offer_removed' : 'offer_updated', { offer_id: id })]
  return { source: seller, members, effects, accounts: [seller], assets: [selling, buying], amount }
}

/** An offer that crosses others; what is left of it sometimes rests. With nothing to cross, it rests whole. */
export function crossOffer(net: Network, source: number): Act {
  const taker = net.maker(source)
  const target = net.book.any()
  const fills = target === undefined ? [] : net.take(taker, target, net.random.several(1.5, 5))
  if (target === undefined || fills.length === 0) return makeOffer(net, source, { offer_id: 0 })
  const last = fills[fills.length - 1]!.offer
  const { selling: buying, buying: selling, n: d, d: n } = last
  const given = fills.reduce((sum, fill) => sum + fill.paid, 0)
  const rest = net.random.chance(0.6) && !net.book.deeper(last) ? net.amount() : 0
  const own = rest === 0 ? undefined : net.make(taker, selling, buying, rest, { n, d })
  const { effects, trades } = gather(fills.map((fill) => consume(net, fill, taker, own?.id)))
  if (own !== undefined) effects.push(effect(net.id(taker), 'offer_created', { offer_id: own.id }))
  const members = { offer_id: 0, ...offered(selling, buying, given + rest, n, d) }
  return {
    source: taker,
    members,
    effects,
    trades,
    accounts: [taker, ...fills.map((fill) => fill.offer.seller)],
    assets: [selling, buying],
    amount: given + rest,
  }
}

/** A payment that changes assets on its way, through one or two sides of the book, or through a pool; or through nothing. */
export function payPath(net: Network, source: number): Act {
  const to = net.random.chance(0.4) ? source : net.accounts.other(source)
  const [from, done, paidIn, bought, sent, got] = net.trading ? route(net, source) : direct(net)
  const { effects, trades } = gather(done)
  const members = net.random.chance(0.25)
    ? { from: net.id(source), to: net.id(to), amount: got, ...named(bought) }
    : paid(net.id(source), net.id(to), bought, got)
  return {
    members: { ...members, source_amount: decimal(sent), ...named(paidIn, 'source_'), path: [] },
    effects: [credited(net.id(to), bought, got), debited(net.id(source), paidIn, sent), ...effects],
    ...{ trades, accounts: [source, to, ...from], assets: [paidIn, bought], amount: got },
  }
}

/** Sellers met, trades, the asset and amount that went in, and those that came out. */
type Route = [sellers: number[], done: Traded[], paidIn: Asset, bought: Asset, sent: number, got: number]

function direct(net: Network): Route {
  const asset = net.asset()
  const amount = net.amount()
  return [[], [], asset, asset, amount, amount]
}

function route(net: Network, source: number): Route {
  if (!net.failing && net.random.chance(0.08)) {
    const pool = net.random.pick(net.pools)
    const [give, get] = net.random.chance(0.5) ? pool.assets : [pool.assets[1], pool.assets[0]]
    const [sent, got] = [net.amount(), net.amount()]
    return [[], [exchange(net, pool, source, give, sent, get, got)], give, get, sent, got]
  }
  const first = net.book.any()
  const fills = first === undefined ? [] : net.take(source, first, net.random.several(1.4, 4))
  if (first === undefined || fills.length === 0) return direct(net)
  const second = net.random.chance(0.5) ? net.book.best(net.asset(), first.selling) : undefined
  const onward = second === undefined || second.selling === first.buying ? [] : net.take(source, second, 1)
  const sum = (list: typeof fills, what: 'paid' | 'sold') => list.reduce((all, fill) => all + fill[what], 0)
  const last = onward.length > 0 ? onward : fills
  const all = [...fills, ...onward]
  const sellers = all.map((fill) => fill.offer.seller)
  const done = all.map((fill) => consume(net, fill, source))
  return [sellers, done, first.buying, last[0]!.offer.selling, sum(fills, 'paid'), sum(last, 'sold')]
}
