/**
 * A copy of a store, value by value: it holds whatever the store holds, also what only pruned ledgers said, and what is still to be filed or finished.
 * **Invariant:** from its first batch to its last, the target holds the intent of a copy and no head: it is not opened, and the next copy begins anew.
 * The last batch brings the head, once everything else was read back.
 */
import { equal, hex } from '../bytes.ts'
import { badRequest, OptionRules } from '../check.ts'
import { FolioError } from '../errors.ts'
import { isSameNote, readHighWater, sinceEra } from '../ingest/high-water.ts'
import { catalogueOf, checkEmpty, foreign, networkIn } from '../ingest/identity.ts'
import {
  type Cut,
  decodeEra,
  decodeHead,
  decodeIntent,
  emptyHead,
  encodeFormat,
  encodeHighWater,
  encodeIntent,
  type Head,
  type HighWater,
  kindOfCut,
} from '../layout/head.ts'
import { ALL_KEYS, ERA, FORMAT, HEAD, HIGH_WATER, INTENT } from '../layout/keys.ts'
import { checkSeal, corrupt, isDamage, sumOf } from '../layout/seal.ts'
import { checkStore, type Entry, located, ofStore, type Snapshot, type Store, type Write } from '../store.ts'
import { giveWay, Pace } from '../turn.ts'
import { Complete } from './complete.ts'
import { entriesOf } from './context.ts'

/** How far a copy has come. */
export interface CopyProgress {
  /** First what an unfinished copy left is removed; then values are copied; then those of the copy are read back. */
  readonly phase: 'clear' | 'copy' | 'check'
  /** Values so far in this phase, and the bytes of their keys and values. */
  readonly values: number
  readonly bytes: number
}

export interface CopyOptions {
  /**
   * Each batch, of about 1 MiB, is on stable storage before the next one is written. Default: true. Without it, if the power fails during the copy or
   * shortly after it, the copy may lack values and be opened all the same; {@link verifyStore} tells. The end of the process alone does no harm.
   */
  readonly durable?: boolean | undefined
  /** Called every so often with the progress. */
  readonly onProgress?: ((progress: CopyProgress) => void) | undefined
  /** Stops the copy, which then rejects with the signal's reason, and is unfinished. */
  readonly signal?: AbortSignal | undefined
}

export interface CopyReport {
  /** Values copied, and the bytes of both keys and values: as many as an audit of either store counts. */
  readonly values: number
  readonly bytes: number
  /** The oldest and the newest ledger held; neither if there is none. */
  readonly oldest?: number
  readonly last?: number
  /** A change that was unfinished in the source, and is so in the copy: the next open finishes it. */
  readonly unfinished?: 'rollback' | 'prune'
}

const copyOptions = new OptionRules<CopyOptions>('copyStore', { durable: 'flag', onProgress: 'callback', signal: 'signal' })

const MOVED = 'the store was written to while it was copied, and has no snapshots: copy it while nobody writes'

const SHARED = 'ledgers were appended to the store that was copied into: nobody else may have it open'

/** What says that there is a store, and is written last: the head, the format and the intent. */
const isOwn = (key: Uint8Array): boolean => [HEAD, FORMAT, INTENT].some((one) => equal(one, key))

/**
 * Whether {@link copyStore} copies into a store: it holds no ledgers, or only what an unfinished copy left there.
 * @throws STORE_MISUSE if `store` is not a store, CORRUPT, CLOSED, STORE_FAILED
 */
export async function isVacant(store: Store): Promise<boolean> {
  checkStore(store)
  if (await markOf(store)) return true
  const { entries } = await store.scan(ALL_KEYS, { limit: 4 })
  return entries.every(([key]) => [FORMAT, HIGH_WATER, ERA].some((one) => equal(one, key)))
}

/** The intent of a copy into a store that was not finished. */
async function markOf(store: Store): Promise<Uint8Array | undefined> {
  const intent = await store.get(INTENT)
  return intent && 'copy' in decodeIntent(intent) ? intent : undefined
}

/**
 * Copies every value of a store into an empty one, of whatever kind: nothing is lost on the way, as it is of a pruned store whose ledgers are appended
 * to another one. Each value is checked against its key, none of the records may be missing, and what was copied is read back. The target becomes a
 * store when this resolves; if the copy is cut short before, opening the target fails with STORE_INCOMPLETE, and the next copy into it begins anew.
 *
 * If the source has snapshots, as the stores of this package have, it may be in use meanwhile, by a ledger and by other processes; what is copied is
 * its state at one write. Otherwise nobody may write to it. The target must not be open elsewhere.
 * @param to a store that {@link isVacant}; its format keeps the name of its network, if it has one and the source has none
 * @throws BAD_REQUEST if an option is unknown or wrong, or the target is not vacant, or does not take keys or values as large; STORE_MISUSE if
 * either is not a store; STORE_FORMAT, STORE_CATALOGUE, STORE_NETWORK, STORE_UNREPAIRED, STORE_INCOMPLETE, STORE_WENT_BACK, CORRUPT, CLOSED,
 * STORE_FAILED, POISONED; CONFLICT if somebody writes to the target, or to a source without snapshots; and the reason of the signal
 */
