/** `folio rollback`: removes the newest ledgers. */
import type { Command } from 'commander'
import { UsageError } from '../errors.ts'
import { exits } from '../exit.ts'
import { countOf, type Io, note } from '../io.ts'
import { ledgerNumber } from '../options.ts'
import type { Run } from '../run.ts'
import { dataOption, openNamed, type StoreOptions, storeOption } from '../stores.ts'

interface Options extends StoreOptions {
  readonly to: number
}

const help = `
The store is left as if the ledgers after --to had never been appended. If it is killed, the next open finishes it.
Ledgers that were pruned cannot come back, so a pruned store keeps at least its oldest ledger; to start again, ingest
into a new directory. If --to is newer than the newest ledger, the exit code is 2.

Examples:
  folio rollback --data ./ledgers --to 2100499`

export const rollback = (program: Command, run: Run): Command =>
  program
    .command('rollback')
    .description('remove the newest ledgers')
    .addOption(dataOption().makeOptionMandatory())
    .addOption(storeOption())
    .requiredOption('--to <ledger>', 'the ledger that becomes the newest; 0 removes all, unless some were pruned', ledgerNumber)
    .addHelpText('after', help)
    .action((options: Options) => run((io) => takeBack(io, options)))

async function takeBack(io: Io, { to, ...where }: Options): Promise<number> {
  await using ledger = await openNamed(where, { mustExist: true })
  const oldest = ledger.head?.oldest ?? 0
  // A missing digit must not cost all of history.
  if (to > 0 && to < oldest - 1)
    throw new UsageError(`--to ${to} is below the oldest ledger held, ${oldest}; 0 removes all, unless some were pruned`)
  const count = await ledger.rollback(to)
  const newest = ledger.head?.last ?? 0
  // Asked of the head after the rollback: before its first write, a store that processes share may not know what others did.
  if (to > newest)
    throw new UsageError(
      `nothing was removed: --to ${to} is ${newest ? `beyond the newest ledger held, ${newest}` : 'not held, the store is empty'}`,
    )
  const held = newest ? `newest ${newest}` : 'the store is empty'
  note(io, count === 0 ? `nothing to remove: ${held} already` : `removed ${countOf(count, 'ledger')}; ${held}`)
  return exits.ok
}
