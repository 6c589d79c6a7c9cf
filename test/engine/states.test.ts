/** A store is a function of its history: grown, rolled back, pruned or reopened in any way, it holds the same bytes, and an audit finds nothing. */
import { describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, type Ledger, type LedgerClose, type LedgerOptions, openLedger } from '../../src/index.ts'
import { smallCloses } from '../support/closes.ts'
import { dump } from '../support/dump.ts'
import { errorOf } from '../support/errors.ts'

const FIRST = 40
const closes = smallCloses(FIRST, 12, 4)
const LAST = FIRST + closes.length - 1
const upTo = (sequence: number): readonly LedgerClose[] => closes.slice(0, sequence - FIRST + 1)

/** The bytes of a disk, once an audit of them has found nothing. */
async function whole(disk: MemoryDisk): Promise<string[]> {
  const ledger = await openLedger(memory(disk))
  const { ok, faults } = await ledger.verify()
  expect([ok, faults]).toEqual([true, []])
  await ledger.close()
  return dump(memory(disk))
}

async function grown(given: readonly LedgerClose[], options: LedgerOptions, batch = 1): Promise<string[]> {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), options)
  await ledger.ingest(given, { batch, durable: false })
  await ledger.close()
  return dump(memory(disk))
}

const everies = [1, 60, 240, 32_768]

describe.each(everies)('filed every %i records', (fileEvery) => {
  const options = { fileEvery }

  test('a store is the same in any batches, at once or late', async () => {
    const wanted = await grown(closes, options)
    expect(await grown(closes, options, 5)).toEqual(wanted)
    const disk = memoryDisk()
    const ledger = await openLedger(slowStore(memory(disk)), { ...options, cacheBytes: 0 })
    await ledger.ingest(closes, { batch: 4 })
    await ledger.close()
    expect(await whole(disk)).toEqual(wanted)
  })

  test.each([LAST, LAST - 5, FIRST, 0])('rolled back to ledger %i it is as it was then, and grows again', async (target) => {
    const disk = memoryDisk()
    const ledger = await openLedger(memory(disk), options)
    await ledger.ingest(closes, { batch: 5 })
    expect(await ledger.rollback(target)).toBe(LAST - Math.max(target, FIRST - 1))
    expect(ledger.head?.last).toBe(target < FIRST ? undefined : target)
    const short = await dump(memory(disk))
    if (target >= FIRST) expect(short).toEqual(await grown(upTo(target), options))
    else expect(short.length).toBe(1)
    await ledger.ingest(closes, { batch: 2 })
    await ledger.close()
    expect(await whole(disk)).toEqual(await grown(closes, options))
  })

  test('pruned at once or in steps it is the same except for its lists, and goes on', async () => {
    const disks = [memoryDisk(), memoryDisk()]
    const [once, steps] = (await Promise.all(disks.map((disk) => openLedger(memory(disk), options)))) as [Ledger, Ledger]
    await once.ingest(closes)
    await steps.ingest(upTo(LAST - 4))
    expect(await once.prune(LAST - 5)).toBe(LAST - 5 - FIRST)
    for (const before of [FIRST, FIRST + 1, FIRST + 2, LAST - 9, LAST - 5, LAST - 7]) await steps.prune(before)
    await steps.ingest(closes.slice(-4))
    for (const ledger of [once, steps]) {
      expect(ledger.head).toMatchObject({ oldest: LAST - 5, last: LAST })
      expect((await errorOf(() => ledger.prune(LAST + 1))).fields).toMatchObject({ field: 'before' })
      expect((await errorOf(() => ledger.rollback(LAST - 8))).code).toBe('GONE_BEFORE_HISTORY')
      expect((await errorOf(() => ledger.get(catalogue.ledger, { ledger: LAST - 6 }))).code).toBe('GONE_BEFORE_HISTORY')
      await ledger.rollback(LAST - 3)
      await ledger.ingest(closes.slice(-3))
      await ledger.close()
    }
    const [a, b] = [await whole(disks[0]!), await whole(disks[1]!)]
    // Lists are filed at other ledgers; everything else is the same.
    const rest = (lines: string[]) => lines.filter((line) => !/^(?:00|1001|20)/.test(line))
    expect(rest(a)).toEqual(rest(b))
  })

  test('its ledgers come out as they went in, with the same digest', async () => {
    const ledger = await openLedger(memory(), options)
    await ledger.ingest(closes)
    const again = await openLedger(memory(), { fileEvery: 7 })
    await again.ingest(ledger.closes())
    expect(await again.digest()).toBe(await ledger.digest())
    const lines = async (from: Ledger) => {
      const found: string[] = []
      for await (const line of from.lines({ from: FIRST + 2, to: LAST - 1 })) found.push(line)
      return found
    }
    expect(await lines(again)).toEqual(await lines(ledger))
    expect((await lines(ledger)).length).toBe(closes.length - 3)
    expect(await again.digest({ from: FIRST + 1 })).toBe(await ledger.digest({ from: FIRST + 1 }))
    expect(await again.digest({ to: LAST - 1 })).not.toBe(await ledger.digest())
  })
})

test.each([300, 2000, 32_768])(
  'a longer one, rolled back again and again, holds the same bytes as one that stopped there (filed every %i records)',
  async (fileEvery) => {
    const closes = [...generate({ ledgers: 40, seed: 3, accounts: 20, transactionsPerLedger: 15 })]
    const whole = memory()
    const ledger = await openLedger(whole, { fileEvery })
    await ledger.ingest(closes)
    for (const kept of [39, 31, 21, 19, 17, 16, 1, 0]) {
      const removed = ledger.head!.last - closes[0]!.ledger.sequence + 1 - kept
      expect(await ledger.rollback(closes[0]!.ledger.sequence + kept - 1)).toBe(removed)
      const other = memory()
      await (await openLedger(other, { fileEvery })).ingest(closes.slice(0, kept))
      expect(await dump(whole)).toEqual(await dump(other))
    }
    expect(ledger.head).toBeUndefined()
    await ledger.ingest(closes)
    const again = memory()
    await (await openLedger(again, { fileEvery })).ingest(closes, { batch: 7 })
    expect(await dump(whole)).toEqual(await dump(again))
  },
)
