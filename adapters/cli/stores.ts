/** The stores that the command line knows: a new one is one row. */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import { type Ledger, openLedger, type Store } from '../../src/index.ts'
import type { Candidate } from '../compare/index.ts'
import { checkFiles, type FilesOptions, type FilesReport, level } from '../level/index.ts'
import { memory, memoryDisk } from '../memory/index.ts'
import { UsageError } from './exit.ts'

interface OpenOptions {
  readonly mustExist: boolean
  /** Open it though its files are damaged, so that what is left can be repaired. */
  readonly damaged?: boolean
}

/** A place of its own for a trial. */
interface Place {
  readonly open: () => Store | Promise<Store>
  /** Bytes on disk, while it is closed. */
  readonly size?: () => Promise<number>
  readonly remove?: () => Promise<void>
}

interface StoreRow {
  /** False where nothing is left when the process ends, and no `--data` is needed. */
  readonly persistent: boolean
  readonly open: (data: string, options: OpenOptions) => Store | Promise<Store>
  /** Makes an empty place that no other has. */
  readonly place: () => Place | Promise<Place>
  /** Checks the files of the store, without opening it. */
  readonly checkFiles?: (data: string, options: FilesOptions) => Promise<FilesReport>
}

export const stores = {
  level: {
    persistent: true,
    open: (data, { mustExist, damaged }) => level(data, { mustExist, ...(damaged && { checkFiles: false }) }),
    checkFiles,
    place: async () => {
      const directory = await mkdtemp(join(tmpdir(), 'folio-'))
      return {
        open: () => level(directory),
        size: () => bytesIn(directory),
        remove: () => rm(directory, { recursive: true, force: true }),
      }
    },
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

/** Names with commas between. @throws InvalidArgumentError for one that is none */
export const parseStoreNames = (text: string): StoreName[] =>
  text.split(',').map((word) => {
    const name = storeNames.find((one) => one === word.trim())
    if (name === undefined) throw new InvalidArgumentError(`Allowed are ${storeNames.join(', ')}, with commas between.`)
    return name
  })

async function bytesIn(directory: string): Promise<number> {
  const sizes = (await readdir(directory)).map(async (name) => (await stat(join(directory, name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** A store to compare with others, in a place of its own. */
export async function candidateOf(name: StoreName): Promise<Candidate> {
  const { open, size, remove }: Place = await stores[name].place()
  return { name, open: async () => open(), size: async () => size?.(), remove: async () => remove?.() }
}

/** `--store`; `lasting` leaves out the stores that would forget at once. */
export const storeOption = (lasting = true): Option =>
  new Option('--store <name>', 'what the data is kept in')
    .choices(storeNames.filter((name) => !lasting || stores[name].persistent))
    .default('level')

export const dataOption = (): Option => new Option('--data <dir>', 'the directory of the data')

export const networkOption = (): Option =>
  new Option('--network <name>', 'the network; a store keeps the first name it is given, and is refused with another')

export interface StoreOptions {
  readonly store: StoreName
  readonly network?: string
  readonly data?: string
}

/** Opens what `--store` and `--data` name. @throws what opening throws, and UsageError without a directory, or with one that nothing would be kept in */
export async function openStore({ store, data }: StoreOptions, mustExist: boolean, damaged = false): Promise<Store> {
  const { persistent, open }: StoreRow = stores[store]
  if (persistent && !data) throw new UsageError(`--data <dir> is needed with --store ${store}`)
  if (!persistent && data !== undefined) throw new UsageError(`--data <dir> is of no use with --store ${store}, which keeps nothing`)
  return open(data ?? '', { mustExist, damaged })
}

/** Opens the ledger in that store. @throws as {@link openStore}, and what opening a ledger throws */
export const openNamed = async (where: StoreOptions, mustExist: boolean): Promise<Ledger> =>
  openLedger(await openStore(where, mustExist), where.network === undefined ? {} : { network: where.network })

/** Checks the files of what `--store` and `--data` name. @throws UsageError for a store that is not files */
export async function checkStoreFiles({ store, data }: StoreOptions, options: FilesOptions): Promise<FilesReport> {
  const { checkFiles }: StoreRow = stores[store]
  if (!checkFiles || !data) throw new UsageError(`--files is for a store of files, not for ${store}`)
  return checkFiles(data, options)
}

/** A store as one word: `level:./ledgers`, or just the directory. @throws InvalidArgumentError for one that keeps nothing */
export function storeOf(word: string): StoreOptions {
  const store = storeNames.find((one) => word.startsWith(`${one}:`))
  if (store === undefined) return { store: 'level', data: word }
  if (!stores[store].persistent) throw new InvalidArgumentError(`${store} keeps nothing when the command ends.`)
  return { store, data: word.slice(store.length + 1) }
}
