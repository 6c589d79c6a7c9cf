/** Records on the wire: their links, their digits, their other view, their extended members. */
import { beforeAll, describe, expect, it } from 'vitest'
import { signaturesOf } from '../../adapters/http/extended.ts'
import { memory } from '../../adapters/memory/index.ts'
import { type Ledger, openLedger } from '../../src/index.ts'
import { type Ask, asker, BASE, closes, hashOf, idOf, ODD, recordsOf, smallLedger } from './support.ts'

const LIST = '{?cursor,limit,order}'
const ODD_PATH = '%C3%B6%20%2F%3F%23%22%5C%25%26%2B%3Cx%3E'
const to = (path: string) => ({ href: BASE + path })
const templated = (path: string) => ({ href: BASE + path, templated: true })

let ledger: Ledger
let ask: Ask
beforeAll(async () => {
  ledger = await smallLedger()
  ask = asker(ledger)
})

describe('links', () => {
  it('of a transaction', async () => {
    const { body } = await ask(`/transactions/${hashOf('a')}`)
    const token = idOf(1, 1, 0)
    expect(body._links).toEqual({
      account: to('/accounts/GALICE'),
      ledger: to('/ledgers/1'),
      self: to(`/transactions/${hashOf('a')}`),
      precedes: to(`/transactions?cursor=${token}&order=asc`),
      succeeds: to(`/transactions?cursor=${token}&order=desc`),
      effects: templated(`/transactions/${hashOf('a')}/effects${LIST}`),
      operations: templated(`/transactions/${hashOf('a')}/operations${LIST}`),
    })
  })

  it('of a failed transaction, which no listing shows', async () => {
    const { body } = await ask(`/transactions/${hashOf('F')}`)
    expect(body._links.self).toEqual(to(`/transactions/${hashOf('f')}`))
    expect(body._links.account).toEqual(to('/accounts/GFAILED'))
    expect(body.successful).toBe(false)
    expect((await ask('/transactions?limit=200')).text).not.toContain(hashOf('f'))
  })

  it('of a transaction whose account id is anything but plain are percent-encoded, and resolve', async () => {
    const { body } = await ask(`/transactions/${hashOf('b')}`)
    expect(body._links.account).toEqual(to(`/accounts/${ODD_PATH}`))
    expect((await ask(`/accounts/${ODD_PATH}`)).body.id).toBe(ODD)
  })

  it('of an operation', async () => {
    const id = idOf(2, 1, 2)
    const { body } = await ask(`/operations/${id}`)
    expect(body._links).toEqual({
      self: to(`/operations/${id}`),
      effects: templated(`/operations/${id}/effects${LIST}`),
      precedes: to(`/operations?cursor=${id}&order=asc`),
      succeeds: to(`/operations?cursor=${id}&order=desc`),
      transactions: to(`/transactions/${hashOf('b')}`),
    })
  })

  it('of the creation of an account are those of an operation, and its transaction', async () => {
    const id = idOf(1, 1, 1)
    const [record] = recordsOf(await ask(`/accounts/GBOB/payments?limit=1`))
    expect(record._links).toEqual({
      self: to(`/operations/${id}`),
      transaction: to(`/transactions/${hashOf('a')}`),
      effects: templated(`/operations/${id}/effects${LIST}`),
      precedes: to(`/operations?cursor=${id}&order=asc`),
      succeeds: to(`/operations?cursor=${id}&order=desc`),
      transactions: to(`/transactions/${hashOf('a')}`),
    })
  })

  it('of a payment include templated precedes and succeeds', async () => {
    const id = idOf(1, 1, 2)
    const { body } = await ask(`/operations/${id}`)
    expect(body._links).toEqual({
      self: to(`/operations/${id}`),
      transaction: to(`/transactions/${hashOf('a')}`),
      effects: templated(`/operations/${id}/effects${LIST}`),
      precedes: templated(`/operations?cursor=${id}&order=asc{?limit}`),
      succeeds: templated(`/operations?cursor=${id}&order=desc{?limit}`),
      transactions: to(`/transactions/${hashOf('a')}`),
    })
    const expanded = await ask(`/operations?cursor=${id}&order=asc?limit=1`)
    expect(expanded.body._links.self).toEqual(to(`/operations?cursor=${id}&limit=1&order=asc`))
  })

  it('of an effect', async () => {
    const [, record] = recordsOf(await ask('/effects'))
    const id = idOf(1, 1, 1)
    expect(record._links).toEqual({
      operation: to(`/operations/${id}`),
      precedes: to(`/effects?cursor=${id}-2&order=asc`),
      succeeds: to(`/effects?cursor=${id}-2&order=desc`),
    })
  })

  it('of a trade: self is the page that holds exactly that trade', async () => {
    const id = idOf(2, 1, 1)
    const [first, second] = recordsOf(await ask('/trades'))
    expect(first._links).toEqual({
      self: to(`/operations/${id}/trades?cursor=&limit=1&order=asc`),
      base: to('/accounts/GALICE'),
      counter: to(`/accounts/${ODD_PATH}`),
      operation: to(`/operations/${id}`),
    })
    expect(second._links.self).toEqual(to(`/operations/${id}/trades?cursor=${id}-3&limit=1&order=asc`))
    for (const record of [first, second]) {
      const [alone, ...others] = recordsOf(await ask(record._links.self.href.slice(BASE.length)))
      expect(alone).toEqual(record)
      expect(others).toEqual([])
    }
  })

  it('of a trade with a pool: the side without an account has no link', async () => {
    const [, record] = recordsOf(await ask('/trades'))
    expect(Object.keys(record._links)).toEqual(['self', 'counter', 'operation'])
    const pair = `base_asset_type=credit_alphanum4&base_asset_code=ABC&base_asset_issuer=GISSUER&counter_asset_type=native`
    const [, turned] = recordsOf(await ask(`/trades?${pair}`))
    expect(turned._links.base).toEqual(to('/accounts/GBOB'))
    expect(turned._links.counter).toBeUndefined()
  })

  it('of an offer', async () => {
    const { body } = await ask('/offers/7')
    expect(body._links).toEqual({ self: to('/offers/7'), offer_maker: to('/accounts/GALICE') })
    expect(recordsOf(await ask('/accounts/GALICE/offers'))).toEqual([body])
  })

  it('of a ledger', async () => {
    const { body } = await ask('/ledgers/2')
    expect(body._links).toEqual({
      self: to('/ledgers/2'),
      effects: templated(`/ledgers/2/effects${LIST}`),
      operations: templated(`/ledgers/2/operations${LIST}`),
      transactions: templated(`/ledgers/2/transactions${LIST}`),
    })
  })

  it('of an account: its id, and everything that is listed by account', async () => {
    const { body } = await ask('/accounts/GBOB')
    expect(body.id).toBe('GBOB')
    expect(body._links.self).toEqual(to('/accounts/GBOB'))
    for (const name of ['transactions', 'operations', 'payments', 'effects', 'trades', 'offers'])
      expect(body._links[name]).toEqual(templated(`/accounts/GBOB/${name}${LIST}`))
  })
})

