/**
 * Records that are lost, taken from the closes of their ledgers: from a copy, from an export, or from wherever they came in the first place.
 * **Invariant:** a close is only used if its line has the digest that was stored when its ledger was appended. So a block that is written again is the
 * one that was lost, however the closes came here.
 */
import { equal } from '../bytes.ts'
import { checkCloses, type LedgerClose, sequenceOf } from '../ingest/close.ts'
import { type EncodedClose, prepareClose } from '../ingest/encode.ts'
import { digestOf, rowsOfClose } from '../ingest/line.ts'
import { hashUnder } from '../ingest/load.ts'
import { type Closes, Source } from '../ingest/source.ts'
import { decodeDigest } from '../layout/digest.ts'
import { encodeBlock } from '../layout/encode-block.ts'
import type { Head } from '../layout/head.ts'
import { blockKey, digestKey } from '../layout/keys.ts'
import { filedAt, ledgerSides, topOfferAt } from '../layout/ledger-row.ts'
import { blockNumber, firstOfBlock, recordsInBlock } from '../layout/ordinals.ts'
import type { Row } from '../layout/row.ts'
import { logs } from '../logs.ts'
import type { Resource } from '../query.ts'
import { ledgers } from '../resources/ledger.ts'
import { countsAfter, ledgerAt } from '../scan/locate.ts'
import type { Write } from '../store.ts'
import { type Context, readable } from './context.ts'
import type { LedgerRange } from './range.ts'
import { readBlock } from './rebuild.ts'

/** Gives the closes of a range of ledgers; it may lack some of them, and give others. */
export type ClosesOf = (lost: Required<LedgerRange>) => Iterable<LedgerClose> | AsyncIterable<LedgerClose>

/** A close that is of no use, and why. */
export interface UnfitClose {
  readonly ledger: number
  readonly reason: string
}

/** How much there was of everything after a ledger. What else the row of the next one begins from went with the ledgers that were pruned. */
interface After {
  readonly counts: readonly number[]
  readonly row?: { readonly topOffer: string; readonly filed: number }
}

/** Closes that are asked for once. An error of them is kept until the repair is done with all else: unfinished, the store could not be opened. */
export class Given {
  private readonly refused = new Map<number, UnfitClose>()
  error: unknown
  private closes: ClosesOf | undefined
  private readonly signal: AbortSignal | undefined

  constructor(closes: ClosesOf, signal: AbortSignal | undefined) {
    this.closes = closes
    this.signal = signal
  }

  get unfit(): readonly UnfitClose[] {
    return [...this.refused.values()]
  }

  async refill(context: Context): Promise<Write[]> {
    const { closes } = this
    if (!closes || context.lost.size === 0) return []
    this.closes = undefined
    const found = new Map<number, EncodedClose>()
    try {
      const sequences = inOrder(context.lost)
      const given = checkCloses(closes({ from: sequences[0]!, to: sequences.at(-1)! }))
      await findFitting(context, this.untilStopped(given), found, this.refused)
    } catch (error) {
      // What came before it is as good as without it.
      this.error = error
    }
    return blocksFrom(context, found)
  }