export async function copyStore(from: Store, to: Store, options: CopyOptions = {}): Promise<CopyReport> {
  const checked = copyOptions.check(options)
  checkStore(from, 'from')
  checkStore(to, 'to')
  if (from === to) throw badRequest('to', 'a store other than the one to copy')
  if (!(await isVacant(to).catch(ofStore(to)))) throw badRequest('to', 'an empty store, or one that holds an unfinished copy')
  const noted = await readHighWater(from.note)
  const snapshot = await from.snapshot?.()
  try {
    const view = snapshot ?? from
    const source = await sourceOf(from, view).catch(ofStore(from))
    if (!source) return { values: 0, bytes: 0 }
    await checkNote(from, source, noted).catch(ofStore(from))
    const copy = await Copy.begin(to, source, checked).catch(ofStore(to))
    const complete = new Complete(source.head)
    const copied = await copy.values(view, complete, new Passed(from))
    if (!snapshot && !isSame(source, await sourceOf(from, view))) throw located(new FolioError('CONFLICT', { reason: MOVED }), from)
    const missing = complete.missing()
    if (missing) throw located(missing, from)
    await copy.check(copied)
    await copy.end()
    for (const entry of source.own) copied.take(entry)
    const { values, bytes } = copied
    const { oldest, last } = source.head
    return { values, bytes, ...(last > 0 && { oldest, last }), ...(source.cut && { unfinished: kindOfCut(source.cut) }) }
  } finally {
    await snapshot?.close()
  }
}

type View = Pick<Snapshot, 'scan'>

/** What a store says of itself. */
interface Source {
  /** The head, the format and the intent, as far as they are there. */
  readonly own: readonly Entry[]
  readonly head: Head
  readonly network: string | undefined
  readonly cut: Cut | undefined
  readonly eras: Uint8Array | undefined
}

/** Undefined for a store that holds nothing at all. */
async function sourceOf(from: Store, view: View): Promise<Source | undefined> {
  const own: Entry[] = []
  const heldAt = async (key: Uint8Array): Promise<Uint8Array | undefined> => {
    const { entries } = await view.scan({ gte: key, lt: Uint8Array.of(...key, 0) }, { limit: 1 })
    return entries[0]?.[1]
  }
  for (const key of [HEAD, FORMAT, INTENT]) {
    const value = await heldAt(key)
    if (value) own.push([key, value])
  }
  const [head, format, begun] = [HEAD, FORMAT, INTENT].map((key) => own.find(([one]) => one === key)?.[1])
  if (!format && head) throw corrupt(FORMAT, 'the format of the store is missing')
  if (!format && (await view.scan(ALL_KEYS, { limit: 1 })).entries.length > 0) throw foreign()
  if (!format) return undefined
  const network = await networkIn(from, format)
  const intent = begun && decodeIntent(begun)
  if (intent && 'copy' in intent) throw new FolioError('STORE_INCOMPLETE')
  if (intent && 'repair' in intent) throw new FolioError('STORE_UNREPAIRED')
  if (!head) await checkEmpty(view)
  return { own, head: head ? decodeHead(head) : emptyHead, network, cut: intent, eras: await heldAt(ERA) }
}

/** True if nothing was written in between: each write changes the head or the intent. */
const isSame = (one: Source, other: Source | undefined): boolean =>
  other !== undefined &&
  one.own.length === other.own.length &&
  one.own.every(([key, value], nth) => equal(key, other.own[nth]![0]) && equal(value, other.own[nth]![1]))

/**
 * A copy of outdated files has no note that would tell. What was noted before the snapshot is held in it, unless that was rolled back, and then the note
 * was lowered first; and nobody notes anything beside outdated files, which are not opened.
 * @throws STORE_WENT_BACK
 */
async function checkNote({ note }: Store, { head: { last }, eras }: Source, before: HighWater | undefined): Promise<void> {
  const noted = sinceEra(before, decodeEra(eras))?.last ?? 0
  if (noted > last && isSameNote(before, await readHighWater(note))) throw new FolioError('STORE_WENT_BACK', { noted, held: last })
}

/** What has passed by of a store: how much, and a sum over the checksums of all values in their order. */
class Passed {
  values = 0
  bytes = 0
  sum = 0
  private readonly store: Store

  constructor(store: Store) {
    this.store = store
  }

  /** @throws CORRUPT if the value is not that of its key */
  take([key, value]: Entry): void {
    try {
      checkSeal(key, value)
    } catch (error) {
      throw located(error, this.store)
    }
    this.values++
    this.bytes += key.length + value.length
    this.sum = (Math.imul(this.sum, 31) + sumOf(value)) | 0
  }
}

/** A copy into a target. */
class Copy {
  private readonly to: Store
  private readonly source: Source
  private readonly options: CopyOptions
  private readonly format: Uint8Array
  /** The intent. It is another one for each copy: of two copies into one store, the later one ends the earlier one. */
  private readonly mark = encodeIntent({ copy: hex(crypto.getRandomValues(new Uint8Array(8))) })
  private readonly pace = new Pace()