describe('numbers past 2^53', () => {
  it('keep every digit: ids, sequences, amounts', async () => {
    expect((await ask(`/transactions/${hashOf('a')}`)).text).toContain('"account_sequence":9007199254740993,')
    expect((await ask(`/operations/${idOf(1, 1, 2)}`)).text).toContain('"amount":9223372036854775807,')
    const offer = await ask('/offers/9223372036854775807')
    expect(offer.text).toContain('"id":9223372036854775807,"paging_token":"9223372036854775807"')
    expect(offer.text).toContain(`"href":"${BASE}/offers/9223372036854775807"`)
  })
})

describe('a trade that is turned to match the filter', () => {
  const pair = 'base_asset_type=credit_alphanum4&base_asset_code=ABC&base_asset_issuer=GISSUER&counter_asset_type=native'

  it('has sides, links, price and seller exchanged', async () => {
    const [plain] = recordsOf(await ask('/trades?limit=1'))
    const [turned] = recordsOf(await ask(`/trades?${pair}&limit=1`))
    expect(plain.price).toEqual({ n: 3, d: 1 })
    expect(turned).toMatchObject({
      base_account: ODD,
      base_asset_code: 'ABC',
      counter_account: 'GALICE',
      counter_asset_type: 'native',
      counter_offer_id: '7',
      base_is_seller: false,
      price: { n: 1, d: 3 },
      paging_token: plain.paging_token,
    })
    expect(turned._links.base).toEqual(plain._links.counter)
    expect(turned._links.counter).toEqual(plain._links.base)
    expect(turned._links.self).toEqual(plain._links.self)
  })

  it('is the same on every later request, when its block is kept rendered', async () => {
    const first = await ask(`/trades?${pair}`)
    for (let i = 0; i < 5; i++) expect((await ask(`/trades?${pair}`)).text).toBe(first.text)
    expect(recordsOf(await ask('/trades'))[0].base_account).toBe('GALICE')
  })
})

