/** What a writer writes, in what order and how durably; what it leaves if a write fails; and what an open finishes or refuses. */
import { describe, expect, test } from 'vitest'
import { type MemoryDisk, memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { hashOf } from '../../../adapters/testing/arbitraries.ts'
import { richClose } from '../../../adapters/testing/invalid-closes.ts'
import { catalogue, FolioError, type KeyRange, openLedger, type Store, type Write, type WriteOptions } from '../../../src/index.ts'
import { encodeDigest } from '../../../src/layout/digest.ts'
import { encodeHash } from '../../../src/layout/hash.ts'
import { decodeHead, decodeIntent, encodeHead, encodeIntent, type Intent } from '../../../src/layout/head.ts'
import { bookSellerKey, digestKey, ERA, HEAD, hashKey, INTENT } from '../../../src/layout/keys.ts'
import { dump, hex } from '../../support/dump.ts'
import { codeOf, errorOf } from '../../support/errors.ts'

const closes = [5, 6, 7, 8, 9, 10].map((sequence) => richClose(sequence, hashOf(sequence - 1, 99)))

/** A store that records its writes, and fails the one it is told to, before or after it takes effect. */
function watched(disk: MemoryDisk) {
  const inner = memory(disk)
  const it = {
    writes: [] as { readonly batch: readonly Write[]; readonly options: WriteOptions }[],
    compacted: [] as KeyRange[],
    failAt: -1,
    after: false,
    store: undefined as unknown as Store,
  }
  const fail = (): never => {
    throw new FolioError('STORE_FAILED', { reason: 'no answer' })
  }
  it.store = Object.assign(Object.create(inner) as Store, {
    async write(batch: readonly Write[], options: WriteOptions) {
      const failing = it.writes.length === it.failAt
      it.writes.push({ batch: [...batch], options })
      if (failing && !it.after) fail()
      await inner.write(batch, options)
      if (failing) fail()
    },
    compact(range: KeyRange) {
      it.compacted.push(range)
    },
  })
  return it
}

const filled = async (fileEvery: number, count = 6): Promise<MemoryDisk> => {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), { fileEvery })
  await ledger.ingest(closes.slice(0, count), { durable: false })
  await ledger.close()
  return disk
}

