/** Operation types of later protocols, one row each; their records state their own `type_i`. */
import { type Asset, canonical, decimal, named } from './accounts.ts'
import { effect } from './effects.ts'
import { credited, crossOffer, debited, makeOffer, payPath, type Row } from './moves.ts'
import type { Network, Pool } from './network.ts'

const balanceId = (net: Network): string => '00000000' + net.random.hex(64)

/** A pool's part in an effect, and the reserves that moved. */
function pooled(net: Network, pool: Pool) {
  const reserves = pool.assets.map((asset: Asset) => ({ asset: canonical(asset), amount: decimal(net.amount()) }))
  const shares = decimal(net.amount())
  return {
    reserves,
    shares,
    liquidity_pool: { id: pool.id, fee_bp: 30, type: 'constant_product', total_trustlines: '12', total_shares: shares, reserves },
  }
}

export const later: readonly Row[] = [
  {
    ...{ type: 'manage_buy_offer', code: 12, often: 20, trading: 12 },
    act: (net, source) => (net.trading ? crossOffer(net, source) : makeOffer(net, source, { offer_id: 0 })),
  },
  { type: 'path_payment_strict_send', code: 13, often: 15, trading: 13, act: payPath },
  {
    ...{ type: 'create_claimable_balance', code: 14, often: 8 },
    act(net, source) {
      const [asset, balance_id, claimant] = [net.asset(), balanceId(net), net.accounts.other(source)]
      const [amount, account, destination] = [net.amount(), net.id(source), net.id(claimant)]
      const predicate = { not: { abs_before: net.closedAt } }
      const common = { amount: decimal(amount), balance_id, asset: canonical(asset) }
      const effects = [
        effect(account, 'claimable_balance_created', common),
        effect(destination, 'claimable_balance_claimant_created', { ...common, predicate }),
        effect(account, 'claimable_balance_sponsorship_created', { balance_id, sponsor: account }),
        debited(account, asset, amount),
      ]
      const members = { asset: canonical(asset), amount: decimal(amount), claimants: [{ destination, predicate }] }
      return { members, effects, accounts: [source, claimant], assets: [asset], amount }
    },
  },
  {
    ...{ type: 'claim_claimable_balance', code: 15, often: 8 },
    act(net, source) {
      const [asset, balance_id, claimant, amount] = [net.asset(), balanceId(net), net.id(source), net.amount()]
      const effects = [
        effect(claimant, 'claimable_balance_claimed', { amount: decimal(amount), balance_id, asset: canonical(asset) }),
        credited(claimant, asset, amount),
        effect(claimant, 'claimable_balance_sponsorship_removed', { former_sponsor: claimant, balance_id }),
      ]
      return { members: { balance_id, claimant }, effects, accounts: [source], assets: [asset], amount }
    },
  },
  {
    ...{ type: 'begin_sponsoring_future_reserves', code: 16, often: 4 },
    act(net, source) {
      const sponsored = net.accounts.other(source)
      const [sponsored_id, sponsor] = [net.id(sponsored), net.id(source)]
      const effects = [effect(sponsored_id, 'account_sponsorship_created', { sponsor })]
      return { members: { sponsored_id }, effects, accounts: [source, sponsored] }
    },
  },
  {
    ...{ type: 'clawback', code: 19, often: 8 },
    act(net) {
      const [asset, amount] = [net.issued(), net.amount()]
      const holder = net.accounts.other(asset.issuer)
      const from = net.id(holder)
      const effects = [credited(asset.issuerId, asset, amount), debited(from, asset, amount)]
      const members = { ...named(asset), from, amount: decimal(amount) }
      return { source: asset.issuer, members, effects, accounts: [asset.issuer, holder], assets: [asset], amount }
    },
  },
  {
    ...{ type: 'liquidity_pool_deposit', code: 22, often: 6 },
    act(net, source) {
      const pool = net.random.pick(net.pools)
      const { reserves, shares, liquidity_pool } = pooled(net, pool)
      const moved = { reserves_deposited: reserves, shares_received: shares }
      const effects = [effect(net.id(source), 'liquidity_pool_deposited', { liquidity_pool, ...moved })]
      return { members: { liquidity_pool_id: pool.id, reserves_max: reserves, ...moved }, effects, accounts: [source], assets: pool.assets }
    },
  },
  {
    ...{ type: 'liquidity_pool_withdraw', code: 23, often: 4 },
    act(net, source) {
      const pool = net.random.pick(net.pools)
      const { reserves, shares, liquidity_pool } = pooled(net, pool)
      const moved = { reserves_received: reserves, shares_redeemed: shares }
      const effects = [effect(net.id(source), 'liquidity_pool_withdrew', { liquidity_pool, ...moved })]
      return { members: { liquidity_pool_id: pool.id, ...moved }, effects, accounts: [source], assets: pool.assets }
    },
  },
]
