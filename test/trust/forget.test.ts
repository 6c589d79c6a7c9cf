/** Lists that name nothing but what was pruned are gone, begin anew if their key comes up again, and nobody notices but by their absence. */
import { describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { catalogue, type Ledger, type LedgerClose, openLedger, type Store, verifyStore } from '../../src/index.ts'
import { KIND } from '../../src/layout/keys.ts'
import { ledgerOf } from '../support/benches.ts'
import { dump, everything, shared } from '../support/dump.ts'
import { codeOf } from '../support/errors.ts'

const FIRST = 100

/** Ledgers in each of which one account acts, with so many operations. */
const acting = (accounts: readonly string[], operations: number): LedgerClose[] =>
  accounts.map((account, nth) => {
    const { ledger, transactions } = richClose(FIRST + nth, hashOf(FIRST + nth - 1, 99))
    const one = { type: 'inflation', source_account: account, effects: [{ type: 'account_credited', type_i: 2, account }] }
    return {
      ledger,
      transactions: [{ ...transactions![0]!, account, participants: [], operations: Array.from({ length: operations }, () => one) }],
    }
  })

const times = (account: string, ledgers: number): string[] => Array.from({ length: ledgers }, () => account)
/** An account with several pages of operations, which then does nothing for longer than the window, and comes back with as many. */
const returning = acting([...times('GBUSY', 6), ...times('GELSE', 10), ...times('GBUSY', 6)], 70)
const BACK = FIRST + 16

const idsOf = async (ledger: Ledger, account: string): Promise<string[]> => {
  const ids: string[] = []
  for await (const { id } of ledger.records(catalogue.operationsOfAccount, { account })) ids.push(String(id))
  return ids
}
const idsSince = (sequence: number, ledgers: number): string[] =>
  Array.from({ length: ledgers * 70 }, (_, n) => String((BigInt(sequence + Math.floor(n / 70)) << 32n) + 4097n + BigInt(n % 70)))

describe.each([
  ['one process', (disk: MemoryDisk): Store => memory(disk), false],
  ['several processes, of which another one prunes and appends', (disk: MemoryDisk): Store => shared(memory(disk)), true],
] as const)('a list of %s', (_, open, hasOther) => {
  test.each([60, 1e6])(
    'begins anew once all that it named is pruned, whatever was cached of it (filed every %i records)',
    async (fileEvery) => {
      const disk = memoryDisk()
      const ledger = await openLedger(open(disk), { fileEvery })
      const writer = hasOther ? await openLedger(open(disk), { fileEvery }) : ledger
      const step = async (work: () => Promise<unknown>): Promise<void> => {
        await work()
        await ledger.refresh()
      }
      await step(() => writer.ingest(returning.slice(0, 16)))
      // Often enough for its records to be gathered.
      for (let again = 0; again < 12; again++) expect(await idsOf(ledger, 'GBUSY')).toEqual(idsSince(FIRST, 6))
      await step(() => writer.prune(FIRST + 4))
      expect(await idsOf(ledger, 'GBUSY')).toEqual(idsSince(FIRST + 4, 2))
      await step(() => writer.prune(FIRST + 8))
      expect(await codeOf(() => idsOf(ledger, 'GBUSY'))).toBe('NOT_FOUND')
      expect(await ledger.get(catalogue.account, { account: 'GBUSY' })).toBeUndefined()
      for (let back = 1; back <= 6; back++) {
        await step(() => writer.append(returning[15 + back]!))
        for (const one of [ledger, await openLedger(open(disk), { cacheBytes: 0 })])
          for (let again = 0; again < 12; again++) expect(await idsOf(one, 'GBUSY')).toEqual(idsSince(BACK, back))
      }
      await step(() => writer.prune(BACK + 1))
      expect(await idsOf(ledger, 'GBUSY')).toEqual(idsSince(BACK + 1, 5))
      await writer.close()
      expect((await verifyStore(memory(disk))).faults).toEqual([])
    },
  )
})

test('a stream of an account goes on while all that it was given is pruned, until the account comes up again', async () => {
  const ledger = await openLedger(memory())
  await ledger.ingest(returning.slice(0, 6))
  const given: string[] = []
  const follow = async (stream: AsyncIterable<{ readonly paging_token: string }>): Promise<void> => {
    for await (const { paging_token: token } of stream) given.push(token)
  }
  const account = 'GBUSY'
  const followed = Promise.all([
    follow(ledger.stream(catalogue.operationsOfAccount, { account })),
    follow(ledger.stream(catalogue.effectsOfAccount, { account })),
  ])
  await expect.poll(() => given.length).toBe(2 * 420)
  for (const close of returning.slice(6, 16)) {
    await ledger.append(close)
    await expect.poll(() => ledger.waitingStreams).toBe(2)
    await ledger.prune(close.ledger.sequence)
  }
  expect(await codeOf(() => ledger.stream(catalogue.operationsOfAccount, { account: 'GBUSY' }).next())).toBe('NOT_FOUND')
  await ledger.append(returning[16]!)
  await expect.poll(() => given.length).toBe(2 * 490)
  await ledger.close()
  await followed
})

test('a store whose window moves on does not grow', async () => {
  const store = memory()
  const ledger = await openLedger(store, { fileEvery: 400 })
  const lists: number[] = []
  for (const close of generate({ ledgers: 400, seed: 11, accounts: 400, offers: 20, transactionsPerLedger: 6, firstLedger: FIRST })) {
    await ledger.append(close)
    const { sequence } = close.ledger
    if (sequence >= FIRST + 20) await ledger.prune(sequence - 20)
    if (sequence % 20 !== 0 || sequence < FIRST + 100) continue
    const { entries } = await store.scan(everything, { limit: 1e6 })
    lists.push(entries.filter(([key]) => [KIND.edge, KIND.page, KIND.base].includes(key[0] as never)).length)
  }
  expect(lists.length).toBeGreaterThan(10)
  const [early, late] = [lists.slice(0, 5), lists.slice(-5)].map((some) => Math.max(...some)) as [number, number]
  expect(late).toBeLessThan(1.2 * early)
})

describe.each([1, 300, 1e6])('with lists filed every %i records, a rollback of a pruned store', (fileEvery) => {
  const closes = [...generate({ ledgers: 60, seed: 5, accounts: 60, offers: 10, transactionsPerLedger: 5, firstLedger: FIRST })]

  test.each([
    [30, 45],
    [40, 41],
    [10, 59],
    [50, 50],
    [1, 20],
  ])('to before what kept lists from being forgotten leaves the bytes of one that never went further (%i, %i)', async (oldest, last) => {
    const [further, never] = [memory(), memory()]
    const one = await openLedger(further, { fileEvery })
    await one.ingest(closes)
    await one.prune(FIRST + oldest)
    await one.rollback(FIRST + last)
    const other = await openLedger(never, { fileEvery })
    await other.ingest(closes.slice(0, last + 1))
    await other.prune(FIRST + oldest)
    expect(await dump(further)).toEqual(await dump(never))
    await one.ingest(closes.slice(last + 1))
    expect((await verifyStore(further)).faults).toEqual([])
    const whole = await ledgerOf(closes)
    expect(await one.digest()).toBe(await whole.digest({ from: FIRST + oldest }))
  })
})
