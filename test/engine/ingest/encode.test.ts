/** Records as they are written: text, side columns and index keys of one record of each kind, member by member. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Digits } from '../../../src/index.ts'
import { indexes, isFiledBySides, logs } from '../../../src/logs.ts'
import type { Index, OpenRecord } from '../../../src/query.ts'
import { effects, effectsByAccount, encodeEffect } from '../../../src/resources/effect.ts'
import { compose, distinct, type Encoded, exactInteger, extraText, priceOf, readExtra, Spot, utc } from '../../../src/resources/encode.ts'
import { encodeLedger } from '../../../src/resources/ledger.ts'
import { changesByOffer, changesBySeller, encodeOffer, encodeRemoval } from '../../../src/resources/offer.ts'
import {
  encodeOperation,
  operationAffects,
  operations,
  operationsByAccount,
  payments,
  paymentsByAccount,
} from '../../../src/resources/operation.ts'
import { array, base64, integer, object, validator } from '../../../src/resources/schema.ts'
import { encodeTrade, tradeFilters, tradesByAccount, tradesByOffer, tradesByPair } from '../../../src/resources/trade.ts'
import { encodeTransaction, failedByAccount, transactionsByAccount } from '../../../src/resources/transaction.ts'
import { Form } from '../../../src/text/form.ts'
import { write } from '../../../src/text/writer.ts'

const TIME = '2019-06-01T12:00:00Z'
/** Ledger 7, transaction 2, operation 3. */
const ID = '30064779267'
const spot = new Spot(7, TIME, 2 * 4096 + 3, 4, 'here')
const refused = (path: string, expected: string) =>
  expect.objectContaining({ code: 'INVALID_INPUT', fields: { ledger: 7, path, expected } })
/** With texts as strings. */
const spelled = ({ texts: [text, turned], sides, exact }: Encoded) => ({
  text: text!.text,
  ...(turned && { turned: turned.text }),
  sides,
  exact,
})
/** The keys under which a record is filed. @param named its side columns; any others are empty */
const keysOf = (index: Index, record: OpenRecord, named: Readonly<Record<string, string>> = {}): unknown[] => [
  ...index.keys(
    record,
    index.of.sides.map((name) => named[name] ?? ''),
  ),
]

describe('parts', () => {
  test('derived members come first, and alone if there are no others', () => {
    const form = new Form([], ['left'])
    const composed = (input: object) => spelled(compose(write().number('a', '1'), form, input as OpenRecord, {}, spot, ['s']))
    expect(composed({})).toEqual({ text: '"a":1', sides: ['s'], exact: false })
    expect(composed({ b: 'x', left: 'out', c: [2] })).toEqual({ text: '"a":1,"b":"x","c":[2]', sides: ['s'], exact: false })
    expect(composed({ b: new Digits('1.50') })).toEqual({ text: '"a":1,"b":1.50', sides: ['s'], exact: true })
  })

  test.each([
    [TIME, TIME],
    ['2019-06-01T12:00:00.1200Z', '2019-06-01T12:00:00.1200Z'],
    ['2019-06-01T12:00:00+02:00', '2019-06-01T10:00:00Z'],
    ['2019-06-01T00:30:00.250-05:30', '2019-06-01T06:00:00.250Z'],
    ['2020-02-29T23:59:59+00:00', '2020-02-29T23:59:59Z'],
    ['2020-02-29T24:00:00Z', '2020-03-01T00:00:00Z'],
    ['2019-06-01T24:00:00.000+02:00', '2019-06-01T22:00:00.000Z'],
  ])('the time %s is stored as %s', (given, wanted) => expect(utc(given, 7, () => 'p')).toBe(wanted))
  test.each([
    ...['2019-02-30T12:00:00Z', '2019-02-29T12:00:00Z', '2019-13-01T12:00:00Z', '2019-06-01T25:00:00Z'],
    ...['9999-12-31T23:59:59-10:00', '0000-01-01T00:00:00+10:00'],
  ])('%s is not a time', (given) => {
    expect(() => utc(given, 7, () => 'p')).toThrow(refused('p', 'an ISO 8601 time such as "2019-06-01T12:00:00Z"'))
  })

  test('a price is stored with n and d in lower case', () => {
    const price = { n: 1, d: 2, more: 3 }
    expect(priceOf(price)).toBe(price)
    expect(Object.entries(priceOf({ more: 3, N: 1, D: 2 }))).toEqual([
      ['n', 1],
      ['d', 2],
      ['more', 3],
    ])
  })

  test('an integer is read from its digits if the number is not exact', () => {
    const from = (text: string) => ({ id: 0n, text })
    expect(exactInteger(12, from(''), 'amount')).toBe(12n)
    expect(exactInteger(2 ** 60, from(',"amount":1152921504606846977,"amount":1'), 'amount')).toBe(2n ** 60n + 1n)
    expect(exactInteger(undefined, from('"x":1,"amount":-7'), 'amount')).toBe(-7n)
    expect(exactInteger(undefined, from('"x":1,"amounts":7'), 'amount')).toBeUndefined()
    expect(exactInteger(undefined, from('"x":123456789012345'), 'amount')).toBeUndefined()
    expect(exactInteger(undefined, from(',"amount":"7"'), 'amount')).toBeUndefined()
  })

  test('accounts are named once, in order; side columns hold only those not named elsewhere', () => {
    expect(distinct(['b', 5, 'a', '', undefined, 'b', null, {}])).toEqual(['b', 'a'])
    expect(extraText(['a', 'b', 'c'], ['b'])).toBe('["a","c"]')
    expect(extraText(['b'], ['b'])).toBe('')
    expect([readExtra('["a","c"]'), readExtra(''), readExtra(undefined)]).toEqual([['a', 'c'], [], []])
  })
})

