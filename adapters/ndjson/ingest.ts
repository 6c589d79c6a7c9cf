/**
 * Feeds closes to a ledger, so that the error for a refused close names its file and line.
 * **Invariant:** closes are appended in order; a ledger is reported only when it is durable and visible.
 */
import {
  type AppendResult,
  badRequest,
  checkCloses,
  checkNames,
  FolioError,
  type IngestResult,
  type Ledger,
  type LedgerClose,
} from '../../src/index.ts'
import { locateError } from './index.ts'

export interface IngestClosesOptions {
  /** Ledgers per durable batch; a crash loses whole batches, never part of one. Default 1. */
  readonly batch?: number | undefined
  /** Called for each ledger in order, once it is durable and visible; the next batch is not written before the call is done. */
  readonly onLedger?: ((result: AppendResult) => void | Promise<void>) | undefined
  /** Stops between two batches. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Like `ledger.ingest`; reads the next batch while one is written. If a close is refused, those before it stay.
 * @throws BAD_REQUEST if `ledger` is not a ledger or `closes` is not iterable, or an option is unknown or wrong; as `ledger.append`, with the
 *   `file` and `line` of the refused close; and whatever the source throws
 */
export async function ingestCloses(
  ledger: Ledger,
  closes: AsyncIterable<LedgerClose> | Iterable<LedgerClose>,
  options: IngestClosesOptions = {},
): Promise<IngestResult> {
  const ofKinds = { onLedger: 'callback', signal: 'signal' } as const
  const { batch = 1, onLedger, signal } = checkNames(options, 'ingestCloses', ['batch', 'onLedger', 'signal'], ofKinds)
  if (typeof ledger?.ingest !== 'function') throw badRequest('ledger', 'a ledger, such as openLedger resolves to')
  checkCloses(closes)
  if (!(batch >= 1)) throw badRequest('batch', 'a number of ledgers, 1 or more')
  const total = { appended: 0, known: 0 }
  const report = async (results: readonly AppendResult[]): Promise<void> => {
    for (const result of results) {
      total[result.appended ? 'appended' : 'known']++
      await onLedger?.(result)
    }
  }
  const groups = inGroups(closes, batch)
  const stopped = whenAborted(signal)
  const ask = () => {
    const next = Promise.race([groups.next(), stopped])
    // An error surfaces when this is awaited; until then it must not count as an unhandled rejection.
    next.catch(() => {})
    return next
  }
  try {
    for (let next = ask(); ; ) {
      const group = await next
      if (!group || group.done || signal?.aborted) break
      next = ask()
      await appendGroup(ledger, group.value, report)
    }
  } finally {
    // Not awaited: a source that waits for more input, such as a terminal, would answer only after that.
    void groups.return().catch(() => {})
  }
  return { ...total, last: ledger.head?.last }
}

/** If the source breaks, what was read before must not be lost. */
async function* inGroups(
  closes: AsyncIterable<LedgerClose> | Iterable<LedgerClose>,
  size: number,
): AsyncGenerator<LedgerClose[], void, undefined> {
  let group: LedgerClose[] = []
  try {
    for await (const close of closes) {
      if (group.push(close) < size) continue
      yield group
      group = []
    }
  } catch (error) {
    if (group.length > 0) yield group
    throw error
  }
  if (group.length > 0) yield group
}

const whenAborted = (signal: AbortSignal | undefined): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal?.aborted) resolve(undefined)
    signal?.addEventListener('abort', () => resolve(undefined), { once: true })
  })

type Report = (results: readonly AppendResult[]) => Promise<void>

async function appendGroup(ledger: Ledger, group: readonly LedgerClose[], report: Report): Promise<void> {
  if (group.length === 1) return appendEach(ledger, group, report)
  const before = ledger.head?.last ?? 0
  const results: AppendResult[] = []
  try {
    await ledger.ingest(group, { batch: group.length, onBatch: (made) => results.push(...made) })
  } catch (error) {
    if (!(error instanceof FolioError) || error.status >= 500) throw error
    // The ledgers before the refused one are held now. Appended one by one, they pass, and the first that does not is the one to name.
    let reached = before
    await appendEach(ledger, group, ([again]) => {
      const appended = again!.sequence > reached
      reached = Math.max(reached, again!.sequence)
      return report([{ ...again!, appended }])
    })
  }
  await report(results)
}

async function appendEach(ledger: Ledger, closes: readonly LedgerClose[], report: Report): Promise<void> {
  for (const close of closes) {
    let result: AppendResult
    try {
      result = await ledger.append(close)
    } catch (error) {
      throw locateError(error, close)
    }
    await report([result])
  }
}
