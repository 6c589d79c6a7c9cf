/** Two histories in one store, one after the other: what was read of the first is never taken for the second, whenever it was rolled back. */
import { describe, expect, test } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, FolioError, type Ledger, type LedgerClose, type LedgerOptions, openLedger, type Store } from '../../src/index.ts'
import { plain } from '../../src/layout/finisher.ts'
import { HEAD, INTENT } from '../../src/layout/keys.ts'
import { shared } from '../support/dump.ts'
import { codeOf, errorOf } from '../support/errors.ts'

const hash = (number: number, branch = 0): string => String(number * 1000 + branch).padStart(64, '0')

interface Shape {
  readonly branch?: number
  readonly previous?: string
  readonly count?: number
  readonly offers?: readonly number[]
}

/** A ledger of transactions of A and B in turns, each with an operation that says which branch of history it is from. */
const close = (sequence: number, { branch = 0, previous = hash(sequence - 1), count = 6, offers = [] }: Shape = {}): LedgerClose => ({
  ledger: {
    ...{ sequence, hash: hash(sequence, branch), prev_hash: previous, closed_at: '2019-06-01T12:00:00Z', total_coins: '1', fee_pool: '0' },
    ...{ base_fee_in_stroops: 1, base_reserve_in_stroops: 1, max_tx_set_size: 1 },
  },
  transactions: Array.from({ length: count }, (_, i) => ({
    ...{ hash: hash(sequence * 1000 + i, branch), account: i % 2 ? 'A' : 'B', account_sequence: 1, max_fee: 1, fee_paid: 1 },
    ...{ operation_count: 1, memo_type: 'none', envelope_xdr: '', result_xdr: '', result_meta_xdr: '', fee_meta_xdr: '', signatures: [] },
    operations: [{ type: 'set_options', branch }],
  })) as never,
  offers: {
    changed: offers.map((id) => ({
      ...{ id, seller: 'A', amount: '1.0000000', price: '1.0', price_r: { n: 1, d: 1 } },
      ...{ selling: { asset_type: 'native' }, buying: { asset_type: 'credit_alphanum4', asset_code: 'X', asset_issuer: 'B' } },
    })) as never,
  },
})

const chain = (from: number, to: number, shape: Shape = {}): LedgerClose[] =>
  Array.from({ length: to - from + 1 }, (_, i) => close(from + i, { ...shape, previous: hash(from + i - 1, i === 0 ? 0 : shape.branch) }))

const ofA = async (ledger: Ledger): Promise<string[]> => {
  const found: string[] = []
  for await (const { paging_token, branch } of ledger.records(catalogue.operationsOfAccount, { account: 'A' }, { order: 'desc' }))
    found.push(`${paging_token} ${branch}`)
  return found
}

/** A ledger over a store that answers late; `act` is called before the answer that `left` counts down to. */
async function disturbed(disk: ReturnType<typeof memoryDisk>, options: LedgerOptions) {
  const moment = { left: Number.POSITIVE_INFINITY, act: async () => {} }
  const store = slowStore(memory(disk), async () => {
    if (--moment.left === 0) await moment.act()
  })
  return { ledger: await openLedger(store, options), moment }
}

