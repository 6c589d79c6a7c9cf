/** `folio generate`: a made-up network as NDJSON. */
import type { Command } from 'commander'
import { type GenerateOptions, generateDefaults, generateLines } from '../../generate/index.ts'
import { usage } from '../errors.ts'
import { exitOf } from '../exit.ts'
import { type Io, pour } from '../io.ts'
import { anyNumber, someText } from '../options.ts'
import type { Run } from '../run.ts'

const help = `
The same options give the same bytes, on every platform. The network is made up, for trials and tests.

Examples:
  folio generate --ledgers 1000 --seed 7 > closes.ndjson
  folio generate --ledgers 1000000 --seed 7 | folio ingest --data ./ledgers --batch 100 -`

export const generate = (program: Command, run: Run): Command =>
  program
    .command('generate')
    .description('write the ledger closes of a realistic, generated network as NDJSON')
    .requiredOption('--ledgers <count>', 'how many ledgers to close', anyNumber)
    .requiredOption('--seed <text>', 'seed of the network: the same seed gives the same network', someText)
    .option('--first-ledger <sequence>', 'sequence of the first ledger', anyNumber, generateDefaults.firstLedger)
    .option('--accounts <count>', 'accounts at the start', anyNumber, generateDefaults.accounts)
    .option('--transactions-per-ledger <mean>', 'mean transactions per ledger', anyNumber, generateDefaults.transactionsPerLedger)
    .addHelpText('after', help)
    .action((options: GenerateOptions) => run((io) => writeLines(io, options)))

async function writeLines(io: Io, options: GenerateOptions): Promise<number> {
  await pour(io, chunks(options)).catch(usage)
  return exitOf(io.signal)
}

/** A few lines per write. */
async function* chunks(options: GenerateOptions): AsyncGenerator<string, void, undefined> {
  let chunk = ''
  for (const line of generateLines(options)) {
    chunk += `${line}\n`
    if (chunk.length < 1 << 16) continue
    yield chunk
    chunk = ''
  }
  yield chunk
}
