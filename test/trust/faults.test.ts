/** What an audit says about each kind of value that is damaged, missing, out of place or not referred to: the key, and why. */
import { describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type Entry, type LedgerClose, openLedger, repairStore, verifyStore, type Write } from '../../src/index.ts'
import { decodeBlock } from '../../src/layout/block.ts'
import { encodeDigest } from '../../src/layout/digest.ts'
import { encodeBlock } from '../../src/layout/encode-block.ts'
import { encodeHash } from '../../src/layout/hash.ts'
import { encodePruned, encodeText } from '../../src/layout/head.ts'
import {
  baseKey,
  blockKey,
  bookKey,
  bookSellerKey,
  digestKey,
  HEAD,
  hashKey,
  PRUNED,
  postingKey,
  postingPageKey,
} from '../../src/layout/keys.ts'
import { encodeEdge, encodePage, FANOUT, PostingEdge } from '../../src/layout/posting.ts'
import { offerChanges, offers } from '../../src/resources/offer.ts'
import { payments } from '../../src/resources/operation.ts'
import { transactions } from '../../src/resources/transaction.ts'
import { takeApart } from '../../src/text/writer.ts'
import { dump, everything, hex } from '../support/dump.ts'
import { broken, CHECKSUM, edgeOf, headOf, headWith, held, keysOf, type Store, sealed } from './support.ts'

const FIRST = 50
const closes = [
  ...generate({
    ledgers: 7,
    seed: 12,
    accounts: 16,
    transactionsPerLedger: 6,
    operationsPerTransaction: 2.5,
    firstLedger: FIRST,
    envelopeBytes: 30,
    tradeShare: 0.4,
  }),
] as readonly LedgerClose[]
const LAST = FIRST + closes.length - 1

const made = new Map<number, Promise<readonly Entry[]>>()

/** A store that holds the closes, except the oldest ones. */
async function stored(pruned = 0): Promise<MemoryDisk> {
  const make = async (): Promise<readonly Entry[]> => {
    const store = memory()
    const ledger = await openLedger(store, { fileEvery: 1 })
    await ledger.ingest(closes)
    if (pruned > 0) await ledger.prune(FIRST + pruned)
    expect((await verifyStore(store)).faults).toEqual([])
    return (await store.scan(everything, { limit: 1e6 })).entries
  }
  if (!made.has(pruned)) made.set(pruned, make())
  const disk = memoryDisk()
  disk.write(await made.get(pruned)!)
  return disk
}

/**
 * What an audit says once `plant` has changed a store: keys and reasons. With `mends`, a repair must lose nothing and leave what was there before.
 */
async function audited(plant: (store: Store) => readonly Write[], pruned = 0, mends = false): Promise<Record<string, string>> {
  const disk = await stored(pruned)
  const store = memory(disk)
  const before = await dump(store)
  const writes = plant(store)
  expect(writes.length).toBeGreaterThan(0)
  await store.write(writes, { durable: true })
  const { ok, faults, faultCount } = await verifyStore(store)
  expect([ok, faultCount]).toEqual([false, faults.length])
  if (mends) {
    const { lost, after } = await repairStore(store)
    expect([lost, after.ok]).toEqual([[], true])
    expect(await dump(store)).toEqual(before)
  }
  return Object.fromEntries(faults.map(({ key, reason }) => [key, reason]))
}

