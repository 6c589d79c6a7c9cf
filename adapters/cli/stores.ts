/** The stores that the command line knows: adding one takes a row. */
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import { FolioError, type Ledger, openLedger, refuseForeign, type Store } from '../../src/index.ts'
import type { Place } from '../compare/index.ts'
import { databaseAmong, namesIn } from '../directory/index.ts'
import { checkFiles, type FilesOptions, type FilesReport, level, type SalvageOptions, type SalvageReport, salvage } from '../level/index.ts'
import { checkFiles as checkLmdbFiles, lmdb } from '../lmdb/index.ts'
import { memory, memoryDisk } from '../memory/index.ts'
import { isOfSystem, UsageError, unreadable } from './errors.ts'
import { someText } from './options.ts'
import { inDirectory } from './places.ts'

interface OpenOptions {
  /** If not, an empty one is made where there is none. */
  readonly mustExist: boolean
  /** It is opened to be repaired: what could be salvaged of its files was, just before. */
  readonly damaged?: boolean
}

interface StoreRow {
  /** It works only beside a package that is installed on request. */
  readonly optional: boolean
  /** What it keeps in its directory. */
  readonly database?: ReturnType<typeof databaseAmong>
  /** False if nothing is left when the process ends, and no `--data` is needed. */
  readonly persistent: boolean
  readonly open: (data: string, options: OpenOptions) => Store | Promise<Store>
  /** Makes an empty place that nothing else uses. */
  readonly place: () => Place | Promise<Place>
  /** Checks the files of the store, without opening it. */
  readonly checkFiles?: (data: string, options: FilesOptions) => Promise<FilesReport>
  /** Replaces files that are damaged by what can be read of them, while nobody has the store open. */
  readonly salvage?: (data: string, options: SalvageOptions) => Promise<SalvageReport>
}

/** LMDB is never opened on damaged pages, which can end the process; and nothing is salvaged from them. */
function unmended(error: unknown): never {
  if (!(error instanceof FolioError) || error.code !== 'CORRUPT') throw error
  const reason = `${error.fields['reason']}; a file of LMDB cannot be repaired: restore a copy, or ingest into a new directory`
  throw new FolioError('CORRUPT', { ...error.fields, reason }, error)
}

export const stores = {
  level: {
    optional: false,
    database: 'LevelDB',
    persistent: true,
    open: (data, { mustExist, damaged }) => level(data, { mustExist, ...(damaged && { checkFiles: false }) }),
    checkFiles,
    salvage: (data, options) => salvage(data, { ...options, refuse: refuseForeign }),
    place: inDirectory((directory) => level(directory)),
  },
  lmdb: {
    optional: true,
    database: 'LMDB',
    persistent: true,
    open: (data, { mustExist, damaged }) => (damaged ? lmdb(data, { mustExist }).catch(unmended) : lmdb(data, { mustExist })),
    checkFiles: checkLmdbFiles,
    place: inDirectory((directory) => lmdb(directory)),
  },
  memory: {
    optional: false,
    persistent: false,
    open: () => memory(),
    place: () => {
      const disk = memoryDisk()
      return { open: () => memory(disk) }
    },
  },
} satisfies Record<string, StoreRow>

export type StoreName = keyof typeof stores

export const storeNames = Object.keys(stores) as StoreName[]

/** `--store`; `lasting`, as it is by default, excludes the stores that would forget everything at once. */
export const storeOption = ({ lasting = true } = {}): Option =>
  new Option('--store <name>', 'the kind of store')
    .choices(storeNames.filter((name) => !lasting || stores[name].persistent))
    .default('level')

export const dataOption = (): Option => new Option('--data <dir>', 'the data directory').argParser(directoryOf)

/** `kind:` before a place. A single letter is a drive of Windows. */
const kindOf = (word: string): string | undefined => /^([a-z][\w+-]+):/i.exec(word)?.[1]

/** A directory as typed. @throws InvalidArgumentError for one that looks like a store or a URL: a directory by that name would go unnoticed */
function directoryOf(word: string): string {
  if (word === '') throw new InvalidArgumentError('It must name a directory.')
  if (kindOf(word) === undefined) return word
  throw new InvalidArgumentError(`It must be a directory alone: --store names the kind, and a directory of this name is ./${word}.`)
}

export const networkOption = (): Option =>
  new Option('--network <name>', 'the name of the network; a store keeps the first one it is given and refuses any other').argParser(
    someText,
  )

export interface StoreOptions {
  readonly store: StoreName
  readonly network?: string
  readonly data?: string
  /** For the read cache of the ledger. */
  readonly cacheMib?: number
}

/**
 * Opens what `--store` and `--data` name. @throws what opening throws, and UsageError without a directory, or with one in which nothing would be kept
 */
