/** Opening: what the store holds is checked before anything is read from it. */
import { same } from './bytes.ts'
import { atOnce, OptionRules } from './check.ts'
import { FolioError, hasCode } from './errors.ts'
import { catalogueOf, foreign, networkIn } from './ingest/identity.ts'
import { encodeFormat } from './layout/head.ts'
import { ALL_KEYS, FORMAT, HEAD } from './layout/keys.ts'
import { corrupt } from './layout/seal.ts'
import { Ledger } from './ledger.ts'
import type { LedgerOptions } from './options.ts'
import { checkStore, located, type MaybePromise, type Store } from './store.ts'

const ledgerOptions = new OptionRules<LedgerOptions>('openLedger', {
  network: { text: 'the name of the network, or nothing', least: 1 },
  cacheBytes: { least: 0, most: Number.MAX_SAFE_INTEGER, of: 'bytes' },
  fileEvery: { least: 1, of: 'records' },
  // With more, a timer would fire at once.
  pollMs: { least: 1, most: 2 ** 31 - 1, of: 'milliseconds' },
})

/** Stores with a ledger over them, from the beginning of its opening to the end of its closing: work in progress goes on after `close()` was called. */
const held = new WeakSet<Store>()

/**
 * Opens a ledger over a store, creating it if the store is empty. The store is the ledger's own until that has closed it: a second ledger would not
 * notice what the first one rolls back or prunes.
 * @throws BAD_REQUEST if an option is unknown or wrong, STORE_MISUSE if `store` is not a store or has a ledger over it, STORE_FORMAT, STORE_CATALOGUE,
 * STORE_NETWORK, STORE_WENT_BACK, STORE_UNREPAIRED, STORE_INCOMPLETE, CORRUPT, and whatever opening the store throws. A store that fails to open is
 * closed, unless another ledger has it.
 */
export async function openLedger(store: MaybePromise<Store>, options: LedgerOptions = {}): Promise<Ledger> {
  const checked = atOnce(() => ledgerOptions.check(options))
  const opened = await store
  checkStore(opened)
  if (held.has(opened))
    throw new FolioError('STORE_MISUSE', { reason: 'a ledger is open over this store: use that one, or open another store' })
  held.add(opened)
  const gone = (): void => void held.delete(opened)
  try {
    const taken = checked()
    const head = await opened.get(HEAD)
    const isEmpty = !head && (await opened.scan(ALL_KEYS, { limit: 1 })).entries.length === 0
    await settleFormat(opened, head !== undefined, isEmpty, taken.network)
    const ledger = new Ledger(opened, head, taken, gone)
    await ledger.load()
    return ledger
  } catch (error) {
    try {
      await opened.close()
    } catch {
      // Whatever closing adds, what came before is why it failed.
    } finally {
      gone()
    }
    throw located(error, opened)
  }
}

/**
 * Checks the format of the store, and writes it if the store has none, or names no network yet. Read after everything else, since another process that
 * opens the same store writes it first.
 */
async function settleFormat(store: Store, hasHead: boolean, isEmpty: boolean, network: string | undefined): Promise<void> {
  const format = await store.get(FORMAT)
  if (!format && hasHead) throw corrupt(FORMAT, 'the format of the store is missing')
  if (!format && !isEmpty) throw foreign()
  const found = format && (await networkIn(store, format))
  if (network !== undefined && found !== undefined && found !== network) throw new FolioError('STORE_NETWORK', { found, expected: network })
  if (format && (network === undefined || found !== undefined)) return
  const settled = encodeFormat(catalogueOf(), network)
  // A name twice: a store that finds what it wrote last damaged may take it for a write that never ended, and would then accept any other name.
  const before = network === undefined ? [format] : [format, settled]
  try {
    for (const value of before) await store.write([[FORMAT, settled]], { durable: true, expect: { key: FORMAT, value } })
  } catch (error) {
    // Another process has written it meanwhile: of two that open a new store, only one names its network.
    if (!hasCode(error, 'CONFLICT') || same(await store.get(FORMAT), format)) throw error
    await settleFormat(store, hasHead, isEmpty, network)
  }
}