test('base64 text is letters, digits, plus and slash, and up to two equals signs at its end', () => {
  const check = validator(base64)
  const accepts = (text: string): boolean => {
    try {
      check(text)
      return true
    } catch {
      return false
    }
  }
  const isBase64 = (text: string): boolean => [...text.replace(/={1,2}$/, '')].every((one) => 'AZaz09+/'.includes(one))
  const text = fc.string({ unit: fc.constantFrom(...'AZaz09+/AZaz09+/AZaz09+/=_-\n é'), maxLength: 12 })
  fc.assert(
    fc.property(text, fc.constantFrom('', '=', '==', '==='), (body, end) => {
      expect(accepts(body + end)).toBe(isBase64(body + end))
    }),
    { numRuns: 2000 },
  )
})

test('a rejected member is named by its path, even if the ledger is not known', () => {
  const check = validator(array(object({ a: array(integer) })))
  const wrong = Array.from({ length: 13 }, (_, n) => ({ a: [1, 2, n === 12 ? -1 : 3] }))
  const refusal = (path: string, expected: string, ledger?: number) =>
    expect.objectContaining({ code: 'INVALID_INPUT', fields: { ledger, path, expected } })
  const whole = 'a whole number from 0 to 2^53-1'
  expect(() => check(wrong)).toThrow(refusal('[12].a[2]', whole))
  expect(() =>
    check(
      wrong,
      () => 7,
      () => 'here',
    ),
  ).toThrow(refusal('here[12].a[2]', whole, 7))
  expect(() =>
    validator(object({ b1: integer, '2c': integer }))(
      { b1: 1 },
      () => 7,
      () => 'here',
    ),
  ).toThrow(refusal('here.2c', `${whole}; it is missing`, 7))
  expect(() => validator(object({ b1: integer, '2c': integer }))({ b1: -1, '2c': 1 })).toThrow(refusal('b1', whole))
  expect(() => check(5)).toThrow(refusal('(the whole close)', 'an array'))
})

