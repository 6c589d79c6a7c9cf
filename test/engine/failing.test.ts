/** What a ledger holds after its store failed in the middle of a change, what its readers are told, and what empty changes leave alone. */
import { describe, expect, test, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { Cache } from '../../src/cache/cache.ts'
import { catalogue, FolioError, type Ledger, type LedgerClose, openLedger, type Store } from '../../src/index.ts'
import { ERA, INTENT } from '../../src/layout/keys.ts'
import { branchOf } from '../support/closes.ts'
import { shared } from '../support/dump.ts'
import { codeOf, errorOf } from '../support/errors.ts'
import { turns } from '../support/turns.ts'

const FIRST = 40
const closes = [
  ...generate({ ledgers: 12, seed: 4, accounts: 16, transactionsPerLedger: 3, firstLedger: FIRST, envelopeBytes: 30, tradeShare: 0.4 }),
] as readonly LedgerClose[]
const LAST = FIRST + closes.length - 1
const gone = new FolioError('STORE_FAILED', { reason: 'gone' })

/** A store whose reads and writes fail from the moment that `fails` sets. */
function frail(disk: MemoryDisk, shared = false) {
  const inner = memory(disk)
  const fails = { writes: Number.POSITIVE_INFINITY, reads: Number.POSITIVE_INFINITY, readsAfterWrites: Number.POSITIVE_INFINITY }
  let writes = 0
  const read = <T>(answer: () => T): T => {
    if (fails.reads-- <= 0 || writes >= fails.readsAfterWrites) throw gone
    return answer()
  }
  const store: Store = {
    ...inner,
    capabilities: { ...inner.capabilities, shared },
    get: (key) => read(() => inner.get(key)),
    getMany: (keys) => read(() => inner.getMany(keys)),
    write(batch, options) {
      if (fails.writes-- <= 0) throw gone
      writes++
      return inner.write(batch, options)
    },
  }
  const begin = (): void => {
    writes = 0
  }
  return { store, fails, begin }
}

async function holding(options = {}) {
  const disk = memoryDisk()
  const { store, fails, begin } = frail(disk)
  const ledger = await openLedger(store, { cacheBytes: 0, ...options })
  await ledger.ingest(closes)
  begin()
  return { disk, ledger, fails }
}
const said = async (ledger: Ledger): Promise<string[]> => [
  await codeOf(() => ledger.append(closes[0]!)),
  await codeOf(() => ledger.rollback(LAST - 1)),
  await codeOf(() => ledger.prune(FIRST + 1)),
]
const codeOrIds = async (ledger: Ledger, account: string): Promise<unknown> => {
  let ids: unknown
  const code = await codeOf(async () => {
    ids = (await ledger.page(catalogue.offersOfAccount, { account }, { limit: 200 })).records.map(({ id }) => id)
  })
  return ids ?? code
}
const poisoned = ['POISONED', 'POISONED', 'POISONED']

test('an append that was stored, but fails in memory, poisons the ledger', async () => {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk))
  await ledger.ingest(closes.slice(0, 5))
  const broken = vi.spyOn(Cache.prototype, 'putBlock').mockImplementationOnce(() => {
    throw new RangeError('no memory')
  })
  await expect(ledger.append(closes[5]!)).rejects.toThrow('no memory')
  broken.mockRestore()
  expect([ledger.head?.last, await said(ledger)]).toEqual([FIRST + 5, poisoned])
  await ledger.close()
  const again = await openLedger(memory(disk))
  await again.ingest(closes)
  expect([again.head?.last, (await again.verify()).faults]).toEqual([LAST, []])
})

test('a cache size may exceed any memory', async () => {
  const ledger = await openLedger(memory(), { cacheBytes: Number.MAX_SAFE_INTEGER })
  await ledger.ingest(closes)
  expect((await ledger.get(catalogue.transaction, { hash: (closes[0]!.transactions![0] as { hash: string }).hash }))?.ledger).toBe(FIRST)
  expect((await ledger.verify()).faults).toEqual([])
})

/** The same store, whose writes take a while, as those of a database do. */
const late = (store: Store): Store => ({
  ...store,
  async write(batch, options) {
    for (let turn = 0; turn < 5; turn++) await turns()
    await store.write(batch, options)
  },
})

