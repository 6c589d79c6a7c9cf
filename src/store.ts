/** The sorted key-value contract: everything that the engine asks of storage. Its laws are on {@link Store}, so that they ship with its type. */
import { compare } from './bytes.ts'
import { errorTable, FolioError } from './errors.ts'

export type MaybePromise<T> = T | Promise<T>

/** All keys from `gte` up to but excluding `lt`. Both bounds are always given. */
export interface KeyRange {
  readonly gte: Uint8Array
  readonly lt: Uint8Array
}

export interface ScanOptions {
  /** At most this many entries, one or more. */
  readonly limit: number
  /** Stop before the bytes of keys and values exceed this; the first entry is returned in any case. Default: no bound. */
  readonly maxBytes?: number
  /** From the high end of the range downwards. */
  readonly reverse?: boolean
}

export type Entry = readonly [key: Uint8Array, value: Uint8Array]

export interface Chunk {
  readonly entries: Entry[]
  /** True if the range holds entries beyond the last one returned. */
  readonly more: boolean
}

/** `value: undefined` deletes the key. */
export type Write = readonly [key: Uint8Array, value: Uint8Array | undefined]

export interface WriteOptions {
  /** Resolve only when the batch is on stable storage. */
  readonly durable: boolean
  /** Apply only if `key` holds exactly `value`. */
  readonly expect?: { readonly key: Uint8Array; readonly value: Uint8Array | undefined }
}

/** What a store can do, as data. */
export interface Capabilities {
  /** For messages and tables: `level`, `memory`, … */
  readonly name: string
  /** Which of several it is, for errors: its path or name. */
  readonly location?: string
  /** `get` and `getMany` answer without a promise. */
  readonly sync: boolean
  /** What was written is there after a reopen. */
  readonly persistent: boolean
  /** Other processes may have the same store open, so the head can move without this process writing. */
  readonly shared: boolean
  /**
   * The longest key and value, in bytes, that a write takes, if the store has a limit: a longer one is refused with `STORE_MISUSE`, and nothing of
   * its batch is applied. Keys that are looked up, and the bounds of scans, may be longer. For those who choose a store, and for the laws in
   * `ledger-folio/testing`, which keep within the limits. The engine refuses a ledger whose keys would be longer; if one has a value that does
   * not fit, a write fails, and later ones are `POISONED`.
   *
   * Keys: 33 bytes for a transaction hash, and as long as the names for accounts and assets: with account ids of 56 letters, up to 67 for an account,
   * 68 for an offer, 187 for a pair of assets with codes of 12 letters.
   */
  readonly maxKeyBytes?: number
  /**
   * Values: the largest are blocks, which hold the texts of up to 4 transactions, 8 ledgers or trades, 16 operations or offers, or 32 effects, so
   * their size depends on the input: usually some KB, and above 1 MiB if transactions have 256 KiB each. All others are the text of an offer, or
   * below 16 KiB.
   */
  readonly maxValueBytes?: number
}

/** What a store held when the snapshot was taken. */
export interface Snapshot {
  /** As of the store, with the same laws. */
  scan(range: KeyRange, options: ScanOptions): MaybePromise<Chunk>
  /** Gives back what it holds on to. Scans in progress are waited for; another close changes nothing. */
  close(): MaybePromise<void>
}

/**
 * The sorted key-value contract: a store is five methods that keep these laws, and up to four optional members.
 *
 * **Order.** Keys compare as unsigned bytes over their whole length; a key that is a prefix of another comes first. 00 and FF are ordinary.
 * **Scan.** One atomic view: a scan sees all of a batch or none of it. Keys rise strictly (fall, with `reverse`). A scan may return fewer
 *   entries than `limit` only at the end of the range or when `maxBytes` is reached (it returns at least one entry if there is one);
 *   `more` says whether entries of the range are left. To continue, use the last key as the new bound, excluded.
 * **Write.** A batch applies whole or not at all, even across a crash; the last write of a key in a batch wins; batches apply in call order.
 *   A write that has resolved is visible to every read that starts after it, and with `durable` it survives loss of power as far as the store
 *   promises. With `expect`, the batch applies only if the key holds those bytes (`undefined`: holds nothing); else `CONFLICT`, nothing applied.
 * **Buffers.** The caller may reuse keys and values passed in once the call has resolved; those handed out belong to the receiver: they stay as they
 *   are, whatever is called later, and the receiver may overwrite one without changing another, even if both answer the same key. Bytes passed in,
 *   of keys, values, bounds, expectations and notes, may be views into larger memory, and `Buffer`s: `bytes.buffer` holds more than them. To copy,
 *   use `new Uint8Array(bytes)`, since the `slice` of a `Buffer` shares its memory. A store leaves what it is given as it is.
 * **Amounts.** There is no bound on the writes of a batch, the keys of a `getMany`, or the bytes of these and of a scan: they grow with the ledgers
 *   that are written at once, to tens of thousands.
 * **Errors** are `FolioError`s: `STORE_MISUSE`, `CONFLICT` and `CLOSED` where they are named here; any failure below the store is `STORE_FAILED`
 *   with its cause, or a code that says more (`STORE_DENIED`, `CORRUPT`, `POISONED`). Nothing wraps what a store throws: an error of another class
 *   comes out of a page or an append as it is, and is a 500 over HTTP. **Close** waits for calls in progress, those of the note and of `compact`
 *   too; another close waits as well, and other calls that come meanwhile are answered or give `CLOSED`. After it every call gives `CLOSED`, even a
 *   `getMany` of no keys, a write of nothing, or a scan of an empty range: who asks for nothing learns that the store is closed, too.
 *
 * A store that can answer at once returns the value itself instead of a promise, so that such a read costs no thread hop.
 */
