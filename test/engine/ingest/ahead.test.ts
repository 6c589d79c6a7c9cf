/** Ledgers drafted while those before them are being written: what the store gets, when, and what comes of it when a write or a ledger fails. */
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { memory } from '../../../adapters/memory/index.ts'
import { catalogue, FolioError, type Ledger, type LedgerClose, openLedger, type Store, type Write } from '../../../src/index.ts'
import { decodeHead } from '../../../src/layout/head.ts'
import { HEAD } from '../../../src/layout/keys.ts'
import { difference, dump, shared } from '../../support/dump.ts'
import { codeOf, errorOf } from '../../support/errors.ts'
import { holds } from '../../support/property.ts'
import { turns } from '../../support/turns.ts'

const FIRST = 40
const closes = [
  ...generate({
    ledgers: 60,
    seed: 9,
    accounts: 16,
    transactionsPerLedger: 3,
    firstLedger: FIRST,
    envelopeBytes: 30,
    tradeShare: 0.5,
    offers: 8,
  }),
] as readonly LedgerClose[]
const EVERY = 120

/**
 * A store that carries out a write only once it is told to.
 * @param pace after how many turns the next one is let go: meanwhile some ledgers may be drafted
 */
function held(answersLate = false, pace = 1, isShared = false) {
  const inner = memory()
  const waiting: { readonly batch: readonly Write[]; readonly go: (error?: unknown) => void }[] = []
  const late = <T>(value: T): T => (answersLate ? (turns().then(() => value) as T) : value)
  const getMany = vi.fn((keys: readonly Uint8Array[]) => late(inner.getMany(keys)))
  const store: Store = {
    ...inner,
    capabilities: { ...inner.capabilities, sync: !answersLate, shared: isShared },
    get: (key) => late(inner.get(key)),
    getMany,
    scan: (range, options) => late(inner.scan(range, options)),
    write: (batch, options) =>
      new Promise<void>((resolve, reject) => {
        waiting.push({ batch, go: (error) => (error ? reject(error) : Promise.resolve(inner.write(batch, options)).then(resolve, reject)) })
      }),
  }
  /** Lets writes go, one after another, until `work` is done. */
  const through = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false
    const end = (): void => {
      isDone = true
    }
    work.then(end, end)
    while (!isDone) {
      expect(waiting.length).toBeLessThanOrEqual(1)
      waiting.shift()?.go()
      await turns(pace)
    }
    return work
  }
  const open = async (options = {}): Promise<Ledger> => {
    const ledger = await through(openLedger(store, options))
    getMany.mockClear()
    return ledger
  }
  return { open, inner, waiting, getMany, through }
}

const whole = (async () => {
  const store = memory()
  const ledger = await openLedger(store, { fileEvery: EVERY })
  for (const close of closes) await ledger.append(close)
  return { bytes: await dump(store), digest: await ledger.digest() }
})()

/** How often a store is read from for ledgers: only the hashes of their transactions are looked up. */
const reads = (given: readonly LedgerClose[]): number => given.filter(({ transactions = [] }) => transactions.length > 0).length

/** A source that says how many ledgers were taken from it. */
function counted(given: readonly LedgerClose[]) {
  const source = {
    taken: 0,
    *[Symbol.iterator](): Generator<LedgerClose> {
      for (const close of given) {
        source.taken++
        yield close
      }
    },
  }
  return source
}

/** What a store holds to which ledgers were appended one by one. */
async function appended(given: readonly LedgerClose[], options = {}, isShared = false): Promise<string[]> {
  const store = memory()
  const ledger = await openLedger(isShared ? shared(store) : store, options)
  for (const close of given) await ledger.append(close)
  return dump(store)
}

