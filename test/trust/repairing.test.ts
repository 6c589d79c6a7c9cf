/** What a repair says it did: what was repaired, what is lost, where history was cut; and that it writes what it must, in the order it must. */
import { describe, expect, test } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { UNCOUNTED, UNNAMED, UNSURE, UNTOLD } from '../../src/audit/report.ts'
import {
  copyStore,
  describeStore,
  type Entry,
  type Fault,
  type LedgerClose,
  networkOf,
  openLedger,
  repairStore,
  verifyStore,
  type Write,
} from '../../src/index.ts'
import { encodeDigest } from '../../src/layout/digest.ts'
import {
  encodeEra,
  encodeFormat,
  encodeHighWater,
  encodeIntent,
  encodePruned,
  encodeText,
  fingerprint,
  kindOf,
} from '../../src/layout/head.ts'
import {
  baseKey,
  blockKey,
  bookKey,
  bookSellerKey,
  digestKey,
  ERA,
  FORMAT,
  HEAD,
  HIGH_WATER,
  hashKey,
  INTENT,
  KIND,
  PRUNED,
  postingKey,
} from '../../src/layout/keys.ts'
import { encodePage } from '../../src/layout/posting.ts'
import { SEAL_BYTES } from '../../src/layout/seal.ts'
import { indexes, logs } from '../../src/logs.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { changesByOffer, offerChanges, offers } from '../../src/resources/offer.ts'
import { operations, operationsByAccount } from '../../src/resources/operation.ts'
import { trades } from '../../src/resources/trade.ts'
import type { Apart } from '../../src/text/apart.ts'
import { dump, everything, hex } from '../support/dump.ts'
import { codeOf } from '../support/errors.ts'
import {
  broken,
  CHECKSUM,
  diskOf,
  edgeOf,
  fault,
  gone,
  headOf,
  headWith,
  held,
  keysOf,
  type Plant,
  resealed,
  rowsOf,
  STRAY,
  type Store,
  sealed,
  storesOf,
  withRows,
} from './support.ts'

const FIRST = 5
const COUNT = 20
const LAST = FIRST + COUNT - 1
/** Trades in the first six ledgers only, and an offer that is made in the third and never changes. */
const closes = Array.from({ length: COUNT }, (_, n): LedgerClose => {
  const close = richClose(FIRST + n, hashOf(FIRST + n - 1, 99))
  const [first, failed] = close.transactions!
  const own = first!.operations!.filter(({ type }) => n < 6 || type !== 'manage_offer')
  const [one] = close.offers!.changed!
  const changed = n === 2 ? [one!, { ...one!, id: 40n, seller: 'GBOB' }] : [one!]
  return { ...close, transactions: [{ ...first!, operations: own }, failed!], offers: { changed, removed: [8n] } }
})

const { names, stored, planted, mends, loses } = storesOf({
  whole: { closes, fileEvery: 1 },
  pruned: { closes, oldest: FIRST + 6, fileEvery: 1 },
  'cut to 8': { closes: closes.slice(0, 8), fileEvery: 1 },
  'cut to 7 and pruned': { closes: closes.slice(0, 7), oldest: FIRST + 6, fileEvery: 1 },
  'cut to 19': { closes: closes.slice(0, 19), fileEvery: 1 },
  empty: { closes: [], fileEvery: 1 },
})
type Name = (typeof names)[number]

/** The store, with what is written to it: one list per batch. */
function watched(store: Store): { store: Store; batches: (readonly Write[])[] } {
  const batches: (readonly Write[])[] = []
  const write: Store['write'] = (batch, options) => {
    batches.push(batch)
    expect(options.durable).toBe(true)
    return store.write(batch, options)
  }
  return { store: Object.assign(Object.create(store) as Store, { write }), batches }
}

/** The store, with how often it was read from its beginning. */
function counted(store: Store): { store: Store; audits: () => number } {
  let audits = 0
  const get: Store['get'] = (key) => {
    if (hex(key) === hex(FORMAT)) audits++
    return store.get(key)
  }
  return { store: Object.assign(Object.create(store) as Store, { get }), audits: () => audits }
}

/** The store, with a note beside it. */
function noted(store: Store, first?: Uint8Array): { store: Store; note: () => Uint8Array | undefined } {
  let bytes = first
  const note = {
    read: () => bytes,
    write(next: Uint8Array) {
      bytes = next
    },
  }
  return { store: Object.assign(Object.create(store) as Store, { note }), note: () => bytes }
}

/** Another store with the same values: one that fails to open as a ledger is closed. */
const copied = async (store: Store): Promise<Store> => memory(diskOf((await store.scan(everything, { limit: 1e6 })).entries))

const one = hashKey(hashOf(FIRST + 9, 1))
const block = blockKey(operations.tag, 2)