describe('a value that follows from others', () => {
  test.each([
    ['an entry of a hash', 0x30],
    ['an offer of the book', 0x40],
    ['the seller of an offer', 0x41],
    ['the edge of a list', 0x20],
    ['a digest', 0x50],
  ])('that is damaged or gone is named: %s', async (_, prefix) => {
    let key = new Uint8Array(0)
    const pick = (store: Store) => {
      const all = keysOf(store, prefix)
      key = all[all.length >> 1]! as typeof key
      return key
    }
    expect(await audited((store) => [broken(store, pick(store))])).toEqual({ [hex(key)]: CHECKSUM })
    const gone = await audited((store) => [[pick(store), undefined]], 0, true)
    expect(Object.keys(gone)).toEqual([hex(key)])
    expect(gone[hex(key)]).toMatch(/missing/)
  })

  test.each([
    ['an entry of a hash', 0x30],
    ['an offer of the book', 0x40],
    ['the seller of an offer', 0x41],
    ['the edge of a list', 0x20],
    ['a digest', 0x50],
    ['a block', 0x10],
    ['a page of a list', 0x21],
    ['a value of no kind', 0x77],
    ['a head', 0x00],
    ['an era', 0x05],
  ])('that nothing refers to is named and removed: %s', async (_, prefix) => {
    const key = Uint8Array.of(prefix, 0xee, 1, 2)
    const found = await audited(() => [sealed(key, encodeText, 'what is this?')], 0, true)
    expect(Object.keys(found)).toEqual([hex(key)])
  })
})

describe('an entry of a hash', () => {
  const last = hashKey('f'.repeat(64))
  test('that names no transaction, or one with another hash, is named', async () => {
    expect(
      await audited((store) => [sealed(last, encodeHash, { ordinal: headOf(store).counts[transactions.tag]!, failed: false })]),
    ).toEqual({
      [hex(last)]: 'no transaction that is held has this hash',
    })
    let keys: Uint8Array[] = []
    const found = await audited((store) => {
      keys = keysOf(store, 0x30).slice(0, 1)
      return [sealed(keys[0]!, encodeHash, { ordinal: 1e6, failed: false })]
    })
    expect(found).toEqual({ [hex(keys[0]!)]: 'no transaction that is held has this hash' })
    const swapped = await audited((store) => {
      const of = (sequence: number) =>
        closes.flatMap(({ transactions: all = [] }) => all.filter(({ successful }) => successful !== false))[sequence]!.hash
      keys = [hashKey(of(0)), hashKey(of(1))]
      void store
      return [sealed(keys[0]!, encodeHash, { ordinal: 1, failed: false }), sealed(keys[1]!, encodeHash, { ordinal: 0, failed: false })]
    })
    expect(swapped).toEqual({
      [hex(keys[0]!)]: 'the entry of a transaction names another one',
      [hex(keys[1]!)]: 'the entry of a transaction names another one',
    })
  })
})

describe('a posting list', () => {
  const key = postingKey(payments.tag, [])
  const withLevel = (edge: PostingEdge, change: (entries: number[]) => void): PostingEdge => {
    const entries = edge.levels[0]!.slice()
    change(entries)
    return new PostingEdge(Math.floor(edge.count / FANOUT) * FANOUT + entries.length, [entries, ...edge.levels.slice(1)])
  }

  test('that lacks a record, or names one too many or one that does not exist, is named', async () => {
    const less = await audited((store) => [
      sealed(
        key,
        encodeEdge,
        withLevel(edgeOf(store, key), (entries) => entries.pop()),
      ),
    ])
    expect(less).toEqual({ [hex(key)]: 'a posting list lacks 1 records, and names 0 that are not of it' })
    const other = await audited((store) => {
      const operations = headOf(store).counts[3]!
      return [
        sealed(
          key,
          encodeEdge,
          withLevel(edgeOf(store, key), (entries) => {
            const free = Array.from({ length: operations }, (_, n) => n).findLast((n) => !entries.includes(n) && n > entries[0]!)!
            entries.push(free)
            entries.sort((a, b) => a - b)
          }),
        ),
      ]
    })
    expect(other).toEqual({ [hex(key)]: 'a posting list lacks 0 records, and names 1 that are not of it' })
    const beyond = await audited((store) => [
      sealed(
        key,
        encodeEdge,
        withLevel(edgeOf(store, key), (entries) => entries.push(headOf(store).counts[3]!)),
      ),
    ])
    expect(beyond).toEqual({ [hex(key)]: 'a posting list names a record that is not there, or not filed' })
  })

  test('that is empty, or has a malformed key, is named', async () => {
    const none = postingKey(payments.tag, ['x'])
    expect(await audited(() => [sealed(none, encodeEdge, PostingEdge.empty)])).toEqual({ [hex(none)]: 'a posting list is empty' })
    const more = postingKey(payments.tag, ['x'])
    expect(await audited(() => [sealed(more, encodeEdge, new PostingEdge(1, [[0]]))])).toEqual({
      [hex(more)]: 'a posting list lacks 0 records, and names 1 that are not of it',
    })
    const odd = Uint8Array.of(0x20, 77)
    expect(await audited(() => [sealed(odd, encodeEdge, new PostingEdge(1, [[0]]))])).toEqual({
      [hex(odd)]: 'unknown value',
    })
  })

  test('whose pages do not fit it is named', async () => {
    const foreign = postingPageKey(payments.tag, ['x'], 0, 0)
    const lonely = await audited(() => [
      sealed(
        foreign,
        encodePage,
        Array.from({ length: FANOUT }, (_, n) => n),
      ),
    ])
    expect(lonely[hex(postingKey(payments.tag, ['x']))]).toBe('the edge of a posting list is missing')
  })
})

