/** What follows from other values is rebuilt; what cannot be is named, and history can be cut before it and ingested again. */
import { describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { listOf } from '../../src/audit/lists.ts'
import { rebuildLists } from '../../src/audit/rebuild-lists.ts'
import { UNNAMED } from '../../src/audit/report.ts'
import { audit } from '../../src/audit/verify.ts'
import { unhex } from '../../src/bytes.ts'
import { FolioError, type LedgerClose, openLedger, repairStore, type Store, verifyStore, type Write } from '../../src/index.ts'
import { FORMAT, HEAD, indexPagesKey, KIND, keysOf } from '../../src/layout/keys.ts'
import { decodePage } from '../../src/layout/posting.ts'
import { changesByOffer } from '../../src/resources/offer.ts'
import { databaseOf } from '../stress/databases.ts'
import { random } from '../stress/stress.ts'
import { kinds } from '../stress/verify.ts'
import { longCloses } from '../support/closes.ts'
import { dump, everything, hex } from '../support/dump.ts'
import { errorOf } from '../support/errors.ts'
import { headOf } from './support.ts'

const copyOf = async (disk: MemoryDisk, writes: readonly Write[] = []): Promise<MemoryDisk> => {
  const { entries } = await memory(disk).scan(everything, { limit: 1e6 })
  const copy = memoryDisk()
  copy.write(entries)
  copy.write(writes)
  return copy
}

/** Records, what only pruned ledgers said, and the name of the network are stored nowhere else. */
const cannotBeSaved = (key: string): boolean => /^(01$|10|42|20)/.test(key)

/** A page of a list may hold only what was pruned; if so, the list is lost with it. */
const mayBeLost = (key: string): boolean => cannotBeSaved(key) || key.startsWith('21')

/** True for a page of a list that names pruned records. */
const namesPruned = (disk: MemoryDisk, key: Uint8Array): boolean => {
  const value = memory(disk).get(key) as Uint8Array | undefined
  return value !== undefined && decodePage(key, value)[0]! < headOf(memory(disk)).since[listOf(key)!.index.of.tag]!
}

/**
 * A page of an offer's list that named pruned changes: only the last of them is known from elsewhere, so that the list is whole for every reader, but
 * may no longer be the same bytes.
 */
const mayBeShorter = (disk: MemoryDisk, key: string): boolean =>
  key.startsWith(hex(indexPagesKey(changesByOffer.tag))) && namesPruned(disk, unhex(key))

const keyOf = (line: string): string => line.split('=')[0]!

/** The key of the list to which a page belongs, without the kind in front. */
const listKey = (page: string): string => page.slice(2, -14)

test('any one value that follows from others is as it was, and nothing is made up for the rest', async () => {
  const chance = random(Number(process.env['FOLIO_SEED'] ?? 5))
  let [same, lost] = [0, 0]
  for (let round = 0; round < 12; round++) {
    const { disk } = await databaseOf(chance)
    const { entries } = await memory(disk).scan(everything, { limit: 1e6 })
    for (const [kind, damage] of Object.entries(kinds)) {
      const { writes, keys } = damage(chance, entries)
      const copy = await copyOf(disk, writes)
      const report = await repairStore(memory(copy))
      if (keys.some(mayBeLost) && report.lost.length > 0) {
        lost++
        // The head is built from the ledgers: if a swap took both, it is lost with them. So is the count of what was pruned, with a list.
        const own = keys.some(cannotBeSaved) ? ['01', '10', '20', '40', '41', '42', '50'] : ['20']
        if (keys.some((key) => key.startsWith('1001'))) own.push('00')
        // Beside a block, a hash or a page of a list may tell of a record in it.
        if (keys.some((key) => key.startsWith('10'))) own.push('21', '30')
        if (keys.includes('03') && keys.some((key) => /^2[01]/.test(key))) own.push('03')
        expect([kind, keys, report.lost.filter(({ key }) => !own.includes(key.slice(0, 2)))]).toEqual([kind, keys, []])
        continue
      }
      expect([kind, keys, report.lost]).toEqual([kind, keys, []])
      expect(await verifyStore(memory(copy))).toMatchObject({ ok: true })
      if (!keys.some(cannotBeSaved)) {
        const shorter = keys.filter((key) => mayBeShorter(disk, key)).map(listKey)
        const [mended, before] = [await dump(memory(copy)), await dump(memory(disk))].map((lines) =>
          lines.filter((line) => !shorter.some((list) => keyOf(line).slice(2).startsWith(list))),
        )
        expect([kind, keys, mended]).toEqual([kind, keys, before])
        if (shorter.length === 0) same++
      }
    }
  }
  expect([same > 8, lost > 8]).toEqual([true, true])
})

test('any page of a list is as it was, after pruning too, if it named no pruned record', async () => {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), { fileEvery: 60 })
  await ledger.ingest(longCloses(100, 8))
  await ledger.prune(103)
  const { entries } = await memory(disk).scan(keysOf(KIND.page), { limit: 1e6 })
  let whole = 0
  for (const [key, value] of entries) {
    if (namesPruned(disk, key)) continue
    const damaged = memory(await copyOf(disk, [[key, undefined]]))
    const writes = await rebuildLists((await audit(damaged, {})).context, [key], new Map())
    expect(writes.map(([key, value]) => [hex(key), value && hex(value)])).toEqual([[hex(key), hex(value)]])
    whole++
  }
  expect(whole).toBeGreaterThan(0)
})

