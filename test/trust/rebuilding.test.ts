/**
 * From records to each kind of value that follows from them, kind by kind: the very bytes that were there, and nothing if nothing determines them.
 */
import { describe, expect, test } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import type { Context } from '../../src/audit/context.ts'
import {
  rebuildBases,
  rebuildBlock,
  rebuildBook,
  rebuildDigest,
  rebuildHashes,
  rebuildPruned,
  type Unsure,
} from '../../src/audit/rebuild.ts'
import { rebuildHead } from '../../src/audit/rebuild-head.ts'
import { rebuildLists } from '../../src/audit/rebuild-lists.ts'
import { audit } from '../../src/audit/verify.ts'
import { type LedgerClose, openLedger, repairStore, type Write } from '../../src/index.ts'
import { baseWrite } from '../../src/ingest/book.ts'
import { encodeDigest } from '../../src/layout/digest.ts'
import { encodeHash } from '../../src/layout/hash.ts'
import { encodeText } from '../../src/layout/head.ts'
import {
  baseKey,
  blockKey,
  bookKey,
  bookSellerKey,
  digestKey,
  ERA,
  HEAD,
  hashKey,
  PRUNED,
  postingKey,
  postingPageKey,
} from '../../src/layout/keys.ts'
import { decodePage, encodeEdge, encodePage, PostingEdge } from '../../src/layout/posting.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { changesByOffer, changesBySeller, offerChanges } from '../../src/resources/offer.ts'
import { operations, operationsByAccount } from '../../src/resources/operation.ts'
import { trades } from '../../src/resources/trade.ts'
import { transactions, transactionsByAccount } from '../../src/resources/transaction.ts'
import { longCloses } from '../support/closes.ts'
import { dump, hex, shared } from '../support/dump.ts'
import { broken, edgeOf, gone, headOf, held, keysOf, type Plant, rowsOf, type Store, sealed, storesOf, withRows } from './support.ts'

const FIRST = 5
const COUNT = 20
const LAST = FIRST + COUNT - 1
/**
 * Per ledger one transaction, one that failed and four operations, in the first ledger one more; offers 40 and 41 are made in the third and never
 * change.
 */
const closes = Array.from({ length: COUNT }, (_, n): LedgerClose => {
  const close = richClose(FIRST + n, hashOf(FIRST + n - 1, 99))
  const [one] = close.offers!.changed!
  const [first, failed] = close.transactions!
  const operations = [...first!.operations!, ...(n === 0 ? [{ type: 'inflation' }] : [])]
  const changed = n === 3 ? [one!, { ...one!, id: 40n, seller: 'GBOB' }, { ...one!, id: 41n, seller: 'GBOB' }] : [one!]
  return { ...close, transactions: [{ ...first!, operations }, failed!], offers: { changed, removed: n % 2 === 0 ? [8n] : [] } }
})
/** Offers that change in the first ledgers only, and trades too: those logs have no block left once all of them are pruned. */
const early = closes.map((close, n): LedgerClose => {
  const [first, failed] = close.transactions!
  const operations = first!.operations!.filter(({ type }) => n < 4 || type !== 'manage_offer')
  const { offers: _, ...rest } = close
  return { ...(n < 8 ? close : rest), transactions: [{ ...first!, operations }, failed!] }
})
const long = longCloses(FIRST, 4)

