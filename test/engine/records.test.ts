/** Golden examples by hand: what goes in, and the exact typed records and stored texts that come out. */
import { beforeAll, describe, expect, test } from 'vitest'
import { catalogue, Digits, type Ledger, type LedgerClose, parseJson } from '../../src/index.ts'
import { ledgerOf } from '../support/benches.ts'

/** Ledger 2,097,152, where ids pass 2^53; operation 1 of its first transaction is 9007199254745089. */
const line = `{"ledger":{"sequence":2097152,"hash":"AB12","prev_hash":"FF","protocol":10,"closed_at":"2019-06-01T14:00:00.50+02:00",
"total_coins":"100.0000000","fee_pool":"1.5","base_fee_in_stroops":100,"base_reserve_in_stroops":5000000,"max_tx_set_size":50,"note":1.50},
"transactions":[
 {"memo":"hi \\u00e9","hash":"${'AA'.repeat(32)}","account":"GA","account_sequence":9223372036854775807,"max_fee":100,"fee_paid":99,
  "envelope_xdr":"AAAA","result_xdr":"","result_meta_xdr":"AA==","participants":["GP"],"valid_before":null,
  "operations":[
   {"type":"payment","sender":"GA","receiver":"GB","asset":{"code":"USD","kind":4},"amount":9223372036854775807,"amount_f":1.50,"tiny":0.0000001},
   {"type":"create_account","source_account":"GS","account":"GN","funder":"GA","starting_balance":20.0,"participants":["GQ"],
    "effects":[{"account":"GN","type":"account_created","type_i":0,"starting_balance":"20.0000000"},
               {"account":"GN","type":"signer_created","type_i":10,"index":7,"public_key":"GK","weight":1,"big":90071992547409931},
               {"account":"GA","type":"account_debited","type_i":3,"amount":"20.0000000","asset_type":"native"}]},
   {"type":"cross_chain","type_i":77,"amount":"1.0","to":"GT","trades":[
     {"base_account":"GA","base_offer_id":5,"base_amount":"1.0000000","base_asset_type":"native","base_pool":"p1",
      "counter_account":"GB","counter_amount":"2.0000000","counter_asset_type":"credit_alphanum12","counter_asset_code":"LONGER","counter_asset_issuer":"GI",
      "base_is_seller":true,"price":{"N":2,"D":1},"offer_id":9223372036854775807,"fee":0.30}]}]},
 {"hash":"${'BB'.repeat(32)}","successful":false,"account":"GF","account_sequence":"7","max_fee":1,"fee_paid":1,
  "envelope_xdr":"","result_xdr":"","result_meta_xdr":"","operations":[{"type":"inflation","into":"GX"},{"type":"inflation"}]}],
"offers":{"changed":[{"id":9007199254740993,"seller":"GA","selling":{"asset_type":"native"},
  "buying":{"asset_type":"credit_alphanum4","asset_code":"USD","asset_issuer":"GI"},"amount":"5.0000000","price_r":{"N":1,"D":3},"price":"0.3333333","sponsor":"GZ"}],"removed":["3"]}}`

const close = parseJson(line) as LedgerClose
let ledger: Ledger
beforeAll(async () => {
  ledger = await ledgerOf([close])
})
const first = BigInt(2097152) << 32n
const operation = (n: number): bigint => first + 4096n + BigInt(n)
const textOf = async (read: ReturnType<typeof ledger.readOne> | { block: any; at: number }): Promise<string> => {
  const { block, at } = await read
  return `{${Buffer.from(block.text(at)).toString()}}`
}

