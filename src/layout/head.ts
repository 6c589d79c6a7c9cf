/**
 * The values that describe a store.
 *
 * **Head**: how far history reaches. It is part of the batch that appends a ledger; readers take it first and bound every read by its counts, so that
 *   what lies above it is invisible. **Format**: written at creation, compared at every open.
 * All are JSON, for anyone who inspects a store by hand.
 */
import { text, Writer } from '../bytes.ts'
import { FolioError } from '../errors.ts'
import type { Resource } from '../query.ts'
import { ERA, FORMAT, HEAD, HIGH_WATER, INTENT, PRUNED } from './keys.ts'
import { corrupt, FORMAT_VERSION, formatOf, leaveRoom, SEAL_BYTES, seal, sumOf, unseal } from './seal.ts'

export interface Head {
  /** The first ledger ever appended: ordinal 0 of the ledger log. */
  readonly first: number
  /** The oldest ledger still held. */
  readonly oldest: number
  readonly last: number
  /** Hash of the last ledger, in lower case. */
  readonly hash: string
  readonly closedAt: string
  /** Records ever appended to each log, by tag: the ordinal that the next one gets. */
  readonly counts: readonly number[]
  /** The oldest ordinal still held in each log, by tag. */
  readonly since: readonly number[]
  /** The highest offer id seen, in decimal. */
  readonly topOffer: string
  /** The ledger up to which the stored posting lists are complete, and the counts of every log after it. */
  readonly filed: number
  readonly filedCounts: readonly number[]
  /** Present if several processes may have the store open. */
  readonly era?: Era
}

/** How many counts a stored head has: the tag of every log is below it. */
export const LOGS = 8

/** The head of a store that holds no ledger yet. */
export const emptyHead: Head = {
  first: 0,
  oldest: 0,
  last: 0,
  hash: '',
  closedAt: '',
  counts: Array(LOGS).fill(0),
  since: Array(LOGS).fill(0),
  topOffer: '0',
  filed: 0,
  filedCounts: Array(LOGS).fill(0),
}

/** A value of plain text. */
export function encodeText(key: Uint8Array, said: string): Uint8Array {
  const out = new Writer(3 * said.length + SEAL_BYTES)
  out.text(said)
  leaveRoom(out)
  return seal(key, out.finish())
}

/** @throws CORRUPT */
export const decodeText = (key: Uint8Array, value: Uint8Array): string => text(unseal(key, value))

const encodeJson = (key: Uint8Array, said: object): Uint8Array => encodeText(key, JSON.stringify(said))