describe('a ledger is drafted while the one before it is being written', () => {
  test.each([
    ['at once', false],
    ['later', true],
  ])('over a store that answers %s, and the bytes are those of ledgers appended one by one', async (_, answersLate) => {
    for (const batch of [1, 4, undefined]) {
      const { open, inner, through } = held(answersLate)
      const ledger = await open({ fileEvery: EVERY })
      await through(ledger.ingest(closes, { batch }))
      const { bytes, digest } = await whole
      expect(difference(await dump(inner), bytes)).toBeUndefined()
      expect(await ledger.digest()).toBe(digest)
    }
  })

  test('however many filings begin in one batch of ledgers, before the batch before it is written', async () => {
    const some = fc.record({
      fileEvery: fc.integer({ min: 1, max: 200 }),
      alone: fc.integer({ min: 0, max: 20 }),
      batch: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
      answersLate: fc.boolean(),
      pace: fc.integer({ min: 1, max: 12 }),
    })
    await holds(some, 40, async ({ fileEvery, alone, batch, answersLate, pace }) => {
      const one = await appended(closes, { fileEvery })
      const { open, inner, through } = held(answersLate, pace)
      const ledger = await open({ fileEvery })
      await through(ledger.ingest(closes.slice(0, alone)))
      await through(ledger.ingest(closes.slice(alone), { batch }))
      expect(difference(await dump(inner), one)).toBeUndefined()
    })
  })

  test('and so are those behind it, up to eight that wait, or as few as have 4,096 records', async () => {
    const dense = [
      ...generate({ ledgers: 3, seed: 9, accounts: 16, transactionsPerLedger: 1200, firstLedger: FIRST, envelopeBytes: 30 }),
    ] as readonly LedgerClose[]
    for (const [given, batch, most] of [
      [closes, 1, 8],
      [closes, 3, 9],
      [closes, 20, 40],
      [dense, 1, 2],
    ] as const) {
      const { open, inner, waiting, getMany, through } = held()
      const ledger = await open()
      const source = counted(given)
      const work = ledger.ingest(source, { batch })
      await turns(40)
      expect([source.taken, waiting.length, getMany.mock.calls.length, ledger.head]).toEqual([
        most,
        1,
        reads(given.slice(0, most)),
        undefined,
      ])
      expect(await through(work)).toMatchObject({ appended: given.length })
      // None of them was drafted again.
      expect(getMany.mock.calls.length).toBe(reads(given))
      expect(difference(await dump(inner), await appended(given))).toBeUndefined()
    }
  })

  test('whatever else is appended or taken back meanwhile, also by whoever is told of a batch', async () => {
    const other = fc.oneof(
      fc.record({ append: fc.integer({ min: 0, max: 12 }) }),
      fc.record({ ingest: fc.integer({ min: 1, max: 12 }) }),
      fc.record({ back: fc.integer({ min: 0, max: 12 }) }),
      fc.constant({ fork: true } as const),
    )
    const some = fc.record({
      fileEvery: fc.integer({ min: 1, max: 200 }),
      batch: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      answersLate: fc.boolean(),
      pace: fc.integer({ min: 1, max: 12 }),
      /** What happens after so many turns of the event loop, or told batches. */
      turns: fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), other), { maxLength: 4 }),
      told: fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), other), { maxLength: 3 }),
    })
    await holds(some, 80, async ({ fileEvery, batch, answersLate, pace, turns: later, told }) => {
      const one = await appended(closes, { fileEvery })
      const { open, inner, through } = held(answersLate, pace)
      const ledger = await open({ fileEvery })
      const work: Promise<unknown>[] = []
      const make = (what: { append?: number; ingest?: number; back?: number; fork?: boolean }): Promise<unknown> => {
        const last = ledger.head?.last ?? FIRST - 1
        const next = closes[last + 1 - FIRST] ?? closes[0]!
        const wrong = { hash: 'ab'.repeat(32), prev_hash: 'cd'.repeat(32) }
        if (what.fork && ledger.head) return errorOf(async () => ledger.append({ ...next, ledger: { ...next.ledger, ...wrong } }))
        if (what.back !== undefined) return last > FIRST ? ledger.rollback(Math.max(FIRST, last - what.back)) : turns()
        const some = closes.slice(last + 1 - FIRST, last + 1 - FIRST + (what.append ?? what.ingest ?? 0))
        if (what.ingest) return ledger.ingest(some, { batch: what.ingest }).catch(({ code }) => expect(code).toBe('LEDGER_GAP'))
        return Promise.all(some.map((close) => codeOf(() => ledger.append(close))))
      }
      for (const [after, what] of later) work.push(turns(after).then(() => make(what)))
      let batches = 0
      const onBatch = async (): Promise<void> => {
        batches++
        for (const [after, what] of told) if (after === batches) await make(what)
      }
      // If ledgers were taken back, those that follow do not fit any more.
      work.push(ledger.ingest(closes, { batch, onBatch }).catch((error) => expect(error.code).toBe('LEDGER_GAP')))
      await through(Promise.all(work))
      expect((await through(ledger.verify())).ok).toBe(true)
      await through(ledger.ingest(closes.slice((ledger.head?.last ?? FIRST - 1) + 1 - FIRST), { batch }))
      expect(difference(await dump(inner), one)).toBeUndefined()
    })
  })

  test('but is written, and shown, only after that', async () => {
    const { open, waiting, getMany } = held()
    const ledger = await open({ fileEvery: EVERY })
    const done: number[] = []
    const appended = closes.slice(0, 3).map((close) => ledger.append(close).then(({ sequence }) => done.push(sequence)))
    await turns()
    // The second was drafted: its hashes were looked up. The third waits until the second was handed over.
    expect([waiting.length, getMany.mock.calls.length, ledger.head, done]).toEqual([1, 2, undefined, []])
    waiting.shift()!.go()
    await turns()
    expect([waiting.length, getMany.mock.calls.length, ledger.head?.last, done]).toEqual([1, 3, FIRST, [FIRST]])
    expect((await ledger.page(catalogue.ledgers, {})).records.map(({ sequence }) => sequence)).toEqual([FIRST])
    for (let n = 0; n < 2; n++) {
      waiting.shift()!.go()
      await turns()
    }
    await Promise.all(appended)
    expect([ledger.head?.last, done]).toEqual([FIRST + 2, [FIRST, FIRST + 1, FIRST + 2]])
  })

  test('and knows what that one holds: its hash, its transactions and its offers', async () => {
    const { open, through } = held()
    const ledger = await open()
    const [first, second] = closes as [LedgerClose, LedgerClose]
    const again = { ...second, transactions: [...second.transactions!, first.transactions![0]!] }
    const [, refused] = await through(Promise.all([ledger.append(first), codeOf(() => ledger.append(again))]))
    const [appended, known] = await through(Promise.all([ledger.append(second), ledger.append(second)]))
    expect([refused, appended.appended, known.appended]).toEqual(['DUPLICATE_TRANSACTION', true, false])
    const fork = { ...second, ledger: { ...second.ledger, hash: 'ab'.repeat(32) } }
    const [, code] = await through(Promise.all([ledger.append(closes[2]!), codeOf(() => ledger.append(fork))]))
    expect(code).toBe('LEDGER_FORK')
  })

  test('and what those before that hold, if several wait', async () => {
    const six = await appended(closes.slice(0, 6))
    for (const back of [1, 2, 5]) {
      const before = closes[6 - back]!
      const stolen = { ...closes[6]!, transactions: [...closes[6]!.transactions!, before.transactions![0]!] }
      for (const [last, said] of [
        [before, { appended: 6, known: 1, last: FIRST + 5 }],
        [stolen, 'DUPLICATE_TRANSACTION'],
      ] as const) {
        const { open, inner, waiting, through } = held()
        const ledger = await open()
        const work = ledger.ingest([...closes.slice(0, 6), last]).catch((error) => error.code)
        await turns(20)
        expect(waiting.length).toBe(1)
        expect(await through(work)).toEqual(said)
        expect(difference(await dump(inner), six)).toBeUndefined()
      }
    }
  })

  test('while what takes history back waits for both', async () => {
    const { open, inner, through } = held()
    const ledger = await open({ fileEvery: EVERY })
    const work = Promise.all([...closes.slice(0, 30).map((close) => ledger.append(close)), ledger.rollback(FIRST + 9)])
    expect((await through(work)).at(-1)).toBe(20)
    await through(ledger.ingest(closes.slice(10)))
    expect(difference(await dump(inner), (await whole).bytes)).toBeUndefined()
    expect((await ledger.verify()).ok).toBe(true)
  })
})

