/** A rich ledger close, and every way to spoil it: what is put where, and the error that the specification requires. */
import type { ErrorCode, LedgerClose } from '../../src/index.ts'
import { hashOf } from './arbitraries.ts'
import { orderId } from './naive-records.ts'

/** A close with every kind of record: operations 1 to 4 of its first transaction are create_account, payment, manage_offer, set_options. */
export function richClose(sequence: number, prev_hash: string): LedgerClose {
  const asset = { asset_type: 'credit_alphanum4', asset_code: 'USD', asset_issuer: 'GISSUER' }
  const transaction = {
    account: 'GALICE',
    account_sequence: '9007199254740993',
    max_fee: 400,
    fee_paid: 400,
    envelope_xdr: 'AAAA',
    result_xdr: 'AA==',
    result_meta_xdr: '',
    participants: ['GWATCHER'],
  }
  const trade = {
    base_account: 'GALICE',
    base_offer_id: 7n,
    base_amount: '1.0000000',
    base_asset_type: 'native',
    counter_account: 'GBOB',
    counter_amount: '2.5000000',
    counter_asset_type: 'credit_alphanum4',
    counter_asset_code: 'USD',
    counter_asset_issuer: 'GISSUER',
    base_is_seller: true,
    price: { n: 5, d: 2 },
  }
  const operations = [
    { type: 'create_account', account: 'GNEW', funder: 'GALICE', starting_balance: 10 },
    { type: 'payment', sender: 'GALICE', receiver: 'GBOB', asset: { code: 'USD' }, amount: 12, amount_f: 0.0000012 },
    { type: 'manage_offer', trades: [trade, { ...trade }] },
    {
      type: 'set_options',
      source_account: 'GBOB',
      effects: [
        { account: 'GBOB', type: 'signer_created', type_i: 10, public_key: 'GKEY', weight: 1 },
        { account: 'GBOB', type: 'account_debited', type_i: 3, amount: '1.0000000', asset_type: 'native' },
      ],
    },
  ]
  return {
    ledger: {
      sequence,
      hash: hashOf(sequence, 99),
      prev_hash,
      closed_at: '2019-06-01T12:00:00Z',
      total_coins: '100000000000.0000000',
      fee_pool: '1.5000000',
      base_fee_in_stroops: 100,
      base_reserve_in_stroops: 5000000,
      max_tx_set_size: 50,
    },
    transactions: [
      { hash: hashOf(sequence, 1), ...transaction, operations },
      { hash: hashOf(sequence, 2), ...transaction, successful: false, operations: [{ type: 'inflation' }] },
    ],
    offers: {
      changed: [
        { id: 7n, seller: 'GALICE', selling: { asset_type: 'native' }, buying: asset, amount: '9', price_r: { n: 5, d: 2 }, price: '2.5' },
      ],
      removed: [8n],
    },
  }
}

/** Used as a value, it removes the member; in an array, it leaves a hole. */
export const MISSING_MEMBER = Symbol('missing')

/** A deep copy with the member at `path` (`transactions[0].hash`; '' is the whole) replaced. */
export function spoiledClose(close: LedgerClose, path: string, value: unknown): unknown {
  if (path === '') return value
  const copy = structuredClone(close) as any
  const steps = path.split(/[.[\]]+/).filter(Boolean)
  const last = steps.pop()!
  let node = copy
  for (const step of steps) node = node[step]
  if (value === MISSING_MEMBER) delete node[last]
  else node[last] = value
  return copy
}

export interface Flaw {
  readonly path: string
  readonly value: unknown
  readonly code: ErrorCode
  /** What the error says; for the whole close, `path` is `(the whole close)`. */
  readonly fields: { readonly path: string; readonly expected: string }
}

const tx = 'transactions[0]'
const [create, payment, manage, options] = [0, 1, 2, 3].map((n) => `${tx}.operations[${n}]`) as [string, string, string, string]
const trade = `${manage}.trades[0]`
const effect = `${options}.effects[0]`
const offer = 'offers.changed[0]'

const text = 'a non-empty string'
const whole = 'a whole number from 0 to 2^53-1'
const decimal = 'a decimal number in a string, such as "12.5000000"'
const int64 = 'an integer from 0 to 2^63-1: a JSON integer, a bigint, or its decimal digits in a string'
const int64Short = 'an integer from 0 to 2^63-1'
const time = 'an ISO 8601 time such as "2019-06-01T12:00:00Z"'
const sequence = 'a ledger sequence from 1 to 2147483647'
const ratio = 'a ratio { n, d } of whole numbers from 0 to 2^53-1'
const reserved = 'nothing: this member is reserved, leave it out'
const native = 'nothing: a native asset has neither code nor issuer'
const derived = (value: string): string => `${value}, as derived from the place of the record, or nothing`

