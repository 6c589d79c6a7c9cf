/** Long work over a store that answers at once: others have their turn within it. Steps are slowed down, so that no machine is too fast for that. */
import { expect, test, vi } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { Tally } from '../../../src/audit/tally.ts'
import { Writer } from '../../../src/bytes.ts'
import { type LedgerClose, openLedger, verifyStore } from '../../../src/index.ts'
import { Draft } from '../../../src/ingest/draft.ts'
import { Block } from '../../../src/layout/block.ts'
import { KIND, kindOfKey } from '../../../src/layout/keys.ts'
import { Unfiled } from '../../../src/scan/unfiled.ts'
import { longCloses } from '../../support/closes.ts'

type Methods<K extends string> = Record<K, (...given: never[]) => unknown>

/** Has each call of a method take some milliseconds, and be noted, until it is told to stop. */
function slowed<K extends string>(of: Methods<K>, method: K, ms: number, note: () => void): () => void {
  const inner: (...given: never[]) => unknown = of[method]
  const spy = vi.spyOn(of as Methods<string>, method).mockImplementation(function (this: unknown, ...given) {
    note()
    for (const until = performance.now() + ms; performance.now() < until; );
    return inner.apply(this, given)
  })
  return () => spy.mockRestore()
}

/** Calls back in every turn of the event loop, until it is told to stop. */
function eachTurn(call: () => void): () => void {
  let isOver = false
  const turn = (): void => {
    call()
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isOver = true
  }
}

/** The most calls of a method in one turn, and all of them, while something is done. */
async function callsOf<K extends string>(of: Methods<K>, method: K, ms: number, work: () => Promise<unknown>) {
  let [most, now, all] = [0, 0, 0]
  const stops = [
    eachTurn(() => {
      now = 0
    }),
    slowed(of, method, ms, () => {
      most = Math.max(most, ++now)
      all++
    }),
  ]
  try {
    await work()
    return { most, all }
  } finally {
    for (const stop of stops) stop()
  }
}

test.each([[undefined], [50]])('an ingest lets others have their turn while it drafts a batch of %s ledgers', async (batch) => {
  const closes = [...generate({ ledgers: 100, seed: 7, transactionsPerLedger: 1 })]
  const ledger = await openLedger(memory())
  const { most, all } = await callsOf(Draft.prototype, 'add', 4, () => ledger.ingest(closes, { batch }))
  expect(all).toBe(closes.length)
  // Three of them are long, and it is asked before each.
  expect(most).toBeLessThanOrEqual(4)
  await ledger.close()
})

/** A store with all its lists in it. */
async function storeOf(closes: Iterable<LedgerClose>, before?: number) {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), { fileEvery: 1 })
  await ledger.ingest(closes)
  if (before !== undefined) await ledger.prune(before)
  await ledger.close()
  return { disk, audit: async () => expect((await verifyStore(memory(disk))).ok).toBe(true) }
}

test('an audit lets others have their turn between values', async () => {
  const { audit } = await storeOf(generate({ ledgers: 100, seed: 7, transactionsPerLedger: 2 }))
  const { most, all } = await callsOf(Block.prototype, 'row', 0.5, audit)
  expect(all).toBeGreaterThan(1000)
  // Within ten milliseconds; then a block, or a ledger.
  expect(most).toBeLessThan(100)
})

test('an audit lets others have their turn between what pruning left of the book', async () => {
  const [first, second] = longCloses(7, 2)
  const [offer] = first!.offers!.changed!
  const changed = Array.from({ length: 300 }, (_, n) => ({ ...offer!, id: BigInt(n + 1) }))
  const { disk, audit } = await storeOf([{ ...first!, offers: { changed } }, second!], 8)
  const { entries } = await memory(disk).scan({ gte: Uint8Array.of(KIND.base), lt: Uint8Array.of(KIND.base + 1) }, { limit: 4096 })
  expect(entries.length).toBeGreaterThan(200)
  expect(entries.every(([key]) => kindOfKey(key) === KIND.base)).toBe(true)
  const { most } = await callsOf(Block.prototype, 'row', 0.5, audit)
  expect(most).toBeLessThan(100)
})

test('an audit lets others have their turn between the pages of a list', async () => {
  const { audit } = await storeOf(longCloses(7, 30))
  const { most, all } = await callsOf(Tally.prototype, 'add', 0.1, audit)
  expect(all).toBeGreaterThan(4000)
  // Within ten milliseconds; then a page, or a ledger.
  expect(most).toBeLessThan(600)
})

test('an audit lets others have their turn between the steps of a ledger', async () => {
  const { disk } = await storeOf(longCloses(7, 1))
  const store = memory(disk)
  const scan = vi.spyOn(store, 'scan')
  const steps = new Set<string>()
  const mixed = new Set<string>()
  const note = (name: string) => () => {
    // Every value is looked at when all ledgers were.
    if (scan.mock.calls.some(([{ gte }]) => gte?.length === 0)) return
    steps.add(name)
    if (steps.size > 1) mixed.add([...steps].join(' and '))
  }
  const stops = [
    eachTurn(() => steps.clear()),
    slowed(Block.prototype, 'row', 1, note('its rows')),
    slowed(Writer.prototype, 'raw', 1, note('its line')),
    slowed(Unfiled.prototype, 'add', 1, note('its records anew')),
    slowed(Tally.prototype, 'add', 1, note('what they ask for')),
  ]
  try {
    expect((await verifyStore(store)).ok).toBe(true)
    expect([...mixed]).toEqual([])
  } finally {
    for (const stop of stops) stop()
  }
})
