/** What an audit makes of records: what it says about each that is not as it should be, what it leaves out, and what it adds up. */
import { describe, expect, test, vi } from 'vitest'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { Context } from '../../src/audit/context.ts'
import { checkRecords, sumOfRow } from '../../src/audit/records.ts'
import { Findings, type VerifyOptions } from '../../src/audit/report.ts'
import { Tally } from '../../src/audit/tally.ts'
import type { Fault, LedgerClose, Write } from '../../src/index.ts'
import { encodeDigest } from '../../src/layout/digest.ts'
import { decodeHash } from '../../src/layout/hash.ts'
import { decodeHead } from '../../src/layout/head.ts'
import { blockKey, digestKey, HEAD } from '../../src/layout/keys.ts'
import type { Row } from '../../src/layout/row.ts'
import { logs } from '../../src/logs.ts'
import type { Resource } from '../../src/query.ts'
import { effects } from '../../src/resources/effect.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { offerChanges } from '../../src/resources/offer.ts'
import { operations } from '../../src/resources/operation.ts'
import { trades } from '../../src/resources/trade.ts'
import { failedTransactions, transactions } from '../../src/resources/transaction.ts'
import { takeApart } from '../../src/text/writer.ts'
import {
  broken,
  CHECKSUM,
  edgeOf,
  fault,
  gone,
  headOf,
  headWith,
  held,
  keysOf,
  type Plant,
  rowsOf,
  type Store,
  storesOf,
  withRows,
} from './support.ts'

/** What the engine takes for the clock: it takes hold of that when it is loaded. */
const clock = vi.hoisted(() => {
  const clock = { now: performance.now.bind(performance) }
  performance.now = () => clock.now()
  return clock
})

const FIRST = 5
const COUNT = 20
const LAST = FIRST + COUNT - 1
/** Per ledger: itself, a transaction, one that failed, four operations, in the first ledger one more, two effects, two trades; then its offers. */
const EACH = 1 + 1 + 1 + 4 + 2 + 2
const NEVER = 1e6
/** Offer 7 changes in every ledger; the third ledger makes 40 and then 20, the tenth makes one of many digits, which the next one removes. */
const HIGH = 9007199254740993n
const closes = Array.from({ length: COUNT }, (_, n): LedgerClose => {
  const close = richClose(FIRST + n, hashOf(FIRST + n - 1, 99))
  const [one] = close.offers!.changed!
  const [first, failed] = close.transactions!
  // Lets a block end within a ledger.
  const operations = [...first!.operations!, ...(n === 0 ? [{ type: 'inflation' }] : [])]
  const more = n === 3 ? [40n, 20n] : n === 10 ? [HIGH] : []
  const changed = [one!, ...more.map((id) => ({ ...one!, id, seller: 'GBOB' }))]
  return { ...close, transactions: [{ ...first!, operations }, failed!], offers: { changed, removed: n === 11 ? [8n, HIGH] : [8n] } }
})
const CHANGES = 2 * COUNT + 4

const { names, stored, planted } = storesOf({
  whole: { closes, fileEvery: 1 },
  unfiled: { closes, fileEvery: NEVER },
  'half filed': { closes, fileEvery: 120 },
  pruned: { closes, oldest: FIRST + 6, fileEvery: 1 },
  'pruned to the last': { closes, oldest: LAST, fileEvery: 1 },
  single: { closes: closes.slice(0, 1), fileEvery: 1 },
  'without operations': {
    closes: closes.map((close) => ({ ...close, transactions: close.transactions!.map((one) => ({ ...one, operations: [] })) })),
    fileEvery: 1,
  },
})
type Name = (typeof names)[number]

/** An audit of the records alone. */
async function checkedIn(store: Store, options: VerifyOptions = {}): Promise<Context> {
  const context = new Context(store, decodeHead(held(store, HEAD)), new Findings(options))
  await checkRecords(context)
  return context
}
const checked = async (kind: Name, plant: Plant = () => []): Promise<Context> => checkedIn(await planted(kind, plant))
const saidOf = async (kind: Name, plant: Plant): Promise<readonly Fault[]> => (await checked(kind, plant)).findings.faults

const ledgerBlock = (sequence: number): Uint8Array => blockKey(ledgers.tag, Math.floor((sequence - FIRST) / 8))
const rowOfLedger = (store: Store, sequence: number): Row => rowsOf(store, ledgers, ledgerBlock(sequence))[(sequence - FIRST) % 8]!
/** The counts of every log after a ledger. */
const countsAt = (store: Store, sequence: number): readonly number[] =>
  sequence < FIRST ? Array(8).fill(0) : rowOfLedger(store, sequence).sides[0]!.split(',').map(Number)

