/**
 * Ledgers pruned one by one, as by a service that keeps a window of history: the store reclaims their space in portions, and while others go on; what
 * is cached stays so, and what is being filed goes on.
 */
import { expect, test, vi } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { catalogue, FolioError, type Ledger, type LedgerClose, openLedger, type Store, verifyStore } from '../../../src/index.ts'
import { decodeHead, encodeIntent } from '../../../src/layout/head.ts'
import { HEAD, INTENT } from '../../../src/layout/keys.ts'
import { dumpBesideLists } from '../../support/dump.ts'
import { codeOf } from '../../support/errors.ts'
import { turns } from '../../support/turns.ts'

const FIRST = 20
const closes = [
  ...generate({ ledgers: 160, seed: 5, accounts: 20, transactionsPerLedger: 2, firstLedger: FIRST, envelopeBytes: 30 }),
] as readonly LedgerClose[]

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)

async function filled(count: number): Promise<MemoryDisk> {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk))
  await ledger.ingest(closes.slice(0, count), { durable: false, batch: count })
  await ledger.close()
  return disk
}

/** How many records were pruned from a store, and how many it holds. */
async function numbers(disk: MemoryDisk): Promise<{ pruned: number; held: number }> {
  const { since, counts } = decodeHead((await memory(disk).get(HEAD))!)
  return { pruned: sum(since), held: sum(counts) - sum(since) }
}

/** Opens a ledger over a store whose `compact` is spied on; `times` counts how often all ranges were compacted. */
function spied(disk: MemoryDisk, compact: NonNullable<Store['compact']> = () => {}) {
  const spy = vi.fn(compact)
  const times = (): number => spy.mock.calls.filter(([{ gte }]) => gte[0] === 0x50).length
  const open = (): Promise<Ledger> => openLedger(Object.assign(Object.create(memory(disk)) as Store, { compact: spy }))
  return { open, spy, times }
}

test('ledgers pruned one by one have their space reclaimed with every portion of what is held, whichever process prunes', async () => {
  for (const [count, reopened] of [
    [160, false],
    [160, true],
    [90, true],
  ] as const) {
    const disk = await filled(count)
    const { open, times } = spied(disk)
    let ledger = await open()
    /** What was pruned when space was reclaimed last. */
    let reclaimed = 0
    const portions: number[] = []
    for (let oldest = FIRST + 1; oldest < FIRST + count - 15; oldest++) {
      const before = times()
      expect(await ledger.prune(oldest)).toBe(1)
      const { pruned, held } = await numbers(disk)
      // Never is more left than a quarter of what is held.
      if (times() === before) expect(pruned - reclaimed).toBeLessThan(held / 4)
      else {
        portions.push((pruned - reclaimed) / held)
        reclaimed = pruned
      }
      if (reopened) {
        await ledger.close()
        ledger = await open()
      }
    }
    // A portion may come early where its size is halved.
    portions.sort((a, b) => a - b)
    expect(portions.length).toBeGreaterThan(2)
    expect(portions[portions.length >> 1]).toBeGreaterThan(1 / 10)
    await ledger.close()
  }
})

test('a prune that files nothing leaves what is cached and what is being filed as it was', async () => {
  const EVERY = 360
  /** How many lists were read to be filed, how many bytes were read for pages, and what the store holds in the end. */
  const lived = async (prunes: boolean): Promise<{ filed: number; bytes: number; held: string[] }> => {
    const disk = memoryDisk()
    const inner = memory(disk)
    let filed = 0
    const store: Store = Object.assign(Object.create(inner) as Store, {
      getMany(keys: readonly Uint8Array[]) {
        filed += keys.filter(([tag]) => tag === 0x20).length
        return inner.getMany(keys)
      },
    })
    const ledger = await openLedger(store, { fileEvery: EVERY })
    let bytes = 0
    for (const [nth, close] of closes.slice(0, 120).entries()) {
      await ledger.append(close)
      if (nth < 80) continue
      const oldest = FIRST + nth - 75
      if (prunes) expect(await ledger.prune(oldest)).toBe(nth === 80 ? 5 : 1)
      for (let again = 0; again < 2; again++) {
        const { cost } = await ledger.explain(catalogue.operations, {}, { cursor: String(BigInt(oldest + 2) << 32n), limit: 20 })
        // The first one may read what has come into the page.
        if (again === 0) bytes += cost.bytes
        else expect(cost.gets).toBe(0)
      }
    }
    if (!prunes) await ledger.prune(FIRST + 119 - 75)
    await ledger.close()
    expect((await verifyStore(memory(disk))).ok).toBe(true)
    return { filed, bytes, held: await dumpBesideLists(memory(disk)) }
  }
  const [pruned, whole] = [await lived(true), await lived(false)]
  // Beside those, lists that were forgotten and have come up again.
  expect(pruned.filed).toBeGreaterThanOrEqual(whole.filed)
  expect(pruned.filed).toBeLessThan(1.1 * whole.filed)
  expect(pruned.bytes).toBe(whole.bytes)
  expect(pruned.held).toEqual(whole.held)
  expect(whole.filed).toBeGreaterThan(200)
})