describe('a batch', () => {
  test('ends with the head, expects the head before it, and is durable unless told otherwise', async () => {
    const disk = memoryDisk()
    const on = watched(disk)
    const ledger = await openLedger(on.store)
    on.writes.length = 0
    await ledger.append(closes[0]!)
    await ledger.append(closes[1]!, { durable: false })
    await ledger.ingest(closes.slice(2), { batch: 2 })
    expect(on.writes.map(({ options }) => options.durable)).toEqual([true, false, true, true])
    const heads = on.writes.map(({ batch }) => batch.at(-1)!)
    expect(heads.map(([key]) => hex(key))).toEqual(['00', '00', '00', '00'])
    expect(heads.map(([, value]) => decodeHead(value!).last)).toEqual([5, 6, 8, 10])
    expect(on.writes.map(({ options: { expect: held } }) => held && decodeOr(held.value))).toEqual([undefined, 5, 6, 8])
    expect((await ledger.append(closes[5]!)).appended).toBe(false)
    expect(on.writes.length).toBe(4)
    expect(await memory(disk).get(ERA)).toBeUndefined()
  })
  const decodeOr = (value: Uint8Array | undefined): number | undefined => value && decodeHead(value).last

  test.each([
    [3, [5, 6, 7, 8, 9, 10]],
    [13, [0, 5, 6, 7, 8, 9]],
    [14, [0, 0, 6, 6, 8, 8]],
    [26, [0, 0, 6, 6, 8, 8]],
    [27, [0, 0, 0, 7, 7, 7]],
    [1000, [0, 0, 0, 0, 0, 0]],
  ])('files its lists when %i records wait, at 13 per ledger, and a quarter as many have come since', async (fileEvery, filed) => {
    const disk = memoryDisk()
    const ledger = await openLedger(memory(disk), { fileEvery })
    const found: number[] = []
    const counts = new Map<number, readonly number[]>()
    for (const close of closes) {
      await ledger.append(close)
      const head = decodeHead((await memory(disk).get(HEAD))!)
      found.push(head.filed)
      counts.set(head.last, head.counts)
      if (head.filed > 0) expect(head.filedCounts).toEqual(counts.get(head.filed))
    }
    expect(found).toEqual(filed)
  })

  test('whose lists could not be read is not written, and can be tried again', async () => {
    const inner = memory()
    let broken = false
    const store: Store = Object.assign(Object.create(inner) as Store, {
      getMany(keys: readonly Uint8Array[]) {
        if (broken && keys.some((key) => key[0] === 0x20)) throw new FolioError('STORE_FAILED', { reason: 'torn' })
        return inner.getMany(keys)
      },
    })
    const ledger = await openLedger(store, { fileEvery: 26, cacheBytes: 0 })
    await ledger.ingest(closes.slice(0, 2))
    broken = true
    expect(await codeOf(() => ledger.append(closes[2]!))).toBe('STORE_FAILED')
    expect(ledger.head?.last).toBe(6)
    broken = false
    expect((await ledger.ingest(closes)).appended).toBe(4)
    expect(await ledger.verify()).toMatchObject({ ok: true, last: 10 })
  })

  test.each([0, 1])('ends before a ledger that repeats transaction %i of an earlier one in the batch', async (n) => {
    const [first, second] = [closes[0]!, closes[1]!]
    const known = first.transactions![n]!.hash
    const twice = { ...second, transactions: [{ ...second.transactions![0]!, hash: known }, ...second.transactions!.slice(1)] }
    const ledger = await openLedger(memory())
    const { code, fields } = await errorOf(() => ledger.ingest([first, twice, closes[2]!], { batch: 3 }))
    expect([code, fields['ledger'], fields['hash']]).toEqual(['DUPLICATE_TRANSACTION', 6, known])
    expect(ledger.head?.last).toBe(5)
    expect((await ledger.ingest(closes)).appended).toBe(5)
  })

  test('looks in the store for offers that it may hold, and not for those with higher ids than any before', async () => {
    const store = memory()
    const asked: string[] = []
    const ledger = await openLedger(
      Object.assign(Object.create(store) as Store, {
        getMany(keys: readonly Uint8Array[]) {
          asked.push(...keys.map(hex))
          return store.getMany(keys)
        },
      }),
    )
    const change = (sequence: number, changed: readonly bigint[], removed: readonly bigint[] = []) => {
      const close = richClose(sequence, hashOf(sequence - 1, 99))
      const [offer] = close.offers!.changed!
      return { ...close, transactions: [], offers: { changed: changed.map((id) => ({ ...offer!, id, seller: `G${sequence}` })), removed } }
    }
    const soughtBy = async (...made: Parameters<typeof change>): Promise<string[]> => {
      asked.length = 0
      await ledger.append(change(...made))
      return [...asked]
    }
    const keysOf = (...ids: readonly bigint[]): string[] => ids.map((id) => hex(bookSellerKey(id)))
    expect(await soughtBy(5, [7n, 9n], [8n])).toEqual([])
    expect(await soughtBy(6, [8n, 10n], [7n])).toEqual(keysOf(8n, 7n))
    expect(await soughtBy(7, [10n, 11n], [11n, 12n])).toEqual(keysOf(10n))
    await ledger.rollback(6)
    expect(await soughtBy(7, [11n], [10n])).toEqual(keysOf(10n))
    const sellers = await Promise.all([7n, 8n, 9n, 10n, 11n].map((offer) => ledger.get(catalogue.offer, { offer })))
    expect(sellers.map((one) => one?.seller)).toEqual([undefined, 'G6', 'G5', undefined, 'G7'])
    expect((await ledger.verify()).ok).toBe(true)
    await ledger.close()
  })

  test('whose transactions are known only above the head is accepted', async () => {
    const disk = await filled(1, 2)
    const store = memory(disk)
    const { counts } = decodeHead((await store.get(HEAD))!)
    const stale = (sequence: number, n: number, failed: boolean, tag: number): Write => {
      const key = hashKey(hashOf(sequence, n))
      return [key, encodeHash(key, { ordinal: counts[tag]!, failed })]
    }
    await store.write([stale(7, 1, false, 2), stale(7, 2, true, 6)], { durable: true })
    const ledger = await openLedger(store)
    expect((await ledger.append(closes[2]!)).appended).toBe(true)
    const [first, failed] = [0, 1].map((n) => closes[2]!.transactions![n]!.hash)
    expect((await ledger.get(catalogue.transaction, { hash: first! }))?.hash).toBe(first)
    const twice = { ...closes[3]!, transactions: [closes[3]!.transactions![0]!, { ...closes[3]!.transactions![1]!, hash: failed! }] }
    expect((await errorOf(() => ledger.append(twice))).code).toBe('DUPLICATE_TRANSACTION')
    const same = { ...closes[3]!, transactions: [closes[3]!.transactions![0]!, closes[3]!.transactions![0]!] }
    expect((await errorOf(() => ledger.append(same))).fields['expected']).toBe('a hash that no other transaction of the ledger has')
    const both = {
      ...closes[3]!,
      transactions: [1, 2, 3].map((n) => ({ ...closes[3]!.transactions![1]!, hash: hashOf(8, n), max_fee: n })),
    }
    await ledger.append(both)
    for (const n of [1, 2, 3]) expect((await ledger.get(catalogue.transaction, { hash: hashOf(8, n) }))?.max_fee).toBe(n)
  })
})