/** A record changed, by its number in its log. */
const changed =
  (resource: Resource, ordinal: number, change: (row: Row) => Row): Plant =>
  (store) => {
    const size = 1 << resource.shift
    const key = blockKey(resource.tag, Math.floor(ordinal / size))
    return [
      withRows(
        resource,
        key,
        rowsOf(store, resource, key).map((row, at) => (at === ordinal % size ? change(row) : row)),
      ),
    ]
  }
const ledgerWith = (sequence: number, change: (row: Row) => Row): Plant => changed(ledgers, sequence - FIRST, change)
const both =
  (...plants: Plant[]): Plant =>
  async (store) => {
    const writes: Write[] = []
    for (const plant of plants) {
      const more = await plant(store)
      await store.write(more, { durable: false })
      writes.push(...more)
    }
    return writes
  }
const side =
  (column: number, change: (side: string) => string) =>
  (row: Row): Row => ({ ...row, sides: row.sides.map((one, at) => (at === column ? change(one) : one)) })
const text =
  (change: (text: string) => string) =>
  (row: Row): Row => ({ ...row, texts: [takeApart(change(row.texts[0]!.text)), ...row.texts.slice(1)] })

/** What is left out of each log, as spans. */
function leftOut({ unread, head }: Context): Record<string, (readonly [number, number])[]> {
  const found: Record<string, [number, number][]> = {}
  for (const { name, tag } of logs) {
    const spans: [number, number][] = []
    for (let ordinal = 0; ordinal < head.counts[tag]! + 2; ordinal++) {
      if (!unread.has(tag, ordinal)) continue
      if (spans.at(-1)?.[1] === ordinal) spans.at(-1)![1]++
      else spans.push([ordinal, ordinal + 1])
    }
    if (spans.length > 0) found[name] = spans
  }
  return found
}
/** The same for ledgers, from their counts; both ends included. */
function spansOf(store: Store, ...ranges: (readonly [from: number, to: number])[]): Record<string, (readonly [number, number])[]> {
  const found: Record<string, [number, number][]> = {}
  for (const { name, tag } of logs) found[name] = ranges.map(([from, to]) => [countsAt(store, from - 1)[tag]!, countsAt(store, to)[tag]!])
  return found
}

const DIGEST = 'the records of the ledger are not those that were digested'
const COUNTS = 'the counts of a ledger do not fit those around it'
const TOP = 'the highest offer id is not that of the offers'
const FILED = 'the ledger up to which lists are filed went back'
const UNFIT = 'the head does not fit the newest ledger'
const PLACE = 'the record of the ledger does not fit its place'
const PREVIOUS = 'prev_hash is not the hash of the ledger before'
const askew = (name: string): string => `a ${name} is not as its text says, or not in its place`

describe('records that are as they should be', () => {
  /** What the lists and the entries of hashes of a store hold. */
  async function filings(store: Store): Promise<{ lists: Tally; hashes: Tally }> {
    const [lists, hashes] = [new Tally(), new Tally()]
    for (const key of keysOf(store, 0x20)) for (const ordinal of edgeOf(store, key).levels[0]!) lists.add(key, ordinal)
    for (const key of keysOf(store, 0x30)) {
      const { ordinal, failed } = decodeHash(key, held(store, key))
      hashes.add(key, 2 * ordinal + (failed ? 1 : 0))
    }
    return { lists, hashes }
  }

  test.each(['whole', 'unfiled', 'half filed'] as const)('of a store that is %s are counted, with their filings', async (kind) => {
    const store = await stored(kind)
    const context = await checkedIn(store)
    expect([context.findings.faults, leftOut(context)]).toEqual([[], {}])
    const { lists, hashes } = await filings(store)
    expect([context.records, context.wanted.count, context.wantedHashes.count]).toEqual([
      EACH * COUNT + 1 + CHANGES,
      lists.count,
      2 * COUNT,
    ])
    expect([context.wanted.differing(lists).size, context.wantedHashes.differing(hashes).size]).toEqual([0, 0])
    expect([...context.book].map(([id, { seller, entry, back }]) => [id, seller, entry, back])).toEqual([
      ['7', 'GALICE', false, false],
      ['40', 'GBOB', false, false],
      ['20', 'GBOB', false, false],
    ])
  })

  test('of a pruned store are those that are left', async () => {
    const context = await checked('pruned')
    expect([context.findings.faults, leftOut(context)]).toEqual([[], {}])
    expect([context.records, context.wantedHashes.count]).toEqual([EACH * 14 + 14 * 2 + 2, 28])
    expect([...context.book.keys()]).toEqual(['7'])
    expect(context.head).toEqual(headOf(await stored('pruned')))
  })

  test('are reported ledger by ledger, out of how many are held, whether they can be read or not', async () => {
    const { now } = clock
    try {
      for (const [kind, count] of [
        ['whole', COUNT],
        ['pruned', 14],
      ] as const) {
        const told: unknown[] = []
        let time = 1e6
        clock.now = () => (time += 100)
        const store = await planted(kind, () => [gone(blockKey(ledgers.tag, 1)), gone(blockKey(operations.tag, 4))])
        await checkedIn(store, { onProgress: (progress) => told.push(progress) })
        // Nothing is reported for the ledger after those that could not be read.
        const behind = FIRST + 16 - (LAST - count + 1)
        const done = Array.from({ length: count }, (_, n) => n).filter((n) => n !== behind)
        expect(told).toEqual(done.map((n) => ({ phase: 'records', done: n, total: count })))
      }
    } finally {
      clock.now = now
    }
  })
})

