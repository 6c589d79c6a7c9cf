/**
 * Small networks of valid ledger closes, made to collide: few accounts (some with names that break keys and paths), few assets, few offers, numbers
 * at the limits of JavaScript and of 64 bits, open members of every kind.
 * **Invariant:** a shape is a close without its place in the chain; `closeOf` gives it one, so that shapes can be dropped, moved, replayed.
 */
import fc from 'fast-check'
import { Digits, type LedgerClose } from '../../src/index.ts'
import { accountId, few, int64, members, odd, open, sometimes } from './arbitrary-values.ts'
import type { AnyMembers } from './naive-records.ts'

export const offerPool = [0n, 1n, 2n, 300n, 2n ** 53n + 1n, 2n ** 63n - 1n]
export const assetPool: readonly AnyMembers[] = [
  { type: 'native' },
  { type: 'credit_alphanum4', code: 'USD', issuer: 'GBOB' },
  { type: 'credit_alphanum4', code: 'USD', issuer: 'a:b' },
  { type: 'credit_alphanum12', code: 'USD', issuer: 'GBOB' },
  { type: 'credit_alphanum12', code: 'LONGERCODE12', issuer: 'GCAROL' },
]

/** Gives rising indexes with gaps to some of the items; now and then the highest possible. */
const indexed = (item: fc.Arbitrary<AnyMembers>, first: number): fc.Arbitrary<AnyMembers[]> =>
  few(fc.tuple(item, fc.constantFrom(undefined, undefined, 0, 3, 2 ** 32 - 1)), 3).map((pairs) => {
    let next = first
    return pairs.flatMap(([one, gap]) => {
      const index = gap === undefined ? next : Math.min(next + gap, 2 ** 32 - 1)
      if (next > 2 ** 32 - 1) return []
      next = index + 1
      return [gap === undefined ? one : { ...one, index }]
    })
  })

const effect = fc.oneof(
  members({
    account: accountId,
    type: fc.constant('account_created'),
    type_i: fc.constant(0),
    starting_balance: fc.constantFrom('10', '1.5000000'),
  }),
  members({
    account: accountId,
    type: fc.constant('account_debited'),
    type_i: fc.constant(3),
    amount: fc.constant('0.0000001'),
    asset_type: fc.constant('native'),
  }),
  members({ type: fc.constantFrom('odd effect', 'constructor'), type_i: fc.nat(), account: accountId }),
)

const side = (name: 'base' | 'counter', withAccount: fc.Arbitrary<boolean>): fc.Arbitrary<AnyMembers> =>
  fc
    .tuple(
      withAccount,
      accountId,
      fc.constantFrom(...assetPool),
      sometimes(fc.constantFrom(...offerPool)),
      fc.constantFrom('1.0000000', '-2.5', '3'),
    )
    .map(([named, id, asset, offer, amount]) => ({
      ...(named && { [`${name}_account`]: id }),
      ...(named && offer !== undefined && { [`${name}_offer_id`]: offer }),
      [`${name}_amount`]: amount,
      [`${name}_asset_type`]: asset['type'],
      ...(asset['type'] !== 'native' && { [`${name}_asset_code`]: asset['code'], [`${name}_asset_issuer`]: asset['issuer'] }),
    }))
const price = fc.tuple(fc.nat(), fc.nat(), fc.boolean()).map(([n, d, upper]) => (upper ? { N: n, D: d } : { n, d }))
const both = fc.tuple(side('base', fc.constant(true)), side('counter', fc.boolean()))
const flipped = fc.tuple(side('counter', fc.constant(true)), side('base', fc.boolean()))
const trade = fc
  .tuple(fc.oneof(both, flipped), sometimes(fc.constantFrom(...offerPool.map(String))), fc.boolean(), price, open)
  .map(([[a, b], offer_id, base_is_seller, ratio, more]) => ({
    ...a,
    ...b,
    ...(offer_id !== undefined && { offer_id }),
    base_is_seller,
    price: ratio,
    ...more,
  }))

const balance = fc.constantFrom<unknown>(0, 10.5, new Digits('1.50'), new Digits('0.0000001'), 2n ** 53n + 1n)
const assetCode = fc.constantFrom({ code: 'USD' }, { code: 'XLM', issuer: 'x' })
const operationKind = fc.oneof(
  members({
    type: fc.constant('create_account'),
    account: accountId,
    funder: accountId,
    starting_balance: balance,
    amount: sometimes(odd),
  }),
  members({ type: fc.constant('payment'), sender: accountId, receiver: accountId, asset: assetCode, amount: int64, amount_f: balance }),
  members({ type: fc.constant('path_payment'), from: sometimes(accountId), to: accountId, amount: sometimes(int64) }),
  members({ type: fc.constant('account_merge'), type_i: fc.constant(8), account: accountId, into: accountId }),
  members({ type: fc.constant('manage_offer'), amount: fc.constant('12.50'), trustor: sometimes(accountId) }),
  members({ type: fc.constantFrom('odd type', 'constructor', 'toString'), type_i: fc.nat(), amount: sometimes(odd) }),
)
const operation = fc
  .tuple(
    open,
    operationKind,
    members({ source_account: sometimes(accountId), participants: sometimes(few(accountId, 2)) }),
    indexed(effect, 1),
    indexed(trade, 0),
  )
  .map(
    ([more, kind, named, effects, trades]): AnyMembers => ({
      ...kind,
      ...Object.fromEntries(
        Object.entries(more).filter(
          ([name]) => !(name in kind) && name !== 'effects' && (typeof more[name] === 'string' || !['to', 'from'].includes(name)),
        ),
      ),
      ...named,
      ...(effects.length > 0 && { effects }),
      ...(trades.length > 0 && { trades }),
    }),
  )

