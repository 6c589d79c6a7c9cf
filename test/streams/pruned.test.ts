/** Pruning while somebody goes through a listing: what may have been missed ends with an error, and whatever else goes on. */
import { afterEach, describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, type Ledger, type LedgerClose, type Offer, openLedger, type Stream } from '../../src/index.ts'
import { emptyHead } from '../../src/layout/head.ts'
import { effects } from '../../src/resources/effect.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { offers } from '../../src/resources/offer.ts'
import { operations } from '../../src/resources/operation.ts'
import { missedBy, throughOf } from '../../src/stream/pruned.ts'
import { turns } from '../support/turns.ts'
import { insteadOf } from './instead.ts'

const FIRST = 70
const closes = [
  ...generate({ ledgers: 40, seed: 8, accounts: 16, transactionsPerLedger: 3, firstLedger: FIRST, envelopeBytes: 30 }),
] as readonly LedgerClose[]
const startOf = (sequence: number): string => String(BigInt(sequence) << 32n)

/** The same ledger without transactions. */
const bare = ({ ledger }: LedgerClose): LedgerClose => ({ ledger })

const open: Ledger[] = []
afterEach(async () => {
  for (const ledger of open.splice(0)) await ledger.close()
})

describe.each([
  ['at once', () => memory()],
  ['late', () => slowStore(memory())],
] as const)('over a store that answers %s', (_, store) => {
  async function holding(count: number): Promise<Ledger> {
    const ledger = await openLedger(store(), { cacheBytes: 2 ** 20 })
    open.push(ledger)
    await ledger.ingest(closes.slice(0, count))
    return ledger
  }
  /** What a stream gives that goes on with a ledger. */
  const first = async (ledger: Ledger, sequence: number) => {
    const { records } = await ledger.page(catalogue.operations, {}, { cursor: startOf(sequence), limit: 1 })
    return { done: false, value: { id: records[0]!.id } }
  }
  const next = async (stream: AsyncIterator<{ readonly sequence: number }>) => (await stream.next()).value?.sequence
  const gone = (cursor: string, oldest: number) => ({ code: 'GONE_BEFORE_HISTORY', fields: { cursor, oldest } })

  test('a stream that had ledgers before it ends with an error, once, and a new one begins with what is left', async () => {
    const ledger = await holding(20)
    const stream = ledger.streamPages(catalogue.ledgers, {}, { cursor: startOf(FIRST + 1) })
    await ledger.prune(FIRST + 10)
    await expect(stream.next()).rejects.toMatchObject(gone(startOf(FIRST + 1), FIRST + 10))
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    const again = ledger.stream(catalogue.ledgers, {}, { cursor: startOf(FIRST + 1) })
    expect(await next(again)).toBe(FIRST + 10)
  })

  test('a stream that was given everything before the oldest ledger goes on', async () => {
    const ledger = await holding(20)
    const stream = ledger.stream(catalogue.ledgers, {}, { cursor: startOf(FIRST + 9) })
    await ledger.prune(FIRST + 10)
    expect(await next(stream)).toBe(FIRST + 10)
  })

  test.each(['now', undefined])(
    'a stream after %s that waits over an empty ledger has to be given everything from the first one on',
    async (cursor) => {
      const ledger = await holding(0)
      const [asked, idle] = [0, 1].map(() => ledger.stream(catalogue.operations, {}, { cursor }))
      const answer = asked!.next().catch((error: unknown) => error)
      await turns(20)
      await ledger.ingest(closes.slice(0, 20).map(bare))
      await turns(20)
      await ledger.prune(FIRST + 10)
      await ledger.ingest(closes.slice(20))
      expect(await answer).toMatchObject(await first(ledger, FIRST + 20))
      if (cursor === 'now')
        await expect(idle!.next()).rejects.toMatchObject({ code: 'GONE_BEFORE_HISTORY', fields: { oldest: FIRST + 10 } })
      else expect(await idle!.next()).toMatchObject(await first(ledger, FIRST + 20))
    },
  )

  test('a stream from now wants nothing of what was there at the call, however old the newest record is', async () => {
    const ledger = await holding(1)
    await ledger.ingest(closes.slice(1, 20).map(bare))
    const stream = ledger.stream(catalogue.operations, {}, { cursor: 'now' })
    await ledger.prune(FIRST + 10)
    await ledger.ingest(closes.slice(20))
    expect(await stream.next()).toMatchObject(await first(ledger, FIRST + 20))
  })

  test('what a stream was given before a rollback says nothing of the ledgers that came instead', async () => {
    const ledger = await holding(1)
    await ledger.ingest(closes.slice(1, 20).map(bare))
    const [asked, idle] = [0, 1].map(() => ledger.stream(catalogue.operations, {}))
    const { length } = (await ledger.page(catalogue.operations, {}, { limit: 200 })).records
    for (const stream of [asked!, idle!]) for (let i = 0; i < length; i++) await stream.next()
    const answer = asked!.next().catch((error: unknown) => error)
    await turns(20)
    await ledger.rollback(FIRST + 4)
    const others = insteadOf(closes.slice(0, 30), 5)
    await ledger.ingest(others)
    await turns(20)
    await ledger.prune(FIRST + 15)
    await ledger.append({ ...closes[30]!, ledger: { ...closes[30]!.ledger, prev_hash: others.at(-1)!.ledger.hash } })
    // It was there all the time, and was given each ledger as it came.
    expect(await answer).toMatchObject(await first(ledger, FIRST + 30))
    await expect(idle!.next()).rejects.toMatchObject({ code: 'GONE_BEFORE_HISTORY', fields: { oldest: FIRST + 15 } })
  })

  test('a stream from the start that was given nothing begins with what is left', async () => {
    const ledger = await holding(20)
    const stream = ledger.stream(catalogue.ledgers, {})
    await ledger.prune(FIRST + 10)
    expect(await next(stream)).toBe(FIRST + 10)
  })

  test('a stream that holds records which were read together delivers them, and then ends with an error', async () => {
    const ledger = await holding(5)
    const stream = ledger.stream(catalogue.ledgers, {})
    expect(await next(stream)).toBe(FIRST)
    await ledger.ingest(closes.slice(5, 20))
    await ledger.prune(FIRST + 10)
    for (let sequence = FIRST + 1; sequence < FIRST + 5; sequence++) expect(await next(stream)).toBe(sequence)
    await expect(stream.next()).rejects.toMatchObject(gone(startOf(FIRST + 4), FIRST + 10))
  })

  test('a stream that waits misses nothing, however long nothing comes for it, and however much is pruned', async () => {
    const rare = closes[2]!.transactions!.at(-1)!
    const account = 'RARE'
    const close = (at: number): LedgerClose => {
      const { ledger, transactions } = closes[at]!
      return { ledger, transactions: at === 2 || at === 39 ? [{ ...rare, hash: String(at).padStart(64, '0'), account }] : transactions! }
    }
    const ledger = await openLedger(store())
    open.push(ledger)
    await ledger.ingest([0, 1, 2, 3].map(close))
    const stream = ledger.stream(catalogue.transactionsOfAccount, { account })
    expect((await stream.next()).value).toMatchObject({ account })
    const second = stream.next()
    await turns(5)
    for (let at = 4; at < 40; at++) {
      await ledger.append(close(at))
      await turns(5)
      if (at === 20) await ledger.prune(FIRST + 15)
      if (at === 38) await ledger.prune(FIRST + 38)
    }
    expect((await second).value).toMatchObject({ hash: '39'.padStart(64, '0') })
    // It has been given everything, so that it goes on even if what it was given last is pruned before it asks for more.
    await ledger.prune(FIRST + 39)
    const third = stream.next()
    await turns(5)
    await stream.return()
    expect(await third).toMatchObject({ done: true })
  })

  test('a stream that asks for nothing while ledgers come and go ends with an error', async () => {
    const ledger = await holding(5)
    const stream = ledger.streamPages(catalogue.ledgers, {})
    await stream.next()
    await ledger.ingest(closes.slice(5, 20))
    await ledger.prune(FIRST + 6)
    await expect(stream.next()).rejects.toMatchObject(gone(startOf(FIRST + 4), FIRST + 6))
  })

  test('a stream before the first ledger waits for it, though history then begins where it did not', async () => {
    const ledger = await holding(0)
    const stream = ledger.stream(catalogue.ledgers, {}, { cursor: startOf(3) })
    const first = next(stream)
    await turns(5)
    await ledger.append(closes[0]!)
    expect(await first).toBe(FIRST)
  })

  test('a stream of offers goes on, since pruning takes none away', async () => {
    const ledger = await holding(20)
    const account = (await ledger.page(catalogue.effects, {}, { limit: 200 })).records.map((effect) => effect.account)
    const of = account.map((id) => ({ account: id }))
    for (const values of of) {
      const all = (await ledger.page(catalogue.offersOfAccount, values, { limit: 200 })).records
      if (all.length < 2) continue
      const stream = ledger.stream(catalogue.offersOfAccount, values, { cursor: all[0]!.paging_token })
      await ledger.prune(FIRST + 15)
      expect((await stream.next()).value).toMatchObject({ id: all[1]!.id })
      return
    }
    expect.unreachable('no account has two offers')
  })

  test('a stream that was given all offers goes on, though all ledgers of then are pruned', async () => {
    const ledger = await holding(0)
    const busy = [...generate({ ledgers: 40, seed: 8, accounts: 16, transactionsPerLedger: 12, firstLedger: FIRST, envelopeBytes: 30 })]
    await ledger.ingest(busy.slice(0, 20))
    const offersOf = async (account: string) => (await ledger.page(catalogue.offersOfAccount, { account }, { limit: 200 })).records
    const accounts = new Set((await ledger.page(catalogue.effects, {}, { limit: 200 })).records.map(({ account }) => account))
    const streams: { account: string; last: bigint; stream: Stream<Offer> }[] = []
    for (const account of accounts) {
      const held = await offersOf(account)
      if (held.length === 0) continue
      const stream = ledger.stream(catalogue.offersOfAccount, { account })
      for (const { id } of held) expect((await stream.next()).value).toMatchObject({ id })
      streams.push({ account, last: BigInt(held.at(-1)!.id), stream })
    }
    await ledger.ingest(busy.slice(20))
    await ledger.prune(FIRST + 35)
    let added = 0
    for (const { account, last, stream } of streams) {
      const id = (await offersOf(account)).map((offer) => offer.id).find((id) => BigInt(id) > last)
      if (id !== undefined) expect((await stream.next()).value).toMatchObject({ id })
      if (id !== undefined) added++
      await stream.return()
    }
    expect(added).toBeGreaterThan(0)
  })

  test.each(['records', 'pages', 'ndjson'] as const)(
    'a walk by %s ends with an error if ledgers before it are pruned, and not before',
    async (by) => {
      const ledger = await holding(20)
      const walk = ledger[by](catalogue.ledgers, {}, { limit: 5 })
      await walk.next()
      await ledger.prune(FIRST + 5)
      if (by === 'records') for (let at = 1; at < 5; at++) expect((await walk.next()).value).toMatchObject({ sequence: FIRST + at })
      expect((await walk.next()).done).toBe(false)
      await ledger.prune(FIRST + 15)
      if (by === 'records') for (let at = 6; at < 10; at++) expect((await walk.next()).value).toMatchObject({ sequence: FIRST + at })
      await expect(walk.next()).rejects.toMatchObject(gone(startOf(FIRST + 9), FIRST + 15))
      expect(await walk.next()).toMatchObject({ done: true })
    },
  )

  test.each(['records', 'pages', 'ndjson'] as const)('a walk by %s through what its path names is told that it is pruned', async (by) => {
    const ledger = await holding(20)
    const all = closes.flatMap(({ ledger, transactions = [] }) => transactions.map((transaction) => ({ ledger, ...transaction })))
    const { hash, ledger: close } = all.find(({ successful, operations = [] }) => successful !== false && operations.length > 1)!
    const walks = (['asc', 'desc'] as const).map((order) => ledger[by](catalogue.operationsOfTransaction, { hash }, { limit: 1, order }))
    for (const walk of walks) expect((await walk.next()).done).toBe(false)
    await ledger.prune(close.sequence + 1)
    for (const walk of walks)
      await expect(walk.next()).rejects.toMatchObject({ code: 'GONE_BEFORE_HISTORY', fields: { oldest: close.sequence + 1 } })
  })

  test('a descending walk ends where history begins, or is told that it lies below that', async () => {
    const ledger = await holding(20)
    const walk = ledger.pages(catalogue.ledgers, {}, { limit: 5, order: 'desc' })
    await walk.next()
    await ledger.prune(FIRST + 12)
    expect((await walk.next()).value).toMatchObject({ records: [14, 13, 12].map((at) => ({ sequence: FIRST + at })), ended: 'end' })
    expect(await walk.next()).toMatchObject({ done: true })
    const below = ledger.pages(catalogue.ledgers, {}, { limit: 5, order: 'desc' })
    await below.next()
    await ledger.prune(FIRST + 18)
    await expect(below.next()).rejects.toMatchObject({ code: 'GONE_BEFORE_HISTORY' })
  })
})

