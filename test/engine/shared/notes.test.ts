/** What processes that share a store note of how far history reached: a note that one writes late is no reason to refuse what another rolled back. */
import { expect, test } from 'vitest'
import { type MemoryDisk, memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { copyStore, openLedger, type Store } from '../../../src/index.ts'
import { decodeHighWater } from '../../../src/layout/head.ts'
import { branchOf } from '../../support/closes.ts'
import { shared } from '../../support/dump.ts'

const closes = branchOf([1, 20], 1, () => ['GX'])
const others = branchOf([11, 20], 2, () => ['GX'], closes[9]!.ledger.hash)

/** Stores over one disk, with one note beside it. */
function noted(disk: MemoryDisk = memoryDisk()) {
  const place: { bytes?: Uint8Array; read?: (() => Promise<unknown>) | undefined } = {}
  const note = {
    read: async () => {
      const { bytes } = place
      await place.read?.()
      return bytes
    },
    write: (bytes: Uint8Array) => {
      place.bytes = bytes.slice()
    },
  }
  const store = (): Store => Object.assign(Object.create(memory(disk)) as Store, { note })
  const open = () => openLedger(shared(store()), { pollMs: 2 ** 30 })
  return { place, store, open }
}

/** The same, with the ledgers that were ingested, and noted, while the store was not shared. */
async function notedAlone() {
  const all = noted()
  const alone = await openLedger(all.store())
  await alone.ingest(closes)
  await alone.close()
  return all
}

test.each([
  ['rollback', 20],
  ['prune', 1],
] as const)('a %s with nothing to remove, in a store that was not always shared, notes of which era that is', async (what, at) => {
  const { place, open } = await notedAlone()
  const [writer, other] = [await open(), await open()]
  expect(await other[what](at)).toBe(0)
  await writer.rollback(10)
  // What it has noted is written only now.
  await other.close()
  expect(decodeHighWater(place.bytes!)).toMatchObject({ last: 20 })
  const late = await open()
  expect(late.head!.last).toBe(10)
  for (const ledger of [late, writer]) await ledger.close()
})

test('a store is opened though another process rolls it back once its note, of no era, was read', async () => {
  const { place, open } = await notedAlone()
  const writer = await open()
  place.read = async () => {
    place.read = undefined
    await writer.rollback(10)
  }
  const ledger = await open()
  expect(ledger.head!.last).toBe(10)
  for (const one of [ledger, writer]) await one.close()
})

test('a copy takes no note that is lowered meanwhile for one of what is lost, whatever is noted next', async () => {
  const { place, store, open } = await notedAlone()
  const writer = await open()
  const from = shared(store())
  const snapshot = from.snapshot!.bind(from)
  const busy: Store = Object.assign(Object.create(from) as Store, {
    snapshot: async () => {
      await writer.rollback(10)
      const taken = await snapshot()
      await writer.ingest(others)
      await writer.close()
      return taken
    },
  })
  expect(await copyStore(busy, memory())).toMatchObject({ last: 10 })
  expect(decodeHighWater(place.bytes!)).toMatchObject({ last: 20 })
})

test('a copy counts a note of an earlier era as little as an open does, though others append and note meanwhile', async () => {
  const { place, store, open } = noted()
  const [writer, other] = [await open(), await open()]
  await writer.ingest(closes)
  await other.refresh()
  await other.rollback(10)
  await writer.close()
  expect(decodeHighWater(place.bytes!)).toMatchObject({ last: 20 })
  const from = shared(store())
  const snapshot = from.snapshot!.bind(from)
  const busy: Store = Object.assign(Object.create(from) as Store, {
    snapshot: async () => {
      const taken = await snapshot()
      await other.ingest(others)
      await other.close()
      return taken
    },
  })
  const copied = memoryDisk()
  expect(await copyStore(busy, memory(copied))).toMatchObject({ last: 10 })
  expect(decodeHighWater(place.bytes!)).toMatchObject({ last: 20 })
  const ledger = await openLedger(memory(copied))
  expect(ledger.head!.last).toBe(10)
  await ledger.close()
})