describe('a rollback', () => {
  test('that fails restores what it took away, also for a stream that reads meanwhile', async () => {
    const { store, fails } = frail(memoryDisk())
    const ledger = await openLedger(late(store))
    await ledger.ingest(branchOf([10, 30], 1, (sequence) => (sequence === 12 || sequence === 25 ? ['GX'] : ['GY'])))
    const stream = ledger.stream(catalogue.operationsOfAccount, { account: 'GX' }, { cursor: String(13n << 32n) })
    fails.writes = 0
    const taken = codeOf(() => ledger.rollback(20))
    await turns()
    const next = stream.next()
    expect([await taken, ledger.head?.last]).toEqual(['STORE_FAILED', 30])
    expect((await next).value?.paging_token).toBe(String((25n << 32n) + 4097n))
    await ledger.close()
  })

  test.each([0, 1, 3])(
    'whose store fails after %i batches poisons the ledger, tells streams how far it came, and is finished by the next open',
    async (batches) => {
      const { disk, ledger, fails } = await holding({ fileEvery: 1 })
      const stream = ledger.stream(catalogue.ledgers, {}, { cursor: 'now' })
      const pulled = stream.next()
      pulled.catch(() => {})
      await turns()
      fails.writes = batches
      await expect(ledger.rollback(FIRST + 2)).rejects.toBe(gone)
      fails.writes = Number.POSITIVE_INFINITY
      const last = ledger.head!.last
      expect(ledger.head).toEqual((await openLedger(shared(memory(disk)))).head)
      if (batches === 0) expect([last, ledger.waitingStreams]).toEqual([LAST, 1])
      else await expect(pulled).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last, reached: LAST } })
      expect(await said(ledger)).toEqual(poisoned)
      await expect(ledger.append(closes[0]!)).rejects.toMatchObject({ cause: gone })
      await ledger.close()
      const again = await openLedger(memory(disk))
      expect(again.head!.last).toBe(batches === 0 ? LAST : FIRST + 2)
      expect((await again.verify()).ok).toBe(true)
      await again.ingest(closes.slice(again.head!.last - FIRST + 1))
      expect([again.head!.last, (await again.verify()).ok]).toEqual([LAST, true])
      await again.close()
    },
  )

  test('whose write fails leaves the offers of the head, whether the write took effect or not', async () => {
    for (const [written, readable] of [
      [false, true],
      [true, true],
      [true, false],
    ]) {
      const disk = memoryDisk()
      const { store, fails } = frail(disk)
      const ledger = await openLedger(
        {
          ...store,
          async write(batch, options) {
            if (fails.writes > 0) return store.write(batch, options)
            if (written) await memory(disk).write(batch, options)
            if (!readable) fails.reads = 0
            throw gone
          },
        },
        { cacheBytes: 0 },
      )
      await ledger.ingest(closes)
      fails.writes = 0
      await expect(ledger.rollback(FIRST)).rejects.toBe(gone)
      fails.reads = Number.POSITIVE_INFINITY
      const truth = await openLedger(memory(disk))
      expect([ledger.head, truth.head!.last]).toEqual([truth.head, written ? FIRST : LAST])
      const sellers = new Set(closes.flatMap(({ offers }) => offers?.changed ?? []).map(({ seller }) => seller))
      expect(sellers.size).toBeGreaterThan(1)
      for (const account of sellers) {
        const [given, held] = await Promise.all([ledger, truth].map((one) => codeOrIds(one, account)))
        expect(given).toEqual(held)
      }
    }
  })

  test('whose reads fail leaves everything as it was', async () => {
    const { ledger, fails } = await holding()
    const stream = ledger.stream(catalogue.ledgers, {}, { cursor: 'now' })
    const pulled = stream.next()
    await turns()
    fails.reads = 0
    await expect(ledger.rollback(FIRST + 2)).rejects.toBe(gone)
    fails.reads = Number.POSITIVE_INFINITY
    expect([ledger.head!.last, ledger.waitingStreams]).toEqual([LAST, 1])
    pulled.catch(() => {})
    expect(await ledger.rollback(LAST - 1)).toBe(1)
    await expect(pulled).rejects.toMatchObject({ fields: { last: LAST - 1, reached: LAST } })
    await ledger.append(closes.at(-1)!)
    expect((await ledger.verify()).ok).toBe(true)
    await ledger.close()
  })

  test('after which the newest rows cannot be read poisons the ledger', async () => {
    const { disk, ledger, fails } = await holding()
    fails.readsAfterWrites = 1
    await expect(ledger.rollback(FIRST + 2)).rejects.toBe(gone)
    fails.readsAfterWrites = Number.POSITIVE_INFINITY
    expect(ledger.head!.last).toBe(FIRST + 2)
    expect(await said(ledger)).toEqual(poisoned)
    await ledger.close()
    const again = await openLedger(memory(disk))
    await again.ingest(closes.slice(3))
    expect((await again.verify()).ok).toBe(true)
    await again.close()
  })

  test('of no ledgers wakes no streams and writes nothing', async () => {
    const { ledger, fails } = await holding()
    const stream = ledger.stream(catalogue.ledgers, {}, { cursor: 'now' })
    void stream.next()
    await turns()
    const read = vi.spyOn(ledger, 'readListing')
    fails.writes = 0
    expect([await ledger.rollback(LAST), await ledger.rollback(LAST + 5), await ledger.prune(FIRST), await ledger.prune(1)]).toEqual([
      0, 0, 0, 0,
    ])
    await turns()
    expect([read.mock.calls.length, ledger.waitingStreams]).toEqual([0, 1])
    await ledger.close()
    const empty = await openLedger(memory())
    expect(await empty.rollback(5)).toBe(0)
    const { code, fields } = await errorOf(() => empty.prune(5))
    expect([code, fields]).toEqual(['BAD_REQUEST', { field: 'before', reason: 'a ledger that is held: the store holds no ledgers' }])
    await empty.close()
  })

  test.each([1, 32_768])(
    'returns how many ledgers it removed, even if that is all of them (lists filed every %i records)',
    async (fileEvery) => {
      const { disk, ledger } = await holding({ fileEvery })
      expect([await ledger.rollback(LAST - 2), await ledger.rollback(FIRST - 1), ledger.head]).toEqual([2, 10, undefined])
      expect(await memory(disk).get(INTENT)).toBeUndefined()
      // In a store that is not shared, nothing is kept to tell other processes.
      expect(await memory(disk).get(ERA)).toBeUndefined()
      await ledger.close()
    },
  )
})

