/** Closes that are rejected, with their codes, the paths of the members at fault, and what was expected there; they change nothing. */
import { describe, expect, test } from 'vitest'
import { memory } from '../../../adapters/memory/index.ts'
import { hashOf } from '../../../adapters/testing/arbitraries.ts'
import { type Flaw, flaws, MISSING_MEMBER, richClose, spoiledClose } from '../../../adapters/testing/invalid-closes.ts'
import { catalogue, type LedgerClose, openLedger, type Store } from '../../../src/index.ts'
import { prepareClose } from '../../../src/ingest/encode.ts'
import { write } from '../../../src/text/writer.ts'
import { ledgerOf } from '../../support/benches.ts'
import { errorOf } from '../../support/errors.ts'

const FIRST = 2_097_152
const first = richClose(FIRST, '')
const next = richClose(FIRST + 1, first.ledger.hash)
const label = ({ path, value }: Flaw): string =>
  `${path || 'the close'} = ${value === MISSING_MEMBER ? 'nothing' : typeof value === 'bigint' ? `${value}n` : JSON.stringify(value)}`

async function dump(store: Store): Promise<string> {
  const { entries } = await store.scan({ gte: new Uint8Array(0), lt: Uint8Array.of(255) }, { limit: 1e6 })
  return entries.map((entry) => entry.map((bytes) => Buffer.from(bytes).toString('base64')).join('=')).join('\n')
}

describe('a close with one wrong member is rejected with its path, and changes nothing:', () => {
  test.each(flaws(FIRST + 1).map((flaw) => [label(flaw), flaw] as const))('%s', async (_, { path, value, code, fields }) => {
    const store = memory()
    const ledger = await openLedger(store)
    await ledger.append(first)
    const before = await dump(store)
    const error = await errorOf(() => ledger.append(spoiledClose(next, path, value) as LedgerClose))
    expect({ code: error.code, path: error.fields['path'], expected: error.fields['expected'] }).toEqual({ code, ...fields })
    const known = path !== '' && !path.startsWith('ledger.sequence') && path !== 'ledger'
    if (known) expect(error.fields['ledger']).toBe(FIRST + 1)
    expect(ledger.head?.last).toBe(FIRST)
    expect(await dump(store)).toBe(before)
  })
})

describe('a name with a lone surrogate, which as bytes would be another name, is rejected with the path of its record:', () => {
  test.each([
    ['transactions[0]', 'transactions[0].account'],
    ['transactions[0]', 'transactions[0].participants[0]'],
    ['transactions[0]', 'transactions[0].operations[1].receiver'],
    ['transactions[0].operations[2].trades[0]', 'transactions[0].operations[2].trades[0].counter_account'],
    ['transactions[0].operations[2].trades[1]', 'transactions[0].operations[2].trades[1].counter_asset_issuer'],
    ['transactions[0].operations[3].effects[1]', 'transactions[0].operations[3].effects[1].account'],
    ['offers.changed[0]', 'offers.changed[0].seller'],
  ])('%s for %s', async (path, at) => {
    const store = memory()
    const ledger = await openLedger(store)
    await ledger.append(first)
    const before = await dump(store)
    const error = await errorOf(() => ledger.append(spoiledClose(next, at, 'G\ud800A') as LedgerClose))
    const expected = 'accounts, sellers and assets without lone surrogates'
    expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { ledger: FIRST + 1, path, expected } })
    expect(await dump(store)).toBe(before)
    await ledger.append(spoiledClose(next, at, 'G\ud83d\ude00A') as LedgerClose)
  })
})

