/** The stores that the command line knows: a new one is one row. */
import { Option } from 'commander'
import { type Ledger, openLedger, type Store } from '../../src/index.ts'
import { checkFiles, type FilesOptions, type FilesReport, level } from '../level/index.ts'
import { memory } from '../memory/index.ts'
import { UsageError } from './exit.ts'

interface OpenOptions {
  readonly mustExist: boolean
  /** Open it though its files are damaged, so that what is left can be repaired. */
  readonly damaged?: boolean
}

interface StoreRow {
  /** False where nothing is left when the process ends, and no `--data` is needed. */
  readonly persistent: boolean
  readonly open: (data: string, options: OpenOptions) => Store | Promise<Store>
  /** Checks the files of the store, without opening it. */
  readonly checkFiles?: (data: string, options: FilesOptions) => Promise<FilesReport>
}

export const stores = {
  level: {
    persistent: true,
    open: (data, { mustExist, damaged }) => level(data, { mustExist, ...(damaged && { checkFiles: false }) }),
    checkFiles,
  },
  memory: { persistent: false, open: () => memory() },
} satisfies Record<string, StoreRow>

export type StoreName = keyof typeof stores

const names = Object.keys(stores) as StoreName[]

/** `--store`; `lasting` leaves out the stores that would forget at once. */
export const storeOption = (lasting = true): Option =>
  new Option('--store <name>', 'what the data is kept in')
    .choices(names.filter((name) => !lasting || stores[name].persistent))
    .default('level')

export const dataOption = (): Option => new Option('--data <dir>', 'the directory of the data')

export interface StoreOptions {
  readonly store: StoreName
  readonly data?: string
}

/** Opens what `--store` and `--data` name. @throws what opening throws, and UsageError without a directory */
export async function openStore({ store, data }: StoreOptions, mustExist: boolean, damaged = false): Promise<Store> {
  const { persistent, open }: StoreRow = stores[store]
  if (persistent && !data) throw new UsageError(`--data <dir> is needed with --store ${store}`)
  return open(data ?? '', { mustExist, damaged })
}

/** Opens the ledger in that store. @throws as {@link openStore}, and what opening a ledger throws */
export const openNamed = async (where: StoreOptions, mustExist: boolean): Promise<Ledger> => openLedger(await openStore(where, mustExist))

/** Checks the files of what `--store` and `--data` name. @throws UsageError for a store that is not files */
export async function checkStoreFiles({ store, data }: StoreOptions, options: FilesOptions): Promise<FilesReport> {
  const { checkFiles }: StoreRow = stores[store]
  if (!checkFiles || !data) throw new UsageError(`--files is for a store of files, not for ${store}`)
  return checkFiles(data, options)
}

/** A store as one word: `level:./ledgers`, or just the directory. */
export function storeOf(word: string): StoreOptions {
  const name = names.find((one) => word.startsWith(`${one}:`))
  return name === undefined ? { store: 'level', data: word } : { store: name, data: word.slice(name.length + 1) }
}
