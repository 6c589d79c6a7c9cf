/** `folio repair`: rebuilds what follows from the records. */
import type { Command } from 'commander'
import { type RepairReport, repairStore } from '../../../src/index.ts'
import { exits } from '../exit.ts'
import { digits, type Io, print } from '../io.ts'
import type { Run } from '../run.ts'
import { dataOption, openStore, type StoreOptions, storeOption } from '../stores.ts'
import { lineOf, restOf, verified } from './verify.ts'

interface Options extends StoreOptions {
  readonly cut?: boolean
  readonly json?: boolean
}

const help = `
Indexes, hashes, the book of offers, digests and the head are built again from the records, and what nothing asks for
is taken away; then the store is verified. Nobody else can open it meanwhile. Killed on the way, run it again. A rollback
or pruning that was cut short stays unfinished, and the next open finishes it.
Records that are damaged cannot be saved from this store: they are listed, and the exit code is 8. Fetch those ledgers
elsewhere: restore a copy, or give up the first of them and all after it with --cut, and ingest them again.

Examples:
  folio repair --data ./ledgers
  folio repair --data ./ledgers --cut && folio copy --from /backup/ledgers --to ./ledgers`

export const repair = (program: Command, run: Run): Command =>
  program
    .command('repair')
    .description('rebuild the indexes of a damaged store')
    .addOption(dataOption().makeOptionMandatory())
    .addOption(storeOption())
    .option('--cut', 'discard the first ledger that cannot be saved, and all later ones')
    .option('--json', 'print the report as one JSON object')
    .addHelpText('after', help)
    .action((options: Options) => run((io) => mend(io, options)))

async function mend(io: Io, { json = false, cut = false, ...where }: Options): Promise<number> {
  const store = await openStore(where, { mustExist: true, damaged: true })
  try {
    const report = await verified(io, json, (options) => repairStore(store, { ...options, cut }))
    await print(io, json ? `${JSON.stringify(report)}\n` : `${summary(report)}\n`)
    return report.lost.length === 0 ? exits.ok : exits.damaged
  } finally {
    await store.close()
  }
}

function summary({ repaired, lost, cutAfter, after }: RepairReport): string {
  const held = after.last === undefined ? 'no ledgers' : `ledgers ${after.oldest} to ${after.last}`
  const cut = cutAfter === undefined ? '' : `; history was cut after ledger ${cutAfter}, ingest again from there`
  const rest = `${held}${cut}${restOf(after.unfinished)}`
  if (lost.length === 0) return `repaired: ${digits(repaired)} values; ${rest}`
  return ['cannot be saved:', ...lost.map(lineOf), `${digits(repaired)} values repaired, ${digits(lost.length)} LOST; ${rest}`].join('\n')
}