/** @throws CORRUPT, also if it is sealed and no object */
function decodeJson<T>(key: Uint8Array, value: Uint8Array): T {
  const said = parsed(decodeText(key, value))
  if (typeof said !== 'object' || said === null) throw corrupt(key, 'the value is not an object of JSON')
  return said as T
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The stored head; undefined for a store that holds no ledger. */
export const encodeHead = (head: Head): Uint8Array | undefined => (head.last === 0 ? undefined : encodeJson(HEAD, head))
export const decodeHead = (value: Uint8Array): Head => decodeJson<Head>(HEAD, value)

/** History is being cut at one of its ends. */
export type Cut =
  /** Remove every ledger after this one. */
  | { readonly rollback: number }
  /** Remove every ledger before this one. */
  | { readonly prune: number }

/** A change that takes several batches, kept until the last of them, so that an open after a crash can finish it. */
export type Intent =
  | Change
  /** Values are being copied into a store, which is none before that is done. The text is another one for each copy. */
  | { readonly copy: string }

/** The intents of a store that is one. */
export type Change =
  | Cut
  /** Values are being rebuilt: until that is done nothing may be appended, and what was unfinished before waits. */
  | { readonly repair: true; readonly unfinished?: Cut }

export const kindOfCut = (cut: Cut): 'rollback' | 'prune' => ('prune' in cut ? 'prune' : 'rollback')
export const kindOf = (change: Change): 'rollback' | 'prune' | 'repair' => ('repair' in change ? 'repair' : kindOfCut(change))

export const encodeIntent = (intent: Intent): Uint8Array => encodeJson(INTENT, intent)
export const decodeIntent = (value: Uint8Array): Intent => decodeJson<Intent>(INTENT, value)

/**
 * How many lists of each index, by its tag, name pruned records. Of one that names nothing else, which is kept for an offer that lives, this number may
 * be all that could reveal its loss.
 */
export type Pruned = Readonly<Record<string, number>>

export const encodePruned = (pruned: Pruned): Uint8Array => encodeJson(PRUNED, pruned)
export const decodePruned = (value: Uint8Array): Pruned => decodeJson<Pruned>(PRUNED, value)

/**
 * How often history was cut, counting each step. Kept if several processes may have the store open, since ledgers that are rolled back and appended
 * again would end in the same head, while what was read meanwhile belongs to neither history. The head contains it too, so that it fences a writer
 * that has not seen the rollback; stored beside the head, it survives in a store that was emptied.
 */
export type Era = number

/** What is kept of eras. */
interface Eras {
  readonly era: Era
  /**
   * Eras that began with a rollback, in their order, each with the newest ledger that it left; those since when a rollback went as far back are left
   * out. Whoever knows an earlier era learns from it how far back history went.
   */
  readonly left?: readonly (readonly [era: Era, last: number])[]
  /** The era after which none is missing. */
  readonly from?: Era
}

/** With more, the earliest are forgotten. */
const MOST_ERAS = 64

export const encodeEra = (era: Era, rest: Omit<Eras, 'era'> = {}): Uint8Array => encodeJson(ERA, { era, ...rest })
const decodeEras = (value: Uint8Array | undefined): Eras => (value ? decodeJson<Eras>(ERA, value) : { era: 0, from: 0 })
export const decodeEra = (value: Uint8Array | undefined): Era => decodeEras(value).era

/** What is stored of the next era. @param last the newest ledger left, if it begins with a rollback */
export function nextEra(value: Uint8Array | undefined, last: number | undefined): Uint8Array {
  const { era, from = era, left = [] } = decodeEras(value)
  const all = last === undefined ? left : [...left.filter(([, lower]) => lower < last), [era + 1, last] as const]
  return encodeEra(era + 1, { left: all.slice(-MOST_ERAS), from: all.at(-MOST_ERAS - 1)?.[0] ?? from })
}

/** The newest ledger that was left by every rollback since an era: of no rollback, infinitely new; undefined if that is not known. */
export function leftSince(value: Uint8Array | undefined, since: Era): number | undefined {
  const { era, from = era, left = [] } = decodeEras(value)
  if (since < from || since > era) return undefined
  return left.find(([one]) => one > since)?.[1] ?? Number.POSITIVE_INFINITY
}

/** How far history reached; the hash is not known if history was rolled back to there. */
export interface HighWater {
  readonly last: number
  readonly hash?: string
  /**
   * Present if several processes may have the store open: a note from an earlier era than the store's says nothing, since another process rolled
   * history back.
   */
  readonly era?: Era | undefined
}

export const encodeHighWater = (noted: HighWater): Uint8Array => encodeJson(HIGH_WATER, noted)
export const decodeHighWater = (value: Uint8Array): HighWater => decodeJson<HighWater>(HIGH_WATER, value)

interface Format {
  readonly format: number
  readonly catalogue: string
  /** The network to which the ledgers belong, if it was named. */
  readonly network?: string | undefined
}

/** What a store must have been written with, spelled out: logs with their block sizes and columns, indexes with their tags. */
export function fingerprint(
  logs: readonly Resource[],
  indexes: readonly { readonly name: string; readonly tag: number; readonly of: Resource }[],
): string {
  const log = logs.map(({ name, tag, shift, sides }) => `${tag}=${name}/${shift}(${sides.join(' ')})`)
  const index = indexes.map(({ name, tag, of }) => `${tag}=${name} of ${of.name}`)
  return [...log, ...index].join('; ')
}

export const encodeFormat = (catalogue: string, network?: string): Uint8Array =>
  encodeJson(FORMAT, { format: FORMAT_VERSION, catalogue, network } satisfies Format)

/**
 * @returns the network for which the store was made, if it was named
 * @throws STORE_FORMAT or STORE_CATALOGUE if the store was written by another release
 */
export function checkFormat(value: Uint8Array, catalogue: string): string | undefined {
  // The seal's own format byte is read first: a newer store may seal its values differently.
  const version = formatOf(value)
  if (version !== FORMAT_VERSION) throw new FolioError('STORE_FORMAT', { found: version, expected: FORMAT_VERSION })
  const format = decodeJson<Format>(FORMAT, value)
  if (format.format !== FORMAT_VERSION) throw new FolioError('STORE_FORMAT', { found: format.format, expected: FORMAT_VERSION })
  if (format.catalogue !== catalogue) throw new FolioError('STORE_CATALOGUE', { found: format.catalogue, expected: catalogue })
  return format.network
}

/**
 * What a damaged format still tells of the network. The name was included in the checksum: if the format rebuilt from what can be read has the same
 * checksum, the damage lies elsewhere, and the name, or that there was none, is right.
 * @returns `known` is false if nothing can be told
 */
export function networkStill(value: Uint8Array | undefined, catalogue: string): { network?: string; known: boolean } {
  if (!value) return { known: false }
  const [, json = ''] = /"network":(".*")\}/s.exec(text(value)) ?? []
  const named = parsed(json) as string | undefined
  for (const network of [named, undefined])
    if (sumOf(encodeFormat(catalogue, network)) === sumOf(value)) return { known: true, ...(network !== undefined && { network }) }
  return { known: false }
}
