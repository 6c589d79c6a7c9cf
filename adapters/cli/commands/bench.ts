/** `folio bench`: stores compared on the same ledgers. */
import { type Command, Option } from 'commander'
import type { LedgerClose } from '../../../src/index.ts'
import { compareStores, type Incomparable } from '../../compare/index.ts'
import { generate } from '../../generate/index.ts'
import { type NamedStore, ourStores, parseStores } from '../candidates.ts'
import { here, identified, table } from '../comparison.ts'
import { UsageError } from '../errors.ts'
import { exits } from '../exit.ts'
import { explain } from '../explain.ts'
import { checkInputs, closesOf } from '../feed.ts'
import { type Io, note, print } from '../io.ts'
import { someText, wholeNumber } from '../options.ts'
import { showStatus } from '../progress.ts'
import type { Run } from '../run.ts'
import { storeNames } from '../stores.ts'

interface Options {
  readonly store: readonly NamedStore[]
  readonly data?: string
  readonly ledgers: number
  readonly seed: string
  readonly rounds: number
  readonly readers: number
  readonly runMs: number
  readonly json?: boolean
}

const help = `
Every store gets the same ledgers and answers the same requests, in turns, after a warm-up on others; their answers are
compared first. Pages are read without the engine's cache, so that what the store costs is seen; the system's cache is
warm. With the defaults, two stores take about a minute on an idle machine: pages take 16 times --rounds times --run-ms
for each store, or more.

One page at a time is read of each list; then, of any list, by one reader and by --readers at once, each of which asks
for a page as soon as it has the last one; and beside appends, for which the last ledgers are kept: one for every 25 pages
of each reader. What a page takes begins when its reader could ask, so it holds the wait for other readers and for what
an append does in the event loop. Stores that answer at once, as those of this package do, answer one reader after
another.

Below a row stands more about it: p99, which 99 of 100 do not exceed, and which on a busy machine says how busy that is;
the CPU time of the process in all its threads; what was asked of the store for a ledger or a page, on average. What is on
disk is what the file system has allocated, once the files have settled.
Figures are medians of the rounds. For every store but the first, a ratio to the first one follows: the median of the
ratios round by round, with the least and the most in brackets. It compares what was measured side by side, and need not be
the ratio of the two figures. A ~ before it says that it cannot be told from 1. It is left out only if there are at least
seven rounds and nearly all of them lie on one side; even of identical stores, about one row in forty goes without it. Times
of all rounds together have no ratio.

The stores are made in the directory for temporary files (TMPDIR), and removed, also after SIGINT and SIGTERM. A store that
leaves a call unanswered for 30 s is given up. What fails where nobody waits for it ends the comparison, and is told with the
store whose call was the last.

With --json, each row has an id that no other row has, and figures, spread (least and most of the rounds), ratio, ratios and
alike (the ~) with a value for each of the stores; persistent says which of these outlive the process.

A store of your own is name=module. The default export of that module is a function from the path of a directory, which
is empty at first and later the same one again, to a Store or the promise of one. Figures do not say that it keeps the
contract of stores: storeConformance of ledger-folio/testing does.

Examples:
  folio bench --store level,memory
  folio bench --store level,memory --data closes.ndjson.gz --ledgers 500 --json
  folio bench --store level,mine=./my-store.js --readers 32
  folio bench --store before=./old/my-store.js,after=./my-store.js   # in turns, unlike two runs`

const storesOption = (): Option =>
  new Option('--store <names>', `the stores, comma-separated: ${storeNames.join(', ')}, or name=module for your own`)
    .argParser(parseStores)
    .default(ourStores, ourStores.map(({ name }) => name).join(','))

export const bench = (program: Command, run: Run): Command =>
  program
    .command('bench')
    .description('compare stores on the same ledgers')
    .addOption(storesOption())
    .option('--data <file>', 'your ledger closes (NDJSON, plain or gzip) instead of generated ones; - is standard input', someText)
    .option('--ledgers <count>', 'how many ledgers', wholeNumber(1, 1_000_000), 400)
    .addOption(new Option('--seed <seed>', 'seed of the generated ledgers').argParser(someText).default('bench').conflicts('data'))
    .option('--rounds <count>', 'how often each row is measured', wholeNumber(1, 1000), 7)
    .option('--readers <count>', 'how many pages are read at once, in rows with several readers', wholeNumber(1, 256), 8)
    .option('--run-ms <count>', 'the shortest measurement, in milliseconds', wholeNumber(1, 60_000), 100)
    .option('--json', 'print the rows as one JSON object')
    .addHelpText('after', help)
    .action((options: Options) => run((io) => compare(io, options)))

async function compare(io: Io, { store, data, ledgers, seed, rounds, readers, runMs, json = false }: Options): Promise<number> {
  const stores = store.map(({ name }) => name)
  const twice = stores.find((name, at) => stores.indexOf(name) < at)
  if (twice !== undefined)
    throw new UsageError(
      `--store names ${twice} twice, and its columns could not be told apart: name a store of your own differently, name=module`,
    )
  if (data !== undefined) await checkInputs(io, [data])
  const given = data === undefined ? generate({ ledgers, seed }) : closesOf(io, [data])
  const first = firstOf(given as AsyncIterable<LedgerClose> | Iterable<LedgerClose>, ledgers)
  const [status, place] = [showStatus(io), here()]
  try {
    // All are loaded before any place is made.
    const candidates = await Promise.all(store.map(({ load }) => load()))
    const options = { rounds, readers, runMs, signal: io.signal, onStep: (step: string) => status.say(step), onExit: sayEnd(io) }
    const { rows, ...counts } = await compareStores(candidates, first.closes, options)
    status.stop()
    const facts = { ...counts, ...(data === undefined ? { seed } : { data, limited: first.limited }), rounds, readers, runMs, ...place }
    await print(
      io,
      json ? `${JSON.stringify({ ...facts, stores, rows: identified(rows) })}\n` : table(facts, stores, rows, io.stdout.columns),
    )
  } finally {
    status.stop()
    // Standard input waiting for more would keep the process from exiting.
    if (data === '-') io.stdin.destroy()
  }
  return exits.ok
}

/** A store may end the process, with whatever code, but not so that nobody learns of it. */
const sayEnd = (io: Io) => (error: Incomparable) => {
  // Whoever gave the signal has ended it.
  if (io.signal.aborted) return
  const { exit, line } = explain(error)
  if (line !== undefined) note(io, line)
  process.exitCode = exit
}

interface First {
  readonly closes: AsyncIterable<LedgerClose>
  /** Once they were read: whether there may be more. To know, one more would have to be read, which a pipe may never give. */
  readonly limited: boolean
}

function firstOf(given: AsyncIterable<LedgerClose> | Iterable<LedgerClose>, count: number): First {
  let read = 0
  const closes = async function* (): AsyncGenerator<LedgerClose, void, undefined> {
    for await (const close of given) {
      read++
      yield close
      if (read === count) return
    }
  }
  return {
    closes: closes(),
    get limited() {
      return read === count
    },
  }
}
