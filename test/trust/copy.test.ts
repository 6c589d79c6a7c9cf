/** Copies of whole stores: they hold the same bytes, whatever was done to the source, and are stores once they are complete, and not before. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { level } from '../../adapters/level/index.ts'
import { lmdb } from '../../adapters/lmdb/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type CloseShape, closeOf, closeShape, firstLedger, slowStore } from '../../adapters/testing/index.ts'
import {
  type CopyProgress,
  catalogue,
  copyStore,
  FolioError,
  isVacant,
  type Ledger,
  networkOf,
  openLedger,
  repairStore,
  type Store,
  verifyStore,
} from '../../src/index.ts'
import { encodeIntent } from '../../src/layout/head.ts'
import { blockKey, digestKey, FORMAT, HEAD, INTENT } from '../../src/layout/keys.ts'
import { logs } from '../../src/logs.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { directory } from '../support/directory.ts'
import { dump, everything, hex, shared } from '../support/dump.ts'
import { codeOf, errorOf } from '../support/errors.ts'
import { holds } from '../support/property.ts'
import { turns } from '../support/turns.ts'
import { failingAfter, resealed } from './support.ts'

type Step =
  | { readonly do: 'append'; readonly shapes: readonly CloseShape[] }
  | { readonly do: 'rollback' | 'prune'; readonly part: number }
  | { readonly do: 'reopen'; readonly fileEvery: number }

const fileEvery = fc.constantFrom(1, 12, 150, 32_768)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('append' as const), shapes: fc.array(closeShape, { minLength: 1, maxLength: 6 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('rollback' as const, 'prune' as const), part: fc.nat(99) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const), fileEvery }) },
)
/** Appends, prunes, rollbacks and reopenings in any order; `left` is one that is killed after its first batch, if it takes several. */
const anyHistory = fc.record({
  first: firstLedger,
  fileEvery,
  steps: fc.array(step, { maxLength: 8, size: 'max' }),
  left: fc.constantFrom('rollback' as const, 'prune' as const, undefined),
})

async function cut(ledger: Ledger, what: 'rollback' | 'prune', part: number): Promise<void> {
  const { oldest, last } = ledger.head!
  const at = oldest + Math.floor(((last - oldest) * part) / 99)
  await (what === 'prune' ? ledger.prune(at) : ledger.rollback(at))
}

async function play(open: () => Store, { first, fileEvery, steps, left }: typeof anyHistory extends fc.Arbitrary<infer T> ? T : never) {
  let ledger = await openLedger(open(), { fileEvery, network: 'of a test' })
  for (const [salt, step] of steps.entries()) {
    if (step.do === 'reopen') {
      await ledger.close()
      ledger = await openLedger(open(), { fileEvery: step.fileEvery })
    } else if (step.do === 'append') {
      let { last: at = first - 1, hash } = ledger.head ?? {}
      const closes = step.shapes.map((shape) => {
        const close = closeOf(shape, ++at, hash, salt % 2)
        hash = close.ledger.hash
        return close
      })
      await ledger.ingest(closes, { batch: 2, durable: false })
    } else if (ledger.head) await cut(ledger, step.do, step.part)
  }
  await ledger.close()
  if (!left || !ledger.head) return
  const dying = await openLedger(failingAfter(open(), 1), { fileEvery: 1 })
  await cut(dying, left, left === 'prune' ? 99 : 0).catch(() => {})
}

/** The store is whole, and as large as the report of the copy says. */
async function isWhole(store: Store, { values, bytes }: { values: number; bytes: number }): Promise<void> {
  expect(await verifyStore(store)).toMatchObject({ ok: true, values, bytes })
}

/** A store that hands out a few values at a time, so that there are many batches. */
const inPieces = (store: Store, maxBytes = 2000): Store => {
  const scan: Store['scan'] = (range, options) => store.scan(range, { ...options, maxBytes })
  const snapshot = async () => {
    const seen = await store.snapshot!()
    return { ...seen, scan: ((range, options) => seen.scan(range, { ...options, maxBytes })) as Store['scan'] }
  }
  return Object.assign(Object.create(store) as Store, { scan, ...(store.snapshot && { snapshot }) })
}

/** A store that has no snapshots. */
const without = (store: Store): Store => Object.assign(Object.create(store) as Store, { snapshot: undefined })

