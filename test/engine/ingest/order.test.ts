/** The order of ledgers: what follows, what is already known, what belongs to another chain; one at a time and in batches. */
import { describe, expect, test } from 'vitest'
import { hashOf } from '../../../adapters/testing/arbitraries.ts'
import { richClose } from '../../../adapters/testing/invalid-closes.ts'
import type { AppendResult, LedgerClose } from '../../../src/index.ts'
import { ledgerOf } from '../../support/benches.ts'
import { errorOf } from '../../support/errors.ts'

/** A chain of `count` ledgers from ledger 10 on. */
function chain(count: number): LedgerClose[] {
  const closes = [richClose(10, hashOf(10, -1))]
  while (closes.length < count) closes.push(richClose(10 + closes.length, closes.at(-1)!.ledger.hash))
  return closes
}
const closes = chain(6)
const otherHash = (close: LedgerClose): LedgerClose => ({ ...close, ledger: { ...close.ledger, hash: 'ab'.repeat(32) } })
const result = (sequence: number, appended: boolean): AppendResult => ({ sequence, hash: hashOf(sequence, 99), appended })

describe('one ledger after another', () => {
  test('the first may have any sequence number, and any ledger before it', async () => {
    const ledger = await ledgerOf([])
    expect(ledger.head).toBeUndefined()
    expect(await ledger.append(closes[3]!)).toEqual(result(13, true))
    expect(ledger.head).toEqual({ first: 13, oldest: 13, last: 13, hash: hashOf(13, 99), closedAt: '2019-06-01T12:00:00Z' })
  })

  test('ledger 1 needs no prev_hash', async () => {
    const { prev_hash: _, ...first } = richClose(1, '').ledger
    const ledger = await ledgerOf([{ ...richClose(1, ''), ledger: first }])
    expect(ledger.head).toMatchObject({ oldest: 1, last: 1 })
  })

  test('a gap is rejected, and says which ledger is expected', async () => {
    const ledger = await ledgerOf(closes.slice(0, 2))
    expect(await errorOf(() => ledger.append(closes[3]!))).toMatchObject({ code: 'LEDGER_GAP', fields: { sequence: 13, expected: 12 } })
    expect(ledger.head?.last).toBe(11)
  })

  test('a ledger of another chain is rejected because of its prev_hash', async () => {
    const ledger = await ledgerOf(closes.slice(0, 2))
    const stray = richClose(12, 'cd'.repeat(32))
    const error = await errorOf(() => ledger.append(stray))
    expect(error).toMatchObject({ code: 'PREV_HASH_MISMATCH', fields: { sequence: 12, held: hashOf(11, 99), given: 'cd'.repeat(32) } })
    const { prev_hash: _, ...silent } = closes[2]!.ledger
    expect(await errorOf(() => ledger.append({ ...closes[2]!, ledger: silent }))).toMatchObject({ code: 'PREV_HASH_MISMATCH' })
  })

  test('prev_hash and hash are compared in any case', async () => {
    const shout = ({ ledger, ...rest }: LedgerClose): LedgerClose => ({
      ...rest,
      ledger: { ...ledger, hash: ledger.hash.toUpperCase(), prev_hash: ledger.prev_hash!.toUpperCase() },
    })
    const ledger = await ledgerOf([closes[0]!])
    expect(await ledger.append(shout(closes[1]!))).toEqual(result(11, true))
    expect(await ledger.append(shout(closes[1]!))).toEqual(result(11, false))
    expect(await ledger.append(shout(closes[0]!))).toEqual(result(10, false))
  })

  test('appending the newest ledger again, or any older one, is a no-op', async () => {
    const ledger = await ledgerOf(closes)
    for (const close of closes) expect(await ledger.append(close)).toEqual(result(close.ledger.sequence, false))
    expect(ledger.head?.last).toBe(15)
  })

  test('another ledger with a known sequence number is a fork, newest or not', async () => {
    const ledger = await ledgerOf(closes)
    for (const close of closes) {
      const error = await errorOf(() => ledger.append(otherHash(close)))
      const { sequence, hash } = close.ledger
      expect(error).toMatchObject({ code: 'LEDGER_FORK', fields: { sequence, held: hash, given: 'ab'.repeat(32) } })
    }
  })

  test('a ledger below the oldest one held is rejected', async () => {
    const ledger = await ledgerOf(closes.slice(2))
    expect(await errorOf(() => ledger.append(closes[1]!))).toMatchObject({
      code: 'LEDGER_GAP',
      fields: { sequence: 11, expected: 16, oldest: 12 },
      message: expect.stringContaining('into a new store'),
    })
  })
})

