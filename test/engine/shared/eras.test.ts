/**
 * How far back another process went, as a process learns from the eras that are kept in the store; a head and an era that do not belong together; and
 * a check or a repair while another process writes.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type MemoryDisk, memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { equal } from '../../../src/bytes.ts'
import {
  catalogue,
  describeStore,
  endOfLedger,
  type Fault,
  type Ledger,
  openLedger,
  repairStore,
  type Store,
  type Stream,
  verifyStore,
} from '../../../src/index.ts'
import { emptyHead, encodeEra, encodeHead, leftSince, nextEra } from '../../../src/layout/head.ts'
import { blockKey, digestKey, ERA, HEAD } from '../../../src/layout/keys.ts'
import { ledgers } from '../../../src/resources/ledger.ts'
import { transactions } from '../../../src/resources/transaction.ts'
import { branchOf } from '../../support/closes.ts'
import { shared } from '../../support/dump.ts'
import { codeOf } from '../../support/errors.ts'
import { holds } from '../../support/property.ts'

const closes = branchOf([1, 40], 1, () => ['GX'])
const others = branchOf([11, 40], 2, () => ['GX'], closes[9]!.ledger.hash)
const never = Number.POSITIVE_INFINITY

describe('what is stored of eras', () => {
  test('tells how far back history went since any of the last 64 rollbacks, and of none of them a ledger too new', () =>
    holds(fc.array(fc.option(fc.nat(1000), { freq: 4 }), { size: 'max', maxLength: 200 }), 200, (steps) => {
      let value: Uint8Array | undefined
      for (const step of steps) value = nextEra(value, step ?? undefined)
      for (let since = 0; since <= steps.length; since++) {
        const lowest = steps.slice(since).reduce((low: number, step) => Math.min(low, step ?? never), never)
        const left = leftSince(value, since)
        if (left !== undefined || steps.slice(since).filter((step) => step !== null).length <= 64) expect(left).toBe(lowest)
      }
      expect(value?.length ?? 0).toBeLessThan(1000)
    }))

  test('says nothing of eras before those that it lists, nor of later ones', () => {
    const earlier = encodeEra(7)
    expect([6, 7, 8].map((since) => leftSince(earlier, since))).toEqual([undefined, never, undefined])
    const value = nextEra(earlier, 12)
    expect([6, 7, 8].map((since) => leftSince(value, since))).toEqual([undefined, 12, never])
  })
})

describe('a stream of a process', () => {
  async function two(count: number) {
    const disk = memoryDisk()
    const open = () => openLedger(shared(memory(disk)), { pollMs: 2 ** 30 })
    const writer = await open()
    await writer.ingest(closes.slice(0, count))
    return { writer, reader: await open() }
  }
  async function streamed(reader: Ledger, count: number): Promise<Stream<{ sequence: number }>> {
    const stream = reader.stream(catalogue.ledgers, {})
    for (let at = 0; at < count; at++) await stream.next()
    return stream
  }

  test('is told of what was rolled back, however much was appended and pruned since', async () => {
    const { writer, reader } = await two(30)
    const stream = await streamed(reader, 30)
    await writer.rollback(10)
    await writer.ingest(others)
    await writer.prune(25)
    await reader.refresh()
    await expect(stream.next()).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: 10, reached: 30 } })
  })

  test('that stands where another has pruned, and no more, goes on', async () => {
    const { writer, reader } = await two(30)
    const stream = await streamed(reader, 30)
    await writer.ingest(closes.slice(30))
    await writer.prune(31)
    await reader.refresh()
    expect((await stream.next()).value).toMatchObject({ sequence: 31 })
  })

  test('is given all again if the store does not say how far back history went', async () => {
    const disk = memoryDisk()
    const open = () => openLedger(shared(memory(disk)), { pollMs: 2 ** 30 })
    const writer = await open()
    await writer.ingest(closes.slice(0, 30))
    const reader = await open()
    const stream = await streamed(reader, 30)
    await writer.rollback(20)
    await memory(disk).write([[ERA, encodeEra(1)]], { durable: true })
    await reader.refresh()
    await expect(stream.next()).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: 0, reached: 30 } })
  })

  describe.each([
    ['is read meanwhile', true],
    ['is read once others were appended', false],
  ])('is told where a repair cut history, which %s', (_, isRead) => {
    test.each([
      ['the records of a ledger', 1],
      ['those of the oldest', 0],
    ])('before %s', async (_, block) => {
      const disk = memoryDisk()
      const open = () => openLedger(shared(memory(disk)), { pollMs: 2 ** 30, fileEvery: 1 })
      const writer = await open()
      await writer.ingest(closes.slice(0, 30))
      await writer.close()
      const reader = await open()
      const stream = await streamed(reader, 30)
      const key = blockKey(ledgers.tag, block)
      const value = Uint8Array.from((await memory(disk).get(key))!)
      value[20]! ^= 1
      await memory(disk).write([[key, value]], { durable: true })
      const { cutAfter = -1 } = await repairStore(shared(memory(disk)), { cut: true })
      expect(cutAfter > 0).toBe(block > 0)
      if (isRead) await reader.refresh()
      const next = await open()
      const replaced = branchOf([cutAfter + 1, 40], 2, () => ['GX'], cutAfter === 0 ? undefined : closes[cutAfter - 1]!.ledger.hash)
      await next.ingest(replaced)
      await reader.refresh()
      await expect(stream.next()).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: cutAfter, reached: 30 } })
      const hashes = (await reader.page(catalogue.ledgers, {}, { limit: 200 })).records.map(({ hash }) => hash)
      expect(hashes).toEqual([...closes.slice(0, cutAfter), ...replaced].map(({ ledger }) => ledger.hash))
      expect(await verifyStore(shared(memory(disk)))).toMatchObject({ ok: true })
    })
  })
})

/** A shared store of which the era is read some time after the head; what is done once in between is set. */
function tornOver(disk: MemoryDisk) {
  const set: { between?: (() => Promise<unknown>) | undefined } = {}
  const store = shared(memory(disk))
  const torn: Store = Object.assign(Object.create(store) as Store, {
    capabilities: { ...store.capabilities, sync: false },
    // Of several keys there is no one view.
    async getMany(keys: Uint8Array[]) {
      const all: (Uint8Array | undefined)[] = []
      for (const key of keys) {
        all.push(await store.get(key))
        if (key[0] !== HEAD[0]) continue
        const act = set.between
        set.between = undefined
        await act?.()
      }
      return all
    },
  })
  return { set, torn }
}

