/**
 * How far history reached: noted beside the data by a store that has a place for it, so that data that went back in time is noticed.
 * **Invariant:** what is noted was durable before: the note may lag behind the data, by at most a second while ledgers come in and not at all after a
 * close, and is never ahead of them, unless it belongs to an earlier era, when it does not count. If it cannot be written, that is ignored, since it
 * only ever adds a warning.
 */
import { FolioError } from '../errors.ts'
import { decodeHighWater, type Era, encodeHighWater, type Head, type HighWater } from '../layout/head.ts'
import type { MaybePromise, Store } from '../store.ts'

const EVERY_MS = 1000

export class HighWaterMark {
  private readonly note: Store['note']
  /** Durable, but not noted yet. */
  private waiting: HighWater | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private writing: Promise<void> = Promise.resolve()

  constructor({ note }: Store) {
    this.note = note
  }

  /**
   * @param read gives what was noted before the head was read, if others may append and note it meanwhile
   * @throws STORE_WENT_BACK if the store holds less than it once held, or another history
   */
  async check(head: Head, hashOf: HashOf, era: Era = 0, read: () => Noted = () => readHighWater(this.note)): Promise<void> {
    const gone = await notHeld(sinceEra(await read(), era), head, hashOf)
    if (gone) throw new FolioError('STORE_WENT_BACK', gone)
  }

  /** A ledger has become durable. */
  reached({ last, hash, era }: Head): void {
    if (!this.note) return
    this.waiting = last === 0 ? { last } : { last, hash, era }
    if (this.timer !== undefined) return
    this.timer = setTimeout(() => void this.flush(), EVERY_MS)
    this.timer.unref?.()
  }

  /** History is about to be rolled back. @throws what the store throws, since a note that stays ahead would be a false alarm */
  async lower(last: number, era?: Era): Promise<void> {
    if (!this.note) return
    if (this.waiting && this.waiting.last > last) this.waiting = undefined
    await this.writing
    const noted = await readHighWater(this.note, era)
    // Durable before the rollback is: a higher note that reappeared after a power loss would be a false alarm.
    if (noted && noted.last > last) await this.note.write(encodeHighWater({ last, era }), { durable: true })
  }

  /** Writes the waiting note. */
  flush(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    const { waiting } = this
    this.waiting = undefined
    if (waiting) this.writing = this.writing.then(() => this.note!.write(encodeHighWater(waiting))).catch(() => {})
    return this.writing
  }
}

/** The hash of a ledger; null if the ledger is not held, and undefined if it cannot be read, so that nothing is said of it. */
export type HashOf = (ledger: number) => MaybePromise<string | null | undefined>

type Noted = MaybePromise<HighWater | undefined>

/** What was noted and is not held: newer ledgers, or one with that hash. */
export type NotHeld =
  | { readonly ledger?: undefined; readonly noted: number; readonly held: number }
  | { readonly ledger: number; readonly noted: string; readonly held: string | undefined }

export async function notHeld(noted: HighWater | undefined, { last, oldest }: Head, hashOf: HashOf): Promise<NotHeld | undefined> {
  if (!noted) return undefined
  if (noted.last > last) return { noted: noted.last, held: last }
  if (noted.hash === undefined || noted.last < oldest) return undefined
  const held = await hashOf(noted.last)
  return held === undefined || held === noted.hash ? undefined : { ledger: noted.last, noted: noted.hash, held: held ?? undefined }
}

/**
 * What is noted. Nothing if a loss of power left only zeros, since a note is not synced; and nothing if it is of an earlier era than the store's:
 * whoever wrote it may not have known yet that another process had rolled history back.
 * @throws CORRUPT if it is damaged: then nothing tells whether the data went back
 */
export async function readHighWater(note: Store['note'], era: Era = 0): Promise<HighWater | undefined> {
  const value = await note?.read()
  if (!value?.some((byte) => byte !== 0)) return undefined
  return sinceEra(opened(value), era)
}

/** False if somebody has noted something since. */
export const isSameNote = (one: HighWater | undefined, other: HighWater | undefined): boolean =>
  one?.last === other?.last && one?.hash === other?.hash && one?.era === other?.era

/** What is noted, if it counts in an era. */
export const sinceEra = (noted: HighWater | undefined, era: Era): HighWater | undefined =>
  noted && (noted.era ?? era) < era ? undefined : noted

/** Its key alone would send a reader to look for it among the data. */
function opened(value: Uint8Array): HighWater {
  try {
    return decodeHighWater(value)
  } catch (error) {
    if (!(error instanceof FolioError)) throw error
    throw new FolioError(error.code, { ...error.fields, reason: `${error.fields['reason']}, in the note of how far history reached` })
  }
}