describe('ledgers in batches', () => {
  test.each([1, 2, 4, 100])('of %i: the good ones before a bad one stay, and its error is thrown', async (batch) => {
    const bad = { ...closes[4]!, ledger: { ...closes[4]!.ledger, fee_pool: 'much' } }
    const ledger = await ledgerOf([])
    const error = await errorOf(() => ledger.ingest([...closes.slice(0, 4), bad, closes[5]!], { batch }))
    expect(error).toMatchObject({ code: 'INVALID_INPUT', fields: { ledger: 14, path: 'ledger.fee_pool' } })
    expect(ledger.head?.last).toBe(13)
    expect(await ledger.ingest(closes, { batch })).toEqual({ appended: 2, known: 4, last: 15 })
  })

  test.each([1, 2, 3, 4, 100])('of %i: a ledger that its batch already has is a no-op', async (batch) => {
    const ledger = await ledgerOf(closes.slice(0, 2))
    const again = [1, 2, 3, 2, 0, 3, 4].map((at) => closes[at]!)
    const seen: boolean[] = []
    const onBatch = (results: readonly AppendResult[]) => seen.push(...results.map(({ appended }) => appended))
    expect(await ledger.ingest(again, { batch, onBatch })).toEqual({ appended: 3, known: 4, last: 14 })
    expect(seen).toEqual([false, true, true, false, false, false, true])
  })

  test.each([1, 2, 3, 4, 100])('of %i: another ledger with a sequence number of its batch is a fork', async (batch) => {
    const ledger = await ledgerOf(closes.slice(0, 2))
    const error = await errorOf(() => ledger.ingest([closes[2]!, closes[3]!, otherHash(closes[2]!)], { batch }))
    expect(error).toMatchObject({ code: 'LEDGER_FORK', fields: { sequence: 12 } })
    expect(ledger.head?.last).toBe(13)
  })

  test.each([1, 3, 100])('of %i: if the source fails, what came before is kept', async (batch) => {
    async function* source(): AsyncGenerator<LedgerClose> {
      yield* closes.slice(0, 4)
      throw new Error('the source broke')
    }
    const ledger = await ledgerOf([])
    await expect(ledger.ingest(source(), { batch })).rejects.toThrow('the source broke')
    expect(ledger.head?.last).toBe(13)
  })

  test('a transaction of an earlier ledger of the batch is a duplicate', async () => {
    const stolen = { ...closes[2]!, transactions: closes[0]!.transactions! }
    const ledger = await ledgerOf([])
    const error = await errorOf(() => ledger.ingest([closes[0]!, closes[1]!, stolen], { batch: 10 }))
    expect(error).toMatchObject({ code: 'DUPLICATE_TRANSACTION', fields: { ledger: 12, path: 'transactions[0].hash' } })
    expect(ledger.head?.last).toBe(11)
  })
})

test('concurrent appends are carried out in the order of their calls', async () => {
  const ledger = await ledgerOf([])
  const results = await Promise.all([0, 1, 0, 2, 1].map((at) => ledger.append(closes[at]!)))
  expect(results.map(({ sequence, appended }) => [sequence, appended])).toEqual([
    [10, true],
    [11, true],
    [10, false],
    [12, true],
    [11, false],
  ])
})