describe('records as they come out', () => {
  test('a ledger: hashes in lower case, time in UTC with its fraction, counts derived, open members kept', async () => {
    expect(await ledger.get(catalogue.ledger, { ledger: 2097152 })).toStrictEqual({
      id: 'ab12',
      paging_token: '9007199254740992',
      hash: 'ab12',
      prev_hash: 'ff',
      sequence: 2097152,
      closed_at: '2019-06-01T12:00:00.50Z',
      protocol: 10,
      total_coins: '100.0000000',
      fee_pool: '1.5',
      base_fee_in_stroops: 100,
      base_reserve_in_stroops: 5000000,
      max_tx_set_size: 50,
      note: 1.5,
      transaction_count: 1,
      successful_transaction_count: 1,
      failed_transaction_count: 1,
      operation_count: 3,
    })
    expect(await textOf(ledger.readOne(catalogue.ledger, { ledger: 2097152 }))).toContain('"note":1.50')
  })

  test('a transaction: an exact 64-bit sequence, participants not shown', async () => {
    const record = {
      id: 'aa'.repeat(32),
      paging_token: '9007199254745088',
      hash: 'aa'.repeat(32),
      ledger: 2097152,
      created_at: '2019-06-01T12:00:00.50Z',
      account: 'GA',
      account_sequence: 9223372036854775807n,
      operation_count: 3,
      memo: 'hi é',
      max_fee: 100,
      fee_paid: 99,
      envelope_xdr: 'AAAA',
      result_xdr: '',
      result_meta_xdr: 'AA==',
      valid_before: null,
    }
    const found = await ledger.get(catalogue.transaction, { hash: 'Aa'.repeat(32) })
    expect(found).toStrictEqual(record)
    expect(Object.keys(found!).filter((name) => ['memo', 'valid_before'].includes(name))).toEqual(['memo', 'valid_before'])
    expect((await ledger.page(catalogue.transactions, {})).records).toStrictEqual([record])
  })

  test('a failed transaction: found only by its hash, marked as failed; its accounts exist', async () => {
    expect(await ledger.get(catalogue.transaction, { hash: 'bb'.repeat(32) })).toStrictEqual({
      id: 'bb'.repeat(32),
      paging_token: '9007199254749184',
      hash: 'bb'.repeat(32),
      ledger: 2097152,
      created_at: '2019-06-01T12:00:00.50Z',
      account: 'GF',
      account_sequence: 7n,
      operation_count: 2,
      max_fee: 1,
      fee_paid: 1,
      envelope_xdr: '',
      result_xdr: '',
      result_meta_xdr: '',
      successful: false,
    })
    for (const account of ['GF', 'GX']) {
      expect(await ledger.get(catalogue.account, { account })).toStrictEqual({ id: account })
      expect((await ledger.page(catalogue.transactionsOfAccount, { account })).records).toEqual([])
    }
    expect((await ledger.page(catalogue.operationsOfTransaction, { hash: 'bb'.repeat(32) })).records).toEqual([])
  })

  test('a payment: amount as a bigint, digits of amount_f kept in the stored text', async () => {
    expect(await ledger.get(catalogue.operation, { operation: operation(1) })).toStrictEqual({
      id: 9007199254745089n,
      paging_token: '9007199254745089',
      amount: 9223372036854775807n,
      type_i: 1,
      type: 'payment',
      sender: 'GA',
      receiver: 'GB',
      asset: { code: 'USD', kind: 4 },
      amount_f: 1.5,
      tiny: 1e-7,
    })
    const text = await textOf(ledger.readOne(catalogue.operation, { operation: operation(1) }))
    expect(text).toContain('"amount":9223372036854775807,')
    expect(text).toContain('"amount_f":1.50,"tiny":0.0000001')
  })

  test('a create_account with its own source, and an operation of an unknown type', async () => {
    expect(await ledger.get(catalogue.operation, { operation: operation(2) })).toStrictEqual({
      id: operation(2),
      paging_token: '9007199254745090',
      type_i: 0,
      type: 'create_account',
      source_account: 'GS',
      account: 'GN',
      funder: 'GA',
      starting_balance: 20,
    })
    expect(await ledger.get(catalogue.operation, { operation: operation(3) })).toStrictEqual({
      id: operation(3),
      paging_token: '9007199254745091',
      type_i: 77,
      type: 'cross_chain',
      amount: '1.0',
      to: 'GT',
    })
  })

  test('effects: counted from 1, or by their own index', async () => {
    const { records } = await ledger.page(catalogue.effectsOfOperation, { operation: operation(2) })
    expect(records).toStrictEqual([
      { account: 'GN', paging_token: '9007199254745090-1', type: 'account_created', type_i: 0, starting_balance: '20.0000000' },
      {
        account: 'GN',
        paging_token: '9007199254745090-7',
        type: 'signer_created',
        type_i: 10,
        index: 7,
        public_key: 'GK',
        weight: 1,
        big: 90071992547409931n,
      },
      { account: 'GA', paging_token: '9007199254745090-8', type: 'account_debited', type_i: 3, amount: '20.0000000', asset_type: 'native' },
    ])
  })

  const trade = {
    id: '9007199254745091-0',
    paging_token: '9007199254745091-0',
    ledger_close_time: '2019-06-01T12:00:00.50Z',
    base_account: 'GA',
    base_offer_id: '5',
    base_amount: '1.0000000',
    base_asset_type: 'native',
    base_pool: 'p1',
    counter_account: 'GB',
    counter_amount: '2.0000000',
    counter_asset_type: 'credit_alphanum12',
    counter_asset_code: 'LONGER',
    counter_asset_issuer: 'GI',
    base_is_seller: true,
    price: { n: 2, d: 1 },
    offer_id: '9223372036854775807',
    fee: 0.3,
  }

  test('a trade: offer ids as text, price with n and d', async () => {
    for (const offer of [5n, 9223372036854775807n])
      expect((await ledger.page(catalogue.tradesOfOffer, { offer })).records).toStrictEqual([trade])
  })

  test('the same trade, asked for from the other side: turned, with its digits', async () => {
    const longer = { type: 'credit_alphanum12', code: 'LONGER', issuer: 'GI' } as const
    expect((await ledger.page(catalogue.trades, { base: { type: 'native' }, counter: longer })).records).toStrictEqual([trade])
    const page = await ledger.read(catalogue.trades, { base: longer, counter: { type: 'native' } })
    expect(page.records.map(({ block, at }) => block.record(at))).toStrictEqual([
      {
        id: trade.id,
        paging_token: trade.id,
        ledger_close_time: trade.ledger_close_time,
        counter_account: 'GA',
        counter_offer_id: '5',
        counter_amount: '1.0000000',
        counter_asset_type: 'native',
        counter_pool: 'p1',
        base_account: 'GB',
        base_amount: '2.0000000',
        base_asset_type: 'credit_alphanum12',
        base_asset_code: 'LONGER',
        base_asset_issuer: 'GI',
        base_is_seller: false,
        price: { n: 1, d: 2 },
        offer_id: trade.offer_id,
        fee: 0.3,
      },
    ])
    expect(await textOf(page.records[0]!)).toContain('"fee":0.30')
  })

  test('an offer: an exact id past 2^53, last_modified derived', async () => {
    const record = {
      id: 9007199254740993n,
      paging_token: '9007199254740993',
      seller: 'GA',
      selling: { asset_type: 'native' },
      buying: { asset_type: 'credit_alphanum4', asset_code: 'USD', asset_issuer: 'GI' },
      amount: '5.0000000',
      price: '0.3333333',
      sponsor: 'GZ',
      price_r: { n: 1, d: 3 },
      last_modified: '2019-06-01T12:00:00.50Z',
    }
    expect(await ledger.get(catalogue.offer, { offer: 9007199254740993n })).toStrictEqual(record)
    expect((await ledger.page(catalogue.offersOfAccount, { account: 'GA' })).records).toStrictEqual([record])
  })
})