/** Members of the wrong kind: where, what must be there, and values that are not that. */
const wrong: readonly (readonly [path: string, expected: string, ...values: unknown[]])[] = [
  ['', 'an object', null, 5, 'text', [], undefined],
  ['ledger', 'an object', MISSING_MEMBER, null, []],
  ['ledger.sequence', sequence, MISSING_MEMBER, 0, 2 ** 31, 1.5, '7', 7n],
  ['ledger.hash', 'hexadecimal digits', MISSING_MEMBER, '', 'xyz', 5],
  ['ledger.prev_hash', 'hexadecimal digits', 'xyz', null],
  [
    'ledger.closed_at',
    time,
    MISSING_MEMBER,
    'yesterday',
    '2019-06-01',
    '2019-06-01T12:00:00',
    '2019-02-30T12:00:00Z',
    '2019-13-01T12:00:00Z',
    5,
  ],
  ['ledger.total_coins', decimal, MISSING_MEMBER, 100, '1,5', '', '1e5', '.5'],
  ['ledger.base_fee_in_stroops', whole, MISSING_MEMBER, -1, 1.5, '100', 2 ** 53],
  ['ledger.operation_count', whole, null, '1'],
  ['transaction', 'nothing: what stands beside it can be ledger, transactions, offers', [], null],
  ['transactions', 'an array', {}, null],
  ['transactions[1]', 'an object', MISSING_MEMBER, null, 'text'],
  [`${tx}.hash`, '64 hexadecimal digits', MISSING_MEMBER, 'a'.repeat(63), 'g'.repeat(64)],
  [`${tx}.account`, text, MISSING_MEMBER, '', 5],
  [`${tx}.account_sequence`, int64, MISSING_MEMBER, -1, 1.5, -1n, '007', '', 2 ** 53],
  [`${tx}.account_sequence`, int64Short, '9223372036854775808', 2n ** 63n],
  [`${tx}.envelope_xdr`, 'base64 text', MISSING_MEMBER, '*', 5],
  [`${tx}.successful`, 'true or false', 'yes', null],
  [`${tx}.participants`, 'an array', 'GBOB'],
  [`${tx}.participants[0]`, text, MISSING_MEMBER, '', null],
  [`${tx}.operations`, 'an array', {}],
  [payment, 'an object', MISSING_MEMBER, null],
  [`${create}.type`, text, MISSING_MEMBER, '', 5],
  [`${create}.source_account`, text, '', null],
  [`${create}.funder`, text, MISSING_MEMBER, ''],
  [`${create}.starting_balance`, 'a number', MISSING_MEMBER, '10', null],
  [`${payment}.receiver`, text, MISSING_MEMBER, 5],
  [`${payment}.asset.code`, text, MISSING_MEMBER],
  [`${payment}.amount`, int64, MISSING_MEMBER, 1.5, -3, '1.5'],
  [`${payment}.amount`, int64Short, '9999999999999999999'],
  [`${payment}.type_i`, '1, the code of payment', 2],
  [`${manage}.trades`, 'an array', null],
  [`${trade}.base_amount`, decimal, MISSING_MEMBER, 1],
  [`${trade}.base_asset_type`, 'native, credit_alphanum4 or credit_alphanum12', MISSING_MEMBER, 'gold'],
  [
    `${trade}.counter_asset_code`,
    'a code of 1 to 4 letters or digits',
    MISSING_MEMBER,
    'TOOLONG',
    'A-B',
    'A B',
    'A[',
    '@',
    '`',
    '{',
    '/',
    ':',
  ],
  [`${trade}.counter_asset_issuer`, 'the account id of the issuer', MISSING_MEMBER],
  [`${trade}.base_asset_code`, native, 'XLM'],
  [`${trade}.base_asset_issuer`, native, 'GISSUER'],
  [`${trade}.base_is_seller`, 'true or false', MISSING_MEMBER, 1],
  [`${trade}.price`, ratio, MISSING_MEMBER, 2.5],
  [`${trade}.price.d`, ratio, MISSING_MEMBER, 1.5, -1, '2', 2 ** 53],
  [`${trade}.base_offer_id`, int64, -1, 'x'],
  [`${trade}.base_offer_id`, int64Short, '9223372036854775808', 2n ** 63n],
  [trade, 'an object', MISSING_MEMBER, null],
  [effect, 'an object', MISSING_MEMBER, null],
  [`${effect}.account`, text, MISSING_MEMBER, ''],
  [`${effect}.type_i`, whole, MISSING_MEMBER, -1],
  [`${effect}.type_i`, '10, the code of signer_created', 11],
  [`${effect}.weight`, whole, MISSING_MEMBER, 'heavy'],
  [`${options}.effects[1].amount`, decimal, MISSING_MEMBER, 1],
  [`${options}.effects[1].index`, 'a number from 2 on, since indexes rise', 1],
  ['offers.change', 'nothing: what stands beside it can be changed, removed', []],
  ['offers.changed/removed~', 'nothing: what stands beside it can be changed, removed', []],
  ['offers.changed', 'an array', {}],
  [offer, 'an object', MISSING_MEMBER],
  [`${offer}.id`, int64, MISSING_MEMBER, -1],
  [`${offer}.id`, int64Short, '9223372036854775808', 2n ** 63n],
  [`${offer}.buying.asset_type`, 'native, credit_alphanum4 or credit_alphanum12', MISSING_MEMBER, 'gold'],
  [`${offer}.buying.asset_code`, 'a code of 1 to 4 letters or digits', MISSING_MEMBER, 'TOOLONGCODE!', 'TOOLO', 'A-B', 'É'],
  [`${offer}.buying.asset_code`, text, '', 5],
  [`${offer}.buying.asset_issuer`, 'the account id of the issuer', MISSING_MEMBER],
  [`${offer}.buying.asset_issuer`, text, '', 5],
  [`${offer}.selling.asset_code`, native, 'XLM'],
  [`${offer}.selling.asset_issuer`, native, 'GISSUER'],
  [`${offer}.price_r`, ratio, MISSING_MEMBER, 1],
  [`${offer}.last_modified`, time, 'now', '2019-02-30T12:00:00Z'],
  ['offers.removed[0]', int64, MISSING_MEMBER, 'x', -1, null],
  ['offers.removed[0]', int64Short, '9223372036854775808', 2n ** 63n],
]

