/** Long reads of the writer are done in parts, between which others have their turn. */
import { describe, expect, test, vi } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { slowStore } from '../../../adapters/testing/index.ts'
import { type Ledger, openLedger, type Store } from '../../../src/index.ts'
import { dump, shared } from '../../support/dump.ts'

// However short a part was, it gives way: so the parts can be counted.
vi.mock('../../../src/turn.ts', async (original) => {
  const turn = await original<typeof import('../../../src/turn.ts')>()
  return { ...turn, giveWay: turn.nextTurn }
})

const FIRST = 100
const COUNT = 200
const closes = [...generate({ ledgers: COUNT, seed: 3, accounts: 3000, transactionsPerLedger: 8, firstLedger: FIRST })]
const LAST = FIRST + COUNT - 1
/** Such a filing has thousands of lists. */
const fileEvery = 4000
const cacheBytes = 2 ** 16

async function filled(every = fileEvery): Promise<MemoryDisk> {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), { fileEvery: every, cacheBytes })
  await ledger.ingest(closes)
  await ledger.close()
  return disk
}

/** How many values are read in all, and at most in one turn of the event loop. */
async function readsOf(disk: MemoryDisk, work: (store: Store) => Promise<unknown>): Promise<{ all: number; most: number }> {
  const store = memory(disk)
  let [all, most, now] = [0, 0, 0]
  const count = (more: number): void => {
    all += more
    now += more
    most = Math.max(most, now)
  }
  let isOver = false
  const tick = (): void => {
    now = 0
    if (!isOver) setImmediate(tick)
  }
  tick()
  await work({
    ...store,
    get(key) {
      count(1)
      return store.get(key)
    },
    getMany(keys) {
      count(keys.length)
      return store.getMany(keys)
    },
  })
  isOver = true
  return { all, most }
}

describe.each([
  ['a rollback', (ledger: Ledger) => ledger.rollback(FIRST + 40)],
  ['a rollback to nothing', (ledger: Ledger) => ledger.rollback(0)],
  ['a prune', (ledger: Ledger) => ledger.prune(LAST - 20)],
] as const)('%s', (_, change) => {
  const work = async (store: Store): Promise<void> => {
    const ledger = await openLedger(store, { fileEvery, cacheBytes })
    await change(ledger)
    await ledger.close()
  }

  test('reads a bounded number of values before others have their turn', async () => {
    const { all, most } = await readsOf(await filled(), work)
    expect(most).toBeLessThan(1100)
    expect(all).toBeGreaterThan(4000)
  })

  test('leaves the same over a store that answers later', async () => {
    const [one, other] = [await filled(), await filled()]
    await work(memory(one))
    await work(slowStore(memory(other)))
    expect(await dump(memory(other))).toEqual(await dump(memory(one)))
  })
})

test('a rollback to where lists were filed as they are reads nothing of what waits', async () => {
  const none = 1e6
  const disk = await filled(none)
  const reads = async (last: number): Promise<number> => {
    const { all } = await readsOf(disk, async (store) => {
      const ledger = await openLedger(store, { fileEvery: none, cacheBytes })
      await ledger.rollback(last)
      await ledger.close()
    })
    return all
  }
  const opening = await reads(LAST)
  expect(opening).toBeGreaterThan(500)
  expect((await reads(LAST - 1)) - opening).toBeLessThan(50)
})

test('what waits is read block by block, also of a store that processes share, of which nothing is cached at first', async () => {
  const disk = await filled(1e6)
  const opening = async (kind: (store: Store) => Store): Promise<number> => {
    const { all } = await readsOf(disk, async (store) => (await openLedger(kind(store), { fileEvery: 1e6 })).close())
    return all
  }
  const plain = await opening((store) => store)
  expect(plain).toBeGreaterThan(500)
  expect(await opening(shared)).toBeLessThan(1.1 * plain)
})