describe('pruning', () => {
  test.each([0, 1])('whose store fails after %i batches poisons the ledger, and is finished by the next open', async (batches) => {
    // Nothing is filed yet, so a prune writes twice: it files what it will remove, then removes it.
    const { disk, ledger, fails } = await holding({ fileEvery: 1e6 })
    fails.writes = batches
    await expect(ledger.prune(FIRST + 9)).rejects.toBe(gone)
    fails.writes = Number.POSITIVE_INFINITY
    expect(await said(ledger)).toEqual(poisoned)
    await ledger.close()
    const again = await openLedger(memory(disk))
    expect([again.head!.oldest, (await again.verify()).ok]).toEqual([batches === 0 ? FIRST : FIRST + 9, true])
    await again.close()
  })

  test('frees the space of ledgers once, and returns how many they were', async () => {
    const disk = memoryDisk()
    const compact = vi.fn()
    const ledger = await openLedger({ ...memory(disk), compact })
    await ledger.ingest(closes)
    expect([await ledger.prune(FIRST), compact.mock.calls.length]).toEqual([0, 0])
    expect(await ledger.prune(FIRST + 4)).toBe(4)
    const calls = compact.mock.calls.length
    expect(calls).toBeGreaterThan(0)
    expect([await ledger.prune(FIRST + 4), await ledger.prune(FIRST + 2), compact.mock.calls.length]).toEqual([0, 0, calls])
    expect([await codeOf(() => ledger.rollback(FIRST)), await ledger.rollback(FIRST + 4)]).toEqual(['GONE_BEFORE_HISTORY', 7])
    await ledger.close()
  })

  test('frees space while ledgers are appended and rolled back, and a close waits for that', async () => {
    const said: string[] = []
    let free = (): void => {}
    const compact = vi.fn(() => new Promise<void>((resolve) => (free = resolve)))
    const ledger = await openLedger({ ...memory(), compact })
    await ledger.ingest(closes.slice(0, -1))
    const pruned = ledger.prune(FIRST + 4).then((count) => said.push(`${count} pruned`))
    await ledger.append(closes.at(-1)!)
    await ledger.rollback(ledger.head!.last - 1)
    const closed = ledger.close().then(() => said.push('closed'))
    expect([compact.mock.calls.length, ledger.head!.oldest, said]).toEqual([1, FIRST + 4, []])
    compact.mockImplementation(async () => {})
    free()
    await Promise.all([pruned, closed])
    expect(said).toEqual(['4 pruned', 'closed'])
  })

  test('whose space cannot be freed fails, though it is done', async () => {
    const compact = vi.fn(() => Promise.reject(gone))
    const ledger = await openLedger({ ...memory(), compact })
    await ledger.ingest(closes)
    await expect(ledger.prune(FIRST + 4)).rejects.toBe(gone)
    compact.mockResolvedValue(undefined as never)
    expect([ledger.head!.oldest, await ledger.prune(FIRST + 5), ledger.poisoned]).toEqual([FIRST + 4, 1, false])
    await ledger.close()
  })
})