/** Identities that differ from the derived ones, and reserved members. */
function identities(of: number): (readonly [path: string, expected: string, ...values: unknown[]])[] {
  const [ledger, first, second, fourth] = [orderId(of, 0, 0), orderId(of, 1, 0), orderId(of, 1, 2), orderId(of, 1, 4)]
  const trades = orderId(of, 1, 3)
  const records = ['ledger', tx, create, trade, effect, offer]
  return [
    ['ledger.id', derived(hashOf(of, 99)), 'aa'],
    ['ledger.paging_token', derived(String(ledger)), '1'],
    [`${tx}.id`, derived(hashOf(of, 1)), 'aa', null],
    [`${tx}.ledger`, derived(String(of)), of + 1],
    [`${tx}.created_at`, derived('2019-06-01T12:00:00Z'), '2019-06-01T12:00:01Z'],
    [`${tx}.paging_token`, derived(String(first)), String(first + 1n)],
    [`${payment}.id`, derived(String(second)), 5, second + 1n],
    [`${payment}.paging_token`, derived(String(second)), `${second}-1`],
    ...[payment, trade, effect].flatMap((path) => [
      [`${path}.ledger`, derived(String(of)), of + 1, null] as const,
      [`${path}.created_at`, derived('2019-06-01T12:00:00Z'), '2019-06-01T12:00:01Z', null, 5] as const,
    ]),
    [`${trade}.id`, derived(`${trades}-0`), `${trades}-1`],
    [`${trade}.ledger_close_time`, derived('2019-06-01T12:00:00Z'), ''],
    [`${effect}.paging_token`, derived(`${fourth}-1`), `${fourth}-2`],
    [`${offer}.paging_token`, derived('7'), '8'],
    ...records.flatMap((path) => ['_links', '_embedded'].map((name) => [`${path}.${name}`, reserved, {}, null] as const)),
  ]
}

/** Every flaw of `richClose(of, …)`. */
export const flaws = (of: number): Flaw[] =>
  [...wrong, ...identities(of)].flatMap(([path, expected, ...values]) =>
    values.map((value) => {
      const sentence =
        value === MISSING_MEMBER && !expected.startsWith('a code') && !expected.startsWith('the account')
          ? `${expected}; it is missing`
          : expected
      return { path, value, code: 'INVALID_INPUT', fields: { path: path || '(the whole close)', expected: sentence } } as const
    }),
  )
