/** Records that are lost are taken from the closes of their ledgers, which come from a copy or an export: nothing has to be cut. */
import { expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type Entry, openLedger, type RepairOptions, repairStore, verifyStore } from '../../src/index.ts'
import { decodeHead } from '../../src/layout/head.ts'
import { blockKey, digestKey, HEAD, INTENT, readBlockKey } from '../../src/layout/keys.ts'
import { firstOfBlock } from '../../src/layout/ordinals.ts'
import { logs } from '../../src/logs.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { operations } from '../../src/resources/operation.ts'
import { transactions } from '../../src/resources/transaction.ts'
import { databaseOf } from '../stress/databases.ts'
import { random } from '../stress/stress.ts'
import { longCloses } from '../support/closes.ts'
import { dump, everything, hex } from '../support/dump.ts'
import { codeOf } from '../support/errors.ts'
import { blocksOf, crowdedCloses, diskOf, entriesOf, type Kind } from './support.ts'

const FIRST = 100
const long = longCloses(FIRST, 12)
const crowded = crowdedCloses(FIRST, 30)

const kinds: Readonly<Record<string, Kind>> = {
  'nothing is filed': { closes: long, fileEvery: 1e6 },
  'half is filed': { closes: long, fileEvery: 400 },
  'all is filed': { closes: crowded, fileEvery: 1 },
  'some is pruned': { closes: crowded, fileEvery: 300, oldest: FIRST + 16 },
}

/** The first of the values that are lost is gone, the second is damaged, and so on. */
const diskWithout = (entries: readonly Entry[], ...lost: readonly Uint8Array[]): MemoryDisk =>
  diskOf(
    entries,
    lost.map((key, at) => [key, at % 2 === 0 ? undefined : new Uint8Array(9)]),
  )

/** What a ledger says of how far lists were filed after it is not in a close: a ledger that is taken from one may say less. */
async function isAsGood(disk: MemoryDisk, before: readonly Entry[], { closes, fileEvery, oldest = FIRST }: Kind): Promise<void> {
  expect(await verifyStore(memory(disk))).toMatchObject({ ok: true, faults: [] })
  const held = closes.filter(({ ledger }) => ledger.sequence >= oldest)
  const ledger = await openLedger(memory(disk), { fileEvery })
  const half = held[held.length >> 1]!.ledger.sequence
  await ledger.rollback(half)
  expect(await verifyStore(memory(disk))).toMatchObject({ ok: true })
  await ledger.ingest(held.filter(({ ledger }) => ledger.sequence > half))
  expect(await verifyStore(memory(disk))).toMatchObject({ ok: true, last: closes.at(-1)!.ledger.sequence })
  expect(await ledger.digest()).toBe(await (await openLedger(memory(diskOf(before)))).digest())
}

test.each(Object.entries(kinds))('a block of records that is lost is as it was, whichever it is (%s)', async (_, kind) => {
  const entries = await entriesOf(kind)
  const before = await dump(memory(diskOf(entries)))
  let [mended, left] = [0, 0]
  for (const [key] of blocksOf(entries)) {
    const disk = diskWithout(entries, key)
    const asked: unknown[] = []
    const closes: RepairOptions['closes'] = (range) => {
      asked.push(range)
      return kind.closes
    }
    const { lost } = await repairStore(memory(disk), { closes })
    expect([hex(key), asked.length]).toEqual([hex(key), 1])
    if (lost.length > 0) {
      // It begins with records of ledgers that were pruned, of which nothing tells where they were; or with the row that continues theirs.
      expect([hex(key), kind.oldest !== undefined, new Set(lost.map((fault) => fault.key))]).toEqual([hex(key), true, new Set([hex(key)])])
      left++
    } else if (key[1] === ledgers.tag) await isAsGood(disk, entries, kind)
    else expect([hex(key), await dump(memory(disk))]).toEqual([hex(key), before])
    mended += lost.length === 0 ? 1 : 0
  }
  expect([mended > 10, left > 0]).toEqual([true, kind.oldest !== undefined])
  const [oldest] = blocksOf(entries)[0]!
  const { lost } = await repairStore(memory(diskWithout(entries, oldest)), { closes: () => kind.closes })
  expect([oldest[1], lost.length > 0]).toEqual([ledgers.tag, kind.oldest !== undefined])
})

