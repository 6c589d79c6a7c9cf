/** What it costs to audit and to repair a store with much damage: what is done for each fault does not grow with the number of faults. */
import { describe, expect, test, vi } from 'vitest'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { Unread } from '../../src/audit/context.ts'
import { rebuildBases } from '../../src/audit/rebuild.ts'
import { audit } from '../../src/audit/verify.ts'
import { type Store as Contract, type Fault, type LedgerClose, repairStore, verifyStore } from '../../src/index.ts'
import { encodeDigest } from '../../src/layout/digest.ts'
import { baseKey, digestKey } from '../../src/layout/keys.ts'
import { dump, shared } from '../support/dump.ts'
import { heldBytes } from '../support/held.ts'
import { broken, held, type Store, storesOf } from './support.ts'

const FIRST = 5
/** Offers that are made in the first ledger, half of which change in the third. */
const OFFERS = 60
const ids = Array.from({ length: OFFERS }, (_, n) => BigInt(100 + n))
const closes = Array.from({ length: 4 }, (_, n): LedgerClose => {
  const close = richClose(FIRST + n, hashOf(FIRST + n - 1, 99))
  const [one] = close.offers!.changed!
  const changed = (of: readonly bigint[]) => ({ ...close, offers: { changed: of.map((id) => ({ ...one!, id, seller: `G${id}` })) } })
  return changed([ids, [], ids.slice(OFFERS / 2), []][n]!)
})
const many = Array.from({ length: 200 }, (_, n) => richClose(FIRST + n, hashOf(FIRST + n - 1, 99)))
const { planted, stored } = storesOf({
  pruned: { closes, oldest: FIRST + 1, fileEvery: 1 },
  many: { closes: many, fileEvery: 1000 },
})

/** The store, and how often ranges of it were read. */
function scanned(store: Contract): { counted: Contract; scans: () => number } {
  let scans = 0
  const scan: Contract['scan'] = (...args) => {
    scans++
    return store.scan(...args)
  }
  return { counted: Object.assign(Object.create(store) as Contract, { scan }), scans: () => scans }
}

/** The store, which gives each value in memory of its own; how many it gave, and how many of them are still in use once all records are checked. */
function giving(store: Store) {
  const given: WeakRef<ArrayBufferLike>[] = []
  const counts = { given: 0, kept: 0 }
  const own = (value: Uint8Array | undefined): Uint8Array | undefined => {
    const copy = value && Uint8Array.from(value)
    if (copy) given.push(new WeakRef(copy.buffer))
    return copy
  }
  const parts: Partial<Contract> = {
    get: (key) => own(held(store, key)),
    getMany: (keys) => keys.map((key) => own(held(store, key))),
    scan: async (...args) => {
      if (args[0].gte.length === 0) {
        await heldBytes()
        counts.given = given.length
        counts.kept = given.filter((one) => one.deref() !== undefined).length
      }
      return store.scan(...args)
    },
  }
  return { store: Object.assign(Object.create(store) as Contract, parts), counts }
}

const spoilt = (of: readonly bigint[]): Promise<Store> => planted('pruned', (store) => of.map((id) => broken(store, baseKey(id))))

test('a repair reads the book and the changes of offers once, however many last pruned changes are damaged', async () => {
  const cost = async (of: readonly bigint[]): Promise<{ scans: number; reads: number }> => {
    const { counted, scans } = scanned(await spoilt(of))
    const { context } = await audit(counted, {})
    const [before, run] = [scans(), vi.spyOn(context.reader, 'run')]
    const writes = await rebuildBases(context, of.map(baseKey))
    expect(writes.length).toBe(of.filter((id) => ids.indexOf(id) < OFFERS / 2).length)
    return { scans: scans() - before, reads: run.mock.calls.length }
  }
  const [few, all] = [await cost([ids[0]!, ids.at(-1)!]), await cost(ids)]
  expect(few.scans).toBe(1)
  // Each is looked up once in the list of its changes.
  expect(all).toEqual({ scans: few.scans, reads: few.reads + OFFERS - 2 })
})

test('a repair of many last pruned changes reads no more ranges than that of one, and loses those behind later changes alone', async () => {
  const [one, all] = [scanned(await spoilt([ids[0]!])), scanned(await spoilt(ids.slice(0, OFFERS / 2)))]
  for (const { counted } of [one, all]) {
    expect(await repairStore(counted)).toMatchObject({ lost: [], after: { ok: true } })
    expect(await dump(counted)).toEqual(await dump(await stored('pruned')))
  }
  expect(all.scans()).toBe(one.scans())
  const { lost } = await repairStore(await spoilt(ids))
  expect(lost.length).toBe(OFFERS / 2)
})

test('a repair looks at each fault a few times, however many are lost', async () => {
  const store = await planted('many', () =>
    many.map((_, n) => [digestKey(FIRST + n), encodeDigest(FIRST + n, new Uint8Array(32))] as const),
  )
  const looked = { key: 0, ledger: 0 }
  const onFault = (fault: Fault): void => {
    for (const member of ['key', 'ledger'] as const) {
      const value = fault[member]
      const get = (): unknown => {
        looked[member]++
        return value
      }
      Object.defineProperty(fault, member, { get, enumerable: true })
    }
  }
  const { lost, repaired } = await repairStore(store, { onFault })
  expect([lost.length, repaired]).toEqual([many.length, 0])
  expect(looked.key).toBeLessThan(30 * many.length)
  expect(looked.ledger).toBeLessThan(10 * many.length)
})

describe('an audit keeps nothing of what it has read but what its cache does', () => {
  const audited = async (kind: (store: Contract) => Contract) => {
    const { store, counts } = giving(await planted('many', () => []))
    expect(await verifyStore(kind(store))).toMatchObject({ ok: true, ledgers: many.length })
    expect(counts.kept).toBeLessThan(counts.given / 20)
    return counts.given
  }

  test('over a store that processes share, which it asks for as much as any other', async () => {
    const given = await audited((store) => store)
    expect(given).toBeGreaterThan(many.length)
    expect(await audited(shared)).toBe(given)
  })

  test('over a store that answers later', async () => {
    await audited((store) => slowStore(store))
  })
})

test('whether a record can be read takes a few comparisons, however many spans cannot', () => {
  const unread = new Unread()
  const SPANS = 10_000
  for (let n = 0; n < SPANS; n++) unread.add(1, 10 * n + 3, 10 * n + 5)
  let comparisons = 0
  /** A number that counts how often it is compared. */
  const counted = (number: number): number => {
    const compared = (): number => {
      comparisons++
      return number
    }
    return { valueOf: compared } as unknown as number
  }
  const ends = [0, 2, 3, 4, 5, 12, 13, 14, 15, 49_993, 49_994, 49_995, 99_992, 99_993, 99_994, 99_995, 1e6]
  expect(ends.filter((ordinal) => unread.has(1, counted(ordinal)))).toEqual([3, 4, 13, 14, 49_993, 49_994, 99_993, 99_994])
  expect(comparisons).toBeLessThan(ends.length * 20)
  comparisons = 0
  expect([unread.any(1, counted(3)), unread.any(1, counted(4)), unread.any(2)]).toEqual([false, true, false])
  expect(comparisons).toBe(2)
})
