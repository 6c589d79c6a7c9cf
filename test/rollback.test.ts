/** Rolling ledgers back: the store equals one that never held them, byte for byte. */
import { expect, test } from 'vitest'
import { generate } from '../adapters/generate/index.ts'
import { memory } from '../adapters/memory/index.ts'
import { openLedger } from '../src/index.ts'
import { dump } from './dump.ts'

test.each([300, 2000, 32768])(
  'a store rolled back to any ledger holds the same bytes as one that stopped there (lists filed every %i records)',
  async (fileEvery) => {
    const closes = [...generate({ ledgers: 40, seed: 3, accounts: 20, transactionsPerLedger: 15 })]
    const whole = memory()
    const ledger = await openLedger(whole, { fileEvery })
    await ledger.ingest(closes)
    for (const kept of [39, 31, 21, 19, 17, 16, 1, 0]) {
      const removed = ledger.head!.last - closes[0]!.ledger.sequence + 1 - kept
      expect(await ledger.rollback(closes[0]!.ledger.sequence + kept - 1)).toBe(removed)
      const other = memory()
      await (await openLedger(other, { fileEvery })).ingest(closes.slice(0, kept))
      expect(await dump(whole)).toEqual(await dump(other))
    }
    expect(ledger.head).toBeUndefined()
    await ledger.ingest(closes)
    const again = memory()
    await (await openLedger(again, { fileEvery })).ingest(closes, { batch: 7 })
    expect(await dump(whole)).toEqual(await dump(again))
  },
)
