/** The laws of filters: trades of a pair of assets, and of an offer. */
import { checkSame } from './belongs.ts'
import type { Client } from './client.ts'
import { Ends, type FormLaw, type Listed, withParams } from './document.ts'
import { type Members, tokenOf } from './hal.ts'
import { textOf } from './paged.ts'
import { Fault } from './window.ts'

/** Why the laws say nothing of a listing. */
const NO_PAIR = 'none of its first records is a trade of two assets'
const NO_OFFER = 'none of its first records is a trade that names an offer'

const sides = ['base', 'counter'] as const
type Side = (typeof sides)[number]
const otherSide = { base: 'counter', counter: 'base' } as const
const parts = ['asset_type', 'asset_code', 'asset_issuer'] as const

const assetOf = (record: Members, side: Side): string => parts.map((part) => textOf(record[`${side}_${part}`] ?? '')).join()
const pairOf = (record: Members): string =>
  sides
    .map((side) => assetOf(record, side))
    .sort()
    .join()

/** A listing's URL with the pair of a record, the assets of which it may name as the record does, or the other way round. */
function ofPair(url: string, record: Members, turned: boolean): string {
  const params = sides.flatMap((side) =>
    parts.flatMap((part) => {
      const value = record[`${turned ? otherSide[side] : side}_${part}`]
      return value === undefined ? [] : [[`${side}_${part}`, String(value)] as const]
    }),
  )
  return withParams(url, ...params)
}

/** What stands on either side of a trade, as if base and counter had changed places. */
function turnedSides(record: Members): Members {
  const name = (one: string): string => one.replace(/^(base|counter)(?=_(?!is_))/, (side) => otherSide[side as Side])
  return Object.fromEntries(Object.entries(record).map(([one, value]) => [name(one), value]))
}

/** @throws Fault if a trade has something else on one of its sides than is known of it */
function checkSides(came: Members, known: Members, where: string): void {
  const name = Object.keys(known).find((one) => /^(?:base|counter)_(?!is_)/.test(one) && textOf(came[one]) !== textOf(known[one]))
  if (name === undefined) return
  throw new Fault(`${where}: ${name} of ${tokenOf(known)} is ${textOf(came[name])}, not ${textOf(known[name])}`)
}

const offerIds = ['offer_id', 'base_offer_id', 'counter_offer_id'] as const

/** An offer for each of the names under which trades name one. As a filter, offer 0 stands for any. */
function offersOf(records: readonly Members[]): string[] {
  const found = offerIds.flatMap((name) => records.map((record) => String(record[name] ?? '0')).find((id) => id !== '0') ?? [])
  return [...new Set(found)]
}

interface Filter {
  /** The URL of the listing, filtered. */
  readonly asked: string
  readonly fits: (record: Members) => boolean
  /** What a record that does not fit is or does. */
  readonly other: string
  /** @throws Fault if a record that came is not the known one */
  readonly compare: (came: Members, known: Members, where: string) => void
}

/**
 * Compares what a filter lets through with what is known of it: those of all records that fit come first, in their order, and none that does not fit.
 * @throws Fault
 */
async function checkFiltered(client: Client, all: readonly Members[], { asked, fits, other, compare }: Filter): Promise<void> {
  const came = await new Ends(client, asked, false).oldest()
  for (const [n, known] of all.filter(fits).entries()) {
    const found = came[n]
    if (!found || tokenOf(found) !== tokenOf(known))
      throw new Fault(`GET ${asked}: expected ${tokenOf(known)} at place ${n}, got ${found ? tokenOf(found) : 'no record'}`)
    compare(found, known, `GET ${asked}`)
  }
  const unfit = came.find((record) => !fits(record))
  if (unfit) throw new Fault(`GET ${asked}: has ${tokenOf(unfit)}, which ${other}`)
}

const concerns = ({ place, url }: Listed): boolean => place?.query.filters !== undefined && new URL(url).search === ''

export const filterLaws: readonly FormLaw[] = [
  {
    name: 'a pair of assets, whichever is named as base, filters the trades that have both, and turns each of them to face as it does',
    concerns,
    async check({ client, url, ends }) {
      const all = await ends.oldest()
      const first = all.find((record) => assetOf(record, 'base') !== assetOf(record, 'counter') && record['base_asset_type'] !== undefined)
      if (!first) return NO_PAIR
      for (const turned of [false, true]) {
        const base = assetOf(first, turned ? 'counter' : 'base')
        await checkFiltered(client, all, {
          asked: ofPair(url, first, turned),
          fits: (record) => pairOf(record) === pairOf(first),
          other: 'is of another pair',
          compare: (came, known, where) => checkSides(came, assetOf(known, 'base') === base ? known : turnedSides(known), where),
        })
      }
      return undefined
    },
  },
  {
    name: 'an offer filters the trades that name it, on either side',
    concerns,
    async check({ client, url, ends }) {
      const all = await ends.oldest()
      const offers = offersOf(all)
      for (const offer of offers)
        await checkFiltered(client, all, {
          asked: withParams(url, ['offer_id', offer]),
          fits: (record) => offerIds.some((name) => String(record[name]) === offer),
          other: 'does not name the offer',
          compare: (came, known, where) => checkSame(came, known, where, url),
        })
      return offers.length === 0 ? NO_OFFER : undefined
    },
  },
]