const { names, stored, planted } = storesOf({
  whole: { closes, fileEvery: 1 },
  unfiled: { closes, fileEvery: 1e6 },
  'half filed': { closes, fileEvery: 130 },
  pruned: { closes, oldest: FIRST + 6, fileEvery: 1 },
  'pruned by blocks': { closes, oldest: FIRST + 8, fileEvery: 1 },
  'pruned and unfiled': { closes, oldest: FIRST + 9, fileEvery: 1e6 },
  'pruned and half filed': { closes, oldest: FIRST + 2, fileEvery: 130 },
  'pruned to the last': { closes, oldest: LAST, fileEvery: 1 },
  'from the first of all': { closes: [1, 2].map((n) => richClose(n, hashOf(n - 1, 99))), fileEvery: 1 },
  single: { closes: closes.slice(0, 1), fileEvery: 1 },
  shorter: { closes: closes.slice(0, 16), fileEvery: 1 },
  early: { closes: early, oldest: FIRST + 10, fileEvery: 1 },
  long: { closes: long, fileEvery: 1 },
  'long and half filed': { closes: long, fileEvery: 200 },
  'long and pruned': { closes: long, oldest: FIRST + 1, fileEvery: 1 },
  'long, pruned by pages': { closes: long, oldest: FIRST + 3, fileEvery: 1 },
  'longer, pruned by pages': { closes: longCloses(FIRST, 10), oldest: FIRST + 5, fileEvery: 1 },
})
type Name = (typeof names)[number]

/** What an audit has learned about a store. */
const contextOf = async (store: Store): Promise<Context> => (await audit(store, {})).context
const contextIn = async (kind: Name, plant: Plant = () => []): Promise<Context> => contextOf(await planted(kind, plant))
/** Writes by key, only the last one of each key: what they leave. */
const left = (writes: readonly Write[]): Record<string, string | undefined> =>
  Object.fromEntries(writes.map(([key, value]) => [hex(key), value && hex(value)]))
const kept = (store: Store, keys: readonly Uint8Array[]): Record<string, string> =>
  Object.fromEntries(keys.map((key) => [hex(key), hex(held(store, key))]))
const longer = (key: Uint8Array, ...more: number[]): Uint8Array => Uint8Array.of(...key, ...more)

describe('a block', () => {
  test.each<[string, Name, Uint8Array]>([
    ['of an unknown log', 'whole', blockKey(99, 0)],
    ['under a longer key', 'whole', longer(blockKey(operations.tag, 0), 0)],
    ['under a shorter key', 'whole', Uint8Array.of(0x10, operations.tag, 0, 0, 0, 0, 0)],
    ['after a full last one', 'whole', blockKey(transactions.tag, 5)],
    ['after a last one that is not full', 'whole', blockKey(operations.tag, 6)],
    ['far after the last one', 'whole', blockKey(operations.tag, 2 ** 32)],
    ['that was pruned', 'pruned', blockKey(transactions.tag, 0)],
    ['that was pruned as the last one', 'pruned by blocks', blockKey(transactions.tag, 1)],
  ])('%s is removed', async (_, kind, key) => {
    const context = await contextIn(kind, () => [sealed(key, encodeText, 'x')])
    expect(await rebuildBlock(context, key)).toEqual([[key, undefined]])
  })

  test('with more records than are counted is cut to those, and with as many, with fewer, damaged or gone is left as it is', async () => {
    for (const [kind, number] of [
      ['whole', 5],
      ['whole', 2],
      ['pruned', 2],
    ] as const) {
      const key = blockKey(operations.tag, number)
      const rows = rowsOf(await stored(kind), operations, key)
      const more = [...rows, { ...rows.at(-1)!, lo: rows.at(-1)!.lo + 1 }]
      expect(left(await rebuildBlock(await contextIn(kind, () => [withRows(operations, key, more)]), key))).toStrictEqual(
        kept(await stored(kind), [key]),
      )
      for (const plant of [
        () => [],
        () => [withRows(operations, key, rows.slice(1))],
        (store: Store) => [broken(store, key)],
        () => [gone(key)],
      ])
        expect(await rebuildBlock(await contextIn(kind, plant), key)).toEqual([])
    }
  })

  test('whose first record is the last pruned one stays', async () => {
    const key = blockKey(trades.tag, 1)
    expect(await rebuildBlock(await contextIn('pruned', (store) => [broken(store, key)]), key)).toEqual([])
  })
})

