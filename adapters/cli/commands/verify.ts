/** `folio verify`: whether a store is whole. */
import type { Command } from 'commander'
import { type Fault, FolioError, type VerifyProgress, type VerifyReport, verifyStore } from '../../../src/index.ts'
import type { FileFault, FilesOptions, FilesReport } from '../../level/index.ts'
import { damaged } from '../errors.ts'
import { exits } from '../exit.ts'
import { aside, countOf, digits, type Io, print } from '../io.ts'
import { showStatus } from '../progress.ts'
import type { Run } from '../run.ts'
import { checkStoreFiles, dataOption, openStore, type StoreOptions, storeOption } from '../stores.ts'

interface Options extends StoreOptions {
  readonly files?: boolean
  readonly json?: boolean
}

const help = `
Every value is checked against its key and its checksum, every ledger against its digest and the one before, every index
against the records both ways, the book of offers against the changes that made it. Nothing is changed.

With --files, the files of the store are checked first: of LevelDB the checksums of all blocks and records, sizes, keys,
and that no batch is missing; of LMDB the trees of pages. If a file is damaged, the store is not opened. Without --files,
they are checked only if they cannot be opened.

Standard output has a line for each fault and a summary; with --json, one JSON object: faults of values are its faults,
and those of files its files.faults, which is all there is if files are damaged. The exit code is 8 if the store is
damaged. Then restore a copy, or see folio repair --help. With lmdb, if there are faults and another process has written
meanwhile, the check ends with CONFLICT: the faults listed were there before that, and nothing is said of the rest.

Examples:
  folio verify --data ./ledgers --files
  folio verify --data ./ledgers --json | jq .faults`

export const verify = (program: Command, run: Run): Command =>
  program
    .command('verify')
    .description('check that a store is whole')
    .addOption(dataOption().makeOptionMandatory())
    .addOption(storeOption())
    .option('--files', 'check the files of the store first, without opening it')
    .option('--json', 'print the report as one JSON object')
    .addHelpText('after', help)
    .action((options: Options) => run((io) => check(io, options).catch(damaged)))

async function check(io: Io, { json = false, files = false, ...where }: Options): Promise<number> {
  const say = (report: object, line: string): Promise<void> => print(io, json ? `${JSON.stringify(report)}\n` : `${line}\n`)
  const sayDamaged = (checked: FilesReport): Promise<void> => say({ ok: false, files: checked }, filesSummary(checked))
  const checked = files ? await checkedFiles(io, where) : undefined
  if (checked && !checked.ok) {
    await sayDamaged(checked)
    return exits.damaged
  }
  try {
    const report = await checkValues(io, json, where)
    await say({ ...report, ...(checked && { files: checked }) }, (checked ? `${filesSummary(checked)}\n` : '') + summary(report))
    return report.ok ? exits.ok : exits.damaged
  } catch (error) {
    // An error that names no key is about the files, and of these about the first fault only.
    const isOfFiles = !checked && error instanceof FolioError && error.code === 'CORRUPT' && error.fields['key'] === undefined
    const found = isOfFiles ? await checkedFiles(io, where) : undefined
    if (!found || found.ok) throw error
    await sayDamaged(found)
    return exits.damaged
  }
}

async function checkValues(io: Io, json: boolean, where: StoreOptions): Promise<VerifyReport> {
  const store = await openStore(where, { mustExist: true })
  try {
    return await verified(io, json, (options) => verifyStore(store, options))
  } finally {
    await store.close()
  }
}

const checkedFiles = (io: Io, where: StoreOptions): Promise<FilesReport> => onFiles(io, (options) => checkStoreFiles(where, options))

/** Runs work on files, with its progress on a terminal. */
export async function onFiles<R>(io: Io, work: (options: Pick<FilesOptions, 'onFile' | 'signal'>) => Promise<R>): Promise<R> {
  const status = showStatus(io)
  let [files, bytes] = [0, 0]
  try {
    return await work({
      signal: io.signal,
      onFile(file, size) {
        files++
        bytes += size
        status.say(`file ${files}, ${file}; ${digits(bytes)} bytes`)
      },
    })
  } finally {
    status.stop()
  }
}

function filesSummary({ ok, faults, files, bytes }: FilesReport): string {
  const state = ok ? 'files whole' : `files DAMAGED: ${countOf(faults.length, 'fault')}`
  return [...faults.map(fileLineOf), `${state}: ${countOf(files, 'file')}, ${digits(bytes)} bytes`].join('\n')
}

export const fileLineOf = ({ file, at, reason }: FileFault): string => `${file}${at === undefined ? '' : ` at byte ${at}`}: ${reason}`

type Audit<R> = (options: {
  onProgress: (progress: VerifyProgress) => void
  onFault: (fault: Fault) => void
  signal: AbortSignal
}) => Promise<R>

/** Runs an audit, with its progress on a terminal and each fault printed as it is found. */
export async function verified<R>(io: Io, json: boolean, audit: Audit<R>): Promise<R> {
  const status = showStatus(io)
  const faults = aside(io)
  try {
    return await audit({
      signal: faults.signal,
      onProgress: ({ phase, done, total }) => status.say(`${phase}: ${digits(done)}${total === undefined ? '' : ` of ${digits(total)}`}`),
      onFault: (fault) => void (json || faults.say(`${lineOf(fault)}\n`)),
    })
  } finally {
    status.stop()
    await faults.said()
  }
}

export const lineOf = ({ key, reason, ledger }: Fault): string => `${key}: ${reason}${ledger === undefined ? '' : ` (ledger ${ledger})`}`

function summary({ ok, faultCount, ledgers, oldest, last, records, filings, values, bytes, unfinished }: VerifyReport): string {
  const held = ledgers === 0 ? 'no ledgers' : `${countOf(ledgers, 'ledger')}, ${oldest} to ${last}`
  const checked = `${held}, ${countOf(records, 'record')}, ${countOf(filings, 'filing')}, ${countOf(values, 'value')}, ${digits(bytes)} bytes`
  const rest = restOf(unfinished)
  return ok ? `whole: ${checked}${rest}` : `DAMAGED: ${countOf(faultCount, 'fault')}; ${checked}${rest}`
}

/** What is unfinished, and what finishes it. */
export const restOf = (unfinished: VerifyReport['unfinished']): string =>
  unfinished ? `; a ${unfinished} is unfinished, which ${unfinished === 'repair' ? 'folio repair' : 'opening the store'} finishes` : ''