  /** Their source may have nothing to give for a long time. @throws the reason of the signal: the closes did not end there */
  private async *untilStopped(closes: Closes): AsyncGenerator<LedgerClose, void, undefined> {
    const { signal } = this
    const source = new Source(closes)
    const stop = (): void => source.leave()
    signal?.addEventListener('abort', stop)
    try {
      if (signal?.aborted) stop()
      yield* source
      signal?.throwIfAborted()
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }
}

/** Finds those of the closes that are the ones that were appended. @throws what their source throws */
async function findFitting(
  context: Context,
  closes: AsyncIterable<LedgerClose>,
  found: Map<number, EncodedClose>,
  unfit: Map<number, UnfitClose>,
): Promise<void> {
  const { lost, store, findings } = context
  for await (const close of closes) {
    await findings.progress('records', found.size, lost.size)
    const ledger = sequenceOf(close)
    if (ledger === undefined || !lost.has(ledger) || found.has(ledger)) continue
    const { encoded, error } = prepareClose(close, store.capabilities)
    const reason = encoded ? await whyUnfit(context, encoded) : `the close cannot be stored: ${(error as Error).message}`
    if (encoded && reason === undefined) {
      found.set(ledger, encoded)
      unfit.delete(ledger)
    } else unfit.set(ledger, { ledger, reason: reason! })
    if (found.size === lost.size) return
  }
}

/** Why a close is not shown to be the one that was appended; undefined if it is. */
async function whyUnfit({ store, reader }: Context, close: EncodedClose): Promise<string | undefined> {
  const { sequence } = close
  const digest = await readable(async () => decodeDigest(sequence, await store.get(digestKey(sequence))))
  if (!digest) return 'the digest that would prove the close is lost as well'
  if (!equal(digest, digestOf(rowsOfClose(close)))) return 'the close is not the one that was appended: its digest is another one'
  // Where the ledger and its digest are of two histories, nothing tells which one was appended last.
  const held = await readable(() => hashUnder(reader, sequence))
  return held && held !== close.hash ? 'the close has the digest that was stored, but not the hash of the ledger that is held' : undefined
}

/** The blocks that can be written again. */
async function blocksFrom(context: Context, found: ReadonlyMap<number, EncodedClose>): Promise<Write[]> {
  const rows = new Map(logs.map((log) => [log, new Map<number, Row>()]))
  const known = new Map<number, After>()
  for (const sequence of inOrder(context.lost)) {
    const close = found.get(sequence)
    const before = (await afterLedger(context, sequence - 1)) ?? known.get(sequence - 1)
    if (!close || !before) continue
    known.set(sequence, place(close, before, context.head, rows))
    await context.findings.progress('records', known.size, found.size)
  }
  const writes: Write[] = []
  for (const [log, of] of rows) for (const number of blocksOf(log, of)) writes.push(...(await blockWith(context, log, number, of)))
  return writes
}

const inOrder = (lost: ReadonlySet<number>): number[] => [...lost].sort((a, b) => a - b)

/** What the head or the ledger log says of a ledger; undefined if that is lost. */
async function afterLedger({ reader, head }: Context, sequence: number): Promise<After | undefined> {
  if (sequence < head.oldest) return { counts: head.since, ...(head.oldest === head.first && { row: { topOffer: '0', filed: 0 } }) }
  return readable(() =>
    reader.run((read) => {
      const { block, at } = ledgerAt(read, sequence)
      return { counts: countsAfter(read, sequence), row: { topOffer: topOfferAt(block, at), filed: filedAt(block, at) } }
    }),
  )
}

/** Puts the rows of a ledger where they were. */
function place(close: EncodedClose, before: After, head: Head, rows: ReadonlyMap<Resource, Map<number, Row>>): After {
  const next = before.counts.slice()
  for (const row of close.rows) rows.get(row.resource)!.set(next[row.resource.tag]!++, row)
  next[ledgers.tag]!++
  if (!before.row) return { counts: next }
  // Lists may have been filed further by then. A rollback to here files that again.
  const { filed } = before.row
  let top = BigInt(before.row.topOffer)
  for (const { id } of close.book) if (id > top) top = id
  const topOffer = String(top)
  rows.get(ledgers)!.set(close.sequence - head.first, close.ledgerRow(ledgerSides(next, topOffer, filed)))
  return { counts: next, row: { topOffer, filed } }
}

const blocksOf = (log: Resource, rows: ReadonlyMap<number, Row>): Set<number> => {
  const numbers = new Set<number>()
  for (const ordinal of rows.keys()) numbers.add(blockNumber(log, ordinal))
  return numbers
}

/**
 * A block that cannot be read, lacks records, or holds others, with those that are known; nothing if it is whole, or some of them are not known. Of a
 * ledger that is held, its row says more than a close does.
 */
async function blockWith({ store, head }: Context, log: Resource, number: number, known: ReadonlyMap<number, Row>): Promise<Write[]> {
  const key = blockKey(log.tag, number)
  const count = recordsInBlock(log, number, head.counts[log.tag]!)
  const block = await readBlock(store, log, key)
  const held = block ? await readable(() => block.rows(Math.min(block.count, count))) : []
  const first = firstOfBlock(log, number)
  const rows = Array.from({ length: count }, (_, at) => {
    const [one, other] = [held?.[at], known.get(first + at)]
    return log === ledgers ? (one ?? other) : (other ?? one)
  })
  return rows.every((row) => row !== undefined) ? [[key, encodeBlock(key, log, rows)]] : []
}