describe('posting lists', () => {
  const alice = postingKey(operationsByAccount.tag, ['GALICE'])
  const page = (number: number, level = 0): Uint8Array => postingPageKey(operationsByAccount.tag, ['GALICE'], level, number)
  const full = Array.from({ length: 128 }, (_, n) => n)

  test.each(['whole', 'unfiled', 'half filed', 'long', 'long and half filed'] as const)(
    'of a store that is %s are as they were, from the records that are filed',
    async (kind) => {
      const store = await stored(kind)
      const keys = [...keysOf(store, 0x20), ...keysOf(store, 0x21)]
      const { filed, last } = headOf(store)
      expect([filed > 0, filed < last]).toEqual([kind !== 'unfiled', !['whole', 'long'].includes(kind)])
      const context = await contextIn(kind, () => keys.map(gone))
      expect(left(await rebuildLists(context, keys, new Map()))).toStrictEqual(kept(store, keys))
    },
  )

  test('are built once each, whether the key is that of an edge or of a page; of one with a whole edge, the page alone', async () => {
    const store = await stored('long')
    const pages = keysOf(store, 0x21).filter((key) => hex(key).startsWith(hex(page(0)).slice(0, -14)))
    expect(pages.length).toBe(1)
    const context = await contextIn('long')
    expect(left(await rebuildLists(context, [page(0)], new Map()))).toStrictEqual(kept(store, [page(0)]))
    const writes = await rebuildLists(context, [page(0), alice, page(3)], new Map())
    expect(writes.map(([key]) => hex(key))).toEqual([page(0), page(0), alice].map(hex))
  })

  test('lose keys that are not lists, lists that are empty, and pages that are not theirs', async () => {
    const [none, odd] = [postingKey(operationsByAccount.tag, ['GNOBODY']), postingKey(250, ['x'])]
    const strays = [page(1), page(0, 1), page(9, 3)]
    const context = await contextIn('long', () => [sealed(none, encodeText, 'x'), ...strays.map((key) => sealed(key, encodePage, full))])
    expect(await rebuildLists(context, [odd, none], new Map())).toEqual([
      [odd, undefined],
      [none, undefined],
    ])
    const store = await stored('long')
    expect(left(await rebuildLists(context, [alice], new Map()))).toStrictEqual({
      ...kept(store, [alice, page(0)]),
      ...Object.fromEntries(strays.map((key) => [hex(key), undefined])),
    })
  })

  test('name as much of what was pruned as they still did', async () => {
    for (const kind of ['pruned', 'pruned and half filed', 'long and pruned'] as const) {
      const store = await stored(kind)
      const edge = edgeOf(store, alice)
      const short = new PostingEdge(edge.count - 1, [edge.levels[0]!.slice(0, -1), ...edge.levels.slice(1)])
      const context = await contextIn(kind, () => [sealed(alice, encodeEdge, short)])
      const writes = left(await rebuildLists(context, [alice], new Map()))
      expect(writes[hex(alice)]).toBe(hex(held(store, alice)))
    }
  })

  test('that are gone name what is left, and for an offer its last pruned change', async () => {
    const store = await stored('pruned')
    const seven = postingKey(changesByOffer.tag, [7n])
    const context = await contextIn('pruned', () => [gone(alice), gone(seven)])
    const writes = left(await rebuildLists(context, [alice, seven], new Map()))
    const { since } = headOf(store)
    const least = (key: Uint8Array, from: number): PostingEdge => {
      const entries = edgeOf(store, key).levels[0]!.filter((ordinal) => ordinal >= from)
      return new PostingEdge(entries.length, [entries])
    }
    const passed = edgeOf(store, seven).levels[0]!.filter((ordinal) => ordinal < since[offerChanges.tag]!)
    expect(writes).toStrictEqual(
      left([sealed(alice, encodeEdge, least(alice, since[operations.tag]!)), sealed(seven, encodeEdge, least(seven, passed.at(-1)!))]),
    )
  })

  test('of an offer whose last pruned change is damaged too name what is left', async () => {
    const store = await stored('pruned')
    const [seven, seller] = [postingKey(changesByOffer.tag, [7n]), postingKey(changesBySeller.tag, ['GALICE'])]
    const context = await contextIn('pruned', (spoilt) => [gone(seven), gone(seller), broken(spoilt, baseKey(7n))])
    const since = headOf(store).since[offerChanges.tag]!
    const writes = left(await rebuildLists(context, [seven, seller], new Map()))
    const entries = (key: Uint8Array): number[] => edgeOf(store, key).levels[0]!.filter((ordinal) => ordinal >= since)
    expect(writes).toStrictEqual(
      left([seven, seller].map((key) => sealed(key, encodeEdge, new PostingEdge(entries(key).length, [entries(key)])))),
    )
  })

  test('are ascending, even if the last pruned change claims to be an earlier one', async () => {
    const store = await stored('pruned')
    const seven = postingKey(changesByOffer.tag, [7n])
    const entries = edgeOf(store, seven).levels[0]!
    expect(entries).not.toContain(1)
    const context = await contextIn('pruned', (spoilt) => [
      sealed(seven, encodeEdge, new PostingEdge(entries.length - 1, [entries.slice(0, -1)])),
      baseWrite(7n, rowsOf(spoilt, offerChanges, baseKey(7n))[0]!, 1),
    ])
    const all = [...entries, 1].sort((a, b) => a - b)
    expect(left(await rebuildLists(context, [seven], new Map()))).toStrictEqual(
      left([sealed(seven, encodeEdge, new PostingEdge(all.length, [all]))]),
    )
  })

  test('with a damaged page name none of its pruned records; if pages were pruned, they name those of the pages that are left', async () => {
    const rebuilt = async (kind: Name, entries: readonly number[], plant: Plant): Promise<void> => {
      const edge = PostingEdge.empty.append(entries, () => {})
      const writes = left(await rebuildLists(await contextIn(kind, plant), [alice], new Map()))
      expect(writes[hex(alice)]).toBe(left([sealed(alice, encodeEdge, edge)])[hex(alice)])
    }
    const whole = await stored('long')
    const all = [...decodePage(page(0), held(whole, page(0))), ...edgeOf(whole, alice).levels[0]!]
    const since = headOf(await stored('long and pruned')).since[operations.tag]!
    expect([all.length > 128, all[0]! < since, since < all[127]!]).toEqual([true, true, true])
    await rebuilt(
      'long and pruned',
      all.filter((ordinal) => ordinal >= since),
      (store) => [broken(store, page(0))],
    )
    await rebuilt('long, pruned by pages', all.slice(128), () => [])
  })

  test('with a damaged page keep the places of their pages if pages were pruned, unless it named pruned records', async () => {
    const kind = 'longer, pruned by pages'
    const store = await stored(kind)
    const { since, counts } = headOf(store)
    const { count, levels } = edgeOf(store, alice)
    const [two, three] = [2, 3].map((number) => decodePage(page(number), held(store, page(number))))
    const oldest = since[operations.tag]!
    expect([
      count >> 7,
      keysOf(store, 0x21)
        .map(hex)
        .filter((key) => key.startsWith('2103')),
    ]).toEqual([4, [page(2), page(3)].map(hex)])
    expect([two![0]! < oldest, oldest <= two!.at(-1)!]).toEqual([true, true])

    for (const plant of [(of: Store) => [broken(of, page(3))], () => [gone(page(3))]])
      expect(left(await rebuildLists(await contextIn(kind, plant), [page(3)], new Map()))).toStrictEqual(kept(store, [page(3)]))

    const strays = [page(0), page(1), page(4), page(0, 1), page(9, 3)]
    const context = await contextIn(kind, () => strays.map((key) => sealed(key, encodePage, full)))
    expect(left(await rebuildLists(context, [...strays, page(3)], new Map()))).toStrictEqual({
      ...Object.fromEntries(strays.map((key) => [hex(key), undefined])),
      ...kept(store, [page(3)]),
    })

    const known = [...two!, ...three!, ...levels[0]!].filter((ordinal) => ordinal >= oldest)
    const anew = async (
      plant: (of: Store) => readonly Write[],
      keys: readonly Uint8Array[],
      ordinals: readonly number[],
    ): Promise<void> => {
      const edge = PostingEdge.empty.append(ordinals, () => {})
      const writes = left(await rebuildLists(await contextIn(kind, plant), keys, new Map()))
      expect(writes[hex(alice)]).toBe(left([sealed(alice, encodeEdge, edge)])[hex(alice)])
    }
    await anew((of) => [broken(of, page(2))], [page(2)], known)
    await anew((of) => [broken(of, page(2)), broken(of, page(3))], [page(3), page(2)], known)
    await anew((of) => [broken(of, page(3)), broken(of, alice)], [page(3), alice], known)
    for (const edge of [gone(alice), broken(store, alice)]) await anew((of) => [broken(of, page(3)), edge], [page(3)], known)
    // What was in a block that cannot be read may be of the list.
    const last = (counts[operations.tag]! - 1) >> operations.shift
    const unreadable = (of: Store): readonly Write[] => [broken(of, page(3)), broken(of, blockKey(operations.tag, last))]
    for (const keys of [[page(3)], [alice], [page(3), alice]]) {
      const unsure: Unsure = new Map()
      expect(await rebuildLists(await contextIn(kind, unreadable), keys, unsure)).toEqual([])
      expect([...unsure.values()]).toEqual([alice])
    }
    // What is no page of it is removed all the same; and a list of another log is as it was.
    const strange = await rebuildLists(await contextIn(kind, unreadable), [page(4), page(0, 1)], new Map())
    expect(strange.map(([key, value]) => [hex(key), value])).toEqual([page(4), page(0, 1)].map((key) => [hex(key), undefined]))
    const [other, unsure]: [Uint8Array, Unsure] = [postingKey(transactionsByAccount.tag, ['GALICE']), new Map()]
    expect((await rebuildLists(await contextIn(kind, unreadable), [other], unsure)).length).toBeGreaterThan(0)
    expect(unsure.size).toBe(0)
  })
})