describe('a ledger', () => {
  const given = { sequence: 7, hash: 'AB', prev_hash: 'CD', closed_at: TIME, total_coins: '1', fee_pool: '0' } as any
  const counts = { transaction_count: 1, successful_transaction_count: 2, failed_transaction_count: 3, operation_count: 4 } as any
  const head = '"id":"ab","paging_token":"30064771072","hash":"ab","prev_hash":"cd","sequence":7,"closed_at":"2019-06-01T12:00:00Z"'
  const at = new Spot(7, TIME, 0, 0, 'here')
  test('gets the counts that it does not state', () => {
    expect(spelled(encodeLedger({ ...given, failed_transaction_count: 9 }, counts, at))).toEqual({
      text: `${head},"total_coins":"1","fee_pool":"0","failed_transaction_count":9,"transaction_count":1,"successful_transaction_count":2,"operation_count":4`,
      ...{ sides: [], exact: false },
    })
  })
  test('without a prev_hash gets an empty one', () => {
    const { prev_hash: _, ...first } = given
    expect(encodeLedger(first, {} as any, at).texts[0]!.text).toBe(`${head.replace('"cd"', '""')},"total_coins":"1","fee_pool":"0"`)
  })
})

describe('a transaction', () => {
  const given = { hash: 'AB', account: 'G"A', account_sequence: '9007199254740993', participants: ['P', 'G"A'], memo: 'm' } as any
  const head = (count: number) =>
    `"id":"ab","paging_token":"${ID}","hash":"ab","ledger":7,"created_at":"${TIME}","account":"G\\"A","account_sequence":9007199254740993,"operation_count":${count}`
  test('keeps the accounts that it affects in side columns', () => {
    expect(spelled(encodeTransaction({ ...given, operations: [{}, {}] }, ['Q', 'P'], spot))).toEqual({
      ...{ text: `${head(2)},"memo":"m"`, sides: ['G"A', '["P","Q"]', 'ab'], exact: false },
    })
    const { participants: _, ...alone } = given
    expect(spelled(encodeTransaction(alone, [], spot))).toEqual({ text: `${head(0)},"memo":"m"`, sides: ['G"A', '', 'ab'], exact: false })
  })
  test('says whether it was successful only if that is given', () => {
    expect(encodeTransaction({ ...given, operation_count: 9, successful: false }, [], spot).texts[0]!.text).toBe(
      `${head(9)},"memo":"m","successful":false`,
    )
    expect(encodeTransaction({ ...given, successful: true }, [], spot).texts[0]!.text).toBe(`${head(0)},"memo":"m","successful":true`)
    expect(encodeTransaction(given, [], spot).texts[0]!.text).not.toContain('successful')
  })
  test('is filed under its accounts', () => {
    for (const index of [transactionsByAccount, failedByAccount]) {
      expect(keysOf(index, {}, { account: 'G', participants: '["P"]' })).toEqual([['G'], ['P']])
      expect(keysOf(index, {}, { account: 'G', participants: '' })).toEqual([['G']])
    }
  })
})