describe('a name that makes a key longer than the store takes is rejected with the path of its record, before its list is due:', () => {
  const MOST = 200
  /** A store that refuses longer keys, as it says. */
  const narrow = (): Store => {
    const store = memory()
    return {
      ...store,
      capabilities: { ...store.capabilities, maxKeyBytes: MOST },
      write(batch, options) {
        expect(Math.max(...batch.map(([key]) => key.length))).toBeLessThanOrEqual(MOST)
        return store.write(batch, options)
      },
    }
  }

  // Around a name are the kind and the index of its list, what begins and ends it, and the number of a page, or the id of an offer.
  test.each([
    ['transactions[0]', 'transactions[0].account', MOST - 11],
    ['transactions[0]', 'transactions[0].participants[0]', MOST - 11],
    ['transactions[0].operations[3].effects[1]', 'transactions[0].operations[3].effects[1].account', MOST - 11],
    ['offers.changed[0]', 'offers.changed[0].seller', MOST - 12],
  ])('%s for %s', async (path, at, longest) => {
    const store = narrow()
    const ledger = await openLedger(store, { fileEvery: 1 })
    await ledger.append(first)
    const before = await dump(store)
    for (const name of ['G'.repeat(longest + 1), 'é'.repeat(longest / 2 + 1)]) {
      const error = await errorOf(() => ledger.append(spoiledClose(next, at, name) as LedgerClose))
      const expected = `accounts and assets short enough for the store, whose keys have ${MOST} bytes at most`
      expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { ledger: FIRST + 1, path, expected } })
      const ingested = await errorOf(() => ledger.ingest([spoiledClose(next, at, name) as LedgerClose]))
      expect(ingested).toMatchObject({ code: 'INVALID_INPUT', fields: { ledger: FIRST + 1, path, expected } })
    }
    expect(await dump(store)).toBe(before)
    await ledger.append(spoiledClose(next, at, 'G'.repeat(longest)) as LedgerClose)
    await ledger.append(richClose(FIRST + 2, next.ledger.hash))
  })

  test('transactions[0].operations[2].trades[1] for an asset', async () => {
    const ledger = await openLedger(narrow())
    await ledger.append(first)
    const spoiled = spoiledClose(next, 'transactions[0].operations[2].trades[1].counter_asset_issuer', 'G'.repeat(MOST))
    const error = await errorOf(() => ledger.append(spoiled as LedgerClose))
    expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { path: 'transactions[0].operations[2].trades[1]' } })
  })
})

test('a price with both n, d and N, D is read from n and d, which must be whole numbers', async () => {
  const appended = async (price: object) => {
    const ledger = await ledgerOf([])
    await ledger.append(spoiledClose(first, 'transactions[0].operations[2].trades[0].price', price) as LedgerClose)
    return (await ledger.page(catalogue.trades, {}, { limit: 1 })).records[0]!.price
  }
  expect(await appended({ n: 5, d: 2, N: 'x' })).toEqual({ n: 5, d: 2, N: 'x' })
  const error = await errorOf(() => appended({ n: 'x', d: 2, N: 5, D: 2 }))
  expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { path: 'transactions[0].operations[2].trades[0].price.n' } })
})

/** Objects and lists in turns within each other, so many in all. */
function nested(deep: number, inmost: unknown): unknown {
  let value = inmost
  for (let depth = 0; depth < deep; depth++) value = depth % 2 === 0 ? { value } : [value]
  return value
}

test('an open member that is nested as deep as may be comes back whole', async () => {
  const ledger = await openLedger(memory())
  // No bracket and no quote within a text counts.
  const memo = nested(1000, '\\"[{'.repeat(1000))
  const close = structuredClone(first) as LedgerClose & { transactions: { memo?: unknown }[] }
  close.transactions[0]!.memo = memo
  await ledger.append(close)
  const { records } = await ledger.page(catalogue.transactions, {})
  expect(JSON.stringify((records[0] as { memo?: unknown }).memo)).toBe(JSON.stringify(memo))
  for await (const read of ledger.closes()) expect(JSON.stringify((read as typeof close).transactions[0]!.memo)).toBe(JSON.stringify(memo))
  expect((await ledger.verify()).ok).toBe(true)
  await ledger.close()
})

/** What JSON cannot hold. */
const itself: Record<string, unknown> = {}
itself['again'] = itself

