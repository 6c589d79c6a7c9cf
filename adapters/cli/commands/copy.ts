/** `folio copy`: copies one store into another, of whatever kinds, and checks that both hold the same. */
import type { Command } from 'commander'
import {
  type AppendResult,
  copyStore,
  describeStore,
  FolioError,
  type HistoryHead,
  isVacant,
  type Ledger,
  type LedgerClose,
  networkOf,
  openLedger,
  type Store,
} from '../../../src/index.ts'
import { ingestCloses } from '../../ndjson/index.ts'
import { Begun, damaged, UsageError, usage } from '../errors.ts'
import { exitOf, exits } from '../exit.ts'
import { Counted } from '../feed.ts'
import { countOf, digits, type Io, isStop, note, noteOf } from '../io.ts'
import { lackingBefore } from '../lacking.ts'
import { wholeNumber } from '../options.ts'
import { showProgress, showStatus } from '../progress.ts'
import type { Run } from '../run.ts'
import { isInside, isSamePlace, openStore, type StoreOptions, storeOf } from '../stores.ts'

interface Options {
  readonly from: StoreOptions
  readonly to: StoreOptions
  readonly batch: number
}

const help = `
A store is a directory, or its kind and directory: level:./ledgers, lmdb:./shared. The source is only read; over LevelDB,
nobody else may have it open. The target keeps the network name of the source, and is refused if it has another.

Into a new store, everything is copied as it is, also what a pruned store keeps of the ledgers that are gone; each value
is checked, and read back. If that is cut short, the target cannot be opened: run it again, which begins anew.
To a target that holds ledgers already, those that it lacks are appended, so run it again to add what is new, or to go on
with what was cut short.
At the end, the digests of all ledgers that both hold are compared; if they differ, or the source was found damaged, then
or before, the exit code is 8.

Examples:
  folio copy --from ./ledgers --to /backup/ledgers`

export const copy = (program: Command, run: Run): Command =>
  program
    .command('copy')
    .description('copy a store, or add to a copy what is new, and compare both')
    .requiredOption('--from <store>', 'the store to read', storeOf)
    .requiredOption('--to <store>', 'the store to write, created if missing', storeOf)
    .option('--batch <ledgers>', 'ledgers per durable batch, where ledgers are appended', wholeNumber(1, 100_000), 100)
    .addHelpText('after', help)
    .action((options: Options) => run((io) => copyOrContinue(io, options).catch(damaged)))

async function copyOrContinue(io: Io, { from, to, batch }: Options): Promise<number> {
  if (await isSamePlace(from, to)) throw new UsageError(`--from and --to are the same directory, ${from.data}: a copy needs one of its own`)
  if (await isInside(to.data, from.data))
    throw new UsageError(
      `--to ${to.data} lies in ${from.data}, the directory of the source, and would be lost with it: copy to a place outside`,
    )
  const store = await openStore(from, { mustExist: true })
  await using source = await openLedger(store)
  const network = await networkOf(store)
  const copy = await openStore(to, { mustExist: false })
  const isWhole = await copiedWhole(io, store, copy, to.data).catch(async (error) => {
    await copy.close()
    throw error
  })
  await using target = await openLedger(copy, { network })
  if (!isWhole) await addTo(io, target, source, { to, batch })
  if (io.signal.aborted) return exitOf(io.signal)
  return await compare(io, source, target)
}

/** Copies everything, unless the target holds ledgers already. @returns whether it did */
async function copiedWhole(io: Io, from: Store, to: Store, target: string | undefined): Promise<boolean> {
  if (!(await isVacant(to))) return false
  const status = showStatus(io)
  try {
    const { values, bytes } = await copyStore(from, to, {
      signal: io.signal,
      onProgress: ({ phase, values, bytes }) => status.say(`${phase}: ${countOf(values, 'value')}, ${digits(bytes)} bytes`),
    }).catch(usage)
    note(io, `copied ${countOf(values, 'value')}, ${digits(bytes)} bytes`)
    return true
  } catch (error) {
    status.stop()
    if (!(await isBegun(to))) throw error
    const left = `${target} is not complete, and cannot be opened; copying again begins anew`
    if (!isStop(io, error)) throw new Begun(noteOf(left), error)
    note(io, `stopped: ${left}`)
    throw error
  } finally {
    status.stop()
  }
}

/** Whether a copy into a store was begun and not finished. */
const isBegun = (to: Store): Promise<boolean> =>
  describeStore(to).then(
    ({ unfinished }) => unfinished === 'copy',
    () => false,
  )

async function addTo(io: Io, target: Ledger, source: Ledger, { to, batch }: Pick<Options, 'to' | 'batch'>): Promise<void> {
  if (source.head && target.head) checkMeeting(to.data, target.head, source.head)
  const progress = showProgress(io, undefined)
  const counted = new Counted(target, 'copied')
  const onLedger = (result: AppendResult): void => {
    counted.take(result)
    progress.ledger()
  }
  try {
    await ingestCloses(target, missingIn(target, source), { batch, signal: io.signal, onLedger }).catch(counted.told)
  } finally {
    progress.stop()
  }
  if (io.signal.aborted) note(io, `stopped: ${counted.summary}`)
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
  if (other.last > one.last)
    note(
      io,
      `the copy holds ${countOf(other.last - one.last, 'ledger')} more, up to ${other.last}, which the source does not: ` +
        `if the source has taken them back, roll the copy back to ${one.last} too`,
    )
  // It was begun with ledgers that had been ingested or exported, not with a copy.
  if (other.first > one.first) note(io, `${lackingBefore(other.first, one.first, 'the copy')}: copy into a new store to have everything`)
  if (source.poisoned) note(io, 'records of the source are damaged: run folio verify on it to see which')
  return digest === copied && !source.poisoned ? exits.ok : exits.damaged
}