describe('the accounts that a record affects', () => {
  const tokens = async (
    query: 'transactionsOfAccount' | 'operationsOfAccount' | 'paymentsOfAccount' | 'effectsOfAccount',
    account: string,
  ) => (await ledger.page<any, any>(catalogue[query], { account })).records.map(({ paging_token }) => paging_token)

  test.each(['GA', 'GB', 'GN', 'GP', 'GQ', 'GS', 'GT'])('the transaction affects %s', async (account) => {
    expect(await tokens('transactionsOfAccount', account)).toEqual(['9007199254745088'])
  })

  test.each([
    ['GA', [1, 2, 3], [1, 2]],
    ['GB', [1], [1]],
    ['GN', [2], [2]],
    ['GQ', [2], [2]],
    ['GS', [2], [2]],
    ['GT', [3], []],
    ['GP', [], []],
  ])('%s is affected by operations %j, of which payments %j', async (account, all, payments) => {
    expect(await tokens('operationsOfAccount', account)).toEqual(all.map((n) => String(operation(n))))
    expect(await tokens('paymentsOfAccount', account)).toEqual(payments.map((n) => String(operation(n))))
  })

  test.each(['GK', 'GI', 'GZ', 'GV'])('%s, named only by a member that is not a party, is no account', async (account) => {
    expect(await ledger.get(catalogue.account, { account })).toBeUndefined()
  })

  test('an offer that was only removed still has a list of trades, an empty one', async () => {
    expect((await ledger.page(catalogue.tradesOfOffer, { offer: 3n })).records).toEqual([])
    expect(await ledger.get(catalogue.offer, { offer: 3n })).toBeUndefined()
  })
})

