/** A rollback or a prune that was cut short, and what a repair in between makes of it: the next open finishes it. */
import { describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type Ledger, openLedger, repairStore, type Store, verifyStore, type Write } from '../../src/index.ts'
import { encodeIntent } from '../../src/layout/head.ts'
import { blockKey, digestKey, hashKey, INTENT } from '../../src/layout/keys.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { operations } from '../../src/resources/operation.ts'
import { dump, hex } from '../support/dump.ts'
import { codeOf } from '../support/errors.ts'
import { broken, failingAfter } from './support.ts'

const FIRST = 100
const COUNT = 60
const generated = [...generate({ ledgers: COUNT + 1, seed: 7, accounts: 30, transactionsPerLedger: 4, firstLedger: FIRST })]
const closes = generated.slice(0, COUNT)
const next = generated[COUNT]!

/** Each takes several batches: one goes back from filing to filing, the other first files what it prunes. */
const changes = {
  rollback: { fileEvery: 20, run: (ledger: Ledger) => ledger.rollback(FIRST + 10), ends: [FIRST, FIRST + 10] },
  prune: { fileEvery: 1e6, run: (ledger: Ledger) => ledger.prune(FIRST + 50), ends: [FIRST + 50, FIRST + COUNT - 1] },
} as const
type Name = keyof typeof changes

const opened = (name: Name, store: Store): Promise<Ledger> => openLedger(store, { fileEvery: changes[name].fileEvery })

async function filled(name: Name): Promise<MemoryDisk> {
  const disk = memoryDisk()
  await (await opened(name, memory(disk))).ingest(closes, { batch: 20, durable: false })
  return disk
}

/** What a change that was killed after its first batch leaves. */
async function cutShort(name: Name): Promise<MemoryDisk> {
  const disk = await filled(name)
  const ledger = await opened(name, failingAfter(memory(disk), 1))
  expect(await codeOf(() => changes[name].run(ledger))).toBe('STORE_FAILED')
  expect(await verifyStore(memory(disk))).toMatchObject({ ok: true, unfinished: name })
  return disk
}

async function whole(name: Name): Promise<readonly string[]> {
  const disk = await filled(name)
  await changes[name].run(await opened(name, memory(disk)))
  return dump(memory(disk))
}

const endsOf = async (disk: MemoryDisk) => {
  const { head } = await openLedger(memory(disk))
  return [head!.oldest, head!.last]
}

/** The entry of the first transaction of a ledger that neither change keeps, or else of the first transaction of all. */
const one = hashKey((closes[0] as { transactions: readonly { hash: string }[] }).transactions[0]!.hash)

describe.each(['rollback', 'prune'] as const)('an unfinished %s', (name) => {
  test.each<[string, readonly Write[]]>([
    ['whole', []],
    [
      'damaged',
      [
        [digestKey(FIRST + 1), undefined],
        [digestKey(FIRST + 52), undefined],
        [one, undefined],
      ],
    ],
  ])('is reported by a repair of a store that is %s, and finished by the next open', async (_, damage) => {
    const disk = await cutShort(name)
    const held = await dump(memory(disk))
    await memory(disk).write(damage, { durable: true })
    const report = await repairStore(memory(disk))
    expect(report).toMatchObject({ lost: [], after: { ok: true, unfinished: name } })
    expect(await dump(memory(disk))).toEqual(held)
    expect(await endsOf(disk)).toEqual(changes[name].ends)
    expect(await dump(memory(disk))).toEqual(await whole(name))
  })

  test('outlasts a repair that is itself cut short at any write, and run again', async () => {
    const disk = await cutShort(name)
    const held = await dump(memory(disk))
    const strays = Array.from({ length: 3 }, (_, n): Write => [Uint8Array.of(0x77, n), Uint8Array.of(1)])
    for (let good = 0; good < 2; good++) {
      await memory(disk).write(strays, { durable: true })
      const error = await codeOf(() => repairStore(failingAfter(memory(disk), good)))
      expect(error).toBe('STORE_FAILED')
      if (good > 0) expect(await codeOf(() => openLedger(memory(disk)))).toBe('STORE_UNREPAIRED')
    }
    expect(await repairStore(memory(disk))).toMatchObject({ lost: [], after: { ok: true, unfinished: name } })
    expect(await dump(memory(disk))).toEqual(held)
    expect(await endsOf(disk)).toEqual(changes[name].ends)
  })
})

test('a prune reaches the newest ledger at most, if a repair cut history before its end', async () => {
  const disk = await filled('prune')
  const number = 5
  await memory(disk).write(
    [
      [INTENT, encodeIntent({ prune: FIRST + 50 })],
      [blockKey(ledgers.tag, number), undefined],
    ],
    { durable: true },
  )
  const last = FIRST + number * (1 << ledgers.shift) - 1
  expect(await repairStore(memory(disk), { cut: true })).toMatchObject({ cutAfter: last, after: { ok: true, unfinished: 'prune' } })
  expect(await endsOf(disk)).toEqual([last, last])
  expect(await verifyStore(memory(disk))).toMatchObject({ ok: true })
})

describe('a prune that meets damage', () => {
  const DAMAGED = blockKey(operations.tag, 1)
  const damage = (disk: MemoryDisk) => memory(disk).write([broken(memory(disk), DAMAGED)], { durable: true })
  /** History is as long as the prune left it, and nothing is wrong but the damage. */
  async function expectWhole(disk: MemoryDisk): Promise<void> {
    const ledger = await openLedger(memory(disk))
    expect([ledger.head!.oldest, ledger.head!.last]).toEqual([FIRST, FIRST + COUNT - 1])
    expect(await ledger.append(next)).toMatchObject({ appended: true })
    expect(await codeOf(() => ledger.prune(FIRST + 50))).toBe('CORRUPT')
    await ledger.close()
    const { unfinished, faults } = await verifyStore(memory(disk))
    expect(unfinished).toBeUndefined()
    expect(faults[0]).toMatchObject({ key: hex(DAMAGED) })
  }

  test('ends there: the store opens as before, and can be appended to', async () => {
    const disk = await filled('prune')
    const ledger = await openLedger(memory(disk), { fileEvery: 1e6, cacheBytes: 0 })
    await damage(disk)
    expect(await codeOf(() => changes.prune.run(ledger))).toBe('CORRUPT')
    await ledger.close()
    await expectWhole(disk)
  })

  test('was killed before: the open that would finish it leaves it', async () => {
    const disk = await cutShort('prune')
    await damage(disk)
    await expectWhole(disk)
  })
})