describe('by default a batch is what comes while the one before it is written and told', () => {
  /** How many ledgers a write ends at. */
  const upTo = ({ batch }: { readonly batch: readonly Write[] }): number => decodeHead(batch.at(-1)![1]!).last + 1 - FIRST

  /** Gives as many closes as it is told to. */
  function dosed() {
    const source = new TransformStream<LedgerClose, LedgerClose>({}, { highWaterMark: 100 }, { highWaterMark: 0 })
    const writer = source.writable.getWriter()
    let given = 0
    const give = async (count: number): Promise<void> => {
      for (const close of closes.slice(given, given + count)) void writer.write(close)
      given += count
      await turns(60)
    }
    return { closes: source.readable, give, end: () => void writer.close() }
  }

  test.each([
    ['at once', false, false],
    ['later', true, false],
    ['later, and other processes may write to', true, true],
  ])('over a store that answers %s', async (_, answersLate, isShared) => {
    const { open, inner, waiting, through } = held(answersLate, 1, isShared)
    const ledger = await open()
    const source = dosed()
    const told: number[][] = []
    let read = (): void => {}
    const onBatch = (results: readonly { sequence: number }[]): unknown => {
      told.push(results.map(({ sequence }) => sequence + 1 - FIRST))
      return told.length === 3 ? new Promise<void>((resolve) => (read = resolve)) : undefined
    }
    const work = ledger.ingest(source.closes, { onBatch })
    const go = async (): Promise<void> => {
      waiting.shift()!.go()
      await turns(60)
    }
    const writes = (): number[] => waiting.map(upTo)
    // What comes alone is written at once.
    await source.give(1)
    expect(writes()).toEqual([1])
    await source.give(3)
    expect(writes()).toEqual([1])
    await go()
    expect([writes(), told]).toEqual([[4], [[1]]])
    await go()
    expect([writes(), told]).toEqual([[], [[1], [2, 3, 4]]])
    await source.give(1)
    await go()
    // The third is not told yet.
    await source.give(2)
    expect([writes(), told.length, ledger.head?.last]).toEqual([[], 3, FIRST + 4])
    read()
    await turns(60)
    expect([writes(), told.at(-1)]).toEqual([[7], [5]])
    await source.give(closes.length)
    source.end()
    await turns(600)
    expect(await through(work)).toMatchObject({ appended: closes.length })
    expect(told.slice(3)).toEqual([[6, 7], closes.slice(7).map((_, at) => at + 8)])
    expect(difference(await dump(inner), await appended(closes, {}, isShared))).toBeUndefined()
  })

  test('up to 64 ledgers, or as few as have 1,024 records', async () => {
    const made = (ledgers: number, transactionsPerLedger: number) =>
      [...generate({ ledgers, seed: 9, accounts: 16, transactionsPerLedger, firstLedger: FIRST, envelopeBytes: 30 })] as LedgerClose[]
    const flat = <T, R>(all: readonly T[] | undefined, list: (one: T) => readonly R[] | undefined): R[] =>
      (all ?? []).flatMap((one) => list(one) ?? [])
    /** Itself, and all that it holds. */
    const recordsOf = ({ transactions = [] }: LedgerClose): number => {
      const operations = flat(transactions, (one) => one.operations)
      const caused = [flat(operations, ({ effects }) => effects), flat(operations, ({ trades }) => trades)]
      return [transactions, operations, ...caused].reduce((sum, { length }) => sum + length, 1)
    }
    for (const given of [made(150, 2), made(12, 100), made(4, 1000)]) {
      // The first is written at once.
      let most = 0
      for (let records = 0; most < 64 && records < 1024; most++) records += recordsOf(given[1 + most]!)
      const { open, inner, waiting, getMany, through } = held(false, 400)
      const ledger = await open()
      const ends: number[] = []
      const onBatch = (): void => void ends.push(ledger.head!.last + 1 - FIRST)
      const source = counted(given)
      const work = ledger.ingest(source, { onBatch })
      await turns(200)
      expect([source.taken, waiting.length]).toEqual([1 + most, 1])
      await through(work)
      expect(ends.slice(0, 2)).toEqual([1, 1 + most])
      // None of them was drafted again.
      expect(getMany.mock.calls.length).toBe(reads(given))
      expect(difference(await dump(inner), await appended(given))).toBeUndefined()
    }
  })

  test('however they come, from two sources of the same ledgers, and whatever else has its turn', async () => {
    const few = closes.slice(0, 30)
    const pauses = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 10 })
    const some = fc.record({
      fileEvery: fc.integer({ min: 1, max: 200 }),
      answersLate: fc.boolean(),
      isShared: fc.boolean(),
      pace: fc.integer({ min: 1, max: 12 }),
      /** Of each source: how many turns it takes to give a ledger, and to be told of a batch, and where it ends; the first gives all. */
      sources: fc.array(fc.record({ giving: pauses, told: pauses, end: fc.nat(few.length) }), { minLength: 1, maxLength: 2 }),
      /** After so many batches, everything is checked, which nobody waits for. */
      checks: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }),
    })
    const nth = (all: readonly number[], at: number): Promise<void> => turns(all[at % all.length]!)
    const slowly = async function* (giving: readonly number[], end: number): AsyncGenerator<LedgerClose> {
      for (const [at, close] of few.slice(0, end).entries()) {
        await nth(giving, at)
        yield close
      }
    }
    await holds(some, 60, async ({ fileEvery, answersLate, isShared, pace, sources, checks }) => {
      const { open, inner, through } = held(answersLate, pace, isShared)
      const ledger = await open({ fileEvery })
      let batches = 0
      const checked: Promise<{ ok: boolean }>[] = []
      const ingest = ({ giving, told, end }: (typeof sources)[number], at: number) => {
        const onBatch = async (): Promise<void> => {
          if (checks.includes(++batches)) checked.push(ledger.verify())
          await nth(told, batches)
        }
        return ledger.ingest(slowly(giving, at === 0 ? few.length : end), { onBatch })
      }
      const all = await through(Promise.all(sources.map(ingest)))
      expect(all.reduce((sum, { appended }) => sum + appended, 0)).toBe(few.length)
      expect((await Promise.all(checked)).every(({ ok }) => ok)).toBe(true)
      expect(difference(await dump(inner), await appended(few, { fileEvery }, isShared))).toBeUndefined()
    })
  })

  test('and ends before a ledger that is refused, or whose write fails', async () => {
    const stolen = { ...closes[5]!, transactions: [...closes[5]!.transactions!, closes[2]!.transactions![0]!] }
    const { open, waiting, through, inner } = held()
    const ledger = await open()
    const refused = ledger.ingest([...closes.slice(0, 5), stolen, closes[6]!]).catch((error) => error.code)
    await turns(60)
    expect(waiting.map(upTo)).toEqual([1])
    expect(await through(refused)).toBe('DUPLICATE_TRANSACTION')
    expect(difference(await dump(inner), await appended(closes.slice(0, 5)))).toBeUndefined()
    const gone = new FolioError('STORE_FAILED', { reason: 'gone' })
    const failed = errorOf(async () => ledger.ingest(closes.slice(5)))
    await turns(60)
    waiting.shift()!.go()
    await turns(60)
    waiting.shift()!.go(gone)
    expect(await failed).toBe(gone)
    expect([ledger.head?.last, waiting.length, difference(await dump(inner), await appended(closes.slice(0, 6)))]).toEqual([
      FIRST + 5,
      0,
      undefined,
    ])
  })
})

