/** A close of any objects is stored as its JSON text would be, or refused as that would be: what is checked and filed is what is written. */
import { runInNewContext } from 'node:vm'
import { parse as parseLossless } from 'lossless-json'
import { describe, expect, test } from 'vitest'
import { memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { hashOf } from '../../../adapters/testing/arbitraries.ts'
import { richClose } from '../../../adapters/testing/invalid-closes.ts'
import { catalogue, FolioError, openLedger, parseJson, stringifyJson } from '../../../src/index.ts'
import { dump } from '../../support/dump.ts'

const rich = parseJson(stringifyJson(richClose(5, hashOf(4, 1)))) as any

/** What an append of a close comes to: what is stored, after a check of it; or why it is refused. */
async function outcome(close: unknown): Promise<unknown> {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), { fileEvery: 1 })
  try {
    await ledger.append(close as never)
  } catch (error) {
    if (!(error instanceof FolioError)) throw error
    return { code: error.code, ...error.fields }
  }
  expect(await ledger.verify()).toMatchObject({ faults: [] })
  return dump(memory(disk))
}

const asText = (close: object): unknown => parseJson(stringifyJson(close))

type Json = { [name: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The same close with every object replaced, innermost first. */
function mapped(value: unknown, change: (object: Json, path: string) => unknown, path = ''): unknown {
  if (Array.isArray(value)) return value.map((one, at) => mapped(one, change, `${path}[${at}]`))
  if (!isObject(value)) return value
  return change(Object.fromEntries(Object.entries(value).map(([name, held]) => [name, mapped(held, change, `${path}.${name}`)])), path)
}

/** The paths of all objects of a close. */
const paths: string[] = []
mapped(rich, (object, path) => {
  paths.push(path)
  return object
})

class Instance {}
class List extends Array {}

/** Ways in which an object is not what it seems; what its text says is known by `JSON.stringify`. */
const oddities: { [name: string]: (object: Json) => unknown } = {
  'is an instance of a class': (object) => Object.assign(new Instance(), object),
  'has no prototype': (object) => Object.assign(Object.create(null), object),
  'is frozen': Object.freeze,
  'inherits its members': (object) => Object.create(object),
  'inherits one more member': (object) => Object.assign(Object.create({ memo: 'inherited', trustor: 'GX' }), object),
  'has accessors of its class': (object) =>
    Object.create(
      Object.create(
        Object.prototype,
        Object.fromEntries(Object.entries(object).map(([name, value]) => [name, { get: () => value, enumerable: true }])),
      ),
    ),
  'has accessors of its own': (object) =>
    Object.defineProperties(
      {},
      Object.fromEntries(Object.entries(object).map(([name, value]) => [name, { get: () => value, enumerable: true }])),
    ),
  'says what its text is': (object) => ({ ...object, memo: 5, toJSON: () => ({ ...object, memo: 'said' }) }),
  'says so by its class': (object) => Object.assign(Object.create({ toJSON: () => object }), { odd: true }),
  'has functions': (object) => ({ ...object, describe: () => 'nothing' }),
  'names an account by an object': (object) => ({ ...object, trustor: new String('GX'), into: { toJSON: () => 'GY' } }),
  'holds lists of a class': (object) =>
    Object.fromEntries(Object.entries(object).map(([name, value]) => [name, Array.isArray(value) ? List.from(value) : value])),
  'holds a time': (object) => ({ ...object, memo: new Date(0) }),
  'is of another realm': (object) => runInNewContext('Object.assign({}, object)', { object }) as unknown,
}

describe.each(Object.entries(oddities))('where an object %s', (_, odd) => {
  test('a close is what its text says, wherever that object is', async () => {
    for (const at of paths) {
      const make = () => mapped(rich, (object, path) => (path === at ? odd(object) : object)) as object
      expect([at, await outcome(make())]).toEqual([at, await outcome(asText(make()))])
    }
  })

  test('a close is what its text says if all are so', async () => {
    const make = () => mapped(rich, odd) as object
    expect(await outcome(make())).toEqual(await outcome(asText(make())))
  })
})

test('objects that are copies are stored as plain ones are', async () => {
  const plain = await outcome(rich)
  expect(Array.isArray(plain)).toBe(true)
  for (const name of [
    'is an instance of a class',
    'has no prototype',
    'is frozen',
    'has accessors of its own',
    'has functions',
    'is of another realm',
  ])
    expect(await outcome(mapped(rich, oddities[name]!))).toEqual(plain)
})

test('a number past 2^53, which may have been rounded, is no exact integer because it is in an instance of a class', async () => {
  const of = (path: string, name: string, value: unknown, odd: (object: Json) => unknown) =>
    outcome(mapped(rich, (object, at) => (at === path ? odd({ ...object, [name]: value }) : object)))
  const instance = oddities['is an instance of a class']!
  for (const [path, name] of [
    ['.transactions[0]', 'account_sequence'],
    ['.transactions[0].operations[1]', 'amount'],
    ['.transactions[0].operations[2].trades[0]', 'base_offer_id'],
    ['.offers.changed[0]', 'id'],
  ] as const) {
    const refused = await of(path, name, 2 ** 53, instance)
    expect(refused).toMatchObject({ code: 'INVALID_INPUT', path: `${path}.${name}`.slice(1) })
    expect(refused).toEqual(await of(path, name, 2 ** 53, (object) => object))
    expect(await of(path, name, 2n ** 53n, instance)).toEqual(await of(path, name, 2n ** 53n, (object) => object))
  }
  for (const memo of [
    2 ** 60,
    -(2 ** 60),
    1e21,
    1e300,
    Number.NaN,
    Number.NEGATIVE_INFINITY,
    [Number.POSITIVE_INFINITY, 2 ** 64, undefined],
  ]) {
    const stored = await of('.ledger', 'memo', memo, instance)
    expect(Array.isArray(stored)).toBe(true)
    expect(stored).toEqual(await of('.ledger', 'memo', memo, (object) => object))
  }
})

test('members of an instance of a class that have the name of the prototype are kept', async () => {
  const memo = JSON.parse('{"__proto__":{"x":1},"constructor":[2]}') as unknown
  const odd = { ...rich, ledger: Object.assign(new Instance(), rich.ledger, { memo }) }
  expect(await outcome(odd)).toEqual(await outcome({ ...rich, ledger: { ...rich.ledger, memo } }))
})

test('numbers that another copy of lossless-json has read keep their digits', async () => {
  const text = stringifyJson(rich).replace('"ledger":{', '"ledger":{"memo":1.50,"large":123456789012345678901234567890,')
  expect(await outcome(parseLossless(text))).toEqual(await outcome(parseJson(text)))
})

test('an object that says that it is a number is none', async () => {
  const operations = (number: unknown) => [{ type: 'create_account', account: 'GA', funder: 'GB', starting_balance: number }]
  const close = (number: unknown) => ({
    ...rich,
    offers: undefined,
    transactions: [{ ...rich.transactions[0], operations: operations(number) }],
  })
  expect(await outcome(close(parseJson('1.50')))).toEqual(await outcome(parseJson(stringifyJson(close(parseJson('1.50'))))))
  for (const wrong of [{ isLosslessNumber: true, value: '5' }, { isLosslessNumber: true }, {}, '5'])
    expect(await outcome(close(wrong))).toMatchObject({
      code: 'INVALID_INPUT',
      path: 'transactions[0].operations[0].starting_balance',
      expected: 'a number',
    })
})

test('bigints stay numbers where programs teach them to be written as strings', async () => {
  const close = { ...rich, ledger: { ...rich.ledger, memo: { n: 12345678901234567890n, at: new Date(0) }, small: new Instance() } }
  const plain = await outcome({ ...close, ledger: { ...close.ledger, memo: { n: 12345678901234567890n, at: new Date(0).toJSON() } } })
  const taught = BigInt.prototype as { toJSON?: () => string }
  taught.toJSON = function () {
    return String(this)
  }
  try {
    expect(stringifyJson(parseJson('{"id":9007199254740993,"n":[1.50,5]}') as object)).toBe('{"id":9007199254740993,"n":[1.50,5]}')
    expect(await outcome(close)).toEqual(plain)
    const ledger = await openLedger(memory())
    await ledger.append(close as never)
    expect((await ledger.page(catalogue.ledgers, {})).records[0]!['memo']).toEqual({
      n: 12345678901234567890n,
      at: '1970-01-01T00:00:00.000Z',
    })
  } finally {
    delete taught.toJSON
  }
})

test('of a close that is not plain and cannot be written, the path of what keeps it from that is told', async () => {
  const itself: Json = {}
  itself['again'] = itself
  const close = { ...rich, ledger: Object.assign(new Instance(), rich.ledger, { memo: itself }) }
  expect(await outcome(close)).toMatchObject({ code: 'INVALID_INPUT', path: 'ledger', ledger: 5 })
  const hidden = { ...rich, transactions: [Object.create({ ...rich.transactions[0], memo: itself })] }
  expect(await outcome(hidden)).toMatchObject({ code: 'INVALID_INPUT' })
})