  private constructor(to: Store, source: Source, options: CopyOptions, network: string | undefined) {
    this.to = to
    this.source = source
    this.options = options
    this.format = encodeFormat(catalogueOf(), network)
  }

  /** Begins a copy, and removes what an unfinished one left. @throws STORE_NETWORK if the target belongs to another network */
  static async begin(to: Store, source: Source, options: CopyOptions): Promise<Copy> {
    const [format, left] = [await to.get(FORMAT), await markOf(to)]
    const named = format && (await networkIn(to, format))
    const { network = named } = source
    // What an unfinished copy was of is no matter.
    if (!left && named !== undefined && named !== network) throw new FolioError('STORE_NETWORK', { found: named, expected: network })
    const copy = new Copy(to, source, options, left ? source.network : network)
    // An unsettled note of what was there before would say of the copy that it went back.
    if (await to.note?.read()) await to.note!.write(encodeHighWater({ last: 0 }), { durable: true })
    const writes: Write[] = [HEAD, HIGH_WATER, ERA].map((key) => [key, undefined])
    writes.push([FORMAT, copy.format], [INTENT, copy.mark])
    await to.write(writes, { durable: true, expect: { key: INTENT, value: left } })
    if (left) await copy.clear()
    return copy
  }

  private async clear(): Promise<void> {
    const passed = { values: 0, bytes: 0 }
    for await (const entries of entriesOf(this.to, ALL_KEYS)) {
      const left = entries.filter(([key]) => !isOwn(key))
      await this.write(left.map(([key]): Write => [key, undefined]))
      for (const [key, value] of left) passed.bytes += key.length + value.length
      passed.values += left.length
      await this.progress('clear', passed)
    }
  }

  /** Copies all values but the own ones. The next are read while some are written. */
  async values(view: View, complete: Complete, passed: Passed): Promise<Passed> {
    const { maxKeyBytes = Number.POSITIVE_INFINITY, maxValueBytes = Number.POSITIVE_INFINITY } = this.to.capabilities
    let writing: Promise<void> = Promise.resolve()
    try {
      for await (const entries of entriesOf(view, ALL_KEYS)) {
        const copied = entries.filter(([key]) => !isOwn(key))
        for (const entry of copied) {
          passed.take(entry)
          const [key, value] = entry
          complete.pass(key, value)
          if (key.length > maxKeyBytes) throw tooLarge('keys', key.length, maxKeyBytes)
          if (value.length > maxValueBytes) throw tooLarge('values', value.length, maxValueBytes)
        }
        await writing
        writing = this.write(copied)
        writing.catch(() => {})
        await this.progress('copy', passed)
      }
    } finally {
      await writing
    }
    return passed
  }

  /** Reads back what was copied. @throws CORRUPT, CONFLICT */
  async check(copied: Passed): Promise<void> {
    const passed = new Passed(this.to)
    try {
      for await (const entries of entriesOf(this.to, ALL_KEYS)) {
        for (const entry of entries) if (!isOwn(entry[0])) passed.take(entry)
        await this.progress('check', passed)
      }
    } catch (error) {
      if (!isDamage(error)) throw error
      throw new FolioError('CORRUPT', { ...error.fields, reason: `${error.fields['reason']}, in the copy` }, error)
    }
    if (passed.sum === copied.sum && passed.values === copied.values && passed.bytes === copied.bytes) return
    await this.checkAlone()
    const { name, location = name } = this.to.capabilities
    throw new FolioError('CORRUPT', { location, reason: 'what was read back of the copy is not what was written' })
  }

  /** Makes a store of it. */
  async end(): Promise<void> {
    const { to, source, format } = this
    const { last, hash, era } = source.head
    await this.checkAlone()
    const writes: Write[] = [[INTENT, undefined], ...source.own, [FORMAT, format]]
    await to.write(writes, { durable: true, expect: { key: INTENT, value: this.mark } })
    // As everywhere, a note that cannot be written only fails to warn.
    await Promise.resolve(to.note?.write(encodeHighWater(last === 0 ? { last } : { last, hash, era }), { durable: true })).catch(() => {})
  }

  /** A ledger that had the store open when it was empty knows nothing of a copy. @throws CONFLICT */
  private async checkAlone(): Promise<void> {
    if (await this.to.get(HEAD)) throw located(new FolioError('CONFLICT', { reason: SHARED }), this.to)
  }

  private async write(batch: readonly Write[]): Promise<void> {
    const { durable = true } = this.options
    if (batch.length > 0) await this.to.write(batch, { durable, expect: { key: INTENT, value: this.mark } })
  }

  /** A point at which the copy gives way, may be stopped, and every so often reports its progress. */
  private async progress(phase: CopyProgress['phase'], { values, bytes }: Pick<Passed, 'values' | 'bytes'>): Promise<void> {
    await giveWay()
    this.options.signal?.throwIfAborted()
    if (this.pace.isDue()) this.options.onProgress?.({ phase, values, bytes })
  }
}

const tooLarge = (what: string, found: number, most: number) =>
  badRequest('to', `a store that takes ${what} of ${found} bytes; this one takes at most ${most}`)
