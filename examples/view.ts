import { catalogue, endOfLedger, FolioError, type Ledger, type LedgerRecord, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { memory } from 'ledger-folio/memory'

/** Transactions by their memo. In a service, both are tables of one database, and each method is one transaction there. */
export class View {
  readonly ledgers: { sequence: number; hash: string }[] = []
  readonly byMemo = new Map<string, { sequence: number; hash: string }[]>()

  apply({ sequence, hash }: LedgerRecord, found: { memo: string; hash: string }[]): void {
    for (const { memo, hash } of found) this.byMemo.set(memo, [...(this.byMemo.get(memo) ?? []), { sequence, hash }])
    this.ledgers.push({ sequence, hash })
  }

  undo(): void {
    const last = this.ledgers.pop()
    for (const [memo, all] of this.byMemo) {
      const left = all.filter(({ sequence }) => sequence !== last?.sequence)
      if (left.length > 0) this.byMemo.set(memo, left)
      else this.byMemo.delete(memo)
    }
  }
}

/** Keeps the view in step with history, from wherever it is, until the ledger is closed. @throws GONE_BEFORE_HISTORY if it has to be made anew */
export async function follow(ledger: Ledger, view: View): Promise<void> {
  while (!ledger.closed) {
    try {
      const last = view.ledgers.at(-1)
      // From now on, the stream tells of what is taken back. What was taken back before, nobody does: so look whether history still has the last ledger.
      const stream = ledger.stream(catalogue.ledgers, {}, { cursor: last ? endOfLedger(last.sequence) : '' })
      const held = last && (await ledger.get(catalogue.ledger, { ledger: last.sequence }))
      if (held?.hash !== last?.hash) view.undo()
      else
        for await (const next of stream) {
          const found: { memo: string; hash: string }[] = []
          for await (const { memo, hash } of ledger.records(catalogue.transactionsOfLedger, { ledger: next.sequence }))
            if (memo !== undefined) found.push({ memo: String(memo), hash })
          view.apply(next, found)
        }
    } catch (error) {
      // Taken back meanwhile.
      if (!(error instanceof FolioError && ['ROLLED_BACK', 'NOT_FOUND', 'CLOSED'].includes(error.code))) throw error
    }
  }
}

const ledger = await openLedger(memory())
const view = new View()
const following = follow(ledger, view)
const closes = [...generate({ ledgers: 20, seed: 7 })]
await ledger.ingest(closes)
await ledger.rollback(ledger.head!.last - 5)
await ledger.ingest(closes)
while (view.ledgers.at(-1)?.hash !== ledger.head!.hash) await new Promise((resolve) => setTimeout(resolve, 10))
await ledger.close()
await following
console.log(`${view.byMemo.size} memos in ${view.ledgers.length} ledgers`)
