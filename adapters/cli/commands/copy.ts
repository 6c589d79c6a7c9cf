/** `folio copy`: copies one store into another, of whatever kinds, and checks that both hold the same. */
import type { Command } from 'commander'
import { FolioError, type HistoryHead, type Ledger, type LedgerClose, networkOf, openLedger } from '../../../src/index.ts'
import { ingestCloses } from '../../ndjson/index.ts'
import { UsageError } from '../errors.ts'
import { exitOf, exits } from '../exit.ts'
import { countOf, type Io, note } from '../io.ts'
import { lackingBefore } from '../lacking.ts'
import { wholeNumber } from '../options.ts'
import { showProgress } from '../progress.ts'
import type { Run } from '../run.ts'
import { isInside, isSamePlace, openNamed, openStore, type StoreOptions, storeOf } from '../stores.ts'

interface Options {
  readonly from: StoreOptions
  readonly to: StoreOptions
  readonly batch: number
}

const help = `
A store is a directory, or its kind and directory: level:./ledgers, lmdb:./shared. The source is only read; over LevelDB,
nobody else may have it open. The target keeps the network name of the source, and is refused if it has another. A target
that holds ledgers already is continued, so run it again to go on after a stop, or to add what is new. At the end, the
digests of all ledgers that both hold are compared; if they differ, the exit code is 8.

If the source was pruned, a copy that was begun before that stays complete. One that is begun afterwards lacks what only
the pruned ledgers said: offers that have not changed since, and accounts that nothing names any more.

Examples:
  folio copy --from ./ledgers --to /backup/ledgers`

export const copy = (program: Command, run: Run): Command =>
  program
    .command('copy')
    .description('copy the ledgers of a store into another, and compare both')
    .requiredOption('--from <store>', 'the store to read', storeOf)
    .requiredOption('--to <store>', 'the store to write, created if missing', storeOf)
    .option('--batch <ledgers>', 'ledgers per durable batch', wholeNumber(1, 100_000), 100)
    .addHelpText('after', help)
    .action((options: Options) => run((io) => copyStore(io, options)))

async function copyStore(io: Io, { from, to, batch }: Options): Promise<number> {
  if (await isSamePlace(from, to)) throw new UsageError(`--from and --to are the same directory, ${from.data}: a copy needs one of its own`)
  if (await isInside(to.data, from.data))
    throw new UsageError(
      `--to ${to.data} lies in ${from.data}, the directory of the source, and would be lost with it: copy to a place outside`,
    )
  const store = await openStore(from, { mustExist: true })
  await using source = await openLedger(store)
  const network = await networkOf(store)
  await using target = await openNamed({ ...to, ...(network !== undefined && { network }) }, { mustExist: false })
  if (source.head && target.head) checkMeeting(to.data, target.head, source.head)
  const progress = showProgress(io, undefined)
  try {
    await ingestCloses(target, missingIn(target, source), { batch, signal: io.signal, onLedger: progress.ledger })
  } finally {
    progress.stop()
  }
  if (io.signal.aborted) return exitOf(io.signal)
  return await compare(io, source, target)
}

/**
 * A target that holds ledgers is continued: its newest ledger may lie at most one below the oldest of the source, and its oldest at most at the
 * newest of the source.
 * @throws LEDGER_GAP, naming the target
 */
function checkMeeting(target: string | undefined, held: HistoryHead, { oldest, last }: HistoryHead): void {
  const expected = held.last + 1
  if (expected < oldest) {
    const reason = `the source begins at ${oldest}: ingest ${expected} to ${oldest - 1} into the target first, or copy into a new store`
    throw new FolioError('LEDGER_GAP', { sequence: oldest, expected, target, reason })
  }
  if (last < held.oldest) {
    const reason = `the source ends at ${last}, before the target begins: copy into a new store`
    throw new FolioError('LEDGER_GAP', { sequence: last, oldest: held.oldest, target, reason })
  }
}

/** What the source holds after the newest ledger of the target. */
const missingIn = (target: Ledger, source: Ledger): AsyncIterable<LedgerClose> =>
  source.closes(target.head && source.head ? { from: Math.min(target.head.last, source.head.last) + 1 } : {})

/** Either may hold more than the other: the target older ledgers that the source has pruned, the source newer ones that arrived meanwhile. */
async function compare(io: Io, source: Ledger, target: Ledger): Promise<number> {
  const [one, other] = [source.head, target.head]
  if (!one || !other) {
    note(io, 'the source holds no ledgers')
    return exits.ok
  }
  const range = { from: Math.max(one.oldest, other.oldest), to: Math.min(one.last, other.last) }
  const [digest, copied] = [await source.digest(range), await target.digest(range)]
  const what = `${countOf(range.to - range.from + 1, 'ledger')}, ${range.from} to ${range.to}`
  note(io, digest === copied ? `both hold ${what}; digest ${digest}` : `${what} DIFFER: ${digest} in the source, ${copied} in the copy`)
  if (other.first > one.first) note(io, lackingBefore(other.first, one.first, 'the copy'))
  return digest === copied ? exits.ok : exits.damaged
}
