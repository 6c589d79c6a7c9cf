/**
 * The generated network: the same everywhere, true to the input format, and as varied as it promises.
 */
import { createHash } from 'node:crypto'
import { describe, expect, it, test } from 'vitest'
import { type GeneratedMembers, type GeneratedOffer, type GenerateOptions, generate, generateLines } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { openLedger, stringifyJson } from '../../src/index.ts'

const digest = (options: GenerateOptions): string => {
  const hash = createHash('sha256')
  for (const line of generateLines(options)) hash.update(line + '\n')
  return hash.digest('hex')
}

const closes = [...generate({ ledgers: 300, seed: 'folio' })]
const transactions = closes.flatMap((close) => close.transactions)
const operations = transactions.flatMap((one) => one.operations)
const effects = operations.flatMap((one) => one.effects ?? [])
const trades = operations.flatMap((one) => one.trades ?? [])
const offers = closes.flatMap((close) => close.offers?.changed ?? [])
const kinds = (records: { [name: string]: unknown }[], name: string) => new Set(records.map((one) => one[name]))

describe('the same seed', () => {
  it('gives the same bytes, on every platform and version', () => {
    expect(digest({ ledgers: 40, seed: 1 })).toBe('0c6be4193893002219cc3dd7aea958c6b11312d4b33c9794fe494c5b33b156df')
    expect(digest({ ledgers: 40, seed: 'Grüße 種', firstLedger: 1, accounts: 16, transactionsPerLedger: 5, firstOffer: 2n ** 53n })).toBe(
      '8c0a61834c13aff6940f9997f00e8e1783776af592964b03b7db97697dc1dd6b',
    )
  })

  it('gives lines as stringifyJson writes them', () => {
    expect([...generateLines({ ledgers: 300, seed: 'folio' })]).toEqual(closes.map(stringifyJson))
  })

  it('gives different ledgers than another seed', () => {
    expect(digest({ ledgers: 2, seed: 1 })).not.toBe(digest({ ledgers: 2, seed: 2 }))
  })

  it('gives a longer run that begins like a shorter one', () => {
    const short = [...generateLines({ ledgers: 5, seed: 3 })]
    expect([...generateLines({ ledgers: 9, seed: 3 })].slice(0, 5)).toEqual(short)
  })
})

describe('the chain of ledgers', () => {
  it('has no gap, is linked by hashes, and has five seconds per ledger', () => {
    for (const [nth, { ledger }] of closes.entries()) {
      expect(ledger.hash).toMatch(/^[0-9a-f]{64}$/)
      expect(ledger.sequence).toBe(2_100_000 + nth)
      if (nth > 0) expect(ledger.prev_hash).toBe(closes[nth - 1]!.ledger.hash)
      expect(Math.floor(Date.parse(ledger.closed_at) / 1000)).toBe(1_541_030_400 + 5 * nth)
    }
    expect(new Set(transactions.map((one) => one.hash)).size).toBe(transactions.length)
    expect(closes.some((close) => close.ledger.closed_at.includes('.'))).toBe(true)
  })

  it('has nothing before ledger 1', () => {
    expect([...generate({ ledgers: 1, seed: 1, firstLedger: 1 })][0]!.ledger.prev_hash).toBe('')
  })

  it('counts what the ledger holds', () => {
    for (const { ledger, transactions } of closes.filter((close) => 'operation_count' in close.ledger)) {
      const good = transactions.filter((one) => one.successful !== false)
      const operation_count = good.reduce((sum, one) => sum + one.operations.length, 0)
      const failed_transaction_count = transactions.length - good.length
      expect(ledger).toMatchObject({ successful_transaction_count: good.length, failed_transaction_count, operation_count })
    }
  })
})