describe('over a shared store', () => {
  const open = (disk: MemoryDisk): Promise<Ledger> => openLedger(frail(disk, true).store, { pollMs: 2 ** 30 })

  test('a process that opens it after a rollback finds nothing new', async () => {
    const disk = memoryDisk()
    const writer = await open(disk)
    await writer.ingest(closes)
    await writer.rollback(LAST - 1)
    await writer.rollback(LAST - 2)
    expect(await memory(disk).get(ERA)).toBeDefined()
    const other = await open(disk)
    expect(await other.refresh()).toBe(false)
    await writer.rollback(LAST - 3)
    await writer.append(closes.at(-4)!)
    expect(await other.refresh()).toBe(true)
    expect([await other.refresh(), await writer.refresh()]).toEqual([false, false])
  })

  test('a ledger that follows what is rolled back to nothing before its turn is not taken for the first one', async () => {
    const disk = memoryDisk()
    const { store, fails } = frail(disk, true)
    const writer = await openLedger(store, { fileEvery: 1 })
    await writer.ingest(closes.slice(0, -1))
    fails.writes = 1
    await expect(writer.rollback(0)).rejects.toBe(gone)
    const next = await open(disk)
    const { last } = next.head!
    const following = closes.find(({ ledger }) => ledger.sequence === last + 1)!
    expect(await codeOf(() => next.append(following))).toBe('CONFLICT')
    expect([next.head, next.poisoned]).toEqual([undefined, false])
    await next.ingest(closes)
    expect((await next.verify()).ok).toBe(true)
  })

  test('looks that have not begun are combined into one', async () => {
    const disk = memoryDisk()
    let asked = 0
    const watched = memory(disk)
    const getMany = watched.getMany.bind(watched)
    watched.getMany = (keys) => {
      asked++
      return getMany(keys)
    }
    const [writer, other] = [await open(disk), await openLedger(watched)]
    asked = 0
    expect(await Promise.all([other.refresh(), other.refresh()])).toEqual([false, false])
    expect(asked).toBe(1)
    expect([await other.refresh(), asked]).toEqual([false, 2])
    await writer.append(closes[0]!)
    expect(await other.refresh()).toBe(true)
  })

  test('a stream is told of another branch, even while it waits; one that has delivered nothing goes on', async () => {
    const disk = memoryDisk()
    const [writer, other] = [await open(disk), await open(disk)]
    await writer.ingest(closes)
    await other.refresh()
    const [passed, fresh] = [other.stream(catalogue.ledgers, {}, { cursor: 'now' }), other.stream(catalogue.ledgers, {})]
    const pulled = passed.next()
    pulled.catch(() => {})
    await turns()
    await writer.rollback(FIRST + 2)
    await other.refresh()
    await expect(pulled).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: FIRST + 2, reached: LAST } })
    expect((await fresh.next()).value?.sequence).toBe(FIRST)
    const waiting = other.stream(catalogue.ledgers, {}, { cursor: 'now' })
    const next = waiting.next()
    await turns()
    await writer.append(closes[3]!)
    await other.refresh()
    expect((await next).value?.sequence).toBe(FIRST + 3)
  })
})
