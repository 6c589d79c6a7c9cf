/**
 * Saves what can be read of a LevelDB directory whose files are damaged, which LevelDB itself refuses, or silently drops: the newest version of each
 * key, from all blocks and records whose checksum matches, makes up a new database, which takes the place of the damaged one.
 */
import { OptionRules } from '../../src/check.ts'
import { FolioError } from '../../src/errors.ts'
import type { Entry } from '../../src/store.ts'
import { type FileFault, type FilesOptions, fsPromises, NOTE, namesIn, pathOf } from '../directory/index.ts'
import { alone } from './alone.ts'
import { locked, openDatabase } from './database.ts'
import { buildingIn, discardBuilding, exchange, finishExchange, isExchanging } from './exchange.ts'
import { failure } from './failure.ts'
import { examine, inUseWithoutCurrent } from './files.ts'
import { newest } from './merge.ts'
import { isData, isLog, isTable, numberOf } from './names.ts'
import { neverWritten } from './open.ts'
import { type OnLost, type Run, runOfLog, runOfTable } from './runs.ts'

/** Blocks or records of a file that cannot be read. What they held, nothing tells. */
export interface LostParts {
  readonly file: string
  readonly parts: number
}

export interface SalvageReport {
  /** What was wrong with the files. Empty if nothing was: then nothing was done. */
  readonly faults: readonly FileFault[]
  readonly lost: readonly LostParts[]
  /** How many keys the new database has. */
  readonly entries: number
  /** The directory in which the damaged files are kept, within that of the store. */
  readonly kept?: string
}

export interface SalvageOptions extends Pick<FilesOptions, 'onFile' | 'signal'> {
  /**
   * Given what can be read of damaged files, in the order of the keys, before anything is changed: the newest version of each key. If it throws, the
   * files stay as they are, and the salvage ends with that. `refuseForeign` of `ledger-folio` throws for what is no ledger store.
   */
  readonly refuse?: ((entries: AsyncIterable<readonly Entry[]>) => Promise<void>) | undefined
}

const salvageOptions = new OptionRules<SalvageOptions>('salvage', { onFile: 'callback', refuse: 'callback', signal: 'signal' })

/** About so many bytes are written to the new database at a time. */
const BATCH_BYTES = 1 << 20

/**
 * Checks the files of a LevelDB directory, and if they are damaged, puts a new database in their place, made of everything that can be read. The
 * damaged files are kept. Nobody else can open the directory meanwhile. Killed on the way, it is run again, and goes on or starts anew.
 * It needs as much space as the store, and memory for its logs (two at most, as large as `writeBufferBytes`) and a megabyte or two for each table
 * that overlaps others: some tens.
 *
 * What is lost, and values of which only an older version is left, are then for `repairStore` to find.
 * @throws BAD_REQUEST, STORE_MISSING, STORE_DENIED, STORE_LOCKED, STORE_FAILED, with the field `location`; CORRUPT, with the same, if nothing can be
 * read, nor does a note say that there was a ledger store; what `refuse` throws; and the reason of the signal
 */
export async function salvage(location: string | URL, options: SalvageOptions = {}): Promise<SalvageReport> {
  const told = salvageOptions.check(options)
  const directory = pathOf(location)
  try {
    await requireData(directory)
    return await alone(directory, () => locked(directory, () => salvageHere(directory, told)))
  } catch (error) {
    if (told.signal?.aborted && error === told.signal.reason) throw error
    throw failure(error, directory)
  }
}

/** @throws STORE_MISSING if there is nothing of a database, CORRUPT if there is nothing but a CURRENT, which may be anybody's */
async function requireData(directory: string): Promise<void> {
  const names = await namesIn(directory)
  if (names.some(isData) || (await isExchanging(directory))) return
  if (!names.includes('CURRENT')) throw new FolioError('STORE_MISSING', { location: directory })
  if (!(await neverWritten(directory))) refuseUnknown(directory, names, { file: 'CURRENT', reason: 'it is the only file of a database' })
}

/** Where nothing tells whose files they are, they stay as they are: an empty database in their place would save nothing. @throws CORRUPT */
function refuseUnknown(directory: string, names: readonly string[], fault: FileFault | undefined): void {
  if (names.includes(NOTE)) return
  const unknown = 'no value can be read, and no note says that this is a ledger store, so all files stay as they are'
  const reason = `${fault?.reason}; ${unknown}: restore a copy, or ingest into a new directory`
  throw new FolioError('CORRUPT', { location: directory, ...fault, reason })
}

async function salvageHere(directory: string, options: SalvageOptions): Promise<SalvageReport> {
  const finished = await finishExchange<SalvageReport & { kept: string }>(directory)
  if (finished) return finished
  await discardBuilding(directory)
  const { report, inUse } = await examine(directory, options)
  if (report.ok || (await neverWritten(directory))) return { faults: [], lost: [], entries: 0 }
  const isCurrentLost = report.faults.some(({ file }) => file === 'CURRENT')
  const known = inUse ?? (isCurrentLost ? await inUseWithoutCurrent(directory, options.signal) : undefined)
  const names = known ?? (await fsPromises().readdir(directory))
  await options.refuse?.(newestIn(directory, names, () => {}, options.signal))
  try {
    const built = await build(directory, names, options.signal)
    if (built.entries === 0) refuseUnknown(directory, await namesIn(directory), report.faults[0])
    return await exchange<SalvageReport & { kept: string }>(directory, { ...built, faults: report.faults })
  } catch (error) {
    if (!(await isExchanging(directory))) await discardBuilding(directory)
    throw error
  }
}

/** A new database, beside the files, of what can be read of these. */
async function build(
  directory: string,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Pick<SalvageReport, 'lost' | 'entries'>> {
  const lost = new Map<string, number>()
  const onLost: OnLost = (file) => void lost.set(file, (lost.get(file) ?? 0) + 1)
  const building = buildingIn(directory)
  await fsPromises().mkdir(building, { recursive: true })
  const database = await openDatabase(building, true)
  let entries = 0
  try {
    for await (const found of newestIn(directory, names, onLost, signal)) {
      const batch = database.batch()
      for (const [key, value] of found) batch.put(key, value)
      await batch.write()
      entries += found.length
    }
  } finally {
    await database.close()
  }
  const { report } = await examine(building, { signal })
  const [fault] = report.faults
  if (fault) throw new Error(`what was just written is damaged: ${fault.file}: ${fault.reason}`)
  return { lost: Array.from(lost, ([file, parts]) => ({ file, parts })), entries }
}

/** The newest version of each key that can be read of files. Losses are told as it is read. */
async function* newestIn(
  directory: string,
  names: readonly string[],
  onLost: OnLost,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly Entry[], void, undefined> {
  for await (const versions of newest(await runsOf(directory, names, onLost, signal), BATCH_BYTES)) {
    signal?.throwIfAborted()
    yield versions.map(({ key, value }): Entry => [key, value!])
  }
}

async function runsOf(directory: string, names: readonly string[], onLost: OnLost, signal: AbortSignal | undefined): Promise<Run[]> {
  const byNumber = (a: string, b: string): number => numberOf(a) - numberOf(b)
  const logs = names.filter(isLog).sort(byNumber)
  const runs: (Run | undefined)[] = []
  for (const name of logs) runs.push(await runOfLog(directory, name, name === logs.at(-1), onLost))
  for (const name of names.filter(isTable).sort(byNumber)) {
    signal?.throwIfAborted()
    runs.push(await runOfTable(directory, name, onLost))
  }
  return runs.filter((run) => run !== undefined)
}