test('the numbers of lists that name pruned records are as they were', async () => {
  for (const kind of ['pruned', 'pruned and unfiled', 'early', 'long and pruned'] as const) {
    const context = await contextIn(kind, () => [gone(PRUNED)])
    expect(left(rebuildPruned(context))).toStrictEqual(kept(await stored(kind), [PRUNED]))
  }
})

describe('entries of hashes', () => {
  test.each(['whole', 'unfiled', 'pruned'] as const)('of a store that is %s are as they were; stray ones are removed', async (kind) => {
    const store = await stored(kind)
    const [keys, stray] = [keysOf(store, 0x30), hashKey('ab'.repeat(32))]
    const context = await contextIn(kind, () => keys.map(gone))
    const writes = await rebuildHashes(context, [stray, ...keys], new Map())
    expect(left(writes)).toStrictEqual({ ...kept(store, keys), [hex(stray)]: undefined })
    expect(writes.length).toBe(keys.length + 1)
    const asked = [hashKey(hashOf(LAST, 1)), hashKey(hashOf(LAST, 2))]
    expect(left(await rebuildHashes(context, asked, new Map()))).toStrictEqual(kept(store, asked))
  })

  test('say whether the transaction failed', async () => {
    const context = await contextIn('whole')
    const [one, failed] = [hashKey(hashOf(FIRST + 3, 1)), hashKey(hashOf(FIRST + 3, 2))]
    expect(await rebuildHashes(context, [one], new Map())).toEqual([sealed(one, encodeHash, { ordinal: 3, failed: false })])
    expect(await rebuildHashes(context, [failed], new Map())).toEqual([sealed(failed, encodeHash, { ordinal: 3, failed: true })])
  })
})