describe('a head', () => {
  test.each([
    ['hash', { hash: hashOf(LAST - 1, 99) }],
    ['time', { closedAt: '2019-06-01T12:00:01Z' }],
    ['offer', { topOffer: '40' }],
  ] as const)('with another %s than the newest ledger is named', async (_, change) => {
    for (const kind of ['whole', 'pruned'] as const)
      expect(await saidOf(kind, (store) => [headWith(store, change)])).toEqual([fault(HEAD, UNFIT)])
  })

  test('is not compared with a newest ledger that cannot be read', async () => {
    const key = blockKey(operations.tag, 4)
    const said = await saidOf('whole', (store) => [headWith(store, { hash: 'ab' }), gone(key)])
    expect(said).toEqual([fault(key, 'a block of the operation log is missing', FIRST + 15)])
  })

  test.each([operations, failedTransactions, offerChanges])(
    'that counts one record too many is named, and that record is left out',
    async ({ tag, name }) => {
      const more = (store: Store): readonly number[] => headOf(store).counts.map((count, at) => (at === tag ? count + 1 : count))
      const context = await checked('whole', (store) => [headWith(store, { counts: more(store) })])
      const count = countsAt(await stored('whole'), LAST)[tag]!
      const said = context.findings.faults
      expect(said.filter(({ key }) => key === '00')).toEqual([fault(HEAD, 'the counts of the head are not those of the newest ledger')])
      expect(leftOut(context)[name]!.at(-1)![1]).toBe(count + 1)
    },
  )
})

describe('the counts of a ledger', () => {
  const count = (tag: number, change: (before: number) => unknown) =>
    side(0, (counts) =>
      counts
        .split(',')
        .map((one, at) => (at === tag ? change(Number(one)) : one))
        .join(),
    )

  test.each<[string, (row: Row) => Row]>([
    ['are not numbers', count(operations.tag, () => 'x')],
    ['are not whole numbers', count(operations.tag, (before) => before - 1.5)],
    ['fell', count(operations.tag, (before) => before - 5)],
    ['fell in the first of the logs', count(transactions.tag, (before) => before - 2)],
    ['exceed those of the head', count(offerChanges.tag, () => CHANGES + 1)],
    ['are of another ledger', count(ledgers.tag, (before) => before - 1)],
    ['are empty', side(0, () => '')],
  ])('that %s are named, and that ledger and the next are lost; their records are not', async (_, change) => {
    for (const sequence of [FIRST + 2, FIRST + 9]) {
      const context = await checked('whole', ledgerWith(sequence, change))
      expect(context.findings.faults).toEqual([fault(ledgerBlock(sequence), COUNTS, sequence)])
      expect([[...context.lost], leftOut(context)]).toEqual([[sequence, sequence + 1], {}])
      expect(context.wantedHashes.count).toBe(2 * COUNT)
    }
  })

  test('may stay what they were, since a ledger may hold nothing, but are not negative in the first', async () => {
    const change = ledgerWith(
      FIRST,
      count(operations.tag, () => -1),
    )
    const { findings } = await checked('whole', change)
    expect(findings.faults).toEqual([fault(ledgerBlock(FIRST), COUNTS, FIRST)])
    expect((await checked('without operations')).findings.faults).toEqual([])
  })
})

