/**
 * Two processes that write to one store in turns, each looking now and then at what the other has done. One that writes under a head that stands
 * succeeds. One that does not changes nothing, and is told of the other, never of damage. Whoever opens the store finds it as it was left.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { slowStore } from '../../../adapters/testing/slow-store.ts'
import { catalogue, type Ledger, type LedgerClose, openLedger, type Store } from '../../../src/index.ts'
import { branchOf } from '../../support/closes.ts'
import { dump, shared } from '../../support/dump.ts'
import { codeOf } from '../../support/errors.ts'
import { holds } from '../../support/property.ts'

const FIRST = 10
/** The codes for a writer whose head no longer stands; all but CONFLICT depend on the history that it knows. */
const told = ['CONFLICT', 'LEDGER_GAP', 'LEDGER_FORK', 'PREV_HASH_MISMATCH', 'BAD_REQUEST before', 'GONE_BEFORE_HISTORY']

interface Step {
  readonly by: 0 | 1
  readonly do: 'append' | 'rollback' | 'prune' | 'look' | 'reopen'
  readonly count: number
}
const step: fc.Arbitrary<Step> = fc.record({
  by: fc.constantFrom(0, 1),
  do: fc.constantFrom('append', 'append', 'append', 'rollback', 'rollback', 'prune', 'look', 'look', 'reopen'),
  count: fc.nat(5),
})
const life = fc.record({
  steps: fc.array(step, { minLength: 4, maxLength: 14, size: 'max' }),
  fileEvery: fc.tuple(fc.constantFrom(1, 8, 40), fc.constantFrom(8, 1e6)),
  late: fc.boolean(),
})

test('what two processes write in turns is one whole history', async () => {
  let refused = 0
  await holds(life, 100, async ({ steps, fileEvery, late }) => {
    const disk = memoryDisk()
    let bytes: Uint8Array | undefined
    const note = {
      read: () => bytes,
      write: (value: Uint8Array) => {
        bytes = value.slice()
      },
    }
    const store = (): Store => Object.assign(Object.create(shared(late ? slowStore(memory(disk)) : memory(disk))) as Store, { note })
    const open = (by: number): Promise<Ledger> => openLedger(store(), { fileEvery: fileEvery[by]!, pollMs: 2 ** 30, cacheBytes: 1e5 })
    const ledgers = [await open(0), await open(1)]
    let held: LedgerClose[] = []
    let oldest = FIRST
    let salt = 0

    const write = (ledger: Ledger, { do: what, count }: Step): (() => Promise<unknown>) => {
      const last = FIRST + held.length - 1
      if (what === 'append') {
        const [close] = branchOf([last + 1, last + 1], ++salt, () => ['GX', 'GY', 'GX'], held.at(-1)?.ledger.hash)
        held = [...held, close!]
        return () => ledger.append(close!, { durable: count > 0 })
      }
      if (what === 'prune') {
        oldest = Math.max(oldest, Math.min(last, oldest + count))
        return (
          (before) => () =>
            ledger.prune(before)
        )(oldest)
      }
      const to = Math.max(oldest, last + 1 - count)
      held = held.slice(0, to - FIRST + 1)
      return () => ledger.rollback(to)
    }
    for (const one of steps) {
      const ledger = ledgers[one.by]!
      if (one.do === 'look') await ledger.refresh()
      else if (one.do === 'reopen' || held.length === 0) {
        await ledger.close()
        ledgers[one.by] = await open(one.by)
        if (held.length > 0) continue
        await write(ledgers[one.by]!, { ...one, do: 'append' })()
      } else {
        const [before, was] = [await dump(memory(disk)), { held, oldest }]
        const code = await codeOf(write(ledger, one))
        // A process that, by what it knows, has nothing to do changes nothing.
        const isUnchanged = (await dump(memory(disk))).join() === before.join()
        if (isUnchanged) ({ held, oldest } = was)
        if (code === 'no error') continue
        refused++
        expect([...told, 'POISONED']).toContain(code)
        expect(isUnchanged).toBe(true)
        await ledger.close()
        ledgers[one.by] = await open(one.by)
      }
    }
    for (const ledger of ledgers) await ledger.close()
    const whole = await open(0)
    expect([whole.head?.oldest, whole.head?.last, (await whole.verify()).faults]).toEqual(
      held.length === 0 ? [undefined, undefined, []] : [oldest, FIRST + held.length - 1, []],
    )
    const of = await openLedger(memory())
    await of.ingest(held)
    const listed = async (ledger: Ledger): Promise<unknown[]> => {
      const found: unknown[] = []
      for await (const { paging_token, mark } of ledger.records(catalogue.operationsOfAccount, { account: 'GX' }, { order: 'desc' }))
        if (Number(BigInt(paging_token) >> 32n) >= oldest) found.push([paging_token, mark])
      return found
    }
    if (held.length > 0) expect(await listed(whole)).toEqual(await listed(of))
    await whole.close()
  })
  expect(refused).toBeGreaterThan(process.env['FC_RUNS'] ? -1 : 20)
})