test('any number of blocks, with whatever else is lost, are written again in one repair', async () => {
  const chance = random(7)
  for (const kind of Object.values(kinds).filter(({ oldest }) => oldest === undefined)) {
    const entries = await entriesOf(kind)
    const others = entries.filter(([key]) => [0x20, 0x21, 0x30, 0x40, 0x41].includes(key[0]!))
    for (let round = 0; round < 12; round++) {
      const lost = [...blocksOf(entries).filter(() => chance.chance(0.4)), ...others.filter(() => chance.chance(0.1))].map(([key]) => key)
      const disk = diskWithout(entries, ...lost)
      const report = await repairStore(memory(disk), {
        closes: async function* () {
          yield* kind.closes
        },
      })
      expect([round, report.lost, report.after.ok]).toEqual([round, [], true])
      await isAsGood(disk, entries, kind)
    }
  }
})

test('of any network, filed, pruned and rolled back in any way, all is written again but what pruned ledgers share', async () => {
  const seed = Number(process.env['FOLIO_SEED'] ?? 1)
  const chance = random(seed)
  let mended = 0
  for (let round = 0; round < 25; round++) {
    const { disk, closes } = await databaseOf(chance)
    const { entries } = await memory(disk).scan(everything, { limit: 1e6 })
    const { since } = decodeHead(memory(disk).get(HEAD) as Uint8Array)
    const lost = blocksOf(entries)
      .map(([key]) => key)
      .filter(() => chance.chance(0.5))
    const shared = lost.some((key) => {
      const { log, number } = readBlockKey(key)!
      const resource = logs.find(({ tag }) => tag === log)!
      return firstOfBlock(resource, number) <= since[log]! && since[log]! > 0
    })
    const copy = diskWithout(entries, ...lost)
    const report = await repairStore(memory(copy), { closes: () => closes })
    const told = [seed, round, lost.map(hex)]
    if (report.lost.length > 0) expect([...told, shared]).toEqual([...told, true])
    else {
      expect([...told, report.after.ok]).toEqual([...told, true])
      if (!lost.some((key) => key[1] === ledgers.tag))
        expect([...told, await dump(memory(copy))]).toEqual([...told, await dump(memory(disk))])
      mended++
    }
  }
  expect(mended).toBeGreaterThan(5)
})

test('a block that is as it was some ledgers ago gets what it lacks', async () => {
  const fileEvery = 1e6
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), { fileEvery })
  const older: (readonly Entry[])[] = []
  for (const close of crowded) {
    await ledger.append(close)
    older.push((await memory(disk).scan(everything, { limit: 1e6 })).entries)
  }
  const whole = await dump(memory(disk))
  const now = new Map(older.at(-1)!.map(([key, value]) => [hex(key), value]))
  let stale = 0
  const versions = older.slice(0, -1).flatMap((entries, at) => blocksOf(entries).map(([key, value]) => [key, value, at] as const))
  for (const [key, value, at] of versions) {
    // There are hundreds of them.
    if (hex(now.get(hex(key))!) === hex(value) || stale++ % 6 !== 0) continue
    const copy = diskOf(older.at(-1)!)
    copy.write([[key, value]])
    // What the block still has need not be given, unless it says where the next ledger begins.
    const given = key[1] === ledgers.tag ? crowded : crowded.slice(at + 1)
    expect(await repairStore(memory(copy), { closes: () => given })).toMatchObject({ lost: [], after: { ok: true } })
    expect([hex(key), await dump(memory(copy))]).toEqual([hex(key), whole])
  }
  expect(stale).toBeGreaterThan(10)
})

test('where a pruned history begins, all blocks but those with pruned records are written again', async () => {
  const kind = { closes: long, fileEvery: 1, oldest: FIRST + 5 }
  const entries = await entriesOf(kind)
  const before = await dump(memory(diskOf(entries)))
  // A ledger has 64 operations, in four whole blocks, and two transactions, in half a block.
  const [cut] = blocksOf(entries).find(([key]) => key[1] === transactions.tag)!
  for (const [key] of blocksOf(entries).filter(([key]) => [transactions.tag, operations.tag].includes(key[1]!))) {
    const disk = diskWithout(entries, key)
    const { lost } = await repairStore(memory(disk), { closes: () => long })
    expect([hex(key), lost.length > 0]).toEqual([hex(key), key === cut])
    if (lost.length === 0) expect(await dump(memory(disk))).toEqual(before)
  }
})

test('a copy gives them, in the range that is asked for', async () => {
  const entries = await entriesOf(kinds['half is filed']!)
  const backup = await openLedger(memory(diskOf(entries)))
  const key = blockKey(operations.tag, 20)
  const disk = diskWithout(entries, key)
  const { lost } = await repairStore(memory(diskWithout(entries, key)))
  const ranges: unknown[] = []
  const closes: RepairOptions['closes'] = (range) => {
    ranges.push(range)
    return backup.closes(range)
  }
  const report = await repairStore(memory(disk), { closes })
  const sequences = lost.map(({ ledger }) => ledger!)
  expect([report.lost, report.repaired, ranges]).toEqual([[], 1, [{ from: Math.min(...sequences), to: Math.max(...sequences) }]])
  expect(await dump(memory(disk))).toEqual(await dump(memory(diskOf(entries))))
})