describe('three hundred ledgers', () => {
  it('show every operation type', () => {
    const codes = new Map(operations.filter((one) => one.type_i !== undefined).map((one) => [one.type_i, one.type]))
    for (const one of operations) if (one.type_i === undefined) expect([...codes.values()].indexOf(one.type)).not.toBe(-1)
    expect([...codes.keys()].sort((a, b) => a! - b!)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 22, 23])
    expect([...codes].filter(([code]) => code! < 4).sort()).toEqual([
      [0, 'create_account'],
      [1, 'payment'],
      [2, 'path_payment'],
      [3, 'manage_offer'],
    ])
  })

  it('show every effect type', () => {
    const codes = [...kinds(effects, 'type_i')] as number[]
    const all = [
      0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 20, 21, 22, 23, 24, 25, 26, 30, 31, 32, 33, 40, 41, 42, 43, 50, 51, 52, 60, 69, 71, 90, 91, 92,
    ]
    expect(codes.sort((a, b) => a - b)).toEqual(all)
  })

  it('show the corners of the format', () => {
    const seen = (what: string, found: boolean) => expect(found, what).toBe(true)
    seen(
      'an empty ledger',
      closes.some((close) => close.transactions.length === 0),
    )
    seen(
      'a ledger without offers',
      closes.some((close) => close.offers === undefined),
    )
    seen(
      'a transaction without effects',
      transactions.some((one) => one.successful !== false && one.operations.every((op) => !op.effects?.length)),
    )
    seen(
      'participants of a transaction',
      transactions.some((one) => one.participants !== undefined),
    )
    seen(
      'participants of an operation',
      operations.some((one) => one.participants !== undefined),
    )
    expect(kinds(transactions, 'memo_type')).toEqual(new Set(['none', 'text', 'id', 'hash', 'return']))
    expect(kinds(transactions, 'successful')).toEqual(new Set([true, false, undefined]))
    seen(
      'a source of its own',
      operations.some((one) => one.source_account !== undefined),
    )
    seen(
      'a fraction in a JSON number',
      operations.some((one) => String(one['amount_f']).includes('.')),
    )
    seen(
      'a sequence past 2^53',
      transactions.some((one) => one.account_sequence > 2 ** 53),
    )
    seen(
      'a sequence within 2^53',
      transactions.some((one) => typeof one.account_sequence === 'number'),
    )
    seen(
      'a payment past 2^53',
      operations.some((one) => one.type === 'payment' && typeof one['amount'] === 'bigint'),
    )
    expect(BigInt(closes[0]!.ledger.sequence) << 32n).toBeGreaterThan(2n ** 53n)
  })

  it('sometimes number effects and trades themselves, strictly rising, with gaps', () => {
    const lists = operations.flatMap((one) => [one.effects ?? [], one.trades ?? []]).filter((list) => list[0]?.index !== undefined)
    const steps = lists.flatMap((list) => list.slice(1).map((one, nth) => one.index! - list[nth]!.index!))
    expect(Math.min(...steps)).toBe(1)
    expect(Math.max(...steps)).toBeGreaterThan(1)
  })

  it('contain failed transactions, without consequences', () => {
    const failed = transactions.filter((one) => one.successful === false)
    expect(failed.length / transactions.length).toBeCloseTo(0.15, 1)
    for (const one of failed) expect(one.operations.every((op) => op.effects === undefined && op.trades === undefined)).toBe(true)
  })
})

describe('trades', () => {
  const pair = (one: GeneratedMembers) => ['base', 'counter'].map((side) => one[`${side}_asset_code`] ?? 'native').join('/')

  it('are between many pairs and all asset types, in both directions', () => {
    const pairs = new Set(trades.map(pair))
    expect(pairs.size).toBeGreaterThan(50)
    expect([...pairs].filter((one) => pairs.has(one.split('/').reverse().join('/'))).length).toBeGreaterThan(20)
    expect(kinds(trades, 'base_asset_type')).toEqual(new Set(['native', 'credit_alphanum4', 'credit_alphanum12']))
    expect(kinds(trades, 'base_is_seller')).toEqual(new Set([true, false]))
  })

  it('sometimes lack an offer id, or a whole side', () => {
    const complete = (one: GeneratedMembers, side: string) =>
      [`${side}_account`, `${side}_offer_id`].filter((name) => one[name] !== undefined).length
    const shapes = trades.map((one) => complete(one, 'base') + complete(one, 'counter'))
    expect(new Set(shapes)).toEqual(new Set([2, 3, 4]))
    for (const one of trades) expect(one['base_account'] ?? one['base_liquidity_pool_id']).toBeTypeOf('string')
  })

  it('carry the price of counter per base, its members sometimes in capitals', () => {
    const prices = trades.map((one) => one['price'] as { n?: number; d?: number; N?: number; D?: number })
    expect(new Set(prices.map((price) => Object.keys(price).join()))).toEqual(new Set(['n,d', 'N,D']))
    for (const [nth, { n, d, N, D }] of prices.entries()) {
      const [base, counter] = [Number(trades[nth]!['base_amount']), Number(trades[nth]!['counter_amount'])]
      if (base > 1 && counter > 1) expect((base * (n ?? N!)) / (d ?? D!) / counter).toBeCloseTo(1, 4)
    }
  })
})

