/**
 * Words used in writing frames, so that a block need not spell `,"asset_type":"credit_alphanum4"` again: names of members in four forms, and names of
 * types. Every other text is spelled out, and costs a few bytes more.
 * **Invariant:** the lists are part of the format: appended to at the end, never reordered.
 */
import { HOLE } from '../text/apart.ts'

/** Members of the service's records, and of those that its clients have been seen to carry. */
const members = `
id paging_token type type_i account amount asset_type asset_code asset_issuer offer_id price n d hash ledger created_at operation_count
account_sequence max_fee fee_paid envelope_xdr result_xdr result_meta_xdr fee_meta_xdr memo memo_type successful signatures valid_after
valid_before index seller source_account price_r ledger_close_time base_account base_amount base_asset_type base_asset_code
base_asset_issuer base_offer_id counter_account counter_amount counter_asset_type counter_asset_code counter_asset_issuer
counter_offer_id base_is_seller bought_amount bought_asset_type bought_asset_code bought_asset_issuer sold_amount sold_asset_type
sold_asset_code sold_asset_issuer asset code issuer sender receiver amount_f selling buying selling_asset_type selling_asset_code
selling_asset_issuer buying_asset_type buying_asset_code buying_asset_issuer last_modified last_modified_ledger starting_balance funder
limit trustor trustee source_amount source_max source_asset_type source_asset_code source_asset_issuer destination_min path public_key
weight key prev_hash sequence closed_at transaction_count successful_transaction_count failed_transaction_count total_coins fee_pool
base_fee_in_stroops base_reserve_in_stroops max_tx_set_size protocol_version header_xdr base_fee base_reserve tx_set_operation_count name
value from to into authorize authorized_flag home_domain low_threshold med_threshold high_threshold master_key_weight signer_key
signer_weight inflation_dest set_flags set_flags_s clear_flags clear_flags_s auth_required_flag auth_revocable_flag auth_immutable_flag
auth_clawback_enabled_flag bump_to new_seq balance_id predicate not and or unconditional abs_before rel_before sponsor former_sponsor
sponsored_id claimants claimant destination trade_type liquidity_pool liquidity_pool_id liquidity_pool_fee_bp fee_bp base_liquidity_pool_id
counter_liquidity_pool_id total_trustlines total_shares reserves reserves_max reserves_deposited reserves_received shares_received
shares_redeemed sold bought authorize_to_maintain_liabilities authorized_to_maintain_liabilites fee_account fee_charged source_account_sequence
transaction_hash transaction_successful trustline_account_id data_name signer begin_sponsor source_min destination_muxed account_muxed
account_muxed_id source_account_muxed source_account_muxed_id min_price min_price_r max_price max_price_r shares shares_min
`
  .trim()
  .split(/\s+/)

/** Values that name a type. */
const words = `
native credit_alphanum4 credit_alphanum12 liquidity_pool_shares none text id hash return create_account payment path_payment
path_payment_strict_send path_payment_strict_receive manage_offer manage_sell_offer manage_buy_offer create_passive_offer
create_passive_sell_offer set_options change_trust allow_trust account_merge inflation manage_data bump_sequence
create_claimable_balance claim_claimable_balance begin_sponsoring_future_reserves end_sponsoring_future_reserves revoke_sponsorship
clawback clawback_claimable_balance set_trust_line_flags liquidity_pool_deposit liquidity_pool_withdraw account_created account_removed
account_credited account_debited account_thresholds_updated account_home_domain_updated account_flags_updated
account_inflation_destination_updated signer_created signer_removed signer_updated trustline_created trustline_removed
trustline_updated trustline_authorized trustline_authorized_to_maintain_liabilities trustline_deauthorized trustline_flags_updated
offer_created offer_removed offer_updated trade data_created data_removed data_updated sequence_bumped claimable_balance_created
claimable_balance_claimed claimable_balance_claimant_created claimable_balance_sponsorship_created account_sponsorship_created
trustline_sponsorship_created signer_sponsorship_created liquidity_pool constant_product liquidity_pool_created liquidity_pool_removed
liquidity_pool_revoked liquidity_pool_deposited liquidity_pool_withdrew liquidity_pool_trade orderbook
`
  .trim()
  .split(/\s+/)

/** Names of members and words may each grow to this many without changing what is already stored. */
const ROOM = 1024
const forms = [
  (name: string) => `,"${name}":"${HOLE}"`,
  (name: string) => `,"${name}":${HOLE}`,
  (name: string) => `,"${name}":`,
  (name: string) => `"${name}":`,
]

const memberNumbers = new Map(members.map((name, number) => [name, number]))
const wordNumbers = new Map(words.map((word, number) => [word, number]))

/** A member's name, with a preceding comma and a following hole if they are there; or a word. */
const unit = /(,?)"([a-z0-9_]+)":("\u0000"|\u0000)?|"([a-z0-9_]+)"/y

/** Replaces what is in the vocabulary by two characters: one from 1 to 31, which no JSON text holds, and one from 0 to 255. */
export function abbreviate(frame: string): string {
  let out = ''
  for (let at = 0; at < frame.length; ) {
    // Every match begins at a quote, or a comma before one, so most of a long frame is skipped.
    const quote = frame.indexOf('"', at)
    if (quote < 0) return out + frame.slice(at)
    const start = quote > at && frame[quote - 1] === ',' ? quote - 1 : quote
    out += frame.slice(at, start)
    at = start
    unit.lastIndex = at
    const [whole, comma, name, hole, word] = unit.exec(frame) ?? []
    const member = memberNumbers.get(name!)
    const number = wordNumbers.get(word!)
    if (member !== undefined) {
      const form = comma ? (hole === undefined ? 2 : hole === HOLE ? 1 : 0) : 3
      out += code(form * ROOM + member)
      at += comma ? whole!.length : forms[3]!(name!).length
    } else if (number !== undefined) {
      out += code(forms.length * ROOM + number)
      at += whole!.length
    } else out += frame[at++]
  }
  return out
}

const code = (number: number): string => String.fromCharCode(1 + (number >> 8), number & 255)

/** The text for which a code stands. */
export function meaning(first: number, second: number): string {
  const number = ((first - 1) << 8) | second
  const form = Math.floor(number / ROOM)
  const at = number % ROOM
  const name = form < forms.length ? members[at] : words[at]
  if (name === undefined) return ''
  return form < forms.length ? forms[form]!(name) : `"${name}"`
}
