/** `folio repair`: saves what can be read of damaged files, and rebuilds what follows from the records. */
import type { Command } from 'commander'
import { type RepairReport, repairStore } from '../../../src/index.ts'
import type { SalvageReport } from '../../level/index.ts'
import { damaged } from '../errors.ts'
import { exits } from '../exit.ts'
import { checkInputs, closesOf, leaveInputs } from '../feed.ts'
import { digits, type Io, print } from '../io.ts'
import { someText } from '../options.ts'
import type { Run } from '../run.ts'
import { dataOption, openStore, type StoreOptions, salvageStore, storeOption } from '../stores.ts'
import { fileLineOf, lineOf, onFiles, restOf, verified } from './verify.ts'

interface Options extends StoreOptions {
  readonly cut?: boolean
  readonly closes?: string
  readonly json?: boolean
}

const help = `
1. The files are checked. If they are damaged, everything that can be read is copied into new files, which take their
   place; the damaged ones are kept in a directory that is printed, for you to delete. That needs as much space as the
   store. Files of which nothing can be read, or only values of something else than a ledger store, stay as they are.
   Damaged pages of LMDB cannot be saved: restore a copy, or ingest into a new directory.
2. Indexes, hashes, the book of offers, digests and the head are rebuilt from the records, and what nothing refers to is
   removed; then the store is verified.
3. Records that are damaged are taken from --closes, an export of a copy or of wherever the ledgers came from. It may
   hold other ledgers too. A ledger is used if its digest proves that it is the one that was appended.
4. Records that are damaged and not given cannot be saved: they are listed, and the exit code is 8. Run it again with
   their ledgers; or with --cut, which discards the first of those ledgers and all later ones, and ingest them again.
   See what is listed before you add --cut: if the oldest ledger is lost, it discards everything. Without --cut, what is
   not lost can be read; but if the head (key 00) is listed, the store is not opened before.

Nobody else can open the store meanwhile; with lmdb, the repair ends with CONFLICT if another process writes. If it is
killed, run it again. A rollback or prune that was killed stays unfinished, and the next open finishes it.

Examples:
  folio repair --data ./ledgers
  folio export --data /backup/ledgers --from 2100160 --to 2100163 | folio repair --data ./ledgers --closes -
  folio repair --data ./ledgers --cut && folio copy --from /backup/ledgers --to ./ledgers`

export const repair = (program: Command, run: Run): Command =>
  program
    .command('repair')
    .description('save and rebuild what can be of a damaged store')
    .addOption(dataOption().makeOptionMandatory())
    .addOption(storeOption())
    .option('--closes <file>', 'ledger closes, from which lost records are taken; - is standard input', someText)
    .option('--cut', 'discard the first ledger that cannot be saved, and all later ones; if that is the oldest, everything')
    .option('--json', 'print the report as one JSON object')
    .addHelpText('after', help)
    .action((options: Options) =>
      run((io) =>
        mend(io, options)
          .catch(damaged)
          .finally(() => leaveInputs(io, inputsOf(options))),
      ),
    )

const inputsOf = ({ closes }: Options): string[] => (closes === undefined ? [] : [closes])

async function mend(io: Io, options: Options): Promise<number> {
  const { json = false, cut = false, closes, ...where } = options
  const inputs = inputsOf(options)
  await checkInputs(io, inputs)
  const salvaged = await onFiles(io, (options) => salvageStore(where, options))
  const files = salvaged?.kept === undefined ? undefined : salvaged
  // What was lost with the files is told even if the repair is stopped.
  if (files && !json) await print(io, `${filesSummary(files)}\n`)
  const store = await openStore(where, { mustExist: true, damaged: true })
  try {
    const given = closes === undefined ? {} : { closes: () => closesOf(io, inputs) }
    const report = await verified(io, json, (told) => repairStore(store, { ...told, ...given, cut }))
    await print(io, json ? `${JSON.stringify({ ...report, ...(files && { files }) })}\n` : `${summary(report)}\n`)
    return report.lost.length === 0 ? exits.ok : exits.damaged
  } finally {
    await store.close()
  }
}

function filesSummary({ faults, lost, entries, kept }: SalvageReport): string {
  const cannot = lost.map(({ file, parts }) => `${file}: ${digits(parts)} blocks or records cannot be read`)
  return [...faults.map(fileLineOf), ...cannot, `files salvaged: ${digits(entries)} values; the damaged files are in ${kept}`].join('\n')
}

const HEADLESS =
  '; without the head, nothing tells where history ends, and the store is not opened: run it again with --cut to end it there'

function summary({ repaired, lost, unfit = [], cutAfter, after }: RepairReport): string {
  const held = after.last === undefined ? 'no ledgers' : `ledgers ${after.oldest} to ${after.last}`
  const cut =
    cutAfter === undefined
      ? ''
      : cutAfter === 0
        ? '; history was given up, ingest it again'
        : `; history was cut after ledger ${cutAfter}, ingest again from there`
  const rest = `${held}${cut}${after.unfinished === 'repair' ? HEADLESS : restOf(after.unfinished)}`
  if (lost.length === 0) return `repaired: ${digits(repaired)} values; ${rest}`
  const refused = unfit.map(({ ledger, reason }) => `ledger ${ledger} was given: ${reason}`)
  return [
    'cannot be saved:',
    ...lost.map(lineOf),
    ...refused,
    `${digits(repaired)} values repaired, ${digits(lost.length)} LOST; ${rest}`,
  ].join('\n')
}