describe('an operation', () => {
  const owner = { hash: 'ab', account: 'OWNER' }
  const payment = { type: 'payment', sender: 'S', receiver: 'R', asset: { code: 'X' }, amount: '9007199254740993', amount_f: 1 } as any
  test('of type payment has its amount before any other given member', () => {
    expect(spelled(encodeOperation({ ...payment, participants: ['P', 'R', 'P'] }, owner, spot))).toEqual({
      text: `"id":${ID},"paging_token":"${ID}","amount":9007199254740993,"type_i":1,"type":"payment","sender":"S","receiver":"R","asset":{"code":"X"},"amount_f":1`,
      ...{ sides: ['ab', TIME, 'OWNER', '["P"]', '1'], exact: false },
    })
  })
  test('of another type keeps its amount in its spot, and its own source', () => {
    expect(spelled(encodeOperation({ type: 'inflation', amount: '1.5', source_account: 'O' } as any, owner, spot))).toEqual({
      text: `"id":${ID},"paging_token":"${ID}","type_i":9,"type":"inflation","amount":"1.5","source_account":"O"`,
      ...{ sides: ['ab', TIME, 'O', '', '9'], exact: false },
    })
    expect(encodeOperation({ type: 'path_payment', from: 'F' } as any, owner, spot).texts[0]!.text).toBe(
      `"id":${ID},"paging_token":"${ID}","type_i":2,"type":"path_payment","from":"F"`,
    )
  })
  test.each([
    ['"10.5"', '10.5'],
    ['"x"', 'x'],
    ['{"n":1}', { n: 1 }],
    ['7', 7],
    ['null', null],
  ])('of type create_account keeps an amount of %s as it is', (text, amount) => {
    const create = { type: 'create_account', account: 'A', funder: 'F', starting_balance: 1, amount } as any
    const written = encodeOperation(create, owner, spot).texts[0]!.text
    expect(written).toBe(
      `"id":${ID},"paging_token":"${ID}","type_i":0,"type":"create_account","account":"A","funder":"F","starting_balance":1,"amount":${text}`,
    )
    expect(operations.decode(JSON.parse(`{${written}}`), { id: BigInt(ID), text: written })).toMatchObject({ amount })
  })
  test('of an unknown type must state its code, and one of a known type no other code', () => {
    expect(encodeOperation({ type: 'toString', type_i: 77 } as any, owner, spot).sides[4]).toBe('77')
    const says = 'a type code, since "toString" is not a known operation type; it is missing'
    expect(() => encodeOperation({ type: 'toString' } as any, owner, spot)).toThrow(refused('here.type_i', says))
    expect(() => encodeOperation({ type: 'inflation', type_i: 1 } as any, owner, spot)).toThrow(
      refused('here.type_i', '9, the code of inflation'),
    )
  })
  test('is filed under the same accounts right after it was encoded, and later', () => {
    const named = { ...payment, from: 'F', participants: ['P', 'R', 'Q', 'F', 'P'] }
    const other = { type: 'account_merge', into: 'I', source_account: 'R' } as any
    const [encoded, merged] = [named, other].map((input) => encodeOperation(input, owner, spot)) as [Encoded, Encoded]
    for (const index of [operationsByAccount, paymentsByAccount]) {
      const keys = (input: any, { sides }: Encoded) => [...index.keys(input, sides)]
      expect(keys(other, merged)).toEqual([['R'], ['I']])
      expect(keys(named, encoded)).toEqual([['OWNER'], ['S'], ['R'], ['F'], ['P'], ['Q']])
      expect(keys(named, encodeOperation(named, owner, spot))).toEqual(keys(named, encoded))
    }
  })
  test('affects the accounts that its members name, each once', () => {
    const all = { account: 'A', funder: 'B', sender: 'C', receiver: 'D', from: 'E', to: 'F', into: 'G', trustor: 'H', other: 'I' }
    expect(operationAffects({ ...all, participants: ['P', 'A'] } as any, 'T')).toEqual(['T', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'P'])
    expect(operationAffects({ source_account: 'S' } as any, 'T')).toEqual(['S'])
    const sides = { source: 'S', participants: '["P"]' }
    expect(keysOf(operationsByAccount, { type: 'x', to: 'F' }, sides)).toEqual([['S'], ['F'], ['P']])
    expect(keysOf(payments, { type: 'account_merge' }, sides)).toEqual([[]])
    expect(keysOf(payments, { type: 'x' }, sides)).toEqual([])
    expect(keysOf(paymentsByAccount, { type: 'payment', to: 'F' }, sides)).toEqual([['S'], ['F'], ['P']])
    expect(keysOf(paymentsByAccount, { type: 'x', to: 'F' }, sides)).toEqual([])
  })
})

test('an effect is written with its account and type first, and is filed under its account', () => {
  const given = { account: 'G"A', type: 'odd', type_i: 99, more: 1 }
  expect(spelled(encodeEffect(given, spot))).toEqual({
    text: `"account":"G\\"A","paging_token":"${ID}-4","type":"odd","type_i":99,"more":1`,
    ...{ sides: [TIME, 'G"A'], exact: false },
  })
  expect(keysOf(effectsByAccount, {}, { account: 'GA' })).toEqual([['GA']])
  expect(effects.decode({ a: 1 }, { id: 1n, text: '' })).toEqual({ a: 1 })
})

