/** What an ingest tells, when it stops, and what is written then; which close it names; and that it keeps nothing of what it has told. */
import { describe, expect, test } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { memory } from '../../../adapters/memory/index.ts'
import { type AppendResult, FolioError, type IngestOptions, type LedgerClose, openLedger, type Store } from '../../../src/index.ts'
import { dump } from '../../support/dump.ts'
import { codeOf, errorOf } from '../../support/errors.ts'
import { collectGarbage } from '../../support/held.ts'
import { turns } from '../../support/turns.ts'

const FIRST = 70
const EVERY = 120
const closes = [
  ...generate({ ledgers: 40, seed: 5, accounts: 16, transactionsPerLedger: 3, firstLedger: FIRST, offers: 8 }),
] as LedgerClose[]
const lastsOf = (results: readonly AppendResult[]): number => results.at(-1)!.sequence
const never = new Promise<never>(() => {})

/** Gives closes, and then nothing for ever; notes whether it was told to end. */
function silentAfter(count: number) {
  const it = { pulled: 0, returned: false, ends: 0, closes: undefined as unknown as AsyncIterable<LedgerClose> }
  const next = () => (it.pulled < count ? Promise.resolve({ done: false, value: closes[it.pulled++]! }) : never)
  const end = async () => {
    it.returned = true
    it.ends++
    return { done: true as const, value: undefined }
  }
  it.closes = { [Symbol.asyncIterator]: () => ({ next, return: end }) as AsyncIterator<LedgerClose> }
  return it
}

/** A store that takes a turn for each write. */
const late = (inner: Store): Store => ({
  ...inner,
  write: async (batch, options) => {
    await turns()
    await inner.write(batch, options)
  },
})

describe('a signal', () => {
  test.each([
    [1, 4, 4],
    [3, 7, 6],
    [100, 7, 0],
  ])('ends an ingest in batches of %i whose source gave %i closes and then nothing', async (batch, given, written) => {
    const ledger = await openLedger(memory())
    const stop = new AbortController()
    const source = silentAfter(given)
    const ended = ledger.ingest(source.closes, { batch, signal: stop.signal })
    while (source.pulled < given || (ledger.head?.last ?? FIRST - 1) < FIRST + written - 1) await turns()
    expect(source.returned).toBe(false)
    stop.abort()
    expect(await ended).toEqual({ appended: written, known: 0, last: written === 0 ? undefined : FIRST + written - 1 })
    expect(source.returned).toBe(true)
  })

  test('that aborts while a batch is told stops the one that was drafted meanwhile', async () => {
    const ledger = await openLedger(late(memory()))
    const stop = new AbortController()
    const told: number[] = []
    const onBatch = (results: readonly AppendResult[]): void => {
      told.push(lastsOf(results))
      if (told.length === 3) stop.abort()
    }
    expect(await ledger.ingest(closes, { batch: 2, onBatch, signal: stop.signal })).toEqual({ appended: 6, known: 0, last: FIRST + 5 })
    expect([told, ledger.head?.last]).toEqual([[FIRST + 1, FIRST + 3, FIRST + 5], FIRST + 5])
    expect((await ledger.ingest(closes)).known).toBe(6)
  })

  test('that is aborted already lets nothing be read', async () => {
    const ledger = await openLedger(memory())
    const source = silentAfter(3)
    expect((await ledger.ingest(source.closes, { signal: AbortSignal.abort() })).appended).toBe(0)
    expect([source.pulled, source.returned]).toEqual([0, true])
  })
})

describe('a ledger that is closed', () => {
  test.each([
    [1, 4, 4],
    [3, 7, 6],
  ])('ends an ingest in batches of %i whose source gave %i closes and then nothing, with CLOSED', async (batch, given, written) => {
    const ledger = await openLedger(memory())
    const source = silentAfter(given)
    const ended = codeOf(() => ledger.ingest(source.closes, { batch }))
    while (source.pulled < given || (ledger.head?.last ?? FIRST - 1) < FIRST + written - 1) await turns()
    await ledger.close()
    expect([await ended, ledger.head?.last, source.ends]).toEqual(['CLOSED', FIRST + written - 1, 1])
  })

  test('is no reason to fail for an ingest that was signalled to end, or whose source has ended', async () => {
    const ledger = await openLedger(late(memory()))
    const stop = new AbortController()
    const signalled = ledger.ingest(silentAfter(0).closes, { signal: stop.signal })
    const last = ledger.ingest(closes.slice(0, 1))
    await turns()
    stop.abort()
    await ledger.close()
    expect([(await signalled).appended, (await last).appended]).toEqual([0, 1])
  })

  test('ends as many ingests as there are, and none of them is taken for a leak', async () => {
    const warned: Error[] = []
    const listen = (warning: Error): unknown => warned.push(warning)
    process.on('warning', listen)
    const ledger = await openLedger(memory())
    const ended = Array.from({ length: 30 }, () => codeOf(() => ledger.ingest(silentAfter(0).closes)))
    await turns()
    await ledger.close()
    expect(await Promise.all(ended)).toEqual(Array(30).fill('CLOSED'))
    await turns()
    process.off('warning', listen)
    expect(warned).toEqual([])
  })

  test('takes nothing more from a source, and tells it so', async () => {
    const ledger = await openLedger(memory())
    await ledger.close()
    const source = silentAfter(3)
    expect(await codeOf(() => ledger.ingest(source.closes))).toBe('CLOSED')
    expect([source.pulled, source.ends]).toEqual([0, 1])
  })
})

