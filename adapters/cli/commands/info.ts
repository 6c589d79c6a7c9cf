/** `folio info`: what a store holds, at a glance. */
import type { Command } from 'commander'
import { describeStore, type StoreDescription } from '../../../src/index.ts'
import { exits } from '../exit.ts'
import { countOf, digits, type Io, print } from '../io.ts'
import { bytesIn } from '../places.ts'
import type { Run } from '../run.ts'
import { dataOption, openStore, type StoreOptions, storeOption } from '../stores.ts'
import { oneLine } from '../text.ts'

interface Options extends StoreOptions {
  readonly json?: boolean
}

const help = `
It shows the network, the ledgers held, the newest of them, how many records there are, the digest of all ledgers, what the
directory takes on disk, and what is unfinished. Only the end of history and 32 bytes per ledger are read: whether the store
is whole, folio verify says. Nothing is changed, and nothing that is unfinished is finished.

With --json, it is one JSON object; what the store does not have is left out.

Examples:
  folio info --data ./ledgers
  folio info --data ./ledgers --json | jq .last`

export const info = (program: Command, run: Run): Command =>
  program
    .command('info')
    .description('show what a store holds')
    .addOption(dataOption().makeOptionMandatory())
    .addOption(storeOption())
    .option('--json', 'print it as one JSON object')
    .addHelpText('after', help)
    .action((options: Options) => run((io) => show(io, options)))

async function show(io: Io, { json = false, ...where }: Options): Promise<number> {
  const store = await openStore(where, { mustExist: true })
  try {
    const found = { ...(await describeStore(store, { signal: io.signal })), bytes: await bytesIn(where.data!) }
    await print(io, json ? `${JSON.stringify(found)}\n` : linesOf(found))
    return exits.ok
  } finally {
    await store.close()
  }
}

function linesOf(found: StoreDescription & { readonly bytes: number }): string {
  const { network, ledgers, first = 0, oldest = 0, last = 0, hash, closedAt, records, digest, bytes, unfinished, noted } = found
  const { transactions, failedTransactions, operations, effects, trades } = records
  const kinds = [
    `${countOf(transactions, 'transaction')}, ${digits(failedTransactions)} failed`,
    ...[countOf(operations, 'operation'), countOf(effects, 'effect'), countOf(trades, 'trade')],
  ]
  const lines = [
    ['network', network === undefined ? 'without a name' : oneLine(network)],
    ['ledgers', ledgers === 0 ? 'none' : `${digits(ledgers)}, ${oldest} to ${last}`],
    ...(oldest > first ? [['pruned', `${digits(oldest - first)}, ${first} to ${oldest - 1}`]] : []),
    ...(ledgers > 0 ? [['newest', `hash ${hash}, closed at ${closedAt}`]] : []),
    ['records', kinds.join(', ')],
    ['digest', digest],
    ['on disk', `${digits(bytes)} bytes`],
    ...(unfinished ? [['unfinished', `a ${unfinished}: ${finishedBy[unfinished]}`]] : []),
    ...(noted
      ? [['gone', `${noted > last ? `ledgers ${last + 1} to ${noted} were held` : `another ledger ${noted} was held`}: see folio verify`]]
      : []),
  ] as const
  return lines.map(([what, is]) => `${what!.padEnd(12)}${is}\n`).join('')
}

const finishedBy: Readonly<Record<NonNullable<StoreDescription['unfinished']>, string>> = {
  rollback: 'opening the store finishes it',
  prune: 'opening the store finishes it',
  repair: 'run folio repair again',
  copy: 'run folio copy again, which begins anew',
}