describe('offers', () => {
  it('add up to a book that trades take from', () => {
    const book = new Set<unknown>()
    let [highest, strangers, taken] = [0, 0, 0]
    for (const close of closes) {
      for (const { trades = [] } of close.transactions.flatMap((one) => one.operations)) {
        const ids = trades.flatMap((one) => (one['offer_id'] === undefined ? [] : Number(one['offer_id'])))
        taken += ids.length
        for (const id of ids) expect(book.has(id) || id > highest, `offer ${id} was there to take`).toBe(true)
      }
      for (const id of close.offers?.removed ?? []) {
        if (id < 51_829) strangers++
        else expect(book.delete(id), `offer ${id} was held`).toBe(true)
      }
      for (const { id, amount, last_modified } of close.offers?.changed ?? []) {
        expect(book.has(id) || id > highest, `offer ${id} is held or new`).toBe(true)
        expect(last_modified).toBe(close.ledger.closed_at)
        expect(amount).toMatch(/^(?!0\.0{7}$)\d+\.\d{7}$/)
        book.add(id)
      }
      highest = Math.max(highest, ...[...book].map(Number))
    }
    expect(book.size).toBeGreaterThan(100)
    expect(strangers).toBeGreaterThan(0)
    expect(taken).toBeGreaterThan(500)
  })

  it('never cross, at the end of a ledger', () => {
    const best = new Map<string, number>()
    const book = new Map<unknown, GeneratedOffer>()
    for (const { offers } of closes) {
      for (const offer of offers?.changed ?? []) book.set(offer.id, offer)
      for (const id of offers?.removed ?? []) book.delete(id)
    }
    const side = (one: GeneratedMembers, other: GeneratedMembers) => JSON.stringify([one, other])
    for (const { selling, buying, price_r } of book.values()) {
      const key = side(selling, buying)
      best.set(key, Math.min(best.get(key) ?? Number.POSITIVE_INFINITY, price_r.n / price_r.d))
    }
    for (const [key, price] of best) {
      const [selling, buying] = JSON.parse(key)
      expect(price * (best.get(side(buying, selling)) ?? Number.POSITIVE_INFINITY)).toBeGreaterThan(1)
    }
    expect(offers.length).toBeGreaterThan(book.size)
  })

  it('stay within the size of the book', () => {
    const held = new Set<unknown>()
    for (const { offers } of generate({ ledgers: 60, seed: 1, offers: 20 })) {
      for (const { id } of offers?.changed ?? []) held.add(id)
      for (const id of offers?.removed ?? []) held.delete(id)
      expect(held.size).toBeLessThanOrEqual(20)
    }
    expect(held.size).toBeGreaterThan(10)
  })
})