describe('records that cannot be read', () => {
  test('lose their ledgers, and neither those after them nor the other records of theirs', async () => {
    const key = blockKey(trades.tag, 2)
    const context = await checked('whole', (spoilt) => [broken(spoilt, key)])
    expect(context.findings.faults).toEqual([fault(key, CHECKSUM, FIRST + 8)])
    expect([...context.lost]).toEqual([8, 9, 10, 11].map((n) => FIRST + n))
    expect(leftOut(context)).toEqual({ trade: [[16, 24]] })
    expect([context.records, context.wantedHashes.count]).toEqual([EACH * 16 + 1 + CHANGES - 10, 2 * COUNT])
    expect([...context.book.keys()]).toEqual(['7', '40', '20'])
  })

  test('of ledgers lose the ledger after them too, since nothing says where it begins', async () => {
    const key = blockKey(ledgers.tag, 1)
    const context = await checked('whole', () => [gone(key)])
    expect(context.findings.faults).toEqual([fault(key, 'a block of the ledger log is missing', FIRST + 8)])
    expect([...context.lost]).toEqual(Array.from({ length: 9 }, (_, n) => FIRST + 8 + n))
    expect(leftOut(context)).toEqual({ ledger: [[8, 16]] })
    expect(context.wantedHashes.count).toBe(2 * COUNT)
  })

  test('at the end lose the ledgers to the end, and the head is not compared', async () => {
    const key = blockKey(ledgers.tag, 2)
    const context = await checked('whole', (spoilt) => [broken(spoilt, key), headWith(spoilt, { hash: 'ab' })])
    expect(context.findings.faults).toEqual([fault(key, CHECKSUM, FIRST + 16)])
    expect([[...context.lost], leftOut(context)]).toEqual([[16, 17, 18, 19].map((n) => FIRST + n), { ledger: [[16, 20]] }])
  })

  test('in a pruned store begin where what is left begins', async () => {
    const store = await stored('pruned')
    const key = blockKey(ledgers.tag, 0)
    const context = await checked('pruned', () => [gone(key)])
    expect(context.findings.faults).toEqual([fault(key, 'a block of the ledger log is missing', FIRST + 6)])
    expect([[...context.lost], leftOut(context)]).toEqual([[6, 7, 8].map((n) => FIRST + n), { ledger: [[6, 8]] }])
    expect(headOf(store).since[operations.tag]).toBe(25)
  })

  test('do not hide what is wrong after them', async () => {
    const [key, sequence] = [blockKey(operations.tag, 1), FIRST + 8]
    const plant = both(
      (store) => [broken(store, key)],
      ledgerWith(
        sequence,
        side(2, () => '1'),
      ),
      ledgerWith(
        sequence + 1,
        side(2, () => '2'),
      ),
    )
    expect(await saidOf('whole', plant)).toEqual([fault(key, CHECKSUM, FIRST + 3)])
    const after = both(
      (store) => [broken(store, key)],
      ledgerWith(
        sequence,
        side(2, () => '2'),
      ),
      ledgerWith(
        sequence + 1,
        side(2, () => '1'),
      ),
    )
    expect(await saidOf('whole', after)).toEqual([fault(key, CHECKSUM, FIRST + 3), fault(ledgerBlock(sequence), FILED, sequence + 1)])
  })
})