describe('the book', () => {
  test('with an offer that is not as its last change left it, or has another seller, is named', async () => {
    let key = new Uint8Array(0)
    const first = (store: Store) => {
      key = keysOf(store, 0x40)[0]! as typeof key
      return decodeBlock(key, offers, held(store, key))
    }
    const changed = await audited((store) => {
      const row = first(store).row(0)
      return [sealed(key, encodeBlock, offers, [{ ...row, texts: [takeApart('"amount":"9"')] }])]
    })
    expect(changed).toEqual({ [hex(key)]: 'the offer is not as its last change left it' })
    const moved = await audited((store) => {
      const row = first(store).row(0)
      return [sealed(key, encodeBlock, offers, [{ ...row, sides: ['X', ...row.sides.slice(1)] }])]
    })
    expect(moved[hex(key)]).toBe('an offer of the book lies under the key of another')
    const two = await audited((store) => {
      const row = first(store).row(0)
      return [sealed(key, encodeBlock, offers, [row, row])]
    })
    expect(two[hex(key)]).toBe('it holds another number of records')
  })

  test('with an offer that was never made is named', async () => {
    const [key, back] = [bookKey('GA', 3n), bookSellerKey(3n)]
    const found = await audited((store) => {
      const source = keysOf(store, 0x40)[0]!
      const row = decodeBlock(source, offers, held(store, source)).row(0)
      return [
        sealed(key, encodeBlock, offers, [{ ...row, hi: 0, lo: 3, sides: ['GA', '3', ...row.sides.slice(2)] }]),
        sealed(back, encodeText, 'GA'),
      ]
    })
    expect(found).toEqual({
      [hex(key)]: 'the changes of the offer have removed it, or given it another seller',
      [hex(back)]: 'no offer of the book has this seller',
    })
  })

  test('with another seller beside an offer is named', async () => {
    let key = new Uint8Array(0)
    const found = await audited((store) => {
      key = keysOf(store, 0x41)[0]! as typeof key
      return [sealed(key, encodeText, 'X')]
    })
    expect(found).toEqual({ [hex(key)]: 'the offer has another seller' })
  })
})

describe('a head', () => {
  test.each([
    ['with another hash', { hash: 'ab' }, 'the head does not fit the newest ledger'],
    ['with another time', { closedAt: '2020-01-01T00:00:00Z' }, 'the head does not fit the newest ledger'],
    ['with another highest offer id', { topOffer: '1' }, 'the head does not fit the newest ledger'],
  ])('%s is named', async (_, change, reason) => {
    expect(await audited((store) => [headWith(store, change)])).toEqual({ '00': reason })
  })

  test('of older ledgers, or damaged, is named', async () => {
    const older = await audited((store) => {
      const head = headOf(store)
      return [headWith(store, { last: head.last - 1 })]
    })
    expect(older['00']).toBe('the counts of the head are not those of the newest ledger')
    expect(await audited((store) => [broken(store, HEAD)])).toEqual({ '00': CHECKSUM })
    expect((await audited(() => [[HEAD, undefined]]))['00']).toBe('the head is missing')
  })
})

