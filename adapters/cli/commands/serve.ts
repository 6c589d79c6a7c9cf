/** `folio serve`: serves a store over HTTP, and meanwhile appends closes fed to it. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { IngestResult, Ledger } from '../../../src/index.ts'
import { type LimitName, type Limits, limits, serve as listen } from '../../http/index.ts'
import { UsageError } from '../errors.ts'
import { exits } from '../exit.ts'
import { Counted, checkInputs, feed } from '../feed.ts'
import { countOf, type Io, note, stopped } from '../io.ts'
import { logTo } from '../log.ts'
import { type AnswerOptions, baseUrlOption, profileOption, someText, wholeNumber } from '../options.ts'
import type { Run } from '../run.ts'
import { dataOption, networkOption, openNamed, type StoreOptions, storeOption } from '../stores.ts'
import { urlsToTry } from '../try.ts'

interface Options extends StoreOptions, AnswerOptions {
  readonly port: number
  readonly host: string
  readonly ingest?: string
  readonly json?: boolean
  readonly limit: Limits
  readonly baseUrl?: string
}

const help = `
With --ingest, ledger closes are read while the service answers, each visible as soon as it is durable. After the last
one, it keeps serving. If a close is refused, the service ends with exit code 1, since it could only fall behind, and
says how many were ingested.
With --json, standard output has one line {"ledger":N} for each ledger; everything else is on standard error.
SIGINT and SIGTERM end it, after the ledger being written is stored and responses in flight are sent; a second one ends
it at once.

GET /health and /metrics are for monitoring. There is no authentication: see SECURITY.md before you set --host.

Limits (--limit name=number):
${Object.entries(limits)
  .map(([name, { default: value, what }]) => `  ${name.padEnd(15)}${String(value).padEnd(7)}${what}`)
  .join('\n')}

Examples:
  folio serve --data ./ledgers --port 8000
  folio serve --store memory --ingest closes.ndjson.gz --limit maxStreams=100
  tail -n +1 -f closes.ndjson | folio serve --data ./ledgers --ingest - --json`

/** `name=number`, given once or more. */
function limit(text: string, before: Limits): Limits {
  const [, name = '', digits = ''] = /^(\w+)=(.*)$/.exec(text) ?? []
  const row = Object.hasOwn(limits, name) ? limits[name as LimitName] : undefined
  if (!row) throw new InvalidArgumentError(`It must be name=number, the name one of ${Object.keys(limits).join(', ')}.`)
  return { ...before, [name]: wholeNumber(row.least, row.most, name)(digits) }
}

const limitOption = (): Option =>
  new Option('--limit <name=number>', 'override a limit; may be repeated').argParser(limit).default({}, 'as below')

export const serve = (program: Command, run: Run): Command =>
  program
    .command('serve')
    .description('serve a store over HTTP')
    .addOption(dataOption())
    .addOption(storeOption({ lasting: false }))
    .addOption(networkOption())
    .option('--port <number>', 'port to listen on; 0 picks a free one', wholeNumber(0, 65_535), 8000)
    .option('--host <address>', 'address to listen on', someText, '127.0.0.1')
    .option('--ingest <file>', 'ingest ledger closes while serving; - is standard input', someText)
    .option('--json', 'print an acknowledgement line for each ledger')
    .option('--cache-mib <count>', 'memory for what was read (default: an eighth, from 32 to 2048)', wholeNumber(0, 2 ** 20))
    .addOption(limitOption())
    .addOption(baseUrlOption('what links start with (default: scheme and host of the request)'))
    .addOption(profileOption())
    .addHelpText('after', help)
    .action((options: Options) => run((io) => serveStore(io, options)))

async function serveStore(io: Io, { port, host, ingest, json = false, limit, baseUrl, profile, ...where }: Options): Promise<number> {
  if (json && ingest === undefined) throw new UsageError('--json acknowledges the ledgers of --ingest, which is missing')
  if (ingest !== undefined) await checkInputs(io, [ingest])
  await using ledger = await openNamed(where, { mustExist: ingest === undefined })
  const server = await listen(ledger, { ...limit, port, host, profile, ...(baseUrl && { baseUrl }), log: logTo(io) })
  try {
    note(io, `serving ${where.data ?? where.store} at ${server.url}${range(ledger)}`)
    if (ledger.poisoned) note(io, 'records are damaged, so nothing can be appended: run folio verify to see which')
    for (const url of await urlsToTry(ledger, server.url)) note(io, `  try ${url}`)
    const feeding = ingest === undefined ? undefined : fed(io, ledger, ingest, json)
    const end = stopped(io.signal)
    // The end of the input is not the end of the service, but an error of the input is.
    await Promise.race([end, feeding?.then(() => end) ?? end])
    note(io, `${io.signal.reason}: closing`)
    await feeding
  } finally {
    await server.close()
  }
  return exits.ok
}

async function fed(io: Io, ledger: Ledger, file: string, json: boolean): Promise<IngestResult> {
  const counted = new Counted(ledger)
  const result = await feed(io, ledger, [file], { json, onLedger: counted.take }).catch(counted.told)
  if (!io.signal.aborted) note(io, `ingested ${countOf(result.appended, 'ledger')}; the input has ended, serving on`)
  return result
}

const range = ({ head }: Ledger): string => (head ? `, ledgers ${head.oldest} to ${head.last}` : ', no ledgers yet')
