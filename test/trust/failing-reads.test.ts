/** Reads that fail while a store is audited or repaired: what could not be read is not taken for damaged, and nothing is built upon it. */
import { describe, expect, test } from 'vitest'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { readable } from '../../src/audit/context.ts'
import { eraOf } from '../../src/audit/verify.ts'
import { type Store as Contract, FolioError, repairStore, verifyStore } from '../../src/index.ts'
import { encodeText } from '../../src/layout/head.ts'
import { baseKey, blockKey, bookKey, digestKey, ERA, HEAD, hashKey, INTENT, postingKey, postingPageKey } from '../../src/layout/keys.ts'
import { encodeEdge, PostingEdge } from '../../src/layout/posting.ts'
import type { Row } from '../../src/layout/row.ts'
import { corrupt } from '../../src/layout/seal.ts'
import type { Resource } from '../../src/query.ts'
import { changesByOffer, offerChanges } from '../../src/resources/offer.ts'
import { operations, operationsByAccount } from '../../src/resources/operation.ts'
import { trades } from '../../src/resources/trade.ts'
import { takeApart } from '../../src/text/writer.ts'
import { longCloses } from '../support/closes.ts'
import { dump } from '../support/dump.ts'
import { broken, CHECKSUM, edgeOf, fault, gone, headOf, type Plant, rowsOf, sealed, storesOf, withRows } from './support.ts'

const FIRST = 5
const closes = Array.from({ length: 8 }, (_, n) => richClose(FIRST + n, hashOf(FIRST + n - 1, 99)))
const { planted, stored } = storesOf({
  whole: { closes, fileEvery: 1 },
  pruned: { closes, oldest: FIRST + 4, fileEvery: 1 },
  paged: { closes: longCloses(FIRST, 10), oldest: FIRST + 5, fileEvery: 1 },
})

/** What reads fail with that says nothing of what is stored: what stores throw, and what is thrown below one that wraps nothing. */
const failures = [
  new FolioError('STORE_FAILED', { reason: 'EIO' }),
  new FolioError('CLOSED'),
  new FolioError('STORE_DENIED'),
  new Error('EIO'),
  new TypeError('no socket'),
]

/** The store, of which one read fails, by its number; and how many there were. */
function failingAt(store: Contract, number: number, failure: unknown): { failing: Contract; reads: () => number } {
  let reads = 0
  const counted =
    <Args extends unknown[], Answer>(read: (...args: Args) => Answer) =>
    (...args: Args): Answer => {
      if (reads++ === number) throw failure
      return read.apply(store, args)
    }
  const { get, getMany, scan } = store
  const failing = Object.assign(Object.create(store) as Contract, { get: counted(get), getMany: counted(getMany), scan: counted(scan) })
  return { failing, reads: () => reads }
}

test('only CORRUPT is damage: whatever else a read fails with is thrown', async () => {
  expect(await readable(() => 7)).toBe(7)
  expect(await readable(() => Promise.reject(corrupt(HEAD, CHECKSUM)))).toBe(undefined)
  for (const failure of failures) {
    await expect(readable(() => Promise.reject(failure))).rejects.toBe(failure)
    const throws = (): never => {
      throw failure
    }
    await expect(readable(throws)).rejects.toBe(failure)
  }
})

const alice = postingKey(operationsByAccount.tag, ['GALICE'])
const page = (number: number): Uint8Array => postingPageKey(operationsByAccount.tag, ['GALICE'], 0, number)
/** The list is sealed and has lost its last entry, so it is built anew: from the pruned records that it names, and those that are held. */
const shortened: Plant = (store) => {
  const { count, levels } = edgeOf(store, alice)
  return [sealed(alice, encodeEdge, new PostingEdge(count - 1, [levels[0]!.slice(0, -1), ...levels.slice(1)]))]
}

describe('a repair ends with the error of whichever read fails, and repairs all the same once it is run again', () => {
  test.each<[string, Parameters<typeof planted>[0], Plant]>([
    ['a list that lacks an entry, and was pruned', 'pruned', shortened],
    ['a list that is gone, of an offer', 'pruned', () => [gone(postingKey(changesByOffer.tag, [7n]))]],
    ['a page of a list, after pruning', 'paged', (store) => [broken(store, page(3))]],
    ['an offer of the book', 'pruned', () => [gone(bookKey('GALICE', 7n))]],
    ['an entry of a hash', 'whole', (store) => [broken(store, hashKey(hashOf(FIRST + 2, 1)))]],
    ['a digest', 'whole', (store) => [broken(store, digestKey(FIRST + 3))]],
    [
      'a block that holds too many records',
      'whole',
      (store) => {
        const key = blockKey(operations.tag, (headOf(store).counts[operations.tag]! - 1) >> operations.shift)
        const rows = rowsOf(store, operations, key)
        return [withRows(operations, key, [...rows.slice(0, -1), rows.at(-1)!, { ...rows.at(-1)!, lo: rows.at(-1)!.lo + 1 }])]
      },
    ],
    ['a head', 'pruned', () => [gone(HEAD)]],
    ['the last pruned change of an offer', 'pruned', (store) => [broken(store, baseKey(7n))]],
  ])('%s', async (_, kind, plant) => {
    const whole = await planted(kind, plant)
    const { failing, reads } = failingAt(whole, -1, undefined)
    await repairStore(failing)
    const [expected, all] = [await dump(whole), reads()]
    expect(all).toBeGreaterThan(20)
    for (let number = 0; number < all; number++) {
      const [store, failure] = [await planted(kind, plant), failures[number % failures.length]!]
      await expect(repairStore(failingAt(store, number, failure).failing), `read ${number}`).rejects.toBe(failure)
      await repairStore(store)
      expect(await dump(store), `read ${number}`).toEqual(expected)
    }
  })
})

describe('what is sealed and never written is damage', () => {
  test.each([
    ['a head', HEAD],
    ['an intent', INTENT],
  ] as const)('%s', async (_, key) => {
    for (const said of ['x', '7', 'null', '']) {
      const store = await planted('whole', () => [sealed(key, encodeText, said)])
      expect((await verifyStore(store)).faults).toContainEqual(fault(key, 'the value is not an object of JSON'))
      expect((await repairStore(store)).after.ok).toBe(true)
      expect(await dump(store)).toEqual(await dump(await stored('whole')))
    }
  })

  test('an era, which then is the first one', async () => {
    const store = await planted('whole', () => [sealed(ERA, encodeText, 'x')])
    expect(await eraOf(store)).toBe(0)
    expect((await verifyStore(store)).ok).toBe(true)
  })

  test.each<[string, Resource, (row: Row) => Partial<Row>]>([
    ['a text', operations, () => ({ texts: [takeApart('x')] })],
    ['the id of an offer', offerChanges, ({ sides }) => ({ sides: sides.with(offerChanges.columns.id, 'x') })],
  ])('%s, in a ledger of which something else cannot be read', async (_, resource, change) => {
    const key = blockKey(resource.tag, 0)
    const store = await planted('whole', (of) => {
      const [first, ...rest] = rowsOf(of, resource, key)
      return [withRows(resource, key, [{ ...first!, ...change(first!) }, ...rest]), broken(of, blockKey(trades.tag, 0))]
    })
    expect((await verifyStore(store)).faults).toContainEqual(fault(blockKey(trades.tag, 0), CHECKSUM, FIRST))
  })
})