describe('an open member that JSON cannot hold is rejected with the path of its record:', () => {
  const throws = {
    toJSON() {
      throw new Error('no')
    },
  }
  const places = [
    'ledger',
    'transactions[0]',
    'transactions[0].operations[0]',
    'transactions[0].operations[2].trades[1]',
    'offers.changed[0]',
  ]
  test.each([
    ['circular', itself],
    ['deep', nested(20_000, 0)],
    ['just too deep', nested(1001, 0)],
    ['throwing', throws],
  ])('%s', async (_, memo) => {
    for (const path of places) {
      const ledger = await ledgerOf([])
      const close = structuredClone(first)
      let record: any = close
      for (const step of path.split(/[.[\]]+/).filter(Boolean)) record = record[step]
      record.memo = memo
      const error = await errorOf(() => ledger.append(close))
      expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { ledger: FIRST, path } })
      expect(error.cause).toBeInstanceOf(Error)
      expect(ledger.head).toBeUndefined()
    }
  })
})

describe('a close that cannot be read', () => {
  /** Of a class, so that its JSON text counts; and there can be none. */
  const unread = (close: LedgerClose): LedgerClose => Object.assign(Object.create({}), close, { ledger: { ...close.ledger, memo: itself } })

  test('is asked first whether it follows', async () => {
    const ledger = await ledgerOf([first])
    const ahead = richClose(FIRST + 5, next.ledger.hash)
    expect(await errorOf(() => ledger.append(unread(ahead)))).toMatchObject({ code: 'LEDGER_GAP', fields: { sequence: FIRST + 5 } })
    expect(await ledger.append(unread(first))).toMatchObject({ sequence: FIRST, appended: false })
    expect(await errorOf(() => ledger.append(unread(next)))).toMatchObject({ code: 'INVALID_INPUT', fields: { path: 'ledger' } })
  })

  test('since its members throw is rejected as a whole', async () => {
    const close = {
      get ledger(): LedgerClose['ledger'] {
        throw new Error('no')
      },
    }
    const error = await errorOf(async () => (await ledgerOf([])).append(close))
    expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { path: '(the whole close)' }, cause: { message: 'no' } })
  })
})

/** A copy in which each member is read by a call. */
function readBy<T>(given: T, read: () => void): T {
  if (Array.isArray(given)) return given.map((one) => readBy(one, read)) as T
  if (typeof given !== 'object' || given === null) return given
  const copy = {}
  for (const [name, value] of Object.entries(given)) {
    const held = readBy(value, read)
    const get = (): unknown => {
      read()
      return held
    }
    Object.defineProperty(copy, name, { get, enumerable: true })
  }
  return copy as T
}

test('a member that throws when it is read for whichever time is INVALID_INPUT, and no text stays begun', () => {
  /** Whether the next text is written by the writer that serves all. */
  const isFree = (): boolean => {
    const [one, other] = Array.from({ length: 2 }, () => {
      const writer = write()
      writer.abandon()
      return writer
    })
    return one === other
  }
  let reads = 0
  expect(prepareClose(readBy(first, () => reads++)).error).toBeUndefined()
  expect(reads).toBeGreaterThan(500)
  for (let last = 0; last < reads; last++) {
    let left = last
    const close = readBy(first, () => {
      if (left-- === 0) throw new Error(`read ${last}`)
    })
    const { error } = prepareClose(close)
    // A first look finds out whether the close is plain, and leaves it to the next one to say what is wrong.
    if (error) expect(error).toMatchObject({ code: 'INVALID_INPUT', cause: { message: `read ${last}` } })
    expect([last, isFree()]).toEqual([last, true])
  }
})

test('a transaction that states no operations has none', async () => {
  const ledger = await ledgerOf([first])
  const { operations: _, operation_count: __, ...one } = next.transactions![0]!
  await ledger.append({ ...next, transactions: [one] })
  expect(await ledger.get(catalogue.ledger, { ledger: FIRST + 1 })).toMatchObject({ successful_transaction_count: 1, operation_count: 0 })
  expect((await ledger.page(catalogue.operationsOfLedger, { ledger: FIRST + 1 })).records).toEqual([])
  expect((await ledger.verify()).ok).toBe(true)
})

