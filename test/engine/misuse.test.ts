/** What an engineer gets wrong first: values that are not stores, options out of bounds, untyped calls, databases of other applications. */
import { ClassicLevel } from 'classic-level'
import { MemoryLevel } from 'memory-level'
import { describe, expect, test } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import {
  catalogue,
  copyStore,
  isVacant,
  type MaybePromise,
  networkOf,
  openLedger,
  repairStore,
  type Store,
  verifyStore,
} from '../../src/index.ts'
import { codeOf, errorOf } from '../support/errors.ts'
import { turns } from '../support/turns.ts'

test.each([['./data'], [undefined], [{}], [{ getMany() {}, close() {} }]])('%o is not a store', async (what) => {
  const error = await errorOf(() => openLedger(what as never))
  expect(error.code).toBe('STORE_MISUSE')
  expect(error.message).toContain('level(directory)')
})

/** The functions that take a store which no ledger has open, each given one store at fault. */
const taking: readonly { readonly name: string; readonly take: (store: never) => Promise<unknown>; readonly argument?: string }[] = [
  { name: 'isVacant', take: isVacant },
  { name: 'networkOf', take: networkOf },
  { name: 'verifyStore', take: verifyStore },
  { name: 'repairStore', take: repairStore },
  { name: 'copyStore, from', take: (store) => copyStore(store, untouched()), argument: 'from' },
  { name: 'copyStore, to', take: (store) => copyStore(untouched(), store), argument: 'to' },
]

/** A store of which nothing is asked. */
const untouched = (): Store => {
  const no = (): never => {
    throw new Error('it was asked for something')
  }
  return { capabilities: memory().capabilities, get: no, getMany: no, scan: no, write: no, snapshot: no, close: no }
}

describe.each(taking)('$name', ({ take, argument }) => {
  test('refuses a promise of a store, and says to await it', async () => {
    const { code, fields, message } = await errorOf(() => take(Promise.resolve(untouched()) as never))
    expect([code, fields]).toEqual(['STORE_MISUSE', { argument, found: 'a promise', expected: 'a store: await it' }])
    expect(message).toContain('await it')
  })

  test.each([['./data'], [undefined], [null], [7], [{}]])('refuses %o', async (what) => {
    const { code, fields } = await errorOf(() => take(what as never))
    expect([code, fields['argument'], fields['found']]).toEqual(['STORE_MISUSE', argument, typeof what])
    expect(fields['expected']).toContain('level(directory)')
  })

  test('refuses a ledger', async () => {
    const ledger = await openLedger(memory())
    const { code, fields } = await errorOf(() => take(ledger as never))
    expect([code, fields['missing']]).toEqual(['STORE_MISUSE', 'capabilities, getMany, scan, write'])
    await ledger.close()
  })
})

test.each([
  [null, 'capabilities'],
  [{}, 'capabilities.name, capabilities.sync, capabilities.persistent, capabilities.shared'],
  [{ ...memory().capabilities, shared: undefined }, 'capabilities.shared'],
  [{ ...memory().capabilities, sync: 'yes' }, 'capabilities.sync'],
])('a store whose capabilities are %o is told what is missing', async (capabilities, missing) => {
  const error = await errorOf(() => openLedger({ ...memory(), capabilities: capabilities as never }))
  expect([error.code, error.fields['missing']]).toEqual(['STORE_MISUSE', missing])
})

test.each([[undefined], [null], [7], [{}]])('%o is not a location for a LevelDB', async (location) => {
  const error = await errorOf(() => openLedger(level(location as never)))
  expect([error.code, error.fields['expected']]).toEqual([
    'STORE_MISUSE',
    'the path or file: URL of a directory, or an abstract-level database',
  ])
})

