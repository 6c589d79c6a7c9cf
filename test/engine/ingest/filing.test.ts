/** Filings: they are spread over ledgers, written whole or not at all, and determined by history alone. */
import { beforeAll, describe, expect, test } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { naiveLedger } from '../../../adapters/testing/naive-ledger.ts'
import { hex } from '../../../src/bytes.ts'
import { Cache } from '../../../src/cache/cache.ts'
import { catalogue, FolioError, type LedgerClose, openLedger, type Store, verifyStore, type Write } from '../../../src/index.ts'
import { prepareClose } from '../../../src/ingest/encode.ts'
import { History } from '../../../src/ingest/history.ts'
import { LedgerWriter } from '../../../src/ingest/writer.ts'
import { decodeHead, type Head } from '../../../src/layout/head.ts'
import { HEAD } from '../../../src/layout/keys.ts'
import { changesByOffer } from '../../../src/resources/offer.ts'
import { tradesByOffer } from '../../../src/resources/trade.ts'
import { branchOf } from '../../support/closes.ts'
import { difference, dump, dumpBesideLists } from '../../support/dump.ts'
import { codeOf } from '../../support/errors.ts'
import { agree } from '../../support/model.ts'

const FIRST = 20
const EVERY = 360
const ids = [tradesByOffer.tag, changesByOffer.tag]
const closes = [
  ...generate({ ledgers: 70, seed: 5, accounts: 40, transactionsPerLedger: 4, firstLedger: FIRST, envelopeBytes: 30 }),
] as readonly LedgerClose[]
const LAST = FIRST + closes.length - 1

const headOf = async (disk: MemoryDisk): Promise<Head> => decodeHead((await memory(disk).get(HEAD))!)
const total = ({ counts }: Pick<Head, 'counts'>): number => counts.reduce((sum, count) => sum + count, 0)

/** The ledger up to which a filing goes, and the ledger with which it was written. */
interface Due {
  readonly bound: number
  readonly written: number
}

/** The filings that follow from the ledgers' numbers of records alone. */
function filingsBy(records: readonly number[]): Due[] {
  const filings: Due[] = []
  let waits = 0
  let since = 0
  let bound = 0
  for (const [i, count] of records.entries()) {
    if (bound === 0) waits += count
    else since += count
    if (bound > 0 && since >= EVERY / 4) {
      filings.push({ bound, written: FIRST + i })
      bound = 0
      waits = since
      since = 0
    }
    if (bound === 0 && waits >= EVERY) bound = FIRST + i
  }
  return filings
}

let filings: Due[]
/** How many records each ledger has. */
const records: number[] = []
let whole: string[]

beforeAll(async () => {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), { fileEvery: EVERY })
  const found: Due[] = []
  let before = { filed: 0, counts: [0] as readonly number[] }
  for (const close of closes) {
    await ledger.append(close)
    const head = await headOf(disk)
    records.push(total(head) - total(before))
    if (head.filed !== before.filed) found.push({ bound: head.filed, written: head.last })
    before = head
  }
  filings = filingsBy(records)
  expect(found).toEqual(filings)
  whole = await dump(memory(disk))
})