describe('a close whose members do not fit together is rejected:', () => {
  const [one, failed] = next.transactions!
  const refusal = async (transactions: object[]) =>
    errorOf(async () => (await ledgerOf([first])).append({ ...next, transactions } as LedgerClose))

  test('two transactions have the same hash, in any case', async () => {
    const error = await refusal([one!, failed!, { ...failed, hash: one!.hash.toUpperCase() }])
    expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { ledger: FIRST + 1, path: 'transactions[2].hash' } })
  })

  test('a transaction is already held, successful or failed', async () => {
    for (const held of first.transactions!) {
      const error = await refusal([one!, { ...failed, hash: held.hash }])
      expect(error).toMatchObject({
        code: 'DUPLICATE_TRANSACTION',
        fields: { ledger: FIRST + 1, path: 'transactions[1].hash', hash: held.hash },
      })
    }
  })

  test('a transaction has more operations than ids have room for', async () => {
    const error = await refusal([{ ...one, operations: Array(4096).fill({ type: 'inflation' }) }])
    expect(error).toMatchObject({ code: 'ID_OUT_OF_RANGE', fields: { ledger: FIRST + 1, transaction: 1, operation: 4096 } })
    const ledger = await ledgerOf([first])
    const most = { ...next, transactions: [{ ...one!, operations: Array(4095).fill({ type: 'inflation' }) }] }
    expect(await ledger.append(most)).toMatchObject({ appended: true })
  })

  test('a trade has an account on neither side', async () => {
    const { base_account: _, counter_account: __, ...trade } = (one!.operations![2]!.trades as any)[0]
    const error = await refusal([{ ...one, operations: [{ type: 'manage_offer', trades: [trade] }] }])
    expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { path: 'transactions[0].operations[0].trades[0].base_account' } })
  })

  test('an operation of an unknown type states no code', async () => {
    const error = await refusal([{ ...one, operations: [{ type: 'toString' }] }])
    expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { path: 'transactions[0].operations[0].type_i' } })
  })

  test('an index is past 32 bits', async () => {
    const effects = [{ account: 'G', type: 'x', type_i: 1, index: 2 ** 32 }]
    const error = await refusal([{ ...one, operations: [{ type: 'inflation', effects }] }])
    expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { path: 'transactions[0].operations[0].effects[0].index' } })
  })
})

test('the greatest index that 32 bits hold is accepted, and in the paging token', async () => {
  const ledger = await ledgerOf([])
  const effects = [{ account: 'G', type: 'x', type_i: 1, index: 2 ** 32 - 1 }]
  await ledger.append({
    ...next,
    transactions: [{ ...next.transactions![0]!, operations: [{ type: 'inflation', effects }] }],
  } as LedgerClose)
  const { records } = await ledger.page(catalogue.effects, {})
  expect(records.map(({ paging_token }) => paging_token)).toEqual([`${(BigInt(FIRST + 1) << 32n) + 4097n}-4294967295`])
})

test('identities that equal the derived ones are accepted in each form', async () => {
  const close = structuredClone(next) as any
  close.ledger.id = close.ledger.hash.toUpperCase()
  close.ledger.paging_token = String(BigInt(FIRST + 1) << 32n)
  const [transaction] = close.transactions
  Object.assign(transaction, { id: transaction.hash.toUpperCase(), ledger: FIRST + 1, created_at: '2019-06-01T12:00:00Z' })
  transaction.operations[0].id = (BigInt(FIRST + 1) << 32n) + 4097n
  transaction.operations[1].id = String((BigInt(FIRST + 1) << 32n) + 4098n)
  const paging_token = `${(BigInt(FIRST + 1) << 32n) + 4099n}-0`
  Object.assign(transaction.operations[2].trades[0], { paging_token, ledger: FIRST + 1, created_at: '2019-06-01T12:00:00Z' })
  close.offers.changed[0].paging_token = '7'
  expect(await (await ledgerOf([first])).append(close)).toEqual({ sequence: FIRST + 1, hash: hashOf(FIRST + 1, 99), appended: true })
})