test.each([
  ['options', null as never],
  ['network', { network: '' }],
  ['network', { network: 7 as never }],
  ['cacheBytes', { cacheBytes: -1 }],
  ['cacheBytes', { cacheBytes: '1g' as never }],
  ['cacheBytes', { cacheBytes: Number.POSITIVE_INFINITY }],
  ['fileEvery', { fileEvery: 0 }],
  ['fileEvery', { fileEvery: Number.NaN }],
  ['pollMs', { pollMs: -5 }],
  ['pollMs', { pollMs: 2 ** 31 }],
  // Texts of digits, which compare as numbers do.
  ['cacheBytes', { cacheBytes: '5' as never }],
  ['fileEvery', { fileEvery: '9' as never }],
  ['pollMs', { pollMs: '7' as never }],
  ['pollMs', { pollMs: null as never }],
  ['cacheBytes', { cacheBytes: true as never }],
  ['fileEvery', { fileEvery: 5n as never }],
])('an option out of bounds is refused by name: %s', async (field, options) => {
  let closed = 0
  const store: Store = { ...memory(), close: () => void closed++ }
  expect(await codeOf(() => openLedger(store, options))).toBe(`BAD_REQUEST ${field}`)
  expect(closed).toBe(1)
})

describe('an untyped call:', () => {
  const sequence = 7
  const ledger = openLedger(memory()).then(async (made) => {
    await made.append(richClose(sequence, ''))
    return made as any
  })
  const { transactions, transactionsOfAccount, transactionsOfLedger, trades } = catalogue
  const lists = ['read', 'page', 'explain', 'pages', 'records', 'ndjson', 'stream', 'streamPages', 'tail', 'subscribe']
  const ones = ['readOne', 'get']
  const listens = (method: string): boolean => lists.indexOf(method) >= lists.indexOf('stream')
  /** Calls a method, and pulls once if it returns an iterator. */
  const ask = async (method: string, ...args: unknown[]): Promise<any> => {
    const answer = await (await ledger)[method](...args)
    return typeof answer?.next === 'function' ? (await answer.next()).value : answer
  }
  const refused = (method: string, ...args: unknown[]): Promise<string> => codeOf(() => ask(method, ...args))

  test.each([...lists, 'now', ...ones])('%s refuses a missing query, or one of the wrong kind', async (method) => {
    for (const query of [undefined, null, 'transactions', {}, '/transactions', ones.includes(method) ? transactions : catalogue.ledger])
      expect(await refused(method, query, { ledger: sequence })).toBe('BAD_REQUEST query')
  })

  test.each(lists)('%s refuses values and options that are not objects', async (method) => {
    for (const none of [null, 7, 'now']) {
      expect(await refused(method, transactions, none)).toBe('BAD_REQUEST values')
      expect(await refused(method, transactions, {}, none)).toBe('BAD_REQUEST options')
    }
    for (const values of [undefined, {}]) expect(await refused(method, transactionsOfAccount, values)).toBe('BAD_REQUEST account')
  })

  test.each(lists)('%s refuses values that its query does not take, or options in their place', async (method) => {
    const error = await errorOf(() => ask(method, trades, { base_asset_type: 'native' }))
    expect(error.fields).toEqual({
      field: 'base_asset_type',
      reason: 'not a value of /trades, which takes base, counter, offer_id',
    })
    const { reason } = (await errorOf(() => ask(method, transactions, { limit: 5 }))).fields
    expect(reason).toBe('not a value of /transactions, which takes no values; options come after them')
    expect(await refused(method, transactionsOfAccount, { account: 'GA', ledger: sequence })).toBe('BAD_REQUEST ledger')
    expect(await refused(method, catalogue.tradesOfAccount, { account: 'GA', bases: {} })).toBe('BAD_REQUEST bases')
  })

  test.each(lists.filter((method) => !listens(method)))('%s refuses an option that a page does not take', async (method) => {
    const error = await errorOf(() => ask(method, transactions, {}, { limt: 5 }))
    const walk = 'pages and records; the options are cursor, order, limit, signal'
    const ndjson = 'ndjson; the options are cursor, order, limit, signal, reuse'
    const options = { pages: walk, records: walk, ndjson }[method as string] ?? 'a page; the options are cursor, order, limit'
    expect(error.fields).toEqual({ field: 'limt', reason: `not an option of ${options}` })
  })

  test.each(lists.filter(listens))('%s refuses an option that a stream does not take', async (method) => {
    const error = await errorOf(() => ask(method, transactions, {}, { limit: 5 }))
    expect(error.fields).toEqual({ field: 'limit', reason: 'not an option of a stream; the options are cursor, signal' })
  })

  test.each([
    ['append', [richClose(sequence, ''), { durible: false }], 'durible', 'append; the options are durable'],
    ['ingest', [[], { bach: 5 }], 'bach', 'ingest; the options are batch, durable, onBatch, onRefused, signal'],
    ['verify', [{ maxFault: 5 }], 'maxFault', 'verify; the options are onProgress, onFault, maxFaults, signal'],
    ['lines', [{ form: 5 }], 'form', 'a range; the options are from, to'],
    ['digest', [{ form: 5 }], 'form', 'a range; the options are from, to'],
    // An option of lines, which are made of pages.
    ['page', [transactions, {}, { reuse: true }], 'reuse', 'a page; the options are cursor, order, limit'],
  ] as const)('%s refuses an option that it does not take', async (method, args, field, names) => {
    const error = await errorOf(() => ask(method, ...args))
    expect([error.code, error.fields]).toEqual(['BAD_REQUEST', { field, reason: `not an option of ${names}` }])
  })

  test.each([
    ['append', { durable: 'no' }, 'true or false', [richClose(sequence + 1, '')]],
    ['ingest', { durable: null }, 'true or false', [[richClose(sequence + 1, '')]]],
    ['ingest', { onBatch: 5 }, 'a function', [[richClose(sequence + 1, '')]]],
    ['ingest', { onRefused: 5 }, 'a function', [[richClose(sequence + 1, '')]]],
    ['ingest', { signal: new AbortController() }, 'an AbortSignal', [[richClose(sequence + 1, '')]]],
    ['verify', { onProgress: 'x' }, 'a function', []],
    ['verify', { onFault: {} }, 'a function', []],
    ['verify', { maxFaults: '5' }, 'a number, 0 or more', []],
    ['verify', { maxFaults: Number.NaN }, 'a number, 0 or more', []],
    ['verify', { maxFaults: -1 }, 'a number, 0 or more', []],
    ['ingest', { batch: '2' }, 'a number of ledgers, 1 or more', [[richClose(sequence + 1, '')]]],
    ['ingest', { batch: null }, 'a number of ledgers, 1 or more', [[richClose(sequence + 1, '')]]],
    ['ingest', { batch: 0.5 }, 'a number of ledgers, 1 or more', [[richClose(sequence + 1, '')]]],
    ['lines', { from: '7' }, 'a whole number from 0 to 2147483647', []],
    ['closes', { to: 7n }, 'a whole number from 0 to 2147483647', []],
    ['digest', { from: -1 }, 'a whole number from 0 to 2147483647', []],
    ['ndjson', { limit: '5' }, 'a whole number from 1 to 200', [transactions, {}]],
    ['pages', { cursor: null }, 'a paging token, as text', [transactions, {}]],
    ['page', { limit: 201 }, 'a whole number from 1 to 200', [transactions, {}]],
    ['explain', { order: true }, 'asc or desc', [transactions, {}]],
    ['stream', { cursor: 7 }, 'a paging token, as text', [transactions, {}]],
    ['stream', { signal: 'x' }, 'an AbortSignal', [transactions, {}]],
    ['verify', { signal: 5 }, 'an AbortSignal', []],
    ['verify', { signal: new AbortController() }, 'an AbortSignal', []],
    ['ndjson', { reuse: 'x' }, 'true or false', [transactions, {}]],
  ] as const)('%s refuses a wrong option before it does anything: %o', async (method, options, reason, args) => {
    const [[field, value]] = Object.entries(options) as [[string, unknown]]
    const error = await errorOf(() => ask(method, ...args, options))
    // A number that is out of range is told as it is.
    const isOut = typeof value === 'number' && reason.includes('number')
    const found = typeof value === 'bigint' ? `${value}n` : value === null || isOut ? String(value) : typeof value
    expect([error.code, error.fields]).toEqual(['BAD_REQUEST', { field, reason, found }])
    expect((await ledger).head.last).toBe(sequence)
  })

  test.each(lists.filter((method) => method !== 'subscribe'))('%s ignores values and options that are undefined', async (method) => {
    expect(await ask(method, trades, { base: undefined, base_asset_type: undefined }, { cursor: undefined, limt: undefined })).toBeDefined()
  })

  test.each(ones)('%s refuses values that its query does not take', async (method) => {
    expect(await refused(method, catalogue.ledger, { ledger: sequence, sequence })).toBe('BAD_REQUEST sequence')
  })

  test.each(ones)('%s refuses values that are missing or not an object', async (method) => {
    for (const none of [null, 7]) expect(await refused(method, catalogue.ledger, none)).toBe('BAD_REQUEST values')
    for (const values of [undefined, {}]) expect(await refused(method, catalogue.ledger, values)).toBe('BAD_REQUEST ledger')
  })

  test.each(lists.filter((method) => method !== 'subscribe'))('%s takes no values if its query needs none', async (method) => {
    for (const query of [transactions, trades]) expect(await ask(method, query)).toBeDefined()
  })

  test.each(lists.filter(listens))('%s refuses a list that never grows, and a signal that is not one', async (method) => {
    expect(await refused(method, transactionsOfLedger, { ledger: sequence })).toBe('BAD_REQUEST query')
    for (const signal of [null, 7, {}]) expect(await refused(method, transactions, {}, { signal })).toBe('BAD_REQUEST signal')
  })

  test('other methods refuse ranges, closes and options of the wrong type', async () => {
    for (const method of ['lines', 'closes', 'digest']) expect(await refused(method, null)).toBe('BAD_REQUEST range')
    for (const closes of [undefined, null, 7, './ledgers.ndjson', richClose(8, '')])
      expect(await refused('ingest', closes)).toBe('BAD_REQUEST closes')
    expect(await refused('ingest', [], null)).toBe('BAD_REQUEST options')
    expect(await refused('append', richClose(sequence, ''), null)).toBe('BAD_REQUEST options')
    expect(await refused('verify', null)).toBe('BAD_REQUEST options')
  })
})

