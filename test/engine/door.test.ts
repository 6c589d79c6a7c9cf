/** The door: opening for a network, what an ingest reports, ranges of ledgers, walks by pages, and following a shared store. */
import { describe, expect, test, vi } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import {
  catalogue,
  endOfLedger,
  type LedgerClose,
  type List,
  ledgerOf as ledgerOfToken,
  networkOf,
  openLedger,
  type Store,
  type WriteOptions,
} from '../../src/index.ts'
import { catalogueOf } from '../../src/ingest/identity.ts'
import { encodeFormat } from '../../src/layout/head.ts'
import { FORMAT, HEAD } from '../../src/layout/keys.ts'
import { ledgerOf } from '../support/benches.ts'
import { codeOf, errorOf } from '../support/errors.ts'
import { collect } from '../support/turns.ts'

const closes = [5, 6, 7, 8].map((sequence) => richClose(sequence, hashOf(sequence - 1, 99)))

describe('a store is opened', () => {
  test('for the network that it was created for, or for any if none was named', async () => {
    const disk = memoryDisk()
    const writes: WriteOptions[] = []
    let closed = 0
    const open = (network?: string) => {
      const inner = memory(disk)
      const store: Store = Object.assign(Object.create(inner) as Store, {
        write(...args: Parameters<Store['write']>) {
          writes.push(args[1])
          return inner.write(...args)
        },
        close() {
          closed++
        },
      })
      return openLedger(store, network === undefined ? {} : { network })
    }
    await open()
    await open()
    expect(writes).toEqual([{ durable: true, expect: { key: FORMAT, value: undefined } }])
    await open('one')
    await open('one')
    await open()
    // The name is written twice.
    const formats = [undefined, 'one'].map((network) => encodeFormat(catalogueOf(), network))
    const named = writes.slice(1).map(({ durable, expect: at }) => [durable, at?.key, Uint8Array.from(at!.value!)])
    expect([named, closed]).toEqual([formats.map((format) => [true, FORMAT, format]), 0])
    expect([await networkOf(memory(disk)), await networkOf(memory())]).toEqual(['one', undefined])
    expect((await errorOf(() => open('two'))).fields).toEqual({ found: 'one', expected: 'two' })
    expect([await codeOf(() => open('two')), closed, writes.length]).toEqual(['STORE_NETWORK', 2, 3])
  })

  test('with a batch that came after its head was looked for, and before its records were', async () => {
    const disk = memoryDisk()
    await (await openLedger(memory(disk))).append(closes[0]!)
    const inner = memory(disk)
    let looked = 0
    const late: Store = { ...inner, get: (key) => (key === HEAD && looked++ === 0 ? undefined : inner.get(key)) }
    const ledger = await openLedger(late)
    expect([looked > 1, ledger.head?.last]).toEqual([true, closes[0]!.ledger.sequence])
    expect((await ledger.append(closes[1]!)).appended).toBe(true)
    await inner.write([[HEAD, undefined]], { durable: true })
    expect(await codeOf(() => openLedger(memory(disk)))).toBe('CORRUPT')
  })

  test('by two at once, for the network that one of them names first', async () => {
    const disk = memoryDisk()
    const open = (network?: string) => openLedger(slowStore(memory(disk)), network === undefined ? {} : { network })
    const opened = await Promise.allSettled([open('one'), open('two'), open()])
    const held = await networkOf(memory(disk))
    expect(opened.map(({ status }) => status)).toEqual([
      held === 'one' ? 'fulfilled' : 'rejected',
      held === 'two' ? 'fulfilled' : 'rejected',
      'fulfilled',
    ])
    expect(opened.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'STORE_NETWORK' } })
  })

  test('only with its format', async () => {
    const disk = memoryDisk()
    await (await openLedger(memory(disk))).append(closes[0]!)
    await memory(disk).write([[FORMAT, undefined]], { durable: true })
    expect((await errorOf(() => openLedger(memory(disk)))).fields).toEqual({ key: '01', reason: 'the format of the store is missing' })
    await memory(disk).write([[HEAD, undefined]], { durable: true })
    expect((await errorOf(() => openLedger(memory(disk)))).fields).toMatchObject({ found: 'entries of something else' })
  })

  test('even if another process creates it meanwhile', async () => {
    const disk = memoryDisk()
    const slow = memory(disk)
    const { scan } = slow
    Object.assign(slow, {
      capabilities: { ...slow.capabilities, shared: true },
      scan: async (...asked: Parameters<typeof scan>) => {
        await (await openLedger(memory(disk), { network: 'one' })).append(closes[0]!)
        return scan.apply(slow, asked)
      },
    })
    expect((await openLedger(slow)).head?.last).toBe(5)
    expect(await codeOf(() => openLedger(memory(disk), { network: 'other' }))).toBe('STORE_NETWORK')
  })
})

