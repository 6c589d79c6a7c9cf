/** `folio get`: the answer to one HTTP path, without a server; or everything in a list, as NDJSON. */
import { type Command, Option } from 'commander'
import type { Ledger, NdjsonChunk } from '../../../src/index.ts'
import { createCore, listOf } from '../../http/index.ts'
import { UsageError } from '../errors.ts'
import { exitOf, exits } from '../exit.ts'
import { type Io, pour, print } from '../io.ts'
import { logTo } from '../log.ts'
import { type AnswerOptions, baseUrlOption, profileOption } from '../options.ts'
import type { Run } from '../run.ts'
import { dataOption, openNamed, type StoreOptions, storeOption } from '../stores.ts'

interface Options extends StoreOptions, AnswerOptions {
  readonly headers?: boolean
  readonly ndjson?: boolean
  readonly baseUrl: string
}

const help = `
The exit code tells the status: 0 for 2xx, 4 for 4xx, 5 for 5xx. The body is on standard output in each case.
While a server has a LevelDB store open, ask the server instead.
With --ndjson, all records of a list, from the cursor to its end, are written as they are stored, without links; a limit
in the path has no effect.

Examples:
  folio get '/transactions?order=desc&limit=1' --data ./ledgers
  folio get /accounts/GABC/payments --data ./ledgers --headers
  folio get /accounts/GABC/effects --data ./ledgers --ndjson > effects.ndjson`

export const get = (program: Command, run: Run): Command =>
  program
    .command('get')
    .description('print what the HTTP service would answer')
    .argument('<path>', 'path and query, such as /ledgers?limit=1, or a link of an answer')
    .addOption(dataOption().makeOptionMandatory())
    .addOption(storeOption())
    .option('--headers', 'print the status line and the headers first')
    // The base URL is no conflict: the path may be a link that begins with it.
    .addOption(new Option('--ndjson', 'print all records of a list, one line of JSON each').conflicts(['headers', 'profile']))
    .addOption(baseUrlOption('what links start with').default('http://127.0.0.1:8000'))
    .addOption(profileOption())
    .addHelpText('after', help)
    .action((path: string, options: Options) => run((io) => answer(io, path, options)))

async function answer(io: Io, path: string, { headers, ndjson, baseUrl, profile, ...where }: Options): Promise<number> {
  await using ledger = await openNamed(where, { mustExist: true })
  const core = createCore(ledger, { profile, baseUrl, log: logTo(io) })
  const target = targetOf(path, baseUrl)
  const reply = await core({ method: 'GET', target, header: () => undefined })
  if (ndjson && reply.status < 400) return await writeLines(io, ledger, target)
  if (headers) {
    const head = reply.headers.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\n`))
    await print(io, `HTTP/1.1 ${reply.status}\n${head.join('')}\n`)
  }
  await print(io, Buffer.concat([...reply.parts, Buffer.from('\n')]))
  if (reply.status < 400) return exits.ok
  return reply.status < 500 ? exits.answer4xx : exits.answer5xx
}

/** The target of a path, with or without a leading slash, or of a link: what stands behind the base URL, as links spell it, or behind any other host. */
function targetOf(path: string, base: string): string {
  const { origin, pathname } = new URL(base)
  const mount = origin + pathname.replace(/\/+$/, '')
  const rest = path.startsWith(mount) ? path.slice(mount.length) : undefined
  // Another host, port or segment may begin as those of the base URL do.
  const isBelow = rest !== undefined && /^(?:[/?]|$)/.test(rest)
  const target = isBelow ? rest : path.replace(/^https?:\/\/[^/?]*/i, '')
  return target.startsWith('/') ? target : `/${target}`
}

async function writeLines(io: Io, ledger: Ledger, target: string): Promise<number> {
  const list = listOf(target)
  if (!list) throw new UsageError('--ndjson needs a path that gives a list')
  const { query, values, cursor, order } = list
  await pour(io, bytesOf(ledger.ndjson(query, values, { cursor, order })))
  return exitOf(io.signal)
}

async function* bytesOf(all: AsyncIterable<NdjsonChunk>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { bytes } of all) yield bytes
}