export interface Store {
  readonly capabilities: Capabilities
  get(key: Uint8Array): MaybePromise<Uint8Array | undefined>
  /** One answer per key, in order. */
  getMany(keys: readonly Uint8Array[]): MaybePromise<(Uint8Array | undefined)[]>
  scan(range: KeyRange, options: ScanOptions): MaybePromise<Chunk>
  write(batch: readonly Write[], options: WriteOptions): MaybePromise<void>
  /**
   * Calls `ring` after another process may have written, once that can be read; returns the function that stops it. Only used on stores that are
   * `shared`, which are polled as well.
   */
  watch?(ring: () => void): () => void
  /** A few bytes beside the data that do not go back when the data does: how far history reached is noted there. */
  readonly note?: {
    read(): MaybePromise<Uint8Array | undefined>
    /**
     * Of several that do not wait for each other, the last is what stays.
     * @param options if `durable`, the note survives a loss of power once this resolves
     */
    write(bytes: Uint8Array, options?: { readonly durable?: boolean }): MaybePromise<void>
  }
  /**
   * Reclaims the space of what was deleted in a range; resolves when that is done. Reads and writes go on meanwhile. Stores without it do so by
   * themselves.
   */
  compact?(range: KeyRange): MaybePromise<void>
  /**
   * One view of all keys for as long as it is open: of every write that had resolved when this was called, and of no part of one that is called after
   * this has resolved, here or in another process. Any number may be open. Closing the store closes them; once either is closed, its scans give
   * `CLOSED`. Without it, what is read in several calls may come from several states, so `copyStore` needs a store that nobody writes to.
   */
  snapshot?(): MaybePromise<Snapshot>
  close(): MaybePromise<void>
}

const METHODS = ['get', 'getMany', 'scan', 'write', 'close'] as const satisfies readonly (keyof Store)[]

const SAYS = { name: 'string', sync: 'boolean', persistent: 'boolean', shared: 'boolean' } as const satisfies Partial<
  Record<keyof Capabilities, string>
>

/** What a value lacks to be a store, by name, such as `scan` or `capabilities.shared`; what is there with another type is lacking too. */
export function missingIn(store: unknown): string[] {
  const given = store as Partial<Store> | null | undefined
  const told = given?.capabilities
  const unsaid = Object.entries(SAYS).filter(([name, type]) => typeof told?.[name as keyof typeof SAYS] !== type)
  return [
    ...(typeof told === 'object' && told !== null ? unsaid.map(([name]) => `capabilities.${name}`) : ['capabilities']),
    ...METHODS.filter((name) => typeof given?.[name] !== 'function'),
  ]
}

/**
 * Refuses what is no store, before anything is done with it.
 * @param argument what it was given as, where there are several
 * @throws STORE_MISUSE
 */
export function checkStore(store: unknown, argument?: string): asserts store is Store {
  if (isPromise(store)) throw new FolioError('STORE_MISUSE', { argument, found: 'a promise', expected: 'a store: await it' })
  const missing = missingIn(store)
  if (missing.length > 0)
    throw new FolioError('STORE_MISUSE', {
      argument,
      found: typeof store,
      missing: missing.join(', '),
      expected: 'a store, such as level(directory) or memory() gives',
    })
}

/** The same error, but for the location of the store, if it lacks that, its code may have it, and the store has one. */
export function located(error: unknown, { capabilities: { location } }: Store): unknown {
  if (location === undefined || !(error instanceof FolioError)) return error
  const { code, fields, cause, message, stack } = error
  if (fields['location'] !== undefined || !('location' in errorTable[code].fields)) return error
  const named = new FolioError(code, { ...fields, location }, cause)
  // Where it came from, not where it was told.
  if (stack !== undefined) named.stack = stack.replace(message, () => named.message)
  return named
}

/** For what is read from a store, or written to it. @throws what it is given, {@link located} */
export const ofStore =
  (store: Store) =>
  (error: unknown): never => {
    throw located(error, store)
  }

/** Refuses a scan that breaks the contract; every store calls it first. */
export function checkScan(range: KeyRange, options: ScanOptions): void {
  if (!(range.gte instanceof Uint8Array) || !(range.lt instanceof Uint8Array))
    throw new FolioError('STORE_MISUSE', { reason: 'a scan needs both bounds, as bytes' })
  if (!Number.isSafeInteger(options.limit) || options.limit < 1)
    throw new FolioError('STORE_MISUSE', { reason: 'a scan needs a whole limit of 1 or more' })
}

/** True if a range can hold no key. */
export const isEmptyRange = (range: KeyRange): boolean => compare(range.gte, range.lt) >= 0

export const isPromise = <T>(value: MaybePromise<T>): value is Promise<T> => typeof (value as Promise<T> | undefined)?.then === 'function'

/** Calls `next(value)` at once if the value is there, else when it comes. */
export const after = <T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> =>
  isPromise(value) ? value.then(next) : next(value)