describe('an ingest', () => {
  test('reports what was new, what was known, and each batch', async () => {
    const ledger = await ledgerOf([])
    const told: string[] = []
    const onBatch = (results: readonly { sequence: number; appended: boolean }[]) =>
      told.push(results.map(({ sequence, appended }) => `${sequence}${appended ? '+' : '='}`).join())
    expect(await ledger.ingest([], { onBatch })).toEqual({ appended: 0, known: 0, last: undefined })
    expect(await ledger.ingest(closes.slice(0, 3), { batch: 2, onBatch })).toEqual({ appended: 3, known: 0, last: 7 })
    expect(await ledger.ingest(closes, { onBatch })).toEqual({ appended: 1, known: 3, last: 8 })
    expect(told).toEqual(['5+,6+', '7+', '5=', '6=', '7=', '8+'])
    told.length = 0
    const bad = { ledger: {} } as unknown as LedgerClose
    expect(await codeOf(() => ledger.ingest([bad, closes[0]!], { batch: 5, onBatch }))).toBe('INVALID_INPUT')
    expect(told).toEqual([])
    const other = await ledgerOf([])
    expect(await codeOf(() => other.ingest([closes[0]!, bad, closes[1]!], { onBatch }))).toBe('INVALID_INPUT')
    expect([told, other.head?.last]).toEqual([['5+'], 5])
    expect(await codeOf(() => other.append(bad))).toBe('INVALID_INPUT')
    expect((await errorOf(() => other.rollback(-1))).fields['field']).toBe('sequence')
    expect((await errorOf(() => other.prune(1.5))).fields['field']).toBe('before')
  })
})

test('a close that its source changes afterwards is stored as it was given', async () => {
  const reused = { ledger: { ...closes[0]!.ledger }, transactions: closes[0]!.transactions! }
  function* source() {
    for (const { ledger, transactions } of closes)
      yield Object.assign(reused, { ledger: Object.assign(reused.ledger, ledger), transactions })
  }
  const ledger = await ledgerOf([])
  expect(await ledger.ingest(source(), { batch: 3 })).toMatchObject({ appended: 4, last: 8 })
  const given = closes.map(({ ledger, transactions }) => ({ ledger, transactions }) as LedgerClose)
  expect(await ledger.digest()).toBe(await (await ledgerOf(given)).digest())
})

describe('a range of ledgers', () => {
  test('is read as lines and closes, and has a digest', async () => {
    const ledger = await ledgerOf(closes)
    const numbers = async (range?: object) => (await collect(ledger.closes(range))).map((close) => close.ledger.sequence)
    expect([await numbers(), await numbers({ from: 6, to: 7 }), await numbers({ to: 5 }), await numbers({ from: 8 })]).toEqual([
      [5, 6, 7, 8],
      [6, 7],
      [5],
      [8],
    ])
    expect((await collect(ledger.lines({ from: 6, to: 7 }))).map((line) => JSON.parse(line).ledger.sequence)).toEqual([6, 7])
    const none = await ledgerOf([])
    expect([await collect(none.lines()), await none.digest()]).toEqual([
      [],
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    ])
    const digests = [await ledger.digest(), await ledger.digest({ from: 6 }), await ledger.digest({ to: 7 }), await none.digest()]
    expect(new Set(digests).size).toBe(4)
    expect(await (await ledgerOf(closes.slice(0, 3))).digest()).toBe(digests[2])
    expect((await errorOf(() => ledger.digest({ to: 9 }))).fields).toEqual({ field: 'to', reason: 'at most 8, the newest ledger' })
    expect((await errorOf(() => ledger.digest({ from: 4 }))).fields).toEqual({ ledger: 4, oldest: 5 })
    await ledger.append(richClose(9, hashOf(8, 99)))
  })

  test('of more than a thousand ledgers has the same digest however they were appended', async () => {
    const { ledger: shape } = closes[0]!
    const many = Array.from(
      { length: 1003 },
      (_, n): LedgerClose => ({ ledger: { ...shape, sequence: n + 1, hash: hashOf(n + 1, 99), prev_hash: hashOf(n, 99) } }),
    )
    const ledger = await ledgerOf([])
    await ledger.ingest(many, { batch: 500, durable: false })
    const other = await ledgerOf([])
    await other.ingest(many.slice(0, 1000), { batch: 500, durable: false })
    expect([(await ledger.digest({ to: 1000 })) === (await other.digest()), (await ledger.digest()) === (await other.digest())]).toEqual([
      true,
      false,
    ])
    await other.ingest(many.slice(1000), { batch: 500 })
    expect(await other.digest()).toBe(await ledger.digest())
  })
})