describe('what a cursor says of pruned ledgers:', () => {
  test('all of its own ledger was given only if that ledger is the record; the book is not pruned', () => {
    expect([
      throughOf(ledgers, startOf(FIRST)),
      throughOf(operations, startOf(FIRST)),
      throughOf(effects, `${startOf(FIRST + 1)}-3`),
      throughOf(operations, ''),
      throughOf(offers, '7'),
    ]).toEqual([FIRST, FIRST - 1, FIRST, 0, Number.POSITIVE_INFINITY])
  })

  test('something may be missed if ledgers behind it are gone that were there before', () => {
    const head = { ...emptyHead, first: 20, oldest: 20 }
    const missed = (since: number, through: number): boolean => missedBy(head, since, through, 'x') !== undefined
    expect([missed(10, 18), missed(10, 19), missed(19, 0), missed(20, 0), missed(0, 0)]).toEqual([true, false, true, false, false])
    // None was there before: then the first one came afterwards.
    expect([19, 20].map((first) => missedBy({ ...head, first }, 0, 18, 'x') !== undefined)).toEqual([true, false])
    const reason = 'ledgers were pruned that had not been delivered; what is left begins at the oldest one'
    expect(missedBy(head, 10, 18, 'x')).toMatchObject({ code: 'GONE_BEFORE_HISTORY', fields: { cursor: 'x', oldest: 20, reason } })
  })
})
