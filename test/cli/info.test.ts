/** `folio info`: what a store holds, without changing anything of it. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { encodeHighWater, encodeIntent } from '../../src/layout/head.ts'
import { dumpAndClose } from '../support/dump.ts'
import { damage, directory, folio, lines, ndjson } from './support.ts'

const FIRST = 2_100_000
const closes = lines(12)

async function stored(...more: string[]): Promise<string> {
  const data = join(directory(), 'data')
  await folio(['ingest', '--data', data, ...more, '-'], { stdin: ndjson(closes) })
  return data
}

const info = async (data: string, ...more: string[]) => {
  const { code, out, err } = await folio(['info', '--data', data, '--json', ...more])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

test('network, ledgers, records, digest and size are shown, in lines or as JSON, in a store of any kind', async () => {
  const data = await stored('--network', 'Test Network')
  const { err } = await folio(['export', '--data', data])
  const digest = /digest ([0-9a-f]{64})/.exec(err)![1]
  const newest = JSON.parse(closes.at(-1)!).ledger
  const given = closes.flatMap((line) => JSON.parse(line).transactions)
  const found = await info(data)
  expect(found).toEqual({
    ...{ network: 'Test Network', ledgers: 12, first: FIRST, oldest: FIRST, last: FIRST + 11 },
    ...{ hash: newest.hash, closedAt: newest.closed_at, digest, bytes: expect.any(Number) },
    records: expect.objectContaining({ effects: expect.any(Number), trades: expect.any(Number) }),
  })
  expect(found.records.transactions + found.records.failedTransactions).toBe(given.length)
  expect(found.bytes).toBeGreaterThan(10_000)
  const { out } = await folio(['info', '--data', data])
  expect(out).toMatch(
    new RegExp(
      `^network +Test Network\nledgers +12, ${FIRST} to ${FIRST + 11}\nnewest +hash ${newest.hash}, closed at 20\\S+Z\n` +
        `records +\\d+ transactions, \\d+ failed, \\d+ operations, \\d+ effects, \\d+ trades?\ndigest +${digest}\non disk +[\\d,]+ bytes\n$`,
    ),
  )
  const copy = join(directory(), 'copy')
  await folio(['copy', '--from', data, '--to', `lmdb:${copy}`])
  expect(await info(copy, '--store', 'lmdb')).toEqual({ ...found, bytes: expect.any(Number) })
})

test('a pruned store says what it has given up; an empty one, that it holds nothing', async () => {
  const data = await stored()
  await folio(['prune', '--data', data, '--before', String(FIRST + 5)])
  expect(await info(data)).toMatchObject({ ledgers: 7, first: FIRST, oldest: FIRST + 5, last: FIRST + 11 })
  expect((await folio(['info', '--data', data])).out).toMatch(
    new RegExp(`^network +without a name\nledgers +7, .*\npruned +5, ${FIRST} to ${FIRST + 4}\n`),
  )
  const empty = join(directory(), 'empty')
  await folio(['ingest', '--data', empty, '-'])
  const { bytes: _, ...nothing } = await info(empty)
  const records = { transactions: 0, failedTransactions: 0, operations: 0, effects: 0, trades: 0 }
  expect(nothing).toEqual({ ledgers: 0, records, digest: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' })
  expect((await folio(['info', '--data', empty])).out).toMatch(/^network +without a name\nledgers +none\nrecords +0 transactions, /)
})

test('what is unfinished is shown, and left as it is', async () => {
  for (const [intent, unfinished, says] of [
    [{ rollback: FIRST + 3 }, 'rollback', 'a rollback: opening the store finishes it'],
    [{ prune: FIRST + 3 }, 'prune', 'a prune: opening the store finishes it'],
    [{ repair: true }, 'repair', 'a repair: run folio repair again'],
    [{ copy: 'one' }, 'copy', 'a copy: run folio copy again, which begins anew'],
  ] as const) {
    const data = await stored()
    await damage(data, '02', encodeIntent(intent))
    const [before, note] = [await dumpAndClose(level(data)), readFileSync(join(data, 'HIGH-WATER'), 'hex')]
    expect(await info(data)).toMatchObject({ unfinished, ledgers: 12 })
    expect((await folio(['info', '--data', data])).out).toMatch(new RegExp(`\nunfinished +${says}\n$`))
    expect([await dumpAndClose(level(data)), readFileSync(join(data, 'HIGH-WATER'), 'hex')]).toEqual([before, note])
  }
})

test('ledgers that were held once, and are gone, are shown', async () => {
  const data = await stored()
  for (const [noted, says] of [
    [{ last: FIRST + 20 }, `ledgers ${FIRST + 12} to ${FIRST + 20} were held`],
    [{ last: FIRST + 5, hash: 'ab'.repeat(32) }, `another ledger ${FIRST + 5} was held`],
  ] as const) {
    const store = await level(data)
    await store.note!.write(encodeHighWater(noted))
    await store.close()
    expect(await info(data)).toMatchObject({ last: FIRST + 11, noted: noted.last })
    expect((await folio(['info', '--data', data])).out).toMatch(new RegExp(`\ngone +${says}: see folio verify\n$`))
  }
})

test('what is damaged, missing or no store is an error', async () => {
  const [damaged, headless, beheaded, nameless] = [await stored(), await stored(), await stored(), await stored()]
  const foreign = join(directory(), 'data')
  await damage(damaged, `50${(FIRST + 4).toString(16).padStart(8, '0')}`, undefined)
  await damage(headless, '00', Buffer.from('nonsense'))
  await damage(beheaded, '00', undefined)
  await damage(nameless, '01', undefined)
  await damage(foreign, Buffer.from('user:1').toString('hex'), Buffer.from('alice'))
  for (const [data, error] of [
    [damaged, `CORRUPT: .*the digest of ledger ${FIRST + 4} is missing`],
    [headless, 'CORRUPT: .*key: 00'],
    [beheaded, 'CORRUPT: .*key: 00, reason: the head is missing'],
    [nameless, 'CORRUPT: .*the format of the store is missing'],
    [foreign, 'STORE_FORMAT: .*found: entries of something else'],
    [directory(), 'STORE_MISSING: '],
  ] as const)
    expect(await folio(['info', '--data', data])).toEqual({ code: 3, out: '', err: expect.stringMatching(new RegExp(`^folio: ${error}`)) })
  rmSync(join(damaged, 'CURRENT'))
  expect((await folio(['info', '--data', damaged])).err).toMatch(/^folio: CORRUPT: /)
})