const transaction = fc
  .tuple(
    members({
      account: accountId,
      account_sequence: int64,
      max_fee: fc.nat(),
      fee_paid: fc.nat(),
      envelope_xdr: fc.constantFrom('', 'AAAA', 'AA=='),
      result_xdr: fc.constant('AA=='),
      result_meta_xdr: fc.constant('/+8='),
      successful: fc.constantFrom(undefined, undefined, true, false),
      operation_count: sometimes(fc.nat(5)),
      participants: sometimes(few(accountId, 2)),
    }),
    open,
    few(operation, 3),
  )
  .map(([fixed, more, operations]): AnyMembers => ({ ...more, ...fixed, ...(operations.length > 0 && { operations }) }))

const tradedAsset = fc
  .constantFrom(...assetPool)
  .map(({ type, code, issuer }) => ({ asset_type: type, ...(type !== 'native' && { asset_code: code, asset_issuer: issuer }) }))
const offer = fc
  .tuple(
    members({
      id: fc.constantFrom(...offerPool, ...offerPool.map(String)),
      seller: accountId,
      selling: tradedAsset,
      buying: tradedAsset,
      amount: fc.constantFrom('0', '12.5000000'),
      price_r: price,
      price: fc.constant('0.3333333'),
      last_modified: fc.constantFrom(undefined, '2019-06-01T12:00:00Z', '2019-06-01T12:00:00.25+02:00'),
    }),
    open,
  )
  .map(([fixed, more]): AnyMembers => ({ ...fixed, ...more }))

/** A ledger close without sequence and hashes. */
export interface CloseShape {
  readonly ledger: AnyMembers
  readonly transactions: readonly AnyMembers[]
  readonly offers: AnyMembers | undefined
  /** How often its transactions are repeated, to fill blocks and pages of posting lists from few choices. */
  readonly times: number
  /** Hashes in upper case. */
  readonly shout: boolean
}

export const closeShape: fc.Arbitrary<CloseShape> = fc.record({
  ledger: fc
    .tuple(
      members({
        closed_at: fc.constantFrom('2019-06-01T12:00:00Z', '2019-06-01T12:00:00.120Z', '2019-06-01T00:30:00-05:30'),
        total_coins: fc.constant('100000000000.0000000'),
        fee_pool: fc.constant('0'),
        base_fee_in_stroops: fc.nat(),
        base_reserve_in_stroops: fc.nat(),
        max_tx_set_size: fc.nat(),
        transaction_count: sometimes(fc.nat()),
        operation_count: sometimes(fc.nat()),
      }),
      open,
    )
    .map(([fixed, more]): AnyMembers => ({ ...more, ...fixed })),
  transactions: few(transaction, 4),
  offers: sometimes(
    members({ changed: sometimes(few(offer, 3)), removed: sometimes(few(fc.constantFrom(...offerPool, ...offerPool.map(String)), 2)) }),
  ),
  times: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 2, arbitrary: fc.constantFrom(0, 9, 40) }),
  shout: fc.boolean(),
})

/** 64 hexadecimal digits, well spread, the same for the same numbers. */
export const hashOf = (...numbers: readonly number[]): string => {
  let state = 0x9e3779b97f4a7c15n
  for (const number of numbers)
    state = BigInt.asUintN(256, (state ^ BigInt(number)) * 0xd1342543de82ef95_9e3779b97f4a7c15_f39cc0605cedc835n + 1n)
  return state.toString(16).padStart(64, '0')
}

/** The shape as the ledger after `previous`, or as the first one. `salt` gives it different hashes. */
export function closeOf(
  { ledger, transactions, offers, times, shout }: CloseShape,
  sequence: number,
  previous: string | undefined,
  salt = 0,
): LedgerClose {
  const written = (hash: string): string => (shout ? hash.toUpperCase() : hash)
  const repeated = Array.from({ length: transactions.length * times }, (_, t) => ({
    hash: written(hashOf(sequence, t, salt)),
    ...transactions[t % transactions.length]!,
  }))
  const prev_hash = previous ?? (sequence === 1 ? undefined : hashOf(sequence, -1))
  return {
    ledger: { sequence, hash: written(hashOf(sequence, salt)), ...(prev_hash !== undefined && { prev_hash }), ...ledger },
    ...(repeated.length > 0 && { transactions: repeated }),
    ...(offers && { offers }),
  } as unknown as LedgerClose
}

/** Where a network may begin: at ledger 1; late, where ids pass 2^53; and near the last possible ledger. */
export const firstLedger: fc.Arbitrary<number> = fc.constantFrom(1, 2, 2_097_150, 2 ** 31 - 60)

/** A chain of closes. */
export const closeChain: fc.Arbitrary<LedgerClose[]> = fc
  .tuple(firstLedger, fc.array(closeShape, { minLength: 1, maxLength: 6, size: 'max' }))
  .map(([first, shapes]) => {
    const closes: LedgerClose[] = []
    for (const [at, one] of shapes.entries()) closes.push(closeOf(one, first + at, closes.at(-1)?.ledger.hash))
    return closes
  })