describe('the book', () => {
  const keysOfBook = async (store: Store): Promise<Uint8Array[]> => [...keysOf(store, 0x40), ...keysOf(store, 0x41)]
  const [stray, back] = [bookKey('GBOB', 6n), bookSellerKey(6n)]

  test.each(['whole', 'unfiled', 'pruned', 'pruned to the last', 'early'] as const)('of a store that is %s is as it was', async (kind) => {
    const store = await stored(kind)
    const keys = await keysOfBook(store)
    expect(keys.length).toBe(6)
    const context = await contextIn(kind, () => [...keys.map(gone), sealed(stray, encodeText, 'x'), sealed(back, encodeText, 'GBOB')])
    expect(left(await rebuildBook(context))).toStrictEqual({ ...kept(store, keys), [hex(stray)]: undefined, [hex(back)]: undefined })
  })

  test('does not hold what was removed', async () => {
    const context = await contextIn('whole', () => [sealed(bookSellerKey(8n), encodeText, 'GALICE')])
    expect(left(await rebuildBook(context))).toStrictEqual({
      ...kept(await stored('whole'), await keysOfBook(await stored('whole'))),
      [hex(bookSellerKey(8n))]: undefined,
    })
  })

  test('is left as it is if changes are lost, and so is an offer whose last pruned change is lost', async () => {
    const context = await contextIn('whole', () => [gone(blockKey(offerChanges.tag, 1)), gone(bookKey('GALICE', 7n))])
    expect(await rebuildBook(context)).toEqual([])
    const store = await stored('pruned')
    const certain = (await keysOfBook(store)).filter((key) => key.at(-1) !== 40)
    expect(certain.length).toBe(4)
    const unsure = await contextIn('pruned', (spoilt) => [broken(spoilt, baseKey(40n)), gone(bookKey('GALICE', 7n))])
    expect(left(await rebuildBook(unsure))).toStrictEqual(kept(store, certain))
    const missed = await contextIn('pruned', () => [gone(baseKey(40n)), gone(bookKey('GALICE', 7n))])
    expect(left(await rebuildBook(missed))).toStrictEqual(kept(store, certain))
  })
})