test('opening and repairing a store refuse unknown options', async () => {
  const fields = async (call: () => unknown) => (await errorOf(call)).fields
  expect(await fields(() => openLedger(memory(), { cachebytes: 5 } as object))).toEqual({
    field: 'cachebytes',
    reason: 'not an option of openLedger; the options are network, cacheBytes, fileEvery, pollMs',
  })
  expect(await fields(() => repairStore(memory(), { cutt: true } as object))).toEqual({
    field: 'cutt',
    reason: 'not an option of repair; the options are cut, closes, onProgress, onFault, maxFaults, signal',
  })
})

test('repairing a store refuses wrong options before it reads anything', async () => {
  for (const options of [
    { onFault: 5 },
    { onProgress: true },
    { signal: {} },
    { maxFaults: '5' },
    { cut: 'no' },
    { cut: 1 },
    { cut: null },
  ])
    expect(await codeOf(() => repairStore({} as Store, options as object))).toBe(`BAD_REQUEST ${Object.keys(options)[0]}`)
})

test('options of a class are checked as well, whose members are not its own', async () => {
  class Own {
    get fileEvery(): unknown {
      return '9'
    }
  }
  expect(await codeOf(() => openLedger(memory(), new Own() as object))).toBe('BAD_REQUEST fileEvery')
  expect(await codeOf(() => openLedger(memory(), Object.create({ pollMs: '7' })))).toBe('BAD_REQUEST pollMs')
  const ledger = await openLedger(memory(), Object.assign(Object.create(null), { pollMs: 7, cacheBytes: undefined }))
  for (const name of ['constructor', 'toString', '__proto__'])
    expect(await codeOf(() => ledger.page(catalogue.ledgers, {}, JSON.parse(`{"${name}":{}}`)))).toBe(`BAD_REQUEST ${name}`)
})

