/** The stores that the command line knows: adding one takes a row. */
import { mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InvalidArgumentError, Option } from 'commander'
import { FolioError, type Ledger, openLedger, type Store } from '../../src/index.ts'
import type { Candidate } from '../compare/index.ts'
import { checkFiles, type FilesOptions, type FilesReport, level } from '../level/index.ts'
import { memory, memoryDisk } from '../memory/index.ts'
import { UsageError } from './exit.ts'

interface OpenOptions {
  /** If not, an empty one is made where there is none. */
  readonly mustExist: boolean
  /** Open it even if its files are damaged, so that what is left can be repaired. */
  readonly damaged?: boolean
}

/** A separate place for a trial. */
interface Place {
  readonly open: () => Store | Promise<Store>
  /** Its size on disk, while it is closed. */
  readonly size?: () => Promise<number | undefined>
  readonly remove?: () => Promise<void>
}

interface StoreRow {
  /** False if nothing is left when the process ends, and no `--data` is needed. */
  readonly persistent: boolean
  readonly open: (data: string, options: OpenOptions) => Store | Promise<Store>
  /** Makes an empty place that nothing else uses. */
  readonly place: () => Place | Promise<Place>
  /** Checks the files of the store, without opening it. */
  readonly checkFiles?: (data: string, options: FilesOptions) => Promise<FilesReport>
}

/** Makes places in the directory for temporary files. */
function inDirectory(open: (directory: string) => Store | Promise<Store>): () => Promise<Place> {
  return async () => {
    const directory = await mkdtemp(join(tmpdir(), 'folio-'))
    return {
      open: () => open(directory),
      // A store that keeps nothing on disk has no size there.
      size: async () => (await bytesIn(directory)) || undefined,
      remove: () => rm(directory, { recursive: true, force: true }),
    }
  }
}

export const stores = {
  level: {
    persistent: true,
    open: (data, { mustExist, damaged }) => level(data, { mustExist, ...(damaged && { checkFiles: false }) }),
    checkFiles,
    place: inDirectory((directory) => level(directory)),
  },
  memory: {
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

/** A store to compare with others: one of ours, or one provided by a module. */
export interface Contender {
  readonly name: string
  readonly place: () => Promise<() => Place | Promise<Place>>
}

const ours = (name: StoreName): Contender => ({ name, place: async () => stores[name].place })

/** All of ours. */
export const contenders: readonly Contender[] = storeNames.map(ours)

/** Names separated by commas, or `name=module`. @throws InvalidArgumentError if one is neither */
export const parseContenders = (text: string): Contender[] =>
  text.split(',').map((word) => {
    const [, own, path] = /^\s*([\w.-]+)=(.+)$/.exec(word) ?? []
    if (own !== undefined && path !== undefined) return { name: own, place: async () => inDirectory(await loaded(path)) }
    const name = storeNames.find((one) => one === word.trim())
    if (name === undefined) throw new InvalidArgumentError(`Allowed are ${storeNames.join(', ')} and name=module, comma-separated.`)
    return ours(name)
  })

/** The function that a module exports. @throws UsageError */
async function loaded(path: string): Promise<(directory: string) => Store | Promise<Store>> {
  const module = await import(pathToFileURL(resolve(path)).href).catch((error: Error) => {
    throw new UsageError(`${path} cannot be loaded: ${error.message}`)
  })
  if (typeof module.default !== 'function') throw new UsageError(`${path} has no function as its default export`)
  return async (directory) => {
    try {
      const store = await module.default(directory)
      const missing = needed.find((name) => store?.[name] === undefined)
      if (missing !== undefined) throw new Error(`what it returned has no ${missing}`)
      return store
    } catch (error) {
      throw error instanceof FolioError
        ? error
        : new UsageError(`${path} did not return a store: ${error instanceof Error ? error.message : error}`)
    }
  }
}

/** What every store has. */
const needed = ['capabilities', 'get', 'getMany', 'scan', 'write', 'close'] as const satisfies readonly (keyof Store)[]

async function bytesIn(directory: string): Promise<number> {
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
  const sizes = files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** Stores to compare, each in a place of its own. @throws UsageError if a module does not provide one, before any place is made */
export async function candidatesOf(contenders: readonly Contender[]): Promise<Candidate[]> {
  const places = await Promise.all(contenders.map(({ place }) => place()))
  return Promise.all(
    contenders.map(async ({ name }, at) => {
      const { open, size, remove } = await places[at]!()
      return { name, open: async () => open(), size: async () => size?.(), remove: async () => remove?.() }
    }),
  )
}

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
  if (kindOf(word) === undefined) return word
  throw new InvalidArgumentError(`It must be a directory alone: --store names the kind, and a directory of this name is ./${word}.`)
}

export const networkOption = (): Option =>
  new Option('--network <name>', 'the name of the network; a store keeps the first one it is given and refuses any other')

export interface StoreOptions {
  readonly store: StoreName
  readonly network?: string
  readonly data?: string
}

/**
 * Opens what `--store` and `--data` name. @throws what opening throws, and UsageError without a directory, or with one in which nothing would be kept
 */
export async function openStore({ store, data }: StoreOptions, options: OpenOptions): Promise<Store> {
  const { persistent, open }: StoreRow = stores[store]
  if (persistent && !data) throw new UsageError(`--data <dir> is needed with --store ${store}`)
  if (!persistent && data !== undefined) throw new UsageError(`--data <dir> cannot be used with --store ${store}, which keeps nothing`)
  return open(data ?? '', options)
}

/** Opens the ledger in that store. @throws as {@link openStore}, and what opening a ledger throws */
export const openNamed = async (where: StoreOptions, options: OpenOptions): Promise<Ledger> =>
  openLedger(await openStore(where, options), where.network === undefined ? {} : { network: where.network })

/**
 * Checks the files of what `--store` and `--data` name.
 * @throws UsageError if the store does not consist of files; as {@link openStore} if there is none, or it may not be read
 */
export async function checkStoreFiles({ store, data }: StoreOptions, options: FilesOptions): Promise<FilesReport> {
  const { checkFiles, open }: StoreRow = stores[store]
  if (!checkFiles || !data) throw new UsageError(`--files is for a store of files, not for ${store}`)
  const opened = async (): Promise<void> => (await open(data, { mustExist: true })).close()
  const report = await checkFiles(data, options).catch(async (error: NodeJS.ErrnoException) => {
    if (error.syscall !== undefined) await opened()
    throw error
  })
  // A directory without any file of a store has either lost them or never had any.
  if (!report.ok && report.files === 0)
    await opened().catch((error: FolioError) => {
      if (error.code !== 'CORRUPT') throw error
    })
  return report
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

/** Whether two names lead to the same directory, which may not exist yet. */
export async function isSamePlace(one: StoreOptions, other: StoreOptions): Promise<boolean> {
  const [place, second] = await Promise.all([one, other].map(async ({ data = '' }) => realpath(data).catch(() => resolve(data))))
  return place === second
}