describe('if history is rolled back and replaced while a page waits', () => {
  test.each([1, 2, 3, 4])('at answer %i, the page is of one history', async (at) => {
    const disk = memoryDisk()
    const { ledger, moment } = await disturbed(disk, { cacheBytes: 0, fileEvery: 1 })
    await ledger.ingest(chain(10, 14))
    const before = await ofA(ledger)
    moment.act = async () => {
      await ledger.rollback(10)
      await ledger.ingest(chain(11, 14, { branch: 1, count: 9 }))
    }
    moment.left = at
    const { records } = await ledger.page(catalogue.operationsOfAccount, { account: 'A' }, { order: 'desc', limit: 200 })
    const page = records.map(({ paging_token, branch }) => `${paging_token} ${branch}`)
    const isDisturbed = moment.left <= 0
    moment.left = Number.POSITIVE_INFINITY
    if (!isDisturbed) await moment.act()
    const after = await ofA(ledger)
    expect(after).not.toEqual(before)
    expect(page).toEqual(isDisturbed ? after : before)
  })

  test('nothing that was read before is gathered for the lists that follow', async () => {
    for (const at of [2, 3, 4]) {
      const disk = memoryDisk()
      const options = { fileEvery: 1, cacheBytes: 32e6 }
      await (await openLedger(memory(disk), options)).ingest(chain(10, 49, { count: 9 }))
      const { ledger, moment } = await disturbed(disk, options)
      const read = () => ledger.page(catalogue.operationsOfAccount, { account: 'A' }, { order: 'desc', limit: 200 })
      moment.act = async () => {
        await ledger.rollback(29)
        await ledger.ingest(chain(30, 31, { branch: 1, count: 3 }))
        for (let i = 0; i < 3; i++) await read()
      }
      moment.left = at
      await read()
      expect(await ofA(ledger), `at answer ${at}`).toEqual(await ofA(await openLedger(memory(disk))))
    }
  })

  test('explain still answers', async () => {
    const { ledger, moment } = await disturbed(memoryDisk(), { cacheBytes: 0, fileEvery: 1 })
    await ledger.ingest(chain(10, 29))
    for (let at = 1; at <= 4; at++) {
      const last = ledger.head!.last
      moment.act = () => ledger.rollback(last - 2).then(() => {})
      moment.left = at
      await expect(ledger.explain(catalogue.operationsOfAccount, { account: 'A' }, { limit: 200 })).resolves.toBeDefined()
    }
  })
})

test('a block that was read before a rollback is not cached again when it is finished after it', async () => {
  const ledger = await openLedger(memory())
  await ledger.ingest(chain(10, 12))
  const read = () => ledger.read(catalogue.operations, {}, { order: 'desc', limit: 200 })
  for (let i = 0; i < 40; i++) await read()
  const { records } = await read()
  await ledger.rollback(11)
  await ledger.append(close(12, { branch: 1, previous: hash(11) }))
  for (const { block } of records) block.finishedBy(plain)
  expect((await ledger.page(catalogue.operations, {}, { order: 'desc', limit: 1 })).records[0]).toMatchObject({ branch: 1 })
})

test('offers are those of the head, even during a rollback', async () => {
  let open = (): void => {}
  let held: Promise<void> | undefined
  const inner = memory()
  const store: Store = {
    ...inner,
    write: async (batch, options) => {
      await held
      await inner.write(batch, options)
    },
  }
  const ledger = await openLedger(store)
  for (let n = 0; n < 10; n++) await ledger.append(close(10 + n, { offers: [100 + n] }))
  held = new Promise((resolve) => (open = resolve))
  const back = ledger.rollback(12)
  await expect.poll(() => ledger.head?.last).toBe(12)
  const page = ledger.page(catalogue.offersOfAccount, { account: 'A' })
  open()
  expect((await page).records.map(({ id }) => id)).toEqual([100, 101, 102].map(BigInt))
  expect(await back).toBe(7)
})

test('lines and a digest of a range are of one history, or end with ROLLED_BACK', async () => {
  const ledger = await openLedger(memory())
  await ledger.ingest(chain(10, 19))
  const walk = async (given: number, back: number) => {
    const closes = ledger.closes()
    const got: LedgerClose[] = []
    for (let i = 0; i < given; i++) got.push((await closes.next()).value as LedgerClose)
    await ledger.rollback(back)
    await ledger.ingest(
      chain(back + 1, 19, { branch: 1 }).map((one, i) => (i === 0 ? close(back + 1, { branch: 1, previous: ledger.head!.hash }) : one)),
    )
    for await (const one of closes) got.push(one)
    return got
  }
  expect((await errorOf(() => walk(9, 16))).fields).toEqual({ last: 16, reached: 18 })
  const fresh = await openLedger(memory())
  await fresh.ingest(await walk(3, 14))
  expect(await fresh.digest()).toBe(await ledger.digest())
})

