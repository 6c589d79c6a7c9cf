/** A store that two processes have open: the head that one writes wakes the readers of the other. */
import { describe, expect, test } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { slowStore } from '../../../adapters/testing/slow-store.ts'
import { catalogue, openLedger } from '../../../src/index.ts'
import { branchOf } from '../../support/closes.ts'
import { shared } from '../../support/dump.ts'
import { errorOf } from '../../support/errors.ts'

const closes = [...generate({ ledgers: 30, seed: 9, accounts: 30, transactionsPerLedger: 8 })]
const sequences = async (records: AsyncIterable<{ sequence: number }>): Promise<number[]> => {
  const all: number[] = []
  for await (const { sequence } of records) all.push(sequence)
  return all
}

test.each([100, 32768])('streams follow what another writer appends, even if lists are filed every %i records', async (fileEvery) => {
  const disk = memoryDisk()
  const writer = await openLedger(shared(memory(disk)), { fileEvery })
  await writer.ingest(closes.slice(0, 5))
  const reader = await openLedger(shared(memory(disk)), { pollMs: 5 })
  const seen: string[] = []
  const { account } = closes[0]!.transactions[0]!
  const stream = reader.stream(catalogue.operationsOfAccount, { account })
  const done = (async () => {
    for await (const { paging_token } of stream) seen.push(paging_token)
  })()
  for (const close of closes.slice(5)) {
    await writer.append(close)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await expect.poll(() => reader.head?.last).toBe(closes.at(-1)!.ledger.sequence)
  const all: string[] = []
  for await (const { paging_token } of writer.records(catalogue.operationsOfAccount, { account })) all.push(paging_token)
  await expect.poll(() => seen).toEqual(all)
  await reader.close()
  await done
  await writer.close()
})

test('a rollback and another branch, written elsewhere, replace what was read', async () => {
  const disk = memoryDisk()
  const writer = await openLedger(shared(memory(disk)), { pollMs: 100_000 })
  await writer.ingest(closes.slice(0, 10))
  const reader = await openLedger(shared(memory(disk)), { pollMs: 100_000 })
  expect(await sequences(reader.records(catalogue.ledgers, {}))).toHaveLength(10)
  const stream = reader.stream(catalogue.ledgers, {})
  await stream.next()
  await writer.rollback(closes[5]!.ledger.sequence)
  expect(await reader.refresh()).toBe(true)
  await expect(
    (async () => {
      for await (const _ of stream);
    })(),
  ).rejects.toMatchObject({ code: 'ROLLED_BACK' })
  expect(await sequences(reader.records(catalogue.ledgers, {}))).toHaveLength(6)
  await writer.ingest(closes.slice(6, 8))
  expect(await reader.refresh()).toBe(true)
  expect(await reader.refresh()).toBe(false)
  expect(await sequences(reader.records(catalogue.ledgers, {}))).toHaveLength(8)
  await reader.append(closes[8]!)
  await expect(writer.append(closes[8]!)).rejects.toMatchObject({ code: 'CONFLICT' })
})

test('history that is rolled back and appended again during a read ends in the same head, and is still read again', async () => {
  const values = { account: closes[0]!.transactions[0]!.account }
  const back = closes[2]!.ledger.sequence
  /** The page, while the other process rolls back after `at` answers, and appends again after `wait` more. */
  const disturbed = async (at: number, wait: number): Promise<{ tokens: string[]; disturbed: boolean }> => {
    const disk = memoryDisk()
    const writer = await openLedger(shared(memory(disk)), { fileEvery: 50, pollMs: 2 ** 30 })
    await writer.ingest(closes.slice(0, 25))
    let answers = Number.NEGATIVE_INFINITY
    const store = slowStore(shared(memory(disk)), async () => {
      answers++
      if (answers === at) await writer.rollback(back)
      if (answers === at + wait) await writer.ingest(closes.slice(3, 25))
    })
    const reader = await openLedger(store, { pollMs: 2 ** 30 })
    answers = 0
    const { records } = await reader.page(catalogue.operationsOfAccount, values, { limit: 200 })
    return { tokens: records.map(({ paging_token }) => paging_token), disturbed: answers >= at + wait }
  }
  // Rolled back and not appended again, and never rolled back: what a read may say, as of a time within it.
  const there = [await disturbed(1, 1000), await disturbed(1000, 0)].map(({ tokens }) => tokens)
  expect(there.map(({ length }) => length)).toEqual([4, 8])
  let met = 0
  for (let at = 1; at < 12; at++)
    for (const wait of [0, 1, 2]) {
      const seen = await disturbed(at, wait)
      if (!seen.disturbed) continue
      met++
      expect(there).toContainEqual(seen.tokens)
    }
  expect(met).toBeGreaterThan(5)
})

test.each([
  ['from an earlier ledger on', 30],
  ['from an earlier ledger on', 32_768],
  ['with other records', 30],
  ['with other records', 32_768],
] as const)(
  'the same ledgers rolled back and ingested again elsewhere, %s, are read anew, filed every %i records',
  async (how, fileEvery) => {
    const disk = memoryDisk()
    const open = () => openLedger(shared(memory(disk)), { pollMs: 100_000, fileEvery })
    const all = branchOf([1, 60], 1, (sequence) => [sequence % 3 === 0 ? 'GX' : 'GY'])
    const others = branchOf([1, 60], 1, () => ['GY', 'GX'], undefined, 'corrected')
    const [held, again] = how === 'with other records' ? [all.slice(0, 58), others] : [all.slice(29, 58), all]
    const writer = await open()
    await writer.ingest(held)
    const reader = await open()
    const listed = async (account: string) => (await reader.page(catalogue.operationsOfAccount, { account }, { limit: 200 })).records
    const before = await listed('GX')
    await writer.rollback(0)
    await writer.ingest(again.slice(0, 58))
    await reader.refresh()
    for (const account of ['GX', 'GY'])
      expect(await listed(account)).toEqual((await writer.page(catalogue.operationsOfAccount, { account }, { limit: 200 })).records)
    expect(await listed('GX')).not.toEqual(before)
    // Nor does it write on the basis of what was.
    for (const close of again.slice(58)) await reader.append(close)
    const report = await (await open()).verify()
    expect([report.faults, report.ok]).toEqual([[], true])
  },
)

describe('a ledger that has not seen that history was rolled back and ingested again', () => {
  const all = branchOf([1, 20], 1, (sequence) => [sequence % 3 === 0 ? 'GX' : 'GY'])
  const others = branchOf([1, 20], 1, () => ['GY', 'GX'], undefined, 'corrected')
  const opening = () => {
    const disk = memoryDisk()
    return () => openLedger(shared(memory(disk)), { pollMs: 100_000 })
  }

  test.each([
    ['some of them', 12, all.slice(12, 18)],
    ['all of them', 0, all.slice(0, 18)],
    ['all of them with other records', 0, others.slice(0, 18)],
  ] as const)('cannot write on the basis of what was, if it was %s', async (_, back, again) => {
    const open = opening()
    const writer = await open()
    await writer.ingest(all.slice(0, 18))
    const late = await open()
    await writer.rollback(back)
    await writer.ingest(again)
    expect(writer.head).toEqual(late.head)
    expect((await errorOf(() => late.append(all[18]!))).code).toBe('CONFLICT')
    await writer.append((again[0] === others[0] ? others : all)[18]!)
    const { ok, faults } = await (await open()).verify()
    expect([ok, faults]).toEqual([true, []])
  })

  test('cannot either if a third one, which has seen nothing of it, restarts the emptied history', async () => {
    const open = opening()
    const [writer, third] = [await open(), await open()]
    await writer.append(all[0]!)
    const late = await open()
    await writer.rollback(0)
    await third.append(all[0]!)
    expect(third.head).toEqual(late.head)
    expect((await errorOf(() => late.append(all[1]!))).code).toBe('CONFLICT')
    await third.append(all[1]!)
    expect((await third.verify()).ok).toBe(true)
  })
})