const FIRST = 100
const COUNT = 60
const closes = [...generate({ ledgers: COUNT, seed: 7, accounts: 30, transactionsPerLedger: 3, firstLedger: FIRST, envelopeBytes: 40 })]

/** A moving window: what only its pruned ledgers said is told nowhere else. */
async function windowed(disk: MemoryDisk = memoryDisk()): Promise<MemoryDisk> {
  const ledger = await openLedger(memory(disk), { fileEvery: 200, network: 'of a test' })
  await ledger.ingest(closes, { batch: 10, durable: false })
  await ledger.prune(FIRST + 45)
  await ledger.close()
  return disk
}

describe('a copy', () => {
  test('holds the same bytes as its source, whatever was done to that, in a store of any kind, and back in the first', async () => {
    await holds(anyHistory, 12, async (history) => {
      const disk = memoryDisk()
      await play(() => memory(disk), history)
      const before = await dump(memory(disk))
      const report = await copyStore(inPieces(memory(disk)), memory())
      if (before.length > 0) await isWhole(memory(disk), report)
      expect(report).toMatchObject({ values: before.length })
      const [place, back] = [directory(), memory()]
      const chain = [
        memory(disk),
        await level(join(place, 'level')),
        await lmdb(join(place, 'lmdb')),
        await level(join(place, 'again')),
        back,
      ]
      for (const [nth, store] of chain.slice(1).entries()) {
        expect(await copyStore(chain[nth]!, store)).toEqual(report)
        expect(await dump(store)).toEqual(before)
        await isWhole(store, report)
      }
      await Promise.all(chain.map((store) => store.close()))
      expect(await dump(memory(disk))).toEqual(before)
    })
  })

  test('answers every listing as its source does, with the offers of which only pruned ledgers told', async () => {
    const disk = await windowed()
    const place = directory()
    const [target, source] = [await lmdb(join(place, 'copy')), await openLedger(memory(disk))]
    await copyStore(memory(disk), target)
    const copy = await openLedger(target)
    const again = await openLedger(memory())
    await again.ingest(source.closes())
    expect(copy.head).toEqual(source.head)
    const accounts = new Set<string>()
    for await (const { account } of source.records(catalogue.effects, {})) accounts.add(account)
    let [offers, lacking] = [0, 0]
    const texts = async (ledger: Ledger, row: keyof typeof catalogue, values: object): Promise<string> => {
      let text = ''
      for await (const { bytes } of ledger.ndjson(catalogue[row] as never, values as never)) text += Buffer.from(bytes).toString()
      return text
    }
    for (const [name, row] of Object.entries(catalogue)) {
      if (row.kind !== 'list') continue
      const asked = row.path.includes('{account}') ? Array.from(accounts, (account) => ({ account })) : row.path.includes('{') ? [] : [{}]
      for (const values of asked) {
        const lines = await texts(source, name as 'offersOfAccount', values)
        expect(await texts(copy, name as 'offersOfAccount', values)).toBe(lines)
        if (name !== 'offersOfAccount') continue
        offers += lines.split('\n').length - 1
        lacking += lines.split('\n').length - (await texts(again, name, values)).split('\n').length
      }
    }
    expect(offers).toBeGreaterThan(10)
    // Otherwise nothing was at stake.
    expect(lacking).toBeGreaterThan(0)
    const further = [
      ...generate({ ledgers: COUNT + 5, seed: 7, accounts: 30, transactionsPerLedger: 3, firstLedger: FIRST, envelopeBytes: 40 }),
    ]
    for (const ledger of [source, copy]) await ledger.ingest(further.slice(COUNT))
    expect(await copy.digest()).toBe(await source.digest())
    await copy.close()
  })

  test.each(['rollback', 'prune'] as const)('has a %s that was unfinished as well, and its next open finishes it', async (what) => {
    const disk = memoryDisk()
    const options = { fileEvery: what === 'prune' ? 1e6 : 20 }
    await (await openLedger(memory(disk), options)).ingest(closes, { batch: 20, durable: false })
    const dying = await openLedger(failingAfter(memory(disk), 1), options)
    expect(await codeOf(() => (what === 'prune' ? dying.prune(FIRST + 50) : dying.rollback(FIRST + 10)))).toBe('STORE_FAILED')
    for (const target of [memoryDisk(), memoryDisk()]) {
      expect(await copyStore(memory(disk), memory(target))).toMatchObject({ unfinished: what })
      expect(await dump(memory(target))).toEqual(await dump(memory(disk)))
      const { head } = await openLedger(memory(target))
      expect(head).toMatchObject(what === 'prune' ? { oldest: FIRST + 50 } : { last: FIRST + 10 })
      expect(await verifyStore(memory(target))).toEqual(expect.not.objectContaining({ unfinished: what }))
    }
  })

  test('of an empty store is one that keeps the name of the network; of nothing, nothing', async () => {
    const [named, disk, nothing] = [memoryDisk(), memoryDisk(), memory()]
    await openLedger(memory(named), { network: 'of a test' })
    expect(await copyStore(memory(named), memory(disk))).toEqual({ values: 1, bytes: expect.any(Number) })
    expect(await networkOf(memory(disk))).toBe('of a test')
    expect(await copyStore(memory(), nothing)).toEqual({ values: 0, bytes: 0 })
    expect(await dump(nothing)).toEqual([])
  })

  test('tells how far it has come, phase by phase', async () => {
    const [disk, told] = [await windowed(), [] as CopyProgress[]]
    const target = memoryDisk()
    const slow = (store: Store): Store => slowStore(store, () => new Promise((resolve) => setTimeout(resolve, 15)))
    const dying = copyStore(inPieces(memory(disk)), failingAfter(memory(target), 12))
    expect(await codeOf(() => dying)).toBe('STORE_FAILED')
    const copy = slow(inPieces(memory(target), 6000))
    const { values, bytes } = await copyStore(inPieces(memory(disk), 6000), copy, { onProgress: (one) => void told.push(one) })
    expect([...new Set(told.map(({ phase }) => phase))]).toEqual(['clear', 'copy', 'check'])
    for (const phase of ['copy', 'check']) {
      const of = told.filter((one) => one.phase === phase)
      expect(of.length).toBeGreaterThan(1)
      expect(of.map((one) => one.values)).toEqual(of.map((one) => one.values).sort((a, b) => a - b))
      expect(of.at(-1)!.values).toBeLessThanOrEqual(values)
      expect(of.at(-1)!.bytes).toBeLessThanOrEqual(bytes)
    }
  })

  test('leaves a note of how far history reached, so that outdated files of it are noticed', async () => {
    const place = join(directory(), 'copy')
    const target = await level(place)
    await copyStore(memory(await windowed()), target)
    const note = await target.note!.read()
    await target.close()
    const ledger = await openLedger(level(place))
    await ledger.rollback(FIRST + 50)
    await ledger.close()
    writeFileSync(join(place, 'HIGH-WATER'), note!)
    expect(await errorOf(() => openLedger(level(place)))).toMatchObject({
      code: 'STORE_WENT_BACK',
      fields: { noted: FIRST + COUNT - 1, held: FIRST + 50 },
    })
    const store = await level(place)
    expect(await codeOf(() => copyStore(store, memory()))).toBe('STORE_WENT_BACK')
    await store.close()
  })
})

