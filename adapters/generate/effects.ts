/** The effects by name, with the codes that such networks give them. */
import type { GeneratedMembers } from './options.ts'

export const EFFECTS = {
  account_created: 0,
  account_removed: 1,
  account_credited: 2,
  account_debited: 3,
  account_thresholds_updated: 4,
  account_home_domain_updated: 5,
  account_flags_updated: 6,
  signer_created: 10,
  signer_removed: 11,
  signer_updated: 12,
  trustline_created: 20,
  trustline_removed: 21,
  trustline_updated: 22,
  trustline_authorized: 23,
  trustline_deauthorized: 24,
  trustline_authorized_to_maintain_liabilities: 25,
  trustline_flags_updated: 26,
  offer_created: 30,
  offer_removed: 31,
  offer_updated: 32,
  trade: 33,
  data_created: 40,
  data_removed: 41,
  data_updated: 42,
  sequence_bumped: 43,
  claimable_balance_created: 50,
  claimable_balance_claimant_created: 51,
  claimable_balance_claimed: 52,
  account_sponsorship_created: 60,
  claimable_balance_sponsorship_created: 69,
  claimable_balance_sponsorship_removed: 71,
  liquidity_pool_deposited: 90,
  liquidity_pool_withdrew: 91,
  liquidity_pool_trade: 92,
} as const

export type Effect = GeneratedMembers & { account: string; type: string; type_i: number }

export const effect = (account: string, type: keyof typeof EFFECTS, members: GeneratedMembers = {}): Effect => ({
  account,
  type,
  type_i: EFFECTS[type],
  ...members,
})