export async function openStore({ store, data }: StoreOptions, options: OpenOptions): Promise<Store> {
  const { persistent, open }: StoreRow = stores[store]
  if (persistent && !data) throw new UsageError(`--data <dir> is needed with --store ${store}`)
  if (!persistent && data !== undefined) throw new UsageError(`--data <dir> cannot be used with --store ${store}, which keeps nothing`)
  return Promise.resolve(open(data ?? '', options)).catch(orOther(store, data))
}

/** For `catch`, of what opens a store: where one of another kind lies there, the error says how to open that. */
const orOther =
  (store: StoreName, location = '') =>
  async (error: unknown): Promise<never> => {
    if (!(error instanceof FolioError) || error.code !== 'STORE_MISSING') throw error
    const found = databaseAmong(await namesIn(location).catch(() => []))
    const kind = storeNames.find((name) => found !== undefined && (stores[name] as StoreRow).database === found)
    if (kind === undefined || kind === store) throw error
    const reason = `it is a store over ${found}: --store ${kind}, or ${kind}:${location} to copy`
    throw new FolioError('STORE_MISSING', { location, reason }, error)
  }

/** Opens the ledger in that store. @throws as {@link openStore}, and what opening a ledger throws */
export const openNamed = async (where: StoreOptions, options: OpenOptions): Promise<Ledger> => {
  const { network, cacheMib } = where
  return openLedger(await openStore(where, options), { network, cacheBytes: cacheMib === undefined ? undefined : cacheMib * 2 ** 20 })
}

/**
 * Checks the files of what `--store` and `--data` name.
 * @throws UsageError if the store does not consist of files; as {@link openStore} if there is none, or it may not be read; Unreadable if one of its
 * files cannot be
 */
export async function checkStoreFiles({ store, data }: StoreOptions, options: FilesOptions): Promise<FilesReport> {
  const { checkFiles }: StoreRow = stores[store]
  if (!checkFiles || !data) throw new UsageError(`--files is for a store of files, not for ${store}`)
  const opened = async (): Promise<void> => (await openStore({ store, data }, { mustExist: true })).close()
  const report = await checkFiles(data, options).catch(async (error: NodeJS.ErrnoException) => {
    if (isOfSystem(error)) await opened()
    return unreadable(error)
  })
  // A directory without any file of a store has either lost them or never had any.
  if (!report.ok && report.files === 0)
    await opened().catch((error: FolioError) => {
      if (error.code !== 'CORRUPT') throw error
    })
  return report
}

/** Salvages what `--store` and `--data` name, if it consists of files. @throws what {@link salvage} throws */
export async function salvageStore({ store, data }: StoreOptions, options: SalvageOptions): Promise<SalvageReport | undefined> {
  const { salvage }: StoreRow = stores[store]
  return data ? salvage?.(data, options).catch(orOther(store, data)) : undefined
}

/** A store as one word: `level:./ledgers`, or just the directory. @throws InvalidArgumentError for a kind that is unknown or keeps nothing */
export function storeOf(word: string): StoreOptions {
  const kind = kindOf(word)
  if (kind === undefined) return named({ store: 'level', data: word })
  const store = storeNames.find((one) => one === kind)
  if (store === undefined) {
    const known = storeNames.filter((one) => stores[one].persistent).join(', ')
    throw new InvalidArgumentError(`${kind} is not a kind of store; there is ${known}. A directory of this name is ./${word}.`)
  }
  if (!stores[store].persistent) throw new InvalidArgumentError(`${store} keeps nothing when the command ends.`)
  return named({ store, data: word.slice(store.length + 1) })
}

function named(where: StoreOptions): StoreOptions {
  if (where.data === '') throw new InvalidArgumentError('It must name a directory.')
  return where
}

/** Where a path leads, which may not exist yet, nor what it lies in. */
const placeOf = (path: string): Promise<string> =>
  realpath(path).catch(async () => {
    const [whole, above] = [resolve(path), dirname(resolve(path))]
    return above === whole ? whole : join(await placeOf(above), basename(whole))
  })

/** Whether two names lead to the same directory, which may not exist yet. */
export async function isSamePlace(one: StoreOptions, other: StoreOptions): Promise<boolean> {
  const [place, second] = await Promise.all([one, other].map(({ data = '' }) => placeOf(data)))
  return place === second
}

/** Whether a file or directory, which may not exist yet, lies in the directory of a store. */
export async function isInside(path = '', data = ''): Promise<boolean> {
  const [directory, store] = await Promise.all([placeOf(dirname(path)), placeOf(data)])
  return `${directory}${sep}`.startsWith(`${store}${sep}`)
}