describe('sizes', () => {
  const bytes = (value: object) => Buffer.byteLength(stringifyJson(value))
  const mean = (sizes: number[]) => sizes.reduce((sum, one) => sum + one, 0) / sizes.length

  it('are about 1.2 KB per transaction without its operations', () => {
    const size = mean(transactions.map(({ operations: _, ...one }) => bytes(one)))
    expect(size).toBeGreaterThan(1_100)
    expect(size).toBeLessThan(1_300)
  })

  it('follow envelopeBytes', () => {
    const xdr = (envelopeBytes: number) => {
      const all = [...generate({ ledgers: 60, seed: 1, envelopeBytes })].flatMap((close) => close.transactions)
      return mean(all.map((one) => ((one.envelope_xdr.length + one.result_xdr.length + one.result_meta_xdr.length) * 3) / 4))
    }
    expect(xdr(5_000) / xdr(1_000)).toBeGreaterThan(4)
    expect(xdr(1_000) / 1_000).toBeCloseTo(1, 0)
  })

  it('follow transactionsPerLedger and operationsPerTransaction', () => {
    const all = [...generate({ ledgers: 400, seed: 1, transactionsPerLedger: 8, operationsPerTransaction: 3 })].flatMap(
      (close) => close.transactions,
    )
    expect(all.length / 400 / 8).toBeCloseTo(1, 0)
    expect(mean(all.map((one) => one.operations.length)) / 3).toBeCloseTo(1, 0)
  })

  it('have no limit short of a hundred operations', () => {
    const all = [...generate({ ledgers: 20, seed: 1, operationsPerTransaction: 50, envelopeBytes: 20_000 })].flatMap(
      (close) => close.transactions,
    )
    expect(Math.max(...all.map((one) => one.operations.length))).toBe(100)
    expect(Math.max(...all.map((one) => one.envelope_xdr.length))).toBeGreaterThan(8_192)
  })

  it('give a few accounts most of the work, and include new accounts', () => {
    const work = new Map<string, number>()
    for (const { account } of transactions) work.set(account, (work.get(account) ?? 0) + 1)
    const ranked = [...work.values()].sort((a, b) => b - a)
    expect(ranked[0]! / transactions.length).toBeGreaterThan(0.04)
    expect(ranked.length).toBeGreaterThan(1_000)
    const created = new Set(effects.filter((one) => one.type === 'account_created').map((one) => one.account))
    expect(transactions.some((one) => created.has(one.account))).toBe(true)
  })
})

describe('the XDR members', () => {
  it('are base64 that repeats the key of the account', () => {
    const { account, envelope_xdr, result_meta_xdr } = transactions[0]!
    const bits = [...account].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('')
    const key = Buffer.from(
      bits
        .slice(8, 264)
        .match(/.{8}/g)!
        .map((byte) => Number.parseInt(byte, 2)),
    )
    for (const member of [envelope_xdr, result_meta_xdr]) expect(Buffer.from(member, 'base64').includes(key)).toBe(true)
    for (const { envelope_xdr, result_xdr } of transactions) expect(envelope_xdr + result_xdr).toMatch(/^[A-Za-z0-9+/]+=*[A-Za-z0-9+/]+=*$/)
  })
})