describe('a repair', () => {
  test('of a whole store writes only that no change is unfinished, and how far history reaches', async () => {
    for (const [kind, last] of [
      ['whole', LAST],
      ['pruned', LAST],
      ['empty', 0],
    ] as const) {
      const before = await stored(kind)
      const { store, batches } = watched(await stored(kind))
      const { store: beside, note } = noted(store)
      const report = await repairStore(beside)
      expect(report).toMatchObject({ repaired: 0, lost: [], after: { ok: true } })
      expect(Object.keys(report)).toEqual(['repaired', 'lost', 'after'])
      expect(batches).toEqual([[[INTENT, undefined]]])
      expect(note()).toEqual(encodeHighWater({ last }))
      expect(await dump(store)).toEqual(await dump(before))
    }
  })

  test('writes under its own intent, and clears it at the end', async () => {
    const { store, batches } = watched(await planted('whole', () => [gone(one), gone(HEAD)]))
    const report = await repairStore(store)
    expect(report).toMatchObject({ repaired: 2, lost: [] })
    expect(report.after).not.toHaveProperty('unfinished')
    const intent = [INTENT, encodeIntent({ repair: true })]
    expect(batches.map((batch) => batch.map(([key]) => hex(key)))).toEqual([['02', '00'], ['02', hex(one)], ['02']])
    expect(batches.map(([first]) => first)).toEqual([intent, intent, [INTENT, undefined]])
    expect(await dump(store)).toEqual(await dump(await stored('whole')))
  })

  test('writes blocks again that say what is not so of their texts', async () => {
    for (const kind of ['whole', 'pruned'] as const) {
      const keys = (await Promise.all([KIND.block, KIND.book, KIND.base].map(async (first) => keysOf(await stored(kind), first)))).flat()
      expect(new Set(keys.map(([first]) => first)).size).toBe(kind === 'pruned' ? 3 : 2)
      for (const key of keys) {
        const resource = key[0] === KIND.book ? offers : (logs.find(({ tag }) => key[0] === KIND.block && tag === key[1]) ?? offerChanges)
        const plant: Plant = (store) => {
          const [first, ...rows] = rowsOf(store, resource, key)
          const texts = first!.texts.map((text) => Object.assign(Object.create(text) as Apart, { simple: !text.simple }))
          return [withRows(resource, key, [{ ...first!, texts }, ...rows])]
        }
        await mends(kind, plant, fault(key, 'what it says of a text is not so'))
      }
    }
  })

  test('that was begun is finished, even if nothing is left to do', async () => {
    for (const plant of [() => [], () => [gone(one)]] as readonly Plant[]) {
      const store = await planted('whole', async (spoilt) => [...(await plant(spoilt)), [INTENT, encodeIntent({ repair: true })]])
      const { lost, after } = await repairStore(store)
      expect([lost, after.ok, after.unfinished]).toEqual([[], true, undefined])
      expect(await dump(store)).toEqual(await dump(await stored('whole')))
    }
  })

  test('counts what it repaired and lists what it could not', async () => {
    const evidence = digestKey(FIRST + 3)
    const plant: Plant = (store) => [
      gone(one),
      gone(bookKey('GALICE', 7n)),
      broken(store, postingKey(operationsByAccount.tag, ['GBOB'])),
      [evidence, encodeDigest(FIRST + 3, new Uint8Array(32))],
      gone(block),
    ]
    const lost = [
      fault(evidence, 'the records of the ledger are not those that were digested', FIRST + 3),
      fault(block, 'a block of the operation log is missing', FIRST + 8),
    ]
    const told: Fault[] = []
    const report = await repairStore(await planted('whole', plant), { onFault: (one) => told.push(one), maxFaults: 1 })
    const list = postingKey(operationsByAccount.tag, ['GBOB'])
    const others = [9, 10, 11, 12, 13].map((n) => fault(block, 'a block of the operation log is missing', FIRST + n))
    expect(report.lost).toEqual([...lost, fault(list, UNSURE), ...others])
    expect(report.after).toMatchObject({ ok: false, faults: [...lost, fault(list, CHECKSUM)], faultCount: 3 })
    expect(told.length).toBe(report.repaired + 3)
    expect(new Set(told.map(({ key }) => key)).size).toBe(told.length)
  })

  test('ends with the reason of its signal', async () => {
    const store = await planted('whole', () => [gone(one)])
    await expect(repairStore(store, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
    expect(await store.get(one)).toBeUndefined()
  })

  test('ends with that reason between two rounds, too', async () => {
    const stop = new AbortController()
    const store = await planted('whole', () => [gone(one)])
    const write: Store['write'] = (batch, options) => {
      stop.abort(new Error('enough'))
      return store.write(batch, options)
    }
    const stopping = Object.assign(Object.create(store) as Store, { write })
    await expect(repairStore(stopping, { signal: stop.signal })).rejects.toThrow('enough')
    expect(hex(held(store, INTENT))).toBe(hex(encodeIntent({ repair: true })))
  })

  test.each<[string, Name, boolean, Plant, number]>([
    ['nothing is wrong', 'whole', false, () => [], 1],
    ['everything is repaired at once', 'whole', false, () => [gone(one)], 2],
    ['nothing can be repaired', 'whole', false, () => [gone(block)], 1],
    ['everything is given up', 'whole', true, () => [gone(blockKey(operations.tag, 0))], 2],
    ['what is lost belongs to no ledger', 'pruned', true, () => [gone(baseKey(7n))], 1],
    ['history is cut', 'whole', true, () => [[digestKey(LAST), encodeDigest(LAST, new Uint8Array(32))]], 3],
    ['no head can be built', 'whole', false, () => [...[0, 1, 2].map((number) => gone(blockKey(ledgers.tag, number))), gone(HEAD)], 1],
  ])('reads a store no more often than it must: %s', async (_, kind, cut, plant, times) => {
    const { store, audits } = counted(await planted(kind, plant))
    await repairStore(store, { cut })
    expect(audits()).toBe(times)
  })

  test('reads a store once if its note alone is damaged', async () => {
    const { store, audits } = counted(noted(await stored('whole'), Uint8Array.of(1, 2, 3, 4, 5, 6)).store)
    expect(await repairStore(store)).toMatchObject({ repaired: 1, lost: [], after: { ok: true, faults: [], faultCount: 0 } })
    expect(audits()).toBe(1)
  })

  test('writes ten thousand values at a time, each time under its intent', async () => {
    const strays = Array.from({ length: 10_001 }, (_, n): Write => sealed(Uint8Array.of(0x77, n >> 8, n & 255), encodeText, 'x'))
    const { store, batches } = watched(await planted('whole', () => strays))
    expect(await repairStore(store)).toMatchObject({ repaired: 10_001, lost: [] })
    expect(batches.map(({ length }) => length)).toEqual([10_001, 2, 1])
    expect(batches.slice(0, 2).map(([first]) => first)).toEqual(Array(2).fill([INTENT, encodeIntent({ repair: true })]))
    expect(await dump(store)).toEqual(await dump(await stored('whole')))
  })
})

describe('damage that identifies itself', () => {
  test('leaves what is next to it as it was', async () => {
    const format = encodeFormat(fingerprint(logs, indexes), 'Public Network')
    const store = await planted('whole', () => [[FORMAT, format], sealed(Uint8Array.of(1, 1), encodeText, 'x')])
    expect(await repairStore(store)).toMatchObject({ repaired: 1, lost: [] })
    expect(hex(held(store, FORMAT))).toBe(hex(format))
    await mends('whole', () => [resealed(PRUNED, encodePruned({}))], fault(PRUNED, STRAY))
  })

  const flipped = (key: Uint8Array): Write => {
    const [, value] = sealed(key, encodeText, 'x') as [Uint8Array, Uint8Array]
    value[0]! ^= 1
    return [key, value]
  }

  test.each([
    ['of no kind', Uint8Array.of(0x77, 1)],
    ['of no kind before the lists', Uint8Array.of(0x11, 1)],
    ['under a longer key of the head', Uint8Array.of(0, 1)],
    ['under a longer key of the format', Uint8Array.of(1, 1)],
    ['under a longer key of the intent', Uint8Array.of(2, 1)],
    ['of an era', ERA],
    ['of the high water', HIGH_WATER],
    ['without a key', new Uint8Array(0)],
  ])('%s is removed', async (_, key) => {
    await mends('whole', () => [flipped(key)], fault(key, CHECKSUM))
  })

  test('of an intent is removed, under that of the repair, with a report that what was begun is unknown', async () => {
    const { store, batches } = watched(await planted('whole', () => [flipped(INTENT)]))
    expect(await repairStore(store)).toMatchObject({ repaired: 0, lost: [fault(INTENT, UNTOLD)], after: { ok: true } })
    for (const [key, value] of batches[0]!) expect([key, value]).toEqual([INTENT, encodeIntent({ repair: true })])
    expect(batches.slice(1)).toEqual([[[INTENT, undefined]]])
    expect(await dump(store)).toEqual(await dump(await stored('whole')))
  })

  const heads = [0, 1, 2, 3, 4, 5, 0x10, 0x20, 0x21, 0x30, 0x40, 0x41, 0x42, 0x50, 0x77]
  const short = heads.flatMap((first) =>
    [1, 4, 10].flatMap((second) => Array.from({ length: 9 }, (_, more) => Uint8Array.of(first, second, ...new Uint8Array(more).fill(5)))),
  )
  const page = Array.from({ length: 128 }, (_, n) => n)

  test.each<[string, (key: Uint8Array) => Write]>([
    ['sealed text', (key) => sealed(key, encodeText, 'x')],
    ['sealed pages', (key) => sealed(key, encodePage, page)],
    ['damaged', flipped],
    ['empty', (key) => [key, new Uint8Array(0)]],
  ])('is removed from under keys of any length, even if there is no head: %s', async (_, write) => {
    for (const [kind, damage] of [
      ['whole', []],
      ['pruned', [gone(HEAD)]],
    ] as const) {
      const before = await stored(kind)
      // A digest of a ledger above the newest says that ledgers are lost.
      const keys = short.filter((key) => before.get(key) === undefined && !(key[0] === 0x50 && key.length === 5))
      expect(keys.length).toBeGreaterThan(300)
      const store = await planted(kind, () => [...keys.map(write), ...damage])
      expect(await repairStore(store)).toMatchObject({ lost: [], after: { ok: true } })
      expect(await dump(store)).toEqual(await dump(before))
    }
  })

  test('does not include an era that is whole', async () => {
    const store = await planted('whole', () => [[ERA, encodeEra(3)], gone(one)])
    expect(await repairStore(store)).toMatchObject({ repaired: 1, lost: [] })
    expect(hex(held(store, ERA))).toBe(hex(encodeEra(3)))
  })

  test.each<[string, Name, (store: Store) => Uint8Array | Promise<Uint8Array>]>([
    ['a format', 'whole', () => FORMAT],
    ['a head', 'whole', () => HEAD],
    ['a head of a pruned store', 'pruned', () => HEAD],
    ['the numbers of lists that were pruned', 'pruned', () => PRUNED],
    ['a list', 'whole', () => postingKey(operationsByAccount.tag, ['GALICE'])],
    ['an entry of a hash', 'pruned', () => one],
    ['an offer', 'pruned', () => bookKey('GALICE', 7n)],
    ['the seller of an offer', 'pruned', () => bookSellerKey(7n)],
  ])('in %s is repaired', async (_, kind, keyOf) => {
    const key = await keyOf(await stored(kind))
    await mends(kind, (store) => [broken(store, key)], fault(key, CHECKSUM))
  })

  const named = encodeFormat(fingerprint(logs, indexes), 'Test "Network" ; 1')
  const changedAt = (at: number): Uint8Array => named.map((byte, n) => (n === (at + named.length) % named.length ? byte ^ 1 : byte))

  test.each([0, 12, 40, -5])('in a format (byte %i) is repaired, and the name of its network kept', async (at) => {
    const store = await planted('whole', () => [[FORMAT, changedAt(at)]])
    expect(await repairStore(store)).toMatchObject({ repaired: 1, lost: [], after: { ok: true } })
    expect(hex(held(store, FORMAT))).toBe(hex(named))
  })

  test.each<[string, Uint8Array | undefined]>([
    ['in the name of the network', changedAt(-10)],
    ['in the checksum over it', changedAt(-1)],
    ['that truncates it', named.subarray(0, -12)],
    ['that leaves nothing of it', new Uint8Array(0)],
    ['that takes the format away', undefined],
  ])('%s loses the name, and says so', async (_, format) => {
    const store = await planted('whole', () => [[FORMAT, format]])
    expect(await repairStore(store)).toMatchObject({ repaired: 0, lost: [fault(FORMAT, UNNAMED)], after: { ok: true } })
    expect(await networkOf(store)).toBeUndefined()
    expect(await repairStore(store)).toMatchObject({ repaired: 0, lost: [] })
  })

  test('in all kinds at once is repaired at once', async () => {
    const keys = [FORMAT, one, bookKey('GALICE', 7n), bookSellerKey(7n), PRUNED, hashKey(hashOf(FIRST + 9, 2))]
    const { store, batches } = watched(await planted('pruned', (spoilt) => keys.map((key) => broken(spoilt, key))))
    expect(await repairStore(store)).toMatchObject({ repaired: 6, lost: [], after: { ok: true } })
    expect(batches.length).toBe(2)
    expect(await dump(store)).toEqual(await dump(await stored('pruned')))
  })
})

describe('a list that is known only by the number of lists', () => {
  // That of an offer which never changed again, and of which nothing else is left.
  const offer = postingKey(changesByOffer.tag, [40n])
  const lostOffer = [offer, baseKey(40n), bookKey('GBOB', 40n), bookSellerKey(40n)].map(gone)
  const forgotten = 'a posting list of this index is missing; everything it named was pruned, so its key is unknown'

  test('is lost, and asked for no longer', async () => {
    const store = await planted('pruned', () => lostOffer)
    const report = await repairStore(store)
    expect(report).toMatchObject({ repaired: 0, lost: [fault(offer.subarray(0, 2), forgotten)], after: { ok: true, faults: [] } })
    const numbers = JSON.parse(
      Buffer.from(held(await stored('pruned'), PRUNED))
        .toString('latin1')
        .replace(/\}.*$/s, '}'),
    )
    const { [changesByOffer.tag]: count } = numbers
    expect(count).toBe(3)
    expect(hex(held(store, PRUNED))).toBe(hex(encodePruned({ ...numbers, [changesByOffer.tag]: 2 })))
    expect(await repairStore(store)).toMatchObject({ repaired: 0, lost: [] })
  })

  test('is lost too if its number is damaged; whether it was another list cannot be told', async () => {
    for (const key of [offer, postingKey(operationsByAccount.tag, ['GALICE'])]) {
      const store = await planted('pruned', (whole) => [broken(whole, key), broken(whole, PRUNED)])
      expect(await repairStore(store)).toMatchObject({ repaired: 1, lost: [fault(PRUNED, UNCOUNTED)], after: { ok: true } })
      expect(await repairStore(store)).toMatchObject({ repaired: 0, lost: [] })
    }
  })

  test('and one that is repaired are told apart', async () => {
    const store = await planted('pruned', () => [...lostOffer, gone(one)])
    expect(await repairStore(store)).toMatchObject({ repaired: 1, lost: [fault(offer.subarray(0, 2), forgotten)], after: { ok: true } })
  })
})

describe('what only pruned ledgers said', () => {
  const key = baseKey(7n)

  test('is lost if a later change hides it', async () => {
    await loses('pruned', () => [gone(key)], fault(key, 'the last change of an offer that was pruned is missing'))
  })

  test('is found in the book if the offer has not changed since', async () => {
    const forty = baseKey(40n)
    await mends('pruned', () => [gone(forty)], fault(forty, 'the last change of an offer that was pruned is missing'))
    await mends('pruned', (store) => [broken(store, forty)], fault(forty, CHECKSUM))
  })

  test('about an offer is kept if the list of its changes is gone, and the rebuilt list names it', async () => {
    const list = postingKey(changesByOffer.tag, [7n])
    const store = await planted('pruned', () => [gone(list)])
    const before = await stored('pruned')
    const since = headOf(before).since[offerChanges.tag]!
    expect(await repairStore(store)).toMatchObject({ repaired: 1, lost: [], after: { ok: true } })
    expect(hex(held(store, key))).toBe(hex(held(before, key)))
    const entries = edgeOf(before, list).levels[0]!
    const last = entries.filter((ordinal) => ordinal < since).at(-1)!
    expect(edgeOf(store, list).levels).toEqual([entries.filter((ordinal) => ordinal >= last)])
  })

  test('about an offer that never changed again is all there is of its list, which is rebuilt from it', async () => {
    const list = postingKey(changesByOffer.tag, [40n])
    await mends('pruned', () => [gone(list)], fault(list, 'a posting list is missing, all of whose records were pruned'))
    const rest = [bookKey('GBOB', 40n), bookSellerKey(40n)]
    const store = await planted('pruned', () => [list, ...rest].map(gone))
    expect(await repairStore(store)).toMatchObject({ repaired: 3, lost: [], after: { ok: true } })
    expect(await dump(store)).toEqual(await dump(await stored('pruned')))
  })

  test('about an offer that never changed again is lost with its list, and said to be, if the book shows it', async () => {
    const [list, forty] = [postingKey(changesByOffer.tag, [40n]), baseKey(40n)]
    for (const seller of [false, true])
      for (const spoil of [gone, (key: Uint8Array): Write => [key, Uint8Array.of(1)]]) {
        const store = await planted('pruned', () => [gone(list), spoil(forty), ...(seller ? [gone(bookSellerKey(40n))] : [])])
        const { lost, after } = await repairStore(store)
        expect([lost.map((one) => one.key), after.ok]).toEqual([[hex(list.subarray(0, 2)), hex(forty)], true])
        expect(await repairStore(store)).toMatchObject({ repaired: 0, lost: [] })
      }
  })
})

const entriesIn = async (store: Store): Promise<Entry[]> => (await store.scan(everything, { limit: 100_000 })).entries

describe('history that is cut', () => {
  const missing = 'a block of the operation log is missing'

  test('ends before the first ledger that is lost, and what was lost is no longer reported', async () => {
    const { store, batches } = watched(
      await planted('whole', () => [gone(blockKey(operations.tag, 2)), gone(blockKey(operations.tag, 3)), gone(one)]),
    )
    const report = await repairStore(store, { cut: true })
    expect(headOf(await stored('cut to 8')).last).toBe(FIRST + 7)
    expect(report).toMatchObject({ lost: [], cutAfter: FIRST + 7, after: { ok: true, last: FIRST + 7, ledgers: 8 } })
    expect(await dump(store)).toEqual(await dump(await stored('cut to 8')))
    expect(batches.at(-1)).toEqual([[INTENT, undefined]])
    const digests = Array.from({ length: COUNT - 8 }, (_, n) => hex(digestKey(FIRST + 8 + n)))
    // What can be read of the ledgers that are given up is looked at before.
    expect(batches[0]!.map(([key]) => hex(key))).toEqual(['02', hex(one)])
    expect(batches[1]!.map(([key]) => hex(key))).toEqual(['02', ...digests, '00'])
  })

  test('ends with the last ledger that is whole, if a block is as it was some ledgers ago', async () => {
    for (const [name, last] of [
      ['cut to 8', FIRST + 7],
      ['cut to 19', FIRST + 18],
    ] as const) {
      const [before, now] = [await stored(name), await stored('whole')]
      const older = (await entriesIn(before))
        .filter(([[kind]]) => kind === KIND.block)
        .filter(([key, value]) => hex(held(now, key)) !== hex(value))
      expect(older.length).toBeGreaterThan(2)
      for (const back of [...older.map((one) => [one]), older]) {
        const store = await planted('whole', () => back)
        expect(await repairStore(store, { cut: true })).toMatchObject({ lost: [], cutAfter: last, after: { ok: true, last } })
        expect(await dump(store)).toEqual(await dump(before))
      }
    }
  })

  test('ends earlier if a ledger that is whole then cannot be read for another reason', async () => {
    const before = await stored('cut to 19')
    const key = (await entriesIn(before)).map(([key]) => key).findLast((key) => key[0] === KIND.block && key[1] === operations.tag)!
    const store = await planted('whole', () => [[key, held(before, key)], gone(blockKey(operations.tag, 2))])
    expect(await repairStore(store, { cut: true })).toMatchObject({ lost: [], cutAfter: FIRST + 7, after: { ok: true, last: FIRST + 7 } })
    expect(await dump(store)).toEqual(await dump(await stored('cut to 8')))
  })

  test('does not hide what was lost before the cut', async () => {
    const base = baseKey(7n)
    const report = await repairStore(await planted('pruned', () => [gone(base), gone(block)]), { cut: true })
    expect(report).toMatchObject({
      cutAfter: FIRST + 7,
      lost: [fault(base, 'the last change of an offer that was pruned is missing')],
      after: { ok: false, last: FIRST + 7 },
    })
  })

  test('of a pruned store ends there too', async () => {
    const lost = blockKey(operations.tag, 2)
    const { faults } = (await repairStore(await planted('pruned', () => [gone(lost)]))).after
    expect(faults).toEqual([fault(lost, missing, FIRST + 8)])
    const report = await repairStore(await planted('pruned', () => [gone(lost)]), { cut: true })
    expect(report).toMatchObject({ lost: [], cutAfter: FIRST + 7, after: { ok: true, oldest: FIRST + 6, last: FIRST + 7 } })
  })

  const headless: Plant = () => [...[0, 1, 2].map((number) => gone(blockKey(ledgers.tag, number))), gone(HEAD)]
  const ofAnother = (store: Store): Write => [FORMAT, held(store, FORMAT).with(-SEAL_BYTES, 50)]
  const unfinished: Plant = () => [gone(blockKey(operations.tag, 0)), [INTENT, encodeIntent({ prune: FIRST + 8 })]]
  test.each<[string, Name, Plant]>([
    ['its first ledger is lost', 'whole', () => [gone(blockKey(operations.tag, 0))]],
    ['the first ledger that pruning left is lost', 'pruned', () => [gone(blockKey(operations.tag, 1))]],
    ['no head can be built', 'whole', headless],
    ['no head can be built, and the format is damaged', 'whole', async (store) => [...(await headless(store)), ofAnother(store)]],
    ['a pruning was unfinished', 'whole', unfinished],
  ])('is given up as a whole if %s: the store is empty, and takes it again', async (_, kind, plant) => {
    const store = await planted(kind, plant)
    expect(await repairStore(store, { cut: true })).toMatchObject({ lost: [], cutAfter: 0, after: { ok: true, ledgers: 0 } })
    expect((await store.scan(everything, { limit: 9 })).entries.map(([key]) => hex(key))).toEqual([hex(FORMAT)])
    const [twin, again] = [await stored('whole'), await openLedger(store, { fileEvery: 1 })]
    await again.ingest(closes, { durable: false })
    expect(await dump(store)).toEqual(await dump(twin))
  })

  test('leaves what a killed repair can give up again', async () => {
    const { store, batches } = watched(await planted('whole', () => [gone(blockKey(operations.tag, 0))]))
    await repairStore(store, { cut: true })
    const kept = await planted('whole', () => [gone(blockKey(operations.tag, 0)), ...batches[0]!.slice(0, 9)])
    expect(await repairStore(kept, { cut: true })).toMatchObject({ lost: [], cutAfter: 0, after: { ok: true } })
  })

  test('may lose only the newest ledger, and may keep only the oldest', async () => {
    const spoiltLast: Plant = () => [[digestKey(LAST), encodeDigest(LAST, new Uint8Array(32))]]
    const store = await planted('whole', spoiltLast)
    expect(await repairStore(store, { cut: true })).toMatchObject({ lost: [], cutAfter: LAST - 1, after: { ok: true, last: LAST - 1 } })
    expect(await dump(store)).toEqual(await dump(await stored('cut to 19')))
    const second: Plant = () => [[digestKey(FIRST + 7), encodeDigest(FIRST + 7, new Uint8Array(32))]]
    const shorter = await planted('pruned', second)
    expect(await repairStore(shorter, { cut: true })).toMatchObject({
      lost: [],
      cutAfter: FIRST + 6,
      after: { oldest: FIRST + 6, last: FIRST + 6 },
    })
    expect(await dump(shorter)).toEqual(await dump(await stored('cut to 7 and pruned')))
  })

  test('is cut only on request, and only if a ledger is lost', async () => {
    const told = await repairStore(await planted('whole', () => [gone(block)]))
    const all = [8, 9, 10, 11, 12, 13].map((n) => fault(block, missing, FIRST + n))
    expect(told).toMatchObject({ lost: all, after: { ok: false, last: LAST, faults: all.slice(0, 1) } })
    expect(told).not.toHaveProperty('cutAfter')
    const repaired = await repairStore(await planted('whole', () => [gone(one)]), { cut: true })
    expect(repaired).toMatchObject({ repaired: 1, lost: [], after: { ok: true, last: LAST } })
    expect(repaired).not.toHaveProperty('cutAfter')
    const base = baseKey(7n)
    const kept = await repairStore(await planted('pruned', () => [gone(base)]), { cut: true })
    expect(kept).toMatchObject({ repaired: 0, lost: [{ key: hex(base) }], after: { ok: false, last: LAST } })
    expect(kept).not.toHaveProperty('cutAfter')
  })

  test('is noted beside the store, and what was noted of ledgers that were cut is not reported as lost', async () => {
    const { store, note } = noted(await planted('whole', () => [gone(block)]), encodeHighWater({ last: LAST }))
    expect(await repairStore(store, { cut: true })).toMatchObject({
      lost: [],
      cutAfter: FIRST + 7,
      after: { ok: true, faults: [], last: FIRST + 7 },
    })
    expect(note()).toEqual(encodeHighWater({ last: FIRST + 7 }))
  })
})

describe('ledgers that are gone', () => {
  const text = `ledgers ${LAST + 1} to ${LAST + 3} were held, and are gone`

  test('are lost, and no longer asked for', async () => {
    const { store, note } = noted(await stored('whole'), encodeHighWater({ last: LAST + 3 }))
    const report = await repairStore(store)
    expect(report).toMatchObject({ repaired: 0, lost: [fault(HIGH_WATER, text)], after: { ok: true, faults: [], faultCount: 0 } })
    expect(note()).toEqual(encodeHighWater({ last: LAST }))
    expect(await repairStore(store)).toMatchObject({ repaired: 0, lost: [], after: { ok: true } })
  })

  test.each([LAST, FIRST + 3])('are noticed if another one has the number: %d', async (ledger) => {
    const hash = 'ab'.repeat(32)
    const { store, note } = noted(await stored('whole'), encodeHighWater({ last: ledger, hash }))
    const lost = [fault(HIGH_WATER, `ledger ${ledger} was held with the hash ${hash}, and is gone`)]
    const kept = noted(await stored('whole'), note())
    expect(await codeOf(() => openLedger(kept.store))).toBe('STORE_WENT_BACK')
    expect(await verifyStore(store)).toMatchObject({ ok: false, faults: lost, faultCount: 1 })
    expect((await describeStore(store)).noted).toBe(ledger)
    expect(await repairStore(store)).toMatchObject({ repaired: 0, lost, after: { ok: true, faults: [] } })
    expect(note()).toEqual(encodeHighWater({ last: LAST }))
    expect(await codeOf(() => openLedger(store))).toBe('no error')
  })

  test('are not asked for if they are held, were pruned, or cannot be read', async () => {
    const hash = hashOf(FIRST + 3, 99)
    const same = encodeHighWater({ last: FIRST + 3, hash: closes[3]!.ledger.hash })
    const other = encodeHighWater({ last: FIRST + 3, hash })
    const lost = () => [gone(blockKey(ledgers.tag, 0))]
    for (const { store } of [
      noted(await stored('whole'), same),
      noted(await stored('pruned'), other),
      noted(await planted('whole', lost), other),
    ]) {
      expect((await verifyStore(store)).faults.filter(({ key }) => key === hex(HIGH_WATER))).toEqual([])
      expect((await describeStore(store)).noted).toBe(undefined)
    }
  })

  test('are not confused with a value in the store under the key of the note', async () => {
    const { store } = noted(
      await planted('whole', () => [sealed(HIGH_WATER, encodeText, 'x'), gone(one)]),
      encodeHighWater({ last: LAST + 3 }),
    )
    const report = await repairStore(store)
    expect(report.lost).toEqual([fault(HIGH_WATER, text)])
    expect(report.repaired).toBe(1)
  })

  test('are all of them if the blocks of ledgers are gone: then there is no head to build', async () => {
    const blocks = [0, 1, 2].map((number) => blockKey(ledgers.tag, number))
    const store = await planted('whole', () => [...blocks.map(gone), gone(HEAD)])
    const { lost, repaired } = await repairStore(store)
    expect([lost[0], repaired]).toEqual([fault(HEAD, 'the head is missing'), 0])
    expect(await codeOf(() => openLedger(store))).toBe('STORE_UNREPAIRED')
  })
})

describe('a head that is damaged', () => {
  test('is rebuilt first, and then what it hid is repaired', async () => {
    const stray = hashKey('ab'.repeat(32))
    const store = await planted('whole', (spoilt) => [
      headWith(spoilt, { hash: 'ab' }),
      gone(one),
      gone(digestKey(FIRST + 3)),
      sealed(stray, encodeText, 'x'),
    ])
    expect(await repairStore(store)).toMatchObject({ lost: [], after: { ok: true } })
    expect(await dump(store)).toEqual(await dump(await stored('whole')))
  })

  const rest = blockKey(ledgers.tag, 2)
  const newestLost = (spoilt: Store): Write[] => [gone(rest), broken(spoilt, HEAD)]

  test('with the newest ledgers lost is not taken for whole: what names them stays, and is reported as lost', async () => {
    const store = await planted('whole', newestLost)
    const { lost, after } = await repairStore(store)
    expect(lost).toContainEqual(fault(HEAD, 'the head is older than the ledgers that are there'))
    expect([after.ok, after.last]).toEqual([false, FIRST + 15])
    const before = await dump(await stored('whole'))
    const kept = before.filter((line) => !line.startsWith('00=') && !line.startsWith(hex(rest)))
    expect((await dump(store)).filter((line) => !/^0[02]=/.test(line))).toEqual(kept)
  })

  test('with the newest ledgers lost is not opened, so that nothing takes the places of their records, before history is ended', async () => {
    for (const cut of [undefined, { prune: FIRST + 4 }, { rollback: FIRST + 17 }]) {
      const store = await planted('whole', (spoilt) => [...newestLost(spoilt), ...(cut ? [[INTENT, encodeIntent(cut)] as Write] : [])])
      for (let run = 0; run < 2; run++) {
        expect((await repairStore(store)).after.unfinished).toBe('repair')
        expect(await verifyStore(store)).toMatchObject({ ok: false, unfinished: 'repair' })
        expect(await codeOf(async () => openLedger(await copied(store)))).toBe('STORE_UNREPAIRED')
        expect(await codeOf(() => copyStore(store, memory()))).toBe('STORE_UNREPAIRED')
      }
      const { cutAfter, after } = await repairStore(store, { cut: true })
      expect([cutAfter, after.ok, after.unfinished]).toEqual([FIRST + 15, true, cut && kindOf(cut)])
      const ledger = await openLedger(store, { fileEvery: 1 })
      await ledger.ingest(closes.filter(({ ledger: { sequence } }) => sequence > FIRST + 15))
      if (!cut || 'rollback' in cut) expect(await dump(store)).toEqual(await dump(await stored('whole')))
      expect(await verifyStore(store)).toMatchObject({ ok: true })
    }
  })

  test('is rebuilt by itself, and what else was found is repaired afterwards', async () => {
    const digest = digestKey(FIRST + 3)
    const { store, batches } = watched(await planted('whole', (spoilt) => [headWith(spoilt, { hash: 'ab' }), gone(digest)]))
    expect(await repairStore(store)).toMatchObject({ repaired: 2, lost: [] })
    expect(batches.map((batch) => batch.map(([key]) => hex(key)))).toEqual([['02', '00'], ['02', hex(digest)], ['02']])
  })

  test('and blocks that nothing refers to are repaired together', async () => {
    const key = blockKey(trades.tag, 9)
    await mends('whole', () => [sealed(key, encodeText, 'x')], fault(key, 'no ledger that is held has this block'))
    const store = await planted('whole', (spoilt) => [broken(spoilt, HEAD), sealed(key, encodeText, 'x')])
    expect(await repairStore(store)).toMatchObject({ repaired: 2, lost: [], after: { ok: true } })
    expect(keysOf(store, 0x10).map(hex)).not.toContain(hex(key))
    expect(await dump(store)).toEqual(await dump(await stored('whole')))
  })
})

test('a repaired store opens and carries on', async () => {
  const store = await planted('cut to 8', () => [gone(HEAD), gone(one)])
  await repairStore(store)
  const ledger = await openLedger(store, { fileEvery: 1 })
  await ledger.ingest(closes)
  expect(await dump(store)).toEqual(await dump(await stored('whole')))
})