describe('the extended profile', () => {
  /** What the profile makes of a ledger with one transaction. */
  async function extendedBy(members: object, operations: readonly object[], path: string): Promise<any[]> {
    const [close] = closes
    await using opened = await openLedger(memory())
    await opened.append({ ...close!, transactions: [{ ...close!.transactions![0]!, ...members, operations: operations as never }] })
    return recordsOf(await asker(opened, { profile: 'extended' })(path))
  }
  const operationsWith = (...operations: object[]): Promise<any[]> => extendedBy({}, operations, '/operations')
  const transactionWith = async (members: object): Promise<any> => (await extendedBy(members, [{ type: 'inflation' }], '/transactions'))[0]

  const ENVELOPE = 'an envelope...'
  /** An envelope that ends in these signatures, in base64. */
  const signed = (...signatures: Buffer[]): string => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(signatures.length)
    const decorated = signatures.flatMap((one) => [Buffer.from('hint'), Buffer.from([0, 0, 0, one.length]), one])
    return Buffer.concat([Buffer.from(ENVELOPE), count, ...decorated]).toString('base64')
  }

  it('adds derived members after those of the record, and changes none', async () => {
    const extended = asker(ledger, { profile: 'extended' })
    for (const path of [`/transactions/${hashOf('a')}`, `/operations/${idOf(1, 1, 2)}`, '/offers/7', '/ledgers/1', '/accounts/GBOB']) {
      const [plain, more] = [(await ask(path)).body, (await extended(path)).body]
      const { _links: links, ...members } = more
      const { _links: plainLinks, ...plainMembers } = plain
      expect(Object.entries(members).slice(0, Object.keys(plainMembers).length)).toEqual(Object.entries(plainMembers))
      expect(links).toMatchObject(plainLinks)
    }
    expect((await extended(`/transactions/${hashOf('a')}`)).body).toMatchObject({
      successful: true,
      source_account: 'GALICE',
      source_account_sequence: '9007199254740993',
      fee_account: 'GALICE',
      fee_charged: 100,
      memo_type: 'none',
    })
    expect((await extended(`/transactions/${hashOf('f')}`)).body.successful).toBe(false)
    expect((await extended(`/operations/${idOf(1, 1, 2)}`)).body).toMatchObject({
      source_account: 'GALICE',
      created_at: '2019-06-01T12:00:01Z',
      transaction_hash: hashOf('a'),
      transaction_successful: true,
      from: 'GALICE',
      to: ODD,
      asset_type: 'native',
    })
    const [effect] = recordsOf(await extended('/effects'))
    expect(effect).toMatchObject({ id: `${idOf(1, 1, 1).padStart(19, '0')}-0000000001`, created_at: '2019-06-01T12:00:01Z' })
    expect(recordsOf(await extended('/trades')).map((trade) => trade.trade_type)).toEqual(['orderbook', 'liquidity_pool'])
    expect((await extended('/offers/7')).body).toMatchObject({ last_modified_time: '2019-06-01T12:00:02Z', last_modified_ledger: 2 })
    expect((await extended('/ledgers/1')).body._links.payments).toEqual(templated(`/ledgers/1/payments${LIST}`))
    expect((await extended(`/operations/${idOf(2, 1, 2)}`)).body._links.transaction).toEqual(to(`/transactions/${hashOf('b')}`))
  })

  it.each([
    [{ type: 'path_payment' }, true],
    [{ type: 'account_merge', asset: { code: 'XLM' } }, true],
    [{ type: 'path_payment_strict_receive', type_i: 2 }, true],
    [{ type: 'path_payment_strict_send', type_i: 13 }, false],
    [{ type: 'inflation' }, false],
    [{ type: 'of_another_network', type_i: 22 }, false],
  ])('links what precedes and succeeds %o by its code', async (members, hasLimit) => {
    const asset = { code: 'EURO1', issuer: 'GISSUER' }
    const [{ _links: links }] = await operationsWith({
      sender: 'GALICE',
      receiver: 'GBOB',
      amount: 5,
      amount_f: 0.0000005,
      asset,
      ...members,
    })
    const id = idOf(1, 1, 1)
    const around = (order: string): object =>
      hasLimit ? templated(`/operations?cursor=${id}&order=${order}{?limit}`) : to(`/operations?cursor=${id}&order=${order}`)
    expect([links.precedes, links.succeeds]).toEqual([around('asc'), around('desc')])
  })

  it('tells sender, receiver and asset of payments along a path too', async () => {
    const along = { sender: 'GALICE', receiver: 'GBOB', asset: { code: 'EURO1', issuer: 'GISSUER' }, amount: 5, amount_f: 0.0000005 }
    const operations = [
      { type: 'path_payment', ...along },
      { type: 'path_payment_strict_send', type_i: 13, ...along },
      { type: 'account_merge', sender: 'GALICE', receiver: 'GBOB', asset: { code: 'XLM' } },
    ]
    const records = await operationsWith(...operations)
    const asset = { asset_type: 'credit_alphanum12', asset_code: 'EURO1', asset_issuer: 'GISSUER' }
    expect(records).toMatchObject([
      { from: 'GALICE', to: 'GBOB', ...asset },
      { from: 'GALICE', to: 'GBOB', ...asset },
      { from: 'GALICE', to: 'GBOB' },
    ])
    expect(records[2]).not.toHaveProperty('asset_type')
  })

  // Of a type that the schema leaves open.
  const along = { type: 'path_payment_strict_send', type_i: 13, sender: 'GALICE', receiver: 'GBOB' }

  it.each<[string, object, object]>([
    ['the native asset by either name', { code: 'native' }, { asset_type: 'native' }],
    [
      'an asset of four letters',
      { code: 'EURO', issuer: 'GI' },
      { asset_type: 'credit_alphanum4', asset_code: 'EURO', asset_issuer: 'GI' },
    ],
    [
      'an asset that is called as the native one',
      { code: 'XLM', issuer: 'GI' },
      { asset_type: 'credit_alphanum4', asset_code: 'XLM', asset_issuer: 'GI' },
    ],
    ['an asset without an issuer', { code: 'EURO1' }, { asset_type: 'credit_alphanum12', asset_code: 'EURO1' }],
    ['no code that is text', { code: 5 }, {}],
  ])('tells %s of a payment', async (_, asset, expected) => {
    const [record] = await operationsWith({ ...along, asset })
    const told = Object.entries(record).filter(([name]) => name.startsWith('asset_'))
    expect(Object.fromEntries(told)).toEqual(expected)
  })

  it('adds only what follows from an operation, and only to those that it is said of', async () => {
    const asset = { code: 'EURO', issuer: 'GI' }
    const own = { asset_type: 'own', asset_code: 'OWN', from: 'own', to: 'own' }
    const [given, other, bare] = await operationsWith(
      { ...along, asset, ...own },
      { type: 'not_a_payment', type_i: 99, asset },
      { type: along.type, type_i: 13 },
    )
    expect(given).toMatchObject({ ...own, sender: 'GALICE' })
    expect(given).not.toHaveProperty('asset_issuer')
    for (const record of [other, bare])
      for (const name of ['asset_type', 'asset_code', 'from', 'to']) expect(record).not.toHaveProperty(name)
  })

  it('leaves the memo and the signatures of a transaction as they were given', async () => {
    const envelope_xdr = signed(Buffer.alloc(64, 1))
    const derived = await transactionWith({ envelope_xdr })
    expect(derived).toMatchObject({ memo_type: 'none', signatures: [Buffer.alloc(64, 1).toString('base64')] })
    const given = await transactionWith({ envelope_xdr, memo: 'rent', signatures: ['own'] })
    expect(given).toMatchObject({ memo: 'rent', signatures: ['own'] })
    expect(given).not.toHaveProperty('memo_type')
  })

  it('reads the signatures at the end of an envelope, and finds none in anything else', () => {
    const all = Array.from({ length: 21 }, (_, at) => Buffer.alloc(64, at))
    for (const count of [1, 2, 20])
      expect(signaturesOf(signed(...all.slice(0, count)))).toEqual(all.slice(0, count).map((one) => one.toString('base64')))
    // Nothing but the array.
    const bare = Buffer.from(signed(all[0]!), 'base64').subarray(ENVELOPE.length)
    expect(signaturesOf(bare.toString('base64'))).toEqual([all[0]!.toString('base64')])
    const uncounted = bare.subarray(1).toString('base64')
    const short = Buffer.alloc(12)
    for (const none of ['AAAA', '', '!', undefined, 5, uncounted, signed(), signed(...all), signed(short), signed(all[0]!, short, all[1]!)])
      expect(signaturesOf(none)).toBeUndefined()
  })
})
