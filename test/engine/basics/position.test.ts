/** Positions and paging tokens, compared with bigints: every digit, at every edge. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  endOfLedger,
  idOf,
  idText,
  ledgerOf,
  low,
  MAX_ID,
  MAX_INDEX,
  MAX_LEDGER,
  MAX_OPERATION,
  MAX_TRANSACTION,
  parseCursor,
  parseHalves,
  parseId,
  splitId,
} from '../../../src/position.ts'

const edges = [0n, 1n, 9n, 10n, 999_999_999n, 1_000_000_000n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n]
const more = [2_097_152n << 32n, (2_097_152n << 32n) - 1n, 10n ** 18n, 10n ** 18n - 1n, 10n ** 19n - 1n, MAX_ID - 1n, MAX_ID]
const anyId = fc.oneof(fc.constantFrom(...edges, ...more.filter((id) => id <= MAX_ID)), fc.bigInt(0n, MAX_ID))

test('the bounds are those of SEP-35', () => {
  expect([MAX_LEDGER, MAX_TRANSACTION, MAX_OPERATION, MAX_INDEX, MAX_ID]).toEqual([2147483647, 1048575, 4095, 4294967295, 2n ** 63n - 1n])
})

test('an id is its two halves, both in text and in bits', () => {
  fc.assert(
    fc.property(anyId, (id) => {
      const { hi, lo } = splitId(id)
      expect([BigInt(hi), BigInt(lo)]).toEqual([id >> 32n, id & 0xffffffffn])
      expect(idOf(hi, lo)).toBe(id)
      expect(idText(hi, lo)).toBe(String(id))
    }),
    { numRuns: 500 },
  )
})

test('the halves of ids have the order of the ids', () => {
  fc.assert(
    fc.property(anyId, anyId, (a, b) => {
      const [x, y] = [splitId(a), splitId(b)]
      expect(x.hi < y.hi || (x.hi === y.hi && x.lo < y.lo)).toBe(a < b)
    }),
    { numRuns: 500 },
  )
})

describe('an id in text', () => {
  const texts = fc.oneof(
    anyId.map(String),
    fc.tuple(fc.integer({ min: 1, max: 40 }), anyId).map(([zeros, id]) => '0'.repeat(zeros) + id),
    fc.bigInt(MAX_ID, 10n ** 20n).map(String),
    fc.constantFrom(
      '',
      '-1',
      '+1',
      ' 1',
      '1 ',
      '1\n',
      '1.0',
      '1e3',
      '0x1',
      '١',
      '/',
      ':',
      '1/',
      '1:',
      'x'.repeat(19),
      '9'.repeat(19),
      '9'.repeat(20),
      '0'.repeat(40),
      '0'.repeat(41),
    ),
    fc.string({ unit: fc.constantFrom('0', '9', '-', '/', ':', ' '), maxLength: 21 }),
  )
  test('is at most 40 decimal digits, up to 2^63 - 1', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const id = /^[0-9]{1,40}$/.test(text) ? BigInt(text) : undefined
        const wanted = id !== undefined && id <= MAX_ID ? id : undefined
        expect(parseId(text)).toBe(wanted)
        expect(parseHalves(text)).toEqual(wanted === undefined ? undefined : splitId(wanted))
      }),
      { numRuns: 1000 },
    )
  })
})

test('transaction and operation make the low half, and are refused if they do not fit', () => {
  expect(low(0, 0, 1)).toBe(0)
  expect(low(3, 5, 1)).toBe(3 * 4096 + 5)
  expect(low(MAX_TRANSACTION, MAX_OPERATION, 1)).toBe(2 ** 32 - 1)
  for (const [transaction, operation] of [
    [MAX_TRANSACTION + 1, 1],
    [1, MAX_OPERATION + 1],
  ] as const)
    expect(() => low(transaction, operation, 7)).toThrow(
      expect.objectContaining({ code: 'ID_OUT_OF_RANGE', fields: { ledger: 7, transaction, operation } }),
    )
})

describe('a ledger', () => {
  test.each([0, 1, 2 ** 21, MAX_LEDGER])('%d ends with a token that lies in it, and before the next one', (ledger) => {
    const end = endOfLedger(ledger)
    expect(end).toBe(String((BigInt(ledger + 1) << 32n) - 1n))
    expect([ledgerOf(end), ledgerOf(BigInt(end))]).toEqual([ledger, ledger])
    if (ledger < MAX_LEDGER) expect(ledgerOf(BigInt(end) + 1n)).toBe(ledger + 1)
  })

  test.each([
    [Number.NaN, 'NaN'],
    [-1, '-1'],
    [1.5, '1.5'],
    [2 ** 31, '2147483648'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [5n, '5n'],
    ['7', 'string'],
    [undefined, 'undefined'],
    [null, 'null'],
  ])('that is none, such as %s, has no end', (given, found) => {
    const fields = { field: 'ledger', reason: 'a whole number from 0 to 2147483647', found }
    expect(() => endOfLedger(given as never)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST', fields }))
  })

  test('is told by the token or the id of a record, of whatever kind it is', () => {
    for (const token of ['8589938689', '8589938689-1', '8589938689-4294967295', '0008589938689-0000000001', 8589938689n])
      expect(ledgerOf(token)).toBe(2)
    expect([ledgerOf('0'), ledgerOf(0n), ledgerOf('0-0'), ledgerOf(MAX_ID), ledgerOf(`${MAX_ID}-7`)]).toEqual([
      ...[0, 0, 0],
      ...[MAX_LEDGER, MAX_LEDGER],
    ])
  })

  test.each(['', 'now', '-', '1-', '-1', '1-2-3', '1.5', ' 1', '0x1', String(MAX_ID + 1n), `1-${MAX_ID + 1n}`])(
    'is not told by %o, which is no token',
    (token) => {
      const fields = { field: 'token', reason: expect.stringContaining('<n>-<m> or <n>') }
      expect(() => ledgerOf(token)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST', fields }))
    },
  )

  test.each([
    [-1n, '-1n'],
    [MAX_ID + 1n, `${MAX_ID + 1n}n`],
    [8589938689, 'number'],
    [undefined, 'undefined'],
    [null, 'null'],
    [{}, 'object'],
  ])('is not told by %o, which is neither text nor an id', (token, found) => {
    const fields = { field: 'token', reason: expect.stringContaining('a bigint'), found }
    expect(() => ledgerOf(token as never)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST', fields }))
  })
})

describe('a cursor', () => {
  test('of a plain list is one number, of an indexed list one or two', () => {
    expect(parseCursor('4294967298', false)).toEqual({ hi: 1, lo: 2, index: 0, whole: false })
    expect(parseCursor('4294967298', true)).toEqual({ hi: 1, lo: 2, index: 0, whole: true })
    expect(parseCursor('4294967298-7', true)).toEqual({ hi: 1, lo: 2, index: 7, whole: false })
    expect(parseCursor('0-4294967299', true)).toEqual({ hi: 0, lo: 0, index: 4294967299, whole: false })
    expect(parseCursor(`1-${MAX_ID}`, true).index).toBe(Number(MAX_ID))
    expect(parseCursor(`${MAX_ID}-0`, true)).toEqual({ hi: 2 ** 31 - 1, lo: 2 ** 32 - 1, index: 0, whole: false })
  })

  test.each([
    [false, 'decimal digits from 0 to 2^63-1, or now', ['', 'x', '1-2', '-1', String(MAX_ID + 1n)]],
    [
      true,
      '<n>-<m> or <n>, decimal digits from 0 to 2^63-1, or now',
      ['', '-', '1-', '-1', '1-2-3', 'x-1', '1-x', `1-${MAX_ID + 1n}`, `${MAX_ID + 1n}-1`],
    ],
  ] as const)('that is malformed is refused with what it must be (indexed: %s)', (indexed, reason, texts) => {
    for (const text of texts)
      expect(() => parseCursor(text, indexed), text).toThrow(
        expect.objectContaining({ code: 'BAD_REQUEST', fields: { field: 'cursor', reason } }),
      )
  })
})