describe('a change of several batches', () => {
  const rollback = { rollback: 6 } as const
  const prune = { prune: 9 } as const

  test.each([
    ['a rollback', 1, rollback],
    ['a rollback of lists never filed', 1000, rollback],
    ['pruning', 1, prune],
    ['pruning of lists never filed', 1000, prune],
  ] as const)('that fails anywhere is finished by the next open: %s', async (_, fileEvery, intent: Intent) => {
    const change = (ledger: Awaited<ReturnType<typeof openLedger>>) =>
      'prune' in intent ? ledger.prune(intent.prune) : ledger.rollback((intent as { rollback: number }).rollback)
    const whole = await filled(fileEvery)
    const whole2 = watched(whole)
    const ledger = await openLedger(whole2.store, { fileEvery })
    whole2.writes.length = 0
    expect(await change(ledger)).toBe(4)
    await ledger.close()
    const wanted = await dump(memory(whole))
    const steps = whole2.writes.length
    for (const [at, { batch, options }] of whole2.writes.entries()) {
      expect(options.durable).toBe(true)
      const [key, value] = batch[0]!
      expect(hex(key)).toBe('02')
      expect(value && decodeIntent(value)).toEqual(at === steps - 1 ? undefined : intent)
      expect(batch.some(([one]) => hex(one) === hex(ERA))).toBe(false)
    }
    for (let failAt = 0; failAt < steps; failAt++)
      for (const after of [false, true]) {
        const disk = await filled(fileEvery)
        const on = watched(disk)
        const broken = await openLedger(on.store, { fileEvery })
        on.writes.length = 0
        Object.assign(on, { failAt, after })
        expect(await codeOf(() => change(broken))).toBe('STORE_FAILED')
        expect(await codeOf(() => broken.append(closes[0]!))).toBe('POISONED')
        expect(await codeOf(() => broken.rollback(9))).toBe('POISONED')
        await broken.close()
        const again = await openLedger(memory(disk), { fileEvery })
        if (failAt === 0 && !after) await change(again)
        expect(await again.verify()).toMatchObject({ ok: true })
        await again.close()
        expect(await dump(memory(disk))).toEqual(wanted)
      }
  })

  test('that was finished, but left its intent, changes nothing more', async () => {
    for (const intent of [{ rollback: 99 }, { prune: 5 }] as const) {
      const disk = await filled(1)
      const before = await dump(memory(disk))
      await memory(disk).write([[INTENT, encodeIntent(intent)]], { durable: true })
      const on = watched(disk)
      await (await openLedger(on.store)).close()
      expect(await dump(memory(disk))).toEqual(before)
      expect(on.writes.map(({ options }) => options.durable)).toEqual([true])
    }
    const disk = await filled(1)
    await memory(disk).write([[INTENT, encodeIntent({ repair: true })]], { durable: true })
    expect(await codeOf(() => openLedger(memory(disk)))).toBe('STORE_UNREPAIRED')
  })

  test('has the space of what was pruned freed once', async () => {
    const on = watched(await filled(1))
    const ledger = await openLedger(on.store, { fileEvery: 1 })
    expect([await ledger.prune(5), on.compacted.length]).toEqual([0, 0])
    on.writes.length = 0
    expect([await ledger.prune(10), on.compacted.length, on.writes.length]).toEqual([5, 10, 1])
    const ranges = on.compacted.map(({ gte, lt }) => `${hex(gte)} ${hex(lt)}`)
    expect(ranges.slice(-3)).toEqual(['21 22', '30 31', '5000000000 500000000a'])
    expect(ranges.slice(0, 3)).toEqual([
      '1001000000000000 1001000000000000',
      '1002000000000000 1002000000000001',
      '1003000000000000 1003000000000001',
    ])
    expect((await errorOf(() => ledger.prune(11))).fields).toEqual({
      field: 'before',
      reason: 'at most 10, the newest ledger, which stays',
    })
    expect((await errorOf(() => ledger.rollback(0))).fields).toEqual({
      ledger: 0,
      oldest: 10,
      reason: 'what was pruned cannot come back: roll back to 10 or later, or start anew in a new store',
    })
    expect(await ledger.prune(10)).toBe(0)
    expect(await codeOf(() => ledger.rollback(9))).toBe('GONE_BEFORE_HISTORY')
    expect([await ledger.rollback(10), on.compacted.length]).toEqual([0, 10])
  })
})

describe('the newest ledger is checked when a store is opened', () => {
  const opened = async (...writes: Write[]) => {
    const disk = await filled(1)
    await memory(disk).write(writes, { durable: true })
    return errorOf(() => openLedger(memory(disk)))
  }

  test('against its digest and the head', async () => {
    expect((await opened([digestKey(10), encodeDigest(10, new Uint8Array(32))])).fields).toEqual({
      key: '500000000a',
      reason: 'the newest ledger, 10, is not as it was appended',
    })
    expect((await opened([digestKey(10), undefined])).fields['reason']).toBe('the digest of ledger 10 is missing')
    const head = decodeHead((await memory(await filled(1)).get(HEAD))!)
    expect((await opened([HEAD, encodeHead({ ...head, hash: 'ab' })])).fields).toEqual({
      key: '00',
      reason: 'the head names another ledger as the newest',
    })
  })
})