describe('a copy that was cut short', () => {
  /** How a write fails: nothing of it is there, or all of it, and nobody was told. */
  const failures: readonly (readonly [name: string, failing: (store: Store, good: number) => Store])[] = [
    ['before', failingAfter],
    [
      'after',
      (store, good) => {
        let left = good
        const write: Store['write'] = async (...args) => {
          await store.write(...args)
          if (left-- <= 0) throw new FolioError('STORE_FAILED', { reason: 'killed' })
        }
        return Object.assign(Object.create(store) as Store, { write })
      },
    ],
  ]

  test.each(failures)('%s any of its batches is not opened, and says so, until it is begun anew', async (name, failing) => {
    const disk = await windowed()
    const [before, source] = [await dump(memory(disk)), () => inPieces(memory(disk), 8000)]
    let incomplete = 0
    for (let good = 0; ; good++) {
      const target = memoryDisk()
      const failed = await codeOf(() => copyStore(source(), failing(memory(target), good)))
      if (failed === 'no error') break
      expect(failed).toBe('STORE_FAILED')
      const left = await dump(memory(target))
      const [isFresh, isDone] = [left.length === 0, left.length === before.length && left.join() === before.join()]
      expect([isFresh, isDone]).toEqual([name === 'before' && good === 0, isDone && name === 'after'])
      expect(await isVacant(memory(target))).toBe(!isDone)
      if (isDone) {
        await isWhole(memory(target), await copyStore(source(), memory()))
        continue
      }
      if (!isFresh) {
        incomplete++
        for (const opened of [memory(target), shared(memory(target))])
          expect(await codeOf(() => openLedger(opened))).toBe('STORE_INCOMPLETE')
        expect(await codeOf(() => verifyStore(memory(target)))).toBe('STORE_INCOMPLETE')
        expect(await codeOf(() => repairStore(memory(target), { cut: true }))).toBe('STORE_INCOMPLETE')
        expect(await codeOf(() => copyStore(memory(target), memory()))).toBe('STORE_INCOMPLETE')
        expect(await dump(memory(target))).toEqual(left)
      }
      // Once more, also from another store, and killed again while it clears what the first one left.
      const other = memoryDisk()
      await (await openLedger(memory(other))).ingest(closes.slice(0, 20))
      for (const again of [0, 1, 2]) {
        await copyStore(inPieces(memory(other)), failingAfter(memory(target), again)).catch(() => {})
        expect(await isVacant(memory(target))).toBe(true)
      }
      const report = await copyStore(source(), memory(target))
      expect(await dump(memory(target))).toEqual(before)
      await isWhole(memory(target), report)
    }
    expect(incomplete).toBeGreaterThan(5)
  })

  test('by its signal is not complete either', async () => {
    const [disk, target, stop] = [await windowed(), memoryDisk(), new AbortController()]
    const reason = new Error('enough')
    const stopped = copyStore(inPieces(memory(disk)), memory(target), { signal: stop.signal, onProgress: () => stop.abort(reason) })
    await expect(stopped).rejects.toBe(reason)
    expect(await codeOf(() => openLedger(memory(target)))).toBe('STORE_INCOMPLETE')
    await copyStore(memory(disk), memory(target))
    expect(await dump(memory(target))).toEqual(await dump(memory(disk)))
  })

  test('does not keep the network of what was to be copied', async () => {
    const [target, other] = [memoryDisk(), memoryDisk()]
    await copyStore(inPieces(memory(await windowed())), failingAfter(memory(target), 3)).catch(() => {})
    await openLedger(memory(other), { network: 'another' })
    await copyStore(memory(other), memory(target))
    expect(await dump(memory(target))).toEqual(await dump(memory(other)))
  })

  test('ends when another one has begun in the same store, and changes nothing of that', async () => {
    const [disk, other, target] = [await windowed(), memoryDisk(), memoryDisk()]
    await (await openLedger(memory(other), { network: 'of a test' })).ingest(closes.slice(0, 20))
    let begun = 0
    const write: Store['write'] = async (...args) => {
      // After its first batch of values.
      if (++begun === 3) await copyStore(memory(other), memory(target))
      await memory(target).write(...args)
    }
    expect(await codeOf(() => copyStore(inPieces(memory(disk)), Object.assign(Object.create(memory(target)) as Store, { write })))).toBe(
      'CONFLICT',
    )
    expect(begun).toBe(3)
    expect(await dump(memory(target))).toEqual(await dump(memory(other)))
  })
})