test('a batch size of 0 or NaN is refused even if the source is empty', async () => {
  const ledger = await openLedger(memory())
  for (const batch of [0, Number.NaN]) expect(await codeOf(() => ledger.ingest([], { batch }))).toBe('BAD_REQUEST batch')
})

/** How a store that has a ledger over it is refused to another one. */
const refusal = 'STORE_MISUSE a ledger is open over this store: use that one, or open another store'
const second = async (store: Store, options = {}): Promise<string> => {
  const { code, fields } = await errorOf(() => openLedger(store, options))
  return `${code} ${fields['reason']}`
}

test('a store that has a ledger over it is refused to a second one, which leaves it open', async () => {
  const store = memory()
  const opening = openLedger(store)
  expect(await second(store)).toBe(refusal)
  const ledger = await opening
  expect(await second(store)).toBe(refusal)
  // Its own mistakes would have it close the store, too.
  expect(await second(store, { fileEvery: 0 })).toBe(refusal)
  await ledger.append(richClose(5, hashOf(4, 1)))
  expect((await ledger.page(catalogue.ledgers, {})).records).toHaveLength(1)
  await ledger.close()
  expect(await codeOf(() => openLedger(store))).toBe('CLOSED')
})

test('a store that outlives its ledger, or an opening that failed, may have another one', async () => {
  const store: Store = { ...memory(), close() {} }
  expect(await codeOf(() => openLedger(store, { fileEvery: 0 }))).toBe('BAD_REQUEST fileEvery')
  const first = await openLedger(store)
  await first.append(richClose(5, hashOf(4, 1)))
  await first.close()
  const again = await openLedger(store)
  expect(again.head?.last).toBe(5)
})