describe('a filing', () => {
  test('begins when `fileEvery` records wait, and ends when a quarter as many have come since', () => {
    expect(filings.length).toBeGreaterThan(2)
    for (const { bound, written } of filings) expect(written - bound).toBeGreaterThan(1)
  })

  test.each([0, 1])('is due with the ledger that brings as many records, or the next if %i are missing', async (more) => {
    const enough = records.slice(0, 6).reduce((sum, count) => sum + count)
    const disk = memoryDisk()
    const ledger = await openLedger(memory(disk), { fileEvery: enough + more })
    let filed = 0
    for (let at = 0; filed === 0; at++) {
      await ledger.append(closes[at]!)
      filed = (await headOf(disk)).filed
    }
    expect(filed).toBe(FIRST + 5 + more)
  })

  test('reads its lists part by part, except those of new ids, and writes all of them with its last ledger', async () => {
    const inner = memory()
    let reads = 0
    const sought = new Set<string>()
    let writes: Write[] = []
    let stored: string[] = []
    const store: Store = Object.assign(Object.create(inner) as Store, {
      getMany(keys: readonly Uint8Array[]) {
        const lists = keys.filter(([tag]) => tag === 0x20)
        for (const key of lists) sought.add(hex(key))
        reads += lists.length
        return inner.getMany(keys)
      },
      async write(batch: readonly Write[], options: never) {
        writes = batch.filter(([[tag]]) => tag === 0x20)
        stored = (await inner.scan({ gte: Uint8Array.of(0x20), lt: Uint8Array.of(0x21) }, { limit: 1e6 })).entries.map(([key]) => hex(key))
        return inner.write(batch, options)
      },
    })
    /** Of an id beyond those of all lists that are there. Offers that are in no book, whose ids have bit 62, are looked at by themselves. */
    const isBeyond = (key: Uint8Array): boolean => {
      const row = hex(key).slice(0, 7)
      return ids.some((tag) => tag === key[1]) && stored.every((other) => other < hex(key) || !other.startsWith(row))
    }
    const ledger = await openLedger(store, { fileEvery: EVERY, cacheBytes: 0 })
    let read: number[] = []
    for (const [i, close] of closes.entries()) {
      reads = 0
      await ledger.append(close)
      read.push(reads)
      const due = filings.find(({ written }) => written === FIRST + i)
      if (!due) expect(writes).toEqual([])
      else {
        const of = records.slice(due.bound + 1 - FIRST, i + 1)
        const began = read.splice(0, read.length - of.length)
        expect(began.every((none) => none === 0)).toBe(true)
        const unread = writes.filter(([key]) => !sought.has(hex(key)))
        expect(read.reduce((sum, part) => sum + part)).toBe(writes.length - unread.length)
        expect(unread).toEqual(writes.filter(([key]) => isBeyond(key)))
        for (const tag of ids) expect(unread.filter(([key]) => key[1] === tag).length).toBeGreaterThan(4)
        sought.clear()
        const all = writes.length
        for (const [n, part] of read.entries()) {
          const parts = Math.min(8, Math.ceil((8 * of[n]!) / (EVERY / 4)) + 1)
          expect(part).toBeLessThanOrEqual(Math.ceil(all / 8) * parts)
        }
        expect(read[0]).toBeLessThan(all)
        read = []
      }
    }
    expect(await dump(inner)).toEqual(whole)
  })

  test('gives way between some lists and the next, however many one ledger makes due', async () => {
    const inner = memory()
    let turn = 0
    /** How many lists were read at once, and in which turn of the event loop. */
    const reads: { lists: number; turn: number }[] = []
    const store: Store = Object.assign(Object.create(inner) as Store, {
      getMany(keys: readonly Uint8Array[]) {
        const lists = keys.filter(([tag]) => tag === 0x20).length
        if (lists > 0) reads.push({ lists, turn })
        // As long as others may have to wait.
        for (const began = performance.now(); lists > 0 && performance.now() - began < 11; );
        return inner.getMany(keys)
      },
    })
    const ledger = await openLedger(store, { fileEvery: 1000, cacheBytes: 0 })
    let counting = true
    const count = (): void => {
      turn++
      if (counting) setImmediate(count)
    }
    count()
    for (const close of generate({ ledgers: 2, seed: 5, accounts: 800, transactionsPerLedger: 400, envelopeBytes: 30 }))
      await ledger.append(close)
    counting = false
    expect(reads.length).toBeGreaterThan(3)
    for (const [i, { lists, turn }] of reads.entries()) {
      expect(lists).toBeLessThanOrEqual(256)
      if (i > 1) expect(turn).toBeGreaterThan(reads[i - 2]!.turn)
    }
  })

  test('keeps what it files apart until that is written, and drops it then', async () => {
    const history = new History(memory(), new Cache(1e6), undefined, { committed() {}, rolledBack() {} })
    const writer = new LedgerWriter(history, EVERY)
    for (const close of closes) {
      await writer.append([prepareClose(close)], false)
      const { head, unfiled } = history.reader()
      expect(unfiled.older !== undefined).toBe(filings.some(({ bound, written }) => bound <= head.last && head.last < written))
      for (const { index, ordinals } of unfiled.whole.all()) expect(ordinals[0]).toBeGreaterThanOrEqual(head.filedCounts[index.of.tag]!)
    }
  })

  test('is the same if the store is reopened for every ledger, and in any batches', async () => {
    const disk = memoryDisk()
    for (const close of closes) {
      const ledger = await openLedger(memory(disk), { fileEvery: EVERY })
      await ledger.append(close)
      await ledger.close()
    }
    expect(await dump(memory(disk))).toEqual(whole)
    for (const batch of [3, 11, 70]) {
      const other = memory()
      await (await openLedger(other, { fileEvery: EVERY })).ingest(closes, { batch })
      expect(await dump(other)).toEqual(whole)
    }
  })

  test('finds the new lists of the one before, though it began before those were written, and none is in memory', async () => {
    const network = {
      ledgers: 120,
      seed: 3,
      accounts: 20,
      transactionsPerLedger: 4,
      firstLedger: FIRST,
      envelopeBytes: 30,
      tradeShare: 0.5,
    }
    const given = [...generate({ ...network, offers: 30 })] as readonly LedgerClose[]
    const options = { fileEvery: 200, cacheBytes: 0 }
    const one = memory()
    await (await openLedger(one, options)).ingest(given)
    // One filing ends and the next begins in the same batch, and that one ends in another.
    for (const batch of [13, 29, 31]) {
      const other = memory()
      await (await openLedger(other, options)).ingest(given, { batch })
      expect(difference(await dump(other), await dump(one))).toBeUndefined()
    }
  })

  test('that a rollback interrupts begins again, and comes out the same', async () => {
    const disk = memoryDisk()
    const ledger = await openLedger(memory(disk), { fileEvery: EVERY })
    const { bound, written } = filings[1]!
    for (const [upTo, back] of [
      [written - 1, bound],
      [written - 1, bound - 1],
      [written - 1, written - 2],
      [written, written - 1],
      [written + 1, bound],
      [LAST, filings[0]!.bound],
    ] as const) {
      await ledger.ingest(closes.slice(0, upTo - FIRST + 1).slice((ledger.head?.last ?? FIRST - 1) - FIRST + 1))
      await ledger.rollback(back)
      const other = memory()
      await (await openLedger(other, { fileEvery: EVERY })).ingest(closes.slice(0, back - FIRST + 1))
      expect(await dump(memory(disk))).toEqual(await dump(other))
    }
    await ledger.ingest(closes.slice(ledger.head!.last - FIRST + 1))
    expect(await dump(memory(disk))).toEqual(whole)
  })

  test('goes on while older ledgers are given up: it prepares no list anew, and records do not show when they were', async () => {
    const window = 30
    /** The lists looked up to be prepared. */
    const lookedUp = async (prunes: boolean): Promise<[number, string[]]> => {
      const inner = memory()
      let lists = 0
      const store: Store = Object.assign(Object.create(inner) as Store, {
        getMany(keys: readonly Uint8Array[]) {
          lists += keys.filter(([tag]) => tag === 0x20).length
          return inner.getMany(keys)
        },
      })
      const ledger = await openLedger(store, { fileEvery: EVERY, cacheBytes: 0 })
      for (const close of closes) {
        await ledger.append(close)
        if (prunes && ledger.head!.last >= FIRST + window) await ledger.prune(ledger.head!.last - window)
      }
      await ledger.prune(LAST - window)
      expect((await verifyStore(inner)).ok).toBe(true)
      return [lists, await dumpBesideLists(inner)]
    }
    expect(await lookedUp(true)).toEqual(await lookedUp(false))
  })

  test('with a list that cannot be read loses nothing prepared before, and goes on', async () => {
    const inner = memory()
    let broken = false
    const store: Store = Object.assign(Object.create(inner) as Store, {
      getMany(keys: readonly Uint8Array[]) {
        if (broken && keys.some(([tag]) => tag === 0x20)) throw new FolioError('STORE_FAILED', { reason: 'torn' })
        return inner.getMany(keys)
      },
    })
    const ledger = await openLedger(store, { fileEvery: EVERY, cacheBytes: 0 })
    let refused = 0
    for (const close of closes) {
      broken = true
      if ((await codeOf(() => ledger.append(close))) === 'STORE_FAILED') refused++
      broken = false
      await ledger.append(close)
    }
    expect(refused).toBeGreaterThan(2 * filings.length)
    expect(await dump(inner)).toEqual(whole)
  })

  test('finds lists of ids that come again, in whatever order: of offers in the book, and of those that are in none', async () => {
    const pool = [3n, 2n, 2n ** 62n - 1n, 2n ** 62n + 9n, 2n ** 62n + 8n, 2n ** 62n, 2n ** 63n - 1n].map(String)
    let count = 0
    /** First the first one, then more and more of them. */
    const next = (): string => pool[count++ % Math.ceil(count / 25)] ?? pool[count % pool.length]!
    const given = [...generate({ ledgers: 60, seed: 6, accounts: 16, transactionsPerLedger: 6, tradeShare: 0.4 })]
    const text = JSON.stringify(given, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    const changed = JSON.parse(text, (name, value) => (/offer_id$/.test(name) ? next() : value)) as LedgerClose[]
    expect(count).toBeGreaterThan(300)
    const ledger = await openLedger(memory(), { fileEvery: 60, cacheBytes: 0 })
    await ledger.ingest(changed)
    const model = naiveLedger(changed)
    for (const offer of pool)
      for (const order of ['asc', 'desc'] as const)
        await agree(ledger, model, { query: 'tradesOfOffer', values: { offer } as never, options: { order, limit: 200 } })
    expect((await ledger.verify()).faults).toEqual([])
  })

  test('does not show in the answers of lists, whether it is in flight or done', async () => {
    const disk = memoryDisk()
    const ledger = await openLedger(memory(disk), { fileEvery: EVERY })
    const often = closes[0]!.transactions![0]!.account
    const { bound, written } = filings[2]!
    for (const last of [bound - 1, bound, bound + 1, written - 1, written, LAST]) {
      await ledger.ingest(closes.slice((ledger.head?.last ?? FIRST - 1) - FIRST + 1, last - FIRST + 1))
      const model = naiveLedger(closes.slice(0, last - FIRST + 1))
      for (const query of ['operationsOfAccount', 'effectsOfAccount', 'paymentsOfAccount'] as const)
        for (const order of ['asc', 'desc'] as const)
          for (const limit of [3, 200]) {
            const cursors = [undefined, String((BigInt(bound) << 32n) + 4096n), String((BigInt(last) << 32n) + 4096n)]
            for (const cursor of cursors)
              await agree(ledger, model, {
                query,
                values: { account: often } as never,
                options: { order, limit, ...(cursor && { cursor }) },
              })
          }
    }
    const pruned = memoryDisk()
    const other = await openLedger(memory(pruned), { fileEvery: EVERY })
    await other.ingest(closes.slice(0, written - 1 - FIRST + 1))
    await other.prune(FIRST + 3)
    expect((await other.ingest(closes.slice(written - 1 - FIRST + 1))).appended).toBe(LAST - written + 1)
    expect(await other.verify()).toMatchObject({ ok: true, oldest: FIRST + 3, last: LAST })
    expect((await headOf(pruned)).filed).toBe((await headOf(disk)).filed)
  })
})

test('no list lacks anything while a prune files what it will remove', async () => {
  const inner = memory()
  /** Reads are answered at once, and writes take a while, as with LevelDB. */
  const store: Store = {
    ...inner,
    async write(batch, options) {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      await inner.write(batch, options)
    },
  }
  const ledger = await openLedger(store)
  await ledger.ingest(branchOf([1, 60], 1, (sequence) => [sequence % 2 ? 'GX' : 'GY']))
  const listed = async (): Promise<number[]> =>
    (await ledger.page(catalogue.operationsOfAccount, { account: 'GX' }, { limit: 200 })).records.map(({ paging_token }) =>
      Number(BigInt(paging_token) >> 32n),
    )
  const seen = new Map<number, string>()
  const pruned = ledger.prune(41)
  let done = false
  void pruned.finally(() => {
    done = true
  })
  for (; !done; await new Promise((resolve) => setImmediate(resolve))) {
    const { oldest } = ledger.head!
    seen.set(oldest, `${seen.get(oldest) ?? ''} ${await listed()}`)
  }
  await pruned
  for (const [oldest, lists] of seen) {
    const wanted = Array.from({ length: 60 }, (_, n) => n + 1).filter((sequence) => sequence % 2 === 1 && sequence >= oldest)
    expect([oldest, ...new Set(lists.trim().split(' '))]).toEqual([oldest, wanted.join()])
  }
  expect([...seen.keys()].sort((a, b) => a - b)).toEqual([1, 41])
  await ledger.close()
})