describe('a trade', () => {
  const given = {
    ...{ base_account: 'A', base_offer_id: 7n, base_amount: '1', base_asset_type: 'native', offer_id: '8' },
    ...{
      counter_account: 'B',
      counter_amount: '2',
      counter_asset_type: 'credit_alphanum4',
      counter_asset_code: 'USD',
      counter_asset_issuer: 'I',
    },
    ...{ base_is_seller: true, price: { N: 5, D: 2 }, baseless: 1, counterfeit: 2 },
  } as any
  const head = `"id":"${ID}-4","paging_token":"${ID}-4","ledger_close_time":"${TIME}"`
  const [native, usd] = [{ type: 'native' }, { type: 'credit_alphanum4', code: 'USD', issuer: 'I' }] as const
  const USD = 'credit_alphanum4:USD:I'
  test('is written facing either way', () => {
    expect(spelled(encodeTrade(given, spot))).toEqual({
      text: `${head},"base_account":"A","base_offer_id":"7","base_amount":"1","base_asset_type":"native","offer_id":"8","counter_account":"B","counter_amount":"2","counter_asset_type":"credit_alphanum4","counter_asset_code":"USD","counter_asset_issuer":"I","base_is_seller":true,"baseless":1,"counterfeit":2,"price":{"n":5,"d":2}`,
      turned: `${head},"counter_account":"A","counter_offer_id":"7","counter_amount":"1","counter_asset_type":"native","offer_id":"8","base_account":"B","base_amount":"2","base_asset_type":"credit_alphanum4","base_asset_code":"USD","base_asset_issuer":"I","base_is_seller":false,"baseless":1,"counterfeit":2,"price":{"n":2,"d":5}`,
      ...{ sides: ['A', 'B', 'native', USD], exact: false },
    })
    const { base_account: _, ...pool } = given
    expect(encodeTrade(pool, spot).sides).toEqual(['', 'B', 'native', USD])
    const { counter_account: _counter, ...other } = given
    expect(encodeTrade(other, spot).sides).toEqual(['A', '', 'native', USD])
    expect(() => encodeTrade({ ...given, paging_token: '1' }, spot)).toThrow(
      refused('here.paging_token', `${ID}-4, as derived from the place of the record, or nothing`),
    )
    expect(() => encodeTrade({ ...pool, counter_account: undefined }, spot)).toThrow(
      refused('here.base_account', 'an account on one side at least; both are missing'),
    )
  })
  test('is filed under its accounts, its offers and its pair', () => {
    expect(keysOf(tradesByAccount, {}, { base_account: 'A', counter_account: 'B' })).toEqual([['A'], ['B']])
    expect(keysOf(tradesByAccount, {}, { base_account: 'A', counter_account: 'A' })).toEqual([['A']])
    expect(keysOf(tradesByAccount, {}, { base_account: '', counter_account: 'B' })).toEqual([['B']])
    expect(keysOf(tradesByOffer, { offer_id: '8', base_offer_id: '7', counter_offer_id: '8' }, {})).toEqual([[8n], [7n]])
    expect(keysOf(tradesByOffer, { counter_offer_id: 9n }, {})).toEqual([[9n]])
    expect(keysOf(tradesByOffer, {}, {})).toEqual([])
    for (const [base_asset, counter_asset] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const)
      expect(keysOf(tradesByPair, {}, { base_asset, counter_asset })).toEqual([['a', 'b']])
  })
  test('filters are read from text, written as text, and choose lists', () => {
    const query = (text: string) => tradeFilters.parse((name) => new URLSearchParams(text).get(name) ?? '')
    const pair = 'base_asset_type=native&counter_asset_type=credit_alphanum4&counter_asset_code=USD&counter_asset_issuer=I'
    expect(query('')).toEqual({})
    expect(query('offer_id=0')).toEqual({})
    expect(query('offer_id=12')).toEqual({ offer_id: 12n })
    expect(query(`${pair}&offer_id=12`)).toEqual({ base: native, counter: usd, offer_id: 12n })
    expect(query('base_asset_type=native&counter_asset_type=native')).toEqual({ base: native, counter: native })
    expect(tradeFilters.format({ base: native, counter: usd, offer_id: 12n } as any)).toStrictEqual({
      ...Object.fromEntries(new URLSearchParams(pair)),
      offer_id: '12',
    })
    expect(tradeFilters.format({})).toEqual({})
    expect(tradeFilters.pick({})).toEqual({ lists: [], facing: undefined })
    expect(tradeFilters.pick({ base: usd, counter: native, offer_id: 12n }).lists).toEqual([
      [tradesByPair, [USD, 'native']],
      [tradesByOffer, [12n]],
    ])
    expect([tradeFilters.pick({ base: usd, counter: native }).facing, tradeFilters.pick({ base: native, counter: usd }).facing]).toEqual([
      'lesser',
      'greater',
    ])
    expect(tradeFilters.pick({ base: native, counter: native }).facing).toBeUndefined()
    expect(tradeFilters.pick({}).facing).toBeUndefined()
    const byOffer = expect.objectContaining({ code: 'BAD_REQUEST', fields: expect.objectContaining({ field: 'offer_id' }) })
    expect(() => query('offer_id=x')).toThrow(byOffer)
    expect(() => tradeFilters.pick({ offer_id: -1n })).toThrow(byOffer)
    expect(() => tradeFilters.pick({ base: { ...usd, issuer: '' }, counter: native })).toThrow(
      expect.objectContaining({ fields: { field: 'base_asset_issuer', reason: 'the account id of the issuer' } }),
    )
  })
  test.each([
    ['base_asset_code=USD', 'base_asset_type', 'native, credit_alphanum4 or credit_alphanum12'],
    ['base_asset_issuer=I', 'base_asset_type', 'native, credit_alphanum4 or credit_alphanum12'],
    ['base_asset_type=native', 'counter_asset_type', 'given, since base is: give both base and counter, or neither'],
    ['counter_asset_type=native', 'base_asset_type', 'given, since counter is: give both base and counter, or neither'],
    ['base_asset_type=credit_alphanum4&base_asset_issuer=I', 'base_asset_code', 'a code of 1 to 4 letters or digits'],
    ['base_asset_type=credit_alphanum4&base_asset_code=-USD&base_asset_issuer=I', 'base_asset_code', 'a code of 1 to 4 letters or digits'],
    ['base_asset_type=credit_alphanum4&base_asset_code=USD-&base_asset_issuer=I', 'base_asset_code', 'a code of 1 to 4 letters or digits'],
    ['base_asset_type=credit_alphanum4&base_asset_code=ABCDE&base_asset_issuer=I', 'base_asset_code', 'a code of 1 to 4 letters or digits'],
    [
      'base_asset_type=credit_alphanum12&base_asset_code=ABCDEFGHIJKLM&base_asset_issuer=I',
      'base_asset_code',
      'a code of 1 to 12 letters or digits',
    ],
    ['base_asset_type=credit_alphanum12&base_asset_code=ABCDEFGHIJKL', 'base_asset_issuer', 'the account id of the issuer'],
  ])('the filter %s is refused, naming %s', (text, field, reason) => {
    expect(() => tradeFilters.parse((name) => new URLSearchParams(text).get(name) ?? '')).toThrow(
      expect.objectContaining({ code: 'BAD_REQUEST', fields: { field, reason } }),
    )
  })
})

