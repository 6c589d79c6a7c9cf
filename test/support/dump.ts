/** Stores as text, for tests that compare them whole; and a store as one that processes share. */
import type { MaybePromise, Store } from '../../src/index.ts'

/** Every key of a store. */
export const everything = { gte: new Uint8Array(0), lt: Uint8Array.of(0xff, 0xff) }

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** A store as text, one entry per line: two that are equal hold the same bytes. */
export async function dump(store: Store): Promise<string[]> {
  const { entries } = await store.scan(everything, { limit: 1e6 })
  return entries.map(([key, value]) => `${hex(key)}=${hex(value)}`)
}

/** The same of a store that is opened for this alone. */
export async function dumpAndClose(opening: MaybePromise<Store>): Promise<string[]> {
  const store = await opening
  try {
    return await dump(store)
  } finally {
    await store.close()
  }
}

/** The key of the first entry in which two dumps differ, if they do: whole dumps are too long to be shown. */
export function difference(left: readonly string[], right: readonly string[]): string | undefined {
  const at = left.findIndex((entry, i) => entry !== right[i])
  const entry = at < 0 ? right[left.length] : left[at]
  return entry?.slice(0, entry.indexOf('='))
}

/** The same but for posting lists, of which those that a prune forgot have begun anew, and their number. */
export const dumpBesideLists = async (store: Store): Promise<string[]> =>
  (await dump(store)).filter((entry) => !/^(?:03|20|21)/.test(entry))

/** The same store, declared to be written to by other processes too. */
export const shared = (store: Store): Store =>
  Object.assign(Object.create(store) as Store, { capabilities: { ...store.capabilities, shared: true } })