test('a head that was read before a ledger was pruned, and an era after that, are not taken for one state', async () => {
  const disk = memoryDisk()
  // What waits to be filed is read at once, and would be missed.
  const writer = await openLedger(shared(memory(disk)), { pollMs: 2 ** 30, fileEvery: 1 })
  await writer.ingest(closes.slice(0, 30))
  const { set, torn } = tornOver(disk)
  const oldest = async (ledger: Ledger) => (await ledger.page(catalogue.ledgers, {}, { limit: 1 })).records[0]?.sequence
  const reader = await openLedger(torn, { pollMs: 2 ** 30 })
  set.between = () => writer.prune(10)
  await reader.refresh()
  expect(await oldest(reader)).toBe(10)
  set.between = () => writer.prune(20)
  const late = await openLedger(shared(torn), { pollMs: 2 ** 30 })
  expect(await oldest(late)).toBe(20)
})

test('nor are the head of a store that was not shared before and an era: whoever went back is told of no more than was rolled back', async () => {
  const disk = memoryDisk()
  const alone = await openLedger(memory(disk))
  await alone.ingest(closes.slice(0, 30))
  const { set, torn } = tornOver(disk)
  const [reader, writer] = [await openLedger(torn, { pollMs: 2 ** 30 }), await openLedger(shared(memory(disk)), { pollMs: 2 ** 30 })]
  const stream = reader.stream(catalogue.ledgers, {})
  for (let at = 0; at < 30; at++) await stream.next()
  set.between = async () => {
    await writer.rollback(10)
    await writer.ingest(others)
  }
  await reader.refresh()
  await expect(stream.next()).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: 10, reached: 30 } })
  const again = reader.stream(catalogue.ledgers, {}, { cursor: endOfLedger(10) })
  await reader.refresh()
  expect((await again.next()).value).toMatchObject({ sequence: 11 })
  for (const ledger of [alone, reader, writer]) await ledger.close()
})