describe('if processes share a store', () => {
  const on = (disk: ReturnType<typeof memoryDisk>, options: LedgerOptions = {}) =>
    openLedger(shared(memory(disk)), { pollMs: 2 ** 30, ...options })

  test.each([
    [1, 1e6, 0],
    [100, 1, 0],
    [100, 1, 1],
    [37, 100, 0],
    [100, 37, 1],
  ])('lists filed every %i records, rolled back and filed again every %i, are read whole, %i ledgers on', async (before, after, more) => {
    const disk = memoryDisk()
    await (await on(disk, { fileEvery: before })).ingest(chain(10, 29))
    const follower = await on(disk, { fileEvery: before })
    expect(await ofA(follower)).toHaveLength(60)
    const writer = await on(disk, { fileEvery: after })
    await writer.rollback(12)
    await writer.ingest(chain(13, 29 + more))
    await follower.refresh()
    expect(await ofA(follower)).toEqual(await ofA(writer))
  })

  test('lists that are rolled back and appended again since the last look are read whole', async () => {
    for (const at of [1, 2, 3]) {
      const disk = memoryDisk()
      const writer = await on(disk, { fileEvery: 20 })
      await writer.ingest(chain(10, 29))
      let left = Number.POSITIVE_INFINITY
      const store = slowStore(shared(memory(disk)), async () => {
        if (--left === 0) await writer.ingest(chain(13, 29))
      })
      const reader = await openLedger(store, { pollMs: 2 ** 30, cacheBytes: 0 })
      await writer.rollback(12)
      left = at
      const { records } = await reader.page(catalogue.operationsOfAccount, { account: 'A' }, { limit: 200 })
      expect(records, `at answer ${at}`).toHaveLength(60)
    }
  })

  /** A store to which another process appends a ledger at each answer. */
  const growing = () => {
    const told = { ahead: chain(12, 191, { count: 1 }) }
    const disk = memoryDisk()
    const writer = on(disk)
    const store = slowStore(shared(memory(disk)), async () => {
      const next = told.ahead.shift()
      if (next) await (await writer).append(next)
    })
    const begun = async (): Promise<void> => void (await (await writer).ingest(chain(10, 11)))
    return { told, store, begun }
  }

  test('a store opens, and a missing record is not found, while another process appends without a pause', async () => {
    const { told, store, begun } = growing()
    await begun()
    const reader = await openLedger(store, { pollMs: 2 ** 30 })
    expect(told.ahead.length).toBeGreaterThan(30)
    expect(await reader.get(catalogue.transaction, { hash: hash(7) })).toBeUndefined()
    expect(told.ahead.length).toBeGreaterThan(0)
    await reader.refresh()
    expect(await ofA(reader)).toEqual(await ofA(await openLedger(shared(store))))
  })

  /** A store that calls `between` once, after the next write. */
  const inSteps = (disk: ReturnType<typeof memoryDisk>) => {
    const inner = shared(memory(disk))
    const told: { between?: (() => Promise<void>) | undefined } = {}
    const store: Store = Object.assign(Object.create(inner), {
      async write(...call: Parameters<Store['write']>) {
        await inner.write(...call)
        const { between } = told
        told.between = undefined
        await between?.()
      },
    })
    return { store, told }
  }

  test('a process that opens while another rolls back or prunes reads, and leaves the work to the other', async () => {
    for (const what of ['rollback', 'prune'] as const) {
      const disk = memoryDisk()
      const { store, told } = inSteps(disk)
      const writer = await openLedger(store, { fileEvery: 20, pollMs: 2 ** 30 })
      await writer.ingest(chain(10, 29))
      let reader: Ledger | undefined
      told.between = async () => {
        reader = await on(disk, { fileEvery: 20 })
      }
      expect(await writer[what](what === 'rollback' ? 12 : 25), what).toBe(what === 'rollback' ? 17 : 15)
      await reader!.refresh()
      expect(reader!.head).toEqual(writer.head)
      expect(await writer.rollback(writer.head!.last - 1)).toBe(1)
    }
  })

  test('a rollback that a process left unfinished is finished before anything else is written', async () => {
    const disk = memoryDisk()
    const { store, told } = inSteps(disk)
    const writer = await openLedger(store, { fileEvery: 20, pollMs: 2 ** 30 })
    await writer.ingest(chain(10, 29))
    told.between = () => Promise.reject(new Error('gone'))
    await expect(writer.rollback(12)).rejects.toThrow('gone')
    const next = await on(disk, { fileEvery: 20 })
    expect(next.head!.last).toBeGreaterThan(12)
    expect(await codeOf(() => next.append(close(30)))).toBe('LEDGER_GAP')
    expect(next.head!.last).toBe(12)
    expect(await next.append(close(13, { branch: 1, previous: hash(12) }))).toMatchObject({ appended: true })
    expect((await next.verify()).ok).toBe(true)
  })

  test('it is finished even by a process that has written before, and after failed attempts', async () => {
    const disk = memoryDisk()
    const { store, told } = inSteps(disk)
    const writer = await openLedger(store, { fileEvery: 20, pollMs: 2 ** 30 })
    await writer.ingest(chain(10, 28))
    let failing = false
    const inner = shared(memory(disk))
    const frail: Store = Object.assign(Object.create(inner), {
      get: (key: Uint8Array) => (failing && key[0] !== 2 ? Promise.reject(new FolioError('STORE_FAILED')) : inner.get(key)),
    })
    const next = await openLedger(frail, { fileEvery: 20, pollMs: 2 ** 30, cacheBytes: 0 })
    await next.append(close(29))
    await writer.refresh()
    told.between = () => Promise.reject(new Error('gone'))
    await expect(writer.rollback(12)).rejects.toThrow('gone')
    await next.refresh()
    const { last } = next.head!
    expect(last).toBeGreaterThan(12)
    failing = true
    for (let i = 0; i < 2; i++) expect(await codeOf(() => next.append(close(last + 1)))).toBe('STORE_FAILED')
    failing = false
    expect(await codeOf(() => next.append(close(last + 1)))).toBe('LEDGER_GAP')
    expect([next.head!.last, await inner.get(INTENT)]).toEqual([12, undefined])
  })

  test('a process with nothing to roll back leaves the rollback of another alone', async () => {
    const disk = memoryDisk()
    const { store, told } = inSteps(disk)
    const writer = await openLedger(store, { fileEvery: 20, pollMs: 2 ** 30 })
    await writer.ingest(chain(10, 28))
    const other = await on(disk, { fileEvery: 20 })
    await other.append(close(29))
    await writer.refresh()
    told.between = () => Promise.reject(new Error('gone'))
    await expect(writer.rollback(12)).rejects.toThrow('gone')
    expect(await codeOf(() => other.rollback(29))).toBe('CONFLICT')
    expect(await memory(disk).get(INTENT)).toBeDefined()
  })

  test.each(['a rollback', 'pruning', 'another branch'])('%s at any answer of a store does not keep it from opening', async (what) => {
    for (let at = 1; ; at++) {
      const disk = memoryDisk()
      const writer = await on(disk, { fileEvery: 20 })
      await writer.ingest(chain(10, 29))
      let answers = 0
      const store = slowStore(shared(memory(disk)), async () => {
        if (++answers !== at) return
        if (what === 'pruning') return void (await writer.prune(20))
        await writer.rollback(15)
        if (what === 'another branch') await writer.ingest(chain(16, 18, { branch: 1 }))
      })
      const reader = await openLedger(store, { fileEvery: 20, pollMs: 2 ** 30 })
      if (answers < at) break
      await reader.refresh()
      expect(await ofA(reader), `at answer ${at}`).toEqual(await ofA(writer))
    }
  })

  test('a process that writes under a head that another has rolled back gets CONFLICT, not CORRUPT, and may look and go on', async () => {
    const disk = memoryDisk()
    const options = { fileEvery: 20, cacheBytes: 0 }
    const [writer, other] = [await on(disk, options), await on(disk, options)]
    await writer.ingest(chain(10, 29))
    await other.refresh()
    await writer.rollback(12)
    expect(await codeOf(() => other.rollback(15))).toBe('CONFLICT')
    expect(await codeOf(() => other.prune(25))).toBe('CONFLICT')
    expect(await codeOf(() => other.append(close(28)))).toBe('CONFLICT')
    expect([await other.refresh(), await other.rollback(11), (await other.verify()).ok]).toEqual([true, 1, true])
  })

  test('a rollback of nothing under such a head removes nothing, and reports no damage', async () => {
    const disk = memoryDisk()
    const [writer, other] = [await on(disk), await on(disk)]
    await writer.ingest(chain(10, 29))
    await other.refresh()
    await writer.rollback(12)
    expect([await other.rollback(29), await other.refresh(), other.head?.last]).toEqual([0, true, 12])
    expect(await other.append(close(13))).toMatchObject({ appended: true })
  })

  test('a rollback during which another process rolls back further ends with CONFLICT', async () => {
    const disk = memoryDisk()
    const { store, told } = inSteps(disk)
    const writer = await openLedger(store, { pollMs: 2 ** 30 })
    await writer.ingest(chain(10, 28))
    const other = await on(disk)
    told.between = async () => {
      await other.refresh()
      expect(await other.rollback(11)).toBe(9)
    }
    expect(await codeOf(() => writer.rollback(20))).toBe('CONFLICT')
    expect([await writer.refresh(), writer.head?.last, (await ofA(writer)).length]).toEqual([true, 11, 6])
  })

  test('`now` is the newest record that this process knows of, even if history has gone on by another branch', async () => {
    const disk = memoryDisk()
    const writer = await on(disk)
    await writer.ingest(chain(10, 12, { offers: [7] }))
    const reader = await on(disk)
    await writer.append(close(13))
    await writer.rollback(12)
    await writer.append(close(13, { branch: 1, previous: hash(12), offers: [8] }))
    const [ledger, offer] = await Promise.all([reader.now(catalogue.ledgers), reader.now(catalogue.offersOfAccount)])
    expect([ledger, offer, reader.head?.last]).toEqual([String(12n << 32n), '7', 13])
  })

  test('an empty store may be opened by several processes at a time', async () => {
    for (let at = 1; ; at++) {
      const disk = memoryDisk()
      let answers = 0
      const store = slowStore(shared(memory(disk)), async () => {
        if (++answers === at) await (await on(disk)).append(close(10))
      })
      const reader = await openLedger(store, { pollMs: 2 ** 30 })
      if (answers < at) break
      await reader.refresh()
      expect(reader.head?.last, `at answer ${at}`).toBe(10)
    }
  })

  test('a store rolled back to nothing is whole', async () => {
    const ledger = await on(memoryDisk())
    await ledger.append(close(10))
    await ledger.rollback(9)
    expect(await ledger.verify()).toMatchObject({ ok: true, faults: [] })
  })

  test('lines are of one history, whenever another is found', async () => {
    const second = [close(10, { branch: 1, count: 1 }), close(11, { branch: 1, previous: hash(10, 1), count: 1 })]
    for (let wait = 25; wait < 65; wait++) {
      const disk = memoryDisk()
      const writer = await on(disk)
      await writer.ingest(chain(10, 11, { count: 1 }))
      const inner = slowStore(shared(memory(disk)))
      let asked = false
      const store: Store = {
        ...inner,
        async getMany(keys) {
          const answer = await inner.getMany(keys)
          if (!asked || keys.length !== 2 || keys[0]![0] !== HEAD[0]) return answer
          // The store says that the head stands, and a look finds that it no longer does before that answer arrives.
          asked = false
          await writer.rollback(9)
          await writer.ingest(second)
          void reader.refresh()
          for (let i = 0; i < wait; i++) await undefined
          return answer
        },
      }
      const reader = await openLedger(store, { pollMs: 2 ** 30 })
      asked = true
      const got: string[] = []
      const code = await codeOf(async () => {
        for await (const { ledger } of reader.closes()) got.push(ledger.hash)
      })
      if (code === 'no error')
        expect([[hash(10), hash(11)], second.map(({ ledger }) => ledger.hash)], `waiting ${wait}`).toContainEqual(got)
      else expect([code, got]).toEqual(['ROLLED_BACK', [hash(10)]])
    }
  })
})
