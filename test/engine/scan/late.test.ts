/** Long reads of a store that answers with promises: how often it is called must not grow with what is read, nor how often a read is run again. */
import { expect, test } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { slowStore } from '../../../adapters/testing/slow-store.ts'
import { type Ledger, type LedgerClose, openLedger, type Store } from '../../../src/index.ts'
import { dump, shared } from '../../support/dump.ts'

const closes = [...generate({ ledgers: 60, seed: 17, transactionsPerLedger: 12, accounts: 400 })] as unknown as LedgerClose[]
const FIRST = closes[0]!.ledger.sequence

async function filled(fileEvery: number): Promise<MemoryDisk> {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), { fileEvery })
  await ledger.ingest(closes)
  await ledger.close()
  return disk
}

for (const isShared of [false, true])
  for (const [what, fileEvery, act] of [
    ['an open that files records again', 1e6, () => {}],
    ['a rollback of filed ledgers', 100, (ledger: Ledger) => ledger.rollback(FIRST + 10)],
    ['a rollback of ledgers that are not filed', 1e6, (ledger: Ledger) => ledger.rollback(FIRST + 10)],
    ['a prune of filed ledgers', 100, (ledger: Ledger) => ledger.prune(FIRST + 50)],
    ['a prune of ledgers that are not filed', 1e6, (ledger: Ledger) => ledger.prune(FIRST + 50)],
  ] as const)
    test(`${what} takes few calls, and ends as over a store that answers at once${isShared ? ', if processes share it' : ''}`, async () => {
      const [disk, other] = [await filled(fileEvery), await filled(fileEvery)]
      const over = (disk: MemoryDisk): Store => (isShared ? shared(memory(disk)) : memory(disk))
      let answers = 0
      const late = await openLedger(
        slowStore(over(disk), async () => void answers++),
        { fileEvery, cacheBytes: 0 },
      )
      await act(late)
      await late.close()
      const prompt = await openLedger(over(other), { fileEvery })
      await act(prompt)
      await prompt.close()
      expect(await dump(memory(disk))).toEqual(await dump(memory(other)))
      // Some for each step and each step of a search. A call for each block or list would be from 300 to 4,000.
      expect(answers).toBeLessThan(200)
    })
