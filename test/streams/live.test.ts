/** Streams: history and live records by one read; each record once, in order. */
import { expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, openLedger } from '../../src/index.ts'

const closes = [...generate({ ledgers: 30, seed: 5, accounts: 30, transactionsPerLedger: 12 })]

test('a stream replays history, then follows commits, and misses and repeats nothing', async () => {
  const ledger = await openLedger(memory())
  await ledger.ingest(closes.slice(0, 10))
  const seen: bigint[] = []
  const done = (async () => {
    for await (const operation of ledger.stream(catalogue.operations, {})) seen.push(operation.id)
  })()
  for (const close of closes.slice(10)) {
    await ledger.append(close)
    if (Number(close.ledger.sequence) % 3) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const all: bigint[] = []
  for await (const { id } of ledger.records(catalogue.operations, {})) all.push(id)
  await expect.poll(() => seen.length).toBeGreaterThanOrEqual(all.length)
  await ledger.close()
  await done
  expect(seen).toEqual(all)
})

test('a stream from now gives what is appended after the call, not after the first pull', async () => {
  const ledger = await openLedger(memory())
  await ledger.ingest(closes.slice(0, 10))
  const stream = ledger.stream(catalogue.ledgers, {}, { cursor: 'now' })
  await ledger.append(closes[10]!)
  expect((await stream.next()).value).toMatchObject({ sequence: closes[10]!.ledger.sequence })
  const waiting = stream.next()
  await stream.return()
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(ledger.waitingStreams).toBe(0)
})

test('a rollback ends the streams that passed the new head, and only those', async () => {
  const ledger = await openLedger(memory())
  await ledger.ingest(closes.slice(0, 10))
  const [first] = closes
  const passed = ledger.stream(catalogue.ledgers, {}, { cursor: 'now' })
  const behind = ledger.stream(catalogue.ledgers, {})
  await behind.next()
  const waiting = passed.next()
  await ledger.rollback(first!.ledger.sequence + 4)
  await expect(waiting).rejects.toMatchObject({ code: 'ROLLED_BACK', fields: { last: first!.ledger.sequence + 4 } })
  expect((await behind.next()).value).toMatchObject({ sequence: first!.ledger.sequence + 1 })
})
