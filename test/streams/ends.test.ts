/** Streams in process: how they continue pages, are pulled, end, and release everything; and that many waiting streams cost one read. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, FolioError, type Ledger, openLedger, type RawPage, type Store, type Stream } from '../../src/index.ts'
import { turns } from '../support/turns.ts'

const closes = [...generate({ ledgers: 60, seed: 21, accounts: 30, transactionsPerLedger: 12 })]
const done = { done: true, value: undefined }
let ledger: Ledger

beforeEach(async () => {
  ledger = await openLedger(memory())
  await ledger.ingest(closes.slice(0, 10))
})
afterEach(() => ledger.close())

/** Lets everything happen that is not waiting for something. */
const settle = (): Promise<void> => turns(20)

test('a page and a stream from its last token give every record once', async () => {
  const page = await ledger.page(catalogue.effects, {}, { limit: 50 })
  const tokens = page.records.map(({ paging_token }) => paging_token)
  const stream = ledger.stream(catalogue.effects, {}, { cursor: page.next })
  await ledger.ingest(closes.slice(10, 12))
  const all: string[] = []
  for await (const { paging_token } of ledger.records(catalogue.effects, {})) all.push(paging_token)
  while (tokens.length < all.length) tokens.push((await stream.next()).value!.paging_token)
  expect(tokens).toEqual(all)
  await stream.return()
})

describe('a stream ends, and none is left waiting,', () => {
  const caughtUp = (signal?: AbortSignal): Stream<unknown> =>
    ledger.stream(catalogue.ledgers, {}, { cursor: 'now', ...(signal && { signal }) })

  test('by return, even while it waits', async () => {
    const stream = caughtUp()
    const waiting = stream.next()
    await expect.poll(() => ledger.waitingStreams).toBe(1)
    expect(await stream.return()).toEqual(done)
    expect(await waiting).toEqual(done)
    expect(await stream.next()).toEqual(done)
  })

  test('by its signal, before the first pull, while it waits, and within a page', async () => {
    expect(await caughtUp(AbortSignal.abort()).next()).toEqual(done)
    const controller = new AbortController()
    const waiting = caughtUp(controller.signal).next()
    const within = ledger.stream(catalogue.effects, {}, { signal: controller.signal })
    await within.next()
    controller.abort()
    expect(await waiting).toEqual(done)
    expect(await within.next()).toEqual(done)
  })

  test('by leaving its block', async () => {
    let waiting: Promise<unknown>
    {
      await using stream = caughtUp()
      waiting = stream.next()
      await settle()
    }
    expect(await waiting).toEqual(done)
  })

  test('by break', async () => {
    for await (const _ of ledger.streamPages(catalogue.ledgers, {})) break
  })

  test('when the ledger is closed, and a closed ledger opens none', async () => {
    const waiting = caughtUp().next()
    const behind = ledger.streamPages(catalogue.ledgers, {})
    await behind.next()
    await settle()
    await ledger.close()
    expect(await waiting).toEqual(done)
    expect(await behind.next()).toEqual(done)
    expect(() => caughtUp()).toThrow(expect.objectContaining({ code: 'CLOSED' }))
  })

  afterEach(() => expect(ledger.waitingStreams).toBe(0))
})

test('overlapping pulls are answered in order', async () => {
  const stream = ledger.stream(catalogue.ledgers, {}, { cursor: 'now' })
  const pulls = [stream.next(), stream.next(), stream.next()]
  await ledger.ingest(closes.slice(10, 12))
  await ledger.append(closes[12]!)
  const seen = (await Promise.all(pulls)).map(({ value }) => value!.sequence)
  expect(seen).toEqual(closes.slice(10, 13).map(({ ledger }) => ledger.sequence))
  await stream.return()
})

test('an error of the store reaches the reader as a FolioError, and ends the stream', async () => {
  let broken = false
  const store = memory()
  const failing: Store = {
    ...store,
    get(key) {
      if (broken) throw new FolioError('STORE_FAILED', { store: 'memory' })
      return store.get(key)
    },
  }
  const opened = await openLedger(failing, { cacheBytes: 0 })
  await opened.ingest(closes.slice(0, 10))
  const [first, other] = [opened.stream(catalogue.effects, {}), opened.streamPages(catalogue.transactions, {}, { cursor: 'now' })]
  broken = true
  await expect(first.next()).rejects.toMatchObject({ code: 'STORE_FAILED' })
  expect(await first.next()).toEqual(done)
  await expect(other.next()).rejects.toMatchObject({ code: 'STORE_FAILED' })
  broken = false
  await opened.close()
})

test('nothing is read that was not pulled', async () => {
  const read = vi.spyOn(ledger, 'readListing')
  const stream = ledger.streamPages(catalogue.effects, {})
  await ledger.append(closes[10]!)
  await settle()
  expect(read).not.toHaveBeenCalled()
  await stream.next()
  await ledger.append(closes[11]!)
  await settle()
  expect(read).toHaveBeenCalledTimes(1)
  await stream.return()
})

test('many streams that wait at one place cost one read, and are given one page', async () => {
  const streams = Array.from({ length: 500 }, () => ledger.tail(catalogue.operations, {}, { cursor: 'now' }))
  const waiting = streams.map((stream) => stream.next())
  await expect.poll(() => ledger.waitingStreams).toBe(500)
  const read = vi.spyOn(ledger, 'readListing')
  await ledger.append(closes[10]!)
  const pages = await Promise.all(waiting)
  expect(read).toHaveBeenCalledTimes(1)
  expect(new Set(pages.map(({ value }) => value as RawPage)).size).toBe(1)
  for (const stream of streams) await stream.return()
})

test('streams that came at different times to a list in which nothing happens wait together', async () => {
  const account = closes[0]!.transactions[0]!.account
  const quiet = { base: { type: 'credit_alphanum4', code: 'NONE', issuer: 'G' }, counter: { type: 'native' } } as const
  const streams: Stream<unknown>[] = []
  for (const close of closes.slice(10, 30)) {
    const stream = ledger.stream(catalogue.tradesOfAccount, { account, ...quiet }, { cursor: 'now' })
    streams.push(stream)
    void stream.next()
    await ledger.append(close)
    await settle()
  }
  const read = vi.spyOn(ledger, 'readListing')
  await ledger.append(closes[30]!)
  await settle()
  expect(read).toHaveBeenCalledTimes(1)
  for (const stream of streams) await stream.return()
  expect(ledger.waitingStreams).toBe(0)
})