describe('a source that is in use', () => {
  const kinds: Record<string, () => Promise<Store>> = {
    memory: async () => memory(),
    level: () => level(directory()),
    lmdb: () => lmdb(directory()),
  }

  test.each(Object.entries(kinds))('over %s is copied as it was after one of its writes', async (_, open) => {
    const [store, states] = [await open(), [] as string[]]
    const keep = async (): Promise<void> => void states.push((await dump(store)).join())
    const write: Store['write'] = async (...args) => {
      await store.write(...args)
      await keep()
    }
    const ledger = await openLedger(Object.assign(Object.create(store) as Store, { write }), { fileEvery: 100 })
    await ledger.ingest(closes.slice(0, 20), { batch: 10 })
    let isBusy = true
    const busy = (async () => {
      // At the end, the last two ledgers come and go.
      for (let at = 20; isBusy; at = Math.min(at + 2, COUNT - 2)) {
        await turns()
        await ledger.ingest(closes.slice(at, at + 2))
        await ledger.prune(FIRST + at - 12)
        await ledger.rollback(FIRST + at)
        await ledger.append(closes[at + 1]!)
      }
      return isBusy
    })()
    // Something is at stake: the source is written to between any two writes of the copy, however slow the disk.
    const anotherWrite = async (): Promise<void> => {
      const begun = states.length
      while (states.length === begun) await Promise.race([turns(), busy])
    }
    const seen = new Set<number>()
    for (let round = 0; round < 4; round++) {
      const [disk, begun] = [memoryDisk(), states.length]
      const { last } = await copyStore(inPieces(store), slowStore(memory(disk), anotherWrite))
      const copied = (await dump(memory(disk))).join()
      expect(states.indexOf(copied)).toBeGreaterThan(-1)
      seen.add(last!)
      expect(states.length).toBeGreaterThan(begun + 1)
    }
    isBusy = false
    expect(await busy).toBe(false)
    expect(seen.size).toBeGreaterThan(1)
    await ledger.close()
  })

  test('is refused if it has no snapshots and was written to; if nobody writes, it is copied', async () => {
    const disk = await windowed()
    const [source, target] = [without(inPieces(memory(disk))), memoryDisk()]
    expect(await copyStore(source, memory(target))).toMatchObject({ last: FIRST + COUNT - 1 })
    expect(await dump(memory(target))).toEqual(await dump(memory(disk)))
    const changes: readonly (() => Promise<unknown>)[] = [
      async () => (await openLedger(memory(disk))).prune(FIRST + 46),
      async () => (await openLedger(memory(disk))).rollback(FIRST + 55),
      async () => memory(disk).write([[INTENT, encodeIntent({ prune: FIRST + 46 })]], { durable: true }),
      async () => (await openLedger(shared(memory(disk)))).rollback(FIRST + 54),
    ]
    for (const change of changes) {
      const other = memoryDisk()
      let changing: Promise<unknown> | undefined
      const write: Store['write'] = async (...args) => {
        await memory(other).write(...args)
        changing ??= change()
        await changing
      }
      const slow = Object.assign(Object.create(memory(other)) as Store, { write })
      expect(await errorOf(() => copyStore(source, slow))).toMatchObject({
        code: 'CONFLICT',
        fields: { reason: expect.stringContaining('copy it while nobody writes') },
      })
      expect(await codeOf(() => openLedger(memory(other)))).toBe('STORE_INCOMPLETE')
    }
  })
})

