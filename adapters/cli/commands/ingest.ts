/** `folio ingest`: feeds ledger closes into a store. */
import type { Command } from 'commander'
import type { AppendResult, IngestResult } from '../../../src/index.ts'
import { Begun } from '../errors.ts'
import { exitOf } from '../exit.ts'
import { Counted, checkInputs, feed } from '../feed.ts'
import { digits, type Io, note, tell } from '../io.ts'
import { wholeNumber } from '../options.ts'
import { showProgress, totalBytes } from '../progress.ts'
import type { Run } from '../run.ts'
import { dataOption, networkOption, openNamed, type StoreOptions, storeOption } from '../stores.ts'

interface Options extends StoreOptions {
  readonly batch?: number
  readonly json?: boolean
}

const help = `
Each line is one ledger close (docs/input.md has the format). A ledger is stored whole or not at all; one that is held
already is skipped. If a close is refused, the error names its file and line, and the ledgers before it stay: behind the
error, as at the end, standard error has how many were ingested, and the newest that the store holds.

With --json, standard output has one line {"ledger":N} for each ledger, written when it is durable and visible,
and that summary is one JSON object.

Examples:
  folio ingest --data ./ledgers closes.ndjson more.ndjson.gz
  zcat closes.ndjson.gz | folio ingest --data ./ledgers --batch 100 -
  folio generate --ledgers 1000 --seed 7 | folio ingest --data ./ledgers --json -`

export const ingest = (program: Command, run: Run): Command =>
  program
    .command('ingest')
    .description('read ledger closes (NDJSON, one per line; plain or gzip) into a store')
    .argument('<file...>', 'files of ledger closes; - is standard input')
    .addOption(dataOption().makeOptionMandatory())
    .addOption(storeOption())
    .addOption(networkOption())
    .option(
      '--batch <ledgers>',
      'ledgers per durable batch: larger is faster, but a crash loses whole batches (default: what is read while the batch before is written)',
      wholeNumber(1, 100_000),
    )
    .option('--json', 'print an acknowledgement line for each ledger')
    .addHelpText('after', help)
    .action((files: string[], options: Options) => run((io) => ingestFiles(io, files, options)))

async function ingestFiles(io: Io, files: readonly string[], { batch, json = false, ...where }: Options): Promise<number> {
  await checkInputs(io, files)
  await using ledger = await openNamed(where, { mustExist: false })
  const progress = showProgress(io, await totalBytes(files))
  const started = performance.now()
  const secondsNow = (): number => (performance.now() - started) / 1000
  const counted = new Counted(ledger)
  const onLedger = (result: AppendResult): void => {
    counted.take(result)
    progress.ledger()
  }
  try {
    await feed(io, ledger, files, { batch, json, onBytes: progress.bytes, onLedger })
    progress.stop()
    const seconds = secondsNow()
    if (json) tell(io, lineOf(counted.soFar, seconds))
    else note(io, `${counted.summary}; ${seconds.toFixed(1)} s, ${digits(Math.round(counted.soFar.appended / seconds))} ledgers/s`)
    return exitOf(io.signal)
  } catch (error) {
    progress.stop()
    if (json) throw new Begun(lineOf(counted.soFar, secondsNow()), error)
    return counted.told(error)
  }
}

const lineOf = (result: IngestResult, seconds: number): string => `${JSON.stringify({ ...result, seconds: Number(seconds.toFixed(3)) })}\n`