test('a source is told once that no more is wanted, whatever the reason', async () => {
  const full = new Error('no room for the acknowledgement')
  const reasons: readonly IngestOptions[] = [
    {
      onBatch: async () => {
        await turns()
        throw full
      },
    },
    { onBatch: () => Promise.reject(full) },
    {},
  ]
  for (const options of reasons) {
    const ledger = await openLedger(late(memory()))
    const source = silentAfter(5)
    // The last of these is refused.
    if (!options.onBatch) await ledger.append(closes[20]!)
    await expect(ledger.ingest(source.closes, options)).rejects.toThrow()
    expect(source.ends).toBe(1)
  }
})

describe('what is told of a batch', () => {
  test('is waited for before the next is written, and may itself write', async () => {
    const plain = memory()
    await (await openLedger(plain, { fileEvery: EVERY })).ingest(closes)
    for (const batch of [1, 3]) {
      const inner = memory()
      const ledger = await openLedger(late(inner), { fileEvery: EVERY })
      const onBatch = async (results: readonly AppendResult[]): Promise<void> => {
        const last = lastsOf(results)
        await turns()
        // Whatever takes its turn here makes the batch that was drafted meanwhile useless.
        expect((await ledger.append(closes[last - FIRST]!)).appended).toBe(false)
        if (last % 10 === 0) expect((await ledger.verify()).ok).toBe(true)
        if (last % 5 === 0) await ledger.append(closes[last - FIRST + 1] ?? closes[0]!)
        expect(ledger.head?.last).toBeLessThanOrEqual(last + 1)
      }
      const { appended, known, last } = await ledger.ingest(closes, { batch, onBatch })
      expect([appended + known, known > 2, last]).toEqual([closes.length, true, FIRST + closes.length - 1])
      expect(await dump(inner)).toEqual(await dump(plain))
    }
  })

  test('may take history back: what was drafted upon it is refused', async () => {
    const ledger = await openLedger(late(memory()))
    const onBatch = async (results: readonly AppendResult[]): Promise<void> => {
      if (lastsOf(results) === FIRST + 4) await ledger.rollback(FIRST + 2)
    }
    const error = await errorOf(() => ledger.ingest(closes, { onBatch }))
    expect([error.code, error.fields]).toEqual(['LEDGER_GAP', { sequence: FIRST + 5, expected: FIRST + 3 }])
    expect((await ledger.ingest(closes.slice(3))).appended).toBe(closes.length - 3)
  })

  test('may fail: then nothing more is written, and its error is thrown, though the source has nothing to give', async () => {
    const ledger = await openLedger(late(memory()))
    const source = silentAfter(5)
    const full = new Error('no room for the acknowledgement')
    const onBatch = async (results: readonly AppendResult[]): Promise<void> => {
      if (lastsOf(results) === FIRST + 4) throw full
    }
    await expect(ledger.ingest(source.closes, { onBatch })).rejects.toBe(full)
    expect([ledger.head?.last, source.returned]).toEqual([FIRST + 4, true])
  })

  test('may close the ledger: the batch that was drafted meanwhile is not written', async () => {
    const inner = memory()
    const ledger = await openLedger(late(inner))
    let closed: Promise<void> | undefined
    const onBatch = (results: readonly AppendResult[]): void => {
      if (lastsOf(results) === FIRST + 1) closed = ledger.close()
    }
    expect(await codeOf(() => ledger.ingest(closes, { onBatch }))).toBe('CLOSED')
    await closed
    expect(ledger.head?.last).toBe(FIRST + 1)
  })
})