describe('what cannot be copied is refused', () => {
  test.each<[string, (disk: MemoryDisk) => unknown, string]>([
    ['a value is damaged', (disk) => memory(disk).write([[digestKey(FIRST + 47), new Uint8Array(37)]], { durable: true }), 'CORRUPT'],
    [
      'a value lies under the key of another',
      async (disk) => {
        const value = (await memory(disk).get(digestKey(FIRST + 47)))!
        await memory(disk).write([[digestKey(FIRST + 48), value]], { durable: true })
      },
      'CORRUPT',
    ],
    ['the head is missing', (disk) => memory(disk).write([[HEAD, undefined]], { durable: true }), 'CORRUPT'],
    ['the format is missing', (disk) => memory(disk).write([[FORMAT, undefined]], { durable: true }), 'CORRUPT'],
    [
      'it is no ledger',
      (disk) =>
        memory(disk).write(
          [
            [FORMAT, undefined],
            [HEAD, undefined],
          ],
          { durable: true },
        ),
      'STORE_FORMAT',
    ],
    [
      'a repair is unfinished',
      (disk) => memory(disk).write([[INTENT, encodeIntent({ repair: true })]], { durable: true }),
      'STORE_UNREPAIRED',
    ],
    [
      'it is of another release',
      (disk) => {
        const format = Uint8Array.from(memory(disk).get(FORMAT) as Uint8Array)
        format[format.length - 5]! += 1
        return memory(disk).write([[FORMAT, format], ...['00', '03', '10'].map(() => [HEAD, format] as const)], { durable: true })
      },
      'CORRUPT',
    ],
  ])('if %s', async (_, spoil, code) => {
    const [disk, target] = [await windowed(), memoryDisk()]
    await spoil(disk)
    const before = await dump(memory(disk))
    expect(await codeOf(() => copyStore(memory(disk), memory(target)))).toBe(code)
    expect(await dump(memory(disk))).toEqual(before)
    expect(await isVacant(memory(target))).toBe(true)
    if ((await dump(memory(target))).length > 0) expect(await codeOf(() => openLedger(memory(target)))).toBe('STORE_INCOMPLETE')
  })

  test('if a block lacks records, as it did some ledgers ago', async () => {
    const disk = memoryDisk()
    const ledger = await openLedger(memory(disk))
    const closes = [...generate({ ledgers: 20, seed: 7, firstLedger: FIRST })]
    await ledger.ingest(closes.slice(0, 10))
    const older = (await memory(disk).scan(everything, { limit: 1e6 })).entries.filter(([key]) => key[0] === 0x10)
    await ledger.ingest(closes.slice(10))
    const whole = (await memory(disk).scan(everything, { limit: 1e6 })).entries
    let stale = 0
    for (const [key, value] of older) {
      if (whole.some(([one, now]) => hex(one) === hex(key) && hex(now) === hex(value))) continue
      stale++
      const copy = memoryDisk()
      copy.write([...whole, [key, value]])
      expect(await errorOf(() => copyStore(memory(copy), memory()))).toMatchObject({ code: 'CORRUPT', fields: { key: hex(key) } })
    }
    expect(stale).toBeGreaterThan(3)
  })

  test('if a block or a digest is missing, which is named', async () => {
    const whole = (await memory(await windowed()).scan(everything, { limit: 1e6 })).entries
    const needed = whole.filter(([key]) => key[0] === 0x10 || key[0] === 0x50)
    expect(new Set(needed.map(([key]) => key[0]! * 256 + (key[0] === 0x10 ? key[1]! : 0))).size).toBe(logs.length + 1)
    for (const [key] of needed) {
      const disk = memoryDisk()
      disk.write(whole)
      disk.write([[key, undefined]])
      const target = memory()
      expect(await errorOf(() => copyStore(memory(disk), target))).toMatchObject({ code: 'CORRUPT', fields: { key: hex(key) } })
      expect(await isVacant(target)).toBe(true)
    }
  })

  test('the key of a damaged value is named', async () => {
    const disk = await windowed()
    const key = blockKey(ledgers.tag, 6)
    await memory(disk).write([[key, new Uint8Array(50)]], { durable: true })
    expect(await errorOf(() => copyStore(memory(disk), memory()))).toMatchObject({ code: 'CORRUPT', fields: { key: hex(key) } })
  })

  test('into itself, into a store that holds ledgers or something else, with wrong options', async () => {
    const [disk, foreign] = [await windowed(), memory()]
    const [source, before] = [memory(disk), await dump(memory(disk))]
    await foreign.write([[Uint8Array.of(0x68), Uint8Array.of(1)]], { durable: true })
    for (const target of [source, memory(disk), foreign]) expect(await codeOf(() => copyStore(source, target))).toBe('BAD_REQUEST to')
    expect(await isVacant(foreign)).toBe(false)
    expect(await dump(memory(disk))).toEqual(before)
    expect(await codeOf(() => copyStore(source, memory(), { durable: 1 } as never))).toBe('BAD_REQUEST durable')
  })

  test('into a store of another network; one that was emptied, or has no name yet, takes that of the source', async () => {
    const disk = await windowed()
    const [other, unnamed, emptied, kept] = [memoryDisk(), memoryDisk(), memoryDisk(), memoryDisk()]
    await openLedger(memory(other), { network: 'another' })
    expect(await codeOf(() => copyStore(memory(disk), memory(other)))).toBe('STORE_NETWORK')
    await openLedger(memory(unnamed))
    const ledger = await openLedger(shared(memory(emptied)))
    await ledger.ingest(closes.slice(0, 9))
    await ledger.rollback(0)
    for (const target of [unnamed, emptied]) {
      await copyStore(memory(disk), memory(target))
      expect(await dump(memory(target))).toEqual(await dump(memory(disk)))
    }
    const nameless = memoryDisk()
    await (await openLedger(memory(nameless))).ingest(closes.slice(0, 9))
    await openLedger(memory(kept), { network: 'another' })
    await copyStore(memory(nameless), memory(kept))
    expect(await networkOf(memory(kept))).toBe('another')
    expect((await dump(memory(kept))).filter((line) => !line.startsWith('01='))).toEqual(
      (await dump(memory(nameless))).filter((line) => !line.startsWith('01=')),
    )
  })

  test('if the target does not take keys or values of that length', async () => {
    const source = memory()
    const long = structuredClone(closes.slice(0, 12)) as unknown as { transactions: { participants?: string[] }[] }[]
    for (const transaction of long[0]!.transactions) transaction.participants = ['G'.repeat(3000)]
    const ledger = await openLedger(Object.assign(Object.create(source) as Store, { close() {} }), { fileEvery: 1 })
    await ledger.ingest(long as never)
    const target = await lmdb(directory())
    expect(await errorOf(() => copyStore(source, target))).toMatchObject({
      code: 'BAD_REQUEST',
      fields: { field: 'to', reason: expect.stringMatching(/^a store that takes keys of 300\d bytes; this one takes at most 1978$/) },
    })
    expect(await isVacant(target)).toBe(true)
    await target.close()
    const small = Object.assign(Object.create(memory()) as Store, { capabilities: { ...memory().capabilities, maxValueBytes: 64 } })
    expect(await errorOf(() => copyStore(source, small))).toMatchObject({
      code: 'BAD_REQUEST',
      fields: { reason: expect.stringMatching(/^a store that takes values of \d+ bytes; this one takes at most 64$/) },
    })
  })

  test.each<[string, (store: Store, beside: Ledger) => Store['write'], string]>([
    ['drops a value', (store) => (batch, options) => store.write(batch.length > 5 ? batch.slice(1) : batch, options), 'CORRUPT'],
    [
      'changes a value',
      (store) => (batch, options) => {
        const [[key, value], ...rest] = batch as [[Uint8Array, Uint8Array]]
        const spoiled = batch.length > 5 ? [[key, value.map((byte, at) => (at === 0 ? byte ^ 1 : byte))] as const, ...rest] : batch
        return store.write(spoiled, options)
      },
      'CORRUPT',
    ],
    [
      'keeps another value of the same key and length',
      (store) => (batch, options) => {
        const [[key, value], ...rest] = batch as [[Uint8Array, Uint8Array]]
        const other = (): Uint8Array => value.map((byte, at) => (at === 0 ? byte ^ 1 : byte))
        return store.write(batch.length > 5 ? [resealed(key, other()), ...rest] : batch, options)
      },
      'CORRUPT',
    ],
    [
      'stores a value twice',
      (store) => (batch, options) => {
        const last = batch.at(-1)!
        return store.write(batch.length > 5 ? [...batch, [Uint8Array.of(0x77), last[1]]] : batch, options)
      },
      'CORRUPT',
    ],
    [
      'is copied into by somebody else',
      (store) => {
        let isFirst = true
        return async (batch, options) => {
          await store.write(batch, options)
          if (isFirst) {
            isFirst = false
            await copyStore(memory(await windowed()), failingAfter(store, 1)).catch(() => {})
          }
        }
      },
      'CONFLICT',
    ],
    [
      'is appended to by a ledger that had it open',
      (store, beside) => {
        let isFirst = true
        return async (batch, options) => {
          await store.write(batch, options)
          if (isFirst) await beside.append(closes[0]!)
          isFirst = false
        }
      },
      'CONFLICT',
    ],
  ])('to a target that %s: the copy is not complete then', async (_, spoil, code) => {
    const [disk, target] = [await windowed(), memoryDisk()]
    const beside = await openLedger(memory(target))
    const faulty = Object.assign(Object.create(memory(target)) as Store, { write: spoil(memory(target), beside) })
    expect(await codeOf(() => copyStore(inPieces(memory(disk)), faulty))).toBe(code)
    expect(await isVacant(memory(target))).toBe(true)
    expect(await codeOf(() => openLedger(memory(target)))).toBe('STORE_INCOMPLETE')
    await copyStore(memory(disk), memory(target))
    expect(await dump(memory(target))).toEqual(await dump(memory(disk)))
  })
})
