/** What a process sees of what another has written to their store since its last look, and how it goes on from there. */
import { describe, expect, test, vi } from 'vitest'
import { type MemoryDisk, memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { hex } from '../../../src/bytes.ts'
import { Cache } from '../../../src/cache/cache.ts'
import {
  catalogue,
  endOfLedger,
  FolioError,
  type Ledger,
  openLedger,
  type Store,
  type Write,
  type WriteOptions,
} from '../../../src/index.ts'
import type { Tails } from '../../../src/ingest/draft.ts'
import { fileAgain } from '../../../src/ingest/filing.ts'
import { lookFor } from '../../../src/ingest/follow.ts'
import { stateOf, tailsOf } from '../../../src/ingest/state.ts'
import { decodeHead, emptyHead, encodeHighWater, type Head } from '../../../src/layout/head.ts'
import { blockKey, HEAD } from '../../../src/layout/keys.ts'
import { logs } from '../../../src/logs.ts'
import { ledgers } from '../../../src/resources/ledger.ts'
import { Reader } from '../../../src/scan/reader.ts'
import { Unfiled } from '../../../src/scan/unfiled.ts'
import { smallCloses } from '../../support/closes.ts'
import { dump, shared } from '../../support/dump.ts'
import { codeOf, errorOf } from '../../support/errors.ts'

const FIRST = 40
const [closes, others] = [smallCloses(FIRST, 18, 4), smallCloses(FIRST, 18, 5)]
const open = (disk: MemoryDisk, fileEvery = 32_768): Promise<Ledger> => openLedger(shared(memory(disk)), { fileEvery, pollMs: 2 ** 30 })

async function tokensOf(ledger: Ledger): Promise<string[]> {
  const all: string[] = []
  for (const query of [catalogue.ledgers, catalogue.transactions, catalogue.operations, catalogue.effects, catalogue.trades])
    for await (const record of ledger.records(query as typeof catalogue.effects, {}))
      all.push(`${query.path} ${JSON.stringify(record, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`)
  for (const { account } of closes.slice(0, 2).flatMap(({ transactions = [] }) => transactions))
    try {
      for await (const { paging_token } of ledger.records(catalogue.operationsOfAccount, { account }))
        all.push(`${account} ${paging_token}`)
    } catch (error) {
      all.push(`${account} ${(error as { code?: string }).code}`)
    }
  return all
}

describe.each([60, 32_768])('filed every %i records', (fileEvery) => {
  test('two processes that append in turns leave what one would, and each reads it', async () => {
    const [alone, disk] = [memoryDisk(), memoryDisk()]
    const only = await open(alone, fileEvery)
    const [one, other] = [await open(disk, fileEvery), await open(disk, fileEvery)]
    for (const [at, close] of closes.entries()) {
      await only.append(close)
      const [writer, reader] = at % 3 === 1 ? [other, one] : [one, other]
      await writer.append(close)
      expect(await reader.refresh()).toBe(true)
      expect(await reader.refresh()).toBe(false)
      expect(reader.head).toEqual(writer.head)
    }
    expect(await tokensOf(other)).toEqual(await tokensOf(one))
    for (const ledger of [only, one, other]) await ledger.close()
    expect(await dump(memory(disk))).toEqual(await dump(memory(alone)))
  })

  test('another branch is read as if there had never been one before it', async () => {
    const [alone, disk] = [memoryDisk(), memoryDisk()]
    const only = await open(alone, fileEvery)
    await only.ingest(others)
    const [writer, reader] = [await open(disk, fileEvery), await open(disk, fileEvery)]
    await writer.ingest(closes)
    await reader.refresh()
    expect(await tokensOf(reader)).not.toEqual(await tokensOf(only))
    await writer.rollback(FIRST - 1)
    await writer.ingest(others)
    expect(await reader.refresh()).toBe(true)
    expect(await tokensOf(reader)).toEqual(await tokensOf(only))
    await writer.rollback(FIRST + 12)
    expect(await reader.refresh()).toBe(true)
    await reader.ingest(others.slice(13))
    await writer.refresh()
    expect(await tokensOf(writer)).toEqual(await tokensOf(only))
    expect((await writer.verify()).ok).toBe(true)
    // Once the store is empty there is nothing to go on from, and the process starts anew.
    await reader.rollback(FIRST - 1)
    expect([await writer.refresh(), writer.head]).toEqual([true, undefined])
    await writer.ingest(closes)
    expect([await reader.refresh(), reader.head?.hash]).toEqual([true, closes.at(-1)!.ledger.hash])
  })
})

describe('a process that does not know the newest ledgers yet', () => {
  test.each([0, 9])('and knows %i of them, rolls back those as well', async (known) => {
    const disk = memoryDisk()
    const writer = await open(disk)
    await writer.ingest(closes.slice(0, known))
    const other = await open(disk)
    await writer.ingest(closes.slice(known, 14))
    expect(await other.rollback(FIRST + 10)).toBe(3)
    expect([other.head?.last, await writer.refresh(), writer.head?.last]).toEqual([FIRST + 10, true, FIRST + 10])
    expect(await other.verify()).toMatchObject({ ok: true, last: FIRST + 10 })
  })

  test('prunes ledgers that it does not know', async () => {
    const disk = memoryDisk()
    const writer = await open(disk)
    await writer.ingest(closes.slice(0, 9))
    const other = await open(disk)
    await writer.ingest(closes.slice(9))
    expect(await other.prune(FIRST + 12)).toBe(12)
    expect(await other.verify()).toMatchObject({ ok: true, oldest: FIRST + 12, last: FIRST + 17 })
  })
})

test('a store is opened while another process goes on appending to it, and notes each ledger', async () => {
  const disk = memoryDisk()
  const writer = await open(disk)
  let [next, looks] = [0, 0]
  const append = async (): Promise<Uint8Array> => {
    await writer.append(closes[next++]!)
    const { last, hash } = writer.head!
    return encodeHighWater({ last, hash, era: 0 })
  }
  await append()
  const read = (): Promise<Uint8Array> => {
    looks++
    return append()
  }
  const other = await openLedger(Object.assign(shared(memory(disk)), { note: { read, write: () => {} } }), { pollMs: 2 ** 30 })
  expect([other.head?.last, looks]).toEqual([FIRST + 1, 1])
  await Promise.all([writer.close(), other.close()])
})

test('a page that goes on with the cursor of another process skips nothing, whatever is not known yet', async () => {
  const disk = memoryDisk()
  const writer = await open(disk)
  await writer.ingest(closes.slice(0, 4))
  const reader = await open(disk)
  const back = (ledger: Ledger, cursor?: string) => ledger.page(catalogue.ledgers, {}, { order: 'desc', limit: 3, cursor })
  const sequences = ({ records }: Awaited<ReturnType<typeof back>>) => records.map(({ sequence }) => sequence - FIRST)
  // One balancer in front of both sends the first request here and the next one there.
  await writer.ingest(closes.slice(4, 14))
  const page = await back(writer)
  expect(sequences(page)).toEqual([13, 12, 11])
  expect(sequences(await back(reader, page.next))).toEqual([10, 9, 8])
  // A cursor that nobody gave is beyond every head.
  expect(sequences(await back(reader, endOfLedger(FIRST + 1000)))).toEqual([13, 12, 11])
  // Nor does it end early, or find nothing.
  await writer.ingest(closes.slice(14))
  const [newest] = (await writer.page(catalogue.operations, {}, { order: 'desc', limit: 1 })).records
  const values = { operation: newest!.id }
  const cursor = `${newest!.paging_token}-0`
  const effects = await writer.page(catalogue.effectsOfOperation, values, { cursor })
  expect(await reader.page(catalogue.effectsOfOperation, values, { cursor })).toEqual(effects)
  for (const ledger of [writer, reader]) await ledger.close()
})

test('what another process has written is found, whether it is known yet or not', async () => {
  const disk = memoryDisk()
  const writer = await open(disk)
  await writer.ingest(closes.slice(0, 4))
  const reader = await open(disk)
  await writer.ingest(closes.slice(4, 5))
  const [newest] = (await writer.page(catalogue.transactions, {}, { order: 'desc', limit: 1 })).records
  const { hash } = newest!
  expect(await reader.get(catalogue.transaction, { hash })).toEqual(newest)
  await writer.ingest(closes.slice(5, 6))
  const { last } = writer.head!
  expect((await reader.page(catalogue.transactionsOfLedger, { ledger: last })).records).not.toEqual([])
  // What nobody has written is looked for no more than twice.
  await writer.ingest(closes.slice(6, 7))
  expect(await reader.get(catalogue.ledger, { ledger: last + 2 })).toBeUndefined()
  for (const ledger of [writer, reader]) await ledger.close()
})

/** Rows with their texts as strings: where those lie in memory differs. */
const spelled = (tails: Tails) =>
  Array.from(tails, ([tag, { rows }]) => [tag, rows.map(({ texts, ...rest }) => ({ ...rest, texts: texts.map(({ text }) => text) }))])

describe('a look', () => {
  /** A store of `count` ledgers, what is known of it, and a function that looks at it again. */
  async function known(count: number, { prune = 0, rollback = 0, fileEvery = 32_768 } = {}) {
    const disk = memoryDisk()
    const writer = await open(disk, fileEvery)
    await writer.ingest(closes.slice(0, count))
    if (prune) await writer.prune(prune)
    if (rollback) await writer.rollback(rollback)
    const store = shared(memory(disk))
    const state = await stateOf(store)
    const before = state.head ? decodeHead(state.head) : emptyHead
    const cache = new Cache(2 ** 20)
    const known = { state, head: before, unfiled: await waitingUnder(store, before), cache }
    return { disk, writer, store, state, before, cache, known, look: (at: Store = store) => lookFor(at, known) }
  }
  /** What is not filed under a head, worked out from the records alone. */
  const waitingUnder = (store: Store, head: Head): Promise<Unfiled> =>
    fileAgain((read) => new Reader(store, new Cache(2 ** 20), head, new Unfiled()).run(read), [head.filedCounts, head.counts])
  const shown = (unfiled: Unfiled): unknown[] =>
    Array.from(unfiled.whole.all(), ({ index, key, ordinals }) => JSON.stringify([index.tag, key.map(String), ordinals])).sort()

  test('finds nothing if nothing was done', async () => {
    for (const count of [0, 5]) expect(await (await known(count)).look()).toBeUndefined()
  })

  test.each([
    ['the first ledgers', 0, (writer: Ledger) => writer.ingest(closes.slice(0, 5)), true, false],
    ['more ledgers', 5, (writer: Ledger) => writer.ingest(closes.slice(5, 7)), true, true],
    // Only what pruning had to file makes lists other than they were.
    ['older ledgers pruned', 9, (writer: Ledger) => writer.prune(FIRST + 5), true, 'unless filed'],
    ['all ledgers but the newest pruned', 9, (writer: Ledger) => writer.prune(FIRST + 8), true, 'unless filed'],
    [
      'ledgers pruned and others rolled back',
      9,
      async (writer: Ledger) => {
        await writer.prune(FIRST + 3)
        await writer.rollback(FIRST + 7)
        await writer.ingest(closes.slice(8, 9))
      },
      true,
      false,
    ],
    ['ledgers rolled back', 9, (writer: Ledger) => writer.rollback(FIRST + 5), false, false],
    ['everything rolled back', 9, (writer: Ledger) => writer.rollback(FIRST - 1), false, false],
    [
      'as many other ledgers',
      9,
      async (writer: Ledger) => {
        await writer.rollback(FIRST - 1)
        await writer.ingest(others.slice(0, 9))
      },
      false,
      false,
    ],
    [
      'more other ledgers',
      9,
      async (writer: Ledger) => {
        await writer.rollback(FIRST - 1)
        await writer.ingest(others.slice(0, 12))
      },
      false,
      false,
    ],
    [
      'the same ledgers, rolled back and appended again',
      9,
      async (writer: Ledger) => {
        await writer.rollback(FIRST + 5)
        await writer.ingest(closes.slice(6, 9))
      },
      true,
      false,
    ],
    [
      'the newest known ledger pruned after more were appended',
      5,
      async (writer: Ledger) => {
        await writer.ingest(closes.slice(5, 9))
        await writer.prune(FIRST + 5)
      },
      false,
      false,
    ],
  ] as const)('finds %s', async (_, count, change, grown, kept) => {
    const keptAfter: boolean[] = []
    for (const fileEvery of [32_768, 60, 1]) {
      const { writer, look, store, state, known: before } = await known(count, { fileEvery })
      const waited = shown(before.unfiled)
      await change(writer)
      const found = (await look())!
      const now = await stateOf(store)
      const isKept = kept === 'unless filed' ? found.head.filed === before.head.filed : kept
      expect([found.grown, found.kept, found.state]).toEqual([grown, isKept, now])
      keptAfter.push(isKept)
      expect([found.head.last, found.head.hash]).toEqual([writer.head?.last ?? 0, writer.head?.hash ?? ''])
      expect(now).not.toEqual(state)
      expect(spelled(found.tails)).toEqual(spelled(await tailsOf(store, found.head)))
      expect(shown(found.unfiled)).toEqual(shown(await waitingUnder(store, found.head)))
      expect(shown(before.unfiled)).toEqual(waited)
    }
    if (kept === 'unless filed') expect(new Set(keptAfter)).toEqual(new Set([false, true]))
  })

  test('finds that a prune has filed lists, though it has removed nothing yet', async () => {
    const { disk, look, known: before } = await known(9)
    const inner = shared(memory(disk))
    let writes = 0
    const other: Store = Object.assign(Object.create(inner) as Store, {
      async write(batch: readonly Write[], options: WriteOptions) {
        if (++writes > 1) throw new FolioError('STORE_FAILED', { reason: 'no answer' })
        await inner.write(batch, options)
      },
    })
    expect(await codeOf(async () => (await openLedger(other)).prune(FIRST + 5))).toBe('STORE_FAILED')
    const found = (await look())!
    expect([found.head.oldest, before.head.filed, found.head.filed]).toEqual([FIRST, 0, FIRST + 4])
    expect([found.grown, found.kept]).toEqual([true, false])
  })

  test('reads the records that have come, not all those that wait to be filed', async () => {
    const { writer, look, store } = await known(9)
    await writer.ingest(closes.slice(9, 10))
    const read: string[] = []
    const counting: Store = Object.assign(Object.create(store) as Store, {
      get(key: Uint8Array) {
        read.push(hex(key))
        return store.get(key)
      },
      async getMany(keys: Uint8Array[]) {
        read.push(...keys.map(hex))
        return store.getMany(keys)
      },
    })
    const { head } = (await look(counting))!
    const blocks = read.filter((key) => key.startsWith('10'))
    const all = head.counts.reduce(
      (sum, count, tag) => sum + Math.ceil(count / (1 << (logs.find((log) => log.tag === tag)?.shift ?? 30))),
      0,
    )
    expect(blocks.length).toBeGreaterThan(0)
    expect(new Set(blocks).size).toBeLessThan(all / 2)
  })

  test('uses cached blocks only if history has only grown', async () => {
    const { writer, look, cache } = await known(5)
    const asked = vi.spyOn(cache, 'block')
    await writer.ingest(closes.slice(5, 7))
    await look()
    const kept = asked.mock.calls.length
    await writer.rollback(FIRST + 2)
    await look()
    expect([kept > 0, asked.mock.calls.length]).toEqual([true, kept])
  })

  test.each([0, 1])('during which history is rolled back is repeated (%i)', async (when) => {
    const { disk, writer, store, known: known8 } = await known(8)
    await writer.ingest(closes.slice(8, 12))
    let looks = 0
    const disturbed: Store = Object.assign(Object.create(store) as Store, {
      async getMany(keys: Uint8Array[]) {
        // The state changes as soon as it has been read, or just before it is read the second time.
        const isLook = keys[0]?.[0] === HEAD[0] && keys.length === 2
        if (isLook && looks === 1 && when === 1) await writer.rollback(FIRST + 9)
        const answer = await store.getMany(keys)
        if (isLook && looks++ === 0 && when === 0) await writer.rollback(FIRST + 9)
        return answer
      },
    })
    const found = (await lookFor(disturbed, known8))!
    expect([found.head.last, found.grown, found.state]).toEqual([FIRST + 9, true, await stateOf(shared(memory(disk)))])
    expect(looks).toBeGreaterThan(2)
  })

  test('that finds damage reports it if the head stands, and otherwise looks again', async () => {
    const { writer, store, look, before } = await known(5)
    await writer.ingest(closes.slice(5, 7))
    const head = decodeHead((await store.get(HEAD))!)
    const failing = (then: () => Promise<unknown>): Store => {
      let broken = true
      return Object.assign(Object.create(store) as Store, {
        async get(key: Uint8Array) {
          if (!broken) return store.get(key)
          broken = false
          await then()
          return undefined
        },
      })
    }
    const error = await errorOf(() => look(failing(async () => {})))
    expect(error.code).toBe('CORRUPT')
    const found = (await look(failing(() => writer.append(closes[7]!))))!
    expect([found.head.last, before.last, head.last]).toEqual([FIRST + 7, FIRST + 4, FIRST + 6])
  })
})

test('the next blocks start with the rows after the last full block, and a block that lacks those is damage', async () => {
  const disk = memoryDisk()
  const writer = await open(disk)
  const store = shared(memory(disk))
  const headOf = async (): Promise<Head> => decodeHead((await store.get(HEAD))!)
  const damage = async (): Promise<unknown> => (await errorOf(async () => tailsOf(store, await headOf()))).fields
  const put = (key: Uint8Array, value: Uint8Array | undefined) => store.write([[key, value]], { durable: true })
  const rows: number[] = []
  for (const [at, close] of closes.entries()) {
    const key = blockKey(ledgers.tag, Math.floor(at / 8))
    const earlier = await store.get(key)
    await writer.append(close)
    const tails = await tailsOf(store, await headOf())
    rows.push(tails.get(ledgers.tag)?.rows.length ?? 0)
    for (const [tag, tail] of tails) {
      expect(tail.resource.tag).toBe(tag)
      expect(tail.rows.every((row) => row !== undefined)).toBe(true)
    }
    if (tails.has(ledgers.tag)) {
      const whole = await store.get(key)
      await put(key, undefined)
      expect(await damage()).toEqual({ key: hex(key), reason: 'the last block of the ledger log is missing' })
      await put(key, earlier)
      const reason = earlier ? 'the last block of the ledger log lacks records' : 'the last block of the ledger log is missing'
      expect(await damage()).toEqual({ key: hex(key), reason })
      await put(key, whole)
    }
  }
  // A block holds eight ledgers.
  expect(rows).toEqual(closes.map((_, at) => (at + 1) % 8))
})