describe('an offer', () => {
  const given = {
    id: '9007199254740993',
    seller: 'S',
    selling: { asset_type: 'native' },
    buying: { asset_type: 'native' },
    amount: '9',
    price_r: { N: 5, D: 2 },
    price: '2.5',
  } as any
  const rest =
    '"seller":"S","selling":{"asset_type":"native"},"buying":{"asset_type":"native"},"amount":"9","price":"2.5","price_r":{"n":5,"d":2}'
  const head = '"id":9007199254740993,"paging_token":"9007199254740993"'
  test('is kept with its seller, its id, and when it changed', () => {
    expect(spelled(encodeOffer(given, spot))).toEqual({
      text: `${head},${rest},"last_modified":"${TIME}"`,
      ...{ sides: ['S', '9007199254740993', '7', TIME], exact: false },
    })
    expect(encodeOffer({ ...given, last_modified: '2019-06-01T12:00:00+02:00' }, spot).texts[0]!.text).toBe(
      `${head},${rest},"last_modified":"2019-06-01T10:00:00Z"`,
    )
  })
  test('with an asset that no trade may have is rejected, naming the part at fault', () => {
    const [four, twelve] = [4, 12].map((most) => `a code of 1 to ${most} letters or digits`) as [string, string]
    for (const side of ['selling', 'buying'])
      for (const [asset, member, expected] of [
        [{ asset_type: 'x', asset_code: 'C', asset_issuer: 'I' }, 'asset_type', 'native, credit_alphanum4 or credit_alphanum12'],
        [{ asset_type: 'credit_alphanum4', asset_issuer: 'I' }, 'asset_code', four],
        [{ asset_type: 'credit_alphanum4', asset_code: 'TOOLONGCODE!', asset_issuer: 'I' }, 'asset_code', four],
        [{ asset_type: 'credit_alphanum4', asset_code: 'FIVE5', asset_issuer: 'I' }, 'asset_code', four],
        [{ asset_type: 'credit_alphanum12', asset_code: 'TOOLONGCODE!', asset_issuer: 'I' }, 'asset_code', twelve],
        [{ asset_type: 'credit_alphanum12', asset_code: 'THIRTEENCODES', asset_issuer: 'I' }, 'asset_code', twelve],
        [{ asset_type: 'credit_alphanum12', asset_code: 'C' }, 'asset_issuer', 'the account id of the issuer'],
      ] as const) {
        expect(() => encodeOffer({ ...given, [side]: asset }, spot)).toThrow(refused(`here.${side}.${member}`, expected))
        const of = Object.fromEntries(Object.entries(asset).map(([name, value]) => [`base_${name}`, value])) as object
        const trade = { base_account: 'A', base_amount: '1', counter_amount: '2', counter_asset_type: 'native', base_is_seller: true }
        expect(() => encodeTrade({ ...trade, price: { n: 1, d: 1 }, ...of } as never, spot)).toThrow(
          refused(`here.base_${member}`, expected),
        )
      }
    const longest = [
      ['credit_alphanum4', 'aZ09'],
      ['credit_alphanum12', 'azAZ09azAZ09'],
    ].map(([asset_type, asset_code]) => ({ asset_type, asset_code, asset_issuer: 'I' }))
    for (const asset of longest) expect(encodeOffer({ ...given, selling: asset as never }, spot).texts[0]!.text).toContain(asset.asset_code)
  })
  test('that is removed leaves a change without a seller', () => {
    expect(spelled(encodeRemoval('12', spot))).toEqual({ text: '', sides: ['', '12', '7', TIME], exact: false })
    expect(keysOf(changesByOffer, {}, { id: '12' })).toEqual([[12n]])
    expect(keysOf(changesBySeller, {}, { seller: 'S' })).toEqual([['S']])
    expect(keysOf(changesBySeller, {})).toEqual([])
  })
})

test('indexes that say so read only side columns, so that no record is parsed to be filed again', () => {
  const accounts = { account: 'G', participants: '["P"]', seller: 'S', base_account: 'A', counter_account: 'B' }
  const named = { ...accounts, id: '7', base_asset: 'a', counter_asset: 'b' }
  const closed = new Proxy({}, { get: () => expect.unreachable('a member is read') })
  const found = indexes.filter(({ bySides }) => bySides).map((index) => [index.tag, keysOf(index, closed, named)])
  expect(found).toEqual([
    [1, [['G'], ['P']]],
    [2, [['G'], ['P']]],
    [6, [['G']]],
    [7, [['A'], ['B']]],
    [9, [['a', 'b']]],
    [10, [[7n]]],
    [11, [['S']]],
  ])
  expect(logs.filter(isFiledBySides).map(({ name }) => name)).toEqual([
    'ledger',
    'transaction',
    'effect',
    'failed transaction',
    'offer change',
  ])
})
