/** Feeds closes to a ledger, so that the error for a refused close names its file and line. */
import { type AppendResult, badRequest, type IngestResult, type Ledger, type LedgerClose, OptionRules } from '../../src/index.ts'
import { locateError } from './origin.ts'

export interface IngestClosesOptions {
  /** Ledgers per batch, by default as of `ledger.ingest`; a crash loses whole batches, never part of one. */
  readonly batch?: number | undefined
  /** As of `append`, for each batch. */
  readonly durable?: boolean | undefined
  /** Called for each ledger in order, once it is visible and, unless `durable` is false, durable; the next batch is not written before the call is done. */
  readonly onLedger?: ((result: AppendResult) => void | Promise<void>) | undefined
  /** Stops between two batches, even while the source has nothing to give. */
  readonly signal?: AbortSignal | undefined
}

const ingestClosesOptions = new OptionRules<IngestClosesOptions>('ingestCloses', {
  batch: { least: 1, of: 'ledgers' },
  durable: 'flag',
  onLedger: 'callback',
  signal: 'signal',
})

/**
 * Like `ledger.ingest`, told ledger by ledger. If a close is refused, those before it stay.
 * @throws BAD_REQUEST if `ledger` is not a ledger or `closes` is not iterable, or an option is unknown or wrong; as `ledger.append`, with the
 *   `file` and `line` of the refused close; and whatever the source throws
 */
export async function ingestCloses(
  ledger: Ledger,
  closes: AsyncIterable<LedgerClose> | Iterable<LedgerClose>,
  options: IngestClosesOptions = {},
): Promise<IngestResult> {
  const { onLedger, ...given } = ingestClosesOptions.check(options)
  if (typeof ledger?.ingest !== 'function') throw badRequest('ledger', 'a ledger, such as openLedger resolves to')
  const onBatch = async (results: readonly AppendResult[]): Promise<void> => {
    for (const result of results) await onLedger?.(result)
  }
  const onRefused = (error: unknown, close: LedgerClose): void => {
    throw locateError(error, close)
  }
  return ledger.ingest(closes, { ...given, onBatch, onRefused })
}