describe('a chain of 30 ledgers', () => {
  const closes = [...generate({ ledgers: 30, seed: 9, accounts: 16, transactionsPerLedger: 6, firstLedger: 100 })]
  const stored = async (): Promise<MemoryDisk> => {
    const disk = memoryDisk()
    await (await openLedger(memory(disk), { fileEvery: 60 })).ingest(closes)
    return disk
  }
  const block = Buffer.from('1003000000000005', 'hex')

  test('that lost records is cut before them on request, and is as it was once ingested again', async () => {
    const disk = await stored()
    const damaged = await copyOf(disk, [[block, undefined]])
    const told = await repairStore(memory(damaged))
    expect(told.lost.map(({ key }) => key)).toEqual(Array(5).fill(block.toString('hex')))
    expect(new Set(told.lost.map(({ ledger }) => ledger)).size).toBe(5)
    const ledger = told.lost[0]!.ledger!
    const cut = await repairStore(memory(damaged), { cut: true })
    expect(cut).toMatchObject({ lost: [], cutAfter: ledger - 1, after: { ok: true, last: ledger - 1 } })
    const again = await openLedger(memory(damaged), { fileEvery: 60 })
    await again.ingest(closes as LedgerClose[])
    expect(await dump(memory(damaged))).toEqual(await dump(memory(disk)))
  })

  test('whose lists, hashes, book, digests and head are all gone gets them back', async () => {
    const disk = await stored()
    const { entries } = await memory(disk).scan(everything, { limit: 1e6 })
    const derived = entries.filter(([key]) => [0x00, 0x01, 0x20, 0x21, 0x30, 0x40, 0x41, 0x50].includes(key[0]!))
    const damaged = await copyOf(
      disk,
      derived.map(([key]) => [key, undefined]),
    )
    const report = await repairStore(memory(damaged))
    expect(report).toMatchObject({ lost: [{ key: '01', reason: UNNAMED }], after: { ok: true } })
    expect(await dump(memory(damaged))).toEqual(await dump(memory(disk)))
  })

  test('is not opened while a repair is unfinished, and running the repair again finishes it', async () => {
    const disk = await stored()
    const { entries } = await memory(disk).scan(everything, { limit: 1e6 })
    const writes: Write[] = entries.filter(([key]) => key[0] === 0x20 || key[0] === 0x30).map(([key]) => [key, undefined])
    let unfinished = 0
    for (let good = 0; good < 4; good++) {
      const damaged = await copyOf(disk, [...writes, [Uint8Array.of(0), undefined]])
      let left = good
      const store = memory(damaged)
      const failing: Store = Object.assign(Object.create(store) as Store, {
        write(...args: Parameters<Store['write']>) {
          if (left-- <= 0) throw new FolioError('STORE_FAILED', { reason: 'killed' })
          return store.write(...args)
        },
      })
      const failed = await repairStore(failing).then(
        () => false,
        () => true,
      )
      if (failed && good > 0) {
        unfinished++
        expect(await errorOf(() => openLedger(memory(damaged)))).toMatchObject({ code: 'STORE_UNREPAIRED' })
        expect(await verifyStore(memory(damaged))).toMatchObject({ unfinished: 'repair' })
      }
      await repairStore(memory(damaged))
      expect(await dump(memory(damaged))).toEqual(await dump(memory(disk)))
    }
    expect(unfinished).toBeGreaterThan(0)
  })
})

describe("somebody else's database", () => {
  const foreign = [
    [[0, 0], 'user'],
    [[1, 1], 'x'],
    [[0x10, 3, 0, 0], 'value'],
    [[0x75, 0x31], ''],
  ].map(([key, value]): Write => [Uint8Array.from(key as number[]), new TextEncoder().encode(value as string)])

  test('is refused, not taken for a damaged store, and nothing is written to it', async () => {
    const disk = memoryDisk()
    disk.write(foreign)
    const before = await dump(memory(disk))
    for (const call of [
      () => verifyStore(memory(disk)),
      () => repairStore(memory(disk)),
      () => repairStore(memory(disk), { cut: true }),
      () => openLedger(memory(disk)),
    ])
      expect(await errorOf(call)).toMatchObject({ code: 'STORE_FORMAT', fields: { found: 'entries of something else' } })
    expect(await dump(memory(disk))).toEqual(before)
  })

  test('is not what a store is that has lost its format and its head among others', async () => {
    const { disk } = await databaseOf(random(3))
    const before = await dump(memory(disk))
    const damaged = await copyOf(disk, [
      [FORMAT, undefined],
      [HEAD, undefined],
    ])
    expect((await verifyStore(memory(damaged))).ok).toBe(false)
    expect((await repairStore(memory(damaged))).after.ok).toBe(true)
    expect((await dump(memory(damaged))).filter((line) => !line.startsWith('01='))).toEqual(
      before.filter((line) => !line.startsWith('01=')),
    )
  })
})