describe('if a write fails', () => {
  const gone = new FolioError('STORE_FAILED', { reason: 'gone' })

  test('the ledger drafted upon it is not written, and says so', async () => {
    const { open, waiting, inner } = held()
    const ledger = await open()
    const [first, second] = closes.slice(0, 2).map((close) => errorOf(async () => ledger.append(close)))
    await turns()
    waiting.shift()!.go(gone)
    expect([(await first!).code, (await second!).code, (await second!).cause]).toEqual(['STORE_FAILED', 'POISONED', gone])
    expect([waiting.length, await inner.get(HEAD)]).toEqual([0, undefined])
  })

  test('at once, an ingest throws its error too', async () => {
    for (const ledgers of [1, 2, 3, 5]) {
      const inner = memory()
      let writes = 0
      const write: Store['write'] = (batch, options) => {
        // The first write is that of the format.
        if (writes++ === 2) throw gone
        return inner.write(batch, options)
      }
      const ledger = await openLedger({ ...inner, write })
      const error = await ledger.ingest(closes.slice(0, ledgers)).catch((error) => error)
      expect([error === gone, ledger.head?.last]).toEqual([ledgers > 1, FIRST])
    }
  })

  test('an ingest throws its error, and not that of the ledgers behind it', async () => {
    const { open, waiting } = held()
    const ledger = await open()
    const work = errorOf(async () => ledger.ingest(closes))
    await turns()
    waiting.shift()!.go()
    await turns()
    waiting.shift()!.go(gone)
    expect(await work).toBe(gone)
    expect([ledger.head?.last, waiting.length, await codeOf(() => ledger.append(closes[1]!))]).toEqual([FIRST, 0, 'POISONED'])
  })
})

test('an ingest appends nothing behind a ledger that it refuses, even if that would fit', async () => {
  for (const wrong of [{ ...closes[1]!, ledger: { ...closes[1]!.ledger, hash: 'no hash' } }, closes[3]!]) {
    const { open, through } = held()
    const ledger = await open()
    const told: number[] = []
    const onBatch = (results: readonly { sequence: number }[]): void => void told.push(...results.map(({ sequence }) => sequence))
    const error = await through(errorOf(async () => ledger.ingest([closes[0]!, wrong, closes[1]!, closes[2]!], { onBatch })))
    expect([error.code, ledger.head?.last, told]).toEqual([wrong === closes[3] ? 'LEDGER_GAP' : 'INVALID_INPUT', FIRST, [FIRST]])
    // Nothing is left of it: the next ledger is appended as if it had not been tried.
    expect((await through(ledger.append(closes[1]!))).appended).toBe(true)
  }
})