/** A store whose calls of these names end when the test says so, with an error if it has one. */
function lingering(...names: ('write' | 'close')[]) {
  const inner = memory()
  const held: { name: string; end: (error?: Error) => void }[] = []
  const hold = (name: 'write' | 'close'): MaybePromise<void> =>
    names.includes(name)
      ? new Promise((resolve, reject) => held.push({ name, end: (error) => (error ? reject(error) : resolve()) }))
      : undefined
  const store: Store = {
    ...inner,
    async write(...args) {
      await hold('write')
      return inner.write(...args)
    },
    close: () => hold('close'),
  }
  /** Waits for a call, and lets it end. */
  const end = async (name: string, error?: Error): Promise<void> => {
    await expect.poll(() => held[0]?.name).toBe(name)
    held.shift()!.end(error)
  }
  return { store, end }
}

describe.each([[undefined], [new Error('the disk')]])('a store whose closing ends with %o is refused until then', (error) => {
  test('by a ledger', async () => {
    const { store, end } = lingering('write', 'close')
    const opening = openLedger(store)
    await end('write')
    const first = await opening
    const appended = first.append(richClose(5, hashOf(4, 1)))
    const closed = first.close().catch((failure) => failure)
    expect([first.closed, await second(store)]).toEqual([true, refusal])
    await end('write')
    expect([(await appended).appended, await second(store)]).toEqual([true, refusal])
    await end('close', error)
    expect(await closed).toBe(error)
    const again = await openLedger(store)
    expect(again.head?.last).toBe(5)
    // Closing the first one once more does not concern the one that is open.
    await first.close().catch(() => {})
    expect(await second(store)).toBe(refusal)
  })

  test('by an opening that failed', async () => {
    const { store, end } = lingering('close')
    const opening = codeOf(() => openLedger(store, { fileEvery: 0 }))
    await turns()
    expect(await second(store)).toBe(refusal)
    await end('close', error)
    expect(await opening).toBe('BAD_REQUEST fileEvery')
    expect((await openLedger(store)).head).toBeUndefined()
  })
})

test('the database of another application is refused and left as it is', async () => {
  const db = new MemoryLevel<string, string>()
  await db.batch(['a', 'b'].map((name) => ({ type: 'put', key: `user:${name}`, value: name })))
  const before = await db.iterator().all()
  const store = await level(db)
  expect(await codeOf(() => openLedger({ ...store, ...bound(store), close: () => {} }))).toBe('STORE_FORMAT')
  expect(await db.iterator().all()).toEqual(before)
})

/** The methods of a store, which are on its prototype. */
const bound = (store: Store): Pick<Store, 'get' | 'getMany' | 'scan' | 'write'> => ({
  get: (key) => store.get(key),
  getMany: (keys) => store.getMany(keys),
  scan: (range, options) => store.scan(range, options),
  write: (batch, options) => store.write(batch, options),
})

test('`level` takes databases with any key and value encodings, and stores bytes in them', async () => {
  const [bytes, value] = [Uint8Array.of(0x80, 0xff), Uint8Array.of(0, 0xfe)]
  for (const db of [new MemoryLevel(), new MemoryLevel<string, object>({ valueEncoding: 'json' })]) {
    const store = await level(db)
    await store.write([[bytes, value]], { durable: true })
    expect(await store.get(bytes)).toEqual(value)
    await store.close()
  }
  // A type check: the database of classic-level is taken as well; test/support/benches.ts opens one by its directory.
  const classic = (location: string): Promise<Store> => level(new ClassicLevel(location))
  expect(classic).toBeTypeOf('function')
})