describe('the record of a ledger', () => {
  const sequence = FIRST + 9
  const key = ledgerBlock(sequence)

  test('in the wrong place is named', async () => {
    expect(
      await saidOf(
        'whole',
        ledgerWith(sequence, (row) => ({ ...row, hi: row.hi + 1 })),
      ),
    ).toEqual([fault(key, PLACE, sequence)])
  })

  test('with a text that no close would give is named, and so is its digest', async () => {
    const said = await saidOf(
      'whole',
      ledgerWith(
        sequence,
        text((json) => json.replace('12:00:00Z', '14:00:00+02:00')),
      ),
    )
    expect(said).toEqual([fault(digestKey(sequence), DIGEST, sequence), fault(key, PLACE, sequence)])
  })

  test('that does not follow the ledger before it is named', async () => {
    const other = text((json) => json.replace(/("prev_hash":")../, '$1ff'))
    const said = [fault(digestKey(sequence), DIGEST, sequence), fault(key, PREVIOUS, sequence)]
    expect(await saidOf('whole', ledgerWith(sequence, other))).toEqual(said)
    // For the first one that is held, the one before is not known.
    expect(await saidOf('pruned', ledgerWith(FIRST + 6, other))).toEqual([fault(digestKey(FIRST + 6), DIGEST, FIRST + 6)])
  })

  test('with another hash is named by the next one', async () => {
    const other = text((json) => json.replaceAll(hashOf(sequence, 99), 'ab'))
    const said = [fault(digestKey(sequence), DIGEST, sequence), fault(key, PREVIOUS, sequence + 1)]
    expect(await saidOf('whole', ledgerWith(sequence, other))).toEqual(said)
  })

  test.each([
    [
      'lacking a member of a close',
      (json: string) => json.replace(/"hash":"[^"]*",/, ''),
      /^the records of the ledger are no ledger close: .*hash/,
    ],
    ['not JSON', (json: string) => `${json},"x":`, /^the records of the ledger are no ledger close: .*the whole close/],
  ])('that is %s is named, and that ledger alone is left out', async (_, change, reason) => {
    const store = await stored('whole')
    const context = await checked(
      'whole',
      both(
        ledgerWith(sequence, text(change)),
        ledgerWith(
          sequence + 1,
          text((json) => json.replace(/("prev_hash":")../, '$1ff')),
        ),
      ),
    )
    expect(context.findings.faults).toEqual([
      fault(digestKey(sequence), DIGEST, sequence),
      { key: fault(key, '').key, reason: expect.stringMatching(reason), ledger: sequence },
      fault(digestKey(sequence + 1), DIGEST, sequence + 1),
    ])
    expect(leftOut(context)).toEqual(spansOf(store, [sequence, sequence]))
    expect(context.wantedHashes.count).toBe(2 * (COUNT - 1))
  })
})

describe('the digest of a ledger', () => {
  const sequence = FIRST + 9
  test('that is missing, damaged or wrong is named', async () => {
    const key = digestKey(sequence)
    expect(await saidOf('whole', () => [gone(key)])).toEqual([fault(key, `the digest of ledger ${sequence} is missing`, sequence)])
    expect(await saidOf('whole', (store) => [broken(store, key)])).toEqual([fault(key, CHECKSUM, sequence)])
    expect(await saidOf('whole', () => [[key, encodeDigest(sequence, new Uint8Array(32))]])).toEqual([fault(key, DIGEST, sequence)])
  })
})

describe('a record', () => {
  test.each([
    ['ledger', operations, 38, (row: Row) => ({ ...row, hi: row.hi + 1 })],
    ['place in its ledger', operations, 37, (row: Row) => ({ ...row, lo: row.lo - 1 })],
    ['index', effects, 19, (row: Row) => ({ ...row, index: row.index + 5 })],
    ['index, being the last', trades, 19, (row: Row) => ({ ...row, index: row.index + 5 })],
    ['side column', transactions, 9, side(0, (account) => `${account}x`)],
    ['side column, having failed', failedTransactions, 9, side(0, (account) => `${account}x`)],
    ['seller', offerChanges, 20, side(0, () => 'GBOB')],
  ] as const)('with another %s than its text says is named by its block', async (_, resource, ordinal, change) => {
    const key = blockKey(resource.tag, Math.floor(ordinal / (1 << resource.shift)))
    const found = await saidOf('whole', changed(resource, ordinal, change))
    expect(found.filter((one) => one.key === fault(key, '').key)).toEqual([fault(key, askew(resource.name), FIRST + 9)])
  })

  test('at fault is named by the first such block of a ledger, and by no other of that log', async () => {
    // The last operation of the ledger is the first of the next block.
    const other = side(0, (account) => `${account}x`)
    const said = await saidOf('whole', both(changed(operations, 47, other), changed(operations, 48, other), changed(effects, 22, other)))
    expect(said).toEqual([
      fault(blockKey(operations.tag, 2), askew('operation'), FIRST + 11),
      fault(blockKey(effects.tag, 0), askew('effect'), FIRST + 11),
    ])
  })

  test('is looked for in the block that holds it', async () => {
    const said = await saidOf(
      'whole',
      changed(
        operations,
        48,
        side(0, (account) => `${account}x`),
      ),
    )
    expect(said).toEqual([fault(blockKey(operations.tag, 3), askew('operation'), FIRST + 11)])
  })

  test('that belongs to no transaction is named', async () => {
    const found = await saidOf(
      'whole',
      changed(operations, 40, (row) => ({ ...row, lo: row.lo + 5 * 4096 })),
    )
    const key = blockKey(operations.tag, 2)
    expect(found).toContainEqual(fault(key, askew('operation'), FIRST + 9))
  })

  test('that is missing though its transaction says it has it is named', async () => {
    const plant = changed(
      transactions,
      9,
      text((json) => `${json},"operations":[{"type":"inflation"}]`),
    )
    const found = await saidOf('without operations', plant)
    expect(found).toContainEqual(fault(blockKey(operations.tag, 0), askew('operation'), FIRST + 9))
  })
})

describe('the highest offer id', () => {
  const said = (sequence: number): Fault[] => [fault(ledgerBlock(sequence), TOP, sequence)]
  const top = (id: bigint) => side(1, () => String(id))

  test.each([
    ['lower than that of its offers', 10, HIGH - 1n],
    ['higher than that of its offers', 10, HIGH + 1n],
    ['lower than that of an earlier one', 9, 39n],
    ['higher than that of an earlier one', 9, 41n],
  ] as const)('that is %s is named', async (_, n, id) => {
    for (const kind of ['whole', 'pruned'] as const)
      if (kind === 'whole' || n === 10) expect((await saidOf(kind, ledgerWith(FIRST + n, top(id))))[0]).toEqual(said(FIRST + n)[0])
  })

  test('that is not a number is named, and so is an offer whose id is not one', async () => {
    const sequence = FIRST + 9
    expect(
      await saidOf(
        'whole',
        ledgerWith(
          sequence,
          side(1, () => 'x'),
        ),
      ),
    ).toEqual(said(sequence))
    const plant = changed(
      offerChanges,
      22,
      side(1, () => 'x'),
    )
    expect(await saidOf('whole', plant)).toEqual([fault(blockKey(offerChanges.tag, 1), askew('offer change'), sequence + 1)])
  })

  test('of the first ledger is that of its offers, unless it is only the first that is left', async () => {
    for (const id of [0n, 8n, 9n]) {
      const plant = both(ledgerWith(FIRST, top(id)), (store) => [headWith(store, { topOffer: String(id) })])
      expect(await saidOf('single', plant)).toEqual(id === 8n ? [] : said(FIRST))
    }
    for (const id of [0n, 8n, HIGH + 1n]) {
      const plant = both(ledgerWith(LAST, top(id)), (store) => [headWith(store, { topOffer: String(id) })])
      expect(await saidOf('pruned to the last', plant)).toEqual(id < 8n ? said(LAST) : [])
    }
  })

  test('after what cannot be read is at least that of the offers of its ledger', async () => {
    const key = blockKey(operations.tag, 1)
    for (const id of [7n, 8n, 12n, HIGH]) {
      const plant: Plant = both((store) => [broken(store, key)], ...[8, 9].map((n) => ledgerWith(FIRST + n, top(id))))
      const faults = id < 8n ? said(FIRST + 8) : []
      expect(await saidOf('whole', plant)).toEqual([fault(key, CHECKSUM, FIRST + 3), ...faults])
    }
  })
})

describe('the ledger up to which lists are filed', () => {
  test.each([
    [FIRST + 8, true],
    [FIRST + 9, true],
    [FIRST + 7, false],
    [FIRST + 10, false],
    [Number.NaN, false],
  ])('as %d, in ledger FIRST + 9 with all before it filed, is right: %s', async (filed, right) => {
    const sequence = FIRST + 9
    const found = await saidOf(
      'whole',
      ledgerWith(
        sequence,
        side(2, () => String(filed)),
      ),
    )
    expect(found).toEqual(right ? [] : [fault(ledgerBlock(sequence), FILED, sequence)])
  })
})

test('rows of the book differ if their columns or texts differ, or end elsewhere', () => {
  const row = (sides: string[], texts: string[]): Row => ({ hi: 1, lo: 2, index: 0, texts: texts.map(takeApart), sides, exact: false })
  const rows = [
    row(['GA', 'B'], ['"a":1']),
    row(['G', 'AB'], ['"a":1']),
    row(['GAB'], ['"a":1']),
    row(['GA', 'B'], ['"a":2']),
    row(['GA', 'C'], ['"a":1']),
    row(['GA', 'B'], ['"a":1', '"b"']),
    row(['GA', 'B'], ['"a":1"b"']),
    row(['GA', 'B'], ['"a":', '1"b"']),
  ]
  expect(new Set(rows.map(sumOfRow)).size).toBe(rows.length)
  expect(sumOfRow({ ...rows[0]!, hi: 5, lo: 6 })).toBe(sumOfRow(rows[0]!))
})