describe('the last pruned change of an offer', () => {
  const [seven, forty] = [baseKey(7n), baseKey(40n)]

  test('is the offer of the book, if it has not changed since', async () => {
    const store = await stored('pruned')
    for (const plant of [() => [gone(forty)], (spoilt: Store) => [broken(spoilt, forty)]])
      expect(left(await rebuildBases(await contextIn('pruned', plant), [forty]))).toStrictEqual(kept(store, [forty]))
    expect(await rebuildBases(await contextIn('pruned', () => [gone(seven)]), [seven])).toEqual([])
  })

  test('is the offer of the book even if the entry of its seller is lost, and nothing if the book is damaged too', async () => {
    const [entry, back] = [bookKey('GBOB', 40n), bookSellerKey(40n)]
    const rebuilt = async (plant: Plant): Promise<unknown> => left(await rebuildBases(await contextIn('pruned', plant), [forty]))
    const store = await stored('pruned')
    expect(await rebuilt((spoilt) => [broken(spoilt, forty), gone(back)])).toStrictEqual(kept(store, [forty]))
    expect(await rebuilt((spoilt) => [broken(spoilt, forty), broken(spoilt, back)])).toStrictEqual(kept(store, [forty]))
    expect(await rebuilt((spoilt) => [broken(spoilt, forty), broken(spoilt, entry)])).toStrictEqual({})
    expect(await rebuilt((spoilt) => [broken(spoilt, forty), gone(entry)])).toStrictEqual({})
  })

  test('is lost if changes are lost, since one of those may be a later one', async () => {
    const context = await contextIn('pruned', () => [gone(forty), gone(blockKey(offerChanges.tag, 1))])
    expect(await rebuildBases(context, [forty])).toEqual([])
  })

  test('is lost if the book has lost the offer too: of one that was removed nothing would be left', async () => {
    const [entry, back] = [bookKey('GBOB', 40n), bookSellerKey(40n)]
    expect(await rebuildBases(await contextIn('pruned', () => [gone(forty), gone(entry), gone(back)]), [forty])).toEqual([])
    const early = await stored('early')
    expect([baseKey(8n), postingKey(changesByOffer.tag, [8n])].map((key) => early.get(key))).toEqual([undefined, undefined])
  })

  test.each([
    ['an offer that did not change before', 'pruned', baseKey(9n)],
    ['an offer of a store that is whole', 'whole', seven],
    ['no offer', 'pruned', Uint8Array.of(0x42, 1)],
    ['a key longer than an offer', 'pruned', Uint8Array.of(0x42, ...bookKey('GBOB', 40n).subarray(1))],
  ] as const)('of %s is removed', async (_, kind, key) => {
    const context = await contextIn(kind, () => [sealed(key, encodeText, 'x')])
    expect(await rebuildBases(context, [key])).toEqual([[key, undefined]])
  })
})