test('a prune that files, as in a window shorter than what waits, leaves the rest of the cache as it was, and lists are right', async () => {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk))
  const { account } = closes[0]!.transactions![0]!
  const log = () => ledger.explain(catalogue.operations, {}, { cursor: String(BigInt(ledger.head!.last - 10) << 32n), limit: 20 })
  for (const [nth, close] of closes.slice(0, 60).entries()) {
    await ledger.append(close)
    if (nth < 20) continue
    await log()
    await ledger.prune(FIRST + nth - 15)
    expect((await log()).cost.gets).toBe(0)
    const fresh = await openLedger(memory(disk), { cacheBytes: 0 })
    for (const query of [catalogue.operationsOfAccount, catalogue.paymentsOfAccount]) {
      const options = { cursor: String(BigInt(FIRST + nth - 14) << 32n), limit: 200 }
      expect(await ledger.page(query, { account }, options)).toEqual(await fresh.page(query, { account }, options))
      expect((await ledger.explain(query, { account }, options)).cost.gets).toBe(0)
    }
  }
  expect(decodeHead((await memory(disk).get(HEAD))!).filed).toBe(FIRST + 59 - 15 - 1)
  expect((await ledger.verify()).ok).toBe(true)
})

test('a prune of as much as a portion has space reclaimed, whatever was pruned before', async () => {
  const { open, times } = spied(await filled(120))
  const ledger = await open()
  for (const [n, oldest] of [FIRST + 40, FIRST + 80, FIRST + 119].entries()) {
    await ledger.prune(oldest)
    expect(times()).toBe(n + 1)
  }
})

test('ledgers are appended, rolled back and pruned while space is reclaimed, which closing waits for', async () => {
  const disk = await filled(40)
  const goOn: (() => void)[] = []
  const { open, spy } = spied(disk, () => new Promise<void>((resolve) => void goOn.push(resolve)))
  const ledger = await open()
  const over: string[] = []
  const note = (what: string, work: Promise<unknown>): Promise<unknown> => work.then(() => over.push(what))
  const all = [note('first', ledger.prune(FIRST + 10))]
  await turns(3)
  expect([over, goOn.length]).toEqual([[], 1])
  await ledger.append(closes[40]!)
  await ledger.rollback(FIRST + 39)
  await ledger.append(closes[40]!)
  all.push(note('second', ledger.prune(FIRST + 20)))
  await turns(3)
  expect([over, goOn.length, ledger.head!.oldest, ledger.head!.last]).toEqual([[], 1, FIRST + 20, FIRST + 40])
  all.push(note('closed', ledger.close()))
  // Range after range, and not those of both at once.
  for (let range = 0; range < goOn.length; range++) {
    goOn[range]!()
    await turns(3)
    expect(goOn.length).toBeLessThanOrEqual(range + 2)
  }
  await Promise.all(all)
  expect([over, spy.mock.calls.length % 2]).toEqual([['first', 'second', 'closed'], 0])
})

test('a prune that another process was cut off in has its space reclaimed by the one that finishes it', async () => {
  const disk = await filled(100)
  const last = await openLedger(memory(disk))
  await last.prune(FIRST + 49)
  await last.close()
  await memory(disk).write([[INTENT, encodeIntent({ prune: FIRST + 50 })]], { durable: true })
  const { open, times } = spied(disk)
  const ledger = await open()
  expect(ledger.head!.oldest).toBe(FIRST + 50)
  await ledger.close()
  expect(times()).toBe(1)
})

test('space that cannot be reclaimed fails the prune that asked for it, and nothing else', async () => {
  const disk = await filled(40)
  const { open } = spied(disk, () => {
    throw new FolioError('STORE_FAILED', { reason: 'no space left' })
  })
  const ledger = await open()
  expect(await codeOf(() => ledger.prune(FIRST + 10))).toBe('STORE_FAILED')
  expect(ledger.head!.oldest).toBe(FIRST + 10)
  expect((await ledger.append(closes[40]!)).appended).toBe(true)
  expect((await ledger.verify()).ok).toBe(true)
  await ledger.close()
})
