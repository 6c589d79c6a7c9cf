/** `folio bench`: stores compared on the same ledgers. */
import { type Command, Option } from 'commander'
import type { LedgerClose } from '../../../src/index.ts'
import { compareStores, type Row, type Span } from '../../compare/index.ts'
import { generate } from '../../generate/index.ts'
import { readCloses } from '../../ndjson/index.ts'
import { exits, UsageError } from '../exit.ts'
import { checkInputs } from '../feed.ts'
import { type Io, print } from '../io.ts'
import { wholeNumber } from '../options.ts'
import { showStatus } from '../progress.ts'
import type { Run } from '../run.ts'
import { type Contender, candidatesOf, contenders, parseContenders, storeNames } from '../stores.ts'

interface Options {
  readonly store: readonly Contender[]
  readonly data?: string
  readonly ledgers: number
  readonly seed: string
  readonly rounds: number
  readonly json?: boolean
}

const help = `
Every store gets the same ledgers and answers the same requests, in turns; their answers are compared first. Pages are
read down to their bytes without the engine's cache, so that what the store costs is seen. Figures are medians of the
rounds; behind those of the other stores stands how many times the first one's they are, and in brackets the least and
the most of that, round by round. The stores are made in the directory for temporary files, and removed.

A store of your own is name=module: the default export of that module is a function, which is given the path of an empty
directory, later of the same one filled, and gives a Store or the promise of one. Figures do not say that it keeps the
contract of stores: storeConformance of ledger-folio/testing does.

Examples:
  folio bench --store level,memory
  folio bench --store level,memory --data closes.ndjson.gz --ledgers 500 --json
  folio bench --store level,mine=./my-store.js`

const storesOption = (): Option =>
  new Option('--store <names>', `the stores, comma-separated: ${storeNames.join(', ')}, or name=module for your own`)
    .argParser(parseContenders)
    .default(contenders, storeNames.join(','))

export const bench = (program: Command, run: Run): Command =>
  program
    .command('bench')
    .description('compare stores on the same ledgers')
    .addOption(storesOption())
    .option('--data <file>', 'your ledger closes (NDJSON, plain or gzip) instead of generated ones; - is standard input')
    .option('--ledgers <count>', 'how many ledgers', wholeNumber(1, 1_000_000), 400)
    .addOption(new Option('--seed <seed>', 'seed of the generated ledgers').default('bench').conflicts('data'))
    .option('--rounds <count>', 'how often each row is measured', wholeNumber(1, 1000), 7)
    .option('--json', 'print the rows as one JSON object')
    .addHelpText('after', help)
    .action((options: Options) => run((io) => compare(io, options)))

async function compare(io: Io, { store, data, ledgers, seed, rounds, json = false }: Options): Promise<number> {
  const stores = store.map(({ name }) => name)
  const twice = stores.find((name, at) => stores.indexOf(name) < at)
  if (twice !== undefined)
    throw new UsageError(
      `--store names ${twice} twice, and its columns could not be told apart: name a store of your own differently, name=module`,
    )
  if (data !== undefined) await checkInputs([data])
  const closes: LedgerClose[] = []
  const given = data === undefined ? generate({ ledgers, seed }) : readCloses([data === '-' ? io.stdin : data])
  for await (const close of given) {
    closes.push(close as LedgerClose)
    if (closes.length === ledgers) break
  }
  const status = showStatus(io)
  try {
    const candidates = await candidatesOf(store)
    const rows = await compareStores(candidates, closes, { rounds, signal: io.signal, onStep: (step) => status.say(step) })
    status.stop()
    await print(io.stdout, json ? `${JSON.stringify({ ledgers: closes.length, stores, rounds, rows })}\n` : table(stores, rows))
  } finally {
    status.stop()
  }
  return exits.ok
}

const shown = (figure: number | undefined): string =>
  figure === undefined ? '-' : figure >= 100 ? figure.toFixed(0) : figure >= 10 ? figure.toFixed(1) : figure.toFixed(2)

const span = ([least, most]: Span): string => ` (${least.toFixed(2)} to ${most.toFixed(2)})`

/** Costs, which are shown below the row of their work. */
const costs: readonly Row['unit'][] = ['calls', 'KB']

function table(stores: readonly string[], rows: readonly Row[]): string {
  const column = (text: string, at: number, behind = ''): string => (at > 0 ? text.padStart(16) + behind.padEnd(17) : text.padStart(10))
  const lines = rows.map(({ name, unit, figures, ratios }) => {
    const first = figures[0]
    const cells = figures.map((figure, at) => {
      const times = at > 0 && figure !== undefined && first ? ` ${(figure / first).toFixed(2)}×` : ''
      return column(`${shown(figure)}${times}`, at, ratios && span(ratios[at]!))
    })
    return `${`${costs.includes(unit) ? '  ' : ''}${name}`.padEnd(34)}${unit.padEnd(6)}${cells.join('')}`.trimEnd()
  })
  const head = `${''.padEnd(40)}${stores.map((store, at) => column(store, at)).join('')}`.trimEnd()
  return `${[head, ...lines].join('\n')}\n`
}
