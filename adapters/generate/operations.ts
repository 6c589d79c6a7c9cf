/** The operation types 0 to 11, one row each. */
import { decimal, named } from './accounts.ts'
import { effect } from './effects.ts'
import { credited, crossOffer, debited, editOffer, makeOffer, paid, payPath, type Row } from './moves.ts'
import type { Network } from './network.ts'

const FLAGS = ['auth_required', 'auth_revocable', 'auth_immutable']
const DOMAINS = ['example.com', 'anchor.example.org', 'pay.example.net', 'bücher.example']

const options = [
  (net: Network, account: string) => {
    const home_domain = net.random.pick(DOMAINS)
    return { members: { home_domain }, effects: [effect(account, 'account_home_domain_updated', { home_domain })] }
  },
  (net: Network, account: string) => {
    const flags = FLAGS.slice(0, 1 + net.random.below(2))
    const now = Object.fromEntries(flags.map((flag) => [`${flag}_flag`, true]))
    const members = { set_flags: flags.map((_, bit) => 1 << bit), set_flags_s: flags }
    return { members, effects: [effect(account, 'account_flags_updated', now)] }
  },
  (net: Network, account: string) => {
    const weight = net.random.below(11)
    const public_key = net.id(net.accounts.any())
    const kind = weight === 0 ? 'signer_removed' : net.random.chance(0.5) ? 'signer_created' : 'signer_updated'
    return {
      members: { signer_key: public_key, signer_weight: weight },
      effects: [effect(account, kind, { public_key, weight, key: public_key })],
    }
  },
  (_: Network, account: string) => {
    const thresholds = { low_threshold: 1, med_threshold: 2, high_threshold: 3 }
    return { members: { ...thresholds, master_key_weight: 3 }, effects: [effect(account, 'account_thresholds_updated', thresholds)] }
  },
]

export const operations: readonly Row[] = [
  {
    ...{ type: 'create_account', code: 0, often: 90 },
    act(net, source) {
      const created = net.newAccount()
      const balance = net.amount()
      const [account, funder, starting_balance] = [net.id(created), net.id(source), decimal(balance)]
      const effects = [
        effect(account, 'account_created', { starting_balance }),
        debited(funder, net.assets[0]!, balance),
        effect(account, 'signer_created', { public_key: account, weight: 1 }),
      ]
      return { members: { account, funder, starting_balance: balance }, effects, accounts: [source, created], amount: balance }
    },
  },
  {
    ...{ type: 'payment', code: 1, often: 380 },
    act(net, source) {
      const [to, asset] = [net.accounts.other(source), net.asset()]
      const amount = net.payable(asset)
      const effects = [credited(net.id(to), asset, amount), debited(net.id(source), asset, amount)]
      return { members: paid(net.id(source), net.id(to), asset, amount), effects, accounts: [source, to], assets: [asset], amount }
    },
  },
  { type: 'path_payment', code: 2, often: 15, trading: 35, act: payPath },
  {
    ...{ type: 'manage_offer', code: 3, often: 250, trading: 40 },
    act(net, source) {
      if (net.trading) return crossOffer(net, source)
      const offer = net.book.any()
      if (offer !== undefined && (net.book.full || net.random.chance(0.4))) return editOffer(net, offer)
      if (net.failing || net.random.chance(0.97)) return makeOffer(net, source, { offer_id: 0 })
      const [selling, buying] = net.pair()
      const members = { offer_id: net.book.forget(), amount: '0.0000000', price: '1.0000000', price_r: { n: 1, d: 1 } }
      return {
        members: { ...members, ...named(buying, 'buying_'), ...named(selling, 'selling_') },
        accounts: [source],
        assets: [selling, buying],
      }
    },
  },
  { type: 'create_passive_offer', code: 4, often: 25, act: (net, source) => makeOffer(net, source, {}) },
  {
    ...{ type: 'set_options', code: 5, often: 40 },
    act: (net, source) => ({ ...net.random.pick(options)(net, net.id(source)), accounts: [source] }),
  },
  {
    ...{ type: 'change_trust', code: 6, often: 90 },
    act(net, source) {
      const asset = net.issued()
      const limit = net.random.chance(0.15) ? '0.0000000' : net.random.chance(0.5) ? '922337203685.4775807' : decimal(net.amount())
      const kind = limit === '0.0000000' ? 'trustline_removed' : net.random.chance(0.8) ? 'trustline_created' : 'trustline_updated'
      const [trustee, trustor] = [asset.issuerId, net.id(source)]
      const effects = [effect(trustor, kind, { limit, ...named(asset) })]
      return { members: { ...named(asset), trustee, trustor, limit }, effects, accounts: [source], assets: [asset] }
    },
  },
  {
    ...{ type: 'allow_trust', code: 7, often: 25 },
    act(net) {
      const asset = net.issued()
      const holder = net.accounts.other(asset.issuer)
      const [trustee, trustor] = [asset.issuerId, net.id(holder)]
      const kind = net.random.pick([
        'trustline_authorized',
        'trustline_deauthorized',
        'trustline_authorized_to_maintain_liabilities',
      ] as const)
      const authorize = kind === 'trustline_authorized'
      const effects = [
        effect(trustee, kind, { trustor, ...named(asset) }),
        effect(trustee, 'trustline_flags_updated', { trustor, ...named(asset), authorized_flag: authorize }),
      ]
      return {
        source: asset.issuer,
        members: { ...named(asset), trustee, trustor, authorize },
        effects,
        accounts: [asset.issuer, holder],
        assets: [asset],
      }
    },
  },
  {
    ...{ type: 'account_merge', code: 8, often: 20 },
    act(net, source) {
      const leaver = net.leaver(source)
      if (leaver === undefined) return undefined
      const [from, into, amount] = [net.id(leaver), net.id(source), net.amount()]
      const members = net.random.chance(0.5) ? { account: from, into } : paid(from, into, net.assets[0]!, amount)
      const effects = [debited(from, net.assets[0]!, amount), credited(into, net.assets[0]!, amount), effect(from, 'account_removed')]
      return { source: leaver, members, effects, accounts: [leaver, source], amount }
    },
  },
  {
    ...{ type: 'inflation', code: 9, often: 4 },
    act(net, source) {
      const winners = Array.from({ length: net.random.below(4) }, () => net.accounts.founder())
      const effects = winners.map((rank) =>
        effect(net.id(rank), 'account_credited', { amount: net.mint(net.amount()), asset_type: 'native' }),
      )
      return { members: {}, effects, accounts: [source, ...winners] }
    },
  },
  {
    ...{ type: 'manage_data', code: 10, often: 35 },
    act(net, source) {
      const name = net.random.pick(['config', 'kyc "level"', 'préférences', 'hash']) + net.random.below(4)
      const kind = net.random.pick(['data_created', 'data_updated', 'data_removed'] as const)
      const value = kind === 'data_removed' ? '' : Buffer.from(net.random.hex(8 * (1 + net.random.below(8)))).toString('base64')
      return {
        members: { name, value },
        effects: [effect(net.id(source), kind, value === '' ? { name } : { name, value })],
        accounts: [source],
      }
    },
  },
  {
    ...{ type: 'bump_sequence', code: 11, often: 15 },
    act(net, source) {
      const bumped = String(net.bump(source))
      const effects = net.random.chance(0.5) ? [] : [effect(net.id(source), 'sequence_bumped', { new_seq: bumped })]
      return { members: { bump_to: bumped }, effects, accounts: [source] }
    },
  },
]
