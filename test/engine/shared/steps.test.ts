/** Reads of a process that shares its store, while it removes ledgers itself in several steps, or checks everything. */
import { expect, test } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { slowStore } from '../../../adapters/testing/slow-store.ts'
import { catalogue, type LedgerClose, openLedger, type Store } from '../../../src/index.ts'
import { shared } from '../../support/dump.ts'
import { codeOf } from '../../support/errors.ts'
import { turns } from '../../support/turns.ts'

const FIRST = 70
const closes = [
  ...generate({ ledgers: 20, seed: 8, transactionsPerLedger: 3, firstLedger: FIRST, envelopeBytes: 30 }),
] as readonly LedgerClose[]

/** A store that processes share, in which a batch can be seen some time before whoever wrote it is told. */
function held() {
  const real = memory()
  const told: (() => void)[] = []
  const gate = { isShut: false }
  const store: Store = Object.assign(shared(real), {
    write: async (...given: Parameters<Store['write']>) => {
      await real.write(...given)
      if (gate.isShut) await new Promise<void>((resolve) => told.push(resolve))
    },
  })
  return { store, told, gate }
}

test('a read that comes upon a step that is stored and not known yet waits for that step alone', async () => {
  const { store, told, gate } = held()
  const ledger = await openLedger(store, { cacheBytes: 2 ** 20, fileEvery: 40, pollMs: 2 ** 30 })
  await ledger.ingest(closes)
  gate.isShut = true
  let isOver = false
  const rollback = ledger.rollback(FIRST + 3).then(() => {
    isOver = true
  })
  await expect.poll(() => told.length).toBe(1)
  let found: number | undefined
  const read = ledger.page(catalogue.ledgers, {}, { order: 'desc', limit: 1 }).then(({ records }) => {
    found = records[0]!.sequence
  })
  await turns(20)
  expect(found).toBeUndefined()
  told[0]!()
  await expect.poll(() => told.length).toBe(2)
  // It meets the next step too, unless it was quick.
  for (let next = 1; found === undefined && next < 20; next++) {
    await turns(20)
    if (found === undefined) told[next]?.()
  }
  await read
  expect(isOver).toBe(false)
  expect(found).toBeGreaterThan(FIRST + 3)
  gate.isShut = false
  for (const tell of told) tell()
  await rollback
  await ledger.close()
})

test('a check of everything holds up no read, stream or look, though another process writes meanwhile; what this one writes waits for it', async () => {
  const disk = memoryDisk()
  const store = shared(slowStore(memory(disk)))
  let go = (): void => {}
  let checking = 0
  const goOn = new Promise<void>((resolve) => {
    go = resolve
  })
  const scan: Store['scan'] = async (range, options) => {
    // Only who reads all of a store does so in chunks of bounded size.
    if (options?.maxBytes && ++checking > 0) await goOn
    return store.scan(range, options)
  }
  const other = await openLedger(shared(memory(disk)), { pollMs: 2 ** 30 })
  await other.ingest(closes.slice(0, 10))
  const ledger = await openLedger(Object.assign(Object.create(store) as Store, { scan }), { cacheBytes: 2 ** 20, pollMs: 2 ** 30 })
  const newest = async () => (await ledger.page(catalogue.ledgers, {}, { order: 'desc', limit: 1 })).records[0]!.sequence
  const done: string[] = []
  const stream = ledger.stream(catalogue.ledgers, {}, { cursor: 'now' })
  const come = stream.next()
  // What came meanwhile looks like damage: that is said, and is not the point here.
  const check = codeOf(() => ledger.verify()).then((code) => done.push(`check ${code}`))
  await expect.poll(() => checking).toBeGreaterThan(0)

  await other.append(closes[10]!)
  // It is answered under the head that was known when it was asked, once it is seen that this still is what was.
  expect(await newest()).toBe(FIRST + 9)
  expect((await come).value).toMatchObject({ sequence: FIRST + 10 })
  const prune = ledger.prune(FIRST + 5).then((count) => done.push(`pruned ${count}`))
  await other.append(closes[11]!)
  expect(await ledger.refresh()).toBe(true)
  expect(await newest()).toBe(FIRST + 11)
  expect(done).toEqual([])
  go()
  await Promise.all([check, prune])
  expect(done).toEqual(['check CONFLICT', 'pruned 5'])
  await ledger.close()
  await other.close()
})