describe('a digest', () => {
  test.each<[string, Name, Uint8Array]>([
    ['before the first ledger', 'whole', digestKey(FIRST - 1)],
    ['after the last ledger', 'whole', digestKey(LAST + 1)],
    ['that was pruned', 'pruned', digestKey(FIRST + 5)],
    ['under a longer key', 'whole', longer(digestKey(FIRST + 2), 0)],
    ['under a shorter key', 'whole', Uint8Array.of(0x50, 0, 0)],
    ['under a shorter key than that of any ledger', 'from the first of all', Uint8Array.of(0x50)],
  ])('%s is removed', async (_, kind, key) => {
    const context = await contextIn(kind)
    expect(await rebuildDigest(context, key)).toEqual([[key, undefined]])
  })

  test('that is damaged or gone is as it was; one that is whole stays, whatever it says', async () => {
    for (const [kind, sequence] of [
      ['whole', FIRST],
      ['whole', FIRST + 9],
      ['whole', LAST],
      ['pruned', FIRST + 6],
    ] as const) {
      const key = digestKey(sequence)
      for (const plant of [() => [gone(key)], (store: Store) => [broken(store, key)], () => [sealed(key, encodeText, 'short')]])
        expect(left(await rebuildDigest(await contextIn(kind, plant), key))).toStrictEqual(kept(await stored(kind), [key]))
      const other = encodeDigest(sequence, new Uint8Array(32))
      for (const plant of [() => [], () => [[key, other]] as const])
        expect(await rebuildDigest(await contextIn(kind, plant), key)).toEqual([])
    }
  })

  test('of a ledger that cannot be read stays lost, and that of its neighbour does not', async () => {
    const [one, next] = [digestKey(FIRST + 9), digestKey(FIRST + 12)]
    const context = await contextIn('whole', () => [gone(one), gone(next), gone(blockKey(trades.tag, 2))])
    expect(await rebuildDigest(context, one)).toEqual([])
    expect(left(await rebuildDigest(context, next))).toStrictEqual(kept(await stored('whole'), [next]))
  })
})