describe('a walk', () => {
  test('goes page by page from where it is told, and reads no more than it must', async () => {
    const ledger = await ledgerOf(closes)
    const read = vi.spyOn(ledger, 'readListing')
    const sizes = async (options?: object) =>
      (await collect(ledger.pages(catalogue.operations, {}, options))).map(({ records }) => records.length)
    expect([await sizes({ limit: 6 }), await sizes({ limit: 8 }), await sizes()]).toEqual([[6, 6, 4], [8, 8], [16]])
    read.mockClear()
    expect(await sizes()).toEqual([16])
    expect(read).toHaveBeenCalledTimes(1)
    const sequences = async (options?: object) =>
      (await collect(ledger.records(catalogue.ledgers, {}, options))).map(({ sequence }) => sequence)
    expect([
      await sequences(),
      await sequences({ order: 'desc', limit: 3 }),
      await sequences({ cursor: String(6n << 32n), limit: 1 }),
    ]).toEqual([
      [5, 6, 7, 8],
      [8, 7, 6, 5],
      [7, 8],
    ])
    expect(await codeOf(() => ledger.stream(catalogue.ledgers, {}, { cursor: 'x' }))).toBe('BAD_REQUEST cursor')
    let left: unknown
    {
      await using other = await ledgerOf(closes)
      left = other
    }
    expect((left as { closed: boolean }).closed).toBe(true)
  })
})

describe('with `await using`', () => {
  test.each(['records', 'pages', 'ndjson'] as const)('%s ends', async (method) => {
    const ledger = await ledgerOf(closes)
    let left: AsyncIterator<unknown>
    {
      await using walk = ledger[method](catalogue.operations, {}, { limit: 1 })
      left = walk
      expect((await walk.next()).done).toBe(false)
    }
    expect((await left.next()).done).toBe(true)
    await ledger.close()
  })

  test.each(['lines', 'closes'] as const)('%s end', async (method) => {
    const ledger = await ledgerOf(closes)
    let left: AsyncIterator<unknown>
    {
      await using range = ledger[method]()
      left = range
      expect((await range.next()).done).toBe(false)
    }
    expect((await left.next()).done).toBe(true)
    await ledger.close()
  })

  test.each(['stream', 'streamPages', 'tail'] as const)('%s ends', async (method) => {
    const ledger = await ledgerOf(closes)
    let left: AsyncIterator<unknown>
    {
      await using stream = ledger[method](catalogue.ledgers, {})
      left = stream
      expect((await stream.next()).done).toBe(false)
    }
    expect((await left.next()).done).toBe(true)
    await ledger.close()
  })

  test('a walk that nothing was asked of ends without a read', async () => {
    const ledger = await ledgerOf(closes)
    const read = vi.spyOn(ledger, 'readListing')
    {
      await using _ = ledger.pages(catalogue.operations, {})
    }
    expect(read).not.toHaveBeenCalled()
    await ledger.close()
  })
})

test('records tell their ledger by their tokens, and by their ids, and are those before its end', async () => {
  const ledger = await ledgerOf(closes)
  type Told = { readonly paging_token: string }
  const lists: readonly (readonly [List<Told, { readonly ledger: number }>, List<Told, object>])[] = [
    [catalogue.transactionsOfLedger, catalogue.transactions],
    [catalogue.operationsOfLedger, catalogue.operations],
    [catalogue.effectsOfLedger, catalogue.effects],
    [catalogue.tradesOfLedger, catalogue.trades],
  ]
  for (const sequence of [5, 8])
    for (const [within, all] of lists) {
      const { records } = await ledger.page(within, { ledger: sequence })
      expect(records.map(({ paging_token }) => ledgerOfToken(paging_token))).toEqual(records.map(() => sequence))
      expect((await ledger.page(all, {}, { cursor: endOfLedger(sequence - 1) })).records[0]).toEqual(records[0])
    }
  const [operation] = (await ledger.page(catalogue.operations, {})).records
  expect(ledgerOfToken(operation!.id)).toBe(5)
  await ledger.close()
})

test('a shared store is looked at when it rings, or every `pollMs`, until the ledger is closed', async () => {
  const disk = memoryDisk()
  const writer = await openLedger(memory(disk))
  await writer.append(closes[0]!)
  let ring: (() => void) | undefined
  let watching = 0
  const open = (pollMs: number, watch: boolean) => {
    const inner = memory(disk)
    const store: Store = Object.assign(Object.create(inner) as Store, {
      capabilities: { ...inner.capabilities, shared: true },
      ...(watch && {
        watch(look: () => void) {
          ring = look
          watching++
          return () => watching--
        },
      }),
    })
    return openLedger(store, { pollMs })
  }
  const [told, polling] = [await open(1e6, true), await open(3, false)]
  expect([told.head?.last, watching]).toEqual([5, 1])
  await writer.append(closes[1]!)
  await expect.poll(() => polling.head?.last).toBe(6)
  expect(told.head?.last).toBe(5)
  ring!()
  await expect.poll(() => told.head?.last).toBe(6)
  for (const ledger of [told, polling]) await ledger.close()
  expect(watching).toBe(0)
  await writer.append(closes[2]!)
  await new Promise((resolve) => setTimeout(resolve, 12))
  expect(polling.head?.last).toBe(6)
})

test('the error of an open that fails is told, not that of closing the store', async () => {
  const failing = { ...memory(), get: () => Promise.reject(new Error('the first')), close: () => Promise.reject(new Error('the second')) }
  await expect(openLedger(failing)).rejects.toThrow('the first')
})