describe('what another process writes meanwhile', () => {
  async function disturbed(act = (writer: Ledger): Promise<unknown> => writer.append(closes[10]!), at = 0) {
    const disk = memoryDisk()
    const writer = await openLedger(shared(memory(disk)), { pollMs: 2 ** 30, fileEvery: 1 })
    await writer.ingest(closes.slice(0, 10))
    const store = shared(memory(disk))
    const scan = store.scan.bind(store)
    let scans = 0
    store.scan = async (range, options) => {
      if (scans++ === at) await act(writer)
      return scan(range, options)
    }
    return { store, writer, scans: () => scans }
  }

  test('is not taken for damage: a check that would name it fails with CONFLICT', async () => {
    const { store } = await disturbed()
    expect(await codeOf(() => verifyStore(store))).toBe('CONFLICT')
    expect((await verifyStore(store)).ok).toBe(true)
    const key = blockKey(ledgers.tag, 1)
    const value = Uint8Array.from((await store.get(key))!)
    value[9]! ^= 1
    await store.write([[key, value]], { durable: true })
    expect((await verifyStore(store)).ok).toBe(false)
  })

  test('is told as no fault either, at whatever time it is written: what is told is of one state', async () => {
    const spoil = async (store: Store): Promise<void> => {
      const key = blockKey(transactions.tag, 1)
      await store.write([[key, (await store.get(key))!.map((byte, at) => (at === 9 ? byte ^ 1 : byte))]], { durable: true })
    }
    const toldOf = async (at: number) => {
      const { store, scans } = await disturbed((writer) => writer.append(closes[10]!), at)
      await spoil(store)
      const told: Fault[] = []
      const code = await codeOf(() => verifyStore(store, { onFault: (fault) => told.push(fault) }))
      return { told, code, scans: scans() }
    }
    const { told: real, scans } = await toldOf(never)
    expect(real.length).toBeGreaterThan(0)
    const counts = new Set<number>()
    for (let at = 0; at < scans; at++) {
      const { told, code } = await toldOf(at)
      expect(real).toEqual(expect.arrayContaining(told))
      expect(code).toBe('CONFLICT')
      counts.add(told.length)
    }
    // What was found before anything was written is told.
    expect([...counts]).toEqual([0, real.length])
  })

  test('is described as it is then, and not half of each; if it goes on for ever, CONFLICT', async () => {
    const { store, writer } = await disturbed((writer) => writer.rollback(2))
    expect(await describeStore(store)).toMatchObject({ ledgers: 2, last: 2, digest: await writer.digest() })
    const restless = await disturbed()
    const get = restless.store.get.bind(restless.store)
    const [damaged, scan] = [closes[0]!.ledger.sequence, restless.store.scan.bind(restless.store)]
    restless.store.scan = async (range, options) => {
      const { entries, more } = await scan(range, options)
      return { entries: entries.filter(([key]) => !equal(key, digestKey(damaged))), more }
    }
    expect(await codeOf(() => describeStore(restless.store))).toBe('CORRUPT')
    let calls = 0
    restless.store.get = (key) =>
      equal(key, HEAD) && calls++ > 0 ? encodeHead({ ...emptyHead, ...restless.writer.head, filed: calls }) : get(key)
    restless.store.getMany = (keys) => Promise.all(keys.map((key) => restless.store.get(key)))
    expect(await codeOf(() => describeStore(restless.store))).toBe('CONFLICT')
  })

  test('may take away what is being checked, at any time', async () => {
    for (let at = 0, scans = 1; at < scans; at++) {
      const checked = await disturbed((writer) => writer.rollback(2), at)
      expect(['no error', 'CONFLICT']).toContain(await codeOf(() => verifyStore(checked.store)))
      const repaired = await disturbed((writer) => writer.rollback(2), at)
      expect(await codeOf(() => repairStore(repaired.store))).toBe('CONFLICT')
      expect(await verifyStore(repaired.store)).toMatchObject({ ok: true, last: 2 })
      scans = checked.scans()
    }
  })

  test('is not removed by a repair, which fails with CONFLICT before it writes', async () => {
    const { store, writer } = await disturbed()
    expect(await codeOf(() => repairStore(store))).toBe('CONFLICT')
    expect(await verifyStore(store)).toMatchObject({ ok: true, last: 11 })
    await writer.append(closes[11]!)
    expect(await repairStore(store)).toMatchObject({ repaired: 0, lost: [], after: { ok: true, last: 12 } })
  })
})
