/** From opening to closing: reopening, stores of another release, damaged heads, writes that fail, two writers. */
import { describe, expect, test } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { hashOf } from '../../adapters/testing/arbitraries.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, FolioError, type LedgerClose, openLedger, type Store } from '../../src/index.ts'
import { encodeFormat } from '../../src/layout/head.ts'
import { FORMAT, HEAD } from '../../src/layout/keys.ts'
import { seal } from '../../src/layout/seal.ts'
import { ledgerOf } from '../support/benches.ts'
import { shared } from '../support/dump.ts'
import { codeOf, errorOf } from '../support/errors.ts'

const first = richClose(5, hashOf(4))
const second = richClose(6, first.ledger.hash)
const third = richClose(7, second.ledger.hash)

/** A store whose writes fail when it is told to, before or after they take effect. */
function breakable(store: Store): Store & { fail: 'no' | 'before' | 'after' } {
  const broken = Object.assign(Object.create(store) as Store, {
    fail: 'no' as 'no' | 'before' | 'after',
    async write(...args: Parameters<Store['write']>) {
      if (broken.fail === 'before') throw new FolioError('STORE_FAILED', { reason: 'the disk is full' })
      await store.write(...args)
      if (broken.fail === 'after') throw new FolioError('STORE_FAILED', { reason: 'no answer came' })
    },
  })
  return broken
}

describe('a closed ledger', () => {
  test('rejects every call with CLOSED, and says that it is closed', async () => {
    const ledger = await ledgerOf([first])
    expect(ledger.closed).toBe(false)
    await Promise.all([ledger.close(), ledger.close()])
    expect(ledger.closed).toBe(true)
    const calls: (() => unknown)[] = [
      () => ledger.page(catalogue.ledgers, {}),
      () => ledger.get(catalogue.ledger, { ledger: 5 }),
      () => ledger.read(catalogue.ledgers, {}),
      () => ledger.readOne(catalogue.ledger, { ledger: 5 }),
      () => ledger.append(second),
      () => ledger.ingest([second]),
      () => ledger.ingest([]),
      () => ledger.rollback(4),
      () => ledger.records(catalogue.ledgers, {}).next(),
    ]
    for (const call of calls) expect(await codeOf(call)).toBe('CLOSED')
    await ledger.close()
  })

  test.each([
    ['at once', memory],
    ['late', () => slowStore(memory())],
  ])('carries out what was asked before it was closed, over a store that answers %s', async (_, open) => {
    const ledger = await openLedger(open())
    await ledger.append(first)
    const asked = [ledger.append(second), ledger.append(third), ledger.append(first)]
    await ledger.close()
    expect((await Promise.all(asked)).map(({ appended }) => appended)).toEqual([true, true, false])
  })
})

describe('a store that cannot be left', () => {
  test('once no longer watching it fails, is closed all the same', async () => {
    let closed = 0
    const stuck = Object.assign(shared(memory()), {
      watch: () => () => {
        throw new Error('stuck')
      },
      close: () => void closed++,
    })
    const ledger = await openLedger(stuck)
    await ledger.append(first)
    const stream = ledger.stream(catalogue.ledgers, {}, { cursor: 'now' }).next()
    await expect(ledger.close()).rejects.toThrow('stuck')
    expect(closed).toBe(1)
    expect(await stream).toMatchObject({ done: true })
    expect(await codeOf(() => ledger.append(second))).toBe('CLOSED')
  })
})

describe('a reopened ledger', () => {
  test('goes on where it stopped, and gives the same answers', async () => {
    const disk = memoryDisk()
    const before = await openLedger(memory(disk))
    await before.ingest([first, second])
    const pages = await Promise.all([before.page(catalogue.operations, {}), before.page(catalogue.offersOfAccount, { account: 'GALICE' })])
    await before.close()
    const after = await openLedger(memory(disk))
    expect(after.head).toEqual(before.head)
    expect(await Promise.all([after.page(catalogue.operations, {}), after.page(catalogue.offersOfAccount, { account: 'GALICE' })])).toEqual(
      pages,
    )
    expect(await after.append(second)).toMatchObject({ appended: false })
    expect(await after.append(third)).toMatchObject({ appended: true })
  })

  test('before anything was appended is still empty', async () => {
    const disk = memoryDisk()
    await (await openLedger(memory(disk))).close()
    const ledger = await openLedger(memory(disk))
    expect(ledger.head).toBeUndefined()
    expect(await ledger.page(catalogue.transactions, {}, { cursor: 'now', order: 'desc' })).toEqual({
      records: [],
      next: '0',
      prev: '0',
      ended: 'end',
    })
    expect(await codeOf(() => ledger.page(catalogue.transactionsOfAccount, { account: 'G' }))).toBe('NOT_FOUND')
    expect(await ledger.get(catalogue.ledger, { ledger: 1 })).toBeUndefined()
  })
})

