/** What `folio bench --store` names: stores of ours, and those that a module of the user provides. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InvalidArgumentError } from 'commander'
import { FolioError, missingIn, type Store } from '../../src/index.ts'
import { type Candidate, Incomparable } from '../compare/index.ts'
import { UsageError } from './errors.ts'
import { inDirectory } from './places.ts'
import { type StoreName, storeNames, stores } from './stores.ts'

/** A word of `--store`. */
export interface NamedStore {
  readonly name: string
  /** @throws UsageError if a module does not provide a store */
  readonly load: () => Promise<Candidate>
}

const ours = (name: StoreName): NamedStore => ({ name, load: async () => ({ name, place: stores[name].place }) })

const fromModule = (name: string, path: string): NamedStore => ({
  name,
  load: async () => ({ name, place: inDirectory(await loaded(name, path)) }),
})

/** All of ours that need no other package. */
export const ourStores: readonly NamedStore[] = storeNames.filter((name) => !stores[name].optional).map(ours)

/** Names separated by commas, or `name=module`. @throws InvalidArgumentError if one is neither */
export const parseStores = (text: string): NamedStore[] =>
  text.split(',').map((word) => {
    const [, own, path] = /^\s*([\w.-]+)=(.+)$/.exec(word) ?? []
    if (own !== undefined && path !== undefined) return fromModule(own, path)
    const name = storeNames.find((one) => one === word.trim())
    if (name === undefined) throw new InvalidArgumentError(`Allowed are ${storeNames.join(', ')} and name=module, comma-separated.`)
    return ours(name)
  })

/** The function that a module exports. @throws UsageError */
async function loaded(name: string, path: string): Promise<(directory: string) => Promise<Store>> {
  const module = await import(pathToFileURL(resolve(path)).href).catch((error: Error) => {
    throw new UsageError(`${path} cannot be loaded: ${error.message}`)
  })
  // What is compiled to CommonJS has its default export as a member of what it exports.
  const make = [module.default, module.default?.default].find((one) => typeof one === 'function')
  if (!make) throw new UsageError(`${path} has no function as its default export`)
  return async (directory) => {
    const store = await opened(name, () => make(directory))
    const missing = missingIn(store)
    if (missing.length > 0) throw new UsageError(`${path} did not return a store: what it returned has no ${missing.join(', ')}`)
    return store
  }
}

/** @throws Incomparable, and FolioError as it is */
async function opened(name: string, open: () => Promise<Store>): Promise<Store> {
  try {
    return await open()
  } catch (error) {
    if (error instanceof FolioError) throw error
    throw new Incomparable(`${name} fails to open: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}
