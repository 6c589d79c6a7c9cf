/** The view of `examples/view.ts`: whatever is appended, taken back and replaced, also while nobody follows, it ends in step with history. */
import * as fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { type Ledger, nextTurn, openLedger } from '../../src/index.ts'
import { branchOf } from '../support/closes.ts'

const FIRST = 5
type Step = { readonly do: 'append' | 'replace' | 'restart' | 'wait'; readonly count: number }
const steps = fc.array(
  fc.record<Step>({ do: fc.constantFrom('append', 'append', 'replace', 'replace', 'restart', 'wait'), count: fc.nat(4) }),
  { minLength: 4, maxLength: 24 },
)

test('ends in step with history', { timeout: 120_000 }, async () => {
  const said = vi.spyOn(console, 'log').mockImplementation(() => {})
  const { follow, View } = await import('../../examples/view.ts')
  said.mockRestore()
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const disk = memoryDisk()
      let turns = 0
      const late = async (): Promise<void> => {
        for (let n = turns++ % 4; n > 0; n--) await nextTurn()
      }
      const open = async (): Promise<Ledger> => openLedger(slowStore(memory(disk), late), { cacheBytes: 0 })
      /** What a ledger says arrives late, when it may not be so any more. */
      const slow = (ledger: Ledger): Ledger =>
        Object.create(ledger, {
          get: { value: (...asked: Parameters<Ledger['get']>) => ledger.get(...asked).finally(late) },
          closed: { get: () => ledger.closed },
        })
      const view = new View()
      let ledger = await open()
      let following = follow(slow(ledger), view)
      let salt = 1
      const append = async (count: number): Promise<void> => {
        const first = (ledger.head?.last ?? FIRST - 1) + 1
        const added = branchOf([first, first + count], salt, (sequence) => [`G${sequence % 3}`], ledger.head?.hash)
        await ledger.ingest(
          added.map((close) => ({ ...close, transactions: close.transactions!.map((one) => ({ ...one, memo: `of ${one.account}` })) })),
        )
      }
      for (const step of steps)
        if (step.do === 'append') await append(step.count)
        else if (step.do === 'replace') {
          await ledger.rollback(Math.max(FIRST - 1, (ledger.head?.last ?? 0) - step.count))
          salt++
          if (step.count % 2 === 0) await append(1)
        } else if (step.do === 'wait') for (let n = 0; n < 3 * step.count; n++) await nextTurn()
        else {
          await ledger.close()
          await following
          ledger = await open()
          // Nobody follows yet.
          if (step.count % 2 === 1) {
            await ledger.rollback(Math.max(FIRST - 1, (ledger.head?.last ?? 0) - step.count))
            salt++
            await append(step.count % 3)
          }
          following = follow(slow(ledger), view)
        }
      await append(0)
      const lines: { ledger: { sequence: number; hash: string }; transactions: { memo: string; hash: string }[] }[] = []
      for await (const line of ledger.lines()) lines.push(JSON.parse(line))
      await expect
        .poll(() => view.ledgers, { timeout: 20_000 })
        .toEqual(lines.map(({ ledger: { sequence, hash } }) => ({ sequence, hash })))
      const byMemo: Record<string, unknown[]> = {}
      for (const { ledger, transactions } of lines)
        for (const { memo, hash } of transactions) byMemo[memo] = [...(byMemo[memo] ?? []), { sequence: ledger.sequence, hash }]
      expect(Object.fromEntries(view.byMemo)).toEqual(byMemo)
      await ledger.close()
      await following
    }),
    { numRuns: 60 },
  )
})
