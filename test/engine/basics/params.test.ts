/** Parameters: what text is read, what values are accepted, and how others are refused. */
import { describe, expect, test } from 'vitest'
import { DEFAULT_LIMIT, MAX_LIMIT, params, parseLimit, parseOrder, pathNames } from '../../../src/index.ts'

const refused = (field: string, reason: string, found?: string) =>
  expect.objectContaining({ code: 'BAD_REQUEST', fields: { field, reason, ...(found !== undefined && { found }) } })
const MAX = 2n ** 63n - 1n
const hash = 'aB'.repeat(32)

interface Row {
  readonly reads: readonly [text: string, value: unknown][]
  readonly takes: readonly [given: unknown, value: unknown][]
  readonly texts: readonly string[]
  readonly values: readonly [value: unknown, found?: string][]
  readonly reason: string
  readonly valueReason?: string
}

const id: Row = {
  reads: [
    ['0', 0n],
    ['007', 7n],
    [String(MAX), MAX],
  ],
  takes: [
    [0n, 0n],
    [MAX, MAX],
    [7, 7n],
    [0, 0n],
  ],
  texts: ['', '-1', '1.5', 'x', String(MAX + 1n)],
  reason: 'decimal digits from 0 to 2^63-1',
  values: [
    [-1n, '-1n'],
    [MAX + 1n, `${MAX + 1n}n`],
    [-1, 'number'],
    [1.5, 'number'],
    [2 ** 53, 'number'],
    ['7', 'string'],
    [undefined, 'undefined'],
  ],
  valueReason: 'a bigint from 0n to 2n ** 63n - 1n',
}

/** For each parameter: texts and what they are read as, values and what they are accepted as, and texts and values that are refused, these as what. */
const rows: Readonly<Record<keyof typeof params, Row>> = {
  account: {
    reads: [
      ['GA', 'GA'],
      ['a/b ', 'a/b '],
    ],
    takes: [['GA', 'GA']],
    texts: [''],
    values: [[''], [5, 'number'], [undefined, 'undefined'], [null, 'null'], [{}, 'object']],
    reason: 'a non-empty account id',
  },
  hash: {
    ...{ reads: [[hash, hash.toLowerCase()]], takes: [[hash, hash.toLowerCase()]], reason: '64 hexadecimal digits' },
    ...{
      texts: ['', 'x', hash.slice(1), `${hash}0`, `x${hash}`, hash.replace('a', 'g')],
      values: [[5, 'number'], [undefined, 'undefined'], [hash.slice(2)], [[hash], 'object']],
    },
  },
  ledger: {
    ...{
      reads: [
        ['0', 0],
        ['007', 7],
        ['2147483647', 2147483647],
      ],
      takes: [
        [0, 0],
        [2147483647, 2147483647],
      ],
    },
    ...{ texts: ['', '-1', '1.5', '2147483648', 'x', String(MAX + 1n)], reason: 'decimal digits from 0 to 2147483647' },
    ...{
      values: [
        [-1, '-1'],
        [1.5, '1.5'],
        [2147483648, '2147483648'],
        ['7', 'string'],
        [7n, '7n'],
        [Number.NaN, 'NaN'],
        [undefined, 'undefined'],
      ],
      valueReason: 'a whole number from 0 to 2147483647',
    },
  },
  operation: id,
  offer: id,
}

describe.each(Object.entries(params))('%s', (name, param: any) => {
  const { reads, takes, texts, values, reason, valueReason = reason } = rows[name as keyof typeof rows]
  test.each(reads)('the text %j is read as %s', (text, value) => expect(param.parse(text, 'field')).toBe(value))
  test.each(takes)('the value %s is accepted as %s', (given, value) => expect(param.check(given, 'field')).toBe(value))
  test.each(texts)('the text %j is refused', (text) => expect(() => param.parse(text, 'here')).toThrow(refused('here', reason)))
  test.each(values)('the value %s is refused', (value, found) =>
    expect(() => param.check(value, 'there')).toThrow(refused('there', valueReason, found)),
  )
})

test('parameters have these OpenAPI schemas', () => {
  expect(Object.fromEntries(Object.entries(params).map(([name, { schema }]) => [name, schema]))).toEqual({
    account: { type: 'string', description: 'Account ID' },
    hash: { type: 'string', description: 'Transaction hash, hexadecimal', pattern: '^[0-9a-fA-F]{64}$' },
    ledger: { type: 'integer', description: 'Ledger sequence number, 0 to 2147483647', pattern: '^[0-9]+$' },
    operation: { type: 'integer', description: 'Operation ID, 0 to 2^63-1', pattern: '^[0-9]+$' },
    offer: { type: 'integer', description: 'Offer ID, 0 to 2^63-1', pattern: '^[0-9]+$' },
  })
})

test('the names in a path are read in order, as the same list each time', () => {
  expect(pathNames('/ledgers')).toEqual([])
  expect(pathNames('/accounts/{account}/x/{offer}')).toEqual(['account', 'offer'])
  expect(pathNames('/accounts/{account}/x/{offer}')).toBe(pathNames('/accounts/{account}/x/{offer}'))
})

describe('limit', () => {
  test('is 10 if empty, otherwise 1 to 200', () => {
    expect([DEFAULT_LIMIT, MAX_LIMIT]).toEqual([10, 200])
    expect(['', '1', '7', '200', '000000007'].map(parseLimit)).toEqual([10, 1, 7, 200, 7])
  })
  test.each(['0', '201', '-1', '1.5', 'x', ' 7', '7 ', '0000000007', '1e2'])('%j is refused', (text) => {
    expect(() => parseLimit(text)).toThrow(refused('limit', 'a whole number from 1 to 200'))
  })
})

describe('order', () => {
  test('is ascending if empty', () => expect(['', 'asc', 'desc'].map(parseOrder)).toEqual(['asc', 'asc', 'desc']))
  test.each(['ASC', 'up', 'descending'])('%j is refused', (text) => {
    expect(() => parseOrder(text)).toThrow(refused('order', 'asc or desc'))
  })
})
