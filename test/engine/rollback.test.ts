/** History that was rolled back and went on another way: nothing of the old branch is found, whatever was asked for or cached before. */
import { describe, expect, test } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { queryNames, valuesWorthAsking } from '../../adapters/testing/arbitrary-requests.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { naiveLedger } from '../../adapters/testing/naive-ledger.ts'
import type { AnyMembers } from '../../adapters/testing/naive-records.ts'
import { catalogue, FolioError, type Ledger, type LedgerClose, openLedger, type Store } from '../../src/index.ts'
import { ledgerOf } from '../support/benches.ts'
import { codeOf } from '../support/errors.ts'
import { agree } from '../support/model.ts'

/** A chain from ledger 10, or after `previous`; with `salt` it has other hashes, another account and another offer. */
function chain(count: number, salt = 0, previous?: LedgerClose): LedgerClose[] {
  const closes: LedgerClose[] = []
  for (let last = previous; closes.length < count; last = closes.at(-1)) {
    const sequence = (last?.ledger.sequence ?? 9) + 1
    const close = structuredClone(richClose(sequence, last?.ledger.hash ?? hashOf(9))) as any
    close.ledger.hash = hashOf(sequence, 99, salt)
    for (const [at, transaction] of close.transactions.entries()) transaction.hash = hashOf(sequence, at, salt)
    if (salt > 0) {
      close.transactions[0].account = `GSALT${salt}`
      close.offers.changed[0].id = 100n + BigInt(salt)
    }
    closes.push(close)
  }
  return closes
}

/** Asks every query with every value that any of the chains has. */
async function agreeOnAll(ledger: Ledger, held: readonly LedgerClose[], ever: readonly LedgerClose[]): Promise<void> {
  const [model, all] = [naiveLedger(held), naiveLedger()]
  for (const close of ever) all.append(close)
  const values = valuesWorthAsking(all)
  const offers = [7n, 8n, 101n, 102n]
  for (const query of queryNames) {
    const name = /\{(\w+)\}/.exec(catalogue[query].path)?.[1]
    const asked: unknown[] = name === undefined ? [undefined] : name === 'offer' ? offers : [...new Set([...values[name]!, 'GSALT1'])]
    for (const value of asked) {
      const path: AnyMembers = name === undefined ? {} : { [name]: value }
      for (const order of ['asc', 'desc'] as const) await agree(ledger, model, { query, values: path, options: { order, limit: 200 } })
    }
  }
}

describe.each([1, 30, 1e6])('with lists filed every %i records', (fileEvery) => {
  const old = chain(8)
  const other = chain(5, 1, old[3])

  test('another chain takes the place of what was rolled back', async () => {
    const ledger = await ledgerOf(old, { fileEvery })
    await agreeOnAll(ledger, old, [...old, ...other])
    expect(await ledger.rollback(13)).toBe(4)
    expect(ledger.head).toMatchObject({ oldest: 10, last: 13, hash: old[3]!.ledger.hash })
    await agreeOnAll(ledger, old.slice(0, 4), [...old, ...other])
    await ledger.ingest(other)
    await agreeOnAll(ledger, [...old.slice(0, 4), ...other], [...old, ...other])
  })

  test('the same ledgers may be appended again: their transactions are no duplicates', async () => {
    const ledger = await ledgerOf(old, { fileEvery })
    await ledger.rollback(11)
    expect(await ledger.ingest(old)).toEqual({ appended: 6, known: 2, last: 17 })
    await agreeOnAll(ledger, old, old)
  })

  test('everything may be rolled back, and history may begin elsewhere', async () => {
    const ledger = await ledgerOf(old, { fileEvery })
    expect(await ledger.rollback(0)).toBe(8)
    expect(ledger.head).toBeUndefined()
    await agreeOnAll(ledger, [], old)
    await ledger.ingest(other)
    expect(ledger.head).toMatchObject({ oldest: 14, last: 18 })
    await agreeOnAll(ledger, other, [...old, ...other])
  })

  test('nothing is removed if there is no newer ledger', async () => {
    const ledger = await ledgerOf(old, { fileEvery })
    for (const sequence of [17, 18, 2 ** 31 - 1]) expect(await ledger.rollback(sequence)).toBe(0)
    expect(ledger.head?.last).toBe(17)
    expect(await ledger.append(old[7]!)).toMatchObject({ appended: false })
  })

  test.each([0, 1, 2, 3])('a rollback that fails at write %i is finished by the next open, and nothing is lost', async (good) => {
    const disk = memoryDisk()
    const store = memory(disk)
    let left = Number.POSITIVE_INFINITY
    const failing: Store = Object.assign(Object.create(store) as Store, {
      write(...args: Parameters<Store['write']>) {
        if (left-- <= 0) throw new FolioError('STORE_FAILED', { reason: 'the disk is full' })
        return store.write(...args)
      },
    })
    const ledger = await openLedger(failing, { fileEvery })
    await ledger.ingest(old)
    left = good
    const code = await codeOf(() => ledger.rollback(11))
    // It writes at least once; how often depends on how often lists were filed.
    expect([good > 0 || code === 'STORE_FAILED', left < 0]).toEqual([true, code === 'STORE_FAILED'])
    left = Number.POSITIVE_INFINITY
    if (code === 'STORE_FAILED') {
      expect(await codeOf(() => ledger.append(old[2]!))).toBe('POISONED')
      await codeOf(() => ledger.page(catalogue.operations, {}))
    }
    const again = await openLedger(memory(disk), { fileEvery })
    const held = again.head!.last === 17 ? old : old.slice(0, 2)
    expect(again.head!.last).toBe(good === 0 ? 17 : 11)
    await agreeOnAll(again, held, old)
    await again.ingest(old)
    await agreeOnAll(again, old, old)
  })
})

test.each([-1, 1.5, 2 ** 31, Number.NaN, '11'])('%s is refused as a ledger to roll back to', async (sequence) => {
  const ledger = await ledgerOf(chain(2))
  expect(await codeOf(() => ledger.rollback(sequence as number))).toBe('BAD_REQUEST sequence')
})