describe('a store that this release cannot read', () => {
  const openWith = async (key: Uint8Array, value: Uint8Array | undefined, closes: LedgerClose[] = [first]) => {
    const disk = memoryDisk()
    const ledger = await openLedger(memory(disk))
    await ledger.ingest(closes)
    await ledger.close()
    let closed = 0
    const store = memory(disk)
    await store.write([[key, value]], { durable: true })
    const watched = Object.assign(Object.create(store) as Store, { close: () => void closed++ })
    const error = await errorOf(() => openLedger(watched))
    expect(closed).toBe(1)
    return error
  }

  test('has another set of indexes', async () => {
    expect(await openWith(FORMAT, encodeFormat('1=ledger'))).toMatchObject({ code: 'STORE_CATALOGUE', fields: { found: '1=ledger' } })
  })

  test('has a newer format, with an unknown seal', async () => {
    const value = encodeFormat('x').slice()
    value[value.length - 5] = 9
    expect(await openWith(FORMAT, value, [])).toMatchObject({ code: 'STORE_FORMAT', fields: { found: 9, expected: 2 } })
    expect(await openWith(FORMAT, value)).toMatchObject({ code: 'CORRUPT', fields: { key: '01' } })
  })

  test('has lost its format', async () => {
    expect(await openWith(FORMAT, undefined)).toMatchObject({ code: 'CORRUPT', fields: { key: '01' } })
  })

  test('has a damaged head', async () => {
    const value = seal(FORMAT, new Uint8Array(20))
    expect(await openWith(HEAD, value)).toMatchObject({ code: 'CORRUPT', fields: { key: '00' } })
  })

  test('is not a store of ledgers', async () => {
    expect(await openWith(FORMAT, Uint8Array.of(1, 2, 3))).toBeInstanceOf(FolioError)
  })
})

describe('a write that failed', () => {
  test.each(['before', 'after'] as const)(
    '%s it took effect: reads go on, writes are rejected until the ledger is reopened',
    async (when) => {
      const disk = memoryDisk()
      const store = breakable(memory(disk))
      const ledger = await openLedger(store)
      await ledger.append(first)
      expect(ledger.poisoned).toBe(false)
      store.fail = when
      const [refused, queued] = await Promise.all([errorOf(() => ledger.append(second)), errorOf(() => ledger.append(third))])
      expect(refused.code).toBe('STORE_FAILED')
      expect(queued).toMatchObject({ code: 'POISONED', cause: refused })
      expect(ledger.poisoned).toBe(true)
      store.fail = 'no'
      expect(await codeOf(() => ledger.append(second))).toBe('POISONED')
      expect(await codeOf(() => ledger.rollback(0))).toBe('POISONED')
      expect(ledger.head?.last).toBe(5)
      expect((await ledger.page(catalogue.transactions, {}, { limit: 200 })).records).toHaveLength(1)
      await ledger.close()

      const again = await openLedger(memory(disk))
      expect(await again.append(second)).toMatchObject({ appended: when === 'before' })
      expect(await again.append(third)).toMatchObject({ appended: true })
    },
  )
})

test('a second writer that comes late gets CONFLICT, and nothing of its ledger is stored', async () => {
  const disk = memoryDisk()
  const [one, other] = [await openLedger(memory(disk)), await openLedger(memory(disk))]
  await one.append(first)
  expect(await codeOf(() => other.append({ ...first, transactions: [] }))).toBe('CONFLICT')
  expect(await codeOf(() => other.append(first))).toBe('POISONED')
  const again = await openLedger(memory(disk))
  expect((await again.page(catalogue.transactions, {})).records).toHaveLength(1)
})