test('integers given as bigints or as text make the same record', async () => {
  const transaction = close.transactions![0]!
  const payment = transaction.operations![0]!
  const forms = [9223372036854775807n, '9223372036854775807'] as const
  const texts = await Promise.all(
    forms.map(async (form) => {
      const given = { ...transaction, account_sequence: form, operations: [{ ...payment, amount: form, amount_f: new Digits('1.50') }] }
      const other = await ledgerOf([{ ...close, transactions: [given] }])
      return [
        await textOf(other.readOne(catalogue.transaction, { hash: transaction.hash })),
        await textOf(other.readOne(catalogue.operation, { operation: operation(1) })),
      ]
    }),
  )
  expect(texts[0]).toEqual(texts[1])
})

test('a member named __proto__ is stored like any other', async () => {
  const odd = parseJson(
    line.replace('"base_pool":"p1"', '"__proto__":{"x":1.50}').replace('"memo":"hi', '"__proto__":{"y":2},"memo":"hi'),
  ) as LedgerClose
  const other = await ledgerOf([odd])
  expect(await textOf(other.readOne(catalogue.transaction, { hash: 'aa'.repeat(32) }))).toContain('"__proto__":{"y":2}')
  const pair = { base: { type: 'credit_alphanum12', code: 'LONGER', issuer: 'GI' }, counter: { type: 'native' } } as const
  const { records } = await other.read(catalogue.trades, pair)
  expect(await textOf(records[0]!)).toContain('"__proto__":{"x":1.50}')
  expect(({} as { x?: unknown }).x).toBeUndefined()
})

test('texts with escapes come back as they were, however many there are', async () => {
  const notes = ['"', '\\', '\u0000', 'é']
  const inner = Array.from({ length: 500 }, (_, n) => ({
    type: 'inflation',
    effects: Array.from({ length: 10 }, (_, m) => ({ account: 'GA', type: 'noted', type_i: 99, note: notes[(n + m) % 4]! })),
  }))
  const { operations: _, ...transaction } = close.transactions![0]!
  const other = await ledgerOf([{ ...close, transactions: [{ ...transaction, operations: inner }], offers: {} } as LedgerClose])
  const found: unknown[] = []
  for await (const { note } of other.records(catalogue.effects, {})) found.push(note)
  expect(found).toEqual(inner.flatMap(({ effects }) => effects.map(({ note }) => note)))
})

test('an account is not known by the number of an offer, though lists of that offer have been read', async () => {
  expect((await ledger.page(catalogue.tradesOfOffer, { offer: 5n })).records).toHaveLength(1)
  expect(await ledger.get(catalogue.account, { account: '5' })).toBeUndefined()
  await expect(ledger.page(catalogue.tradesOfAccount, { account: '5' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
