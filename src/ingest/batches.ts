/** Ledger closes as they come, in batches: while one is being written, the next is checked and drafted. */
import type { LedgerClose } from './close.ts'
import { type Prepared, prepareClose } from './encode.ts'

/**
 * Writes batches one after another. If one fails, nothing behind it is written, and its error is thrown; if the source fails, what came before is
 * written.
 * @param write appends a batch, once the one `before` is written; calls `handed` when the store has it
 */
export async function inBatches(
  closes: AsyncIterable<LedgerClose> | Iterable<LedgerClose>,
  size: number,
  write: (batch: readonly Prepared[], before: Promise<void>, handed: () => void) => Promise<void>,
): Promise<void> {
  let batch: Prepared[] = []
  let writing: Promise<void> = Promise.resolve()
  const flush = async (): Promise<void> => {
    const [taken, before] = [batch, writing]
    batch = []
    // The next close is checked only once the store is busy with this batch: any earlier, and that would delay the batch.
    await new Promise<void>((handed) => {
      writing = taken.length > 0 ? write(taken, before, handed) : before
      // An error surfaces when the next batch is ready, or at the end; until then it must not count as an unhandled rejection.
      writing.then(handed, handed)
    })
    await before
  }
  try {
    for await (const close of closes) if (batch.push(prepareClose(close)) >= size) await flush()
  } finally {
    // If the source breaks, the good ledgers read before must not be lost.
    await flush()
    await writing
  }
}