describe('a close that is refused', () => {
  const wrong = { ...closes[7]!, ledger: { ...closes[7]!.ledger, fee_pool: 'much' } } as unknown as LedgerClose

  test.each([1, 3, 8, 100])(
    'is named with its error, which may be replaced, once those before it are told (batches of %i)',
    async (batch) => {
      for (const [bad, code] of [
        [wrong, 'INVALID_INPUT'],
        [closes[9]!, 'LEDGER_GAP'],
        [undefined as unknown as LedgerClose, 'INVALID_INPUT'],
      ] as const) {
        const ledger = await openLedger(late(memory()))
        const told: unknown[] = []
        const onBatch = (results: readonly AppendResult[]) => told.push(...results.map(({ sequence }) => sequence))
        const onRefused = (error: unknown, close: LedgerClose): void => {
          told.push((error as FolioError).code, close)
          if (batch !== 3) throw new FolioError('BAD_REQUEST', { field: 'line 8' }, error)
        }
        const given = closes.with(7, bad)
        const error = await errorOf(() => ledger.ingest(given, { batch, onBatch, onRefused }))
        expect(error.code).toBe(batch === 3 ? code : 'BAD_REQUEST')
        expect(told).toEqual([...closes.slice(0, 7).map((_, at) => FIRST + at), code, bad])
      }
    },
  )

  test('is reported at once, though the source has nothing to give', async () => {
    const ledger = await openLedger(late(memory()))
    const source = silentAfter(3)
    const gap = async function* (): AsyncGenerator<LedgerClose> {
      let at = 0
      for await (const close of source.closes) yield at++ === 2 ? closes[9]! : close
    }
    expect(await codeOf(() => ledger.ingest(gap()))).toBe('LEDGER_GAP')
    expect(ledger.head?.last).toBe(FIRST + 1)
  })

  test('is none if the source or the store fails', async () => {
    const inner = memory()
    let broken = false
    const gone = new FolioError('STORE_FAILED', { reason: 'gone' })
    const write: Store['write'] = (batch, options) => (broken ? Promise.reject(gone) : inner.write(batch, options))
    const ledger = await openLedger({ ...inner, write })
    const refused: unknown[] = []
    const onRefused = (error: unknown) => refused.push(error)
    async function* breaking(): AsyncGenerator<LedgerClose> {
      yield* closes.slice(0, 2)
      throw gone
    }
    await expect(ledger.ingest(breaking(), { onRefused })).rejects.toBe(gone)
    broken = true
    await expect(ledger.ingest(closes, { onRefused })).rejects.toBe(gone)
    expect([refused, ledger.head?.last]).toEqual([[], FIRST + 1])
  })
})

test('what was told is not kept, however long the signal is not aborted', async () => {
  const ledger = await openLedger(memory(), { cacheBytes: 0 })
  const given: WeakRef<LedgerClose>[] = []
  async function* source(): AsyncGenerator<LedgerClose> {
    for (const close of generate({ ledgers: 40, seed: 5, accounts: 16, transactionsPerLedger: 3 })) {
      given.push(new WeakRef(close as LedgerClose))
      await turns()
      yield close as LedgerClose
    }
  }
  let kept = 0
  const onBatch = async (): Promise<void> => {
    if (given.length < 40) return
    await turns()
    collectGarbage()
    kept = given.filter((close) => close.deref()).length
  }
  await ledger.ingest(source(), { onBatch, onRefused: () => {}, signal: new AbortController().signal })
  expect(given.length).toBe(40)
  expect(kept).toBeLessThan(5)
})

test('an ingest over a store that answers at once lets timers have their turn, and so can be stopped by one', async () => {
  const ledger = await openLedger(memory())
  const stop = new AbortController()
  let batches = 0
  const onBatch = (): void => {
    if (++batches === 1) setTimeout(() => stop.abort(), 20)
  }
  const { appended } = await ledger.ingest(generate({ ledgers: 100_000, seed: 5, accounts: 16, transactionsPerLedger: 3 }), {
    ...{ signal: stop.signal, onBatch },
  })
  expect(appended).toBeGreaterThan(0)
  expect(appended).toBeLessThan(20_000)
  await ledger.close()
})

test('a source whose next gives no object fails the ingest, and what came before stays', async () => {
  const ledger = await openLedger(memory())
  let pulled = 0
  const next = async () => (pulled++ < 2 ? { done: false, value: closes[pulled - 1]! } : undefined)
  const source = { [Symbol.asyncIterator]: () => ({ next }) } as unknown as AsyncIterable<LedgerClose>
  await expect(ledger.ingest(source)).rejects.toThrow(TypeError)
  expect(ledger.head?.last).toBe(FIRST + 1)
  await ledger.close()
})
