/** What a writer notes beside its store, what it learns from other processes, and what a read is told while history changes. */
import { describe, expect, test } from 'vitest'
import { memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { hashOf } from '../../../adapters/testing/arbitraries.ts'
import { richClose } from '../../../adapters/testing/invalid-closes.ts'
import { slowStore } from '../../../adapters/testing/slow-store.ts'
import { catalogue, FolioError, type Ledger, type LedgerClose, openLedger, type Store } from '../../../src/index.ts'
import { HighWaterMark, readHighWater } from '../../../src/ingest/high-water.ts'
import { decodeHighWater, emptyHead, encodeHighWater } from '../../../src/layout/head.ts'
import { everything, shared } from '../../support/dump.ts'
import { codeOf, errorOf } from '../../support/errors.ts'

const closes = [5, 6, 7, 8, 9, 10].map((sequence) => richClose(sequence, hashOf(sequence - 1, 99)))
/** Another branch of history, from ledger 7 on. */
const others = [7, 8, 9].map((sequence): LedgerClose => {
  const close = richClose(sequence, sequence === 7 ? hashOf(6, 99) : hashOf(sequence - 1, 98))
  return {
    ...close,
    ledger: { ...close.ledger, hash: hashOf(sequence, 98) },
    transactions: close.transactions!.map((one, n) => ({ ...one, hash: hashOf(sequence, 50 + n), account: 'GOTHER' })),
  }
})
const headOf = (last: number) => ({ ...emptyHead, first: 5, oldest: 5, last, hash: hashOf(last, 99) })

/** A place for a note, which fails when it is told to, and counts writes. */
function paper(bytes?: Uint8Array) {
  const it = {
    bytes,
    writes: 0,
    broken: false,
    note: {
      read: () => it.bytes,
      write(value: Uint8Array) {
        if (it.broken) throw new FolioError('STORE_FAILED', { reason: 'no room' })
        it.writes++
        it.bytes = value
      },
    },
  }
  return it
}
const noted = (on: { bytes: Uint8Array | undefined }) => on.bytes && decodeHighWater(on.bytes)

describe('how far history reached', () => {
  const held = async (ledger: number) => hashOf(ledger, 99)

  test('is noted once when it is flushed, however often it changed', async () => {
    const on = paper()
    const mark = new HighWaterMark(on as unknown as Store)
    await mark.flush()
    expect([on.writes, await readHighWater(on.note)]).toEqual([0, undefined])
    for (const last of [5, 6, 7]) mark.reached(headOf(last))
    expect(on.writes).toBe(0)
    await mark.flush()
    expect([on.writes, noted(on)]).toEqual([1, { last: 7, hash: hashOf(7, 99) }])
    await mark.flush()
    expect(on.writes).toBe(1)
    mark.reached({ ...emptyHead })
    await mark.flush()
    expect(noted(on)).toEqual({ last: 0 })
    on.broken = true
    mark.reached(headOf(8))
    await mark.flush()
    on.broken = false
    mark.reached(headOf(9))
    await mark.flush()
    expect(noted(on)).toEqual({ last: 9, hash: hashOf(9, 99) })
  })

  test('is compared with what the store holds', async () => {
    const check = (bytes: Uint8Array | undefined, last: number, oldest = 5) =>
      errorOf(() => new HighWaterMark(paper(bytes) as unknown as Store).check({ ...headOf(last), oldest }, held))
    const passes = async (bytes: Uint8Array | undefined, last: number, oldest = 5) =>
      codeOf(() => new HighWaterMark(paper(bytes) as unknown as Store).check({ ...headOf(last), oldest }, held))
    const mark = encodeHighWater({ last: 7, hash: hashOf(7, 99) })
    expect((await check(mark, 6)).fields).toEqual({ noted: 7, held: 6 })
    expect([await passes(mark, 7), await passes(mark, 9), await passes(undefined, 1)]).toEqual(['no error', 'no error', 'no error'])
    const other = encodeHighWater({ last: 7, hash: 'ff' })
    expect(await check(other, 9)).toMatchObject({ code: 'STORE_WENT_BACK', fields: { ledger: 7, noted: 'ff', held: hashOf(7, 99) } })
    // If the ledger was pruned, or no hash was noted, there is nothing more to compare.
    expect([await passes(other, 9, 8), await passes(encodeHighWater({ last: 7 }), 9), await passes(new Uint8Array(9), 9)]).toEqual([
      'no error',
      'no error',
      'no error',
    ])
    expect([await passes(other, 9, 7), await passes(Uint8Array.of(1, 2, 3, 4, 5, 6), 9)]).toEqual(['STORE_WENT_BACK', 'CORRUPT'])
    expect(await codeOf(() => new HighWaterMark(memory()).check(headOf(5), held))).toBe('no error')
  })

  test('is lowered only before history is rolled back below it', async () => {
    const on = paper(encodeHighWater({ last: 7, hash: hashOf(7, 99) }))
    const mark = new HighWaterMark(on as unknown as Store)
    for (const last of [9, 7]) await mark.lower(last)
    expect(on.writes).toBe(0)
    mark.reached(headOf(8))
    await mark.lower(6)
    await mark.flush()
    expect([on.writes, noted(on)]).toEqual([1, { last: 6 }])
    on.broken = true
    expect(await codeOf(() => mark.lower(5))).toBe('STORE_FAILED')
    await new HighWaterMark(memory()).lower(5)
  })

  test('is noted again if a rollback could not begin', async () => {
    const [on, disk] = [paper(), memoryDisk()]
    let fails = false
    const store = memory(disk)
    const get: Store['get'] = (key) => {
      if (fails) throw new FolioError('STORE_FAILED', { reason: 'not now' })
      return store.get(key)
    }
    const ledger = await openLedger(Object.assign(Object.create(store) as Store, { get, note: on.note }), { cacheBytes: 0 })
    await ledger.ingest(closes)
    fails = true
    expect(await codeOf(() => ledger.rollback(7))).toBe('STORE_FAILED')
    fails = false
    await ledger.close()
    expect(noted(on)).toEqual({ last: 10, hash: hashOf(10, 99) })
    expect((await openLedger(memory(disk))).head?.last).toBe(10)
  })

  test('is noted as far as it is durable when a ledger is closed', async () => {
    const disk = memoryDisk()
    const on = paper()
    const open = () => openLedger(Object.assign(Object.create(memory(disk)) as Store, { note: on.note }))
    const ledger = await open()
    await ledger.ingest(closes.slice(0, 3))
    await ledger.append(closes[3]!, { durable: false })
    await ledger.close()
    expect(noted(on)).toEqual({ last: 7, hash: hashOf(7, 99) })
    const again = await open()
    expect(await again.rollback(5)).toBe(3)
    expect(noted(on)).toEqual({ last: 5 })
    expect(await again.rollback(0)).toBe(1)
    expect([noted(on), await again.rollback(0)]).toEqual([{ last: 0 }, 0])
    await again.ingest(closes.slice(0, 2))
    await again.close()
    on.bytes = encodeHighWater({ last: 9 })
    expect(await codeOf(open)).toBe('STORE_WENT_BACK')
  })
})

test('what waits to be noted outlives a rollback that does not concern it, and is replaced by one that does', async () => {
  const noting = async (to: number): Promise<unknown> => {
    const on = paper()
    const ledger = await openLedger(Object.assign(Object.create(memory()) as Store, { note: on.note }))
    await ledger.ingest(closes)
    await ledger.rollback(to)
    expect(await ledger.refresh()).toBe(false)
    await ledger.close()
    return noted(on)
  }
  expect(await noting(1000)).toEqual({ last: 10, hash: hashOf(10, 99) })
  expect(await noting(8)).toEqual({ last: 8, hash: hashOf(8, 99) })
})

test('what is not durable is not noted, even if a rollback does not concern it', async () => {
  const on = paper()
  const ledger = await openLedger(Object.assign(Object.create(shared(memory())) as Store, { note: on.note }))
  await ledger.append(closes[0]!)
  await ledger.append(closes[1]!, { durable: false })
  await ledger.rollback(1000)
  await ledger.close()
  expect(noted(on)).toMatchObject({ last: 5 })
})

test('appending a known ledger again durably syncs the store once', async () => {
  const synced: boolean[] = []
  const inner = memory()
  const store: Store = {
    ...inner,
    write: (batch, options) => {
      synced.push(options.durable)
      return inner.write(batch, options)
    },
  }
  const ledger = await openLedger(store)
  await ledger.ingest(closes.slice(0, 2), { durable: false })
  synced.length = 0
  for (const durable of [false, true, true]) expect((await ledger.append(closes[0]!, { durable })).appended).toBe(false)
  expect(synced).toEqual([true])
  await ledger.append(closes[2]!, { durable: false })
  expect(await codeOf(() => ledger.append(closes[4]!))).toBe('LEDGER_GAP')
  await ledger.rollback(6)
  await ledger.append(closes[1]!)
  // The rollback, and that it is complete.
  expect(synced).toEqual([true, false, true, true])
  expect(await ledger.verify()).toMatchObject({ ok: true, last: 6 })
  await ledger.close()
})

describe.each([
  ['at once', (store: Store) => store],
  ['late', (store: Store) => slowStore(store)],
])('over a shared store that answers %s', (_, wrap) => {
  const world = async (count: number, fileEvery = 7) => {
    const disk = memoryDisk()
    const open = (): Promise<Ledger> => openLedger(shared(wrap(memory(disk))), { fileEvery, pollMs: 1e6 })
    const one = await open()
    await one.ingest(closes.slice(0, count))
    return { one, other: await open() }
  }
  const tokens = async (ledger: Ledger, account: string): Promise<string[]> =>
    (await ledger.page(catalogue.operationsOfAccount, { account }, { limit: 200 })).records.map(({ paging_token }) => paging_token)

  test('what another process appends is seen after a look, and can be appended to', async () => {
    const { one, other } = await world(2)
    expect(await other.refresh()).toBe(false)
    const before = await tokens(other, 'GALICE')
    await one.ingest(closes.slice(2, 4), { batch: 2 })
    expect([await other.refresh(), await other.refresh(), other.head?.last]).toEqual([true, false, 8])
    expect(await tokens(other, 'GALICE')).toEqual(await tokens(one, 'GALICE'))
    expect((await tokens(other, 'GALICE')).slice(0, before.length)).toEqual(before)
    expect((await other.append(closes[4]!)).appended).toBe(true)
    expect((await errorOf(() => one.append(closes[4]!))).code).toBe('CONFLICT')
    expect((await errorOf(() => one.append(closes[4]!))).code).toBe('POISONED')
    expect((await other.append(closes[5]!)).appended).toBe(true)
    expect(await other.verify()).toMatchObject({ ok: true, last: 10 })
    for (const ledger of [one, other]) await ledger.close()
  })

  test('a branch that another process wrote after a rollback is told from the one before', async () => {
    const { one, other } = await world(5)
    const seen = [await tokens(other, 'GALICE'), (await other.page(catalogue.transactions, {}, { limit: 200 })).records.length]
    expect([(seen[0] as string[]).length > 0, seen[1]]).toEqual([true, 5])
    const stream = other.stream(catalogue.ledgers, {}, { cursor: 'now' })
    const waiting = stream.next()
    waiting.catch(() => {})
    // Until it waits it reads, and might find out about the rollback alone.
    await expect.poll(() => other.waitingStreams).toBe(1)
    expect(await one.rollback(6)).toBe(3)
    await one.ingest(others)
    expect(one.head?.last).toBe(9)
    // A read finds this out by itself.
    expect(await tokens(other, 'GOTHER')).toEqual(await tokens(one, 'GOTHER'))
    expect(await tokens(other, 'GALICE')).toEqual(await tokens(one, 'GALICE'))
    expect(other.head).toEqual(one.head)
    expect((await other.get(catalogue.transaction, { hash: hashOf(7, 1) })) === undefined).toBe(true)
    await expect(waiting).rejects.toMatchObject({ code: 'ROLLED_BACK' })
    expect((await other.append({ ...closes[5]!, ledger: { ...closes[5]!.ledger, prev_hash: hashOf(9, 98) } })).appended).toBe(true)
    for (const ledger of [one, other]) await ledger.close()
  })

  test('a history that was rolled back and grew to the same head again is noticed', async () => {
    const { one, other } = await world(4)
    await tokens(other, 'GALICE')
    await one.rollback(6)
    await one.ingest(closes.slice(2, 4))
    expect([await other.refresh(), await other.refresh()]).toEqual([true, false])
    expect(await tokens(other, 'GALICE')).toEqual(await tokens(one, 'GALICE'))
    await one.rollback(4)
    expect([one.head, await other.refresh(), other.head]).toEqual([undefined, true, undefined])
    await other.ingest(closes.slice(0, 3))
    expect([await one.refresh(), one.head?.last]).toEqual([true, 7])
    for (const ledger of [one, other]) await ledger.close()
  })

  test('a note from before a rollback by another process is ignored, and one from after it counts', async () => {
    const [disk, on] = [memoryDisk(), paper()]
    const store = (inner: Store): Store => Object.assign(Object.create(shared(wrap(inner))) as Store, { note: on.note })
    const open = (): Promise<Ledger> => openLedger(store(memory(disk)), { pollMs: 1e6 })
    const one = await open()
    await one.ingest(closes.slice(0, 4))
    const old = memoryDisk()
    old.write((await memory(disk).scan(everything, { limit: 1e6 })).entries)
    const other = await open()
    await other.rollback(6)
    await other.append(others[0]!)
    await other.close()
    expect(noted(on)).toEqual({ last: 7, hash: hashOf(7, 98), era: 1 })
    // This process has not seen the rollback, and notes what it wrote itself.
    await one.close()
    expect(noted(on)).toEqual({ last: 8, hash: hashOf(8, 99), era: 0 })
    const again = await open()
    expect([again.head?.last, (await again.verify()).ok]).toEqual([7, true])
    await again.ingest(others.slice(1))
    await again.prune(6)
    await again.close()
    expect(noted(on)).toEqual({ last: 9, hash: hashOf(9, 98), era: 3 })
    expect(await codeOf(() => openLedger(store(memory(old))))).toBe('STORE_WENT_BACK')
    await (await open()).close()
  })

  test('ledgers that another process pruned are gone', async () => {
    const { one, other } = await world(6, 1000)
    await tokens(other, 'GALICE')
    await one.prune(8)
    expect(await other.refresh()).toBe(true)
    expect(other.head).toMatchObject({ oldest: 8, last: 10 })
    expect((await errorOf(() => other.get(catalogue.ledger, { ledger: 7 }))).fields).toEqual({ ledger: 7, oldest: 8 })
    expect(await tokens(other, 'GALICE')).toEqual(await tokens(one, 'GALICE'))
    expect((await other.append({ ...richClose(11, hashOf(10, 99)) })).appended).toBe(true)
    expect(await other.verify()).toMatchObject({ ok: true, oldest: 8, last: 11 })
    for (const ledger of [one, other]) await ledger.close()
  })
})