test('closes that are not those that were appended are named, and not used; what is lost stays so', async () => {
  const kind = kinds['nothing is filed']!
  const entries = await entriesOf(kind)
  const key = blockKey(operations.tag, 0)
  const before = await dump(memory(diskWithout(entries, key)))
  const [first, ...rest] = kind.closes
  const other = structuredClone(first) as any
  other.transactions[0].operations[0].source_account = 'GMALLORY'
  const invalid = { ...first!, ledger: { ...first!.ledger, closed_at: 'yesterday' } }
  for (const [closes, reason] of [
    [[other, ...rest], /^the close is not the one that was appended: its digest is another one$/],
    [[invalid, ...rest], undefined],
    [rest, undefined],
    [[], undefined],
  ] as const) {
    const disk = diskWithout(entries, key)
    const { lost, unfit } = await repairStore(memory(disk), { closes: () => closes })
    expect([lost.length > 0, lost[0]!.key]).toEqual([true, hex(key)])
    if (reason) expect(unfit).toEqual([{ ledger: FIRST, reason: expect.stringMatching(reason) }])
    expect(await dump(memory(disk))).toEqual(before)
  }
  const unproven = diskWithout(entries, key, digestKey(FIRST))
  const { lost, unfit } = await repairStore(memory(unproven), { closes: () => kind.closes })
  expect([lost.length > 0, unfit]).toEqual([true, [{ ledger: FIRST, reason: 'the digest that would prove the close is lost as well' }]])
})

test('an error of the closes ends the repair once all else is done, and nothing is cut over it', async () => {
  const entries = await entriesOf(kinds['half is filed']!)
  const lost = [blockKey(operations.tag, 0), entries.find(([key]) => key[0] === 0x30)![0]]
  const gone = new Error('the file ends here')
  for (const [closes, error] of [
    [
      () => {
        throw gone
      },
      gone,
    ],
    [
      async function* () {
        yield long[11]!
        throw gone
      },
      gone,
    ],
    [() => 'closes.ndjson', expect.objectContaining({ code: 'BAD_REQUEST' })],
  ] as const) {
    const disk = diskWithout(entries, ...lost)
    await expect(repairStore(memory(disk), { cut: true, closes: closes as any })).rejects.toEqual(error)
    const store = memory(disk)
    expect([store.get(INTENT), (await verifyStore(store)).faults.map(({ key }) => key)]).toEqual([undefined, [hex(lost[0]!)]])
    expect((await openLedger(memory(disk))).head!.last).toBe(FIRST + 11)
  }
  expect(await codeOf(() => repairStore(memory(diskOf(entries)), { closes: [] as any }))).toBe('BAD_REQUEST closes')
})

test('a signal ends a repair whose closes have nothing to give, once all else is done, and nothing is cut over it', async () => {
  const entries = await entriesOf(kinds['half is filed']!)
  const lost = [blockKey(operations.tag, 0), entries.find(([key]) => key[0] === 0x30)![0]]
  const disk = diskWithout(entries, ...lost)
  const stop = new AbortController()
  let left = 0
  const silent = {
    [Symbol.asyncIterator]: () => silent,
    next() {
      setTimeout(() => stop.abort(new Error('enough')))
      return new Promise<never>(() => {})
    },
    async return() {
      left++
      return { done: true as const, value: undefined }
    },
  }
  await expect(repairStore(memory(disk), { cut: true, closes: () => silent, signal: stop.signal })).rejects.toThrow('enough')
  const store = memory(disk)
  expect([left, store.get(INTENT), (await verifyStore(store)).faults.map(({ key }) => key)]).toEqual([1, undefined, [hex(lost[0]!)]])
  expect((await openLedger(memory(disk))).head!.last).toBe(FIRST + 11)
})