describe('records', () => {
  const key = blockKey(transactions.tag, 1)

  test('that are damaged, missing, or fewer than they should be cannot be rebuilt', async () => {
    expect((await audited((store) => [broken(store, key)]))[hex(key)]).toBe(CHECKSUM)
    expect((await audited(() => [[key, undefined]]))[hex(key)]).toBe('a block of the transaction log is missing')
    const fewer = await audited((store) => {
      const block = decodeBlock(key, transactions, held(store, key))
      return [
        sealed(
          key,
          encodeBlock,
          transactions,
          [0, 1].map((at) => block.row(at)),
        ),
      ]
    })
    expect(fewer[hex(key)]).toBe('a block of the transaction log lacks records')
  })

  test('that differ from those that were digested are named by the digest', async () => {
    const found = await audited((store) => {
      const block = decodeBlock(key, transactions, held(store, key))
      const rows = Array.from({ length: block.count }, (_, at) => block.row(at))
      rows[0] = { ...rows[0]!, texts: [takeApart(`${rows[0]!.texts[0]!.text},"more":true`)] }
      return [sealed(key, encodeBlock, transactions, rows)]
    })
    expect(Object.entries(found)).toEqual([[expect.stringMatching(/^50/), 'the records of the ledger are not those that were digested']])
    const digest = digestKey(LAST - 2)
    expect(await audited(() => [[digest, encodeDigest(LAST - 2, new Uint8Array(32))]])).toEqual({
      [hex(digest)]: 'the records of the ledger are not those that were digested',
    })
  })
})

describe('a pruned store', () => {
  test('names what it holds too much or too little of', async () => {
    const digest = digestKey(FIRST)
    expect(await audited(() => [[digest, encodeDigest(FIRST, new Uint8Array(32))]], 4)).toEqual({
      [hex(digest)]: 'unknown value',
    })
    expect(await audited(() => [[PRUNED, undefined]], 4)).toEqual({
      '03': 'the numbers of lists that name pruned records are missing',
    })
    const more = await audited(
      (store) => {
        void store
        return [[PRUNED, encodePruned({})]]
      },
      4,
      false,
    )
    expect(Object.keys(more).length).toBeGreaterThan(3)
    expect(new Set(Object.values(more)).size).toBe(1)
  })

  test('names a last change that is missing, of another offer, or not the last', async () => {
    let key = new Uint8Array(0)
    const pick = (store: Store) => (key = keysOf(store, 0x42)[0]! as typeof key)
    expect(await audited((store) => [[pick(store), undefined]], 4)).toMatchObject({
      [hex(key)]: 'the last change of an offer that was pruned is missing',
    })
    const stray = baseKey(5n)
    const found = await audited((store) => {
      const from = pick(store)
      const row = decodeBlock(from, offerChanges, held(store, from)).row(0)
      return [sealed(stray, encodeBlock, offerChanges, [{ ...row, texts: [takeApart('')], sides: ['', '5', '', ''] }])]
    }, 4)
    expect(found).toEqual({ [hex(stray)]: 'it is not the last change of the offer that was pruned' })
  })
})

test('an audit reports how far it is, names no more faults than it is asked for, and can be stopped', async () => {
  const store = memory(await stored())
  await store.write(
    keysOf(store, 0x30).map((key): Write => [key, undefined]),
    { durable: true },
  )
  const said: string[] = []
  const { faults, faultCount } = await verifyStore(store, { maxFaults: 2, onFault: ({ key }) => said.push(key) })
  expect([faults.length, faultCount, said.length]).toEqual([2, keysCount(), keysCount()])
  await expect(verifyStore(store, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
})
const keysCount = (): number => closes.reduce((sum, { transactions: all = [] }) => sum + all.length, 0)