test('whatever goes through history or through the book ends with the reason of the signal', async () => {
  for (const [kind, rebuild] of [
    ['whole', (context: Context) => rebuildBook(context)],
    ['whole', (context: Context) => rebuildHead(context)],
    ['pruned', (context: Context) => rebuildBases(context, [baseKey(40n)])],
  ] as const) {
    const stop = new AbortController()
    const { context } = await audit(await planted(kind, () => (kind === 'pruned' ? [gone(baseKey(40n))] : [])), { signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(rebuild(context)).rejects.toThrow('enough')
  }
})

describe('a head', () => {
  test.each(names)('of a store that is %s is as it was', async (kind) => {
    const context = await contextIn(kind, () => [gone(HEAD)])
    expect(left(await rebuildHead(context))).toStrictEqual(kept(await stored(kind), [HEAD]))
  })

  test('of a store that processes share includes its era', async () => {
    const store = shared(memory())
    const ledger = await openLedger(store)
    await ledger.ingest(closes.slice(0, 5))
    await ledger.rollback(FIRST + 2)
    const before = await dump(store)
    await store.write([gone(HEAD)], { durable: true })
    expect(await repairStore(store)).toMatchObject({ repaired: 1, lost: [] })
    expect(await dump(store)).toEqual(before)
    // If that is damaged, it starts again at 0.
    await store.write([gone(HEAD), broken(store as never, ERA)], { durable: true })
    expect((await repairStore(store)).after).toMatchObject({ ok: true, last: FIRST + 2 })
    expect(headOf(store as never).era).toBe(0)
  })

  test('is that of the newest ledgers that exist', async () => {
    for (const plant of [() => [gone(blockKey(ledgers.tag, 2))], (store: Store) => [broken(store, blockKey(ledgers.tag, 2))]]) {
      const context = await contextIn('whole', async (store) => [...(await plant(store)), gone(HEAD)])
      expect(left(await rebuildHead(context))).toStrictEqual(kept(await stored('shorter'), [HEAD]))
    }
    const context = await contextIn('whole', () => [0, 1, 2].map((number) => gone(blockKey(ledgers.tag, number))))
    expect(await rebuildHead(context)).toEqual([])
  })

  test('says that everything exists if no digest says otherwise', async () => {
    const store = await stored('pruned')
    const digests = keysOf(store, 0x50)
    const [write] = await rebuildHead(await contextIn('pruned', () => digests.map(gone)))
    const whole = await planted('whole', () => [write!])
    expect(headOf(whole)).toEqual(headOf(await stored('whole')))
  })

  test('says where each log begins by the row of the ledger before the oldest, even if first blocks are lost', async () => {
    const key = blockKey(operations.tag, 1)
    for (const plant of [(store: Store) => [broken(store, key), gone(HEAD)], () => [gone(key), gone(HEAD)]])
      expect(left(await rebuildHead(await contextIn('pruned', plant)))).toStrictEqual(kept(await stored('pruned'), [HEAD]))
  })

  test('passes over no record that may be lost: without that row, a log begins with its first block, or one record before that', async () => {
    const whole = headOf(await stored('pruned by blocks'))
    const rebuilt = async (plant: Plant): Promise<readonly number[]> => {
      const [write] = await rebuildHead(await contextIn('pruned by blocks', async (store) => [...(await plant(store)), gone(HEAD)]))
      return headOf(await planted('pruned by blocks', () => [write!])).since
    }
    const first = whole.since[operations.tag]! >> operations.shift
    const key = blockKey(operations.tag, first)
    expect(await rebuilt(() => [])).toEqual(whole.since)
    for (const [plant, since] of [
      [(store: Store) => [broken(store, key)], first << operations.shift],
      [() => [gone(key)], ((first + 1) << operations.shift) - 1],
    ] as const) {
      const found = await rebuilt(plant)
      expect(found[operations.tag]).toBe(since)
      const others = found.map((one, tag) => (tag === operations.tag ? 0 : whole.since[tag]! - one))
      expect([others[ledgers.tag], Math.min(...others), Math.max(...others)]).toEqual([0, 0, 1])
    }
  })

  test('begins with the first ledger if nothing was pruned, whether its digest is there or not', async () => {
    const context = await contextIn('whole', () => [gone(HEAD), gone(digestKey(FIRST)), gone(digestKey(FIRST + 1))])
    expect(left(await rebuildHead(context))).toStrictEqual(kept(await stored('whole'), [HEAD]))
  })

  test('reaches from the first to the last ledger even if the first ledgers cannot be read', async () => {
    const [write] = await rebuildHead(await contextIn('half filed', () => [gone(blockKey(ledgers.tag, 0)), gone(HEAD)]))
    const head = headOf(await planted('half filed', () => [write!]))
    expect([head.first, head.oldest, head.last]).toEqual([FIRST, FIRST, LAST])
  })
})
