/** `folio export`: the closes of a store as NDJSON, which `folio ingest` can read again. */
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Command } from 'commander'
import type { HistoryHead, Ledger, LedgerRange } from '../../../src/index.ts'
import { UsageError, usage } from '../errors.ts'
import { exitOf, exits } from '../exit.ts'
import { countOf, heeding, type Io, note, pour } from '../io.ts'
import { lackingBefore } from '../lacking.ts'
import { fromOption, someText, toOption } from '../options.ts'
import { replaceFile } from '../replace.ts'
import type { Run } from '../run.ts'
import { dataOption, isInside, openNamed, type StoreOptions, storeOption } from '../stores.ts'

interface Options extends StoreOptions, LedgerRange {
  readonly out?: string
}

const help = `
Each line is one ledger close, every digit as it was given. Ingested into an empty store, the lines give the same store
again, unless ledgers were pruned (see folio prune --help). Standard error has their digest: SHA-256 over the SHA-256 of
each line without its end.
To continue an export to standard output that was cut short, use --from with the ledger after the last whole line. With
--out, the file is written beside it, as FILE.<letters>.part, and renamed when it is complete; until then, a file of that
name stays as it is.

Examples:
  folio export --data ./ledgers | gzip > closes.ndjson.gz
  folio export --data ./ledgers --out closes.ndjson.gz
  folio export --data ./ledgers --from 2100500 --to 2100999 >> closes.ndjson`

export const exportCloses = (program: Command, run: Run): Command =>
  program
    .command('export')
    .description('write the ledger closes of a store as NDJSON')
    .addOption(dataOption().makeOptionMandatory())
    .addOption(storeOption())
    .addOption(fromOption())
    .addOption(toOption())
    .option('--out <file>', 'the file to write, compressed if its name ends in .gz (default: -, standard output)', someText)
    .addHelpText('after', help)
    .action((options: Options) => run((io) => write(io, options)))

async function write(io: Io, { out: named, from, to, ...where }: Options): Promise<number> {
  const out = named === '-' ? undefined : named
  if (out !== undefined && (await isInside(out, where.data)))
    throw new UsageError(
      `--out ${out} lies in the data directory, where it might take the place of a file of the store: write it elsewhere`,
    )
  await using ledger = await openNamed(where, { mustExist: true })
  // Of an empty store nothing can be asked for: it is said below that it is empty.
  const range = ledger.head ? { from, to } : {}
  const chunks = inChunks(ledger, range)
  await (out === undefined ? pour(io, chunks) : writeFile(io, chunks, out)).catch(usage)
  if (io.signal.aborted) return exitOf(io.signal)
  note(io, ledger.head ? `exported ${await summary(ledger, ledger.head, range)}` : 'the store holds no ledgers')
  const { first = 0, oldest = 0 } = ledger.head ?? {}
  if (first < oldest && (from ?? oldest) === oldest) note(io, lackingBefore(oldest, first, 'a store made of these'))
  return exits.ok
}

const writeFile = (io: Io, chunks: AsyncIterable<string>, out: string): Promise<void> =>
  replaceFile(out, io.signal, async (file) => {
    await (out.endsWith('.gz') ? pipeline(heeding(io, chunks), createGzip(), file) : pipeline(heeding(io, chunks), file))
    return !io.signal.aborted
  })

async function summary(ledger: Ledger, { oldest, last }: HistoryHead, range: LedgerRange): Promise<string> {
  const { from = oldest, to = last } = range
  const count = to - from + 1
  return count <= 0 ? 'no ledgers' : `${countOf(count, 'ledger')}, ${from} to ${to}; digest ${await ledger.digest(range)}`
}

/** Many lines per write. */
async function* inChunks(ledger: Ledger, range: LedgerRange): AsyncGenerator<string, void, undefined> {
  let chunk = ''
  for await (const line of ledger.lines(range)) {
    chunk += `${line}\n`
    if (chunk.length < 1 << 18) continue
    yield chunk
    chunk = ''
  }
  yield chunk
}