test.each([[[]], [[20]], [[3, 30]]])(
  'a head that is lost with the newest ledgers ends history before them, with %j more lost',
  async (more) => {
    const kind = { closes: [...generate({ ledgers: 40, seed: 5, accounts: 16, firstLedger: FIRST })], fileEvery: 100 }
    const entries = await entriesOf(kind)
    const disk = diskWithout(entries, HEAD, blockKey(ledgers.tag, 4), ...more.map((number) => blockKey(operations.tag, number)))
    const { cutAfter, lost, after } = await repairStore(memory(disk), { cut: true })
    expect([cutAfter! <= FIRST + 31, lost, after.ok, after.last]).toEqual([true, [], true, cutAfter === 0 ? undefined : cutAfter])
    const ledger = await openLedger(memory(disk), { fileEvery: kind.fileEvery })
    await ledger.ingest(kind.closes)
    expect(await dump(memory(disk))).toEqual(await dump(memory(diskOf(entries))))
  },
)

test('closes that come before an error are used, and no more are read than are lost', async () => {
  const kind = kinds['nothing is filed']!
  const entries = await entriesOf(kind)
  let pulled = 0
  async function* closes(isBroken: boolean) {
    for (const close of kind.closes) {
      pulled++
      yield close
      if (isBroken && pulled === 2) throw new Error('the file ends here')
    }
  }
  // Of the first two ledgers.
  const keys = [blockKey(operations.tag, 0), blockKey(operations.tag, 30)]
  const disk = diskWithout(entries, ...keys)
  await expect(repairStore(memory(disk), { closes: () => closes(true) })).rejects.toThrow('the file ends here')
  expect((await verifyStore(memory(disk))).faults.map(({ key }) => key)).toEqual([hex(keys[1]!)])
  pulled = 0
  const one = diskWithout(entries, keys[0]!)
  const wrong = { ...long[0]!, transactions: [] }
  expect(
    await repairStore(memory(one), {
      closes: async function* () {
        yield wrong
        yield* closes(false)
      },
    }),
  ).not.toHaveProperty('unfit')
  expect(pulled).toBe(1)
})

test('what was not given is cut if that is asked for', async () => {
  const kind = kinds['nothing is filed']!
  const entries = await entriesOf(kind)
  const blocks = [0, 30].map((number) => blockKey(operations.tag, number))
  const disk = diskWithout(entries, ...blocks)
  const upTo = kind.closes.slice(0, 4)
  let asked = 0
  const closes = () => {
    asked++
    return upTo
  }
  const { cutAfter, after } = await repairStore(memory(disk), { cut: true, closes })
  expect(asked).toBe(1)
  expect([cutAfter! >= FIRST + 3, after.ok, after.oldest]).toEqual([true, true, FIRST])
})

test('a block of a history that was rolled back, and lies where that of the one appended since should, is written again', async () => {
  const replaced = [...generate({ ledgers: 30, seed: 4, accounts: 16, transactionsPerLedger: 4, firstLedger: FIRST, tradeShare: 0.4 })]
  for (const fileEvery of [300, 1e6]) {
    const entries = await entriesOf({ closes: crowded, fileEvery })
    const earlier = await entriesOf({ closes: replaced, fileEvery })
    const before = await dump(memory(diskOf(entries)))
    const keys = new Set(entries.map(([key]) => hex(key)))
    const blocks = blocksOf(earlier)
      .filter(([key]) => key[1] !== ledgers.tag && keys.has(hex(key)))
      .filter(([key], nth) => nth % 3 === 0 || key[1] === 7)
    let whole = 0
    for (const [key, value] of blocks) {
      const disk = diskOf(entries, [[key, value]])
      const { faults } = await verifyStore(memory(disk))
      if (faults.every(({ reason }) => !reason.includes('lacks'))) whole++
      expect(await repairStore(memory(disk), { closes: () => [...replaced, ...crowded] })).toMatchObject({ lost: [], after: { ok: true } })
      expect([hex(key), await dump(memory(disk))]).toEqual([hex(key), before])
    }
    expect(whole).toBeGreaterThan(3)
  }
})

test('a digest of a history that was rolled back does not bring that back', async () => {
  const replaced = [...generate({ ledgers: 30, seed: 4, accounts: 16, transactionsPerLedger: 4, firstLedger: FIRST, tradeShare: 0.4 })]
  const entries = await entriesOf({ closes: crowded, fileEvery: 300 })
  const key = digestKey(FIRST + 9)
  const [, stale] = (await entriesOf({ closes: replaced, fileEvery: 300 })).find(([one]) => hex(one) === hex(key))!
  const disk = diskOf(entries, [[key, stale]])
  const before = await dump(memory(disk))
  const report = await repairStore(memory(disk), { closes: () => replaced })
  expect(report).toMatchObject({ lost: [{ key: hex(key) }], unfit: [{ ledger: FIRST + 9, reason: expect.stringContaining('hash') }] })
  expect(await dump(memory(disk))).toEqual(before)
})
