/** The parts of an audit, each by itself: what it notes, what it sums up, what it reads of a range, what it compares. */
import { describe, expect, test, vi } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { Context, entriesOf, sameRow, Unread } from '../../src/audit/context.ts'
import { checkRange, readDigests, readLine } from '../../src/audit/range.ts'
import { Findings } from '../../src/audit/report.ts'
import { bucketOf, Tally } from '../../src/audit/tally.ts'
import { utf8 } from '../../src/bytes.ts'
import { type Entry, FolioError, type KeyRange, openLedger, type Store } from '../../src/index.ts'
import { decodeHead } from '../../src/layout/head.ts'
import { digestKey, HEAD } from '../../src/layout/keys.ts'
import { corrupt } from '../../src/layout/seal.ts'
import { takeApart } from '../../src/text/writer.ts'
import { errorOf } from '../support/errors.ts'

/** What the engine takes for the clock: it takes hold of that when it is loaded. */
const clock = vi.hoisted(() => {
  const clock = { now: performance.now.bind(performance) }
  performance.now = () => clock.now()
  return clock
})

describe('findings', () => {
  const key = Uint8Array.of(0x10, 0xab)

  test('keep the first reason that a key is named for, in order, with its ledger if it has one', () => {
    const told: unknown[] = []
    const findings = new Findings({ onFault: (fault) => told.push(fault) })
    findings.add(key, 'one', 7)
    findings.add('10ab', 'two')
    findings.add('20', 'three')
    const faults = [
      { key: '10ab', reason: 'one', ledger: 7 },
      { key: '20', reason: 'three' },
    ]
    expect([findings.faults, findings.count, told]).toEqual([faults, 2, faults])
    expect(Object.keys(findings.faults[1]!)).toEqual(['key', 'reason'])
    expect([findings.isNamed(key), findings.isNamed(Uint8Array.of(0x10))]).toEqual([true, false])
    expect([Uint8Array.of(0x10), key, Uint8Array.of(0xab), Uint8Array.of(0x10, 0xab, 1)].map((start) => findings.any(start))).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  test('are kept up to the number asked for, 1,000 by default, and counted beyond that', () => {
    const [few, many] = [new Findings({ maxFaults: 2 }), new Findings({})]
    for (let n = 0; n < 1001; n++) {
      few.add(`${n}`, 'x')
      many.add(`${n}`, 'x')
    }
    expect([few.faults.length, few.count, many.faults.length, many.count]).toEqual([2, 1001, 1000, 1001])
  })

  test('take damage, and throw anything else', () => {
    const findings = new Findings({})
    findings.take(corrupt(key, 'broken'), 9)
    expect(findings.faults).toEqual([{ key: '10ab', reason: 'broken', ledger: 9 }])
    for (const other of [new Error('x'), new FolioError('CLOSED'), new FolioError('CORRUPT', { reason: 'no key' }), { code: 'CORRUPT' }]) {
      const thrown = (() => {
        try {
          findings.take(other)
        } catch (error) {
          return error
        }
        return undefined
      })()
      expect(thrown).toBe(other)
    }
    const foreign = new FolioError('STORE_FAILED', { key: '10', reason: 'x' })
    expect(() => findings.take(foreign)).toThrow(foreign)
    expect(findings.count).toBe(1)
  })

  test('report how far an audit is, ten times a second at most, with the total if it is known', async () => {
    const told: unknown[] = []
    const { now } = clock
    try {
      clock.now = () => 1_000_000
      const findings = new Findings({ onProgress: (progress) => told.push(progress) })
      await findings.progress('records', 0, 5)
      clock.now = () => 1_000_099
      await findings.progress('records', 1, 5)
      clock.now = () => 1_000_100
      await findings.progress('values', 2)
      await new Findings({}).progress('values', 0)
    } finally {
      clock.now = now
    }
    expect(told).toStrictEqual([
      { phase: 'records', done: 0, total: 5 },
      { phase: 'values', done: 2 },
    ])
  })

  test('end with the reason of the signal', async () => {
    const stop = new AbortController()
    const findings = new Findings({ signal: stop.signal })
    await findings.progress('values', 0)
    stop.abort(new Error('enough'))
    await expect(findings.progress('values', 1)).rejects.toThrow('enough')
  })
})

describe('a tally', () => {
  type Pair = readonly [number, number]
  const key = (n: number) => Uint8Array.of(n, n >> 8, n >> 16)
  const of = (...pairs: Pair[]): Tally => {
    const tally = new Tally()
    for (const [name, value] of pairs) tally.add(key(name), value)
    return tally
  }

  test('is the same for the same pairs in any order, and counts them', () => {
    const [one, other] = [of([1, 5], [2, 6], [1, 2 ** 33]), of([1, 2 ** 33], [1, 5], [2, 6])]
    expect([one.differing(other).size, one.count, of().count]).toEqual([0, 3, 0])
  })

  test.each<[string, Pair[], Pair[], number[]]>([
    [
      'an extra value',
      [[1, 5]],
      [
        [1, 5],
        [1, 6],
      ],
      [1],
    ],
    [
      'a value twice',
      [[1, 5]],
      [
        [1, 5],
        [1, 5],
      ],
      [1],
    ],
    ['no value', [[1, 0]], [], [1]],
    ['a different value', [[1, 5]], [[1, 4]], [1]],
    [
      'different values with the same sum',
      [
        [1, 1],
        [1, 4],
      ],
      [
        [1, 2],
        [1, 3],
      ],
      [1],
    ],
    [
      'swapped values',
      [
        [1, 5],
        [2, 6],
      ],
      [
        [1, 6],
        [2, 5],
      ],
      [1, 2],
    ],
    ['a high word', [[1, 5]], [[1, 5 + 2 ** 32]], [1]],
    ['two high words', [[1, 2 ** 32]], [[1, 2 ** 33]], [1]],
    ['swapped words', [[1, 2 ** 32 * 3 + 4]], [[1, 2 ** 32 * 4 + 3]], [1]],
    [
      'the last of many',
      [
        [300, 1],
        [301, 1],
        [302, 1],
      ],
      [
        [300, 1],
        [301, 1],
        [302, 2],
      ],
      [302],
    ],
  ])('differs by %s, in the buckets of the keys', (_, first, second, keys) => {
    const [one, other] = [of(...first), of(...second)]
    expect(one.differing(other)).toEqual(new Set(keys.map((n) => bucketOf(key(n)))))
    expect(other.differing(one)).toEqual(one.differing(other))
  })

  test('distinguishes keys in the same bucket, of which there are 65,536', () => {
    const seen = new Map<number, number>()
    let n = 0
    for (; !seen.has(bucketOf(key(n))); n++) seen.set(bucketOf(key(n)), n)
    expect([...seen.keys()].reduce((most, bucket) => Math.max(most, bucket))).toBeLessThan(65536)
    expect(of([seen.get(bucketOf(key(n)))!, 7]).differing(of([n, 7])).size).toBe(1)
  })

  test('distinguishes keys with the same checksum', () => {
    const [one, other] = ['plumless', 'buckeroo'].map((name) => {
      const tally = new Tally()
      tally.add(utf8(name), 7)
      return tally
    })
    expect(bucketOf(utf8('plumless'))).toBe(bucketOf(utf8('buckeroo')))
    expect(one!.differing(other!).size).toBe(1)
  })
})

describe('ordinals that could not be read', () => {
  test('are those in the spans that were added, for their log only', () => {
    const unread = new Unread()
    unread.add(1, 4, 6)
    unread.add(1, 9, 10)
    unread.add(2, 5, 5)
    unread.add(3, 5, 4)
    expect([3, 4, 5, 6, 8, 9, 10].filter((ordinal) => unread.has(1, ordinal))).toEqual([4, 5, 9])
    expect([unread.has(2, 5), unread.has(3, 4), unread.has(4, 4)]).toEqual([false, false, false])
    expect([0, 1, 2, 3].filter((tag) => unread.any(tag))).toEqual([1])
  })
})

describe('the entries of a range', () => {
  const bytes = (n: number) => Uint8Array.of(0x20, n >> 8, n & 255)
  const all = { gte: Uint8Array.of(0), lt: Uint8Array.of(0xff) }
  const keysOf = async (store: Store, range: KeyRange): Promise<number[][]> => {
    const chunks: number[][] = []
    for await (const entries of entriesOf(store, range)) chunks.push(entries.map(([key]) => key[1]! * 256 + key[2]!))
    return chunks
  }

  test('come once each, in order, in chunks of 4,096 at most', async () => {
    const store = memory()
    const entries = Array.from({ length: 5000 }, (_, n): Entry => [bytes(n), Uint8Array.of(1)])
    await store.write(entries, { durable: true })
    const chunks = await keysOf(store, all)
    expect(chunks.map(({ length }) => length)).toEqual([4096, 904])
    expect(chunks.flat()).toEqual(entries.map((_, n) => n))
    expect(await keysOf(store, { gte: bytes(3), lt: bytes(6) })).toEqual([[3, 4, 5]])
    expect(await keysOf(store, { gte: bytes(6000), lt: bytes(7000) })).toEqual([])
  })

  test('come in chunks of a mebibyte', async () => {
    const store = memory()
    await store.write(
      Array.from({ length: 5 }, (_, n): Entry => [bytes(n), new Uint8Array(600_000)]),
      { durable: true },
    )
    const chunks = await keysOf(store, all)
    expect(chunks.length).toBeGreaterThan(2)
    expect(chunks.flat()).toEqual([0, 1, 2, 3, 4])
  })
})

test('rows are the same if their texts, side columns and numbers are', () => {
  const row = { hi: 1, lo: 2, index: 0, texts: [takeApart('"a":1'), takeApart('"b":2')], sides: ['x', 'y'], exact: false }
  expect(sameRow(row, { ...row, hi: 9, texts: row.texts.slice(), sides: row.sides.slice() })).toBe(true)
  for (const other of [
    { texts: row.texts.slice(1) },
    { texts: [row.texts[0]!, takeApart('"b":3')] },
    { texts: [...row.texts, row.texts[0]!] },
    { sides: ['x'] },
    { sides: ['z', 'y'] },
    { sides: ['x', 'z'] },
    { sides: ['x', 'y', 'z'] },
    { exact: true },
  ])
    expect([other, sameRow(row, { ...row, ...other }), sameRow({ ...row, ...other }, row)]).toEqual([other, false, false])
})

describe('a range of ledgers', () => {
  const head = { oldest: 5, last: 9 } as Parameters<typeof checkRange>[0]

  test('is by default all that are held, and may be any part of them', () => {
    expect(checkRange(head, {})).toEqual({ from: 5, to: 9 })
    expect(checkRange(head, { from: 9, to: 9 })).toEqual({ from: 9, to: 9 })
    expect(checkRange(head, { from: 5, to: 6 })).toEqual({ from: 5, to: 6 })
  })

  test('is empty only if all that is held was taken', () => {
    expect(checkRange(head, { from: 10 })).toEqual({ from: 10, to: 9 })
    expect(checkRange(head, { from: 10, to: 9 })).toEqual({ from: 10, to: 9 })
  })

  test.each([
    [{ to: 10 }, { code: 'BAD_REQUEST', fields: { field: 'to', reason: 'at most 9, the newest ledger' } }],
    [{ from: 4 }, { code: 'GONE_BEFORE_HISTORY', fields: { ledger: 4, oldest: 5 } }],
    [{ to: 4 }, { code: 'GONE_BEFORE_HISTORY', fields: { ledger: 4, oldest: 5 } }],
    [
      { from: 7, to: 6 },
      { code: 'BAD_REQUEST', fields: { field: 'from', reason: 'at most 6, the last ledger of the range' } },
    ],
    [
      { from: 4, to: 3 },
      { code: 'BAD_REQUEST', fields: { field: 'from', reason: 'at most 3, the last ledger of the range' } },
    ],
    [
      { from: 10, to: 8 },
      { code: 'BAD_REQUEST', fields: { field: 'from', reason: 'at most 8, the last ledger of the range' } },
    ],
    [{ from: 11 }, { code: 'BAD_REQUEST', fields: { field: 'from', reason: 'at most 10, the one after the newest ledger' } }],
    [{ from: 1.5 }, { code: 'BAD_REQUEST', fields: { field: 'from' } }],
    [{ to: -1 }, { code: 'BAD_REQUEST', fields: { field: 'to' } }],
  ])('%j is rejected', async (range, error) => {
    expect(await errorOf(() => checkRange(head, range))).toMatchObject(error)
  })

  test('is read as it was stored, from where history begins', async () => {
    const store = memory()
    const ledger = await openLedger(store)
    const closes = [5, 6, 7, 8].map((n) => richClose(n, hashOf(n - 1, 99)))
    await ledger.ingest(closes)
    await ledger.prune(6)
    const { reader } = new Context(store, decodeHead((await store.get(HEAD))!), new Findings({}))
    const lines = await Promise.all([6, 7, 8].map((n) => reader.run((read) => readLine(read, n))))
    expect(lines.map((line) => JSON.parse(line).ledger.sequence)).toEqual([6, 7, 8])
    const digests = await reader.run((read) => readDigests(read, 6, 8))
    expect(await reader.run((read) => readDigests(read, 7, 7))).toEqual([digests[1]])
    expect([digests.length, new Set(digests.map(String)).size]).toEqual([3, 3])
    const gone = { code: 'GONE_BEFORE_HISTORY', fields: { ledger: 5, oldest: 6 } }
    const back = (reached: number) => ({ code: 'ROLLED_BACK', fields: { last: 8, reached } })
    expect(await errorOf(() => reader.run((read) => readLine(read, 5)))).toMatchObject(gone)
    expect(await errorOf(() => reader.run((read) => readDigests(read, 5, 7)))).toMatchObject(gone)
    expect(await errorOf(() => reader.run((read) => readLine(read, 9)))).toMatchObject(back(8))
    expect(await errorOf(() => reader.run((read) => readDigests(read, 6, 9)))).toMatchObject(back(5))
    await store.write([[digestKey(7), undefined]], { durable: true })
    const { reader: again } = new Context(store, decodeHead((await store.get(HEAD))!), new Findings({}))
    expect(await errorOf(() => again.run((read) => readDigests(read, 6, 8)))).toMatchObject({ code: 'CORRUPT' })
  })
})
