/** `folio prune`: gives up the oldest ledgers. */
import type { Command } from 'commander'
import { usage } from '../errors.ts'
import { exits } from '../exit.ts'
import { countOf, type Io, note } from '../io.ts'
import { ledgerNumber } from '../options.ts'
import type { Run } from '../run.ts'
import { dataOption, openNamed, type StoreOptions, storeOption } from '../stores.ts'

interface Options extends StoreOptions {
  readonly before: number
}

const help = `
Requests for removed ledgers are answered 410 from then on. The book of offers stays as it is; accounts and offers that
neither it nor a ledger that is left names are unknown again. The space is given back. If it is killed, the next open
finishes it.

A copy has all that is left (see folio copy --help). An export lacks what only the removed ledgers said: offers that have
not changed since.

Examples:
  folio prune --data ./ledgers --before 2100500`

export const prune = (program: Command, run: Run): Command =>
  program
    .command('prune')
    .description('remove the oldest ledgers')
    .addOption(dataOption().makeOptionMandatory())
    .addOption(storeOption())
    .requiredOption('--before <ledger>', 'the ledger that becomes the oldest', ledgerNumber)
    .addHelpText('after', help)
    .action((options: Options) => run((io) => giveUp(io, options)))

async function giveUp(io: Io, { before, ...where }: Options): Promise<number> {
  await using ledger = await openNamed(where, { mustExist: true })
  const count = await ledger.prune(before).catch(usage)
  const oldest = ledger.head ? `oldest ${ledger.head.oldest}` : 'the store is empty'
  // Whoever prunes by the clock asks for less than there is now and then: that is done already.
  note(io, count === 0 ? `nothing to remove before ${before}: ${oldest}` : `removed ${countOf(count, 'ledger')}; ${oldest}`)
  return exits.ok
}