test('wrong filters are refused by a stream and a listing at once, and fail no stream whose filters are right', async () => {
  const ledger = await openLedger(memory())
  await ledger.append(richClose(5, hashOf(4, 1)))
  const wrong = { offer_id: '5' as never }
  for (const call of [() => ledger.stream(catalogue.trades, wrong), () => ledger.listing(catalogue.trades, wrong)])
    expect(await codeOf(call)).toBe('BAD_REQUEST offer_id')
  const odd = (asset: object) => ({ base: asset, counter: { type: 'native' } }) as never
  const [native, coded] = [
    { type: 'native', code: () => 1 },
    { type: 'credit_alphanum4', code: () => 1, issuer: 'x' },
  ]
  for (const call of [ledger.page, ledger.listing] as readonly ((query: typeof catalogue.trades, values: never) => unknown)[]) {
    expect(await codeOf(() => call.call(ledger, catalogue.trades, odd(native)))).toBe('no error')
    expect(await codeOf(() => call.call(ledger, catalogue.trades, odd(coded)))).toBe('BAD_REQUEST base_asset_code')
  }
  expect(await codeOf(() => ledger.stream(catalogue.trades, wrong, { cursor: 'x' }))).toBe('BAD_REQUEST cursor')
  await ledger.close()
})

test('one asset of a pair alone is refused: the other is named, and that both are given or neither', async () => {
  const ledger = await openLedger(memory())
  const native = { type: 'native' } as const
  for (const [filter, field, given] of [
    [{ base: native }, 'counter_asset_type', 'base'],
    [{ base: native, counter: undefined }, 'counter_asset_type', 'base'],
    [{ counter: native, offer_id: 7n }, 'base_asset_type', 'counter'],
  ] as const) {
    const fields = { field, reason: `given, since ${given} is: give both base and counter, or neither` }
    expect((await errorOf(() => ledger.page(catalogue.trades, filter))).fields).toEqual(fields)
    expect((await errorOf(() => ledger.stream(catalogue.trades, filter))).fields).toEqual(fields)
  }
  // What is wrong with the one that is given comes first, if it is the base.
  expect((await errorOf(() => ledger.page(catalogue.trades, { base: { type: 'gold' } as never }))).fields).toEqual({
    field: 'base_asset_type',
    reason: 'native, credit_alphanum4 or credit_alphanum12',
  })
  await ledger.close()
})

test('a name with a lone surrogate, which as bytes would be another name, is not looked up', async () => {
  const ledger = await openLedger(memory())
  await ledger.append({
    ...richClose(5, hashOf(4, 1)),
    transactions: [{ ...richClose(5, hashOf(4, 1)).transactions![0]!, account: '\ufffd' }],
  })
  expect((await ledger.page(catalogue.transactionsOfAccount, { account: '\ufffd' })).records).toHaveLength(1)
  expect(await codeOf(() => ledger.page(catalogue.transactionsOfAccount, { account: '\ud800' }))).toBe('BAD_REQUEST account')
  const asset = { type: 'credit_alphanum4', code: 'USD', issuer: '\ud800' } as const
  expect(await codeOf(() => ledger.page(catalogue.trades, { base: { type: 'native' }, counter: asset }))).toBe(
    'BAD_REQUEST counter_asset_issuer',
  )
  await ledger.close()
})

test('the error of a read shows whose call it was, and leaves how many frames others keep as it was', async () => {
  const given = Error.stackTraceLimit
  const ledger = await openLedger(memory())
  await ledger.append(richClose(7, ''))
  async function whoeverAsked(): Promise<void> {
    await ledger.page(catalogue.operationsOfAccount, { account: 'nobody' })
  }
  try {
    for (const limit of [10, 200]) {
      Error.stackTraceLimit = limit
      const { stack } = await errorOf(whoeverAsked)
      expect(stack).toContain('whoeverAsked')
      expect(Error.stackTraceLimit).toBe(limit)
    }
    Error.stackTraceLimit = 3
    expect((await errorOf(whoeverAsked)).stack!.match(/^ {4}at /gm)).toHaveLength(3)
  } finally {
    Error.stackTraceLimit = given
  }
})
