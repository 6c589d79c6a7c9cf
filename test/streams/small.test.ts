/** The bell, and streams over a few ledgers: where each begins, what it delivers, which ones wait together, and how it ends. */
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, FolioError, type Ledger, type LedgerClose, openLedger, type RawPage, type Store } from '../../src/index.ts'
import { Bell } from '../../src/stream/bell.ts'

const FIRST = 70
const closes = [
  ...generate({ ledgers: 12, seed: 8, accounts: 16, transactionsPerLedger: 3, firstLedger: FIRST, envelopeBytes: 30, tradeShare: 0.3 }),
] as readonly LedgerClose[]
const done = { done: true, value: undefined }
/** Lets everything happen that does not wait for something outside. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 60; turn++) await Promise.resolve()
  await new Promise((resolve) => setImmediate(resolve))
}

describe('a bell', () => {
  const sleeper = (size = 1) => ({ size, wake: vi.fn() })

  test('wakes sleepers at the next ring, once, in a turn of its own', async () => {
    const bell = new Bell()
    const [a, b] = [sleeper(2), sleeper(3)]
    bell.ring()
    bell.after(bell.ticket(), a)
    bell.after(bell.ticket(), b)
    await settle()
    expect([bell.waiting, a.wake.mock.calls.length]).toEqual([5, 0])
    bell.forget(b)
    expect(bell.waiting).toBe(2)
    bell.ring()
    expect([bell.waiting, a.wake.mock.calls.length]).toEqual([0, 0])
    await settle()
    bell.ring()
    await settle()
    expect([a.wake.mock.calls.length, b.wake.mock.calls.length]).toEqual([1, 0])
  })

  test('soon wakes a sleeper with a ticket from before a ring, and any once it is silent', async () => {
    const bell = new Bell()
    const [late, last, asleep] = [sleeper(), sleeper(), sleeper()]
    const ticket = bell.ticket()
    bell.ring()
    bell.after(ticket, late)
    expect([bell.waiting, late.wake.mock.calls.length]).toEqual([0, 0])
    await settle()
    expect(late.wake).toHaveBeenCalledTimes(1)
    bell.after(bell.ticket(), asleep)
    expect(bell.isSilent).toBe(false)
    bell.silence()
    await settle()
    expect([bell.isSilent, asleep.wake.mock.calls.length]).toEqual([true, 1])
    bell.after(bell.ticket(), last)
    await settle()
    expect([bell.waiting, last.wake.mock.calls.length]).toEqual([0, 1])
  })

  test('knows how far history was rolled back since any of its rollbacks', async () => {
    const bell = new Bell()
    const one = sleeper()
    bell.after(bell.ticket(), one)
    expect([bell.rollbackCount, bell.lowestSince(0)]).toEqual([0, undefined])
    for (const last of [9, 4, 7]) bell.rolledBack(last)
    await settle()
    expect(one.wake).toHaveBeenCalledTimes(1)
    expect([0, 1, 2, 3].map((count) => bell.lowestSince(count))).toEqual([4, 4, 7, undefined])
    expect(bell.rollbackCount).toBe(3)
  })

  test('keeps of rollbacks only what can still be an answer, which is right for any of them', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 40 }), (all) => {
        const bell = new Bell()
        for (const last of all) bell.rolledBack(last)
        const since = (count: number) => (count < all.length ? Math.min(...all.slice(count)) : undefined)
        for (let count = 0; count <= all.length; count++) expect(bell.lowestSince(count)).toBe(since(count))
        expect(bell.rollbackCount).toBe(all.length)
        expect(bell['rollbacks']).toHaveLength(new Set(all.map((_, count) => since(count))).size)
      }),
    )
    const bell = new Bell()
    for (let n = 0; n < 10_000; n++) bell.rolledBack(5 + (n % 2))
    expect([bell.rollbackCount, bell.lowestSince(0), bell.lowestSince(9999), bell['rollbacks'].length]).toEqual([10_000, 5, 6, 2])
  })
})

const open: Ledger[] = []
afterEach(async () => {
  for (const ledger of open.splice(0)) await ledger.close()
})

describe.each([
  ['at once', () => memory(), {}],
  ['late', () => slowStore(memory()), { cacheBytes: 0 }],
] as const)('over a store that answers %s', (_, store, options) => {
  const holding = async (count: number): Promise<Ledger> => {
    const ledger = await openLedger(store(), options)
    open.push(ledger)
    await ledger.ingest(closes.slice(0, count))
    return ledger
  }
  const sequenceOf = ({ value }: { value?: unknown }): number | undefined => (value as { sequence: number } | undefined)?.sequence

  test('a stream delivers what is there and then what comes, each record once', async () => {
    const ledger = await holding(4)
    for (const query of [catalogue.ledgers, catalogue.operations, catalogue.effects] as const) {
      const stream = ledger.stream(query as typeof catalogue.operations, {})
      const all = async () => {
        const tokens: string[] = []
        for await (const record of ledger.records(query as typeof catalogue.operations, {})) tokens.push(record.paging_token)
        return tokens
      }
      const before = await all()
      const seen: string[] = []
      for (const token of before) {
        seen.push((await stream.next()).value!.paging_token)
        expect(seen.at(-1)).toBe(token)
      }
      const waiting = stream.next()
      await settle()
      expect(ledger.waitingStreams).toBe(1)
      let after = before
      while (after.length === before.length) {
        await ledger.append(closes[ledger.head!.last - FIRST + 1]!)
        after = await all()
      }
      expect((await waiting).value?.paging_token).toBe(after[before.length])
      await stream.return()
      expect(await stream.next()).toEqual(done)
      expect(ledger.waitingStreams).toBe(0)
    }
  })

  test('a stream before the first ledger waits for it', async () => {
    const ledger = await holding(0)
    const streams = [ledger.stream(catalogue.ledgers, {}), ledger.stream(catalogue.ledgers, {}, { cursor: 'now' })]
    const waiting = streams.map((stream) => stream.next())
    await settle()
    expect(ledger.waitingStreams).toBe(2)
    await ledger.ingest(closes.slice(0, 2), { batch: 2 })
    expect((await Promise.all(waiting)).map(sequenceOf)).toEqual([FIRST, FIRST])
    expect(sequenceOf(await streams[0]!.next())).toBe(FIRST + 1)
    for (const stream of streams) await stream.return()
  })

  test('a stream after a cursor, even one in the future, delivers what comes after it', async () => {
    const ledger = await holding(4)
    const token = (sequence: number) => String(BigInt(sequence) << 32n)
    const after = ledger.stream(catalogue.ledgers, {}, { cursor: token(FIRST + 1) })
    expect(sequenceOf(await after.next())).toBe(FIRST + 2)
    await after.return()
    const ahead = ledger.stream(catalogue.ledgers, {}, { cursor: token(FIRST + 5) })
    const waiting = ahead.next()
    await settle()
    await ledger.ingest(closes.slice(4, 8))
    expect(sequenceOf(await waiting)).toBe(FIRST + 6)
    await ahead.return()
  })

  test('streams that have caught up wait together, and are given one page by one read', async () => {
    const ledger = await holding(4)
    const tails = [
      ledger.tail(catalogue.ledgers, {}),
      ledger.tail(catalogue.ledgers, {}, { cursor: 'now' }),
      ledger.tail(catalogue.ledgers, {}, { cursor: String(BigInt(FIRST + 3) << 32n) }),
    ]
    expect((await tails[0]!.next()).value?.records.length).toBe(4)
    const waiting = tails.map((tail) => tail.next())
    await settle()
    expect(ledger.waitingStreams).toBe(3)
    const read = vi.spyOn(ledger, 'readListing')
    await ledger.append(closes[4]!)
    const pages = (await Promise.all(waiting)).map(({ value }) => value as RawPage)
    expect([new Set(pages).size, read.mock.calls.length, pages[0]!.records.length]).toEqual([1, 1, 1])
    // Those that pull again are still together; the one that does not is not waited for.
    const again = [tails[0]!.next(), tails[1]!.next()]
    await settle()
    expect(ledger.waitingStreams).toBe(2)
    await ledger.append(closes[5]!)
    expect(new Set((await Promise.all(again)).map(({ value }) => value)).size).toBe(1)
    // The third goes on from its place, and gets what it has missed.
    expect(((await tails[2]!.next()).value as RawPage).records.length).toBe(1)
    expect(read.mock.calls.length).toBeLessThanOrEqual(4)
    for (const tail of tails) await tail.return()
    expect(ledger.waitingStreams).toBe(0)
  })

  test('overlapping pulls are answered in order', async () => {
    const ledger = await holding(2)
    const stream = ledger.stream(catalogue.ledgers, {})
    const pulls = [1, 2, 3, 4].map(() => stream.next())
    expect((await Promise.all(pulls.slice(0, 2))).map(sequenceOf)).toEqual([FIRST, FIRST + 1])
    await ledger.ingest(closes.slice(2, 4))
    expect((await Promise.all(pulls)).map(sequenceOf)).toEqual([FIRST, FIRST + 1, FIRST + 2, FIRST + 3])
    const more = [stream.next(), stream.next()]
    await stream.return()
    expect(await Promise.all(more)).toEqual([done, done])
  })

  test('a stream ends by its signal, by its block, and with its ledger', async () => {
    const ledger = await holding(3)
    expect(await ledger.stream(catalogue.ledgers, {}, { signal: AbortSignal.abort() }).next()).toEqual(done)
    const controller = new AbortController()
    const { signal } = controller
    const [waiting, within] = [
      ledger.stream(catalogue.ledgers, {}, { cursor: 'now', signal }),
      ledger.stream(catalogue.ledgers, {}, { signal }),
    ]
    const pull = waiting.next()
    expect(sequenceOf(await within.next())).toBe(FIRST)
    await settle()
    controller.abort()
    expect([await pull, await within.next(), await within.next(), ledger.waitingStreams]).toEqual([done, done, done, 0])
    let left: Promise<unknown>
    {
      await using stream = ledger.streamPages(catalogue.ledgers, {}, { cursor: 'now' })
      left = stream.next()
    }
    expect(await left).toEqual(done)
    const last = ledger.stream(catalogue.ledgers, {}, { cursor: 'now' })
    const behind = ledger.streamPages(catalogue.ledgers, {})
    await behind.next()
    const lastPull = last.next()
    await settle()
    await ledger.close()
    expect(await lastPull).toEqual(done)
    expect(await behind.next()).toEqual(done)
  })

  test('a rollback below what a stream has delivered ends it with an error; one above does not', async () => {
    const ledger = await holding(6)
    const [passed, behind, waiting] = [
      ledger.stream(catalogue.ledgers, {}, { cursor: 'now' }),
      ledger.streamPages(catalogue.ledgers, {}, {}),
      ledger.stream(catalogue.effects, {}, { cursor: 'now' }),
    ]
    const first = ledger.stream(catalogue.ledgers, {}, { cursor: String(BigInt(FIRST + 1) << 32n) })
    const pulls = [passed.next(), waiting.next()]
    for (const pull of pulls) pull.catch(() => {})
    await settle()
    await ledger.rollback(FIRST + 3)
    const refusal = { code: 'ROLLED_BACK', fields: { last: FIRST + 3, reached: FIRST + 5 } }
    await expect(pulls[0]).rejects.toMatchObject(refusal)
    await expect(pulls[1]).rejects.toMatchObject({ code: 'ROLLED_BACK' })
    expect(await passed.next()).toEqual(done)
    expect(((await behind.next()).value as readonly unknown[]).length).toBe(4)
    await ledger.rollback(FIRST + 2)
    await expect(behind.next()).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: FIRST + 2, reached: FIRST + 3 } })
    expect(sequenceOf(await first.next())).toBe(FIRST + 2)
    const next = first.next()
    await settle()
    await ledger.ingest(closes.slice(3, 5))
    expect(sequenceOf(await next)).toBe(FIRST + 3)
    await first.return()
    expect(ledger.waitingStreams).toBe(0)
  })

  test('a stream that waits where a rollback ends goes on waiting, and delivers what comes', async () => {
    const ledger = await holding(6)
    await ledger.rollback(FIRST + 4)
    const early = ledger.stream(catalogue.ledgers, {}, { cursor: String(BigInt(FIRST + 4) << 32n) })
    const next = early.next()
    await settle()
    expect(ledger.waitingStreams).toBe(1)
    await ledger.rollback(FIRST + 4)
    await ledger.append(closes[5]!)
    expect(sequenceOf(await next)).toBe(FIRST + 5)
    await early.return()
  })

  test('an error of the store ends a stream as a FolioError', async () => {
    let broken = false
    const inner = store()
    const failing: Store = Object.assign(Object.create(inner) as Store, {
      get: (key: Uint8Array) => {
        if (broken) throw new FolioError('STORE_FAILED', { reason: 'gone' })
        return inner.get(key)
      },
      getMany: (keys: readonly Uint8Array[]) => {
        if (broken) throw new FolioError('STORE_FAILED', { reason: 'gone' })
        return inner.getMany(keys)
      },
    })
    const ledger = await openLedger(failing, { cacheBytes: 0 })
    open.push(ledger)
    await ledger.ingest(closes.slice(0, 8))
    const [one, other] = [ledger.stream(catalogue.operations, {}), ledger.streamPages(catalogue.operations, {})]
    broken = true
    const late = ledger.stream(catalogue.ledgers, {}, { cursor: String(BigInt(FIRST) << 32n) })
    for (const stream of [one, other, late]) {
      await expect(stream.next()).rejects.toMatchObject({ code: 'STORE_FAILED' })
      expect(await stream.next()).toEqual(done)
    }
    broken = false
    expect(ledger.waitingStreams).toBe(0)
  })
})