describe('options', () => {
  const refused = (field: string, reason: string, found?: string): unknown =>
    expect.objectContaining({ code: 'BAD_REQUEST', fields: { field, reason, ...(found !== undefined && { found }) } })
  /** What an error says of a value: a number that is out of range as it is. */
  const foundIn = (value: unknown): string =>
    typeof value === 'bigint' ? `${value}n` : typeof value === 'number' || value === null ? String(value) : typeof value
  const whole = (least: number, most: number): string => `a whole number from ${least} to ${most}`
  it.each<[given: object, field: string, reason: string]>([
    [{ seed: undefined }, 'seed', 'a number or a text'],
    [{ seed: null }, 'seed', 'a number or a text'],
    [{ ledgers: undefined }, 'ledgers', whole(0, 2_147_483_646)],
    [{ ledgers: 1.5 }, 'ledgers', whole(0, 2_147_483_646)],
    [{ ledgers: -1 }, 'ledgers', whole(0, 2_147_483_646)],
    [{ ledgers: '3' }, 'ledgers', whole(0, 2_147_483_646)],
    [{ ledgers: 3n }, 'ledgers', whole(0, 2_147_483_646)],
    [{ firstLedger: 1.5 }, 'firstLedger', whole(1, 2_147_483_646)],
    [{ firstLedger: 2 ** 31 - 1 }, 'firstLedger', whole(1, 2_147_483_646)],
    [{ startTime: 1e12 }, 'startTime', whole(0, 253_402_300_794)],
    [{ startTime: 'x' }, 'startTime', whole(0, 253_402_300_794)],
    [{ startTime: -1 }, 'startTime', whole(0, 253_402_300_794)],
    [{ startTime: 0.5 }, 'startTime', whole(0, 253_402_300_794)],
    [{ firstOffer: -5 }, 'firstOffer', whole(1, Number.MAX_SAFE_INTEGER)],
    [{ firstOffer: 2 ** 53 }, 'firstOffer', whole(1, Number.MAX_SAFE_INTEGER)],
    [{ firstOffer: 0n }, 'firstOffer', 'a whole number from 1 to 4611686018427387904'],
    [{ firstOffer: 2n ** 63n }, 'firstOffer', 'a whole number from 1 to 4611686018427387904'],
    [{ transactionsPerLedger: -5 }, 'transactionsPerLedger', 'a number from 0 to 500000'],
    [{ transactionsPerLedger: Number.NaN }, 'transactionsPerLedger', 'a number from 0 to 500000'],
    [{ operationsPerTransaction: 0.5 }, 'operationsPerTransaction', 'a number from 1 to 50'],
    [{ accounts: 3 }, 'accounts', whole(16, 16_777_216)],
    [{ assets: 0 }, 'assets', whole(1, 1_000)],
    [{ offers: -1 }, 'offers', whole(0, 16_777_216)],
    [{ envelopeBytes: -1 }, 'envelopeBytes', 'a number from 0 to 16777216'],
    [{ failedShare: 1.1 }, 'failedShare', 'a number from 0 to 1'],
    [{ tradeShare: 7 }, 'tradeShare', 'a number from 0 to 1'],
    [{ acounts: 20 }, 'acounts', expect.stringMatching(/^not an option of generate; the options are ledgers, seed, firstLedger, /)],
  ])('%o is rejected at the call, and named', (given, field, reason) => {
    const options = { ledgers: 1, seed: 1, ...given } as GenerateOptions
    const found = field === 'acounts' ? undefined : foundIn(Object.values(given)[0])
    expect(() => generate(options)).toThrow(refused(field, reason, found))
    expect(() => generateLines(options)).toThrow(refused(field, reason, found))
  })

  it('must be given', () => {
    expect(() => generate(undefined as never)).toThrow(refused('options', 'an object'))
    expect(() => generate(null as never)).toThrow(refused('options', 'an object'))
  })

  it('at the ends of their ranges give ledgers that can be ingested', async () => {
    const small = { ledgers: 4, seed: 1, accounts: 16, transactionsPerLedger: 2 }
    const ends: GenerateOptions[] = [
      { ...small, firstLedger: 2 ** 31 - 5, startTime: 253_402_300_799 - 20, firstOffer: 2n ** 62n },
      { ledgers: 20, seed: 1, accounts: 100, firstLedger: 2 ** 31 - 21, tradeShare: 1 },
      { ...small, firstLedger: 1, startTime: 0, firstOffer: 1, assets: 1, tradeShare: 1 },
      { ...small, offers: 0, envelopeBytes: 0, failedShare: 0, tradeShare: 1, operationsPerTransaction: 1 },
      { ...small, transactionsPerLedger: 0.5, operationsPerTransaction: 50, failedShare: 1, tradeShare: 0 },
      { ...small, ledgers: 0 },
    ]
    for (const options of ends) {
      const ledger = await openLedger(memory())
      await ledger.ingest(generate(options))
      expect(ledger.head?.last ?? 0).toBe(options.ledgers === 0 ? 0 : (options.firstLedger ?? 2_100_000) + options.ledgers - 1)
      await ledger.close()
    }
  })
})

test('making ledgers, or lines, ends with `using`', () => {
  for (const make of [generate, generateLines]) {
    let left: Iterator<unknown>
    {
      using made = make({ ledgers: 3, seed: 7 })
      left = made
      expect(made.next().done).toBe(false)
    }
    expect(left.next().done).toBe(true)
  }
})
